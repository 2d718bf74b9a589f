/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * decode: undoes a Content-Encoding on a copy, piece by piece.
 *
 * One descriptor a coding: gzip (also x-gzip, several members), deflate (zlib
 * or raw), br, zstd (several frames), identity. Output comes as soon as its
 * input is there (sync flush). A ceiling on output and on its ratio to the
 * input guards against blow-ups, for each coding of a chain.
 * A decoder's own memory (32 KiB to 16 MiB, as the sender's window asks) is
 * made at the first byte. One thread.
 */
#ifndef SCAN_DECODE_H
#define SCAN_DECODE_H

#include <stddef.h>
#include <stdint.h>

struct decode;

enum decode_result {
	DECODE_OK = 0,
	DECODE_UNKNOWN, /* a coding that this build does not know */
	DECODE_BROKEN,  /* the data is not of that coding */
	DECODE_BLOWN    /* a ceiling was reached, or memory ran out */
};

enum {
	/* Codings in a chain; a longer one is DECODE_UNKNOWN. */
	DECODE_CHAIN_MAX = 4,
	/* Output beyond the grace may be this many times the input. That is
	 * what deflate can do at most (1032:1); br and zstd are held to it. */
	DECODE_RATIO_MAX = 1000,
	DECODE_RATIO_GRACE_BYTES = 1024 * 1024,
	/* The largest window of zstd that HTTP allows: 8 MiB (RFC 9659). */
	DECODE_ZSTD_WINDOW_LOG_MAX = 23
};

/*
 * CODINGS is the header's value ("gzip", "gzip, br": undone from the last
 * one). OUT is called with decoded pieces within decode_feed. Positive
 * DECODE_UNKNOWN: nothing was made. -ENOMEM. "" and "identity" are passed on.
 * Names are taken in any case. Of the output no byte after MAX_BYTES is given;
 * reaching exactly that many is no blow-up.
 */
int decode_new(const char *codings, size_t n_codings, int64_t max_bytes,
    void (*out)(void *cls, const char *data, size_t n), void *cls,
    struct decode **decode_out);
void decode_free(struct decode *d);

/* An enum decode_result; after anything but DECODE_OK the rest is swallowed
 * with the same answer. */
int decode_feed(struct decode *d, const void *data, size_t n);

/* Whether the input so far is whole: DECODE_OK (also where there was none, as
 * in the answer to a HEAD), DECODE_BROKEN where it is cut, or what decode_feed
 * answered last. */
int decode_end(struct decode *d);

/* For docs, doctor and tests: the names, NULL-terminated. */
extern const char *const decode_names[];

#endif
