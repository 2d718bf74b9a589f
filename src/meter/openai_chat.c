/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * openai_chat: OpenAI Chat Completions and all who speak it.
 *
 * One reader for all dialects: they differ in where they put the usage object
 * and in how they call its counters, hardly in the rest. The names are in
 * docs/protocols/openai-chat.md, each with the case of tests/wire that shows
 * it. A stream and a whole document differ in `delta` and `message` only.
 */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "meter/answer.h"
#include "meter/protocol.h"
#include "record/turn.h"

enum chat_node {
	CHAT_ID = ANSWER_ROOT + 1,
	CHAT_MODEL,
	CHAT_TIER,
	CHAT_USAGE,
	CHAT_ERROR,
	CHAT_X_GROQ,
	CHAT_CHOICES,
	CHAT_INDEX,
	CHAT_FINISH,
	CHAT_DELTA,
	CHAT_CONTENT, /* a string or a list of parts */
	CHAT_TEXT,
	CHAT_REASONING,
	CHAT_THINKING, /* Mistral's: a string or a list of parts */
	CHAT_DETAILS,
	CHAT_DETAILS_TEXT,
	CHAT_AUDIO,
	CHAT_AUDIO_DATA,
	CHAT_CALLS,
	CHAT_CALL_INDEX,
	CHAT_CALL_ID,
	CHAT_FUNCTION,
	CHAT_FUNCTION_CALL, /* the older, single one */
	CHAT_CALL_NAME,
	CHAT_ARGUMENTS,
	CHAT_TIMINGS,   /* llama.cpp */
	CHAT_TIME_INFO, /* Cerebras */
	CHAT_TIME,      /* the first of enum chat_time */
};

/* Times and counts that a server gives outside its usage object. */
enum chat_time {
	CHAT_TIME_QUEUE_S,
	CHAT_TIME_PROMPT_S,
	CHAT_TIME_COMPLETION_S,
	CHAT_TIME_PROMPT_N,
	CHAT_TIME_PROMPT_MS,
	CHAT_TIME_CACHE_N,
	CHAT_TIME_PREDICTED_N,
	CHAT_TIME_PREDICTED_MS,
	CHAT_TIMES
};

struct chat {
	/* of the event */
	int32_t choice;
	bool has_choice;
	bool has_finish;
	bool is_finish_error;
	bool has_timings;
	uint8_t reasoning_key; /* length of the first of several spellings */
	int64_t reasoning_bytes;
	int64_t details_bytes;
	/* of the tool call that is being read */
	int32_t call_index;
	uint32_t call_id;
	uint8_t n_name;
	uint16_t n_raw_name;
	/* of the answer */
	bool has_tier;
	bool is_several; /* more than one choice */
	bool finished_first;
	int64_t earlier_completions; /* llama.cpp with n > 1 */
	double times[CHAT_TIMES];
};
static_assert(sizeof(struct chat) <= ANSWER_STATE_BYTES, "room in answer");

static struct chat *
chat_of(struct answer *a)
{
	return (struct chat *)(void *)a->state;
}

static void
chat_open(struct answer *a)
{
	struct chat *c = chat_of(a);

	for (int i = 0; i < CHAT_TIMES; i++)
		c->times[i] = NAN;
}

#define K  ANSWER_KEY
#define IS ANSWER_IS

static uint8_t
chat_root_key(struct answer *a, const char *k, size_t n)
{
	switch (K(n, *k)) {
	case K(2, 'i'): return a->has_id || !IS(k, "id") ? 0 : CHAT_ID;
	case K(5, 'm'): return a->has_model || !IS(k, "model") ? 0 : CHAT_MODEL;
	case K(5, 'u'): return IS(k, "usage") ? CHAT_USAGE : 0;
	case K(5, 'e'): return IS(k, "error") ? CHAT_ERROR : 0;
	case K(6, 'x'): return IS(k, "x_groq") ? CHAT_X_GROQ : 0;
	case K(7, 'c'): return IS(k, "choices") ? CHAT_CHOICES : 0;
	case K(7, 't'): return IS(k, "timings") ? CHAT_TIMINGS : 0;
	case K(9, 't'): return IS(k, "time_info") ? CHAT_TIME_INFO : 0;
	case K(12, 's'):
		return chat_of(a)->has_tier || !IS(k, "service_tier")
			   ? 0
			   : CHAT_TIER;
	}
	return 0;
}

static uint8_t
chat_choice_key(const struct answer *a, const char *k, size_t n)
{
	switch (K(n, *k)) {
	case K(5, 'i'): return IS(k, "index") ? CHAT_INDEX : 0;
	/* Perplexity sends the whole message so far beside each delta. */
	case K(5, 'd'): return IS(k, "delta") ? CHAT_DELTA : 0;
	case K(7, 'm'):
		return !a->is_stream && IS(k, "message") ? CHAT_DELTA : 0;
	case K(13, 'f'): return IS(k, "finish_reason") ? CHAT_FINISH : 0;
	case K(5, 'u'): return IS(k, "usage") ? CHAT_USAGE : 0;
	case K(5, 'e'): return IS(k, "error") ? CHAT_ERROR : 0;
	}
	return 0;
}

/* Of several spellings of the same text in one delta the first counts. */
static uint8_t
chat_reasoning_key(struct answer *a, size_t n)
{
	struct chat *c = chat_of(a);

	if (c->reasoning_bytes > 0 && c->reasoning_key != n)
		return ANSWER_SKIP;
	c->reasoning_key = (uint8_t)n;
	return CHAT_REASONING;
}

static uint8_t
chat_delta_key(struct answer *a, const char *k, size_t n)
{
	switch (K(n, *k)) {
	case K(7, 'c'): return IS(k, "content") ? CHAT_CONTENT : 0;
	case K(7, 'r'): return IS(k, "refusal") ? CHAT_TEXT : 0;
	case K(9, 'r'):
		return IS(k, "reasoning") ? chat_reasoning_key(a, n) : 0;
	case K(17, 'r'):
		if (IS(k, "reasoning_content"))
			return chat_reasoning_key(a, n);
		return IS(k, "reasoning_details") ? CHAT_DETAILS : 0;
	case K(10, 't'): return IS(k, "tool_calls") ? CHAT_CALLS : 0;
	case K(13, 'f'): return IS(k, "function_call") ? CHAT_FUNCTION_CALL : 0;
	case K(5, 'a'): return IS(k, "audio") ? CHAT_AUDIO : 0;
	}
	return 0;
}

static uint8_t
chat_part_key(uint8_t node, const char *k, size_t n)
{
	switch (K(n, *k)) {
	case K(4, 't'):
		if (!IS(k, "text"))
			return 0;
		return node == CHAT_CONTENT    ? CHAT_TEXT
		       : node == CHAT_THINKING ? CHAT_REASONING
					       : CHAT_DETAILS_TEXT;
	case K(8, 't'):
		return node == CHAT_CONTENT && IS(k, "thinking") ? CHAT_THINKING
								 : 0;
	case K(7, 's'):
		return node == CHAT_DETAILS && IS(k, "summary")
			   ? CHAT_DETAILS_TEXT
			   : 0;
	}
	return 0;
}

static uint8_t
chat_call_key(uint8_t node, const char *k, size_t n)
{
	switch (K(n, *k)) {
	case K(5, 'i'):
		if (node == CHAT_CALLS)
			return IS(k, "index") ? CHAT_CALL_INDEX : 0;
		return IS(k, "input") ? CHAT_ARGUMENTS : 0;
	case K(2, 'i'): return IS(k, "id") ? CHAT_CALL_ID : 0;
	case K(8, 'f'): return IS(k, "function") ? CHAT_FUNCTION : 0;
	case K(6, 'c'): return IS(k, "custom") ? CHAT_FUNCTION : 0;
	case K(4, 'n'): return IS(k, "name") ? CHAT_CALL_NAME : 0;
	case K(9, 'a'): return IS(k, "arguments") ? CHAT_ARGUMENTS : 0;
	}
	return 0;
}

static uint8_t
chat_time_key(uint8_t node, const char *k, size_t n)
{
	static const struct {
		uint8_t node;
		const char *key;
	} keys[CHAT_TIMES] = {
	    [CHAT_TIME_QUEUE_S] = {CHAT_TIME_INFO, "queue_time"},
	    [CHAT_TIME_PROMPT_S] = {CHAT_TIME_INFO, "prompt_time"},
	    [CHAT_TIME_COMPLETION_S] = {CHAT_TIME_INFO, "completion_time"},
	    [CHAT_TIME_PROMPT_N] = {CHAT_TIMINGS, "prompt_n"},
	    [CHAT_TIME_PROMPT_MS] = {CHAT_TIMINGS, "prompt_ms"},
	    [CHAT_TIME_CACHE_N] = {CHAT_TIMINGS, "cache_n"},
	    [CHAT_TIME_PREDICTED_N] = {CHAT_TIMINGS, "predicted_n"},
	    [CHAT_TIME_PREDICTED_MS] = {CHAT_TIMINGS, "predicted_ms"},
	};

	for (int i = 0; i < CHAT_TIMES; i++)
		if (keys[i].node == node && strlen(keys[i].key) == n &&
		    memcmp(keys[i].key, k, n) == 0)
			return (uint8_t)(CHAT_TIME + i);
	return 0;
}

static uint8_t
chat_key(struct answer *a, uint8_t node, const char *k, size_t n)
{
	switch (node) {
	case ANSWER_ROOT: return chat_root_key(a, k, n);
	case CHAT_CHOICES: return chat_choice_key(a, k, n);
	case CHAT_DELTA: return chat_delta_key(a, k, n);
	case CHAT_CONTENT:
	case CHAT_THINKING:
	case CHAT_DETAILS: return chat_part_key(node, k, n);
	case CHAT_CALLS:
	case CHAT_FUNCTION:
	case CHAT_FUNCTION_CALL: return chat_call_key(node, k, n);
	case CHAT_TIMINGS:
	case CHAT_TIME_INFO: return chat_time_key(node, k, n);
	case CHAT_X_GROQ: return n == 5 && IS(k, "usage") ? CHAT_USAGE : 0;
	case CHAT_AUDIO:
		return n == 4 && IS(k, "data")          ? CHAT_AUDIO_DATA
		       : n == 10 && IS(k, "transcript") ? CHAT_TEXT
							: 0;
	}
	return 0;
}

#undef K
#undef IS

static enum json_wish
chat_container(struct answer *a, enum json_event event, int depth)
{
	struct chat *c = chat_of(a);

	switch (answer_node(a, depth)) {
	case CHAT_USAGE:
		return answer_capture(
		    a, &a->usage_capture, event, depth, NULL, 0, false);
	case CHAT_ERROR:
		return answer_capture(
		    a, &a->error_capture, event, depth, NULL, 0, false);
	case CHAT_CHOICES:
		if (event == JSON_OBJECT) {
			c->choice = 0;
			c->has_choice = true;
		}
		break;
	case CHAT_CALLS:
	case CHAT_FUNCTION_CALL:
		if (event == JSON_OBJECT) {
			c->call_index = -1;
			c->call_id = 0;
			c->n_name = 0;
			c->n_raw_name = 0;
		}
		break;
	case CHAT_TIMINGS: c->has_timings = true; break;
	case ANSWER_ROOT:
	case CHAT_X_GROQ:
	case CHAT_DELTA:
	case CHAT_CONTENT:
	case CHAT_THINKING:
	case CHAT_DETAILS:
	case CHAT_AUDIO:
	case CHAT_FUNCTION:
	case CHAT_TIME_INFO: break;
	default: /* an object where a value belongs */
		return answer_pass_over(a, depth);
	}
	return answer_enter(a, event, depth);
}

/* The object of a tool call, or of a piece of one, is over. */
static void
chat_call_end(struct answer *a, bool is_single)
{
	struct chat *c = chat_of(a);
	int32_t index = is_single ? 0 : c->call_index;

	/* Snowflake fills every answer with an empty function_call. */
	if (is_single && c->n_name == 0)
		return;
	if (index >= 0)
		index += c->choice * 4096;
	if (!answer_call_is_new(a, index, c->call_id, c->n_name > 0))
		return;
	if (a->n_calls > 0)
		timing_tool_ready(&a->timing, a->now_ns);
	answer_generated(a, TIMING_TOOL, c->n_raw_name);
	answer_count_call(a, c->n_name);
}

static void
chat_string(struct answer *a, uint8_t node, const char *s, size_t n, bool last)
{
	struct chat *c = chat_of(a);

	switch (node) {
	case CHAT_CONTENT:
	case CHAT_TEXT: answer_tell(a, TIMING_TEXT, s, n, last); return;
	case CHAT_REASONING:
		c->reasoning_bytes += (int64_t)n;
		answer_tell(a, TIMING_REASONING, s, n, last);
		return;
	case CHAT_THINKING:
		answer_tell(a, TIMING_REASONING, s, n, last);
		return;
	case CHAT_ARGUMENTS:
		answer_generated(
		    a, TIMING_TOOL, answer_text_bytes(a, s, n, last));
		return;
	case CHAT_DETAILS_TEXT:
		a->is_plain = false;
		c->details_bytes += (int64_t)answer_text_bytes(a, s, n, last);
		return;
	case CHAT_AUDIO_DATA: answer_generated(a, TIMING_TEXT, n); return;
	case CHAT_CALL_NAME: c->n_raw_name = (uint16_t)(c->n_raw_name + n);
	}
	if (!answer_string(a, s, n, last))
		return;
	switch (node) {
	case CHAT_ID:
		a->has_id = a->n_text > 0;
		if (a->t->upstream_request_id == NULL)
			answer_set_text(a, &a->t->upstream_request_id);
		break;
	case CHAT_MODEL:
		a->has_model = a->n_text > 0;
		answer_set_text(a, &a->t->model_served);
		break;
	case CHAT_TIER:
		c->has_tier = a->n_text > 0;
		answer_set_text(a, &a->t->service_tier);
		break;
	case CHAT_FINISH:
		if (a->n_text == 0)
			break;
		c->has_finish = true;
		c->is_finish_error = a->n_text == 5 &&
				     memcmp(a->text, "error", 5) == 0;
		answer_set_text(a, &a->t->finish_reason);
		break;
	case CHAT_CALL_ID: c->call_id = answer_hash(a->text, a->n_text); break;
	case CHAT_CALL_NAME:
		if (a->n_text == 0) /* of an unused form of the same call */
			break;
		c->n_name = answer_keep_name(a);
		break;
	}
	a->n_text = 0;
}

static void
chat_number(struct answer *a, uint8_t node, const char *s, size_t n)
{
	struct chat *c = chat_of(a);
	char text[JSON_NUMBER_BYTES + 1];
	int64_t value;

	if (node >= CHAT_TIME) {
		if (n >= sizeof(text))
			return;
		memcpy(text, s, n);
		text[n] = '\0';
		c->times[node - CHAT_TIME] = strtod(text, NULL);
		return;
	}
	if (node != CHAT_INDEX && node != CHAT_CALL_INDEX)
		return;
	if (n == 1 && *s >= '0' && *s <= '9')
		value = *s - '0';
	else if (!json_number_int(s, n, &value) || value < 0 || value > 4095)
		return;
	if (node == CHAT_CALL_INDEX) {
		c->call_index = (int32_t)value;
		return;
	}
	c->choice = (int32_t)value;
	c->is_several = c->is_several || value > 0;
}

static enum json_wish
chat_json(void *cls, enum json_event event, int depth, const char *data,
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
			a->next = chat_key(a, a->node[depth], data, n);
		return a->next == ANSWER_SKIP ? JSON_SKIP : JSON_WANT;
	case JSON_OBJECT:
	case JSON_ARRAY: return chat_container(a, event, depth);
	case JSON_OBJECT_END:
		node = answer_inside(a, depth);
		if (node == CHAT_CALLS || node == CHAT_FUNCTION_CALL)
			chat_call_end(a, node == CHAT_FUNCTION_CALL);
		break;
	case JSON_STRING:
		node = answer_node(a, depth);
		if (node == CHAT_ERROR && !(n == 0 && is_last))
			return answer_capture(a, &a->error_capture, event,
			    depth, data, n, is_last);
		chat_string(a, node, data, n, is_last);
		break;
	case JSON_NUMBER: chat_number(a, answer_node(a, depth), data, n); break;
	case JSON_TRUE:
		if (answer_node(a, depth) == CHAT_ERROR)
			a->saw_error = true;
		break;
	case JSON_DOCUMENT_END: answer_document_end(a); break;
	case JSON_FAILED: a->saw_failure = true; break;
	case JSON_ARRAY_END:
	case JSON_FALSE:
	case JSON_NULL: break;
	}
	return JSON_WANT;
}

/* llama.cpp ends each of several candidates with a usage chunk of its own that
 * repeats the prompt: there alone the completions add up. */
static void
chat_take_usage(struct answer *a)
{
	struct chat *c = chat_of(a);
	bool adds = c->is_several && c->has_timings && !c->has_choice;

	if (adds && usage_is_known(&a->usage)) {
		struct usage_doc *d = usage_open(&a->usage);
		int64_t n = usage_int(d, "completion_tokens");

		if (n != TURN_NULL)
			c->earlier_completions += n;
		usage_doc_free(d);
	}
	if (usage_replace(&a->usage, buf_data(&a->usage_capture.text),
		buf_len(&a->usage_capture.text)))
		a->has_news = true;
}

static void
chat_event(struct answer *a)
{
	struct chat *c = chat_of(a);

	if (a->saw_usage)
		chat_take_usage(a);
	if (c->details_bytes > 0 && c->reasoning_bytes == 0) {
		answer_generated(a, TIMING_REASONING, (size_t)c->details_bytes);
		timing_piece_end(&a->timing);
	}
	if (c->is_finish_error)
		a->saw_error = true;
	if (c->has_finish && !a->saw_error) {
		if (a->n_calls > 0)
			timing_tool_ready(&a->timing, a->now_ns);
		/* Of several choices the last one to finish ends the answer. */
		if (c->choice > 0 && a->end == ANSWER_TERMINAL)
			a->end_ns = a->now_ns;
		answer_decide(a, ANSWER_TERMINAL);
	}
	c->choice = 0;
	c->has_choice = false;
	c->has_finish = false;
	c->is_finish_error = false;
	c->has_timings = false;
	c->reasoning_bytes = 0;
	c->details_bytes = 0;
}

static int
chat_stop(const struct answer *a)
{
	static const struct {
		const char *reason;
		int stop;
	} stops[] = {
	    {"stop", TURN_STOP_FINAL},
	    {"eos", TURN_STOP_FINAL},
	    {"end_turn", TURN_STOP_FINAL},
	    {"stop_sequence", TURN_STOP_FINAL},
	    {"tool_calls", TURN_STOP_TOOL_CALLS},
	    {"function_call", TURN_STOP_TOOL_CALLS},
	    {"tool_use", TURN_STOP_TOOL_CALLS},
	    {"length", TURN_STOP_LENGTH},
	    {"max_tokens", TURN_STOP_LENGTH},
	    {"model_length", TURN_STOP_LENGTH},
	    {"model_context_window_exceeded", TURN_STOP_LENGTH},
	    {"repetition_truncation", TURN_STOP_LENGTH},
	    {"content_filter", TURN_STOP_FILTERED},
	    {"sensitive", TURN_STOP_FILTERED},
	    {"refusal", TURN_STOP_FILTERED},
	};
	int stop = TURN_STOP_UNKNOWN;

	if (a->t->finish_reason == NULL && a->n_calls == 0)
		return a->end == ANSWER_TERMINAL ? TURN_STOP_UNKNOWN
						 : TURN_STOP_NULL;
	for (size_t i = 0; i < sizeof(stops) / sizeof(*stops); i++)
		if (a->t->finish_reason != NULL &&
		    strcmp(stops[i].reason, a->t->finish_reason) == 0)
			stop = stops[i].stop;
	/* A forced tool call ends with "stop". */
	if (a->n_calls > 0 &&
	    (stop == TURN_STOP_FINAL || stop == TURN_STOP_UNKNOWN))
		stop = TURN_STOP_TOOL_CALLS;
	return stop;
}

/* The first spelling that is known, in the order of trust. */
static const char *const chat_cache_read_paths[] = {
    "prompt_tokens_details.cached_tokens",
    "prompt_token_details.cached_tokens", /* Mistral, sic */
    "prompt_cache_hit_tokens",            /* DeepSeek */
    "cached_tokens",                      /* Moonshot, Together */
    "num_cached_tokens",                  /* Mistral, older */
    "cache_read_input_tokens",            /* Venice */
    NULL,
};
static const char *const chat_cache_write_paths[] = {
    "prompt_tokens_details.cache_write_tokens",
    "prompt_tokens_details.cache_creation_input_tokens", /* Alibaba */
    "cache_creation_input_tokens",
    NULL,
};
static const char *const chat_reasoning_paths[] = {
    "completion_tokens_details.reasoning_tokens",
    "reasoning_tokens", /* Copilot, SGLang, Perplexity */
    NULL,
};

static void
chat_settle_counts(const struct answer *a, const struct usage_doc *d)
{
	const struct chat *c = (const struct chat *)(const void *)a->state;
	struct usage_counts counts = {
	    .input = usage_int(d, "prompt_tokens"),
	    .cache_read = usage_first_int(d, chat_cache_read_paths),
	    .cache_write = usage_first_int(d, chat_cache_write_paths),
	    .cache_write_1h = TURN_NULL,
	    .output = usage_int(d, "completion_tokens"),
	    .reasoning = usage_first_int(d, chat_reasoning_paths),
	    .total = usage_int(d, "total_tokens"),
	};
	int64_t miss = usage_int(d, "prompt_cache_miss_tokens");

	if (counts.input == TURN_NULL && miss != TURN_NULL &&
	    counts.cache_read != TURN_NULL)
		counts.input = miss + counts.cache_read;
	/* Voxtral: audio is in the total alone, and it is input. */
	if (!isnan(usage_real(d, "prompt_audio_seconds")) &&
	    counts.total != TURN_NULL && counts.output != TURN_NULL &&
	    counts.total - counts.output > counts.input)
		counts.input = counts.total - counts.output;
	if (c->earlier_completions > 0 && counts.output != TURN_NULL) {
		counts.output += c->earlier_completions;
		counts.total = TURN_NULL;
		turn_add_flag(a->t, "several_choices");
	}
	usage_settle_inclusive(&counts, a->t);
}

/* No usage, but llama.cpp's own counts of what it did. */
static void
chat_settle_timings(const struct answer *a)
{
	const struct chat *c = (const struct chat *)(const void *)a->state;
	const double *times = c->times;
	struct turn *t = a->t;

	if (isnan(times[CHAT_TIME_PREDICTED_N]) ||
	    isnan(times[CHAT_TIME_PROMPT_N]) || c->is_several)
		return;
	t->output_tokens = llround(times[CHAT_TIME_PREDICTED_N]);
	t->uncached_tokens = llround(times[CHAT_TIME_PROMPT_N]);
	if (!isnan(times[CHAT_TIME_CACHE_N])) {
		t->cache_read_tokens = llround(times[CHAT_TIME_CACHE_N]);
		t->input_tokens = t->uncached_tokens + t->cache_read_tokens;
	}
	turn_add_flag(t, "usage_from_timings");
}

static double
chat_first_real(double a, double b)
{
	return isnan(a) ? b : a;
}

static void
chat_settle_times(const struct answer *a, const struct usage_doc *d)
{
	const struct chat *c = (const struct chat *)(const void *)a->state;
	const double *times = c->times;
	struct turn *t = a->t;
	double checkpoint = usage_real(d, "latency_checkpoint.engine_ttft_ms");

	/* Groq in its usage, Cerebras beside it, in seconds. */
	t->server_queue_ms = 1e3 * chat_first_real(usage_real(d, "queue_time"),
				       times[CHAT_TIME_QUEUE_S]);
	t->server_prefill_ms = 1e3 *
			       chat_first_real(usage_real(d, "prompt_time"),
				   times[CHAT_TIME_PROMPT_S]);
	t->server_decode_ms = 1e3 *
			      chat_first_real(usage_real(d, "completion_time"),
				  times[CHAT_TIME_COMPLETION_S]);
	/* llama.cpp. */
	if (!isnan(times[CHAT_TIME_PROMPT_MS])) {
		t->server_prefill_ms = times[CHAT_TIME_PROMPT_MS];
		t->server_decode_ms = times[CHAT_TIME_PREDICTED_MS];
	}
	/* mistral.rs. */
	if (!isnan(usage_real(d, "total_prompt_time_sec"))) {
		t->server_prefill_ms = 1e3 *
				       usage_real(d, "total_prompt_time_sec");
		t->server_decode_ms = 1e3 * usage_real(
						d, "total_completion_time_sec");
	}
	/* GPUStack. */
	if (!isnan(usage_real(d, "time_to_first_token_ms")))
		t->server_prefill_ms = usage_real(d, "time_to_first_token_ms");
	/* Grok on Azure. */
	if (!isnan(checkpoint)) {
		t->server_queue_ms = usage_real(
		    d, "latency_checkpoint.pre_inference_ms");
		t->server_prefill_ms = checkpoint;
		t->server_decode_ms =
		    usage_real(d, "latency_checkpoint.engine_ttlt_ms") -
		    checkpoint;
	}
}

static void
chat_settle(struct answer *a)
{
	struct turn *t = a->t;
	struct usage_doc *d = usage_open(&a->usage);

	if (d != NULL)
		chat_settle_counts(a, d);
	else
		chat_settle_timings(a);
	chat_settle_times(a, d);
	if (d != NULL)
		usage_settle_cost(d, t);
	if (!chat_of(a)->has_tier)
		usage_settle_tier(d, t);
	usage_settle_raw(&a->usage, t);
	usage_doc_free(d);
	if (t->input_tokens == TURN_NULL && t->output_tokens == TURN_NULL)
		t->usage_source = TURN_USAGE_SOURCE_NONE;
	else if (a->end == ANSWER_TERMINAL)
		t->usage_source = TURN_USAGE_SOURCE_REPORTED;
	else
		t->usage_source = TURN_USAGE_SOURCE_PARTIAL;
	t->stop = chat_stop(a);
}

static const struct protocol_path chat_paths[] = {
    {"POST", "/chat/completions", TURN_KIND_TURN, NULL},
    {"POST", "/deployments/{model}/chat/completions", TURN_KIND_TURN, NULL},
    {NULL, NULL, 0, NULL},
};

const struct protocol protocol_openai_chat = {
    .name = "openai-chat",
    .paths = chat_paths,
    .request = REQUEST_SHAPE_OPENAI_CHAT,
    .error = ERROR_SHAPE_OPENAI,
    .has_usage_wish = true,
    .open = chat_open,
    .json = chat_json,
    .event = chat_event,
    .settle = chat_settle,
};
