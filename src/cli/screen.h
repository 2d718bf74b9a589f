/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * screen: lines that scroll, and a foot below them that is painted in place.
 *
 * Only on a terminal: elsewhere the foot is never written, nor any escape
 * code. One thread; writes to stdout.
 */
#ifndef CLI_SCREEN_H
#define CLI_SCREEN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

enum { SCREEN_BYTES = 1 << 20, SCREEN_FOOT_MAX = 8 };

enum screen_colour { SCREEN_PLAIN, SCREEN_DIM, SCREEN_YELLOW, SCREEN_RED };

struct screen {
	bool is_terminal;
	bool has_colour;
	size_t width;
	size_t n_foot;  /* lines of the foot now on the terminal */
	bool is_broken; /* nobody reads any more */
	struct buf out;
	struct buf foot; /* what stands there */
};

void screen_init(struct screen *s);

/* Takes the foot away and writes what waits. */
void screen_fini(struct screen *s);

/* The terminal's width may have changed; true where it has. */
bool screen_resize(struct screen *s);

/* Appends whole lines above the foot, which is taken away: paint it again. */
void screen_lines(
    struct screen *s, enum screen_colour colour, const char *text, size_t n);

/* TEXT in lines of the screen's width, broken at blanks; the first begins with
 * FIRST, the others with as many blanks. */
void screen_words(struct screen *s, enum screen_colour colour,
    const char *first, const char *text);

/* Paints the foot: TEXT is whole lines, at most SCREEN_FOOT_MAX. */
void screen_foot(struct screen *s, const char *text, size_t n);

/* Writes what waits. */
void screen_flush(struct screen *s);

/* Whether the reader of stdout has gone (a closed pipe). */
bool screen_is_gone(struct screen *s);

#endif
