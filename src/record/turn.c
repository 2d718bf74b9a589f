/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * The field table is checked against the struct twice: each row's type by the
 * compiler (turn_field_type_ok), and the whole by a unit test that sets every
 * field by name and reads it back.
 */
#include "record/turn.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

enum { TURN_TOOLS_MIN = 8 };

static const char *const turn_source_names[] = {
    [TURN_SOURCE_PROXY] = "proxy",
    [TURN_SOURCE_RECOVERED] = "recovered",
    [TURN_SOURCE_IMPORT] = "import",
};
static const char *const turn_kind_names[] = {
    [TURN_KIND_TURN] = "turn",
    [TURN_KIND_SIDE] = "side",
    [TURN_KIND_COMPACTION] = "compaction",
    [TURN_KIND_COUNT_TOKENS] = "count",
    [TURN_KIND_EMBEDDING] = "embedding",
    [TURN_KIND_OTHER] = "other",
};
static const char *const turn_outcome_names[] = {
    [TURN_OUTCOME_OK] = "ok",
    [TURN_OUTCOME_HTTP_ERROR] = "http_error",
    [TURN_OUTCOME_RATE_LIMITED] = "rate_limited",
    [TURN_OUTCOME_OVERLOADED] = "overloaded",
    [TURN_OUTCOME_STREAM_ERROR] = "stream_error",
    [TURN_OUTCOME_CLIENT_CLOSED] = "client_closed",
    [TURN_OUTCOME_UPSTREAM_RESET] = "upstream_reset",
    [TURN_OUTCOME_UPSTREAM_TRUNCATED] = "upstream_truncated",
    [TURN_OUTCOME_INCOMPLETE] = "incomplete",
    [TURN_OUTCOME_CONNECT_FAILED] = "connect_failed",
    [TURN_OUTCOME_TIMEOUT] = "timeout",
    [TURN_OUTCOME_REFUSED] = "refused",
    [TURN_OUTCOME_INTERRUPTED] = "interrupted",
};
static const char *const turn_error_kind_names[] = {
    [TURN_ERROR_KIND_RATE] = "rate",
    [TURN_ERROR_KIND_QUOTA] = "quota",
    [TURN_ERROR_KIND_OVERLOADED] = "overloaded",
    [TURN_ERROR_KIND_AUTH] = "auth",
    [TURN_ERROR_KIND_CONTEXT_LENGTH] = "context_length",
    [TURN_ERROR_KIND_INVALID] = "invalid",
    [TURN_ERROR_KIND_SERVER] = "server",
    [TURN_ERROR_KIND_OTHER] = "other",
};
static const char *const turn_stop_names[] = {
    [TURN_STOP_FINAL] = "final",
    [TURN_STOP_TOOL_CALLS] = "tool_calls",
    [TURN_STOP_LENGTH] = "length",
    [TURN_STOP_FILTERED] = "filtered",
    [TURN_STOP_UNKNOWN] = "unknown",
};
static const char *const turn_usage_source_names[] = {
    [TURN_USAGE_SOURCE_REPORTED] = "reported",
    [TURN_USAGE_SOURCE_PARTIAL] = "partial",
    [TURN_USAGE_SOURCE_ESTIMATED] = "estimated",
    [TURN_USAGE_SOURCE_NONE] = "none",
};
static const char *const turn_last_message_names[] = {
    [TURN_LAST_MESSAGE_USER] = "user",
    [TURN_LAST_MESSAGE_RESULTS] = "results",
    [TURN_LAST_MESSAGE_BOTH] = "both",
};
static const char *const turn_gap_kind_names[] = {
    [TURN_GAP_KIND_TOOL] = "tool",
    [TURN_GAP_KIND_TOOL_USER] = "tool+user",
    [TURN_GAP_KIND_LIMIT] = "limit",
    [TURN_GAP_KIND_SUBAGENT] = "subagent",
    [TURN_GAP_KIND_HUMAN] = "human",
    [TURN_GAP_KIND_AWAY] = "away",
};
static const char *const turn_cost_source_names[] = {
    [TURN_COST_SOURCE_COMPUTED] = "computed",
    [TURN_COST_SOURCE_PROVIDER] = "provider",
    [TURN_COST_SOURCE_ELECTRICITY] = "electricity",
    [TURN_COST_SOURCE_PLAN] = "plan",
    [TURN_COST_SOURCE_UNPRICED] = "unpriced",
};

#define TURN_NAMES(names, count)                                    \
	_Static_assert(sizeof(names) / sizeof(*(names)) == (count), \
	    "a name for each value of " #count)
TURN_NAMES(turn_source_names, TURN_SOURCE_COUNT);
TURN_NAMES(turn_kind_names, TURN_KIND_COUNT);
TURN_NAMES(turn_outcome_names, TURN_OUTCOME_COUNT);
TURN_NAMES(turn_error_kind_names, TURN_ERROR_KIND_COUNT);
TURN_NAMES(turn_stop_names, TURN_STOP_COUNT);
TURN_NAMES(turn_usage_source_names, TURN_USAGE_SOURCE_COUNT);
TURN_NAMES(turn_last_message_names, TURN_LAST_MESSAGE_COUNT);
TURN_NAMES(turn_gap_kind_names, TURN_GAP_KIND_COUNT);
TURN_NAMES(turn_cost_source_names, TURN_COST_SOURCE_COUNT);

/* The offset of field F, checked to be of TYPE. */
#define AT(f, type)                 \
	(offsetof(struct turn, f) + \
	    0 * sizeof(char[_Generic(((struct turn *)0)->f, type : 1)]))
#define I(f)                                                                \
	{                                                                   \
		.name = #f, .type = TURN_TYPE_INT, .offset = AT(f, int64_t) \
	}
#define B(f)                                                                 \
	{                                                                    \
		.name = #f, .type = TURN_TYPE_BOOL, .offset = AT(f, int64_t) \
	}
#define R(f)                                                                \
	{                                                                   \
		.name = #f, .type = TURN_TYPE_REAL, .offset = AT(f, double) \
	}
#define T(f)                                        \
	{                                           \
		.name = #f, .type = TURN_TYPE_TEXT, \
		.offset = AT(f, const char *)       \
	}
#define E(f)                                                              \
	{                                                                 \
		.name = #f, .type = TURN_TYPE_ENUM, .offset = AT(f, int), \
		.names = turn_##f##_names,                                \
		.n_names = (int)(sizeof(turn_##f##_names) /               \
				 sizeof(*turn_##f##_names))               \
	}

const struct turn_field turn_fields[] = {
    I(seq),
    T(id),
    E(source),
    {.name = "started_at",
	.type = TURN_TYPE_TIME,
	.offset = AT(started_at, int64_t)},
    T(upstream),
    T(protocol),
    T(method),
    T(path),
    T(model),
    T(model_served),
    T(service_tier),
    B(streaming),
    T(upstream_request_id),

    T(client),
    T(session_id),
    T(session_source),
    T(agent),
    T(task_id),
    I(turn_index),
    E(kind),
    I(attempt),
    T(project),
    T(branch),
    T(account),

    I(status),
    E(outcome),
    E(error_kind),
    T(finish_reason),
    E(stop),
    {.name = "flags",
	.type = TURN_TYPE_FLAGS,
	.offset = AT(flags, const char *)},

    I(input_tokens),
    I(uncached_tokens),
    I(cache_read_tokens),
    I(cache_write_tokens),
    I(cache_write_1h_tokens),
    I(output_tokens),
    I(reasoning_tokens),
    I(tool_calls),
    E(usage_source),
    {.name = "usage_raw",
	.type = TURN_TYPE_JSON,
	.offset = AT(usage_raw, const char *)},

    I(n_messages),
    E(last_message),
    I(break_at),
    T(prefix_hash),
    T(body_hash),
    I(max_tokens),
    T(effort),
    I(context_window),
    I(context_system_bytes),
    I(context_tools_bytes),
    I(context_user_bytes),
    I(context_assistant_bytes),
    I(context_results_bytes),

    R(sent_ms),
    R(ttfb_ms),
    R(gen_start_ms),
    R(ttft_ms),
    R(first_text_ms),
    R(tool_ready_ms),
    R(last_token_ms),
    R(total_ms),

    R(connect_ms),
    R(decode_ms),
    R(itl_p50_ms),
    R(itl_p99_ms),
    R(itl_max_ms),
    R(server_queue_ms),
    R(server_prefill_ms),
    R(server_decode_ms),
    R(held_ms),
    R(stall_ms),
    I(stalls),
    R(gap_ms),
    E(gap_kind),

    I(n_pieces),
    I(first_piece_bytes),
    I(text_bytes),
    I(reasoning_bytes),
    I(tool_bytes),
    I(in_flight),
    R(in_flight_mean),

    R(usable_tps),
    R(decode_tps),
    R(prefill_tps),

    I(cost_pusd),
    E(cost_source),
    I(provider_cost_pusd),
    I(price_id),

    R(retry_after_ms),
    T(limit_dimension),

    I(request_bytes),
    I(response_bytes),
};
const size_t n_turn_fields = sizeof(turn_fields) / sizeof(*turn_fields);

const struct turn_field *
turn_field_find(const char *name)
{
	for (size_t i = 0; i < n_turn_fields; i++)
		if (strcmp(turn_fields[i].name, name) == 0)
			return &turn_fields[i];
	return NULL;
}

const char *
turn_field_enum_name(const struct turn_field *f, int value)
{
	return value > 0 && value < f->n_names ? f->names[value] : NULL;
}

int
turn_field_enum_value(const struct turn_field *f, const char *name)
{
	for (int i = 1; i < f->n_names; i++)
		if (strcmp(f->names[i], name) == 0)
			return i;
	return -1;
}

static const char *
turn_name_of(const char *const *names, int count, int value)
{
	return value > 0 && value < count ? names[value] : NULL;
}

const char *
turn_outcome_name(int outcome)
{
	return turn_name_of(turn_outcome_names, TURN_OUTCOME_COUNT, outcome);
}

const char *
turn_stop_name(int stop)
{
	return turn_name_of(turn_stop_names, TURN_STOP_COUNT, stop);
}

const char *
turn_kind_name(int kind)
{
	return turn_name_of(turn_kind_names, TURN_KIND_COUNT, kind);
}

const char *
turn_error_kind_name(int kind)
{
	return turn_name_of(turn_error_kind_names, TURN_ERROR_KIND_COUNT, kind);
}

/* A turn of NULLs. */
static struct turn *
turn_blank(void)
{
	struct turn *t = calloc(1, sizeof(*t));

	if (t == NULL)
		return NULL;
	for (size_t i = 0; i < n_turn_fields; i++) {
		const struct turn_field *f = &turn_fields[i];

		if (f->type == TURN_TYPE_REAL)
			*(double *)turn_field_at(f, t) = NAN;
		else if (f->type <= TURN_TYPE_BOOL || f->type == TURN_TYPE_TIME)
			*(int64_t *)turn_field_at(f, t) = TURN_NULL;
	}
	t->flags = "";
	t->slot = -1;
	return t;
}

struct turn *
turn_new(void)
{
	struct turn *t = turn_blank();
	char id[UUID_TEXT_BYTES];

	if (t == NULL)
		return NULL;
	t->started_at = clock_wall_ms();
	uuid_new(t->started_at, id);
	t->id = arena_copy(&t->arena, id, sizeof(id) - 1);
	if (t->id == NULL) {
		turn_free(t);
		return NULL;
	}
	return t;
}

void
turn_free(struct turn *t)
{
	if (t == NULL)
		return;
	arena_fini(&t->arena);
	free(t);
}

/* The length of the UTF-8 sequence at S, 0 where it is not a valid one. */
static size_t
turn_utf8_len(const unsigned char *s, size_t n)
{
	size_t len = s[0] < 0x80                   ? 1
		     : s[0] >= 0xc2 && s[0] < 0xe0 ? 2
		     : (s[0] & 0xf0) == 0xe0       ? 3
		     : s[0] >= 0xf0 && s[0] < 0xf5 ? 4
						   : 0;

	if (len == 0 || len > n)
		return 0;
	for (size_t i = 1; i < len; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return len;
}

void
turn_set_text(struct turn *t, const char **field, const char *s, size_t n)
{
	char *out;
	size_t used = 0;

	*field = NULL;
	if (s == NULL || n == 0)
		return;
	out = arena_alloc(
	    &t->arena, (n < TURN_TEXT_BYTES ? n : TURN_TEXT_BYTES) + 1);
	if (out == NULL)
		return;
	for (size_t i = 0; i < n;) {
		const unsigned char *c = (const unsigned char *)s + i;
		size_t len;

		if (*c >= 0x20 && *c < 0x7f && used < TURN_TEXT_BYTES) {
			out[used++] = s[i++];
			continue;
		}
		len = turn_utf8_len(c, n - i);
		if (used + (len > 1 ? len : 1) > TURN_TEXT_BYTES)
			break;
		if (len == 0 || *c < 0x20 || *c == 0x7f ||
		    (len == 2 && c[0] == 0xc2 && c[1] < 0xa0)) {
			out[used++] = '?';
			i += len > 0 ? len : 1;
			continue;
		}
		memcpy(out + used, c, len);
		used += len;
		i += len;
	}
	out[used] = '\0';
	*field = out;
}

void
turn_set_str(struct turn *t, const char **field, const char *s)
{
	turn_set_text(t, field, s, s != NULL ? strlen(s) : 0);
}

bool
turn_has_flag(const struct turn *t, const char *name)
{
	size_t n = strlen(name);
	const char *p = t->flags;

	while (p != NULL && (p = strstr(p, name)) != NULL) {
		if ((p == t->flags || p[-1] == ' ') &&
		    (p[n] == ' ' || p[n] == '\0'))
			return true;
		p += n;
	}
	return false;
}

void
turn_add_flag(struct turn *t, const char *name)
{
	size_t old = strlen(t->flags), n = strlen(name);
	char *flags;

	if (turn_has_flag(t, name) || old + n + 2 > TURN_FLAGS_BYTES)
		return;
	flags = arena_alloc(&t->arena, old + n + 2);
	if (flags == NULL)
		return;
	memcpy(flags, t->flags, old);
	if (old > 0)
		flags[old++] = ' ';
	memcpy(flags + old, name, n + 1);
	t->flags = flags;
}

/* Room for one more: the table is as large as the power of two above what it
 * holds, from TURN_TOOLS_MIN on. */
static bool
turn_tools_reserve(struct turn *t)
{
	size_t n = t->n_tools;
	struct turn_tool *tools;

	if (n != 0 && (n < TURN_TOOLS_MIN || (n & (n - 1)) != 0))
		return true;
	tools = arena_alloc(&t->arena,
	    (n < TURN_TOOLS_MIN ? TURN_TOOLS_MIN : 2 * n) * sizeof(*tools));
	if (tools == NULL)
		return false;
	if (n > 0)
		memcpy(tools, t->tools, n * sizeof(*tools));
	t->tools = tools;
	return true;
}

struct turn_tool *
turn_tool_get(struct turn *t, const char *name, size_t n)
{
	const char *text = NULL;
	struct turn_tool *tool;

	turn_set_text(t, &text, name, n);
	if (text == NULL)
		return NULL;
	for (size_t i = 0; i < t->n_tools; i++)
		if (strcmp(t->tools[i].name, text) == 0)
			return &t->tools[i];
	if (t->n_tools == TURN_TOOLS_MAX) {
		turn_add_flag(t, "tools_cut");
		return NULL;
	}
	if (!turn_tools_reserve(t))
		return NULL;
	tool = &t->tools[t->n_tools++];
	*tool = (struct turn_tool){.name = text};
	return tool;
}

static bool
turn_copy_texts(struct turn *c)
{
	for (size_t i = 0; i < n_turn_fields; i++) {
		const struct turn_field *f = &turn_fields[i];
		const char **s = turn_field_at(f, c);

		if (f->type != TURN_TYPE_TEXT && f->type != TURN_TYPE_FLAGS &&
		    f->type != TURN_TYPE_JSON)
			continue;
		if (*s == NULL)
			continue;
		*s = arena_copy(&c->arena, *s, strlen(*s));
		if (*s == NULL)
			return false;
	}
	return true;
}

struct turn *
turn_copy(const struct turn *t)
{
	struct turn *c = malloc(sizeof(*c));

	if (c == NULL)
		return NULL;
	*c = *t;
	c->arena = (struct arena){NULL};
	c->tools = NULL;
	c->n_tools = 0;
	c->slot = -1;
	if (!turn_copy_texts(c))
		goto out;
	for (size_t i = 0; i < t->n_tools; i++) {
		struct turn_tool *tool = turn_tool_get(
		    c, t->tools[i].name, strlen(t->tools[i].name));

		if (tool == NULL)
			goto out;
		tool->calls = t->tools[i].calls;
		tool->result_bytes = t->tools[i].result_bytes;
		tool->result_errors = t->tools[i].result_errors;
	}
	return c;
out:
	turn_free(c);
	return NULL;
}
