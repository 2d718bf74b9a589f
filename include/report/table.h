/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * table: rows of cells in aligned columns that fit a width. Any thread.
 *
 * Two uses. A layout alone (table_layout, table_line) prints rows one by one
 * in widths fixed beforehand, for what never ends; a table collects rows and
 * takes its widths from them.
 *
 * What does not fit is dropped in whole columns, never wrapped, never a cut
 * number: first columns that may shrink do so, then columns go in the order of
 * their `drop`, then what is left over goes back to those that shrank.
 */
#ifndef REPORT_TABLE_H
#define REPORT_TABLE_H

#include <stdbool.h>
#include <stddef.h>

struct buf;

enum { TABLE_COLUMNS_MAX = 32, TABLE_CELL_BYTES = 320 };

struct table_column {
	const char *name;
	bool is_right;
	int drop;       /* 0: stays; the highest goes first */
	size_t width;   /* natural */
	size_t shrink;  /* may lose its middle down to this; 0: never */
	bool is_absent; /* not in this table */
};

struct table_layout {
	size_t n;
	struct table_column columns[TABLE_COLUMNS_MAX];
	bool is_shown[TABLE_COLUMNS_MAX];
	size_t widths[TABLE_COLUMNS_MAX]; /* of those shown */
};

/* WIDTH is the most columns of a line; 0: no limit. N <= TABLE_COLUMNS_MAX. */
void table_layout(struct table_layout *l, const struct table_column *columns,
    size_t n, size_t width);

/* Appends one line, with its line feed and no blanks at its end. A number
 * wider than its column takes the room from a column that may shrink. */
void table_line(
    const struct table_layout *l, const char *const *cells, struct buf *out);
void table_header(const struct table_layout *l, struct buf *out);

/* The same, with a note in place of the columns from FROM on: the first of the
 * N_NOTES, longest first, that the rest of WIDTH (0: all that it needs) holds.
 * Where none does, the last is shortened to it. */
void table_line_note(const struct table_layout *l, const char *const *cells,
    size_t from, const char *const *notes, size_t n_notes, size_t width,
    struct buf *out);

struct table;

/* The columns' widths are only the least. NULL without memory. */
struct table *table_new(const struct table_column *columns, size_t n);
void table_free(struct table *t);

/* Copies the cells. 0 or -ENOMEM. */
int table_add(struct table *t, const char *const *cells);

/* Header and rows. */
void table_print(const struct table *t, size_t width, struct buf *out);

#endif
