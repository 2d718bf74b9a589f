/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * What `turnmeter db` does. Each writes its findings into a text that the
 * caller prints; the last line says how it ended.
 */
#include "store/store.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sqlite3.h>

#include "base/buf.h"
#include "record/turn.h"
#include "store/journal.h"

#include "db.h"
#include "row.h"
#include "schema.h"
#include "sql.h"

enum { MAINTAIN_TEXT_BYTES = 1 << 20, MAINTAIN_FAULTS_MAX = 20 };

/* Gives what B holds as a text; every way out of this file goes through it. */
static int
maintain_end(struct buf *b, int r, char **text_out)
{
	size_t n;

	buf_append(b, "", 1);
	*text_out = buf_take(b, &n);
	buf_fini(b);
	return r;
}

/* The reason of a failed open becomes the text. */
static int
maintain_refuse(struct buf *b, int r, char *error, char **text_out)
{
	buf_printf(b, "%s\n", error != NULL ? error : strerror(-r));
	free(error);
	return maintain_end(b, r, text_out);
}

/* Adds each row of a PRAGMA that lists faults; how many, -1 where it could
 * not run to its end. */
static int
maintain_list(
    sqlite3 *db, struct buf *b, const char *sql, const char *what, bool has_ok)
{
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);
	int n = 0;

	if (rc == SQLITE_OK)
		rc = sqlite3_step(stmt);
	for (; rc == SQLITE_ROW; rc = sqlite3_step(stmt)) {
		const char *s = (const char *)sqlite3_column_text(stmt, 0);

		if (has_ok && s != NULL && strcmp(s, "ok") == 0)
			continue;
		n++;
		if (n <= MAINTAIN_FAULTS_MAX)
			buf_printf(
			    b, "%s: %s\n", what, s != NULL ? s : "(null)");
	}
	if (rc != SQLITE_DONE) {
		buf_printf(b, "%s: %s\n", what, sqlite3_errmsg(db));
		n = -1;
	} else if (n == 0) {
		buf_printf(b, "%s: ok\n", what);
	}
	sqlite3_finalize(stmt);
	return n;
}

/* What waits in the journal; -errno where it cannot be read. */
static int
maintain_add_journal(const char *path, struct buf *b)
{
	int64_t n_open = 0, n_closed = 0;
	char *journal;
	int r;

	if (asprintf(&journal, "%s%s", path, JOURNAL_SUFFIX) < 0)
		return -ENOMEM;
	r = journal_count_held(journal, &n_open, &n_closed);
	if (r < 0)
		buf_printf(b, "journal: %s is not one that can be read: %s\n",
		    journal, strerror(-r));
	else
		buf_printf(b,
		    "journal: %lld turns in flight, %lld wait for the "
		    "database\n",
		    (long long)n_open, (long long)n_closed);
	free(journal);
	return r;
}

/* 0 for a database that this program knows, else -errno, said in B. */
static int
maintain_check_version(sqlite3 *db, struct buf *b)
{
	struct schema_state state = {0};
	int rc = schema_read(db, &state);

	if (rc != SQLITE_OK) {
		buf_printf(b, "schema: %s\n", sqlite3_errmsg(db));
		return db_errno(rc);
	}
	if (state.is_empty && state.version == 0) {
		buf_printf(b, "schema: empty, `turnmeter serve` fills it\n");
		return -ENOENT;
	}
	if (!state.is_ours) {
		buf_printf(b, "schema: not made by turnmeter\n");
		return -EBADMSG;
	}
	buf_printf(b, "schema: version %d, this program knows %d%s\n",
	    state.version, (int)SCHEMA_VERSION,
	    state.version > SCHEMA_VERSION ? ": update turnmeter" : "");
	return state.version > SCHEMA_VERSION ? -ENOTSUP : 0;
}

/* How many faults the content has, each said in B. */
static int
maintain_check_content(sqlite3 *db, const char *path, struct buf *b)
{
	int n = maintain_list(
	    db, b, "PRAGMA integrity_check(100)", "integrity", true);
	int n_orphans = maintain_list(db, b, "PRAGMA foreign_key_check",
	    "rows without their turn", false);

	buf_printf(b, "turns: %lld, to seq %lld\n",
	    db_number(db, "SELECT count(*) FROM turns"),
	    db_number(db, "SELECT coalesce(max(seq), 0) FROM turns"));
	buf_printf(b, "size: %lld bytes, -wal %lld bytes\n",
	    db_file_bytes(path, ""), db_file_bytes(path, "-wal"));
	return (n != 0) + (n_orphans != 0) +
	       (maintain_add_journal(path, b) < 0);
}

int
store_check(const char *path, char **text_out)
{
	struct buf b;
	sqlite3 *db = NULL;
	char *error = NULL;
	int r;

	buf_init(&b, MAINTAIN_TEXT_BYTES);
	r = db_open_to_read(path, true, &db, &error);
	if (r < 0)
		return maintain_refuse(&b, r, error, text_out);
	r = maintain_check_version(db, &b);
	if (r == 0) {
		r = maintain_check_content(db, path, &b) == 0 ? 0 : -EBADMSG;
		buf_printf(&b, "%s\n", r == 0 ? "sound" : "NOT SOUND");
	}
	sqlite3_close(db);
	if (r == -EBADMSG)
		buf_printf(&b,
		    "Stop the daemon, keep a copy of %s, and save what can be "
		    "read:\nsqlite3 %s .recover | sqlite3 NEW-FILE\n",
		    path, path);
	return maintain_end(&b, r, text_out);
}

static int
maintain_fsync(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC);
	int r = 0;

	if (fd < 0)
		return -errno;
	if (fsync(fd) < 0)
		r = -errno;
	close(fd);
	return r;
}

/* The file and the entry in its folder. */
static int
maintain_sync(const char *path)
{
	char *copy = strdup(path);
	int r = copy != NULL ? maintain_fsync(path, O_RDONLY) : -ENOMEM;

	if (r == 0)
		r = maintain_fsync(dirname(copy), O_RDONLY | O_DIRECTORY);
	free(copy);
	return r;
}

/* Copies all pages in one read transaction: what a running daemon commits
 * meanwhile is not in it, and does not start it over. */
static int
maintain_copy(sqlite3 *from, const char *to, char **error_out)
{
	sqlite3 *db = NULL;
	sqlite3_backup *backup;
	int rc = sqlite3_open_v2(to, &db, SQLITE_OPEN_READWRITE, NULL);
	int r = 0;

	if (rc == SQLITE_OK) {
		sqlite3_busy_timeout(db, DB_WAIT_MS);
		backup = sqlite3_backup_init(db, "main", from, "main");
		rc = SQLITE_ERROR;
		if (backup != NULL) {
			sqlite3_backup_step(backup, -1);
			rc = sqlite3_backup_finish(backup);
		}
	}
	/* One plain file, that can be read anywhere. */
	if (rc == SQLITE_OK)
		rc = db_exec(db, "PRAGMA journal_mode = DELETE");
	if (rc != SQLITE_OK)
		r = db_fail(db, to, rc, error_out);
	sqlite3_close(db);
	return r;
}

int
store_backup(const char *path, const char *to, char **text_out)
{
	struct buf b;
	sqlite3 *db = NULL;
	char *error = NULL;
	int fd, r;

	buf_init(&b, MAINTAIN_TEXT_BYTES);
	r = db_open_to_read(path, false, &db, &error);
	if (r < 0)
		return maintain_refuse(&b, r, error, text_out);
	fd = open(to, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0 || fchmod(fd, 0600) < 0) {
		r = -errno;
		buf_printf(&b, "cannot make %s: %s\n", to, strerror(-r));
		sqlite3_close(db);
		if (fd >= 0)
			close(fd);
		return maintain_end(&b, r, text_out);
	}
	close(fd);
	r = maintain_copy(db, to, &error);
	if (r == 0)
		r = maintain_sync(to);
	sqlite3_close(db);
	if (r < 0) {
		unlink(to);
		return maintain_refuse(&b, r, error, text_out);
	}
	r = db_open_to_read(to, false, &db, &error);
	if (r < 0)
		return maintain_refuse(&b, r, error, text_out);
	buf_printf(&b, "%s: %lld turns, to seq %lld, %lld bytes\n", to,
	    db_number(db, "SELECT count(*) FROM turns"),
	    db_number(db, "SELECT coalesce(max(seq), 0) FROM turns"),
	    db_file_bytes(to, ""));
	sqlite3_close(db);
	return maintain_end(&b, 0, text_out);
}

/* The turns of the journal on their way into the table. */
struct maintain_recovery {
	struct store_writer *writer;
	struct journal *journal;
	int64_t last_seq;
	int64_t n_open;
	int64_t n_closed;
	int64_t n_left; /* stay in the journal */
};

static void
maintain_recover(void *cls, struct turn **t, int slot, bool is_open)
{
	struct maintain_recovery *m = cls;

	(*t)->source = TURN_SOURCE_RECOVERED;
	if (is_open && (*t)->outcome == TURN_OUTCOME_NULL)
		(*t)->outcome = TURN_OUTCOME_INTERRUPTED;
	/* those that have a seq come first */
	if ((*t)->seq == TURN_NULL)
		(*t)->seq = m->last_seq + 1;
	if ((*t)->seq > m->last_seq)
		m->last_seq = (*t)->seq;
	if (store_writer_put(m->writer, t, slot) < 0) {
		m->n_left++;
		return;
	}
	m->n_open += is_open;
	m->n_closed += !is_open;
}

/* Stores what a crash has left in the journal. 0, or -errno with the reason
 * in B. */
static int
maintain_drain(const char *path, struct journal *j, struct buf *b)
{
	struct store_writer_setup setup = {
	    .path = path, .journal = j, .n_queue = JOURNAL_SLOTS};
	struct maintain_recovery m = {.journal = j};
	struct journal_counts counts;
	char *error = NULL;
	int r = store_writer_start(&setup, &m.writer, &error);

	if (r < 0) {
		buf_printf(b, "%s\n", error != NULL ? error : strerror(-r));
		free(error);
		return r;
	}
	m.last_seq = store_writer_last_seq(m.writer);
	r = journal_replay(j, maintain_recover, &m);
	store_writer_stop(m.writer, DB_WAIT_MS);
	journal_get_counts(j, &counts);
	buf_printf(b,
	    "journal: %lld finished and %lld interrupted turns "
	    "recovered, %lld slots left\n",
	    (long long)m.n_closed, (long long)m.n_open,
	    (long long)(JOURNAL_SLOTS - counts.n_free));
	return r < 0 ? r : counts.n_free < JOURNAL_SLOTS ? -EBUSY : 0;
}

static const struct {
	const char *sql;
	const char *done;
} maintain_steps[] = {
    {"REINDEX", "indexes made anew"},
    {"ANALYZE", "statistics for the query planner made anew"},
    {"VACUUM", "file packed"},
    {"PRAGMA wal_checkpoint(TRUNCATE)", "write-ahead log emptied"},
};

static int
maintain_tidy(const char *path, struct buf *b)
{
	sqlite3 *db = NULL;
	char *error = NULL;
	long long before = db_file_bytes(path, "");
	int r = db_open_to_write(path, DB_WAIT_MS, &db, &error);

	if (r < 0) {
		buf_printf(b, "%s\n", error != NULL ? error : strerror(-r));
		free(error);
		return r;
	}
	for (size_t i = 0;
	     i < sizeof(maintain_steps) / sizeof(*maintain_steps) && r == 0;
	     i++) {
		int rc = db_exec(db, maintain_steps[i].sql);

		r = db_errno(rc);
		buf_printf(b, "%s: %s\n", maintain_steps[i].done,
		    r == 0 ? "ok" : sqlite3_errmsg(db));
	}
	sqlite3_close(db);
	buf_printf(b, "size: %lld bytes, before %lld\n",
	    db_file_bytes(path, ""), before);
	return r;
}

int
store_rebuild(const char *path, char **text_out)
{
	struct buf b;
	struct journal *j = NULL;
	char *name, *error = NULL;
	int r;

	buf_init(&b, MAINTAIN_TEXT_BYTES);
	if (access(path, F_OK) < 0) {
		r = -errno;
		buf_printf(&b, "%s: %s\n", path, strerror(-r));
		return maintain_end(&b, r, text_out);
	}
	if (asprintf(&name, "%s%s", path, JOURNAL_SUFFIX) < 0)
		return maintain_refuse(&b, -ENOMEM, NULL, text_out);
	/* Its lock also keeps a daemon from starting meanwhile. */
	r = journal_open(name, &j, &error);
	free(name);
	if (r < 0)
		return maintain_refuse(&b, r, error, text_out);
	r = maintain_drain(path, j, &b);
	if (r == 0)
		r = maintain_tidy(path, &b);
	journal_close(j);
	buf_printf(&b, "%s\n", r == 0 ? "done" : "NOT DONE");
	return maintain_end(&b, r, text_out);
}
