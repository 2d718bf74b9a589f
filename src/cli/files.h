/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * files: the users' own files: read, shown as a difference, replaced whole.
 */
#ifndef CLI_FILES_H
#define CLI_FILES_H

#include <stdbool.h>
#include <stddef.h>

enum { FILES_BYTES = 4 << 20, FILES_PATH_BYTES = 1024 };

struct buf;

/* The whole text, malloc'd into *TEXT_OUT. -errno; -ENOENT where there is
 * none, -EFBIG above FILES_BYTES, -EINVAL where it holds a NUL. */
int files_read(const char *path, char **text_out);

/* Replaces the file in one step, keeping its mode (0600 for a new one) and
 * following a symbolic link; makes its folder. 0 or -errno. */
int files_replace(const char *path, const char *text);

bool files_exists(const char *path);

/* $VARIABLE/REST where it is set, else $HOME/FALLBACK/REST. */
void files_under(const char *variable, const char *fallback, const char *rest,
    char out[FILES_PATH_BYTES]);

/* Appends what changes from BEFORE (NULL: no file) to AFTER (NULL: removed),
 * line by line with one line around. Values of names that sound like secrets
 * are not shown. */
void files_diff(
    const char *path, const char *before, const char *after, struct buf *out);

#endif
