/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * turn_view: the columns are a table; each knows its width, when it goes on a
 * narrow terminal, and how a turn fills it.
 */
#include "report/turn_view.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "report/format.h"

/* The footnotes, one bit each. */
enum {
	TURN_NOTE_HIDDEN = 1 << 0,
	TURN_NOTE_BURST = 1 << 1,
	TURN_NOTE_WHOLE = 1 << 2,
	TURN_NOTE_FEW = 1 << 3,
	TURN_NOTE_ESTIMATED = 1 << 4,
	TURN_NOTE_BOUND = 1 << 5
};

static const struct {
	unsigned bit;
	const char *text;
} turn_notes[] = {
    {TURN_NOTE_HIDDEN, "h = hidden reasoning before the first token; DEC/S "
		       "counts visible tokens"},
    {TURN_NOTE_BURST, "b = the answer came in one burst: no decode speed"},
    {TURN_NOTE_WHOLE, "n = not streamed"},
    {TURN_NOTE_FEW, "p = fewer than 8 pieces: decode speed withheld"},
    {TURN_NOTE_ESTIMATED, "~ = estimated, not reported by the provider"},
    {TURN_NOTE_BOUND, ">= = lower bound: the turn ended early"},
};

enum { TURN_CELL_BYTES = 300, TURN_MODEL_LONG = 18, TURN_PIECES_MIN = 8 };

struct turn_column {
	struct table_column table;
	/* Absent until a turn has it; NULL: always there. */
	bool (*is_known)(const struct turn *t);
	void (*cell)(struct turn_view *v, const struct turn *t, char *out);
};

bool
turn_view_is_hidden(const struct turn *t)
{
	int64_t shown = t->reasoning_bytes == TURN_NULL ? 0
							: t->reasoning_bytes;

	/* Fewer than 1.5 bytes a token: not streamed, or a summary of it. */
	return t->streaming == 1 && t->reasoning_tokens != TURN_NULL &&
	       t->reasoning_tokens > 0 &&
	       (double)shown < 1.5 * (double)t->reasoning_tokens;
}

char
turn_view_letter(struct turn_view *v, const char *id)
{
	size_t oldest = 0;

	if (id == NULL)
		return '?';
	v->n_uses++;
	for (size_t i = 0; i < TURN_VIEW_SESSIONS; i++) {
		if (v->sessions[i].used == 0 ||
		    strcmp(v->sessions[i].id, id) == 0) {
			oldest = i;
			break;
		}
		if (v->sessions[i].used < v->sessions[oldest].used)
			oldest = i;
	}
	snprintf(
	    v->sessions[oldest].id, sizeof(v->sessions[oldest].id), "%s", id);
	v->sessions[oldest].used = v->n_uses;
	return (char)(oldest < 26 ? 'a' + oldest : 'A' + (oldest - 26));
}

static bool
turn_has_tokens(const struct turn *t)
{
	return t->kind != TURN_KIND_COUNT_TOKENS &&
	       t->kind != TURN_KIND_EMBEDDING;
}

/* A count of tokens, with what is to be said about its truth before it. */
static void
turn_cell_tokens(struct turn_view *v, const struct turn *t, int64_t tokens,
    bool is_generated, char *out)
{
	char number[FORMAT_BYTES];
	const char *mark = "";

	format_tokens(tokens, number);
	if (tokens != TURN_NULL &&
	    t->usage_source == TURN_USAGE_SOURCE_ESTIMATED) {
		mark = "~";
		v->notes |= TURN_NOTE_ESTIMATED;
	} else if (tokens != TURN_NULL && is_generated &&
		   t->usage_source == TURN_USAGE_SOURCE_PARTIAL) {
		mark = ">=";
		v->notes |= TURN_NOTE_BOUND;
	}
	snprintf(out, TURN_CELL_BYTES, "%s%s", mark, number);
}

static void
turn_cell_time(struct turn_view *v, const struct turn *t, char *out)
{
	if (v->has_date)
		format_date_time(t->started_at, out);
	else
		format_clock(t->started_at, out);
}

static void
turn_cell_session(struct turn_view *v, const struct turn *t, char *out)
{
	out[0] = turn_view_letter(v, t->session_id);
	out[1] = '\0';
}

static bool
turn_knows_project(const struct turn *t)
{
	return t->project != NULL;
}

static void
turn_cell_project(struct turn_view *v, const struct turn *t, char *out)
{
	(void)v;
	snprintf(out, TURN_CELL_BYTES, "%.140s%s%.140s",
	    t->project != NULL ? t->project : "?", t->branch != NULL ? "@" : "",
	    t->branch != NULL ? t->branch : "");
}

static void turn_cell_model(
    struct turn_view *v, const struct turn *t, char *out);

static void
turn_cell_context(struct turn_view *v, const struct turn *t, char *out)
{
	turn_cell_tokens(v, t, t->input_tokens, false, out);
}

static void
turn_cell_new(struct turn_view *v, const struct turn *t, char *out)
{
	int64_t n = TURN_NULL;

	/* What the cache did not give, written to it or not. */
	if (t->input_tokens != TURN_NULL && t->cache_read_tokens != TURN_NULL)
		n = t->input_tokens - t->cache_read_tokens;
	turn_cell_tokens(v, t, n, false, out);
}

static void
turn_cell_hit(struct turn_view *v, const struct turn *t, char *out)
{
	(void)v;
	format_share(t->cache_read_tokens, t->input_tokens, out);
}

static void
turn_cell_out(struct turn_view *v, const struct turn *t, char *out)
{
	if (!turn_has_tokens(t) && t->output_tokens == TURN_NULL)
		strcpy(out, "-");
	else
		turn_cell_tokens(v, t, t->output_tokens, true, out);
}

static void
turn_cell_think(struct turn_view *v, const struct turn *t, char *out)
{
	if (!turn_has_tokens(t) && t->reasoning_tokens == TURN_NULL)
		strcpy(out, "-");
	else
		turn_cell_tokens(v, t, t->reasoning_tokens, true, out);
}

static void
turn_cell_ttft(struct turn_view *v, const struct turn *t, char *out)
{
	char number[FORMAT_BYTES];
	bool is_hidden = turn_view_is_hidden(t) && !isnan(t->ttft_ms);

	if (isnan(t->ttft_ms) && (!turn_has_tokens(t) || t->streaming == 0)) {
		strcpy(out, "-");
		return;
	}
	format_seconds(t->ttft_ms, number);
	if (is_hidden)
		v->notes |= TURN_NOTE_HIDDEN;
	snprintf(out, TURN_CELL_BYTES, "%s%s", number, is_hidden ? "h" : "");
}

static void
turn_cell_decode(struct turn_view *v, const struct turn *t, char *out)
{
	char number[FORMAT_BYTES];

	if (!isnan(t->decode_tps)) {
		bool is_hidden = turn_view_is_hidden(t);

		format_speed(t->decode_tps, number);
		if (is_hidden)
			v->notes |= TURN_NOTE_HIDDEN;
		snprintf(
		    out, TURN_CELL_BYTES, "%s%s", number, is_hidden ? "h" : "");
	} else if (!turn_has_tokens(t)) {
		strcpy(out, "-");
	} else if (t->streaming == 0) {
		v->notes |= TURN_NOTE_WHOLE;
		strcpy(out, "-n");
	} else if (turn_has_flag(t, "burst")) {
		bool is_few = t->n_pieces != TURN_NULL &&
			      t->n_pieces < TURN_PIECES_MIN;

		v->notes |= is_few ? TURN_NOTE_FEW : TURN_NOTE_BURST;
		strcpy(out, is_few ? "-p" : "-b");
	} else {
		strcpy(out, "?");
	}
}

static void
turn_cell_usable(struct turn_view *v, const struct turn *t, char *out)
{
	(void)v;
	if (isnan(t->usable_tps) && !turn_has_tokens(t))
		strcpy(out, "-");
	else
		format_speed(t->usable_tps, out);
}

static void
turn_cell_calls(struct turn_view *v, const struct turn *t, char *out)
{
	(void)v;
	if (t->tool_calls == TURN_NULL && !turn_has_tokens(t))
		strcpy(out, "-");
	else
		format_count(t->tool_calls, out);
}

static bool
turn_knows_gap(const struct turn *t)
{
	return !isnan(t->gap_ms);
}

static void
turn_cell_gap(struct turn_view *v, const struct turn *t, char *out)
{
	(void)v;
	if (t->gap_kind == TURN_GAP_KIND_HUMAN)
		strcpy(out, "human");
	else if (isnan(t->gap_ms) && t->turn_index == 1)
		strcpy(out, "-");
	else
		format_seconds(t->gap_ms, out);
}

static void
turn_cell_stop(struct turn_view *v, const struct turn *t, char *out)
{
	static const char *const stops[TURN_STOP_COUNT] = {
	    [TURN_STOP_NULL] = "?",
	    [TURN_STOP_FINAL] = "final",
	    [TURN_STOP_TOOL_CALLS] = "tools",
	    [TURN_STOP_LENGTH] = "length",
	    [TURN_STOP_FILTERED] = "filter",
	    [TURN_STOP_UNKNOWN] = "?",
	};
	static const char *const outcomes[TURN_OUTCOME_COUNT] = {
	    [TURN_OUTCOME_STREAM_ERROR] = "error",
	    [TURN_OUTCOME_CLIENT_CLOSED] = "abort",
	    [TURN_OUTCOME_UPSTREAM_RESET] = "reset",
	    [TURN_OUTCOME_UPSTREAM_TRUNCATED] = "cut",
	    [TURN_OUTCOME_INCOMPLETE] = "no end",
	    [TURN_OUTCOME_CONNECT_FAILED] = "noconn",
	    [TURN_OUTCOME_TIMEOUT] = "time",
	    [TURN_OUTCOME_REFUSED] = "refuse",
	    [TURN_OUTCOME_INTERRUPTED] = "killed",
	};

	(void)v;
	if (outcomes[t->outcome] != NULL)
		strcpy(out, outcomes[t->outcome]);
	else if (t->outcome != TURN_OUTCOME_OK && t->status != TURN_NULL)
		snprintf(out, TURN_CELL_BYTES, "%d", (int)t->status);
	else if (t->kind == TURN_KIND_COUNT_TOKENS)
		strcpy(out, "count");
	else if (t->kind == TURN_KIND_EMBEDDING)
		strcpy(out, "embed");
	else
		strcpy(out, stops[t->stop]);
}

static bool
turn_knows_cost(const struct turn *t)
{
	return t->cost_source != TURN_COST_SOURCE_NULL;
}

static void
turn_cell_cost(struct turn_view *v, const struct turn *t, char *out)
{
	(void)v;
	if (t->cost_pusd != TURN_NULL)
		format_turn_cost(t->cost_pusd, out);
	else if (t->cost_source == TURN_COST_SOURCE_PLAN)
		strcpy(out, "plan");
	else if (t->cost_source == TURN_COST_SOURCE_UNPRICED)
		strcpy(out, "noprice");
	else
		strcpy(out, "?");
}

enum { TURN_COLUMN_MODEL = 3, TURN_COLUMN_AFTER_HIT = 7 };

/* Name; right-aligned; goes at; width; may shrink to. */
static const struct turn_column turn_columns[] = {
    {{"TIME", false, 0, 8, 0, false}, NULL, turn_cell_time},
    {{"S", false, 2, 1, 0, false}, NULL, turn_cell_session},
    {{"PROJECT@BRANCH", false, 8, 14, 14, false}, turn_knows_project,
	turn_cell_project},
    {{"MODEL", false, 0, 30, 12, false}, NULL, turn_cell_model},
    {{"CTX", true, 0, 6, 0, false}, NULL, turn_cell_context},
    {{"NEW", true, 5, 6, 0, false}, NULL, turn_cell_new},
    {{"HIT", true, 1, 4, 0, false}, NULL, turn_cell_hit},
    {{"OUT", true, 0, 5, 0, false}, NULL, turn_cell_out},
    {{"THINK", true, 7, 5, 0, false}, NULL, turn_cell_think},
    {{"TTFT", true, 1, 5, 0, false}, NULL, turn_cell_ttft},
    {{"DEC/S", true, 3, 5, 0, false}, NULL, turn_cell_decode},
    {{"USE/S", true, 0, 5, 0, false}, NULL, turn_cell_usable},
    {{"TC", true, 9, 3, 0, false}, NULL, turn_cell_calls},
    {{"GAP", true, 10, 5, 0, false}, turn_knows_gap, turn_cell_gap},
    {{"STOP", false, 4, 6, 0, false}, NULL, turn_cell_stop},
    {{"COST", true, 6, 7, 0, false}, turn_knows_cost, turn_cell_cost},
};

enum { TURN_COLUMNS = sizeof(turn_columns) / sizeof(*turn_columns) };
_Static_assert(
    (int)TURN_COLUMNS <= (int)TABLE_COLUMNS_MAX, "a layout holds them all");

static void
turn_cell_model(struct turn_view *v, const struct turn *t, char *out)
{
	const char *model = t->model_served != NULL ? t->model_served
						    : t->model;

	/* The name asked for is what the user knows; what served stands in
	 * `explain`. */
	if (t->model != NULL)
		model = t->model;
	if (model == NULL)
		model = t->path != NULL ? t->path : "?";
	if (v->layout.widths[TURN_COLUMN_MODEL] < TURN_MODEL_LONG)
		snprintf(out, TURN_CELL_BYTES, "%s", model);
	else
		snprintf(out, TURN_CELL_BYTES, "%s%s%s",
		    t->upstream != NULL ? t->upstream : "?",
		    model[0] == '/' ? "" : "/", model);
}

static void
turn_view_lay(struct turn_view *v)
{
	struct table_column columns[TURN_COLUMNS];

	for (size_t i = 0; i < TURN_COLUMNS; i++) {
		columns[i] = turn_columns[i].table;
		columns[i].is_absent = turn_columns[i].is_known != NULL &&
				       (v->known & 1u << i) == 0;
	}
	if (v->has_date)
		columns[0].width = 19;
	table_layout(&v->layout, columns, TURN_COLUMNS, v->width);
	if (v->layout.widths[TURN_COLUMN_MODEL] >= TURN_MODEL_LONG)
		v->layout.columns[TURN_COLUMN_MODEL].name = "UPSTREAM/MODEL";
}

void
turn_view_init(struct turn_view *v, size_t width, bool has_date)
{
	memset(v, 0, sizeof(*v));
	v->width = width;
	v->has_date = has_date;
	turn_view_lay(v);
}

void
turn_view_resize(struct turn_view *v, size_t width)
{
	v->width = width;
	turn_view_lay(v);
}

bool
turn_view_learn(struct turn_view *v, const struct turn *t)
{
	unsigned known = v->known;

	for (size_t i = 0; i < TURN_COLUMNS; i++)
		if (turn_columns[i].is_known != NULL &&
		    turn_columns[i].is_known(t))
			known |= 1u << i;
	if (known == v->known)
		return false;
	v->known = known;
	turn_view_lay(v);
	return true;
}

void
turn_view_header(const struct turn_view *v, struct buf *out)
{
	table_header(&v->layout, out);
}

typedef char turn_cell_text[TURN_CELL_BYTES];

/* What the end of a turn was, in words; and of what kind, or NULL. */
static const char *
turn_outcome_words(
    const struct turn *t, char status[FORMAT_BYTES], const char **error_out)
{
	static const char *const words[TURN_OUTCOME_COUNT] = {
	    [TURN_OUTCOME_NULL] = "outcome unknown",
	    [TURN_OUTCOME_OK] = "ok",
	    [TURN_OUTCOME_STREAM_ERROR] = "error inside the stream",
	    [TURN_OUTCOME_CLIENT_CLOSED] = "client closed",
	    [TURN_OUTCOME_UPSTREAM_RESET] = "upstream reset the connection",
	    [TURN_OUTCOME_UPSTREAM_TRUNCATED] = "upstream cut the answer",
	    [TURN_OUTCOME_INCOMPLETE] = "ended without its last event",
	    [TURN_OUTCOME_CONNECT_FAILED] = "no connection to the upstream",
	    [TURN_OUTCOME_TIMEOUT] = "timed out",
	    [TURN_OUTCOME_REFUSED] = "refused by turnmeter",
	    [TURN_OUTCOME_INTERRUPTED] = "interrupted: the daemon stopped",
	};

	*error_out = t->limit_dimension != NULL
			 ? t->limit_dimension
			 : turn_error_kind_name(t->error_kind);
	if (t->outcome == TURN_OUTCOME_OK)
		*error_out = NULL;
	if (words[t->outcome] != NULL)
		return words[t->outcome];
	snprintf(status, FORMAT_BYTES, "%d", (int)t->status);
	return t->status != TURN_NULL ? status : turn_outcome_name(t->outcome);
}

void
turn_view_outcome(const struct turn *t, char *out, size_t size)
{
	char number[FORMAT_BYTES], status[FORMAT_BYTES];
	const char *error, *word = turn_outcome_words(t, status, &error);
	int n = snprintf(out, size, "%s%s%s", word, error != NULL ? " " : "",
	    error != NULL ? error : "");

	if (n < 0 || (size_t)n >= size)
		return;
	if (!isnan(t->retry_after_ms)) {
		format_duration(t->retry_after_ms, number);
		snprintf(out + n, size - (size_t)n, ": wait %s", number);
	} else if (!isnan(t->total_ms) && t->outcome != TURN_OUTCOME_OK) {
		format_duration(t->total_ms, number);
		snprintf(out + n, size - (size_t)n, " after %s", number);
	}
}

/* The same for less room: what matters most stays whole. */
static void
turn_outcome_short(const struct turn *t, turn_cell_text out)
{
	char number[FORMAT_BYTES], status[FORMAT_BYTES];
	const char *error, *word = turn_outcome_words(t, status, &error);

	format_duration(t->retry_after_ms, number);
	if (!isnan(t->retry_after_ms))
		snprintf(out, TURN_CELL_BYTES, "%s: wait %s", word, number);
	else
		snprintf(out, TURN_CELL_BYTES, "%s%s%s", word,
		    error != NULL ? " " : "", error != NULL ? error : "");
}

static void
turn_view_cells(struct turn_view *v, const struct turn *t, size_t n,
    turn_cell_text *texts, const char **cells)
{
	for (size_t i = 0; i < TURN_COLUMNS; i++) {
		texts[i][0] = '\0';
		/* What is not shown must not earn a footnote. */
		if (i < n && v->layout.is_shown[i])
			turn_columns[i].cell(v, t, texts[i]);
		cells[i] = texts[i];
	}
}

void
turn_view_row(struct turn_view *v, const struct turn *t, struct buf *out)
{
	turn_cell_text texts[TURN_COLUMNS];
	const char *cells[TURN_COLUMNS];
	turn_cell_text whole, less, least;
	const char *const notes[] = {whole, less, least};

	if (t->outcome != TURN_OUTCOME_OK && t->output_tokens == TURN_NULL) {
		turn_view_cells(v, t, TURN_COLUMN_AFTER_HIT, texts, cells);
		turn_view_outcome(t, whole, sizeof(whole));
		turn_outcome_short(t, less);
		turn_cell_stop(v, t, least);
		table_line_note(&v->layout, cells, TURN_COLUMN_AFTER_HIT, notes,
		    3, v->width, out);
		return;
	}
	turn_view_cells(v, t, TURN_COLUMNS, texts, cells);
	table_line(&v->layout, cells, out);
}

void
turn_view_live_row(struct turn_view *v, const struct turn *t, double elapsed_ms,
    struct buf *out)
{
	turn_cell_text texts[TURN_COLUMNS];
	const char *cells[TURN_COLUMNS];
	turn_cell_text whole, less, least;
	const char *const notes[] = {whole, less, least};
	char first[FORMAT_BYTES];

	turn_view_cells(v, t, TURN_COLUMN_MODEL + 1, texts, cells);
	strcpy(texts[0], "now");
	if (t->input_tokens != TURN_NULL)
		turn_columns[TURN_COLUMN_MODEL + 1].cell(
		    v, t, texts[TURN_COLUMN_MODEL + 1]);
	format_duration(elapsed_ms, least);
	if (t->attempt != TURN_NULL && t->attempt > 1)
		snprintf(less, sizeof(less), "attempt %d, %.*s so far",
		    (int)t->attempt, (int)FORMAT_BYTES, least);
	else
		snprintf(less, sizeof(less), "%.*s so far", (int)FORMAT_BYTES,
		    least);
	format_duration(t->ttft_ms, first);
	snprintf(whole, sizeof(whole), "%.*s%s%s", 2 * (int)FORMAT_BYTES, less,
	    isnan(t->ttft_ms) ? "" : ", first token ",
	    isnan(t->ttft_ms) ? "" : first);
	table_line_note(
	    &v->layout, cells, TURN_COLUMN_AFTER_HIT, notes, 3, v->width, out);
}

/* At blanks, what follows the first line under its text. */
static void
turn_note_print(const char *text, size_t width, struct buf *out)
{
	enum { INDENT = 4 };
	size_t at = 0;

	while (*text != '\0') {
		size_t n = strcspn(text, " ");

		if (width > 0 && at > INDENT && at + 1 + n > width) {
			buf_printf(out, "\n%*s", (int)INDENT - 1, "");
			at = INDENT - 1;
		}
		buf_printf(out, "%s%.*s", at > 0 ? " " : "", (int)n, text);
		at += n + (at > 0 ? 1 : 0);
		text += n;
		text += strspn(text, " ");
	}
	buf_append(out, "\n", 1);
}

void
turn_view_notes(struct turn_view *v, struct buf *out)
{
	for (size_t i = 0; i < sizeof(turn_notes) / sizeof(*turn_notes); i++) {
		if ((v->notes & ~v->told & turn_notes[i].bit) == 0)
			continue;
		turn_note_print(turn_notes[i].text, v->width, out);
	}
	v->told |= v->notes;
}
