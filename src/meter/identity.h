/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * identity: who sent a request, from its headers and the ids of its body:
 * client, account, session and where its id was found, attempt.
 *
 * Only ids that a known client is known to send count as a session, each by
 * its name; headers beat the body, and among them the first row of the table
 * in identity.c wins. Credentials are hashed the moment they are seen and not
 * kept.
 * One thread. Embedded; allocates nothing.
 */
#ifndef METER_IDENTITY_H
#define METER_IDENTITY_H

#include <stddef.h>
#include <stdint.h>

#include "base/keyhash.h"

struct turn;

enum {
	IDENTITY_ID_BYTES = 128, /* a longer id is no id */
	IDENTITY_CLIENT_BYTES = 96
};

struct identity {
	const struct keyhash *keys;
	char client[IDENTITY_CLIENT_BYTES];
	char credential[65]; /* the full keyed hash, "" for none */
	char organization[IDENTITY_ID_BYTES];
	char session_id[IDENTITY_ID_BYTES];
	/* a session with some clients only */
	char client_request_id[IDENTITY_ID_BYTES];
	char cache_key[IDENTITY_ID_BYTES];
	int session_rank; /* the row that gave session_id */
	int credential_rank;
	int64_t retry_count; /* TURN_NULL: none */
};

/* Borrows KEYS until the last identity_finish. */
void identity_init(struct identity *i, const struct keyhash *keys);

/* Any header of the request; most mean nothing here. */
void identity_header(struct identity *i, const char *name, const char *value);

/* An id found in the body: NAME is its path, such as "prompt_cache_key". The
 * value is as decoded from JSON; of metadata.user_id the whole value. */
void identity_body(
    struct identity *i, const char *name, const char *value, size_t n);

/* Sets client, account, session_id, session_source and attempt of T. May be
 * called again when more has been seen. */
void identity_finish(const struct identity *i, struct turn *t);

#endif
