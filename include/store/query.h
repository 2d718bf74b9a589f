/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * query: what the reading commands and the admin API ask of the database.
 *
 * The struct is open: the command line and the HTTP API fill it from the same
 * names. Values are always bound, never pasted into SQL.
 */
#ifndef STORE_QUERY_H
#define STORE_QUERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct turn;

struct store_query {
	int64_t since_ms;  /* 0: no bound; started_at >= */
	int64_t until_ms;  /* 0: no bound; started_at < */
	int64_t after_seq; /* 0: no bound; seq > */
	/* NULL: any. Exact, except model: equal to model or model_served, and
	 * client: "PRODUCT/VERSION", or "PRODUCT" for all its versions. */
	const char *upstream;
	const char *model;
	const char *session;
	const char *project;
	const char *client;
	const char *kind;
	const char *id; /* a turn's id or a unique beginning of it */
	int64_t seq;    /* 0: any */
	/* NULL: the newest N by seq, oldest of them first, or newest first
	 * where descending. A column of turns: all that match are ordered by
	 * it, unknown ones last either way, and the first N taken. */
	const char *sort;
	bool is_descending;
	int64_t n; /* 0: all */
};

#endif
