/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * Any bytes as a header's value, to every parser: what is taken must make
 * sense, what is refused must leave the answer alone.
 */
#include <math.h>
#include <time.h>

#include "scan/values.h"

#include "fuzz.h"

enum { UNTOUCHED = -777777 };

/* The integer is the real number, rounded. */
static void
check_numbers(const char *s, size_t n)
{
	int64_t i = UNTOUCHED;
	double real = UNTOUCHED;
	bool is_int = values_int(s, n, &i), is_real = values_real(s, n, &real);

	fuzz_check(is_int || i == UNTOUCHED);
	fuzz_check(is_real ? isfinite(real) : real == UNTOUCHED);
	if (!is_int)
		return;
	fuzz_check(is_real);
	if (fabs(real) < 1e15)
		fuzz_check(fabs(real - (double)i) <= 0.5);
}

/* A time, written as RFC 3339, gives itself. */
static void
check_time(bool is_taken, int64_t ms)
{
	time_t seconds = ms / 1000 - (ms % 1000 < 0);
	char text[64];
	struct tm tm;
	int64_t again;
	size_t n;

	fuzz_check(is_taken || ms == UNTOUCHED);
	if (!is_taken)
		return;
	fuzz_check(gmtime_r(&seconds, &tm) != NULL);
	if (tm.tm_year < 0 || tm.tm_year >= 9999 - 1900)
		return;
	n = strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
	fuzz_check(values_rfc3339_ms(text, n, &again));
	fuzz_check(again == seconds * 1000);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	const char *s = (const char *)data;
	double ms = UNTOUCHED;
	int64_t at = UNTOUCHED;
	bool is_taken;

	check_numbers(s, n);
	is_taken = values_duration_ms(s, n, &ms);
	fuzz_check(is_taken ? ms >= 0 : ms == UNTOUCHED);
	ms = UNTOUCHED;
	is_taken = values_retry_after_ms(s, n, 1784980800000, &ms);
	fuzz_check(is_taken ? ms >= 0 : ms == UNTOUCHED);
	is_taken = values_http_date_ms(s, n, &at);
	check_time(is_taken, at);
	at = UNTOUCHED;
	is_taken = values_rfc3339_ms(s, n, &at);
	check_time(is_taken, at);
	values_name_is(s, n, "retry-after");
	return 0;
}
