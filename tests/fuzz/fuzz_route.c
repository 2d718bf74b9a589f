/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * Any bytes as a target, behind no prefix, a name, a host and our own
 * authority. What is relayed goes to a configured upstream, starts with a
 * slash, and ends as the target ends.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "proxy/route.h"

static void
check(bool claim)
{
	if (!claim)
		abort();
}

static void
resolve(const struct config *c, const char *front, const char *tail)
{
	size_t n_front = strlen(front), n_tail = strlen(tail), n;
	char *target = malloc(n_front + n_tail + 1);
	struct route r;

	memcpy(target, front, n_front);
	memcpy(target + n_front, tail, n_tail + 1);
	check(route_resolve(c, target, "127.0.0.1:7717", NULL, &r) == 0);
	check((r.result == ROUTE_UPSTREAM) == (r.upstream != NULL));
	if (r.result == ROUTE_UPSTREAM) {
		check(r.upstream >= c->upstreams &&
		      r.upstream < c->upstreams + c->n_upstreams);
		check(r.target[0] == '/');
		/* nothing of the target's last segment and query is lost */
		n = strcspn(tail, "?");
		n = strlen(tail + n);
		check(strlen(r.target) >= n);
		check(strcmp(r.target + strlen(r.target) - n,
			  tail + n_tail - n) == 0);
	}
	route_fini(&r);
	free(target);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static const char *const settings[] = {"default_upstream=openai",
	    "upstream.deep.url=https://deep.example/api/v1/x"};
	static const char *const fronts[] = {"", "/", "/openai/", "/anthropic/",
	    "/deep/", "/deep.example/", "/~p=", "/~p=a/openai", "/v1/messages",
	    "http://127.0.0.1:7717/"};
	static struct config *c;
	struct config_source source = {
	    .file = "/dev/null", .settings = settings, .n_settings = 2};
	char *text = malloc(n + 1), *error = NULL;

	if (c == NULL)
		check(config_load(&source, &c, &error) == 0);
	memcpy(text, data, n);
	text[n] = '\0';
	for (size_t i = 0; i < sizeof(fronts) / sizeof(fronts[0]); i++)
		resolve(c, fronts[i], text);
	route_host_is_allowed(c, text);
	free(text);
	return 0;
}
