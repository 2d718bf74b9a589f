/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * route: which upstream a request is for, and its path there. Pure.
 *
 * The rules are the contract's (docs/routes.md): `/<upstream>/<rest>`, the
 * longest overlap of the upstream's path and the rest taken once, `version`,
 * an upstream's host in place of its name, a path without a name by its shape,
 * else `default_upstream`; `/~p=NAME/` and `/~TOKEN/` in front are removed.
 * Bytes are never decoded, encoded or normalised.
 */
#ifndef PROXY_ROUTE_H
#define PROXY_ROUTE_H

#include <stddef.h>

struct config;
struct config_upstream;

enum route_result {
	ROUTE_UPSTREAM, /* relay to .upstream with .target */
	ROUTE_ADMIN, /* /_turnmeter/...: .target is what follows, with query */
	ROUTE_ROOT,  /* "/" alone: HEAD is answered 200 */
	ROUTE_UNKNOWN,    /* no upstream: 404 with the list of routes */
	ROUTE_BAD_TARGET, /* absolute form of another authority, or no path */
	ROUTE_BAD_TOKEN   /* a token is required and wrong or missing */
};

struct route {
	enum route_result result;
	const struct config_upstream *upstream; /* borrowed from the config */
	char *target;  /* path and query as sent upstream; malloc'd */
	char *project; /* of /~p=NAME/, percent-decoded; NULL; malloc'd */
};

/* TARGET is the raw request target. HOST is the request's Host header (for
 * absolute-form targets), HEADER_TOKEN the x-turnmeter-token header or NULL.
 * Fills *ROUTE_OUT; 0 or -ENOMEM. */
int route_resolve(const struct config *c, const char *target, const char *host,
    const char *header_token, struct route *route_out);
void route_fini(struct route *r);

/* Whether a Host header's value may reach this daemon (Law 6): loopback names
 * and addresses, the listen address, allowed_hosts. */
int route_host_is_allowed(const struct config *c, const char *host);

/* The malloc'd body of the 404: JSON that lists the known routes. */
char *route_unknown_body(const struct config *c);

#endif
