/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * waterfall: one turn in full, as text: what happened when, with bars, then
 * its numbers, then every flag in words. Any thread.
 */
#ifndef REPORT_WATERFALL_H
#define REPORT_WATERFALL_H

#include <stddef.h>

struct buf;
struct turn;

/* Appends the page in lines of at most WIDTH columns. */
void waterfall_print(const struct turn *t, size_t width, struct buf *out);

#endif
