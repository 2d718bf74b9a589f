/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * status: the bare command's screen, and one line for a status bar.
 *
 * The line must be there at once: it reads one row and asks the daemon for its
 * health with a short limit, so a prompt never waits for a daemon that hangs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "command.h"
#include "config/config.h"
#include "follow.h"
#include "reading.h"
#include "record/turn_json.h"
#include "report/day.h"
#include "report/format.h"
#include "report/table.h"
#include "report/turn_view.h"
#include "report/when.h"
#include "store/store.h"

enum {
	STATUS_HEALTH_MS = 2000,
	STATUS_LINE_MS = 250,
	STATUS_LIVE_MS = 10 * 60 * 1000,
	STATUS_LIVE_MAX = 8,
	STATUS_BYTES = 64 * 1024
};

struct status {
	const struct cli_call *call;
	struct reading reading;
	json_t *health; /* NULL: not reachable */
	char reason[256];
	struct day day;
	bool has_turns; /* of any day */
	struct buf out;
};

static int64_t
status_int(const json_t *health, const char *group, const char *name)
{
	const json_t *value = json_object_get(health, group);

	value = json_object_get(value, name);
	return json_is_integer(value) ? json_integer_value(value) : TURN_NULL;
}

/* "Mon 09:02", or "09:02" where it was today. */
static void
status_since(const json_t *health, char out[FORMAT_BYTES])
{
	const json_t *uptime = json_object_get(health, "uptime_s");
	int64_t now = clock_wall_ms(), at;
	struct when_span today = when_day_of(now);
	time_t s;
	struct tm tm;

	strcpy(out, "?");
	if (!json_is_number(uptime))
		return;
	at = now - (int64_t)(json_number_value(uptime) * 1000);
	s = (time_t)(at / 1000);
	if (localtime_r(&s, &tm) == NULL)
		return;
	if (at >= today.start_ms)
		strftime(out, FORMAT_BYTES, "%H:%M", &tm);
	else
		strftime(out, FORMAT_BYTES, "%a %d %b %H:%M", &tm);
}

static void
status_print_daemon(struct status *s)
{
	const struct config *c = s->reading.config;
	char since[FORMAT_BYTES], total[FORMAT_BYTES], lost[FORMAT_BYTES];
	const char *reason;

	if (s->health == NULL) {
		buf_printf(&s->out,
		    "no daemon reachable at %s\n  %s\n  start it: turnmeter "
		    "serve, or with a client: turnmeter run -- CLIENT\n",
		    c->listen, s->reason);
		return;
	}
	status_since(s->health, since);
	format_count(status_int(s->health, "exchanges", "in_flight"), total);
	format_count(status_int(s->health, "store", "lost"), lost);
	buf_printf(&s->out, "listening on %s since %s   %s in flight   %s lost",
	    c->listen, since, total, lost);
	reason = json_string_value(
	    json_object_get(json_object_get(s->health, "store"), "reason"));
	buf_printf(&s->out, "\n");
	if (reason != NULL)
		buf_printf(&s->out, "  the database fails: %s\n", reason);
}

static void
status_print_day(struct status *s)
{
	const struct day *d = &s->day;
	char turns[FORMAT_BYTES], input[FORMAT_BYTES], output[FORMAT_BYTES],
	    hit[FORMAT_BYTES];

	if (s->reading.store_error != NULL) {
		buf_printf(&s->out,
		    "today   ? turns: %s\n  what is wrong: turnmeter doctor\n",
		    s->reading.store_error);
		return;
	}
	if (d->n_turns + d->n_other == 0) {
		buf_printf(&s->out, "today   no turn yet\n");
		return;
	}
	format_count(d->n_turns, turns);
	format_tokens(d->input_tokens, input);
	format_tokens(d->output_tokens, output);
	format_share(d->hit_read, d->hit_input, hit);
	buf_printf(&s->out,
	    "today   %s turn%s   %s in   %s from cache   %s out\n", turns,
	    d->n_turns == 1 ? "" : "s", input, hit, output);
	if (d->n_refused + d->n_failed + d->n_no_usage > 0)
		buf_printf(&s->out,
		    "        %lld refused   %lld failed   %lld without usage\n",
		    (long long)d->n_refused, (long long)d->n_failed,
		    (long long)d->n_no_usage);
}

static int
status_order(const void *a, const void *b)
{
	const struct day_session *x = a, *y = b;
	int64_t m = x->last != NULL ? x->last->seq : 0;
	int64_t n = y->last != NULL ? y->last->seq : 0;

	return m > n ? -1 : m < n ? 1 : 0;
}

/* The sessions of the last ten minutes. */
static void
status_print_live(struct status *s)
{
	static const struct table_column columns[] = {
	    {.name = "LIVE", .shrink = 8},
	    {.name = "MODEL", .shrink = 12},
	    {.name = "TURNS", .is_right = true, .drop = 2},
	    {.name = "CTX", .is_right = true},
	    {.name = "USE/S", .is_right = true, .drop = 1},
	    {.name = "AGO", .is_right = true, .drop = 3},
	};
	struct table *table = table_new(columns, 6);
	int64_t now = clock_wall_ms();
	size_t n = 0;

	if (table == NULL)
		return;
	qsort(s->day.sessions, s->day.n_sessions, sizeof(*s->day.sessions),
	    status_order);
	for (size_t i = 0; i < s->day.n_sessions && n < STATUS_LIVE_MAX; i++) {
		const struct day_session *session = &s->day.sessions[i];
		const struct turn *t = session->last;
		char model[TURN_TEXT_BYTES + 64], turns[FORMAT_BYTES];
		char context[FORMAT_BYTES], speed[FORMAT_BYTES];
		char ago[FORMAT_BYTES];
		const char *cells[] = {NULL, model, turns, context, speed, ago};

		if (t == NULL || now - t->started_at > STATUS_LIVE_MS)
			continue;
		cells[0] = t->project != NULL  ? t->project
			   : t->client != NULL ? t->client
					       : session->id;
		snprintf(model, sizeof(model), "%.40s/%s",
		    t->upstream != NULL ? t->upstream : "?",
		    t->model != NULL ? t->model : "?");
		format_count(session->n_turns, turns);
		format_tokens(t->input_tokens, context);
		format_speed(t->usable_tps, speed);
		format_duration((double)(now - t->started_at), ago);
		table_add(table, cells);
		n++;
	}
	if (n > 0)
		table_print(table, reading_width(STDOUT_FILENO), &s->out);
	table_free(table);
}

static void
status_print(struct status *s)
{
	status_print_daemon(s);
	status_print_day(s);
	status_print_live(s);
	if (!s->has_turns && s->reading.store_error == NULL)
		buf_printf(&s->out,
		    "point a client here: turnmeter run -- opencode (this "
		    "once) "
		    "or\n  turnmeter connect opencode (for good)\n");
	buf_printf(&s->out, "next: turnmeter tail | turns | explain LAST | "
			    "doctor\n");
}

static json_t *
status_tokens(int64_t tokens)
{
	return tokens == TURN_NULL ? json_null() : json_integer(tokens);
}

static json_t *
status_day_json(const struct status *s)
{
	const struct day *d = &s->day;

	/* Unread is not none. */
	if (s->reading.store_error != NULL)
		return json_null();
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:o, s:o}", "turns",
	    (json_int_t)d->n_turns, "other", (json_int_t)d->n_other, "refused",
	    (json_int_t)d->n_refused, "failed", (json_int_t)d->n_failed,
	    "without_usage", (json_int_t)d->n_no_usage, "input_tokens",
	    status_tokens(d->input_tokens), "output_tokens",
	    status_tokens(d->output_tokens));
}

static json_t *
status_to_json(const struct status *s)
{
	const struct turn *last = s->day.last;

	return json_pack("{s:s, s:b, s:O?, s:o, s:o?}", "listen",
	    s->reading.config->listen, "reachable", s->health != NULL, "health",
	    s->health, "today", status_day_json(s), "last",
	    last != NULL ? turn_to_json(last) : NULL);
}

static bool
status_last(void *cls, const struct turn *t)
{
	struct day *d = cls;

	if (t->kind == TURN_KIND_TURN)
		day_add(d, t);
	return d->last == NULL;
}

/* "qwen-3.8-27b 99.0K 328/s | refused, wait 11 s" */
static void
status_print_line(struct status *s)
{
	const struct turn *t = s->day.last;
	char context[FORMAT_BYTES], speed[FORMAT_BYTES], wait[FORMAT_BYTES];
	double left;

	if (s->reading.store_error != NULL) {
		buf_printf(&s->out, "database unreadable");
	} else if (t == NULL) {
		buf_printf(&s->out, "no turn yet");
	} else {
		format_tokens(t->input_tokens, context);
		format_speed(t->usable_tps, speed);
		buf_printf(&s->out, "%s %s %s/s",
		    t->model != NULL ? t->model : "?", context, speed);
	}
	if (s->health == NULL)
		buf_printf(&s->out, " | daemon down");
	if (t != NULL && t->outcome == TURN_OUTCOME_RATE_LIMITED) {
		left = (double)t->started_at + t->total_ms + t->retry_after_ms -
		       (double)clock_wall_ms();
		format_duration(left, wait);
		if (left > 0)
			buf_printf(&s->out, " | refused, wait %s", wait);
		else
			buf_printf(&s->out, " | refused");
	}
	buf_append(&s->out, "\n", 1);
}

static bool
status_any(void *cls, const struct turn *t)
{
	struct status *s = cls;

	s->has_turns = t != NULL;
	return false;
}

static int
status_collect(struct status *s, bool is_line)
{
	struct store_query q = {0};
	char folder[4096], base_url[256];
	int result;

	reading_base_url(s->reading.config, base_url, sizeof(base_url));
	s->health = follow_get(base_url, s->reading.config->token, "health",
	    is_line ? STATUS_LINE_MS : STATUS_HEALTH_MS, s->reason,
	    sizeof(s->reason));
	if (s->reading.store == NULL)
		return 0;
	q.project = reading_project(s->call, folder, sizeof(folder));
	if (is_line) {
		q.n = 1;
		q.kind = "turn";
		return store_reader_turns(
		    s->reading.store, &q, status_last, &s->day);
	}
	q.n = 1;
	result = store_reader_turns(s->reading.store, &q, status_any, s);
	if (result != 0)
		return result;
	q.n = 0;
	q.since_ms = when_day_of(clock_wall_ms()).start_ms;
	return store_reader_turns(s->reading.store, &q, day_add, &s->day);
}

static int
cmd_status_run(const struct cli_call *call)
{
	struct status *s = calloc(1, sizeof(*s));
	bool is_line = cli_has(call, "line");
	json_t *object;
	int status, result;

	if (s == NULL)
		return cli_fail(call, CLI_FAILED, "no memory");
	s->call = call;
	day_init(&s->day);
	buf_init(&s->out, STATUS_BYTES);
	status = reading_open_anyway(&s->reading, call, 0);
	if (status == 0 && s->reading.config == NULL)
		status = CLI_FAILED;
	if (status != 0)
		goto out;
	result = status_collect(s, is_line);
	if (result != 0) {
		status = cli_fail(call, CLI_FAILED, "%s: %s",
		    s->reading.database, strerror(-result));
		goto out;
	}
	if (cli_has(call, "json")) {
		object = status_to_json(s);
		char *line = json_dumps(
		    object, JSON_COMPACT | JSON_REAL_PRECISION(15));

		if (line != NULL)
			buf_printf(&s->out, "%s\n", line);
		free(line);
		json_decref(object);
	} else if (is_line) {
		status_print_line(s);
	} else {
		status_print(s);
	}
	status = !reading_flush(&s->out)          ? CLI_FAILED
		 : s->reading.store_error != NULL ? CLI_FAILED
		 : s->health == NULL              ? CLI_UNREACHABLE
						  : CLI_DONE;
out:
	json_decref(s->health);
	day_fini(&s->day);
	buf_fini(&s->out);
	reading_close(&s->reading);
	free(s);
	return status;
}

static const struct cli_option status_options[] = {
    {"line", 0, NULL, "one line, for a status bar or a prompt"},
    {"project", 0, "NAME",
	"the last turn of this project; . for the folder's name"},
    {"tz", 0, "ZONE", "time zone in which the day is cut"},
    {0},
};

const struct cli_command cli_command_status = {
    .name = "status",
    .synopsis = "",
    .summary = "Show how the daemon is and what today came to",
    .detail = "What `turnmeter` alone shows. Ends with 3 where the daemon "
	      "cannot be reached;\n"
	      "the database is read all the same.",
    .options = status_options,
    .groups = CLI_GROUP_JSON | CLI_GROUP_DB,
    .run = cmd_status_run,
};
