/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * sockets: libcurl's sockets in the loop. Loop thread only.
 */
#ifndef PROXY_SOCKETS_H
#define PROXY_SOCKETS_H

#include <stdbool.h>

#include <curl/curl.h>

struct loop;
struct sockets;

/* Sets itself as MULTI's socket function. IS_PAUSED tells whether a transfer
 * wants nothing of its socket at the moment and will again. NULL without
 * memory. */
struct sockets *sockets_new(
    struct loop *l, CURLM *multi, bool (*is_paused)(CURL *easy));
void sockets_free(struct sockets *s);

/* Every handle has to have its sockets opened and closed here. */
void sockets_set(struct sockets *s, CURL *easy);

#endif
