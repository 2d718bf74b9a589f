/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "config/config.h"
#include "exchange.h"
#include "record/turn.h"

static struct load *
load_find(struct proxy *p, const char *upstream)
{
	struct load *l;

	for (l = p->loads; l != NULL; l = l->next)
		if (strcmp(l->upstream, upstream) == 0)
			return l;
	l = calloc(1, sizeof(*l));
	if (l == NULL)
		return NULL;
	l->upstream = strdup(upstream);
	if (l->upstream == NULL) {
		free(l);
		return NULL;
	}
	l->next = p->loads;
	p->loads = l;
	return l;
}

static void
load_advance(struct load *l, int64_t now_ns)
{
	l->integral += (double)l->n * (double)(now_ns - l->last_ns);
	l->last_ns = now_ns;
}

void
load_enter(struct exchange *x)
{
	struct load *l = load_find(x->proxy, x->route.upstream->name);

	if (l == NULL)
		return;
	load_advance(l, x->t0_ns);
	x->turn->in_flight = l->n;
	l->n++;
	x->load = l;
	x->load_integral = l->integral;
	x->load_start_ns = x->t0_ns;
}

/* The mean of the others in flight over this exchange so far. */
double
load_mean(struct exchange *x, int64_t now_ns)
{
	double span = (double)(now_ns - x->load_start_ns);

	load_advance(x->load, now_ns);
	if (span <= 0)
		return (double)x->turn->in_flight;
	return (x->load->integral - x->load_integral) / span - 1;
}

void
load_leave(struct exchange *x)
{
	if (x->load == NULL)
		return;
	load_advance(x->load, clock_now_ns());
	x->load->n--;
	x->load = NULL;
}
