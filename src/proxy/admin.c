/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * A handler may answer at once, later, or with a stream. The call lives in its
 * exchange until answered; a stream lives until either side closes it.
 */
#include "proxy/admin.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "exchange.h"

struct admin_call {
	struct exchange *exchange;
	char *path; /* before the query */
	void (*gone)(void *cls);
	void *gone_cls;
};

struct admin_stream {
	struct exchange *exchange;
	const char *content_type;
	bool is_closed;
	void (*gone)(void *cls);
	void *gone_cls;
};

const char *
admin_call_method(const struct admin_call *call)
{
	return call->exchange->method;
}

const char *
admin_call_path(const struct admin_call *call)
{
	return call->path;
}

const char *
admin_call_query(const struct admin_call *call, const char *key)
{
	return MHD_lookup_connection_value(
	    call->exchange->connection, MHD_GET_ARGUMENT_KIND, key);
}

const char *
admin_call_header(const struct admin_call *call, const char *name)
{
	return exchange_header(call->exchange, name);
}

void
admin_call_on_gone(struct admin_call *call, void (*gone)(void *cls), void *cls)
{
	call->gone = gone;
	call->gone_cls = cls;
}

static void
admin_call_end(struct admin_call *call)
{
	call->exchange->call = NULL;
	free(call->path);
	free(call);
}

void
admin_call_reply(struct admin_call *call, int status, const char *content_type,
    const void *body, size_t n)
{
	struct exchange *x = call->exchange;
	char *copy = malloc(n + 1);

	if (copy != NULL)
		memcpy(copy, body, n);
	reply_own(x, copy != NULL ? status : 503, NULL, content_type, copy,
	    copy != NULL ? n : 0);
	admin_call_end(call);
}

struct admin_stream *
admin_call_stream(struct admin_call *call, const char *content_type,
    void (*gone)(void *cls), void *cls)
{
	struct exchange *x = call->exchange;
	struct admin_stream *s = calloc(1, sizeof(*s));

	if (s == NULL) {
		admin_call_reply(call, 503, "text/plain", "", 0);
		return NULL;
	}
	s->exchange = x;
	s->content_type = content_type;
	s->gone = gone;
	s->gone_cls = cls;
	x->stream = s;
	admin_call_end(call);
	exchange_mark(x);
	return s;
}

int
admin_stream_send(struct admin_stream *s, const void *data, size_t n)
{
	struct exchange *x = s->exchange;

	if (buf_len(&x->out) + n > EXCHANGE_ADMIN_BYTES)
		return -ENOBUFS;
	if (buf_append(&x->out, data, n) != 0)
		return -ENOBUFS;
	exchange_mark(x);
	return 0;
}

void
admin_stream_close(struct admin_stream *s)
{
	s->is_closed = true;
	s->gone = NULL;
	exchange_mark(s->exchange);
}

/* Ends the stream as its owner would, who is told, and sends no more. */
void
admin_drain(struct exchange *x)
{
	struct admin_stream *s = x->stream;
	void (*gone)(void *) = s->gone;
	void *cls = s->gone_cls;

	admin_stream_close(s);
	if (gone != NULL)
		gone(cls);
}

void
admin_begin(struct exchange *x)
{
	exchange_set_state(x, EXCHANGE_ADMIN);
}

static void
admin_start(struct exchange *x)
{
	const char *path = x->route.target;
	struct admin_call *call = calloc(1, sizeof(*call));

	if (call == NULL || x->proxy->admin == NULL)
		goto out;
	call->path = strndup(path, strcspn(path, "?"));
	if (call->path == NULL)
		goto out;
	call->exchange = x;
	x->call = call;
	x->proxy->admin(x->proxy->admin_cls, call);
	return;
out:
	free(call);
	reply_error(x, 503, "no_memory", "turnmeter: no memory");
}

static ssize_t
admin_on_read(void *cls, uint64_t pos, char *data, size_t max)
{
	struct exchange *x = exchange_check(cls);
	size_t have;

	(void)pos;
	if (x->state == EXCHANGE_GONE)
		return MHD_CONTENT_READER_END_WITH_ERROR;
	have = exchange_take(x, data, max);
	if (have > 0) {
		return (ssize_t)have;
	}
	if (x->stream == NULL || x->stream->is_closed)
		return MHD_CONTENT_READER_END_OF_STREAM;
	exchange_suspend(x);
	return 0;
}

static enum MHD_Result
admin_queue_stream(struct exchange *x)
{
	struct MHD_Response *response = MHD_create_response_from_callback(
	    MHD_SIZE_UNKNOWN, 4096, admin_on_read, x, NULL);
	enum MHD_Result result;

	if (response == NULL)
		return MHD_NO;
	MHD_add_response_header(
	    response, "Content-Type", x->stream->content_type);
	MHD_add_response_header(response, "Cache-Control", "no-store");
	exchange_set_state(x, EXCHANGE_ANSWERING);
	result = MHD_queue_response(x->connection, 200, response);
	MHD_destroy_response(response);
	return result;
}

enum MHD_Result
admin_answer(struct exchange *x)
{
	if (!x->is_request_whole) {
		x->is_request_whole = true;
		if (x->state == EXCHANGE_ADMIN)
			admin_start(x);
	}
	if (x->state == EXCHANGE_OWN)
		return reply_queue(x);
	if (x->state == EXCHANGE_GONE)
		return MHD_NO;
	if (x->stream != NULL)
		return admin_queue_stream(x);
	exchange_suspend(x);
	return MHD_YES;
}

bool
admin_is_ready(const struct exchange *x)
{
	if (x->state == EXCHANGE_ADMIN)
		return x->stream != NULL;
	if (x->state == EXCHANGE_ANSWERING)
		return buf_len(&x->out) > 0 || x->stream == NULL ||
		       x->stream->is_closed;
	return true;
}

void
admin_client_gone(struct exchange *x)
{
	struct admin_stream *s = x->stream;
	struct admin_call *call = x->call;

	x->stream = NULL;
	if (call != NULL) {
		void (*gone)(void *) = call->gone;
		void *cls = call->gone_cls;

		admin_call_end(call);
		if (gone != NULL)
			gone(cls);
	}
	if (s != NULL) {
		if (s->gone != NULL)
			s->gone(s->gone_cls);
		free(s);
	}
	exchange_set_state(x, EXCHANGE_GONE);
}

void
admin_free(struct exchange *x)
{
	if (x->call != NULL || x->stream != NULL)
		admin_client_gone(x);
}
