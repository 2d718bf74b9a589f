/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * Any bytes as a request's body, in every shape: whole and split, which must
 * give the same turn. The first byte picks the shape, the second the split.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/keyhash.h"
#include "meter/identity.h"
#include "meter/request.h"
#include "record/turn.h"

static void
check(bool claim)
{
	if (!claim)
		abort();
}

static struct turn *
scan(const struct keyhash *key, enum request_shape shape, const uint8_t *data,
    size_t n, size_t step)
{
	struct turn *t = turn_new();
	struct request_scan *s = request_scan_new(t, key, shape);
	struct identity identity;

	for (size_t at = 0; at < n; at += step)
		request_scan_feed(s, data + at, n - at < step ? n - at : step);
	request_scan_end(s);
	identity_init(&identity, key);
	request_scan_identify(s, &identity);
	identity_finish(&identity, t);
	check(request_scan_memory(s) < 300 * 1024);
	for (size_t i = 0; i < request_scan_n_messages(s); i++)
		check(request_scan_message(s, i) == NULL ||
		      request_scan_message(s, i)->bytes <= (int64_t)n);
	request_scan_free(s);
	return t;
}

static bool
is_same(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static struct keyhash key; /* all zero: the same in every run */
	struct turn *whole, *split;
	enum request_shape shape;

	if (n < 2)
		return 0;
	shape = data[0] % 3;
	whole = scan(&key, shape, data + 2, n - 2, n);
	split = scan(&key, shape, data + 2, n - 2, 1 + data[1] % 16);
	check(is_same(whole->model, split->model));
	check(is_same(whole->flags, split->flags));
	check(is_same(whole->body_hash, split->body_hash));
	check(is_same(whole->prefix_hash, split->prefix_hash));
	check(is_same(whole->session_id, split->session_id));
	check(whole->n_messages == split->n_messages);
	check(whole->last_message == split->last_message);
	check(whole->context_user_bytes == split->context_user_bytes);
	check(whole->context_results_bytes == split->context_results_bytes);
	check(whole->n_tools == split->n_tools);
	turn_free(whole);
	turn_free(split);
	return 0;
}
