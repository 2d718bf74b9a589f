/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * upstream: the fast provider behind the bench's proxies.
 *
 * One thread, one epoll, answers made once at the start. What a request gets
 * is in its target, so that one path serves all kinds:
 *
 *   mode=json           1.5 KB of JSON (also where no mode is named)
 *   mode=sse&n=&w=      n events as fast as they go, w in one write
 *   mode=slow&n=&ms=    n events, one each ms, each with the time it was sent
 *
 * Prints its port and serves until it is killed.
 */
#include <err.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

#include "http.h"

enum {
	UPSTREAM_EVENTS_MAX = 1024, /* of one answer of mode sse */
	UPSTREAM_JSON_MAX = 4096,
	UPSTREAM_READ_BYTES = 256 * 1024,
	UPSTREAM_BATCH = 256
};

static const char upstream_sse_head[] =
    "HTTP/1.1 200 OK\r\n"
    "Date: Mon, 01 Jan 2024 00:00:00 GMT\r\n"
    "Content-Type: text/event-stream; charset=utf-8\r\n"
    "Cache-Control: no-cache\r\n"
    "x-request-id: req_0123456789\r\n"
    "Transfer-Encoding: chunked\r\n\r\n";
static const char upstream_end[] = "0\r\n\r\n";

struct connection {
	int fd;
	uint32_t events; /* asked of epoll */
	bool is_dead;    /* freed at the end of the batch */
	/* bytes on their way; borrowed from the answers */
	const char *out;
	size_t n_out;
	const char *then; /* follows out */
	size_t n_then;
	/* mode sse */
	int n_sent;
	int n_per_write;
	/* mode slow */
	int64_t n_left;
	int64_t interval_ns;
	uint64_t due_ns; /* 0: not in the queue */
	TAILQ_ENTRY(connection) next;
	SLIST_ENTRY(connection) next_dead;
	struct http_reader reader;
};

TAILQ_HEAD(connection_queue, connection);
SLIST_HEAD(connection_list, connection);

struct upstream {
	int epoll;
	int listener;
	struct connection_queue slow; /* by due_ns */
	struct connection_list dead;
	char json[UPSTREAM_JSON_MAX]; /* head and body */
	size_t n_json;
	char *sse; /* events, chunked, each ending at its offset */
	size_t sse_ends[UPSTREAM_EVENTS_MAX + 1];
};

static char upstream_input[UPSTREAM_READ_BYTES];

static void
upstream_make_json(struct upstream *u)
{
	char body[UPSTREAM_JSON_MAX - 512];
	size_t n = (size_t)snprintf(body, sizeof(body),
	    "{\"id\":\"chatcmpl-abc\",\"object\":\"chat.completion\","
	    "\"created\":1700000000,\"model\":\"bench-1\",\"choices\":["
	    "{\"index\":0,\"message\":{\"role\":\"assistant\","
	    "\"content\":\"");

	while (n < 1300)
		n += (size_t)snprintf(
		    body + n, sizeof(body) - n, "lorem ipsum dolor ");
	n += (size_t)snprintf(body + n, sizeof(body) - n,
	    "\"},\"finish_reason\":\"stop\"}],\"usage\":{"
	    "\"prompt_tokens\":123,\"completion_tokens\":456,"
	    "\"total_tokens\":579,\"prompt_tokens_details\":"
	    "{\"cached_tokens\":0}}}\n");
	u->n_json = (size_t)snprintf(u->json, sizeof(u->json),
	    "HTTP/1.1 200 OK\r\nDate: Mon, 01 Jan 2024 00:00:00 GMT\r\n"
	    "Content-Type: application/json\r\n"
	    "x-request-id: req_0123456789\r\n"
	    "openai-processing-ms: 12\r\nContent-Length: %zu\r\n\r\n%s",
	    n, body);
}

/* Event I of N of mode sse, without framing. */
static int
upstream_make_event(char *out, size_t n_out, int i, int n)
{
	if (i == n - 1)
		return snprintf(out, n_out, "data: [DONE]\n\n");
	if (i == n - 2)
		return snprintf(out, n_out,
		    "data: {\"id\":\"chatcmpl-abc\",\"object\":"
		    "\"chat.completion.chunk\",\"model\":\"bench-1\","
		    "\"choices\":[{\"index\":0,\"delta\":{},"
		    "\"finish_reason\":\"stop\"}],\"usage\":{"
		    "\"prompt_tokens\":123,\"completion_tokens\":198,"
		    "\"total_tokens\":321}}\n\n");
	return snprintf(out, n_out,
	    "data: {\"id\":\"chatcmpl-abc\",\"object\":"
	    "\"chat.completion.chunk\",\"choices\":[{\"index\":0,"
	    "\"delta\":{\"content\":\" word%03d\"}}]}\n\n",
	    i);
}

static void
upstream_make_sse(struct upstream *u, int n)
{
	size_t at = 0;

	u->sse = malloc((size_t)n * 512);
	if (u->sse == NULL)
		err(1, "malloc");
	for (int i = 0; i < n; i++) {
		char event[400];
		int n_event = upstream_make_event(event, sizeof(event), i, n);

		u->sse_ends[i] = at;
		at += (size_t)sprintf(
		    u->sse + at, "%x\r\n%s\r\n", (unsigned)n_event, event);
	}
	u->sse_ends[n] = at;
}

static void
upstream_ask(struct upstream *u, struct connection *c, uint32_t events)
{
	struct epoll_event event = {.events = events, .data.ptr = c};

	if (c->events == events)
		return;
	epoll_ctl(u->epoll, EPOLL_CTL_MOD, c->fd, &event);
	c->events = events;
}

static void
upstream_drop(struct upstream *u, struct connection *c)
{
	if (c->is_dead)
		return;
	if (c->due_ns != 0)
		TAILQ_REMOVE(&u->slow, c, next);
	c->is_dead = true;
	close(c->fd);
	SLIST_INSERT_HEAD(&u->dead, c, next_dead);
}

/* Events of one batch may still name the dead: they are freed after it. */
static void
upstream_bury(struct upstream *u)
{
	struct connection *c;

	while ((c = SLIST_FIRST(&u->dead)) != NULL) {
		SLIST_REMOVE_HEAD(&u->dead, next_dead);
		free(c);
	}
}

/* Whether all that waits has gone out; drops C on an error. */
static bool
upstream_flush(struct upstream *u, struct connection *c)
{
	while (c->n_out > 0) {
		ssize_t n = send(c->fd, c->out, c->n_out, MSG_NOSIGNAL);

		if (n < 0) {
			if (errno == EAGAIN)
				upstream_ask(u, c, EPOLLIN | EPOLLOUT);
			else
				upstream_drop(u, c);
			return false;
		}
		c->out += n;
		c->n_out -= (size_t)n;
		if (c->n_out == 0) {
			c->out = c->then;
			c->n_out = c->n_then;
			c->n_then = 0;
		}
	}
	upstream_ask(u, c, EPOLLIN);
	return true;
}

/* In order of due_ns; one interval at a time is the usual case, then the
 * place is the tail. */
static void
upstream_arm(struct upstream *u, struct connection *c, uint64_t due_ns)
{
	struct connection *before = TAILQ_LAST(&u->slow, connection_queue);

	while (before != NULL && before->due_ns > due_ns)
		before = TAILQ_PREV(before, connection_queue, next);
	c->due_ns = due_ns;
	if (before != NULL)
		TAILQ_INSERT_AFTER(&u->slow, before, c, next);
	else
		TAILQ_INSERT_HEAD(&u->slow, c, next);
}

static void
upstream_tick(struct upstream *u, struct connection *c)
{
	char event[256], chunk[300];
	bool is_last = --c->n_left == 0;
	uint64_t due_ns = c->due_ns + (uint64_t)c->interval_ns;
	int n_event, n_chunk;

	TAILQ_REMOVE(&u->slow, c, next);
	c->due_ns = 0;
	n_event = snprintf(event, sizeof(event),
	    "data: {\"t\":%llu,\"id\":\"chatcmpl-x\",\"object\":"
	    "\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":"
	    "{\"content\":\" token\"}}]}\n\n",
	    (unsigned long long)http_now_ns());
	n_chunk = snprintf(chunk, sizeof(chunk), "%x\r\n%s\r\n%s",
	    (unsigned)n_event, event, is_last ? upstream_end : "");
	/* A reader that cannot take one event in time has lost the bench. */
	if (send(c->fd, chunk, (size_t)n_chunk, MSG_NOSIGNAL) != n_chunk) {
		upstream_drop(u, c);
		return;
	}
	if (is_last)
		http_reader_init(&c->reader, false);
	else
		upstream_arm(u, c, due_ns);
}

static void
upstream_answer(struct upstream *u, struct connection *c)
{
	const struct http_reader *r = &c->reader;

	if (http_target_has(r, "mode=slow")) {
		c->n_left = http_query_number(r, "n", 50);
		c->interval_ns = http_query_number(r, "ms", 20) * 1000000;
		send(c->fd, upstream_sse_head, sizeof(upstream_sse_head) - 1,
		    MSG_NOSIGNAL);
		upstream_arm(u, c, http_now_ns() + (uint64_t)c->interval_ns);
		return;
	}
	if (http_target_has(r, "mode=sse")) {
		c->n_sent = 0;
		c->n_per_write = (int)http_query_number(r, "w", 10);
		send(c->fd, upstream_sse_head, sizeof(upstream_sse_head) - 1,
		    MSG_NOSIGNAL | MSG_MORE);
		c->out = u->sse;
		c->n_out = 0;
		return;
	}
	c->out = u->json;
	c->n_out = u->n_json;
}

/* Mode sse goes out in writes of w events, as a provider under load does. */
static void
upstream_run_sse(struct upstream *u, struct connection *c, int n)
{
	while (c->n_sent < n) {
		int to = c->n_sent + c->n_per_write;

		if (to > n)
			to = n;
		c->out = u->sse + u->sse_ends[c->n_sent];
		c->n_out = u->sse_ends[to] - u->sse_ends[c->n_sent];
		c->n_sent = to;
		if (to == n) {
			c->then = upstream_end;
			c->n_then = sizeof(upstream_end) - 1;
		}
		if (!upstream_flush(u, c))
			return;
	}
}

enum { UPSTREAM_SSE_EVENTS = 200 };

/* Answers the whole request in C->reader as far as it goes now. */
static void
upstream_advance(struct upstream *u, struct connection *c)
{
	if (http_target_has(&c->reader, "mode=slow"))
		return;
	if (!upstream_flush(u, c))
		return;
	if (http_target_has(&c->reader, "mode=sse"))
		upstream_run_sse(u, c, UPSTREAM_SSE_EVENTS);
	if (!c->is_dead && c->n_out == 0)
		http_reader_init(&c->reader, false);
}

static void
upstream_read(struct upstream *u, struct connection *c)
{
	while (!c->is_dead && c->reader.state < HTTP_STATE_DONE) {
		ssize_t n = recv(
		    c->fd, upstream_input, sizeof(upstream_input), 0);

		if (n < 0 && errno == EAGAIN)
			return;
		if (n <= 0) {
			upstream_drop(u, c);
			return;
		}
		/* A client of the bench never pipelines. */
		http_reader_feed(
		    &c->reader, upstream_input, (size_t)n, NULL, NULL);
		if (c->reader.state == HTTP_STATE_DONE) {
			upstream_answer(u, c);
			upstream_advance(u, c);
			return;
		}
	}
	/* Bytes or an end while an answer is under way. */
	if (!c->is_dead && recv(c->fd, upstream_input, 1, MSG_PEEK) == 0)
		upstream_drop(u, c);
}

static void
upstream_accept(struct upstream *u)
{
	int fd;

	while ((fd = http_accept(u->listener)) >= 0) {
		struct connection *c = calloc(1, sizeof(*c));
		struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};

		if (c == NULL)
			err(1, "calloc");
		c->fd = fd;
		c->events = EPOLLIN;
		http_reader_init(&c->reader, false);
		epoll_ctl(u->epoll, EPOLL_CTL_ADD, fd, &event);
	}
}

static int
upstream_wait_ms(const struct upstream *u)
{
	const struct connection *first = TAILQ_FIRST(&u->slow);
	uint64_t now_ns = http_now_ns();

	if (first == NULL)
		return -1;
	if (first->due_ns <= now_ns)
		return 0;
	return (int)((first->due_ns - now_ns + 999999) / 1000000);
}

static void
upstream_turn(struct upstream *u)
{
	struct epoll_event events[UPSTREAM_BATCH];
	struct connection *c;
	uint64_t now_ns;
	int n = epoll_wait(
	    u->epoll, events, UPSTREAM_BATCH, upstream_wait_ms(u));

	for (int i = 0; i < n; i++) {
		c = events[i].data.ptr;
		if (c == NULL) {
			upstream_accept(u);
			continue;
		}
		if (c->is_dead)
			continue;
		if (events[i].events & (EPOLLERR | EPOLLHUP)) {
			upstream_drop(u, c);
			continue;
		}
		if (events[i].events & EPOLLOUT)
			upstream_advance(u, c);
		if (!c->is_dead && (events[i].events & EPOLLIN))
			upstream_read(u, c);
	}
	now_ns = http_now_ns();
	while ((c = TAILQ_FIRST(&u->slow)) != NULL && c->due_ns <= now_ns)
		upstream_tick(u, c);
	upstream_bury(u);
}

int
main(void)
{
	static struct upstream u;
	struct epoll_event event = {.events = EPOLLIN};

	signal(SIGPIPE, SIG_IGN);
	TAILQ_INIT(&u.slow);
	SLIST_INIT(&u.dead);
	upstream_make_json(&u);
	upstream_make_sse(&u, UPSTREAM_SSE_EVENTS);
	u.listener = http_listen(0);
	u.epoll = epoll_create1(EPOLL_CLOEXEC);
	if (u.epoll < 0)
		err(1, "epoll_create1");
	epoll_ctl(u.epoll, EPOLL_CTL_ADD, u.listener, &event);
	printf("%d\n", http_port_of(u.listener));
	fflush(stdout);
	for (;;)
		upstream_turn(&u);
}
