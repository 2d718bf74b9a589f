/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * The results are kept beside the name, stamped with the epoch they belong to:
 * an assistant message makes all earlier ones void by counting one up, so a
 * conversation of ten thousand tool calls costs no clearing.
 */
#include "meter/calls.h"

#include <stdlib.h>
#include <string.h>

#include "record/turn.h"

void
calls_fini(struct calls *c)
{
	free(c->ids);
	free(c->names);
	arena_fini(&c->texts);
	*c = (struct calls){.epoch = 0};
}

/* The name's row, made where it is new; NULL above the ceiling. */
static struct calls_name *
calls_name_get(struct calls *c, const char *name, size_t n, uint64_t hash)
{
	struct calls_name *row;

	for (size_t i = 0; i < c->n_names; i++)
		if (c->names[i].hash == hash && c->names[i].n == n)
			return &c->names[i];
	if (c->n_names == CALLS_NAMES_MAX)
		return NULL;
	if (c->names == NULL)
		c->names = calloc(CALLS_NAMES_MAX, sizeof(*c->names));
	if (c->names == NULL)
		return NULL;
	row = &c->names[c->n_names];
	row->text = arena_copy(
	    &c->texts, name, n < CALLS_NAME_BYTES ? n : CALLS_NAME_BYTES);
	if (row->text == NULL)
		return NULL;
	row->hash = hash;
	row->n = n;
	row->epoch = c->epoch;
	c->n_names++;
	return row;
}

void
calls_add(
    struct calls *c, uint64_t id, const char *name, size_t n, uint64_t hash)
{
	struct calls_name *row = calls_name_get(c, name, n, hash);

	if (c->ids == NULL)
		c->ids = calloc(CALLS_IDS_MAX, sizeof(*c->ids));
	if (row == NULL || c->ids == NULL)
		return;
	c->ids[c->n_ids++ % CALLS_IDS_MAX] = (struct calls_id){
	    .id = id, .name = (uint64_t)(row - c->names)};
}

/* From the newest on: some clients number their calls anew in each turn. */
static struct calls_name *
calls_find(struct calls *c, uint64_t id)
{
	size_t n = c->n_ids < CALLS_IDS_MAX ? c->n_ids : CALLS_IDS_MAX;

	for (size_t i = 1; i <= n; i++) {
		const struct calls_id *at =
		    &c->ids[(c->n_ids - i) % CALLS_IDS_MAX];

		if (at->id == id)
			return &c->names[at->name];
	}
	return NULL;
}

void
calls_add_result(struct calls *c, uint64_t id, const char *name, size_t n,
    uint64_t hash, int64_t bytes, bool is_error)
{
	struct calls_name *row = calls_find(c, id);

	if (row == NULL && n > 0)
		row = calls_name_get(c, name, n, hash);
	if (row == NULL) {
		c->has_nameless = true;
		return;
	}
	if (row->epoch != c->epoch) {
		row->epoch = c->epoch;
		row->n_results = 0;
		row->result_bytes = 0;
		row->result_errors = 0;
	}
	row->n_results++;
	row->result_bytes += bytes;
	row->result_errors += is_error;
}

void
calls_forget_results(struct calls *c)
{
	c->epoch++;
	c->has_nameless = false;
}

void
calls_finish(const struct calls *c, struct turn *t)
{
	for (size_t i = 0; i < c->n_names; i++) {
		const struct calls_name *row = &c->names[i];
		struct turn_tool *tool;

		if (row->epoch != c->epoch || row->n_results == 0)
			continue;
		tool = turn_tool_get(t, row->text, strlen(row->text));
		if (tool == NULL)
			continue;
		tool->result_bytes += row->result_bytes;
		tool->result_errors += row->result_errors;
	}
	if (c->has_nameless)
		turn_add_flag(t, "tool_nameless");
}

size_t
calls_memory(const struct calls *c)
{
	size_t bytes = 0;

	if (c->ids != NULL)
		bytes += CALLS_IDS_MAX * sizeof(*c->ids);
	if (c->names != NULL)
		bytes += CALLS_NAMES_MAX * sizeof(*c->names);
	for (size_t i = 0; i < c->n_names; i++)
		bytes += strlen(c->names[i].text) + 1;
	return bytes;
}
