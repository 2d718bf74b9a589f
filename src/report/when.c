/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * when: mktime() knows the zone's rules, but what it gives for an hour that
 * does not exist, or exists twice, is its own choice; when_day_start walks to
 * the first second that bears the date.
 */
#include "report/when.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { WHEN_COUNT_MAX = 1000000 };

/* glibc takes any text for a zone and falls back to UTC in silence; so a name
 * must be a file of the zone database. */
static bool
when_zone_exists(const char *zone)
{
	const char *folder = getenv("TZDIR");
	char path[512];

	if (strcmp(zone, "UTC") == 0)
		return true;
	if (strstr(zone, "..") != NULL || zone[0] == '/' || strlen(zone) > 64)
		return false;
	snprintf(path, sizeof(path), "%s/%s",
	    folder != NULL ? folder : "/usr/share/zoneinfo", zone);
	return isupper((unsigned char)zone[0]) && access(path, R_OK) == 0;
}

int
when_set_zone(const char *zone)
{
	if (zone != NULL && zone[0] != '\0') {
		if (!when_zone_exists(zone))
			return -EINVAL;
		if (setenv("TZ", zone, 1) != 0)
			return -errno;
	}
	tzset();
	return 0;
}

static bool
when_is_day(time_t t, const struct tm *day)
{
	struct tm tm;

	return localtime_r(&t, &tm) != NULL && tm.tm_year == day->tm_year &&
	       tm.tm_mon == day->tm_mon && tm.tm_mday == day->tm_mday;
}

int64_t
when_day_start(int year, int month, int day)
{
	struct tm noon = {.tm_year = year - 1900,
	    .tm_mon = month - 1,
	    .tm_mday = day,
	    .tm_hour = 12,
	    .tm_isdst = -1};
	time_t t = mktime(&noon), lo, hi;

	/* Noon is never in a gap; the day began at most 14 hours before. Its
	 * first second is found by halving: the hours before it bear another
	 * date. */
	hi = t;
	lo = t - 14 * 3600;
	while (hi - lo > 1) {
		time_t middle = lo + (hi - lo) / 2;

		if (when_is_day(middle, &noon))
			hi = middle;
		else
			lo = middle;
	}
	return (int64_t)hi * 1000;
}

struct when_span
when_day_of(int64_t wall_ms)
{
	time_t t = (time_t)(wall_ms / 1000);
	struct when_span span = {wall_ms, wall_ms};
	struct tm tm;

	if (localtime_r(&t, &tm) == NULL)
		return span;
	span.start_ms = when_day_start(
	    tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday);
	span.end_ms = when_day_start(
	    tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday + 1);
	return span;
}

/* "30d": -EINVAL where it is not a count and a unit. */
static int
when_parse_ago(const char *text, int64_t now_ms, struct when_span *span_out)
{
	char *end;
	long n = strtol(text, &end, 10);
	time_t now = (time_t)(now_ms / 1000);
	struct tm tm;
	int64_t ms;

	if (!isdigit((unsigned char)text[0]) || n > WHEN_COUNT_MAX ||
	    end[0] == '\0' || end[1] != '\0')
		return -EINVAL;
	switch (end[0]) {
	case 's': ms = now_ms - n * 1000; break;
	case 'm': ms = now_ms - n * 60000; break;
	case 'h': ms = now_ms - n * 3600000; break;
	case 'd':
	case 'w':
		if (localtime_r(&now, &tm) == NULL)
			return -EINVAL;
		tm.tm_mday -= (int)n * (end[0] == 'w' ? 7 : 1);
		tm.tm_isdst = -1;
		ms = (int64_t)mktime(&tm) * 1000 + now_ms % 1000;
		break;
	default: return -EINVAL;
	}
	span_out->start_ms = span_out->end_ms = ms;
	return 0;
}

/* N digits of *S between LO and HI into *OUT, *S behind them. */
static bool
when_digits(const char **s, int n, int lo, int hi, int *out)
{
	int value = 0;

	for (int i = 0; i < n; i++) {
		if (!isdigit((unsigned char)(*s)[i]))
			return false;
		value = value * 10 + ((*s)[i] - '0');
	}
	*s += n;
	*out = value;
	return value >= lo && value <= hi;
}

static int
when_days_of_month(int year, int month)
{
	static const int days[] = {
	    31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	bool is_leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

	return days[month - 1] + (month == 2 && is_leap ? 1 : 0);
}

/* "Z", "+01:00", "-0330" or nothing: the offset in seconds. */
static bool
when_offset(const char *s, bool *is_given, int *seconds_out)
{
	int sign = *s == '-' ? -1 : 1, hours, minutes = 0;

	*is_given = *s != '\0';
	*seconds_out = 0;
	if (*s == '\0' || strcmp(s, "Z") == 0)
		return true;
	if (*s != '+' && *s != '-')
		return false;
	s++;
	if (!when_digits(&s, 2, 0, 14, &hours))
		return false;
	if (*s == ':')
		s++;
	if (*s != '\0' && !when_digits(&s, 2, 0, 59, &minutes))
		return false;
	*seconds_out = sign * (hours * 3600 + minutes * 60);
	return *s == '\0';
}

/* The clock time behind the date in TM: "14:02:10.123+01:00". */
static int
when_parse_moment(const char *s, struct tm tm, struct when_span *span_out)
{
	bool has_offset;
	int ms = 0, offset;
	int64_t at;

	if (!when_digits(&s, 2, 0, 23, &tm.tm_hour) || *s++ != ':' ||
	    !when_digits(&s, 2, 0, 59, &tm.tm_min))
		return -EINVAL;
	if (*s == ':') {
		s++;
		if (!when_digits(&s, 2, 0, 60, &tm.tm_sec))
			return -EINVAL;
		if (*s == '.') {
			s++;
			for (int unit = 100; isdigit((unsigned char)*s); s++) {
				ms += (*s - '0') * unit;
				unit /= 10;
			}
		}
	}
	if (!when_offset(s, &has_offset, &offset))
		return -EINVAL;
	tm.tm_isdst = -1;
	at = has_offset ? (int64_t)timegm(&tm) - offset : (int64_t)mktime(&tm);
	span_out->start_ms = span_out->end_ms = at * 1000 + ms;
	return 0;
}

static int
when_parse_date(const char *s, struct when_span *span_out)
{
	int year, month, day;
	struct tm tm = {0};

	if (!when_digits(&s, 4, 1970, 9999, &year) || *s++ != '-' ||
	    !when_digits(&s, 2, 1, 12, &month))
		return -EINVAL;
	if (*s == '\0') {
		span_out->start_ms = when_day_start(year, month, 1);
		span_out->end_ms = when_day_start(year, month + 1, 1);
		return 0;
	}
	if (*s++ != '-' ||
	    !when_digits(&s, 2, 1, when_days_of_month(year, month), &day))
		return -EINVAL;
	if (*s == '\0') {
		span_out->start_ms = when_day_start(year, month, day);
		span_out->end_ms = when_day_start(year, month, day + 1);
		return 0;
	}
	if (*s != 'T' && *s != 't' && *s != ' ')
		return -EINVAL;
	tm.tm_year = year - 1900;
	tm.tm_mon = month - 1;
	tm.tm_mday = day;
	return when_parse_moment(s + 1, tm, span_out);
}

int
when_parse(const char *text, int64_t now_ms, struct when_span *span_out)
{
	struct when_span today;

	if (strcmp(text, "today") == 0 || strcmp(text, "yesterday") == 0) {
		today = when_day_of(now_ms);
		*span_out = text[0] == 't' ? today
					   : when_day_of(today.start_ms - 1000);
		return 0;
	}
	if (when_parse_ago(text, now_ms, span_out) == 0)
		return 0;
	return when_parse_date(text, span_out);
}
