/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * turns: the rows of the database, as a table or as JSON.
 *
 * Two passes over the query for the table: the first learns which columns
 * anybody filled and whether the days differ, the second prints. So a million
 * rows cost no memory.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "command.h"
#include "reading.h"
#include "record/turn.h"
#include "record/turn_json.h"
#include "report/format.h"
#include "report/turn_view.h"
#include "report/when.h"
#include "store/store.h"

enum { TURNS_DEFAULT = 20, TURNS_BUF_BYTES = 1 << 20 };

struct turns {
	struct turn_view view;
	struct buf out;
	struct when_span day; /* of the first turn */
	int64_t n;
	int64_t n_no_usage;
	bool has_days; /* more than one */
	bool is_failed;
};

static bool
turns_json(void *cls, const struct turn *t)
{
	struct turns *s = cls;
	char *line = turn_to_json_line(t);

	s->is_failed = line == NULL || puts(line) < 0;
	free(line);
	return !s->is_failed;
}

static bool
turns_learn(void *cls, const struct turn *t)
{
	struct turns *s = cls;

	if (t->outcome == TURN_OUTCOME_OK && t->kind == TURN_KIND_TURN &&
	    (t->usage_source == TURN_USAGE_SOURCE_NONE ||
		t->usage_source == TURN_USAGE_SOURCE_NULL))
		s->n_no_usage++;
	if (s->n++ == 0)
		s->day = when_day_of(t->started_at);
	if (t->started_at < s->day.start_ms || t->started_at >= s->day.end_ms)
		s->has_days = true;
	turn_view_learn(&s->view, t);
	return true;
}

static bool
turns_row(void *cls, const struct turn *t)
{
	struct turns *s = cls;

	turn_view_row(&s->view, t, &s->out);
	s->is_failed = !reading_flush(&s->out);
	return !s->is_failed;
}

static void
turns_footer(struct turns *s, const struct reading *r)
{
	struct store_counts counts = {0};
	struct store_query all = r->query;
	char n[FORMAT_BYTES], number[FORMAT_BYTES];

	turn_view_notes(&s->view, &s->out);
	all.n = 0;
	if (store_reader_count(r->store, &all, &counts) != 0)
		return;
	format_count(counts.n_turns, number);
	format_count(s->n, n);
	if (s->n < counts.n_turns)
		buf_printf(&s->out, "the newest %s of %s turns; -n 0 for all\n",
		    n, number);
	if (s->n_no_usage > 0) {
		format_count(s->n_no_usage, number);
		buf_printf(&s->out,
		    "%s without usage: the answer held none. Let the client "
		    "ask for it\n(stream_options.include_usage); `turnmeter "
		    "doctor` says for which clients.\n",
		    number);
	}
}

static int
turns_table(const struct reading *r)
{
	struct turns *s = calloc(1, sizeof(*s));
	bool is_on_day;
	int status = CLI_FAILED;

	if (s == NULL)
		return CLI_FAILED;
	buf_init(&s->out, TURNS_BUF_BYTES);
	turn_view_init(&s->view, reading_width(STDOUT_FILENO), false);
	if (store_reader_turns(r->store, &r->query, turns_learn, s) != 0)
		goto out;
	if (s->n == 0) {
		fprintf(stderr, "no turn matches\n");
		status = CLI_DONE;
		goto out;
	}
	is_on_day = !s->has_days;
	s->view.has_date = !is_on_day;
	turn_view_resize(&s->view, s->view.width);
	turn_view_header(&s->view, &s->out);
	if (store_reader_turns(r->store, &r->query, turns_row, s) != 0 ||
	    s->is_failed)
		goto out;
	turns_footer(s, r);
	if (reading_flush(&s->out))
		status = CLI_DONE;
out:
	buf_fini(&s->out);
	free(s);
	return status;
}

static int
cmd_turns_run(const struct cli_call *call)
{
	bool is_json = cli_has(call, "json");
	struct reading r;
	struct turns json = {0};
	int status = reading_open(&r, call, is_json ? 0 : TURNS_DEFAULT);

	if (status != 0)
		goto out;
	if (r.store == NULL) {
		fprintf(stderr,
		    "no turn yet: %s does not exist. Start `turnmeter serve`, "
		    "or a client by `turnmeter run -- CLIENT`\n",
		    r.database);
		goto out;
	}
	if (!is_json)
		status = turns_table(&r);
	else if (store_reader_turns(r.store, &r.query, turns_json, &json) !=
		     0 ||
		 json.is_failed || fflush(stdout) != 0)
		status = CLI_FAILED;
out:
	reading_close(&r);
	return status;
}

const struct cli_command cli_command_turns = {
    .name = "turns",
    .synopsis = "",
    .summary = "List turns from the database",
    .detail =
	"Without --json the newest 20, with it all of them. Columns:\n"
	"CTX all tokens read, NEW of these not from the cache, HIT cache "
	"reads / CTX,\n"
	"OUT all generated, THINK of these reasoning, TTFT seconds to the "
	"first token,\n"
	"DEC/S decode speed, USE/S tokens a second of the whole turn, TC "
	"tool calls.\n"
	"? is unknown, - does not apply, ~ is estimated, >= is a lower "
	"bound.",
    .groups = CLI_GROUP_QUERY,
    .run = cmd_turns_run,
};
