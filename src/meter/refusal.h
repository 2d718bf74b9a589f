/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * refusal: what an error answer means. From its status, headers and body to
 * outcome, error_kind, retry_after_ms and limit_dimension.
 *
 * A provider that is full (529, 503) is told apart from the user's own limit
 * (429), and of those a rate, which passes, from a quota, which waiting does
 * not cure. The body's text is read and not kept.
 * One thread; made only for answers that are errors.
 */
#ifndef METER_REFUSAL_H
#define METER_REFUSAL_H

#include <stddef.h>
#include <stdint.h>

struct refusal;
struct turn;

enum {
	REFUSAL_BODY_BYTES = 16 * 1024, /* what follows is not read */
	REFUSAL_BUCKETS_MAX = 16
};

/* NULL without memory. NOW_WALL_MS stands in for an absent Date header. */
struct refusal *refusal_new(int64_t now_wall_ms);
void refusal_free(struct refusal *r);

/* Any header of the answer. */
void refusal_header(struct refusal *r, const char *name, size_t n_name,
    const char *value, size_t n_value);

/* Decoded bytes of the body. */
void refusal_body(struct refusal *r, const void *data, size_t n);

/* Sets outcome, error_kind, retry_after_ms and limit_dimension of T. */
void refusal_settle(const struct refusal *r, int status, struct turn *t);

/* The same for an error within a stream that began with 200. ERROR is the
 * error value as JSON; N may be 0. */
void refusal_settle_in_stream(
    const char *error, size_t n, int64_t now_wall_ms, struct turn *t);

#endif
