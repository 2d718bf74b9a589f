/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
#include "base/clock.h"

#include <stdio.h>
#include <time.h>

int64_t
clock_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t
clock_wall_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void
clock_format_rfc3339(int64_t wall_ms, char out[CLOCK_RFC3339_BYTES])
{
	int64_t ms = ((wall_ms % 1000) + 1000) % 1000;
	time_t seconds = (time_t)((wall_ms - ms) / 1000);
	struct tm tm;
	size_t n;

	gmtime_r(&seconds, &tm);
	n = strftime(out, CLOCK_RFC3339_BYTES, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(out + n, CLOCK_RFC3339_BYTES - n, ".%03dZ", (int)ms);
}
