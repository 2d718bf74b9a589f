/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * One write(2) a line, so that lines of several threads do not mix.
 */
#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LOG_LINE_BYTES = 1024 };

static const struct {
	const char *name;
	int priority; /* of sd-daemon(3) */
} log_levels[] = {
    [LOG_LEVEL_ERROR] = {"error", 3},
    [LOG_LEVEL_WARNING] = {"warning", 4},
    [LOG_LEVEL_INFO] = {"info", 6},
    [LOG_LEVEL_DEBUG] = {"debug", 7},
};

static atomic_int log_threshold = LOG_LEVEL_INFO;

static size_t
log_prefix(enum log_level level, char *line, size_t n_line)
{
	struct timespec now;
	struct tm tm;
	int n;

	if (getenv("JOURNAL_STREAM") != NULL) {
		n = snprintf(line, n_line, "<%d>", log_levels[level].priority);
		return (size_t)n;
	}
	clock_gettime(CLOCK_REALTIME, &now);
	localtime_r(&now.tv_sec, &tm);
	n = snprintf(line, n_line,
	    "%02d:%02d:%02d.%03ld turnmeter %s: ", tm.tm_hour, tm.tm_min,
	    tm.tm_sec, now.tv_nsec / 1000000, log_levels[level].name);
	return (size_t)n;
}

void
log_set_level(enum log_level level)
{
	log_threshold = (int)level;
}

int
log_level_parse(const char *name, enum log_level *level_out)
{
	for (size_t i = 0; i < sizeof(log_levels) / sizeof(*log_levels); i++) {
		if (strcmp(log_levels[i].name, name) == 0) {
			*level_out = (enum log_level)i;
			return 0;
		}
	}
	return -EINVAL;
}

void
log_write(enum log_level level, const char *format, ...)
{
	char line[LOG_LINE_BYTES];
	int saved_errno = errno;
	va_list args;
	size_t n;
	int more;

	if ((int)level > log_threshold)
		return;
	n = log_prefix(level, line, sizeof(line));
	va_start(args, format);
	more = vsnprintf(line + n, sizeof(line) - n - 1, format, args);
	va_end(args);
	if (more > 0)
		n += (size_t)more;
	if (n > sizeof(line) - 2)
		n = sizeof(line) - 2;
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)line[i] < 0x20 || line[i] == 0x7f)
			line[i] = '?';
	line[n++] = '\n';
	if (write(STDERR_FILENO, line, n) < 0)
		errno = saved_errno; /* nowhere left to say it */
	errno = saved_errno;
}
