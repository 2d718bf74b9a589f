/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * The members stand in a row, a container before what it holds, each with the
 * place of the one after it and all that is in it. So a look-up goes from
 * sibling to sibling, and a usual object of a dozen members needs no table.
 * Plain values within an array are nobody's counter and are left out.
 */
#include "meter/usage_doc.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "record/turn.h"
#include "scan/json.h"
#include "scan/values.h"

enum {
	USAGE_DOC_FIRST = 32,
	USAGE_DOC_DIGITS = 15,     /* of a count, without looking twice */
	USAGE_DOC_PICO_DIGITS = 12 /* decimals of a dollar that count */
};

/* Offsets are into the text. */
struct usage_member {
	uint16_t key;
	uint16_t value;
	uint16_t n_value; /* of a container: with its brackets */
	uint16_t next;    /* the member behind it and all that it holds */
	uint8_t n_key;    /* 0: an element of an array */
	uint8_t kind;     /* the event that told it */
};
static_assert(USAGE_BYTES_MAX <= UINT16_MAX, "offsets fit");

struct usage_doc {
	const char *text;
	size_t n_text;
	uint16_t n;
	uint16_t size;
	struct usage_member *at; /* the first one is the object itself */
};

/* What is needed only while the text is read. */
struct usage_reader {
	struct usage_doc *doc;
	struct json json;
	bool is_broken;
	uint16_t key;
	uint8_t n_key;
	uint16_t open[JSON_DEPTH_MAX];
};

static struct usage_member *
usage_doc_room(struct usage_doc *d)
{
	size_t size = d->size == 0 ? USAGE_DOC_FIRST : (size_t)d->size * 2;
	struct usage_member *at;

	if (d->n < d->size)
		return &d->at[d->n++];
	if (d->n == USAGE_MEMBERS_MAX)
		return NULL;
	at = realloc(d->at, size * sizeof(*at));
	if (at == NULL)
		return NULL;
	d->at = at;
	d->size = (uint16_t)size;
	return &d->at[d->n++];
}

static void
usage_reader_add(struct usage_reader *r, enum json_event event, int depth,
    const char *data, size_t n)
{
	struct usage_doc *d = r->doc;
	bool is_container = event == JSON_OBJECT || event == JSON_ARRAY;
	bool is_element = depth > 0 &&
			  d->at[r->open[depth - 1]].kind == JSON_ARRAY;
	struct usage_member *m;

	if ((is_element && !is_container) || (event == JSON_NUMBER && n == 0))
		return;
	m = usage_doc_room(d);
	if (m == NULL) {
		r->is_broken = true;
		return;
	}
	*m = (struct usage_member){
	    .kind = (uint8_t)event,
	    .value = (uint16_t)(data - d->text),
	    .n_value = (uint16_t)n,
	    .next = d->n,
	};
	if (!is_element) {
		m->key = r->key;
		m->n_key = r->n_key;
	}
	if (is_container)
		r->open[depth] = (uint16_t)(d->n - 1);
}

static enum json_wish
usage_reader_event(void *cls, enum json_event event, int depth,
    const char *data, size_t n, bool is_last)
{
	struct usage_reader *r = cls;
	struct usage_doc *d = r->doc;
	struct usage_member *m;

	(void)is_last;
	if (r->is_broken)
		return JSON_SKIP;
	switch (event) {
	case JSON_KEY:
		/* One with an escape is a copy, one so long is cut; neither
		 * is ours. */
		if (n == 0 || n >= JSON_KEY_BYTES || data < d->text ||
		    data >= d->text + d->n_text)
			return JSON_SKIP;
		r->key = (uint16_t)(data - d->text);
		r->n_key = (uint8_t)n;
		break;
	case JSON_OBJECT_END:
	case JSON_ARRAY_END:
		m = &d->at[r->open[depth]];
		m->next = d->n;
		m->n_value = (uint16_t)(data + 1 - d->text - m->value);
		break;
	case JSON_FAILED: r->is_broken = true; break;
	case JSON_DOCUMENT_END: break;
	default: usage_reader_add(r, event, depth, data, n); break;
	}
	return JSON_WANT;
}

struct usage_doc *
usage_doc_new(const char *text, size_t n)
{
	struct usage_doc *d;
	struct usage_reader r;

	if (n > USAGE_BYTES_MAX)
		return NULL;
	d = calloc(1, sizeof(*d));
	if (d == NULL)
		return NULL;
	d->text = text;
	d->n_text = n;
	r.doc = d;
	r.is_broken = false;
	r.key = 0;
	r.n_key = 0;
	json_init(&r.json, usage_reader_event, &r);
	json_feed(&r.json, text, n);
	if (json_end(&r.json) && !r.is_broken && d->n > 0 &&
	    d->at[0].kind == JSON_OBJECT && d->at[0].next == d->n)
		return d;
	usage_doc_free(d);
	return NULL;
}

void
usage_doc_free(struct usage_doc *d)
{
	if (d == NULL)
		return;
	free(d->at);
	free(d);
}

/* The member of that key in the object at I; NULL. */
static const struct usage_member *
usage_doc_member(
    const struct usage_doc *d, uint16_t i, const char *key, size_t n_key)
{
	const struct usage_member *found = NULL;

	for (uint16_t at = (uint16_t)(i + 1); at < d->at[i].next;
	     at = d->at[at].next) {
		const struct usage_member *m = &d->at[at];

		if (m->n_key == n_key &&
		    memcmp(d->text + m->key, key, n_key) == 0)
			found = m;
	}
	return found;
}

static const struct usage_member *
usage_doc_element(const struct usage_doc *d, uint16_t i, const char *index)
{
	unsigned long n = strtoul(index, NULL, 10);

	for (uint16_t at = (uint16_t)(i + 1); at < d->at[i].next;
	     at = d->at[at].next)
		if (n-- == 0)
			return &d->at[at];
	return NULL;
}

static const struct usage_member *
usage_at(const struct usage_doc *d, const char *path)
{
	const struct usage_member *m = d != NULL ? d->at : NULL;

	while (m != NULL && *path != '\0') {
		uint16_t i = (uint16_t)(m - d->at);
		size_t n = (size_t)(strchrnul(path, '.') - path);

		m = m->kind == JSON_OBJECT  ? usage_doc_member(d, i, path, n)
		    : m->kind == JSON_ARRAY ? usage_doc_element(d, i, path)
					    : NULL;
		path += n + (path[n] == '.');
	}
	return m;
}

static const struct usage_member *
usage_of_kind(const struct usage_doc *d, const char *path, enum json_event kind)
{
	const struct usage_member *m = usage_at(d, path);

	return m != NULL && m->kind == kind ? m : NULL;
}

static double
usage_member_real(const struct usage_doc *d, const struct usage_member *m)
{
	double real;

	return values_real(d->text + m->value, m->n_value, &real) ? real : NAN;
}

double
usage_real(const struct usage_doc *d, const char *path)
{
	const struct usage_member *m = usage_of_kind(d, path, JSON_NUMBER);

	return m != NULL ? usage_member_real(d, m) : NAN;
}

/* Nearly every count is a few digits. */
static bool
usage_member_digits(
    const struct usage_doc *d, const struct usage_member *m, int64_t *value_out)
{
	const char *s = d->text + m->value;
	int64_t value = 0;

	if (m->n_value > USAGE_DOC_DIGITS)
		return false;
	for (uint16_t i = 0; i < m->n_value; i++) {
		if (s[i] < '0' || s[i] > '9')
			return false;
		value = value * 10 + (s[i] - '0');
	}
	*value_out = value;
	return m->n_value > 0;
}

int64_t
usage_int(const struct usage_doc *d, const char *path)
{
	const struct usage_member *m = usage_of_kind(d, path, JSON_NUMBER);
	int64_t value;

	if (m == NULL)
		return TURN_NULL;
	if (usage_member_digits(d, m, &value))
		return value;
	if (!json_number_int(d->text + m->value, m->n_value, &value))
		return TURN_NULL;
	/* -0.4 is below 0, too, though it rounds to it. */
	if (d->text[m->value] == '-' && usage_member_real(d, m) != 0)
		return TURN_NULL;
	/* 2^53: no count of tokens comes near it. */
	return value < INT64_C(9007199254740992) ? value : TURN_NULL;
}

const char *
usage_text(const struct usage_doc *d, const char *path, size_t *n_out)
{
	const struct usage_member *m = usage_of_kind(d, path, JSON_STRING);

	*n_out = m != NULL ? m->n_value : 0;
	return m != NULL ? d->text + m->value : NULL;
}

bool
usage_is_true(const struct usage_doc *d, const char *path)
{
	return usage_of_kind(d, path, JSON_TRUE) != NULL;
}

size_t
usage_count(const struct usage_doc *d, const char *path)
{
	const struct usage_member *m = usage_of_kind(d, path, JSON_ARRAY);
	size_t n = 0;

	if (m == NULL)
		return 0;
	for (uint16_t at = (uint16_t)(m - d->at + 1); at < m->next;
	     at = d->at[at].next)
		n++;
	return n;
}

int64_t
usage_first_int(const struct usage_doc *d, const char *const *paths)
{
	for (; *paths != NULL; paths++) {
		int64_t value = usage_int(d, *paths);

		if (value != TURN_NULL)
			return value;
	}
	return TURN_NULL;
}

/* A decimal number, exponent and all, times 10^12, rounded. */
static int64_t
usage_decimal_pico(const char *s, const char *end)
{
	const char *digits = s;
	uint64_t value = 0;
	int exponent = USAGE_DOC_PICO_DIGITS;
	bool is_after_point = false;

	for (; s < end && ((*s >= '0' && *s <= '9') || *s == '.'); s++) {
		if (*s == '.') {
			is_after_point = true;
		} else if (value > INT64_MAX / 10) {
			exponent += !is_after_point; /* beyond all money */
		} else {
			value = value * 10 + (unsigned)(*s - '0');
			exponent -= is_after_point;
		}
	}
	if (s == digits)
		return TURN_NULL;
	if (s < end && (*s == 'e' || *s == 'E')) {
		long e = strtol(s + 1, NULL, 10);

		exponent += e > 99 ? 99 : e < -99 ? -99 : (int)e;
	}
	for (; exponent > 0 && value <= INT64_MAX / 10; exponent--)
		value *= 10;
	for (; exponent < -1 && value > 0; exponent++)
		value /= 10;
	if (exponent == -1)
		value = (value + 5) / 10;
	if (value == 0)
		return 0;
	return exponent <= 0 && value <= INT64_MAX ? (int64_t)value : TURN_NULL;
}

int64_t
usage_pusd(const struct usage_doc *d, const char *path)
{
	const struct usage_member *m = usage_of_kind(d, path, JSON_NUMBER);
	const char *s;

	if (m == NULL)
		return TURN_NULL;
	s = d->text + m->value;
	return usage_decimal_pico(s, s + m->n_value);
}

/* Writing. */

/* What stands before the value of M: a comma unless it is the first, and its
 * key. The scanner's strings are told without their quotes. */
static int
usage_write_key(
    struct buf *out, const struct usage_doc *d, const struct usage_member *m)
{
	const char *s = buf_data(out);
	bool is_first = s[buf_len(out) - 1] == '{';
	int r = is_first ? 0 : buf_append(out, ",", 1);

	if (r == 0)
		r = buf_append(out, d->text + m->key - 1, m->n_key + 2u);
	return r == 0 ? buf_append(out, ":", 1) : r;
}

static int
usage_write(
    struct buf *out, const struct usage_doc *d, const struct usage_member *m)
{
	bool is_string = m->kind == JSON_STRING;
	int r = usage_write_key(out, d, m);

	return r == 0 ? buf_append(out, d->text + m->value - is_string,
			    m->n_value + 2u * is_string)
		      : r;
}

static bool
usage_is_less(const struct usage_doc *d, const struct usage_member *m,
    const struct usage_doc *than, const struct usage_member *other)
{
	return m->kind == JSON_NUMBER && other->kind == JSON_NUMBER &&
	       usage_member_real(d, m) < usage_member_real(than, other);
}

struct usage_merger {
	struct buf *out;
	const struct usage_doc *old;
	const struct usage_doc *fresh;
	bool is_provisional;
	struct turn *turn;
};

static int usage_merge_objects(
    const struct usage_merger *x, uint16_t old, uint16_t fresh);

/* One that both have. */
static int
usage_merge_member(const struct usage_merger *x, const struct usage_member *old,
    const struct usage_member *fresh)
{
	static const char guess[] = "output_tokens";
	bool is_guess = x->is_provisional && old->n_key == sizeof(guess) - 1 &&
			memcmp(x->old->text + old->key, guess, old->n_key) == 0;
	int r;

	if (old->kind == JSON_OBJECT && fresh->kind == JSON_OBJECT) {
		r = usage_write_key(x->out, x->old, old);
		return r == 0 ? usage_merge_objects(x,
				    (uint16_t)(old - x->old->at),
				    (uint16_t)(fresh - x->fresh->at))
			      : r;
	}
	if (!is_guess && usage_is_less(x->fresh, fresh, x->old, old)) {
		turn_add_flag(x->turn, "usage_decreased");
		return usage_write(x->out, x->old, old);
	}
	return usage_write(x->out, x->fresh, fresh);
}

/* The members of OLD in their order, then those that are new. */
static int
usage_merge_objects(const struct usage_merger *x, uint16_t old, uint16_t fresh)
{
	int r = buf_append(x->out, "{", 1);

	for (uint16_t at = (uint16_t)(old + 1);
	     r == 0 && at < x->old->at[old].next; at = x->old->at[at].next) {
		const struct usage_member *m = &x->old->at[at], *same;
		const char *key = x->old->text + m->key;

		if (usage_doc_member(x->old, old, key, m->n_key) != m)
			continue;
		same = usage_doc_member(x->fresh, fresh, key, m->n_key);
		r = same != NULL ? usage_merge_member(x, m, same)
				 : usage_write(x->out, x->old, m);
	}
	for (uint16_t at = (uint16_t)(fresh + 1);
	     r == 0 && at < x->fresh->at[fresh].next;
	     at = x->fresh->at[at].next) {
		const struct usage_member *m = &x->fresh->at[at];
		const char *key = x->fresh->text + m->key;

		if (usage_doc_member(x->fresh, fresh, key, m->n_key) == m &&
		    usage_doc_member(x->old, old, key, m->n_key) == NULL)
			r = usage_write(x->out, x->fresh, m);
	}
	return r == 0 ? buf_append(x->out, "}", 1) : r;
}

int
usage_doc_merge(struct buf *out, const struct usage_doc *old,
    const struct usage_doc *fresh, bool is_provisional, struct turn *t)
{
	const struct usage_merger x = {out, old, fresh, is_provisional, t};

	return usage_merge_objects(&x, 0, 0);
}

int
usage_doc_flat(struct buf *out, const struct usage_doc *d)
{
	int r = buf_append(out, "{", 1);

	for (uint16_t at = 1; r == 0 && at < d->n; at = d->at[at].next)
		if (d->at[at].kind != JSON_OBJECT &&
		    d->at[at].kind != JSON_ARRAY)
			r = usage_write(out, d, &d->at[at]);
	return r == 0 ? buf_append(out, "}", 1) : r;
}
