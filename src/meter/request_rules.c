/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
#include "meter/request_rules.h"

#include <string.h>

#include "meter/request.h"

enum {
	CHAT = 1 << REQUEST_SHAPE_OPENAI_CHAT,
	ANTHROPIC = 1 << REQUEST_SHAPE_ANTHROPIC,
	OTHER = 1 << REQUEST_SHAPE_OTHER,
	ALL = CHAT | ANTHROPIC | OTHER
};

#define IN(name) REQUEST_PLACE_##name
#define IS(name) REQUEST_FIELD_##name
#define ROW(key, field, inner, shapes)                     \
	{                                                  \
		key, sizeof(key) - 1, field, inner, shapes \
	}

const struct request_rule request_rule_none;
const struct request_rule request_rule_top = {.inner = IN(TOP)};

/* Only keys that mean the same in every body that may hold them are taken for
 * all shapes. */
static const struct request_rule request_top[] = {
    ROW("model", IS(MODEL), 0, ALL),
    ROW("stream", IS(STREAM), 0, ALL),
    ROW("stream_options", 0, IN(STREAM_OPTIONS), ALL),
    ROW("usage", 0, IN(USAGE), ALL),
    ROW("max_tokens", IS(MAX_TOKENS_OLD), 0, ALL),
    ROW("max_completion_tokens", IS(MAX_TOKENS), 0, ALL),
    ROW("max_output_tokens", IS(MAX_TOKENS), 0, ALL),
    ROW("service_tier", IS(TIER), 0, ALL),
    ROW("reasoning_effort", IS(EFFORT), 0, ALL),
    ROW("reasoning", 0, IN(REASONING), ALL),
    ROW("output_config", 0, IN(OUTPUT_CONFIG), ALL),
    ROW("thinking", 0, IN(THINKING), ALL),
    ROW("metadata", 0, IN(METADATA), ALL),
    ROW("prompt_cache_key", IS(CACHE_KEY), 0, ALL),
    ROW("system", IS(SYSTEM), 0, ANTHROPIC | OTHER),
    ROW("instructions", IS(SYSTEM), 0, OTHER),
    ROW("tools", IS(TOOLS), 0, ALL),
    ROW("functions", IS(TOOLS), 0, CHAT | OTHER),
    ROW("prompt", IS(PROMPT), 0, OTHER),
    ROW("messages", IS(MESSAGES), IN(MESSAGES), ALL),
    ROW("input", IS(MESSAGES), IN(MESSAGES), OTHER),
};

static const struct request_rule request_stream_options[] = {
    ROW("include_usage", IS(INCLUDE_USAGE), 0, ALL),
};

static const struct request_rule request_usage[] = {
    ROW("include", IS(INCLUDE_USAGE), 0, ALL),
};

static const struct request_rule request_reasoning[] = {
    ROW("effort", IS(EFFORT), 0, ALL),
    ROW("max_tokens", IS(BUDGET), 0, ALL),
};

static const struct request_rule request_output_config[] = {
    ROW("effort", IS(EFFORT), 0, ALL),
};

static const struct request_rule request_thinking[] = {
    ROW("budget_tokens", IS(BUDGET), 0, ALL),
};

static const struct request_rule request_metadata[] = {
    ROW("user_id", IS(USER_ID), 0, ALL),
    ROW("sessionId", IS(SESSION_ID), 0, ALL),
};

static const struct request_rule request_message[] = {
    ROW("role", IS(ROLE), 0, ALL),
    ROW("type", IS(TYPE), 0, OTHER),
    ROW("content", IS(CONTENT), IN(CONTENT), ALL),
    ROW("output", IS(CONTENT), 0, OTHER),
    ROW("tool_calls", 0, IN(CALLS), CHAT | OTHER),
    ROW("tool_call_id", IS(REF), 0, CHAT | OTHER),
    ROW("call_id", IS(REF), 0, OTHER),
    ROW("name", IS(NAME), 0, ALL),
    ROW("tool_name", IS(NAME), 0, OTHER),
};

static const struct request_rule request_part[] = {
    ROW("type", IS(TYPE), 0, ALL),
    ROW("text", IS(TEXT), 0, ALL),
    ROW("id", IS(REF), 0, ALL),
    ROW("name", IS(NAME), 0, ALL),
    ROW("tool_use_id", IS(REF), 0, ALL),
    ROW("content", IS(CONTENT), 0, ALL),
    ROW("is_error", IS(IS_ERROR), 0, ALL),
};

static const struct request_rule request_call[] = {
    ROW("id", IS(REF), 0, ALL),
    ROW("function", 0, IN(FUNCTION), ALL),
    ROW("custom", 0, IN(FUNCTION), ALL),
};

static const struct request_rule request_function[] = {
    ROW("name", IS(NAME), 0, ALL),
};

#define ROWS(rows)                                   \
	{                                            \
		rows, sizeof(rows) / sizeof(*(rows)) \
	}

static const struct {
	const struct request_rule *rows;
	size_t n_rows;
} request_places[REQUEST_PLACE_COUNT] = {
    [IN(TOP)] = ROWS(request_top),
    [IN(STREAM_OPTIONS)] = ROWS(request_stream_options),
    [IN(USAGE)] = ROWS(request_usage),
    [IN(REASONING)] = ROWS(request_reasoning),
    [IN(OUTPUT_CONFIG)] = ROWS(request_output_config),
    [IN(THINKING)] = ROWS(request_thinking),
    [IN(METADATA)] = ROWS(request_metadata),
    [IN(MESSAGE)] = ROWS(request_message),
    [IN(PART)] = ROWS(request_part),
    [IN(CALL)] = ROWS(request_call),
    [IN(FUNCTION)] = ROWS(request_function),
};

static const struct request_rule request_elements[REQUEST_PLACE_COUNT] = {
    [IN(MESSAGES)] = {.field = IS(MESSAGE), .inner = IN(MESSAGE)},
    [IN(CONTENT)] = {.field = IS(PART), .inner = IN(PART)},
    [IN(CALLS)] = {.field = IS(PART), .inner = IN(CALL)},
};

const struct request_rule *
request_rule_find(
    enum request_place place, int shape, const char *key, size_t n)
{
	const struct request_rule *rows = request_places[place].rows;

	for (size_t i = 0; i < request_places[place].n_rows; i++)
		if (rows[i].n_key == n && (rows[i].shapes >> shape & 1) != 0 &&
		    memcmp(rows[i].key, key, n) == 0)
			return &rows[i];
	return &request_rule_none;
}

const struct request_rule *
request_rule_of_elements(enum request_place place)
{
	return &request_elements[place];
}
