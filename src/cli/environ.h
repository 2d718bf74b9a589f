/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * environ: the variables that point every known client to the daemon, for
 * `env` and `run`.
 *
 * A base URL that the user has set already goes over the daemon to where it
 * went before; one that no upstream covers is left alone and noted.
 */
#ifndef CLI_ENVIRON_H
#define CLI_ENVIRON_H

#include <stddef.h>

#include "client.h"

enum { ENVIRON_MAX = 16 };

struct environ_variable {
	const char *name;
	char *value;
};

struct environ {
	struct environ_variable variables[ENVIRON_MAX];
	size_t n;
	struct client_plan plan; /* its notes and counts */
};

/* PROJECT may be NULL. 0 or -ENOMEM. */
int environ_make(
    struct environ *e, const struct config *c, const char *project);
void environ_fini(struct environ *e);

/* The names that environ_make may set. NULL-terminated. */
extern const char *const environ_names[];

#endif
