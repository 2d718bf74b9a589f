/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * server: the half of the proxy that talks to clients. Loop thread only.
 */
#ifndef PROXY_SERVER_H
#define PROXY_SERVER_H

#include <stdint.h>

struct config;
struct proxy;

/* Serves on p->listen_fd. 0 or -errno, said in the log. */
int server_open(struct proxy *p);
void server_close(struct proxy *p);

int server_set_config(struct proxy *p, const struct config *config,
    void (*release)(void *cls, const struct config *old), void *cls);

/* For loop_on_turn. */
int64_t server_turn(void *proxy);

/* Ends exchanges that were idle for too long. */
void server_sweep(struct proxy *p);
void server_drain(struct proxy *p);
void server_abort(struct proxy *p);

#endif
