/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * What the tests of the room `store` share: a folder of their own, turns with
 * every field set, and the comparison of two turns field by field.
 */
#ifndef TESTS_STORE_HELP_H
#define TESTS_STORE_HELP_H

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "record/turn.h"

/* Makes the text of an enum's name, flag set or number I differ by field. */
static inline struct turn *
help_full_turn(int64_t seq)
{
	struct turn *t = turn_new();

	for (size_t i = 0; i < n_turn_fields; i++) {
		const struct turn_field *f = &turn_fields[i];
		void *at = turn_field_at(f, t);
		char text[64];

		switch (f->type) {
		case TURN_TYPE_INT:
			*(int64_t *)at = INT64_C(5000000000) + (int64_t)i;
			break;
		case TURN_TYPE_BOOL: *(int64_t *)at = 0; break;
		case TURN_TYPE_TIME: *(int64_t *)at = 1764511330123; break;
		case TURN_TYPE_REAL: *(double *)at = 0.001 + (double)i; break;
		case TURN_TYPE_ENUM:
			*(int *)at = 1 + (int)i % (f->n_names - 1);
			break;
		case TURN_TYPE_TEXT:
			if (strcmp(f->name, "id") == 0)
				break;
			snprintf(
			    text, sizeof(text), "%s \xc3\xa9 %zu", f->name, i);
			turn_set_str(t, at, text);
			break;
		case TURN_TYPE_FLAGS:
			turn_add_flag(t, "burst");
			turn_add_flag(t, "odd");
			break;
		case TURN_TYPE_JSON:
			*(const char **)at = arena_copy(
			    &t->arena, "{\"prompt_tokens\":7}", 19);
			break;
		}
	}
	t->seq = seq;
	*turn_tool_get(t, "edit", 4) = (struct turn_tool){
	    .name = "edit", .calls = 2};
	*turn_tool_get(t, "read", 4) = (struct turn_tool){.name = "read",
	    .calls = 1,
	    .result_bytes = INT64_C(1) << 40,
	    .result_errors = 3};
	return t;
}

static inline struct turn *
help_turn(int64_t seq)
{
	struct turn *t = turn_new();

	t->seq = seq;
	t->kind = TURN_KIND_TURN;
	t->outcome = TURN_OUTCOME_OK;
	turn_set_str(t, &t->upstream, "test");
	return t;
}

static inline void
help_assert_same(const struct turn *a, const struct turn *b)
{
	for (size_t i = 0; i < n_turn_fields; i++) {
		const struct turn_field *f = &turn_fields[i];
		const void *x = turn_field_at(f, a), *y = turn_field_at(f, b);

		assert_int_equal(
		    turn_field_is_null(f, a), turn_field_is_null(f, b));
		if (turn_field_is_null(f, a))
			continue;
		if (f->type == TURN_TYPE_TEXT || f->type == TURN_TYPE_FLAGS ||
		    f->type == TURN_TYPE_JSON)
			assert_string_equal(
			    *(const char *const *)x, *(const char *const *)y);
		else
			assert_memory_equal(
			    x, y, f->type == TURN_TYPE_ENUM ? sizeof(int) : 8);
	}
	assert_int_equal(a->n_tools, b->n_tools);
	for (size_t i = 0; i < a->n_tools; i++) {
		assert_string_equal(a->tools[i].name, b->tools[i].name);
		assert_int_equal(a->tools[i].calls, b->tools[i].calls);
		assert_int_equal(
		    a->tools[i].result_bytes, b->tools[i].result_bytes);
		assert_int_equal(
		    a->tools[i].result_errors, b->tools[i].result_errors);
	}
}

/* A folder that goes with the test; *STATE is its path. */
static inline int
help_make_folder(void **state)
{
	const char *base = getenv("TMPDIR");
	char *path;

	if (asprintf(&path, "%s/turnmeter-XXXXXX",
		base != NULL ? base : "/tmp") < 0 ||
	    mkdtemp(path) == NULL)
		return -1;
	*state = path;
	return 0;
}

static inline void
help_remove(const char *path)
{
	DIR *d = opendir(path);
	struct dirent *e;
	char *inner;

	if (d == NULL) {
		unlink(path);
		return;
	}
	for (e = readdir(d); e != NULL; e = readdir(d)) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		if (asprintf(&inner, "%s/%s", path, e->d_name) < 0)
			continue;
		help_remove(inner);
		free(inner);
	}
	closedir(d);
	rmdir(path);
}

static inline int
help_remove_folder(void **state)
{
	help_remove(*state);
	free(*state);
	return 0;
}

/* FOLDER/NAME, to be freed. */
static inline char *
help_path(const char *folder, const char *name)
{
	char *path = NULL;

	assert_true(asprintf(&path, "%s/%s", folder, name) > 0);
	return path;
}

#endif
