/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * client: a known client: how it is pointed to the daemon, for one command
 * (environ.h) and for good (plan), and what it does otherwise once its base
 * URL is not its vendor's.
 *
 * Adding one is one descriptor here, and a file where it can be connected.
 */
#ifndef CLI_CLIENT_H
#define CLI_CLIENT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "files.h"

struct config;

/* What `connect` would do to a client's own file. */
struct client_plan {
	char path[FILES_PATH_BYTES];
	char *before; /* NULL: there is no file */
	char *after;  /* NULL: nothing to change */
	/* Lines for the user: what cannot be done, and what would cover a
	 * provider that no upstream covers. */
	struct buf notes;
	size_t n_here;      /* entries that point to the daemon already */
	size_t n_uncovered; /* providers that no upstream covers */
};

struct client {
	const char *name; /* as in `connect NAME` */
	const char *title;
	const char *command;   /* what is looked for in PATH */
	const char *variables; /* that `run` and `env` set for it */
	const char *localhost; /* what changes at a host not its vendor's */
	const char *fix;       /* and what brings it back */
	/* Fills PLAN; BASE as of endpoint_base. 0 or -errno. NULL: cannot be
	 * connected for good yet. */
	int (*plan)(
	    const struct config *c, const char *base, struct client_plan *plan);
};

extern const struct client clients[];
extern const size_t n_clients;

const struct client *client_find(const char *name);

/* Where the client is installed; false where it is not in PATH. */
bool client_installed(const struct client *client, char out[FILES_PATH_BYTES]);

void client_plan_init(struct client_plan *plan);
void client_plan_fini(struct client_plan *plan);

/* Reads the file at PATH of the plan into BEFORE. 0, also where there is none;
 * -errno where it cannot be read, noted: it must not be written then. */
int client_plan_read(struct client_plan *plan);

/* Notes a provider that no upstream covers, with the section that would. */
void client_note_uncovered(
    struct client_plan *plan, const char *provider, const char *url);

/* One file a client: opencode.c, claude.c, codex.c. */
int opencode_plan(
    const struct config *c, const char *base, struct client_plan *plan);
int claude_plan(
    const struct config *c, const char *base, struct client_plan *plan);
int codex_plan(
    const struct config *c, const char *base, struct client_plan *plan);

/* The JSON for OPENCODE_CONFIG_CONTENT: PRESENT (its value so far, or NULL)
 * with the base URL of every provider in use; malloc'd, NULL where PRESENT
 * cannot be read. Notes and counts go to PLAN. */
char *opencode_content(
    const struct config *c, const char *present, struct client_plan *plan);

/* "-c KEY=VALUE" for a Codex started once: the malloc'd KEY="VALUE", NULL
 * where there is nothing to set. */
char *codex_override(
    const struct config *c, const char *base, struct client_plan *plan);

#endif
