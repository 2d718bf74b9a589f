/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * answer: what has been seen of one answer, and the steps that every
 * protocol's reader shares. A reader is a handler of the JSON scanner's events
 * (struct protocol, .json); it knows where things are in its protocol's JSON
 * and tells them here.
 *
 * Where a reader is, is a small number a level: the node. A reader names its
 * nodes, and for each key says which node the value is; what is no node is
 * skipped by the scanner at memory speed. An array's elements have the node of
 * the array.
 *
 * Nothing of the answer is kept but names, ids and the usage object.
 * One thread. Embedded in the meter.
 */
#ifndef METER_ANSWER_H
#define METER_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "meter/capture.h"
#include "meter/timing.h"
#include "meter/usage.h"
#include "scan/json.h"

struct protocol;
struct turn;

enum {
	ANSWER_DEPTH = 16, /* no protocol looks deeper */
	ANSWER_SKIP = 0,   /* the nodes that every reader has */
	ANSWER_ROOT = 1,
	ANSWER_TEXT_BYTES = 256,
	ANSWER_CALLS_MAX = 32, /* beyond, a call is known by its name alone */
	ANSWER_STATE_BYTES = 128
};

/* What decided the answer. */
enum answer_end { ANSWER_OPEN, ANSWER_ERROR, ANSWER_TERMINAL };

/* A key of N bytes as one number, for switches: its length and first byte. */
#define ANSWER_KEY(n, first) ((unsigned)(n) << 8 | (unsigned char)(first))
#define ANSWER_IS(key, text) (memcmp(key, text, sizeof(text) - 1) == 0)

/* The client tool calls of an answer that has any. */
struct answer_calls {
	int n;
	struct answer_call {
		int32_t index;
		uint32_t id;
	} known[ANSWER_CALLS_MAX];
	char name[ANSWER_TEXT_BYTES]; /* of the call that is being read */
};

struct answer {
	struct turn *t;
	const struct protocol *protocol;
	int64_t now_ns; /* of the bytes that are being fed */
	bool is_stream;
	const struct json *json; /* for sizes: its offset */

	/* where the reader is */
	uint8_t node[ANSWER_DEPTH];
	uint32_t arrays;         /* one bit a level */
	uint8_t next;            /* the node of the value that follows a key */
	struct capture *capture; /* takes all events while a value is in it */
	uint8_t n_text;
	char text[ANSWER_TEXT_BYTES]; /* the short string that is passing */

	/* of the event (or document) that is being read */
	bool saw_document;
	bool saw_failure;
	bool saw_error;
	bool saw_usage;
	/* Where its one text stands, if that is all that it brings: .told is
	 * NULL before, and the event is not plain after anything else. */
	bool is_plain;
	enum timing_kind told_kind;
	const char *told;
	size_t n_told;
	struct json_escape escape; /* of the generated string that is passing */

	/* of the answer */
	enum answer_end end;
	int64_t end_ns;
	bool has_news; /* something that the last settling did not know */
	bool has_id;
	bool has_model;
	struct timing timing;
	struct usage usage;
	struct capture usage_capture;
	struct capture error_capture;

	/* client tool calls */
	int64_t n_calls;
	struct answer_calls *calls; /* of the turn's arena; NULL: none yet */

	_Alignas(max_align_t) unsigned char state[ANSWER_STATE_BYTES];
};

void answer_init(struct answer *a, struct turn *t,
    const struct protocol *protocol, int64_t t0_ns);
void answer_fini(struct answer *a);

/* Before and after each event of a stream, and around a whole document. */
void answer_begin_event(struct answer *a);
void answer_end_event(struct answer *a);

/* Decides the answer, once: an error or the terminal event. */
void answer_decide(struct answer *a, enum answer_end end);

/* The node of the value that an event at DEPTH belongs to. */
static inline uint8_t
answer_node(const struct answer *a, int depth)
{
	if (depth > 0 && depth < ANSWER_DEPTH && (a->arrays >> depth & 1) != 0)
		return a->node[depth];
	return a->next;
}

/* The node inside of the container at DEPTH, which ends here. */
static inline uint8_t
answer_inside(const struct answer *a, int depth)
{
	return depth + 1 < ANSWER_DEPTH ? a->node[depth + 1] : ANSWER_SKIP;
}

/* The document is complete; what follows in the same event is not read. */
static inline void
answer_document_end(struct answer *a)
{
	a->saw_document = true;
	a->next = ANSWER_SKIP;
}

/* Passes over a container; its end is told all the same. */
static inline enum json_wish
answer_pass_over(struct answer *a, int depth)
{
	if (depth + 1 < ANSWER_DEPTH)
		a->node[depth + 1] = ANSWER_SKIP;
	return JSON_SKIP;
}

/* Steps into a container; the wish that the scanner is to be answered. */
static inline enum json_wish
answer_enter(struct answer *a, enum json_event event, int depth)
{
	uint8_t node = answer_node(a, depth);
	int inside = depth + 1;

	if (inside >= ANSWER_DEPTH)
		return JSON_SKIP;
	if (node == ANSWER_SKIP)
		return answer_pass_over(a, depth);
	a->node[inside] = node;
	a->arrays &= ~(UINT32_C(1) << inside);
	a->arrays |= (uint32_t)(event == JSON_ARRAY) << inside;
	return JSON_WANT;
}

/* Hands the value that begins with this event to C until it is over. */
enum json_wish answer_capture(struct answer *a, struct capture *c,
    enum json_event event, int depth, const char *data, size_t n, bool is_last);

/* The document, from its first byte on, is the error itself. */
void answer_capture_error(struct answer *a);

/* While a->capture is set, every event goes here. */
enum json_wish answer_captured(struct answer *a, enum json_event event,
    int depth, const char *data, size_t n, bool is_last);

/* Collects a short string; true when it is whole, in a->text, n_text bytes,
 * escapes undone. A longer one is cut. */
bool answer_string(struct answer *a, const char *data, size_t n, bool is_last);

/* N generated bytes. */
static inline void
answer_generated(struct answer *a, enum timing_kind kind, size_t n)
{
	a->is_plain = false;
	timing_bytes(&a->timing, kind, n, a->now_ns);
}

/* The generated bytes of a piece of a string. */
static inline size_t
answer_text_bytes(struct answer *a, const char *data, size_t n, bool is_last)
{
	return json_text_bytes(&a->escape, data, n, is_last);
}

/* A piece of a generated string. */
static inline void
answer_tell(struct answer *a, enum timing_kind kind, const char *data, size_t n,
    bool is_last)
{
	if (a->told != NULL || !is_last)
		a->is_plain = false;
	a->told = data;
	a->n_told = n;
	a->told_kind = kind;
	timing_bytes(&a->timing, kind, answer_text_bytes(a, data, n, is_last),
	    a->now_ns);
}

/* Sets a text field of the turn from a->text, if that changes it. */
void answer_set_text(struct answer *a, const char **field);

/* Tells the ids of one answer apart; 0 for an empty one. */
uint32_t answer_hash(const char *id, size_t n);

/* Whether the call at INDEX (-1: none given) whose id has this hash (0: no id)
 * is a new one; one without index, id and name is not. */
bool answer_call_is_new(
    struct answer *a, int32_t index, uint32_t id, bool has_name);

/* Keeps a->text as the name of the call at hand; its length, 0 without
 * memory. */
uint8_t answer_keep_name(struct answer *a);

/* Counts a client tool call by the first N bytes of the kept name. */
void answer_count_call(struct answer *a, size_t n);

/* The calls so far are void: the provider began the message anew. */
void answer_forget_calls(struct answer *a);

#endif
