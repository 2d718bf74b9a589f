/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <math.h>

#include "record/turn.h"
#include "report/format.h"
#include "report/when.h"

struct format_case {
	int64_t value;
	const char *text;
};

static void
format_check(void (*format)(int64_t, char[FORMAT_BYTES]),
    const struct format_case *cases, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		char out[FORMAT_BYTES];

		format(cases[i].value, out);
		assert_string_equal(out, cases[i].text);
	}
}

#define CHECK(format, ...)                                           \
	do {                                                         \
		static const struct format_case c[] = {__VA_ARGS__}; \
		format_check(format, c, sizeof(c) / sizeof(*c));     \
	} while (0)

static void
test_format_tokens(void **state)
{
	(void)state;
	CHECK(format_tokens, {TURN_NULL, "?"}, {0, "0"}, {230, "230"},
	    {999, "999"}, {1000, "1.0K"}, {11000, "11.0K"}, {118400, "118.4K"},
	    {999949, "999.9K"}, {999950, "1.0M"}, {943900000, "943.9M"},
	    {2060000000, "2.06B"}, {123456000000, "123B"});
}

static void
test_format_counts_and_bytes(void **state)
{
	(void)state;
	CHECK(format_count, {TURN_NULL, "?"}, {0, "0"}, {999, "999"},
	    {24211, "24,211"}, {1000000, "1,000,000"}, {-123, "-123"},
	    {-1234, "-1,234"});
	CHECK(format_bytes, {TURN_NULL, "?"}, {0, "0 B"}, {999, "999 B"},
	    {29400, "29.4 kB"}, {999960, "1.0 MB"}, {30000000, "30.0 MB"});
}

static void
test_format_costs(void **state)
{
	(void)state;
	CHECK(format_turn_cost, {TURN_NULL, "?"}, {0, "0"}, {1, "<0.0001"},
	    {11200000000, "0.0112"}, {1570000000000, "1.5700"});
	CHECK(format_total_cost, {TURN_NULL, "?"}, {0, "$0.00"},
	    {16900000000, "$0.0169"}, {4120000000000, "$4.12"});
}

static void
test_format_reals(void **state)
{
	static const struct {
		double value;
		const char *speed;
	} speeds[] = {{NAN, "?"}, {0, "0.00"}, {9.87, "9.87"}, {9.996, "10.0"},
	    {61.32, "61.3"}, {99.96, "100"}, {412.4, "412"}, {1381, "1381"},
	    {INFINITY, "?"}};
	static const struct {
		double ms;
		const char *text;
	} durations[] = {{NAN, "?"}, {390, "0.39 s"}, {21800, "21.8 s"},
	    {59949, "59.9 s"}, {59960, "1m00s"}, {70000, "1m10s"},
	    {7500000, "2h05m"}, {273600000, "3d04h"}};
	char out[FORMAT_BYTES];

	(void)state;
	for (size_t i = 0; i < sizeof(speeds) / sizeof(*speeds); i++) {
		format_speed(speeds[i].value, out);
		assert_string_equal(out, speeds[i].speed);
	}
	for (size_t i = 0; i < sizeof(durations) / sizeof(*durations); i++) {
		format_duration(durations[i].ms, out);
		assert_string_equal(out, durations[i].text);
	}
}

/* 100% and 0% are promises: a rounded one would hide the last misses. */
static void
test_format_share_is_whole_only_when_exact(void **state)
{
	static const struct {
		int64_t part, whole;
		const char *text;
	} cases[] = {{TURN_NULL, 10, "?"}, {1, TURN_NULL, "?"}, {0, 0, "?"},
	    {0, 10, "0%"}, {10, 10, "100%"}, {9999, 10000, "99%"},
	    {1, 10000, "1%"}, {956, 1000, "96%"}};
	char out[FORMAT_BYTES];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		format_share(cases[i].part, cases[i].whole, out);
		assert_string_equal(out, cases[i].text);
	}
}

static void
test_format_clock_is_local(void **state)
{
	char out[FORMAT_BYTES];

	(void)state;
	assert_int_equal(when_set_zone("Asia/Tokyo"), 0);
	format_date_time(1764511330123, out);
	assert_string_equal(out, "2025-11-30 23:02:10");
	format_clock(TURN_NULL, out);
	assert_string_equal(out, "?");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_format_tokens),
	    cmocka_unit_test(test_format_counts_and_bytes),
	    cmocka_unit_test(test_format_costs),
	    cmocka_unit_test(test_format_reals),
	    cmocka_unit_test(test_format_share_is_whole_only_when_exact),
	    cmocka_unit_test(test_format_clock_is_local),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
