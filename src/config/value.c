/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * Numbers with units are read by one function over a table of units, so that
 * "1h30m", "1.5h" and "5400" are the same duration and "24K", "24KiB" and
 * "24576" the same size.
 */
#include "value.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

struct value_unit {
	const char *name;
	double factor;
};

static const struct value_unit value_durations[] = {{"ms", 1}, {"s", 1e3},
    {"sec", 1e3}, {"m", 60e3}, {"min", 60e3}, {"h", 3600e3}, {"d", 86400e3},
    {NULL, 1e3}};

static const struct value_unit value_sizes[] = {{"B", 1}, {"K", 1024},
    {"KiB", 1024}, {"M", 1048576}, {"MiB", 1048576}, {"G", 1073741824},
    {"GiB", 1073741824}, {NULL, 1}};

/* A decimal number without sign or exponent; NULL where there is none. */
static const char *
value_decimal(const char *s, double *out)
{
	size_t n = strspn(s, "0123456789");
	char *end;

	if (n == 0)
		return NULL;
	if (s[n] == '.') {
		size_t fraction = strspn(s + n + 1, "0123456789");

		if (fraction == 0)
			return NULL;
		n += 1 + fraction;
	}
	if (n > 32 || s[n] == 'e' || s[n] == 'E' || s[n] == 'x')
		return NULL;
	*out = strtod(s, &end);
	return end == s + n ? s + n : NULL;
}

/* One or more numbers with units, added up; the row without a name holds for
 * a lone number without a unit. */
static int
value_with_unit(const char *s, const struct value_unit *units, int64_t *out)
{
	double total = 0;
	bool is_first = true;

	do {
		const struct value_unit *u = units;
		double number;
		size_t n;

		s = value_decimal(s, &number);
		if (s == NULL)
			return -EINVAL;
		n = strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
			      "abcdefghijklmnopqrstuvwxyz");
		while (u->name != NULL &&
		       (n != strlen(u->name) || memcmp(u->name, s, n) != 0))
			u++;
		if (u->name == NULL && (n > 0 || !is_first || *s != '\0'))
			return -EINVAL;
		total += number * u->factor;
		s += n;
		is_first = false;
	} while (*s != '\0');
	if (total > 9e15)
		return -ERANGE;
	*out = llround(total);
	return 0;
}

const char *
value_bool(const char *s, bool *out)
{
	static const char *const words[] = {
	    "no", "yes", "false", "true", "off", "on", "0", "1"};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcasecmp(s, words[i]) == 0) {
			*out = i % 2 == 1;
			return NULL;
		}
	return "yes or no";
}

const char *
value_count(const char *s, int64_t *out)
{
	size_t n = strspn(s, "0123456789");

	if (n == 0 || n > 18 || s[n] != '\0')
		return "a whole number";
	*out = strtoll(s, NULL, 10);
	return NULL;
}

const char *
value_real(const char *s, double *out)
{
	const char *end = value_decimal(s, out);

	return end != NULL && *end == '\0' ? NULL : "a number such as 0.99";
}

const char *
value_duration(const char *s, int64_t *ms_out)
{
	if (value_with_unit(s, value_durations, ms_out) == 0)
		return NULL;
	return "a duration such as 90, 500ms, 10s, 5m, 1h or 2d";
}

const char *
value_size(const char *s, int64_t *bytes_out)
{
	if (value_with_unit(s, value_sizes, bytes_out) == 0)
		return NULL;
	return "a size such as 65536, 24K, 32M or 1G";
}

const char *
value_path(const char *s)
{
	if (s[0] == '/' || strncmp(s, "~/", 2) == 0)
		return NULL;
	return "a path that starts with / or ~/";
}

const char *
value_zone(const char *s)
{
	struct stat st;
	char path[512];
	int n;

	if (strcmp(s, "UTC") == 0)
		return NULL;
	n = snprintf(path, sizeof(path), "/usr/share/zoneinfo/%s", s);
	if (s[0] == '\0' || s[0] == '/' || strstr(s, "..") != NULL ||
	    n >= (int)sizeof(path) || stat(path, &st) != 0 ||
	    !S_ISREG(st.st_mode))
		return "a time zone such as Europe/Berlin or UTC (others need "
		       "the package tzdata)";
	return NULL;
}

const char *
value_token(const char *s)
{
	size_t n = strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
			     "abcdefghijklmnopqrstuvwxyz0123456789-._");

	if (n >= 16 && n <= 128 && s[n] == '\0')
		return NULL;
	return "16 to 128 letters, digits and the signs - . _";
}

const char *
value_host(const char *s)
{
	size_t n = strlen(s);

	if (n > 0 && n <= 253 && strpbrk(s, "/@?#% \t\"") == NULL)
		return NULL;
	return "a host name or address without scheme, port and path";
}

const char *
value_rate(const char *s)
{
	static const char *const windows[] = {
	    "s", "sec", "min", "m", "h", "hour", "d", "day", NULL};
	size_t n = strspn(s, "0123456789");

	if (n > 0 && n <= 15 && s[n] == '/') {
		const char *window = s + n + 1;
		size_t digits = strspn(window, "0123456789");

		if (digits <= 6 && (digits == 0 || atoi(window) > 0))
			for (size_t i = 0; windows[i] != NULL; i++)
				if (strcmp(window + digits, windows[i]) == 0)
					return NULL;
	}
	return "a count and a window such as 450/min, 5/10s or 1000000/day";
}

const char *
value_date(const char *s)
{
	static const int days[] = {
	    31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	int year, month, day, n = 0;

	if (sscanf(s, "%4d-%2d-%2d%n", &year, &month, &day, &n) == 3 &&
	    n == 10 && s[n] == '\0' && year >= 1970 && month >= 1 &&
	    month <= 12 && day >= 1 && day <= days[month - 1])
		return NULL;
	return "a day such as 2026-09-01";
}

const char *
value_upstream_name(const char *s)
{
	size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789.-");

	if (strcmp(s, "v1") == 0 || strcmp(s, "v1beta") == 0 ||
	    strcmp(s, "api") == 0)
		return "another name: v1, v1beta and api begin paths of "
		       "providers";
	if (n == 0 || n > 32 || s[n] != '\0' || s[0] == '.' || s[0] == '-')
		return "a name of at most 32 small letters, digits, dots and "
		       "dashes that starts with a letter or digit";
	return NULL;
}
