/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * config_help: configurations out of short texts, for the tests of the room.
 * Included once by each test program, after cmocka's and the system's headers.
 */
#ifndef TESTS_CONFIG_HELP_H
#define TESTS_CONFIG_HELP_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/config.h"

static char test_dir[] = "/tmp/turnmeter-config-XXXXXX";

static inline const char *
write_file(const char *name, const char *text, size_t n)
{
	static char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", test_dir, name);
	f = fopen(path, "we");
	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, n, f), n);
	fclose(f);
	return path;
}

static inline void
make_dir(const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", test_dir, name);
	assert_int_equal(mkdir(path, 0700), 0);
}

/* The configuration of one file and settings, or fails with the reasons. */
static inline struct config *
load_with(const char *text, const char *const *settings, size_t n)
{
	struct config_source source = {
	    .file = write_file("t.conf", text, strlen(text)),
	    .settings = settings,
	    .n_settings = n};
	struct config *c;
	char *error;

	if (config_load(&source, &c, &error) != 0)
		fail_msg("%s\n---\n%s", error, text);
	assert_null(error);
	return c;
}

static inline struct config *
load(const char *text)
{
	return load_with(text, NULL, 0);
}

/* The reasons why a file is refused, without its path. */
static inline char *
refusal(const char *text)
{
	struct config_source source = {
	    .file = write_file("t.conf", text, strlen(text))};
	size_t n = strlen(source.file);
	struct config *c;
	char *error, *at;

	if (config_load(&source, &c, &error) == 0)
		fail_msg("accepted:\n%s", text);
	assert_null(c);
	assert_non_null(error);
	for (at = strstr(error, source.file); at != NULL;
	     at = strstr(at, source.file))
		memmove(at, at + n, strlen(at + n) + 1);
	return error;
}

static inline void
assert_refused(const char *text, const char *expected)
{
	char *error = refusal(text);

	if (strstr(error, expected) == NULL)
		fail_msg("'%s' is not in:\n%s", expected, error);
	free(error);
}

static inline int
set_up(void **state)
{
	char path[300];

	(void)state;
	if (mkdtemp(test_dir) == NULL)
		return -1;
	setenv("HOME", test_dir, 1);
	snprintf(path, sizeof(path), "%s/config", test_dir);
	setenv("XDG_CONFIG_HOME", path, 1);
	snprintf(path, sizeof(path), "%s/state", test_dir);
	setenv("XDG_STATE_HOME", path, 1);
	unsetenv("STATE_DIRECTORY");
	unsetenv("TURNMETER_CONFIG");
	return 0;
}

static inline int
tear_down(void **state)
{
	char command[300];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf '%s'", test_dir);
	return system(command);
}

#endif
