/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * Any bytes as coded content: whole and split the beginnings of the outputs
 * must agree, and all of them where the input was sound; no output may exceed
 * its ceiling. The first byte picks the codings, the second the split, the
 * third the ceiling. decode_new gets the rest as a header, too.
 */
#include "scan/decode.h"

#include "fuzz.h"

static const char *const chains[] = {
    "gzip", "deflate", "br", "zstd", "gzip, br", "zstd,gzip", "identity"};

struct sink {
	struct decode *decode;
	struct fuzz_notes notes;
	int64_t n_out;
	int result;
};

static void
sink_out(void *cls, const char *data, size_t n)
{
	struct sink *s = cls;

	fuzz_check(n > 0);
	s->n_out += (int64_t)n;
	fuzz_notes_add(&s->notes, data, n);
}

static void
sink_feed(void *cls, const void *piece, size_t n)
{
	struct sink *s = cls;
	int result = decode_feed(s->decode, piece, n);

	fuzz_check(s->result == DECODE_OK || s->result == result);
	s->result = result;
}

/* Whether the input was sound to its end. */
static bool
sink_run(struct sink *s, const char *codings, int64_t max_bytes,
    const uint8_t *data, size_t n, size_t step)
{
	int end;

	s->notes.n = 0;
	s->n_out = 0;
	s->result = DECODE_OK;
	fuzz_check(decode_new(codings, strlen(codings), max_bytes, sink_out, s,
		       &s->decode) == 0);
	fuzz_feed(data, n, step, sink_feed, s);
	end = decode_end(s->decode);
	decode_free(s->decode);
	fuzz_check(s->n_out <= max_bytes);
	fuzz_check(s->result == DECODE_OK || end == s->result);
	return end == DECODE_OK;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static struct sink whole, split;
	const char *codings;
	int64_t max_bytes;
	struct decode *d;
	size_t n_both;
	bool is_sound;

	if (n < 3)
		return 0;
	codings = chains[data[0] % (sizeof(chains) / sizeof(*chains))];
	max_bytes = data[2] < 128 ? data[2] : 4 << 20;
	is_sound = sink_run(&whole, codings, max_bytes, data + 3, n - 3, n);
	fuzz_check(sink_run(&split, codings, max_bytes, data + 3, n - 3,
		       1 + data[1] % 64) == is_sound ||
		   whole.result == DECODE_BLOWN ||
		   split.result == DECODE_BLOWN);
	n_both = whole.notes.n < split.notes.n ? whole.notes.n : split.notes.n;
	fuzz_check(memcmp(whole.notes.text, split.notes.text, n_both) == 0);
	if (is_sound && split.result == DECODE_OK)
		fuzz_check(whole.notes.n == split.notes.n);
	if (decode_new((const char *)data, n, 0, sink_out, NULL, &d) == 0)
		decode_free(d);
	return 0;
}
