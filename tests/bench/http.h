/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * http: a message reader for the bench's two programs: finds the end of a
 * head and of a body, counts bytes, and keeps up with a fast proxy.
 *
 * It trusts its peers; it is no model of how to read a network.
 */
#ifndef BENCH_HTTP_H
#define BENCH_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum http_state {
	HTTP_STATE_HEAD,
	HTTP_STATE_LENGTH,    /* a body of known length */
	HTTP_STATE_SIZE,      /* a chunk's size line */
	HTTP_STATE_CHUNK,     /* a chunk's data */
	HTTP_STATE_CHUNK_END, /* the line end behind it */
	HTTP_STATE_TRAILER,   /* lines behind the last chunk */
	HTTP_STATE_DONE,
	HTTP_STATE_BROKEN
};

enum { HTTP_HEAD_MAX = 16 * 1024 };

typedef void http_body_fn(void *cls, const char *data, size_t n);

struct http_reader {
	enum http_state state;
	bool is_response;
	bool wants_close;
	int status;
	int64_t left; /* of the body or of the chunk */
	size_t n_head;
	size_t n_line;
	char line[64];
	char head[HTTP_HEAD_MAX + 1];
};

void http_reader_init(struct http_reader *r, bool is_response);

/* Takes bytes up to the message's end and gives how many; body bytes go to
 * BODY (may be NULL). Look at ->state afterwards. */
size_t http_reader_feed(struct http_reader *r, const char *data, size_t n,
    http_body_fn *body, void *cls);

/* The value of NAME=NUMBER in a request's query, else FALLBACK. */
int64_t http_query_number(
    const struct http_reader *r, const char *name, int64_t fallback);
/* Whether the request's target has TEXT in it. */
bool http_target_has(const struct http_reader *r, const char *text);

/* CLOCK_MONOTONIC, which both programs share on one machine. */
uint64_t http_now_ns(void);

/* A non-blocking socket without Nagle's delay; dies with a message. */
int http_listen(int port);
int http_accept(int listen_fd); /* -1: nobody waits */
int http_connect(int port);
int http_port_of(int listen_fd);

#endif
