/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * sql: every statement of the room but the schema's, by name. Private to the
 * room. Results are SQLite's codes.
 */
#ifndef STORE_SQL_H
#define STORE_SQL_H

struct sqlite3;
struct sqlite3_stmt;
struct store_query;

enum sql_name {
	/* the writer's */
	SQL_BEGIN,
	SQL_COMMIT,
	SQL_ROLLBACK,
	SQL_INSERT_TURN, /* ?1...: the fields in order */
	SQL_INSERT_TOOL, /* ?1 turn_seq, name, calls, bytes, errors */
	SQL_HAS_ID,      /* ?1 id */
	SQL_NEXT_SEQ,
	SQL_LAST_SEQ,
	SQL_N_WRITER,
	/* the readers' */
	SQL_TURN = SQL_N_WRITER, /* ?1 seq; the fields in order */
	SQL_TOOLS,               /* ?1 turn_seq; name, calls, bytes, errors */
	SQL_COUNT
};

/* What a query is asked for. */
enum sql_select {
	SQL_SELECT_SEQS,  /* seq, in the order that the query wants */
	SQL_SELECT_COUNTS /* the columns of struct store_counts */
};

/* A statement that is kept: prepared once, stepped and reset. */
int sql_prepare(
    struct sqlite3 *db, enum sql_name name, struct sqlite3_stmt **stmt_out);

/* Prepares and binds; the query's texts are borrowed until it is finalized.
 * SQLITE_RANGE: it sorts by what is no column. */
int sql_prepare_query(struct sqlite3 *db, enum sql_select select,
    const struct store_query *q, struct sqlite3_stmt **stmt_out);

#endif
