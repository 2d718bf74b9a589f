/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
#include "report/day.h"

#include <stdio.h>
#include <string.h>

void
day_init(struct day *d)
{
	memset(d, 0, sizeof(*d));
	d->input_tokens = d->output_tokens = TURN_NULL;
}

/* Nothing known adds up to unknown, not to 0. */
static void
day_sum(int64_t *sum, int64_t tokens)
{
	if (tokens == TURN_NULL)
		return;
	*sum = *sum == TURN_NULL ? tokens : *sum + tokens;
}

void
day_fini(struct day *d)
{
	for (size_t i = 0; i < d->n_sessions; i++)
		turn_free(d->sessions[i].last);
	turn_free(d->last);
	memset(d, 0, sizeof(*d));
}

static void
day_keep(struct turn **slot, const struct turn *t)
{
	struct turn *copy;

	if (*slot != NULL && (*slot)->seq > t->seq)
		return;
	copy = turn_copy(t);
	if (copy == NULL)
		return;
	turn_free(*slot);
	*slot = copy;
}

static void
day_add_session(struct day *d, const struct turn *t)
{
	size_t at, oldest = 0;

	for (at = 0; at < d->n_sessions; at++) {
		if (strcmp(d->sessions[at].id, t->session_id) == 0)
			break;
		if (d->sessions[at].last != NULL &&
		    d->sessions[oldest].last != NULL &&
		    d->sessions[at].last->seq < d->sessions[oldest].last->seq)
			oldest = at;
	}
	if (at == DAY_SESSIONS_MAX) {
		at = oldest;
		turn_free(d->sessions[at].last);
		d->sessions[at] = (struct day_session){0};
	} else if (at == d->n_sessions) {
		d->n_sessions++;
	}
	snprintf(d->sessions[at].id, sizeof(d->sessions[at].id), "%s",
	    t->session_id);
	d->sessions[at].n_turns++;
	day_keep(&d->sessions[at].last, t);
}

bool
day_add(void *cls, const struct turn *t)
{
	struct day *d = cls;

	if (t->kind == TURN_KIND_TURN)
		d->n_turns++;
	else
		d->n_other++;
	if (t->outcome == TURN_OUTCOME_RATE_LIMITED)
		d->n_refused++;
	else if (t->outcome != TURN_OUTCOME_OK)
		d->n_failed++;
	else if (t->input_tokens == TURN_NULL && t->kind == TURN_KIND_TURN)
		d->n_no_usage++;
	day_sum(&d->input_tokens, t->input_tokens);
	day_sum(&d->output_tokens, t->output_tokens);
	if (t->input_tokens != TURN_NULL && t->cache_read_tokens != TURN_NULL) {
		d->hit_read += t->cache_read_tokens;
		d->hit_input += t->input_tokens;
	}
	if (t->kind != TURN_KIND_TURN)
		return true;
	day_keep(&d->last, t);
	if (t->session_id != NULL)
		day_add_session(d, t);
	return true;
}
