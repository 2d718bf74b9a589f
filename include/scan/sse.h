/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * sse: a push splitter of text/event-stream. (Line-delimited JSON needs none:
 * scan/json.h takes one document after another.)
 *
 * Any split; LF, CRLF, CR and mixtures; comments, BOM, fields without a
 * space, several data lines an event, a missing last blank line. It keeps no
 * data: pieces of the `data` value are handed on as they pass, so a line of
 * 64 MiB costs nothing.
 * One thread. Embedded: sse_init, sse_feed ..., sse_end.
 */
#ifndef SCAN_SSE_H
#define SCAN_SSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SSE_NAME_BYTES = 64, SSE_FIELD_BYTES = 16 };

struct sse;

struct sse_handler {
	/* A piece of the event's data; lines are joined by "\n" pieces. */
	void (*data)(void *cls, const char *data, size_t n);
	/* The event is complete. NAME is of the last `event` field ("" where
	 * none), cut at SSE_NAME_BYTES - 1. HAS_DATA: at least one data line.
	 * An event with neither name nor data is not told. */
	void (*event)(void *cls, const char *name, bool has_data);
	/* A line whose field is none of the known ones, such as llama.cpp's
	 * old "error: {...}": NAME is the field's, cut at SSE_FIELD_BYTES.
	 * True makes it a data line: its value comes by data(), its end by
	 * event(). False, or no function: the line is ignored. */
	bool (*other_field)(void *cls, const char *name, size_t n);
};

struct sse {
	const struct sse_handler *handler;
	void *cls;
	/* private to sse.c from here on */
	uint8_t state;
	bool after_cr;
	bool at_start; /* a byte order mark may come */
	bool has_data;
	uint8_t n_field;
	uint8_t n_name;
	char field[SSE_FIELD_BYTES];
	char name[SSE_NAME_BYTES];
};

void sse_init(struct sse *s, const struct sse_handler *handler, void *cls);
void sse_feed(struct sse *s, const void *data, size_t n);

/* No more bytes: an event without its blank line is told all the same.
 * Returns true where there was one. */
bool sse_end(struct sse *s);

#endif
