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

#include "record/turn.h"
#include "record/turn_json.h"

/* Every field by its name, through JSON and back. */
static void
test_turn_json_round_trip(void **state)
{
	struct turn *t = turn_new(), *back;
	json_t *object;

	(void)state;
	for (size_t i = 0; i < n_turn_fields; i++) {
		const struct turn_field *f = &turn_fields[i];
		void *at = turn_field_at(f, t);

		switch (f->type) {
		case TURN_TYPE_INT: *(int64_t *)at = 1000 + (int64_t)i; break;
		case TURN_TYPE_BOOL: *(int64_t *)at = 1; break;
		case TURN_TYPE_TIME: *(int64_t *)at = 1764511330123; break;
		case TURN_TYPE_REAL: *(double *)at = 0.125 + (double)i; break;
		case TURN_TYPE_ENUM: *(int *)at = f->n_names - 1; break;
		case TURN_TYPE_TEXT: turn_set_str(t, at, f->name); break;
		case TURN_TYPE_FLAGS:
			turn_add_flag(t, "burst");
			turn_add_flag(t, "odd");
			break;
		case TURN_TYPE_JSON: *(const char **)at = "{\"a\":1}"; break;
		}
	}
	turn_tool_get(t, "read", 4)->calls = 2;
	object = turn_to_json(t);
	assert_string_equal(
	    json_string_value(json_object_get(object, "started_at")),
	    "2025-11-30T14:02:10.123Z");
	back = turn_from_json(object);
	assert_non_null(back);
	for (size_t i = 0; i < n_turn_fields; i++) {
		const struct turn_field *f = &turn_fields[i];
		const void *a = turn_field_at(f, t);
		const void *b = turn_field_at(f, back);

		if (f->type == TURN_TYPE_TEXT || f->type == TURN_TYPE_JSON ||
		    f->type == TURN_TYPE_FLAGS)
			assert_string_equal(
			    *(const char *const *)a, *(const char *const *)b);
		else
			assert_memory_equal(
			    a, b, f->type == TURN_TYPE_ENUM ? sizeof(int) : 8);
	}
	assert_int_equal(back->n_tools, 1);
	assert_int_equal(back->tools[0].calls, 2);
	json_decref(object);
	turn_free(back);
	turn_free(t);
}

static void
test_turn_new_is_null(void **state)
{
	struct turn *t = turn_new();
	json_t *object = turn_to_json(t);

	(void)state;
	for (size_t i = 0; i < n_turn_fields; i++) {
		const char *name = turn_fields[i].name;

		if (strcmp(name, "id") == 0 || strcmp(name, "flags") == 0 ||
		    strcmp(name, "started_at") == 0)
			continue;
		assert_true(turn_field_is_null(&turn_fields[i], t));
		assert_true(json_is_null(json_object_get(object, name)));
	}
	assert_int_equal(json_array_size(json_object_get(object, "flags")), 0);
	json_decref(object);
	turn_free(t);
}

static void
test_turn_text_is_cut_and_cleaned(void **state)
{
	struct turn *t = turn_new();
	char big[400];

	(void)state;
	turn_set_text(t, &t->model, "a\r\nb\x1b[1m\xff\xd1\x8c", 11);
	assert_string_equal(t->model, "a??b?[1m?\xd1\x8c");
	turn_set_str(t, &t->model, "");
	assert_null(t->model);
	memset(big, 'x', sizeof(big));
	memcpy(big + TURN_TEXT_BYTES - 1, "\xd1\x8c", 2);
	turn_set_text(t, &t->model, big, sizeof(big));
	assert_int_equal(strlen(t->model), TURN_TEXT_BYTES - 1);
	turn_free(t);
}

static void
test_turn_flags_are_a_set(void **state)
{
	struct turn *t = turn_new();

	(void)state;
	turn_add_flag(t, "burst_like");
	assert_false(turn_has_flag(t, "burst"));
	turn_add_flag(t, "burst");
	turn_add_flag(t, "burst");
	assert_string_equal(t->flags, "burst_like burst");
	turn_free(t);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_turn_json_round_trip),
	    cmocka_unit_test(test_turn_new_is_null),
	    cmocka_unit_test(test_turn_text_is_cut_and_cleaned),
	    cmocka_unit_test(test_turn_flags_are_a_set),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
