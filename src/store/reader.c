/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * A read transaction pins the -wal file, and a row may go to a pager that
 * somebody leaves open over lunch. So no transaction is open while the caller
 * has a row: first the seqs that the query selects are collected, 8 bytes
 * each, then each row is read on its own and handed on after the statement's
 * reset. A row that vanishes in between is passed over.
 */
#include "store/store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

#include <sqlite3.h>

#include "record/turn.h"

#include "db.h"
#include "row.h"
#include "sql.h"

enum {
	STORE_READER_SEQS_FIRST = 256,
	STORE_READER_SEQS_MAX = 16 << 20 /* 128 MiB */
};

struct store_reader {
	sqlite3 *db;
	sqlite3_stmt *turn;
	sqlite3_stmt *tools;
	char *path;
};

/* What a query selects. */
struct store_seqs {
	int64_t *at;
	size_t n;
	size_t size;
};

static void
store_reader_close_db(struct store_reader *r)
{
	sqlite3_finalize(r->turn);
	sqlite3_finalize(r->tools);
	sqlite3_close(r->db);
	r->turn = NULL;
	r->tools = NULL;
	r->db = NULL;
}

static int
store_reader_open_db(struct store_reader *r, char **error_out)
{
	int ret = db_open_to_read(r->path, false, &r->db, error_out), rc;

	if (ret < 0)
		return ret;
	rc = sql_prepare(r->db, SQL_TURN, &r->turn);
	if (rc == SQLITE_OK)
		rc = sql_prepare(r->db, SQL_TOOLS, &r->tools);
	return rc == SQLITE_OK ? 0 : db_fail(r->db, r->path, rc, error_out);
}

/* A reader may live as long as the daemon: where the file was replaced, it
 * reads the new one. */
static int
store_reader_refresh(struct store_reader *r)
{
	int has_moved = 0, ret = 0;
	char *error = NULL;

	if (r->db != NULL)
		sqlite3_file_control(
		    r->db, "main", SQLITE_FCNTL_HAS_MOVED, &has_moved);
	if (has_moved)
		store_reader_close_db(r);
	if (r->db == NULL) {
		ret = store_reader_open_db(r, &error);
		free(error);
		if (ret < 0)
			store_reader_close_db(r);
	}
	return ret;
}

int
store_reader_open(
    const char *path, struct store_reader **reader_out, char **error_out)
{
	struct store_reader *r = calloc(1, sizeof(*r));
	int ret = -ENOMEM;

	*reader_out = NULL;
	*error_out = NULL;
	if (r == NULL)
		return ret;
	r->path = strdup(path);
	if (r->path == NULL)
		goto out;
	ret = store_reader_open_db(r, error_out);
	if (ret < 0)
		goto out;
	*reader_out = r;
	return 0;
out:
	store_reader_close(r);
	return ret;
}

void
store_reader_close(struct store_reader *r)
{
	if (r == NULL)
		return;
	store_reader_close_db(r);
	free(r->path);
	free(r);
}

static int
store_seqs_add(struct store_seqs *s, int64_t seq)
{
	if (s->n == s->size) {
		size_t size = s->size > 0 ? 2 * s->size
					  : STORE_READER_SEQS_FIRST;
		int64_t *at;

		if (size > STORE_READER_SEQS_MAX)
			return -E2BIG;
		at = realloc(s->at, size * sizeof(*at));
		if (at == NULL)
			return -ENOMEM;
		s->at = at;
		s->size = size;
	}
	s->at[s->n++] = seq;
	return 0;
}

static int
store_reader_select(struct store_reader *r, const struct store_query *q,
    struct store_seqs *seqs_out)
{
	sqlite3_stmt *stmt;
	int rc = sql_prepare_query(r->db, SQL_SELECT_SEQS, q, &stmt);
	int ret = 0;

	if (rc != SQLITE_OK)
		return db_errno(rc);
	for (rc = sqlite3_step(stmt); rc == SQLITE_ROW && ret == 0;
	     rc = sqlite3_step(stmt))
		ret = store_seqs_add(seqs_out, sqlite3_column_int64(stmt, 0));
	sqlite3_finalize(stmt);
	return ret < 0 ? ret : db_errno(rc);
}

/* 1: the row is in T; 0: there is none; -errno. */
static int
store_reader_row(struct store_reader *r, int64_t seq, struct turn *t)
{
	int rc = sqlite3_bind_int64(r->turn, 1, seq);
	bool is_found = false;

	arena_fini(&t->arena);
	t->tools = NULL;
	t->n_tools = 0;
	if (rc == SQLITE_OK)
		rc = sqlite3_step(r->turn);
	if (rc == SQLITE_ROW) {
		is_found = true;
		rc = row_read(r->turn, t);
		if (rc == SQLITE_OK)
			rc = sqlite3_bind_int64(r->tools, 1, seq);
		if (rc == SQLITE_OK)
			rc = sqlite3_step(r->tools);
		for (; rc == SQLITE_ROW; rc = sqlite3_step(r->tools))
			row_read_tool(r->tools, t);
	}
	sqlite3_reset(r->tools);
	sqlite3_reset(r->turn);
	return db_errno(rc) < 0 ? db_errno(rc) : is_found;
}

int
store_reader_turns(struct store_reader *r, const struct store_query *q,
    bool (*each)(void *cls, const struct turn *t), void *cls)
{
	struct store_seqs seqs = {0};
	struct turn *t = turn_new();
	/* without a sort they come newest first */
	bool is_backward = q->sort == NULL && !q->is_descending;
	int ret = -ENOMEM;

	if (t == NULL)
		goto out;
	ret = store_reader_refresh(r);
	if (ret == 0)
		ret = store_reader_select(r, q, &seqs);
	for (size_t i = 0; i < seqs.n && ret == 0; i++) {
		ret = store_reader_row(
		    r, seqs.at[is_backward ? seqs.n - 1 - i : i], t);
		if (ret <= 0)
			continue;
		ret = 0;
		if (!each(cls, t))
			break;
	}
out:
	turn_free(t);
	free(seqs.at);
	return ret;
}

int
store_reader_count(struct store_reader *r, const struct store_query *q,
    struct store_counts *counts_out)
{
	sqlite3_stmt *stmt;
	int rc, ret = store_reader_refresh(r);

	memset(counts_out, 0, sizeof(*counts_out));
	if (ret < 0)
		return ret;
	rc = sql_prepare_query(r->db, SQL_SELECT_COUNTS, q, &stmt);
	if (rc != SQLITE_OK)
		return db_errno(rc);
	rc = sqlite3_step(stmt);
	if (rc == SQLITE_ROW)
		*counts_out = (struct store_counts){
		    .n_turns = sqlite3_column_int64(stmt, 0),
		    .n_sessions = sqlite3_column_int64(stmt, 1),
		    .n_rate_limited = sqlite3_column_int64(stmt, 2),
		    .n_no_usage = sqlite3_column_int64(stmt, 3),
		    .last_seq = sqlite3_column_int64(stmt, 4),
		};
	sqlite3_finalize(stmt);
	return db_errno(rc);
}

int
store_reader_sizes(struct store_reader *r, int64_t *db_bytes_out,
    int64_t *wal_bytes_out, int64_t *free_bytes_out)
{
	struct statvfs fs;

	if (statvfs(r->path, &fs) < 0)
		return -errno;
	*db_bytes_out = db_file_bytes(r->path, "");
	*wal_bytes_out = db_file_bytes(r->path, "-wal");
	*free_bytes_out = (int64_t)fs.f_bavail * (int64_t)fs.f_frsize;
	return 0;
}
