/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * What is told of a stream is written down as NAME(DATA) for each event,
 * NAME-() for one without data lines, and ~FIELD before a line of an unknown
 * field.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "scan/sse.h"

#include "split.h"

enum { NOTES_BYTES = 1024 };

struct notes {
	struct sse sse;
	size_t n, n_data;
	char text[NOTES_BYTES];
	char data[NOTES_BYTES];
};

static void
notes_add(struct notes *o, const char *s, size_t n)
{
	assert_true(o->n + n < sizeof(o->text));
	memcpy(o->text + o->n, s, n);
	o->n += n;
}

static void
notes_data(void *cls, const char *data, size_t n)
{
	struct notes *o = cls;

	assert_true(n > 0);
	assert_true(o->n_data + n <= sizeof(o->data));
	memcpy(o->data + o->n_data, data, n);
	o->n_data += n;
}

static void
notes_event(void *cls, const char *name, bool has_data)
{
	struct notes *o = cls;

	assert_true(has_data || o->n_data == 0);
	notes_add(o, name, strlen(name));
	notes_add(o, has_data ? "(" : "-(", has_data ? 1 : 2);
	notes_add(o, o->data, o->n_data);
	notes_add(o, ")", 1);
	o->n_data = 0;
}

static bool
notes_other(void *cls, const char *name, size_t n)
{
	struct notes *o = cls;

	notes_add(o, "~", 1);
	notes_add(o, name, n);
	return n == 5 && memcmp(name, "error", 5) == 0;
}

static const struct sse_handler notes_handler = {
    .data = notes_data, .event = notes_event, .other_field = notes_other};
static const struct sse_handler notes_handler_plain = {
    .data = notes_data, .event = notes_event};

static void
notes_feed(void *cls, const void *piece, size_t n)
{
	struct notes *o = cls;

	sse_feed(&o->sse, piece, n);
}

struct sse_case {
	const char *text;
	const char *notes;
	bool has_rest; /* sse_end tells an event */
};

static const struct sse_case sse_cases[] = {
    {"", "", false},
    {"\n\n\n", "", false},
    {"data: a\n\ndata: b\n\n", "(a)(b)", false},
    {"data: a\r\n\r\ndata: b\r\n\r\n", "(a)(b)", false},
    {"data: a\r\rdata: b\r\r", "(a)(b)", false},
    {"data: a\n\rdata: b\r\n\ndata: c\r\r\ndata: d\n\r\n", "(a)(b)(c)(d)",
	false},
    {"data: a\r\ndata: b\r\n\r\n", "(a\nb)", false},
    {"event: ping\ndata: {}\n\n", "ping({})", false},
    {"data: {}\nevent: late\n\n", "late({})", false},
    {"event: one\nevent: two\ndata:\n\n", "two()", false},
    {"event: one\nevent\ndata: x\n\n", "(x)", false},
    {"event: alone\n\ndata: x\n\n", "alone-()(x)", false},
    {"event:tight\ndata:x\n\n", "tight(x)", false},
    {"data:  two\n\n", "( two)", false},
    {"data:\ttab\n\n", "(\ttab)", false},
    {"data: a \n\n", "(a )", false},
    {"data: a:b: c\n\n", "(a:b: c)", false},
    {"data\n\n", "()", false},
    {"data\ndata\n\n", "(\n)", false},
    {"data:\ndata: \ndata:x\n\n", "(\n\nx)", false},
    {": comment\n\n:\n\ndata: a\n: in it\ndata: b\n\n", "(a\nb)", false},
    {"id: 7\nretry: 10\ndata: a\nid\n\n", "(a)", false},
    {"id: 7\n\n", "", false},
    {"\xef\xbb\xbf"
     "data: a\n\n",
	"(a)", false},
    {"\xef\xbb\xbf\ndata: a\n\n", "(a)", false},
    {"\xef\xbb\xbf\xef\xbb\xbf"
     "data: a\n\n",
	"~\xef\xbb\xbf"
	"data",
	false},
    {"\n\xef\xbb\xbf"
     "data: a\n\n",
	"~\xef\xbb\xbf"
	"data",
	false},
    {"error: {\"a\":1}\n\n", "~error({\"a\":1})", false},
    {"data: a\nerror: b\n\n", "~error(a\nb)", false},
    {"Data: a\n\n", "~Data", false},
    {" data: a\n\n", "~ data", false},
    {"dat: a\n\n", "~dat", false},
    {"dataset: a\n\n", "~dataset", false},
    {"0123456789abcdefghij: a\n\n", "~0123456789abcdef", false},
    {"{\"error\":1}\n\n", "~{\"error\"", false},
    {"event: 0123456789012345678901234567890123456789012345678901234567890"
     "1234567890\ndata: x\n\n",
	"012345678901234567890123456789012345678901234567890123456789012(x)",
	false},
    {"data: 0123456789abcdef0123456789abcdef0123456789abcdef\n\n",
	"(0123456789abcdef0123456789abcdef0123456789abcdef)", false},
    /* the last blank line is missing */
    {"data: a\n\ndata: b\n", "(a)(b)", true},
    {"data: a\n\ndata: b", "(a)(b)", true},
    {"data: a\n\ndata:", "(a)()", true},
    {"data: a\r\n\r", "(a)", false},
    {"event: x\n", "x-()", true},
    {"data: a\n\ndat", "(a)", false},
    {"data: a\n\n: keep-alive", "(a)", false},
};

static void
test_sse_events(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(sse_cases) / sizeof(*sse_cases); i++)
		for (int way = 0; way < SPLIT_WAYS; way++) {
			const struct sse_case *c = &sse_cases[i];
			struct notes o = {0};

			sse_init(&o.sse, &notes_handler, &o);
			split_feed(
			    way, c->text, strlen(c->text), notes_feed, &o);
			assert_int_equal(sse_end(&o.sse), c->has_rest);
			assert_string_equal(o.text, c->notes);
			assert_false(sse_end(&o.sse));
		}
}

/* Without a function for other fields they are ignored. */
static void
test_sse_other_field_without_function(void **state)
{
	static const char text[] = "error: x\ndata: a\n\nerror: y\n\n";

	(void)state;
	for (int way = 0; way < SPLIT_WAYS; way++) {
		struct notes o = {0};

		sse_init(&o.sse, &notes_handler_plain, &o);
		split_feed(way, text, sizeof(text) - 1, notes_feed, &o);
		assert_false(sse_end(&o.sse));
		assert_string_equal(o.text, "(a)");
	}
}

/* The event is told with the byte that completes it, not with the next. */
static void
test_sse_event_at_once(void **state)
{
	static const char *const texts[] = {
	    "data: a\n\n", "data: a\r\r", "data: a\r\n\r", "data: a\n\r"};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		size_t n = strlen(texts[i]);
		struct notes o = {0};

		sse_init(&o.sse, &notes_handler, &o);
		sse_feed(&o.sse, texts[i], n - 1);
		assert_string_equal(o.text, "");
		sse_feed(&o.sse, texts[i] + n - 1, 1);
		assert_string_equal(o.text, "(a)");
	}
}

/* A NUL is a byte like any other. */
static void
test_sse_nul(void **state)
{
	static const char text[] = "data: a\0b\n\n";

	(void)state;
	for (int way = 0; way < SPLIT_WAYS; way++) {
		struct notes o = {0};

		sse_init(&o.sse, &notes_handler, &o);
		split_feed(way, text, sizeof(text) - 1, notes_feed, &o);
		assert_int_equal(o.n, 5);
		assert_memory_equal(o.text, "(a\0b)", 5);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_sse_events),
	    cmocka_unit_test(test_sse_other_field_without_function),
	    cmocka_unit_test(test_sse_event_at_once),
	    cmocka_unit_test(test_sse_nul),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
