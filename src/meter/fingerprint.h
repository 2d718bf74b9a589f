/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * fingerprint: a keyed hash of a JSON text, fed with the events of a scanner.
 *
 * Texts that mean the same hash alike: the order of an object's members, at
 * any depth, and blanks between tokens do not count; the order of an array
 * does. Numbers and strings count as written. Left out of the hashes of
 * values are `cache_control` members, which clients move from message to
 * message, and wholly left out is the top-level `stream`.
 * One thread. Embedded (aligned as XXH3_state_t asks); allocates nothing.
 */
#ifndef METER_FINGERPRINT_H
#define METER_FINGERPRINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Inlined: keys and numbers are too short for a call, and the state needs no
 * allocation. */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "scan/json.h"

struct fingerprint_level {
	uint64_t sum; /* of the members, or the fold of the elements */
	uint64_t key; /* of the member at hand */
	uint32_t index;
	bool is_object;
	uint8_t member; /* enum fingerprint_member, of the member at hand */
};

struct fingerprint {
	XXH3_state_t pieces; /* of a value that comes in several */
	const unsigned char *secret;
	uint64_t value; /* the hash of the value that ended last */
	uint64_t marks; /* what is left out of values, with its path */
	bool in_pieces;
	/* a container too deep to be told, hashed as its bytes */
	bool in_raw;
	size_t raw_from;
	const char *piece;
	size_t piece_at;
	struct fingerprint_level levels[JSON_DEPTH_MAX];
};

/* Borrows SECRET (KEYHASH_SECRET_BYTES) for the fingerprint's life. */
void fingerprint_init(struct fingerprint *f, const unsigned char *secret);

/* The hash of N bytes under the same secret; of a blank fingerprint (all zero)
 * without one. */
uint64_t fingerprint_bytes(
    const struct fingerprint *f, const void *data, size_t n);

/* One of two in one, in order. */
uint64_t fingerprint_mix(const struct fingerprint *f, uint64_t a, uint64_t b);

/* Around each json_feed: the bytes that are fed, and how many came before. */
void fingerprint_feed_begin(
    struct fingerprint *f, const void *data, size_t n_before);
void fingerprint_feed_end(struct fingerprint *f, size_t n);

/* Every event of the scanner, in order; OFFSET is the scanner's. After the end
 * of a value its hash is in .value. The answer is the handler's: JSON_SKIP for
 * a container that is hashed as raw bytes. */
enum json_wish fingerprint_event(struct fingerprint *f, enum json_event event,
    int depth, const char *data, size_t n, bool is_last, size_t offset);

/* The hash of the whole text, after its end. */
uint64_t fingerprint_whole(const struct fingerprint *f);

#endif
