/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * store: the SQLite database of turns.
 *
 * One writer (a thread of its own, fed by the daemon) and any number of
 * readers in any process. Mode 0600, WAL, STRICT tables, append-only schema
 * steps, PRAGMA user_version. A database newer than this program is refused.
 */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/query.h"

struct turn;
struct store_reader;
struct store_writer;
struct journal;

/* Opens for reading; makes nothing. -ENOENT where there is no database. The
 * reason of a failure is malloc'd into *ERROR_OUT. One thread at a time. */
int store_reader_open(
    const char *path, struct store_reader **reader_out, char **error_out);
void store_reader_close(struct store_reader *r);

/* Calls EACH for every turn in the order that the query asks for; the turn is
 * borrowed for the call. EACH returns false to stop, and may take its time: no
 * transaction is open meanwhile. 0, -EINVAL: sorts by no column, -errno. */
int store_reader_turns(struct store_reader *r, const struct store_query *q,
    bool (*each)(void *cls, const struct turn *t), void *cls);

struct store_counts {
	int64_t n_turns; /* rows the query selects */
	int64_t n_sessions;
	int64_t n_rate_limited;
	int64_t n_no_usage; /* kind turn, usage_source none or NULL */
	int64_t last_seq;   /* of the whole table, 0 for none */
};
int store_reader_count(struct store_reader *r, const struct store_query *q,
    struct store_counts *counts_out);

/* The free bytes of the file system, the database's and the wal's sizes. */
int store_reader_sizes(struct store_reader *r, int64_t *db_bytes_out,
    int64_t *wal_bytes_out, int64_t *free_bytes_out);

struct store_writer_setup {
	const char *path;        /* made with its folder where missing */
	struct journal *journal; /* borrowed: slots are released after commit */
	size_t n_queue;          /* turns that may wait for the database */
};

/* Opens or makes the database, runs the schema steps, starts the thread. The
 * reason of a failure is malloc'd into *ERROR_OUT. */
int store_writer_start(const struct store_writer_setup *setup,
    struct store_writer **writer_out, char **error_out);

/* The highest seq in the table at start. */
int64_t store_writer_last_seq(const struct store_writer *w);

/* Takes the turn (sets *T to NULL) and its journal slot (-1: none). Where the
 * queue has no room, the turn as it is now is written into its slot and waits
 * there. -ENOBUFS: not taken, neither had room; the slot stays the caller's.
 * Loop thread. */
int store_writer_put(struct store_writer *w, struct turn **t, int slot);

struct store_writer_state {
	int64_t n_written;
	int64_t n_waiting;
	int64_t n_lost;   /* could be held nowhere */
	bool is_failing;  /* the last attempt failed */
	char reason[160]; /* of the last failure, "" where none */
};
void store_writer_get_state(
    struct store_writer *w, struct store_writer_state *state_out);

/* Counts a turn that neither queue nor journal could hold. Any thread. */
void store_writer_count_lost(struct store_writer *w, int64_t n);

/* Writes what waits (at most TIMEOUT_MS), ends the thread, closes. Turns that
 * could not be written stay in the journal. */
void store_writer_stop(struct store_writer *w, int timeout_ms);

/* For `db`: each gives its result as malloc'd text in *TEXT_OUT. */
int store_check(const char *path, char **text_out);
int store_backup(const char *path, const char *to, char **text_out);
int store_rebuild(const char *path, char **text_out);

#endif
