/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * request: reads a request's body as the bytes pass, in any split and any key
 * order, and fills what the turn can know of it: model, limits, effort, the
 * context by class, the results that its tools brought, the fingerprints.
 * docs/internals/request-scan.md tells how.
 *
 * It keeps names, ids, sizes and keyed hashes, never a text. Memory is fixed
 * but for the tables of calls (calls.h) and of messages (below), which have
 * ceilings; a body of any size costs no more.
 *
 * One scanner a request, on the loop thread, inside the room only. The scanner
 * borrows turn and key until request_scan_free. Single values (model, limits,
 * effort) are set on the turn as they pass; totals, hashes and tools at the
 * end, and only if the body was JSON from end to end.
 */
#ifndef METER_REQUEST_H
#define METER_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct identity;
struct keyhash;
struct request_scan;
struct turn;

/* Records of messages kept: the newest. */
enum { REQUEST_MESSAGES_MAX = 4096 };

enum request_shape {
	REQUEST_SHAPE_OPENAI_CHAT,
	REQUEST_SHAPE_ANTHROPIC,
	REQUEST_SHAPE_OTHER /* the keys that most protocols share */
};

enum request_wish { REQUEST_WISH_ABSENT, REQUEST_WISH_NO, REQUEST_WISH_YES };

enum request_role {
	REQUEST_ROLE_UNKNOWN,
	REQUEST_ROLE_SYSTEM, /* and developer */
	REQUEST_ROLE_USER,
	REQUEST_ROLE_ASSISTANT,
	REQUEST_ROLE_RESULTS /* tool results only */
};

/* One message, or one item of `input`. The hashes are of the fast kind: pass
 * them through keyhash_seal64 before they leave the program. */
struct request_message {
	uint64_t hash;   /* of this message, key order and cache marks aside */
	uint64_t prefix; /* of this and all messages before it */
	int64_t bytes;   /* as on the wire */
	int role;        /* enum request_role */
};

/* NULL without memory. K may be NULL: nothing is fingerprinted then, and what
 * means nothing is skipped unread. */
struct request_scan *request_scan_new(
    struct turn *t, const struct keyhash *k, enum request_shape shape);
void request_scan_free(struct request_scan *s);

/* Decoded bytes of the body. */
void request_scan_feed(struct request_scan *s, const void *data, size_t n);

/* The body is whole. A body that is not JSON gives the turn the flag
 * request_unread; an empty one is no fault. */
void request_scan_end(struct request_scan *s);

/* Whether the body was one whole JSON value: false before the end. */
bool request_scan_is_json(const struct request_scan *s);

/* The top-level `stream`. */
enum request_wish request_scan_wants_stream(const struct request_scan *s);

/* stream_options.include_usage was true. */
bool request_scan_asked_usage(const struct request_scan *s);

/* The tier asked for, NULL where none: the answer's counts, not this. */
const char *request_scan_service_tier(const struct request_scan *s);

/* Hands the session ids of the body to IDENTITY; before identity_finish. */
void request_scan_identify(
    const struct request_scan *s, struct identity *identity);

/* How many messages passed, and the record of message I, counted from 0; NULL
 * where it is no longer or was never kept. */
size_t request_scan_n_messages(const struct request_scan *s);
const struct request_message *request_scan_message(
    const struct request_scan *s, size_t i);

/* The bytes that the scanner holds at the moment, tables included, for tests. */
size_t request_scan_memory(const struct request_scan *s);

#endif
