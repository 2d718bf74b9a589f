/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <brotli/encode.h>
#include <cmocka.h>
#include <zlib.h>
#include <zstd.h>

#include "scan/decode.h"

#include "split.h"

enum { TEXT_BYTES = 100 * 1000, PACKED_BYTES = 400 * 1000 };

static const int64_t plenty = 1 << 30;

struct bytes {
	char *base;
	size_t n;
	size_t size;
};

struct sink {
	struct decode *decode;
	struct bytes text;
	int result;
};

static void
bytes_add(struct bytes *b, const void *data, size_t n)
{
	if (n == 0)
		return;
	if (b->size - b->n < n) {
		b->size = 2 * (b->n + n);
		b->base = realloc(b->base, b->size);
		assert_non_null(b->base);
	}
	memcpy(b->base + b->n, data, n);
	b->n += n;
}

static void
sink_out(void *cls, const char *data, size_t n)
{
	struct sink *s = cls;

	assert_true(n > 0);
	bytes_add(&s->text, data, n);
}

static void
sink_feed(void *cls, const void *piece, size_t n)
{
	struct sink *s = cls;
	int result = decode_feed(s->decode, piece, n);

	if (s->result != DECODE_OK)
		assert_int_equal(result, s->result);
	s->result = result;
}

static void
sink_open(struct sink *s, const char *codings, int64_t max_bytes)
{
	memset(s, 0, sizeof(*s));
	assert_int_equal(decode_new(codings, strlen(codings), max_bytes,
			     sink_out, s, &s->decode),
	    0);
}

static void
sink_close(struct sink *s)
{
	decode_free(s->decode);
	free(s->text.base);
}

/*
 * The encoders. Each takes the text in two halves, with a flush between them,
 * where the coding knows one.
 */

static struct bytes
pack_zlib(const char *text, size_t n, int window_bits)
{
	struct bytes b = {malloc(PACKED_BYTES), 0, PACKED_BYTES};
	z_stream z = {0};

	assert_int_equal(
	    deflateInit2(&z, 6, Z_DEFLATED, window_bits, 8, 0), Z_OK);
	z.next_out = (void *)b.base;
	z.avail_out = PACKED_BYTES;
	z.next_in = (void *)(uintptr_t)text;
	z.avail_in = (unsigned)n / 2;
	assert_int_equal(deflate(&z, Z_SYNC_FLUSH), Z_OK);
	z.avail_in = (unsigned)(n - n / 2);
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	b.n = z.total_out;
	deflateEnd(&z);
	return b;
}

static struct bytes
pack_gzip(const char *text, size_t n)
{
	return pack_zlib(text, n, 15 + 16);
}

static struct bytes
pack_deflate_zlib(const char *text, size_t n)
{
	return pack_zlib(text, n, 12);
}

static struct bytes
pack_deflate_raw(const char *text, size_t n)
{
	return pack_zlib(text, n, -15);
}

static struct bytes
pack_members(const char *text, size_t n)
{
	struct bytes a = pack_gzip(text, n / 3);
	struct bytes b = pack_gzip(text + n / 3, n - n / 3);
	struct bytes none = pack_gzip("", 0);

	bytes_add(&a, none.base, none.n);
	bytes_add(&a, b.base, b.n);
	free(b.base);
	free(none.base);
	return a;
}

static struct bytes
pack_br(const char *text, size_t n)
{
	struct bytes b = {malloc(PACKED_BYTES), PACKED_BYTES, PACKED_BYTES};

	assert_int_equal(BrotliEncoderCompress(5, 22, BROTLI_MODE_TEXT, n,
			     (const uint8_t *)text, &b.n, (uint8_t *)b.base),
	    BROTLI_TRUE);
	return b;
}

static struct bytes
pack_zstd(const char *text, size_t n)
{
	struct bytes b = {malloc(PACKED_BYTES), 0, PACKED_BYTES};

	b.n = ZSTD_compress(b.base, PACKED_BYTES, text, n, 3);
	assert_false(ZSTD_isError(b.n));
	return b;
}

static struct bytes
pack_frames(const char *text, size_t n)
{
	struct bytes a = pack_zstd(text, n / 3);
	struct bytes b = pack_zstd(text + n / 3, n - n / 3);

	/* a frame that says of itself that it is to be skipped */
	bytes_add(&a, "\x50\x2a\x4d\x18\x03\0\0\0abc", 11);
	bytes_add(&a, b.base, b.n);
	free(b.base);
	return a;
}

static struct bytes
pack_plain(const char *text, size_t n)
{
	struct bytes b = {0};

	bytes_add(&b, text, n);
	return b;
}

static struct bytes
pack_gzip_br(const char *text, size_t n)
{
	struct bytes a = pack_gzip(text, n), b = pack_br(a.base, a.n);

	free(a.base);
	return b;
}

static struct bytes
pack_three(const char *text, size_t n)
{
	struct bytes a = pack_gzip_br(text, n), b = pack_zstd(a.base, a.n);

	free(a.base);
	return b;
}

static const struct {
	const char *codings;
	struct bytes (*pack)(const char *text, size_t n);
} packers[] = {
    {"", pack_plain},
    {" ", pack_plain},
    {"identity", pack_plain},
    {"gzip", pack_gzip},
    {"GZip", pack_gzip},
    {"x-gzip", pack_gzip},
    {"gzip", pack_members},
    {"deflate", pack_deflate_zlib},
    {"deflate", pack_deflate_raw},
    {"br", pack_br},
    {"zstd", pack_zstd},
    {"zstd", pack_frames},
    {"gzip, br", pack_gzip_br},
    {" gzip\t,,identity ,  BR, ", pack_gzip_br},
    {"gzip,br,zstd", pack_three},
};

enum { PACKERS = sizeof(packers) / sizeof(*packers) };

/* Words out of a small set: it packs well, but has no period. */
static char *
make_text(size_t n)
{
	static const char *const words[] = {"alpha ", "beta ", "gamma ",
	    "delta\n", "{\"epsilon\":", "zeta}", "eta ", "theta, "};
	char *text = malloc(n);
	uint64_t seed = 77;
	size_t i = 0;

	assert_non_null(text);
	while (i < n) {
		const char *word = words[split_random(&seed) % 8];

		while (*word != '\0' && i < n)
			text[i++] = *word++;
	}
	return text;
}

static void
test_decode_round_trip(void **state)
{
	static const size_t sizes[] = {0, 1, 2, 500, TEXT_BYTES};
	char *text = make_text(TEXT_BYTES);

	(void)state;
	for (size_t i = 0; i < PACKERS; i++)
		for (size_t k = 0; k < sizeof(sizes) / sizeof(*sizes); k++) {
			struct bytes b = packers[i].pack(text, sizes[k]);

			for (int way = 0; way < SPLIT_WAYS; way++) {
				struct sink s;

				sink_open(&s, packers[i].codings, plenty);
				split_feed(way, b.base, b.n, sink_feed, &s);
				assert_int_equal(s.result, DECODE_OK);
				assert_int_equal(
				    decode_end(s.decode), DECODE_OK);
				assert_int_equal(s.text.n, sizes[k]);
				if (sizes[k] > 0)
					assert_memory_equal(
					    s.text.base, text, sizes[k]);
				sink_close(&s);
			}
			free(b.base);
		}
	free(text);
}

/* Cut anywhere, the beginning is told and the end says that it is cut. */
static void
test_decode_truncated(void **state)
{
	char *text = make_text(500);

	(void)state;
	for (size_t i = 0; i < PACKERS; i++) {
		struct bytes b = packers[i].pack(text, 500);

		for (size_t n = 1; n < b.n && packers[i].pack != pack_plain;
		     n++) {
			struct sink s;
			int end;

			sink_open(&s, packers[i].codings, plenty);
			split_feed(SPLIT_WHOLE, b.base, n, sink_feed, &s);
			assert_int_equal(s.result, DECODE_OK);
			end = decode_end(s.decode);
			if (packers[i].pack != pack_members &&
			    packers[i].pack != pack_frames)
				assert_int_equal(end, DECODE_BROKEN);
			assert_true(s.text.n <= 500);
			if (s.text.n > 0)
				assert_memory_equal(
				    s.text.base, text, s.text.n);
			sink_close(&s);
		}
		free(b.base);
	}
	free(text);
}

/* No input at all is whole: the answer to a HEAD says gzip, too. */
static void
test_decode_empty(void **state)
{
	(void)state;
	for (size_t i = 0; i < PACKERS; i++) {
		struct sink s;

		sink_open(&s, packers[i].codings, plenty);
		assert_int_equal(decode_feed(s.decode, "", 0), DECODE_OK);
		assert_int_equal(decode_end(s.decode), DECODE_OK);
		assert_int_equal(s.text.n, 0);
		sink_close(&s);
	}
}

/* What was flushed before this byte is out with this byte. */
static void
test_decode_flushed_gzip(void **state)
{
	static const int window_bits[] = {15 + 16, 15, -15};
	static const char event[] = "data: {\"a\":1}\n\n";

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		const char *name = i == 0 ? "gzip" : "deflate";
		z_stream z = {0};
		struct sink s;

		sink_open(&s, name, plenty);
		assert_int_equal(
		    deflateInit2(&z, 6, Z_DEFLATED, window_bits[i], 8, 0),
		    Z_OK);
		for (size_t k = 1; k <= 20; k++) {
			uint8_t packed[256];

			z.next_in = (void *)(uintptr_t)event;
			z.avail_in = sizeof(event) - 1;
			z.next_out = packed;
			z.avail_out = sizeof(packed);
			assert_int_equal(deflate(&z, Z_SYNC_FLUSH), Z_OK);
			split_feed(SPLIT_BYTES, (const char *)packed,
			    sizeof(packed) - z.avail_out, sink_feed, &s);
			assert_int_equal(s.text.n, k * (sizeof(event) - 1));
		}
		deflateEnd(&z);
		sink_close(&s);
	}
}

static void
test_decode_flushed_br(void **state)
{
	static const char event[] = "data: {\"a\":1}\n\n";
	BrotliEncoderState *br = BrotliEncoderCreateInstance(NULL, NULL, NULL);
	struct sink s;

	(void)state;
	sink_open(&s, "br", plenty);
	for (size_t k = 1; k <= 20; k++) {
		const uint8_t *in = (const uint8_t *)event;
		size_t n_in = sizeof(event) - 1, room = 256;
		uint8_t packed[256], *out = packed;

		assert_true(BrotliEncoderCompressStream(
		    br, BROTLI_OPERATION_FLUSH, &n_in, &in, &room, &out, NULL));
		split_feed(SPLIT_BYTES, (const char *)packed,
		    sizeof(packed) - room, sink_feed, &s);
		assert_int_equal(s.text.n, k * (sizeof(event) - 1));
	}
	BrotliEncoderDestroyInstance(br);
	sink_close(&s);
}

static void
test_decode_flushed_zstd(void **state)
{
	static const char event[] = "data: {\"a\":1}\n\n";
	ZSTD_CStream *z = ZSTD_createCStream();
	struct sink s;

	(void)state;
	sink_open(&s, "zstd", plenty);
	for (size_t k = 1; k <= 20; k++) {
		uint8_t packed[256];
		ZSTD_inBuffer in = {event, sizeof(event) - 1, 0};
		ZSTD_outBuffer out = {packed, sizeof(packed), 0};

		assert_int_equal(
		    ZSTD_compressStream2(z, &out, &in, ZSTD_e_flush), 0);
		split_feed(
		    SPLIT_BYTES, (const char *)packed, out.pos, sink_feed, &s);
		assert_int_equal(s.text.n, k * (sizeof(event) - 1));
	}
	ZSTD_freeCStream(z);
	sink_close(&s);
}

static void
test_decode_names(void **state)
{
	static const char *const unknown[] = {"compress", "lzma", "gzip2",
	    "gzi", "gzip br", "gzip;q=1", "gzip, foo", "foo, gzip",
	    "gzip,gzip,gzip,gzip,gzip"};
	struct decode *d = NULL;

	(void)state;
	for (size_t i = 0; decode_names[i] != NULL; i++) {
		assert_int_equal(
		    decode_new(decode_names[i], strlen(decode_names[i]), plenty,
			sink_out, NULL, &d),
		    0);
		decode_free(d);
	}
	for (size_t i = 0; i < sizeof(unknown) / sizeof(*unknown); i++)
		assert_int_equal(decode_new(unknown[i], strlen(unknown[i]),
				     plenty, sink_out, NULL, &d),
		    DECODE_UNKNOWN);
	/* The value ends at its length, not at a NUL. */
	assert_int_equal(
	    decode_new("gzipped", 4, plenty, sink_out, NULL, &d), 0);
	decode_free(d);
	decode_free(NULL);
}

static void
test_decode_broken(void **state)
{
	static const char *const codings[] = {"gzip", "br", "zstd", "deflate"};
	static const char nonsense[] = "{\"error\":\"it is not packed\"}";

	(void)state;
	for (size_t i = 0; i < 4; i++)
		for (int way = 0; way < SPLIT_WAYS; way++) {
			struct sink s;

			sink_open(&s, codings[i], plenty);
			split_feed(
			    way, nonsense, sizeof(nonsense) - 1, sink_feed, &s);
			assert_int_equal(s.result, DECODE_BROKEN);
			assert_int_equal(decode_end(s.decode), DECODE_BROKEN);
			sink_close(&s);
		}
}

/* A flipped bit in the middle: never more text than there was, no crash; gzip
 * and zstd see it by their checksums at the latest. */
static void
test_decode_flipped_bits(void **state)
{
	char *text = make_text(500);

	(void)state;
	for (size_t i = 0; i < PACKERS; i++) {
		struct bytes b = packers[i].pack(text, 500);

		for (size_t k = 0; k < b.n; k++) {
			struct sink s;

			b.base[k] ^= (char)(1 << (k % 8));
			sink_open(&s, packers[i].codings, 100000);
			split_feed(SPLIT_WHOLE, b.base, b.n, sink_feed, &s);
			assert_true(s.text.n <= 100000);
			assert_int_not_equal(s.result, DECODE_UNKNOWN);
			sink_close(&s);
			b.base[k] ^= (char)(1 << (k % 8));
		}
		free(b.base);
	}
	free(text);
}

/* Behind the last member of gzip there may be padding and other things. */
static void
test_decode_gzip_rest(void **state)
{
	static const char *const rests[] = {"\n", "zz\x1f\x8b", "\r\n\r\n"};
	struct bytes b = pack_gzip("text", 4);

	(void)state;
	bytes_add(&b, "\0\0\0", 3);
	for (size_t i = 0; i < 3; i++)
		for (int way = 0; way < SPLIT_WAYS; way++) {
			struct sink s;

			sink_open(&s, "gzip", plenty);
			split_feed(way, b.base, b.n, sink_feed, &s);
			split_feed(
			    way, rests[i], strlen(rests[i]), sink_feed, &s);
			assert_int_equal(decode_end(s.decode), DECODE_OK);
			assert_int_equal(s.text.n, 4);
			sink_close(&s);
		}
	free(b.base);
}

static void
test_decode_ceiling_exact(void **state)
{
	char *text = make_text(TEXT_BYTES);

	(void)state;
	for (size_t i = 0; i < PACKERS; i++) {
		struct bytes b = packers[i].pack(text, TEXT_BYTES);

		for (int way = 0; way < SPLIT_WAYS; way++) {
			for (int lack = 0; lack < 2; lack++) {
				struct sink s;

				sink_open(
				    &s, packers[i].codings, TEXT_BYTES - lack);
				split_feed(way, b.base, b.n, sink_feed, &s);
				assert_int_equal(s.result,
				    lack > 0 ? DECODE_BLOWN : DECODE_OK);
				assert_int_equal(
				    decode_end(s.decode), s.result);
				assert_int_equal(s.text.n, TEXT_BYTES - lack);
				sink_close(&s);
			}
		}
		free(b.base);
	}
	free(text);
}

/* 64 MiB of zeros out of a few bytes: not a tenth of it comes out. */
static void
test_decode_ceiling_ratio(void **state)
{
	enum { ZEROS = 64 << 20 };
	char *zeros = calloc(1, ZEROS);
	struct bytes br, zstd;

	(void)state;
	assert_non_null(zeros);
	br = pack_br(zeros, ZEROS);
	zstd = pack_zstd(zeros, ZEROS);
	for (int i = 0; i < 2; i++) {
		const struct bytes *b = i == 0 ? &br : &zstd;
		struct sink s;

		assert_true(b->n < ZEROS / DECODE_RATIO_MAX / 10);
		sink_open(&s, i == 0 ? "br" : "zstd", plenty);
		split_feed(SPLIT_WHOLE, b->base, b->n, sink_feed, &s);
		assert_int_equal(s.result, DECODE_BLOWN);
		assert_true(s.text.n < ZEROS / 10);
		sink_close(&s);
	}
	free(br.base);
	free(zstd.base);
	free(zeros);
}

/* A frame that asks for a larger window than HTTP allows. */
static void
test_decode_zstd_window(void **state)
{
	/* magic, no checksum, window descriptor of 16 MiB, an empty block */
	static const char frame[] = "\x28\xb5\x2f\xfd\x00\x70\x01\x00\x00";
	struct sink s;

	(void)state;
	sink_open(&s, "zstd", plenty);
	split_feed(SPLIT_BYTES, frame, sizeof(frame) - 1, sink_feed, &s);
	assert_int_equal(s.result, DECODE_BLOWN);
	sink_close(&s);
}

/* What was zstd in 2015 is none today, at the start or behind a frame. */
static void
test_decode_zstd_legacy(void **state)
{
	static const char frame[] = "\x25\xb5\x2f\xfd\x00\x2c\x92\x00";
	struct bytes b = pack_zstd("text", 4);

	(void)state;
	for (int way = 0; way < SPLIT_WAYS; way++)
		for (int before = 0; before < 2; before++) {
			struct sink s;

			sink_open(&s, "zstd", plenty);
			if (before > 0)
				split_feed(way, b.base, b.n, sink_feed, &s);
			split_feed(
			    way, frame, sizeof(frame) - 1, sink_feed, &s);
			assert_int_equal(s.result, DECODE_BROKEN);
			assert_int_equal(s.text.n, before > 0 ? 4 : 0);
			sink_close(&s);
		}
	free(b.base);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_decode_round_trip),
	    cmocka_unit_test(test_decode_truncated),
	    cmocka_unit_test(test_decode_empty),
	    cmocka_unit_test(test_decode_flushed_gzip),
	    cmocka_unit_test(test_decode_flushed_br),
	    cmocka_unit_test(test_decode_flushed_zstd),
	    cmocka_unit_test(test_decode_names),
	    cmocka_unit_test(test_decode_broken),
	    cmocka_unit_test(test_decode_flipped_bits),
	    cmocka_unit_test(test_decode_gzip_rest),
	    cmocka_unit_test(test_decode_ceiling_exact),
	    cmocka_unit_test(test_decode_ceiling_ratio),
	    cmocka_unit_test(test_decode_zstd_window),
	    cmocka_unit_test(test_decode_zstd_legacy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
