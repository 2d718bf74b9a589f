/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * A tree of hashes, of which only the branch at hand exists: each level holds
 * the sum of its finished members, so memory is one line a level and the work
 * one multiplication a value.
 *
 *   leaf    XXH3 of its bytes, mixed with its kind
 *   object  sum of mix(key, value), mixed with its kind: order-free
 *   array   fold of mix(so far, value), mixed with its kind
 *
 * The sum of a keyed mixing is a multiset hash; nobody without the secret can
 * aim at a collision, and what leaves the program is sealed once more.
 *
 * Cache marks are left out of the tree, since a message that merely loses its
 * mark is the same message. For the whole body they count all the same: their
 * hashes, mixed with the path of keys and indices that leads to them, are
 * summed aside.
 */
#include "meter/fingerprint.h"

#include <assert.h>
#include <string.h>

#include "base/keyhash.h"

enum fingerprint_member {
	FINGERPRINT_PLAIN,
	FINGERPRINT_MARK,   /* cache_control */
	FINGERPRINT_LEFTOUT /* the top-level stream */
};

/* What a hash is of; any distinct odd numbers would do. */
enum fingerprint_kind {
	FINGERPRINT_STRING = 3,
	FINGERPRINT_WORD = 5, /* numbers, true, false, null */
	FINGERPRINT_OBJECT = 7,
	FINGERPRINT_ARRAY = 11,
	FINGERPRINT_RAW = 13
};

enum {
	/* A container here is hashed raw: the deepest that is told. */
	FINGERPRINT_RAW_DEPTH = JSON_DEPTH_MAX - 1
};

__extension__ typedef unsigned __int128 fingerprint_wide;

static uint64_t
fingerprint_word(const struct fingerprint *f, size_t at)
{
	uint64_t word;

	memcpy(&word, f->secret + at, sizeof(word));
	return word;
}

uint64_t
fingerprint_bytes(const struct fingerprint *f, const void *data, size_t n)
{
	if (f->secret == NULL)
		return XXH3_64bits(data, n);
	return XXH3_64bits_withSecret(data, n, f->secret, KEYHASH_SECRET_BYTES);
}

uint64_t
fingerprint_mix(const struct fingerprint *f, uint64_t a, uint64_t b)
{
	fingerprint_wide product =
	    (fingerprint_wide)(a ^ fingerprint_word(f, 0)) *
	    (b ^ fingerprint_word(f, 8));

	return (uint64_t)product ^ (uint64_t)(product >> 64) ^ b;
}

void
fingerprint_init(struct fingerprint *f, const unsigned char *secret)
{
	memset(f, 0, sizeof(*f));
	f->secret = secret;
}

/* Where the value at hand of the level DEPTH - 1 stands in the text. */
static uint64_t
fingerprint_path(const struct fingerprint *f, int depth)
{
	uint64_t path = 0;

	for (int i = 0; i < depth; i++)
		path = fingerprint_mix(f, path,
		    f->levels[i].is_object ? f->levels[i].key
					   : f->levels[i].index);
	return path;
}

/* A value that DEPTH levels hold has ended. */
static void
fingerprint_value(
    struct fingerprint *f, int depth, uint64_t hash, enum fingerprint_kind kind)
{
	struct fingerprint_level *level;

	f->value = fingerprint_mix(f, hash, kind);
	if (depth == 0)
		return;
	level = &f->levels[depth - 1];
	if (!level->is_object) {
		level->sum = fingerprint_mix(f, level->sum, f->value);
		level->index++;
	} else if (level->member == FINGERPRINT_PLAIN) {
		level->sum += fingerprint_mix(f, level->key, f->value);
	} else if (level->member == FINGERPRINT_MARK) {
		f->marks += fingerprint_mix(
		    f, fingerprint_path(f, depth), f->value);
	}
}

static void
fingerprint_key(struct fingerprint *f, int depth, const char *data, size_t n)
{
	struct fingerprint_level *level = &f->levels[depth - 1];

	level->key = fingerprint_bytes(f, data, n);
	level->member = FINGERPRINT_PLAIN;
	if (n == 13 && memcmp(data, "cache_control", 13) == 0)
		level->member = FINGERPRINT_MARK;
	else if (depth == 1 && n == 6 && memcmp(data, "stream", 6) == 0)
		level->member = FINGERPRINT_LEFTOUT;
}

static void
fingerprint_pieces_begin(struct fingerprint *f)
{
	XXH3_64bits_reset_withSecret(
	    &f->pieces, f->secret, KEYHASH_SECRET_BYTES);
}

static void
fingerprint_string(
    struct fingerprint *f, int depth, const char *data, size_t n, bool is_last)
{
	uint64_t hash;

	if (is_last && !f->in_pieces) {
		hash = fingerprint_bytes(f, data, n);
	} else {
		if (!f->in_pieces)
			fingerprint_pieces_begin(f);
		f->in_pieces = true;
		if (n > 0)
			XXH3_64bits_update(&f->pieces, data, n);
		if (!is_last)
			return;
		hash = XXH3_64bits_digest(&f->pieces);
		f->in_pieces = false;
	}
	fingerprint_value(f, depth, hash, FINGERPRINT_STRING);
}

static void
fingerprint_raw_to(struct fingerprint *f, size_t end)
{
	if (end > f->raw_from)
		XXH3_64bits_update(&f->pieces,
		    f->piece + (f->raw_from - f->piece_at), end - f->raw_from);
	f->raw_from = end;
}

static enum json_wish
fingerprint_open(
    struct fingerprint *f, int depth, bool is_object, size_t offset)
{
	struct fingerprint_level *level;

	if (depth >= FINGERPRINT_RAW_DEPTH) {
		assert(!f->in_raw);
		fingerprint_pieces_begin(f);
		f->in_raw = true;
		f->raw_from = offset;
		return JSON_SKIP;
	}
	level = &f->levels[depth];
	memset(level, 0, sizeof(*level));
	level->is_object = is_object;
	return JSON_WANT;
}

static void
fingerprint_close(struct fingerprint *f, int depth, size_t offset)
{
	if (f->in_raw) {
		fingerprint_raw_to(f, offset);
		f->in_raw = false;
		fingerprint_value(
		    f, depth, XXH3_64bits_digest(&f->pieces), FINGERPRINT_RAW);
		return;
	}
	fingerprint_value(f, depth, f->levels[depth].sum,
	    f->levels[depth].is_object ? FINGERPRINT_OBJECT
				       : FINGERPRINT_ARRAY);
}

void
fingerprint_feed_begin(struct fingerprint *f, const void *data, size_t n_before)
{
	f->piece = data;
	f->piece_at = n_before;
}

void
fingerprint_feed_end(struct fingerprint *f, size_t n)
{
	if (f->in_raw)
		fingerprint_raw_to(f, f->piece_at + n);
	f->piece = NULL;
}

enum json_wish
fingerprint_event(struct fingerprint *f, enum json_event event, int depth,
    const char *data, size_t n, bool is_last, size_t offset)
{
	switch (event) {
	case JSON_OBJECT:
	case JSON_ARRAY:
		return fingerprint_open(f, depth, event == JSON_OBJECT, offset);
	case JSON_OBJECT_END:
	case JSON_ARRAY_END: fingerprint_close(f, depth, offset); break;
	case JSON_KEY: fingerprint_key(f, depth, data, n); break;
	case JSON_STRING: fingerprint_string(f, depth, data, n, is_last); break;
	case JSON_NUMBER:
		fingerprint_value(
		    f, depth, fingerprint_bytes(f, data, n), FINGERPRINT_WORD);
		break;
	case JSON_TRUE:
	case JSON_FALSE:
	case JSON_NULL:
		fingerprint_value(f, depth, (uint64_t)event, FINGERPRINT_WORD);
		break;
	case JSON_DOCUMENT_END:
	case JSON_FAILED: break;
	}
	return JSON_WANT;
}

uint64_t
fingerprint_whole(const struct fingerprint *f)
{
	return fingerprint_mix(f, f->value, f->marks);
}
