/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * row: a turn into and out of a statement, by the table of fields. Private to
 * the room. Results are SQLite's codes.
 */
#ifndef STORE_ROW_H
#define STORE_ROW_H

struct sqlite3_stmt;
struct turn;
struct turn_tool;

/* Binds every field as ?1...; the texts are borrowed until the reset. */
int row_bind(struct sqlite3_stmt *stmt, const struct turn *t);

/* Sets every field from the columns, its texts in T's arena. */
int row_read(struct sqlite3_stmt *stmt, struct turn *t);

int row_bind_tool(
    struct sqlite3_stmt *stmt, long long seq, const struct turn_tool *tool);
void row_read_tool(struct sqlite3_stmt *stmt, struct turn *t);

#endif
