/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * A chain of layers, the coding that was applied last being undone first:
 *
 *   input -> layer 0 -> layer 1 -> ... -> out
 *
 * A layer pushes each piece of its output into the next one, so nothing is
 * held between calls but what the libraries hold themselves. What was decoded
 * before an error is handed on: the beginning of a broken answer is still
 * worth reading.
 */
#include "scan/decode.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include <brotli/decode.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "bytes.h"

enum {
	DECODE_OUT_BYTES = 16 * 1024, /* on the stack, once a layer */
	DECODE_IN_BYTES = 1 << 20     /* zlib counts in unsigned int */
};

struct decode_layer {
	const struct decode_coding *coding;
	struct decode *owner;
	int64_t n_in, n_out;
	bool is_started;
	bool is_whole; /* at the end of a member or frame */
	bool is_over;  /* what follows the last member is no other one */
	uint8_t n_head;
	uint8_t head[2]; /* deflate: by which zlib and raw are told apart */
	union {
		z_stream zlib;
		BrotliDecoderState *br;
		ZSTD_DStream *zstd;
	} u;
};

struct decode {
	void (*out)(void *cls, const char *data, size_t n);
	void *cls;
	int64_t max_bytes;
	int64_t n_out;
	int result;
	int n_layers;
	struct decode_layer layers[DECODE_CHAIN_MAX];
};

/* A coding. start: whether there was memory. feed: an enum decode_result. */
struct decode_coding {
	const char *name;
	bool (*start)(struct decode_layer *l);
	int (*feed)(struct decode_layer *l, const uint8_t *data, size_t n);
	void (*stop)(struct decode_layer *l);
};

/*
 * Between layers.
 */

static int
decode_give(struct decode *d, const uint8_t *data, size_t n)
{
	size_t room = (size_t)(d->max_bytes - d->n_out);
	bool is_blown = n > room;

	if (is_blown)
		n = room;
	d->n_out += (int64_t)n;
	if (n > 0)
		d->out(d->cls, (const char *)data, n);
	return is_blown ? DECODE_BLOWN : DECODE_OK;
}

static int
decode_layer_feed(struct decode_layer *l, const uint8_t *data, size_t n)
{
	l->n_in += (int64_t)n;
	if (!l->is_started && !l->coding->start(l))
		return DECODE_BLOWN;
	l->is_started = true;
	return l->coding->feed(l, data, n);
}

static int
decode_layer_give(struct decode_layer *l, const uint8_t *data, size_t n)
{
	struct decode *d = l->owner;

	if (n == 0)
		return DECODE_OK;
	l->n_out += (int64_t)n;
	if (l->n_out > DECODE_RATIO_GRACE_BYTES &&
	    l->n_out / DECODE_RATIO_MAX > l->n_in)
		return DECODE_BLOWN;
	if (l + 1 == d->layers + d->n_layers)
		return decode_give(d, data, n);
	if (l->n_out > d->max_bytes)
		return DECODE_BLOWN;
	return decode_layer_feed(l + 1, data, n);
}

/*
 * gzip and deflate.
 */

static bool
decode_gzip_start(struct decode_layer *l)
{
	return inflateInit2(&l->u.zlib, MAX_WBITS + 16) == Z_OK;
}

static int
decode_inflate(struct decode_layer *l, const uint8_t *data, size_t n)
{
	z_stream *z = &l->u.zlib;
	uint8_t out[DECODE_OUT_BYTES];
	int r, result;

	z->next_in = (uint8_t *)(uintptr_t)data;
	z->avail_in = (unsigned)n;
	do {
		z->next_out = out;
		z->avail_out = sizeof(out);
		r = inflate(z, Z_SYNC_FLUSH);
		result = decode_layer_give(l, out, sizeof(out) - z->avail_out);
		if (result != DECODE_OK)
			return result;
		if (r == Z_MEM_ERROR)
			return DECODE_BLOWN;
		if (r != Z_OK && r != Z_STREAM_END && r != Z_BUF_ERROR)
			return DECODE_BROKEN;
		l->is_whole = r == Z_STREAM_END;
	} while (r == Z_OK && (z->avail_in > 0 || z->avail_out == 0));
	return DECODE_OK;
}

/* Members follow one another; what is none (padding of zeros, an appended
 * blank line) is swallowed, as gzip does. */
static int
decode_gzip_feed(struct decode_layer *l, const uint8_t *data, size_t n)
{
	const uint8_t *end = data + n;

	while (data < end && !l->is_over) {
		int result;

		if (l->is_whole) {
			l->is_over = *data != 0x1f;
			if (l->is_over)
				break;
			inflateReset(&l->u.zlib);
		}
		result = decode_inflate(l, data, (size_t)(end - data));
		if (result != DECODE_OK)
			return result;
		data = end - l->u.zlib.avail_in;
	}
	return DECODE_OK;
}

static void
decode_zlib_stop(struct decode_layer *l)
{
	inflateEnd(&l->u.zlib);
}

/* The first two bytes decide; until then there is nothing to start. */
static bool
decode_deflate_start(struct decode_layer *l)
{
	(void)l;
	return true;
}

static int
decode_deflate_feed(struct decode_layer *l, const uint8_t *data, size_t n)
{
	bool is_zlib;
	int result;

	if (l->is_whole)
		return DECODE_OK;
	if (l->n_head == sizeof(l->head))
		return decode_inflate(l, data, n);
	while (n > 0 && l->n_head < sizeof(l->head)) {
		l->head[l->n_head++] = *data++;
		n--;
	}
	if (l->n_head < sizeof(l->head))
		return DECODE_OK;
	is_zlib = (l->head[0] & 0x0f) == Z_DEFLATED &&
		  (l->head[0] << 8 | l->head[1]) % 31 == 0;
	/* 0: as large a window as the header says, no larger */
	if (inflateInit2(&l->u.zlib, is_zlib ? 0 : -MAX_WBITS) != Z_OK) {
		l->n_head = 0;
		return DECODE_BLOWN;
	}
	result = decode_inflate(l, l->head, sizeof(l->head));
	if (result != DECODE_OK || n == 0 || l->is_whole)
		return result;
	return decode_inflate(l, data, n);
}

static void
decode_deflate_stop(struct decode_layer *l)
{
	if (l->n_head == sizeof(l->head))
		inflateEnd(&l->u.zlib);
}

/*
 * br.
 */

static bool
decode_br_start(struct decode_layer *l)
{
	l->u.br = BrotliDecoderCreateInstance(NULL, NULL, NULL);
	return l->u.br != NULL;
}

static int
decode_br_error(const struct decode_layer *l)
{
	BrotliDecoderErrorCode code = BrotliDecoderGetErrorCode(l->u.br);

	/* All allocation errors are below this one. */
	return code <= BROTLI_DECODER_ERROR_ALLOC_CONTEXT_MODES &&
		       code >= BROTLI_DECODER_ERROR_ALLOC_BLOCK_TYPE_TREES
		   ? DECODE_BLOWN
		   : DECODE_BROKEN;
}

static int
decode_br_feed(struct decode_layer *l, const uint8_t *data, size_t n)
{
	BrotliDecoderResult r;

	if (l->is_whole)
		return DECODE_OK;
	do {
		uint8_t out[DECODE_OUT_BYTES], *next = out;
		size_t room = sizeof(out);
		int result;

		r = BrotliDecoderDecompressStream(
		    l->u.br, &n, &data, &room, &next, NULL);
		result = decode_layer_give(l, out, sizeof(out) - room);
		if (result != DECODE_OK)
			return result;
	} while (r == BROTLI_DECODER_RESULT_NEEDS_MORE_OUTPUT);
	l->is_whole = r == BROTLI_DECODER_RESULT_SUCCESS;
	return r == BROTLI_DECODER_RESULT_ERROR ? decode_br_error(l)
						: DECODE_OK;
}

static void
decode_br_stop(struct decode_layer *l)
{
	BrotliDecoderDestroyInstance(l->u.br);
}

/*
 * zstd.
 */

static bool
decode_zstd_start(struct decode_layer *l)
{
	l->u.zstd = ZSTD_createDStream();
	if (l->u.zstd == NULL)
		return false;
	ZSTD_DCtx_setParameter(
	    l->u.zstd, ZSTD_d_windowLogMax, DECODE_ZSTD_WINDOW_LOG_MAX);
	l->is_whole = true; /* a frame may begin */
	return true;
}

/* By the first byte of a frame: one of today's format, or one to be skipped.
 * The library would read those of 2015, too, with decoders that no HTTP server
 * has a use for. */
static bool
decode_zstd_is_frame(uint8_t first)
{
	return first == (ZSTD_MAGICNUMBER & 0xff) ||
	       (first & 0xf0) == (ZSTD_MAGIC_SKIPPABLE_START & 0xff);
}

static int
decode_zstd_error(size_t r)
{
	switch (ZSTD_getErrorCode(r)) {
	case ZSTD_error_frameParameter_windowTooLarge:
	case ZSTD_error_memory_allocation: return DECODE_BLOWN;
	default: return DECODE_BROKEN;
	}
}

static int
decode_zstd_feed(struct decode_layer *l, const uint8_t *data, size_t n)
{
	ZSTD_inBuffer in = {data, n, 0};
	uint8_t out[DECODE_OUT_BYTES];
	bool is_full;

	do {
		ZSTD_outBuffer to = {out, sizeof(out), 0};
		size_t r;
		int result;

		if (l->is_whole && !decode_zstd_is_frame(data[in.pos]))
			return DECODE_BROKEN;
		r = ZSTD_decompressStream(l->u.zstd, &to, &in);
		result = decode_layer_give(l, out, to.pos);
		if (result != DECODE_OK)
			return result;
		if (ZSTD_isError(r))
			return decode_zstd_error(r);
		l->is_whole = r == 0;
		is_full = to.pos == to.size && r != 0;
	} while (in.pos < in.size || is_full);
	return DECODE_OK;
}

static void
decode_zstd_stop(struct decode_layer *l)
{
	ZSTD_freeDStream(l->u.zstd);
}

static const struct decode_coding decode_codings[] = {
    {"gzip", decode_gzip_start, decode_gzip_feed, decode_zlib_stop},
    {"x-gzip", decode_gzip_start, decode_gzip_feed, decode_zlib_stop},
    {"deflate", decode_deflate_start, decode_deflate_feed, decode_deflate_stop},
    {"br", decode_br_start, decode_br_feed, decode_br_stop},
    {"zstd", decode_zstd_start, decode_zstd_feed, decode_zstd_stop},
};

enum { DECODE_CODINGS = sizeof(decode_codings) / sizeof(*decode_codings) };

const char *const decode_names[] = {
    "gzip", "x-gzip", "deflate", "br", "zstd", "identity", NULL};

static_assert(
    sizeof(decode_names) / sizeof(*decode_names) == DECODE_CODINGS + 2,
    "every coding has a name, and so has identity");

/*
 * The header's value.
 */

static bool
decode_is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static int
decode_add(struct decode *d, const char *s, size_t n)
{
	if (n == 0 || bytes_equal_nocase(s, n, "identity"))
		return 0;
	for (size_t i = 0; i < DECODE_CODINGS; i++) {
		const struct decode_coding *coding = &decode_codings[i];

		if (!bytes_equal_nocase(s, n, coding->name))
			continue;
		if (d->n_layers == DECODE_CHAIN_MAX)
			return DECODE_UNKNOWN;
		d->layers[d->n_layers++].coding = coding;
		return 0;
	}
	return DECODE_UNKNOWN;
}

/* From the last coding to the first. */
static int
decode_add_all(struct decode *d, const char *codings, size_t n)
{
	const char *end = codings + n;

	for (;;) {
		const char *p = end;
		const char *stop;
		int r;

		while (p > codings && p[-1] != ',')
			p--;
		stop = p;
		while (p < end && decode_is_blank(*p))
			p++;
		while (end > p && decode_is_blank(end[-1]))
			end--;
		r = decode_add(d, p, (size_t)(end - p));
		if (r != 0 || stop == codings)
			return r;
		end = stop - 1;
	}
}

int
decode_new(const char *codings, size_t n_codings, int64_t max_bytes,
    void (*out)(void *cls, const char *data, size_t n), void *cls,
    struct decode **decode_out)
{
	struct decode *d = calloc(1, sizeof(*d));
	int r;

	assert(max_bytes >= 0);
	if (d == NULL)
		return -ENOMEM;
	d->out = out;
	d->cls = cls;
	d->max_bytes = max_bytes;
	for (size_t i = 0; i < DECODE_CHAIN_MAX; i++)
		d->layers[i].owner = d;
	r = decode_add_all(d, codings, n_codings);
	if (r != 0) {
		free(d);
		return r;
	}
	*decode_out = d;
	return 0;
}

void
decode_free(struct decode *d)
{
	if (d == NULL)
		return;
	for (int i = 0; i < d->n_layers; i++)
		if (d->layers[i].is_started)
			d->layers[i].coding->stop(&d->layers[i]);
	free(d);
}

int
decode_feed(struct decode *d, const void *data, size_t n)
{
	const uint8_t *p = data;

	while (n > 0 && d->result == DECODE_OK) {
		size_t n_piece = n < DECODE_IN_BYTES ? n : DECODE_IN_BYTES;

		d->result = d->n_layers > 0
				? decode_layer_feed(&d->layers[0], p, n_piece)
				: decode_give(d, p, n_piece);
		p += n_piece;
		n -= n_piece;
	}
	return d->result;
}

int
decode_end(struct decode *d)
{
	if (d->result != DECODE_OK)
		return d->result;
	for (int i = 0; i < d->n_layers; i++)
		if (d->layers[i].is_started && !d->layers[i].is_whole)
			return DECODE_BROKEN;
	return DECODE_OK;
}
