/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * A daemon's half of the room for its tests: journal, writer and replay, and
 * questions to the database past the product's own code.
 */
#ifndef TESTS_STORE_DAEMON_H
#define TESTS_STORE_DAEMON_H

#include "store_help.h"

#include <sys/wait.h>
#include <time.h>

#include <sqlite3.h>

#include "base/clock.h"
#include "store/journal.h"
#include "store/store.h"

enum { PATIENCE_MS = 20000 };

/* A daemon's half of the room: journal, writer, and what it was given. */
struct daemon {
	char *path;
	struct journal *journal;
	struct store_writer *writer;
	int64_t seq;
};

static inline void
daemon_recover(void *cls, struct turn **t, int slot, bool is_open)
{
	struct daemon *d = cls;

	if (is_open)
		(*t)->outcome = TURN_OUTCOME_INTERRUPTED;
	if ((*t)->seq == TURN_NULL)
		(*t)->seq = d->seq + 1;
	if ((*t)->seq > d->seq)
		d->seq = (*t)->seq;
	assert_int_equal(store_writer_put(d->writer, t, slot), 0);
}

static inline void
daemon_start(struct daemon *d, const char *folder, size_t n_queue)
{
	char *journal = help_path(folder, "t.db" JOURNAL_SUFFIX);
	char *error = NULL;
	struct store_writer_setup setup = {.n_queue = n_queue};

	d->path = help_path(folder, "t.db");
	if (journal_open(journal, &d->journal, &error) < 0)
		fail_msg("%s", error);
	setup.path = d->path;
	setup.journal = d->journal;
	if (store_writer_start(&setup, &d->writer, &error) < 0)
		fail_msg("%s", error);
	d->seq = store_writer_last_seq(d->writer);
	assert_int_equal(journal_replay(d->journal, daemon_recover, d), 0);
	free(journal);
}

static inline void
daemon_stop(struct daemon *d, int timeout_ms)
{
	store_writer_stop(d->writer, timeout_ms);
	journal_close(d->journal);
	free(d->path);
}

/* As the daemon does it: journal first, then the queue. */
static inline void
daemon_give(struct daemon *d, struct turn *t)
{
	int slot = journal_take(d->journal);

	assert_true(slot >= 0);
	t->seq = ++d->seq;
	assert_int_equal(journal_write(d->journal, slot, t, false), 0);
	assert_int_equal(store_writer_put(d->writer, &t, slot), 0);
	assert_null(t);
}

static inline void
pause_ms(long ms)
{
	struct timespec ts = {.tv_nsec = ms * 1000000};

	nanosleep(&ts, NULL);
}

/* Until N rows are written; the clock only bounds a failure. */
static inline void
daemon_await(struct daemon *d, int64_t n)
{
	int64_t until = clock_now_ns() + PATIENCE_MS * INT64_C(1000000);
	struct store_writer_state state;

	do {
		store_writer_get_state(d->writer, &state);
		if (state.n_written >= n)
			break;
		pause_ms(1);
	} while (clock_now_ns() < until);
	assert_int_equal(state.n_written, n);
	assert_int_equal(state.n_waiting, 0);
}

static inline void
daemon_await_failure(struct daemon *d, const char *word)
{
	int64_t until = clock_now_ns() + PATIENCE_MS * INT64_C(1000000);
	struct store_writer_state state;

	do {
		store_writer_get_state(d->writer, &state);
		if (state.is_failing)
			break;
		pause_ms(1);
	} while (clock_now_ns() < until);
	assert_true(state.is_failing);
	assert_non_null(strstr(state.reason, word));
}

static inline int64_t
n_slots_free(struct journal *j)
{
	struct journal_counts counts;

	journal_get_counts(j, &counts);
	return counts.n_free;
}

static inline sqlite3 *
open_plain(const char *path)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	sqlite3_busy_timeout(db, PATIENCE_MS);
	return db;
}

static inline void
exec(sqlite3 *db, const char *sql)
{
	char *error = NULL;

	if (sqlite3_exec(db, sql, NULL, NULL, &error) != SQLITE_OK)
		fail_msg("%s: %s", sql, error);
}

/* The first column of the first row as text, to be freed. */
static inline char *
query(const char *path, const char *sql)
{
	sqlite3 *db = open_plain(path);
	sqlite3_stmt *stmt;
	char *text;

	assert_int_equal(
	    sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	text = strdup((const char *)sqlite3_column_text(stmt, 0));
	sqlite3_finalize(stmt);
	sqlite3_close(db);
	return text;
}

static inline int64_t
query_number(const char *path, const char *sql)
{
	char *text = query(path, sql);
	int64_t n = strtoll(text, NULL, 10);

	free(text);
	return n;
}

static inline void
assert_sound(const char *path)
{
	char *text = query(path, "PRAGMA integrity_check");

	assert_string_equal(text, "ok");
	free(text);
}

/* What a reader gave: copies. */
struct rows {
	struct turn *turns[64];
	size_t n;
	size_t n_max;
};

static inline bool
keep_row(void *cls, const struct turn *t)
{
	struct rows *rows = cls;

	assert_true(rows->n < 64);
	rows->turns[rows->n++] = turn_copy(t);
	return rows->n != rows->n_max;
}

static inline int
read_rows(const char *path, const struct store_query *q, struct rows *rows)
{
	struct store_reader *r;
	char *error = NULL;
	int ret;

	if (store_reader_open(path, &r, &error) < 0)
		fail_msg("%s", error);
	ret = store_reader_turns(r, q, keep_row, rows);
	store_reader_close(r);
	return ret;
}

static inline void
forget_rows(struct rows *rows)
{
	for (size_t i = 0; i < rows->n; i++)
		turn_free(rows->turns[i]);
	rows->n = 0;
}

static inline void
run_in_child(void (*fn)(const char *folder), const char *folder)
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0) {
		fn(folder);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

#endif
