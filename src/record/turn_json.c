/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
#include "record/turn_json.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "record/turn.h"

static json_t *
turn_json_flags(const char *flags)
{
	json_t *array = json_array();

	while (*flags != '\0') {
		size_t n = strcspn(flags, " ");

		json_array_append_new(array, json_stringn(flags, n));
		flags += n;
		if (*flags == ' ')
			flags++;
	}
	return array;
}

static json_t *
turn_json_value(const struct turn_field *f, const struct turn *t)
{
	const void *at = turn_field_at(f, t);
	char text[CLOCK_RFC3339_BYTES];
	json_t *value;

	if (turn_field_is_null(f, t))
		return json_null();
	switch (f->type) {
	case TURN_TYPE_INT: return json_integer(*(const int64_t *)at);
	case TURN_TYPE_BOOL: return json_boolean(*(const int64_t *)at != 0);
	case TURN_TYPE_REAL: return json_real(*(const double *)at);
	case TURN_TYPE_TEXT: return json_string(*(const char *const *)at);
	case TURN_TYPE_FLAGS: return turn_json_flags(*(const char *const *)at);
	case TURN_TYPE_TIME:
		clock_format_rfc3339(*(const int64_t *)at, text);
		return json_string(text);
	case TURN_TYPE_ENUM:
		return json_string(turn_field_enum_name(f, *(const int *)at));
	case TURN_TYPE_JSON:
		value = json_loads(*(const char *const *)at, 0, NULL);
		return value != NULL ? value : json_null();
	}
	return json_null();
}

static json_t *
turn_json_tools(const struct turn *t)
{
	json_t *array = json_array();

	for (size_t i = 0; i < t->n_tools; i++) {
		const struct turn_tool *tool = &t->tools[i];

		json_array_append_new(
		    array, json_pack("{s:s, s:I, s:I, s:I}", "name", tool->name,
			       "calls", (json_int_t)tool->calls, "result_bytes",
			       (json_int_t)tool->result_bytes, "result_errors",
			       (json_int_t)tool->result_errors));
	}
	return array;
}

json_t *
turn_to_json(const struct turn *t)
{
	json_t *object = json_object();

	if (object == NULL)
		return NULL;
	for (size_t i = 0; i < n_turn_fields; i++) {
		const struct turn_field *f = &turn_fields[i];

		json_object_set_new_nocheck(
		    object, f->name, turn_json_value(f, t));
		if (f->offset == offsetof(struct turn, cost_pusd))
			json_object_set_new_nocheck(object, "cost_usd",
			    t->cost_pusd == TURN_NULL
				? json_null()
				: json_real((double)t->cost_pusd / 1e12));
	}
	json_object_set_new_nocheck(object, "tools", turn_json_tools(t));
	return object;
}

char *
turn_to_json_line(const struct turn *t)
{
	json_t *object = turn_to_json(t);
	char *line = NULL;

	if (object != NULL)
		line = json_dumps(
		    object, JSON_COMPACT | JSON_REAL_PRECISION(15));
	json_decref(object);
	return line;
}

/* RFC 3339 in UTC, as clock_format_rfc3339 writes it; TURN_NULL otherwise. */
static int64_t
turn_json_time(const char *s)
{
	struct tm tm = {0};
	const char *end = strptime(s, "%Y-%m-%dT%H:%M:%S", &tm);
	int64_t ms = 0;

	if (end == NULL)
		return TURN_NULL;
	if (*end == '.')
		ms = strtol(end + 1, NULL, 10);
	return (int64_t)timegm(&tm) * 1000 + ms;
}

static void
turn_json_read_flags(struct turn *t, const json_t *array)
{
	size_t i;
	json_t *name;

	json_array_foreach(array, i, name) if (json_is_string(name))
	    turn_add_flag(t, json_string_value(name));
}

static void
turn_json_read(const struct turn_field *f, struct turn *t, const json_t *value)
{
	void *at = turn_field_at(f, t);
	const char *s = json_string_value(value);
	char *raw;

	switch (f->type) {
	case TURN_TYPE_INT:
		if (json_is_integer(value))
			*(int64_t *)at = json_integer_value(value);
		break;
	case TURN_TYPE_BOOL:
		if (json_is_boolean(value))
			*(int64_t *)at = json_is_true(value);
		break;
	case TURN_TYPE_REAL:
		if (json_is_number(value))
			*(double *)at = json_number_value(value);
		break;
	case TURN_TYPE_TEXT: turn_set_str(t, at, s); break;
	case TURN_TYPE_FLAGS: turn_json_read_flags(t, value); break;
	case TURN_TYPE_TIME:
		if (s != NULL)
			*(int64_t *)at = turn_json_time(s);
		break;
	case TURN_TYPE_ENUM:
		if (s != NULL && turn_field_enum_value(f, s) > 0)
			*(int *)at = turn_field_enum_value(f, s);
		break;
	case TURN_TYPE_JSON:
		if (!json_is_object(value))
			break;
		raw = json_dumps(value, JSON_COMPACT);
		if (raw != NULL && strlen(raw) <= TURN_USAGE_RAW_BYTES)
			*(const char **)at = arena_copy(
			    &t->arena, raw, strlen(raw));
		free(raw);
		break;
	}
}

struct turn *
turn_from_json(const json_t *object)
{
	struct turn *t;
	const json_t *tools = json_object_get(object, "tools");
	size_t i;
	json_t *row;

	if (!json_is_object(object))
		return NULL;
	t = turn_new();
	if (t == NULL)
		return NULL;
	for (i = 0; i < n_turn_fields; i++) {
		const json_t *value = json_object_get(
		    object, turn_fields[i].name);

		if (value != NULL)
			turn_json_read(&turn_fields[i], t, value);
	}
	json_array_foreach(tools, i, row)
	{
		const char *name = json_string_value(
		    json_object_get(row, "name"));
		struct turn_tool *tool;

		if (name == NULL)
			continue;
		tool = turn_tool_get(t, name, strlen(name));
		if (tool == NULL)
			break;
		tool->calls = json_integer_value(json_object_get(row, "calls"));
		tool->result_bytes = json_integer_value(
		    json_object_get(row, "result_bytes"));
		tool->result_errors = json_integer_value(
		    json_object_get(row, "result_errors"));
	}
	return t;
}
