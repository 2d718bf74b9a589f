/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
#include "report/table.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "report/text.h"

/* What a name may be cut to so that a long number beside it stays whole. */
enum { TABLE_SHRINK_MIN = 4 };

struct table_row {
	struct table_row *next;
	const char *cells[TABLE_COLUMNS_MAX];
};

struct table {
	size_t n;
	struct table_column columns[TABLE_COLUMNS_MAX];
	struct table_row *first;
	struct table_row **last;
	struct arena arena;
};

/* Columns of a whole line: the widths and one blank between. */
static size_t
table_total(const struct table_layout *l)
{
	size_t total = 0;

	for (size_t i = 0; i < l->n; i++)
		if (l->is_shown[i])
			total += l->widths[i] + (total > 0 ? 1 : 0);
	return total;
}

/* Takes up to EXCESS from the columns that may shrink; the widest first. */
static void
table_shrink(struct table_layout *l, size_t excess)
{
	while (excess > 0) {
		size_t best = l->n;

		for (size_t i = 0; i < l->n; i++)
			if (l->is_shown[i] && l->columns[i].shrink > 0 &&
			    l->widths[i] > l->columns[i].shrink &&
			    (best == l->n || l->widths[i] > l->widths[best]))
				best = i;
		if (best == l->n)
			return;
		l->widths[best]--;
		excess--;
	}
}

/* Hides the column that is to go first; false where none may. */
static bool
table_drop(struct table_layout *l)
{
	size_t best = l->n;

	for (size_t i = 0; i < l->n; i++)
		if (l->is_shown[i] && l->columns[i].drop > 0 &&
		    (best == l->n ||
			l->columns[i].drop > l->columns[best].drop))
			best = i;
	if (best == l->n)
		return false;
	l->is_shown[best] = false;
	return true;
}

void
table_layout(struct table_layout *l, const struct table_column *columns,
    size_t n, size_t width)
{
	assert(n <= TABLE_COLUMNS_MAX);
	l->n = n;
	for (size_t i = 0; i < n; i++) {
		size_t name = text_width(columns[i].name);

		l->columns[i] = columns[i];
		l->is_shown[i] = !columns[i].is_absent;
		l->widths[i] = columns[i].width > name ? columns[i].width
						       : name;
		if (columns[i].shrink > 0 && columns[i].shrink < name)
			l->columns[i].shrink = name;
	}
	if (width == 0)
		return;
	for (;;) {
		size_t total = table_total(l), spare = 0;

		if (total <= width)
			return;
		for (size_t i = 0; i < n; i++)
			if (l->is_shown[i] && l->columns[i].shrink > 0)
				spare += l->widths[i] - l->columns[i].shrink;
		if (total - spare <= width || !table_drop(l)) {
			table_shrink(l, total - width);
			return;
		}
	}
}

static void
table_blanks(struct buf *out, size_t n)
{
	while (n-- > 0)
		buf_append(out, " ", 1);
}

/* One line without its line feed and without blanks at its end; returns the
 * columns printed. */
static size_t
table_cells(
    const struct table_layout *l, const char *const *cells, struct buf *out)
{
	struct table_layout row = *l;
	size_t excess = 0, blanks = 0, used = 0;

	for (size_t i = 0; i < l->n; i++) {
		size_t width;

		if (!l->is_shown[i] || l->columns[i].shrink > 0)
			continue;
		width = text_width(cells[i]);
		if (width > l->widths[i]) {
			excess += width - l->widths[i];
			row.widths[i] = width;
		}
	}
	for (size_t i = 0; excess > 0 && i < l->n; i++)
		if (row.columns[i].shrink > TABLE_SHRINK_MIN)
			row.columns[i].shrink = TABLE_SHRINK_MIN;
	table_shrink(&row, excess);
	for (size_t i = 0; i < row.n; i++) {
		char cell[TABLE_CELL_BYTES];
		size_t width, left = 0;

		if (!row.is_shown[i])
			continue;
		width = text_shorten(
		    cells[i], row.widths[i], cell, sizeof(cell));
		if (row.columns[i].is_right)
			left = row.widths[i] - width;
		if (width > 0) {
			table_blanks(out, blanks + left);
			buf_append_str(out, cell);
			used += blanks + left + width;
			blanks = 1 + row.widths[i] - width - left;
		} else {
			blanks += 1 + row.widths[i];
		}
	}
	return used;
}

void
table_line(
    const struct table_layout *l, const char *const *cells, struct buf *out)
{
	table_cells(l, cells, out);
	buf_append(out, "\n", 1);
}

void
table_line_note(const struct table_layout *l, const char *const *cells,
    size_t from, const char *const *notes, size_t n_notes, size_t width,
    struct buf *out)
{
	struct table_layout head = *l;
	char text[TABLE_CELL_BYTES];
	size_t used, start, note = 0;

	for (size_t i = from; i < head.n; i++)
		head.is_shown[i] = false;
	used = table_cells(&head, cells, out);
	start = table_total(&head);
	start = (start > used ? start : used) + 2;
	if (width == 0)
		width = start + sizeof(text);
	if (width > start) {
		while (note < n_notes - 1 &&
		       text_width(notes[note]) > width - start)
			note++;
		table_blanks(out, start - used);
		text_shorten(notes[note], width - start, text, sizeof(text));
		buf_append_str(out, text);
	}
	buf_append(out, "\n", 1);
}

void
table_header(const struct table_layout *l, struct buf *out)
{
	const char *names[TABLE_COLUMNS_MAX];

	for (size_t i = 0; i < l->n; i++)
		names[i] = l->columns[i].name;
	table_line(l, names, out);
}

struct table *
table_new(const struct table_column *columns, size_t n)
{
	struct table *t = calloc(1, sizeof(*t));

	assert(n <= TABLE_COLUMNS_MAX);
	if (t == NULL)
		return NULL;
	t->n = n;
	memcpy(t->columns, columns, n * sizeof(*columns));
	t->last = &t->first;
	return t;
}

void
table_free(struct table *t)
{
	if (t == NULL)
		return;
	arena_fini(&t->arena);
	free(t);
}

int
table_add(struct table *t, const char *const *cells)
{
	struct table_row *row = arena_alloc(&t->arena, sizeof(*row));

	if (row == NULL)
		return -ENOMEM;
	row->next = NULL;
	for (size_t i = 0; i < t->n; i++) {
		size_t width = text_width(cells[i]);

		row->cells[i] = arena_copy(
		    &t->arena, cells[i], strlen(cells[i]));
		if (row->cells[i] == NULL)
			return -ENOMEM;
		if (width > t->columns[i].width)
			t->columns[i].width = width;
	}
	*t->last = row;
	t->last = &row->next;
	return 0;
}

void
table_print(const struct table *t, size_t width, struct buf *out)
{
	struct table_layout layout;

	table_layout(&layout, t->columns, t->n, width);
	table_header(&layout, out);
	for (const struct table_row *row = t->first; row != NULL;
	     row = row->next)
		table_line(&layout, row->cells, out);
}
