/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * endpoint: base URLs as clients hold them, and the same over the daemon.
 *
 * Pure: no files, no network.
 */
#ifndef CLI_ENDPOINT_H
#define CLI_ENDPOINT_H

#include <stdbool.h>
#include <stddef.h>

#include "config/config.h"

enum { ENDPOINT_BYTES = 1024 };

/* How the rewritten URL names its upstream. */
enum endpoint_form {
	ENDPOINT_BY_NAME, /* http://127.0.0.1:7717/cerebras/v1 */
	ENDPOINT_BY_HOST  /* http://127.0.0.1:7717/api.cerebras.ai/v1: for
			   * clients that look for the host in the URL */
};

enum endpoint_result {
	ENDPOINT_COVERED,   /* OUT is the URL over the daemon */
	ENDPOINT_OURS,      /* it points to the daemon already: OUT is it with
			     * the tags of BASE */
	ENDPOINT_UNCOVERED, /* no upstream has that host */
	ENDPOINT_ODD        /* not an http(s) URL, or a variable */
};

/* "http://127.0.0.1:7717" with the tags that go before an upstream: the token
 * where the configuration has one, the project where PROJECT is not NULL
 * (percent-encoded). */
void endpoint_base(
    const struct config *c, const char *project, char out[ENDPOINT_BYTES]);

/* URL as it reaches its upstream over BASE (of endpoint_base). */
enum endpoint_result endpoint_over(const struct config *c, const char *base,
    const char *url, enum endpoint_form form, char out[ENDPOINT_BYTES]);

/* The `upstream` section that would cover URL; NAME is cleaned to what an
 * upstream may be called. */
void endpoint_section(
    const char *name, const char *url, char out[ENDPOINT_BYTES]);

/* A provider id of opencode, or a preset's name of ours, whose URL clients
 * know by heart; NULL where NAME is none. */
struct endpoint_known {
	const char *id;      /* opencode's */
	const char *url;     /* its SDK's default base URL */
	const char *keys[3]; /* variables that hold a key for it */
};
extern const struct endpoint_known endpoint_known[];
extern const size_t n_endpoint_known;
const struct endpoint_known *endpoint_known_find(const char *id);

#endif
