/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * A target is walked once from its front, in raw bytes:
 *
 *   absolute form     http://OUR-AUTHORITY in front is dropped
 *   /~p=NAME /~TOKEN  are dropped, in any order
 *   /                 alone: the root
 *   /_turnmeter       the admin paths
 *   /NAME             an upstream's name
 *   /HOST             an upstream's host: what follows is the whole path
 *   a known shape     its upstream, with the path as it is
 *   else              default_upstream, with the path as it is
 *
 * A name goes before a host, a host before a shape. Segments are compared as
 * bytes; what is escaped is never taken for what it stands for.
 */
#include "proxy/route.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <jansson.h>

#include "config/config.h"

enum { ROUTE_PROJECT_BYTES = 256 };

/* A stretch of the target or of the configuration. */
struct route_slice {
	const char *at;
	size_t n;
};

/* Paths without an upstream's name that tell it by their shape: these
 * segments, alone or with more behind. The first three are the spellings that
 * clients make of one base URL, with and without /v1. */
static const struct {
	const char *path;
	const char *upstream;
} route_shapes[] = {
    {"/v1/messages", "anthropic"},
    {"/messages", "anthropic"},
    {"/v1/v1/messages", "anthropic"},
    {"/v1beta", "gemini"},
    {"/api/chat", "ollama"},
    {"/api/generate", "ollama"},
    {"/api/embed", "ollama"},
    {"/api/embeddings", "ollama"},
    {"/api/tags", "ollama"},
    {"/api/show", "ollama"},
    {"/api/ps", "ollama"},
    {"/api/version", "ollama"},
};

static bool
route_equals(struct route_slice s, const char *text)
{
	return strlen(text) == s.n && memcmp(s.at, text, s.n) == 0;
}

static bool
route_equals_nocase(struct route_slice s, const char *text)
{
	return strlen(text) == s.n && strncasecmp(s.at, text, s.n) == 0;
}

/* The first segment of a path that starts with a slash, without it. */
static struct route_slice
route_first(struct route_slice path)
{
	struct route_slice s = {path.at + 1, path.n - 1};
	const char *slash = memchr(s.at, '/', s.n);

	if (slash != NULL)
		s.n = (size_t)(slash - s.at);
	return s;
}

/* The path behind its first segment: empty, or with a slash in front. */
static struct route_slice
route_rest(struct route_slice path)
{
	size_t n = 1 + route_first(path).n;

	return (struct route_slice){path.at + n, path.n - n};
}

/* Whether PATH is PREFIX, or PREFIX with a slash behind it. */
static bool
route_has_prefix(struct route_slice path, const char *prefix)
{
	size_t n = strlen(prefix);

	return path.n >= n && memcmp(path.at, prefix, n) == 0 &&
	       (path.n == n || path.at[n] == '/');
}

/* As long for a wrong token as for the right one. */
static bool
route_is_token(const char *token, struct route_slice given)
{
	size_t n = strlen(token);
	unsigned char wrong = given.n != n;

	for (size_t i = 0; i < n; i++) {
		unsigned char c =
		    given.n > 0 ? (unsigned char)given.at[i % given.n] : 0;

		wrong |= (unsigned char)(c ^ (unsigned char)token[i]);
	}
	return wrong == 0;
}

static int
route_hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
		return (c | 0x20) - 'a' + 10;
	return -1;
}

/* The project of /~p=NAME/; an escape that is none stays as it is. */
static int
route_set_project(struct route *r, struct route_slice s)
{
	char *out;
	size_t n = 0;

	free(r->project);
	r->project = NULL;
	if (s.n == 0)
		return 0;
	out = malloc(s.n + 1);
	if (out == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < s.n && n < ROUTE_PROJECT_BYTES; i++) {
		int high = i + 2 < s.n ? route_hex(s.at[i + 1]) : -1;
		int low = i + 2 < s.n ? route_hex(s.at[i + 2]) : -1;

		out[n] = s.at[i];
		if (s.at[i] == '%' && high >= 0 && low >= 0 && high + low > 0) {
			out[n] = (char)(high * 16 + low);
			i += 2;
		}
		n++;
	}
	out[n] = '\0';
	r->project = out;
	return 0;
}

/* Drops /~p=NAME and /~TOKEN from the front of *PATH. */
static int
route_take_prefixes(const struct config *c, struct route_slice *path,
    struct route *r, bool *has_token)
{
	while (path->n >= 2 && path->at[0] == '/' && path->at[1] == '~') {
		struct route_slice s = route_first(*path);

		s.at++;
		s.n--;
		*path = route_rest(*path);
		if (s.n >= 2 && memcmp(s.at, "p=", 2) == 0) {
			struct route_slice name = {s.at + 2, s.n - 2};

			if (route_set_project(r, name) != 0)
				return -ENOMEM;
		} else if (c->token != NULL && route_is_token(c->token, s)) {
			*has_token = true;
		}
	}
	return 0;
}

/* Drops our own authority from an absolute-form target. */
static bool
route_take_authority(
    const struct config *c, struct route_slice *target, const char *host)
{
	static const char scheme[] = "http://";
	const size_t n = sizeof(scheme) - 1;
	struct route_slice authority;
	const char *port;

	if (target->n > 0 && target->at[0] == '/')
		return true;
	if (target->n <= n || strncasecmp(target->at, scheme, n) != 0)
		return false;
	authority.at = target->at + n;
	authority.n = strcspn(authority.at, "/?#");
	if (host == NULL || !route_equals_nocase(authority, host) ||
	    !route_host_is_allowed(c, host))
		return false;
	port = strrchr(host, ':');
	if (port != NULL && strchr(port, ']') != NULL)
		port = NULL;
	if (c->listen_port != 0 &&
	    (port != NULL ? atoi(port + 1) : 80) != c->listen_port)
		return false;
	target->at += n + authority.n;
	target->n -= n + authority.n;
	return true;
}

/* An upstream whose host stands in place of a name. A host without a port is
 * the one of the scheme's port, else one that the user has configured. */
static const struct config_upstream *
route_find_host(
    const struct config *c, struct route_slice host, struct route_slice rest)
{
	const struct config_upstream *best = NULL;
	size_t n_best = 0;

	for (int is_exact = 1; is_exact >= 0 && best == NULL; is_exact--)
		for (size_t i = 0; i < c->n_upstreams; i++) {
			const struct config_upstream *u = &c->upstreams[i];
			size_t n = strlen(u->base_path);
			char full[320];

			snprintf(full, sizeof(full),
			    strchr(u->host, ':') != NULL ? "[%s]:%d" : "%s:%d",
			    u->host, u->port);
			if (is_exact != 0 &&
			    !route_equals_nocase(host, u->authority) &&
			    !route_equals_nocase(host, full))
				continue;
			if (is_exact == 0 &&
			    (u->is_preset ||
				!route_equals_nocase(host, u->host)))
				continue;
			if (!route_has_prefix(rest, u->base_path))
				n = 0;
			if (best == NULL || n > n_best) {
				best = u;
				n_best = n;
			}
		}
	return best;
}

/* How many bytes at the front of REST are the longest overlap with the end of
 * BASE, both cut at slashes. */
static size_t
route_overlap(const char *base, struct route_slice rest)
{
	const char *tail = base;

	/* from the longest tail of the base to the shortest */
	for (; tail != NULL && *tail == '/'; tail = strchr(tail + 1, '/'))
		if (route_has_prefix(rest, tail))
			return strlen(tail);
	return 0;
}

static bool
route_ends_with_segment(const char *base, const char *segment)
{
	size_t n_base = strlen(base), n = strlen(segment);

	return n_base > n && base[n_base - n - 1] == '/' &&
	       memcmp(base + n_base - n, segment, n) == 0;
}

/* What `version` makes of REST: the number of bytes to leave out at its front,
 * and whether /VERSION goes there instead. */
static size_t
route_version(
    const struct config_upstream *u, struct route_slice rest, bool *is_added)
{
	char full[120];

	*is_added = route_has_prefix(rest, "/messages") &&
		    !route_ends_with_segment(u->base_path, u->version);
	snprintf(full, sizeof(full), "/%.32s/%.32s/messages", u->version,
	    u->version);
	return route_has_prefix(rest, full) ? 1 + strlen(u->version) : 0;
}

/* The target is PARTS in their order. */
static int
route_join(struct route *r, const struct route_slice *parts, size_t n_parts)
{
	size_t n = 0, at = 0;

	for (size_t i = 0; i < n_parts; i++)
		n += parts[i].n;
	r->target = malloc(n + 1);
	if (r->target == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < n_parts; i++) {
		if (parts[i].n == 0)
			continue;
		memcpy(r->target + at, parts[i].at, parts[i].n);
		at += parts[i].n;
	}
	r->target[n] = '\0';
	return 0;
}

/* REST behind the upstream's path, the overlap once. */
static int
route_to_upstream(struct route *r, const struct config_upstream *u,
    struct route_slice rest, struct route_slice query)
{
	struct route_slice parts[5] = {{u->base_path, strlen(u->base_path)}};
	bool is_added = false;
	size_t n;

	r->result = ROUTE_UPSTREAM;
	r->upstream = u;
	if (u->version != NULL) {
		n = route_version(u, rest, &is_added);
		rest.at += n;
		rest.n -= n;
	}
	n = is_added ? 0 : route_overlap(u->base_path, rest);
	if (is_added) {
		parts[1] = (struct route_slice){"/", 1};
		parts[2] = (struct route_slice){u->version, strlen(u->version)};
	} else if (parts[0].n == 0 && rest.n == 0) {
		parts[1] = (struct route_slice){"/", 1};
	}
	parts[3] = (struct route_slice){rest.at + n, rest.n - n};
	parts[4] = query;
	return route_join(r, parts, 5);
}

static int
route_as_it_is(struct route *r, enum route_result result,
    const struct config_upstream *u, struct route_slice path,
    struct route_slice query)
{
	struct route_slice parts[2] = {path, query};

	r->result = result;
	r->upstream = u;
	return route_join(r, parts, 2);
}

static const struct config_upstream *
route_find_shape(const struct config *c, struct route_slice path)
{
	for (size_t i = 0; i < sizeof(route_shapes) / sizeof(route_shapes[0]);
	     i++) {
		const char *name = route_shapes[i].upstream;

		if (route_has_prefix(path, route_shapes[i].path))
			return config_find_upstream(c, name, strlen(name));
	}
	if (c->default_upstream == NULL)
		return NULL;
	return config_find_upstream(
	    c, c->default_upstream, strlen(c->default_upstream));
}

static int
route_by_path(const struct config *c, struct route *r, struct route_slice path,
    struct route_slice query)
{
	struct route_slice first = route_first(path), rest = route_rest(path);
	const struct config_upstream *u;

	if (route_equals(first, "_turnmeter")) {
		if (rest.n > 0) {
			rest.at++;
			rest.n--;
		}
		return route_as_it_is(r, ROUTE_ADMIN, NULL, rest, query);
	}
	u = config_find_upstream(c, first.at, first.n);
	if (u != NULL)
		return route_to_upstream(r, u, rest, query);
	u = route_find_host(c, first, rest);
	if (u != NULL) {
		if (rest.n == 0)
			rest = (struct route_slice){"/", 1};
		return route_as_it_is(r, ROUTE_UPSTREAM, u, rest, query);
	}
	u = route_find_shape(c, path);
	if (u != NULL)
		return route_to_upstream(r, u, path, query);
	r->result = ROUTE_UNKNOWN;
	return 0;
}

int
route_resolve(const struct config *c, const char *target, const char *host,
    const char *header_token, struct route *route_out)
{
	struct route_slice path = {target, strlen(target)};
	struct route_slice query;
	bool has_token = false;

	*route_out = (struct route){.result = ROUTE_BAD_TARGET};
	if (!route_take_authority(c, &path, host))
		return 0;
	query.at = path.at + strcspn(path.at, "?");
	query.n = path.n - (size_t)(query.at - path.at);
	path.n -= query.n;
	if (c->token != NULL && header_token != NULL) {
		struct route_slice given = {header_token, strlen(header_token)};

		has_token = route_is_token(c->token, given);
	}
	if (route_take_prefixes(c, &path, route_out, &has_token) != 0)
		return -ENOMEM;
	if (path.n == 0 || (path.n == 1 && path.at[0] == '/')) {
		route_out->result = ROUTE_ROOT;
		return 0;
	}
	if (c->token != NULL && !has_token) {
		route_out->result = ROUTE_BAD_TOKEN;
		return 0;
	}
	return route_by_path(c, route_out, path, query);
}

void
route_fini(struct route *r)
{
	free(r->target);
	free(r->project);
	r->target = NULL;
	r->project = NULL;
}

/* A Host value without its port, brackets and the dot of the root; false where
 * it is none. */
static bool
route_host_name(const char *host, char *out, size_t n_out)
{
	const char *at = host, *end;
	size_t n;

	if (*at == '[') {
		at++;
		end = strchr(at, ']');
		if (end == NULL || (end[1] != '\0' && end[1] != ':'))
			return false;
	} else {
		end = at + strcspn(at, ":");
	}
	n = (size_t)(end - at);
	if (*host != '[' && n > 1 && at[n - 1] == '.')
		n--;
	if (*end == ']')
		end++;
	if (*end == ':' && end[1 + strspn(end + 1, "0123456789")] != '\0')
		return false;
	if (n == 0 || n >= n_out)
		return false;
	memcpy(out, at, n);
	out[n] = '\0';
	return true;
}

static bool
route_is_address(const char *name)
{
	unsigned char bytes[16];

	return inet_pton(AF_INET, name, bytes) == 1 ||
	       inet_pton(AF_INET6, name, bytes) == 1;
}

static bool
route_is_loopback(const char *name)
{
	unsigned char bytes[16];
	size_t n = strlen(name);

	if (inet_pton(AF_INET, name, bytes) == 1)
		return bytes[0] == 127;
	if (inet_pton(AF_INET6, name, bytes) == 1)
		return strcmp(name, "::1") == 0;
	return strcasecmp(name, "localhost") == 0 ||
	       (n > 10 && strcasecmp(name + n - 10, ".localhost") == 0);
}

int
route_host_is_allowed(const struct config *c, const char *host)
{
	char name[256];

	if (host == NULL || !route_host_name(host, name, sizeof(name)))
		return 0;
	if (route_is_loopback(name) || strcasecmp(name, c->listen_host) == 0)
		return 1;
	/* Listening on every address, any of the machine's may be named. An
	 * address, unlike a name, cannot be rebound by a foreign page. */
	if ((strcmp(c->listen_host, "0.0.0.0") == 0 ||
		strcmp(c->listen_host, "::") == 0) &&
	    route_is_address(name))
		return 1;
	for (size_t i = 0; i < c->n_allowed_hosts; i++)
		if (strcasecmp(name, c->allowed_hosts[i]) == 0)
			return 1;
	return 0;
}

char *
route_unknown_body(const struct config *c)
{
	json_t *routes = json_array(), *body;
	char *text;

	for (size_t i = 0; i < c->n_upstreams; i++) {
		const struct config_upstream *u = &c->upstreams[i];

		json_array_append_new(
		    routes, json_pack("{s:s+, s:s+}", "route", "/", u->name,
				"upstream", u->origin, u->base_path));
	}
	json_array_append_new(
	    routes, json_pack("{s:s}", "route", "/_turnmeter/"));
	body = json_pack("{s:{s:s, s:s, s:o}}", "error", "type",
	    "turnmeter_unknown_route", "message",
	    "turnmeter: this path names no upstream. Put one in front "
	    "(/openai/v1/...), or set default_upstream.",
	    "routes", routes);
	text = body != NULL ? json_dumps(body, JSON_INDENT(1)) : NULL;
	json_decref(body);
	return text;
}
