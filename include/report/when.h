/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * when: what --since, --until and --tz say.
 *
 * Days and months are cut in the user's time zone at query time; what is
 * stored is UTC. A day is as long as it is: 23 or 25 hours where the clock
 * changes. The zone is the process's (TZ): set it once, before any thread.
 */
#ifndef REPORT_WHEN_H
#define REPORT_WHEN_H

#include <stdint.h>

/* The span that a text names, [start, end) in ms since the epoch. */
struct when_span {
	int64_t start_ms;
	int64_t end_ms;
};

/* NULL or "": the system's. 0, or -EINVAL where there is no such zone (and
 * nothing changed). */
int when_set_zone(const char *zone);

/*
 * 0, or -EINVAL. What TEXT may be:
 *
 *   90s 15m 24h        so long before now: start = end
 *   30d 2w             the same clock time so many days before
 *   today yesterday    a day
 *   2026-11            a month
 *   2026-11-30         a day
 *   2026-11-30T14:02[:10[.123]][Z|+01:00]   a moment: start = end; without a
 *                      zone it is the user's; a blank may stand for the T
 */
int when_parse(const char *text, int64_t now_ms, struct when_span *span_out);

/* The first moment of a day of the user's calendar; MONTH and DAY from 1, and
 * may lie outside the month (day 0 is the last of the month before). */
int64_t when_day_start(int year, int month, int day);

/* The day, in the user's zone, that holds a moment. */
struct when_span when_day_of(int64_t wall_ms);

#endif
