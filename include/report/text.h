/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * text: how wide a text is on a terminal, and how to shorten it. Any thread.
 *
 * Texts are UTF-8; what is not counts one column a byte. Wide (East Asian,
 * emoji) and combining characters count as a terminal draws them.
 */
#ifndef REPORT_TEXT_H
#define REPORT_TEXT_H

#include <stddef.h>

/* Columns that S takes. */
size_t text_width(const char *s);

/* Copies S to OUT (SIZE bytes, at least 4) in at most WIDTH columns; what is
 * too long loses its middle: "claude-op…5-5". Below three columns the end is
 * cut. Returns the columns used. */
size_t text_shorten(const char *s, size_t width, char *out, size_t size);

#endif
