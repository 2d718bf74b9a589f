/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * meter: reads one exchange as its bytes pass and fills the record of the
 * turn. It never changes, delays or ends anything: a meter that meets nonsense
 * sets a flag on the turn and goes on (docs/architecture.md, law 2).
 *
 * One meter an exchange, made by the relay, on the loop thread. It borrows the
 * turn until meter_free. The order of calls is the order of the exchange; any
 * of them may be missing (an exchange can end anywhere). Memory per meter is
 * bounded, whatever the bytes.
 *
 * The relay fills of the turn: id, started_at, source, upstream, method, path,
 * project, sent_ms, connect_ms, held_ms, in_flight, in_flight_mean,
 * request_bytes, response_bytes, seq. The meter fills everything else that the
 * wire can tell.
 */
#ifndef METER_METER_H
#define METER_METER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct keyhash;
struct meter;
struct turn;

struct meter_setup {
	const char *method;
	const char *path;           /* as sent upstream, no query */
	const char *upstream_host;  /* dialects that share a path */
	const char *protocol;       /* the upstream's setting, NULL: by path */
	const struct keyhash *keys; /* borrowed until meter_free */
	int64_t t0_ns;              /* clock_now_ns when the head had arrived */
};

/* How the exchange ended, as the relay saw it. */
enum meter_end {
	METER_END_CLEAN,          /* the framing's end was reached */
	METER_END_UPSTREAM_RESET, /* RST, h2 reset, closed without an answer */
	METER_END_UPSTREAM_TRUNCATED,
	METER_END_CLIENT_CLOSED,
	METER_END_CONNECT_FAILED,
	METER_END_TIMEOUT,
	METER_END_REFUSED, /* by turnmeter itself, after routing */
	METER_END_INTERRUPTED
};

/* What a piece of the response showed; a set of bits. */
enum {
	METER_SAW_FIRST_TOKEN = 1 << 0, /* for the first time in this piece */
	METER_SAW_TERMINAL = 1 << 1     /* terminal or error event, or news that
				     * came after it, such as the usage */
};

/* Whether the exchange leaves a row at all: GET, HEAD, OPTIONS and DELETE do
 * only where a meter knows the path; every other method always does. */
bool meter_leaves_row(const char *method, const char *path);

/* NULL without memory: the exchange goes on unmetered. */
struct meter *meter_new(const struct meter_setup *setup, struct turn *t);
void meter_free(struct meter *m);

/* The client's headers, one by one, as received (hop-by-hop ones too). */
void meter_request_header(struct meter *m, const char *name, const char *value);
void meter_request_body(struct meter *m, const void *data, size_t n);
/* The body is whole; also called where there is none. */
void meter_request_end(struct meter *m);

/* The final answer's status and headers (never those of 1xx). */
void meter_response_status(struct meter *m, int status);
void meter_response_header(struct meter *m, const char *name, size_t n_name,
    const char *value, size_t n_value);
/* All headers have been given. NOW_NS: when the head's first byte was read. */
void meter_response_head_end(struct meter *m, int64_t now_ns);

/* A piece of the body as received, before it goes on to the client. */
unsigned meter_response_body(
    struct meter *m, const void *data, size_t n, int64_t now_ns);

/*
 * Fills outcome, usage, offsets, durations and speeds from what has been seen
 * so far, for the journal. Called at the terminal event, at the framing's last
 * byte and at the very end; a later call may refine what an earlier one set.
 * The first decisive event wins: error event, terminal event, upstream cut,
 * client close.
 */
void meter_settle(struct meter *m, enum meter_end end, int64_t now_ns);

/*
 * The body of an error that turnmeter itself answers, in the shape of the
 * protocol that PATH belongs to (OpenAI's where none does). Gives a malloc'd
 * JSON text, NULL without memory.
 */
char *meter_error_body(const char *path, const char *protocol, int status,
    const char *kind, const char *message);

#endif
