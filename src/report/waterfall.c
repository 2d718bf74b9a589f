/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * waterfall: every offset that the turn has, in the order of time, each with
 * a bar from the event before it:
 *
 *   sent            0.001 s   |#                                       |
 *   first byte      0.211 s   |###############                         |
 *   first token     0.390 s   |               ############             |
 *
 * Offsets that the turn lacks are not lines: an absent first token is not an
 * event at 0.
 */
#include "report/waterfall.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "record/turn.h"
#include "report/format.h"
#include "report/text.h"
#include "report/turn_flags.h"
#include "report/turn_view.h"

enum {
	WATERFALL_LABEL = 18,
	WATERFALL_BAR_MAX = 60,
	WATERFALL_BAR_MIN = 10,
	WATERFALL_LINE_BYTES = 1024
};

struct waterfall_event {
	const char *label;
	double at_ms;
};

static const struct {
	const char *label;
	size_t offset;
} waterfall_offsets[] = {
    {"connected", offsetof(struct turn, connect_ms)},
    {"request sent", offsetof(struct turn, sent_ms)},
    {"first byte", offsetof(struct turn, ttfb_ms)},
    {"generation starts", offsetof(struct turn, gen_start_ms)},
    {"first token", offsetof(struct turn, ttft_ms)},
    {"first text", offsetof(struct turn, first_text_ms)},
    {"tool call ready", offsetof(struct turn, tool_ready_ms)},
    {"last token", offsetof(struct turn, last_token_ms)},
    {"end", offsetof(struct turn, total_ms)},
};

enum {
	WATERFALL_EVENTS = sizeof(waterfall_offsets) /
			   sizeof(*waterfall_offsets)
};

/* One line; what does not fit the width goes on below, indented. */
static void waterfall_line(struct buf *out, size_t width, const char *format,
    ...) __attribute__((format(printf, 3, 4)));

static void
waterfall_line(struct buf *out, size_t width, const char *format, ...)
{
	char line[WATERFALL_LINE_BYTES];
	size_t indent = 0, used = 0;
	const char *p = line;
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	/* A line of a flag or of a pair goes on under its text. */
	if (line[0] == ' ')
		indent = 4;
	while (*p != '\0') {
		size_t n = strspn(p, " "), columns;
		char word[WATERFALL_LINE_BYTES];

		n += strcspn(p + n, " ");
		snprintf(word, sizeof(word), "%.*s", (int)n, p);
		columns = text_width(word);
		if (used > indent && used + columns > width) {
			buf_printf(out, "\n%*s", (int)indent, "");
			used = indent;
			p += strspn(p, " ");
			n = strcspn(p, " ");
			snprintf(word, sizeof(word), "%.*s", (int)n, p);
			columns = text_width(word);
		}
		buf_append_str(out, word);
		used += columns;
		p += n;
	}
	buf_append(out, "\n", 1);
}

static int
waterfall_order(const void *a, const void *b)
{
	const struct waterfall_event *x = a, *y = b;

	if (x->at_ms != y->at_ms)
		return x->at_ms < y->at_ms ? -1 : 1;
	return 0;
}

static size_t
waterfall_events(const struct turn *t, struct waterfall_event *events)
{
	size_t n = 0;

	for (size_t i = 0; i < WATERFALL_EVENTS; i++) {
		double at;

		memcpy(&at, (const char *)t + waterfall_offsets[i].offset,
		    sizeof(at));
		/* 0: the connection was there already. */
		if (isnan(at) || (i == 0 && at == 0))
			continue;
		events[n++] = (struct waterfall_event){
		    waterfall_offsets[i].label, at};
	}
	qsort(events, n, sizeof(*events), waterfall_order);
	return n;
}

static void
waterfall_bar(struct buf *out, double from, double to, double all, size_t size)
{
	size_t start, end;

	start = (size_t)(from / all * (double)size);
	end = (size_t)ceil(to / all * (double)size);
	if (start >= size)
		start = size - 1;
	if (end > size)
		end = size;
	if (end <= start)
		end = start + 1;
	buf_append(out, "|", 1);
	for (size_t i = 0; i < size; i++)
		buf_append(out, i >= start && i < end ? "#" : " ", 1);
	buf_append(out, "|\n", 2);
}

static void
waterfall_times(const struct turn *t, size_t width, struct buf *out)
{
	struct waterfall_event events[WATERFALL_EVENTS];
	size_t n = waterfall_events(t, events);
	size_t left = WATERFALL_LABEL + 2 + 10 + 11 + 4;
	size_t size = width > left ? width - left : 0;
	double before = 0, all;

	if (n == 0) {
		waterfall_line(out, width, "no time was measured");
		return;
	}
	if (size > WATERFALL_BAR_MAX)
		size = WATERFALL_BAR_MAX;
	all = events[n - 1].at_ms > 0 ? events[n - 1].at_ms : 1;
	buf_printf(out, "  %-*s%10s%11s\n", WATERFALL_LABEL, "EVENT", "AT ms",
	    "AFTER ms");
	for (size_t i = 0; i < n; i++) {
		buf_printf(out, "  %-*s%10.1f%11.1f", WATERFALL_LABEL,
		    events[i].label, events[i].at_ms, events[i].at_ms - before);
		if (size >= WATERFALL_BAR_MIN) {
			buf_append(out, "  ", 2);
			waterfall_bar(out, before, events[i].at_ms, all, size);
		} else {
			buf_append(out, "\n", 1);
		}
		before = events[i].at_ms;
	}
	if (t->connect_ms == 0)
		waterfall_line(
		    out, width, "  on a connection that was open already");
}

static void
waterfall_head(const struct turn *t, size_t width, struct buf *out)
{
	char when[FORMAT_BYTES], what[WATERFALL_LINE_BYTES];
	const char *model = t->model != NULL ? t->model : "?";

	format_date_time(t->started_at, when);
	waterfall_line(out, width, "turn %lld   %s   %s/%s",
	    t->seq == TURN_NULL ? 0LL : (long long)t->seq, when,
	    t->upstream != NULL ? t->upstream : "?", model);
	waterfall_line(out, width, "id %s   %s %s", t->id,
	    t->method != NULL ? t->method : "?",
	    t->path != NULL ? t->path : "?");
	if (t->model_served != NULL && strcmp(t->model_served, model) != 0)
		waterfall_line(
		    out, width, "served by another model: %s", t->model_served);
	waterfall_line(out, width, "client %s   session %s%s%s%s   kind %s",
	    t->client != NULL ? t->client : "?",
	    t->session_id != NULL ? t->session_id : "?",
	    t->session_source != NULL ? " (" : "",
	    t->session_source != NULL ? t->session_source : "",
	    t->session_source != NULL ? ")" : "",
	    t->kind != TURN_KIND_NULL ? turn_kind_name(t->kind) : "?");
	if (t->project != NULL)
		waterfall_line(out, width, "project %s%s%s", t->project,
		    t->branch != NULL ? "   branch " : "",
		    t->branch != NULL ? t->branch : "");
	turn_view_outcome(t, what, sizeof(what));
	if (t->status != TURN_NULL)
		waterfall_line(out, width,
		    "outcome %s   status %d   stop %s%s%s%s", what,
		    (int)t->status,
		    t->stop != TURN_STOP_NULL ? turn_stop_name(t->stop) : "?",
		    t->finish_reason != NULL ? " (" : "",
		    t->finish_reason != NULL ? t->finish_reason : "",
		    t->finish_reason != NULL ? ")" : "");
	else
		waterfall_line(out, width, "outcome %s   no answer came", what);
}

static void
waterfall_tokens(const struct turn *t, size_t width, struct buf *out)
{
	const struct {
		const char *label;
		int64_t tokens;
		int64_t whole; /* to tell a share of; TURN_NULL: none */
	} rows[] = {
	    {"input", t->input_tokens, TURN_NULL},
	    {"  not cached", t->uncached_tokens, t->input_tokens},
	    {"  cache read", t->cache_read_tokens, t->input_tokens},
	    {"  cache written", t->cache_write_tokens, t->input_tokens},
	    {"output", t->output_tokens, TURN_NULL},
	    {"  reasoning", t->reasoning_tokens, t->output_tokens},
	};
	static const char *const sources[TURN_USAGE_SOURCE_COUNT] = {
	    [TURN_USAGE_SOURCE_NULL] = "usage unknown",
	    [TURN_USAGE_SOURCE_REPORTED] = "as reported by the provider",
	    [TURN_USAGE_SOURCE_PARTIAL] = "the turn ended early: lower bounds",
	    [TURN_USAGE_SOURCE_ESTIMATED] = "estimated",
	    [TURN_USAGE_SOURCE_NONE] = "the answer held no usage",
	};

	waterfall_line(out, width, "tokens (%s)", sources[t->usage_source]);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		char number[FORMAT_BYTES], share[FORMAT_BYTES] = "";

		format_count(rows[i].tokens, number);
		if (rows[i].tokens != TURN_NULL && rows[i].whole != TURN_NULL &&
		    rows[i].whole > 0)
			format_share(rows[i].tokens, rows[i].whole, share);
		buf_printf(out, "  %-*s%10s%s%s\n", WATERFALL_LABEL,
		    rows[i].label, number, share[0] != '\0' ? "  " : "", share);
	}
}

static void
waterfall_speeds(const struct turn *t, size_t width, struct buf *out)
{
	char usable[FORMAT_BYTES], decode[FORMAT_BYTES];
	char sent[FORMAT_BYTES], got[FORMAT_BYTES];

	format_speed(t->usable_tps, usable);
	format_speed(t->decode_tps, decode);
	waterfall_line(out, width,
	    "speed   usable %s tok/s   decode %s tok/s%s", usable, decode,
	    turn_view_is_hidden(t) && !isnan(t->decode_tps)
		? " (visible tokens only: reasoning was hidden)"
		: "");
	if (!isnan(t->itl_p50_ms))
		waterfall_line(out, width,
		    "gaps between pieces   p50 %.1f ms   p99 %.1f ms   "
		    "longest %.1f ms",
		    t->itl_p50_ms, t->itl_p99_ms, t->itl_max_ms);
	if (t->stalls != TURN_NULL && t->stalls > 0)
		waterfall_line(out, width,
		    "stalls   %lld pauses above 1 s, %.0f ms together",
		    (long long)t->stalls, t->stall_ms);
	format_bytes(t->request_bytes, sent);
	format_bytes(t->response_bytes, got);
	waterfall_line(out, width, "bodies   request %s   answer %s%s", sent,
	    got, t->streaming == 0 ? "   not streamed" : "");
}

/* What the request held, by sizes: nothing else of it is known. */
static void
waterfall_request(const struct turn *t, size_t width, struct buf *out)
{
	char messages[FORMAT_BYTES], system[FORMAT_BYTES], tools[FORMAT_BYTES];
	char user[FORMAT_BYTES], answers[FORMAT_BYTES], results[FORMAT_BYTES];

	if (t->n_messages == TURN_NULL)
		return;
	format_count(t->n_messages, messages);
	format_bytes(t->context_system_bytes, system);
	format_bytes(t->context_tools_bytes, tools);
	format_bytes(t->context_user_bytes, user);
	format_bytes(t->context_assistant_bytes, answers);
	format_bytes(t->context_results_bytes, results);
	waterfall_line(out, width,
	    "context   %s message%s   system %s   tools %s   user %s   "
	    "assistant %s   results %s",
	    messages, t->n_messages == 1 ? "" : "s", system, tools, user,
	    answers, results);
}

static void
waterfall_tools(const struct turn *t, size_t width, struct buf *out)
{
	if (t->n_tools == 0)
		return;
	waterfall_line(out, width, "tools");
	for (size_t i = 0; i < t->n_tools; i++) {
		char bytes[FORMAT_BYTES];

		format_bytes(t->tools[i].result_bytes, bytes);
		waterfall_line(out, width,
		    "  %s   %lld called   results %s, %lld errors",
		    t->tools[i].name, (long long)t->tools[i].calls, bytes,
		    (long long)t->tools[i].result_errors);
	}
}

static void
waterfall_flags(const struct turn *t, size_t width, struct buf *out)
{
	const char *p = t->flags;

	if (p == NULL || p[0] == '\0')
		return;
	waterfall_line(out, width, "flags");
	while (*p != '\0') {
		size_t n = strcspn(p, " ");
		const char *text = turn_flag_text(p, n);

		waterfall_line(out, width, "  %.*s%s%s", (int)n, p,
		    text != NULL ? ": " : "", text != NULL ? text : "");
		p += n;
		p += strspn(p, " ");
	}
}

void
waterfall_print(const struct turn *t, size_t width, struct buf *out)
{
	waterfall_head(t, width, out);
	buf_append(out, "\n", 1);
	waterfall_times(t, width, out);
	buf_append(out, "\n", 1);
	waterfall_tokens(t, width, out);
	buf_append(out, "\n", 1);
	waterfall_speeds(t, width, out);
	waterfall_request(t, width, out);
	waterfall_tools(t, width, out);
	waterfall_flags(t, width, out);
}
