/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
#include "fake_live.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "proxy/admin.h"
#include "proxy/loop.h"

enum { FAKE_PAIRS = 32, FAKE_BODY_BYTES = 64 * 1024 * 1024, FAKE_FDS = 4 };

struct admin_stream {
	struct fake_answer *answer;
};

struct admin_call {
	struct fake_answer answer; /* first: one pointer for both */
	struct admin_stream stream;
	const char *method;
	const char *path;
	const char *pairs[FAKE_PAIRS];
	void (*gone)(void *cls);
	void *gone_cls;
};

struct fake_answer *
fake_call_new(const char *method, const char *path, const char *const *pairs,
    struct admin_call **call_out)
{
	struct admin_call *call = calloc(1, sizeof(*call));

	call->method = method;
	call->path = path;
	for (size_t i = 0; pairs != NULL && pairs[i] != NULL; i++)
		call->pairs[i] = pairs[i];
	buf_init(&call->answer.body, FAKE_BODY_BYTES);
	call->answer.room = SIZE_MAX;
	call->stream.answer = &call->answer;
	*call_out = call;
	return &call->answer;
}

const char *
fake_answer_text(struct fake_answer *a)
{
	char *end = buf_reserve(&a->body, 1);

	*end = '\0';
	return buf_data(&a->body);
}

void
fake_call_end(struct fake_answer *a)
{
	struct admin_call *call = (struct admin_call *)a;

	if (call->gone != NULL && !a->is_closed &&
	    (a->is_stream || a->status == 0))
		call->gone(call->gone_cls);
	buf_fini(&a->body);
	free(call);
}

static const char *
fake_call_find(const struct admin_call *call, const char *key, bool is_header)
{
	for (size_t i = 0; call->pairs[i] != NULL; i += 2) {
		const char *name = call->pairs[i];
		size_t n = strlen(key);

		if (strncasecmp(name, key, n) == 0 &&
		    strcmp(name + n, is_header ? ":" : "") == 0)
			return call->pairs[i + 1];
	}
	return NULL;
}

const char *
admin_call_method(const struct admin_call *call)
{
	return call->method;
}

const char *
admin_call_path(const struct admin_call *call)
{
	return call->path;
}

const char *
admin_call_query(const struct admin_call *call, const char *key)
{
	return fake_call_find(call, key, false);
}

const char *
admin_call_header(const struct admin_call *call, const char *name)
{
	return fake_call_find(call, name, true);
}

void
admin_call_on_gone(struct admin_call *call, void (*gone)(void *cls), void *cls)
{
	call->gone = gone;
	call->gone_cls = cls;
}

void
admin_call_reply(struct admin_call *call, int status, const char *content_type,
    const void *body, size_t n)
{
	if (call->answer.status != 0)
		abort(); /* answered twice */
	call->answer.status = status;
	snprintf(call->answer.content_type, sizeof(call->answer.content_type),
	    "%s", content_type);
	buf_append(&call->answer.body, body, n);
}

struct admin_stream *
admin_call_stream(struct admin_call *call, const char *content_type,
    void (*gone)(void *cls), void *cls)
{
	admin_call_reply(call, 200, content_type, "", 0);
	call->answer.is_stream = true;
	call->gone = gone;
	call->gone_cls = cls;
	return &call->stream;
}

int
admin_stream_send(struct admin_stream *s, const void *data, size_t n)
{
	if (s->answer->is_closed)
		abort();
	if (n > s->answer->room)
		return -ENOBUFS;
	s->answer->room -= n;
	return buf_append(&s->answer->body, data, n);
}

void
admin_stream_close(struct admin_stream *s)
{
	s->answer->is_closed = true;
}

struct loop_timer {
	struct loop *loop;
	struct loop_timer *next;
	int64_t due_ms;
	void (*fire)(void *cls);
	void *cls;
};

struct loop_fd {
	struct loop *loop;
	int fd;
	void (*ready)(void *cls, uint32_t events);
	void *cls;
};

struct loop {
	int64_t now_ms;
	struct loop_timer *timers;
	struct loop_fd fds[FAKE_FDS];
};

struct loop *
fake_loop_new(void)
{
	struct loop *l = calloc(1, sizeof(*l));

	for (size_t i = 0; i < FAKE_FDS; i++)
		l->fds[i].fd = -1;
	return l;
}

void
fake_loop_free(struct loop *l)
{
	while (l->timers != NULL)
		loop_timer_cancel(l->timers);
	free(l);
}

struct loop_timer *
loop_timer_add(
    struct loop *l, int64_t delay_ms, void (*fire)(void *cls), void *cls)
{
	struct loop_timer *t = calloc(1, sizeof(*t));
	struct loop_timer **link = &l->timers;

	*t = (struct loop_timer){l, NULL, l->now_ms + delay_ms, fire, cls};
	while (*link != NULL && (*link)->due_ms <= t->due_ms)
		link = &(*link)->next;
	t->next = *link;
	*link = t;
	return t;
}

void
loop_timer_cancel(struct loop_timer *t)
{
	struct loop_timer **link = &t->loop->timers;

	while (*link != t)
		link = &(*link)->next;
	*link = t->next;
	free(t);
}

void
fake_loop_advance(struct loop *l, int64_t ms)
{
	int64_t until_ms = l->now_ms + ms;

	while (l->timers != NULL && l->timers->due_ms <= until_ms) {
		struct loop_timer t = *l->timers;

		l->now_ms = t.due_ms;
		loop_timer_cancel(l->timers);
		t.fire(t.cls);
	}
	l->now_ms = until_ms;
}

size_t
fake_loop_n_timers(const struct loop *l)
{
	size_t n = 0;

	for (const struct loop_timer *t = l->timers; t != NULL; t = t->next)
		n++;
	return n;
}

struct loop_fd *
loop_add_fd(struct loop *l, int fd, uint32_t events,
    void (*ready)(void *cls, uint32_t events), void *cls)
{
	(void)events;
	for (size_t i = 0; i < FAKE_FDS; i++) {
		if (l->fds[i].fd >= 0)
			continue;
		l->fds[i] = (struct loop_fd){l, fd, ready, cls};
		return &l->fds[i];
	}
	errno = ENOSPC;
	return NULL;
}

void
loop_remove_fd(struct loop_fd *f)
{
	f->fd = -1;
}

bool
fake_loop_until(struct loop *l, bool (*done)(void *cls), void *cls)
{
	int64_t give_up_ns = clock_now_ns() + 10000000000;

	while (!done(cls)) {
		struct pollfd fds[FAKE_FDS];

		if (clock_now_ns() > give_up_ns)
			return false;
		for (size_t i = 0; i < FAKE_FDS; i++)
			fds[i] = (struct pollfd){l->fds[i].fd, POLLIN, 0};
		if (poll(fds, FAKE_FDS, 100) <= 0)
			continue;
		for (size_t i = 0; i < FAKE_FDS; i++)
			if (fds[i].revents != 0 && l->fds[i].fd >= 0)
				l->fds[i].ready(l->fds[i].cls, 1);
	}
	return true;
}
