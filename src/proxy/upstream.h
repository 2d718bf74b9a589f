/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * upstream: the half of the proxy that talks to providers, on libcurl multi.
 *
 * One pool a proxy: connections, TLS sessions and DNS answers are shared by
 * all transfers. A transfer is one request and its answer; its owner is told
 * of what happens through events, always from within pool_run or a socket's
 * readiness, and never frees anything there but by transfer_drop.
 *
 * Loop thread only.
 */
#ifndef PROXY_UPSTREAM_H
#define PROXY_UPSTREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct config;
struct config_upstream;
struct curl_slist;
struct loop;
struct pool;
struct transfer;

enum transfer_end {
	TRANSFER_CLEAN,
	TRANSFER_CONNECT_FAILED,
	TRANSFER_RESET,
	TRANSFER_TRUNCATED,
	TRANSFER_TIMEOUT
};

enum { TRANSFER_READ_PAUSE = -1 };

struct transfer_events {
	/* The request is about to be sent on a ready connection. */
	void (*sending)(void *cls, int64_t now_ns);
	/* A line of the final answer's head, without its line end; the status
	 * line comes with IS_STATUS and begins the head anew (what came before
	 * was a 1xx). false: the head is not to be trusted, end with a reset. */
	bool (*head_line)(
	    void *cls, const char *line, size_t n, bool is_status);
	void (*head_end)(void *cls);
	/* A line of the answer's trailer section. */
	void (*trailer_line)(void *cls, const char *line, size_t n);
	/* false: nothing was taken; call transfer_resume_answer later. */
	bool (*body)(void *cls, const char *data, size_t n);
	/* Up to N bytes of the request body; 0 at its end;
	 * TRANSFER_READ_PAUSE: call transfer_resume_request later. */
	ssize_t (*read)(void *cls, char *data, size_t n);
	/* The request's trailers, once after read gave 0; may be NULL. Gives
	 * the list. */
	struct curl_slist *(*trailers)(void *cls);
	/* The last event: the transfer is no more after it. REASON is for
	 * people. */
	void (*done)(void *cls, enum transfer_end end, const char *reason);
};

struct transfer_setup {
	const struct config *config;
	const struct config_upstream *upstream;
	const char *method;
	const char *target;          /* borrowed for the call */
	struct curl_slist **headers; /* takes */
	/* -1: chunked, by read; 0 with has_body false: no body. */
	int64_t content_length;
	bool has_body;
	bool is_expecting; /* headers hold Expect: 100-continue */
	const char *body;  /* the whole body, borrowed until sent; NULL: read */
	const struct transfer_events *events;
	void *cls;
};

/* NULL, with a line in the log, without memory. */
struct pool *pool_new(struct loop *l);
/* Every transfer must have ended or been dropped. */
void pool_free(struct pool *p);

/* Gives due timers and finished transfers their turn. Returns milliseconds
 * until it wants to run again, -1 for never. */
int64_t pool_run(struct pool *p);

/* NULL without memory: nothing was started. */
struct transfer *transfer_start(
    struct pool *p, const struct transfer_setup *setup);

/* Ends it now, with no further event: the connection is closed unless the
 * answer was whole. */
void transfer_drop(struct transfer *t);

void transfer_resume_answer(struct transfer *t);
void transfer_resume_request(struct transfer *t);

/* From the first head line on: what a new connection took, 0 on a reused
 * one. */
double transfer_connect_ms(struct transfer *t);

/* How much of the request's body has been sent. */
int64_t transfer_sent_bytes(struct transfer *t);

/* When bytes last moved, either way. */
int64_t transfer_last_activity_ns(const struct transfer *t);

/* The end that an idle limit puts: told through done. */
void transfer_time_out(struct transfer *t);

#endif
