/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * log: one line to stderr, with a priority.
 *
 * Any thread may call it. Under systemd (JOURNAL_STREAM set) each line starts
 * with the "<N>" prefix that the journal reads as the priority; elsewhere with
 * the time. Control bytes of the text are replaced, so that a value from
 * traffic cannot forge a line. Never pass keys, prompts or answers.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

enum log_level {
	LOG_LEVEL_ERROR,
	LOG_LEVEL_WARNING,
	LOG_LEVEL_INFO,
	LOG_LEVEL_DEBUG
};

/* Lines above LEVEL are dropped. The default is LOG_LEVEL_INFO. */
void log_set_level(enum log_level level);

/* 0, or -EINVAL where NAME is none of error, warning, info, debug. */
int log_level_parse(const char *name, enum log_level *level_out);

void log_write(enum log_level level, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#define log_err(...)   log_write(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warn(...)  log_write(LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_info(...)  log_write(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...) log_write(LOG_LEVEL_DEBUG, __VA_ARGS__)

#endif
