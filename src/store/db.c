/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * Never open and close the database's file here by other means than SQLite
 * while it may be open in this process: closing any descriptor of a file drops
 * all of the process's POSIX locks on it, SQLite's included. So modes are set
 * by path, and only a file that did not exist is made with open.
 */
#include "db.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sqlite3.h>

#include "base/log.h"

#include "folder.h"
#include "schema.h"

static int
db_say(char **error_out, int r, const char *path, const char *text)
{
	if (asprintf(error_out, "%s%s", path, text) < 0)
		*error_out = NULL;
	return r;
}

int
db_errno(int rc)
{
	switch (rc & 0xff) {
	case SQLITE_OK:
	case SQLITE_ROW:
	case SQLITE_DONE: return 0;
	case SQLITE_BUSY:
	case SQLITE_LOCKED: return -EBUSY;
	case SQLITE_FULL: return -ENOSPC;
	case SQLITE_NOMEM: return -ENOMEM;
	case SQLITE_PERM:
	case SQLITE_AUTH:
	case SQLITE_CANTOPEN: return -EACCES;
	case SQLITE_READONLY: return -EROFS;
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB: return -EBADMSG;
	case SQLITE_RANGE: return -EINVAL;
	default: return -EIO;
	}
}

int
db_fail(sqlite3 *db, const char *path, int rc, char **error_out)
{
	const char *what = db != NULL ? sqlite3_errmsg(db) : sqlite3_errstr(rc);

	if (asprintf(error_out, "%s: %s", path, what) < 0)
		*error_out = NULL;
	return db_errno(rc);
}

/* As db_fail, for who cannot go on without the database. */
static int
db_refuse(sqlite3 *db, const char *path, int rc, char **error_out)
{
	if (db_errno(rc) != -EBADMSG)
		return db_fail(db, path, rc, error_out);
	if (asprintf(error_out, "%s: %s; `turnmeter db check` says more", path,
		db != NULL ? sqlite3_errmsg(db) : sqlite3_errstr(rc)) < 0)
		*error_out = NULL;
	return -EBADMSG;
}

int
db_exec(sqlite3 *db, const char *sql)
{
	return sqlite3_exec(db, sql, NULL, NULL, NULL);
}

long long
db_number(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *stmt = NULL;
	long long n = -1;

	if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK &&
	    sqlite3_step(stmt) == SQLITE_ROW)
		n = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	return n;
}

long long
db_file_bytes(const char *path, const char *suffix)
{
	char *name;
	struct stat st;
	long long n = 0;

	if (asprintf(&name, "%s%s", path, suffix) < 0)
		return 0;
	if (stat(name, &st) == 0)
		n = (long long)st.st_size;
	free(name);
	return n;
}

/* The file is there, ours alone, whatever the umask. SQLite gives -wal and
 * -shm the mode of the database. */
static int
db_make_file(const char *path, char **error_out)
{
	struct stat st;
	int r = folder_make_for(path);
	int fd;

	if (r < 0) {
		errno = -r;
		goto err;
	}
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd >= 0)
		close(fd);
	else if (errno != EEXIST)
		goto err;
	if (stat(path, &st) < 0)
		goto err;
	if (!S_ISREG(st.st_mode))
		return db_say(error_out, -EINVAL, path, " is not a file");
	if ((st.st_mode & 07777) != 0600 && chmod(path, 0600) < 0)
		goto err;
	return 0;
err:
	r = -errno;
	if (asprintf(error_out, "cannot make %s: %s", path, strerror(-r)) < 0)
		*error_out = NULL;
	return r;
}

/* 0 where the schema is one that this program can use or make. */
static int
db_check_schema(const char *path, const struct schema_state *s, bool may_make,
    char **error_out)
{
	if (s->version > SCHEMA_VERSION && s->is_ours) {
		if (asprintf(error_out,
			"%s was made by a newer turnmeter (schema %d, this "
			"one knows %d): update turnmeter",
			path, s->version, (int)SCHEMA_VERSION) < 0)
			*error_out = NULL;
		return -ENOTSUP;
	}
	if (s->is_empty && s->version == 0)
		return may_make ? 0
				: db_say(error_out, -ENOENT, path,
				      " holds no turns yet: `turnmeter serve`"
				      " fills it");
	if (!s->is_ours)
		return db_say(error_out, -EBADMSG, path,
		    " is a database of another program");
	if (s->version < SCHEMA_VERSION && !may_make)
		return db_say(error_out, -ENOTSUP, path,
		    " was made by an older turnmeter: start `turnmeter serve`"
		    " or run `turnmeter db rebuild` once");
	return 0;
}

static int
db_set_up(sqlite3 *db)
{
	char sql[256];

	snprintf(sql, sizeof(sql),
	    "PRAGMA journal_mode = WAL;"
	    "PRAGMA synchronous = NORMAL;"
	    "PRAGMA foreign_keys = ON;"
	    "PRAGMA trusted_schema = OFF;"
	    "PRAGMA journal_size_limit = %d;",
	    DB_WAL_BYTES);
	return db_exec(db, sql);
}

int
db_open_to_write(
    const char *path, int busy_ms, sqlite3 **db_out, char **error_out)
{
	struct schema_state state = {0};
	sqlite3 *db = NULL;
	int r, rc;

	*db_out = NULL;
	*error_out = NULL;
	r = db_make_file(path, error_out);
	if (r < 0)
		return r;
	rc = sqlite3_open_v2(
	    path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
	if (rc != SQLITE_OK)
		goto err;
	sqlite3_extended_result_codes(db, 1);
	sqlite3_busy_timeout(db, busy_ms);
	/* Looked at before anything is written to it. */
	rc = schema_read(db, &state);
	if (rc != SQLITE_OK)
		goto err;
	r = db_check_schema(path, &state, true, error_out);
	if (r < 0)
		goto out;
	rc = db_set_up(db);
	if (rc == SQLITE_OK)
		rc = schema_upgrade(db, state.version);
	if (rc != SQLITE_OK)
		goto err;
	*db_out = db;
	return 0;
err:
	r = db_refuse(db, path, rc, error_out);
out:
	sqlite3_close(db);
	return r;
}

/* "file:PATH?immutable=1", the path's odd bytes as %XX. */
static char *
db_immutable_uri(const char *path)
{
	char *uri = malloc(3 * strlen(path) + 32);
	char *p = uri;

	if (uri == NULL)
		return NULL;
	p += sprintf(p, "file:");
	for (; *path != '\0'; path++) {
		if (strchr("%?#", *path) != NULL)
			p += sprintf(p, "%%%02X", (unsigned char)*path);
		else
			*p++ = *path;
	}
	strcpy(p, "?immutable=1");
	return uri;
}

static int
db_try_read(const char *name, int flags, sqlite3 **db_out,
    struct schema_state *state_out)
{
	int rc = sqlite3_open_v2(name, db_out,
	    SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | flags, NULL);

	if (rc != SQLITE_OK)
		return rc;
	sqlite3_extended_result_codes(*db_out, 1);
	sqlite3_busy_timeout(*db_out, DB_WAIT_MS);
	/* what SQLite sorts of a database is not written to /var/tmp */
	rc = db_exec(*db_out, "PRAGMA temp_store = MEMORY");
	return rc == SQLITE_OK ? schema_read(*db_out, state_out) : rc;
}

/* A WAL database needs its -shm file, which cannot be made in a folder that
 * may not be written: then it is read as it lies there. */
static int
db_try_immutable(
    const char *path, sqlite3 **db_out, struct schema_state *state_out)
{
	char *uri = db_immutable_uri(path);
	int rc;

	if (uri == NULL)
		return SQLITE_NOMEM;
	if (db_file_bytes(path, "-wal") > 0)
		log_warn("%s: the folder cannot be written, so the newest "
			 "turns (in -wal) are not read",
		    path);
	sqlite3_close(*db_out);
	*db_out = NULL;
	rc = db_try_read(uri, SQLITE_OPEN_URI, db_out, state_out);
	free(uri);
	return rc;
}

int
db_open_to_read(
    const char *path, bool may_be_odd, sqlite3 **db_out, char **error_out)
{
	struct schema_state state = {0};
	sqlite3 *db = NULL;
	int r, rc;

	*db_out = NULL;
	*error_out = NULL;
	if (access(path, R_OK) < 0) {
		int error = errno;

		if (error == ENOENT)
			return db_say(error_out, -ENOENT, path,
			    " does not exist yet: `turnmeter serve` makes it");
		if (asprintf(error_out, "%s: %s", path, strerror(error)) < 0)
			*error_out = NULL;
		return -error;
	}
	rc = db_try_read(path, 0, &db, &state);
	if ((rc & 0xff) == SQLITE_CANTOPEN || (rc & 0xff) == SQLITE_READONLY)
		rc = db_try_immutable(path, &db, &state);
	if (may_be_odd)
		r = rc == SQLITE_OK ? 0 : db_fail(db, path, rc, error_out);
	else if (rc != SQLITE_OK)
		r = db_refuse(db, path, rc, error_out);
	else
		r = db_check_schema(path, &state, false, error_out);
	if (r < 0) {
		sqlite3_close(db);
		return r;
	}
	*db_out = db;
	return 0;
}
