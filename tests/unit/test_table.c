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

#include "base/buf.h"
#include "record/turn.h"
#include "report/table.h"
#include "report/text.h"
#include "report/turn_view.h"
#include "report/when.h"

/* Gives the text of B and empties it. */
static char *
taken(struct buf *b)
{
	size_t n;
	char *text;

	buf_append(b, "", 1);
	text = buf_take(b, &n);
	assert_non_null(text);
	return text;
}

static void
test_text_shorten_keeps_both_ends(void **state)
{
	static const struct {
		const char *text;
		size_t width;
		const char *out;
	} cases[] = {
	    {"claude-opus-4-5", 15, "claude-opus-4-5"},
	    {"claude-opus-4-5", 12, "claude-…-4-5"},
	    {"abc", 2, "ab"},
	    {"abcd", 3, "ab…"},
	    {"", 5, ""},
	    {"模型模型模型", 7, "模型…型"},
	    {"a\xff\xfe", 3, "a\xff\xfe"},
	};
	char out[64];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		size_t n = text_shorten(
		    cases[i].text, cases[i].width, out, sizeof(out));

		assert_string_equal(out, cases[i].out);
		assert_int_equal(n, text_width(out));
		assert_true(n <= cases[i].width);
	}
	assert_int_equal(text_width("模型"), 4);
	assert_int_equal(text_width("e\xcc\x81"), 1);
}

static const struct table_column columns[] = {
    {.name = "NAME", .width = 4, .shrink = 6},
    {.name = "A", .is_right = true},
    {.name = "B", .is_right = true, .drop = 1},
    {.name = "C", .is_right = true, .drop = 2},
};

static struct table *
table_of_two(void)
{
	static const char *const one[] = {"a-very-long-name", "1", "22", "3"};
	static const char *const two[] = {"short", "100", "2", "33"};
	struct table *t = table_new(columns, 4);

	assert_int_equal(table_add(t, one), 0);
	assert_int_equal(table_add(t, two), 0);
	return t;
}

static void
test_table_fits_any_width(void **state)
{
	struct table *t = table_of_two();
	struct buf out;

	(void)state;
	buf_init(&out, 4096);
	for (size_t width = 10; width < 30; width++) {
		char *text, *line, *rest;

		table_print(t, width, &out);
		text = taken(&out);
		rest = text;
		while ((line = strsep(&rest, "\n")) != NULL)
			assert_true(text_width(line) <= width);
		free(text);
	}
	table_free(t);
	buf_fini(&out);
}

static void
test_table_drops_whole_columns_in_order(void **state)
{
	struct table *t = table_of_two();
	struct buf out;
	char *text;

	(void)state;
	buf_init(&out, 4096);
	table_print(t, 0, &out);
	text = taken(&out);
	assert_string_equal(text, "NAME               A  B  C\n"
				  "a-very-long-name   1 22  3\n"
				  "short            100  2 33\n");
	free(text);
	table_print(t, 13, &out);
	text = taken(&out);
	assert_string_equal(text, "NAME     A  B\n"
				  "a-v…me   1 22\n"
				  "short  100  2\n");
	free(text);
	table_print(t, 10, &out);
	text = taken(&out);
	assert_string_equal(text, "NAME     A\n"
				  "a-v…me   1\n"
				  "short  100\n");
	free(text);
	table_free(t);
	buf_fini(&out);
}

/* A number wider than its column stays whole: the name gives the room. */
static void
test_table_line_never_cuts_a_number(void **state)
{
	static const struct table_column two[] = {
	    {.name = "N", .width = 12, .shrink = 8},
	    {.name = "X", .is_right = true, .width = 3}};
	static const char *const cells[] = {"a-long-name!", "1234567"};
	static const char *const notes[] = {"a note that is long"};
	struct table_layout layout;
	struct buf out;
	char *text;

	(void)state;
	buf_init(&out, 4096);
	table_layout(&layout, two, 2, 16);
	table_line(&layout, cells, &out);
	text = taken(&out);
	assert_string_equal(text, "a-lon…e! 1234567\n");
	free(text);
	table_line_note(&layout, cells, 1, notes, 1, 24, &out);
	text = taken(&out);
	/* The line feed counts one. */
	assert_int_equal(text_width(text), 24 + 1);
	free(text);
	buf_fini(&out);
}

static struct turn *
turn_example(void)
{
	struct turn *t = turn_new();

	t->started_at = 1796047330000;
	turn_set_str(t, &t->upstream, "cerebras");
	turn_set_str(t, &t->model, "qwen-3.8-27b");
	turn_set_str(t, &t->session_id, "ses_1");
	t->kind = TURN_KIND_TURN;
	t->outcome = TURN_OUTCOME_OK;
	t->streaming = 1;
	t->usage_source = TURN_USAGE_SOURCE_REPORTED;
	t->input_tokens = 36400;
	t->uncached_tokens = 25400;
	t->cache_read_tokens = 11000;
	t->output_tokens = 230;
	t->reasoning_tokens = 0;
	t->tool_calls = 2;
	t->ttft_ms = 750;
	t->decode_tps = 1224;
	t->usable_tps = 246;
	t->stop = TURN_STOP_TOOL_CALLS;
	return t;
}

static char *
row_of(struct turn_view *v, const struct turn *t)
{
	struct buf out;
	char *text;

	buf_init(&out, 4096);
	turn_view_row(v, t, &out);
	text = taken(&out);
	buf_fini(&out);
	return text;
}

static char *
notes_of(struct turn_view *v)
{
	struct buf out;
	char *text;

	buf_init(&out, 4096);
	turn_view_notes(v, &out);
	text = taken(&out);
	buf_fini(&out);
	return text;
}

static void
test_turn_view_row_at_80(void **state)
{
	struct turn *t = turn_example();
	struct turn_view v;
	char *text;

	(void)state;
	when_set_zone("UTC");
	turn_view_init(&v, 80, false);
	text = row_of(&v, t);
	assert_string_equal(text, "14:02:10 a qwen-3.8-27b   36.4K  25.4K  30%"
				  "   230     0  0.75  1224   246 tools\n");
	free(text);
	text = notes_of(&v);
	assert_string_equal(text, "");
	free(text);
	turn_free(t);
}

/* Unknown is `?` in every column that applies; nothing is printed as 0. */
static void
test_turn_view_unknown_is_a_question_mark(void **state)
{
	struct turn *t = turn_new();
	struct turn_view v;
	char *text;

	(void)state;
	when_set_zone("UTC");
	t->started_at = 1796047330000;
	t->outcome = TURN_OUTCOME_OK;
	turn_view_init(&v, 0, false);
	text = row_of(&v, t);
	assert_string_equal(text,
	    "14:02:10 ? ?/?                                 ?      ?    ?"
	    "     ?     ?     ?     ?     ?   ? ?\n");
	free(text);
	turn_free(t);
}

static void
test_turn_view_letters_are_explained_once(void **state)
{
	struct turn *t = turn_example();
	struct turn_view v;
	char *text;

	(void)state;
	turn_view_init(&v, 0, false);
	t->reasoning_tokens = 100;
	t->reasoning_bytes = 149;
	text = row_of(&v, t);
	assert_non_null(strstr(text, "0.75h"));
	assert_non_null(strstr(text, "1224h"));
	free(text);
	t->reasoning_bytes = 150;
	text = row_of(&v, t);
	assert_null(strstr(text, "0.75h"));
	free(text);
	text = notes_of(&v);
	assert_non_null(strstr(text, "h = hidden reasoning"));
	free(text);
	t->decode_tps = NAN;
	t->n_pieces = 20;
	turn_add_flag(t, "burst");
	text = row_of(&v, t);
	assert_non_null(strstr(text, "   -b   246"));
	free(text);
	t->n_pieces = 7;
	text = row_of(&v, t);
	assert_non_null(strstr(text, "   -p   246"));
	free(text);
	text = notes_of(&v);
	assert_null(strstr(text, "h ="));
	assert_non_null(strstr(text, "b = "));
	assert_non_null(strstr(text, "p = "));
	free(text);
	turn_free(t);
}

static void
test_turn_view_partial_is_a_lower_bound(void **state)
{
	struct turn *t = turn_example();
	struct turn_view v;
	char *text;

	(void)state;
	t->usage_source = TURN_USAGE_SOURCE_PARTIAL;
	t->outcome = TURN_OUTCOME_CLIENT_CLOSED;
	turn_view_init(&v, 0, false);
	text = row_of(&v, t);
	assert_non_null(strstr(text, " >=230 "));
	assert_non_null(strstr(text, " abort"));
	free(text);
	turn_free(t);
}

static void
test_turn_view_refusal_says_why(void **state)
{
	struct turn *t = turn_example();
	struct turn_view v;
	char *text;

	(void)state;
	t->outcome = TURN_OUTCOME_RATE_LIMITED;
	t->status = 429;
	t->error_kind = TURN_ERROR_KIND_RATE;
	t->output_tokens = t->input_tokens = t->uncached_tokens = TURN_NULL;
	t->cache_read_tokens = TURN_NULL;
	t->retry_after_ms = 6000;
	turn_view_init(&v, 80, false);
	text = row_of(&v, t);
	assert_non_null(
	    strstr(text, "      ?      ?    ?  429 rate: wait 6.00 s\n"));
	free(text);
	turn_set_str(t, &t->limit_dimension, "total tokens/min");
	text = row_of(&v, t);
	assert_non_null(strstr(text, "429 total tokens/min: wait 6.00 s"));
	free(text);
	turn_free(t);
}

/* On a narrow terminal words go, whole ones; no number loses a digit. */
static void
test_turn_view_note_is_never_torn(void **state)
{
	static const struct {
		size_t width;
		enum turn_outcome outcome;
		const char *end;
	} cases[] = {
	    {120, TURN_OUTCOME_CLIENT_CLOSED, "  client closed after 3.20 s\n"},
	    {60, TURN_OUTCOME_CLIENT_CLOSED, "  client closed\n"},
	    {40, TURN_OUTCOME_CLIENT_CLOSED, "  abort\n"},
	    {80, TURN_OUTCOME_CONNECT_FAILED,
		"  no connection to the upstream\n"},
	    {40, TURN_OUTCOME_CONNECT_FAILED, "  noconn\n"},
	    {60, TURN_OUTCOME_OVERLOADED, "  529: wait 6.00 s\n"},
	    {40, TURN_OUTCOME_OVERLOADED, "  529\n"},
	};
	struct turn *t = turn_example();
	struct turn_view v;
	struct buf out;
	char *text;

	(void)state;
	t->output_tokens = t->input_tokens = t->cache_read_tokens = TURN_NULL;
	t->total_ms = 3200;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		bool is_refusal = cases[i].outcome == TURN_OUTCOME_OVERLOADED;

		t->outcome = cases[i].outcome;
		t->status = is_refusal ? 529 : TURN_NULL;
		t->error_kind = is_refusal ? TURN_ERROR_KIND_OVERLOADED
					   : TURN_ERROR_KIND_NULL;
		t->retry_after_ms = is_refusal ? 6000 : NAN;
		turn_view_init(&v, cases[i].width, false);
		text = row_of(&v, t);
		assert_non_null(strstr(text, cases[i].end));
		assert_null(strstr(text, "\xe2\x80\xa6"));
		free(text);
	}
	t->ttft_ms = 220;
	turn_view_init(&v, 60, false);
	buf_init(&out, 4096);
	turn_view_live_row(&v, t, 230, &out);
	text = taken(&out);
	assert_non_null(strstr(text, "  0.23 s so far\n"));
	free(text);
	buf_fini(&out);
	turn_free(t);
}

/* Columns that nobody fills are absent until somebody does. */
static void
test_turn_view_learns_columns(void **state)
{
	struct turn *t = turn_example();
	struct turn_view v;
	struct buf out;
	char *text;

	(void)state;
	buf_init(&out, 4096);
	turn_view_init(&v, 0, false);
	assert_false(turn_view_learn(&v, t));
	turn_view_header(&v, &out);
	text = taken(&out);
	assert_null(strstr(text, "COST"));
	assert_null(strstr(text, "PROJECT"));
	free(text);
	turn_set_str(t, &t->project, "shop");
	assert_true(turn_view_learn(&v, t));
	assert_false(turn_view_learn(&v, t));
	turn_view_header(&v, &out);
	text = taken(&out);
	assert_non_null(strstr(text, "PROJECT@BRANCH"));
	free(text);
	buf_fini(&out);
	turn_free(t);
}

static void
test_turn_view_never_wider_than_the_terminal(void **state)
{
	struct turn *t = turn_example();

	(void)state;
	turn_set_str(t, &t->model,
	    "accounts/somebody/models/a-model-with-a-very-long-name-instruct");
	turn_set_str(t, &t->project, "a-project-with-a-long-name");
	t->input_tokens = t->uncached_tokens = 999949;
	t->output_tokens = 123456;
	for (size_t width = 50; width <= 200; width++) {
		struct turn_view v;
		char *text;

		turn_view_init(&v, width, false);
		turn_view_learn(&v, t);
		text = row_of(&v, t);
		assert_true(text_width(text) - 1 <= width);
		assert_non_null(strstr(text, "123.5K"));
		free(text);
	}
	turn_free(t);
}

static void
test_turn_view_letters_of_sessions(void **state)
{
	struct turn_view v;
	char id[16];

	(void)state;
	turn_view_init(&v, 80, false);
	assert_int_equal(turn_view_letter(&v, NULL), '?');
	for (int i = 0; i < TURN_VIEW_SESSIONS; i++) {
		snprintf(id, sizeof(id), "s%d", i);
		assert_int_equal(
		    turn_view_letter(&v, id), i < 26 ? 'a' + i : 'A' + i - 26);
	}
	assert_int_equal(turn_view_letter(&v, "s0"), 'a');
	/* All taken: s1 was not seen for the longest time. */
	assert_int_equal(turn_view_letter(&v, "new"), 'b');
	assert_int_equal(turn_view_letter(&v, "s1"), 'c');
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_text_shorten_keeps_both_ends),
	    cmocka_unit_test(test_table_fits_any_width),
	    cmocka_unit_test(test_table_drops_whole_columns_in_order),
	    cmocka_unit_test(test_table_line_never_cuts_a_number),
	    cmocka_unit_test(test_turn_view_row_at_80),
	    cmocka_unit_test(test_turn_view_unknown_is_a_question_mark),
	    cmocka_unit_test(test_turn_view_letters_are_explained_once),
	    cmocka_unit_test(test_turn_view_partial_is_a_lower_bound),
	    cmocka_unit_test(test_turn_view_refusal_says_why),
	    cmocka_unit_test(test_turn_view_note_is_never_torn),
	    cmocka_unit_test(test_turn_view_learns_columns),
	    cmocka_unit_test(test_turn_view_never_wider_than_the_terminal),
	    cmocka_unit_test(test_turn_view_letters_of_sessions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
