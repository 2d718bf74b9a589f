/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * load: asks one port the same thing many times, over kept connections, and
 * prints one line of JSON: counts, rate, latencies, delays.
 *
 *   load -p PORT -t TARGET [-c CONNECTIONS] [-n REQUESTS] [-b BODY_BYTES]
 *        [-s] [-m TYPE] [-w TARGET] [-r RAMP] [-R RATE] [-T SECONDS]
 *
 *   -s  streams: events carry the time they were sent; delays are told
 *   -m  the body's media type, application/json by default
 *   -w  each connection asks for this first, uncounted (a kept-alive
 *       connection is what a client's pool holds)
 *   -r  opens that many connections every 5 ms instead of all at once
 *   -R  starts at most that many requests a second
 *   -T  gives up after that long
 *
 * With -s, the line "open" is printed once every connection has an event.
 */
#include <err.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "http.h"

enum {
	LOAD_READ_BYTES = 256 * 1024,
	LOAD_BATCH = 512,
	LOAD_DELAYS_MAX = 4 * 1000 * 1000,
	LOAD_RAMP_MS = 5
};

struct connection {
	struct load *load;
	int fd;
	uint32_t events;
	bool is_asking; /* a request is under way */
	bool is_warm;   /* the uncounted request is over */
	bool has_event; /* of the present stream */
	uint64_t start_ns;
	uint64_t first_ns; /* 0: no byte yet */
	const char *out;
	size_t n_out;
	struct http_reader reader;
};

struct load {
	/* what is asked */
	int port;
	const char *target;
	const char *media_type;
	const char *warm_target;
	int n_connections;
	int64_t n_requests;
	size_t n_body;
	bool is_stream;
	int ramp;
	double rate;
	double limit_s;
	/* made of it */
	char *request;
	size_t n_request;
	char *warm;
	size_t n_warm;
	/* how it goes */
	int epoll;
	struct connection *connections;
	int n_opened;
	int64_t n_started;
	int64_t n_done;
	int64_t n_errors;
	int64_t n_reconnects;
	int n_open_streams;
	bool has_told_open;
	uint64_t begin_ns;
	uint64_t now_ns;
	float *latency_us;
	float *first_us;
	float *delay_us;
	size_t n_delays;
};

static char load_input[LOAD_READ_BYTES];

/* A chat request of about N bytes in messages of 2 KB. */
static char *
load_make_body(size_t n, bool is_stream)
{
	char *body = malloc(n + 4096);
	size_t at;

	if (body == NULL)
		err(1, "malloc");
	at = (size_t)sprintf(body,
	    "{\"model\":\"bench-1\",\"stream\":%s,\"messages\":[",
	    is_stream ? "true" : "false");
	do {
		size_t fill = n > at + 64 ? n - at - 64 : 0;

		if (fill > 2048)
			fill = 2048;
		at += (size_t)sprintf(
		    body + at, "{\"role\":\"user\",\"content\":\"");
		memset(body + at, 'a', fill);
		at += fill;
		at += (size_t)sprintf(body + at, "\"},");
	} while (at + 64 < n);
	sprintf(body + at - 1, "]}");
	return body;
}

static char *
load_make_request(const struct load *l, const char *target, size_t n_body,
    bool is_stream, size_t *n_out)
{
	char *body = n_body > 0 ? load_make_body(n_body, is_stream) : NULL;
	size_t n = body != NULL ? strlen(body) : 0;
	char *request = malloc(n + strlen(target) + 1024);

	if (request == NULL)
		err(1, "malloc");
	*n_out = (size_t)sprintf(request,
	    "%s %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n"
	    "Authorization: Bearer "
	    "sk-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n"
	    "User-Agent: bench/1.0\r\nAccept: application/json\r\n"
	    "Content-Type: %s\r\n"
	    "X-Stainless-Lang: python\r\n",
	    body != NULL ? "POST" : "GET", target, l->port, l->media_type);
	if (body != NULL)
		*n_out += (size_t)sprintf(
		    request + *n_out, "Content-Length: %zu\r\n", n);
	*n_out += (size_t)sprintf(request + *n_out, "\r\n");
	if (body != NULL)
		memcpy(request + *n_out, body, n);
	*n_out += n;
	free(body);
	return request;
}

static void
load_ask_epoll(struct connection *c, uint32_t events)
{
	struct epoll_event event = {.events = events, .data.ptr = c};

	if (c->events == events)
		return;
	epoll_ctl(c->load->epoll, EPOLL_CTL_MOD, c->fd, &event);
	c->events = events;
}

static void
load_send(struct connection *c)
{
	while (c->n_out > 0) {
		ssize_t n = send(c->fd, c->out, c->n_out, MSG_NOSIGNAL);

		if (n < 0) {
			/* An error shows up at the reading side too. */
			load_ask_epoll(
			    c, errno == EAGAIN ? EPOLLIN | EPOLLOUT : EPOLLIN);
			return;
		}
		c->out += n;
		c->n_out -= (size_t)n;
	}
	load_ask_epoll(c, EPOLLIN);
}

static void
load_open(struct connection *c)
{
	struct epoll_event event = {
	    .events = EPOLLIN | EPOLLOUT, .data.ptr = c};

	c->fd = http_connect(c->load->port);
	c->events = event.events;
	epoll_ctl(c->load->epoll, EPOLL_CTL_ADD, c->fd, &event);
}

/* Whether one more request may start at this moment. */
static bool
load_may_start(const struct load *l)
{
	double elapsed_s = (double)(l->now_ns - l->begin_ns) / 1e9;

	return l->n_started < l->n_requests &&
	       (l->rate <= 0 || (double)l->n_started < elapsed_s * l->rate);
}

static void
load_start(struct connection *c)
{
	struct load *l = c->load;
	bool is_warming = l->warm != NULL && !c->is_warm;

	c->is_asking = false;
	if (!is_warming && !load_may_start(l))
		return;
	if (!is_warming)
		l->n_started++;
	c->is_asking = true;
	c->has_event = false;
	c->out = is_warming ? l->warm : l->request;
	c->n_out = is_warming ? l->n_warm : l->n_request;
	http_reader_init(&c->reader, true);
	c->start_ns = http_now_ns();
	c->first_ns = 0;
	if (c->fd < 0)
		load_open(c);
	else
		load_send(c);
}

/* Notes how old each event is; a number cut by a read is left out. */
static void
load_take_body(void *cls, const char *data, size_t n)
{
	struct connection *c = cls;
	struct load *l = c->load;
	const char *at = data, *end = data + n;

	if (!l->is_stream || (l->warm != NULL && !c->is_warm))
		return;
	while ((at = memmem(at, (size_t)(end - at), "{\"t\":", 5)) != NULL) {
		uint64_t sent_ns = 0;

		for (at += 5; at < end && *at >= '0' && *at <= '9'; at++)
			sent_ns = sent_ns * 10 + (uint64_t)(*at - '0');
		if (at == end)
			return;
		if (l->n_delays < LOAD_DELAYS_MAX)
			l->delay_us[l->n_delays++] =
			    (float)((double)(l->now_ns - sent_ns) / 1e3);
		if (!c->has_event) {
			c->has_event = true;
			l->n_open_streams++;
		}
	}
}

static void
load_finish(struct connection *c)
{
	struct load *l = c->load;

	if (l->warm != NULL && !c->is_warm) {
		c->is_warm = true;
	} else if (c->reader.status >= 200 && c->reader.status < 300) {
		l->latency_us[l->n_done] =
		    (float)((double)(l->now_ns - c->start_ns) / 1e3);
		l->first_us[l->n_done] =
		    (float)((double)(c->first_ns - c->start_ns) / 1e3);
		l->n_done++;
	} else {
		l->n_errors++;
	}
	if (c->reader.wants_close) {
		close(c->fd);
		c->fd = -1;
		l->n_reconnects++;
	}
	load_start(c);
}

static void
load_lose(struct connection *c)
{
	close(c->fd);
	c->fd = -1;
	c->load->n_reconnects++;
	if (!c->is_asking)
		return;
	if (c->load->warm == NULL || c->is_warm)
		c->load->n_errors++;
	c->is_warm = true;
	load_start(c);
}

static void
load_read(struct connection *c)
{
	struct load *l = c->load;

	for (;;) {
		ssize_t n = recv(c->fd, load_input, sizeof(load_input), 0);
		size_t at = 0;

		if (n < 0 && errno == EAGAIN)
			return;
		if (n <= 0) {
			load_lose(c);
			return;
		}
		l->now_ns = http_now_ns();
		if (c->first_ns == 0)
			c->first_ns = l->now_ns;
		while (at < (size_t)n && c->is_asking) {
			at += http_reader_feed(&c->reader, load_input + at,
			    (size_t)n - at, load_take_body, c);
			if (c->reader.state < HTTP_STATE_DONE)
				break;
			if (c->reader.status >= 100 && c->reader.status < 200)
				http_reader_init(&c->reader, true);
			else
				load_finish(c);
			if (c->fd < 0)
				return;
		}
		if ((size_t)n < sizeof(load_input))
			return;
	}
}

static void
load_ramp(struct load *l)
{
	int n = l->ramp > 0 ? l->ramp : l->n_connections;

	while (n-- > 0 && l->n_opened < l->n_connections) {
		struct connection *c = &l->connections[l->n_opened++];

		c->load = l;
		c->fd = -1;
		load_start(c);
	}
}

/* With a rate, those that had to wait begin when their time has come. */
static void
load_wake(struct load *l)
{
	for (int i = 0; i < l->n_opened && load_may_start(l); i++)
		if (!l->connections[i].is_asking)
			load_start(&l->connections[i]);
}

/* False when the time is up. */
static bool
load_turn(struct load *l)
{
	struct epoll_event events[LOAD_BATCH];
	bool is_ramping = l->n_opened < l->n_connections;
	int wait_ms = is_ramping ? LOAD_RAMP_MS : l->rate > 0 ? 1 : 100;
	int n;

	if (is_ramping)
		load_ramp(l);
	n = epoll_wait(l->epoll, events, LOAD_BATCH, wait_ms);
	l->now_ns = http_now_ns();
	for (int i = 0; i < n; i++) {
		struct connection *c = events[i].data.ptr;

		if (events[i].events & EPOLLOUT)
			load_send(c);
		if (events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR))
			load_read(c);
	}
	if (l->rate > 0)
		load_wake(l);
	if (l->is_stream && !l->has_told_open &&
	    l->n_open_streams >= l->n_connections) {
		l->has_told_open = true;
		printf("open\n");
		fflush(stdout);
	}
	return (double)(l->now_ns - l->begin_ns) / 1e9 < l->limit_s;
}

static int
load_compare(const void *a, const void *b)
{
	float x = *(const float *)a, y = *(const float *)b;

	return (x > y) - (x < y);
}

static void
load_print_quantiles(const char *name, float *values, size_t n)
{
	static const struct {
		const char *name;
		double share;
	} quantiles[] = {{"p50", 0.5}, {"p99", 0.99}, {"max", 1.0}};

	if (n == 0)
		return;
	qsort(values, n, sizeof(*values), load_compare);
	for (size_t i = 0; i < sizeof(quantiles) / sizeof(*quantiles); i++) {
		size_t at = (size_t)(quantiles[i].share * (double)n);

		if (at >= n)
			at = n - 1;
		printf(",\"%s_%s_us\":%.1f", name, quantiles[i].name,
		    (double)values[at]);
	}
}

static void
load_report(struct load *l)
{
	double elapsed_s = (double)(http_now_ns() - l->begin_ns) / 1e9;

	printf("{\"done\":%lld,\"errors\":%lld,\"missing\":%lld,"
	       "\"reconnects\":%lld,\"seconds\":%.4f,\"rps\":%.1f",
	    (long long)l->n_done, (long long)l->n_errors,
	    (long long)(l->n_requests - l->n_done - l->n_errors),
	    (long long)l->n_reconnects, elapsed_s,
	    (double)l->n_done / elapsed_s);
	load_print_quantiles("latency", l->latency_us, (size_t)l->n_done);
	load_print_quantiles("first", l->first_us, (size_t)l->n_done);
	load_print_quantiles("delay", l->delay_us, l->n_delays);
	printf("}\n");
}

static void
load_parse(struct load *l, int argc, char **argv)
{
	int option;

	while ((option = getopt(argc, argv, "p:t:m:w:c:n:b:sr:R:T:")) != -1) {
		switch (option) {
		case 'p': l->port = atoi(optarg); break;
		case 't': l->target = optarg; break;
		case 'm': l->media_type = optarg; break;
		case 'w': l->warm_target = optarg; break;
		case 'c': l->n_connections = atoi(optarg); break;
		case 'n': l->n_requests = atoll(optarg); break;
		case 'b': l->n_body = (size_t)atoll(optarg); break;
		case 's': l->is_stream = true; break;
		case 'r': l->ramp = atoi(optarg); break;
		case 'R': l->rate = atof(optarg); break;
		case 'T': l->limit_s = atof(optarg); break;
		default: exit(2);
		}
	}
	if (l->port == 0 || l->target == NULL || l->n_connections < 1 ||
	    l->n_requests < 1)
		errx(2, "needs -p PORT and -t TARGET, see the head of load.c");
}

static void *
load_alloc(size_t n, size_t size)
{
	void *p = calloc(n, size);

	if (p == NULL)
		err(1, "calloc");
	return p;
}

int
main(int argc, char **argv)
{
	struct load l = {.n_connections = 1, .n_requests = 1, .limit_s = 60};

	signal(SIGPIPE, SIG_IGN);
	load_parse(&l, argc, argv);
	l.request = load_make_request(&l, l.target, l.n_body,
	    l.is_stream || strstr(l.target, "mode=sse") != NULL, &l.n_request);
	if (l.warm_target != NULL)
		l.warm = load_make_request(
		    &l, l.warm_target, l.n_body, false, &l.n_warm);
	l.latency_us = load_alloc((size_t)l.n_requests, sizeof(float));
	l.first_us = load_alloc((size_t)l.n_requests, sizeof(float));
	l.delay_us = load_alloc(
	    l.is_stream ? LOAD_DELAYS_MAX : 1, sizeof(float));
	l.connections = load_alloc(
	    (size_t)l.n_connections, sizeof(*l.connections));
	l.epoll = epoll_create1(EPOLL_CLOEXEC);
	l.begin_ns = l.now_ns = http_now_ns();
	while (l.n_done + l.n_errors < l.n_requests && load_turn(&l))
		;
	load_report(&l);
	return l.n_errors > 0 || l.n_done < l.n_requests;
}
