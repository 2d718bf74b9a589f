/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * decimal: a decimal number of any length, kept as where its parts are in the
 * text. Exact and free of the locale's decimal point. Private to the room.
 */
#ifndef SCAN_DECIMAL_H
#define SCAN_DECIMAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct decimal {
	const char *whole; /* the digits before the point */
	size_t n_whole;
	const char *fraction; /* those behind it */
	size_t n_fraction;
	int64_t exponent; /* held within +-DECIMAL_EXPONENT_MAX */
	bool is_negative;
};

enum { DECIMAL_EXPONENT_MAX = 1000000 };

/* The grammar of JSON: no blanks, no plus, at least a digit on either side of
 * a point; leading zeros are let pass. Borrows S. */
bool decimal_parse(const char *s, size_t n, struct decimal *out);

/* Rounded, halves away from zero; false where it does not fit. */
bool decimal_int(const struct decimal *d, int64_t *out);

#endif
