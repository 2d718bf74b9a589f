/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * A reader is live, or it catches up: then it gets finished turns only, in
 * order of seq, from wherever the next one is:
 *
 *	its batch (rows of the database) -> the ring -> the database again
 *
 * until nothing finished is newer than what it was sent. A hole between two
 * turns is asked of the database once; what is not there either is lost, and
 * the reader is told. Turns that finish meanwhile need no queue of their own:
 * the ring has them.
 *
 * While a reader catches up, a full stream is no reason to drop it: it is
 * tried again a little later. A few events a turn of the loop, so that one
 * reader's history does not delay another user's bytes.
 */
#include "live/feed.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/buf.h"
#include "base/clock.h"
#include "proxy/admin.h"
#include "proxy/loop.h"
#include "record/turn.h"
#include "record/turn_json.h"

enum {
	FEED_KEEPALIVE_MS = 15 * 1000,
	FEED_STEP_EVENTS = 16,
	FEED_STEP_MS = 1,
	FEED_FULL_MS = 50,         /* until a full stream is tried again */
	FEED_STUCK_MS = 60 * 1000, /* full for so long: dropped */
	FEED_EVENT_BYTES = 256 * 1024,
	FEED_READER_MAGIC = 0x66656564
};

static const char *const feed_event_names[] = {
    [FEED_STARTED] = "started",
    [FEED_FIRST_TOKEN] = "first_token",
    [FEED_PROGRESS] = "progress",
    [FEED_FINISHED] = "finished",
    [FEED_NOTICE] = "notice",
};

/* Turns from the database on their way to one reader. */
struct feed_batch {
	struct feed *feed;
	struct feed_reader *reader; /* NULL: it has gone */
	struct turn *turns[FEED_BATCH_TURNS];
	size_t n;
	size_t next; /* the first that was not sent yet */
};

struct feed_reader {
	unsigned magic;
	struct feed *feed;
	struct admin_stream *stream;
	struct feed_reader *next;
	int64_t sent_seq; /* it has everything up to this one */
	/* while it catches up */
	bool is_live;
	bool is_dry;                /* the database has none after sent_seq */
	struct feed_batch *batch;   /* NULL: none */
	struct feed_batch *awaited; /* asked for, NULL: none */
	struct loop_timer *timer;
	int64_t full_since_ns; /* 0: not full */
};

struct feed {
	struct loop *loop;
	char *listen;
	int64_t started_ms;
	int64_t last_seq; /* the newest finished turn */
	feed_resume_fn *resume;
	void *resume_cls;
	struct turn *ring[FEED_RING_TURNS]; /* by seq, ascending */
	size_t ring_first;
	size_t n_ring;
	struct feed_reader *readers;
	size_t n_readers;
	int64_t n_dropped;
	struct loop_timer *keepalive; /* while there is a reader */
};

static void feed_reader_step(void *cls);

static void
feed_batch_free(struct feed_batch *b)
{
	if (b == NULL)
		return;
	for (size_t i = b->next; i < b->n; i++)
		turn_free(b->turns[i]);
	free(b);
}

/* Takes the reader off the list and frees it; its stream is the caller's. */
static void
feed_reader_remove(struct feed_reader *r)
{
	struct feed *f = r->feed;
	struct feed_reader **link = &f->readers;

	while (*link != r)
		link = &(*link)->next;
	*link = r->next;
	f->n_readers--;
	if (r->awaited != NULL)
		r->awaited->reader = NULL;
	if (r->timer != NULL)
		loop_timer_cancel(r->timer);
	feed_batch_free(r->batch);
	r->magic = 0;
	free(r);
}

static void
feed_reader_gone(void *cls)
{
	struct feed_reader *r = cls;

	assert(r->magic == FEED_READER_MAGIC);
	feed_reader_remove(r);
}

static void
feed_reader_drop(struct feed_reader *r)
{
	r->feed->n_dropped++;
	admin_stream_close(r->stream);
	feed_reader_remove(r);
}

/* Takes OBJECT; gives in EVENT (empty before, released by the caller) the
 * lines of one event. ID < 0: none. */
static int
feed_render(struct buf *event, const char *name, int64_t id, json_t *object)
{
	char *text = NULL;
	int r = -ENOMEM;

	if (object != NULL)
		text = json_dumps(
		    object, JSON_COMPACT | JSON_REAL_PRECISION(15));
	json_decref(object);
	if (text == NULL)
		return r;
	r = buf_printf(event, "event: %s\n", name);
	if (r == 0 && id >= 0)
		r = buf_printf(event, "id: %lld\n", (long long)id);
	if (r == 0)
		r = buf_printf(event, "data: %s\n\n", text);
	free(text);
	return r;
}

static json_t *
feed_object(const char *name)
{
	return json_pack("{s:i, s:s}", "v", 1, "event", name);
}

static int
feed_render_turn(struct buf *event, enum feed_event kind, const struct turn *t)
{
	json_t *object = feed_object(feed_event_names[kind]);
	json_t *fields = turn_to_json(t);

	if (object == NULL || fields == NULL ||
	    json_object_update(object, fields) != 0) {
		json_decref(object);
		object = NULL;
	}
	json_decref(fields);
	return feed_render(event, feed_event_names[kind],
	    kind == FEED_FINISHED && t->seq != TURN_NULL ? t->seq : -1, object);
}

/* Sends to who is live, or to all. Who is live and full is dropped; who
 * catches up is judged by its own steps. */
static void
feed_broadcast(struct feed *f, const char *text, size_t n, bool to_all)
{
	struct feed_reader *r = f->readers;

	while (r != NULL) {
		struct feed_reader *next = r->next;

		if ((r->is_live || to_all) &&
		    admin_stream_send(r->stream, text, n) != 0 && r->is_live)
			feed_reader_drop(r);
		r = next;
	}
}

static void
feed_keepalive(void *cls)
{
	static const char line[] = ": keepalive\n\n";
	struct feed *f = cls;

	feed_broadcast(f, line, sizeof(line) - 1, true);
	f->keepalive = f->readers != NULL
			   ? loop_timer_add(
				 f->loop, FEED_KEEPALIVE_MS, feed_keepalive, f)
			   : NULL;
}

/* The oldest turn of the ring after SEQ, NULL for none. */
static const struct turn *
feed_ring_after(const struct feed *f, int64_t seq)
{
	size_t low = 0, high = f->n_ring;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (f->ring[(f->ring_first + middle) % FEED_RING_TURNS]->seq >
		    seq)
			high = middle;
		else
			low = middle + 1;
	}
	return low < f->n_ring
		   ? f->ring[(f->ring_first + low) % FEED_RING_TURNS]
		   : NULL;
}

static void
feed_ring_add(struct feed *f, const struct turn *t)
{
	struct turn *copy = turn_copy(t);

	if (copy == NULL)
		return;
	if (f->n_ring == FEED_RING_TURNS) {
		turn_free(f->ring[f->ring_first]);
		f->ring_first = (f->ring_first + 1) % FEED_RING_TURNS;
		f->n_ring--;
	}
	f->ring[(f->ring_first + f->n_ring++) % FEED_RING_TURNS] = copy;
}

/* Tries again after DELAY_MS. */
static void
feed_reader_later(struct feed_reader *r, int64_t delay_ms)
{
	r->timer = loop_timer_add(r->feed->loop, delay_ms, feed_reader_step, r);
	if (r->timer == NULL)
		feed_reader_drop(r);
}

/* The next turn it is to get; NULL for none at hand. Both places are looked
 * at: the ring has what the database's writer has not got to yet. */
static const struct turn *
feed_reader_next(struct feed_reader *r)
{
	const struct turn *t = feed_ring_after(r->feed, r->sent_seq);
	struct feed_batch *b = r->batch;

	while (b != NULL && b->next < b->n) {
		const struct turn *row = b->turns[b->next];

		if (row->seq > r->sent_seq)
			return t != NULL && t->seq <= row->seq ? t : row;
		turn_free(b->turns[b->next++]);
	}
	feed_batch_free(b);
	r->batch = NULL;
	return t;
}

/* Asks the database for what comes after sent_seq. */
static void
feed_reader_ask(struct feed_reader *r)
{
	struct feed *f = r->feed;
	struct feed_batch *b = calloc(1, sizeof(*b));
	int result = -ENOMEM;

	if (b != NULL) {
		b->feed = f;
		b->reader = r;
		result = f->resume(f->resume_cls, r->sent_seq, b);
	}
	if (result == 0) {
		r->awaited = b;
		return;
	}
	free(b);
	feed_reader_later(r, FEED_FULL_MS);
}

/* Sends one event of a reader that catches up: turn T, or that all between
 * sent_seq and BEFORE_SEQ are lost. 0 or -errno. */
static int
feed_reader_send(
    struct feed_reader *r, const struct turn *t, int64_t before_seq)
{
	json_t *object;
	struct buf event;
	int result;

	buf_init(&event, FEED_EVENT_BYTES);
	if (t != NULL) {
		result = feed_render_turn(&event, FEED_FINISHED, t);
	} else {
		object = json_pack("{s:i, s:s, s:I}", "v", 1, "event", "lost",
		    "n", (json_int_t)(before_seq - r->sent_seq - 1));
		result = feed_render(&event, "lost", before_seq - 1, object);
	}
	if (result == 0)
		result = admin_stream_send(
		    r->stream, buf_data(&event), buf_len(&event));
	if (result == 0)
		r->sent_seq = t != NULL ? t->seq : before_seq - 1;
	buf_fini(&event);
	return result;
}

/* The stream is full. */
static void
feed_reader_full(struct feed_reader *r)
{
	int64_t now_ns = clock_now_ns();

	if (r->full_since_ns == 0)
		r->full_since_ns = now_ns;
	if (now_ns - r->full_since_ns > (int64_t)FEED_STUCK_MS * 1000000)
		feed_reader_drop(r);
	else
		feed_reader_later(r, FEED_FULL_MS);
}

/* One turn of the loop's share of catching up. */
static void
feed_reader_step(void *cls)
{
	struct feed_reader *r = cls;
	struct feed *f = r->feed;

	assert(r->magic == FEED_READER_MAGIC && r->awaited == NULL);
	r->timer = NULL;
	for (int i = 0; i < FEED_STEP_EVENTS; i++) {
		const struct turn *t = feed_reader_next(r);
		int64_t next_seq = t != NULL ? t->seq : f->last_seq + 1;

		if (t == NULL && r->sent_seq >= f->last_seq) {
			r->is_live = true;
			return;
		}
		if (next_seq > r->sent_seq + 1 && r->batch == NULL &&
		    !r->is_dry && f->resume != NULL) {
			feed_reader_ask(r);
			return;
		}
		if (next_seq > r->sent_seq + 1)
			t = NULL; /* first, what lies between is lost */
		if (feed_reader_send(r, t, next_seq) != 0) {
			feed_reader_full(r);
			return;
		}
		r->full_since_ns = 0;
		r->is_dry = r->is_dry && t == NULL;
	}
	feed_reader_later(r, FEED_STEP_MS);
}

int
feed_batch_add(struct feed_batch *b, const struct turn *t)
{
	if (b->n == FEED_BATCH_TURNS)
		return 0;
	b->turns[b->n] = turn_copy(t);
	if (b->turns[b->n] == NULL)
		return -ENOMEM;
	b->n++;
	return 1;
}

void
feed_batch_done(struct feed_batch **b, int result)
{
	struct feed_batch *batch = *b;
	struct feed_reader *r = batch->reader;

	*b = NULL;
	if (r == NULL) {
		feed_batch_free(batch);
		return;
	}
	assert(r->batch == NULL && r->awaited == batch);
	r->awaited = NULL;
	/* A failure leaves what was had; that it failed shows in health. */
	(void)result;
	r->is_dry = batch->n == 0;
	r->batch = batch;
	feed_reader_step(r);
}

struct feed *
feed_new(const struct feed_setup *setup)
{
	struct feed *f = calloc(1, sizeof(*f));

	if (f == NULL)
		return NULL;
	f->loop = setup->loop;
	f->listen = strdup(setup->listen);
	if (f->listen == NULL) {
		free(f);
		return NULL;
	}
	f->started_ms = clock_wall_ms();
	f->last_seq = setup->last_seq;
	f->resume = setup->resume;
	f->resume_cls = setup->resume_cls;
	return f;
}

void
feed_free(struct feed *f)
{
	if (f == NULL)
		return;
	while (f->readers != NULL) {
		assert(f->readers->awaited == NULL);
		admin_stream_close(f->readers->stream);
		feed_reader_remove(f->readers);
	}
	if (f->keepalive != NULL)
		loop_timer_cancel(f->keepalive);
	for (size_t i = 0; i < f->n_ring; i++)
		turn_free(f->ring[(f->ring_first + i) % FEED_RING_TURNS]);
	free(f->listen);
	free(f);
}

/* The seq that CALL resumes after; the newest one where it names none, or one
 * that this database has not reached. */
static int64_t
feed_call_after(const struct feed *f, const struct admin_call *call)
{
	const char *text = admin_call_header(call, "Last-Event-ID");
	long long after;
	char *end;

	if (text == NULL || *text == '\0')
		text = admin_call_query(call, "after");
	if (text == NULL)
		return f->last_seq;
	errno = 0;
	after = strtoll(text, &end, 10);
	if (end == text || *end != '\0' || errno != 0 || after < 0 ||
	    after > f->last_seq)
		return f->last_seq;
	return after;
}

static int
feed_reader_hello(struct feed_reader *r)
{
	struct feed *f = r->feed;
	char started[CLOCK_RFC3339_BYTES];
	struct buf event;
	int result;

	clock_format_rfc3339(f->started_ms, started);
	buf_init(&event, FEED_EVENT_BYTES);
	result = feed_render(&event, "hello", r->sent_seq,
	    json_pack("{s:i, s:s, s:s, s:s, s:s, s:I}", "v", 1, "event",
		"hello", "version", TURNMETER_VERSION, "listen", f->listen,
		"started_at", started, "last_seq", (json_int_t)f->last_seq));
	if (result == 0)
		result = admin_stream_send(
		    r->stream, buf_data(&event), buf_len(&event));
	buf_fini(&event);
	return result;
}

void
feed_serve(struct feed *f, struct admin_call *call)
{
	static const char full[] =
	    "{\"error\":{\"message\":\"too many readers of the feed\"}}\n";
	struct feed_reader *r = calloc(1, sizeof(*r));

	if (r == NULL || f->n_readers == FEED_READERS_MAX) {
		free(r);
		admin_call_reply(
		    call, 503, "application/json", full, sizeof(full) - 1);
		return;
	}
	r->magic = FEED_READER_MAGIC;
	r->feed = f;
	r->sent_seq = feed_call_after(f, call);
	r->stream = admin_call_stream(
	    call, "text/event-stream", feed_reader_gone, r);
	if (r->stream == NULL) {
		free(r);
		return;
	}
	r->next = f->readers;
	f->readers = r;
	f->n_readers++;
	if (f->keepalive == NULL)
		f->keepalive = loop_timer_add(
		    f->loop, FEED_KEEPALIVE_MS, feed_keepalive, f);
	if (feed_reader_hello(r) != 0)
		feed_reader_drop(r);
	else
		feed_reader_step(r);
}

void
feed_turn(struct feed *f, enum feed_event event, const struct turn *t)
{
	bool is_new = event == FEED_FINISHED && t->seq > f->last_seq;
	struct buf text;

	if (f->readers != NULL) {
		buf_init(&text, FEED_EVENT_BYTES);
		if (feed_render_turn(&text, event, t) == 0)
			feed_broadcast(
			    f, buf_data(&text), buf_len(&text), false);
		buf_fini(&text);
	}
	if (!is_new)
		return;
	f->last_seq = t->seq;
	feed_ring_add(f, t);
	for (struct feed_reader *r = f->readers; r != NULL; r = r->next)
		if (r->is_live)
			r->sent_seq = t->seq;
}

void
feed_notice(struct feed *f, const char *level, const char *text)
{
	char now[CLOCK_RFC3339_BYTES];
	struct buf event;

	if (f->readers == NULL)
		return;
	clock_format_rfc3339(clock_wall_ms(), now);
	buf_init(&event, FEED_EVENT_BYTES);
	if (feed_render(&event, feed_event_names[FEED_NOTICE], -1,
		json_pack("{s:i, s:s, s:s, s:s, s:s}", "v", 1, "event",
		    "notice", "at", now, "level", level, "text", text)) == 0)
		feed_broadcast(f, buf_data(&event), buf_len(&event), true);
	buf_fini(&event);
}

size_t
feed_n_readers(const struct feed *f)
{
	return f->n_readers;
}

int64_t
feed_n_dropped(const struct feed *f)
{
	return f->n_dropped;
}
