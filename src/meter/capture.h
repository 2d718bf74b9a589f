/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * capture: writes one value of a JSON text, told by the scanner's events, into
 * a bounded buffer as compact JSON. For the two things of an answer that are
 * read as a whole: its usage object and its error.
 *
 * A strict capture keeps numbers, booleans and short names only: what does not
 * look like a counter or an enum's value is left out, so that no text of a
 * prompt or an answer can hide in it.
 * One thread. Embedded; allocates on first use.
 */
#ifndef METER_CAPTURE_H
#define METER_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "scan/json.h"

enum {
	CAPTURE_BYTES_MAX = 16 * 1024,
	CAPTURE_NAME_BYTES = 64,    /* of a strict one's strings */
	CAPTURE_STRING_BYTES = 1024 /* of a loose one's: longer ones are cut */
};

struct capture {
	struct buf text;
	int depth;         /* that of the value's holder */
	bool is_strict;    /* constant after init */
	bool is_open;      /* the value is not over yet */
	bool is_over_full; /* nothing of it counts */
	bool needs_comma;
	bool in_string;
	bool is_dropped; /* the string that is passing */
	uint8_t n_key;
	char key[JSON_KEY_BYTES];
	size_t before_string; /* where the buffer stood */
	size_t string_start;
};

void capture_init(struct capture *c, bool is_strict);
void capture_fini(struct capture *c);

/* Forgets the last value and takes the next one, whose holder has DEPTH. */
void capture_begin(struct capture *c, int depth);

/* An event from the value's first on. The value is over when .is_open falls.
 * The wish is what the scanner is to be answered. */
enum json_wish capture_event(struct capture *c, enum json_event event,
    int depth, const char *data, size_t n, bool is_last);

/* Whether there is a whole value, in .text. */
bool capture_is_whole(const struct capture *c);

#endif
