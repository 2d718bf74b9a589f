/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * draft: a configuration while it is being read: what each source has set, in
 * texts, and every problem found so far. One thread.
 *
 * Later sources override earlier ones key by key. Texts live in the arena,
 * which the finished configuration takes over.
 */
#ifndef CONFIG_DRAFT_H
#define CONFIG_DRAFT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "config/keys.h"

enum { DRAFT_PROBLEMS_MAX = 50, DRAFT_FILE_BYTES_MAX = 1 << 20 };

/* Where a value comes from. */
struct draft_origin {
	int source;       /* 0: presets; rises with precedence */
	int line;         /* 0: not a file's */
	const char *text; /* "FILE:LINE", "TURNMETER_X", "--set x" */
};

struct draft_setting {
	const struct config_key *key;
	const char *title;
	const char **items;
	size_t n_items;
	struct draft_origin origin;
};

/* A titled section that some source has. */
struct draft_title {
	enum config_section section;
	const char *title;
	bool is_user; /* not a preset alone */
	struct draft_origin origin;
};

struct draft_problem {
	struct draft_origin origin;
	const char *text;
};

struct draft {
	struct arena arena;
	struct draft_setting *settings;
	size_t n_settings;
	struct draft_title *titles;
	size_t n_titles;
	struct draft_problem problems[DRAFT_PROBLEMS_MAX];
	size_t n_problems;
	const char **files;
	size_t n_files;
	bool is_out_of_memory;
};

/* A draft of zero bytes is a valid empty one. */
void draft_fini(struct draft *d);

/* Into the arena; NULL without memory, which the draft remembers. */
char *draft_printf(struct draft *d, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void draft_problem(struct draft *d, const struct draft_origin *origin,
    const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Opens a titled section; borrows the title until the draft's end. */
void draft_open(struct draft *d, enum config_section section, const char *title,
    const struct draft_origin *origin, bool is_user);

/* Sets a key. IS_APPENDED adds to the list that the same source has begun. A
 * null VALUE empties the list. Copies the value. */
void draft_set(struct draft *d, const struct config_key *key, const char *title,
    const char *value, bool is_appended, const struct draft_origin *origin);

/* NULL where it is not set. */
const struct draft_setting *draft_get(const struct draft *d,
    enum config_section section, const char *title, const char *name);

/* The problems, one a line, in the order of the sources; malloc'd. */
char *draft_report(struct draft *d);

/* The sources, see sources.c. Each adds what it finds. */
void draft_read_presets(struct draft *d);
/* IS_NEEDED: it is a problem where there is no such file. */
void draft_read_file(
    struct draft *d, const char *path, int source, bool is_needed);
void draft_read_environment(struct draft *d, int source);
void draft_read_settings(
    struct draft *d, const char *const *settings, size_t n, int source);

#endif
