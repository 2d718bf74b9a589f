/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * fake_live: the proxy room below the room live, as tests need it: admin calls
 * and streams that keep what is sent, and a loop whose time is moved by hand.
 */
#ifndef TESTS_FAKE_LIVE_H
#define TESTS_FAKE_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct admin_call;
struct loop;

/* What the answer of a call was, or its stream so far. */
struct fake_answer {
	int status; /* 0: none yet */
	char content_type[64];
	struct buf body; /* NUL-terminated by fake_answer_text */
	bool is_stream;
	bool is_closed; /* by the server */
	size_t room;    /* bytes that the stream still takes */
};

/* PAIRS: "key", "value", ..., NULL. Queries by their name, headers with a
 * colon behind theirs. The answer is freed by fake_call_end. */
struct fake_answer *fake_call_new(const char *method, const char *path,
    const char *const *pairs, struct admin_call **call_out);
const char *fake_answer_text(struct fake_answer *a);
/* The client leaves (GONE is told where it must be). */
void fake_call_end(struct fake_answer *a);

struct loop *fake_loop_new(void);
/* Fires what falls due within MS, in order. */
void fake_loop_advance(struct loop *l, int64_t ms);
/* Runs callbacks of files until CLS of DONE says so; false after 10 s. */
bool fake_loop_until(struct loop *l, bool (*done)(void *cls), void *cls);
size_t fake_loop_n_timers(const struct loop *l);
void fake_loop_free(struct loop *l);

#endif
