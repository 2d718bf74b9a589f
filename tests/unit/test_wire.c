/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * Runs every case of tests/wire through the meter: whole, byte by byte, and at
 * random splits, which must give the same turn. A case is a folder:
 *
 *   request, response   head, empty line, body, as on the wire
 *   expect.json         fields of the turn; `flags` as a set, `tools` by name
 *   script              optional, a line each:
 *     at MS TEXT          from the next TEXT on, the response's body comes at
 *                         MS after the request's head (escapes: \n)
 *     end HOW MS          how and when the exchange ended: clean, reset,
 *                         truncated, client, timeout
 *
 * Without a script the head comes at 100 ms, the body at 200 ms, and the end
 * is clean.
 */
#include <assert.h>
#include <dirent.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/keyhash.h"
#include "meter/meter.h"
#include "record/turn.h"
#include "record/turn_json.h"

enum { MARKS_MAX = 64, CASES_MAX = 256, N_SPLITS = 50, T0_MS = 5000 };

struct mark {
	size_t offset;
	double ms;
};

struct wire_case {
	char path[512];
	char *request;
	char *response;
	size_t n_request;
	size_t n_response;
	struct mark marks[MARKS_MAX];
	int n_marks;
	enum meter_end end;
	double end_ms;
};

static struct keyhash wire_key;

static char *
wire_read(const char *folder, const char *name, size_t *n_out)
{
	char path[600];
	struct stat st;
	char *text;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	f = fopen(path, "rb");
	if (f == NULL)
		return NULL;
	assert_int_equal(fstat(fileno(f), &st), 0);
	text = malloc((size_t)st.st_size + 1);
	assert_non_null(text);
	*n_out = fread(text, 1, (size_t)st.st_size, f);
	text[*n_out] = '\0';
	fclose(f);
	return text;
}

/* Where the body begins; cuts the head at its empty line. */
static size_t
wire_body(char *text, size_t n)
{
	for (size_t i = 0; i + 1 < n; i++) {
		if (text[i] != '\n')
			continue;
		if (text[i + 1] == '\n' ||
		    (text[i + 1] == '\r' && text[i + 2] == '\n')) {
			text[i] = '\0';
			return i + (text[i + 1] == '\n' ? 2 : 3);
		}
	}
	fail_msg("no end of the head");
	return n;
}

static enum meter_end
wire_end_of(const char *how)
{
	static const struct {
		const char *name;
		enum meter_end end;
	} ends[] = {{"clean", METER_END_CLEAN},
	    {"reset", METER_END_UPSTREAM_RESET},
	    {"truncated", METER_END_UPSTREAM_TRUNCATED},
	    {"client", METER_END_CLIENT_CLOSED},
	    {"timeout", METER_END_TIMEOUT}};

	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		if (strcmp(ends[i].name, how) == 0)
			return ends[i].end;
	fail_msg("unknown end %s", how);
	return METER_END_CLEAN;
}

static void
wire_read_script(struct wire_case *c, const char *body, size_t n_body)
{
	size_t n, from = 0;
	char *script = wire_read(c->path, "script", &n), *save, *line;

	c->marks[c->n_marks++] = (struct mark){0, 200};
	c->end_ms = -1;
	if (script == NULL)
		return;
	for (line = strtok_r(script, "\n", &save); line != NULL;
	     line = strtok_r(NULL, "\n", &save)) {
		char how[16];
		double ms;
		int at = 0;

		if (sscanf(line, "end %15s %lf", how, &ms) == 2) {
			c->end = wire_end_of(how);
			c->end_ms = ms;
			continue;
		}
		assert_int_equal(sscanf(line, "at %lf %n", &ms, &at), 1);
		const char *hit = memmem(
		    body + from, n_body - from, line + at, strlen(line + at));

		if (hit == NULL)
			fail_msg("%s: no \"%s\"", c->path, line + at);
		from = (size_t)(hit - body) + 1;
		assert_true(c->n_marks < MARKS_MAX);
		if (hit == body)
			c->n_marks = 0;
		c->marks[c->n_marks++] = (struct mark){
		    (size_t)(hit - body), ms};
	}
	free(script);
}

static int64_t
wire_ns(double ms)
{
	return (int64_t)llround((T0_MS + ms) * 1e6);
}

static void
wire_feed_request(
    struct meter *m, char *head, const char *body, size_t n, unsigned mode)
{
	char *save, *line = strtok_r(head, "\r\n", &save);

	while ((line = strtok_r(NULL, "\r\n", &save)) != NULL) {
		char *value = strchr(line, ':');

		assert_non_null(value);
		*value++ = '\0';
		value += strspn(value, " ");
		meter_request_header(m, line, value);
	}
	for (size_t i = 0; i < n;) {
		size_t piece = mode == 0   ? n
			       : mode == 1 ? 1
					   : 1 + (size_t)(rand() % 97);

		if (piece > n - i)
			piece = n - i;
		meter_request_body(m, body + i, piece);
		i += piece;
	}
	meter_request_end(m);
}

static void
wire_feed_head(struct meter *m, char *head)
{
	char *save, *line = strtok_r(head, "\r\n", &save);
	int status = 0;

	assert_int_equal(sscanf(line, "HTTP/%*s %d", &status), 1);
	meter_response_status(m, status);
	while ((line = strtok_r(NULL, "\r\n", &save)) != NULL) {
		char *value = strchr(line, ':');
		size_t n_name;

		assert_non_null(value);
		n_name = (size_t)(value++ - line);
		value += strspn(value, " ");
		meter_response_header(m, line, n_name, value, strlen(value));
	}
}

/* Returns the time of the last piece. */
static double
wire_feed_body(struct meter *m, const struct wire_case *c, const char *body,
    size_t n, unsigned mode)
{
	double ms = c->marks[0].ms;
	int mark = 0;

	for (size_t i = 0; i < n;) {
		size_t piece = mode == 0   ? n
			       : mode == 1 ? 1
					   : 1 + (size_t)(rand() % 97);
		size_t next = n;

		while (mark + 1 < c->n_marks && c->marks[mark + 1].offset <= i)
			mark++;
		if (mark + 1 < c->n_marks)
			next = c->marks[mark + 1].offset;
		ms = c->marks[mark].ms;
		if (piece > next - i)
			piece = next - i;
		/* The relay settles here, for the journal. */
		if (meter_response_body(m, body + i, piece, wire_ns(ms)) &
		    METER_SAW_TERMINAL)
			meter_settle(m, METER_END_CLEAN, wire_ns(ms));
		i += piece;
	}
	return ms;
}

/* One run; the turn as JSON, without what differs from run to run. */
static json_t *
wire_run(const struct wire_case *c, unsigned mode)
{
	struct turn *t = turn_new();
	char *request = malloc(c->n_request + 1);
	char *response = malloc(c->n_response + 1);
	char method[16], path[512], host[128] = "";
	struct meter_setup setup = {.method = method,
	    .path = path,
	    .upstream_host = host,
	    .keys = &wire_key,
	    .t0_ns = wire_ns(0)};
	size_t request_body, response_body;
	struct meter *m;
	json_t *out;
	double ms;

	memcpy(request, c->request, c->n_request + 1);
	memcpy(response, c->response, c->n_response + 1);
	request_body = wire_body(request, c->n_request);
	response_body = wire_body(response, c->n_response);
	assert_int_equal(sscanf(request, "%15s %511[^ ?]", method, path), 2);
	srand(mode);
	m = meter_new(&setup, t);
	assert_non_null(m);
	wire_feed_request(m, request, request + request_body,
	    c->n_request - request_body, mode);
	wire_feed_head(m, response);
	meter_response_head_end(m, wire_ns(100));
	ms = wire_feed_body(m, c, response + response_body,
	    c->n_response - response_body, mode);
	if (c->end_ms >= 0)
		ms = c->end_ms;
	meter_settle(m, c->end, wire_ns(ms));
	out = turn_to_json(t);
	json_object_del(out, "id");
	json_object_del(out, "started_at");
	meter_free(m);
	turn_free(t);
	free(request);
	free(response);
	return out;
}

static bool
wire_has_flag(const json_t *flags, const char *name)
{
	size_t i;
	json_t *flag;

	json_array_foreach(flags, i,
	    flag) if (strcmp(json_string_value(flag), name) == 0) return true;
	return false;
}

static bool
wire_equal(const char *key, const json_t *want, const json_t *got)
{
	size_t i;
	json_t *item;

	if (strcmp(key, "flags") == 0) {
		json_array_foreach(want, i,
		    item) if (!wire_has_flag(got,
				  json_string_value(item))) return false;
		return json_array_size(want) == json_array_size(got);
	}
	if (strcmp(key, "tools") == 0) {
		json_array_foreach(
		    got, i, item) if (json_integer_value(json_object_get(item,
					  "calls")) !=
				      json_integer_value(json_object_get(want,
					  json_string_value(json_object_get(
					      item, "name"))))) return false;
		return json_array_size(got) == json_object_size(want);
	}
	if (json_is_number(want) && json_is_number(got))
		return fabs(json_number_value(want) - json_number_value(got)) <
		       1e-3;
	return json_equal(want, got);
}

static void
wire_compare(const char *path, const json_t *expect, const json_t *got)
{
	const char *key;
	json_t *want;
	int n_wrong = 0;

	json_object_foreach((json_t *)(uintptr_t)expect, key, want)
	{
		json_t *value = json_object_get(got, key);
		char *a, *b;

		if (value != NULL && wire_equal(key, want, value))
			continue;
		a = json_dumps(want, JSON_ENCODE_ANY | JSON_COMPACT);
		b = value != NULL
			? json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT)
			: NULL;
		print_error("%s: %s is %s, should be %s\n", path, key,
		    b != NULL ? b : "absent", a);
		free(a);
		free(b);
		n_wrong++;
	}
	assert_int_equal(n_wrong, 0);
}

static void
test_wire_case(void **state)
{
	struct wire_case *c = *state;
	char path[600];
	json_t *expect, *whole, *again;

	snprintf(path, sizeof(path), "%s/expect.json", c->path);
	expect = json_load_file(path, 0, NULL);
	c->request = wire_read(c->path, "request", &c->n_request);
	c->response = wire_read(c->path, "response", &c->n_response);
	if (expect == NULL || c->request == NULL || c->response == NULL)
		fail_msg("%s: a file is missing or broken", c->path);
	char *copy = malloc(c->n_response + 1);
	memcpy(copy, c->response, c->n_response + 1);
	size_t body = wire_body(copy, c->n_response);
	wire_read_script(c, copy + body, c->n_response - body);
	free(copy);

	whole = wire_run(c, 0);
	wire_compare(c->path, expect, whole);
	for (unsigned mode = 1; mode <= 1 + N_SPLITS; mode++) {
		again = wire_run(c, mode);
		if (!json_equal(whole, again)) {
			print_error("split by %u:\n", mode);
			wire_compare(c->path, whole, again);
			fail();
		}
		json_decref(again);
	}
	json_decref(whole);
	json_decref(expect);
	free(c->request);
	free(c->response);
}

static int
wire_by_path(const void *a, const void *b)
{
	return strcmp(((const struct wire_case *)a)->path,
	    ((const struct wire_case *)b)->path);
}

static size_t
wire_find(const char *root, struct wire_case *cases)
{
	size_t n = 0;
	DIR *protocols = opendir(root);
	struct dirent *p, *e;

	assert(protocols != NULL);
	while ((p = readdir(protocols)) != NULL) {
		char folder[300];
		DIR *d;

		if (p->d_name[0] == '.')
			continue;
		snprintf(folder, sizeof(folder), "%s/%.64s", root, p->d_name);
		d = opendir(folder);
		while (d != NULL && (e = readdir(d)) != NULL) {
			if (e->d_name[0] == '.')
				continue;
			assert(n < CASES_MAX);
			snprintf(cases[n++].path, sizeof(cases[0].path),
			    "%s/%.128s", folder, e->d_name);
		}
		if (d != NULL)
			closedir(d);
	}
	closedir(protocols);
	return n;
}

int
main(int argc, char **argv)
{
	static struct wire_case cases[CASES_MAX];
	static struct CMUnitTest tests[CASES_MAX];
	size_t n = wire_find(argc > 1 ? argv[1] : WIRE_FOLDER, cases);

	qsort(cases, n, sizeof(*cases), wire_by_path);
	keyhash_ephemeral(&wire_key);
	for (size_t i = 0; i < n; i++)
		tests[i] = (struct CMUnitTest){
		    .name = strrchr(cases[i].path, '/') + 1,
		    .test_func = test_wire_case,
		    .initial_state = &cases[i]};
	return _cmocka_run_group_tests("wire", tests, n, NULL, NULL);
}
