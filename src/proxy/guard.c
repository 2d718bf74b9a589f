/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * libmicrohttpd takes much that must not reach an upstream: none or two Host
 * headers, Content-Length beside Transfer-Encoding, several lengths (the first
 * wins), blanks in a header's name. All of that is refused here, on the first
 * call of the handler, where an answer still closes the connection.
 *
 * Two things it hides: a NUL byte (its strings end there) and a folded header
 * (it joins the lines elsewhere in memory). Both show in what lies between two
 * strings, since it parses in place: only line ends and blanks may.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "config/config.h"
#include "exchange.h"

struct guard_count {
	size_t n_headers;
	int n_hosts;
	int n_lengths;
	int n_encodings;
	const char *host;
	const char *length;
	const char *encoding;
	const char *wrong; /* what is malformed, NULL: nothing */
	const char *end; /* of the string before, in the connection's buffer */
	bool has_connection;
	bool has_crlf; /* the request line ends so */
};

static bool
guard_gap_is_clean(const char *from, const char *to)
{
	if (from > to)
		return false;
	for (; from < to; from++)
		if (strchr("\r\n\t :", *from) == NULL)
			return false;
	return true;
}

static enum MHD_Result
guard_on_header(void *cls, enum MHD_ValueKind kind, const char *name,
    size_t n_name, const char *value, size_t n_value)
{
	struct guard_count *g = cls;

	(void)kind;
	if (g->n_headers++ == 0)
		g->has_crlf = name - g->end >= 2;
	if (!guard_gap_is_clean(g->end, name) ||
	    (value != NULL && !guard_gap_is_clean(name + n_name, value)))
		g->wrong = "a header is folded, without a name or holds a NUL";
	if (value == NULL) {
		value = "";
		g->end = name + n_name;
	} else {
		g->end = value + n_value;
	}
	if (!header_name_is_token(name, n_name))
		g->wrong = "a header's name holds a byte that it may not";
	else if (strpbrk(value, "\r\n") != NULL)
		g->wrong = "a header's value holds a line end";
	if (HEADER_IS(name, n_name, "host")) {
		g->n_hosts++;
		g->host = value;
	} else if (HEADER_IS(name, n_name, "content-length")) {
		g->n_lengths++;
		g->length = value;
	} else if (HEADER_IS(name, n_name, "transfer-encoding")) {
		g->n_encodings++;
		g->encoding = value;
	} else if (HEADER_IS(name, n_name, "connection")) {
		g->has_connection = true;
	}
	return MHD_YES;
}

static bool
guard_target_is_clean(const char *target)
{
	for (; *target != '\0'; target++)
		if ((unsigned char)*target <= 0x20 || *target == 0x7f)
			return false;
	return true;
}

static const char *
guard_framing(const struct guard_count *g)
{
	if (g->wrong != NULL)
		return g->wrong;
	if (g->n_hosts != 1)
		return "a request needs exactly one Host header";
	if (g->n_encodings > 1 ||
	    (g->n_encodings == 1 && strcasecmp(g->encoding, "chunked") != 0))
		return "Transfer-Encoding must be one \"chunked\"";
	if (g->n_encodings == 1 && g->n_lengths > 0)
		return "Content-Length beside Transfer-Encoding";
	if (g->n_lengths > 1)
		return "several Content-Length headers";
	if (g->n_lengths == 1 &&
	    (g->length[0] == '\0' ||
		g->length[strspn(g->length, "0123456789")] != '\0' ||
		strlen(g->length) > 18))
		return "Content-Length is not a number";
	return NULL;
}

/* Behind the last header stands the empty line; a header without a name would
 * have been taken for it. */
static bool
guard_end_is_clean(const struct guard_count *g)
{
	int n = g->has_crlf ? 4 : 2;

	for (int i = 0; g->n_headers > 0 && i < n; i++)
		if (strchr("\r\n", g->end[i]) == NULL)
			return false;
	return true;
}

/* What the request leaves of the connection's pool. */
static size_t
guard_head_room(const struct exchange *x, const struct guard_count *g)
{
	size_t pool = (size_t)exchange_config(x)->max_header +
		      CLIENT_POOL_EXTRA_BYTES;
	size_t used = (size_t)(g->end - x->raw_target) +
		      (g->n_headers + 4) * CLIENT_POOL_HEADER_BYTES;

	return used < pool ? pool - used : 0;
}

struct refusal
guard_check(struct exchange *x, const char *version)
{
	struct guard_count g = {.end = version + strlen(version)};
	const char *site, *wrong;

	MHD_get_connection_values_n(
	    x->connection, MHD_HEADER_KIND, guard_on_header, &g);
	if (!guard_end_is_clean(&g))
		g.wrong = "a header is without a name or holds a NUL";
	if (!guard_gap_is_clean(x->raw_target + strlen(x->target), version))
		g.wrong = "the request target holds a NUL or a blank";
	wrong = guard_framing(&g);
	if (wrong == NULL && !guard_target_is_clean(x->target))
		wrong = "the request target holds a blank or a control byte";
	if (wrong == NULL &&
	    !header_name_is_token(x->method, strlen(x->method)))
		wrong = "the method holds a byte that it may not";
	if (wrong == NULL && strcasecmp(x->method, "CONNECT") == 0)
		wrong = "CONNECT is not served";
	if (wrong == NULL && strcmp(x->method, "HEAD") == 0 &&
	    (g.n_encodings > 0 ||
		(g.n_lengths == 1 && strcmp(g.length, "0") != 0)))
		wrong = "HEAD with a body";
	if (wrong != NULL)
		return (struct refusal){400, "malformed", wrong, true};
	x->has_connection = g.has_connection;
	x->head_room = guard_head_room(x, &g);
	x->content_length = g.n_encodings > 0  ? -1
			    : g.length != NULL ? atoll(g.length)
					       : 0;
	x->has_body = x->content_length != 0 || g.length != NULL;
	/* An absolute-form target names its authority itself: the router looks
	 * at that one. */
	if (x->target[0] == '/' &&
	    !route_host_is_allowed(exchange_config(x), g.host))
		return (struct refusal){403, "host",
		    "this Host is not served here (see allowed_hosts)", true};
	site = exchange_header(x, "Sec-Fetch-Site");
	if (site != NULL && strcasecmp(site, "cross-site") == 0)
		return (struct refusal){403, "cross_site",
		    "requests of other web sites are not served", true};
	if (exchange_config(x)->max_body > 0 &&
	    x->content_length > exchange_config(x)->max_body)
		return (struct refusal){
		    413, "too_large", "the body is larger than max_body", true};
	return (struct refusal){0, NULL, NULL, false};
}

struct refusal
guard_check_admin(struct exchange *x)
{
	const char *origin = exchange_header(x, "Origin");
	const char *host;

	if (origin == NULL)
		return (struct refusal){0, NULL, NULL, false};
	host = strstr(origin, "://");
	if (host == NULL ||
	    !route_host_is_allowed(exchange_config(x), host + 3))
		return (struct refusal){
		    403, "origin", "a foreign Origin is not served here", true};
	return (struct refusal){0, NULL, NULL, false};
}
