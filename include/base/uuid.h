/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * uuid: identifiers that sort by time (RFC 9562, version 7). Any thread.
 */
#ifndef BASE_UUID_H
#define BASE_UUID_H

#include <stdint.h>

enum { UUID_TEXT_BYTES = 37 };

/* WALL_MS is the moment that the id carries, milliseconds since the epoch. */
void uuid_new(int64_t wall_ms, char out[UUID_TEXT_BYTES]);

#endif
