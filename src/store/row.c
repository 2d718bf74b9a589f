/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
#include "row.h"

#include <sqlite3.h>

#include "record/turn.h"

static int
row_bind_field(sqlite3_stmt *stmt, int at, const struct turn_field *f,
    const struct turn *t)
{
	const void *v = turn_field_at(f, t);
	const char *s = NULL;

	switch (f->type) {
	case TURN_TYPE_INT:
	case TURN_TYPE_BOOL:
	case TURN_TYPE_TIME:
		return sqlite3_bind_int64(stmt, at, *(const int64_t *)v);
	case TURN_TYPE_REAL:
		return sqlite3_bind_double(stmt, at, *(const double *)v);
	case TURN_TYPE_ENUM:
		s = turn_field_enum_name(f, *(const int *)v);
		break;
	case TURN_TYPE_TEXT:
	case TURN_TYPE_FLAGS:
	case TURN_TYPE_JSON: s = *(const char *const *)v; break;
	}
	/* a null pointer binds NULL */
	return sqlite3_bind_text(stmt, at, s, -1, SQLITE_STATIC);
}

int
row_bind(sqlite3_stmt *stmt, const struct turn *t)
{
	/* Half of the columns of a usual turn are NULL, as all are after
	 * this. */
	int rc = sqlite3_clear_bindings(stmt);

	for (size_t i = 0; i < n_turn_fields && rc == SQLITE_OK; i++)
		if (!turn_field_is_null(&turn_fields[i], t))
			rc = row_bind_field(
			    stmt, (int)i + 1, &turn_fields[i], t);
	return rc;
}

static int
row_read_text(
    sqlite3_stmt *stmt, int column, const struct turn_field *f, struct turn *t)
{
	const char *s = (const char *)sqlite3_column_text(stmt, column);
	int value;

	if (f->type == TURN_TYPE_ENUM) {
		/* a name of a newer program is not one that we can show */
		value = s != NULL ? turn_field_enum_value(f, s) : 0;
		*(int *)turn_field_at(f, t) = value > 0 ? value : 0;
		return SQLITE_OK;
	}
	if (s != NULL)
		s = arena_copy(
		    &t->arena, s, (size_t)sqlite3_column_bytes(stmt, column));
	*(const char **)turn_field_at(f, t) = s;
	return s == NULL && sqlite3_column_type(stmt, column) != SQLITE_NULL
		   ? SQLITE_NOMEM
		   : SQLITE_OK;
}

int
row_read(sqlite3_stmt *stmt, struct turn *t)
{
	int rc = SQLITE_OK;

	for (size_t i = 0; i < n_turn_fields && rc == SQLITE_OK; i++) {
		const struct turn_field *f = &turn_fields[i];
		void *v = turn_field_at(f, t);
		int c = (int)i;
		bool is_null = sqlite3_column_type(stmt, c) == SQLITE_NULL;

		switch (f->type) {
		case TURN_TYPE_INT:
		case TURN_TYPE_BOOL:
		case TURN_TYPE_TIME:
			*(int64_t *)v = is_null ? TURN_NULL
						: sqlite3_column_int64(stmt, c);
			break;
		case TURN_TYPE_REAL:
			*(double *)v = is_null ? (double)NAN
					       : sqlite3_column_double(stmt, c);
			break;
		case TURN_TYPE_ENUM:
		case TURN_TYPE_TEXT:
		case TURN_TYPE_FLAGS:
		case TURN_TYPE_JSON: rc = row_read_text(stmt, c, f, t); break;
		}
	}
	if (t->flags == NULL)
		t->flags = "";
	return rc;
}

int
row_bind_tool(sqlite3_stmt *stmt, long long seq, const struct turn_tool *tool)
{
	int rc = sqlite3_bind_int64(stmt, 1, seq);

	if (rc == SQLITE_OK)
		rc = sqlite3_bind_text(stmt, 2, tool->name, -1, SQLITE_STATIC);
	if (rc == SQLITE_OK)
		rc = sqlite3_bind_int64(stmt, 3, tool->calls);
	if (rc == SQLITE_OK)
		rc = sqlite3_bind_int64(stmt, 4, tool->result_bytes);
	if (rc == SQLITE_OK)
		rc = sqlite3_bind_int64(stmt, 5, tool->result_errors);
	return rc;
}

void
row_read_tool(sqlite3_stmt *stmt, struct turn *t)
{
	struct turn_tool *tool = turn_tool_get(t,
	    (const char *)sqlite3_column_text(stmt, 0),
	    (size_t)sqlite3_column_bytes(stmt, 0));

	if (tool == NULL)
		return;
	tool->calls = sqlite3_column_int64(stmt, 1);
	tool->result_bytes = sqlite3_column_int64(stmt, 2);
	tool->result_errors = sqlite3_column_int64(stmt, 3);
}
