/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * usage_doc: a usage object taken apart, so that its counters can be read by
 * name. A list of its members in the order of the text, which is borrowed:
 * nothing is copied, and a number is made of its digits when it is asked for.
 * One thread.
 */
#ifndef METER_USAGE_DOC_H
#define METER_USAGE_DOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct turn;
struct usage_doc;

enum {
	USAGE_BYTES_MAX = 16 * 1024,
	USAGE_MEMBERS_MAX = 1024 /* at all depths; more is no usage object */
};

/* TEXT is of strict capture: keys and strings have no escapes. NULL where it
 * is no object or has more than USAGE_MEMBERS_MAX members. */
struct usage_doc *usage_doc_new(const char *text, size_t n);
void usage_doc_free(struct usage_doc *d);

/* PATH is keys joined by dots, "prompt_tokens_details.cached_tokens", where a
 * number is an index among the objects of an array; of equal keys the last one counts. TURN_NULL, NaN and
 * NULL for absent, null, of another type, or (counters) negative. D may be
 * NULL. */
int64_t usage_int(const struct usage_doc *d, const char *path);
double usage_real(const struct usage_doc *d, const char *path);
bool usage_is_true(const struct usage_doc *d, const char *path);

/* How many objects (or arrays) an array holds. */
size_t usage_count(const struct usage_doc *d, const char *path);

/* A string, *N_OUT bytes of the text. */
const char *usage_text(
    const struct usage_doc *d, const char *path, size_t *n_out);

/* The first of PATHS (NULL-terminated) that is known. */
int64_t usage_first_int(const struct usage_doc *d, const char *const *paths);

/* Dollars as pico-dollars, from their decimal text. */
int64_t usage_pusd(const struct usage_doc *d, const char *path);

/* Writes OLD with what FRESH says laid over it, by the rules of usage_merge. 0
 * or -errno. */
int usage_doc_merge(struct buf *out, const struct usage_doc *old,
    const struct usage_doc *fresh, bool is_provisional, struct turn *t);

/* Writes the members that are no containers. 0 or -errno. */
int usage_doc_flat(struct buf *out, const struct usage_doc *d);

#endif
