/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * Tokens are counted as most people estimate them: four bytes each.
 */
#include "sim_plan.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <jansson.h>

#include "sim/sim.h"
#include "sim_prefix.h"
#include "sim_protocol.h"

enum { SIM_TOKEN_BYTES = 4, SIM_NAME_BYTES = 256, SIM_ARGS_BYTES = 4096 };

static const char *const sim_words[] = {"every ", "turn ", "is ", "read ",
    "as ", "it ", "passes ", "by, ", "counted ", "once, ", "and ", "kept ",
    "with ", "the ", "time ", "that ", "each ", "part ", "of ", "it ", "took; ",
    "nothing ", "here ", "was ", "thought ", "up ", "by ", "a ", "model, ",
    "but ", "the ", "clock ", "does ", "not ", "mind. "};

const char *
sim_plan_word(int64_t i)
{
	return sim_words[(size_t)i % (sizeof(sim_words) / sizeof(*sim_words))];
}

const char *
sim_plan_tool_piece(const struct sim_plan *p, int64_t i, size_t *n_out)
{
	size_t n = strlen(p->tool_args), n_pieces = (size_t)p->n_tool;
	size_t from = n * (size_t)i / n_pieces;

	*n_out = n * ((size_t)i + 1) / n_pieces - from;
	return p->tool_args + from;
}

/* A value of the type that a tool's schema asks for. */
static json_t *
sim_plan_argument(const json_t *schema)
{
	const char *type = json_string_value(json_object_get(schema, "type"));

	if (type == NULL || strcmp(type, "string") == 0)
		return json_string("sample");
	if (strcmp(type, "integer") == 0 || strcmp(type, "number") == 0)
		return json_integer(1);
	if (strcmp(type, "boolean") == 0)
		return json_false();
	if (strcmp(type, "array") == 0)
		return json_array();
	return json_object();
}

static char *
sim_plan_arguments(const json_t *schema)
{
	const json_t *required = json_object_get(schema, "required");
	const json_t *properties = json_object_get(schema, "properties");
	json_t *args = json_object(), *name;
	size_t i;
	char *text;

	json_array_foreach(required, i, name)
	{
		const char *key = json_string_value(name);

		if (key != NULL)
			json_object_set_new(args, key,
			    sim_plan_argument(
				json_object_get(properties, key)));
	}
	text = json_dumps(args, JSON_COMPACT);
	json_decref(args);
	if (text != NULL && strlen(text) > SIM_ARGS_BYTES)
		memcpy(text, "{}", sizeof("{}"));
	return text;
}

static char *
sim_plan_name(const json_t *value)
{
	size_t n = json_string_length(value);

	if (!json_is_string(value) || n == 0 || n > SIM_NAME_BYTES)
		return NULL;
	return json_dumps(value, JSON_ENCODE_ANY);
}

/* The first tool declared, in OpenAI's shape or in Anthropic's. */
static void
sim_plan_call(struct sim_plan *p, const json_t *body)
{
	const json_t *tool = json_array_get(json_object_get(body, "tools"), 0);
	const json_t *function = json_object_get(tool, "function");
	const json_t *schema;

	if (function != NULL)
		tool = function;
	schema = json_object_get(
	    tool, function != NULL ? "parameters" : "input_schema");
	p->tool_name = sim_plan_name(json_object_get(tool, "name"));
	if (p->tool_name != NULL)
		p->tool_args = sim_plan_arguments(schema);
}

static void
sim_plan_output(struct sim_plan *p, const struct sim_setup *setup,
    const struct sim_protocol *protocol, const json_t *body)
{
	int64_t n = setup->n_output_tokens;

	for (size_t i = 0; i < SIM_LIMIT_KEYS; i++) {
		const char *key = protocol->limit_keys[i];
		const json_t *limit = key != NULL ? json_object_get(body, key)
						  : NULL;

		if (json_integer_value(limit) > 0 &&
		    json_integer_value(limit) < n) {
			n = json_integer_value(limit);
			p->is_cut = true;
		}
	}
	p->n_reasoning = n * setup->reasoning_percent / 100;
	if (p->n_reasoning == n)
		p->n_reasoning = n - 1;
	p->n_text = n - p->n_reasoning;
	if (p->tool_args != NULL && !p->is_cut) {
		p->n_tool = p->n_text < SIM_TOOL_PIECES ? p->n_text
							: SIM_TOOL_PIECES;
		p->n_text -= p->n_tool;
	}
}

static void
sim_plan_input(struct sim_plan *p, const struct sim_setup *setup,
    const struct sim_protocol *protocol, struct sim_prefix *prefix,
    const json_t *body, size_t n_body, bool has_marks)
{
	p->n_input = (int64_t)(n_body + SIM_TOKEN_BYTES - 1) / SIM_TOKEN_BYTES;
	if (setup->cached_percent >= 0) {
		p->n_cached = p->n_input * setup->cached_percent / 100;
		return;
	}
	p->n_cached = (int64_t)sim_prefix_match(prefix, body) / SIM_TOKEN_BYTES;
	if (p->n_cached > p->n_input)
		p->n_cached = p->n_input;
	if (!protocol->caches_by_mark)
		return;
	if (has_marks)
		p->n_written = p->n_input - p->n_cached;
	else
		p->n_cached = 0;
}

const char *
sim_plan_make(struct sim_plan *p, const struct sim_setup *setup,
    const struct sim_protocol *protocol, struct sim_prefix *prefix,
    const char *body, size_t n_body, bool may_call)
{
	static const char mark[] = "\"cache_control\"";
	json_t *root = n_body > 0 ? json_loadb(body, n_body, 0, NULL) : NULL;
	const char *wrong = NULL;

	memset(p, 0, sizeof(*p));
	p->created_s = time(NULL);
	p->model = sim_plan_name(json_object_get(root, "model"));
	if (!json_is_object(root)) {
		wrong = "the body is not a JSON object";
	} else if (p->model == NULL) {
		wrong = "model: a name is required";
	} else if (!json_is_array(json_object_get(root, "messages"))) {
		wrong = "messages: a list is required";
	} else {
		p->wants_stream = json_is_true(json_object_get(root, "stream"));
		p->wants_usage = json_is_true(json_object_get(
		    json_object_get(root, "stream_options"), "include_usage"));
		if (may_call)
			sim_plan_call(p, root);
		sim_plan_output(p, setup, protocol, root);
		sim_plan_input(p, setup, protocol, prefix, root, n_body,
		    memmem(body, n_body, mark, sizeof(mark) - 1) != NULL);
	}
	json_decref(root);
	return wrong;
}

void
sim_plan_fini(struct sim_plan *p)
{
	free(p->model);
	free(p->tool_name);
	free(p->tool_args);
	memset(p, 0, sizeof(*p));
}

void
sim_say(struct sim_out *out, const char *format, ...)
{
	va_list args;
	char *room;
	int n;

	va_start(args, format);
	n = vsnprintf(NULL, 0, format, args);
	va_end(args);
	room = n >= 0 ? buf_reserve(&out->buf, (size_t)n + 1) : NULL;
	if (room == NULL || out->has_failed) {
		out->has_failed = true;
		return;
	}
	va_start(args, format);
	vsnprintf(room, (size_t)n + 1, format, args);
	va_end(args);
	buf_commit(&out->buf, (size_t)n);
}

void
sim_say_string(struct sim_out *out, const char *s, size_t n)
{
	json_t *string = json_stringn(s, n);
	char *text = json_dumps(string, JSON_ENCODE_ANY);

	if (text != NULL)
		sim_say(out, "%s", text);
	else
		out->has_failed = true;
	free(text);
	json_decref(string);
}

void
sim_say_words(struct sim_out *out, int64_t from, int64_t to)
{
	for (int64_t i = from; i < to; i++)
		sim_say(out, "%s", sim_plan_word(i));
}
