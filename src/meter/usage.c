/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * The object is kept as text and parsed at the end: most answers bring it
 * once, some on every chunk, and then only the last one is worth parsing.
 *
 * The rules of usage_settle_inclusive all come from answers seen on the wire;
 * docs/protocols/openai-chat.md names the server and the case of each.
 */
#include "meter/usage.h"

#include <string.h>

#include "record/turn.h"

void
usage_init(struct usage *u)
{
	buf_init(&u->text, USAGE_BYTES_MAX);
}

void
usage_fini(struct usage *u)
{
	buf_fini(&u->text);
}

void
usage_forget(struct usage *u)
{
	buf_clear(&u->text);
}

bool
usage_replace(struct usage *u, const char *text, size_t n)
{
	if (n <= 2)
		return false;
	buf_clear(&u->text);
	return buf_append(&u->text, text, n) == 0;
}

bool
usage_merge(struct usage *u, const char *text, size_t n, bool is_provisional,
    struct turn *t)
{
	struct usage_doc *old, *fresh;
	struct buf merged;
	bool done = false;

	if (!usage_is_known(u))
		return usage_replace(u, text, n);
	if (n <= 2)
		return false;
	buf_init(&merged, USAGE_BYTES_MAX);
	old = usage_open(u);
	fresh = usage_doc_new(text, n);
	if (old != NULL && fresh != NULL)
		done = usage_doc_merge(
			   &merged, old, fresh, is_provisional, t) == 0;
	usage_doc_free(fresh);
	usage_doc_free(old);
	if (done) {
		buf_fini(&u->text);
		u->text = merged;
	} else {
		buf_fini(&merged);
	}
	return done;
}

struct usage_doc *
usage_open(const struct usage *u)
{
	if (!usage_is_known(u))
		return NULL;
	return usage_doc_new(buf_data(&u->text), buf_len(&u->text));
}

void
usage_settle_cost(const struct usage_doc *d, struct turn *t)
{
	int64_t ticks = usage_int(d, "cost_in_usd_ticks");
	int64_t cost = usage_pusd(d, "cost");
	int64_t upstream = usage_pusd(
	    d, "cost_details.upstream_inference_cost");

	if (cost == TURN_NULL) /* Perplexity */
		cost = usage_pusd(d, "cost.total_cost");
	/* OpenRouter with the user's own key: `cost` is its fee alone. */
	if (cost != TURN_NULL && upstream != TURN_NULL &&
	    usage_is_true(d, "is_byok")) {
		cost += upstream;
		turn_add_flag(t, "byok");
	}
	/* xAI: a tick is 10^-10 dollars. */
	if (cost == TURN_NULL && ticks != TURN_NULL)
		cost = ticks * 100;
	t->provider_cost_pusd = cost;
}

void
usage_settle_tier(const struct usage_doc *d, struct turn *t)
{
	size_t n;
	const char *tier = usage_text(d, "service_tier", &n);

	turn_set_text(t, &t->service_tier, tier, n);
}

static int64_t
usage_or_0(int64_t value)
{
	return value != TURN_NULL ? value : 0;
}

static void
usage_set_parts(struct turn *t, int64_t uncached, int64_t read, int64_t write)
{
	t->uncached_tokens = uncached;
	t->cache_read_tokens = read;
	t->cache_write_tokens = write;
	t->input_tokens = uncached == TURN_NULL
			      ? TURN_NULL
			      : uncached + usage_or_0(read) + usage_or_0(write);
}

static void
usage_settle_input(const struct usage_counts *c, struct turn *t)
{
	int64_t read = usage_or_0(c->cache_read);
	int64_t write = c->cache_write, uncached;

	if (c->input == TURN_NULL) {
		usage_set_parts(t, TURN_NULL, c->cache_read, write);
		return;
	}
	if (read > c->input ||
	    (read > 0 && c->total != TURN_NULL && c->output != TURN_NULL &&
		c->total == c->input + read + c->output)) {
		/* Outside the prompt, against the rule of this family. */
		turn_add_flag(t, "cache_outside");
		usage_set_parts(t, c->input, c->cache_read, write);
		return;
	}
	uncached = c->input - read;
	if (write != TURN_NULL && write > uncached) {
		/* The same tokens told twice, as read and as written. */
		turn_add_flag(t, "cache_overlap");
		write = uncached;
	}
	usage_set_parts(t, uncached - usage_or_0(write), c->cache_read, write);
}

static void
usage_settle_output(const struct usage_counts *c, struct turn *t)
{
	int64_t rest, reasoning = c->reasoning;

	t->output_tokens = c->output;
	t->reasoning_tokens = reasoning;
	if (c->output == TURN_NULL || c->input == TURN_NULL) {
		if (c->output != TURN_NULL && reasoning > c->output)
			t->reasoning_tokens = c->output;
		return;
	}
	/* What the total holds beyond prompt and completion. */
	rest = c->total != TURN_NULL ? c->total - c->input - c->output : 0;
	if (reasoning != TURN_NULL && reasoning > 0 && rest == reasoning) {
		t->output_tokens = c->output + reasoning;
		turn_add_flag(t, "reasoning_outside");
	} else if (reasoning == TURN_NULL && rest > 0 &&
		   rest != usage_or_0(c->cache_read)) {
		t->output_tokens = c->output + rest;
		t->reasoning_tokens = rest;
		turn_add_flag(t, "reasoning_hidden");
	} else if (reasoning != TURN_NULL && reasoning > c->output) {
		t->reasoning_tokens = c->output;
		turn_add_flag(t, "reasoning_clamped");
	}
}

void
usage_settle_inclusive(const struct usage_counts *c, struct turn *t)
{
	struct usage_counts counts = *c;

	if (counts.output == TURN_NULL && counts.total != TURN_NULL &&
	    counts.input != TURN_NULL && counts.total >= counts.input)
		counts.output = counts.total - counts.input;
	usage_settle_input(&counts, t);
	usage_settle_output(&counts, t);
	t->cache_write_1h_tokens = counts.cache_write_1h;
}

void
usage_settle_disjoint(const struct usage_counts *c, struct turn *t)
{
	usage_set_parts(t, c->input, c->cache_read, c->cache_write);
	t->cache_write_1h_tokens = c->cache_write_1h;
	t->output_tokens = c->output;
	t->reasoning_tokens = c->reasoning;
	if (c->output != TURN_NULL && c->reasoning != TURN_NULL &&
	    c->reasoning > c->output) {
		t->reasoning_tokens = c->output;
		turn_add_flag(t, "reasoning_clamped");
	}
}

void
usage_settle_raw(const struct usage *u, struct turn *t)
{
	const char *text;
	size_t n = buf_len(&u->text);
	struct buf shorter;

	if (n == 0) {
		t->usage_raw = NULL;
		return;
	}
	text = buf_data(&u->text);
	buf_init(&shorter, TURN_USAGE_RAW_BYTES);
	if (n > TURN_USAGE_RAW_BYTES) {
		struct usage_doc *d = usage_open(u);

		turn_add_flag(t, "usage_raw_cut");
		n = 0;
		if (d != NULL && usage_doc_flat(&shorter, d) == 0) {
			text = buf_data(&shorter);
			n = buf_len(&shorter);
		}
		usage_doc_free(d);
	}
	/* Settling is repeated: the arena is not to grow with it. */
	if (n == 0)
		t->usage_raw = NULL;
	else if (t->usage_raw == NULL || strlen(t->usage_raw) != n ||
		 memcmp(t->usage_raw, text, n) != 0)
		t->usage_raw = arena_copy(&t->arena, text, n);
	buf_fini(&shorter);
}
