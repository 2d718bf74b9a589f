/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * The way of the bytes:
 *
 *   request   body -> undo Content-Encoding -> request scanner
 *   response  body -> undo Content-Encoding -> what is it? -> event splitter
 *             -> JSON scanner -> the protocol's reader -> struct answer
 *             (of an error status: -> refusal, as it is)
 *
 * What a body is, its first byte says, and only then its Content-Type: servers
 * answer plain JSON to a client that asked for a stream, and some send no type.
 *
 * meter_settle comes at the terminal event, at the body's end and at the very
 * end. It makes the turn anew from what was seen, so that a later call may say
 * more than an earlier one. Flags alone pile up in the turn, so each call
 * first takes back those of the call before, and usage_decreased and its like,
 * which a reader sets as it goes, stay.
 */
#include "meter/meter.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "meter/answer.h"
#include "meter/identity.h"
#include "meter/memo.h"
#include "meter/protocol.h"
#include "meter/refusal.h"
#include "meter/request.h"
#include "record/turn.h"
#include "scan/decode.h"
#include "scan/json.h"
#include "scan/sse.h"
#include "scan/values.h"

enum {
	METER_DECODED_MAX = 1 << 30, /* of a body, after its coding is undone */
	METER_CODINGS_BYTES = 64,
	METER_DONE_BYTES = 8 /* of an event that begins with '[' */
};

/* What the response's body is. */
enum meter_body {
	METER_BODY_UNKNOWN, /* nothing of it came yet */
	METER_BODY_EVENTS,
	METER_BODY_JSON,
	METER_BODY_ERROR,  /* any body of an error status */
	METER_BODY_UNREAD, /* no reader, not JSON, or not to be decoded */
};

/* What is needed until the request is whole. */
struct meter_request {
	struct identity identity;
	struct request_scan *scan; /* from the body's first byte on */
	struct decode *decode;
	char codings[METER_CODINGS_BYTES];
	bool is_unread;
};

struct meter {
	struct turn *t;
	const struct protocol *protocol; /* NULL: unknown */
	const struct keyhash *keys;
	int64_t t0_ns;

	struct meter_request *request; /* NULL: it has ended */
	bool has_no_usage_wish;        /* JSON that does not ask for usage */

	/* the response */
	int status; /* 0: none yet */
	int request_id_rank;
	enum meter_body body;
	bool is_foreign; /* no form that the protocol has */
	bool is_undecodable;
	struct decode *response_decode;
	struct refusal *refusal;
	struct sse sse;
	struct json json;
	struct answer answer;
	struct memo memo;
	bool has_event;      /* bytes of an event have come */
	bool is_event_taken; /* settled before its blank line came */
	uint8_t n_bracket;
	char bracket[METER_DONE_BYTES]; /* "[DONE]", which is not JSON */
	int64_t last_byte_ns;
	bool told_first_token;

	/* the flags of the turn before and after the last settling */
	const char *flags_before;
	const char *flags_after;
};

/* Thousands of streams may be open at once: a size class of jemalloc. */
static_assert(sizeof(struct meter) <= 3072, "an open stream is small");

bool
meter_leaves_row(const char *method, const char *path)
{
	static const char *const quiet[] = {"GET", "HEAD", "OPTIONS", "DELETE"};
	struct protocol_match match;

	for (size_t i = 0; i < sizeof(quiet) / sizeof(*quiet); i++) {
		if (strcmp(method, quiet[i]) != 0)
			continue;
		protocol_find(method, path, NULL, NULL, &match);
		return match.protocol != NULL;
	}
	return true;
}

char *
meter_error_body(const char *path, const char *protocol, int status,
    const char *kind, const char *message)
{
	struct protocol_match match;

	protocol_find(NULL, path, NULL, protocol, &match);
	return error_body_make(
	    match.protocol != NULL ? match.protocol->error : ERROR_SHAPE_OPENAI,
	    status, kind, message);
}

struct meter *
meter_new(const struct meter_setup *setup, struct turn *t)
{
	struct meter *m = calloc(1, sizeof(*m));
	struct protocol_match match;

	if (m == NULL)
		return NULL;
	m->request = calloc(1, sizeof(*m->request));
	if (m->request == NULL) {
		free(m);
		return NULL;
	}
	protocol_find(setup->method, setup->path, setup->upstream_host,
	    setup->protocol, &match);
	m->t = t;
	m->protocol = match.protocol;
	m->keys = setup->keys;
	m->t0_ns = setup->t0_ns;
	m->request_id_rank = -1;
	m->last_byte_ns = TURN_NULL;
	identity_init(&m->request->identity, setup->keys);
	answer_init(&m->answer, t, m->protocol, setup->t0_ns);
	t->kind = match.path != NULL       ? match.path->kind
		  : match.protocol != NULL ? TURN_KIND_TURN
					   : TURN_KIND_OTHER;
	if (match.protocol != NULL)
		turn_set_str(t, &t->protocol, match.protocol->name);
	turn_set_text(t, &t->model, match.model, match.n_model);
	t->usage_source = TURN_USAGE_SOURCE_NONE;
	return m;
}

static void
meter_request_free(struct meter_request *r)
{
	if (r == NULL)
		return;
	request_scan_free(r->scan);
	decode_free(r->decode);
	free(r);
}

void
meter_free(struct meter *m)
{
	if (m == NULL)
		return;
	meter_request_free(m->request);
	decode_free(m->response_decode);
	refusal_free(m->refusal);
	answer_fini(&m->answer);
	free(m);
}

/* The request. */

static void
meter_copy(char *out, size_t n_out, const char *s, size_t n)
{
	if (n >= n_out)
		n = n_out - 1;
	memcpy(out, s, n);
	out[n] = '\0';
}

void
meter_request_header(struct meter *m, const char *name, const char *value)
{
	static const char *const opaque[] = {
	    "multipart/", "audio/", "image/", "video/"};
	struct meter_request *r = m->request;
	size_t n = strlen(name);

	if (r == NULL)
		return;
	if (values_name_is(name, n, "content-encoding"))
		meter_copy(
		    r->codings, sizeof(r->codings), value, strlen(value));
	else if (values_name_is(name, n, "content-type"))
		for (size_t i = 0; i < sizeof(opaque) / sizeof(*opaque); i++)
			if (strncasecmp(value, opaque[i], strlen(opaque[i])) ==
			    0)
				r->is_unread = true;
	identity_header(&r->identity, name, value);
}

static void
meter_request_decoded(void *cls, const char *data, size_t n)
{
	struct meter *m = cls;

	request_scan_feed(m->request->scan, data, n);
}

static bool
meter_request_open(struct meter *m)
{
	struct meter_request *r = m->request;
	enum request_shape shape = m->protocol != NULL ? m->protocol->request
						       : REQUEST_SHAPE_OTHER;

	r->scan = request_scan_new(m->t, m->keys, shape);
	if (r->scan == NULL)
		return false;
	if (r->codings[0] == '\0')
		return true;
	return decode_new(r->codings, strlen(r->codings), METER_DECODED_MAX,
		   meter_request_decoded, m, &r->decode) == DECODE_OK;
}

void
meter_request_body(struct meter *m, const void *data, size_t n)
{
	struct meter_request *r = m->request;

	if (r == NULL || r->is_unread || n == 0)
		return;
	if (r->scan == NULL && !meter_request_open(m)) {
		r->is_unread = true;
		turn_add_flag(m->t, "request_unread");
		return;
	}
	if (r->decode == NULL)
		request_scan_feed(r->scan, data, n);
	else if (decode_feed(r->decode, data, n) != DECODE_OK) {
		r->is_unread = true;
		turn_add_flag(m->t, "request_unread");
	}
}

void
meter_request_end(struct meter *m)
{
	struct meter_request *r = m->request;

	if (r == NULL)
		return;
	if (r->scan != NULL) {
		if (!r->is_unread && r->decode != NULL &&
		    decode_end(r->decode) != DECODE_OK)
			turn_add_flag(m->t, "request_unread");
		if (!r->is_unread)
			request_scan_end(r->scan);
		request_scan_identify(r->scan, &r->identity);
		m->has_no_usage_wish = request_scan_is_json(r->scan) &&
				       !request_scan_asked_usage(r->scan);
	}
	identity_finish(&r->identity, m->t);
	meter_request_free(r);
	m->request = NULL;
}

/* The response's head. */

void
meter_response_status(struct meter *m, int status)
{
	m->status = status;
	m->t->status = status;
	if (status < 400)
		return;
	m->body = METER_BODY_ERROR;
	if (m->refusal == NULL)
		m->refusal = refusal_new(clock_wall_ms());
}

/* The request's id: the provider's own header before those of what stands in
 * front of it. */
static void
meter_take_request_id(struct meter *m, const char *name, size_t n_name,
    const char *value, size_t n_value)
{
	static const char *const names[] = {"x-request-id", "request-id",
	    "x-amzn-requestid", "apim-request-id", "x-generation-id",
	    "x-ds-trace-id", "x-kong-request-id", "x-goog-request-id"};
	int n_names = (int)(sizeof(names) / sizeof(*names));
	int best = m->request_id_rank < 0 ? n_names : m->request_id_rank;

	for (int i = 0; i < best; i++)
		if (values_name_is(name, n_name, names[i]) && n_value > 0) {
			m->request_id_rank = i;
			turn_set_text(
			    m->t, &m->t->upstream_request_id, value, n_value);
			return;
		}
}

static bool
meter_holds(const char *s, size_t n, const char *word)
{
	return memmem(s, n, word, strlen(word)) != NULL;
}

static void meter_response_decoded(void *cls, const char *data, size_t n);

static void
meter_decode_as(struct meter *m, const char *codings, size_t n)
{
	decode_free(m->response_decode);
	m->response_decode = NULL;
	m->is_undecodable = n > 0 && decode_new(codings, n, METER_DECODED_MAX,
					 meter_response_decoded, m,
					 &m->response_decode) != DECODE_OK;
}

void
meter_response_header(struct meter *m, const char *name, size_t n_name,
    const char *value, size_t n_value)
{
	if (values_name_is(name, n_name, "content-encoding"))
		meter_decode_as(m, value, n_value);
	else if (values_name_is(name, n_name, "content-type"))
		m->answer.is_stream =
		    meter_holds(value, n_value, "event-stream") ||
		    meter_holds(value, n_value, "ndjson") ||
		    meter_holds(value, n_value, "stream+json");
	else
		meter_take_request_id(m, name, n_name, value, n_value);
	if (m->refusal != NULL)
		refusal_header(m->refusal, name, n_name, value, n_value);
}

void
meter_response_head_end(struct meter *m, int64_t now_ns)
{
	m->t->ttfb_ms = timing_offset_ms(&m->answer.timing, m->t, now_ns);
	m->last_byte_ns = now_ns;
	m->answer.now_ns = now_ns;
	if (m->body == METER_BODY_ERROR)
		m->answer.is_stream = false;
	m->t->streaming = m->answer.is_stream;
	if (m->is_undecodable) {
		turn_add_flag(m->t, "undecodable");
		m->body = METER_BODY_UNREAD;
	}
}

/* The response's body. */

static void
meter_event_begin(struct meter *m)
{
	m->has_event = true;
	m->is_event_taken = false;
	m->n_bracket = 0;
	json_reset(&m->json);
	answer_begin_event(&m->answer);
}

static bool
meter_is_done(const struct meter *m)
{
	return m->n_bracket >= 6 && memcmp(m->bracket, "[DONE]", 6) == 0;
}

static void
meter_event_take(struct meter *m)
{
	if (m->is_event_taken)
		return;
	m->is_event_taken = true;
	if (m->answer.saw_failure && !m->answer.saw_document)
		turn_add_flag(m->t, "odd_event");
	answer_end_event(&m->answer);
	if (meter_is_done(m))
		answer_decide(&m->answer, ANSWER_TERMINAL);
}

/* The first bytes of an event's data: all of it, as a rule. */
static void
meter_sse_first(struct meter *m, const char *data, size_t n)
{
	struct answer *a = &m->answer;
	size_t n_text;

	if (a->capture == NULL && memo_fits(&m->memo, data, n, &n_text)) {
		timing_bytes(&a->timing, m->memo.kind, n_text, a->now_ns);
		answer_document_end(a);
		return;
	}
	json_feed(&m->json, data, n);
	if (a->saw_document && a->is_plain && a->told != NULL)
		memo_learn(&m->memo, data, n, a->told, a->n_told, a->told_kind);
}

static void
meter_sse_data(void *cls, const char *data, size_t n)
{
	struct meter *m = cls;

	if (!m->has_event)
		meter_event_begin(m);
	while (
	    m->json.offset == 0 && m->n_bracket == 0 && n > 0 && *data == ' ') {
		data++;
		n--;
	}
	if (n == 0 || m->answer.saw_document)
		return;
	if (m->json.offset > 0) {
		json_feed(&m->json, data, n);
		return;
	}
	if (m->n_bracket == 0 && *data != '[') {
		meter_sse_first(m, data, n);
		return;
	}
	while (n-- > 0 && m->n_bracket < METER_DONE_BYTES)
		m->bracket[m->n_bracket++] = *data++;
}

static void
meter_sse_event(void *cls, const char *name, bool has_data)
{
	struct meter *m = cls;

	if (!m->has_event)
		meter_event_begin(m);
	if (has_data && *name == 'e' && strcmp(name, "error") == 0)
		m->answer.saw_error = true;
	meter_event_take(m);
	m->has_event = false;
}

/* llama.cpp of old: a line "error: {...}" whose value is the error itself. */
static bool
meter_sse_other_field(void *cls, const char *name, size_t n)
{
	struct meter *m = cls;

	if (n != 5 || memcmp(name, "error", 5) != 0)
		return false;
	if (!m->has_event)
		meter_event_begin(m);
	answer_capture_error(&m->answer);
	return true;
}

static const struct sse_handler meter_sse_handler = {
    .data = meter_sse_data,
    .event = meter_sse_event,
    .other_field = meter_sse_other_field,
};

/* Passes over what may stand before the first byte that tells. Returns how
 * much of DATA that is; N where nothing tells yet. */
static size_t
meter_blanks(const char *data, size_t n)
{
	size_t i = 0;

	while (i < n && (data[i] == ' ' || data[i] == '\t' || data[i] == '\r' ||
			    data[i] == '\n' || (unsigned char)data[i] >= 0x80))
		i++;
	return i;
}

static void
meter_sniff(struct meter *m, char first)
{
	struct answer *a = &m->answer;
	bool is_json = first == '{' || first == '[';
	bool is_event = !is_json && memchr(":deir", first, 5) != NULL;

	/* A stream of JSON lines is known by its type alone. */
	if (is_event)
		a->is_stream = true;
	m->body = METER_BODY_UNREAD;
	if (m->protocol != NULL && m->protocol->json != NULL) {
		a->is_stream = !is_json && a->is_stream;
		m->is_foreign = !is_json && !a->is_stream;
		m->body = is_json        ? METER_BODY_JSON
			  : a->is_stream ? METER_BODY_EVENTS
					 : METER_BODY_UNREAD;
	}
	if (m->is_foreign)
		turn_add_flag(m->t, "unread");
	m->t->streaming = a->is_stream;
	if (m->body == METER_BODY_UNREAD)
		return;
	a->json = &m->json;
	json_init(&m->json, m->protocol->json, a);
	sse_init(&m->sse, &meter_sse_handler, m);
	answer_begin_event(a);
}

static void
meter_read_document(struct meter *m, const char *data, size_t n)
{
	struct answer *a = &m->answer;

	m->has_event = true;
	json_feed(&m->json, data, n);
	if (!a->saw_document || m->is_event_taken)
		return;
	meter_event_take(m);
	answer_decide(a, ANSWER_TERMINAL);
}

static void
meter_response_decoded(void *cls, const char *data, size_t n)
{
	struct meter *m = cls;

	if (m->body == METER_BODY_UNKNOWN) {
		size_t n_blanks = meter_blanks(data, n);

		data += n_blanks;
		n -= n_blanks;
		if (n == 0)
			return;
		meter_sniff(m, *data);
	}
	switch (m->body) {
	case METER_BODY_EVENTS: sse_feed(&m->sse, data, n); break;
	case METER_BODY_JSON: meter_read_document(m, data, n); break;
	case METER_BODY_ERROR:
		if (m->refusal != NULL)
			refusal_body(m->refusal, data, n);
		break;
	case METER_BODY_UNKNOWN:
	case METER_BODY_UNREAD: break;
	}
}

/* Whether a reader sees the body. */
static bool
meter_is_read(const struct meter *m)
{
	return m->body == METER_BODY_EVENTS || m->body == METER_BODY_JSON;
}

static void
meter_fill_timing(struct meter *m)
{
	if (meter_is_read(m))
		timing_fill(&m->answer.timing, m->answer.is_stream, m->t);
}

unsigned
meter_response_body(struct meter *m, const void *data, size_t n, int64_t now_ns)
{
	struct answer *a = &m->answer;
	unsigned saw = 0;

	if (n == 0)
		return 0;
	m->last_byte_ns = now_ns;
	a->now_ns = now_ns;
	if (m->response_decode == NULL)
		meter_response_decoded(m, data, n);
	else if (m->body != METER_BODY_UNREAD &&
		 decode_feed(m->response_decode, data, n) != DECODE_OK) {
		turn_add_flag(m->t, "undecodable");
		m->body = METER_BODY_UNREAD;
	}
	meter_fill_timing(m);
	if (!m->told_first_token && a->is_stream &&
	    a->timing.first_ns != TURN_NULL) {
		m->told_first_token = true;
		saw |= METER_SAW_FIRST_TOKEN;
	}
	if (a->end != ANSWER_OPEN && a->has_news)
		saw |= METER_SAW_TERMINAL;
	a->has_news = a->has_news && a->end == ANSWER_OPEN;
	return saw;
}

/* The end. */

static int
meter_outcome_of_end(enum meter_end end)
{
	switch (end) {
	case METER_END_CLEAN: return TURN_OUTCOME_INCOMPLETE;
	case METER_END_UPSTREAM_RESET: return TURN_OUTCOME_UPSTREAM_RESET;
	case METER_END_UPSTREAM_TRUNCATED:
		return TURN_OUTCOME_UPSTREAM_TRUNCATED;
	case METER_END_CLIENT_CLOSED: return TURN_OUTCOME_CLIENT_CLOSED;
	case METER_END_CONNECT_FAILED: return TURN_OUTCOME_CONNECT_FAILED;
	case METER_END_TIMEOUT: return TURN_OUTCOME_TIMEOUT;
	case METER_END_REFUSED: return TURN_OUTCOME_REFUSED;
	case METER_END_INTERRUPTED: return TURN_OUTCOME_INTERRUPTED;
	}
	return TURN_OUTCOME_NULL;
}

/* Whether the body's end alone shows that the answer is whole: where nobody
 * reads it, or nothing was to come. */
static bool
meter_is_whole_unread(const struct meter *m)
{
	return (m->body == METER_BODY_UNREAD && !m->is_foreign) ||
	       m->protocol == NULL || m->protocol->json == NULL ||
	       m->t->kind == TURN_KIND_OTHER;
}

static void
meter_settle_outcome(struct meter *m, enum meter_end end)
{
	struct answer *a = &m->answer;
	struct turn *t = m->t;

	t->error_kind = TURN_ERROR_KIND_NULL;
	t->retry_after_ms = NAN;
	t->limit_dimension = NULL;
	if (m->status >= 400) {
		refusal_settle(m->refusal, m->status, t);
	} else if (m->status >= 300 && m->status != 304) {
		t->outcome = TURN_OUTCOME_HTTP_ERROR;
		t->error_kind = TURN_ERROR_KIND_OTHER;
	} else if (a->end == ANSWER_ERROR) {
		const struct buf *text = &a->error_capture.text;
		bool is_whole = capture_is_whole(&a->error_capture);

		refusal_settle_in_stream(is_whole ? buf_data(text) : "",
		    is_whole ? buf_len(text) : 0, clock_wall_ms(), t);
	} else if (a->end == ANSWER_TERMINAL) {
		t->outcome = TURN_OUTCOME_OK;
	} else if (end == METER_END_CLEAN && m->status != 0 &&
		   meter_is_whole_unread(m)) {
		t->outcome = TURN_OUTCOME_OK;
	} else {
		t->outcome = meter_outcome_of_end(end);
	}
}

/* A stream may end without its last blank line: the event counts, if its data
 * is whole. Returns whether there is one; the line may only be late. */
static bool
meter_take_last_event(struct meter *m)
{
	if (m->body != METER_BODY_EVENTS || !m->has_event ||
	    (!m->answer.saw_document && !meter_is_done(m)))
		return false;
	meter_event_take(m);
	return true;
}

static void
meter_settle_total(struct meter *m, enum meter_end end, int64_t now_ns)
{
	int64_t end_ns = now_ns;

	if (m->answer.end != ANSWER_OPEN)
		end_ns = m->answer.end_ns;
	else if (end == METER_END_CLEAN && m->last_byte_ns != TURN_NULL)
		end_ns = m->last_byte_ns;
	m->t->total_ms = timing_offset_ms(&m->answer.timing, m->t, end_ns);
}

/* What the last settling said of usage and times is made anew. */
static void
meter_forget_usage(struct turn *t)
{
	t->input_tokens = t->uncached_tokens = TURN_NULL;
	t->cache_read_tokens = t->cache_write_tokens = TURN_NULL;
	t->cache_write_1h_tokens = TURN_NULL;
	t->output_tokens = t->reasoning_tokens = TURN_NULL;
	t->provider_cost_pusd = TURN_NULL;
	t->server_queue_ms = t->server_prefill_ms = NAN;
	t->server_decode_ms = NAN;
	t->usage_source = TURN_USAGE_SOURCE_NONE;
	t->stop = TURN_STOP_NULL;
}

static void
meter_settle_usage(struct meter *m)
{
	struct turn *t = m->t;
	const struct answer *a = &m->answer;

	if (!meter_is_read(m))
		return;
	meter_forget_usage(t);
	t->tool_calls = a->n_calls;
	m->protocol->settle(&m->answer);
	if (t->usage_source == TURN_USAGE_SOURCE_NONE && a->is_stream &&
	    m->protocol->has_usage_wish && m->has_no_usage_wish)
		turn_add_flag(t, "usage_not_requested");
	/* A whole answer shows no pace of its own: the server may tell it. */
	if (!a->is_stream)
		t->decode_ms = t->server_decode_ms;
}

/* Takes back the flags of the last settling, but for what came since. */
static void
meter_forget_flags(struct meter *m)
{
	struct turn *t = m->t;
	const char *since = t->flags;
	size_t n = m->flags_after != NULL ? strlen(m->flags_after) : 0;
	char name[TURN_FLAGS_BYTES];

	if (m->flags_after == NULL || strncmp(since, m->flags_after, n) != 0)
		return;
	since += n;
	t->flags = m->flags_before;
	while (*since != '\0') {
		size_t n_name;

		since += *since == ' ';
		n_name = strcspn(since, " ");
		meter_copy(name, sizeof(name), since, n_name);
		turn_add_flag(t, name);
		since += n_name;
	}
}

/* Whether the body is whole, but ends within its compressed data. */
static bool
meter_is_cut_coding(const struct meter *m, enum meter_end end)
{
	return end == METER_END_CLEAN && m->answer.end == ANSWER_OPEN &&
	       m->response_decode != NULL &&
	       decode_end(m->response_decode) != DECODE_OK;
}

void
meter_settle(struct meter *m, enum meter_end end, int64_t now_ns)
{
	struct turn *t = m->t;
	bool is_unterminated;

	meter_forget_flags(m);
	is_unterminated = meter_take_last_event(m);
	m->flags_before = t->flags;
	if (is_unterminated)
		turn_add_flag(t, "unterminated");
	if (meter_is_cut_coding(m, end))
		turn_add_flag(t, "undecodable");
	meter_fill_timing(m);
	if (meter_is_read(m))
		timing_fill_gaps(&m->answer.timing, m->answer.is_stream, t);
	meter_settle_outcome(m, end);
	meter_settle_total(m, end, now_ns);
	meter_settle_usage(m);
	timing_fill_speeds(&m->answer.timing, t);
	m->flags_after = t->flags;
}
