/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * sim_protocol: how an answer looks on the wire, one descriptor a protocol.
 * Private to the room sim.
 *
 * A streamed answer is opening, then token 0 to sim_plan_n_output - 1, then
 * closing. What each says at once stays below SIM_EVENT_BYTES.
 */
#ifndef SIM_SIM_PROTOCOL_H
#define SIM_SIM_PROTOCOL_H

#include <stdbool.h>
#include <stdint.h>

struct sim_out;
struct sim_plan;

enum { SIM_EVENT_BYTES = 32 * 1024, SIM_LIMIT_KEYS = 2 };

struct sim_protocol {
	const char *suffix;    /* of the request's path */
	const char *id_prefix; /* of an answer's id */
	const char *id_header; /* that carries a request's id */
	const char *limit_keys[SIM_LIMIT_KEYS]; /* of the request's body */
	bool caches_by_mark; /* the prompt cache works only where asked */
	void (*opening)(struct sim_out *out, const struct sim_plan *p);
	void (*token)(struct sim_out *out, const struct sim_plan *p, int64_t i);
	void (*closing)(struct sim_out *out, const struct sim_plan *p);
	void (*whole)(struct sim_out *out, const struct sim_plan *p);
	/* MESSAGE needs no escaping in JSON. */
	void (*error)(struct sim_out *out, int status, const char *message,
	    const char *request_id);
};

extern const struct sim_protocol sim_openai, sim_anthropic;

#endif
