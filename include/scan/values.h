/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * values: the forms of numbers, times and durations in headers and bodies.
 * Pure. All take N bytes, need no NUL, accept surrounding blanks, and are
 * strict: what is not wholly of the form is refused, never half read, and OUT is
 * then left alone.
 */
#ifndef SCAN_VALUES_H
#define SCAN_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* "29900", "30,000", "33011.38" (rounded), "6e2"; false where an int64 or a
 * finite double does not hold it. */
bool values_int(const char *s, size_t n, int64_t *out);
bool values_real(const char *s, size_t n, double *out);

/* As Go writes them: "6m0s", "1h2m3s", "7.66s", "120ms", "17us", each unit (d,
 * h, m, s, ms, us, ns) at most once and the larger ones first; or bare seconds
 * "45", "11.38". Milliseconds. */
bool values_duration_ms(const char *s, size_t n, double *out);

/* An HTTP date (RFC 9110 5.6.7, its three forms): ms since the epoch. */
bool values_http_date_ms(const char *s, size_t n, int64_t *out);

/* RFC 3339 with Z or an offset: ms since the epoch. */
bool values_rfc3339_ms(const char *s, size_t n, int64_t *out);

/* Retry-After: delta seconds (integer or decimal) or an HTTP date, measured
 * against DATE_MS (the response's own Date; the local clock where it sends
 * none). Milliseconds, never below 0. */
bool values_retry_after_ms(
    const char *s, size_t n, int64_t date_ms, double *out);

/* Header names: case-insensitive equality with a NUL-terminated NAME. */
bool values_name_equals(const char *s, const char *name, size_t n);

static inline bool
values_name_is(const char *s, size_t n, const char *name)
{
	return strlen(name) == n && values_name_equals(s, name, n);
}

#endif
