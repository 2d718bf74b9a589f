/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * Every form is read by a cursor that must be at the end when the form is:
 * what a lenient parser drops ("500ms" read as 500) is a wrong wait.
 */
#include "scan/values.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bytes.h"
#include "decimal.h"

enum {
	VALUES_TEXT_BYTES = 64, /* of a number; a longer one is refused */
	VALUES_FRACTION_DIGITS = 9
};

static const int64_t values_day_ms = 24 * 60 * 60 * 1000;

/*
 * The cursor.
 */

struct values_text {
	const char *p;
	const char *end;
};

static struct values_text
values_trimmed(const char *s, size_t n)
{
	const char *end = s + n;

	while (s < end && (*s == ' ' || *s == '\t'))
		s++;
	while (s < end && (end[-1] == ' ' || end[-1] == '\t'))
		end--;
	return (struct values_text){s, end};
}

static size_t
values_left(const struct values_text *t)
{
	return (size_t)(t->end - t->p);
}

static bool
values_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool
values_take(struct values_text *t, char c)
{
	if (t->p == t->end || *t->p != c)
		return false;
	t->p++;
	return true;
}

static bool
values_take_word(struct values_text *t, const char *word)
{
	size_t n = strlen(word);

	if (values_left(t) < n || memcmp(t->p, word, n) != 0)
		return false;
	t->p += n;
	return true;
}

/* Exactly N digits. */
static bool
values_take_digits(struct values_text *t, size_t n, int *out)
{
	int value = 0;

	if (values_left(t) < n)
		return false;
	for (size_t i = 0; i < n; i++) {
		if (!values_is_digit(t->p[i]))
			return false;
		value = value * 10 + (t->p[i] - '0');
	}
	t->p += n;
	*out = value;
	return true;
}

/* One of N words: its index. */
static bool
values_take_one_of(
    struct values_text *t, const char *const *words, int n, int *out)
{
	for (int i = 0; i < n; i++)
		if (values_take_word(t, words[i])) {
			*out = i;
			return true;
		}
	return false;
}

/*
 * Numbers.
 */

/* Without the commas of "30,000"; 0 where they don't stand before groups of
 * three, or where there is more than OUT holds. */
static size_t
values_strip_commas(const struct values_text *t, char *out)
{
	size_t n = 0, n_group = 0;
	bool has_comma = false, in_whole = true;

	if (values_left(t) > VALUES_TEXT_BYTES)
		return 0;
	for (const char *p = t->p; p < t->end; p++) {
		bool is_digit = values_is_digit(*p);

		if (in_whole && !is_digit && has_comma && n_group != 3)
			return 0;
		if (*p == ',' && in_whole) {
			if (n_group == 0 || n_group > 3)
				return 0;
			has_comma = true;
			n_group = 0;
			continue;
		}
		if (is_digit)
			n_group++;
		else if (p > t->p || *p != '-')
			in_whole = false;
		out[n++] = *p;
	}
	return in_whole && has_comma && n_group != 3 ? 0 : n;
}

static bool
values_decimal(const char *s, size_t n, char *text, struct decimal *out)
{
	struct values_text t = values_trimmed(s, n);
	size_t n_text = values_strip_commas(&t, text);

	text[n_text] = '\0';
	return decimal_parse(text, n_text, out);
}

bool
values_int(const char *s, size_t n, int64_t *out)
{
	char text[VALUES_TEXT_BYTES + 1];
	struct decimal d;

	return values_decimal(s, n, text, &d) && decimal_int(&d, out);
}

bool
values_real(const char *s, size_t n, double *out)
{
	char text[VALUES_TEXT_BYTES + 1];
	struct decimal d;
	locale_t c_locale;
	double value;

	if (!values_decimal(s, n, text, &d))
		return false;
	/* strtod would read the point of the user's language. */
	c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	if (c_locale == (locale_t)0)
		return false;
	value = strtod_l(text, NULL, c_locale);
	freelocale(c_locale);
	if (!isfinite(value))
		return false;
	*out = value;
	return true;
}

/*
 * Durations.
 */

/* From the largest to the smallest; "ms" must be tried before "m". */
static const struct {
	const char *name;
	int order;
	double ms;
} values_units[] = {
    {"ms", 4, 1},
    {"us", 5, 1e-3},
    {"\xc2\xb5s", 5, 1e-3}, /* the micro sign */
    {"\xce\xbcs", 5, 1e-3}, /* the Greek letter */
    {"ns", 6, 1e-6},
    {"d", 0, 86400e3},
    {"h", 1, 3600e3},
    {"m", 2, 60e3},
    {"s", 3, 1e3},
};

enum { VALUES_UNITS = sizeof(values_units) / sizeof(*values_units) };

/* A number and its unit, which must be smaller than the one before. */
static bool
values_take_part(struct values_text *t, int *order, double *ms)
{
	const char *p = t->p;
	double value;

	while (p < t->end && (values_is_digit(*p) || *p == '.'))
		p++;
	if (!values_real(t->p, (size_t)(p - t->p), &value))
		return false;
	t->p = p;
	for (int i = 0; i < VALUES_UNITS; i++) {
		if (!values_take_word(t, values_units[i].name))
			continue;
		if (values_units[i].order <= *order)
			return false;
		*order = values_units[i].order;
		*ms += value * values_units[i].ms;
		return true;
	}
	return false;
}

bool
values_duration_ms(const char *s, size_t n, double *out)
{
	struct values_text t = values_trimmed(s, n);
	double ms = 0;
	int order = -1;

	if (t.p == t.end || !values_is_digit(*t.p))
		return false;
	if (values_real(t.p, values_left(&t), &ms)) {
		*out = ms * 1e3;
		return true;
	}
	while (t.p < t.end)
		if (!values_take_part(&t, &order, &ms))
			return false;
	*out = ms;
	return true;
}

/*
 * Times.
 */

struct values_time {
	int year, month, day; /* month and day from 1 */
	int hour, minute, second;
};

/* Days since 1970-01-01 of a date in the Gregorian calendar; years begin in
 * March here, so that the leap day is the last one. */
static int64_t
values_days(int year, int month, int day)
{
	int64_t y = month <= 2 ? year - 1 : year;
	int64_t m = month <= 2 ? month + 9 : month - 3;

	return 365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day -
	       1 - 719468;
}

static bool
values_is_leap(int year)
{
	return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

/* Whole seconds, as ms; second 60 is the next minute's first one. */
static bool
values_time_ms(const struct values_time *t, int64_t *out)
{
	static const int days[] = {
	    31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	int most;

	if (t->month < 1 || t->month > 12)
		return false;
	most = days[t->month - 1] + (t->month == 2 && values_is_leap(t->year));
	if (t->day < 1 || t->day > most || t->hour > 23 || t->minute > 59 ||
	    t->second > 60)
		return false;
	*out = values_days(t->year, t->month, t->day) * values_day_ms +
	       ((t->hour * 60 + t->minute) * 60 + t->second) * INT64_C(1000);
	return true;
}

static bool
values_take_clock(struct values_text *t, struct values_time *time)
{
	return values_take_digits(t, 2, &time->hour) && values_take(t, ':') &&
	       values_take_digits(t, 2, &time->minute) && values_take(t, ':') &&
	       values_take_digits(t, 2, &time->second);
}

static const char *const values_months[] = {"Jan", "Feb", "Mar", "Apr", "May",
    "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
static const char *const values_day_names[] = {
    "Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"};
static const char *const values_long_day_names[] = {"Monday", "Tuesday",
    "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"};

static bool
values_take_month(struct values_text *t, struct values_time *time)
{
	if (!values_take_one_of(t, values_months, 12, &time->month))
		return false;
	time->month++;
	return true;
}

/* Sun, 06 Nov 1994 08:49:37 GMT */
static bool
values_imf_date(struct values_text t, struct values_time *time)
{
	int day_name;

	return values_take_one_of(&t, values_day_names, 7, &day_name) &&
	       values_take_word(&t, ", ") &&
	       values_take_digits(&t, 2, &time->day) && values_take(&t, ' ') &&
	       values_take_month(&t, time) && values_take(&t, ' ') &&
	       values_take_digits(&t, 4, &time->year) && values_take(&t, ' ') &&
	       values_take_clock(&t, time) && values_take_word(&t, " GMT") &&
	       t.p == t.end;
}

/* Sunday, 06-Nov-94 08:49:37 GMT. The century is guessed without a clock: the
 * form was given up before 2070. */
static bool
values_rfc850_date(struct values_text t, struct values_time *time)
{
	int day_name;

	if (!values_take_one_of(&t, values_long_day_names, 7, &day_name) ||
	    !values_take_word(&t, ", ") ||
	    !values_take_digits(&t, 2, &time->day) || !values_take(&t, '-') ||
	    !values_take_month(&t, time) || !values_take(&t, '-') ||
	    !values_take_digits(&t, 2, &time->year) || !values_take(&t, ' ') ||
	    !values_take_clock(&t, time) || !values_take_word(&t, " GMT"))
		return false;
	time->year += time->year < 70 ? 2000 : 1900;
	return t.p == t.end;
}

/* Sun Nov  6 08:49:37 1994 */
static bool
values_asctime_date(struct values_text t, struct values_time *time)
{
	int day_name;

	return values_take_one_of(&t, values_day_names, 7, &day_name) &&
	       values_take(&t, ' ') && values_take_month(&t, time) &&
	       values_take(&t, ' ') &&
	       (values_take(&t, ' ') ? values_take_digits(&t, 1, &time->day)
				     : values_take_digits(&t, 2, &time->day)) &&
	       values_take(&t, ' ') && values_take_clock(&t, time) &&
	       values_take(&t, ' ') && values_take_digits(&t, 4, &time->year) &&
	       t.p == t.end;
}

bool
values_http_date_ms(const char *s, size_t n, int64_t *out)
{
	struct values_text t = values_trimmed(s, n);
	struct values_time time = {0};

	return (values_imf_date(t, &time) || values_rfc850_date(t, &time) ||
		   values_asctime_date(t, &time)) &&
	       values_time_ms(&time, out);
}

/* ".123456789" or nothing: the ms of it, cut. */
static bool
values_take_fraction(struct values_text *t, int *ms)
{
	int n = 0;

	*ms = 0;
	if (!values_take(t, '.'))
		return true;
	for (; t->p < t->end && values_is_digit(*t->p); t->p++, n++)
		if (n < 3)
			*ms = *ms * 10 + (*t->p - '0');
	for (int i = n; i < 3; i++)
		*ms *= 10;
	return n > 0 && n <= VALUES_FRACTION_DIGITS;
}

/* "Z" or "+01:30": minutes to be taken off. */
static bool
values_take_zone(struct values_text *t, int *minutes)
{
	int hour, minute, sign;

	*minutes = 0;
	if (values_take(t, 'Z') || values_take(t, 'z'))
		return true;
	if (values_take(t, '+'))
		sign = 1;
	else if (values_take(t, '-'))
		sign = -1;
	else
		return false;
	if (!values_take_digits(t, 2, &hour) || !values_take(t, ':') ||
	    !values_take_digits(t, 2, &minute) || hour > 23 || minute > 59)
		return false;
	*minutes = sign * (hour * 60 + minute);
	return true;
}

bool
values_rfc3339_ms(const char *s, size_t n, int64_t *out)
{
	struct values_text t = values_trimmed(s, n);
	struct values_time time;
	int ms, zone_minutes;

	if (!values_take_digits(&t, 4, &time.year) || !values_take(&t, '-') ||
	    !values_take_digits(&t, 2, &time.month) || !values_take(&t, '-') ||
	    !values_take_digits(&t, 2, &time.day))
		return false;
	if (!values_take(&t, 'T') && !values_take(&t, 't') &&
	    !values_take(&t, ' '))
		return false;
	if (!values_take_clock(&t, &time) || !values_take_fraction(&t, &ms) ||
	    !values_take_zone(&t, &zone_minutes) || t.p != t.end ||
	    !values_time_ms(&time, out))
		return false;
	*out += ms - zone_minutes * INT64_C(60000);
	return true;
}

bool
values_retry_after_ms(const char *s, size_t n, int64_t date_ms, double *out)
{
	double seconds;
	int64_t at_ms;

	if (values_real(s, n, &seconds))
		*out = seconds * 1e3;
	else if (values_http_date_ms(s, n, &at_ms))
		*out = (double)(at_ms - date_ms);
	else
		return false;
	if (*out < 0)
		*out = 0;
	return true;
}

bool
values_name_equals(const char *s, const char *name, size_t n)
{
	return bytes_equal_nocase(s, n, name);
}
