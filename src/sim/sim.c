/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * libmicrohttpd runs in a thread of its own over epoll and calls sim_handle
 * until the request is whole, then once more to answer. A streamed answer is
 * written by sim_request_read, one event a call; whoever has to wait for its
 * time suspends its connection and is called again when the pacer resumes it.
 *
 *	whole request -> plan -> hold until the end -> one body
 *	                      -> opening -> hold, token -> ... -> closing
 */
#include "sim/sim.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <microhttpd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "sim_pacer.h"
#include "sim_plan.h"
#include "sim_prefix.h"
#include "sim_protocol.h"

enum {
	SIM_BODY_BYTES = 64 * 1024 * 1024,
	SIM_WHOLE_BYTES = 16 * 1024 * 1024,
	SIM_HEADER_BYTES = 64 * 1024,
	SIM_CONNECTIONS = 4096,
	SIM_RETRY_AFTER_S = 2,
	SIM_REQUEST_MAGIC = 0x73696d31
};

static const struct sim_protocol *const sim_protocols[] = {
    &sim_openai, &sim_anthropic, NULL};

static const char *const sim_models[] = {"sim-large", "sim-small", NULL};

struct sim {
	struct sim_setup setup; /* constant after start */
	struct MHD_Daemon *daemon;
	struct sim_pacer *pacer;
	int port;
	/* libmicrohttpd's thread only */
	struct sim_prefix *prefix;
	int64_t n_requests; /* of any path */
	int64_t n_asked;    /* for an answer */
	int64_t n_answers;  /* planned */
};

enum sim_stage {
	SIM_STAGE_READING, /* the request comes in */
	SIM_STAGE_HELD,    /* a whole answer waits for its time */
	SIM_STAGE_OPENING, /* a streamed answer: its next event is this */
	SIM_STAGE_TOKENS,
	SIM_STAGE_DONE
};

/* One request, and the answer to it. libmicrohttpd's thread only. */
struct sim_request {
	unsigned magic;
	struct sim *sim;
	struct MHD_Connection *connection;
	const struct sim_protocol *protocol; /* of its path, or the likeliest */
	enum sim_stage stage;
	struct buf body;
	bool is_too_big;
	char id[SIM_ID_BYTES];
	struct sim_plan plan;
	struct sim_out out;
	int64_t whole_ns; /* when the request was whole */
	int64_t n_sent;   /* tokens */
};

static struct sim_request *
sim_request_check(void *cls)
{
	struct sim_request *r = cls;

	assert(r->magic == SIM_REQUEST_MAGIC);
	return r;
}

static struct sim_request *
sim_request_new(struct sim *s, struct MHD_Connection *connection)
{
	struct sim_request *r = calloc(1, sizeof(*r));

	if (r == NULL)
		return NULL;
	r->magic = SIM_REQUEST_MAGIC;
	r->sim = s;
	r->connection = connection;
	buf_init(&r->body, SIM_BODY_BYTES);
	buf_init(&r->out.buf, SIM_WHOLE_BYTES);
	snprintf(r->id, sizeof(r->id), "req_sim%08llx",
	    (unsigned long long)++s->n_requests);
	return r;
}

static void
sim_request_free(void *cls, struct MHD_Connection *connection, void **con_cls,
    enum MHD_RequestTerminationCode code)
{
	struct sim_request *r = *con_cls;

	(void)cls;
	(void)connection;
	(void)code;
	if (r == NULL)
		return;
	sim_request_check(r);
	sim_plan_fini(&r->plan);
	buf_fini(&r->body);
	buf_fini(&r->out.buf);
	r->magic = 0;
	free(r);
	*con_cls = NULL;
}

static const char *
sim_request_header(const struct sim_request *r, const char *name)
{
	return MHD_lookup_connection_value(
	    r->connection, MHD_HEADER_KIND, name);
}

/* Takes the response. */
static enum MHD_Result
sim_request_queue(struct sim_request *r, int status, const char *content_type,
    struct MHD_Response *response)
{
	enum MHD_Result result;

	if (response == NULL)
		return MHD_NO;
	MHD_add_response_header(response, "content-type", content_type);
	MHD_add_response_header(response, r->protocol->id_header, r->id);
	if (status == 429 || status == 503 || status == 529) {
		char seconds[16];

		snprintf(seconds, sizeof(seconds), "%d", SIM_RETRY_AFTER_S);
		MHD_add_response_header(response, "retry-after", seconds);
	}
	result = MHD_queue_response(r->connection, (unsigned)status, response);
	MHD_destroy_response(response);
	return result;
}

/* Sends what has been said so far as the whole body. */
static enum MHD_Result
sim_request_reply(struct sim_request *r, int status)
{
	size_t n;
	char *body;

	r->stage = SIM_STAGE_DONE;
	if (r->out.has_failed)
		return MHD_NO;
	body = buf_take(&r->out.buf, &n);
	return sim_request_queue(r, status, "application/json",
	    MHD_create_response_from_buffer(n, body, MHD_RESPMEM_MUST_FREE));
}

static enum MHD_Result
sim_request_refuse(struct sim_request *r, int status, const char *message)
{
	r->protocol->error(&r->out, status, message, r->id);
	return sim_request_reply(r, status);
}

/* Adds to OUT what comes next in a stream. */
static void
sim_request_next(struct sim_request *r)
{
	if (r->stage == SIM_STAGE_OPENING) {
		r->protocol->opening(&r->out, &r->plan);
		r->stage = SIM_STAGE_TOKENS;
		return;
	}
	r->protocol->token(&r->out, &r->plan, r->n_sent++);
	if (r->n_sent == sim_plan_n_output(&r->plan)) {
		r->protocol->closing(&r->out, &r->plan);
		r->stage = SIM_STAGE_DONE;
	}
}

/* When the first N tokens and one more have been generated. */
static int64_t
sim_request_due_ns(const struct sim_request *r, int64_t n)
{
	const struct sim_setup *setup = &r->sim->setup;
	int64_t due_ns = r->whole_ns + setup->ttft_ms * 1000000;

	if (setup->tps > 0)
		due_ns += (int64_t)((double)n * 1e9 / setup->tps);
	return due_ns;
}

static ssize_t
sim_request_read(void *cls, uint64_t position, char *to, size_t n_max)
{
	struct sim_request *r = sim_request_check(cls);
	int64_t due_ns = sim_request_due_ns(r, r->n_sent);
	size_t n;

	(void)position;
	if (buf_len(&r->out.buf) == 0) {
		if (r->stage == SIM_STAGE_DONE)
			return MHD_CONTENT_READER_END_OF_STREAM;
		if (r->stage == SIM_STAGE_TOKENS && due_ns > clock_now_ns())
			return sim_pacer_hold(
				   r->sim->pacer, r->connection, due_ns)
				   ? 0
				   : MHD_CONTENT_READER_END_WITH_ERROR;
		sim_request_next(r);
	}
	if (r->out.has_failed)
		return MHD_CONTENT_READER_END_WITH_ERROR;
	n = buf_len(&r->out.buf) < n_max ? buf_len(&r->out.buf) : n_max;
	memcpy(to, buf_data(&r->out.buf), n);
	buf_consume(&r->out.buf, n);
	return (ssize_t)n;
}

static enum MHD_Result
sim_request_stream(struct sim_request *r)
{
	r->stage = SIM_STAGE_OPENING;
	return sim_request_queue(r, 200, "text/event-stream; charset=utf-8",
	    MHD_create_response_from_callback(
		MHD_SIZE_UNKNOWN, SIM_EVENT_BYTES, sim_request_read, r, NULL));
}

/* The status that the request is to fail with, 0 for none. */
static int
sim_request_failure(struct sim_request *r)
{
	const char *wish = sim_request_header(r, "x-sim-status");
	int status = wish != NULL ? atoi(wish) : 0;
	int64_t every = r->sim->setup.fail_every;

	r->sim->n_asked++;
	if (status >= 400 && status <= 599)
		return status;
	return every > 0 && r->sim->n_asked % every == 0 ? 429 : 0;
}

static enum MHD_Result
sim_request_answer(struct sim_request *r)
{
	struct sim *s = r->sim;
	int status = sim_request_failure(r);
	int64_t every = s->setup.tool_calls_every;
	const char *wrong;

	if (status == 429)
		return sim_request_refuse(r, status, "Rate limit reached");
	if (status != 0)
		return sim_request_refuse(r, status, "Simulated failure");
	wrong = sim_plan_make(&r->plan, &s->setup, r->protocol, s->prefix,
	    buf_data(&r->body), buf_len(&r->body),
	    every > 0 && (s->n_answers + 1) % every == 0);
	buf_release(&r->body);
	if (wrong != NULL)
		return sim_request_refuse(r, 400, wrong);
	snprintf(r->plan.id, sizeof(r->plan.id), "%s%08llx",
	    r->protocol->id_prefix, (unsigned long long)++s->n_answers);
	if (r->plan.wants_stream)
		return sim_request_stream(r);
	r->stage = SIM_STAGE_HELD;
	return sim_pacer_hold(s->pacer, r->connection,
		   sim_request_due_ns(r, sim_plan_n_output(&r->plan) - 1))
		   ? MHD_YES
		   : MHD_NO;
}

static enum MHD_Result
sim_request_models(struct sim_request *r)
{
	sim_say(&r->out, "{\"object\":\"list\",\"data\":[");
	for (size_t i = 0; sim_models[i] != NULL; i++)
		sim_say(&r->out,
		    "%s{\"id\":\"%s\",\"object\":\"model\",\"type\":\"model\","
		    "\"display_name\":\"%s\",\"created\":1764547200,"
		    "\"created_at\":\"2025-12-01T00:00:00Z\","
		    "\"owned_by\":\"turnmeter\"}",
		    i > 0 ? "," : "", sim_models[i], sim_models[i]);
	sim_say(&r->out, "],\"has_more\":false}");
	return sim_request_reply(r, 200);
}

static bool
sim_path_is(const char *path, const char *suffix)
{
	return strcmp(path, suffix) == 0 ||
	       (strncmp(path, "/v1", 3) == 0 && strcmp(path + 3, suffix) == 0);
}

static enum MHD_Result
sim_request_dispatch(
    struct sim_request *r, const char *method, const char *path)
{
	bool is_known = false;

	r->whole_ns = clock_now_ns();
	r->protocol = &sim_openai;
	if (sim_request_header(r, "anthropic-version") != NULL)
		r->protocol = &sim_anthropic;
	if (sim_path_is(path, "/models") && strcmp(method, "GET") == 0)
		return sim_request_models(r);
	for (size_t i = 0; sim_protocols[i] != NULL; i++) {
		if (sim_path_is(path, sim_protocols[i]->suffix)) {
			r->protocol = sim_protocols[i];
			is_known = true;
		}
	}
	if (!is_known)
		return sim_request_refuse(r, 404, "Unknown path");
	if (strcmp(method, "POST") != 0)
		return sim_request_refuse(r, 405, "Method not allowed");
	if (r->is_too_big)
		return sim_request_refuse(r, 413, "Request too large");
	return sim_request_answer(r);
}

static enum MHD_Result
sim_handle(void *cls, struct MHD_Connection *connection, const char *url,
    const char *method, const char *version, const char *upload,
    size_t *n_upload, void **con_cls)
{
	struct sim_request *r = *con_cls;

	(void)version;
	if (r == NULL) {
		*con_cls = sim_request_new(cls, connection);
		return *con_cls != NULL ? MHD_YES : MHD_NO;
	}
	sim_request_check(r);
	if (*n_upload > 0) {
		if (buf_append(&r->body, upload, *n_upload) != 0)
			r->is_too_big = true;
		*n_upload = 0;
		return MHD_YES;
	}
	if (r->stage == SIM_STAGE_READING)
		return sim_request_dispatch(r, method, url);
	r->protocol->whole(&r->out, &r->plan);
	return sim_request_reply(r, 200);
}

void
sim_setup_default(struct sim_setup *setup_out)
{
	*setup_out = (struct sim_setup){
	    .ttft_ms = 300,
	    .tps = 50,
	    .n_output_tokens = 120,
	    .cached_percent = -1,
	};
}

static bool
sim_setup_is_valid(const struct sim_setup *setup)
{
	return setup->port >= 0 && setup->port <= 65535 &&
	       setup->ttft_ms >= 0 && setup->ttft_ms <= SIM_TTFT_MS_MAX &&
	       setup->tps >= 0 && setup->tps <= SIM_TPS_MAX &&
	       setup->n_output_tokens >= 1 &&
	       setup->n_output_tokens <= SIM_OUTPUT_TOKENS_MAX &&
	       setup->reasoning_percent >= 0 &&
	       setup->reasoning_percent <= 100 && setup->cached_percent >= -1 &&
	       setup->cached_percent <= 100 && setup->tool_calls_every >= 0 &&
	       setup->fail_every >= 0;
}

static int
sim_listen(struct sim *s)
{
	struct sockaddr_in address = {
	    .sin_family = AF_INET,
	    .sin_port = htons((uint16_t)s->setup.port),
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	const union MHD_DaemonInfo *info;

	errno = 0;
	s->daemon = MHD_start_daemon(
	    MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME, 0, NULL,
	    NULL, sim_handle, s, MHD_OPTION_SOCK_ADDR, &address,
	    MHD_OPTION_CONNECTION_LIMIT, (unsigned)SIM_CONNECTIONS,
	    MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)SIM_HEADER_BYTES,
	    MHD_OPTION_NOTIFY_COMPLETED, sim_request_free, NULL,
	    MHD_OPTION_END);
	if (s->daemon == NULL)
		return errno != 0 ? -errno : -EIO;
	info = MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_BIND_PORT);
	if (info == NULL)
		return -EIO;
	s->port = info->port;
	return 0;
}

int
sim_start(const struct sim_setup *setup, struct sim **sim_out)
{
	struct sim *s;
	int r;

	if (!sim_setup_is_valid(setup))
		return -EINVAL;
	s = calloc(1, sizeof(*s));
	if (s == NULL)
		return -ENOMEM;
	s->setup = *setup;
	s->prefix = sim_prefix_new();
	r = s->prefix != NULL ? sim_pacer_start(&s->pacer) : -ENOMEM;
	if (r == 0)
		r = sim_listen(s);
	if (r != 0)
		sim_stop(s);
	else
		*sim_out = s;
	return r;
}

int
sim_port(const struct sim *s)
{
	return s->port;
}

void
sim_stop(struct sim *s)
{
	if (s == NULL)
		return;
	if (s->pacer != NULL)
		sim_pacer_stop(s->pacer);
	if (s->daemon != NULL)
		MHD_stop_daemon(s->daemon);
	sim_pacer_free(s->pacer);
	sim_prefix_free(s->prefix);
	free(s);
}
