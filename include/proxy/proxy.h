/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * proxy: the relay between clients and upstreams, as one object.
 *
 * Owns the listening socket, the client connections (libmicrohttpd) and the
 * upstream transfers (libcurl multi). Everything runs on the loop's thread.
 * What it learns goes up through the sink's callbacks; it knows no database.
 */
#ifndef PROXY_PROXY_H
#define PROXY_PROXY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proxy/admin.h"

struct config;
struct keyhash;
struct loop;
struct proxy;
struct turn;

/* The exchanges' life, told upward; every turn is borrowed unless said. None
 * may block. */
struct proxy_sink {
	void *cls;
	/* The request is whole: what is known before the answer. */
	void (*started)(void *cls, struct turn *t);
	void (*first_token)(void *cls, struct turn *t);
	/* At most every half second while pieces arrive. */
	void (*progress)(void *cls, struct turn *t);
	/* Before the piece that ends the answer goes to the client. */
	void (*journal)(void *cls, struct turn *t);
	/* The exchange is over. Takes the turn. */
	void (*finished)(void *cls, struct turn **t);
};

struct proxy_setup {
	struct loop *loop;
	const struct config *config; /* borrowed until replaced */
	const struct keyhash *keys;  /* borrowed */
	int listen_fd;               /* takes; listening, non-blocking */
	struct proxy_sink sink;
	admin_handler_fn *admin;
	void *admin_cls;
};

/* 0, or -errno with a line in the log that says which address or file. */
int proxy_new(const struct proxy_setup *setup, struct proxy **proxy_out);
void proxy_free(struct proxy *p);

/* From now on new exchanges use CONFIG, which is borrowed until replaced
 * again; exchanges under way keep the old one, told through RELEASE (called
 * with CLS once no exchange uses it any more). */
void proxy_set_config(struct proxy *p, const struct config *config,
    void (*release)(void *cls, const struct config *old), void *cls);

/* Stops accepting; DONE is called once, when no exchange is left (at once
 * where there is none). */
void proxy_drain(struct proxy *p, void (*done)(void *cls), void *cls);

/* Ends every exchange now; each turn is finished as interrupted. */
void proxy_abort(struct proxy *p);

struct proxy_counts {
	int64_t n_exchanges; /* ever routed */
	int64_t n_in_flight;
	int64_t n_connections; /* clients connected now */
	int64_t n_refused;     /* by turnmeter before routing */
};
void proxy_get_counts(const struct proxy *p, struct proxy_counts *counts_out);

#endif
