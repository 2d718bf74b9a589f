/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * The events of a text are written down as one line of notes and compared
 * with the expected line: { } [ ] as they are, k:KEY, s:STRING (its pieces
 * joined), n:NUMBER, t, f, z (null), $ (document end), ! (failed), each with
 * its depth behind it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "scan/json.h"

#include "split.h"

enum { NOTES_BYTES = 4096 };

struct notes {
	struct json json;
	const char *skip_keys; /* " a b " */
	bool skip_arrays;
	bool in_string;
	size_t n;
	char text[NOTES_BYTES];
};

static void
notes_add(struct notes *o, const char *s, size_t n)
{
	assert_true(o->n + n < sizeof(o->text));
	memcpy(o->text + o->n, s, n);
	o->n += n;
	o->text[o->n] = '\0';
}

static void
notes_token(
    struct notes *o, const char *mark, const char *s, size_t n, int depth)
{
	char end[16];

	notes_add(o, mark, strlen(mark));
	notes_add(o, s, n);
	snprintf(end, sizeof(end), "%d ", depth);
	notes_add(o, end, strlen(end));
}

static bool
notes_is_skipped(const struct notes *o, const char *key, size_t n)
{
	char word[JSON_KEY_BYTES + 3];

	if (o->skip_keys == NULL || n == 0)
		return false;
	snprintf(word, sizeof(word), " %.*s ", (int)n, key);
	return strstr(o->skip_keys, word) != NULL;
}

static void
notes_string(
    struct notes *o, int depth, const char *data, size_t n, bool is_last)
{
	assert_non_null(data);
	if (!o->in_string)
		notes_add(o, "s:", 2);
	o->in_string = true;
	notes_add(o, data, n);
	if (!is_last)
		return;
	o->in_string = false;
	notes_token(o, "@", "", 0, depth);
}

static enum json_wish
notes_event(void *cls, enum json_event event, int depth, const char *data,
    size_t n, bool is_last)
{
	static const char *const marks[] = {
	    [JSON_OBJECT] = "{",
	    [JSON_OBJECT_END] = "}",
	    [JSON_ARRAY] = "[",
	    [JSON_ARRAY_END] = "]",
	    [JSON_KEY] = "k:",
	    [JSON_NUMBER] = "n:",
	    [JSON_TRUE] = "t",
	    [JSON_FALSE] = "f",
	    [JSON_NULL] = "z",
	    [JSON_DOCUMENT_END] = "$",
	    [JSON_FAILED] = "!",
	};
	struct notes *o = cls;

	assert_true(depth >= 0 && depth <= JSON_DEPTH_MAX);
	switch (event) {
	case JSON_STRING: notes_string(o, depth, data, n, is_last); break;
	case JSON_KEY:
		notes_token(o, marks[event], data, n, depth);
		assert_true(n <= JSON_KEY_BYTES);
		return notes_is_skipped(o, data, n) ? JSON_SKIP : JSON_WANT;
	case JSON_NUMBER: notes_token(o, marks[event], data, n, depth); break;
	case JSON_ARRAY:
		notes_token(o, marks[event], "", 0, depth);
		return o->skip_arrays ? JSON_SKIP : JSON_WANT;
	default: notes_token(o, marks[event], "", 0, depth); break;
	}
	return JSON_WANT;
}

static void
notes_feed(void *cls, const void *piece, size_t n)
{
	struct notes *o = cls;

	json_feed(&o->json, piece, n);
}

struct json_case {
	const char *text;
	size_t n; /* where the text holds a NUL */
	const char *skip_keys;
	bool skip_arrays;
	bool is_whole;
	const char *notes;
};

static const struct json_case json_cases[] = {
    {"", 0, NULL, false, true, ""},
    {" \t\r\n", 0, NULL, false, true, ""},
    {"{}", 0, NULL, false, true, "{0 }0 $0 "},
    {"[]", 0, NULL, false, true, "[0 ]0 $0 "},
    {"[ ]", 0, NULL, false, true, "[0 ]0 $0 "},
    {"\"\"", 0, NULL, false, true, "s:@0 $0 "},
    {"17", 0, NULL, false, true, "n:170 $0 "},
    {"null", 0, NULL, false, true, "z0 $0 "},
    {"{\"a\":1}", 0, NULL, false, true, "{0 k:a1 n:11 }0 $0 "},
    {" { \"a\" :\t1 ,\r\n\"b\" : [ true , false,null ] } ", 0, NULL, false,
	true, "{0 k:a1 n:11 k:b1 [1 t2 f2 z2 ]1 }0 $0 "},
    {"\xef\xbb\xbf[1]", 0, NULL, false, true, "[0 n:11 ]0 $0 "},
    {"\xef\xbb[1]", 0, NULL, false, false, "!0 "},
    {"[1]\xef\xbb\xbf[1]", 0, NULL, false, false, "[0 n:11 ]0 $0 !0 "},
    /* duplicate keys are told both */
    {"{\"a\":1,\"a\":2}", 0, NULL, false, true,
	"{0 k:a1 n:11 k:a1 n:21 }0 $0 "},
    /* several documents in one */
    {"{}{} [] 1 \"x\"true", 0, NULL, false, true,
	"{0 }0 $0 {0 }0 $0 [0 ]0 $0 n:10 $0 s:x@0 $0 t0 $0 "},
    {"{}\n{}\n", 0, NULL, false, true, "{0 }0 $0 {0 }0 $0 "},
    /* numbers: as they are, beyond int64 too; nothing is cut */
    {"[-0,1.5e+300,18446744073709551616,1E-2]", 0, NULL, false, true,
	"[0 n:-01 n:1.5e+3001 n:184467440737095516161 n:1E-21 ]0 $0 "},
    {"[1234567890123456789012345678901234567890]", 0, NULL, false, true,
	"[0 n:12345678901234567890123456789012345678901 ]0 $0 "},
    {"[12345678901234567890123456789012345678901]", 0, NULL, false, true,
	"[0 n:1 ]0 $0 "},
    {"[NaN,Infinity,-Infinity]", 0, NULL, false, true, "[0 z1 z1 z1 ]0 $0 "},
    /* strings come as on the wire, escapes with them */
    {"[\"a\\\"b\\\\\",\"\\\\\",\"\\u00e9\\n\"]", 0, NULL, false, true,
	"[0 s:a\\\"b\\\\@1 s:\\\\@1 s:\\u00e9\\n@1 ]0 $0 "},
    {"[\"\xff\xfe\xc3\x28\"]", 0, NULL, false, true,
	"[0 s:\xff\xfe\xc3\x28@1 ]0 $0 "},
    {"[\"0123456789abcdef0123456789abcdef\\\"0123456789abcdef\"]", 0, NULL,
	false, true,
	"[0 s:0123456789abcdef0123456789abcdef\\\"0123456789abcdef@1 ]0 $0 "},
    /* keys come without their escapes, cut at their ceiling */
    {"{\"\\u0061\\n\\/\":1}", 0, NULL, false, true, "{0 k:a\n/1 n:11 }0 $0 "},
    {"{\"\\ud83d\\ude00\":1}", 0, NULL, false, true,
	"{0 k:\xf0\x9f\x98\x80"
	"1 n:11 }0 $0 "},
    {"{\"\\ud83d\":1,\"\\ude00x\":2,\"\\ud83d\\u0041\":3,\"\\uZZ\":4}", 0, NULL,
	false, true, "{0 k:?1 n:11 k:?x1 n:21 k:?A1 n:31 k:?ZZ1 n:41 }0 $0 "},
    {"{\"\":1,\"\\u0000\":2}", 0, NULL, false, true,
	"{0 k:1 n:11 k:?1 n:21 }0 $0 "},
    {"{\"123456789012345678901234567890123456789012345678901234567890"
     "1234567890\":1}",
	0, NULL, false, true,
	"{0 k:123456789012345678901234567890123456789012345678901234567890"
	"12341 n:11 }0 $0 "},
    /* what is skipped is not told, whatever it is */
    {"{\"a\":{\"x\":[1,{\"y\":\"]}\\\"\"}]},\"b\":2}", 0, " a ", false, true,
	"{0 k:a1 k:b1 n:21 }0 $0 "},
    {"{\"a\":\"x\\\"\",\"a\":-1.5,\"a\":null,\"a\":[],\"a\":{},\"b\":2}", 0,
	" a ", false, true, "{0 k:a1 k:a1 k:a1 k:a1 k:a1 k:b1 n:21 }0 $0 "},
    {"{\"a\":[[1],{\"b\":2}],\"c\":3}", 0, NULL, true, true,
	"{0 k:a1 [1 ]1 k:c1 n:31 }0 $0 "},
    {"[[],[]]", 0, NULL, true, true, "[0 ]0 $0 "},
    {"{\"a\":[\"0123456789abcdef}]0123456789abcdef\"],\"c\":3}", 0, " a ",
	false, true, "{0 k:a1 k:c1 n:31 }0 $0 "},
    /* unfinished */
    {"{", 0, NULL, false, false, "{0 "},
    {"{\"a\"", 0, NULL, false, false, "{0 k:a1 "},
    {"{\"a\":", 0, NULL, false, false, "{0 k:a1 "},
    {"[1", 0, NULL, false, false, "[0 "},
    {"[1,", 0, NULL, false, false, "[0 n:11 "},
    {"{\"a\":[1", 0, " a ", false, false, "{0 k:a1 "},
    {"{\"a\":[\"", 0, " a ", false, false, "{0 k:a1 "},
    /* nonsense */
    {"}", 0, NULL, false, false, "!0 "},
    {"{]", 0, NULL, false, false, "{0 !1 "},
    {"[}", 0, NULL, false, false, "[0 !1 "},
    {"[1}", 0, NULL, false, false, "[0 n:11 !1 "},
    {"[1,]", 0, NULL, false, false, "[0 n:11 !1 "},
    {"{\"a\":1,}", 0, NULL, false, false, "{0 k:a1 n:11 !1 "},
    {"[1 2]", 0, NULL, false, false, "[0 n:11 !1 "},
    {"{\"a\" 1}", 0, NULL, false, false, "{0 k:a1 !1 "},
    {"{1:1}", 0, NULL, false, false, "{0 !1 "},
    {"[tru]", 0, NULL, false, false, "[0 !1 "},
    {"<html>", 0, NULL, false, false, "!0 "},
    {"[DONE]", 0, NULL, false, false, "[0 !1 "},
    {"{\"a\":\0}", 7, NULL, false, false, "{0 k:a1 !1 "},
    {"\0", 1, NULL, false, false, "!0 "},
    {"{} x []", 0, NULL, false, false, "{0 }0 $0 !0 "},
};

static void
test_json_events(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(json_cases) / sizeof(*json_cases); i++)
		for (int way = 0; way < SPLIT_WAYS; way++) {
			const struct json_case *c = &json_cases[i];
			size_t n = c->n > 0 ? c->n : strlen(c->text);
			struct notes o = {.skip_keys = c->skip_keys,
			    .skip_arrays = c->skip_arrays};

			json_init(&o.json, notes_event, &o);
			split_feed(way, c->text, n, notes_feed, &o);
			assert_int_equal(json_offset(&o.json), n);
			assert_int_equal(json_end(&o.json), c->is_whole);
			assert_string_equal(o.text, c->notes);
		}
}

/* After json_reset nothing of the document before is left. */
static void
test_json_reset(void **state)
{
	static const char *const broken[] = {"{\"a", "[\"\\", "[1", "{\"a\":[[",
	    "}", "\xef\xbb", "{\"\\ud83d", "{\"a\":[\"x\\"};

	(void)state;
	for (size_t i = 0; i < sizeof(broken) / sizeof(*broken); i++) {
		struct notes o = {.skip_keys = " a "};

		json_init(&o.json, notes_event, &o);
		json_feed(&o.json, broken[i], strlen(broken[i]));
		json_reset(&o.json);
		o.n = 0;
		o.in_string = false;
		json_feed(&o.json, "{\"b\":\"c\"}", 9);
		assert_true(json_end(&o.json));
		assert_string_equal(o.text, "{0 k:b1 s:c@1 }0 $0 ");
	}
}

struct depth {
	struct json json;
	int deepest;
	size_t n_open, n_close, n_documents;
};

static enum json_wish
depth_event(void *cls, enum json_event event, int depth, const char *data,
    size_t n, bool is_last)
{
	struct depth *d = cls;

	(void)data;
	(void)n;
	(void)is_last;
	if (depth > d->deepest)
		d->deepest = depth;
	d->n_open += event == JSON_ARRAY || event == JSON_OBJECT;
	d->n_close += event == JSON_ARRAY_END || event == JSON_OBJECT_END;
	d->n_documents += event == JSON_DOCUMENT_END;
	assert_int_not_equal(event, JSON_FAILED);
	return JSON_WANT;
}

static void
depth_feed(void *cls, const void *piece, size_t n)
{
	struct depth *d = cls;

	json_feed(&d->json, piece, n);
}

/* Brackets beyond the ceiling are counted, not told. */
static void
test_json_depth_100000(void **state)
{
	enum { DEPTH = 100000 };
	char *text = malloc(2 * DEPTH);

	(void)state;
	assert_non_null(text);
	memset(text, '[', DEPTH);
	memset(text + DEPTH, ']', DEPTH);
	for (int way = 0; way < SPLIT_WAYS; way++) {
		struct depth d = {0};

		json_init(&d.json, depth_event, &d);
		split_feed(way, text, 2 * DEPTH, depth_feed, &d);
		assert_true(json_end(&d.json));
		assert_int_equal(d.deepest, JSON_DEPTH_MAX - 1);
		assert_int_equal(d.n_open, JSON_DEPTH_MAX);
		assert_int_equal(d.n_close, JSON_DEPTH_MAX);
		assert_int_equal(d.n_documents, 1);
	}
	free(text);
}

struct spans {
	struct json json;
	const char *text;
	size_t start[4];
	int n_told;
};

static enum json_wish
spans_event(void *cls, enum json_event event, int depth, const char *data,
    size_t n, bool is_last)
{
	struct spans *s = cls;
	size_t end = json_offset(&s->json);

	(void)data;
	(void)n;
	switch (event) {
	case JSON_OBJECT:
	case JSON_ARRAY:
		s->start[depth] = end - 1;
		return event == JSON_ARRAY ? JSON_SKIP : JSON_WANT;
	case JSON_OBJECT_END:
		assert_int_equal(s->text[s->start[depth]], '{');
		assert_int_equal(s->text[end - 1], '}');
		s->n_told++;
		break;
	case JSON_ARRAY_END:
		assert_memory_equal(
		    s->text + s->start[depth], "[1, \"]\" ]", 9);
		assert_int_equal(end - s->start[depth], 9);
		s->n_told++;
		break;
	case JSON_STRING:
		if (is_last)
			assert_int_equal(s->text[end - 1], '"');
		break;
	case JSON_KEY: assert_int_equal(s->text[end - 1], '"'); break;
	case JSON_NUMBER:
		assert_memory_equal(s->text + end - 2, "42", 2);
		break;
	default: break;
	}
	return JSON_WANT;
}

static void
spans_feed(void *cls, const void *piece, size_t n)
{
	struct spans *s = cls;

	json_feed(&s->json, piece, n);
}

static void
test_json_offset_spans(void **state)
{
	static const char text[] =
	    " {\"k\" : [1, \"]\" ] , \"o\":{\"s\":\"x\\\"y\"}, \"n\": 42 }  ";

	(void)state;
	for (int way = 0; way < SPLIT_WAYS; way++) {
		struct spans s = {.text = text};

		json_init(&s.json, spans_event, &s);
		split_feed(way, text, sizeof(text) - 1, spans_feed, &s);
		assert_true(json_end(&s.json));
		assert_int_equal(s.n_told, 3);
	}
}

/* Counts the bytes of strings, and the whole ones. */
struct strings {
	struct json json;
	size_t n_bytes;
	int n_whole;
};

static enum json_wish
strings_event(void *cls, enum json_event event, int depth, const char *data,
    size_t n, bool is_last)
{
	struct strings *s = cls;

	(void)depth;
	(void)data;
	if (event == JSON_STRING) {
		s->n_bytes += n;
		s->n_whole += is_last;
	}
	return JSON_WANT;
}

/* Runs of backslashes of any length, at any place in a block of the search,
 * cut anywhere: only a quote behind an even run ends the string. */
static void
test_json_backslash_runs(void **state)
{
	char text[512];

	(void)state;
	for (size_t before = 0; before < 140; before++)
		for (size_t run = 0; run < 70; run += run < 4 ? 1 : 11) {
			size_t n = 0, inside;

			text[n++] = '"';
			n += (size_t)snprintf(
			    text + n, sizeof(text) - n, "%*s", (int)before, "");
			memset(text + n, '\\', run);
			n += run;
			if (run % 2 == 1)
				n += (size_t)snprintf(text + n,
				    sizeof(text) - n, "\"%*s", 70, "");
			inside = n - 1;
			n += (size_t)snprintf(
			    text + n, sizeof(text) - n, "\" \"%60s\"", "");
			for (size_t cut = 0; cut < n; cut += 1 + cut % 5) {
				struct strings s = {.n_bytes = 0};

				json_init(&s.json, strings_event, &s);
				json_feed(&s.json, text, cut);
				json_feed(&s.json, text + cut, n - cut);
				assert_true(json_end(&s.json));
				assert_int_equal(s.n_bytes, inside + 60);
				assert_int_equal(s.n_whole, 2);
			}
		}
}

/* A random value with everything in it that could mislead a count of
 * brackets. OUT has room for what DEPTH can make. */
static size_t
random_value(uint64_t *seed, int depth, char *out)
{
	static const char *const strings[] = {"\"\"", "\"]}\"", "\"\\\"\"",
	    "\"\\\\\"", "\"{[\\\\\\\"[\"",
	    "\"\\u007b plain text of some length\"", "12.5", "true"};
	uint64_t kind = split_random(seed) % (depth > 0 ? 4 : 2);
	size_t n = 0, n_members = 1 + split_random(seed) % 4;

	if (kind < 2)
		return (size_t)sprintf(
		    out, "%s", strings[split_random(seed) % 8]);
	out[n++] = kind == 2 ? '[' : '{';
	for (size_t i = 0; i < n_members; i++) {
		n += (size_t)sprintf(out + n, "%s%s", i > 0 ? "," : "",
		    kind == 3 ? "\"k\\\"}\": " : "");
		n += random_value(seed, depth - 1, out + n);
	}
	out[n++] = kind == 2 ? ']' : '}';
	out[n] = '\0';
	return n;
}

/* The search for a container's end goes by blocks: what they hold is moved
 * along them by the values before. */
static void
test_json_skip_random(void **state)
{
	enum { VALUE_BYTES = 64 * 1024, ROUNDS = 300 };
	char *text = malloc(VALUE_BYTES);
	uint64_t seed = 4711;

	(void)state;
	assert_non_null(text);
	for (int round = 0; round < ROUNDS; round++) {
		size_t n = (size_t)sprintf(text, "{\"a\":");

		n += random_value(&seed, 6, text + n);
		n += (size_t)sprintf(text + n, ",\"a\":");
		n += random_value(&seed, 6, text + n);
		n += (size_t)sprintf(text + n, ",\"b\":7}");
		assert_true(n < VALUE_BYTES);
		for (int way = 0; way < SPLIT_WAYS; way++) {
			struct notes o = {.skip_keys = " a "};

			json_init(&o.json, notes_event, &o);
			split_feed(way, text, n, notes_feed, &o);
			assert_true(json_end(&o.json));
			assert_string_equal(
			    o.text, "{0 k:a1 k:a1 k:b1 n:71 }0 $0 ");
		}
	}
	free(text);
}

static void
test_json_unescape(void **state)
{
	static const struct {
		const char *in;
		size_t n_out;
		const char *out;
	} cases[] = {
	    {"", 8, ""},
	    {"plain", 16, "plain"},
	    {"a\\n\\t\\\"\\\\\\/\\b\\f\\r", 16, "a\n\t\"\\/\b\f\r"},
	    {"\\u00e9\\u20AC\\uD83D\\uDE00", 16,
		"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"},
	    {"\\ud83d", 16, "?"},
	    {"\\ud83d\\ud83d\\ude00", 16, "?\xf0\x9f\x98\x80"},
	    {"\\ud83dx", 16, "?x"},
	    {"\\ud83d\\n", 16, "?\n"},
	    {"\\ude00", 16, "?"},
	    {"\\u12G4", 16, "?G4"},
	    {"\\u12\\n", 16, "?\n"},
	    {"\\x", 16, "x"},
	    {"ab\\", 16, "ab"},
	    {"ab\\u00", 16, "ab"},
	    {"a\\u0000b", 16, "a?b"},
	    {"abcdef", 4, "abc"},
	    {"ab\\u20AC", 5, "ab"},
	    {"ab\xe2\x82\xac", 5, "ab"},
	    {"ab\xe2\x82\xac"
	     "c",
		6, "ab\xe2\x82\xac"},
	    {"abc", 1, ""},
	};
	char out[16];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		memset(out, 'Z', sizeof(out));
		assert_int_equal(json_unescape(cases[i].in, strlen(cases[i].in),
				     out, cases[i].n_out),
		    strlen(cases[i].out));
		assert_string_equal(out, cases[i].out);
		for (size_t k = cases[i].n_out; k < sizeof(out); k++)
			assert_int_equal(out[k], 'Z');
	}
	assert_int_equal(json_unescape("a", 1, out, 0), 0);
}

static void
test_json_text_bytes(void **state)
{
	static const struct {
		const char *in;
		size_t bytes;
	} cases[] = {
	    {"", 0},
	    {"plain", 5},
	    {"p\xc3\xa9", 3},
	    {"a\\n\\\"\\\\", 4},
	    {"\\u00e9\\u20AC\\uD83D\\uDE00", 9},
	    {"\\ud83d", 1},
	    {"\\ud83dxy\\u0041", 4},
	    {"\\ud83d\\ud83d\\ude00", 5},
	    {"\\u0000", 1},
	};
	struct json_escape e = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const char *in = cases[i].in;
		size_t n = strlen(in);

		for (size_t cut = 0; cut <= n; cut++) {
			size_t bytes = json_text_bytes(&e, in, cut, false);

			bytes += json_text_bytes(&e, in + cut, n - cut, true);
			assert_int_equal(bytes, cases[i].bytes);
		}
	}
}

static void
test_json_number_int(void **state)
{
	static const struct {
		const char *text;
		bool is_int;
		int64_t value;
	} cases[] = {
	    {"0", true, 0},
	    {"-0", true, 0},
	    {"29900", true, 29900},
	    {"2.0", true, 2},
	    {"6e2", true, 600},
	    {"6.25E+2", true, 625},
	    {"2.5", true, 3},
	    {"-2.5", true, -3},
	    {"2.4999999999999999999999999999", true, 2},
	    {"0.5", true, 1},
	    {"0.05e1", true, 1},
	    {"49e-2", true, 0},
	    {"5e-2", true, 0},
	    {"1e18", true, 1000000000000000000},
	    {"9223372036854775807", true, INT64_MAX},
	    {"9223372036854775807.4", true, INT64_MAX},
	    {"-9223372036854775808", true, INT64_MIN},
	    {"0e999999999999999999999", true, 0},
	    {"1e-999999999999999999999", true, 0},
	    {"9223372036854775808", false, 0},
	    {"9223372036854775807.5", false, 0},
	    {"-9223372036854775809", false, 0},
	    {"1e19", false, 0},
	    {"1e999999999999999999999", false, 0},
	    {"", false, 0},
	    {"-", false, 0},
	    {"+1", false, 0},
	    {".5", false, 0},
	    {"5.", false, 0},
	    {"1e", false, 0},
	    {"1e+", false, 0},
	    {"1-2", false, 0},
	    {"1.2.3", false, 0},
	    {"0x10", false, 0},
	    {" 1", false, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		int64_t value = -77;

		assert_int_equal(json_number_int(cases[i].text,
				     strlen(cases[i].text), &value),
		    cases[i].is_int);
		assert_int_equal(value, cases[i].is_int ? cases[i].value : -77);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_json_events),
	    cmocka_unit_test(test_json_reset),
	    cmocka_unit_test(test_json_depth_100000),
	    cmocka_unit_test(test_json_offset_spans),
	    cmocka_unit_test(test_json_backslash_runs),
	    cmocka_unit_test(test_json_skip_random),
	    cmocka_unit_test(test_json_unescape),
	    cmocka_unit_test(test_json_text_bytes),
	    cmocka_unit_test(test_json_number_int),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
