/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * Any bytes as JSON: whole and split they must tell the same, containers must
 * close as they opened, offsets must grow, and what jansson reads as a document
 * must be one here too, whatever of it is skipped. The first byte picks the
 * wishes, the second the split.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "scan/json.h"

#include "fuzz.h"
#include "oracle_json.h"

struct told {
	struct json json;
	struct fuzz_notes notes;
	uint8_t wishes;
	bool in_string;
	bool is_failed;
	size_t n_documents;
	size_t offset;
	size_t n_fed; /* the piece at hand included */
	int depth;
	enum json_event kinds[JSON_DEPTH_MAX];
};

static void
told_structure(struct told *t, enum json_event event, int depth)
{
	switch (event) {
	case JSON_OBJECT:
	case JSON_ARRAY:
		fuzz_check(depth == t->depth && depth < JSON_DEPTH_MAX);
		t->kinds[t->depth++] = event;
		break;
	case JSON_OBJECT_END:
	case JSON_ARRAY_END:
		fuzz_check(--t->depth == depth);
		fuzz_check(
		    t->kinds[depth] ==
		    (event == JSON_OBJECT_END ? JSON_OBJECT : JSON_ARRAY));
		break;
	case JSON_DOCUMENT_END:
		fuzz_check(depth == 0 && t->depth == 0);
		t->n_documents++;
		break;
	case JSON_FAILED:
		fuzz_check(!t->is_failed);
		t->is_failed = true;
		break;
	default: fuzz_check(depth == t->depth); break;
	}
}

static enum json_wish
told_event(void *cls, enum json_event event, int depth, const char *data,
    size_t n, bool is_last)
{
	struct told *t = cls;
	size_t offset = json_offset(&t->json);

	fuzz_check(offset >= t->offset && offset <= t->n_fed);
	t->offset = offset;
	told_structure(t, event, depth);
	if (event == JSON_STRING) {
		if (!t->in_string)
			fuzz_notes_add(&t->notes, "\"", 1);
		t->in_string = !is_last;
		fuzz_notes_add(&t->notes, data, n);
		if (!is_last)
			return JSON_WANT;
	} else {
		char mark[2] = {(char)('a' + event), (char)depth};

		fuzz_check(!t->in_string || event == JSON_FAILED);
		fuzz_check(is_last);
		fuzz_notes_add(&t->notes, mark, 2);
	}
	fuzz_notes_add(&t->notes, &offset, sizeof(offset));
	if (event == JSON_KEY || event == JSON_NUMBER) {
		fuzz_check(n <= (event == JSON_KEY ? JSON_KEY_BYTES
						   : JSON_NUMBER_BYTES));
		fuzz_notes_add(&t->notes, data, n);
	}
	return t->wishes >> ((unsigned)event + n) % 8 & 1 ? JSON_SKIP
							  : JSON_WANT;
}

static void
told_feed(void *cls, const void *piece, size_t n)
{
	struct told *t = cls;

	t->n_fed += n;
	json_feed(&t->json, piece, n);
	fuzz_check(json_offset(&t->json) == t->n_fed);
}

static bool
told_run(
    struct told *t, uint8_t wishes, const uint8_t *data, size_t n, size_t step)
{
	memset(t, 0, sizeof(*t));
	t->wishes = wishes;
	json_init(&t->json, told_event, t);
	fuzz_feed(data, n, step, told_feed, t);
	return json_end(&t->json);
}

static void
check_unescape(const uint8_t *data, size_t n, size_t n_out)
{
	char *out = malloc(n_out);
	size_t len = json_unescape((const char *)data, n, out, n_out);

	fuzz_check(n_out == 0 ? len == 0 : len < n_out && out[len] == '\0');
	free(out);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static struct told whole, split;
	bool is_whole;
	int64_t value;

	if (n < 2)
		return 0;
	is_whole = told_run(&whole, data[0], data + 2, n - 2, n);
	fuzz_check(told_run(&split, data[0], data + 2, n - 2, 1 + data[1]) ==
		   is_whole);
	fuzz_notes_compare(&whole.notes, &split.notes);
	if (oracle_is_document(data + 2, n - 2))
		fuzz_check(
		    is_whole && whole.n_documents == 1 && !whole.is_failed);
	check_unescape(data + 2, n - 2, data[1]);
	json_number_int((const char *)data + 2, n - 2, &value);
	return 0;
}
