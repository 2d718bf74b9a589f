/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * anthropic: Anthropic Messages, its own and that of others who speak it.
 *
 * An event says what it is in its `type`, which need not come first; so what
 * an event brings is noted and judged at its end. Text is told apart by the
 * key that holds it. A whole document has the shape of `message`.
 *
 * The usage is told twice, at the start and in message_delta: states, not
 * deltas, laid over each other field by field (docs/protocols/anthropic.md).
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "meter/answer.h"
#include "meter/protocol.h"
#include "record/turn.h"

enum messages_node {
	MESSAGES_TYPE = ANSWER_ROOT + 1,
	MESSAGES_MESSAGE,
	MESSAGES_ID,
	MESSAGES_MODEL,
	MESSAGES_USAGE,
	MESSAGES_ERROR,
	MESSAGES_STOP,
	MESSAGES_BLOCK, /* content_block, and the elements of content */
	MESSAGES_BLOCK_TYPE,
	MESSAGES_NAME,
	MESSAGES_INPUT,
	MESSAGES_DELTA,
	MESSAGES_TEXT,
	MESSAGES_THINKING,
	MESSAGES_PARTIAL_JSON,
	MESSAGES_SIGNATURE,
};

enum messages_type {
	MESSAGES_OTHER_EVENT, /* ping, and what is not known yet */
	MESSAGES_START,
	MESSAGES_BLOCK_START,
	MESSAGES_BLOCK_DELTA,
	MESSAGES_BLOCK_STOP,
	MESSAGES_MESSAGE_DELTA,
	MESSAGES_STOP_EVENT,
};

struct messages {
	/* of the event */
	enum messages_type type;
	uint32_t new_id;
	/* of the block that is being read */
	bool is_call;   /* tool_use: the client is to act */
	bool is_result; /* of a server's tool: not generated */
	bool is_open_call;
	uint16_t n_raw_name;
	uint8_t n_name;
	size_t input_start;
	size_t n_input;
	/* of the answer */
	uint32_t id;
	bool has_final_usage; /* from message_delta or a whole document */
};
static_assert(sizeof(struct messages) <= ANSWER_STATE_BYTES, "room in answer");

static struct messages *
messages_of(struct answer *a)
{
	return (struct messages *)(void *)a->state;
}

#define K  ANSWER_KEY
#define IS ANSWER_IS

static uint8_t
messages_message_key(const char *k, size_t n)
{
	switch (K(n, *k)) {
	case K(2, 'i'): return IS(k, "id") ? MESSAGES_ID : 0;
	case K(5, 'm'): return IS(k, "model") ? MESSAGES_MODEL : 0;
	case K(5, 'u'): return IS(k, "usage") ? MESSAGES_USAGE : 0;
	case K(11, 's'): return IS(k, "stop_reason") ? MESSAGES_STOP : 0;
	}
	return 0;
}

static uint8_t
messages_root_key(const struct answer *a, const char *k, size_t n)
{
	switch (K(n, *k)) {
	case K(4, 't'): return IS(k, "type") ? MESSAGES_TYPE : 0;
	case K(5, 'd'): return IS(k, "delta") ? MESSAGES_DELTA : 0;
	case K(5, 'e'): return IS(k, "error") ? MESSAGES_ERROR : 0;
	case K(7, 'm'): return IS(k, "message") ? MESSAGES_MESSAGE : 0;
	case K(13, 'c'): return IS(k, "content_block") ? MESSAGES_BLOCK : 0;
	case K(7, 'c'):
		return !a->is_stream && IS(k, "content") ? MESSAGES_BLOCK : 0;
	case K(5, 'u'): return IS(k, "usage") ? MESSAGES_USAGE : 0;
	}
	return a->is_stream ? 0 : messages_message_key(k, n);
}

static uint8_t
messages_block_key(const char *k, size_t n)
{
	switch (K(n, *k)) {
	case K(4, 't'):
		return IS(k, "type")   ? MESSAGES_BLOCK_TYPE
		       : IS(k, "text") ? MESSAGES_TEXT
				       : 0;
	case K(8, 't'): return IS(k, "thinking") ? MESSAGES_THINKING : 0;
	case K(4, 'n'): return IS(k, "name") ? MESSAGES_NAME : 0;
	case K(5, 'i'): return IS(k, "input") ? MESSAGES_INPUT : 0;
	}
	return 0;
}

static uint8_t
messages_delta_key(const char *k, size_t n)
{
	switch (K(n, *k)) {
	case K(4, 't'): return IS(k, "text") ? MESSAGES_TEXT : 0;
	case K(8, 't'): return IS(k, "thinking") ? MESSAGES_THINKING : 0;
	case K(12, 'p'):
		return IS(k, "partial_json") ? MESSAGES_PARTIAL_JSON : 0;
	case K(9, 's'): return IS(k, "signature") ? MESSAGES_SIGNATURE : 0;
	case K(11, 's'): return IS(k, "stop_reason") ? MESSAGES_STOP : 0;
	}
	return 0;
}

static uint8_t
messages_key(const struct answer *a, uint8_t node, const char *k, size_t n)
{
	switch (node) {
	case ANSWER_ROOT: return messages_root_key(a, k, n);
	case MESSAGES_MESSAGE: return messages_message_key(k, n);
	case MESSAGES_BLOCK: return messages_block_key(k, n);
	case MESSAGES_DELTA: return messages_delta_key(k, n);
	}
	return 0;
}

#undef K
#undef IS

static enum json_wish
messages_container(struct answer *a, enum json_event event, int depth)
{
	struct messages *s = messages_of(a);

	switch (answer_node(a, depth)) {
	case MESSAGES_USAGE:
		return answer_capture(
		    a, &a->usage_capture, event, depth, NULL, 0, false);
	case MESSAGES_ERROR:
		return answer_capture(
		    a, &a->error_capture, event, depth, NULL, 0, false);
	case MESSAGES_BLOCK:
		if (event == JSON_OBJECT) {
			s->is_call = false;
			s->is_result = false;
			s->n_name = 0;
			s->n_raw_name = 0;
			s->n_input = 0;
		}
		break;
	case MESSAGES_INPUT:
		/* Its size is asked, not what is in it. */
		s->input_start = a->json->offset - 1;
		(void)answer_enter(a, event, depth);
		return JSON_SKIP;
	case ANSWER_ROOT:
	case MESSAGES_MESSAGE:
	case MESSAGES_DELTA: break;
	default: return answer_pass_over(a, depth);
	}
	return answer_enter(a, event, depth);
}

static void
messages_block_end(struct answer *a)
{
	struct messages *s = messages_of(a);

	if (s->is_result)
		return;
	timing_gen_start(&a->timing, a->now_ns);
	answer_generated(a, TIMING_TOOL, s->n_raw_name);
	/* A stream opens a call with an empty input as a place-holder. */
	if (!a->is_stream || s->n_input > 2)
		answer_generated(a, TIMING_TOOL, s->n_input);
	s->is_open_call = s->is_call;
	if (s->is_call)
		answer_count_call(a, s->n_name);
}

static void
messages_container_end(struct answer *a, int depth)
{
	struct messages *s = messages_of(a);

	switch (answer_inside(a, depth)) {
	case MESSAGES_INPUT:
		s->n_input = a->json->offset - s->input_start;
		break;
	case MESSAGES_BLOCK: messages_block_end(a); break;
	}
}

static enum messages_type
messages_type_of(const char *s, size_t n)
{
	static const struct {
		const char *name;
		enum messages_type type;
	} types[] = {
	    {"content_block_delta", MESSAGES_BLOCK_DELTA},
	    {"content_block_start", MESSAGES_BLOCK_START},
	    {"content_block_stop", MESSAGES_BLOCK_STOP},
	    {"message_start", MESSAGES_START},
	    {"message_delta", MESSAGES_MESSAGE_DELTA},
	    {"message_stop", MESSAGES_STOP_EVENT},
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (strlen(types[i].name) == n &&
		    memcmp(types[i].name, s, n) == 0)
			return types[i].type;
	return MESSAGES_OTHER_EVENT;
}

static void
messages_block_type(struct answer *a)
{
	static const char result[] = "_tool_result";
	struct messages *s = messages_of(a);
	size_t n = sizeof(result) - 1;

	s->is_call = a->n_text == 8 && memcmp(a->text, "tool_use", 8) == 0;
	s->is_result = a->n_text > n &&
		       memcmp(a->text + a->n_text - n, result, n) == 0;
}

static void
messages_text(struct answer *a, uint8_t node)
{
	struct messages *s = messages_of(a);

	switch (node) {
	case MESSAGES_TYPE:
		s->type = messages_type_of(a->text, a->n_text);
		break;
	case MESSAGES_ID:
		s->new_id = answer_hash(a->text, a->n_text);
		if (a->t->upstream_request_id == NULL)
			answer_set_text(a, &a->t->upstream_request_id);
		break;
	case MESSAGES_MODEL:
		if (!a->has_model)
			answer_set_text(a, &a->t->model_served);
		a->has_model = a->has_model || a->n_text > 0;
		break;
	case MESSAGES_STOP: answer_set_text(a, &a->t->finish_reason); break;
	case MESSAGES_BLOCK_TYPE: messages_block_type(a); break;
	case MESSAGES_NAME: s->n_name = answer_keep_name(a); break;
	}
	a->n_text = 0;
}

static void
messages_string(
    struct answer *a, uint8_t node, const char *data, size_t n, bool is_last)
{
	struct messages *s = messages_of(a);
	bool was_plain = a->is_plain;

	switch (node) {
	case MESSAGES_TEXT:
		answer_tell(a, TIMING_TEXT, data, n, is_last);
		return;
	case MESSAGES_THINKING:
		answer_tell(a, TIMING_REASONING, data, n, is_last);
		return;
	case MESSAGES_PARTIAL_JSON:
		answer_generated(
		    a, TIMING_TOOL, answer_text_bytes(a, data, n, is_last));
		return;
	case MESSAGES_SIGNATURE:
		/* All that is seen of thinking that is not shown. */
		a->is_plain = false;
		timing_gen_start(&a->timing, a->now_ns);
		return;
	case MESSAGES_NAME: s->n_raw_name = (uint16_t)(s->n_raw_name + n);
	}
	if (node == ANSWER_SKIP || !answer_string(a, data, n, is_last))
		return;
	messages_text(a, node);
	/* That one type does nothing but bring what is told. */
	if (node == MESSAGES_TYPE && s->type == MESSAGES_BLOCK_DELTA)
		a->is_plain = was_plain;
}

static enum json_wish
messages_json(void *cls, enum json_event event, int depth, const char *data,
    size_t n, bool is_last)
{
	struct answer *a = cls;
	uint8_t node;

	if (a->capture != NULL)
		return answer_captured(a, event, depth, data, n, is_last);
	switch (event) {
	case JSON_KEY:
		if (depth >= ANSWER_DEPTH || n == 0)
			a->next = ANSWER_SKIP;
		else
			a->next = messages_key(a, a->node[depth], data, n);
		return a->next == ANSWER_SKIP ? JSON_SKIP : JSON_WANT;
	case JSON_OBJECT:
	case JSON_ARRAY: return messages_container(a, event, depth);
	case JSON_OBJECT_END: messages_container_end(a, depth); break;
	case JSON_STRING:
		node = answer_node(a, depth);
		if (node == MESSAGES_ERROR)
			return answer_capture(a, &a->error_capture, event,
			    depth, data, n, is_last);
		messages_string(a, node, data, n, is_last);
		break;
	case JSON_DOCUMENT_END: answer_document_end(a); break;
	case JSON_FAILED: a->saw_failure = true; break;
	case JSON_ARRAY_END:
	case JSON_NUMBER:
	case JSON_TRUE:
	case JSON_FALSE:
	case JSON_NULL: break;
	}
	return JSON_WANT;
}

/* Another message within the same stream: what was known was of the first. */
static void
messages_begin(struct answer *a)
{
	struct messages *s = messages_of(a);

	if (s->id != 0 && s->new_id != 0 && s->id != s->new_id) {
		usage_forget(&a->usage);
		answer_forget_calls(a);
		s->has_final_usage = false;
		a->t->finish_reason = NULL;
		turn_add_flag(a->t, "second_message");
	}
	if (s->new_id != 0)
		s->id = s->new_id;
}

static void
messages_take_usage(struct answer *a)
{
	struct messages *s = messages_of(a);
	bool is_first = s->type == MESSAGES_START;

	usage_merge(&a->usage, buf_data(&a->usage_capture.text),
	    buf_len(&a->usage_capture.text), !s->has_final_usage, a->t);
	s->has_final_usage = s->has_final_usage || !is_first;
	a->has_news = true;
}

static void
messages_event(struct answer *a)
{
	struct messages *s = messages_of(a);

	if (s->type == MESSAGES_START)
		messages_begin(a);
	if (a->saw_usage)
		messages_take_usage(a);
	if (s->is_open_call && (s->type == MESSAGES_BLOCK_STOP ||
				   s->type == MESSAGES_MESSAGE_DELTA)) {
		timing_tool_ready(&a->timing, a->now_ns);
		s->is_open_call = false;
	}
	if (s->type == MESSAGES_STOP_EVENT && !a->saw_error)
		answer_decide(a, ANSWER_TERMINAL);
	s->type = MESSAGES_OTHER_EVENT;
	s->new_id = 0;
}

/* The written part of the cache by its time to live; NULL, and the whole is
 * taken for the cheap one, where the split is missing or does not add up. */
static void
messages_settle_writes(
    const struct usage_doc *d, struct usage_counts *c, struct turn *t)
{
	int64_t short_lived = usage_int(
	    d, "cache_creation.ephemeral_5m_input_tokens");
	int64_t long_lived = usage_int(
	    d, "cache_creation.ephemeral_1h_input_tokens");
	int64_t sum;

	if (short_lived == TURN_NULL && long_lived == TURN_NULL) {
		if (c->cache_write > 0)
			turn_add_flag(t, "cache_ttl_unknown");
		return;
	}
	sum = (short_lived != TURN_NULL ? short_lived : 0) +
	      (long_lived != TURN_NULL ? long_lived : 0);
	if (c->cache_write == TURN_NULL)
		c->cache_write = sum;
	if (c->cache_write != sum)
		turn_add_flag(t, "cache_ttl_inconsistent");
	else
		c->cache_write_1h = long_lived;
}

static void
messages_add(int64_t *total, int64_t part)
{
	if (part != TURN_NULL)
		*total = part + (*total != TURN_NULL ? *total : 0);
}

static bool
messages_is(const char *s, size_t n, const char *word)
{
	return n == strlen(word) && memcmp(s, word, n) == 0;
}

/* The passes of one answer. All but these are in the totals already. */
static void
messages_settle_passes(
    const struct usage_doc *d, struct usage_counts *c, struct turn *t)
{
	size_t n = usage_count(d, "iterations");

	for (size_t i = 0; i < n && i < 64; i++) {
		static const char *const names[] = {"type", "input_tokens",
		    "cache_read_input_tokens", "cache_creation_input_tokens",
		    "output_tokens"};
		int64_t *const counts[] = {NULL, &c->input, &c->cache_read,
		    &c->cache_write, &c->output};
		char path[64];
		const char *type;
		size_t n_type;

		snprintf(path, sizeof(path), "iterations.%zu.type", i);
		type = usage_text(d, path, &n_type);
		if (messages_is(type, n_type, "advisor_message"))
			turn_add_flag(t, "advisor");
		if (messages_is(type, n_type, "fallback_message"))
			turn_add_flag(t, "fallback");
		if (!messages_is(type, n_type, "compaction"))
			continue;
		turn_add_flag(t, "compaction");
		for (size_t j = 1; j < sizeof(names) / sizeof(*names); j++) {
			snprintf(path, sizeof(path), "iterations.%zu.%s", i,
			    names[j]);
			messages_add(counts[j], usage_int(d, path));
		}
	}
}

static int
messages_stop(const struct answer *a)
{
	static const struct {
		const char *reason;
		int stop;
	} stops[] = {
	    {"end_turn", TURN_STOP_FINAL},
	    {"stop_sequence", TURN_STOP_FINAL},
	    {"tool_use", TURN_STOP_TOOL_CALLS},
	    {"max_tokens", TURN_STOP_LENGTH},
	    {"model_context_window_exceeded", TURN_STOP_LENGTH},
	    {"refusal", TURN_STOP_FILTERED},
	};
	const char *reason = a->t->finish_reason;

	if (reason == NULL)
		return a->end == ANSWER_TERMINAL ? TURN_STOP_UNKNOWN
						 : TURN_STOP_NULL;
	for (size_t i = 0; i < sizeof(stops) / sizeof(*stops); i++)
		if (strcmp(stops[i].reason, reason) == 0)
			return stops[i].stop == TURN_STOP_FINAL &&
				       a->n_calls > 0
				   ? TURN_STOP_TOOL_CALLS
				   : stops[i].stop;
	/* A server's tool is at work; the client sends the same again. */
	if (strcmp(reason, "pause_turn") == 0)
		turn_add_flag(a->t, "paused");
	return TURN_STOP_UNKNOWN;
}

static void
messages_settle_counts(const struct answer *a, const struct usage_doc *d)
{
	const struct messages *s =
	    (const struct messages *)(const void *)a->state;
	struct usage_counts c = {
	    .input = usage_int(d, "input_tokens"),
	    .cache_read = usage_int(d, "cache_read_input_tokens"),
	    .cache_write = usage_int(d, "cache_creation_input_tokens"),
	    .cache_write_1h = TURN_NULL,
	    .output = usage_int(d, "output_tokens"),
	    .reasoning = usage_int(d, "output_tokens_details.thinking_tokens"),
	    .total = TURN_NULL,
	};

	/* The start's count of the output is a place-holder. */
	if (!s->has_final_usage)
		c.output = c.reasoning = TURN_NULL;
	messages_settle_writes(d, &c, a->t);
	messages_settle_passes(d, &c, a->t);
	usage_settle_disjoint(&c, a->t);
}

static void
messages_settle(struct answer *a)
{
	const struct messages *s = messages_of(a);
	struct turn *t = a->t;
	struct usage_doc *d = usage_open(&a->usage);

	if (d != NULL) {
		messages_settle_counts(a, d);
		usage_settle_cost(d, t);
	}
	usage_settle_tier(d, t);
	usage_settle_raw(&a->usage, t);
	usage_doc_free(d);
	if (t->input_tokens == TURN_NULL && t->output_tokens == TURN_NULL)
		t->usage_source = TURN_USAGE_SOURCE_NONE;
	else if (s->has_final_usage &&
		 (a->end == ANSWER_TERMINAL || t->finish_reason != NULL))
		t->usage_source = TURN_USAGE_SOURCE_REPORTED;
	else
		t->usage_source = TURN_USAGE_SOURCE_PARTIAL;
	t->stop = messages_stop(a);
}

static const struct protocol_path messages_paths[] = {
    {"POST", "/messages", TURN_KIND_TURN, NULL},
    {"POST", "/messages/count_tokens", TURN_KIND_COUNT_TOKENS, NULL},
    {"POST", "/messages/batches", TURN_KIND_OTHER, NULL},
    {"POST", "/complete", TURN_KIND_OTHER, NULL}, /* tells no usage */
    /* Vertex */
    {"POST", "/publishers/anthropic/models/count-tokens:rawPredict",
	TURN_KIND_COUNT_TOKENS, NULL},
    {"POST", "/publishers/anthropic/models/{model}:rawPredict", TURN_KIND_TURN,
	NULL},
    {"POST", "/publishers/anthropic/models/{model}:streamRawPredict",
	TURN_KIND_TURN, NULL},
    {NULL, NULL, 0, NULL},
};

const struct protocol protocol_anthropic = {
    .name = "anthropic",
    .paths = messages_paths,
    .request = REQUEST_SHAPE_ANTHROPIC,
    .error = ERROR_SHAPE_ANTHROPIC,
    .json = messages_json,
    .event = messages_event,
    .settle = messages_settle,
};
