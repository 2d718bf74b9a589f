/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * cli: the command line. main.c calls it and nothing else.
 */
#ifndef CLI_CLI_H
#define CLI_CLI_H

/* Looks the command up, parses its options, runs it; the exit status. */
int cli_main(int argc, char **argv);

#endif
