/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * day: what the turns of a span add up to, and who is at work in it. Sums say
 * how many turns they leave out. One thread.
 */
#ifndef REPORT_DAY_H
#define REPORT_DAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/turn.h"

enum { DAY_SESSIONS_MAX = 64 };

struct day_session {
	char id[TURN_TEXT_BYTES + 1];
	struct turn *last; /* its newest turn, owned */
	int64_t n_turns;
};

struct day {
	int64_t n_turns; /* kind turn */
	int64_t n_other; /* side calls, counts and the like */
	int64_t n_refused;
	int64_t n_failed;     /* neither ok nor refused */
	int64_t n_no_usage;   /* ok, but without usage */
	int64_t input_tokens; /* sums of what was reported; TURN_NULL: none */
	int64_t output_tokens;
	int64_t hit_read; /* of turns where both are known */
	int64_t hit_input;
	/* Newest sessions, in no order; older ones give way. */
	struct day_session sessions[DAY_SESSIONS_MAX];
	size_t n_sessions;
	struct turn *last; /* the newest turn of all, owned */
};

void day_init(struct day *d);
void day_fini(struct day *d);

/* For store_reader_turns: borrows T. */
bool day_add(void *cls, const struct turn *t);

#endif
