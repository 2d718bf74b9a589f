/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
#include "fake_store.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record/turn.h"
#include "store/store.h"

struct store_reader {
	int unused;
};

static struct {
	pthread_mutex_t mtx;
	pthread_cond_t changed;
	int64_t n;
	int64_t hole;
	bool is_blocked;
	char asked[1024];
} fake_store = {
    .mtx = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

void
fake_store_set(int64_t n, int64_t hole)
{
	pthread_mutex_lock(&fake_store.mtx);
	fake_store.n = n;
	fake_store.hole = hole;
	pthread_mutex_unlock(&fake_store.mtx);
}

void
fake_store_block(bool is_blocked)
{
	pthread_mutex_lock(&fake_store.mtx);
	fake_store.is_blocked = is_blocked;
	pthread_cond_broadcast(&fake_store.changed);
	pthread_mutex_unlock(&fake_store.mtx);
}

const char *
fake_store_asked(void)
{
	return fake_store.asked;
}

static void
fake_store_remember(const struct store_query *q)
{
	const struct {
		const char *name;
		const char *text;
		int64_t number;
	} parts[] = {
	    {"since", NULL, q->since_ms},
	    {"until", NULL, q->until_ms},
	    {"after", NULL, q->after_seq},
	    {"upstream", q->upstream, 0},
	    {"model", q->model, 0},
	    {"session", q->session, 0},
	    {"project", q->project, 0},
	    {"client", q->client, 0},
	    {"kind", q->kind, 0},
	    {"sort", q->sort, 0},
	    {"descending", NULL, q->is_descending},
	    {"n", NULL, q->n},
	};
	char *at = fake_store.asked, *end = at + sizeof(fake_store.asked);

	*at = '\0';
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		const char *blank = at == fake_store.asked ? "" : " ";

		if (parts[i].text != NULL)
			at += snprintf(at, (size_t)(end - at), "%s%s=%s", blank,
			    parts[i].name, parts[i].text);
		else if (parts[i].number != 0)
			at += snprintf(at, (size_t)(end - at), "%s%s=%lld",
			    blank, parts[i].name, (long long)parts[i].number);
	}
}

struct turn *
fake_turn(int64_t seq)
{
	struct turn *t = turn_new();

	t->seq = seq;
	t->kind = TURN_KIND_TURN;
	t->outcome = TURN_OUTCOME_OK;
	t->output_tokens = seq == TURN_NULL ? TURN_NULL : 10 * seq;
	turn_set_str(t, &t->model, "m");
	return t;
}

int
store_reader_open(
    const char *path, struct store_reader **reader_out, char **error_out)
{
	int64_t n;

	(void)path;
	pthread_mutex_lock(&fake_store.mtx);
	while (fake_store.is_blocked)
		pthread_cond_wait(&fake_store.changed, &fake_store.mtx);
	n = fake_store.n;
	pthread_mutex_unlock(&fake_store.mtx);
	if (n < 0) {
		*error_out = strdup("made to fail");
		return n == INT64_MIN ? -ENOENT : -EIO;
	}
	*reader_out = calloc(1, sizeof(**reader_out));
	return 0;
}

void
store_reader_close(struct store_reader *r)
{
	free(r);
}

int
store_reader_turns(struct store_reader *r, const struct store_query *q,
    bool (*each)(void *cls, const struct turn *t), void *cls)
{
	int64_t n, hole, first = q->after_seq + 1;
	bool goes_on = true;

	(void)r;
	pthread_mutex_lock(&fake_store.mtx);
	fake_store_remember(q);
	n = fake_store.n;
	hole = fake_store.hole;
	pthread_mutex_unlock(&fake_store.mtx);
	if (q->n > 0 && q->sort == NULL && n - q->n + 1 > first)
		first = n - q->n + 1;
	if (q->n > 0 && q->sort != NULL && n > first + q->n - 1)
		n = first + q->n - 1;
	for (int64_t seq = first; seq <= n && goes_on; seq++) {
		struct turn *t = fake_turn(seq);

		goes_on = seq == hole || each(cls, t);
		turn_free(t);
	}
	return 0;
}
