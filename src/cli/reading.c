/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * reading: a database can be read without a daemon and, given by --db, even
 * where the configuration is broken; only its own place comes from there.
 */
#include "reading.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "command.h"
#include "config/config.h"
#include "record/turn.h"
#include "report/when.h"
#include "store/store.h"

enum { READING_WIDTH = 80, READING_WIDTH_MIN = 20, READING_WIDTH_MAX = 1000 };

bool
reading_number(const char *text, int64_t max, int64_t *out)
{
	char *end;
	long long value;

	if (text[0] < '0' || text[0] > '9')
		return false;
	errno = 0;
	value = strtoll(text, &end, 10);
	if (errno != 0 || *end != '\0' || value > max)
		return false;
	*out = value;
	return true;
}

bool
reading_is_terminal(int fd)
{
	const char *term = getenv("TERM");

	return isatty(fd) && (term == NULL || strcmp(term, "dumb") != 0);
}

bool
reading_has_colour(int fd)
{
	const char *no = getenv("NO_COLOR");

	return reading_is_terminal(fd) && (no == NULL || no[0] == '\0');
}

size_t
reading_width(int fd)
{
	const char *columns = getenv("COLUMNS");
	struct winsize size;
	int64_t width = READING_WIDTH;

	if (isatty(fd) && ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
		width = size.ws_col;
	else if (columns != NULL &&
		 !reading_number(columns, READING_WIDTH_MAX, &width))
		width = READING_WIDTH;
	return width < READING_WIDTH_MIN ? READING_WIDTH_MIN : (size_t)width;
}

bool
reading_flush(struct buf *b)
{
	bool is_done = fwrite(buf_data(b), 1, buf_len(b), stdout) ==
			   buf_len(b) &&
		       fflush(stdout) == 0;

	buf_clear(b);
	return is_done;
}

void
reading_base_url(const struct config *c, char *out, size_t size)
{
	const char *host = c->listen_host;

	if (strcmp(host, "0.0.0.0") == 0 || host[0] == '\0')
		host = "127.0.0.1";
	else if (strcmp(host, "::") == 0)
		host = "::1";
	snprintf(out, size,
	    strchr(host, ':') != NULL ? "http://[%s]:%d" : "http://%s:%d", host,
	    c->listen_port);
}

const char *
reading_project(const struct cli_call *call, char *room, size_t size)
{
	const char *project = cli_value(call, "project"), *name;

	if (project == NULL || strcmp(project, ".") != 0)
		return project;
	if (getcwd(room, size) == NULL)
		return NULL;
	name = strrchr(room, '/');
	return name != NULL && name[1] != '\0' ? name + 1 : room;
}

/* One of --since and --until; WANT_END: where the span ends. */
static int
reading_when(const struct cli_call *call, const char *option, bool want_end,
    int64_t *ms_out)
{
	const char *text = cli_value(call, option);
	struct when_span span;

	if (text == NULL)
		return 0;
	if (when_parse(text, clock_wall_ms(), &span) != 0)
		return cli_fail(call, CLI_USAGE,
		    "--%s: '%s' is no time: 30d, 24h, 2026-11, 2026-11-30, "
		    "2026-11-30T14:02",
		    option, text);
	*ms_out = want_end ? span.end_ms : span.start_ms;
	return 0;
}

static int
reading_sort(const struct cli_call *call, struct store_query *q)
{
	const char *sort = cli_value(call, "sort");

	if (sort == NULL)
		return 0;
	if (sort[0] == '-') {
		q->is_descending = true;
		sort++;
	}
	if (turn_field_find(sort) == NULL)
		return cli_fail(call, CLI_USAGE,
		    "--sort: no column '%s'; its names are the keys of "
		    "`turns --json`",
		    sort);
	q->sort = sort;
	return 0;
}

static int
reading_query(
    const struct cli_call *call, struct store_query *q, int64_t n_default)
{
	const char *n = cli_value(call, "n");
	int status;

	q->n = n_default;
	if (n != NULL && !reading_number(n, INT64_MAX, &q->n))
		return cli_fail(
		    call, CLI_USAGE, "-n: '%s' is no count of rows", n);
	status = reading_when(call, "since", false, &q->since_ms);
	if (status == 0)
		status = reading_when(call, "until", true, &q->until_ms);
	if (status == 0)
		status = reading_sort(call, q);
	if (status != 0)
		return status;
	q->upstream = cli_value(call, "upstream");
	q->model = cli_value(call, "model");
	q->session = cli_value(call, "session");
	q->project = cli_value(call, "project");
	q->client = cli_value(call, "client");
	q->kind = cli_value(call, "kind");
	if (q->kind != NULL &&
	    turn_field_enum_value(turn_field_find("kind"), q->kind) <= 0)
		return cli_fail(call, CLI_USAGE,
		    "--kind: '%s' is none of turn, side, compaction, count, "
		    "embedding, other",
		    q->kind);
	return 0;
}

static int
reading_zone(const struct cli_call *call, const struct config *config)
{
	const char *zone = cli_value(call, "tz");

	if (zone == NULL && config != NULL)
		zone = config->timezone;
	if (when_set_zone(zone) != 0)
		return cli_fail(
		    call, CLI_USAGE, "--tz: no time zone '%s'", zone);
	return 0;
}

int
reading_open_anyway(
    struct reading *r, const struct cli_call *call, int64_t n_default)
{
	int status, result;

	memset(r, 0, sizeof(*r));
	r->database = cli_value(call, "db");
	status = cli_config(call, &r->config);
	if (status != 0 && (r->database == NULL || cli_has(call, "config")))
		return status;
	if (r->database == NULL)
		r->database = r->config->database;
	status = reading_zone(call, r->config);
	if (status == 0)
		status = reading_query(call, &r->query, n_default);
	if (status != 0)
		return status;
	result = store_reader_open(r->database, &r->store, &r->store_error);
	if (result == -ENOENT && !cli_has(call, "db")) {
		free(r->store_error);
		r->store_error = NULL;
		return 0;
	}
	if (result != 0 && r->store_error == NULL)
		r->store_error = strdup(strerror(-result));
	r->store_result = result;
	return 0;
}

int
reading_open(struct reading *r, const struct cli_call *call, int64_t n_default)
{
	int status = reading_open_anyway(r, call, n_default);

	if (status == 0 && r->store_error != NULL)
		status = cli_fail(call, CLI_FAILED, "%s", r->store_error);
	return status;
}

void
reading_close(struct reading *r)
{
	store_reader_close(r->store);
	free(r->store_error);
	config_free(r->config);
	memset(r, 0, sizeof(*r));
}
