/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * db: opens the database the way that this room wants it. Private to the
 * room. A connection belongs to one thread.
 */
#ifndef STORE_DB_H
#define STORE_DB_H

#include <stdbool.h>

struct sqlite3;

enum {
	/* The -wal file falls back to this size once it has been drained. */
	DB_WAL_BYTES = 4 << 20,
	/* How long a command waits for another's lock. */
	DB_WAIT_MS = 5000
};

/* Makes folder and file where missing, sets the pragmas, runs the schema
 * steps. The reason of a failure is malloc'd into *ERROR_OUT. 0 or -errno. */
int db_open_to_write(
    const char *path, int busy_ms, struct sqlite3 **db_out, char **error_out);

/* -ENOENT where there is no database yet. MAY_BE_ODD: any version and any
 * content will do (db check). */
int db_open_to_read(const char *path, bool may_be_odd, struct sqlite3 **db_out,
    char **error_out);

/* The -errno that fits an SQLite result code. */
int db_errno(int rc);

/* "PATH: what SQLite says" into *ERROR_OUT, and the -errno. */
int db_fail(struct sqlite3 *db, const char *path, int rc, char **error_out);

/* Runs SQL that gives no rows. */
int db_exec(struct sqlite3 *db, const char *sql);

/* The first column of the first row; -1 where there is none. */
long long db_number(struct sqlite3 *db, const char *sql);

/* Bytes of PATH with SUFFIX behind it, 0 where there is no such file. */
long long db_file_bytes(const char *path, const char *suffix);

#endif
