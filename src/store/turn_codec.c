/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * Fixed eight bytes a number rather than a variable length: a usual turn is
 * about 1 KB of the slot's 8, and the loop's thread pays for the encoding.
 */
#include "turn_codec.h"

#include <endian.h>
#include <stdint.h>
#include <string.h>

#include "record/turn.h"

enum turn_codec_wire {
	TURN_CODEC_WIRE_INT,
	TURN_CODEC_WIRE_REAL,
	TURN_CODEC_WIRE_TEXT
};

static const char turn_codec_cut_flag[] = "journal_cut";

struct turn_codec_out {
	unsigned char *at;
	size_t left;
	bool is_full;
};

struct turn_codec_in {
	const unsigned char *at;
	size_t left;
};

/* One record as it was found: where its value lies. */
struct turn_codec_record {
	size_t field;
	enum turn_codec_wire wire;
	const unsigned char *value;
	size_t n_value;
};

/* Where the next N bytes go; NULL, now and from then on, where they are more
 * than there is room for. */
static unsigned char *
turn_codec_room(struct turn_codec_out *o, size_t n)
{
	unsigned char *at = o->at;

	if (o->is_full || n > o->left) {
		o->is_full = true;
		return NULL;
	}
	o->at += n;
	o->left -= n;
	return at;
}

static void
turn_codec_set_u16(unsigned char *at, size_t v)
{
	uint16_t le = htole16((uint16_t)v);

	memcpy(at, &le, sizeof(le));
}

static void
turn_codec_set_u64(unsigned char *at, const void *value)
{
	uint64_t v;

	memcpy(&v, value, sizeof(v));
	v = htole64(v);
	memcpy(at, &v, sizeof(v));
}

static void
turn_codec_put_number(struct turn_codec_out *o, size_t field,
    enum turn_codec_wire wire, const void *value)
{
	unsigned char *at = turn_codec_room(o, 2 + 8);

	if (at == NULL)
		return;
	turn_codec_set_u16(at, field << 2 | wire);
	turn_codec_set_u64(at + 2, value);
}

/* The head of a text of N bytes and room for it; NULL where there is none. */
static unsigned char *
turn_codec_put_head(struct turn_codec_out *o, size_t field, size_t n)
{
	unsigned char *at = turn_codec_room(o, 4 + n);

	if (n > UINT16_MAX)
		o->is_full = true;
	if (o->is_full)
		return NULL;
	turn_codec_set_u16(at, field << 2 | TURN_CODEC_WIRE_TEXT);
	turn_codec_set_u16(at + 2, n);
	return at + 4;
}

static void
turn_codec_put_text(struct turn_codec_out *o, size_t field, const char *s)
{
	size_t n = strlen(s);
	unsigned char *at = turn_codec_put_head(o, field, n);

	if (at != NULL)
		memcpy(at, s, n);
}

static void
turn_codec_put_flags(
    struct turn_codec_out *o, size_t field, const char *flags, bool is_cut)
{
	size_t n = strlen(flags);
	unsigned char *at;

	if (!is_cut) {
		turn_codec_put_text(o, field, flags);
		return;
	}
	at = turn_codec_put_head(
	    o, field, n + (n > 0) + sizeof(turn_codec_cut_flag) - 1);
	if (at == NULL)
		return;
	memcpy(at, flags, n);
	if (n > 0)
		at[n++] = ' ';
	memcpy(at + n, turn_codec_cut_flag, sizeof(turn_codec_cut_flag) - 1);
}

static void
turn_codec_put_field(
    struct turn_codec_out *o, const struct turn *t, size_t field, bool is_cut)
{
	const struct turn_field *f = &turn_fields[field];
	const void *at = turn_field_at(f, t);
	const char *name;

	switch (f->type) {
	case TURN_TYPE_INT:
	case TURN_TYPE_BOOL:
	case TURN_TYPE_TIME:
		turn_codec_put_number(o, field, TURN_CODEC_WIRE_INT, at);
		break;
	case TURN_TYPE_REAL:
		turn_codec_put_number(o, field, TURN_CODEC_WIRE_REAL, at);
		break;
	case TURN_TYPE_ENUM:
		name = turn_field_enum_name(f, *(const int *)at);
		if (name != NULL)
			turn_codec_put_text(o, field, name);
		break;
	case TURN_TYPE_FLAGS:
		turn_codec_put_flags(
		    o, field, *(const char *const *)at, is_cut);
		break;
	case TURN_TYPE_TEXT:
	case TURN_TYPE_JSON:
		turn_codec_put_text(o, field, *(const char *const *)at);
		break;
	}
}

static void
turn_codec_put_tool(struct turn_codec_out *o, const struct turn_tool *tool)
{
	size_t n = strlen(tool->name);
	unsigned char *at = turn_codec_put_head(o, TURN_CODEC_TOOL, 3 * 8 + n);

	if (at == NULL)
		return;
	turn_codec_set_u64(at, &tool->calls);
	turn_codec_set_u64(at + 8, &tool->result_bytes);
	turn_codec_set_u64(at + 16, &tool->result_errors);
	memcpy(at + 24, tool->name, n);
}

static uint64_t
turn_codec_u64(const unsigned char *at)
{
	uint64_t le;

	memcpy(&le, at, sizeof(le));
	return le64toh(le);
}

static size_t
turn_codec_u16(const unsigned char *at)
{
	return (size_t)at[0] | (size_t)at[1] << 8;
}

/* Takes the next record off IN; false where it is broken. */
static bool
turn_codec_next(struct turn_codec_in *in, struct turn_codec_record *r)
{
	size_t head, n_head = 2;

	if (in->left < 2)
		return false;
	head = turn_codec_u16(in->at);
	r->field = head >> 2;
	r->wire = (enum turn_codec_wire)(head & 3);
	switch (r->wire) {
	case TURN_CODEC_WIRE_INT:
	case TURN_CODEC_WIRE_REAL: r->n_value = 8; break;
	case TURN_CODEC_WIRE_TEXT:
		n_head = 4;
		if (in->left < n_head)
			return false;
		r->n_value = turn_codec_u16(in->at + 2);
		break;
	default: return false;
	}
	if (in->left - n_head < r->n_value)
		return false;
	r->value = in->at + n_head;
	in->at += n_head + r->n_value;
	in->left -= n_head + r->n_value;
	return true;
}

static bool
turn_codec_get_text(struct turn *t, const struct turn_field *f,
    const struct turn_codec_record *r)
{
	char *s = arena_copy(&t->arena, (const char *)r->value, r->n_value);
	int value;

	if (s == NULL)
		return false;
	if (f->type != TURN_TYPE_ENUM) {
		*(const char **)turn_field_at(f, t) = s;
		return true;
	}
	value = turn_field_enum_value(f, s);
	*(int *)turn_field_at(f, t) = value > 0 ? value : 0;
	return true;
}

static void
turn_codec_get_tool(struct turn *t, const struct turn_codec_record *r)
{
	struct turn_tool *tool;

	if (r->n_value <= 3 * 8)
		return;
	tool = turn_tool_get(
	    t, (const char *)r->value + 3 * 8, r->n_value - 3 * 8);
	if (tool == NULL)
		return;
	tool->calls = (int64_t)turn_codec_u64(r->value);
	tool->result_bytes = (int64_t)turn_codec_u64(r->value + 8);
	tool->result_errors = (int64_t)turn_codec_u64(r->value + 16);
}

/* False without memory. A field that is not known, or of another type than
 * here, is left null. */
static bool
turn_codec_get(struct turn *t, const struct turn_codec_record *r)
{
	const struct turn_field *f;
	enum turn_codec_wire wire;
	uint64_t v;

	if (r->field == TURN_CODEC_TOOL && r->wire == TURN_CODEC_WIRE_TEXT) {
		turn_codec_get_tool(t, r);
		return true;
	}
	if (r->field >= n_turn_fields)
		return true;
	f = &turn_fields[r->field];
	wire = f->type == TURN_TYPE_REAL ? TURN_CODEC_WIRE_REAL
	       : f->type == TURN_TYPE_INT || f->type == TURN_TYPE_BOOL ||
		       f->type == TURN_TYPE_TIME
		   ? TURN_CODEC_WIRE_INT
		   : TURN_CODEC_WIRE_TEXT;
	if (r->wire != wire)
		return true;
	if (wire == TURN_CODEC_WIRE_TEXT)
		return turn_codec_get_text(t, f, r);
	v = turn_codec_u64(r->value);
	memcpy(turn_field_at(f, t), &v, sizeof(v));
	return true;
}

size_t
turn_encode(const struct turn *t, enum turn_codec_cut cut, unsigned char *out,
    size_t size)
{
	struct turn_codec_out o = {.at = out, .left = size};
	bool is_cut = cut != TURN_CODEC_CUT_NOTHING;
	size_t late = n_turn_fields;

	for (size_t i = 0; i < n_turn_fields; i++) {
		if (turn_field_is_null(&turn_fields[i], t))
			continue;
		if (turn_fields[i].type != TURN_TYPE_JSON)
			turn_codec_put_field(&o, t, i, is_cut);
		else if (late == n_turn_fields)
			late = i;
	}
	if (cut < TURN_CODEC_CUT_USAGE_RAW)
		for (size_t i = late; i < n_turn_fields; i++)
			if (turn_fields[i].type == TURN_TYPE_JSON &&
			    !turn_field_is_null(&turn_fields[i], t))
				turn_codec_put_field(&o, t, i, is_cut);
	if (cut < TURN_CODEC_CUT_TOOLS)
		for (size_t i = 0; i < t->n_tools; i++)
			turn_codec_put_tool(&o, &t->tools[i]);
	return o.is_full ? 0 : size - o.left;
}

struct turn *
turn_decode(const unsigned char *data, size_t n, bool is_front)
{
	struct turn_codec_in in = {.at = data, .left = n};
	struct turn_codec_record r;
	struct turn *t = turn_new();

	if (t == NULL)
		return NULL;
	t->id = NULL;
	t->started_at = TURN_NULL;
	while (in.left > 0) {
		if (!turn_codec_next(&in, &r)) {
			if (is_front)
				break;
			goto bad;
		}
		if (!turn_codec_get(t, &r))
			goto bad;
	}
	if (t->id == NULL || t->id[0] == '\0')
		goto bad;
	if (is_front)
		turn_add_flag(t, turn_codec_cut_flag);
	return t;
bad:
	turn_free(t);
	return NULL;
}
