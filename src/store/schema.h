/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * schema: the numbered steps that make the database. Private to the room. The
 * thread that owns the connection.
 */
#ifndef STORE_SCHEMA_H
#define STORE_SCHEMA_H

#include <stdbool.h>

struct sqlite3;

/* The steps that this program knows; the user_version after the last one. */
enum { SCHEMA_VERSION = 1 };

struct schema_state {
	int version;   /* of the file */
	bool is_empty; /* nothing in it yet */
	bool is_ours;  /* made by turnmeter */
};

/* Both give an SQLite result code. */
int schema_read(struct sqlite3 *db, struct schema_state *state_out);

/* Runs the steps above VERSION, each in a transaction of its own. */
int schema_upgrade(struct sqlite3 *db, int version);

#endif
