/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * Chat completions. Reasoning goes out as `reasoning_content`, as most
 * compatible servers do it. With include_usage every chunk but the last has
 * `"usage":null`, and the last has no choice.
 */
#include "sim_plan.h"
#include "sim_protocol.h"

#include <inttypes.h>
#include <string.h>

static void
sim_openai_head(struct sim_out *out, const struct sim_plan *p)
{
	sim_say(out,
	    "data: {\"id\":\"%s\",\"object\":\"chat.completion.chunk\","
	    "\"created\":%" PRId64 ",\"model\":%s,"
	    "\"service_tier\":\"default\",",
	    p->id, p->created_s, p->model);
}

static void
sim_openai_tail(struct sim_out *out, const struct sim_plan *p)
{
	sim_say(out, "%s}\n\n", p->wants_usage ? ",\"usage\":null" : "");
}

static const char *
sim_openai_finish(const struct sim_plan *p)
{
	if (p->is_cut)
		return "length";
	return p->n_tool > 0 ? "tool_calls" : "stop";
}

static void
sim_openai_usage(struct sim_out *out, const struct sim_plan *p)
{
	sim_say(out,
	    "\"usage\":{\"prompt_tokens\":%" PRId64
	    ",\"completion_tokens\":%" PRId64 ",\"total_tokens\":%" PRId64
	    ",\"prompt_tokens_details\":{\"cached_tokens\":%" PRId64
	    "},\"completion_tokens_details\":{\"reasoning_tokens\":%" PRId64
	    "}}",
	    p->n_input, sim_plan_n_output(p), p->n_input + sim_plan_n_output(p),
	    p->n_cached, p->n_reasoning);
}

/* The id, name and empty arguments that open a call. */
static void
sim_openai_call(struct sim_out *out, const struct sim_plan *p)
{
	sim_openai_head(out, p);
	sim_say(out,
	    "\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{"
	    "\"index\":0,\"id\":\"call_%s\",\"type\":\"function\","
	    "\"function\":{\"name\":%s,\"arguments\":\"\"}}]},"
	    "\"finish_reason\":null}]",
	    p->id, p->tool_name);
	sim_openai_tail(out, p);
}

static void
sim_openai_opening(struct sim_out *out, const struct sim_plan *p)
{
	sim_openai_head(out, p);
	sim_say(out,
	    "\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\","
	    "\"content\":\"\"},\"finish_reason\":null}]");
	sim_openai_tail(out, p);
}

static void
sim_openai_token(struct sim_out *out, const struct sim_plan *p, int64_t i)
{
	int64_t piece = i - p->n_reasoning - p->n_text;
	const char *text;
	size_t n;

	if (piece == 0)
		sim_openai_call(out, p);
	sim_openai_head(out, p);
	sim_say(out, "\"choices\":[{\"index\":0,\"delta\":{");
	if (piece >= 0) {
		text = sim_plan_tool_piece(p, piece, &n);
		sim_say(out, "\"tool_calls\":[{\"index\":0,"
			     "\"function\":{\"arguments\":");
		sim_say_string(out, text, n);
		sim_say(out, "}}]");
	} else {
		sim_say(out, "\"%s\":\"%s\"",
		    i < p->n_reasoning ? "reasoning_content" : "content",
		    sim_plan_word(i));
	}
	sim_say(out, "},\"finish_reason\":null}]");
	sim_openai_tail(out, p);
}

static void
sim_openai_closing(struct sim_out *out, const struct sim_plan *p)
{
	sim_openai_head(out, p);
	sim_say(out,
	    "\"choices\":[{\"index\":0,\"delta\":{},"
	    "\"finish_reason\":\"%s\"}]",
	    sim_openai_finish(p));
	sim_openai_tail(out, p);
	if (p->wants_usage) {
		sim_openai_head(out, p);
		sim_say(out, "\"choices\":[],");
		sim_openai_usage(out, p);
		sim_say(out, "}\n\n");
	}
	sim_say(out, "data: [DONE]\n\n");
}

static void
sim_openai_whole(struct sim_out *out, const struct sim_plan *p)
{
	int64_t n_words = p->n_reasoning + p->n_text;

	sim_say(out,
	    "{\"id\":\"%s\",\"object\":\"chat.completion\","
	    "\"created\":%" PRId64 ",\"model\":%s,\"choices\":[{\"index\":0,"
	    "\"message\":{\"role\":\"assistant\",\"content\":",
	    p->id, p->created_s, p->model);
	if (p->n_text > 0) {
		sim_say(out, "\"");
		sim_say_words(out, p->n_reasoning, n_words);
		sim_say(out, "\"");
	} else {
		sim_say(out, "null");
	}
	if (p->n_reasoning > 0) {
		sim_say(out, ",\"reasoning_content\":\"");
		sim_say_words(out, 0, p->n_reasoning);
		sim_say(out, "\"");
	}
	if (p->n_tool > 0) {
		sim_say(out,
		    ",\"tool_calls\":[{\"id\":\"call_%s\","
		    "\"type\":\"function\",\"function\":{\"name\":%s,"
		    "\"arguments\":",
		    p->id, p->tool_name);
		sim_say_string(out, p->tool_args, strlen(p->tool_args));
		sim_say(out, "}}]");
	}
	sim_say(out, "},\"finish_reason\":\"%s\"}],", sim_openai_finish(p));
	sim_openai_usage(out, p);
	sim_say(out, ",\"service_tier\":\"default\"}");
}

static void
sim_openai_error(struct sim_out *out, int status, const char *message,
    const char *request_id)
{
	const char *type = "invalid_request_error", *code = "null";

	(void)request_id;
	switch (status) {
	case 401: code = "\"invalid_api_key\""; break;
	case 404: code = "\"unknown_url\""; break;
	case 429:
		type = "requests";
		code = "\"rate_limit_exceeded\"";
		break;
	default:
		if (status >= 500)
			type = "server_error";
	}
	sim_say(out,
	    "{\n    \"error\": {\n        \"message\": \"%s\",\n"
	    "        \"type\": \"%s\",\n        \"param\": null,\n"
	    "        \"code\": %s\n    }\n}\n",
	    message, type, code);
}

const struct sim_protocol sim_openai = {
    .suffix = "/chat/completions",
    .id_prefix = "chatcmpl-sim",
    .id_header = "x-request-id",
    .limit_keys = {"max_completion_tokens", "max_tokens"},
    .opening = sim_openai_opening,
    .token = sim_openai_token,
    .closing = sim_openai_closing,
    .whole = sim_openai_whole,
    .error = sim_openai_error,
};
