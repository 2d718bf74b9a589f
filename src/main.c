/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
#include "cli/cli.h"

int
main(int argc, char **argv)
{
	return cli_main(argc, argv);
}
