/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * memo: the shape of the last event that brought one text and nothing else.
 *
 * Most events of a stream differ from the one before in that text alone. Where
 * an event has the same bytes before and behind it, and the text between holds
 * no quote and no escape, it is the same JSON with another string, and means
 * the same: it need not be read again. Comparing is several times faster than
 * reading.
 * Embedded; allocates nothing.
 */
#ifndef METER_MEMO_H
#define METER_MEMO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "meter/timing.h"

enum { MEMO_HEAD_BYTES = 384, MEMO_TAIL_BYTES = 128 };

struct memo {
	uint16_t n_head; /* 0: nothing learnt */
	uint16_t n_tail;
	enum timing_kind kind;
	char head[MEMO_HEAD_BYTES]; /* with the quote that opens the text */
	char tail[MEMO_TAIL_BYTES]; /* from the quote that closes it on */
};

/* The event of N bytes brought TEXT, which lies within it. */
static inline void
memo_learn(struct memo *m, const char *event, size_t n, const char *text,
    size_t n_text, enum timing_kind kind)
{
	size_t n_head, n_tail;

	if (text <= event || text >= event + n)
		return;
	n_head = (size_t)(text - event);
	if (n_text >= n - n_head)
		return;
	n_tail = n - n_head - n_text;
	if (n_head > MEMO_HEAD_BYTES || n_tail > MEMO_TAIL_BYTES)
		return;
	m->n_head = (uint16_t)n_head;
	m->n_tail = (uint16_t)n_tail;
	m->kind = kind;
	memcpy(m->head, event, n_head);
	memcpy(m->tail, text + n_text, n_tail);
}

/* Whether this event is of that shape, with a text of *N_TEXT_OUT bytes. */
static inline bool
memo_fits(const struct memo *m, const char *event, size_t n, size_t *n_text_out)
{
	const char *text = event + m->n_head;
	size_t n_text;

	if (m->n_head == 0 || n < (size_t)m->n_head + m->n_tail)
		return false;
	n_text = n - m->n_head - m->n_tail;
	*n_text_out = n_text;
	return memcmp(text + n_text, m->tail, m->n_tail) == 0 &&
	       memcmp(event, m->head, m->n_head) == 0 &&
	       memchr(text, '"', n_text) == NULL &&
	       memchr(text, '\\', n_text) == NULL;
}

#endif
