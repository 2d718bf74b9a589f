/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * epoll, level-triggered unless a caller asks for EPOLLET. A removed loop_fd
 * is freed at the end of the batch, since an event for it may wait in the same
 * batch.
 */
#include "proxy/loop.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"

enum { LOOP_BATCH = 256 };

struct loop_fd {
	struct loop *loop;
	int fd;
	bool is_removed;
	uint32_t events;
	void (*ready)(void *cls, uint32_t events);
	void *cls;
	struct loop_fd *next_removed;
};

struct loop_timer {
	struct loop *loop;
	struct loop_timer *next;
	int64_t due_ns;
	void (*fire)(void *cls);
	void *cls;
};

struct loop_job {
	struct loop_job *next;
	void (*fn)(void *cls);
	void *cls;
};

struct loop {
	/* loop thread only */
	int epoll_fd;
	bool is_stopped;
	struct loop_fd *wake;
	struct loop_fd *removed;
	struct loop_timer *timers; /* by due time */
	int64_t (*turn)(void *cls);
	void *turn_cls;
	/* constant after start */
	int wake_fd;
	/* under mtx */
	pthread_mutex_t mtx;
	struct loop_job *jobs;
	struct loop_job **jobs_tail;
};

static void
loop_run_jobs(void *cls, uint32_t events)
{
	struct loop *l = cls;
	struct loop_job *job;
	uint64_t n;

	(void)events;
	if (read(l->wake_fd, &n, sizeof(n)) < 0 && errno != EAGAIN)
		return;
	pthread_mutex_lock(&l->mtx);
	job = l->jobs;
	l->jobs = NULL;
	l->jobs_tail = &l->jobs;
	pthread_mutex_unlock(&l->mtx);
	while (job != NULL) {
		struct loop_job *next = job->next;

		job->fn(job->cls);
		free(job);
		job = next;
	}
}

static void
loop_sweep_removed(struct loop *l)
{
	while (l->removed != NULL) {
		struct loop_fd *f = l->removed;

		l->removed = f->next_removed;
		free(f);
	}
}

static void
loop_fire_timers(struct loop *l)
{
	int64_t now = clock_now_ns();

	while (l->timers != NULL && l->timers->due_ns <= now) {
		struct loop_timer *t = l->timers;

		l->timers = t->next;
		t->fire(t->cls);
		free(t);
	}
}

/* Milliseconds until the next timer, rounded up; -1 for none. */
static int64_t
loop_next_timer_ms(const struct loop *l)
{
	int64_t left;

	if (l->timers == NULL)
		return -1;
	left = l->timers->due_ns - clock_now_ns();
	return left <= 0 ? 0 : (left + 999999) / 1000000;
}

struct loop *
loop_new(void)
{
	struct loop *l = calloc(1, sizeof(*l));

	if (l == NULL)
		return NULL;
	pthread_mutex_init(&l->mtx, NULL);
	l->jobs_tail = &l->jobs;
	l->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	l->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (l->wake_fd >= 0 && l->epoll_fd >= 0)
		l->wake = loop_add_fd(l, l->wake_fd, EPOLLIN, loop_run_jobs, l);
	if (l->wake == NULL) {
		loop_free(l);
		return NULL;
	}
	return l;
}

void
loop_free(struct loop *l)
{
	if (l == NULL)
		return;
	while (l->timers != NULL)
		loop_timer_cancel(l->timers);
	while (l->jobs != NULL) {
		struct loop_job *job = l->jobs;

		l->jobs = job->next;
		free(job);
	}
	if (l->wake != NULL)
		loop_remove_fd(l->wake);
	loop_sweep_removed(l);
	if (l->wake_fd >= 0)
		close(l->wake_fd);
	if (l->epoll_fd >= 0)
		close(l->epoll_fd);
	pthread_mutex_destroy(&l->mtx);
	free(l);
}

void
loop_on_turn(struct loop *l, int64_t (*turn)(void *cls), void *cls)
{
	l->turn = turn;
	l->turn_cls = cls;
}

int
loop_run(struct loop *l)
{
	struct epoll_event events[LOOP_BATCH];

	l->is_stopped = false;
	while (!l->is_stopped) {
		int64_t wait = l->turn != NULL ? l->turn(l->turn_cls) : -1;
		int64_t timer = loop_next_timer_ms(l);
		int n;

		if (l->is_stopped)
			break;
		if (wait < 0 || (timer >= 0 && timer < wait))
			wait = timer;
		if (wait > 60000)
			wait = 60000;
		n = epoll_wait(l->epoll_fd, events, LOOP_BATCH, (int)wait);
		if (n < 0 && errno != EINTR)
			return -errno;
		for (int i = 0; i < n; i++) {
			struct loop_fd *f = events[i].data.ptr;

			if (!f->is_removed)
				f->ready(f->cls, events[i].events);
		}
		loop_fire_timers(l);
		loop_sweep_removed(l);
	}
	return 0;
}

void
loop_stop(struct loop *l)
{
	l->is_stopped = true;
}

struct loop_fd *
loop_add_fd(struct loop *l, int fd, uint32_t events,
    void (*ready)(void *cls, uint32_t events), void *cls)
{
	struct loop_fd *f = calloc(1, sizeof(*f));
	struct epoll_event ev = {.events = events, .data = {.ptr = f}};

	if (f == NULL)
		return NULL;
	f->loop = l;
	f->fd = fd;
	f->events = events;
	f->ready = ready;
	f->cls = cls;
	if (epoll_ctl(l->epoll_fd, EPOLL_CTL_ADD, fd, &ev) < 0) {
		free(f);
		return NULL;
	}
	return f;
}

void
loop_set_events(struct loop_fd *f, uint32_t events)
{
	struct epoll_event ev = {.events = events, .data = {.ptr = f}};

	if (f->events == events)
		return;
	f->events = events;
	epoll_ctl(f->loop->epoll_fd, EPOLL_CTL_MOD, f->fd, &ev);
}

void
loop_remove_fd(struct loop_fd *f)
{
	epoll_ctl(f->loop->epoll_fd, EPOLL_CTL_DEL, f->fd, NULL);
	loop_release_fd(f);
}

void
loop_release_fd(struct loop_fd *f)
{
	f->is_removed = true;
	f->next_removed = f->loop->removed;
	f->loop->removed = f;
}

struct loop_timer *
loop_timer_add(
    struct loop *l, int64_t delay_ms, void (*fire)(void *cls), void *cls)
{
	struct loop_timer *t = calloc(1, sizeof(*t)), **at = &l->timers;

	if (t == NULL)
		return NULL;
	t->loop = l;
	t->due_ns = clock_now_ns() + delay_ms * 1000000;
	t->fire = fire;
	t->cls = cls;
	while (*at != NULL && (*at)->due_ns <= t->due_ns)
		at = &(*at)->next;
	t->next = *at;
	*at = t;
	return t;
}

void
loop_timer_cancel(struct loop_timer *t)
{
	struct loop_timer **at;

	if (t == NULL)
		return;
	for (at = &t->loop->timers; *at != NULL; at = &(*at)->next) {
		if (*at == t) {
			*at = t->next;
			free(t);
			return;
		}
	}
}

int
loop_post(struct loop *l, void (*fn)(void *cls), void *cls)
{
	struct loop_job *job = calloc(1, sizeof(*job));
	uint64_t one = 1;

	if (job == NULL)
		return -ENOMEM;
	job->fn = fn;
	job->cls = cls;
	pthread_mutex_lock(&l->mtx);
	*l->jobs_tail = job;
	l->jobs_tail = &job->next;
	pthread_mutex_unlock(&l->mtx);
	if (write(l->wake_fd, &one, sizeof(one)) < 0 && errno != EAGAIN)
		return -errno;
	return 0;
}
