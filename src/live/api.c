/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * A table of routes, one function each. A query of turns is a job: the
 * reader's thread makes the whole body, the loop only hands it over.
 */
#include "live/api.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "live/feed.h"
#include "live/reader_thread.h"
#include "record/turn.h"
#include "record/turn_json.h"
#include "report/when.h"

enum {
	API_TURNS_DEFAULT = 100,
	API_BODY_BYTES = 32 * 1024 * 1024,
	API_EPOCH_DIGITS = 10 /* so many at least: ms, not a year */
};

static const char api_json[] = "application/json";

struct api {
	char *listen;
	struct feed *feed;
	struct reader_thread *reader;
	void (*state)(void *cls, struct api_state *state_out);
	void *state_cls;
	int64_t started_ns;
};

/* Takes OBJECT. */
static void
api_reply_json(struct admin_call *call, int status, json_t *object)
{
	char *text = object != NULL
			 ? json_dumps(
			       object, JSON_INDENT(2) | JSON_REAL_PRECISION(15))
			 : NULL;
	struct buf body;

	json_decref(object);
	buf_init(&body, API_BODY_BYTES);
	if (text == NULL || buf_printf(&body, "%s\n", text) != 0)
		admin_call_reply(call, 503, api_json, "{}\n", 3);
	else
		admin_call_reply(
		    call, status, api_json, buf_data(&body), buf_len(&body));
	buf_fini(&body);
	free(text);
}

static void
api_reply_error(struct admin_call *call, int status, const char *message)
{
	api_reply_json(
	    call, status, json_pack("{s:{s:s}}", "error", "message", message));
}

/* One query, from the call to the answer. */
struct api_turns {
	struct reader_job job;
	struct admin_call *call; /* NULL: the client has left */
	atomic_bool is_gone;
	struct arena arena; /* the query's texts */
	struct store_query query;
	bool wants_ndjson;
	/* the reader's thread, then the loop's */
	struct buf body;
	int result;
};

static void
api_turns_free(struct api_turns *q)
{
	arena_fini(&q->arena);
	buf_fini(&q->body);
	free(q);
}

static void
api_turns_gone(void *cls)
{
	struct api_turns *q = cls;

	q->call = NULL;
	q->is_gone = true;
}

static bool
api_turns_each(void *cls, const struct turn *t)
{
	struct api_turns *q = cls;
	char *line = turn_to_json_line(t);
	const char *before = "";

	if (!q->wants_ndjson)
		before = buf_len(&q->body) > 1 ? ",\n" : "\n";
	if (line != NULL)
		q->result = buf_printf(&q->body, "%s%s%s", before, line,
		    q->wants_ndjson ? "\n" : "");
	else
		q->result = -ENOMEM;
	free(line);
	return q->result == 0 && !q->is_gone;
}

static void
api_turns_work(struct reader_job *j, struct store_reader *r, int error)
{
	struct api_turns *q = (struct api_turns *)j;

	/* No database yet: no turn yet. */
	if (r == NULL && error != -ENOENT) {
		q->result = error;
		return;
	}
	if (!q->wants_ndjson)
		q->result = buf_append_str(&q->body, "[");
	if (r != NULL && q->result == 0) {
		error = store_reader_turns(r, &q->query, api_turns_each, q);
		if (q->result == 0)
			q->result = error;
	}
	if (!q->wants_ndjson && q->result == 0)
		q->result = buf_append_str(
		    &q->body, buf_len(&q->body) > 1 ? "\n]\n" : "]\n");
}

static void
api_turns_done(struct reader_job *j)
{
	struct api_turns *q = (struct api_turns *)j;

	if (q->call == NULL)
		; /* nobody waits for it */
	else if (q->result == 0)
		admin_call_reply(q->call, 200,
		    q->wants_ndjson ? "application/x-ndjson" : api_json,
		    buf_data(&q->body), buf_len(&q->body));
	else if (q->result == -ENOBUFS || q->result == -E2BIG)
		api_reply_error(q->call, 400,
		    "too many turns: narrow it with n, since or until");
	else
		api_reply_error(q->call, 503, "the database could not be read");
	api_turns_free(q);
}

static bool
api_parse_n(const char *text, int64_t *n_out)
{
	char *end;

	if (text == NULL) {
		*n_out = API_TURNS_DEFAULT;
		return true;
	}
	errno = 0;
	*n_out = strtoll(text, &end, 10);
	return end != text && *end == '\0' && errno == 0 && *n_out >= 0;
}

/* A moment in ms since the epoch, or anything that --since takes. */
static bool
api_parse_when(const char *text, bool is_end, int64_t *ms_out)
{
	struct when_span span;

	if (text == NULL)
		return true;
	if (strlen(text) >= API_EPOCH_DIGITS &&
	    strspn(text, "0123456789") == strlen(text)) {
		errno = 0;
		*ms_out = strtoll(text, NULL, 10);
		return errno == 0;
	}
	if (when_parse(text, clock_wall_ms(), &span) != 0)
		return false;
	*ms_out = is_end ? span.end_ms : span.start_ms;
	return true;
}

/* Fills the query from the call. NULL, or what is wrong. */
static const char *
api_turns_parse(struct api_turns *q, const struct admin_call *call)
{
	const struct {
		const char *key;
		const char **field;
	} texts[] = {
	    {"upstream", &q->query.upstream},
	    {"model", &q->query.model},
	    {"session", &q->query.session},
	    {"project", &q->query.project},
	    {"client", &q->query.client},
	    {"kind", &q->query.kind},
	    {"sort", &q->query.sort},
	};
	const char *format = admin_call_query(call, "format");

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		const char *text = admin_call_query(call, texts[i].key);

		if (text == NULL || *text == '\0')
			continue;
		*texts[i].field = arena_copy(&q->arena, text, strlen(text));
		if (*texts[i].field == NULL)
			return "no memory";
	}
	if (!api_parse_n(admin_call_query(call, "n"), &q->query.n))
		return "n: a whole number from 0 on; 0 for all";
	if (!api_parse_when(
		admin_call_query(call, "since"), false, &q->query.since_ms) ||
	    !api_parse_when(
		admin_call_query(call, "until"), true, &q->query.until_ms))
		return "since, until: 30d, 24h, 2026-11, an ISO time, or ms";
	if (q->query.sort != NULL && *q->query.sort == '-') {
		q->query.sort++;
		q->query.is_descending = true;
	}
	if (q->query.sort != NULL && turn_field_find(q->query.sort) == NULL)
		return "sort: no such field";
	if (q->query.kind != NULL &&
	    turn_field_enum_value(turn_field_find("kind"), q->query.kind) <= 0)
		return "kind: turn, side, compaction, count, embedding, other";
	q->wants_ndjson = format != NULL && strcmp(format, "ndjson") == 0;
	if (format != NULL && !q->wants_ndjson && strcmp(format, "json") != 0)
		return "format: json or ndjson";
	return NULL;
}

static void
api_serve_turns(struct api *a, struct admin_call *call)
{
	struct api_turns *q = calloc(1, sizeof(*q));
	const char *wrong;

	if (q == NULL) {
		api_reply_error(call, 503, "no memory");
		return;
	}
	buf_init(&q->body, API_BODY_BYTES);
	q->job.work = api_turns_work;
	q->job.done = api_turns_done;
	q->call = call;
	wrong = api_turns_parse(q, call);
	if (wrong != NULL) {
		api_reply_error(call, 400, wrong);
		api_turns_free(q);
		return;
	}
	admin_call_on_gone(call, api_turns_gone, q);
	if (reader_thread_put(a->reader, &q->job) != 0) {
		api_reply_error(call, 503, "too many queries wait already");
		api_turns_free(q);
	}
}

static json_t *
api_health_store(const struct store_writer_state *s)
{
	return json_pack("{s:I, s:I, s:I, s:b, s:s?}", "written",
	    (json_int_t)s->n_written, "waiting", (json_int_t)s->n_waiting,
	    "lost", (json_int_t)s->n_lost, "failing", s->is_failing, "reason",
	    s->is_failing ? s->reason : NULL);
}

static void
api_serve_health(struct api *a, struct admin_call *call)
{
	struct api_state state = {0};
	double uptime_s;
	bool is_ok;

	a->state(a->state_cls, &state);
	is_ok = !state.store.is_failing && state.store.n_lost == 0 &&
		state.journal.n_errors == 0 && state.journal.n_free > 0;
	uptime_s = (double)((clock_now_ns() - a->started_ns) / 1000000) / 1e3;
	api_reply_json(call, state.store.is_failing ? 503 : 200,
	    json_pack("{s:i, s:s, s:s, s:f, s:s, s:I, s:{s:I, s:I, s:I, s:I},"
		      " s:o, s:{s:I, s:I}, s:{s:I, s:I}}",
		"v", 1, "status", is_ok ? "ok" : "degraded", "version",
		TURNMETER_VERSION, "uptime_s", uptime_s, "listen", a->listen,
		"upstreams", (json_int_t)state.n_upstreams, "exchanges",
		"total", (json_int_t)state.proxy.n_exchanges, "in_flight",
		(json_int_t)state.proxy.n_in_flight, "connections",
		(json_int_t)state.proxy.n_connections, "refused",
		(json_int_t)state.proxy.n_refused, "store",
		api_health_store(&state.store), "journal", "free",
		(json_int_t)state.journal.n_free, "errors",
		(json_int_t)state.journal.n_errors, "feed", "readers",
		(json_int_t)feed_n_readers(a->feed), "dropped",
		(json_int_t)feed_n_dropped(a->feed)));
}

static void
api_serve_limits(struct api *a, struct admin_call *call)
{
	(void)a;
	api_reply_json(call, 200, json_array());
}

static void
api_serve_events(struct api *a, struct admin_call *call)
{
	if (strcmp(admin_call_method(call), "HEAD") == 0)
		admin_call_reply(call, 200, "text/event-stream", "", 0);
	else
		feed_serve(a->feed, call);
}

static const struct {
	const char *path;
	void (*serve)(struct api *a, struct admin_call *call);
} api_routes[] = {
    {"health", api_serve_health},
    {"api/turns", api_serve_turns},
    {"api/limits", api_serve_limits},
    {"events", api_serve_events},
};

enum { API_ROUTES = sizeof(api_routes) / sizeof(*api_routes) };

static void
api_serve_unknown(struct admin_call *call)
{
	json_t *paths = json_array();

	for (size_t i = 0; i < API_ROUTES; i++)
		json_array_append_new(
		    paths, json_sprintf("/_turnmeter/%s", api_routes[i].path));
	api_reply_json(call, 404,
	    json_pack("{s:{s:s, s:o}}", "error", "message",
		"no such path; these exist", "paths", paths));
}

struct api *
api_new(const struct api_setup *setup)
{
	struct api *a = calloc(1, sizeof(*a));

	if (a == NULL)
		return NULL;
	a->listen = strdup(setup->listen);
	if (a->listen == NULL) {
		free(a);
		return NULL;
	}
	a->feed = setup->feed;
	a->reader = setup->reader;
	a->state = setup->state;
	a->state_cls = setup->state_cls;
	a->started_ns = clock_now_ns();
	return a;
}

void
api_free(struct api *a)
{
	if (a == NULL)
		return;
	free(a->listen);
	free(a);
}

void
api_handle(void *cls, struct admin_call *call)
{
	const char *method = admin_call_method(call);
	const char *path = admin_call_path(call);

	for (size_t i = 0; i < API_ROUTES; i++) {
		if (strcmp(api_routes[i].path, path) != 0)
			continue;
		if (strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0)
			api_routes[i].serve(cls, call);
		else
			api_reply_error(call, 405, "GET and HEAD only");
		return;
	}
	api_serve_unknown(call);
}
