/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * reading: what the commands that read share: the database, the query that
 * the options make, the terminal.
 */
#ifndef CLI_READING_H
#define CLI_READING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/query.h"

struct buf;
struct cli_call;
struct config;
struct store_reader;

struct reading {
	struct config *config; /* NULL: unreadable, and --db was given */
	const char *database;
	struct store_reader *store; /* NULL: there is no database yet */
	/* Of reading_open_anyway: why the database cannot be read, and the
	 * -errno of it; NULL and 0: it can, or there is none yet. */
	char *store_error;
	int store_result;
	struct store_query query;
};

/*
 * Loads the configuration, sets the time zone, makes the query from the
 * options of CLI_GROUP_QUERY (N_DEFAULT rows where -n is not given) and opens
 * the database. 0, or an exit status after a complaint. No database at all is
 * not a failure: the store is NULL. Always followed by reading_close.
 */
int reading_open(
    struct reading *r, const struct cli_call *call, int64_t n_default);
/* The same, but a database that cannot be read is no failure either: the store
 * is NULL and STORE_ERROR says why. For who has other things to tell, too. */
int reading_open_anyway(
    struct reading *r, const struct cli_call *call, int64_t n_default);
void reading_close(struct reading *r);

/* Whether FD is a terminal on which escape codes may be written: not where
 * TERM is dumb. Colour needs NO_COLOR to be unset, too. */
bool reading_is_terminal(int fd);
bool reading_has_colour(int fd);

/* The width of the terminal at FD, else COLUMNS, else 80. */
size_t reading_width(int fd);

/* Writes the buffer to stdout and clears it; false where nobody reads it. */
bool reading_flush(struct buf *b);

/* "http://HOST:PORT" of the configuration's daemon; a wildcard address is
 * reached over loopback. */
void reading_base_url(const struct config *c, char *out, size_t size);

/* --project, where "." is the name of the folder, for which ROOM is borrowed.
 * NULL: not given. */
const char *reading_project(
    const struct cli_call *call, char *room, size_t size);

/* A count from a text: digits only, at most MAX. False where it is none. */
bool reading_number(const char *text, int64_t max, int64_t *out);

#endif
