/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
#include "folder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int
folder_make_for(const char *path)
{
	char *copy = strdup(path);
	int r = 0;

	if (copy == NULL)
		return -ENOMEM;
	for (char *p = strchr(copy + 1, '/'); p != NULL && r == 0;
	     p = strchr(p + 1, '/')) {
		*p = '\0';
		/* chmod: the umask may have taken our own bits away. */
		if (mkdir(copy, 0700) == 0) {
			if (chmod(copy, 0700) < 0)
				r = -errno;
		} else if (errno != EEXIST) {
			r = -errno;
		}
		*p = '/';
	}
	free(copy);
	return r;
}
