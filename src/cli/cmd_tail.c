/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * tail: the last turns from the database, then each turn as it ends.
 *
 *   database --rows--> [ tail ] <--events-- follow (the daemon's feed)
 *                         |
 *                      screen: rows and notices scroll; turns in flight stand
 *                      below them, on a terminal
 *
 * The feed is asked for what came after the last row read, so the seam between
 * database and feed loses nothing and shows nothing twice.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "command.h"
#include "config/config.h"
#include "follow.h"
#include "reading.h"
#include "record/turn.h"
#include "record/turn_json.h"
#include "report/text.h"
#include "report/turn_view.h"
#include "screen.h"
#include "store/store.h"

enum {
	TAIL_DEFAULT = 10,
	TAIL_LIVE_MAX = 1024,
	TAIL_STEP_MS = 1000,
	TAIL_LINE_BYTES = 4096
};

struct tail {
	const struct cli_call *call;
	struct reading reading;
	struct screen screen;
	struct turn_view view;
	struct buf line;
	struct turn *live[TAIL_LIVE_MAX]; /* in the order of their start */
	size_t n_live;
	char base_url[256];
	int64_t last_seq; /* shown; -1: none */
	int64_t last_started_at;
	int signals; /* descriptor */
	bool is_json;
	bool has_rows;   /* something was shown, so the hint is not due */
	bool has_header; /* of the columns */
	bool is_hinted;
	bool is_done;
};

/* "opencode" is every version of it. */
static bool
tail_wants_client(const char *wanted, const char *client)
{
	size_t n;

	if (wanted == NULL)
		return true;
	n = strlen(wanted);
	return client != NULL && strncmp(client, wanted, n) == 0 &&
	       (client[n] == '\0' || client[n] == '/');
}

/* Whether a turn of the feed is one that the user asked for; the database
 * asks the same of its rows (store/query.h). */
static bool
tail_wants(const struct store_query *q, const struct turn *t)
{
	const char *const pairs[][2] = {
	    {q->upstream, t->upstream},
	    {q->session, t->session_id},
	    {q->project, t->project},
	    {q->kind, turn_kind_name(t->kind)},
	};

	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++)
		if (pairs[i][0] != NULL &&
		    (pairs[i][1] == NULL ||
			strcmp(pairs[i][0], pairs[i][1]) != 0))
			return false;
	if (!tail_wants_client(q->client, t->client))
		return false;
	if (q->model == NULL)
		return true;
	return (t->model != NULL && strcmp(q->model, t->model) == 0) ||
	       (t->model_served != NULL &&
		   strcmp(q->model, t->model_served) == 0);
}

static enum screen_colour
tail_colour(const struct turn *t)
{
	switch (t->outcome) {
	case TURN_OUTCOME_OK: break;
	case TURN_OUTCOME_RATE_LIMITED:
	case TURN_OUTCOME_OVERLOADED:
	case TURN_OUTCOME_REFUSED: return SCREEN_RED;
	default: return SCREEN_YELLOW;
	}
	return t->kind == TURN_KIND_TURN || t->kind == TURN_KIND_NULL
		   ? SCREEN_PLAIN
		   : SCREEN_DIM;
}

static void
tail_header(struct tail *s)
{
	buf_clear(&s->line);
	turn_view_header(&s->view, &s->line);
	screen_lines(
	    &s->screen, SCREEN_PLAIN, buf_data(&s->line), buf_len(&s->line));
	s->has_header = true;
}

/* A finished turn: one line for ever. */
static void
tail_row(struct tail *s, const struct turn *t)
{
	s->has_rows = true;
	if (s->is_json) {
		char *line = turn_to_json_line(t);

		if (line != NULL)
			screen_lines(
			    &s->screen, SCREEN_PLAIN, line, strlen(line));
		free(line);
		return;
	}
	/* In a pipe the columns stay those of the one header. */
	if ((s->screen.is_terminal || !s->has_header) &&
	    turn_view_learn(&s->view, t))
		s->has_header = false;
	if (!s->has_header)
		tail_header(s);
	buf_clear(&s->line);
	turn_view_row(&s->view, t, &s->line);
	screen_lines(
	    &s->screen, tail_colour(t), buf_data(&s->line), buf_len(&s->line));
	buf_clear(&s->line);
	turn_view_notes(&s->view, &s->line);
	if (buf_len(&s->line) > 0)
		screen_lines(&s->screen, SCREEN_DIM, buf_data(&s->line),
		    buf_len(&s->line));
}

/* A line of tail's own: among the rows on a terminal, else to stderr. */
static void
tail_say(struct tail *s, const char *text)
{
	if (s->screen.is_terminal && !s->is_json) {
		screen_words(&s->screen, SCREEN_YELLOW, "  ", text);
		return;
	}
	screen_flush(&s->screen);
	fprintf(stderr, "turnmeter tail: %s\n", text);
}

static void
tail_foot(struct tail *s)
{
	int64_t now = clock_wall_ms();
	size_t shown = s->n_live;

	if (!s->screen.is_terminal || s->is_json) {
		screen_flush(&s->screen);
		return;
	}
	if (shown > SCREEN_FOOT_MAX)
		shown = SCREEN_FOOT_MAX - 1;
	buf_clear(&s->line);
	for (size_t i = 0; i < shown; i++)
		turn_view_live_row(&s->view, s->live[i],
		    (double)(now - s->live[i]->started_at), &s->line);
	if (shown < s->n_live)
		buf_printf(&s->line, "now      %zu more in flight\n",
		    s->n_live - shown);
	screen_foot(&s->screen, buf_data(&s->line), buf_len(&s->line));
}

static void
tail_live_remove(struct tail *s, const char *id)
{
	for (size_t i = 0; i < s->n_live; i++) {
		if (strcmp(s->live[i]->id, id) != 0)
			continue;
		turn_free(s->live[i]);
		s->n_live--;
		memmove(&s->live[i], &s->live[i + 1],
		    (s->n_live - i) * sizeof(*s->live));
		return;
	}
}

/* Takes the turn. */
static void
tail_live_put(struct tail *s, struct turn *t)
{
	for (size_t i = 0; i < s->n_live; i++) {
		if (strcmp(s->live[i]->id, t->id) == 0) {
			turn_free(s->live[i]);
			s->live[i] = t;
			return;
		}
	}
	if (s->n_live < TAIL_LIVE_MAX)
		s->live[s->n_live++] = t;
	else
		turn_free(t);
}

static void
tail_live_clear(struct tail *s)
{
	while (s->n_live > 0)
		turn_free(s->live[--s->n_live]);
}

static void
tail_notice(struct tail *s, const json_t *event)
{
	const char *level = json_string_value(json_object_get(event, "level"));
	const char *text = json_string_value(json_object_get(event, "text"));
	enum screen_colour colour = SCREEN_YELLOW;
	char first[64];

	if (s->is_json) {
		char *line = json_dumps(event, JSON_COMPACT);

		if (line != NULL)
			screen_lines(
			    &s->screen, SCREEN_PLAIN, line, strlen(line));
		free(line);
		return;
	}
	if (level == NULL || strcmp(level, "info") == 0 ||
	    strcmp(level, "notice") == 0) {
		snprintf(first, sizeof(first), "  notice: ");
	} else {
		/* The word stands there too, not the colour alone. */
		snprintf(first, sizeof(first), "  %.40s: ", level);
		for (char *p = first; *p != '\0'; p++)
			if (*p >= 'a' && *p <= 'z')
				*p = (char)(*p - 'a' + 'A');
		if (strcmp(level, "warning") != 0)
			colour = SCREEN_RED;
	}
	screen_words(&s->screen, colour, first, text != NULL ? text : "?");
}

static void
tail_finished(struct tail *s, struct turn *t)
{
	tail_live_remove(s, t->id);
	/* A sequence that begins again is another database, not a repeat. */
	if (t->seq != TURN_NULL && t->seq <= s->last_seq &&
	    t->started_at <= s->last_started_at)
		return;
	s->last_seq = t->seq;
	if (t->started_at > s->last_started_at)
		s->last_started_at = t->started_at;
	if (tail_wants(&s->reading.query, t))
		tail_row(s, t);
}

static void
tail_event(void *cls, const char *name, const json_t *event)
{
	struct tail *s = cls;
	struct turn *t;

	if (strcmp(name, "notice") == 0) {
		tail_notice(s, event);
		tail_foot(s);
		return;
	}
	if (!json_is_string(json_object_get(event, "id")))
		return;
	t = turn_from_json(event);
	if (t == NULL)
		return;
	if (strcmp(name, "finished") == 0) {
		tail_finished(s, t);
		turn_free(t);
	} else if (tail_wants(&s->reading.query, t) && !s->is_json) {
		tail_live_put(s, t);
	} else {
		turn_free(t);
	}
	tail_foot(s);
}

/* Never a blank screen: where it listens, and how to get a client there. */
static void
tail_hint(struct tail *s)
{
	static const char *const lines[] = {
	    "  Start a client with its base URL pointing here:",
	    "      turnmeter run -- opencode        (this once)",
	    "      turnmeter connect opencode       (for good; shows the "
	    "change first)",
	    "  The same with claude and codex; `turnmeter env` has the "
	    "variables for others.",
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		char indent[16] = "";
		size_t n = strlen(lines[i]);

		if (n <= s->screen.width) {
			screen_lines(&s->screen, SCREEN_PLAIN, lines[i], n);
			continue;
		}
		snprintf(indent, sizeof(indent), "%.*s",
		    (int)strspn(lines[i], " "), lines[i]);
		screen_words(&s->screen, SCREEN_PLAIN, indent, lines[i]);
	}
	s->is_hinted = true;
}

static void
tail_up(void *cls)
{
	struct tail *s = cls;
	char text[400];

	snprintf(text, sizeof(text), "listening on %s%s",
	    s->base_url + strlen("http://"),
	    s->has_rows || s->is_hinted ? "" : ", no request yet");
	if (!s->is_json && s->screen.is_terminal) {
		screen_words(
		    &s->screen, SCREEN_PLAIN, "turnmeter tail   ", text);
	}
	if (!s->has_rows && !s->is_hinted && s->screen.is_terminal &&
	    !s->is_json)
		tail_hint(s);
	else if (!s->has_rows && !s->is_hinted)
		fprintf(stderr, "turnmeter tail: %s\n", text);
	s->is_hinted = true;
	tail_foot(s);
}

static void
tail_down(void *cls, const char *reason)
{
	struct tail *s = cls;
	char text[600];

	/* What was in flight ends elsewhere; the feed will tell of it. */
	tail_live_clear(s);
	snprintf(text, sizeof(text),
	    "no daemon reachable at %s (%s); waiting for it. Start it: "
	    "turnmeter serve",
	    s->base_url, reason);
	tail_say(s, text);
	tail_foot(s);
}

static const struct follow_handler tail_handler = {
    .event = tail_event,
    .up = tail_up,
    .down = tail_down,
};

static bool
tail_learn(void *cls, const struct turn *t)
{
	struct tail *s = cls;

	turn_view_learn(&s->view, t);
	return true;
}

static bool
tail_past(void *cls, const struct turn *t)
{
	struct tail *s = cls;

	if (t->seq > s->last_seq)
		s->last_seq = t->seq;
	if (t->started_at > s->last_started_at)
		s->last_started_at = t->started_at;
	tail_row(s, t);
	return !s->screen.is_broken;
}

/* What the database holds; the feed goes on behind its last row. */
static int
tail_read_past(struct tail *s)
{
	struct reading *r = &s->reading;
	struct store_counts counts = {0};
	int status;

	if (r->store == NULL)
		return CLI_DONE;
	/* The bound first: what is committed behind it comes by the feed, or
	 * is among the rows already and raises the bound (tail_past). */
	status = store_reader_count(r->store, &r->query, &counts);
	s->last_seq = counts.last_seq;
	if (status == 0)
		status = store_reader_turns(r->store, &r->query, tail_learn, s);
	if (status == 0)
		status = store_reader_turns(r->store, &r->query, tail_past, s);
	screen_flush(&s->screen);
	if (status != 0)
		return cli_fail(s->call, CLI_FAILED, "%s: %s", r->database,
		    strerror(-status));
	return CLI_DONE;
}

static int
tail_take_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGWINCH);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
}

static void
tail_read_signals(struct tail *s)
{
	struct signalfd_siginfo info;

	while (read(s->signals, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo != SIGWINCH) {
			s->is_done = true;
		} else if (screen_resize(&s->screen)) {
			turn_view_resize(&s->view, s->screen.width);
			if (s->has_header)
				tail_header(s);
		}
	}
}

static int
tail_follow(struct tail *s)
{
	const struct config *c = s->reading.config;
	struct follow *f;

	reading_base_url(c, s->base_url, sizeof(s->base_url));
	f = follow_new(s->base_url, c->token, s->last_seq, &tail_handler, s);
	if (f == NULL)
		return cli_fail(s->call, CLI_FAILED, "no memory");
	s->signals = tail_take_signals();
	while (!s->is_done && !screen_is_gone(&s->screen)) {
		follow_step(f, TAIL_STEP_MS, s->signals);
		tail_read_signals(s);
		tail_foot(s);
	}
	follow_free(f);
	close(s->signals);
	return CLI_DONE;
}

static int
cmd_tail_run(const struct cli_call *call)
{
	struct tail *s = calloc(1, sizeof(*s));
	int status;

	if (s == NULL)
		return cli_fail(call, CLI_FAILED, "no memory");
	s->call = call;
	s->is_json = cli_has(call, "json");
	s->last_seq = -1;
	buf_init(&s->line, TAIL_LINE_BYTES * SCREEN_FOOT_MAX);
	screen_init(&s->screen);
	turn_view_init(&s->view, s->screen.width, false);
	status = reading_open(&s->reading, call, TAIL_DEFAULT);
	if (status == 0)
		status = tail_read_past(s);
	if (status == 0 && !cli_has(call, "no-follow")) {
		if (s->reading.config == NULL)
			status = cli_fail(call, CLI_FAILED,
			    "without a configuration there is no daemon to "
			    "follow; --no-follow reads the database alone");
		else
			status = tail_follow(s);
	}
	tail_live_clear(s);
	screen_fini(&s->screen);
	buf_fini(&s->line);
	reading_close(&s->reading);
	free(s);
	return status;
}

static const struct cli_option tail_options[] = {
    {"n", 'n', "N", "begin with the last N turns (10); 0 for all"},
    {"no-follow", 0, NULL, "end after them, the daemon is not asked"},
    {0},
};

const struct cli_command cli_command_tail = {
    .name = "tail",
    .synopsis = "",
    .summary = "Show each turn as it ends, beginning with the last ones",
    .detail =
	"CTX all tokens read, NEW of these not from the cache, HIT cache reads "
	"/ CTX,\n"
	"OUT all generated, THINK of these reasoning, TTFT seconds to the "
	"first token,\n"
	"DEC/S decode speed, USE/S tokens a second of the whole turn, TC tool "
	"calls.\n"
	"? is unknown, - does not apply, ~ is estimated, >= is a lower bound.\n"
	"\n"
	"With --json: one finished turn or notice a line. Waits for a daemon "
	"that is not\n"
	"there, and goes on where it stopped.",
    .options = tail_options,
    .groups = CLI_GROUP_FILTER | CLI_GROUP_JSON | CLI_GROUP_DB,
    .run = cmd_tail_run,
};
