/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * buf: a growing byte buffer with a ceiling. Not shared between threads.
 *
 * The buffer is embedded in its owner: buf_init, use, buf_fini. Bytes are
 * appended at the end and consumed from the front.
 */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>

struct buf {
	char *base;
	size_t start; /* first byte not yet consumed */
	size_t end;   /* one past the last byte */
	size_t size;  /* allocated */
	size_t ceiling;
};

/* CEILING is the most bytes it may hold at one time. Allocates nothing. */
void buf_init(struct buf *b, size_t ceiling);
void buf_fini(struct buf *b);

static inline size_t
buf_len(const struct buf *b)
{
	return b->end - b->start;
}

static inline char *
buf_data(const struct buf *b)
{
	return b->base + b->start;
}

/* 0; -ENOBUFS above the ceiling or -ENOMEM: nothing was appended. */
int buf_append(struct buf *b, const void *data, size_t n);
int buf_append_str(struct buf *b, const char *text);
int buf_printf(struct buf *b, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Room for N more bytes at the end, to be made part by buf_commit; NULL above
 * the ceiling or without memory. */
char *buf_reserve(struct buf *b, size_t n);
void buf_commit(struct buf *b, size_t n);

void buf_consume(struct buf *b, size_t n);
void buf_clear(struct buf *b);

/* Clears and gives the memory back. */
void buf_release(struct buf *b);

/* Gives the bytes (malloc'd, from the first unconsumed one on) and leaves the
 * buffer empty. NULL where it holds none. */
char *buf_take(struct buf *b, size_t *n_out);

#endif
