/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * clock: the two times of the product. Any thread.
 *
 * Durations and offsets come from the monotonic clock, in nanoseconds; what is
 * stored as a moment comes from the wall clock, in milliseconds since the
 * epoch, UTC.
 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stddef.h>
#include <stdint.h>

/* Bytes of "2026-11-30T14:02:10.123Z" and its NUL. */
enum { CLOCK_RFC3339_BYTES = 32 };

int64_t clock_now_ns(void);
int64_t clock_wall_ms(void);

/* RFC 3339 in UTC with milliseconds. */
void clock_format_rfc3339(int64_t wall_ms, char out[CLOCK_RFC3339_BYTES]);

#endif
