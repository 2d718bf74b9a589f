/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * calls: which tool an id of a call belongs to, and what the results of the
 * newest calls amount to.
 *
 * A request repeats the whole conversation: calls are remembered as they pass,
 * results name their call by its id. Only the results since the last
 * assistant message are new; calls_forget_results drops those before it.
 * Ids are kept as hashes, names as text; both tables are made on first use and
 * have ceilings: of ids the newest stay, a name beyond the last is unknown.
 * One thread. Embedded; zero bytes are a valid empty one.
 */
#ifndef METER_CALLS_H
#define METER_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

struct turn;

enum {
	CALLS_IDS_MAX = 512,
	CALLS_NAMES_MAX = 256,
	CALLS_NAME_BYTES = 128 /* a longer name is cut */
};

struct calls_id {
	uint64_t id;
	uint64_t name; /* an index into names */
};

struct calls_name {
	const char *text;
	uint64_t hash;
	int64_t result_bytes; /* of this .epoch only */
	int64_t result_errors;
	uint32_t epoch;
	uint32_t n_results;
	size_t n;
};

struct calls {
	struct calls_id *ids; /* a ring of CALLS_IDS_MAX */
	size_t n_ids;         /* seen in all */
	struct calls_name *names;
	size_t n_names;
	uint32_t epoch; /* counts assistant messages */
	bool has_nameless;
	struct arena texts;
};

void calls_fini(struct calls *c);

/* A call with that id (hashed) of the tool NAME, whose hash is HASH. */
void calls_add(
    struct calls *c, uint64_t id, const char *name, size_t n, uint64_t hash);

/* The result of the call ID; NAME, of N bytes, where the result itself tells
 * it (0: it does not). */
void calls_add_result(struct calls *c, uint64_t id, const char *name, size_t n,
    uint64_t hash, int64_t bytes, bool is_error);

/* What came so far was not new. */
void calls_forget_results(struct calls *c);

/* Adds the new results to the tools of T; the flag tool_nameless where a
 * result belongs to no call that is known. */
void calls_finish(const struct calls *c, struct turn *t);

size_t calls_memory(const struct calls *c);

#endif
