/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
#include "base/buf.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUF_MIN_BYTES = 512 };

void
buf_init(struct buf *b, size_t ceiling)
{
	memset(b, 0, sizeof(*b));
	b->ceiling = ceiling;
}

void
buf_fini(struct buf *b)
{
	free(b->base);
	b->base = NULL;
	b->start = b->end = b->size = 0;
}

char *
buf_reserve(struct buf *b, size_t n)
{
	size_t len = buf_len(b);
	size_t size;
	char *base;

	if (n > b->ceiling || len > b->ceiling - n)
		return NULL;
	if (b->size - b->end >= n)
		return b->base + b->end;
	if (b->size >= len + n && b->start >= b->size / 2) {
		memmove(b->base, b->base + b->start, len);
		b->start = 0;
		b->end = len;
		return b->base + b->end;
	}
	size = b->size > BUF_MIN_BYTES ? b->size : BUF_MIN_BYTES;
	while (size - b->start < len + n)
		size *= 2;
	base = realloc(b->base, size);
	if (base == NULL)
		return NULL;
	b->base = base;
	b->size = size;
	return b->base + b->end;
}

void
buf_commit(struct buf *b, size_t n)
{
	assert(b->size - b->end >= n);
	b->end += n;
}

int
buf_append(struct buf *b, const void *data, size_t n)
{
	char *room;

	if (n == 0)
		return 0;
	room = buf_reserve(b, n);
	if (room == NULL)
		return n > b->ceiling || buf_len(b) > b->ceiling - n ? -ENOBUFS
								     : -ENOMEM;
	memcpy(room, data, n);
	b->end += n;
	return 0;
}

int
buf_append_str(struct buf *b, const char *text)
{
	return buf_append(b, text, strlen(text));
}

int
buf_printf(struct buf *b, const char *format, ...)
{
	va_list args;
	char *room;
	int n;

	va_start(args, format);
	n = vsnprintf(NULL, 0, format, args);
	va_end(args);
	if (n < 0)
		return -EINVAL;
	room = buf_reserve(b, (size_t)n + 1);
	if (room == NULL)
		return -ENOBUFS;
	va_start(args, format);
	vsnprintf(room, (size_t)n + 1, format, args);
	va_end(args);
	b->end += (size_t)n;
	return 0;
}

void
buf_consume(struct buf *b, size_t n)
{
	assert(n <= buf_len(b));
	b->start += n;
	if (b->start == b->end)
		b->start = b->end = 0;
}

void
buf_clear(struct buf *b)
{
	b->start = b->end = 0;
}

void
buf_release(struct buf *b)
{
	buf_fini(b);
}

char *
buf_take(struct buf *b, size_t *n_out)
{
	char *base = b->base;

	*n_out = buf_len(b);
	if (*n_out == 0)
		return NULL;
	if (b->start > 0)
		memmove(base, base + b->start, *n_out);
	b->base = NULL;
	b->start = b->end = b->size = 0;
	return base;
}
