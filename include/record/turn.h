/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * turn: the record of one metered exchange, one row of the table `turns`.
 *
 * The struct is open on purpose: rooms above fill their own fields. Unknown is
 * NULL, never 0: TURN_NULL for integers, NaN for reals, a null pointer for
 * text, 0 for enums. The field table below is the one place that knows names,
 * types and order; the schema, the journal, the JSON and the command line are
 * made from it.
 *
 * A turn belongs to one thread at a time and is handed over whole. Its texts
 * live in its own arena, except those of the enums.
 */
#ifndef RECORD_TURN_H
#define RECORD_TURN_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/uuid.h"

#define TURN_NULL INT64_MIN

/* Texts from traffic are cut to this many bytes, usage_raw to its own. */
enum {
	TURN_TEXT_BYTES = 256,
	TURN_USAGE_RAW_BYTES = 4096,
	TURN_FLAGS_BYTES = 512,
	TURN_TOOLS_MAX = 64
};

enum turn_source {
	TURN_SOURCE_NULL,
	TURN_SOURCE_PROXY,
	TURN_SOURCE_RECOVERED, /* found in the journal at start */
	TURN_SOURCE_IMPORT,
	TURN_SOURCE_COUNT
};

enum turn_kind {
	TURN_KIND_NULL,
	TURN_KIND_TURN,
	TURN_KIND_SIDE,
	TURN_KIND_COMPACTION,
	TURN_KIND_COUNT_TOKENS, /* "count": asks for a count, generates nothing */
	TURN_KIND_EMBEDDING,
	TURN_KIND_OTHER,
	TURN_KIND_COUNT
};

enum turn_outcome {
	TURN_OUTCOME_NULL,
	TURN_OUTCOME_OK,
	TURN_OUTCOME_HTTP_ERROR,
	TURN_OUTCOME_RATE_LIMITED,
	TURN_OUTCOME_OVERLOADED,
	TURN_OUTCOME_STREAM_ERROR,
	TURN_OUTCOME_CLIENT_CLOSED,
	TURN_OUTCOME_UPSTREAM_RESET,
	TURN_OUTCOME_UPSTREAM_TRUNCATED,
	TURN_OUTCOME_INCOMPLETE,
	TURN_OUTCOME_CONNECT_FAILED,
	TURN_OUTCOME_TIMEOUT,
	TURN_OUTCOME_REFUSED,
	TURN_OUTCOME_INTERRUPTED,
	TURN_OUTCOME_COUNT
};

enum turn_error_kind {
	TURN_ERROR_KIND_NULL,
	TURN_ERROR_KIND_RATE,
	TURN_ERROR_KIND_QUOTA,
	TURN_ERROR_KIND_OVERLOADED,
	TURN_ERROR_KIND_AUTH,
	TURN_ERROR_KIND_CONTEXT_LENGTH,
	TURN_ERROR_KIND_INVALID,
	TURN_ERROR_KIND_SERVER,
	TURN_ERROR_KIND_OTHER,
	TURN_ERROR_KIND_COUNT
};

enum turn_stop {
	TURN_STOP_NULL,
	TURN_STOP_FINAL,
	TURN_STOP_TOOL_CALLS,
	TURN_STOP_LENGTH,
	TURN_STOP_FILTERED,
	TURN_STOP_UNKNOWN,
	TURN_STOP_COUNT
};

enum turn_usage_source {
	TURN_USAGE_SOURCE_NULL,
	TURN_USAGE_SOURCE_REPORTED,
	TURN_USAGE_SOURCE_PARTIAL,
	TURN_USAGE_SOURCE_ESTIMATED,
	TURN_USAGE_SOURCE_NONE,
	TURN_USAGE_SOURCE_COUNT
};

enum turn_last_message {
	TURN_LAST_MESSAGE_NULL,
	TURN_LAST_MESSAGE_USER,
	TURN_LAST_MESSAGE_RESULTS,
	TURN_LAST_MESSAGE_BOTH,
	TURN_LAST_MESSAGE_COUNT
};

enum turn_gap_kind {
	TURN_GAP_KIND_NULL,
	TURN_GAP_KIND_TOOL,
	TURN_GAP_KIND_TOOL_USER,
	TURN_GAP_KIND_LIMIT,
	TURN_GAP_KIND_SUBAGENT,
	TURN_GAP_KIND_HUMAN,
	TURN_GAP_KIND_AWAY,
	TURN_GAP_KIND_COUNT
};

enum turn_cost_source {
	TURN_COST_SOURCE_NULL,
	TURN_COST_SOURCE_COMPUTED,
	TURN_COST_SOURCE_PROVIDER,
	TURN_COST_SOURCE_ELECTRICITY,
	TURN_COST_SOURCE_PLAN,
	TURN_COST_SOURCE_UNPRICED,
	TURN_COST_SOURCE_COUNT
};

/* One tool of one turn: the calls that its answer made, and the results that
 * its request brought for the first time. */
struct turn_tool {
	const char *name;
	int64_t calls;
	int64_t result_bytes;
	int64_t result_errors;
};

struct turn {
	/* identity */
	int64_t seq;    /* order of finishing */
	const char *id; /* UUIDv7 */
	int source; /* enum turn_source; enums are int so that one table fits */
	int64_t started_at; /* ms since the epoch */
	const char *upstream;
	const char *protocol;
	const char *method;
	const char *path; /* as sent upstream, no query */
	const char *model;
	const char *model_served;
	const char *service_tier;
	int64_t streaming; /* 0, 1 */
	const char *upstream_request_id;

	/* who */
	const char *client;
	const char *session_id;
	const char *session_source; /* header:NAME, body:NAME, guessed */
	const char *agent;
	const char *task_id;
	int64_t turn_index;
	int kind;
	int64_t attempt;
	const char *project;
	const char *branch;
	const char *account; /* keyed hash, 12 hex digits */

	/* result */
	int64_t status; /* the provider's */
	int outcome;
	int error_kind;
	const char *finish_reason;
	int stop;
	const char *flags; /* names separated by one space, "" for none */

	/* tokens */
	int64_t input_tokens;
	int64_t uncached_tokens;
	int64_t cache_read_tokens;
	int64_t cache_write_tokens;
	int64_t cache_write_1h_tokens;
	int64_t output_tokens;
	int64_t reasoning_tokens;
	int64_t tool_calls;
	int usage_source;
	const char *usage_raw; /* a JSON object, <= TURN_USAGE_RAW_BYTES */

	/* request */
	int64_t n_messages;
	int last_message;
	int64_t break_at;
	const char *prefix_hash;
	const char *body_hash;
	int64_t max_tokens;
	const char *effort;
	int64_t context_window;
	int64_t context_system_bytes;
	int64_t context_tools_bytes;
	int64_t context_user_bytes;
	int64_t context_assistant_bytes;
	int64_t context_results_bytes;

	/* offsets from t0, ms */
	double sent_ms;
	double ttfb_ms;
	double gen_start_ms;
	double ttft_ms;
	double first_text_ms;
	double tool_ready_ms;
	double last_token_ms;
	double total_ms;

	/* durations, ms */
	double connect_ms;
	double decode_ms;
	double itl_p50_ms;
	double itl_p99_ms;
	double itl_max_ms;
	double server_queue_ms;
	double server_prefill_ms;
	double server_decode_ms;
	double held_ms;
	double stall_ms;
	int64_t stalls;
	double gap_ms;
	int gap_kind;

	/* stream */
	int64_t n_pieces;
	int64_t first_piece_bytes;
	int64_t text_bytes;
	int64_t reasoning_bytes;
	int64_t tool_bytes;
	int64_t in_flight;
	double in_flight_mean;

	/* speed */
	double usable_tps;
	double decode_tps;
	double prefill_tps;

	/* money */
	int64_t cost_pusd;
	int cost_source;
	int64_t provider_cost_pusd;
	int64_t price_id;

	/* limit */
	double retry_after_ms;
	const char *limit_dimension;

	/* size */
	int64_t request_bytes;
	int64_t response_bytes;

	/* not columns: the child table, and where the texts live */
	struct turn_tool *tools;
	size_t n_tools;
	int slot; /* of the journal, -1: none; the daemon's */
	struct arena arena;
};

enum turn_type {
	TURN_TYPE_INT,   /* int64_t, TURN_NULL */
	TURN_TYPE_BOOL,  /* int64_t 0 or 1, TURN_NULL; JSON true/false */
	TURN_TYPE_REAL,  /* double, NaN */
	TURN_TYPE_TEXT,  /* const char *, NULL */
	TURN_TYPE_ENUM,  /* int, 0; stored by name */
	TURN_TYPE_TIME,  /* int64_t ms; JSON RFC 3339 */
	TURN_TYPE_FLAGS, /* text in SQL, array of names in JSON */
	TURN_TYPE_JSON   /* text in SQL, an object in JSON */
};

struct turn_field {
	const char *name;
	enum turn_type type;
	size_t offset;
	const char *const *names; /* of an enum: names[0] is NULL */
	int n_names;
};

/* In the order of the columns. */
extern const struct turn_field turn_fields[];
extern const size_t n_turn_fields;

/* NULL where there is no such field. */
const struct turn_field *turn_field_find(const char *name);

static inline void *
turn_field_at(const struct turn_field *f, const struct turn *t)
{
	return (char *)(uintptr_t)t + f->offset;
}

static inline bool
turn_field_is_null(const struct turn_field *f, const struct turn *t)
{
	const void *at = turn_field_at(f, t);

	switch (f->type) {
	case TURN_TYPE_INT:
	case TURN_TYPE_BOOL:
	case TURN_TYPE_TIME: return *(const int64_t *)at == TURN_NULL;
	case TURN_TYPE_REAL: return isnan(*(const double *)at);
	case TURN_TYPE_ENUM: return *(const int *)at == 0;
	case TURN_TYPE_TEXT:
	case TURN_TYPE_FLAGS:
	case TURN_TYPE_JSON: return *(const char *const *)at == NULL;
	}
	return true;
}

/* The name of an enum field's value, NULL for none. */
const char *turn_field_enum_name(const struct turn_field *f, int value);

/* -1 where NAME is not of that enum. */
int turn_field_enum_value(const struct turn_field *f, const char *name);

/* Shorthands for the commonest enums. */
const char *turn_outcome_name(int outcome);
const char *turn_stop_name(int stop);
const char *turn_kind_name(int kind);
const char *turn_error_kind_name(int kind);

/* A turn with every field NULL, an id of the present moment and started_at
 * set; flags is "". NULL without memory. */
struct turn *turn_new(void);
void turn_free(struct turn *t);

/* Sets a text field of T (pass its address) to at most TURN_TEXT_BYTES bytes
 * of S, cut at a UTF-8 boundary, control bytes and invalid UTF-8 replaced by
 * '?'. An empty or null S sets NULL. */
void turn_set_text(struct turn *t, const char **field, const char *s, size_t n);
void turn_set_str(struct turn *t, const char **field, const char *s);

/* Adds a flag by name, once. What does not fit is dropped. */
void turn_add_flag(struct turn *t, const char *name);
bool turn_has_flag(const struct turn *t, const char *name);

/* The tool of that name, made on first use; NULL above TURN_TOOLS_MAX (the
 * flag tools_cut is set). */
struct turn_tool *turn_tool_get(struct turn *t, const char *name, size_t n);

/* A deep copy; NULL without memory. */
struct turn *turn_copy(const struct turn *t);

#endif
