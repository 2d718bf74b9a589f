/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * A binary heap by due time under one mutex. A connection is suspended under
 * that mutex, before it enters the heap: so it is never resumed first. A
 * suspended connection cannot be closed by libmicrohttpd, hence none in the
 * heap is ever stale; a client that has left is noticed at its next token.
 */
#include "sim_pacer.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <time.h>

#include <microhttpd.h>

#include "base/clock.h"

struct sim_hold {
	int64_t due_ns;
	struct MHD_Connection *connection;
};

struct sim_pacer {
	pthread_t thread;
	pthread_mutex_t mtx;
	pthread_cond_t changed;
	/* under mtx */
	struct sim_hold *heap; /* heap[0] is due first */
	size_t n;
	size_t size;
	bool is_stopping;
};

static void
sim_pacer_swap(struct sim_pacer *p, size_t a, size_t b)
{
	struct sim_hold hold = p->heap[a];

	p->heap[a] = p->heap[b];
	p->heap[b] = hold;
}

static bool
sim_pacer_push(struct sim_pacer *p, struct sim_hold hold)
{
	size_t i = p->n;

	if (p->n == p->size) {
		size_t size = p->size > 0 ? 2 * p->size : 64;
		struct sim_hold *heap = reallocarray(
		    p->heap, size, sizeof(*heap));

		if (heap == NULL)
			return false;
		p->heap = heap;
		p->size = size;
	}
	p->heap[p->n++] = hold;
	while (i > 0 && p->heap[(i - 1) / 2].due_ns > p->heap[i].due_ns) {
		sim_pacer_swap(p, i, (i - 1) / 2);
		i = (i - 1) / 2;
	}
	return true;
}

static struct sim_hold
sim_pacer_pop(struct sim_pacer *p)
{
	struct sim_hold first = p->heap[0];
	size_t i = 0;

	p->heap[0] = p->heap[--p->n];
	for (;;) {
		size_t least = i;

		for (size_t child = 2 * i + 1; child <= 2 * i + 2; child++)
			if (child < p->n &&
			    p->heap[child].due_ns < p->heap[least].due_ns)
				least = child;
		if (least == i)
			return first;
		sim_pacer_swap(p, i, least);
		i = least;
	}
}

static void
sim_pacer_wait(struct sim_pacer *p)
{
	struct timespec until;

	if (p->n == 0) {
		pthread_cond_wait(&p->changed, &p->mtx);
		return;
	}
	until.tv_sec = p->heap[0].due_ns / 1000000000;
	until.tv_nsec = p->heap[0].due_ns % 1000000000;
	pthread_cond_timedwait(&p->changed, &p->mtx, &until);
}

static void *
sim_pacer_main(void *cls)
{
	struct sim_pacer *p = cls;

	pthread_mutex_lock(&p->mtx);
	while (!p->is_stopping) {
		int64_t now_ns = clock_now_ns();

		while (p->n > 0 && p->heap[0].due_ns <= now_ns)
			MHD_resume_connection(sim_pacer_pop(p).connection);
		sim_pacer_wait(p);
	}
	while (p->n > 0)
		MHD_resume_connection(sim_pacer_pop(p).connection);
	pthread_mutex_unlock(&p->mtx);
	return NULL;
}

int
sim_pacer_start(struct sim_pacer **pacer_out)
{
	struct sim_pacer *p = calloc(1, sizeof(*p));
	pthread_condattr_t attr;
	int r;

	if (p == NULL)
		return -ENOMEM;
	pthread_mutex_init(&p->mtx, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&p->changed, &attr);
	pthread_condattr_destroy(&attr);
	r = pthread_create(&p->thread, NULL, sim_pacer_main, p);
	if (r != 0) {
		sim_pacer_free(p);
		return -r;
	}
	*pacer_out = p;
	return 0;
}

bool
sim_pacer_hold(
    struct sim_pacer *p, struct MHD_Connection *connection, int64_t due_ns)
{
	struct sim_hold hold = {due_ns, connection};
	bool is_held;

	pthread_mutex_lock(&p->mtx);
	is_held = !p->is_stopping && sim_pacer_push(p, hold);
	if (is_held) {
		MHD_suspend_connection(connection);
		if (p->heap[0].connection == connection)
			pthread_cond_signal(&p->changed);
	}
	pthread_mutex_unlock(&p->mtx);
	return is_held;
}

void
sim_pacer_stop(struct sim_pacer *p)
{
	pthread_mutex_lock(&p->mtx);
	p->is_stopping = true;
	pthread_cond_signal(&p->changed);
	pthread_mutex_unlock(&p->mtx);
	pthread_join(p->thread, NULL);
}

void
sim_pacer_free(struct sim_pacer *p)
{
	if (p == NULL)
		return;
	pthread_cond_destroy(&p->changed);
	pthread_mutex_destroy(&p->mtx);
	free(p->heap);
	free(p);
}
