/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "fake_live.h"
#include "fake_store.h"
#include "live/api.h"
#include "live/feed.h"
#include "live/reader_thread.h"

struct fixture {
	struct loop *loop;
	struct reader_thread *reader;
	struct feed *feed;
	struct api *api;
	struct api_state state;
};

static void
fixture_state(void *cls, struct api_state *state_out)
{
	*state_out = ((struct fixture *)cls)->state;
}

static void
fixture_open(struct fixture *x)
{
	struct feed_setup feed = {.listen = "127.0.0.1:7717"};
	struct api_setup api = {
	    .listen = "127.0.0.1:7717", .state = fixture_state, .state_cls = x};

	memset(x, 0, sizeof(*x));
	x->state.journal.n_free = 4096;
	x->loop = feed.loop = fake_loop_new();
	assert_int_equal(reader_thread_start(x->loop, "any", &x->reader), 0);
	x->feed = api.feed = feed_new(&feed);
	api.reader = x->reader;
	x->api = api_new(&api);
}

static void
fixture_close(struct fixture *x)
{
	reader_thread_stop(x->reader);
	api_free(x->api);
	feed_free(x->feed);
	fake_loop_free(x->loop);
}

static bool
is_answered(void *cls)
{
	return ((struct fake_answer *)cls)->status != 0;
}

/* Asks and waits; the JSON of the answer's body, which must be some. */
static json_t *
ask(struct fixture *x, const char *path, const char *const *pairs, int status)
{
	struct admin_call *call;
	struct fake_answer *a = fake_call_new("GET", path, pairs, &call);
	json_t *body;

	api_handle(x->api, call);
	assert_true(fake_loop_until(x->loop, is_answered, a));
	assert_int_equal(a->status, status);
	assert_string_equal(a->content_type, "application/json");
	body = json_loads(fake_answer_text(a), JSON_DECODE_ANY, NULL);
	assert_non_null(body);
	fake_call_end(a);
	return body;
}

static int64_t
number(const json_t *object, const char *group, const char *key)
{
	const json_t *value = json_object_get(
	    json_object_get(object, group), key);

	assert_true(json_is_integer(value));
	return json_integer_value(value);
}

static void
test_api_health(void **state)
{
	struct fixture x;
	json_t *body;

	(void)state;
	fixture_open(&x);
	x.state.n_upstreams = 3;
	x.state.proxy = (struct proxy_counts){7, 1, 2, 4};
	x.state.store.n_written = 6;
	body = ask(&x, "health", NULL, 200);
	assert_string_equal(
	    json_string_value(json_object_get(body, "status")), "ok");
	assert_string_equal(json_string_value(json_object_get(body, "version")),
	    TURNMETER_VERSION);
	assert_string_equal(json_string_value(json_object_get(body, "listen")),
	    "127.0.0.1:7717");
	assert_true(json_real_value(json_object_get(body, "uptime_s")) >= 0);
	assert_int_equal(
	    json_integer_value(json_object_get(body, "upstreams")), 3);
	assert_int_equal(number(body, "exchanges", "total"), 7);
	assert_int_equal(number(body, "exchanges", "in_flight"), 1);
	assert_int_equal(number(body, "exchanges", "connections"), 2);
	assert_int_equal(number(body, "exchanges", "refused"), 4);
	assert_int_equal(number(body, "store", "written"), 6);
	assert_int_equal(number(body, "journal", "free"), 4096);
	assert_int_equal(number(body, "feed", "readers"), 0);
	json_decref(body);
	fixture_close(&x);
}

static void
test_api_health_says_what_is_wrong(void **state)
{
	struct fixture x;
	json_t *body;

	(void)state;
	fixture_open(&x);
	x.state.store.n_lost = 2;
	body = ask(&x, "health", NULL, 200);
	assert_string_equal(
	    json_string_value(json_object_get(body, "status")), "degraded");
	assert_true(json_is_null(
	    json_object_get(json_object_get(body, "store"), "reason")));
	json_decref(body);
	x.state.store.is_failing = true;
	strcpy(x.state.store.reason, "database or disk is full");
	body = ask(&x, "health", NULL, 503);
	assert_string_equal(
	    json_string_value(json_object_get(body, "status")), "degraded");
	assert_string_equal(json_string_value(json_object_get(
				json_object_get(body, "store"), "reason")),
	    "database or disk is full");
	json_decref(body);
	memset(&x.state, 0, sizeof(x.state));
	body = ask(&x, "health", NULL, 200);
	assert_string_equal(
	    json_string_value(json_object_get(body, "status")), "degraded");
	json_decref(body);
	fixture_close(&x);
}

static void
test_api_turns_newest_hundred(void **state)
{
	struct fixture x;
	json_t *body;

	(void)state;
	fake_store_set(250, 0);
	fixture_open(&x);
	body = ask(&x, "api/turns", NULL, 200);
	assert_int_equal(json_array_size(body), 100);
	assert_int_equal(
	    json_integer_value(json_object_get(json_array_get(body, 0), "seq")),
	    151);
	json_decref(body);
	body = ask(&x, "api/turns", (const char *[]){"n", "0", NULL}, 200);
	assert_int_equal(json_array_size(body), 250);
	json_decref(body);
	fake_store_set(0, 0);
	body = ask(&x, "api/turns", NULL, 200);
	assert_true(json_is_array(body));
	assert_int_equal(json_array_size(body), 0);
	json_decref(body);
	fixture_close(&x);
}

static void
test_api_turns_as_ndjson(void **state)
{
	const char *pairs[] = {"format", "ndjson", "n", "3", NULL};
	struct fixture x;
	struct admin_call *call;
	struct fake_answer *a = fake_call_new("GET", "api/turns", pairs, &call);
	const char *line;

	(void)state;
	fake_store_set(9, 0);
	fixture_open(&x);
	api_handle(x.api, call);
	assert_true(fake_loop_until(x.loop, is_answered, a));
	assert_int_equal(a->status, 200);
	assert_string_equal(a->content_type, "application/x-ndjson");
	line = fake_answer_text(a);
	for (int seq = 7; seq <= 9; seq++) {
		const char *end = strchr(line, '\n');
		json_t *turn;

		assert_non_null(end);
		turn = json_loadb(line, (size_t)(end - line), 0, NULL);
		assert_int_equal(
		    json_integer_value(json_object_get(turn, "seq")), seq);
		json_decref(turn);
		line = end + 1;
	}
	assert_string_equal(line, "");
	fake_call_end(a);
	fixture_close(&x);
}

static void
test_api_turns_filters(void **state)
{
	const char *many[] = {"since", "1764511330123", "until",
	    "2026-11-30T14:02:10Z", "upstream", "cerebras", "model", "m",
	    "session", "s", "project", "p", "client", "opencode/1", "kind",
	    "count", "n", "7", NULL};
	const char *sorted[] = {"sort", "-output_tokens", "model", "", NULL};
	struct fixture x;

	(void)state;
	fake_store_set(1, 0);
	fixture_open(&x);
	json_decref(ask(&x, "api/turns", many, 200));
	assert_string_equal(fake_store_asked(),
	    "since=1764511330123 until=1796047330000 upstream=cerebras "
	    "model=m session=s project=p client=opencode/1 kind=count n=7");
	json_decref(ask(&x, "api/turns", sorted, 200));
	assert_string_equal(
	    fake_store_asked(), "sort=output_tokens descending=1 n=100");
	fixture_close(&x);
}

static void
test_api_turns_bad_parameters(void **state)
{
	const char *const bad[][2] = {{"n", "-1"}, {"n", "x"}, {"n", ""},
	    {"n", "99999999999999999999"}, {"since", "whenever"},
	    {"until", "2026-13"}, {"sort", "nothing"}, {"sort", "-"},
	    {"kind", "weird"}, {"format", "xml"}};
	struct fixture x;

	(void)state;
	fixture_open(&x);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		const char *pairs[] = {bad[i][0], bad[i][1], NULL};
		json_t *body = ask(&x, "api/turns", pairs, 400);
		const char *message = json_string_value(
		    json_object_get(json_object_get(body, "error"), "message"));

		assert_non_null(message);
		assert_non_null(strstr(message, bad[i][0]));
		json_decref(body);
	}
	fixture_close(&x);
}

static void
test_api_turns_without_database(void **state)
{
	struct fixture x;
	json_t *body;

	(void)state;
	fixture_open(&x);
	fake_store_set(INT64_MIN, 0);
	body = ask(&x, "api/turns", NULL, 200);
	assert_int_equal(json_array_size(body), 0);
	json_decref(body);
	fake_store_set(-1, 0);
	json_decref(ask(&x, "api/turns", NULL, 503));
	/* It is tried again, not given up. */
	fake_store_set(2, 0);
	body = ask(&x, "api/turns", NULL, 200);
	assert_int_equal(json_array_size(body), 2);
	json_decref(body);
	fixture_close(&x);
}

static void
test_api_turns_queue_is_bounded(void **state)
{
	enum { CALLS = READER_THREAD_JOBS + 2 };
	struct fake_answer *answers[CALLS];
	struct fixture x;
	size_t n_refused = 0;

	(void)state;
	fake_store_set(1, 0);
	fake_store_block(true);
	fixture_open(&x);
	for (size_t i = 0; i < CALLS; i++) {
		struct admin_call *call;

		answers[i] = fake_call_new("GET", "api/turns", NULL, &call);
		api_handle(x.api, call);
		n_refused += answers[i]->status == 503;
	}
	/* The thread holds one, or has not got to it yet. */
	assert_in_range(n_refused, 1, 2);
	/* A client that leaves is not answered any more. */
	fake_call_end(answers[0]);
	fake_store_block(false);
	for (size_t i = 1; i < CALLS; i++) {
		assert_true(fake_loop_until(x.loop, is_answered, answers[i]));
		n_refused -= answers[i]->status == 503;
		fake_call_end(answers[i]);
	}
	assert_int_equal(n_refused, 0);
	fixture_close(&x);
}

static void
test_api_stop_answers_who_waits(void **state)
{
	struct fake_answer *answers[8];
	struct fixture x;

	(void)state;
	fake_store_set(1, 0);
	fixture_open(&x);
	for (size_t i = 0; i < 8; i++) {
		struct admin_call *call;

		answers[i] = fake_call_new("GET", "api/turns", NULL, &call);
		api_handle(x.api, call);
	}
	fixture_close(&x);
	for (size_t i = 0; i < 8; i++) {
		assert_true(
		    answers[i]->status == 200 || answers[i]->status == 503);
		fake_call_end(answers[i]);
	}
}

static void
test_api_routes(void **state)
{
	struct fixture x;
	struct admin_call *call;
	struct fake_answer *a;
	json_t *body;

	(void)state;
	fixture_open(&x);
	body = ask(&x, "api/limits", NULL, 200);
	assert_true(json_is_array(body));
	assert_int_equal(json_array_size(body), 0);
	json_decref(body);
	body = ask(&x, "nothing", NULL, 404);
	assert_int_equal(json_array_size(json_object_get(
			     json_object_get(body, "error"), "paths")),
	    4);
	json_decref(body);
	json_decref(ask(&x, "", NULL, 404));
	a = fake_call_new("POST", "health", NULL, &call);
	api_handle(x.api, call);
	assert_int_equal(a->status, 405);
	fake_call_end(a);
	a = fake_call_new("HEAD", "health", NULL, &call);
	api_handle(x.api, call);
	assert_int_equal(a->status, 200);
	fake_call_end(a);
	a = fake_call_new("HEAD", "events", NULL, &call);
	api_handle(x.api, call);
	assert_int_equal(a->status, 200);
	assert_false(a->is_stream);
	fake_call_end(a);
	a = fake_call_new("GET", "events", NULL, &call);
	api_handle(x.api, call);
	assert_int_equal(a->status, 200);
	assert_true(a->is_stream);
	assert_int_equal(feed_n_readers(x.feed), 1);
	fake_call_end(a);
	fixture_close(&x);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_api_health),
	    cmocka_unit_test(test_api_health_says_what_is_wrong),
	    cmocka_unit_test(test_api_turns_newest_hundred),
	    cmocka_unit_test(test_api_turns_as_ndjson),
	    cmocka_unit_test(test_api_turns_filters),
	    cmocka_unit_test(test_api_turns_bad_parameters),
	    cmocka_unit_test(test_api_turns_without_database),
	    cmocka_unit_test(test_api_turns_queue_is_bounded),
	    cmocka_unit_test(test_api_stop_answers_who_waits),
	    cmocka_unit_test(test_api_routes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
