/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * A base that cannot be joined to a path without guessing (query, fragment,
 * doubled slashes, dot segments) is refused here, so that the router never has
 * to repair one. Names are never looked up.
 */
#include "url.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/arena.h"

static bool
url_ends_with(const char *s, const char *tail)
{
	size_t n = strlen(s), k = strlen(tail);

	return n >= k && strcasecmp(s + n - k, tail) == 0;
}

bool
url_host_is_loopback(const char *host)
{
	struct in6_addr six;
	struct in_addr four;

	if (inet_pton(AF_INET, host, &four) == 1)
		return (ntohl(four.s_addr) >> 24) == 127;
	if (inet_pton(AF_INET6, host, &six) == 1)
		return IN6_IS_ADDR_LOOPBACK(&six) ||
		       (IN6_IS_ADDR_V4MAPPED(&six) && six.s6_addr[12] == 127);
	return strcasecmp(host, "localhost") == 0 ||
	       url_ends_with(host, ".localhost");
}

static bool
url_four_is_private(uint32_t a)
{
	return (a >> 24) == 127 || (a >> 24) == 10 || (a >> 20) == 0xac1 ||
	       (a >> 16) == 0xc0a8 || (a >> 16) == 0xa9fe ||
	       (a >> 22) == (0x64400000 >> 22);
}

bool
url_host_is_private(const char *host)
{
	struct in6_addr six;
	struct in_addr four;
	uint32_t mapped;

	if (inet_pton(AF_INET, host, &four) == 1)
		return url_four_is_private(ntohl(four.s_addr));
	if (inet_pton(AF_INET6, host, &six) == 1) {
		memcpy(&mapped, six.s6_addr + 12, sizeof(mapped));
		if (IN6_IS_ADDR_V4MAPPED(&six))
			return url_four_is_private(ntohl(mapped));
		return IN6_IS_ADDR_LOOPBACK(&six) ||
		       IN6_IS_ADDR_LINKLOCAL(&six) ||
		       (six.s6_addr[0] & 0xfe) == 0xfc;
	}
	return url_host_is_loopback(host) || strchr(host, '.') == NULL ||
	       url_ends_with(host, ".local") || url_ends_with(host, ".lan") ||
	       url_ends_with(host, ".internal") ||
	       url_ends_with(host, ".home.arpa");
}

/* HOST, HOST:PORT, [HOST] or [HOST]:PORT within N bytes. *PORT_OUT stays where
 * none is given. */
static const char *
url_split_authority(struct arena *arena, const char *s, size_t n,
    const char **host_out, int *port_out)
{
	const char *end = s + n, *port = NULL, *host = s;
	struct in6_addr six;
	size_t n_host = n;
	char *copy;

	if (n > 0 && s[0] == '[') {
		const char *close = memchr(s, ']', n);

		if (close == NULL)
			return "the bracket of the address is not closed";
		host = s + 1;
		n_host = (size_t)(close - host);
		if (close + 1 < end && close[1] != ':')
			return "only a port may follow the bracket";
		if (close + 1 < end)
			port = close + 2;
	} else {
		const char *colon = memchr(s, ':', n);

		if (colon != NULL) {
			if (memchr(colon + 1, ':', (size_t)(end - colon - 1)))
				return "an IPv6 address needs brackets";
			n_host = (size_t)(colon - s);
			port = colon + 1;
		}
	}
	if (n_host == 0 || n_host > 253)
		return "there is no host";
	copy = arena_copy(arena, host, n_host);
	if (copy == NULL)
		return "there is no memory";
	for (char *c = copy; *c != '\0'; c++) {
		*c = (char)tolower((unsigned char)*c);
		if (!isalnum((unsigned char)*c) && strchr("-._:", *c) == NULL)
			return "the host has a sign that no host has";
	}
	if (s[0] == '[' && inet_pton(AF_INET6, copy, &six) != 1)
		return "there is no IPv6 address in the brackets";
	*host_out = copy;
	if (port != NULL) {
		size_t digits = strspn(port, "0123456789");

		if (digits == 0 || digits > 5 || port + digits != end ||
		    atoi(port) > 65535)
			return "the port is not a number up to 65535";
		*port_out = atoi(port);
	}
	return NULL;
}

/* The path of N bytes without slashes at its end. */
static const char *
url_check_path(const char *path, size_t *n)
{
	while (*n > 0 && path[*n - 1] == '/')
		--*n;
	for (size_t i = 0; i < *n; i++) {
		const char *at = path + i;
		size_t left = *n - i;

		if ((unsigned char)*at <= ' ' || *at == 0x7f)
			return "the path has a space or control byte";
		if (*at != '/')
			continue;
		if (left > 1 && at[1] == '/')
			return "the path has two slashes in a row";
		if (at[1] == '.' &&
		    (left == 2 || at[2] == '/' ||
			(at[2] == '.' && (left == 3 || at[3] == '/'))))
			return "the path has a segment . or ..";
	}
	return NULL;
}

static const char *
url_printf(struct arena *arena, const char *prefix, const char *host, int port)
{
	bool is_six = strchr(host, ':') != NULL;
	char text[320];
	int n;

	n = snprintf(text, sizeof(text), "%s%s%s%s", prefix, is_six ? "[" : "",
	    host, is_six ? "]" : "");
	if (port != 0)
		n += snprintf(text + n, sizeof(text) - (size_t)n, ":%d", port);
	return arena_copy(arena, text, (size_t)n);
}

const char *
url_parse(struct arena *arena, const char *s, struct url *out)
{
	const char *rest, *path, *wrong;
	size_t n_path;
	int own_port;

	memset(out, 0, sizeof(*out));
	out->is_tls = strncasecmp(s, "https://", 8) == 0;
	if (!out->is_tls && strncasecmp(s, "http://", 7) != 0)
		return "it must start with http:// or https://";
	rest = s + (out->is_tls ? 8 : 7);
	path = rest + strcspn(rest, "/?#");
	if (memchr(rest, '@', (size_t)(path - rest)) != NULL)
		return "a user name or password does not belong in it; the "
		       "client brings the key";
	if (strchr(path, '?') != NULL)
		return "a query does not belong in it";
	if (strchr(path, '#') != NULL)
		return "a fragment does not belong in it";
	own_port = out->is_tls ? 443 : 80;
	out->port = own_port;
	wrong = url_split_authority(
	    arena, rest, (size_t)(path - rest), &out->host, &out->port);
	if (wrong != NULL)
		return wrong;
	if (out->port == 0)
		return "there is no port 0";
	n_path = strlen(path);
	wrong = url_check_path(path, &n_path);
	if (wrong != NULL)
		return wrong;
	out->is_private = url_host_is_private(out->host);
	out->base_path = arena_copy(arena, path, n_path);
	out->authority = url_printf(
	    arena, "", out->host, out->port == own_port ? 0 : out->port);
	out->origin = url_printf(arena, out->is_tls ? "https://" : "http://",
	    out->host, out->port == own_port ? 0 : out->port);
	if (out->base_path == NULL || out->authority == NULL ||
	    out->origin == NULL)
		return "there is no memory";
	return NULL;
}

const char *
url_parse_listen(
    struct arena *arena, const char *s, const char **host_out, int *port_out)
{
	const char *wrong;
	int port = -1;

	wrong = url_split_authority(arena, s, strlen(s), host_out, &port);
	if (wrong != NULL)
		return wrong;
	if (port < 0)
		return "there is no port";
	*port_out = port;
	return NULL;
}

static const char *
url_check(const char *s, const char *const *schemes)
{
	for (size_t i = 0; schemes[i] != NULL; i++) {
		size_t n = strlen(schemes[i]);

		if (strncasecmp(s, schemes[i], n) != 0)
			continue;
		for (const char *c = s; *c != '\0'; c++)
			if ((unsigned char)*c <= ' ' || *c == 0x7f)
				return "it has a space or control byte";
		if (s[n] == '\0' || strchr("/?#:", s[n]) != NULL)
			return "there is no host";
		return NULL;
	}
	return schemes[2] == NULL ? "it must start with http:// or https://"
				  : "it must start with http://, https://, "
				    "socks4://, socks4a://, "
				    "socks5:// or socks5h://";
}

const char *
url_check_webhook(const char *s)
{
	static const char *const schemes[] = {"http://", "https://", NULL};

	return url_check(s, schemes);
}

const char *
url_check_proxy(const char *s)
{
	static const char *const schemes[] = {"http://", "https://",
	    "socks4://", "socks4a://", "socks5://", "socks5h://", NULL};

	return *s == '\0' ? NULL : url_check(s, schemes);
}
