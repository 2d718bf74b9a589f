/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * micro_scan: how long the scanners take; prints, never fails. The best of
 * several rounds is given: noise only adds.
 *
 *   event: one event of a chat stream, split and scanned by a handler that
 *          wants choices[].delta.content and nothing else, in reads of 1217
 *          bytes
 *   body:  a request body of 1 MB, its messages skipped (by key) or told
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "scan/json.h"
#include "scan/sse.h"

enum {
	BENCH_EVENTS = 200,
	BENCH_READ_BYTES = 1217,
	BENCH_BODY_BYTES = 1000 * 1000,
	BENCH_ROUNDS = 30
};

static int64_t
bench_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static void
bench_fail(const char *what)
{
	fprintf(stderr, "micro_scan: %s\n", what);
	exit(1);
}

struct bench {
	struct sse sse;
	struct json json;
	int place; /* how much of choices[].delta.content has matched */
	size_t n_content;
	size_t n_calls;
};

static bool
bench_is(const char *data, size_t n, const char *word, size_t n_word)
{
	return n == n_word && memcmp(data, word, n) == 0;
}

static enum json_wish
bench_key(struct bench *b, int depth, const char *data, size_t n)
{
	b->place = 0;
	if (depth == 1 && bench_is(data, n, "choices", 7))
		return JSON_WANT;
	if (depth == 3 && bench_is(data, n, "delta", 5))
		return JSON_WANT;
	if (depth == 4 && bench_is(data, n, "content", 7)) {
		b->place = 4;
		return JSON_WANT;
	}
	return JSON_SKIP;
}

static enum json_wish
bench_event(void *cls, enum json_event event, int depth, const char *data,
    size_t n, bool is_last)
{
	struct bench *b = cls;

	(void)is_last;
	b->n_calls++;
	if (event == JSON_KEY)
		return bench_key(b, depth, data, n);
	if (event == JSON_STRING && b->place == 4)
		b->n_content += n;
	return JSON_WANT;
}

static enum json_wish
bench_told(void *cls, enum json_event event, int depth, const char *data,
    size_t n, bool is_last)
{
	struct bench *b = cls;

	(void)depth;
	(void)data;
	(void)is_last;
	b->n_calls++;
	if (event == JSON_STRING)
		b->n_content += n;
	return JSON_WANT;
}

static enum json_wish
bench_skipped(void *cls, enum json_event event, int depth, const char *data,
    size_t n, bool is_last)
{
	bench_told(cls, event, depth, data, n, is_last);
	return event == JSON_KEY && bench_is(data, n, "messages", 8)
		   ? JSON_SKIP
		   : JSON_WANT;
}

static void
bench_data(void *cls, const char *data, size_t n)
{
	struct bench *b = cls;

	json_feed(&b->json, data, n);
}

static void
bench_event_end(void *cls, const char *name, bool has_data)
{
	struct bench *b = cls;

	(void)name;
	(void)has_data;
	json_end(&b->json);
	json_reset(&b->json);
}

static void
bench_events(size_t n_read)
{
	static const struct sse_handler handler = {
	    .data = bench_data, .event = bench_event_end};
	static char text[BENCH_EVENTS * 160];
	size_t n = 0;
	int64_t best = INT64_MAX;
	struct bench b = {0};

	for (int i = 0; i < BENCH_EVENTS; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n,
		    "data: {\"id\":\"chatcmpl-abc\",\"object\":"
		    "\"chat.completion.chunk\",\"choices\":[{\"index\":0,"
		    "\"delta\":{\"content\":\" word%03d\"}}]}\n\n",
		    i);
	for (int round = 0; round < BENCH_ROUNDS; round++) {
		int64_t start = bench_now_ns(), took;

		for (int k = 0; k < 100; k++) {
			json_init(&b.json, bench_event, &b);
			sse_init(&b.sse, &handler, &b);
			b.n_content = 0;
			for (size_t i = 0; i < n; i += n_read)
				sse_feed(&b.sse, text + i,
				    n - i < n_read ? n - i : n_read);
		}
		took = bench_now_ns() - start;
		best = took < best ? took : best;
	}
	if (b.n_content != BENCH_EVENTS * 8)
		bench_fail("the content of the events was not found");
	printf("event of %zu bytes, reads of %zu: %.1f ns\n", n / BENCH_EVENTS,
	    n_read, (double)best / 100 / BENCH_EVENTS);
}

/* Messages of every size: TEXT_BYTES in the long ones. */
static char *
bench_body(size_t n_text, size_t *n_out)
{
	char *body = malloc(BENCH_BODY_BYTES + n_text + 4096);
	size_t n;

	if (body == NULL)
		bench_fail("no memory");
	n = (size_t)sprintf(body, "{\"model\":\"x\",\"messages\":[");
	for (int i = 0; n < BENCH_BODY_BYTES; i++) {
		n += (size_t)sprintf(body + n,
		    "%s{\"role\":\"user\",\"content\":\"", i > 0 ? "," : "");
		for (size_t k = 0; k < n_text; k += 24)
			n += (size_t)sprintf(body + n,
			    k % 96 == 72 ? "consectetur\\n lorem ip \\n"
					 : "lorem ipsum dolor sit am ");
		n += (size_t)sprintf(body + n, "\"}");
	}
	n += (size_t)sprintf(body + n, "],\"stream\":true}");
	*n_out = n;
	return body;
}

static void
bench_bodies(const char *what, size_t n_text, json_handler_fn *handler)
{
	size_t n;
	char *body = bench_body(n_text, &n);
	int64_t best = INT64_MAX;
	struct bench b = {0};

	for (int round = 0; round < BENCH_ROUNDS; round++) {
		int64_t start = bench_now_ns(), took;

		json_init(&b.json, handler, &b);
		for (size_t i = 0; i < n; i += 65536)
			json_feed(
			    &b.json, body + i, n - i < 65536 ? n - i : 65536);
		if (!json_end(&b.json))
			bench_fail("the body was not read");
		took = bench_now_ns() - start;
		best = took < best ? took : best;
	}
	printf("body, texts of %zu bytes, %s: %.3f ms/MB (%zu calls)\n", n_text,
	    what, (double)best / (double)n, b.n_calls / BENCH_ROUNDS);
	free(body);
}

int
main(void)
{
	static const size_t sizes[] = {24, 96, 960, 96000};

	bench_events(BENCH_READ_BYTES);
	bench_events(1 << 20);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		bench_bodies("skipped", sizes[i], bench_skipped);
		bench_bodies("told", sizes[i], bench_told);
	}
	return 0;
}
