/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * A line is FIELD ":" one optional space VALUE; the empty line ends the event.
 * Only the field's name is gathered, and it is short: what is longer is none
 * that anybody knows.
 *
 *   FIELD --> SPACE --> DATA ---.
 *     |         |-----> NAME ---+--> (line end) --> FIELD
 *     |         `-----> IGNORE -'
 *     `--> (empty line: the event is told)
 *
 * A CR ends its line at once and an LF right behind it is dropped, in the next
 * piece too: nobody waits for a byte that may not come.
 */
#include "scan/sse.h"

#include <string.h>

#include "bytes.h"

enum sse_state {
	SSE_STATE_FIELD,  /* in the name of a line's field, or before it */
	SSE_STATE_SPACE,  /* behind the colon of a data line */
	SSE_STATE_DATA,   /* in a value that is handed on */
	SSE_STATE_EVENT,  /* behind the colon of the event's name */
	SSE_STATE_NAME,   /* in the event's name */
	SSE_STATE_IGNORE, /* in a line that nobody asked for */
};

static bool
sse_field_is(const struct sse *s, const char *name, size_t n)
{
	return s->n_field == n && memcmp(s->field, name, n) == 0;
}

static void
sse_begin_data(struct sse *s)
{
	if (s->has_data)
		s->handler->data(s->cls, "\n", 1);
	s->has_data = true;
	s->state = SSE_STATE_SPACE;
}

/* The field's name is whole: what is its value for? */
static void
sse_begin_value(struct sse *s)
{
	if (s->n_field == 0) {
		s->state = SSE_STATE_IGNORE; /* a comment */
	} else if (sse_field_is(s, "data", 4)) {
		sse_begin_data(s);
	} else if (sse_field_is(s, "event", 5)) {
		s->n_name = 0;
		s->state = SSE_STATE_EVENT;
	} else if (sse_field_is(s, "id", 2) || sse_field_is(s, "retry", 5) ||
		   s->handler->other_field == NULL) {
		s->state = SSE_STATE_IGNORE;
	} else if (s->handler->other_field(s->cls, s->field, s->n_field)) {
		sse_begin_data(s);
	} else {
		s->state = SSE_STATE_IGNORE;
	}
	s->n_field = 0;
}

static bool
sse_tell_event(struct sse *s)
{
	bool has_data = s->has_data, is_event = has_data || s->n_name > 0;

	s->name[s->n_name] = '\0';
	s->n_name = 0;
	s->has_data = false;
	if (is_event)
		s->handler->event(s->cls, s->name, has_data);
	return is_event;
}

/* P is at the CR or LF. */
static inline const char *
sse_line_end(struct sse *s, const char *p)
{
	s->at_start = false;
	s->after_cr = *p == '\r';
	s->state = SSE_STATE_FIELD;
	return p + 1;
}

static void
sse_field_add(struct sse *s, char c)
{
	static const char mark[] = "\xef\xbb\xbf";

	if (s->n_field < SSE_FIELD_BYTES)
		s->field[s->n_field++] = c;
	if (s->at_start && sse_field_is(s, mark, sizeof(mark) - 1)) {
		s->at_start = false;
		s->n_field = 0;
	}
}

static const char *
sse_in_field(struct sse *s, const char *p, const char *end)
{
	if (s->n_field == 0 && end - p >= 6 && memcmp(p, "data: ", 6) == 0) {
		sse_begin_data(s);
		s->state = SSE_STATE_DATA;
		return p + 6;
	}
	while (p < end && *p != ':' && *p != '\n' && *p != '\r')
		sse_field_add(s, *p++);
	if (p == end)
		return end;
	if (*p == ':') {
		sse_begin_value(s);
		return p + 1;
	}
	/* A field without a colon has an empty value. */
	if (s->n_field > 0)
		sse_begin_value(s);
	else
		sse_tell_event(s);
	return sse_line_end(s, p);
}

static const char *
sse_in_data(struct sse *s, const char *p, const char *end)
{
	const char *q = bytes_find_line_end(p, end);

	if (q > p)
		s->handler->data(s->cls, p, (size_t)(q - p));
	return q < end ? sse_line_end(s, q) : end;
}

static const char *
sse_in_name(struct sse *s, const char *p, const char *end)
{
	const char *q = bytes_find_line_end(p, end);
	size_t n = (size_t)(q - p), room = SSE_NAME_BYTES - 1u - s->n_name;

	if (n > room)
		n = room;
	memcpy(s->name + s->n_name, p, n);
	s->n_name = (uint8_t)(s->n_name + n);
	return q < end ? sse_line_end(s, q) : end;
}

static const char *
sse_in_ignored(struct sse *s, const char *p, const char *end)
{
	const char *q = bytes_find_line_end(p, end);

	return q < end ? sse_line_end(s, q) : end;
}

static inline const char *
sse_step(struct sse *s, const char *p, const char *end)
{
	if (s->after_cr) {
		s->after_cr = false;
		if (*p == '\n')
			return p + 1;
	}
	switch ((enum sse_state)s->state) {
	case SSE_STATE_FIELD: return sse_in_field(s, p, end);
	case SSE_STATE_SPACE:
		s->state = SSE_STATE_DATA;
		return *p == ' ' ? p + 1 : p;
	case SSE_STATE_DATA: return sse_in_data(s, p, end);
	case SSE_STATE_EVENT:
		s->state = SSE_STATE_NAME;
		return *p == ' ' ? p + 1 : p;
	case SSE_STATE_NAME: return sse_in_name(s, p, end);
	case SSE_STATE_IGNORE: return sse_in_ignored(s, p, end);
	}
	return end;
}

void
sse_init(struct sse *s, const struct sse_handler *handler, void *cls)
{
	s->handler = handler;
	s->cls = cls;
	s->state = SSE_STATE_FIELD;
	s->after_cr = false;
	s->at_start = true;
	s->has_data = false;
	s->n_field = 0;
	s->n_name = 0;
}

void
sse_feed(struct sse *s, const void *data, size_t n)
{
	const char *p = data, *end = p + n;

	if (n == 0)
		return;
	while (p < end)
		p = sse_step(s, p, end);
}

bool
sse_end(struct sse *s)
{
	return sse_tell_event(s);
}
