/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * One thread takes turns off the queue and commits them.
 *
 *   put --> queue (memory, n_queue turns) --------------+--> batch --> COMMIT
 *    \ full: rewritten into its slot and parked there --/      ^  |      |
 *                                                         again|  |failed|
 *                                                  10 ms..1 s  +--+   release
 *
 * Nothing that is held is dropped: a batch that cannot be committed is tried
 * again until it can. What the queue has no room for waits in the journal
 * alone, so memory stays bounded, and is read back in order when the queue has
 * run empty; as long as some wait there, later ones go there too, so that rows
 * arrive in order of seq. Only a turn without a slot and without room is lost,
 * and its caller is told.
 *
 * A turn that comes after a pause is committed at once; under load commits
 * are WRITER_GATHER_MS apart, which saves nine tenths of their cost.
 *
 * Replay is harmless: a row whose id is there already is passed over.
 */
#include "store/store.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <sqlite3.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/queue.h"
#include "record/turn.h"
#include "store/journal.h"

#include "db.h"
#include "row.h"
#include "sql.h"

enum {
	WRITER_BATCH = 512,
	WRITER_GATHER_MS = 50,
	WRITER_GATHER_STEP_MS = 5,
	WRITER_IDLE_MS = 1000,
	WRITER_BUSY_MS = 50, /* SQLite's own wait for a lock */
	WRITER_RETRY_MIN_MS = 10,
	WRITER_RETRY_MAX_MS = 1000,
	WRITER_WAL_WARN_BYTES = 4 * DB_WAL_BYTES
};

struct store_writer {
	/* constant after start */
	char *path;
	struct journal *journal;
	struct queue *queue;
	int64_t last_seq;
	pthread_t thread;

	/* writer thread */
	sqlite3 *db; /* NULL: to be opened again */
	sqlite3_stmt *stmts[SQL_N_WRITER];
	struct turn *batch[WRITER_BATCH];
	size_t n_batch;
	int64_t committed_ns;
	int64_t wal_tried_ns;
	bool wal_is_warned;
	bool seq_is_warned;

	atomic_int_least64_t n_waiting;
	atomic_int_least64_t n_lost;

	pthread_mutex_t mtx;
	pthread_cond_t stopping;
	/* under mtx */
	int64_t n_written;
	bool is_failing;
	char reason[160];
	int64_t deadline_ns; /* 0: runs on */
};

static void
writer_close_db(struct store_writer *w)
{
	for (size_t i = 0; i < SQL_N_WRITER; i++) {
		sqlite3_finalize(w->stmts[i]);
		w->stmts[i] = NULL;
	}
	sqlite3_close(w->db);
	w->db = NULL;
}

static int
writer_open_db(struct store_writer *w, int busy_ms, char **error_out)
{
	int r = db_open_to_write(w->path, busy_ms, &w->db, error_out);

	if (r < 0)
		return r;
	for (size_t i = 0; i < SQL_N_WRITER; i++) {
		int rc = sql_prepare(w->db, (enum sql_name)i, &w->stmts[i]);

		if (rc != SQLITE_OK) {
			r = db_fail(w->db, w->path, rc, error_out);
			writer_close_db(w);
			return r;
		}
	}
	sqlite3_busy_timeout(w->db, WRITER_BUSY_MS);
	return 0;
}

static int
writer_step(struct store_writer *w, enum sql_name name)
{
	int rc = sqlite3_step(w->stmts[name]);

	sqlite3_reset(w->stmts[name]);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* Steps a statement that gives one number; *OUT stays where it gives none. */
static int
writer_step_number(struct store_writer *w, enum sql_name name, int64_t *out)
{
	int rc = sqlite3_step(w->stmts[name]);

	if (rc == SQLITE_ROW) {
		*out = sqlite3_column_int64(w->stmts[name], 0);
		rc = SQLITE_DONE;
	}
	sqlite3_reset(w->stmts[name]);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* The file was deleted or another put in its place: what the -wal still holds
 * goes to the old one, and the next attempt opens what is there now. */
static void
writer_notice_move(struct store_writer *w)
{
	int has_moved = 0;

	if (w->db == NULL ||
	    sqlite3_file_control(w->db, "main", SQLITE_FCNTL_HAS_MOVED,
		&has_moved) != SQLITE_OK ||
	    !has_moved)
		return;
	log_warn(
	    "%s was moved, deleted or replaced: opening it again", w->path);
	sqlite3_wal_checkpoint_v2(
	    w->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
	writer_close_db(w);
}

static int
writer_insert_tools(struct store_writer *w, const struct turn *t, int64_t seq)
{
	int rc = SQLITE_OK;

	for (size_t i = 0; i < t->n_tools && rc == SQLITE_OK; i++) {
		rc = row_bind_tool(
		    w->stmts[SQL_INSERT_TOOL], seq, &t->tools[i]);
		if (rc == SQLITE_OK)
			rc = writer_step(w, SQL_INSERT_TOOL);
	}
	return rc;
}

/* The row was not taken: fine where its id is there (a replay). Else its seq
 * belongs to another turn, and it gets the next one: *AGAIN_OUT. */
static int
writer_settle_seq(struct store_writer *w, struct turn *t, bool *again_out)
{
	int64_t has_id = 0, seq = t->seq;
	int rc = sqlite3_bind_text(
	    w->stmts[SQL_HAS_ID], 1, t->id, -1, SQLITE_STATIC);

	*again_out = false;
	if (rc == SQLITE_OK)
		rc = writer_step_number(w, SQL_HAS_ID, &has_id);
	if (rc != SQLITE_OK || has_id != 0)
		return rc;
	rc = writer_step_number(w, SQL_NEXT_SEQ, &seq);
	if (rc != SQLITE_OK)
		return rc;
	if (!w->seq_is_warned)
		log_warn("turn %s: its seq %lld is another turn's in %s; it "
			 "becomes %lld (said once)",
		    t->id, (long long)t->seq, w->path, (long long)seq);
	w->seq_is_warned = true;
	t->seq = seq;
	*again_out = true;
	return SQLITE_OK;
}

static int
writer_insert(struct store_writer *w, struct turn *t)
{
	bool again = true;
	int rc = SQLITE_OK;

	for (int i = 0; i < 2 && again; i++) {
		again = false;
		rc = row_bind(w->stmts[SQL_INSERT_TURN], t);
		if (rc == SQLITE_OK)
			rc = writer_step(w, SQL_INSERT_TURN);
		if (rc != SQLITE_OK)
			return rc;
		if (sqlite3_changes(w->db) == 1)
			return writer_insert_tools(
			    w, t, sqlite3_last_insert_rowid(w->db));
		rc = writer_settle_seq(w, t, &again);
	}
	return rc;
}

static void
writer_forget(struct store_writer *w, struct turn *t)
{
	if (t->slot >= 0)
		journal_release(w->journal, t->slot);
	atomic_fetch_sub(&w->n_waiting, 1);
	turn_free(t);
}

/* The database will never take this row, so it must not hold up the others. */
static bool
writer_is_hopeless(int rc)
{
	return (rc & 0xff) == SQLITE_CONSTRAINT ||
	       (rc & 0xff) == SQLITE_MISMATCH || (rc & 0xff) == SQLITE_TOOBIG;
}

static int
writer_insert_batch(struct store_writer *w)
{
	for (size_t i = 0; i < w->n_batch; i++) {
		struct turn *t = w->batch[i];
		int rc = t != NULL ? writer_insert(w, t) : SQLITE_OK;

		if (writer_is_hopeless(rc)) {
			log_err("turn %s cannot be stored: %s",
			    t->id != NULL ? t->id : "without id",
			    sqlite3_errmsg(w->db));
			atomic_fetch_add(&w->n_lost, 1);
			writer_forget(w, t);
			w->batch[i] = NULL;
		} else if (rc != SQLITE_OK) {
			return rc;
		}
	}
	return SQLITE_OK;
}

/* One attempt at the whole batch. 0, or -errno with the reason. */
static int
writer_try(struct store_writer *w, char **error_out)
{
	int rc, r;

	*error_out = NULL;
	writer_notice_move(w);
	if (w->db == NULL) {
		r = writer_open_db(w, WRITER_BUSY_MS, error_out);
		if (r < 0)
			return r;
	}
	rc = writer_step(w, SQL_BEGIN);
	if (rc == SQLITE_OK)
		rc = writer_insert_batch(w);
	if (rc == SQLITE_OK)
		rc = writer_step(w, SQL_COMMIT);
	if (rc == SQLITE_OK)
		return 0;
	r = db_fail(w->db, w->path, rc, error_out);
	if (!sqlite3_get_autocommit(w->db))
		writer_step(w, SQL_ROLLBACK);
	/* A lock and a full disk pass; anything else is better met with a
	 * connection made anew. */
	if (r != -EBUSY && r != -ENOSPC)
		writer_close_db(w);
	return r;
}

/* One line when it begins to fail and one when it works again. */
static void
writer_note(struct store_writer *w, const char *reason, size_t n_done)
{
	bool was_failing;

	pthread_mutex_lock(&w->mtx);
	was_failing = w->is_failing;
	w->is_failing = reason != NULL;
	snprintf(
	    w->reason, sizeof(w->reason), "%s", reason != NULL ? reason : "");
	w->n_written += (int64_t)n_done;
	pthread_mutex_unlock(&w->mtx);
	if (reason != NULL && !was_failing)
		log_warn("turns wait for the database: %s", reason);
	else if (reason == NULL && was_failing)
		log_info("the database takes turns again, %lld still wait",
		    (long long)atomic_load(&w->n_waiting));
}

/* Waits DELAY_MS, less where the end comes sooner; false once it has. */
static bool
writer_pause(struct store_writer *w, int delay_ms)
{
	int64_t until = clock_now_ns() + (int64_t)delay_ms * 1000000;
	struct timespec ts;
	bool goes_on;

	pthread_mutex_lock(&w->mtx);
	if (w->deadline_ns != 0 && w->deadline_ns < until)
		until = w->deadline_ns;
	ts.tv_sec = until / 1000000000;
	ts.tv_nsec = until % 1000000000;
	/* A stop wakes it: then the next attempt comes at once. */
	pthread_cond_timedwait(&w->stopping, &w->mtx, &ts);
	goes_on = w->deadline_ns == 0 || clock_now_ns() < w->deadline_ns;
	pthread_mutex_unlock(&w->mtx);
	return goes_on;
}

/* Commits the batch, however long that takes; false where the end came
 * first. */
static bool
writer_store(struct store_writer *w)
{
	size_t n_done = 0;
	int delay_ms = WRITER_RETRY_MIN_MS;
	char *error;

	while (writer_try(w, &error) < 0) {
		writer_note(w, error != NULL ? error : "no memory", 0);
		free(error);
		if (!writer_pause(w, delay_ms))
			return false;
		delay_ms *= 2;
		if (delay_ms > WRITER_RETRY_MAX_MS)
			delay_ms = WRITER_RETRY_MAX_MS;
	}
	for (size_t i = 0; i < w->n_batch; i++) {
		if (w->batch[i] == NULL)
			continue;
		writer_forget(w, w->batch[i]);
		n_done++;
	}
	w->n_batch = 0;
	w->committed_ns = clock_now_ns();
	writer_note(w, NULL, n_done);
	return true;
}

/* A reader that stays in its transaction keeps the -wal file from being
 * emptied; once it is gone, this gives the disk back without waiting for more
 * turns. */
static void
writer_watch_wal(struct store_writer *w)
{
	int64_t now = clock_now_ns(), bytes;

	if (w->db == NULL ||
	    now - w->wal_tried_ns < (int64_t)WRITER_IDLE_MS * 1000000)
		return;
	w->wal_tried_ns = now;
	bytes = db_file_bytes(w->path, "-wal");
	if (bytes > DB_WAL_BYTES) {
		sqlite3_wal_checkpoint_v2(
		    w->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
		bytes = db_file_bytes(w->path, "-wal");
	}
	if (bytes <= DB_WAL_BYTES) {
		w->wal_is_warned = false;
	} else if (bytes > WRITER_WAL_WARN_BYTES && !w->wal_is_warned) {
		log_warn("%s-wal has grown to %lld MiB: a program that reads "
			 "the database keeps its transaction open",
		    w->path, (long long)bytes >> 20);
		w->wal_is_warned = true;
	}
}

/* Takes what the queue holds. NULLs are knocks (writer_park). */
static void
writer_take(struct store_writer *w, int timeout_ms)
{
	void *taken[WRITER_BATCH];
	size_t n = queue_take(
	    w->queue, taken, WRITER_BATCH - w->n_batch, timeout_ms);

	for (size_t i = 0; i < n; i++)
		if (taken[i] != NULL)
			w->batch[w->n_batch++] = taken[i];
}

static int64_t
writer_n_parked(struct store_writer *w)
{
	struct journal_counts counts = {0};

	if (w->journal != NULL)
		journal_get_counts(w->journal, &counts);
	return counts.n_parked;
}

static void
writer_take_parked(struct store_writer *w)
{
	while (w->journal != NULL && w->n_batch < WRITER_BATCH) {
		struct turn *t;
		int slot = journal_unpark(w->journal, &t);

		if (slot < 0)
			return;
		if (t != NULL) {
			w->batch[w->n_batch++] = t;
			continue;
		}
		log_err("a turn cannot be read back from the journal");
		atomic_fetch_add(&w->n_lost, 1);
		atomic_fetch_sub(&w->n_waiting, 1);
		journal_release(w->journal, slot);
	}
}

/* Fills the batch; false when closed and nothing is left. */
static bool
writer_collect(struct store_writer *w)
{
	int64_t until = w->committed_ns + (int64_t)WRITER_GATHER_MS * 1000000;
	bool is_closed = queue_is_closed(w->queue);

	writer_take(w, writer_n_parked(w) > 0 ? 0 : WRITER_IDLE_MS);
	while (w->n_batch > 0 && w->n_batch < WRITER_BATCH &&
	       clock_now_ns() < until && !queue_is_closed(w->queue)) {
		const struct timespec step = {
		    .tv_nsec = WRITER_GATHER_STEP_MS * 1000000};

		nanosleep(&step, NULL);
		writer_take(w, 0);
	}
	if (w->n_batch == 0)
		writer_take_parked(w);
	return w->n_batch > 0 || !is_closed;
}

static void *
writer_main(void *cls)
{
	struct store_writer *w = cls;

	while (writer_collect(w)) {
		if (w->n_batch > 0 && !writer_store(w))
			break;
		writer_watch_wal(w);
	}
	return NULL;
}

/* What could not be written by the end: the journal has it, or nobody. */
static void
writer_abandon(struct store_writer *w)
{
	int64_t n_kept = writer_n_parked(w), n_lost = 0;

	do {
		for (size_t i = 0; i < w->n_batch; i++) {
			if (w->batch[i] == NULL)
				continue;
			if (w->batch[i]->slot >= 0)
				n_kept++;
			else
				n_lost++;
			turn_free(w->batch[i]);
		}
		w->n_batch = 0;
		writer_take(w, 0);
	} while (w->n_batch > 0 || queue_len(w->queue) > 0);
	if (n_kept > 0)
		log_warn("%lld turns could not be written to %s; the journal "
			 "keeps them for the next start",
		    (long long)n_kept, w->path);
	if (n_lost > 0)
		log_err("%lld turns are lost: neither %s nor the journal could "
			"take them",
		    (long long)n_lost, w->path);
}

static void
writer_free(struct store_writer *w)
{
	writer_close_db(w);
	pthread_cond_destroy(&w->stopping);
	pthread_mutex_destroy(&w->mtx);
	queue_free(w->queue);
	free(w->path);
	free(w);
}

int
store_writer_start(const struct store_writer_setup *setup,
    struct store_writer **writer_out, char **error_out)
{
	struct store_writer *w = calloc(1, sizeof(*w));
	pthread_condattr_t attr;
	sigset_t all, before;
	int r = -ENOMEM;

	*writer_out = NULL;
	*error_out = NULL;
	if (w == NULL)
		return r;
	pthread_mutex_init(&w->mtx, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&w->stopping, &attr);
	pthread_condattr_destroy(&attr);
	w->journal = setup->journal;
	w->path = strdup(setup->path);
	w->queue = queue_new(setup->n_queue);
	if (w->path == NULL || w->queue == NULL)
		goto out;
	r = writer_open_db(w, DB_WAIT_MS, error_out);
	if (r < 0)
		goto out;
	r = db_errno(writer_step_number(w, SQL_LAST_SEQ, &w->last_seq));
	if (r < 0) {
		db_fail(w->db, w->path, sqlite3_errcode(w->db), error_out);
		goto out;
	}
	/* Signals are the loop's. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = -pthread_create(&w->thread, NULL, writer_main, w);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (r < 0)
		goto out;
	*writer_out = w;
	return 0;
out:
	writer_free(w);
	return r;
}

int64_t
store_writer_last_seq(const struct store_writer *w)
{
	return w->last_seq;
}

/* The queue has no room, or others wait in the journal already: the turn as
 * it is now goes into its slot, and its memory is given back. */
static int
writer_park(struct store_writer *w, struct turn **t, int slot)
{
	if (w->journal == NULL || slot < 0 ||
	    journal_write(w->journal, slot, *t, false) < 0)
		return -ENOBUFS;
	journal_park(w->journal, slot);
	turn_free(*t);
	*t = NULL;
	/* The writer may have looked for parked turns just before this one and
	 * now wait for the queue. */
	if (queue_len(w->queue) == 0)
		queue_put(w->queue, NULL);
	return 0;
}

int
store_writer_put(struct store_writer *w, struct turn **t, int slot)
{
	int r = -ENOBUFS;

	atomic_fetch_add(&w->n_waiting, 1);
	(*t)->slot = slot;
	if (slot < 0 || writer_n_parked(w) == 0) {
		r = queue_put(w->queue, *t);
		if (r == 0)
			*t = NULL;
	}
	if (r < 0)
		r = writer_park(w, t, slot);
	if (r < 0)
		atomic_fetch_sub(&w->n_waiting, 1);
	return r;
}

void
store_writer_get_state(
    struct store_writer *w, struct store_writer_state *state_out)
{
	pthread_mutex_lock(&w->mtx);
	state_out->n_written = w->n_written;
	state_out->is_failing = w->is_failing;
	memcpy(state_out->reason, w->reason, sizeof(w->reason));
	pthread_mutex_unlock(&w->mtx);
	state_out->n_waiting = atomic_load(&w->n_waiting);
	state_out->n_lost = atomic_load(&w->n_lost);
}

void
store_writer_count_lost(struct store_writer *w, int64_t n)
{
	atomic_fetch_add(&w->n_lost, n);
}

void
store_writer_stop(struct store_writer *w, int timeout_ms)
{
	if (w == NULL)
		return;
	pthread_mutex_lock(&w->mtx);
	w->deadline_ns = clock_now_ns() + (int64_t)timeout_ms * 1000000;
	pthread_cond_broadcast(&w->stopping);
	pthread_mutex_unlock(&w->mtx);
	queue_close(w->queue);
	pthread_join(w->thread, NULL);
	writer_abandon(w);
	writer_free(w);
}
