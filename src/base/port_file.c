/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
#include "base/port_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int
port_file_write(const char *path, int port)
{
	char *aside;
	FILE *f;
	int r = 0;

	if (asprintf(&aside, "%s.new", path) < 0)
		return -ENOMEM;
	/* Anew: a link of somebody else's is not followed. */
	unlink(aside);
	f = fopen(aside, "wxe");
	if (f == NULL) {
		r = -errno;
		goto out;
	}
	fprintf(f, "%d\n", port);
	if (fclose(f) != 0 || rename(aside, path) != 0) {
		r = -errno;
		unlink(aside);
	}
out:
	free(aside);
	return r;
}
