/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * follow: reads the daemon's live feed, and comes back when it was lost.
 *
 * An SSE client over libcurl. It resumes behind the last finished turn that it
 * was told of, so nothing is missed over a restart of the daemon. One thread.
 */
#ifndef CLI_FOLLOW_H
#define CLI_FOLLOW_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct follow;

struct follow_handler {
	/* NAME as in live/feed.h; EVENT is borrowed for the call. */
	void (*event)(void *cls, const char *name, const json_t *event);
	/* The feed is being read. */
	void (*up)(void *cls);
	/* It cannot be reached, or was lost: told once until it is up again. */
	void (*down)(void *cls, const char *reason);
};

/* AFTER_SEQ: the last turn already known; -1: none, what comes is new. TOKEN
 * may be NULL. Copies the texts. NULL without memory. */
struct follow *follow_new(const char *base_url, const char *token,
    int64_t after_seq, const struct follow_handler *handler, void *cls);
void follow_free(struct follow *f);

/* Waits at most TIMEOUT_MS for bytes, or for EXTRA_FD (-1: none) to become
 * readable, and hands on what came. */
void follow_step(struct follow *f, int timeout_ms, int extra_fd);

bool follow_is_up(const struct follow *f);

/* GET of a small JSON document of the daemon, such as "health" (which answers
 * 503 with its document where something fails): a new reference, or NULL with
 * the reason in REASON. */
json_t *follow_get(const char *base_url, const char *token, const char *path,
    int timeout_ms, char *reason, size_t size);

#endif
