/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * fuzz: what the targets share: claims that stay in every build, feeding in
 * steps, and notes of what a parser told, to be compared.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { FUZZ_NOTES_BYTES = 1 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static inline void
fuzz_check(bool claim)
{
	if (!claim)
		abort();
}

/* Each piece is a copy of its own size. */
static inline void
fuzz_feed(const uint8_t *data, size_t n, size_t step,
    void (*feed)(void *cls, const void *piece, size_t n), void *cls)
{
	for (size_t at = 0; at < n; at += step) {
		size_t n_piece = n - at < step ? n - at : step;
		void *piece = malloc(n_piece);

		fuzz_check(piece != NULL);
		memcpy(piece, data + at, n_piece);
		feed(cls, piece, n_piece);
		free(piece);
	}
}

/* What doesn't fit is left off, in both of two runs. */
struct fuzz_notes {
	size_t n;
	char text[FUZZ_NOTES_BYTES];
};

static inline void
fuzz_notes_add(struct fuzz_notes *o, const void *data, size_t n)
{
	if (n > sizeof(o->text) - o->n)
		n = sizeof(o->text) - o->n;
	if (n > 0)
		memcpy(o->text + o->n, data, n);
	o->n += n;
}

static inline void
fuzz_notes_compare(const struct fuzz_notes *a, const struct fuzz_notes *b)
{
	fuzz_check(a->n == b->n && memcmp(a->text, b->text, a->n) == 0);
}

#endif
