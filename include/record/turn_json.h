/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * turn_json: a turn as one JSON object, the same for `turns --json`, the feed
 * and the HTTP API. Any thread that owns the turn.
 */
#ifndef RECORD_TURN_JSON_H
#define RECORD_TURN_JSON_H

#include <jansson.h>

struct turn;

/* Every field by its name, NULL as null; cost_usd beside cost_pusd; `tools`
 * an array of {name, calls, result_bytes, result_errors}. Gives a new
 * reference, NULL without memory. */
json_t *turn_to_json(const struct turn *t);

/* The same as one line without a line feed; gives a malloc'd text. */
char *turn_to_json_line(const struct turn *t);

/* Reads back what turn_to_json wrote. Unknown keys are ignored, a value of the
 * wrong type is NULL. NULL where OBJECT is not an object. */
struct turn *turn_from_json(const json_t *object);

#endif
