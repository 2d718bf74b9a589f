/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * The relay of one exchange. libcurl's callbacks only move bytes into buffers
 * and mark the exchange; libmicrohttpd is touched later, in the turn of the
 * loop. That rule keeps the two libraries from calling into each other.
 *
 * The order that law 5 asks for stands in relay_on_body: a piece is metered,
 * then, where it ends the answer, the turn is journalled, and only then is the
 * piece put where libmicrohttpd can take it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <curl/curl.h>

#include "base/clock.h"
#include "base/log.h"
#include "config/config.h"
#include "exchange.h"
#include "meter/meter.h"
#include "record/turn.h"
#include "upstream.h"

enum { RELAY_PROGRESS_NS = 500000000 };

static double
relay_ms_since(const struct exchange *x, int64_t now_ns)
{
	return (double)(now_ns - x->t0_ns) / 1e6;
}

/* -- metering --------------------------------------------------------- */

static void
relay_start_turn(struct exchange *x)
{
	const char *path = x->route.target;
	char *bare = strndup(path, strcspn(path, "?"));
	struct meter_setup setup = {
	    .method = x->method,
	    .path = bare,
	    .upstream_host = x->route.upstream->host,
	    .protocol = x->route.upstream->protocol,
	    .keys = x->proxy->keys,
	    .t0_ns = x->t0_ns,
	};

	if (bare == NULL || !meter_leaves_row(x->method, bare))
		goto out;
	x->turn = turn_new();
	if (x->turn == NULL)
		goto out;
	turn_set_str(x->turn, &x->turn->upstream, x->route.upstream->name);
	turn_set_str(x->turn, &x->turn->method, x->method);
	turn_set_str(x->turn, &x->turn->path, bare);
	turn_set_str(x->turn, &x->turn->project, x->route.project);
	x->turn->source = TURN_SOURCE_PROXY;
	x->meter = meter_new(&setup, x->turn);
	if (x->meter == NULL) {
		log_warn("no memory to meter an exchange; it is relayed");
		turn_free(x->turn);
		x->turn = NULL;
		goto out;
	}
	load_enter(x);
out:
	free(bare);
}

/* What is known before the answer is told once: when the request is whole or
 * an answer comes, whichever is first. */
static void
relay_tell_started(struct exchange *x)
{
	if (x->turn == NULL || x->is_started)
		return;
	x->is_started = true;
	x->turn->request_bytes = x->request_bytes;
	x->proxy->sink.started(x->proxy->sink.cls, x->turn);
}

/* Puts the turn as measured into the journal, once for the same content. */
static void
relay_settle(struct exchange *x, enum meter_end end)
{
	int64_t now = clock_now_ns();

	if (x->turn == NULL ||
	    (x->is_settled && x->settled_bytes == x->response_bytes &&
		end == METER_END_CLEAN))
		return;
	relay_tell_started(x);
	x->turn->request_bytes = x->request_bytes;
	x->turn->response_bytes = x->response_bytes;
	if (x->load != NULL)
		x->turn->in_flight_mean = load_mean(x, now);
	meter_settle(x->meter, end, now);
	x->is_settled = true;
	x->settled_bytes = x->response_bytes;
	x->proxy->sink.journal(x->proxy->sink.cls, x->turn);
}

/* The exchange is over for the meter. */
static void
relay_finish(struct exchange *x, enum meter_end end)
{
	relay_settle(x, end);
	load_leave(x);
	meter_free(x->meter);
	x->meter = NULL;
	if (x->turn != NULL)
		x->proxy->sink.finished(x->proxy->sink.cls, &x->turn);
}

/* -- what the upstream side tells ------------------------------------- */

static void
relay_on_sending(void *cls, int64_t now_ns)
{
	struct exchange *x = exchange_check(cls);

	/* Connected by now, whether an answer comes or not. */
	if (x->turn != NULL && x->transfer != NULL)
		x->turn->connect_ms = transfer_connect_ms(x->transfer);
	if (x->turn != NULL && (!x->has_body || x->is_collected))
		x->turn->sent_ms = relay_ms_since(x, now_ns);
}

/* false: two lengths that differ. */
static bool
relay_on_header(struct exchange *x, const char *line, size_t n)
{
	const char *colon = memchr(line, ':', n);
	const char *value;
	size_t n_name, n_value;

	if (colon == NULL)
		return true;
	n_name = (size_t)(colon - line);
	value = colon + 1;
	n_value = n - n_name - 1;
	while (n_value > 0 && (*value == ' ' || *value == '\t')) {
		value++;
		n_value--;
	}
	while (n_value > 0 &&
	       (value[n_value - 1] == ' ' || value[n_value - 1] == '\t'))
		n_value--;
	if (n_name == 14 && strncasecmp(line, "content-length", 14) == 0) {
		int64_t length = atoll(value);

		if (x->answer_length >= 0 && x->answer_length != length)
			return false;
		x->answer_length = length;
	}
	if (x->meter != NULL)
		meter_response_header(x->meter, line, n_name, value, n_value);
	return true;
}

static bool
relay_on_head_line(void *cls, const char *line, size_t n, bool is_status)
{
	struct exchange *x = exchange_check(cls);

	if (is_status) {
		const char *space = memchr(line, ' ', n);

		buf_clear(&x->head);
		x->answer_length = -1;
		x->status = space != NULL ? atoi(space) : 0;
		x->head_ns = clock_now_ns();
		relay_tell_started(x);
		if (x->meter != NULL)
			meter_response_status(x->meter, x->status);
		return true;
	}
	return relay_on_header(x, line, n) &&
	       buf_append(&x->head, line, n) == 0 &&
	       buf_append(&x->head, "\n", 1) == 0;
}

static bool
relay_has_no_body(const struct exchange *x)
{
	return strcmp(x->method, "HEAD") == 0 || x->status == 204 ||
	       x->status == 304 || x->answer_length == 0;
}

static void
relay_on_head_end(void *cls)
{
	struct exchange *x = exchange_check(cls);

	x->is_head_whole = true;
	/* A stream may go on for long, and nothing is ever sent again. */
	if (x->is_collected &&
	    transfer_sent_bytes(x->transfer) == x->content_length)
		buf_release(&x->up);
	if (x->meter != NULL) {
		x->turn->connect_ms = transfer_connect_ms(x->transfer);
		meter_response_head_end(x->meter, x->head_ns);
	}
	if (relay_has_no_body(x))
		relay_settle(x, METER_END_CLEAN);
	exchange_mark(x);
}

static void
relay_on_trailer(void *cls, const char *line, size_t n)
{
	struct exchange *x = exchange_check(cls);

	if (buf_append(&x->trailers, line, n) == 0)
		buf_append(&x->trailers, "\n", 1);
}

static void
relay_meter_piece(struct exchange *x, const char *data, size_t n)
{
	int64_t now = clock_now_ns();
	unsigned saw = meter_response_body(x->meter, data, n, now);
	const struct proxy_sink *sink = &x->proxy->sink;

	if (saw & METER_SAW_FIRST_TOKEN) {
		x->progress_ns = now;
		sink->first_token(sink->cls, x->turn);
	} else if (now - x->progress_ns > RELAY_PROGRESS_NS) {
		x->progress_ns = now;
		x->turn->response_bytes = x->response_bytes;
		sink->progress(sink->cls, x->turn);
	}
	if ((saw & METER_SAW_TERMINAL) || x->response_bytes == x->answer_length)
		relay_settle(x, METER_END_CLEAN);
}

static bool
relay_on_body(void *cls, const char *data, size_t n)
{
	struct exchange *x = exchange_check(cls);

	if (buf_len(&x->out) > 0 && buf_len(&x->out) + n > EXCHANGE_HIGH_BYTES)
		return false;
	x->response_bytes += (int64_t)n;
	if (x->meter != NULL)
		relay_meter_piece(x, data, n);
	if (buf_append(&x->out, data, n) != 0)
		x->is_broken = true;
	exchange_mark(x);
	return true;
}

static ssize_t
relay_on_read(void *cls, char *data, size_t n)
{
	struct exchange *x = exchange_check(cls);
	size_t have = buf_len(&x->up);

	if (x->is_expecting && !x->wants_100) {
		x->wants_100 = true;
		exchange_mark(x);
	}
	if (have == 0 && !x->is_request_whole)
		return TRANSFER_READ_PAUSE;
	if (have > n)
		have = n;
	if (have > 0) {
		memcpy(data, buf_data(&x->up), have);
		buf_consume(&x->up, have);
	}
	if (x->turn != NULL && buf_len(&x->up) == 0 &&
	    (x->is_request_whole || x->request_bytes == x->content_length))
		x->turn->sent_ms = relay_ms_since(x, clock_now_ns());
	if (x->is_suspended)
		exchange_mark(x);
	return (ssize_t)have;
}

static enum MHD_Result
relay_add_footer(
    void *cls, enum MHD_ValueKind kind, const char *name, const char *value)
{
	struct curl_slist **list = cls, *longer;
	size_t n = strlen(name) + strlen(value != NULL ? value : "") + 3;
	char *line;

	(void)kind;
	if (!header_may_trail(name))
		return MHD_YES;
	line = malloc(n);
	if (line == NULL)
		return MHD_NO;
	strcpy(line, name);
	strcat(line, ": ");
	strcat(line, value != NULL ? value : "");
	longer = curl_slist_append(*list, line);
	if (longer != NULL)
		*list = longer;
	free(line);
	return MHD_YES;
}

static struct curl_slist *
relay_on_trailers(void *cls)
{
	struct exchange *x = exchange_check(cls);
	struct curl_slist *list = NULL;

	if (x->state != EXCHANGE_GONE)
		MHD_get_connection_values(
		    x->connection, MHD_FOOTER_KIND, relay_add_footer, &list);
	return list;
}

static enum meter_end
relay_meter_end(enum transfer_end end)
{
	switch (end) {
	case TRANSFER_CLEAN: return METER_END_CLEAN;
	case TRANSFER_CONNECT_FAILED: return METER_END_CONNECT_FAILED;
	case TRANSFER_RESET: return METER_END_UPSTREAM_RESET;
	case TRANSFER_TRUNCATED: return METER_END_UPSTREAM_TRUNCATED;
	case TRANSFER_TIMEOUT: return METER_END_TIMEOUT;
	}
	return METER_END_UPSTREAM_RESET;
}

/* The upstream gave no answer: turnmeter says why in its own name. */
static void
relay_answer_failure(
    struct exchange *x, enum transfer_end end, const char *reason)
{
	const char *name = x->route.upstream->name;
	char text[256];

	snprintf(text, sizeof(text), "turnmeter: no answer from %s (%s): %s",
	    name, x->route.upstream->origin, reason);
	log_info("%s", text);
	if (end == TRANSFER_CONNECT_FAILED)
		reply_error(x, 502, "connect_failed", text);
	else if (end == TRANSFER_TIMEOUT)
		reply_error(x, 504, "timeout", text);
	else
		reply_error(x, 502, "upstream_reset", text);
}

static void
relay_on_done(void *cls, enum transfer_end end, const char *reason)
{
	struct exchange *x = exchange_check(cls);

	x->transfer = NULL;
	if (end == TRANSFER_CLEAN && !x->is_head_whole)
		end = TRANSFER_RESET;
	relay_finish(x, relay_meter_end(end));
	if (!x->is_head_whole) {
		relay_answer_failure(x, end, reason);
	} else {
		x->is_body_whole = true;
		if (end != TRANSFER_CLEAN)
			x->is_broken = true;
	}
	exchange_mark(x);
}

static const struct transfer_events relay_events = {
    .sending = relay_on_sending,
    .head_line = relay_on_head_line,
    .head_end = relay_on_head_end,
    .trailer_line = relay_on_trailer,
    .body = relay_on_body,
    .read = relay_on_read,
    .trailers = relay_on_trailers,
    .done = relay_on_done,
};

/* -- the request ------------------------------------------------------ */

static void
relay_fail_memory(struct exchange *x)
{
	relay_finish(x, METER_END_REFUSED);
	reply_error(x, 503, "no_memory", "turnmeter: no memory");
}

static void
relay_start_transfer(struct exchange *x)
{
	struct transfer_setup setup = {
	    .config = exchange_config(x),
	    .upstream = x->route.upstream,
	    .method = x->method,
	    .target = x->route.target,
	    .headers = &x->headers,
	    .content_length = x->content_length,
	    .has_body = x->has_body,
	    .is_expecting = x->is_expecting,
	    .events = &relay_events,
	    .cls = x,
	};

	if (x->is_collected)
		setup.body = buf_len(&x->up) > 0 ? buf_data(&x->up) : "";
	x->transfer = transfer_start(x->proxy->pool, &setup);
	if (x->transfer == NULL)
		relay_fail_memory(x);
}

void
relay_begin(struct exchange *x)
{
	const char *expect = exchange_header(x, "Expect");

	x->proxy->counts.n_exchanges++;
	x->proxy->counts.n_in_flight++;
	x->is_counted = true;
	relay_start_turn(x);
	x->is_expecting = expect != NULL && x->has_body &&
			  x->content_length != 0 &&
			  strcasecmp(expect, "100-continue") == 0;
	x->is_collected = x->has_body && !x->is_expecting &&
			  x->content_length >= 0 &&
			  x->content_length <= EXCHANGE_SMALL_BYTES;
	exchange_set_state(x, EXCHANGE_RECEIVING);
	if (!relay_make_headers(x)) {
		relay_fail_memory(x);
		return;
	}
	if (x->has_body && !x->is_collected)
		relay_start_transfer(x);
	if (x->is_expecting && x->state == EXCHANGE_RECEIVING)
		exchange_suspend(x);
}

static bool
relay_is_upload_useless(const struct exchange *x)
{
	return x->state == EXCHANGE_OWN ||
	       (!x->is_collected && x->transfer == NULL);
}

void
relay_pass_upload(struct exchange *x)
{
	if (x->transfer != NULL)
		transfer_resume_request(x->transfer);
}

enum MHD_Result
relay_upload(struct exchange *x, const char *data, size_t *n)
{
	int64_t max = exchange_config(x)->max_body;
	size_t room = EXCHANGE_UP_BYTES - buf_len(&x->up);
	size_t take = *n;

	if (relay_is_upload_useless(x)) {
		*n = 0;
		return MHD_YES;
	}
	if (max > 0 && x->request_bytes + (int64_t)take > max) {
		relay_give_up(x);
		reply_error(
		    x, 413, "too_large", "the body is larger than max_body");
		*n = 0;
		return MHD_YES;
	}
	if (!x->is_collected && take > room)
		take = room;
	if (buf_append(&x->up, data, take) != 0)
		return MHD_NO;
	if (x->meter != NULL)
		meter_request_body(x->meter, data, take);
	x->request_bytes += (int64_t)take;
	*n -= take;
	/* Pieces are small and a send is dear: pass on what one turn of the
	 * loop brings, or what fills half of the buffer. */
	if (buf_len(&x->up) >= EXCHANGE_UP_BYTES / 2)
		relay_pass_upload(x);
	else
		exchange_mark_late(x);
	if (*n > 0 && x->transfer != NULL &&
	    buf_len(&x->up) == EXCHANGE_UP_BYTES)
		exchange_suspend(x);
	return MHD_YES;
}

/* -- the answer ------------------------------------------------------- */

enum MHD_Result
relay_answer(struct exchange *x)
{
	if (x->is_expecting && !x->is_request_whole && x->request_bytes == 0 &&
	    x->state == EXCHANGE_RECEIVING && !x->is_head_whole) {
		/* The first call again: let libmicrohttpd send its 100. */
		x->is_expecting = false;
		return MHD_YES;
	}
	if (!x->is_request_whole) {
		x->is_request_whole = true;
		if (x->meter != NULL)
			meter_request_end(x->meter);
		if (x->state == EXCHANGE_RECEIVING) {
			exchange_set_state(x, EXCHANGE_WAITING);
			relay_tell_started(x);
			if (x->is_collected || !x->has_body)
				relay_start_transfer(x);
			else if (x->transfer != NULL)
				transfer_resume_request(x->transfer);
		}
	}
	if (x->state == EXCHANGE_OWN)
		return reply_queue(x);
	if (x->state == EXCHANGE_GONE)
		return MHD_NO;
	if (x->is_head_whole)
		return relay_reply(x);
	exchange_suspend(x);
	return MHD_YES;
}

bool
relay_is_ready(const struct exchange *x)
{
	switch (x->state) {
	case EXCHANGE_RECEIVING:
		if (x->is_expecting)
			return x->wants_100 || x->is_head_whole;
		return x->transfer == NULL ||
		       buf_len(&x->up) < EXCHANGE_UP_BYTES / 2;
	case EXCHANGE_WAITING: return x->is_head_whole;
	case EXCHANGE_ANSWERING:
		return buf_len(&x->out) > 0 || buf_len(&x->framed) > 0 ||
		       x->is_body_whole || x->is_broken;
	default: return true;
	}
}

/* -- other ends ------------------------------------------------------- */

static void
relay_end(struct exchange *x, enum meter_end end)
{
	transfer_drop(x->transfer);
	x->transfer = NULL;
	relay_finish(x, end);
	exchange_set_state(x, EXCHANGE_GONE);
}

void
relay_give_up(struct exchange *x)
{
	transfer_drop(x->transfer);
	x->transfer = NULL;
	relay_finish(x, METER_END_REFUSED);
}

void
relay_client_gone(struct exchange *x)
{
	relay_end(x, METER_END_CLIENT_CLOSED);
}

void
relay_interrupt(struct exchange *x)
{
	relay_end(x, METER_END_INTERRUPTED);
}

void
relay_check_idle(struct exchange *x, int64_t now_ns)
{
	int64_t limit = exchange_config(x)->idle_timeout_ms * 1000000;

	if (x->transfer != NULL && limit > 0 &&
	    now_ns - transfer_last_activity_ns(x->transfer) > limit)
		transfer_time_out(x->transfer);
}

void
relay_free(struct exchange *x)
{
	transfer_drop(x->transfer);
	x->transfer = NULL;
	if (x->turn != NULL)
		relay_finish(x, METER_END_CLIENT_CLOSED);
	curl_slist_free_all(x->headers);
	x->headers = NULL;
}
