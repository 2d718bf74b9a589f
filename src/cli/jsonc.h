/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * jsonc: changes one value in a JSON text that people wrote, comments and
 * trailing commas allowed, and leaves every other byte where it is.
 *
 * jansson reads and checks; only the places are found here. A change is given
 * only where the text after it says, to jansson, exactly what was meant.
 */
#ifndef CLI_JSONC_H
#define CLI_JSONC_H

#include <jansson.h>
#include <stddef.h>

/* The document, or NULL where it is none. An empty text is an empty object. */
json_t *jsonc_load(const char *text);

/* The text with the string VALUE at PATH (N keys, of objects that are made
 * where missing), malloc'd into *OUT. 0; -EINVAL: the text cannot be changed
 * safely; -ENOMEM. */
int jsonc_set_string(const char *text, const char *const *path, size_t n,
    const char *value, char **out);

#endif
