/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * Any bytes as an answer's body: whole and split, which must give the same
 * turn. The first byte picks the status and the type, the second the split.
 * tests/wire/<protocol>/<case>/response make a corpus.
 */
#ifndef FUZZ_METER_H
#define FUZZ_METER_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/keyhash.h"
#include "meter/meter.h"
#include "record/turn.h"
#include "record/turn_json.h"

static json_t *
fuzz_meter_run(const char *path, const uint8_t *data, size_t n, size_t step)
{
	static struct keyhash key; /* all zero: the same in every run */
	static const int status[] = {200, 200, 200, 429, 503, 204};
	static const char *const types[] = {
	    "text/event-stream", "application/json", "text/html"};
	const char *type = types[data[0] / 8 % 3];
	struct meter_setup setup = {
	    .method = "POST", .path = path, .keys = &key, .t0_ns = 1000};
	struct turn *t = turn_new();
	struct meter *m = meter_new(&setup, t);
	json_t *out;

	meter_request_end(m);
	meter_response_status(m, status[data[0] % 6]);
	meter_response_header(m, "content-type", 12, type, strlen(type));
	meter_response_head_end(m, 2000);
	for (size_t at = 2; at < n; at += step)
		if (meter_response_body(
			m, data + at, n - at < step ? n - at : step, 3000) &
		    METER_SAW_TERMINAL)
			meter_settle(m, METER_END_CLEAN, 3000);
	meter_settle(m, METER_END_CLEAN, 4000);
	out = turn_to_json(t);
	json_object_del(out, "id");
	json_object_del(out, "started_at");
	meter_free(m);
	turn_free(t);
	return out;
}

static int
fuzz_meter(const char *path, const uint8_t *data, size_t n)
{
	json_t *whole, *split;

	if (n < 3)
		return 0;
	whole = fuzz_meter_run(path, data, n, n);
	split = fuzz_meter_run(path, data, n, 1 + data[1] % 16);
	if (!json_equal(whole, split))
		abort();
	json_decref(whole);
	json_decref(split);
	return 0;
}

#endif
