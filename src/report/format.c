/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
#include "report/format.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "record/turn.h"

static void
format_unknown(char out[FORMAT_BYTES])
{
	strcpy(out, "?");
}

void
format_tokens(int64_t tokens, char out[FORMAT_BYTES])
{
	double n = (double)tokens;

	if (tokens == TURN_NULL)
		format_unknown(out);
	else if (tokens < 1000)
		snprintf(out, FORMAT_BYTES, "%" PRId64, tokens);
	/* The limits are where the next unit begins once rounded: 999,950 is
	 * 1.0M, not 1000.0K. */
	else if (tokens < 999950)
		snprintf(out, FORMAT_BYTES, "%.1fK", n / 1e3);
	else if (tokens < 999950000)
		snprintf(out, FORMAT_BYTES, "%.1fM", n / 1e6);
	else if (tokens < 99995000000)
		snprintf(out, FORMAT_BYTES, "%.2fB", n / 1e9);
	else
		snprintf(out, FORMAT_BYTES, "%.0fB", n / 1e9);
}

void
format_count(int64_t count, char out[FORMAT_BYTES])
{
	char digits[FORMAT_BYTES];
	size_t n, at = 0;

	if (count == TURN_NULL) {
		format_unknown(out);
		return;
	}
	snprintf(digits, sizeof(digits), "%" PRId64, count);
	n = strlen(digits);
	for (size_t i = 0; i < n; i++) {
		if (i > 0 && digits[i - 1] != '-' && (n - i) % 3 == 0)
			out[at++] = ',';
		out[at++] = digits[i];
	}
	out[at] = '\0';
}

void
format_speed(double per_second, char out[FORMAT_BYTES])
{
	if (!isfinite(per_second))
		format_unknown(out);
	else if (per_second < 9.995)
		snprintf(out, FORMAT_BYTES, "%.2f", per_second);
	else if (per_second < 99.95)
		snprintf(out, FORMAT_BYTES, "%.1f", per_second);
	else
		snprintf(out, FORMAT_BYTES, "%.0f", fmin(per_second, 1e12));
}

void
format_seconds(double ms, char out[FORMAT_BYTES])
{
	format_speed(ms / 1e3, out);
}

void
format_duration(double ms, char out[FORMAT_BYTES])
{
	int64_t s;

	if (!isfinite(ms)) {
		format_unknown(out);
		return;
	}
	if (ms < 59950) {
		char number[FORMAT_BYTES];

		format_seconds(ms, number);
		snprintf(out, FORMAT_BYTES, "%.20s s", number);
		return;
	}
	s = (int64_t)llround(fmin(ms, 1e15) / 1e3);
	if (s < 3600)
		snprintf(out, FORMAT_BYTES, "%dm%02ds", (int)(s / 60),
		    (int)(s % 60));
	else if (s < 86400)
		snprintf(out, FORMAT_BYTES, "%dh%02dm", (int)(s / 3600),
		    (int)(s / 60 % 60));
	else
		snprintf(out, FORMAT_BYTES, "%" PRId64 "d%02dh", s / 86400,
		    (int)(s / 3600 % 24));
}

void
format_share(int64_t part, int64_t whole, char out[FORMAT_BYTES])
{
	double percent;

	if (part == TURN_NULL || whole == TURN_NULL || whole <= 0 || part < 0) {
		format_unknown(out);
		return;
	}
	percent = 100.0 * (double)part / (double)whole;
	if (part < whole)
		percent = fmin(percent, 99);
	if (part > 0)
		percent = fmax(percent, 1);
	snprintf(out, FORMAT_BYTES, "%.0f%%", fmin(percent, 999));
}

void
format_turn_cost(int64_t pusd, char out[FORMAT_BYTES])
{
	if (pusd == TURN_NULL)
		format_unknown(out);
	else if (pusd == 0)
		strcpy(out, "0");
	else if (pusd > 0 && pusd < 100000000)
		strcpy(out, "<0.0001");
	else
		snprintf(out, FORMAT_BYTES, "%.4f", (double)pusd / 1e12);
}

void
format_total_cost(int64_t pusd, char out[FORMAT_BYTES])
{
	if (pusd == TURN_NULL)
		format_unknown(out);
	else if (pusd > 0 && pusd < 100000000)
		strcpy(out, "<$0.0001");
	else
		snprintf(out, FORMAT_BYTES, "$%.*f",
		    pusd > 0 && pusd < 100000000000 ? 4 : 2,
		    (double)pusd / 1e12);
}

void
format_bytes(int64_t bytes, char out[FORMAT_BYTES])
{
	static const char *const units[] = {"kB", "MB", "GB", "TB", "PB"};
	double n = (double)bytes / 1e3;
	size_t unit = 0;

	if (bytes == TURN_NULL) {
		format_unknown(out);
		return;
	}
	if (bytes < 1000) {
		snprintf(out, FORMAT_BYTES, "%" PRId64 " B", bytes);
		return;
	}
	while (n >= 999.95 && unit + 1 < sizeof(units) / sizeof(*units)) {
		n /= 1e3;
		unit++;
	}
	snprintf(out, FORMAT_BYTES, "%.1f %s", n, units[unit]);
}

static bool
format_local(int64_t wall_ms, struct tm *tm)
{
	time_t s = (time_t)(wall_ms / 1000);

	return wall_ms != TURN_NULL && localtime_r(&s, tm) != NULL;
}

void
format_clock(int64_t wall_ms, char out[FORMAT_BYTES])
{
	struct tm tm;

	if (!format_local(wall_ms, &tm) ||
	    strftime(out, FORMAT_BYTES, "%H:%M:%S", &tm) == 0)
		format_unknown(out);
}

void
format_date_time(int64_t wall_ms, char out[FORMAT_BYTES])
{
	struct tm tm;

	if (!format_local(wall_ms, &tm) ||
	    strftime(out, FORMAT_BYTES, "%Y-%m-%d %H:%M:%S", &tm) == 0)
		format_unknown(out);
}
