/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "scan/values.h"

#define N(array) (sizeof(array) / sizeof(*(array)))

struct int_case {
	const char *text;
	bool is_good;
	int64_t value;
};

struct real_case {
	const char *text;
	bool is_good;
	double value;
};

/* Each text stands in a copy of its own size, without a NUL. */
static char *
bare_copy(const char *text, size_t *n_out)
{
	char *copy;

	*n_out = strlen(text);
	copy = malloc(*n_out > 0 ? *n_out : 1);
	assert_non_null(copy);
	memcpy(copy, text, *n_out);
	return copy;
}

static void
check_ints(bool (*parse)(const char *s, size_t n, int64_t *out),
    const struct int_case *cases, size_t n_cases)
{
	for (size_t i = 0; i < n_cases; i++) {
		const struct int_case *c = &cases[i];
		int64_t value = -77;
		size_t n;
		char *copy = bare_copy(c->text, &n);

		if (parse(copy, n, &value) != c->is_good ||
		    value != (c->is_good ? c->value : -77))
			fail_msg("\"%s\" gave %lld", c->text, (long long)value);
		free(copy);
	}
}

static void
check_reals(bool (*parse)(const char *s, size_t n, double *out),
    const struct real_case *cases, size_t n_cases)
{
	for (size_t i = 0; i < n_cases; i++) {
		const struct real_case *c = &cases[i];
		double value = -77;
		size_t n;
		char *copy = bare_copy(c->text, &n);

		if (parse(copy, n, &value) != c->is_good ||
		    value != (c->is_good ? c->value : -77))
			fail_msg("\"%s\" gave %.17g", c->text, value);
		free(copy);
	}
}

static void
test_values_int(void **state)
{
	static const struct int_case cases[] = {
	    {"0", true, 0},
	    {"29900", true, 29900},
	    {" 29900\t", true, 29900},
	    {"30,000", true, 30000},
	    {"1,234,567", true, 1234567},
	    {"-1,234", true, -1234},
	    {"33011.382867097855", true, 33011},
	    {"33011.5", true, 33012},
	    {"1,234.5", true, 1235},
	    {"6e2", true, 600},
	    {"007", true, 7},
	    {"-5", true, -5},
	    {"9223372036854775807", true, INT64_MAX},
	    {"9223372036854775808", false, 0},
	    {"99999999999999999999999999999999999999999999999999999999999999999"
	     "9",
		false, 0},
	    {"", false, 0},
	    {" ", false, 0},
	    {",", false, 0},
	    {"30,00", false, 0},
	    {"30,0000", false, 0},
	    {"3000,000", false, 0},
	    {",000", false, 0},
	    {"1,,000", false, 0},
	    {"1,000,", false, 0},
	    {"1,00.5", false, 0},
	    {"1.000,5", false, 0},
	    {"12 34", false, 0},
	    {"12x", false, 0},
	    {"+12", false, 0},
	    {"0x12", false, 0},
	    {"--1", false, 0},
	    {"1-", false, 0},
	    {"nan", false, 0},
	    {"12;w=60", false, 0},
	};

	(void)state;
	check_ints(values_int, cases, N(cases));
}

static void
test_values_real(void **state)
{
	static const struct real_case cases[] = {
	    {"0", true, 0},
	    {"33011.382867097855", true, 33011.382867097855},
	    {"11.382867097854614", true, 11.382867097854614},
	    {"30,000.25", true, 30000.25},
	    {" 0.1 ", true, 0.1},
	    {"-2.5e-3", true, -2.5e-3},
	    {"1e308", true, 1e308},
	    {"1e309", false, 0},
	    {"", false, 0},
	    {"inf", false, 0},
	    {"nan", false, 0},
	    {"1.", false, 0},
	    {".5", false, 0},
	    {"0x1p3", false, 0},
	    {"1.5s", false, 0},
	};

	(void)state;
	check_reals(values_real, cases, N(cases));
}

static void
test_values_duration(void **state)
{
	static const struct real_case cases[] = {
	    {"6m0s", true, 360e3},
	    {"1m26.4s", true, 60e3 + 26.4 * 1e3},
	    {"1h2m3s", true, 3723e3},
	    {"4h17m", true, 257 * 60e3},
	    {"7.66s", true, 7.66 * 1e3},
	    {"120ms", true, 120},
	    {"500ms", true, 500},
	    {"1m30s", true, 90e3},
	    {"1m", true, 60e3},
	    {"90", true, 90e3},
	    {"17us", true, 17 * 1e-3},
	    {"17\xc2\xb5s", true, 17 * 1e-3},
	    {"17\xce\xbcs", true, 17 * 1e-3},
	    {"250ns", true, 250 * 1e-6},
	    {"1s500ms", true, 1500},
	    {"2d3h", true, 51 * 3600e3},
	    {"0s", true, 0},
	    {"0", true, 0},
	    {"45", true, 45e3},
	    {"11.38", true, 11.38 * 1e3},
	    {" 1s ", true, 1e3},
	    {"", false, 0},
	    {"s", false, 0},
	    {"-1s", false, 0},
	    {"1m30", false, 0},
	    {"1s1m", false, 0},
	    {"1s1s", false, 0},
	    {"1ms1s", false, 0},
	    {"1m 30s", false, 0},
	    {"1 m", false, 0},
	    {"1sec", false, 0},
	    {"1.2.3s", false, 0},
	    {"1.s", false, 0},
	    {"1M", false, 0},
	    {"P1D", false, 0},
	    {"1e3s", false, 0},
	};

	(void)state;
	check_reals(values_duration_ms, cases, N(cases));
}

static void
test_values_http_date(void **state)
{
	static const struct int_case cases[] = {
	    {"Sun, 06 Nov 1994 08:49:37 GMT", true, 784111777000},
	    {"Sunday, 06-Nov-94 08:49:37 GMT", true, 784111777000},
	    {"Sun Nov  6 08:49:37 1994", true, 784111777000},
	    {"Wed Nov 16 08:49:37 1994", true, 784975777000},
	    {" Sat, 25 Jul 2026 12:05:00 GMT ", true, 1784981100000},
	    {"Thu, 29 Feb 2024 23:59:60 GMT", true, 1709251200000},
	    {"Thu, 01 Jan 1970 00:00:00 GMT", true, 0},
	    {"Monday, 01-Jan-69 00:00:00 GMT", true, 3124224000000},
	    {"Wed, 29 Feb 2023 00:00:00 GMT", false, 0},
	    {"Sun, 00 Nov 1994 08:49:37 GMT", false, 0},
	    {"Sun, 31 Nov 1994 08:49:37 GMT", false, 0},
	    {"Sun, 06 Nov 1994 24:00:00 GMT", false, 0},
	    {"Sun, 06 Nov 1994 08:60:00 GMT", false, 0},
	    {"Sun, 06 Nov 1994 08:49:61 GMT", false, 0},
	    {"Sun, 6 Nov 1994 08:49:37 GMT", false, 0},
	    {"Sun, 06 Nov 1994 08:49:37", false, 0},
	    {"Sun, 06 Nov 1994 08:49:37 CET", false, 0},
	    {"Sun, 06 Nov 1994 08:49:37 GMTx", false, 0},
	    {"Sun 06 Nov 1994 08:49:37 GMT", false, 0},
	    {"Foo, 06 Nov 1994 08:49:37 GMT", false, 0},
	    {"sun, 06 nov 1994 08:49:37 gmt", false, 0},
	    {"Sun Nov 6 08:49:37 1994", false, 0},
	    {"06 Nov 1994 08:49:37 GMT", false, 0},
	    {"0", false, 0},
	    {"", false, 0},
	};

	(void)state;
	check_ints(values_http_date_ms, cases, N(cases));
}

static void
test_values_rfc3339(void **state)
{
	static const struct int_case cases[] = {
	    {"1970-01-01T00:00:00Z", true, 0},
	    {"2025-11-30T14:02:10Z", true, 1764511330000},
	    {"2025-11-30T14:02:10.123Z", true, 1764511330123},
	    {"2025-11-30T14:02:10.1Z", true, 1764511330100},
	    {"2025-11-30T14:02:10.123999999Z", true, 1764511330123},
	    {"2025-11-30T15:02:10+01:00", true, 1764511330000},
	    {"2025-11-30T08:32:10-05:30", true, 1764511330000},
	    {"2025-11-30t14:02:10z", true, 1764511330000},
	    {"2025-11-30 14:02:10Z", true, 1764511330000},
	    {" 2025-11-30T14:02:10Z ", true, 1764511330000},
	    {"1969-12-31T23:59:59.5Z", true, -500},
	    {"2024-02-29T00:00:00Z", true, 1709164800000},
	    {"2000-02-29T00:00:00Z", true, 951782400000},
	    {"1900-02-29T00:00:00Z", false, 0},
	    {"2025-02-29T00:00:00Z", false, 0},
	    {"2025-13-01T00:00:00Z", false, 0},
	    {"2025-00-01T00:00:00Z", false, 0},
	    {"2025-11-31T00:00:00Z", false, 0},
	    {"2025-11-30T24:00:00Z", false, 0},
	    {"2025-11-30T14:02:10", false, 0},
	    {"2025-11-30T14:02Z", false, 0},
	    {"2025-11-30", false, 0},
	    {"2025-11-30T14:02:10.Z", false, 0},
	    {"2025-11-30T14:02:10+1:00", false, 0},
	    {"2025-11-30T14:02:10+0100", false, 0},
	    {"2025-11-30T14:02:10+24:00", false, 0},
	    {"2025-11-30T14:02:10Zz", false, 0},
	    {"25-11-30T14:02:10Z", false, 0},
	    {"1764511330", false, 0},
	    {"", false, 0},
	};

	(void)state;
	check_ints(values_rfc3339_ms, cases, N(cases));
}

/* Every day from 1600 to 2400, against the C library. */
static void
test_values_calendar(void **state)
{
	time_t day = -11676096000; /* 1600-01-01 */

	(void)state;
	for (int i = 0; i < 292194; i++, day += 86400) {
		char text[32];
		struct tm tm;
		int64_t ms = 0;
		size_t n;

		assert_non_null(gmtime_r(&day, &tm));
		n = strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
		assert_true(values_rfc3339_ms(text, n, &ms));
		assert_int_equal(ms, (int64_t)day * 1000);
		n = strftime(
		    text, sizeof(text), "%a, %d %b %Y %H:%M:%S GMT", &tm);
		assert_true(values_http_date_ms(text, n, &ms));
		assert_int_equal(ms, (int64_t)day * 1000);
	}
}

static bool
retry_after(const char *s, size_t n, double *out)
{
	/* Sat, 25 Jul 2026 12:00:00 GMT */
	return values_retry_after_ms(s, n, 1784980800000, out);
}

static void
test_values_retry_after(void **state)
{
	static const struct real_case cases[] = {
	    {"2", true, 2e3},
	    {"59.8", true, 59.8 * 1e3},
	    {" 0 ", true, 0},
	    {"Sat, 25 Jul 2026 12:05:00 GMT", true, 300e3},
	    {"Saturday, 25-Jul-26 12:05:00 GMT", true, 300e3},
	    {"Sat Jul 25 12:05:00 2026", true, 300e3},
	    {"Sat, 25 Jul 2026 11:00:00 GMT", true, 0},
	    {"-3", true, 0},
	    {"", false, 0},
	    {"soon", false, 0},
	    {"2s", false, 0},
	    {"2 seconds", false, 0},
	};

	(void)state;
	check_reals(retry_after, cases, N(cases));
}

static void
test_values_name_is(void **state)
{
	static const struct {
		const char *text;
		const char *name;
		bool is_equal;
	} cases[] = {
	    {"retry-after", "Retry-After", true},
	    {"X-RATELIMIT-LIMIT", "x-ratelimit-limit", true},
	    {"", "", true},
	    {"retry-after", "retry-after-ms", false},
	    {"retry-after-ms", "retry-after", false},
	    {"[", "{", false},
	    {"@", "`", false},
	    {"\xc9", "\xe9", false},
	};

	(void)state;
	for (size_t i = 0; i < N(cases); i++) {
		size_t n;
		char *copy = bare_copy(cases[i].text, &n);

		assert_int_equal(
		    values_name_is(copy, n, cases[i].name), cases[i].is_equal);
		free(copy);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_values_int),
	    cmocka_unit_test(test_values_real),
	    cmocka_unit_test(test_values_duration),
	    cmocka_unit_test(test_values_http_date),
	    cmocka_unit_test(test_values_rfc3339),
	    cmocka_unit_test(test_values_calendar),
	    cmocka_unit_test(test_values_retry_after),
	    cmocka_unit_test(test_values_name_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
