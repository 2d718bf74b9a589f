/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * fake_store: a database that is a row of made-up turns.
 */
#ifndef TESTS_FAKE_STORE_H
#define TESTS_FAKE_STORE_H

#include <stdbool.h>
#include <stdint.h>

struct turn;

/* The database: turns 1 to N but HOLE (0: none); N < 0: cannot be opened,
 * INT64_MIN: there is no file. */
void fake_store_set(int64_t n, int64_t hole);
/* Queries wait here while it is on. */
void fake_store_block(bool is_blocked);
/* The last query in words: "n=3 kind=turn", what is not set left out. */
const char *fake_store_asked(void);

/* A finished turn with that seq. */
struct turn *fake_turn(int64_t seq);

#endif
