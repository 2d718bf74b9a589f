/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * sim_plan: the answer to one request, decided before its first byte is sent.
 * Private to the room sim; open structs.
 *
 * The output is a row of tokens: first the reasoning, then the text, then the
 * pieces of a tool call's arguments.
 */
#ifndef SIM_SIM_PLAN_H
#define SIM_SIM_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct sim_prefix;
struct sim_protocol;
struct sim_setup;

enum { SIM_ID_BYTES = 32, SIM_TOOL_PIECES = 4 };

struct sim_plan {
	char id[SIM_ID_BYTES];
	int64_t created_s;
	char *model;     /* as JSON, quotes included; malloc'd */
	char *tool_name; /* the same; NULL: no call */
	char *tool_args; /* a JSON object; NULL: no call */
	bool wants_stream;
	bool wants_usage; /* OpenAI: stream_options.include_usage */
	bool is_cut;      /* the request's limit ended it */
	int64_t n_input;  /* all of it: uncached + cached + written */
	int64_t n_cached;
	int64_t n_written; /* to the cache; Anthropic only */
	int64_t n_reasoning;
	int64_t n_text;
	int64_t n_tool;
};

static inline int64_t
sim_plan_n_output(const struct sim_plan *p)
{
	return p->n_reasoning + p->n_text + p->n_tool;
}

/* The word that token I of the answer is, a space behind it. */
const char *sim_plan_word(int64_t i);

/* Piece I of the tool call's arguments. */
const char *sim_plan_tool_piece(
    const struct sim_plan *p, int64_t i, size_t *n_out);

/* Fills *PLAN_OUT from a request's body. MAY_CALL: the turn is one that ends
 * in a tool call where it can. NULL, or what is wrong with the request. */
const char *sim_plan_make(struct sim_plan *plan_out,
    const struct sim_setup *setup, const struct sim_protocol *protocol,
    struct sim_prefix *prefix, const char *body, size_t n_body, bool may_call);
void sim_plan_fini(struct sim_plan *p);

/* What is said on the wire. A failure sticks: the answer is then cut short
 * rather than sent with a hole. */
struct sim_out {
	struct buf buf;
	bool has_failed;
};

void sim_say(struct sim_out *out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* S as a JSON string, quotes included. */
void sim_say_string(struct sim_out *out, const char *s, size_t n);
/* The words FROM to TO (not included) of an answer, without quotes. */
void sim_say_words(struct sim_out *out, int64_t from, int64_t to);

#endif
