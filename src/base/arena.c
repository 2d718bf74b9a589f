/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
#include "base/arena.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

struct arena_block {
	struct arena_block *next;
	size_t used;
	size_t size;
	alignas(max_align_t) char bytes[];
};

/* 1 KiB with the head: one byte more and an allocator takes its next class. */
enum { ARENA_BLOCK_BYTES = 1024 - sizeof(struct arena_block) };

void
arena_fini(struct arena *a)
{
	struct arena_block *b = a->blocks;

	while (b != NULL) {
		struct arena_block *next = b->next;

		free(b);
		b = next;
	}
	a->blocks = NULL;
}

void *
arena_alloc(struct arena *a, size_t n)
{
	struct arena_block *b = a->blocks;
	size_t align = alignof(max_align_t);
	size_t need = (n + align - 1) & ~(align - 1);
	void *p;

	if (b == NULL || b->size - b->used < need) {
		size_t size = need > ARENA_BLOCK_BYTES ? need
						       : ARENA_BLOCK_BYTES;

		b = malloc(sizeof(*b) + size);
		if (b == NULL)
			return NULL;
		b->next = a->blocks;
		b->used = 0;
		b->size = size;
		a->blocks = b;
	}
	p = b->bytes + b->used;
	b->used += need;
	return p;
}

char *
arena_copy(struct arena *a, const char *s, size_t n)
{
	char *p = arena_alloc(a, n + 1);

	if (p == NULL)
		return NULL;
	memcpy(p, s, n);
	p[n] = '\0';
	return p;
}
