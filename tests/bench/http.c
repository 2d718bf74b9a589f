/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * http: see http.h. The head is copied into one buffer and searched there
 * once it is whole; bodies are passed on without a copy.
 */
#include "http.h"

#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>

void
http_reader_init(struct http_reader *r, bool is_response)
{
	r->state = HTTP_STATE_HEAD;
	r->is_response = is_response;
	r->wants_close = false;
	r->status = 0;
	r->left = 0;
	r->n_head = 0;
	r->n_line = 0;
}

/* The value of a header, NULL where there is none. */
static const char *
http_find_header(const struct http_reader *r, const char *name)
{
	size_t n_name = strlen(name);
	const char *line = strstr(r->head, "\r\n");

	while (line != NULL && line[2] != '\r') {
		line += 2;
		if (strncasecmp(line, name, n_name) == 0 &&
		    line[n_name] == ':') {
			line += n_name + 1;
			return line + strspn(line, " \t");
		}
		line = strstr(line, "\r\n");
	}
	return NULL;
}

/* The head is whole: what follows it? */
static void
http_begin_body(struct http_reader *r)
{
	const char *connection = http_find_header(r, "connection");
	const char *coding = http_find_header(r, "transfer-encoding");
	const char *length = http_find_header(r, "content-length");

	if (r->is_response)
		r->status = atoi(r->head + strcspn(r->head, " "));
	r->wants_close = connection != NULL &&
			 strncasecmp(connection, "close", 5) == 0;
	if (coding != NULL) {
		r->state = HTTP_STATE_SIZE;
		r->n_line = 0;
		return;
	}
	r->left = length != NULL ? strtoll(length, NULL, 10) : 0;
	r->state = r->left > 0 ? HTTP_STATE_LENGTH : HTTP_STATE_DONE;
}

static size_t
http_feed_head(struct http_reader *r, const char *data, size_t n)
{
	size_t room = HTTP_HEAD_MAX - r->n_head;
	size_t before = r->n_head;
	size_t from = before > 3 ? before - 3 : 0;
	const char *end;

	if (n > room)
		n = room;
	memcpy(r->head + before, data, n);
	r->n_head += n;
	end = memmem(r->head + from, r->n_head - from, "\r\n\r\n", 4);
	if (end == NULL) {
		if (r->n_head == HTTP_HEAD_MAX)
			r->state = HTTP_STATE_BROKEN;
		return n;
	}
	r->n_head = (size_t)(end - r->head) + 4;
	r->head[r->n_head] = '\0';
	http_begin_body(r);
	return r->n_head - before;
}

static size_t
http_feed_data(struct http_reader *r, const char *data, size_t n,
    http_body_fn *body, void *cls)
{
	if ((int64_t)n > r->left)
		n = (size_t)r->left;
	if (body != NULL && n > 0)
		body(cls, data, n);
	r->left -= (int64_t)n;
	if (r->left == 0)
		r->state = r->state == HTTP_STATE_LENGTH ? HTTP_STATE_DONE
							 : HTTP_STATE_CHUNK_END;
	return n;
}

/* One whole line has been read. */
static void
http_take_line(struct http_reader *r)
{
	bool is_empty = r->n_line == 0 || r->line[0] == '\r';

	r->line[r->n_line] = '\0';
	r->n_line = 0;
	switch (r->state) {
	case HTTP_STATE_SIZE:
		r->left = strtoll(r->line, NULL, 16);
		r->state = r->left > 0 ? HTTP_STATE_CHUNK : HTTP_STATE_TRAILER;
		break;
	case HTTP_STATE_CHUNK_END: r->state = HTTP_STATE_SIZE; break;
	case HTTP_STATE_TRAILER:
		if (is_empty)
			r->state = HTTP_STATE_DONE;
		break;
	default: break;
	}
}

static size_t
http_feed_line(struct http_reader *r, const char *data, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (data[i] == '\n') {
			http_take_line(r);
			return i + 1;
		}
		if (r->n_line < sizeof(r->line) - 1)
			r->line[r->n_line++] = data[i];
	}
	return n;
}

size_t
http_reader_feed(struct http_reader *r, const char *data, size_t n,
    http_body_fn *body, void *cls)
{
	size_t at = 0;

	while (at < n && r->state < HTTP_STATE_DONE) {
		switch (r->state) {
		case HTTP_STATE_HEAD:
			at += http_feed_head(r, data + at, n - at);
			break;
		case HTTP_STATE_LENGTH:
		case HTTP_STATE_CHUNK:
			at += http_feed_data(r, data + at, n - at, body, cls);
			break;
		default: at += http_feed_line(r, data + at, n - at); break;
		}
	}
	return at;
}

bool
http_target_has(const struct http_reader *r, const char *text)
{
	const char *end = strstr(r->head, "\r\n");

	return end != NULL && memmem(r->head, (size_t)(end - r->head), text,
				  strlen(text)) != NULL;
}

int64_t
http_query_number(
    const struct http_reader *r, const char *name, int64_t fallback)
{
	const char *at = r->head;
	const char *end = strstr(r->head, "\r\n");
	size_t n_name = strlen(name);

	while ((at = strpbrk(at, "?&")) != NULL && at < end) {
		at++;
		if (strncmp(at, name, n_name) == 0 && at[n_name] == '=')
			return strtoll(at + n_name + 1, NULL, 10);
	}
	return fallback;
}

uint64_t
http_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static struct sockaddr_in
http_loopback(int port)
{
	return (struct sockaddr_in){.sin_family = AF_INET,
	    .sin_port = htons((uint16_t)port),
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

static void
http_set_nodelay(int fd)
{
	int on = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

int
http_listen(int port)
{
	struct sockaddr_in address = http_loopback(port);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int on = 1;

	if (fd < 0)
		err(1, "socket");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) != 0)
		err(1, "bind to port %d", port);
	if (listen(fd, 4096) != 0)
		err(1, "listen");
	return fd;
}

int
http_accept(int listen_fd)
{
	int fd = accept4(listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd >= 0)
		http_set_nodelay(fd);
	return fd;
}

int
http_connect(int port)
{
	struct sockaddr_in address = http_loopback(port);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		err(1, "socket");
	http_set_nodelay(fd);
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0 &&
	    errno != EINPROGRESS)
		err(1, "connect to port %d", port);
	return fd;
}

int
http_port_of(int listen_fd)
{
	struct sockaddr_in address;
	socklen_t n = sizeof(address);

	if (getsockname(listen_fd, (struct sockaddr *)&address, &n) != 0)
		err(1, "getsockname");
	return ntohs(address.sin_port);
}
