/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * turn_flags: what each flag of a turn means, in words. Any thread.
 */
#ifndef REPORT_TURN_FLAGS_H
#define REPORT_TURN_FLAGS_H

#include <stddef.h>

struct turn_flag {
	const char *name;
	const char *text; /* a clause or sentence without its dot */
};

extern const struct turn_flag turn_flags[];
extern const size_t n_turn_flags;

/* NULL where the flag is not known: print it as it is. NAME has N bytes. */
const char *turn_flag_text(const char *name, size_t n);

#endif
