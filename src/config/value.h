/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * value: one written value checked and read. Pure, but for the look whether a
 * time zone is installed.
 *
 * Each function gives NULL, or what is expected, in words, as the end of
 * "expected ...". Numbers are read with the decimal point, whatever the locale
 * (the caller has set "C" for its thread).
 */
#ifndef CONFIG_VALUE_H
#define CONFIG_VALUE_H

#include <stdbool.h>
#include <stdint.h>

const char *value_bool(const char *s, bool *out);
const char *value_count(const char *s, int64_t *out);
const char *value_real(const char *s, double *out);
const char *value_duration(const char *s, int64_t *ms_out);
const char *value_size(const char *s, int64_t *bytes_out);
const char *value_path(const char *s);
const char *value_zone(const char *s);
const char *value_token(const char *s);
const char *value_host(const char *s);
const char *value_rate(const char *s);
const char *value_date(const char *s);

/* An upstream's name: [a-z0-9][a-z0-9.-]{0,31}, not v1, v1beta or api. */
const char *value_upstream_name(const char *s);

#endif
