/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * url: addresses, taken apart and checked. Pure.
 *
 * Each function gives NULL, or what is wrong in words.
 */
#ifndef CONFIG_URL_H
#define CONFIG_URL_H

#include <stdbool.h>
#include <stddef.h>

struct arena;

struct url {
	bool is_tls;
	bool is_private;
	int port;
	const char *host;      /* lower case, without brackets */
	const char *authority; /* port left out where it is the scheme's */
	const char *origin;
	const char *base_path;
};

/* An upstream's URL. Texts are put into ARENA. */
const char *url_parse(struct arena *arena, const char *s, struct url *out);

/* ADDRESS:PORT, [ADDRESS]:PORT or NAME:PORT; the host without brackets. */
const char *url_parse_listen(
    struct arena *arena, const char *s, const char **host_out, int *port_out);

/* Whether it only has to look like http://HOST... or, for a proxy, one of the
 * schemes that libcurl speaks. */
const char *url_check_webhook(const char *s);
const char *url_check_proxy(const char *s);

/* Loopback: 127.0.0.0/8, ::1, localhost and names under it. */
bool url_host_is_loopback(const char *host);

/* Loopback, private or link-local; a name without a dot or under .local, .lan,
 * .internal or .home.arpa. */
bool url_host_is_private(const char *host);

#endif
