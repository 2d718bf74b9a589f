/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * The upstream's answer on its way to the client, as a libmicrohttpd response:
 * from a buffer where all of it is there already, else read piece by piece.
 *
 * A stream spends its life with the connection suspended, its head and first
 * pieces sent. To resume it for each piece would cost an epoll_wait and a walk
 * through a list a piece. libmicrohttpd asks for more only when all that it
 * had is with the kernel; so from the first time that it was told to wait,
 * chunks are framed here and written straight to the socket, and it is resumed
 * for the last one, which it writes itself. Only for bodies of unknown length
 * to HTTP/1.1 clients, where no count of its own goes wrong.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "exchange.h"
#include "upstream.h"

enum {
	RELAY_BLOCK_BYTES = 16384, /* libmicrohttpd's piece of a long body */
	/* The same of a chunked one, which goes through the connection's pool
	 * and leaves this buffer unused. */
	RELAY_CHUNK_BLOCK_BYTES = 128,
	RELAY_HEAD_SLACK_BYTES = 1024,
	/* A buffer up to this is kept between pieces. */
	RELAY_KEEP_BYTES = 2048,
	RELAY_TAB = 0x1f /* stands for a tab in a value */
};

static void
relay_add_footers(struct exchange *x)
{
	char *line, *save = NULL;

	if (buf_len(&x->trailers) == 0 || x->has_trailers_sent)
		return;
	x->has_trailers_sent = true;
	if (buf_append(&x->trailers, "", 1) != 0)
		return;
	for (line = strtok_r(buf_data(&x->trailers), "\n", &save); line != NULL;
	     line = strtok_r(NULL, "\n", &save)) {
		char *value = strchr(line, ':');

		if (value == NULL)
			continue;
		*value++ = '\0';
		if (!header_may_trail(line))
			continue;
		value += strspn(value, " \t");
		MHD_add_response_footer(
		    x->response, line, *value != '\0' ? value : " ");
	}
}

static void
relay_resume_upstream(struct exchange *x)
{
	if (x->transfer != NULL && buf_len(&x->out) < EXCHANGE_LOW_BYTES)
		transfer_resume_answer(x->transfer);
}

static ssize_t
relay_on_answer_read(void *cls, uint64_t pos, char *data, size_t max)
{
	struct exchange *x = exchange_check(cls);
	size_t have;

	(void)pos;
	if (x->state == EXCHANGE_GONE)
		return MHD_CONTENT_READER_END_WITH_ERROR;
	have = exchange_take(x, data, max);
	if (have > 0) {
		if (buf_len(&x->out) == 0)
			buf_release(&x->out);
		relay_resume_upstream(x);
		return (ssize_t)have;
	}
	if (x->is_broken)
		return MHD_CONTENT_READER_END_WITH_ERROR;
	if (x->is_body_whole) {
		relay_add_footers(x);
		return MHD_CONTENT_READER_END_OF_STREAM;
	}
	x->is_direct = x->answer_length < 0 && x->is_http11;
	exchange_suspend(x);
	return 0;
}

/* libmicrohttpd refuses an empty value, and one with a tab: that one passes
 * under another byte, and gets its tab back in the response. */
static bool
relay_add_answer_header(
    struct MHD_Response *response, const char *name, char *value)
{
	bool has_tab = false;

	for (char *tab = strchr(value, '\t'); tab != NULL;
	     tab = strchr(tab, '\t')) {
		*tab = RELAY_TAB;
		has_tab = true;
	}
	MHD_add_response_header(response, name, *value != '\0' ? value : " ");
	return has_tab;
}

static enum MHD_Result
relay_restore_tab(
    void *cls, enum MHD_ValueKind kind, const char *name, const char *value)
{
	char *at = (char *)(uintptr_t)value;

	(void)cls;
	(void)kind;
	(void)name;
	for (; at != NULL && (at = strchr(at, RELAY_TAB)) != NULL; at++)
		*at = '\t';
	return MHD_YES;
}

/* The Connection header of the head, its values joined; malloc'd or NULL. */
static char *
relay_connection_of(const struct exchange *x)
{
	const char *p = buf_data(&x->head), *end = p + buf_len(&x->head);
	struct buf all;
	size_t n;

	buf_init(&all, EXCHANGE_HEAD_BYTES);
	while (p < end) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));

		if ((size_t)(nl - p) > 11 &&
		    strncasecmp(p, "connection:", 11) == 0) {
			buf_append(&all, p + 11, (size_t)(nl - p) - 11);
			buf_append(&all, ",", 1);
		}
		p = nl + 1;
	}
	if (buf_len(&all) > 0)
		buf_append(&all, "", 1);
	return buf_take(&all, &n);
}

static void
relay_add_answer_headers(struct exchange *x, struct MHD_Response *response)
{
	char *connection = relay_connection_of(x);
	char *p = buf_data(&x->head), *end = p + buf_len(&x->head);
	bool has_tab = false;

	while (p < end) {
		char *nl = memchr(p, '\n', (size_t)(end - p));
		char *colon = memchr(p, ':', (size_t)(nl - p));
		char *next = nl + 1;

		while (nl > p && (nl[-1] == ' ' || nl[-1] == '\t'))
			nl--;
		*nl = '\0';
		if (colon != NULL && colon < nl) {
			size_t n = (size_t)(colon - p);

			*colon++ = '\0';
			colon += strspn(colon, " \t");
			if (!header_is_hop(p, n, connection) &&
			    strcasecmp(p, "content-length") != 0)
				has_tab |= relay_add_answer_header(
				    response, p, colon);
		}
		p = next;
	}
	if (has_tab)
		MHD_get_response_headers(response, relay_restore_tab, NULL);
	free(connection);
}

/* A response of known or unknown length, from what is there so far. */
static struct MHD_Response *
relay_make_response(struct exchange *x, bool *must_close_out)
{
	bool is_bodiless = strcmp(x->method, "HEAD") == 0 || x->status == 304;
	bool is_whole = !x->is_broken && buf_len(&x->trailers) == 0 &&
			(x->is_body_whole ||
			    (x->answer_length >= 0 &&
				(int64_t)buf_len(&x->out) == x->answer_length));
	size_t n = 0;
	char *body;

	*must_close_out = false;
	if (is_bodiless) {
		/* Never of unknown size: libmicrohttpd would write a stray
		 * last chunk. Never read either. */
		*must_close_out = x->answer_length < 0;
		return MHD_create_response_from_callback(
		    x->answer_length >= 0 ? (uint64_t)x->answer_length : 0,
		    RELAY_BLOCK_BYTES, relay_on_answer_read, x, NULL);
	}
	if (x->status == 204 || (is_whole && buf_len(&x->out) == 0))
		return MHD_create_response_from_buffer(
		    0, (void *)"", MHD_RESPMEM_PERSISTENT);
	if (!is_whole && x->answer_length >= 0)
		return MHD_create_response_from_callback(
		    (uint64_t)x->answer_length, RELAY_BLOCK_BYTES,
		    relay_on_answer_read, x, NULL);
	if (!is_whole)
		return MHD_create_response_from_callback(MHD_SIZE_UNKNOWN,
		    RELAY_CHUNK_BLOCK_BYTES, relay_on_answer_read, x, NULL);
	body = buf_take(&x->out, &n);
	return MHD_create_response_from_buffer(n, body, MHD_RESPMEM_MUST_FREE);
}

/* Sends as much as the socket takes now; 0 or -errno. */
static int
relay_send(
    struct exchange *x, struct iovec *parts, size_t n_parts, size_t *n_sent_out)
{
	struct msghdr message = {.msg_iov = parts, .msg_iovlen = n_parts};
	ssize_t n;

	do
		n = sendmsg(
		    x->client->socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	*n_sent_out = n > 0 ? (size_t)n : 0;
	if (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK)
		return -errno;
	return 0;
}

/* What an earlier chunk left over; 0 or -errno. */
static int
relay_send_framed(struct exchange *x)
{
	struct iovec part = {
	    .iov_base = buf_data(&x->framed), .iov_len = buf_len(&x->framed)};
	size_t n;
	int r = relay_send(x, &part, 1, &n);

	buf_consume(&x->framed, n);
	if (buf_len(&x->framed) == 0)
		buf_release(&x->framed);
	return r;
}

/* All that waits, as one chunk; 0 or -errno. */
static int
relay_send_chunk(struct exchange *x)
{
	char size[24];
	struct iovec parts[3] = {{.iov_base = size},
	    {.iov_base = buf_data(&x->out), .iov_len = buf_len(&x->out)},
	    {.iov_base = (char[]){'\r', '\n'}, .iov_len = 2}};
	size_t n;
	int r;

	parts[0].iov_len = (size_t)snprintf(
	    size, sizeof(size), "%zx\r\n", buf_len(&x->out));
	r = relay_send(x, parts, 3, &n);
	for (int i = 0; i < 3 && r == 0; i++) {
		size_t skip = n < parts[i].iov_len ? n : parts[i].iov_len;

		n -= skip;
		r = buf_append(&x->framed, (char *)parts[i].iov_base + skip,
		    parts[i].iov_len - skip);
	}
	buf_clear(&x->out);
	if (x->out.size > RELAY_KEEP_BYTES)
		buf_release(&x->out);
	return r;
}

bool
relay_write_direct(struct exchange *x)
{
	int r = 0;

	if (!x->is_direct || x->state != EXCHANGE_ANSWERING)
		return true;
	if (buf_len(&x->framed) > 0)
		r = relay_send_framed(x);
	if (r == 0 && buf_len(&x->framed) == 0 && buf_len(&x->out) > 0)
		r = relay_send_chunk(x);
	if (r < 0) {
		x->is_broken = true;
		buf_release(&x->framed);
		buf_release(&x->out);
		return true;
	}
	relay_resume_upstream(x);
	return buf_len(&x->framed) == 0 && buf_len(&x->out) == 0 &&
	       (x->is_body_whole || x->is_broken);
}

/* A head that does not fit beside the request's in the connection's pool would
 * end in a closed connection. */
static enum MHD_Result
relay_reply_too_large(struct exchange *x)
{
	relay_give_up(x);
	reply_error(x, 502, "head_too_large",
	    "turnmeter: the answer's head is too large (see max_header)");
	return reply_queue(x);
}

enum MHD_Result
relay_reply(struct exchange *x)
{
	bool must_close;
	struct MHD_Response *response;
	enum MHD_Result result;

	if (buf_len(&x->head) + RELAY_HEAD_SLACK_BYTES > x->head_room)
		return relay_reply_too_large(x);
	response = relay_make_response(x, &must_close);
	if (response == NULL)
		return MHD_NO;
	relay_add_answer_headers(x, response);
	buf_release(&x->head);
	if (must_close || x->proxy->is_draining)
		MHD_add_response_header(response, "Connection", "close");
	exchange_set_state(x, EXCHANGE_ANSWERING);
	x->response = response;
	result = MHD_queue_response(
	    x->connection, (unsigned)x->status, response);
	MHD_destroy_response(response);
	return result;
}
