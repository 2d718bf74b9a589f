/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * sim: a simulated provider on loopback.
 *
 * Answers OpenAI chat completions and Anthropic messages, streamed or whole,
 * with the speed, usage and failures that the setup asks for, so that the
 * product can be tried and tested without a key. It reads of a request only
 * what an answer depends on, and keeps hashes of its messages at most.
 *
 * Two threads of its own (libmicrohttpd's and the pacer's), whatever the
 * number of streams. The functions below belong to the thread that started it.
 */
#ifndef SIM_SIM_H
#define SIM_SIM_H

#include <stdint.h>

struct sim;

/* What sim_setup_default gives stands in brackets. */
struct sim_setup {
	int port;                 /* of 127.0.0.1; 0: any free one [0] */
	int64_t ttft_ms;          /* whole request to first token [300] */
	double tps;               /* tokens a second, 0: at once [50] */
	int64_t n_output_tokens;  /* or the request's limit, if lower [120] */
	int reasoning_percent;    /* of the output, streamed first [0] */
	int cached_percent;       /* of the input; -1: what earlier requests
				  * began with, by whole messages [-1] */
	int64_t tool_calls_every; /* every N-th answer calls the first tool
				   * that its request declares; 0: never [0] */
	int64_t fail_every; /* every N-th request gets a 429; 0: never [0] */
};

/* The greatest values that sim_start takes. */
enum {
	SIM_TTFT_MS_MAX = 3600 * 1000,
	SIM_TPS_MAX = 1000000,
	SIM_OUTPUT_TOKENS_MAX = 1000000
};

void sim_setup_default(struct sim_setup *setup_out);

/* Listens and serves until sim_stop. 0 or -errno: -EINVAL for a value out of
 * range, -EADDRINUSE. */
int sim_start(const struct sim_setup *setup, struct sim **sim_out);

/* The port that it listens on. */
int sim_port(const struct sim *s);

/* Cuts the answers under way, ends the threads and frees. NULL is fine. */
void sim_stop(struct sim *s);

#endif
