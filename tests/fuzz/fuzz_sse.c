/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * Any bytes as an event stream: whole, split, and read line by line by a
 * reader that keeps everything and is too simple to be wrong; all three must
 * tell the same. The first byte picks the split.
 */
#include "scan/sse.h"

#include "fuzz.h"

static void
told_data(void *cls, const char *data, size_t n)
{
	fuzz_check(n > 0);
	fuzz_notes_add(cls, data, n);
}

static void
told_event(void *cls, const char *name, bool has_data)
{
	fuzz_notes_add(cls, "\0<", 2);
	fuzz_notes_add(cls, name, strlen(name));
	fuzz_notes_add(cls, has_data ? "+>" : "->", 2);
}

static bool
told_other(void *cls, const char *name, size_t n)
{
	fuzz_check(n > 0 && n <= SSE_FIELD_BYTES);
	fuzz_notes_add(cls, "\0?", 2);
	fuzz_notes_add(cls, name, n);
	return n % 2 == 1;
}

static const struct sse_handler told_handler = {
    .data = told_data, .event = told_event, .other_field = told_other};

static void
told_feed(void *cls, const void *piece, size_t n)
{
	sse_feed(cls, piece, n);
}

static void
told_run(struct fuzz_notes *o, const uint8_t *data, size_t n, size_t step)
{
	struct sse s;

	o->n = 0;
	sse_init(&s, &told_handler, o);
	fuzz_feed(data, n, step, told_feed, &s);
	sse_end(&s);
	fuzz_check(!sse_end(&s));
}

struct plain {
	struct fuzz_notes *notes;
	char name[SSE_NAME_BYTES];
	size_t n_name;
	bool has_data;
};

static void
plain_event(struct plain *s)
{
	s->name[s->n_name] = '\0';
	if (s->has_data || s->n_name > 0)
		told_event(s->notes, s->name, s->has_data);
	s->n_name = 0;
	s->has_data = false;
}

static bool
plain_is(const char *s, size_t n, const char *word)
{
	return n == strlen(word) && memcmp(s, word, n) == 0;
}

/* IS_ENDED: its line end has come. Without one a field that has no colon yet
 * may be half of another. */
static void
plain_line(struct plain *s, const char *line, size_t n, bool is_ended)
{
	const char *colon = n > 0 ? memchr(line, ':', n) : NULL;
	size_t n_field = colon != NULL ? (size_t)(colon - line) : n;
	const char *value = colon != NULL ? colon + 1 : line + n;
	size_t n_value = (size_t)(line + n - value);

	if (n == 0 && is_ended)
		plain_event(s);
	if (n_field == 0 || (colon == NULL && !is_ended))
		return;
	if (n_value > 0 && *value == ' ') {
		value++;
		n_value--;
	}
	if (plain_is(line, n_field, "event")) {
		s->n_name = n_value < SSE_NAME_BYTES - 1 ? n_value
							 : SSE_NAME_BYTES - 1;
		memcpy(s->name, value, s->n_name);
		return;
	}
	if (plain_is(line, n_field, "id") || plain_is(line, n_field, "retry"))
		return;
	if (n_field > SSE_FIELD_BYTES)
		n_field = SSE_FIELD_BYTES;
	if (!plain_is(line, n_field, "data") &&
	    !told_other(s->notes, line, n_field))
		return;
	if (s->has_data)
		told_data(s->notes, "\n", 1);
	s->has_data = true;
	if (n_value > 0)
		told_data(s->notes, value, n_value);
}

static void
plain_run(struct fuzz_notes *o, const char *data, size_t n)
{
	struct plain s = {.notes = o};
	size_t i = 0;

	o->n = 0;
	if (n >= 3 && memcmp(data, "\xef\xbb\xbf", 3) == 0)
		i = 3;
	while (i < n) {
		size_t start = i;

		while (i < n && data[i] != '\r' && data[i] != '\n')
			i++;
		plain_line(&s, data + start, i - start, i < n);
		if (i + 1 < n && data[i] == '\r' && data[i + 1] == '\n')
			i++;
		i++;
	}
	plain_event(&s);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static struct fuzz_notes whole, split, plain;

	if (n < 1)
		return 0;
	told_run(&whole, data + 1, n - 1, n);
	told_run(&split, data + 1, n - 1, 1 + data[0] % 40);
	plain_run(&plain, (const char *)data + 1, n - 1);
	fuzz_notes_compare(&whole, &split);
	fuzz_notes_compare(&whole, &plain);
	return 0;
}
