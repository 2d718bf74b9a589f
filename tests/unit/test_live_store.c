/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * The room live over a real database.
 */
#include "store_help.h"

#include <jansson.h>

#include "fake_live.h"
#include "live/api.h"
#include "live/feed.h"
#include "live/reader_thread.h"
#include "record/turn_json.h"
#include "store/journal.h"
#include "store/store.h"

enum { N_TURNS = 200 };

struct fixture {
	struct loop *loop;
	struct reader_thread *reader;
	struct feed *feed;
	struct api *api;
};

/* Turns 1 to N_TURNS; the last one has every field. */
static void
fill(const char *folder, const char *path)
{
	char *journal_path = help_path(folder, "t.journal");
	struct store_writer_setup setup = {.path = path, .n_queue = N_TURNS};
	struct store_writer *writer;
	char *error = NULL;

	assert_int_equal(journal_open(journal_path, &setup.journal, &error), 0);
	assert_int_equal(store_writer_start(&setup, &writer, &error), 0);
	for (int64_t seq = 1; seq <= N_TURNS; seq++) {
		struct turn *t = seq < N_TURNS ? help_turn(seq)
					       : help_full_turn(seq);

		if (seq % 2 == 0 && seq < N_TURNS)
			turn_set_str(t, &t->session_id, "even");
		assert_int_equal(store_writer_put(writer, &t, -1), 0);
	}
	store_writer_stop(writer, 20000);
	journal_close(setup.journal);
	free(journal_path);
}

static void
fixture_open(struct fixture *x, const char *path)
{
	struct feed_setup feed = {.listen = "127.0.0.1:7717",
	    .last_seq = N_TURNS,
	    .resume = reader_thread_resume};
	struct api_setup api = {.listen = feed.listen};

	x->loop = feed.loop = fake_loop_new();
	assert_int_equal(reader_thread_start(x->loop, path, &x->reader), 0);
	feed.resume_cls = x->reader;
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

struct wait {
	struct loop *loop;
	struct fake_answer *answer;
};

static bool
has_all(void *cls)
{
	struct wait *w = cls;

	fake_loop_advance(w->loop, 100);
	return strstr(fake_answer_text(w->answer), "\nid: 200\n") != NULL;
}

static void
test_live_store_feed_resumes(void **state)
{
	char *path = help_path(*state, "t.db");
	const char *pairs[] = {"Last-Event-ID:", "10", NULL};
	struct admin_call *call;
	struct fake_answer *a = fake_call_new("GET", "events", pairs, &call);
	struct fixture x;
	const char *at;

	fill(*state, path);
	fixture_open(&x, path);
	feed_serve(x.feed, call);
	assert_true(
	    fake_loop_until(x.loop, has_all, &(struct wait){x.loop, a}));
	at = fake_answer_text(a);
	assert_null(strstr(at, "event: lost"));
	for (int seq = 11; seq <= N_TURNS; seq++) {
		char id[32];

		snprintf(id, sizeof(id), "\nid: %d\n", seq);
		at = strstr(at, id);
		assert_non_null(at);
	}
	fake_call_end(a);
	fixture_close(&x);
	free(path);
}

static json_t *
ask(struct fixture *x, const char *const *pairs)
{
	struct admin_call *call;
	struct fake_answer *a = fake_call_new("GET", "api/turns", pairs, &call);
	json_t *body;

	api_handle(x->api, call);
	assert_true(fake_loop_until(x->loop, is_answered, a));
	assert_int_equal(a->status, 200);
	body = json_loads(fake_answer_text(a), 0, NULL);
	fake_call_end(a);
	assert_true(json_is_array(body));
	return body;
}

static int64_t
seq_at(const json_t *turns, size_t i)
{
	return json_integer_value(
	    json_object_get(json_array_get(turns, i), "seq"));
}

static void
test_live_store_api_selects(void **state)
{
	const char *last[] = {"n", "3", NULL};
	const char *even[] = {"session", "even", "n", "2", NULL};
	const char *first[] = {"sort", "seq", "n", "2", NULL};
	const char *full[] = {"n", "1", NULL};
	char *path = help_path(*state, "t.db");
	struct turn *want = help_full_turn(N_TURNS), *got;
	struct fixture x;
	json_t *turns;

	fill(*state, path);
	fixture_open(&x, path);
	turns = ask(&x, last);
	assert_int_equal(json_array_size(turns), 3);
	assert_int_equal(seq_at(turns, 0), N_TURNS - 2);
	json_decref(turns);
	turns = ask(&x, even);
	assert_int_equal(json_array_size(turns), 2);
	assert_int_equal(seq_at(turns, 0), N_TURNS - 4);
	json_decref(turns);
	turns = ask(&x, first);
	assert_int_equal(seq_at(turns, 0), 1);
	json_decref(turns);
	turns = ask(&x, full);
	got = turn_from_json(json_array_get(turns, 0));
	turn_set_str(want, &want->id, got->id); /* a new one each time */
	help_assert_same(want, got);
	turn_free(got);
	turn_free(want);
	json_decref(turns);
	fixture_close(&x);
	free(path);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(test_live_store_feed_resumes,
		help_make_folder, help_remove_folder),
	    cmocka_unit_test_setup_teardown(test_live_store_api_selects,
		help_make_folder, help_remove_folder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
