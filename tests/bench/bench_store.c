/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * What the database costs: rows through journal and writer, then the questions
 * that the commands ask of a big one. Prints; asserts no times.
 *
 *   bench_store [ROWS]     1,000,000 by default, some 800 MB in $TMPDIR
 */
#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "record/turn.h"
#include "store/journal.h"
#include "store/store.h"

enum { DAY_MS = 86400000, PER_DAY = 1400 };

static struct turn *
bench_turn(int64_t i, int64_t started_at)
{
	static const char *const models[] = {"qwen-3.8-27b", "glm-5.1", "opus"};
	struct turn *t = turn_new();
	char text[64];

	assert(t != NULL);
	t->seq = i + 1;
	t->started_at = started_at;
	t->source = TURN_SOURCE_PROXY;
	t->kind = i % 5 == 0 ? TURN_KIND_SIDE : TURN_KIND_TURN;
	t->outcome = TURN_OUTCOME_OK;
	t->usage_source = TURN_USAGE_SOURCE_REPORTED;
	t->status = 200;
	t->streaming = 1;
	turn_set_str(t, &t->upstream, i % 3 == 0 ? "anthropic" : "cerebras");
	turn_set_str(t, &t->protocol, "openai-chat");
	turn_set_str(t, &t->method, "POST");
	turn_set_str(t, &t->path, "/v1/chat/completions");
	turn_set_str(t, &t->model, i == 4242 ? "rare" : models[i % 3]);
	turn_set_str(t, &t->client, "opencode/1.0.0");
	snprintf(text, sizeof(text), "ses_%lld", (long long)i / 40);
	turn_set_str(t, &t->session_id, text);
	turn_set_str(t, &t->project, "turnmeter");
	t->input_tokens = 30000 + i % 1000;
	t->cache_read_tokens = 29000;
	t->uncached_tokens = t->input_tokens - t->cache_read_tokens;
	t->output_tokens = i % 700;
	t->ttft_ms = 300.5 + (double)(i % 100);
	t->total_ms = 4000.25;
	t->decode_ms = 3700;
	t->decode_tps = 60.5;
	t->request_bytes = 120000;
	t->response_bytes = 23000;
	t->usage_raw = "{\"prompt_tokens\":30000,\"completion_tokens\":70}";
	if (i % 2 == 0)
		turn_tool_get(t, "read", 4)->calls = 1;
	return t;
}

static void
bench_say(const char *what, int64_t from_ns, long long n)
{
	double ms = (double)(clock_now_ns() - from_ns) / 1e6;

	printf("%-44s %10.1f ms  %9lld rows  %8.2f us a row\n", what, ms, n,
	    n > 0 ? ms * 1000 / (double)n : 0.0);
}

static void
bench_fill(const char *path, const char *journal, int64_t n_rows)
{
	struct store_writer_setup setup = {.path = path, .n_queue = 4096};
	int64_t first = clock_wall_ms() - n_rows / PER_DAY * DAY_MS;
	int64_t from, wait_ns = 0;
	struct store_writer *w;
	char *error = NULL;

	if (journal_open(journal, &setup.journal, &error) < 0 ||
	    store_writer_start(&setup, &w, &error) < 0) {
		fprintf(stderr, "%s\n", error);
		exit(1);
	}
	from = clock_now_ns();
	for (int64_t i = 0; i < n_rows; i++) {
		struct turn *t = bench_turn(i, first + i * (DAY_MS / PER_DAY));
		int slot = journal_take(setup.journal);

		while (slot < 0) {
			const struct timespec ms = {.tv_nsec = 1000000};
			int64_t at = clock_now_ns();

			nanosleep(&ms, NULL);
			wait_ns += clock_now_ns() - at;
			slot = journal_take(setup.journal);
		}
		assert(journal_write(setup.journal, slot, t, false) == 0);
		assert(store_writer_put(w, &t, slot) == 0);
	}
	store_writer_stop(w, 600000);
	bench_say("journal, queue, commit", from, n_rows);
	printf("%-44s %10.1f ms\n", "  of it waiting for a slot",
	    (double)wait_ns / 1e6);
	journal_close(setup.journal);
}

/* The loop's part alone: open, closed, release. */
static void
bench_journal(const char *path)
{
	enum { N = 200000 };
	struct turn *t = bench_turn(1, 1);
	struct journal *j;
	char *error = NULL;
	int64_t from;

	if (journal_open(path, &j, &error) < 0) {
		fprintf(stderr, "%s\n", error);
		exit(1);
	}
	from = clock_now_ns();
	for (int i = 0; i < N; i++) {
		int slot = journal_take(j);

		assert(journal_write(j, slot, t, true) == 0);
		assert(journal_write(j, slot, t, false) == 0);
		journal_release(j, slot);
	}
	bench_say("journal: two writes and a release", from, N);
	journal_close(j);
	turn_free(t);
}

static bool
bench_row(void *cls, const struct turn *t)
{
	long long *n = cls;

	*n += t->seq > 0;
	return true;
}

static void
bench_query(const char *path, const char *what, const struct store_query *q)
{
	struct store_reader *r;
	char *error = NULL, label[96];
	struct store_counts counts;
	long long n = 0;
	int64_t from = clock_now_ns();

	if (store_reader_open(path, &r, &error) < 0) {
		fprintf(stderr, "%s\n", error);
		exit(1);
	}
	assert(store_reader_turns(r, q, bench_row, &n) == 0);
	bench_say(what, from, n);
	if (q->n == 0) {
		from = clock_now_ns();
		assert(store_reader_count(r, q, &counts) == 0);
		snprintf(label, sizeof(label), "%s: counted", what);
		bench_say(label, from, counts.n_turns);
	}
	store_reader_close(r);
}

int
main(int argc, char **argv)
{
	int64_t n_rows = argc > 1 ? strtoll(argv[1], NULL, 10) : 1000000;
	int64_t now = clock_wall_ms();
	const char *tmp = getenv("TMPDIR");
	const struct {
		const char *what;
		struct store_query q;
	} queries[] = {
	    {"the newest 20", {.n = 20}},
	    {"today", {.since_ms = now - DAY_MS}},
	    {"30 days, newest 20", {.since_ms = now - 30LL * DAY_MS, .n = 20}},
	    {"a day long ago", {.since_ms = now - 400LL * DAY_MS,
				   .until_ms = now - 399LL * DAY_MS}},
	    {"before a year ago, newest 20",
		{.until_ms = now - 365LL * DAY_MS, .n = 20}},
	    {"one session", {.session = "ses_77"}},
	    {"a model of one turn", {.model = "rare", .n = 20}},
	    {"slowest 20 of all",
		{.sort = "ttft_ms", .is_descending = true, .n = 20}},
	    {"today's slowest 20", {.since_ms = now - DAY_MS,
				       .sort = "ttft_ms",
				       .is_descending = true,
				       .n = 20}},
	    {"all", {.n = 0}},
	};
	char folder[512], path[600], journal[600], command[1100];

	snprintf(folder, sizeof(folder), "%s/bench-store-XXXXXX",
	    tmp != NULL ? tmp : "/tmp");
	if (mkdtemp(folder) == NULL) {
		perror(folder);
		return 1;
	}
	snprintf(path, sizeof(path), "%s/t.db", folder);
	snprintf(journal, sizeof(journal), "%s/t.db.journal", folder);
	bench_journal(journal);
	bench_fill(path, journal, n_rows);
	for (size_t i = 0; i < sizeof(queries) / sizeof(*queries); i++)
		bench_query(path, queries[i].what, &queries[i].q);
	snprintf(
	    command, sizeof(command), "ls -s %s; rm -r %s", folder, folder);
	return system(command) == 0 ? 0 : 1;
}
