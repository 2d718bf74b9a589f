/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * feed: the live stream of events, for tail and everyone else who watches.
 *
 * SSE under /_turnmeter/events. Each event is one JSON object with "v":1,
 * "event" and, where it is about a turn, the turn's fields; its SSE event name
 * is the same. The SSE id, where there is one, is the seq that a reader has
 * everything up to. Last-Event-ID (or ?after=SEQ) resumes: from a ring of
 * recent turns, and from the database through the resume callback where the
 * ring does not reach. A reader that is too slow is dropped, and told how much
 * it lost when it comes back.
 *
 *   hello       first of all: version, listen, started_at, last_seq
 *   lost        {"n"}: finished turns that can no longer be had
 *   started, first_token, progress   in flight; no id
 *   finished    id: its seq
 *   notice      {"at","level","text"}: warnings of the daemon; no id
 *
 * A reader that resumes gets all finished turns that it missed, in order,
 * before the first live event. docs/feed.md is the page for users.
 *
 * Loop thread, but for feed_batch_add.
 */
#ifndef LIVE_FEED_H
#define LIVE_FEED_H

#include <stddef.h>
#include <stdint.h>

struct admin_call;
struct feed;
struct feed_batch;
struct loop;
struct turn;

enum { FEED_RING_TURNS = 1024, FEED_BATCH_TURNS = 64, FEED_READERS_MAX = 64 };

enum feed_event {
	FEED_STARTED,
	FEED_FIRST_TOKEN,
	FEED_PROGRESS,
	FEED_FINISHED,
	FEED_NOTICE
};

/*
 * Fetches turns newer than AFTER_SEQ, oldest first, into BATCH, and calls
 * feed_batch_done exactly once, on the loop's thread and not from within this
 * call. 0, or -errno: not now, BATCH is not to be used.
 */
typedef int feed_resume_fn(
    void *cls, int64_t after_seq, struct feed_batch *batch);

struct feed_setup {
	struct loop *loop;      /* borrowed until feed_free */
	const char *listen;     /* "127.0.0.1:7717"; copied */
	int64_t last_seq;       /* of the database at start, 0 for none */
	feed_resume_fn *resume; /* NULL: the ring only */
	void *resume_cls;
};

/* NULL without memory. */
struct feed *feed_new(const struct feed_setup *setup);

/* Ends every stream. No batch may be out any more: whoever fetches them is
 * stopped first. NULL is fine. */
void feed_free(struct feed *f);

/* Answers a GET of the feed; takes the duty to do so. */
void feed_serve(struct feed *f, struct admin_call *call);

/* Borrows the turn for the call. Costs nothing while nobody listens, but for
 * finished turns, which the ring keeps. */
void feed_turn(struct feed *f, enum feed_event event, const struct turn *t);
void feed_notice(struct feed *f, const char *level, const char *text);

size_t feed_n_readers(const struct feed *f);
/* Readers dropped because they were too slow, ever. */
int64_t feed_n_dropped(const struct feed *f);

/* Borrows the turn, whose seq is above the last one's. 1: added; 0: the batch
 * is full, nothing was added; -ENOMEM. Any thread, one at a time. */
int feed_batch_add(struct feed_batch *b, const struct turn *t);

/* Nothing more is added. RESULT: 0, or -errno where the turns could not be
 * had. Takes the batch. */
void feed_batch_done(struct feed_batch **b, int result);

#endif
