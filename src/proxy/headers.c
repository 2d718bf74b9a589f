/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
#include <string.h>
#include <strings.h>

#include "exchange.h"

/* RFC 9110, 7.6.1, and what RFC 2616 and practice add. Trailer is not among
 * them: trailers are relayed. */
#define HOP(s)                   \
	{                        \
		s, sizeof(s) - 1 \
	}
static const struct {
	const char *name;
	size_t n;
} header_hops[] = {
    HOP("connection"),
    HOP("keep-alive"),
    HOP("proxy-connection"),
    HOP("proxy-authenticate"),
    HOP("proxy-authorization"),
    HOP("te"),
    HOP("transfer-encoding"),
    HOP("upgrade"),
};

static bool
header_list_has(const char *list, const char *name, size_t n)
{
	while (list != NULL && *list != '\0') {
		size_t skip = strspn(list, " \t,");
		size_t len = strcspn(list + skip, " \t,");

		if (len == n && n > 0 && strncasecmp(list + skip, name, n) == 0)
			return true;
		list += skip + len;
	}
	return false;
}

bool
header_is_hop(const char *name, size_t n, const char *connection)
{
	for (size_t i = 0; i < sizeof(header_hops) / sizeof(*header_hops); i++)
		if (header_hops[i].n == n &&
		    strncasecmp(header_hops[i].name, name, n) == 0)
			return true;
	/* A Connection header may not take out what frames the message. */
	if (HEADER_IS(name, n, "content-length") || HEADER_IS(name, n, "host"))
		return false;
	return header_list_has(connection, name, n);
}

bool
header_name_is_token(const char *name, size_t n)
{
	static const char others[] = "!#$%&'*+-.^_`|~";

	if (n == 0)
		return false;
	for (size_t i = 0; i < n; i++) {
		char c = name[i];

		if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
			(c >= 'A' && c <= 'Z') ||
			(c != '\0' && strchr(others, c) != NULL)))
			return false;
	}
	return true;
}

bool
header_may_trail(const char *name)
{
	size_t n = strlen(name);

	return header_name_is_token(name, n) && !header_is_hop(name, n, NULL) &&
	       strcasecmp(name, "content-length") != 0 &&
	       strcasecmp(name, "host") != 0;
}
