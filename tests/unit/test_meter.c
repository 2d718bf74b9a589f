/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * What the golden cases of tests/wire cannot show: recognition by path, error
 * bodies, compressed requests, what the calls return, and the arithmetic.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>
#include <zstd.h>

#include "base/keyhash.h"
#include "meter/meter.h"
#include "meter/timing.h"
#include "meter/usage.h"
#include "record/turn.h"

static struct keyhash meter_key;

static struct meter *
meter_for(struct turn *t, const char *method, const char *path,
    const char *host, const char *protocol)
{
	struct meter_setup setup = {.method = method,
	    .path = path,
	    .upstream_host = host,
	    .protocol = protocol,
	    .keys = &meter_key,
	    .t0_ns = 0};
	struct meter *m = meter_new(&setup, t);

	assert_non_null(m);
	return m;
}

static void
test_protocol_by_path(void **state)
{
	static const struct {
		const char *path;
		const char *protocol;
		const char *kind;
		const char *model;
		const char *host;
		const char *setting;
	} rows[] = {
	    {"/v1/chat/completions", "openai-chat", "turn", NULL, NULL, NULL},
	    {"/api/paas/v4/chat/completions", "openai-chat", "turn", NULL, NULL,
		NULL},
	    {"/x//v1//chat//completions", "openai-chat", "turn", NULL, NULL,
		NULL},
	    {"/openai/deployments/my%2Ddep/chat/completions", "openai-chat",
		"turn", "my-dep", NULL, NULL},
	    {"/v1/completions", "openai-completions", "turn", NULL, NULL, NULL},
	    {"/completions", "llamacpp", "turn", NULL, NULL, "llamacpp"},
	    {"/completion", "llamacpp", "turn", NULL, NULL, NULL},
	    {"/infill", "llamacpp", "turn", NULL, NULL, NULL},
	    {"/backend-api/codex/responses", "openai-responses", "turn", NULL,
		NULL, NULL},
	    {"/v1/responses/compact", "openai-responses", "compaction", NULL,
		NULL, NULL},
	    {"/v1/responses/input_tokens", "openai-responses", "count", NULL,
		NULL, NULL},
	    {"/v1/responses/resp_1/cancel", "openai-responses", "other", NULL,
		NULL, NULL},
	    {"/v1/embeddings", "openai-embeddings", "embedding", NULL, NULL,
		NULL},
	    {"/api/embeddings", "ollama", "embedding", NULL, NULL, NULL},
	    {"/api/chat", "ollama", "turn", NULL, NULL, NULL},
	    {"/v1/messages", "anthropic", "turn", NULL, NULL, NULL},
	    {"/coding/v1/messages", "anthropic", "turn", NULL, NULL, NULL},
	    {"/v1/messages/count_tokens", "anthropic", "count", NULL, NULL,
		NULL},
	    {"/v1/projects/p/locations/l/publishers/anthropic/models/"
	     "count-tokens:rawPredict",
		"anthropic", "count", NULL, NULL, NULL},
	    {"/v1beta/models/gem-3:streamGenerateContent", "gemini", "turn",
		"gem-3", NULL, NULL},
	    {"/v1beta/models/gem-3:countTokens", "gemini", "count", "gem-3",
		NULL, NULL},
	    {"/model/a.b-v1%3A0/converse-stream", "bedrock", "turn", "a.b-v1:0",
		NULL, NULL},
	    {"/model/arn%3Aaws%3Ax%2Fy/invoke", "bedrock", "turn",
		"arn:aws:x/y", NULL, NULL},
	    {"/v2/chat", "cohere", "turn", NULL, NULL, NULL},
	    {"/v1/chat", "cohere", "turn", NULL, "api.cohere.com", NULL},
	    {"/v1/chat", NULL, "other", NULL, "api.example", NULL},
	    {"/v1/images/generations", NULL, "other", NULL, NULL, NULL},
	    {"/odd/path", "openai-chat", "turn", NULL, NULL, "openai-chat"},
	    {"/v1/messages", "anthropic", "turn", NULL, NULL, "openai-chat"},
	    {"/", NULL, "other", NULL, NULL, NULL},
	    {"", NULL, "other", NULL, NULL, NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct turn *t = turn_new();
		struct meter *m = meter_for(
		    t, "POST", rows[i].path, rows[i].host, rows[i].setting);

		if (rows[i].protocol == NULL)
			assert_null(t->protocol);
		else
			assert_string_equal(t->protocol, rows[i].protocol);
		assert_string_equal(turn_kind_name(t->kind), rows[i].kind);
		if (rows[i].model == NULL)
			assert_null(t->model);
		else
			assert_string_equal(t->model, rows[i].model);
		meter_free(m);
		turn_free(t);
	}
}

static void
test_leaves_row_by_method(void **state)
{
	(void)state;
	assert_true(meter_leaves_row("POST", "/any/thing"));
	assert_true(meter_leaves_row("PUT", "/any/thing"));
	assert_true(meter_leaves_row("GET", "/v1/responses/resp_1"));
	assert_false(meter_leaves_row("GET", "/v1/models"));
	assert_false(meter_leaves_row("GET", "/v1/chat/completions"));
	assert_false(meter_leaves_row("HEAD", "/v1/messages"));
	assert_false(meter_leaves_row("OPTIONS", "/v1/messages"));
	assert_false(meter_leaves_row("DELETE", "/v1/responses/resp_1"));
}

static void
test_error_body_in_the_shape_of_the_protocol(void **state)
{
	static const struct {
		const char *path;
		const char *protocol;
		const char *body;
	} rows[] = {
	    {"/v1/chat/completions", NULL,
		"{\"error\":{\"message\":\"no \\\"way\\\"\",\"type\":"
		"\"server_error\",\"param\":null,\"code\":\"timeout\"}}"},
	    {"/v1/messages", NULL,
		"{\"type\":\"error\",\"error\":{\"type\":\"timeout_error\","
		"\"message\":\"no \\\"way\\\"\"}}"},
	    {"/v1beta/models/g:generateContent", NULL,
		"{\"error\":{\"code\":504,\"message\":\"no \\\"way\\\"\","
		"\"status\":\"DEADLINE_EXCEEDED\"}}"},
	    {"/api/chat", NULL, "{\"error\":\"no \\\"way\\\"\"}"},
	    {"/model/m/converse", NULL, "{\"message\":\"no \\\"way\\\"\"}"},
	    {"/nothing", "ollama", "{\"error\":\"no \\\"way\\\"\"}"},
	    {"/nothing", NULL,
		"{\"error\":{\"message\":\"no \\\"way\\\"\",\"type\":"
		"\"server_error\",\"param\":null,\"code\":\"timeout\"}}"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		char *body = meter_error_body(rows[i].path, rows[i].protocol,
		    504, "timeout", "no \"way\"");

		assert_string_equal(body, rows[i].body);
		free(body);
	}
}

static void
test_request_is_read_through_its_coding(void **state)
{
	static const char body[] =
	    "{\"model\":\"m-9\",\"messages\":[{\"role\":\"user\","
	    "\"content\":\"x\"}],\"stream\":true}";
	char packed[256];
	size_t n = ZSTD_compress(
	    packed, sizeof(packed), body, sizeof(body) - 1, 3);
	struct turn *t = turn_new();
	struct meter *m = meter_for(
	    t, "POST", "/v1/chat/completions", NULL, NULL);

	(void)state;
	assert_false(ZSTD_isError(n));
	meter_request_header(m, "Content-Encoding", "zstd");
	for (size_t i = 0; i < n; i++)
		meter_request_body(m, packed + i, 1);
	meter_request_end(m);
	assert_string_equal(t->model, "m-9");
	assert_int_equal(t->n_messages, 1);
	meter_free(m);
	turn_free(t);

	t = turn_new();
	m = meter_for(t, "POST", "/v1/chat/completions", NULL, NULL);
	meter_request_header(m, "content-encoding", "unheard-of");
	meter_request_body(m, packed, n);
	meter_request_end(m);
	assert_null(t->model);
	assert_true(turn_has_flag(t, "request_unread"));
	meter_free(m);
	turn_free(t);

	t = turn_new();
	m = meter_for(t, "POST", "/v1/chat/completions", NULL, NULL);
	meter_request_header(m, "content-encoding", "zstd");
	meter_request_body(m, packed, n - 1);
	meter_request_end(m);
	assert_true(turn_has_flag(t, "request_unread"));
	meter_free(m);
	turn_free(t);
}

/* The framing's end within the compressed data is told; a stream that said its
 * last word before is whole all the same. */
static void
test_answer_ends_within_its_coding(void **state)
{
	static const char *const bodies[] = {
	    "{\"choices\":[{\"message\":{\"content\":\"x\"}}]}",
	    "data: [DONE]\n\n"};
	static const char *const outcomes[] = {"incomplete", "ok"};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct turn *t = turn_new();
		struct meter *m = meter_for(
		    t, "POST", "/v1/chat/completions", NULL, NULL);
		ZSTD_CStream *z = ZSTD_createCStream();
		char packed[256];
		ZSTD_inBuffer in = {bodies[i], strlen(bodies[i]), 0};
		ZSTD_outBuffer out = {packed, sizeof(packed), 0};

		/* Of the first body only a part, of the last one all but the
		 * frame's end. */
		in.size -= i == 0 ? 8 : 0;
		assert_int_equal(
		    ZSTD_compressStream2(z, &out, &in, ZSTD_e_flush), 0);
		meter_request_end(m);
		meter_response_status(m, 200);
		meter_response_header(m, "content-encoding", 16, "zstd", 4);
		meter_response_head_end(m, 1);
		meter_response_body(m, packed, out.pos, 2);
		meter_settle(m, METER_END_CLEAN, 3);
		assert_string_equal(turn_outcome_name(t->outcome), outcomes[i]);
		assert_int_equal(turn_has_flag(t, "undecodable"), i == 0);
		ZSTD_freeCStream(z);
		meter_free(m);
		turn_free(t);
	}
}

/* What the relay journals by: each sign once, and again for news. */
static void
test_body_tells_what_it_saw(void **state)
{
	static const struct {
		const char *piece;
		unsigned saw;
	} rows[] = {
	    {": ping\n\n", 0},
	    {"data: {\"choices\":[{\"delta\":{\"role\":\"assistant\","
	     "\"content\":\"\"}}]}\n\n",
		0},
	    {"data: {\"choices\":[{\"delta\":{\"content\":\"a",
		METER_SAW_FIRST_TOKEN},
	    {"b\"}}]}\n\n", 0},
	    {"data: {\"choices\":[{\"delta\":{},\"finish_reason\":"
	     "\"stop\"}]}\n",
		0},
	    {"\n", METER_SAW_TERMINAL},
	    {"data: {\"choices\":[],\"usage\":{\"prompt_tokens\":1,"
	     "\"completion_tokens\":2}}\n\n",
		METER_SAW_TERMINAL},
	    {"data: [DONE]\n\n", 0},
	};
	struct turn *t = turn_new();
	struct meter *m = meter_for(
	    t, "POST", "/v1/chat/completions", NULL, NULL);

	(void)state;
	meter_request_end(m);
	meter_response_status(m, 200);
	meter_response_head_end(m, 1000000);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		assert_int_equal(
		    meter_response_body(m, rows[i].piece, strlen(rows[i].piece),
			(int64_t)(i + 2) * 1000000),
		    rows[i].saw);
	/* The turn is live before it is settled. */
	assert_true(fabs(t->ttft_ms - 4) < 1e-9);
	assert_int_equal(t->text_bytes, 2);
	meter_settle(m, METER_END_CLEAN, 20000000);
	assert_int_equal(t->output_tokens, 2);
	meter_free(m);
	turn_free(t);
}

static void
test_ends_without_an_answer(void **state)
{
	static const struct {
		enum meter_end end;
		const char *outcome;
	} rows[] = {
	    {METER_END_CONNECT_FAILED, "connect_failed"},
	    {METER_END_TIMEOUT, "timeout"},
	    {METER_END_REFUSED, "refused"},
	    {METER_END_INTERRUPTED, "interrupted"},
	    {METER_END_UPSTREAM_RESET, "upstream_reset"},
	    {METER_END_CLIENT_CLOSED, "client_closed"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct turn *t = turn_new();
		struct meter *m = meter_for(
		    t, "POST", "/v1/messages", NULL, NULL);

		meter_request_end(m);
		meter_settle(m, rows[i].end, 7000000);
		assert_string_equal(
		    turn_outcome_name(t->outcome), rows[i].outcome);
		assert_int_equal(t->status, TURN_NULL);
		assert_int_equal(t->streaming, TURN_NULL);
		assert_int_equal(t->text_bytes, TURN_NULL);
		assert_int_equal(t->usage_source, TURN_USAGE_SOURCE_NONE);
		assert_true(fabs(t->total_ms - 7) < 1e-9);
		assert_true(isnan(t->ttfb_ms));
		meter_free(m);
		turn_free(t);
	}
}

static void
test_gaps_within_three_percent(void **state)
{
	struct timing *g = malloc(sizeof(*g));
	struct turn *t = turn_new();
	int64_t now = 0;

	(void)state;
	timing_init(g, 0);
	/* 1000 gaps of 1 to 1000 ms, and one of 5 s. */
	for (int i = 0; i <= 1001; i++) {
		if (i > 0)
			now += (i == 1001 ? 5000 : i) * INT64_C(1000000);
		timing_bytes(g, TIMING_TEXT, 4, now);
		timing_piece_end(g);
	}
	timing_fill_gaps(g, true, t);
	assert_true(fabs(t->itl_p50_ms - 501) < 501 * 0.03);
	assert_true(fabs(t->itl_p99_ms - 991) < 991 * 0.03);
	assert_true(fabs(t->itl_max_ms - 5000) < 1e-6);
	assert_int_equal(t->stalls, 1); /* 1000 ms is none yet */
	assert_true(fabs(t->stall_ms - 5000) < 1e-6);
	turn_free(t);
	free(g);
}

static void
test_speed_needs_pace(void **state)
{
	static const struct {
		int n_pieces;
		int gap_ms;
		size_t first_bytes;
		bool is_given;
	} rows[] = {{8, 20, 10, true}, {7, 20, 10, false}, {8, 14, 10, false},
	    {8, 15, 10, true}, {8, 20, 70, true}, {8, 20, 71, false}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct timing g;
		struct turn *t = turn_new();

		timing_init(&g, 0);
		for (int j = 0; j < rows[i].n_pieces; j++) {
			timing_bytes(&g, TIMING_TEXT,
			    j == 0 ? rows[i].first_bytes : 10,
			    INT64_C(1000000) * (j * rows[i].gap_ms));
			timing_piece_end(&g);
		}
		timing_fill(&g, true, t);
		t->outcome = TURN_OUTCOME_OK;
		t->usage_source = TURN_USAGE_SOURCE_REPORTED;
		t->streaming = 1;
		t->output_tokens = 100;
		timing_fill_speeds(&g, t);
		assert_int_equal(!isnan(t->decode_tps), rows[i].is_given);
		assert_int_equal(turn_has_flag(t, "burst"), !rows[i].is_given);
		turn_free(t);
	}
}

static void
test_dollars_keep_every_digit(void **state)
{
	static const struct {
		const char *text;
		int64_t pusd;
	} rows[] = {
	    {"{\"cost\":0.25}", INT64_C(250000000000)},
	    {"{\"cost\":0}", 0},
	    {"{\"cost\":6.2e-07}", 620000},
	    {"{\"cost\":1.5E2}", INT64_C(150000000000000)},
	    {"{\"cost\":0.000000000001}", 1},
	    {"{\"cost\":0.0000000000005}", 1},
	    {"{\"cost\":0.0000000000004}", 0},
	    {"{\"cost\":1234567.123456789012}", INT64_C(1234567123456789012)},
	    {"{\"cost\":1e30}", TURN_NULL},
	    {"{\"a\":{\"cost\":1},\"costs\":2}", TURN_NULL},
	    {"{\"a\":{\"cost\":1},\"cost\":2}", INT64_C(2000000000000)},
	    {"{\"cost\":{\"total_cost\":1}}", TURN_NULL},
	    {"{\"cost\":\"1\"}", TURN_NULL},
	};
	struct usage_doc *d;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		d = usage_doc_new(rows[i].text, strlen(rows[i].text));
		assert_int_equal(usage_pusd(d, "cost"), rows[i].pusd);
		usage_doc_free(d);
	}
	d = usage_doc_new("{\"a\":{\"b\":0.5}}", 15);
	assert_int_equal(usage_pusd(d, "a.b"), INT64_C(500000000000));
	usage_doc_free(d);
}

static void
test_usage_is_laid_over_field_by_field(void **state)
{
	static const struct {
		const char *old, *fresh, *merged;
		bool decreased;
	} rows[] = {
	    {"{\"a\":1,\"b\":2}", "{\"b\":3,\"c\":0.10}",
		"{\"a\":1,\"b\":3,\"c\":0.10}", false},
	    {"{\"a\":2,\"b\":\"x\"}", "{\"a\":1,\"b\":true}",
		"{\"a\":2,\"b\":true}", true},
	    {"{\"output_tokens\":9}", "{\"output_tokens\":3}",
		"{\"output_tokens\":3}", false},
	    {"{\"o\":{\"p\":5,\"q\":[{\"r\":1}]}}",
		"{\"o\":{\"p\":4,\"q\":[]},\"s\":\"t\"}",
		"{\"o\":{\"p\":5,\"q\":[]},\"s\":\"t\"}", true},
	    {"{\"a\":1,\"a\":2}", "{\"b\":3,\"b\":4}", "{\"a\":2,\"b\":4}",
		false},
	    {"{\"a\":{}}", "{\"a\":1}", "{\"a\":1}", false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct turn *t = turn_new();
		struct usage u;

		usage_init(&u);
		usage_replace(&u, rows[i].old, strlen(rows[i].old));
		assert_true(usage_merge(
		    &u, rows[i].fresh, strlen(rows[i].fresh), true, t));
		usage_settle_raw(&u, t);
		assert_string_equal(t->usage_raw, rows[i].merged);
		assert_int_equal(
		    turn_has_flag(t, "usage_decreased"), rows[i].decreased);
		usage_fini(&u);
		turn_free(t);
	}
}

static void
test_usage_is_read_by_path(void **state)
{
	static const char text[] =
	    "{\"a\":7,\"n\":-1,\"z\":-0.4,\"r\":2.5,\"e\":6e2,"
	    "\"big\":99999999999999999999,\"d\":{\"c\":3,\"d\":{\"c\":4}},"
	    "\"l\":[1,{\"t\":\"x\"},{\"t\":\"yz\",\"c\":9}],\"s\":\"8\","
	    "\"y\":true,\"c\":5,\"c\":6}";
	struct usage_doc *d = usage_doc_new(text, sizeof(text) - 1);
	size_t n;

	(void)state;
	assert_non_null(d);
	assert_int_equal(usage_int(d, "a"), 7);
	assert_int_equal(usage_int(d, "n"), TURN_NULL);
	assert_int_equal(usage_int(d, "z"), TURN_NULL);
	assert_int_equal(usage_int(d, "r"), 3);
	assert_int_equal(usage_int(d, "e"), 600);
	assert_int_equal(usage_int(d, "big"), TURN_NULL);
	assert_true(usage_real(d, "big") == 1e20);
	assert_int_equal(usage_int(d, "d.c"), 3);
	assert_int_equal(usage_int(d, "d.d.c"), 4);
	assert_int_equal(usage_int(d, "d.d.d"), TURN_NULL);
	assert_int_equal(usage_int(d, "a.c"), TURN_NULL);
	assert_int_equal(usage_int(d, "s"), TURN_NULL);
	assert_int_equal(usage_int(d, "c"), 6);
	assert_int_equal(usage_count(d, "l"), 2);
	assert_int_equal(usage_int(d, "l.1.c"), 9);
	assert_int_equal(usage_int(d, "l.2.c"), TURN_NULL);
	assert_memory_equal(usage_text(d, "l.1.t", &n), "yz", 2);
	assert_int_equal(n, 2);
	assert_null(usage_text(d, "a", &n));
	assert_true(usage_is_true(d, "y"));
	assert_false(usage_is_true(d, "a"));
	usage_doc_free(d);
	assert_null(usage_doc_new("[1]", 3));
	assert_null(usage_doc_new("{\"a\":1", 6));
	assert_null(usage_doc_new("{\"a\":1}{}", 9));
	assert_int_equal(usage_int(NULL, "a"), TURN_NULL);
}

static void
test_usage_beyond_the_ceiling_is_no_usage(void **state)
{
	static const char head[] = "data: {\"choices\":[],\"usage\":{\"a\":[";
	struct turn *t = turn_new();
	struct meter *m = meter_for(
	    t, "POST", "/v1/chat/completions", NULL, NULL);

	(void)state;
	meter_request_end(m);
	meter_response_status(m, 200);
	meter_response_head_end(m, 1);
	meter_response_body(m, head, sizeof(head) - 1, 2);
	for (int i = 0; i < 20000; i++)
		meter_response_body(m, "1,", 2, 3);
	meter_response_body(m, "1],\"prompt_tokens\":5}}\n\n", 24, 4);
	meter_settle(m, METER_END_CLEAN, 5);
	assert_int_equal(t->input_tokens, TURN_NULL);
	assert_null(t->usage_raw);
	assert_true(turn_has_flag(t, "usage_unread"));
	meter_free(m);
	turn_free(t);
}

/* As if both had come before the first settling. */
static void
test_a_later_usage_takes_back_the_tier(void **state)
{
	static const char first[] =
	    "data: {\"choices\":[{\"index\":0,\"finish_reason\":\"stop\"}],"
	    "\"usage\":{\"prompt_tokens\":5,\"service_tier\":\"flex\"}}\n\n";
	static const char last[] = "data: {\"choices\":[],\"usage\":[1]}\n\n";
	struct turn *t = turn_new();
	struct meter *m = meter_for(
	    t, "POST", "/v1/chat/completions", NULL, NULL);

	(void)state;
	meter_request_end(m);
	meter_response_status(m, 200);
	meter_response_head_end(m, 1);
	meter_response_body(m, first, sizeof(first) - 1, 2);
	meter_settle(m, METER_END_CLEAN, 3);
	assert_string_equal(t->service_tier, "flex");
	meter_response_body(m, last, sizeof(last) - 1, 4);
	meter_settle(m, METER_END_CLEAN, 5);
	assert_null(t->service_tier);
	assert_int_equal(t->input_tokens, TURN_NULL);
	meter_free(m);
	turn_free(t);
}

static void
test_usage_raw_is_shortened(void **state)
{
	static const char head[] =
	    "{\"choices\":[],\"usage\":{\"prompt_tokens\":5,"
	    "\"completion_tokens\":6,\"parts\":[";
	struct turn *t = turn_new();
	struct meter *m = meter_for(
	    t, "POST", "/v1/chat/completions", NULL, NULL);

	(void)state;
	meter_request_end(m);
	meter_response_status(m, 200);
	meter_response_head_end(m, 1);
	meter_response_body(m, head, sizeof(head) - 1, 2);
	for (int i = 0; i < 3000; i++)
		meter_response_body(m, "1,", 2, 3);
	meter_response_body(m, "1],\"note\":\"words of a prompt\"}}", 32, 4);
	meter_settle(m, METER_END_CLEAN, 5);
	assert_int_equal(t->input_tokens, 5);
	assert_string_equal(
	    t->usage_raw, "{\"prompt_tokens\":5,\"completion_tokens\":6}");
	assert_true(turn_has_flag(t, "usage_raw_cut"));
	meter_free(m);
	turn_free(t);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_protocol_by_path),
	    cmocka_unit_test(test_leaves_row_by_method),
	    cmocka_unit_test(test_error_body_in_the_shape_of_the_protocol),
	    cmocka_unit_test(test_request_is_read_through_its_coding),
	    cmocka_unit_test(test_answer_ends_within_its_coding),
	    cmocka_unit_test(test_body_tells_what_it_saw),
	    cmocka_unit_test(test_ends_without_an_answer),
	    cmocka_unit_test(test_gaps_within_three_percent),
	    cmocka_unit_test(test_speed_needs_pace),
	    cmocka_unit_test(test_dollars_keep_every_digit),
	    cmocka_unit_test(test_usage_is_laid_over_field_by_field),
	    cmocka_unit_test(test_usage_is_read_by_path),
	    cmocka_unit_test(test_usage_beyond_the_ceiling_is_no_usage),
	    cmocka_unit_test(test_a_later_usage_takes_back_the_tier),
	    cmocka_unit_test(test_usage_raw_is_shortened),
	};

	keyhash_ephemeral(&meter_key);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
