/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
#include "proxy/listen.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"

enum { LISTEN_BACKLOG = 4096 };

static int
listen_one(const struct addrinfo *a)
{
	int one = 1;
	int fd = socket(a->ai_family,
	    a->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, a->ai_protocol);

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, a->ai_addr, a->ai_addrlen) < 0 ||
	    listen(fd, LISTEN_BACKLOG) < 0) {
		int r = -errno;

		close(fd);
		return r;
	}
	return fd;
}

int
listen_open(const char *host, int port)
{
	struct addrinfo hints = {.ai_flags = AI_PASSIVE | AI_NUMERICSERV,
	    .ai_socktype = SOCK_STREAM};
	struct addrinfo *list = NULL;
	char service[16];
	int r, fd = -EADDRNOTAVAIL;

	snprintf(service, sizeof(service), "%d", port);
	r = getaddrinfo(host, service, &hints, &list);
	if (r != 0) {
		log_err("cannot listen on %s: %s", host, gai_strerror(r));
		return -EADDRNOTAVAIL;
	}
	for (struct addrinfo *a = list; a != NULL && fd < 0; a = a->ai_next)
		fd = listen_one(a);
	freeaddrinfo(list);
	if (fd < 0)
		log_err("cannot listen on %s port %d: %s%s", host, port,
		    strerror(-fd),
		    fd == -EADDRINUSE ? " (is a daemon running already? see "
					"turnmeter doctor)"
				      : "");
	return fd;
}
