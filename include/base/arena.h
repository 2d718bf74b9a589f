/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * arena: small allocations that live and die with one owner. Embedded, not
 * shared between threads.
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stddef.h>

struct arena_block;

struct arena {
	struct arena_block *blocks;
};

/* An arena of zero bytes is a valid empty one. */
void arena_fini(struct arena *a);

/* Aligned for any type, not zeroed; NULL without memory. */
void *arena_alloc(struct arena *a, size_t n);

/* A copy of N bytes with a NUL behind; NULL without memory. */
char *arena_copy(struct arena *a, const char *s, size_t n);

#endif
