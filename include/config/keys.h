/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * keys: the one table of configuration keys.
 *
 * The parser, `turnmeter config show`, the manual page and the example file
 * are made from it or held against it by tests. Adding a key is one row here
 * and, where the program reads it, one field in config.h. Constant; any thread.
 */
#ifndef CONFIG_KEYS_H
#define CONFIG_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct config;

enum config_section {
	CONFIG_TOP, /* outside any section */
	CONFIG_UPSTREAM,
	CONFIG_LIMIT,
	CONFIG_PRICE,
	CONFIG_PLAN,
	CONFIG_BUDGET,
	CONFIG_ALERT,
	CONFIG_SECTION_COUNT
};

enum config_type {
	CONFIG_TYPE_TEXT,
	CONFIG_TYPE_PATH, /* absolute, or below ~ */
	CONFIG_TYPE_BOOL,
	CONFIG_TYPE_COUNT,
	CONFIG_TYPE_REAL,
	CONFIG_TYPE_DURATION, /* stored in ms */
	CONFIG_TYPE_SIZE,     /* stored in bytes */
	CONFIG_TYPE_CHOICE,   /* one of .choices */
	CONFIG_TYPE_LEVEL,    /* of the log */
	CONFIG_TYPE_LISTEN,   /* ADDRESS:PORT */
	CONFIG_TYPE_ZONE,     /* of time */
	CONFIG_TYPE_TOKEN,    /* goes into a path and a header */
	CONFIG_TYPE_HOST,     /* a name or address without port */
	CONFIG_TYPE_URL,      /* of an upstream */
	CONFIG_TYPE_PROXY,    /* URL of an outbound proxy, "" for none */
	CONFIG_TYPE_WEBHOOK,  /* any http or https URL */
	CONFIG_TYPE_UPSTREAM, /* the name of one */
	CONFIG_TYPE_RATE,     /* COUNT/WINDOW */
	CONFIG_TYPE_DATE,     /* YYYY-MM-DD */
	CONFIG_TYPE_COUNT_OF  /* how many types there are */
};

/* Where the program does not read the key from config.h. */
#define CONFIG_CHECKED_ONLY SIZE_MAX

struct config_key {
	enum config_section section;
	const char *name;
	enum config_type type;
	bool is_list;
	bool is_secret;   /* shown masked */
	bool is_required; /* in its section */
	bool reloads;     /* a SIGHUP takes it into force */
	size_t offset;    /* in struct config or struct config_upstream */
	/* As written in a file; NULL: unset, or worked out, see .fallback. */
	const char *initial;
	const char *fallback; /* what holds where unset, in words */
	int64_t min, max;     /* of numbers, in the stored unit; 0, 0: none */
	const char *const *choices; /* NULL-terminated */
	const char *example;        /* a value for documentation */
	const char *help;           /* one sentence without a dot */
};

extern const struct config_key config_keys[];
extern const size_t n_config_keys;

/* "" for CONFIG_TOP, else "upstream", "limit", ... */
const char *config_section_name(enum config_section section);

/* NULL where there is no such key. */
const struct config_key *config_key_find(
    enum config_section section, const char *name, size_t n);

/* The type in words: "duration", "size", ... */
const char *config_type_name(enum config_type type);

/* One value in force. */
struct config_setting {
	const struct config_key *key;
	const char *title;        /* of its section; NULL at the top */
	const char *const *items; /* as written; one unless the key is a list */
	size_t n_items;
	/* "FILE:LINE", "TURNMETER_X", "--set x", "preset" or "default" */
	const char *origin;
};

/* Every value in force, in the order of the file that would reproduce it.
 * Borrowed from C. */
const struct config_setting *config_settings(
    const struct config *c, size_t *n_out);

#endif
