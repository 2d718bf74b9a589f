/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * api: the admin HTTP API under /_turnmeter/.
 *
 *   GET health       how the daemon is; 503 while the database fails
 *   GET api/turns    the turns that a query selects, as JSON or NDJSON
 *   GET api/limits   the simulated limits: an empty list so far
 *   GET events       the feed
 *
 * Turns are read by the reader thread; nothing here waits for the database.
 * docs/api.md is the page for users. Loop thread.
 */
#ifndef LIVE_API_H
#define LIVE_API_H

#include <stddef.h>

#include "proxy/admin.h"
#include "proxy/proxy.h"
#include "store/journal.h"
#include "store/store.h"

struct api;
struct feed;
struct reader_thread;

/* What the rest of the daemon says of itself; open. */
struct api_state {
	size_t n_upstreams;
	struct proxy_counts proxy;
	struct store_writer_state store;
	struct journal_counts journal;
};

struct api_setup {
	const char *listen;           /* copied */
	struct feed *feed;            /* borrowed until api_free */
	struct reader_thread *reader; /* borrowed until api_free */
	/* Fills *STATE_OUT, which is all zero, at each GET health. */
	void (*state)(void *cls, struct api_state *state_out);
	void *state_cls;
};

/* NULL without memory. */
struct api *api_new(const struct api_setup *setup);

/* No query may be under way: the reader thread is stopped first. NULL is
 * fine. */
void api_free(struct api *a);

/* For proxy_setup.admin, with the api as admin_cls. */
admin_handler_fn api_handle;

#endif
