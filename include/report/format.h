/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * format: numbers as every screen prints them. Any thread.
 *
 * `?` is unknown (TURN_NULL, NaN), 0 is a reported zero. Each writes into
 * FORMAT_BYTES bytes and never more than the columns named, so that a table's
 * widths hold for any value.
 */
#ifndef REPORT_FORMAT_H
#define REPORT_FORMAT_H

#include <stdint.h>

enum { FORMAT_BYTES = 32 };

/* 230, 11.0K, 118.4K, 1.2M, 2.06B: six columns. */
void format_tokens(int64_t tokens, char out[FORMAT_BYTES]);

/* 24,211 */
void format_count(int64_t count, char out[FORMAT_BYTES]);

/* Tokens a second with three significant digits, 9.87, 61.3, 412, 1381;
 * never an exponent: five columns below 100,000. */
void format_speed(double per_second, char out[FORMAT_BYTES]);

/* Seconds of MS: 0.39, 21.8, 132, 1800: five columns below 100,000 s. */
void format_seconds(double ms, char out[FORMAT_BYTES]);

/* A time as people say it: 0.39 s, 21.8 s, 1m10s, 2h05m, 3d04h. */
void format_duration(double ms, char out[FORMAT_BYTES]);

/* PART / WHOLE: 0% to 100%; 100% and 0% only where they are exact. `?` where
 * either is unknown or WHOLE is 0. */
void format_share(int64_t part, int64_t whole, char out[FORMAT_BYTES]);

/* A turn's cost in dollars with four decimals, <0.0001 below; 0 for 0. */
void format_turn_cost(int64_t pusd, char out[FORMAT_BYTES]);

/* A total: $4.12, $0.0169 below ten cents, $0.00 for 0. */
void format_total_cost(int64_t pusd, char out[FORMAT_BYTES]);

/* 812 B, 29.4 kB, 1.2 MB, 3.4 GB */
void format_bytes(int64_t bytes, char out[FORMAT_BYTES]);

/* HH:MM:SS, and YYYY-MM-DD HH:MM:SS, in the zone in force (when.h). */
void format_clock(int64_t wall_ms, char out[FORMAT_BYTES]);
void format_date_time(int64_t wall_ms, char out[FORMAT_BYTES]);

#endif
