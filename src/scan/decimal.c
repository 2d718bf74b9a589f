/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
#include "decimal.h"

static size_t
decimal_digits(const char *s, size_t n)
{
	size_t i = 0;

	while (i < n && s[i] >= '0' && s[i] <= '9')
		i++;
	return i;
}

static bool
decimal_exponent(const char *s, size_t n, int64_t *out)
{
	bool is_negative = n > 0 && *s == '-';
	int64_t value = 0;

	if (n > 0 && (*s == '-' || *s == '+')) {
		s++;
		n--;
	}
	if (n == 0 || decimal_digits(s, n) != n)
		return false;
	for (size_t i = 0; i < n; i++) {
		value = value * 10 + (s[i] - '0');
		if (value > DECIMAL_EXPONENT_MAX)
			value = DECIMAL_EXPONENT_MAX;
	}
	*out = is_negative ? -value : value;
	return true;
}

bool
decimal_parse(const char *s, size_t n, struct decimal *out)
{
	struct decimal d = {0};
	const char *end = s + n;

	if (s < end && *s == '-') {
		d.is_negative = true;
		s++;
	}
	d.whole = s;
	d.n_whole = decimal_digits(s, (size_t)(end - s));
	if (d.n_whole == 0)
		return false;
	s += d.n_whole;
	if (s < end && *s == '.') {
		s++;
		d.fraction = s;
		d.n_fraction = decimal_digits(s, (size_t)(end - s));
		if (d.n_fraction == 0)
			return false;
		s += d.n_fraction;
	}
	if (s < end) {
		if ((*s | 0x20) != 'e' ||
		    !decimal_exponent(
			s + 1, (size_t)(end - s - 1), &d.exponent))
			return false;
	}
	*out = d;
	return true;
}

/* The digit at place I, the first one of the whole part being 0; places
 * outside of the text hold 0. */
static int
decimal_digit(const struct decimal *d, int64_t i)
{
	if (i < 0)
		return 0;
	if ((uint64_t)i < d->n_whole)
		return d->whole[i] - '0';
	i -= (int64_t)d->n_whole;
	return (uint64_t)i < d->n_fraction ? d->fraction[i] - '0' : 0;
}

static bool
decimal_is_zero(const struct decimal *d)
{
	for (size_t i = 0; i < d->n_whole + d->n_fraction; i++)
		if (decimal_digit(d, (int64_t)i) != 0)
			return false;
	return true;
}

bool
decimal_int(const struct decimal *d, int64_t *out)
{
	/* The point stands before this place. */
	int64_t point = (int64_t)d->n_whole + d->exponent;
	int64_t value = 0;

	if (decimal_is_zero(d)) {
		*out = 0;
		return true;
	}
	/* Counted downwards: INT64_MIN has no positive. */
	for (int64_t i = 0; i < point; i++)
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_sub_overflow(value, decimal_digit(d, i), &value))
			return false;
	if (decimal_digit(d, point) >= 5 &&
	    __builtin_sub_overflow(value, 1, &value))
		return false;
	if (!d->is_negative && value == INT64_MIN)
		return false;
	*out = d->is_negative ? value : -value;
	return true;
}
