/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * split: feeds one text to a push parser in every way that the tests know:
 * whole, byte by byte, at random places. Each piece is a copy of its own
 * size, so that a sanitizer sees a parser that reads past its piece.
 */
#ifndef TESTS_SPLIT_H
#define TESTS_SPLIT_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { SPLIT_WHOLE, SPLIT_BYTES, SPLIT_RANDOM, SPLIT_WAYS = 12 };

static inline uint64_t
split_random(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

/* WAY counts from 0 to SPLIT_WAYS - 1; each random one has a seed of its own,
 * with short pieces, or long ones, or such as hold blocks of the searches. */
static inline void
split_feed(int way, const char *data, size_t n,
    void (*feed)(void *cls, const void *piece, size_t n), void *cls)
{
	static const size_t most[] = {7, 60, 300};
	uint64_t seed = 0x9e3779b97f4a7c15u * (uint64_t)(way + 1);

	for (size_t i = 0, n_piece = n; i < n; i += n_piece) {
		char *piece;

		if (way == SPLIT_BYTES)
			n_piece = 1;
		else if (way >= SPLIT_RANDOM)
			n_piece = 1 + split_random(&seed) % most[way % 3];
		if (n_piece > n - i)
			n_piece = n - i;
		piece = malloc(n_piece);
		if (piece == NULL)
			abort();
		memcpy(piece, data + i, n_piece);
		feed(cls, piece, n_piece);
		free(piece);
	}
}

#endif
