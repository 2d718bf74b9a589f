/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * What the request scanner costs: milliseconds of CPU per megabyte of a body
 * such as agents send (a tenth system prompt and tools, the rest messages with
 * tool results of source text), or of the file given, in pieces of 64 KiB,
 * with and without hashing. Prints the best of several rounds.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/keyhash.h"
#include "meter/request.h"
#include "record/turn.h"

enum { ROUNDS = 40, BODY_BYTES = 1 << 20, PIECE_BYTES = 64 << 10 };

static void
add_text(struct buf *b, size_t n)
{
	static const char line[] =
	    "\\tif (b->end - b->start < n) {\\n\\t\\treturn \\\"short\\\";\\n";

	for (size_t at = 0; at < n; at += sizeof(line) - 1)
		buf_append(b, line, sizeof(line) - 1);
}

static void
add_tool(struct buf *b, int i)
{
	buf_printf(b, "%s{\"name\":\"tool_%d\",\"description\":\"",
	    i > 0 ? "," : "", i);
	add_text(b, 1000);
	buf_printf(b, "\",\"input_schema\":{\"type\":\"object\","
		      "\"properties\":{");
	for (int p = 0; p < 8; p++)
		buf_printf(b,
		    "%s\"parameter_%d\":{\"type\":\"string\",\"description\":"
		    "\"What the parameter is for.\",\"minLength\":%d}",
		    p > 0 ? "," : "", p, p);
	buf_printf(b, "},\"required\":[\"parameter_0\",\"parameter_1\"]}}");
}

static void
add_exchange(struct buf *b, int i)
{
	buf_printf(b,
	    "%s{\"role\":\"assistant\",\"content\":[{\"type\":\"text\","
	    "\"text\":\"",
	    i > 0 ? "," : "");
	add_text(b, 300);
	buf_printf(b,
	    "\"},{\"type\":\"tool_use\",\"id\":\"toolu_%08d\",\"name\":"
	    "\"tool_%d\",\"input\":{\"path\":\"src/a/b/c_%d.c\",\"limit\":%d}}"
	    "]},{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\","
	    "\"tool_use_id\":\"toolu_%08d\",\"content\":\"",
	    i, i % 20, i, i, i);
	add_text(b, (size_t)(i % 8) * 600);
	buf_printf(b, "\"}]}");
}

static void
make_body(struct buf *b)
{
	buf_init(b, 2 * BODY_BYTES);
	buf_printf(b, "{\"model\":\"m\",\"system\":\"");
	add_text(b, BODY_BYTES / 20);
	buf_printf(b, "\",\"tools\":[");
	for (int i = 0; i < 30; i++)
		add_tool(b, i);
	buf_printf(b, "],\"messages\":[");
	for (int i = 0; buf_len(b) < BODY_BYTES; i++)
		add_exchange(b, i);
	buf_printf(b, "],\"stream\":true}");
}

static void
read_body(struct buf *b, const char *path)
{
	FILE *f = fopen(path, "rb");
	char piece[4096];
	size_t n;

	if (f == NULL) {
		perror(path);
		exit(1);
	}
	buf_init(b, 256 << 20);
	while ((n = fread(piece, 1, sizeof(piece), f)) > 0)
		buf_append(b, piece, n);
	fclose(f);
}

static double
cpu_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static double
scan_once(const struct buf *b, const struct keyhash *key)
{
	struct turn *t = turn_new();
	struct request_scan *s = request_scan_new(
	    t, key, REQUEST_SHAPE_ANTHROPIC);
	size_t n = buf_len(b);
	double start = cpu_ms(), ms;

	for (size_t at = 0; at < n; at += PIECE_BYTES)
		request_scan_feed(s, buf_data(b) + at,
		    n - at < PIECE_BYTES ? n - at : PIECE_BYTES);
	request_scan_end(s);
	ms = cpu_ms() - start;
	if (!request_scan_is_json(s))
		abort();
	request_scan_free(s);
	turn_free(t);
	return ms / ((double)n / 1e6);
}

int
main(int argc, char **argv)
{
	double scanned = 1e9, hashed = 1e9;
	struct keyhash key;
	struct buf body;

	keyhash_ephemeral(&key);
	if (argc > 1)
		read_body(&body, argv[1]);
	else
		make_body(&body);
	for (int i = 0; i < ROUNDS; i++) {
		double ms = scan_once(&body, NULL);

		scanned = ms < scanned ? ms : scanned;
		ms = scan_once(&body, &key);
		hashed = ms < hashed ? ms : hashed;
	}
	printf("request scan: %.3f ms/MB, with hashing %.3f ms/MB (%zu bytes)"
	       "\n",
	    scanned, hashed, buf_len(&body));
	buf_fini(&body);
	return 0;
}
