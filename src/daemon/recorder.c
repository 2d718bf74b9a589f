/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * Every exchange takes a slot of the journal when it starts, so that a crash
 * leaves at least an interrupted turn. The number of a turn (seq) is given
 * when it first ends, on this thread: rows, journal and feed agree on it
 * whether or not the database can be written at the moment.
 */
#include "recorder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "live/feed.h"
#include "record/turn.h"
#include "store/journal.h"
#include "store/store.h"

enum { RECORDER_QUEUE_TURNS = 4096 };

struct recorder {
	struct journal *journal;
	struct store_writer *writer;
	struct feed *feed;
	int64_t last_seq;
	bool was_failing;
	int64_t n_lost_told;
};

static void
recorder_feed(struct recorder *r, enum feed_event event, struct turn *t)
{
	if (r->feed != NULL)
		feed_turn(r->feed, event, t);
}

/* -- the proxy's events ----------------------------------------------- */

static void
recorder_on_started(void *cls, struct turn *t)
{
	struct recorder *r = cls;

	t->slot = journal_take(r->journal);
	if (t->slot >= 0)
		journal_write(r->journal, t->slot, t, true);
	recorder_feed(r, FEED_STARTED, t);
}

static void
recorder_on_first_token(void *cls, struct turn *t)
{
	recorder_feed(cls, FEED_FIRST_TOKEN, t);
}

static void
recorder_on_progress(void *cls, struct turn *t)
{
	recorder_feed(cls, FEED_PROGRESS, t);
}

static void
recorder_on_journal(void *cls, struct turn *t)
{
	struct recorder *r = cls;

	if (t->seq == TURN_NULL)
		t->seq = ++r->last_seq;
	if (t->slot >= 0)
		journal_write(r->journal, t->slot, t, false);
}

static void
recorder_on_finished(void *cls, struct turn **t)
{
	struct recorder *r = cls;
	int slot = (*t)->slot;

	if ((*t)->seq == TURN_NULL)
		(*t)->seq = ++r->last_seq;
	recorder_feed(r, FEED_FINISHED, *t);
	if (store_writer_put(r->writer, t, slot) == 0)
		return;
	/* Its slot, where it has one, keeps it until the next start. */
	if (slot < 0)
		store_writer_count_lost(r->writer, 1);
	turn_free(*t);
	*t = NULL;
}

struct proxy_sink
recorder_sink(struct recorder *r)
{
	return (struct proxy_sink){
	    .cls = r,
	    .started = recorder_on_started,
	    .first_token = recorder_on_first_token,
	    .progress = recorder_on_progress,
	    .journal = recorder_on_journal,
	    .finished = recorder_on_finished,
	};
}

/* -- what a crash left ------------------------------------------------ */

static void
recorder_on_replay(void *cls, struct turn **t, int slot, bool is_open)
{
	struct recorder *r = cls;

	(*t)->source = TURN_SOURCE_RECOVERED;
	if (is_open) {
		(*t)->outcome = TURN_OUTCOME_INTERRUPTED;
		(*t)->usage_source = TURN_USAGE_SOURCE_NONE;
	}
	/* Replay is in the order of seq, those without one last. */
	if ((*t)->seq == TURN_NULL)
		(*t)->seq = r->last_seq + 1;
	if ((*t)->seq > r->last_seq)
		r->last_seq = (*t)->seq;
	if (store_writer_put(r->writer, t, slot) == 0)
		return;
	turn_free(*t);
	*t = NULL;
}

/* -- its life --------------------------------------------------------- */

int
recorder_new(const char *database, struct recorder **recorder_out)
{
	struct recorder *r = calloc(1, sizeof(*r));
	struct store_writer_setup setup = {
	    .path = database, .n_queue = RECORDER_QUEUE_TURNS};
	char path[4096];
	char *error = NULL;
	int result;

	*recorder_out = NULL;
	if (r == NULL)
		return -ENOMEM;
	snprintf(path, sizeof(path), "%s.journal", database);
	result = journal_open(path, &r->journal, &error);
	if (result < 0)
		goto out;
	setup.journal = r->journal;
	result = store_writer_start(&setup, &r->writer, &error);
	if (result < 0)
		goto out;
	r->last_seq = store_writer_last_seq(r->writer);
	result = journal_replay(r->journal, recorder_on_replay, r);
	if (result < 0)
		goto out;
	*recorder_out = r;
	return 0;
out:
	log_err("cannot record turns: %s",
	    error != NULL ? error : strerror(-result));
	free(error);
	recorder_free(r, 0);
	return result;
}

void
recorder_free(struct recorder *r, int timeout_ms)
{
	if (r == NULL)
		return;
	if (r->writer != NULL)
		store_writer_stop(r->writer, timeout_ms);
	if (r->journal != NULL)
		journal_close(r->journal);
	free(r);
}

void
recorder_set_feed(struct recorder *r, struct feed *f)
{
	r->feed = f;
}

struct store_writer *
recorder_writer(struct recorder *r)
{
	return r->writer;
}

struct journal *
recorder_journal(struct recorder *r)
{
	return r->journal;
}

int64_t
recorder_last_seq(const struct recorder *r)
{
	return r->last_seq;
}

static void
recorder_tell(struct recorder *r, const char *level, const char *text)
{
	if (strcmp(level, "error") == 0)
		log_err("%s", text);
	else
		log_warn("%s", text);
	if (r->feed != NULL)
		feed_notice(r->feed, level, text);
}

void
recorder_watch(struct recorder *r)
{
	struct store_writer_state state;
	char text[320];

	store_writer_get_state(r->writer, &state);
	if (state.is_failing != r->was_failing) {
		if (state.is_failing)
			snprintf(text, sizeof(text),
			    "turns cannot be written (%s): relaying goes on, "
			    "%lld wait in memory and journal",
			    state.reason, (long long)state.n_waiting);
		else
			snprintf(text, sizeof(text),
			    "turns are written again, none of those that "
			    "waited is lost");
		recorder_tell(r, state.is_failing ? "error" : "notice", text);
		r->was_failing = state.is_failing;
	}
	if (state.n_lost > r->n_lost_told) {
		snprintf(text, sizeof(text),
		    "%lld turns were lost: neither database nor journal "
		    "could hold them",
		    (long long)(state.n_lost - r->n_lost_told));
		recorder_tell(r, "error", text);
		r->n_lost_told = state.n_lost;
	}
}
