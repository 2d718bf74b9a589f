/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * usage: what the provider says that an answer took. Keeps the last usage
 * object of the answer and brings the two conventions of the wire to the one
 * of the record.
 *
 * A usage object is a state, never a delta: within one answer the last one
 * counts, or, where a protocol says each counter once, the last value of each
 * counter. Nothing is ever added up. Missing is unknown, not 0.
 * One thread. Embedded.
 */
#ifndef METER_USAGE_H
#define METER_USAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "meter/usage_doc.h"

struct turn;

struct usage {
	struct buf text; /* the object, compact JSON; empty: none came */
};

void usage_init(struct usage *u);
void usage_fini(struct usage *u);

/* TEXT is an object as strict capture wrote it. An empty object says nothing
 * and changes nothing; false for it. */
bool usage_replace(struct usage *u, const char *text, size_t n);

/* Field by field: an absent one keeps its value, and a counter that goes down
 * keeps the higher one (flag usage_decreased). `output_tokens` may fall where
 * IS_PROVISIONAL: what was known is a guess made before there was output. */
bool usage_merge(struct usage *u, const char *text, size_t n,
    bool is_provisional, struct turn *t);

void usage_forget(struct usage *u);

static inline bool
usage_is_known(const struct usage *u)
{
	return buf_len(&u->text) > 0;
}

/* For usage_int and its like; NULL where there is no object or it cannot be
 * read. Borrows U until usage_doc_free. */
struct usage_doc *usage_open(const struct usage *u);

/* What the provider says it charges, by the names that gateways use in any
 * protocol: sets provider_cost_pusd, leaves it NULL where it says nothing. */
void usage_settle_cost(const struct usage_doc *d, struct turn *t);

/* Sets service_tier, NULL where it is not said or D is NULL. */
void usage_settle_tier(const struct usage_doc *d, struct turn *t);

/* The counters of one answer as the provider tells them; TURN_NULL unknown. */
struct usage_counts {
	int64_t input;
	int64_t cache_read;
	int64_t cache_write;
	int64_t cache_write_1h;
	int64_t output;
	int64_t reasoning;
	int64_t total;
};
#define USAGE_COUNTS_NULL                                              \
	{                                                              \
		TURN_NULL, TURN_NULL, TURN_NULL, TURN_NULL, TURN_NULL, \
		    TURN_NULL, TURN_NULL                               \
	}

/* OpenAI's family: `input` holds the cached and the written, `output` the
 * reasoning, except where the total says otherwise. */
void usage_settle_inclusive(const struct usage_counts *c, struct turn *t);

/* Anthropic's family: the three parts of the input are apart. */
void usage_settle_disjoint(const struct usage_counts *c, struct turn *t);

/* Sets usage_raw: the object as kept, shortened to TURN_USAGE_RAW_BYTES. */
void usage_settle_raw(const struct usage *u, struct turn *t);

#endif
