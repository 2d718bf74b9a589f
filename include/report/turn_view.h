/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * turn_view: a turn as one aligned line, the same in `tail` and `turns`.
 *
 * The view knows the columns, which of them the turns seen so far can fill,
 * the letters of the sessions, and which footnotes were used. One thread.
 */
#ifndef REPORT_TURN_VIEW_H
#define REPORT_TURN_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/turn.h"
#include "report/table.h"

enum { TURN_VIEW_SESSIONS = 52 };

struct buf;

struct turn_view {
	size_t width;  /* of the terminal */
	bool has_date; /* TIME holds the day too */
	struct table_layout layout;
	/* private */
	unsigned known; /* columns that some turn could fill */
	unsigned notes; /* letters used */
	unsigned told;  /* and explained */
	uint64_t n_uses;
	struct {
		char id[TURN_TEXT_BYTES + 1];
		uint64_t used; /* 0: free */
	} sessions[TURN_VIEW_SESSIONS];
};

void turn_view_init(struct turn_view *v, size_t width, bool has_date);

/* A new width; the layout is made again. */
void turn_view_resize(struct turn_view *v, size_t width);

/* Columns that nobody fills yet (cost, gap, project) are absent until a turn
 * has one: returns true where T brought one in, so that a new header is due. */
bool turn_view_learn(struct turn_view *v, const struct turn *t);

void turn_view_header(const struct turn_view *v, struct buf *out);

/* One line: the numbers, or where there are none, what went wrong. */
void turn_view_row(struct turn_view *v, const struct turn *t, struct buf *out);

/* A turn in flight, ELAPSED_MS after its start. */
void turn_view_live_row(struct turn_view *v, const struct turn *t,
    double elapsed_ms, struct buf *out);

/* Explains the letters that the rows used, one line each, and each once in the
 * life of the view; none: appends nothing. */
void turn_view_notes(struct turn_view *v, struct buf *out);

/* The letter of a session, a to Z; given out again after 52 of them, the one
 * not seen longest first. '?' where ID is NULL. */
char turn_view_letter(struct turn_view *v, const char *id);

/* What the end of a turn that is not ok was, in words: "429 rate: wait 6.0 s",
 * "client closed after 3.20 s". */
void turn_view_outcome(const struct turn *t, char *out, size_t size);

/* Reasoning was generated but not shown as it came: the time to the first
 * token holds it, and the decode speed does not. */
bool turn_view_is_hidden(const struct turn *t);

#endif
