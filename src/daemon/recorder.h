/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * recorder: the way of a turn from the proxy into journal, store and feed.
 * Loop thread only.
 */
#ifndef DAEMON_RECORDER_H
#define DAEMON_RECORDER_H

#include <stdint.h>

#include "proxy/proxy.h"

struct feed;
struct journal;
struct recorder;
struct store_writer;

/* Opens journal and database beside each other and replays what a crash left.
 * 0 or -errno, said in the log. */
int recorder_new(const char *database, struct recorder **recorder_out);
/* Writes what waits, for at most TIMEOUT_MS. */
void recorder_free(struct recorder *r, int timeout_ms);

/* Borrows the feed until freed. */
void recorder_set_feed(struct recorder *r, struct feed *f);
struct proxy_sink recorder_sink(struct recorder *r);

struct store_writer *recorder_writer(struct recorder *r);
struct journal *recorder_journal(struct recorder *r);
int64_t recorder_last_seq(const struct recorder *r);

/* Tells log and feed once when rows cannot be written, and once when they can
 * again. Called now and then. */
void recorder_watch(struct recorder *r);

#endif
