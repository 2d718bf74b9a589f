/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * keyhash: fingerprints of what must not be kept. Any thread after opening.
 *
 * The key is 192 random bytes in a file of its own (mode 0600, never
 * exported): without it a hash says nothing about what was hashed. Two kinds:
 *
 * - keyhash_hex: HMAC-SHA256, for accounts and other short secrets.
 * - the fast hash of whole messages: XXH3 with the file's bytes as its secret,
 *   its result passed through HMAC before it leaves the program
 *   (keyhash_seal64).
 */
#ifndef BASE_KEYHASH_H
#define BASE_KEYHASH_H

#include <stddef.h>
#include <stdint.h>

enum { KEYHASH_SECRET_BYTES = 192 };

struct keyhash {
	unsigned char secret[KEYHASH_SECRET_BYTES]; /* constant after open */
};

/* Reads the key, or makes the file on first use. 0 or -errno (-EINVAL: the
 * file is not a key, -EPERM: others may read it). */
int keyhash_open(struct keyhash *k, const char *path);

/* A key that lives as long as the process: for tests and checks. */
void keyhash_ephemeral(struct keyhash *k);

/* The first N_HEX hex digits (at most 64) of the hash, NUL-terminated. */
void keyhash_hex(const struct keyhash *k, const void *data, size_t n,
    size_t n_hex, char *out);

/* The same for what comes with every request: each thread remembers the hashes
 * of the last few, and of the data no more than a fast keyed hash. */
void keyhash_hex_again(const struct keyhash *k, const void *data, size_t n,
    size_t n_hex, char *out);

/* 16 hex digits and a NUL of a fast 64-bit hash. */
void keyhash_seal64(const struct keyhash *k, uint64_t fast, char out[17]);

#endif
