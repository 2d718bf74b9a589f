/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * The plan of a query is said, not guessed by the planner, so that it stays
 * the same with and without ANALYZE. A query by time walks the table by seq
 * from the newest row back, and stops at the N-th hit or at the lowest seq of
 * the interval, which the index of started_at alone tells. So `turns -n 20`
 * of a year reads 20 rows, and all of today reads today's. Rows whose seq and
 * start are far apart (an import) only make the walk longer. (The + keeps
 * SQLite from answering min and max by a walk of its own along seq.)
 */
#include "sql.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <sqlite3.h>

#include "base/buf.h"
#include "record/turn.h"
#include "store/query.h"

enum { SQL_TEXT_BYTES = 16384 };

/* %C: the columns of turns in the order of turn_fields; %P: as many ?. */
static const char *const sql_texts[] = {
    [SQL_BEGIN] = "BEGIN IMMEDIATE",
    [SQL_COMMIT] = "COMMIT",
    [SQL_ROLLBACK] = "ROLLBACK",
    [SQL_INSERT_TURN] = "INSERT INTO turns (%C) VALUES (%P)"
			" ON CONFLICT DO NOTHING",
    [SQL_INSERT_TOOL] = "INSERT INTO turn_tools (turn_seq, name, calls,"
			" result_bytes, result_errors) VALUES (?, ?, ?, ?, ?)"
			" ON CONFLICT DO NOTHING",
    [SQL_HAS_ID] = "SELECT 1 FROM turns WHERE id = ?",
    [SQL_NEXT_SEQ] = "SELECT coalesce(max(seq), 0) + 1 FROM turns",
    [SQL_LAST_SEQ] = "SELECT coalesce(max(seq), 0) FROM turns",
    [SQL_TURN] = "SELECT %C FROM turns WHERE seq = ?",
    [SQL_TOOLS] = "SELECT name, calls, result_bytes, result_errors"
		  " FROM turn_tools WHERE turn_seq = ?",
};
_Static_assert(sizeof(sql_texts) / sizeof(*sql_texts) == SQL_COUNT,
    "a text for each name");

static const char *const sql_selects[] = {
    [SQL_SELECT_SEQS] = "SELECT seq FROM turns",
    [SQL_SELECT_COUNTS] =
	"SELECT count(*), count(DISTINCT session_id),"
	" count(*) FILTER (WHERE outcome = 'rate_limited'),"
	" count(*) FILTER (WHERE kind = 'turn' AND"
	" coalesce(usage_source, 'none') = 'none'),"
	" (SELECT coalesce(max(seq), 0) FROM turns) FROM turns",
};

enum sql_filter_type { SQL_FILTER_TEXT, SQL_FILTER_BOUND };

#define SQL_FILTER(f, t, s)                                           \
	{                                                             \
		.name = ":" #f, .type = (t),                          \
		.offset = offsetof(struct store_query, f), .sql = (s) \
	}

/* The conditions that a field of the query adds where it is set. */
static const struct {
	const char *name;
	enum sql_filter_type type;
	size_t offset;
	const char *sql;
} sql_filters[] = {
    SQL_FILTER(since_ms, SQL_FILTER_BOUND,
	"started_at >= :since_ms AND seq >="
	" (SELECT min(+seq) FROM turns INDEXED BY turns_started_at"
	" WHERE started_at >= :since_ms)"),
    SQL_FILTER(until_ms, SQL_FILTER_BOUND,
	"started_at < :until_ms AND seq <="
	" (SELECT max(+seq) FROM turns INDEXED BY turns_started_at"
	" WHERE started_at < :until_ms)"),
    SQL_FILTER(after_seq, SQL_FILTER_BOUND, "seq > :after_seq"),
    SQL_FILTER(seq, SQL_FILTER_BOUND, "seq = :seq"),
    SQL_FILTER(upstream, SQL_FILTER_TEXT, "upstream = :upstream"),
    SQL_FILTER(
	model, SQL_FILTER_TEXT, "(model = :model OR model_served = :model)"),
    SQL_FILTER(session, SQL_FILTER_TEXT, "session_id = :session"),
    SQL_FILTER(project, SQL_FILTER_TEXT, "project = :project"),
    /* the product with any version, or one of them; '0' follows '/' */
    SQL_FILTER(client, SQL_FILTER_TEXT,
	"(client = :client OR"
	" (client > :client || '/' AND client < :client || '0'))"),
    SQL_FILTER(kind, SQL_FILTER_TEXT, "kind = :kind"),
    /* from the prefix up to the greatest text that begins with it */
    SQL_FILTER(id, SQL_FILTER_TEXT, "id >= :id AND id < :id || char(1114111)"),
};

enum { SQL_N_FILTERS = sizeof(sql_filters) / sizeof(*sql_filters) };

static int
sql_add_columns(struct buf *b)
{
	int r = 0;

	for (size_t i = 0; i < n_turn_fields && r == 0; i++)
		r = buf_printf(
		    b, "%s%s", i > 0 ? ", " : "", turn_fields[i].name);
	return r;
}

static int
sql_add_params(struct buf *b)
{
	int r = 0;

	for (size_t i = 0; i < n_turn_fields && r == 0; i++)
		r = buf_append_str(b, i > 0 ? ", ?" : "?");
	return r;
}

static int
sql_expand(struct buf *b, const char *text)
{
	int r = 0;

	while (*text != '\0' && r == 0) {
		size_t n = strcspn(text, "%");

		r = buf_append(b, text, n);
		text += n;
		if (r < 0 || *text == '\0')
			break;
		r = text[1] == 'C' ? sql_add_columns(b) : sql_add_params(b);
		text += 2;
	}
	return r;
}

static int
sql_compile(sqlite3 *db, struct buf *b, unsigned flags, sqlite3_stmt **stmt_out)
{
	return sqlite3_prepare_v3(
	    db, buf_data(b), (int)buf_len(b), flags, stmt_out, NULL);
}

int
sql_prepare(sqlite3 *db, enum sql_name name, sqlite3_stmt **stmt_out)
{
	struct buf b;
	int rc = SQLITE_NOMEM;

	buf_init(&b, SQL_TEXT_BYTES);
	if (sql_expand(&b, sql_texts[name]) == 0)
		rc = sql_compile(db, &b, SQLITE_PREPARE_PERSISTENT, stmt_out);
	buf_fini(&b);
	return rc;
}

static bool
sql_filter_is_set(size_t i, const struct store_query *q)
{
	const char *at = (const char *)q + sql_filters[i].offset;

	if (sql_filters[i].type == SQL_FILTER_BOUND)
		return *(const int64_t *)(const void *)at != 0;
	return *(const char *const *)(const void *)at != NULL;
}

static int
sql_add_filters(struct buf *b, const struct store_query *q)
{
	const char *word = "WHERE";
	int r = 0;

	/* A session and an id have an index that pays; see above for the rest.
	 * NOT INDEXED still lets seq be looked up. */
	if (q->session != NULL)
		r = buf_append_str(b, " INDEXED BY turns_session_id");
	else if (q->id == NULL)
		r = buf_append_str(b, " NOT INDEXED");
	for (size_t i = 0; i < SQL_N_FILTERS && r == 0; i++) {
		if (!sql_filter_is_set(i, q))
			continue;
		r = buf_printf(b, " %s %s", word, sql_filters[i].sql);
		word = "AND";
	}
	return r;
}

static int
sql_add_order(struct buf *b, const struct store_query *q)
{
	const char *way = q->is_descending ? "DESC" : "ASC";
	int r;

	if (q->sort != NULL)
		r = buf_printf(b, " ORDER BY %s %s NULLS LAST, seq %s",
		    turn_field_find(q->sort)->name, way, way);
	else
		r = buf_append_str(b, " ORDER BY seq DESC");
	if (r == 0 && q->n > 0)
		r = buf_append_str(b, " LIMIT :n");
	return r;
}

static int
sql_bind_query(sqlite3_stmt *stmt, const struct store_query *q)
{
	int rc = SQLITE_OK;
	int at = sqlite3_bind_parameter_index(stmt, ":n");

	if (at > 0)
		rc = sqlite3_bind_int64(stmt, at, q->n);
	for (size_t i = 0; i < SQL_N_FILTERS && rc == SQLITE_OK; i++) {
		const void *v = (const char *)q + sql_filters[i].offset;

		at = sqlite3_bind_parameter_index(stmt, sql_filters[i].name);
		if (at == 0)
			continue;
		if (sql_filters[i].type == SQL_FILTER_BOUND)
			rc = sqlite3_bind_int64(stmt, at, *(const int64_t *)v);
		else
			rc = sqlite3_bind_text(stmt, at,
			    *(const char *const *)v, -1, SQLITE_STATIC);
	}
	return rc;
}

int
sql_prepare_query(sqlite3 *db, enum sql_select select,
    const struct store_query *q, sqlite3_stmt **stmt_out)
{
	struct buf b;
	int r, rc = SQLITE_NOMEM;

	*stmt_out = NULL;
	if (q->sort != NULL && turn_field_find(q->sort) == NULL)
		return SQLITE_RANGE;
	buf_init(&b, SQL_TEXT_BYTES);
	r = buf_append_str(&b, sql_selects[select]);
	if (r == 0)
		r = sql_add_filters(&b, q);
	if (r == 0 && select == SQL_SELECT_SEQS)
		r = sql_add_order(&b, q);
	if (r == 0)
		rc = sql_compile(db, &b, 0, stmt_out);
	buf_fini(&b);
	if (rc == SQLITE_OK)
		rc = sql_bind_query(*stmt_out, q);
	if (rc != SQLITE_OK) {
		sqlite3_finalize(*stmt_out);
		*stmt_out = NULL;
	}
	return rc;
}
