/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
#include "store_help.h"
#include "turn_codec.h"

enum { BIG = 65536 };

static void
test_every_field_comes_back(void **state)
{
	unsigned char bytes[8192];
	struct turn *t = help_full_turn(12), *back;
	size_t n = turn_encode(t, TURN_CODEC_CUT_NOTHING, bytes, sizeof(bytes));

	(void)state;
	assert_in_range(n, 500, 4096);
	back = turn_decode(bytes, n, false);
	assert_non_null(back);
	help_assert_same(t, back);
	turn_free(back);
	turn_free(t);
}

static void
test_null_stays_null_and_zero_zero(void **state)
{
	unsigned char bytes[8192];
	struct turn *t = turn_new(), *back;
	size_t n;

	(void)state;
	t->output_tokens = 0;
	t->connect_ms = 0;
	n = turn_encode(t, TURN_CODEC_CUT_NOTHING, bytes, sizeof(bytes));
	back = turn_decode(bytes, n, false);
	assert_non_null(back);
	help_assert_same(t, back);
	assert_int_equal(back->output_tokens, 0);
	assert_true(back->input_tokens == TURN_NULL);
	assert_true(isnan(back->ttft_ms));
	turn_free(back);
	turn_free(t);
}

/* A newer program's field, wire types and tools before an older one's. */
static void
test_unknown_fields_are_skipped(void **state)
{
	static const unsigned char strange[] = {
	    /* field 0x3000: int, real, text */
	    0x00, 0xc0, 1, 2, 3, 4, 5, 6, 7, 8, 0x01, 0xc0, 1, 2, 3, 4, 5, 6, 7,
	    8, 0x02, 0xc0, 3, 0, 'a', 'b', 'c'};
	unsigned char bytes[8192];
	struct turn *t = help_full_turn(12), *back;
	size_t n;

	(void)state;
	memcpy(bytes, strange, sizeof(strange));
	n = turn_encode(t, TURN_CODEC_CUT_NOTHING, bytes + sizeof(strange),
	    sizeof(bytes) - sizeof(strange));
	back = turn_decode(bytes, sizeof(strange) + n, false);
	assert_non_null(back);
	help_assert_same(t, back);
	turn_free(back);
	turn_free(t);
}

/* `kind` by a name that is not ours, `model` as a number: unknown, not wrong. */
static void
test_unknown_values_are_null(void **state)
{
	unsigned char bytes[64] = {0};
	size_t kind = (size_t)(turn_field_find("kind") - turn_fields);
	size_t model = (size_t)(turn_field_find("model") - turn_fields);
	size_t id = (size_t)(turn_field_find("id") - turn_fields);
	struct turn *t;

	(void)state;
	bytes[0] = (unsigned char)(id << 2 | 2);
	bytes[2] = 1;
	bytes[4] = 'x';
	bytes[5] = (unsigned char)(kind << 2 | 2);
	bytes[7] = 3;
	memcpy(bytes + 9, "new", 3);
	bytes[12] = (unsigned char)(model << 2);
	bytes[14] = 7;
	t = turn_decode(bytes, 22, false);
	assert_non_null(t);
	assert_string_equal(t->id, "x");
	assert_int_equal(t->kind, TURN_KIND_NULL);
	assert_null(t->model);
	turn_free(t);
}

static void
test_every_broken_front_is_refused_or_whole_fields(void **state)
{
	unsigned char bytes[8192];
	struct turn *t = help_full_turn(12), *back;
	size_t n = turn_encode(t, TURN_CODEC_CUT_NOTHING, bytes, sizeof(bytes));
	size_t n_refused = 0, n_front = 0;

	(void)state;
	for (size_t i = 0; i < n; i++) {
		back = turn_decode(bytes, i, false);
		n_refused += back == NULL;
		turn_free(back);
		back = turn_decode(bytes, i, true);
		if (back == NULL)
			continue;
		n_front++;
		assert_true(turn_has_flag(back, "journal_cut"));
		assert_string_equal(back->id, t->id);
		if (back->model != NULL)
			assert_string_equal(back->model, t->model);
		turn_free(back);
	}
	/* it ends between two records once a record, in the middle otherwise */
	assert_true(n_refused > n - n_turn_fields - 3);
	/* the id is the second field: nearly every front has it */
	assert_true(n_front > n - 100);
	turn_free(t);
}

/* The most that a turn can hold, against what is left of it after the cuts. */
static void
test_cuts_make_the_largest_turn_fit(void **state)
{
	static unsigned char bytes[BIG];
	char big[TURN_USAGE_RAW_BYTES + 1];
	struct turn *t = help_full_turn(12), *back;
	size_t n;

	(void)state;
	memset(big, 'x', sizeof(big));
	big[TURN_USAGE_RAW_BYTES] = '\0';
	for (size_t i = 0; i < n_turn_fields; i++)
		if (turn_fields[i].type == TURN_TYPE_TEXT)
			turn_set_str(t, turn_field_at(&turn_fields[i], t), big);
	t->usage_raw = big;
	for (int i = 0; i < 200; i++) {
		char name[300];
		int len = snprintf(
		    name, sizeof(name), "%03d%.*s", i, TURN_TEXT_BYTES, big);

		turn_tool_get(t, name, (size_t)len);
	}
	assert_int_equal(
	    turn_encode(t, TURN_CODEC_CUT_TOOLS, bytes, 8192 - 64), 0);
	n = turn_encode(t, TURN_CODEC_CUT_USAGE_RAW, bytes, 8192 - 64);
	assert_true(n > 0);
	back = turn_decode(bytes, n, false);
	assert_non_null(back);
	assert_int_equal(back->n_tools, 0);
	assert_null(back->usage_raw);
	assert_string_equal(back->model, t->model);
	assert_string_equal(back->flags, "burst odd tools_cut journal_cut");

	n = turn_encode(t, TURN_CODEC_CUT_NOTHING, bytes, sizeof(bytes));
	turn_free(back);
	back = turn_decode(bytes, n, false);
	assert_non_null(back);
	help_assert_same(t, back);
	turn_free(back);
	turn_free(t);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_every_field_comes_back),
	    cmocka_unit_test(test_null_stays_null_and_zero_zero),
	    cmocka_unit_test(test_unknown_fields_are_skipped),
	    cmocka_unit_test(test_unknown_values_are_null),
	    cmocka_unit_test(
		test_every_broken_front_is_refused_or_whole_fields),
	    cmocka_unit_test(test_cuts_make_the_largest_turn_fit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
