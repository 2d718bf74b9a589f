/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
#include "base/queue.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

struct queue {
	pthread_mutex_t mtx;
	pthread_cond_t filled;
	/* under mtx */
	size_t head;
	size_t len;
	bool closed;
	/* constant after start */
	size_t n_max;
	void **ring;
};

struct queue *
queue_new(size_t n_max)
{
	struct queue *q = calloc(1, sizeof(*q));
	pthread_condattr_t attr;

	if (q == NULL)
		return NULL;
	q->ring = calloc(n_max, sizeof(*q->ring));
	if (q->ring == NULL) {
		free(q);
		return NULL;
	}
	q->n_max = n_max;
	pthread_mutex_init(&q->mtx, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&q->filled, &attr);
	pthread_condattr_destroy(&attr);
	return q;
}

void
queue_free(struct queue *q)
{
	if (q == NULL)
		return;
	pthread_cond_destroy(&q->filled);
	pthread_mutex_destroy(&q->mtx);
	free(q->ring);
	free(q);
}

int
queue_put(struct queue *q, void *object)
{
	int r = 0;

	pthread_mutex_lock(&q->mtx);
	if (q->closed || q->len == q->n_max) {
		r = -ENOBUFS;
	} else {
		q->ring[(q->head + q->len++) % q->n_max] = object;
		if (q->len == 1)
			pthread_cond_signal(&q->filled);
	}
	pthread_mutex_unlock(&q->mtx);
	return r;
}

size_t
queue_take(struct queue *q, void **objects, size_t n_max, int timeout_ms)
{
	struct timespec until;
	size_t n = 0;
	int r = 0;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += timeout_ms / 1000;
	until.tv_nsec += (long)(timeout_ms % 1000) * 1000000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	pthread_mutex_lock(&q->mtx);
	while (q->len == 0 && !q->closed && r == 0)
		r = pthread_cond_timedwait(&q->filled, &q->mtx, &until);
	while (q->len > 0 && n < n_max) {
		objects[n++] = q->ring[q->head];
		q->head = (q->head + 1) % q->n_max;
		q->len--;
	}
	pthread_mutex_unlock(&q->mtx);
	return n;
}

void
queue_close(struct queue *q)
{
	pthread_mutex_lock(&q->mtx);
	q->closed = true;
	pthread_cond_broadcast(&q->filled);
	pthread_mutex_unlock(&q->mtx);
}

bool
queue_is_closed(struct queue *q)
{
	bool closed;

	pthread_mutex_lock(&q->mtx);
	closed = q->closed;
	pthread_mutex_unlock(&q->mtx);
	return closed;
}

size_t
queue_len(struct queue *q)
{
	size_t n;

	pthread_mutex_lock(&q->mtx);
	n = q->len;
	pthread_mutex_unlock(&q->mtx);
	return n;
}
