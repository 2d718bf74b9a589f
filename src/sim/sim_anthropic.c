/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * Messages. The answer is a row of content blocks: thinking, text, tool use,
 * those of them that have tokens. The usage in message_start is provisional
 * in its output, that in message_delta is final.
 */
#include "sim_plan.h"
#include "sim_protocol.h"

#include <inttypes.h>
#include <string.h>

enum sim_block { SIM_BLOCK_THINKING, SIM_BLOCK_TEXT, SIM_BLOCK_TOOL };

/* Where token I stands: its block, the block's index on the wire, and whether
 * the token is the first or last of it. */
struct sim_place {
	enum sim_block block;
	int index;
	bool is_first;
	bool is_last;
};

static struct sim_place
sim_anthropic_place(const struct sim_plan *p, int64_t i)
{
	const int64_t n[] = {p->n_reasoning, p->n_text, p->n_tool};
	struct sim_place place = {0};
	int block = SIM_BLOCK_THINKING;

	while (i >= n[block]) {
		i -= n[block];
		if (n[block] > 0)
			place.index++;
		block++;
	}
	place.block = (enum sim_block)block;
	place.is_first = i == 0;
	place.is_last = i == n[block] - 1;
	return place;
}

static const char *
sim_anthropic_stop(const struct sim_plan *p)
{
	if (p->is_cut)
		return "max_tokens";
	return p->n_tool > 0 ? "tool_use" : "end_turn";
}

static void
sim_anthropic_output(struct sim_out *out, const struct sim_plan *p)
{
	sim_say(out,
	    "\"output_tokens\":%" PRId64
	    ",\"output_tokens_details\":{\"thinking_tokens\":%" PRId64 "}",
	    sim_plan_n_output(p), p->n_reasoning);
}

static void
sim_anthropic_usage(
    struct sim_out *out, const struct sim_plan *p, bool is_final)
{
	sim_say(out,
	    "\"usage\":{\"input_tokens\":%" PRId64
	    ",\"cache_creation_input_tokens\":%" PRId64
	    ",\"cache_read_input_tokens\":%" PRId64
	    ",\"cache_creation\":{\"ephemeral_5m_input_tokens\":%" PRId64
	    ",\"ephemeral_1h_input_tokens\":0}"
	    ",\"service_tier\":\"standard\",",
	    p->n_input - p->n_cached - p->n_written, p->n_written, p->n_cached,
	    p->n_written);
	if (is_final)
		sim_anthropic_output(out, p);
	else
		sim_say(out, "\"output_tokens\":1");
	sim_say(out, "}");
}

static void
sim_anthropic_message(struct sim_out *out, const struct sim_plan *p)
{
	sim_say(out,
	    "\"id\":\"%s\",\"type\":\"message\",\"role\":\"assistant\","
	    "\"model\":%s,",
	    p->id, p->model);
}

static void
sim_anthropic_opening(struct sim_out *out, const struct sim_plan *p)
{
	sim_say(out, "event: message_start\n"
		     "data: {\"type\":\"message_start\",\"message\":{");
	sim_anthropic_message(out, p);
	sim_say(
	    out, "\"content\":[],\"stop_reason\":null,\"stop_sequence\":null,");
	sim_anthropic_usage(out, p, false);
	sim_say(out, "}}\n\n");
}

static void
sim_anthropic_block_start(
    struct sim_out *out, const struct sim_plan *p, struct sim_place place)
{
	sim_say(out,
	    "event: content_block_start\n"
	    "data: {\"type\":\"content_block_start\",\"index\":%d,"
	    "\"content_block\":{",
	    place.index);
	switch (place.block) {
	case SIM_BLOCK_THINKING:
		sim_say(out, "\"type\":\"thinking\",\"thinking\":\"\","
			     "\"signature\":\"\"}}\n\n");
		break;
	case SIM_BLOCK_TEXT:
		sim_say(out, "\"type\":\"text\",\"text\":\"\"}}\n\n");
		break;
	case SIM_BLOCK_TOOL:
		sim_say(out,
		    "\"type\":\"tool_use\",\"id\":\"toolu_%s\",\"name\":%s,"
		    "\"input\":{}}}\n\n",
		    p->id, p->tool_name);
		break;
	}
	if (place.index == 0)
		sim_say(out, "event: ping\ndata: {\"type\":\"ping\"}\n\n");
}

static void
sim_anthropic_delta_open(struct sim_out *out, struct sim_place place)
{
	sim_say(out,
	    "event: content_block_delta\n"
	    "data: {\"type\":\"content_block_delta\",\"index\":%d,"
	    "\"delta\":{",
	    place.index);
}

static void
sim_anthropic_block_stop(struct sim_out *out, struct sim_place place)
{
	if (place.block == SIM_BLOCK_THINKING) {
		sim_anthropic_delta_open(out, place);
		sim_say(out, "\"type\":\"signature_delta\","
			     "\"signature\":\"c2ltdWxhdGVk\"}}\n\n");
	}
	sim_say(out,
	    "event: content_block_stop\n"
	    "data: {\"type\":\"content_block_stop\",\"index\":%d}\n\n",
	    place.index);
}

static void
sim_anthropic_token(struct sim_out *out, const struct sim_plan *p, int64_t i)
{
	struct sim_place place = sim_anthropic_place(p, i);
	const char *text;
	size_t n;

	if (place.is_first)
		sim_anthropic_block_start(out, p, place);
	sim_anthropic_delta_open(out, place);
	switch (place.block) {
	case SIM_BLOCK_THINKING:
		sim_say(out,
		    "\"type\":\"thinking_delta\",\"thinking\":\"%s\"}}\n\n",
		    sim_plan_word(i));
		break;
	case SIM_BLOCK_TEXT:
		sim_say(out, "\"type\":\"text_delta\",\"text\":\"%s\"}}\n\n",
		    sim_plan_word(i));
		break;
	case SIM_BLOCK_TOOL:
		text = sim_plan_tool_piece(
		    p, i - p->n_reasoning - p->n_text, &n);
		sim_say(out, "\"type\":\"input_json_delta\",\"partial_json\":");
		sim_say_string(out, text, n);
		sim_say(out, "}}\n\n");
		break;
	}
	if (place.is_last)
		sim_anthropic_block_stop(out, place);
}

static void
sim_anthropic_closing(struct sim_out *out, const struct sim_plan *p)
{
	sim_say(out,
	    "event: message_delta\n"
	    "data: {\"type\":\"message_delta\",\"delta\":{"
	    "\"stop_reason\":\"%s\",\"stop_sequence\":null},"
	    "\"usage\":{",
	    sim_anthropic_stop(p));
	sim_anthropic_output(out, p);
	sim_say(out,
	    "}}\n\n"
	    "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n");
}

static void
sim_anthropic_whole(struct sim_out *out, const struct sim_plan *p)
{
	const char *comma = "";

	sim_say(out, "{");
	sim_anthropic_message(out, p);
	sim_say(out, "\"content\":[");
	if (p->n_reasoning > 0) {
		sim_say(out, "{\"type\":\"thinking\",\"thinking\":\"");
		sim_say_words(out, 0, p->n_reasoning);
		sim_say(out, "\",\"signature\":\"c2ltdWxhdGVk\"}");
		comma = ",";
	}
	if (p->n_text > 0) {
		sim_say(out, "%s{\"type\":\"text\",\"text\":\"", comma);
		sim_say_words(out, p->n_reasoning, p->n_reasoning + p->n_text);
		sim_say(out, "\"}");
		comma = ",";
	}
	if (p->n_tool > 0)
		sim_say(out,
		    "%s{\"type\":\"tool_use\",\"id\":\"toolu_%s\","
		    "\"name\":%s,\"input\":%s}",
		    comma, p->id, p->tool_name, p->tool_args);
	sim_say(out, "],\"stop_reason\":\"%s\",\"stop_sequence\":null,",
	    sim_anthropic_stop(p));
	sim_anthropic_usage(out, p, true);
	sim_say(out, "}");
}

static const struct {
	int status;
	const char *type;
} sim_anthropic_errors[] = {
    {400, "invalid_request_error"},
    {401, "authentication_error"},
    {402, "billing_error"},
    {403, "permission_error"},
    {404, "not_found_error"},
    {413, "request_too_large"},
    {429, "rate_limit_error"},
    {504, "timeout_error"},
    {529, "overloaded_error"},
};

static void
sim_anthropic_error(struct sim_out *out, int status, const char *message,
    const char *request_id)
{
	const char *type = status < 500 ? "invalid_request_error" : "api_error";
	size_t n = sizeof(sim_anthropic_errors) / sizeof(*sim_anthropic_errors);

	for (size_t i = 0; i < n; i++)
		if (sim_anthropic_errors[i].status == status)
			type = sim_anthropic_errors[i].type;
	sim_say(out,
	    "{\"type\":\"error\",\"error\":{\"type\":\"%s\","
	    "\"message\":\"%s\"},\"request_id\":\"%s\"}",
	    type, message, request_id);
}

const struct sim_protocol sim_anthropic = {
    .suffix = "/messages",
    .id_prefix = "msg_sim",
    .id_header = "request-id",
    .limit_keys = {"max_tokens"},
    .caches_by_mark = true,
    .opening = sim_anthropic_opening,
    .token = sim_anthropic_token,
    .closing = sim_anthropic_closing,
    .whole = sim_anthropic_whole,
    .error = sim_anthropic_error,
};
