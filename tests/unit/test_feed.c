/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "fake_live.h"
#include "fake_store.h"
#include "live/feed.h"
#include "live/reader_thread.h"
#include "record/turn.h"

struct fixture {
	struct loop *loop;
	struct reader_thread *reader;
	struct feed *feed;
};

static void
fixture_open(struct fixture *x, int64_t last_seq)
{
	struct feed_setup setup = {
	    .listen = "127.0.0.1:7717",
	    .last_seq = last_seq,
	    .resume = reader_thread_resume,
	};

	x->loop = fake_loop_new();
	assert_int_equal(reader_thread_start(x->loop, "any", &x->reader), 0);
	setup.loop = x->loop;
	setup.resume_cls = x->reader;
	x->feed = feed_new(&setup);
}

static void
fixture_close(struct fixture *x)
{
	reader_thread_stop(x->reader);
	feed_free(x->feed);
	assert_int_equal(fake_loop_n_timers(x->loop), 0);
	fake_loop_free(x->loop);
}

static void
finish(struct fixture *x, int64_t first, int64_t last)
{
	for (int64_t seq = first; seq <= last; seq++) {
		struct turn *t = fake_turn(seq);

		feed_turn(x->feed, FEED_FINISHED, t);
		turn_free(t);
	}
}

static struct fake_answer *
watch(struct fixture *x, const char *key, const char *value, size_t room)
{
	const char *pairs[] = {key, value, NULL};
	struct admin_call *call;
	struct fake_answer *a = fake_call_new("GET", "events", pairs, &call);

	a->room = room;
	feed_serve(x->feed, call);
	return a;
}

/* What a stream held so far, as a short text: "hello 5 finished 6 lost 3". An
 * event's data is checked on the way. */
static const char *
story(struct fake_answer *a)
{
	static char text[65536];
	char *copy = strdup(fake_answer_text(a)), *at = copy;
	size_t n = 0;

	text[0] = '\0';
	while (*at != '\0') {
		char *end = strstr(at, "\n\n"), *data, name[32];
		json_t *object, *number;

		assert_non_null(end);
		*end = '\0';
		if (strcmp(at, ": keepalive") == 0) {
			n += (size_t)snprintf(
			    text + n, sizeof(text) - n, "keepalive ");
			at = end + 2;
			continue;
		}
		assert_int_equal(sscanf(at, "event: %31s\n", name), 1);
		data = strstr(at, "data: ");
		assert_non_null(data);
		object = json_loads(data + 6, 0, NULL);
		assert_int_equal(
		    json_integer_value(json_object_get(object, "v")), 1);
		assert_string_equal(
		    json_string_value(json_object_get(object, "event")), name);
		number = json_object_get(object, "n");
		if (number == NULL)
			number = json_object_get(object, "seq");
		if (number == NULL)
			number = json_object_get(object, "last_seq");
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s ", name);
		if (json_is_integer(number))
			n += (size_t)snprintf(text + n, sizeof(text) - n,
			    "%lld ", (long long)json_integer_value(number));
		json_decref(object);
		at = end + 2;
	}
	if (n > 0)
		text[n - 1] = '\0';
	free(copy);
	return text;
}

struct wait {
	struct fixture *x;
	struct fake_answer *answer;
	const char *needle;
};

static bool
wait_is_over(void *cls)
{
	struct wait *w = cls;

	fake_loop_advance(w->x->loop, 100);
	return strstr(fake_answer_text(w->answer), w->needle) != NULL;
}

static void
wait_for(struct fixture *x, struct fake_answer *a, const char *needle)
{
	struct wait w = {x, a, needle};

	assert_true(fake_loop_until(x->loop, wait_is_over, &w));
}

static void
test_feed_live_events_in_order(void **state)
{
	struct fixture x;
	struct fake_answer *a;
	struct turn *t = fake_turn(TURN_NULL);

	(void)state;
	fixture_open(&x, 5);
	a = watch(&x, NULL, NULL, SIZE_MAX);
	assert_string_equal(a->content_type, "text/event-stream");
	feed_turn(x.feed, FEED_STARTED, t);
	feed_turn(x.feed, FEED_FIRST_TOKEN, t);
	feed_turn(x.feed, FEED_PROGRESS, t);
	finish(&x, 6, 6);
	feed_notice(x.feed, "warning", "the disk is full");
	assert_string_equal(
	    story(a), "hello 5 started first_token progress finished 6 notice");
	assert_non_null(strstr(fake_answer_text(a), "\nid: 6\n"));
	assert_non_null(
	    strstr(fake_answer_text(a), "\"listen\":\"127.0.0.1:7717\""));
	assert_non_null(strstr(fake_answer_text(a), "\"output_tokens\":60,"));
	assert_non_null(strstr(fake_answer_text(a), "\"input_tokens\":null,"));
	assert_non_null(
	    strstr(fake_answer_text(a), "\"text\":\"the disk is full\""));
	fake_call_end(a);
	assert_int_equal(feed_n_readers(x.feed), 0);
	assert_int_equal(feed_n_dropped(x.feed), 0);
	turn_free(t);
	fake_loop_advance(x.loop, 60000);
	fixture_close(&x);
}

static void
test_feed_keepalive_every_15_s(void **state)
{
	struct fixture x;
	struct fake_answer *a;

	(void)state;
	fixture_open(&x, 0);
	a = watch(&x, NULL, NULL, SIZE_MAX);
	fake_loop_advance(x.loop, 14999);
	assert_string_equal(story(a), "hello 0");
	fake_loop_advance(x.loop, 15001);
	assert_string_equal(story(a), "hello 0 keepalive keepalive");
	fake_call_end(a);
	fake_loop_advance(x.loop, 60000);
	fixture_close(&x);
}

static void
test_feed_resumes_from_ring(void **state)
{
	const char *const ways[][2] = {{"after", "2"}, {"Last-Event-ID:", "2"}};
	struct fixture x;

	(void)state;
	/* Nothing in the database: what comes is from the ring. */
	fake_store_set(0, 0);
	for (size_t i = 0; i < 2; i++) {
		struct fake_answer *a;

		fixture_open(&x, 0);
		finish(&x, 1, 4);
		a = watch(&x, ways[i][0], ways[i][1], SIZE_MAX);
		finish(&x, 5, 5);
		assert_string_equal(
		    story(a), "hello 4 finished 3 finished 4 finished 5");
		fake_call_end(a);
		fixture_close(&x);
	}
}

static void
test_feed_resumes_from_database_then_ring(void **state)
{
	struct fixture x;
	struct fake_answer *a;
	char want[8192];
	size_t n;

	(void)state;
	/* The writer is behind: the ring alone has 151 to 160. */
	fake_store_set(150, 0);
	fixture_open(&x, 140);
	finish(&x, 141, 160);
	a = watch(&x, "after", "3", SIZE_MAX);
	finish(&x, 161, 161);
	wait_for(&x, a, "id: 161\n");
	finish(&x, 162, 162);
	n = (size_t)snprintf(want, sizeof(want), "hello 160");
	for (int seq = 4; seq <= 162; seq++)
		n += (size_t)snprintf(
		    want + n, sizeof(want) - n, " finished %d", seq);
	assert_string_equal(story(a), want);
	fake_call_end(a);
	fixture_close(&x);
}

static void
test_feed_tells_what_is_lost(void **state)
{
	struct fixture x;
	struct fake_answer *a;

	(void)state;
	/* A hole in the database, and one between it and the ring. */
	fake_store_set(6, 4);
	fixture_open(&x, 8);
	finish(&x, 9, 9);
	a = watch(&x, "after", "2", SIZE_MAX);
	wait_for(&x, a, "id: 9\n");
	assert_string_equal(story(a),
	    "hello 9 finished 3 lost 1 finished 5 finished 6 lost 2 "
	    "finished 9");
	fake_call_end(a);
	fixture_close(&x);

	/* No database at all. */
	fake_store_set(-1, 0);
	fixture_open(&x, 8);
	a = watch(&x, "after", "2", SIZE_MAX);
	wait_for(&x, a, "id: 8\n");
	assert_string_equal(story(a), "hello 8 lost 6");
	fake_call_end(a);
	fixture_close(&x);
}

static void
test_feed_ids_that_make_no_sense_start_now(void **state)
{
	const char *const ids[] = {
	    "", "x", "-1", "7z", "99", "1e30", "99999999999999999999999"};
	struct fixture x;

	(void)state;
	fake_store_set(8, 0);
	fixture_open(&x, 8);
	for (size_t i = 0; i < sizeof(ids) / sizeof(*ids); i++) {
		struct fake_answer *a = watch(
		    &x, "Last-Event-ID:", ids[i], SIZE_MAX);

		assert_string_equal(story(a), "hello 8");
		fake_call_end(a);
	}
	fixture_close(&x);
}

static void
test_feed_drops_the_slow_alone(void **state)
{
	struct fixture x;
	struct fake_answer *slow, *quick;

	(void)state;
	fixture_open(&x, 0);
	slow = watch(&x, NULL, NULL, 4000);
	quick = watch(&x, NULL, NULL, SIZE_MAX);
	finish(&x, 1, 3);
	assert_true(slow->is_closed);
	assert_false(quick->is_closed);
	assert_int_equal(feed_n_readers(x.feed), 1);
	assert_int_equal(feed_n_dropped(x.feed), 1);
	assert_string_equal(
	    story(quick), "hello 0 finished 1 finished 2 finished 3");
	fake_call_end(slow);
	fake_call_end(quick);
	fixture_close(&x);
}

static void
test_feed_history_waits_for_room(void **state)
{
	struct fixture x;
	struct fake_answer *a;

	(void)state;
	fake_store_set(0, 0);
	fixture_open(&x, 0);
	finish(&x, 1, 40);
	a = watch(&x, "after", "0", 12000);
	fake_loop_advance(x.loop, 1000);
	assert_false(a->is_closed);
	assert_null(strstr(fake_answer_text(a), "id: 40\n"));
	/* Live events in the meantime are no reason to drop it either. */
	finish(&x, 41, 41);
	feed_notice(x.feed, "warning", "x");
	fake_loop_advance(x.loop, 20000);
	assert_false(a->is_closed);
	a->room = SIZE_MAX;
	fake_loop_advance(x.loop, 1000);
	assert_non_null(strstr(fake_answer_text(a), "id: 41\n"));
	fake_call_end(a);
	fixture_close(&x);
}

static void
test_feed_reader_leaves_while_the_database_is_asked(void **state)
{
	struct fixture x;
	struct fake_answer *a;

	(void)state;
	fake_store_set(8, 0);
	fake_store_block(true);
	fixture_open(&x, 8);
	a = watch(&x, "after", "2", SIZE_MAX);
	fake_call_end(a);
	assert_int_equal(feed_n_readers(x.feed), 0);
	fake_store_block(false);
	/* The batch comes back to nobody, here or at the stop. */
	fixture_close(&x);
}

static void
test_feed_ring_is_bounded(void **state)
{
	struct fixture x;
	struct fake_answer *a;

	(void)state;
	fake_store_set(0, 0);
	fixture_open(&x, 0);
	finish(&x, 1, FEED_RING_TURNS + 10);
	a = watch(&x, "after", "3", SIZE_MAX);
	wait_for(&x, a, "id: 11\n");
	assert_int_equal(
	    strncmp(story(a), "hello 1034 lost 7 finished 11 ", 30), 0);
	fake_call_end(a);
	fixture_close(&x);
}

static void
test_feed_too_many_readers(void **state)
{
	struct fake_answer *all[FEED_READERS_MAX], *one_more;
	struct fixture x;

	(void)state;
	fixture_open(&x, 0);
	for (size_t i = 0; i < FEED_READERS_MAX; i++)
		all[i] = watch(&x, NULL, NULL, SIZE_MAX);
	one_more = watch(&x, NULL, NULL, SIZE_MAX);
	assert_int_equal(one_more->status, 503);
	fake_call_end(one_more);
	for (size_t i = 0; i < FEED_READERS_MAX; i += 2)
		fake_call_end(all[i]);
	one_more = watch(&x, NULL, NULL, SIZE_MAX);
	assert_int_equal(one_more->status, 200);
	fixture_close(&x);
	assert_true(one_more->is_closed);
	fake_call_end(one_more);
	for (size_t i = 1; i < FEED_READERS_MAX; i += 2)
		fake_call_end(all[i]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_feed_live_events_in_order),
	    cmocka_unit_test(test_feed_keepalive_every_15_s),
	    cmocka_unit_test(test_feed_resumes_from_ring),
	    cmocka_unit_test(test_feed_resumes_from_database_then_ring),
	    cmocka_unit_test(test_feed_tells_what_is_lost),
	    cmocka_unit_test(test_feed_ids_that_make_no_sense_start_now),
	    cmocka_unit_test(test_feed_drops_the_slow_alone),
	    cmocka_unit_test(test_feed_history_waits_for_room),
	    cmocka_unit_test(
		test_feed_reader_leaves_while_the_database_is_asked),
	    cmocka_unit_test(test_feed_ring_is_bounded),
	    cmocka_unit_test(test_feed_too_many_readers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
