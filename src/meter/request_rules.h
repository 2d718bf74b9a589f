/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * request_rules: which value at which place of a request means what.
 *
 * A place is a container that the scanner knows; a rule names one member of
 * it. What no rule names is of no interest, nor is anything inside it. A new
 * field is one row of the table.
 * Constant; any thread.
 */
#ifndef METER_REQUEST_RULES_H
#define METER_REQUEST_RULES_H

#include <stddef.h>

enum request_place {
	REQUEST_PLACE_NOWHERE,
	REQUEST_PLACE_TOP,
	REQUEST_PLACE_STREAM_OPTIONS,
	REQUEST_PLACE_USAGE, /* OpenRouter's wish for usage */
	REQUEST_PLACE_REASONING,
	REQUEST_PLACE_OUTPUT_CONFIG,
	REQUEST_PLACE_THINKING,
	REQUEST_PLACE_METADATA,
	REQUEST_PLACE_MESSAGES, /* an array of messages or items */
	REQUEST_PLACE_MESSAGE,
	REQUEST_PLACE_CONTENT, /* an array of parts */
	REQUEST_PLACE_PART,
	REQUEST_PLACE_CALLS, /* an array of tool calls */
	REQUEST_PLACE_CALL,
	REQUEST_PLACE_FUNCTION,
	REQUEST_PLACE_COUNT
};

enum request_field {
	REQUEST_FIELD_NONE,
	/* single values */
	REQUEST_FIELD_MODEL,
	REQUEST_FIELD_STREAM,
	REQUEST_FIELD_INCLUDE_USAGE,
	REQUEST_FIELD_MAX_TOKENS,
	REQUEST_FIELD_MAX_TOKENS_OLD, /* gives way to the other */
	REQUEST_FIELD_TIER,
	REQUEST_FIELD_EFFORT,
	REQUEST_FIELD_BUDGET,
	REQUEST_FIELD_USER_ID,
	REQUEST_FIELD_SESSION_ID,
	REQUEST_FIELD_CACHE_KEY,
	/* parts of the context */
	REQUEST_FIELD_SYSTEM,
	REQUEST_FIELD_TOOLS,
	REQUEST_FIELD_PROMPT,
	REQUEST_FIELD_MESSAGES,
	REQUEST_FIELD_MESSAGE,
	/* of a message, a part or a call: the place tells which */
	REQUEST_FIELD_PART,
	REQUEST_FIELD_ROLE,
	REQUEST_FIELD_TYPE,
	REQUEST_FIELD_CONTENT,
	REQUEST_FIELD_TEXT,
	REQUEST_FIELD_NAME,
	REQUEST_FIELD_REF, /* the id of a call, or that of a result's call */
	REQUEST_FIELD_IS_ERROR
};

struct request_rule {
	const char *key;
	unsigned char n_key;
	unsigned char field;
	unsigned char inner; /* what the value is, as a container */
	unsigned char shapes;
};

/* For what no rule names. */
extern const struct request_rule request_rule_none;

/* For the whole body. */
extern const struct request_rule request_rule_top;

/* The rule of the member KEY in an object at PLACE, in a body of SHAPE (enum
 * request_shape); request_rule_none where there is none. */
const struct request_rule *request_rule_find(
    enum request_place place, int shape, const char *key, size_t n);

/* The rule of the elements of an array at PLACE. */
const struct request_rule *request_rule_of_elements(enum request_place place);

#endif
