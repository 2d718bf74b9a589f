/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * explain: one turn in full.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "command.h"
#include "reading.h"
#include "record/turn.h"
#include "record/turn_json.h"
#include "report/waterfall.h"
#include "store/store.h"

enum { EXPLAIN_BYTES = 1 << 20, EXPLAIN_ID_MIN = 4 };

struct explain {
	struct turn *turn; /* the first that matched */
	int n;
	bool is_failed;
};

static bool
explain_take(void *cls, const struct turn *t)
{
	struct explain *e = cls;

	e->n++;
	if (e->turn == NULL) {
		e->turn = turn_copy(t);
		e->is_failed = e->turn == NULL;
	}
	return e->n < 2 && !e->is_failed;
}

/* TURN is LAST, a seq, an id or its beginning. Digits alone are a seq first,
 * and the beginning of an id where there is no such turn. */
static int
explain_find(const struct reading *r, const char *name, struct explain *e)
{
	struct store_query q = r->query;
	int64_t seq;
	int status;

	q.n = 0;
	if (strcasecmp(name, "last") == 0) {
		q.n = 1;
		return store_reader_turns(r->store, &q, explain_take, e);
	}
	if (reading_number(name, INT64_MAX, &seq) && seq > 0) {
		q.seq = seq;
		status = store_reader_turns(r->store, &q, explain_take, e);
		if (status != 0 || e->n > 0)
			return status;
		q.seq = 0;
	}
	if (strlen(name) < EXPLAIN_ID_MIN)
		return 0;
	q.id = name;
	return store_reader_turns(r->store, &q, explain_take, e);
}

static int
explain_print(const struct cli_call *call, const struct turn *t)
{
	struct buf out;
	bool is_done;
	char *line;

	if (cli_has(call, "json")) {
		line = turn_to_json_line(t);
		is_done = line != NULL && puts(line) >= 0 &&
			  fflush(stdout) == 0;
		free(line);
		return is_done ? CLI_DONE : CLI_FAILED;
	}
	buf_init(&out, EXPLAIN_BYTES);
	waterfall_print(t, reading_width(STDOUT_FILENO), &out);
	is_done = reading_flush(&out);
	buf_fini(&out);
	return is_done ? CLI_DONE : CLI_FAILED;
}

static int
cmd_explain_run(const struct cli_call *call)
{
	struct reading r;
	struct explain e = {0};
	int status = reading_open(&r, call, 0), result;

	if (status != 0)
		goto out;
	status = CLI_FAILED;
	if (r.store == NULL) {
		cli_fail(call, 0, "no turn yet: %s does not exist", r.database);
		goto out;
	}
	result = explain_find(&r, call->argv[0], &e);
	if (result != 0 || e.is_failed)
		cli_fail(call, 0, "%s: %s", r.database,
		    result != 0 ? strerror(-result) : "no memory");
	else if (e.n == 0)
		cli_fail(call, 0, "no turn '%s'", call->argv[0]);
	else if (e.n > 1)
		cli_fail(call, 0,
		    "'%s' begins the id of more than one turn: give more of it",
		    call->argv[0]);
	else
		status = explain_print(call, e.turn);
out:
	turn_free(e.turn);
	reading_close(&r);
	return status;
}

const struct cli_command cli_command_explain = {
    .name = "explain",
    .synopsis = "TURN",
    .summary = "Show one turn in full: its times, tokens, and every flag",
    .detail = "TURN is a seq, an id or its beginning, or LAST. Filters "
	      "choose among the last\n"
	      "ones: `turnmeter explain LAST --model qwen-3.8-27b`.",
    .groups = CLI_GROUP_FILTER | CLI_GROUP_JSON | CLI_GROUP_DB,
    .min_operands = 1,
    .max_operands = 1,
    .run = cmd_explain_run,
};
