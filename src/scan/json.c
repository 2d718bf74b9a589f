/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * A reader, not a judge: the structure of what is told is checked, what is
 * skipped is only measured (strings and brackets), and numbers, escapes and
 * UTF-8 are the reader's business. A stream that another program accepts must
 * not lose its usage here over a detail that nobody asked about.
 *
 *   START -> TOP <-----------------------------------------------.
 *             |                                                  |
 *             v      {        "       "         :                |
 *           VALUE -----> KEY ----> IN_KEY ---> COLON --> VALUE   |
 *             |                                                  |
 *             |-- " --> STRING --.                               |
 *             |-- w --> WORD ----+--> AFTER -- , --> KEY, VALUE  |
 *             `-- {[ -> SKIP ----'     `-- ]} --> AFTER or ------'
 *
 * Each state's work is one function that takes the bytes from P and returns
 * how far it got. json_turn runs through the states of one member in their
 * usual order, so that compact JSON takes few turns of the loop.
 * docs/internals/scan.md tells more.
 */
#include "scan/json.h"

#include <limits.h>
#include <string.h>

#include "bytes.h"
#include "decimal.h"

enum json_state {
	JSON_STATE_START,       /* no byte yet */
	JSON_STATE_BOM_1,       /* one byte of the mark has passed */
	JSON_STATE_BOM_2,       /* two */
	JSON_STATE_TOP,         /* between documents */
	JSON_STATE_FIRST_VALUE, /* after [: a value or ] */
	JSON_STATE_VALUE,       /* a value must come */
	JSON_STATE_FIRST_KEY,   /* after {: a key or } */
	JSON_STATE_KEY,         /* a key must come */
	JSON_STATE_IN_KEY,
	JSON_STATE_COLON,
	JSON_STATE_STRING,
	JSON_STATE_WORD, /* a number or a literal */
	JSON_STATE_AFTER,
	JSON_STATE_SKIP, /* in a container that nobody wants */
	JSON_STATE_FAILED
};

enum json_escape_state {
	JSON_ESCAPE_NONE,
	JSON_ESCAPE_BACKSLASH,
	JSON_ESCAPE_HEX_0,
	JSON_ESCAPE_HEX_1,
	JSON_ESCAPE_HEX_2,
	JSON_ESCAPE_HEX_3
};

/* The most bytes that one byte of input can complete: the mark of a lone
 * surrogate and a character of the basic plane. */
enum { JSON_ESCAPE_OUT_MAX = 4 };

/* A step that must become part of json_turn: as calls of their own they take
 * a sixth of the time of an event. */
#define JSON_STEP static inline __attribute__((always_inline)) const char *

/*
 * Escapes.
 */

static size_t
json_escape_put(uint32_t c, char *out)
{
	if (c == 0)
		c = '?';
	if (c < 0x80) {
		out[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		out[0] = (char)(0xc0 | c >> 6);
		out[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		out[0] = (char)(0xe0 | c >> 12);
		out[1] = (char)(0x80 | (c >> 6 & 0x3f));
		out[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | c >> 18);
	out[1] = (char)(0x80 | (c >> 12 & 0x3f));
	out[2] = (char)(0x80 | (c >> 6 & 0x3f));
	out[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}

static size_t
json_escape_drop_high(struct json_escape *e, char *out)
{
	if (e->high == 0)
		return 0;
	e->high = 0;
	out[0] = '?';
	return 1;
}

static size_t
json_escape_unit(struct json_escape *e, char *out)
{
	uint32_t unit = e->unit;
	size_t n;

	if (unit >= 0xdc00 && unit < 0xe000 && e->high != 0) {
		unit = 0x10000 + ((uint32_t)(e->high - 0xd800) << 10) +
		       (unit - 0xdc00);
		e->high = 0;
		return json_escape_put(unit, out);
	}
	n = json_escape_drop_high(e, out);
	if (unit >= 0xd800 && unit < 0xdc00) {
		e->high = (uint16_t)unit;
		return n;
	}
	if (unit >= 0xdc00 && unit < 0xe000)
		unit = '?';
	return n + json_escape_put(unit, out + n);
}

static char
json_escape_short(char c)
{
	switch (c) {
	case 'b': return '\b';
	case 'f': return '\f';
	case 'n': return '\n';
	case 'r': return '\r';
	case 't': return '\t';
	default: return c;
	}
}

static int
json_hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* The bytes that C completes; a bad hex digit spoils the whole escape. */
static size_t
json_escape_step(struct json_escape *e, char c, char *out)
{
	size_t n = 0;
	int digit;

	switch ((enum json_escape_state)e->state) {
	case JSON_ESCAPE_NONE:
		if (c == '\\') {
			e->state = JSON_ESCAPE_BACKSLASH;
			return 0;
		}
		n = json_escape_drop_high(e, out);
		out[n] = c;
		return n + 1;
	case JSON_ESCAPE_BACKSLASH:
		if (c == 'u') {
			e->state = JSON_ESCAPE_HEX_0;
			e->unit = 0;
			return 0;
		}
		e->state = JSON_ESCAPE_NONE;
		n = json_escape_drop_high(e, out);
		out[n] = json_escape_short(c);
		return n + 1;
	default: break;
	}
	digit = json_hex(c);
	if (digit < 0) {
		e->state = JSON_ESCAPE_NONE;
		n = json_escape_drop_high(e, out);
		out[n] = '?';
		return n + 1 + json_escape_step(e, c, out + n + 1);
	}
	e->unit = (uint16_t)(e->unit << 4 | digit);
	if (e->state++ < JSON_ESCAPE_HEX_3)
		return 0;
	e->state = JSON_ESCAPE_NONE;
	return json_escape_unit(e, out);
}

/*
 * Telling.
 */

static inline enum json_wish
json_tell(struct json *j, enum json_event event, const char *data, size_t n,
    const char *after)
{
	j->offset = (uintptr_t)after - j->origin;
	return j->handler(j->cls, event, j->depth, data, n, true);
}

/* Swallows the rest of the piece. */
static const char *
json_fail(struct json *j, const char *p, const char *end)
{
	j->state = JSON_STATE_FAILED;
	json_tell(j, JSON_FAILED, p, 0, p);
	return end;
}

static inline bool
json_is_object(const struct json *j)
{
	return j->kinds >> (j->depth - 1) & 1;
}

/* A value has ended before P. */
static inline void
json_value_end(struct json *j, const char *p)
{
	j->is_unwanted = false;
	if (j->depth > 0) {
		j->state = JSON_STATE_AFTER;
		return;
	}
	j->state = JSON_STATE_TOP;
	json_tell(j, JSON_DOCUMENT_END, p, 0, p);
}

/*
 * Strings and keys.
 */

JSON_STEP
json_in_string(struct json *j, const char *p, const char *end)
{
	const char *q = bytes_find_quote(p, end, &j->after_backslash);
	bool is_last = q < end;

	if (!j->is_unwanted) {
		j->offset = (uintptr_t)(q + is_last) - j->origin;
		j->handler(
		    j->cls, JSON_STRING, j->depth, p, (size_t)(q - p), is_last);
	}
	if (!is_last)
		return end;
	json_value_end(j, q + 1);
	return q + 1;
}

static void
json_key_add(struct json *j, const char *p, size_t n)
{
	char out[2 * JSON_ESCAPE_OUT_MAX];

	for (size_t i = 0; i < n && j->n_text < JSON_KEY_BYTES; i++) {
		size_t n_out = json_escape_step(&j->escape, p[i], out);

		for (size_t k = 0; k < n_out && j->n_text < JSON_KEY_BYTES; k++)
			j->text[j->n_text++] = out[k];
	}
}

static void
json_key_told(struct json *j, const char *p, size_t n, const char *after)
{
	if (n > JSON_KEY_BYTES)
		n = JSON_KEY_BYTES;
	j->is_unwanted = json_tell(j, JSON_KEY, p, n, after) == JSON_SKIP;
	j->state = JSON_STATE_COLON;
}

/* In a key of which a part has passed, or that has an escape. */
static const char *
json_in_key(struct json *j, const char *p, const char *end)
{
	const char *q = bytes_find_quote(p, end, &j->after_backslash);

	json_key_add(j, p, (size_t)(q - p));
	if (q == end)
		return end;
	if (j->escape.high != 0 && j->n_text < JSON_KEY_BYTES)
		j->text[j->n_text++] = '?';
	json_key_told(j, j->text, j->n_text, q + 1);
	return q + 1;
}

JSON_STEP
json_at_key(struct json *j, const char *p, const char *end)
{
	const char *q = bytes_find_string_end(p + 1, end);

	if (q < end && *q == '"') {
		json_key_told(j, p + 1, (size_t)(q - p - 1), q + 1);
		return q + 1;
	}
	j->state = JSON_STATE_IN_KEY;
	j->n_text = 0;
	memset(&j->escape, 0, sizeof(j->escape));
	return json_in_key(j, p + 1, end);
}

/*
 * Words: numbers and literals.
 */

static bool
json_is_word(const char *p, size_t n, const char *word)
{
	return strlen(word) == n && memcmp(p, word, n) == 0;
}

static const char *
json_word_told(
    struct json *j, const char *p, size_t n, const char *after, const char *end)
{
	enum json_event event;

	if (j->is_unwanted)
		goto done;
	if (*p >= '0' && *p <= '9')
		event = JSON_NUMBER;
	else if (json_is_word(p, n, "true"))
		event = JSON_TRUE;
	else if (json_is_word(p, n, "false"))
		event = JSON_FALSE;
	else if (json_is_word(p, n, "null") || json_is_word(p, n, "NaN") ||
		 json_is_word(p, n, "Infinity") ||
		 json_is_word(p, n, "-Infinity"))
		event = JSON_NULL;
	else if (*p == '-')
		event = JSON_NUMBER;
	else
		return json_fail(j, after, end);
	json_tell(j, event, p, n > JSON_NUMBER_BYTES ? 0 : n, after);
done:
	json_value_end(j, after);
	return after;
}

static void
json_word_add(struct json *j, const char *p, size_t n)
{
	size_t room = JSON_NUMBER_BYTES + 1 - j->n_text;

	if (n > room)
		n = room;
	memcpy(j->text + j->n_text, p, n);
	j->n_text = (uint8_t)(j->n_text + n);
}

static const char *
json_in_word(struct json *j, const char *p, const char *end)
{
	const char *q = bytes_skip_word(p, end);

	if (q < end && j->n_text == 0)
		return json_word_told(j, p, (size_t)(q - p), q, end);
	json_word_add(j, p, (size_t)(q - p));
	if (q == end)
		return end;
	return json_word_told(j, j->text, j->n_text, q, end);
}

/*
 * Containers.
 */

JSON_STEP
json_open(struct json *j, const char *p, bool is_object)
{
	enum json_wish wish;

	if (j->is_unwanted || j->depth >= JSON_DEPTH_MAX) {
		j->is_told = false;
		wish = JSON_SKIP;
	} else {
		wish = json_tell(
		    j, is_object ? JSON_OBJECT : JSON_ARRAY, p, 1, p + 1);
		j->kinds &= ~(UINT64_C(1) << j->depth);
		j->kinds |= (uint64_t)is_object << j->depth;
		j->depth++;
		j->is_told = true;
	}
	j->nesting = 1;
	j->state = wish == JSON_SKIP ? JSON_STATE_SKIP
		   : is_object       ? JSON_STATE_FIRST_KEY
				     : JSON_STATE_FIRST_VALUE;
	return p + 1;
}

/* P is at the bracket that closes the innermost container. */
JSON_STEP
json_close(struct json *j, const char *p)
{
	enum json_event event = json_is_object(j) ? JSON_OBJECT_END
						  : JSON_ARRAY_END;

	j->depth--;
	json_tell(j, event, p, 1, p + 1);
	json_value_end(j, p + 1);
	return p + 1;
}

static const char *
json_in_skip(struct json *j, const char *p, const char *end)
{
	p = bytes_find_close(
	    p, end, &j->nesting, &j->in_string, &j->after_backslash);
	if (p == end)
		return end;
	if (j->is_told)
		return json_close(j, p);
	json_value_end(j, p + 1);
	return p + 1;
}

/*
 * Between tokens. P is at a byte that is no blank.
 */

JSON_STEP
json_at_value(struct json *j, const char *p, const char *end)
{
	switch (*p) {
	case '"':
		j->state = JSON_STATE_STRING;
		return p + 1 < end ? json_in_string(j, p + 1, end) : end;
	case '{': return json_open(j, p, true);
	case '[': return json_open(j, p, false);
	case ']':
		if (j->state == JSON_STATE_FIRST_VALUE)
			return json_close(j, p);
		return json_fail(j, p, end);
	default: break;
	}
	if (!bytes_is_word(*p))
		return json_fail(j, p, end);
	j->state = JSON_STATE_WORD;
	j->n_text = 0;
	return json_in_word(j, p, end);
}

/* Usually several containers end together. */
JSON_STEP
json_at_after(struct json *j, const char *p, const char *end)
{
	do {
		bool is_object = json_is_object(j);

		if (*p == ',') {
			j->state = is_object ? JSON_STATE_KEY
					     : JSON_STATE_VALUE;
			return p + 1;
		}
		if (*p != (is_object ? '}' : ']'))
			return json_fail(j, p, end);
		p = json_close(j, p);
	} while (p < end && j->depth > 0 && !bytes_is_blank(*p));
	return p;
}

/* The byte order mark is eaten where it is whole; part of it fails. */
static const char *
json_at_start(struct json *j, const char *p, const char *end)
{
	static const char mark[] = "\xef\xbb\xbf";

	if (*p == mark[j->state]) {
		j->state = j->state == JSON_STATE_BOM_2 ? JSON_STATE_TOP
							: j->state + 1;
		return p + 1;
	}
	if (j->state != JSON_STATE_START)
		return json_fail(j, p, end);
	j->state = JSON_STATE_TOP;
	return p;
}

/*
 * One turn: as far as the states follow one another as in the members of an
 * object: a key, its colon, its value, what comes after it, the next key.
 */
JSON_STEP
json_turn(struct json *j, const char *p, const char *end)
{
	switch ((enum json_state)j->state) {
	case JSON_STATE_START:
	case JSON_STATE_BOM_1:
	case JSON_STATE_BOM_2: return json_at_start(j, p, end);
	case JSON_STATE_IN_KEY: return json_in_key(j, p, end);
	case JSON_STATE_STRING: return json_in_string(j, p, end);
	case JSON_STATE_WORD: return json_in_word(j, p, end);
	case JSON_STATE_SKIP: return json_in_skip(j, p, end);
	case JSON_STATE_FAILED: return end;

	case JSON_STATE_FIRST_KEY:
	case JSON_STATE_KEY:
member:
		p = bytes_skip_blanks(p, end);
		if (p == end)
			return end;
		if (*p == '}' && j->state == JSON_STATE_FIRST_KEY)
			return json_close(j, p);
		if (*p != '"')
			return json_fail(j, p, end);
		p = json_at_key(j, p, end);
		if (j->state != JSON_STATE_COLON)
			return p;
		__attribute__((fallthrough));
	case JSON_STATE_COLON:
		p = bytes_skip_blanks(p, end);
		if (p == end)
			return end;
		if (*p != ':')
			return json_fail(j, p, end);
		p++;
		j->state = JSON_STATE_VALUE;
		__attribute__((fallthrough));
	case JSON_STATE_TOP:
	case JSON_STATE_FIRST_VALUE:
	case JSON_STATE_VALUE:
		p = bytes_skip_blanks(p, end);
		if (p == end)
			return end;
		p = json_at_value(j, p, end);
		if (j->state == JSON_STATE_FIRST_KEY)
			goto member;
		if (j->state != JSON_STATE_AFTER)
			return p;
		__attribute__((fallthrough));
	case JSON_STATE_AFTER:
		p = bytes_skip_blanks(p, end);
		if (p == end)
			return end;
		p = json_at_after(j, p, end);
		if (j->state == JSON_STATE_KEY)
			goto member;
		return p;
	}
	return end;
}

/*
 * Public.
 */

void
json_init(struct json *j, json_handler_fn *handler, void *cls)
{
	j->handler = handler;
	j->cls = cls;
	json_reset(j);
}

void
json_reset(struct json *j)
{
	j->offset = 0;
	j->origin = 0;
	j->kinds = 0;
	j->nesting = 0;
	j->in_string = false;
	j->depth = 0;
	j->state = JSON_STATE_START;
	j->is_unwanted = false;
	j->is_told = false;
	j->after_backslash = false;
	j->n_text = 0;
}

void
json_feed(struct json *j, const void *data, size_t n)
{
	const char *p = data, *end = p + n;
	size_t offset = j->offset;

	if (n == 0)
		return;
	j->origin = (uintptr_t)p - offset;
	while (p < end)
		p = json_turn(j, p, end);
	j->offset = offset + n;
}

bool
json_end(struct json *j)
{
	static const char nothing[1] = "";

	if (j->state == JSON_STATE_WORD && j->depth == 0) {
		j->origin = (uintptr_t)nothing - j->offset;
		json_word_told(j, j->text, j->n_text, nothing, nothing);
	}
	return j->state == JSON_STATE_TOP || j->state == JSON_STATE_START;
}

/* Takes off a character of UTF-8 that the end of the room has cut. */
static size_t
json_whole_characters(const char *s, size_t n)
{
	size_t back = 0, len = 1;

	while (
	    back < n && back < 3 && ((uint8_t)s[n - 1 - back] & 0xc0) == 0x80)
		back++;
	if (back == n)
		return n;
	if (((uint8_t)s[n - 1 - back] & 0xe0) == 0xc0)
		len = 2;
	else if (((uint8_t)s[n - 1 - back] & 0xf0) == 0xe0)
		len = 3;
	else if (((uint8_t)s[n - 1 - back] & 0xf8) == 0xf0)
		len = 4;
	return len > back + 1 ? n - back - 1 : n;
}

size_t
json_unescape(const char *data, size_t n, char *out, size_t n_out)
{
	struct json_escape e = {0};
	char piece[2 * JSON_ESCAPE_OUT_MAX];
	size_t len = 0, n_piece;

	if (n_out == 0)
		return 0;
	for (size_t i = 0; i < n; i++) {
		n_piece = json_escape_step(&e, data[i], piece);
		if (n_piece > n_out - 1 - len) {
			len = json_whole_characters(out, len);
			out[len] = '\0';
			return len;
		}
		memcpy(out + len, piece, n_piece);
		len += n_piece;
	}
	if (e.high != 0 && len < n_out - 1)
		out[len++] = '?';
	out[len] = '\0';
	return len;
}

bool
json_number_int(const char *data, size_t n, int64_t *out)
{
	struct decimal d;

	return decimal_parse(data, n, &d) && decimal_int(&d, out);
}

size_t
json_text_bytes(struct json_escape *e, const char *data, size_t n, bool is_last)
{
	const char *end = data + n;
	char piece[2 * JSON_ESCAPE_OUT_MAX];
	size_t len = 0;

	while (data < end) {
		if (e->state == JSON_ESCAPE_NONE && e->high == 0) {
			const char *next = memchr(
			    data, '\\', (size_t)(end - data));

			if (next == NULL)
				next = end;
			len += (size_t)(next - data);
			data = next;
			if (data == end)
				break;
		}
		len += json_escape_step(e, *data++, piece);
	}
	if (is_last) {
		len += e->high != 0;
		*e = (struct json_escape){0};
	}
	return len;
}
