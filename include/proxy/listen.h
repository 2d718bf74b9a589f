/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * listen: a listening socket from a host and a port. Any thread.
 */
#ifndef PROXY_LISTEN_H
#define PROXY_LISTEN_H

/* A non-blocking listening socket, or -errno, said in the log. */
int listen_open(const char *host, int port);

#endif
