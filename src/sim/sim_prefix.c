/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * Only hashes are kept: each message's hash is seeded with that of all before
 * it, so one number stands for a whole beginning. The table is direct-mapped,
 * so the newest wins where two meet, and it never grows.
 */
#include "sim_prefix.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

enum { SIM_PREFIX_SLOTS = 16384 };

struct sim_prefix {
	uint64_t hashes[SIM_PREFIX_SLOTS]; /* 0: none */
};

struct sim_prefix *
sim_prefix_new(void)
{
	return calloc(1, sizeof(struct sim_prefix));
}

void
sim_prefix_free(struct sim_prefix *p)
{
	free(p);
}

/* Adds VALUE to the chain; what it measures as JSON is added to *BYTES. */
static uint64_t
sim_prefix_chain(uint64_t hash, const json_t *value, size_t *bytes)
{
	char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
	size_t n = text != NULL ? strlen(text) : 0;

	hash = XXH3_64bits_withSeed(text != NULL ? text : "", n, hash);
	free(text);
	*bytes += n;
	return hash;
}

/* Whether the beginning was known; it is from now on. */
static bool
sim_prefix_meet(struct sim_prefix *p, uint64_t hash)
{
	uint64_t *slot = &p->hashes[hash % SIM_PREFIX_SLOTS];
	bool is_known = *slot == hash;

	*slot = hash;
	return is_known;
}

size_t
sim_prefix_match(struct sim_prefix *p, const json_t *body)
{
	const json_t *messages = json_object_get(body, "messages");
	size_t bytes = 0, matched = 0, ignored = 0, i;
	bool is_extension = true;
	uint64_t hash = 1;
	json_t *message;

	hash = sim_prefix_chain(hash, json_object_get(body, "model"), &ignored);
	hash = sim_prefix_chain(hash, json_object_get(body, "tools"), &bytes);
	hash = sim_prefix_chain(hash, json_object_get(body, "system"), &bytes);
	if (sim_prefix_meet(p, hash))
		matched = bytes;
	else
		is_extension = false;
	json_array_foreach(messages, i, message)
	{
		hash = sim_prefix_chain(hash, message, &bytes);
		if (sim_prefix_meet(p, hash) && is_extension)
			matched = bytes;
		else
			is_extension = false;
	}
	return matched;
}
