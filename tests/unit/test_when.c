/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <time.h>

#include "report/when.h"

/* A moment in UTC, ms since the epoch. */
static int64_t
utc(int year, int month, int day, int hour, int minute, int second)
{
	struct tm tm = {.tm_year = year - 1900,
	    .tm_mon = month - 1,
	    .tm_mday = day,
	    .tm_hour = hour,
	    .tm_min = minute,
	    .tm_sec = second};

	return (int64_t)timegm(&tm) * 1000;
}

static struct when_span
span_of(const char *text)
{
	struct when_span span = {0, 0};

	assert_int_equal(
	    when_parse(text, utc(2026, 11, 30, 14, 0, 0), &span), 0);
	return span;
}

static bool
holds(struct when_span span, int64_t ms)
{
	return ms >= span.start_ms && ms < span.end_ms;
}

/* An evening turn belongs to the user's day, not to UTC's. */
static void
test_when_day_is_local(void **state)
{
	int64_t turn = utc(2025, 8, 4, 2, 0, 0);

	(void)state;
	when_set_zone("America/Denver");
	assert_true(holds(span_of("2025-08-03"), turn));
	assert_false(holds(span_of("2025-08-04"), turn));
	when_set_zone("Asia/Shanghai");
	assert_true(holds(span_of("2025-08-04"), turn));
}

/* --since D --until D is the whole of D, and a month its last evening. */
static void
test_when_day_holds_its_evening(void **state)
{
	struct when_span day;

	(void)state;
	when_set_zone("America/Chicago");
	day = span_of("2026-09-07");
	assert_true(holds(day, utc(2026, 9, 7, 5, 0, 0)));
	assert_true(holds(day, utc(2026, 9, 8, 2, 23, 34)));
	assert_true(holds(day, utc(2026, 9, 8, 4, 59, 59)));
	assert_false(holds(day, utc(2026, 9, 8, 5, 0, 0)));
	assert_true(holds(span_of("2026-09"), utc(2026, 10, 1, 4, 59, 59)));
	assert_false(holds(span_of("2026-10"), utc(2026, 10, 1, 4, 59, 59)));
}

/* Days are as long as they are where the clock changes. */
static void
test_when_spring_forward(void **state)
{
	int64_t before = 0;

	(void)state;
	when_set_zone("America/New_York");
	for (int day = 6; day <= 10; day++) {
		struct when_span span = when_day_of(
		    when_day_start(2026, 3, day) + 3600000);

		if (before != 0)
			assert_int_equal(span.start_ms, before);
		before = span.end_ms;
		assert_int_equal(span.end_ms - span.start_ms,
		    (day == 8 ? 23 : 24) * 3600000);
		assert_int_equal(
		    holds(span, utc(2026, 3, 8, 15, 0, 0)), day == 8);
	}
	assert_int_equal(
	    when_day_start(2026, 11, 2) - when_day_start(2026, 11, 1),
	    25 * 3600000);
}

/* Zones whose clock changes at midnight: the hour is missing, or there twice. */
static void
test_when_midnight_that_is_not(void **state)
{
	(void)state;
	/* 2018-11-04 in Sao Paulo began at 01:00. */
	when_set_zone("America/Sao_Paulo");
	assert_int_equal(
	    when_day_start(2018, 11, 4), utc(2018, 11, 4, 3, 0, 0));
	/* 2018-02-17 there had 23:00 to 24:00 twice. */
	assert_int_equal(
	    when_day_start(2018, 2, 18), utc(2018, 2, 18, 3, 0, 0));
	assert_int_equal(
	    when_day_start(2018, 2, 17), utc(2018, 2, 17, 2, 0, 0));
	/* 2025-11-02 in Havana had 00:00 to 01:00 twice. */
	when_set_zone("America/Havana");
	assert_int_equal(
	    when_day_start(2025, 11, 2), utc(2025, 11, 2, 4, 0, 0));
	assert_int_equal(
	    when_day_start(2025, 11, 3), utc(2025, 11, 3, 5, 0, 0));
}

static void
test_when_ago(void **state)
{
	int64_t now = utc(2026, 11, 30, 14, 0, 0);

	(void)state;
	when_set_zone("America/New_York");
	assert_int_equal(span_of("24h").start_ms, now - 86400000);
	assert_int_equal(span_of("90s").start_ms, now - 90000);
	assert_int_equal(span_of("15m").end_ms, now - 900000);
	/* 30 days ago was still summer time: the same clock, an hour more. */
	assert_int_equal(span_of("30d").start_ms, utc(2026, 10, 31, 13, 0, 0));
	assert_int_equal(span_of("2w").start_ms, utc(2026, 11, 16, 14, 0, 0));
	assert_int_equal(span_of("today").start_ms, utc(2026, 11, 30, 5, 0, 0));
	assert_int_equal(
	    span_of("yesterday").end_ms, utc(2026, 11, 30, 5, 0, 0));
}

static void
test_when_moment(void **state)
{
	static const struct {
		const char *text;
		int64_t ms;
	} cases[] = {
	    {"2026-11-30T14:02", 1796047320000},
	    {"2026-11-30 14:02:10", 1796047330000},
	    {"2026-11-30T13:02:10Z", 1796043730000},
	    {"2026-11-30T13:02:10.123Z", 1796043730123},
	    {"2026-11-30T14:02:10+01:00", 1796043730000},
	    {"2026-11-30T09:32:10-0330", 1796043730000},
	};

	(void)state;
	when_set_zone("UTC");
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		assert_int_equal(span_of(cases[i].text).start_ms, cases[i].ms);
		assert_int_equal(span_of(cases[i].text).end_ms, cases[i].ms);
	}
	assert_int_equal(
	    span_of("2026-11-30T14:02").start_ms, utc(2026, 11, 30, 14, 2, 0));
	when_set_zone("Europe/Berlin");
	assert_int_equal(
	    span_of("2026-11-30T14:02").start_ms, utc(2026, 11, 30, 13, 2, 0));
}

static void
test_when_refuses_nonsense(void **state)
{
	static const char *const texts[] = {"", "d", "30", "30x", "30dd", "-3d",
	    "9999999999d", "2026", "2026-13", "2026-00", "2026-02-29",
	    "2026-11-31", "2026-11-30T", "2026-11-30T25:00",
	    "2026-11-30T14:02:10+99", "2026-11-30T14:02 ", "tomorrow",
	    "2026-11-30x"};
	struct when_span span = {7, 7};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		assert_int_equal(when_parse(texts[i], 0, &span), -EINVAL);
	assert_int_equal(span.start_ms, 7);
	assert_int_equal(when_set_zone("Europe/Nowhere"), -EINVAL);
	assert_int_equal(when_set_zone("../../etc/passwd"), -EINVAL);
	assert_int_equal(when_set_zone("CET-1CEST"), -EINVAL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_when_day_is_local),
	    cmocka_unit_test(test_when_day_holds_its_evening),
	    cmocka_unit_test(test_when_spring_forward),
	    cmocka_unit_test(test_when_midnight_that_is_not),
	    cmocka_unit_test(test_when_ago),
	    cmocka_unit_test(test_when_moment),
	    cmocka_unit_test(test_when_refuses_nonsense),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
