/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * sim_prefix: a simulated prompt cache. Private to the room sim.
 */
#ifndef SIM_SIM_PREFIX_H
#define SIM_SIM_PREFIX_H

#include <stddef.h>

#include <jansson.h>

struct sim_prefix;

/* NULL without memory. */
struct sim_prefix *sim_prefix_new(void);
void sim_prefix_free(struct sim_prefix *p);

/* How many bytes an earlier request for the same model began with as well,
 * counted by whole messages (tools and system prompt together are the first
 * one). The request is then remembered. */
size_t sim_prefix_match(struct sim_prefix *p, const json_t *body);

#endif
