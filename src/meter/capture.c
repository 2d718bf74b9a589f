/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * Strings come as on the wire, escapes and all, so they are copied as they
 * are; only a cut has to look where an escape begins. A key is written with
 * its value, since a strict capture may leave the value out.
 */
#include "meter/capture.h"

#include <string.h>

void
capture_init(struct capture *c, bool is_strict)
{
	*c = (struct capture){.is_strict = is_strict};
	buf_init(&c->text, CAPTURE_BYTES_MAX);
}

void
capture_fini(struct capture *c)
{
	buf_fini(&c->text);
}

void
capture_begin(struct capture *c, int depth)
{
	buf_clear(&c->text);
	c->depth = depth;
	c->is_open = true;
	c->is_over_full = false;
	c->needs_comma = false;
	c->in_string = false;
	c->n_key = 0;
}

bool
capture_is_whole(const struct capture *c)
{
	return !c->is_open && !c->is_over_full && buf_len(&c->text) > 0;
}

static void
capture_add(struct capture *c, const char *s, size_t n)
{
	if (!c->is_over_full && buf_append(&c->text, s, n) != 0)
		c->is_over_full = true;
}

/* A value of N bytes and what stands before it: a comma, and its key within an
 * object. */
static void
capture_value(struct capture *c, const char *s, size_t n)
{
	size_t n_lead = c->needs_comma + (c->n_key > 0 ? c->n_key + 3u : 0);
	char *at = c->is_over_full ? NULL : buf_reserve(&c->text, n_lead + n);

	if (at == NULL) {
		c->is_over_full = true;
	} else {
		if (c->needs_comma)
			*at++ = ',';
		if (c->n_key > 0) {
			*at++ = '"';
			memcpy(at, c->key, c->n_key);
			at += c->n_key;
			*at++ = '"';
			*at++ = ':';
		}
		memcpy(at, s, n);
		buf_commit(&c->text, n_lead + n);
	}
	c->n_key = 0;
	c->needs_comma = true;
}

static inline bool
capture_is_of_name(unsigned char c)
{
	switch (c) {
	case '_':
	case '-':
	case '.':
	case ':':
	case '/':
	case '@':
	case '+': return true;
	default: return (c | 0x20u) - 'a' < 26u || c - (unsigned)'0' < 10u;
	}
}

static bool
capture_is_name(const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!capture_is_of_name((unsigned char)s[i]))
			return false;
	return true;
}

static enum json_wish
capture_key(struct capture *c, const char *s, size_t n)
{
	if (n == 0 || n >= JSON_KEY_BYTES || !capture_is_name(s, n)) {
		c->n_key = 0;
		return JSON_SKIP;
	}
	memcpy(c->key, s, n);
	c->n_key = (uint8_t)n;
	return JSON_WANT;
}

/* The longest part of N bytes of a string that ends in no half escape. */
static size_t
capture_whole_escapes(const char *s, size_t n)
{
	size_t i = 0;

	while (i < n) {
		size_t len = 1;

		if (s[i] == '\\')
			len = i + 1 < n && s[i + 1] == 'u' ? 6 : 2;
		if (i + len > n)
			break;
		i += len;
	}
	return i;
}

static void
capture_string(struct capture *c, const char *s, size_t n, bool is_last)
{
	size_t len,
	    most = c->is_strict ? CAPTURE_NAME_BYTES : CAPTURE_STRING_BYTES;

	if (!c->in_string) {
		c->in_string = true;
		c->is_dropped = false;
		c->before_string = c->text.end;
		capture_value(c, "\"", 1);
		c->string_start = c->text.end;
	}
	len = c->text.end - c->string_start;
	if (n > most - len) {
		n = most - len;
		c->is_dropped = c->is_strict;
	}
	if (c->is_strict && !capture_is_name(s, n))
		c->is_dropped = true;
	if (!c->is_dropped)
		capture_add(c, s, n);
	if (!is_last)
		return;
	c->in_string = false;
	if (c->is_over_full)
		return;
	if (c->is_dropped) {
		c->text.end = c->before_string;
		c->needs_comma = buf_len(&c->text) > 0 &&
				 strchr("{[", c->text.base[c->text.end - 1]) ==
				     NULL;
		return;
	}
	c->text.end = c->string_start +
		      capture_whole_escapes(c->text.base + c->string_start,
			  c->text.end - c->string_start);
	capture_add(c, "\"", 1);
}

enum json_wish
capture_event(struct capture *c, enum json_event event, int depth,
    const char *data, size_t n, bool is_last)
{
	bool ends = depth == c->depth;

	switch (event) {
	case JSON_OBJECT:
	case JSON_ARRAY:
		capture_value(c, event == JSON_OBJECT ? "{" : "[", 1);
		c->needs_comma = false;
		return JSON_WANT;
	case JSON_OBJECT_END:
	case JSON_ARRAY_END:
		capture_add(c, event == JSON_OBJECT_END ? "}" : "]", 1);
		c->needs_comma = true;
		break;
	case JSON_KEY: return capture_key(c, data, n);
	case JSON_STRING:
		capture_string(c, data, n, is_last);
		ends = ends && is_last;
		break;
	case JSON_NUMBER:
		if (n > 0)
			capture_value(c, data, n);
		else /* too long to be one of ours */
			c->n_key = 0;
		break;
	case JSON_TRUE: capture_value(c, "true", 4); break;
	case JSON_FALSE: capture_value(c, "false", 5); break;
	case JSON_NULL:
		if (c->is_strict)
			c->n_key = 0;
		else
			capture_value(c, "null", 4);
		break;
	case JSON_DOCUMENT_END:
	case JSON_FAILED: ends = false; break;
	}
	if (ends)
		c->is_open = false;
	return JSON_WANT;
}
