/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
#include "base/keyhash.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <openssl/evp.h>
#include <openssl/params.h>
#include <xxhash.h>

enum {
	KEYHASH_BYTES = 32,
	KEYHASH_MEMO_ROWS = 16 /* a power of two */
};

static int
keyhash_read(struct keyhash *k, int fd)
{
	struct stat st;
	ssize_t n;

	if (fstat(fd, &st) < 0)
		return -errno;
	if ((st.st_mode & 077) != 0)
		return -EPERM;
	n = read(fd, k->secret, sizeof(k->secret));
	if (n < 0)
		return -errno;
	return n == (ssize_t)sizeof(k->secret) ? 0 : -EINVAL;
}

/* Written aside and linked into place, so that a crash never leaves half a
 * key and two starters agree on one. */
static int
keyhash_make(struct keyhash *k, const char *path)
{
	char aside[4096];
	int r = 0;
	int fd;

	if (snprintf(aside, sizeof(aside), "%s.%ld", path, (long)getpid()) >=
	    (int)sizeof(aside))
		return -ENAMETOOLONG;
	fd = open(aside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	keyhash_ephemeral(k);
	if (write(fd, k->secret, sizeof(k->secret)) !=
		(ssize_t)sizeof(k->secret) ||
	    fsync(fd) < 0)
		r = errno != 0 ? -errno : -EIO;
	close(fd);
	if (r == 0 && link(aside, path) < 0)
		r = -errno;
	unlink(aside);
	return r;
}

int
keyhash_open(struct keyhash *k, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int r;

	if (fd < 0 && errno == ENOENT) {
		r = keyhash_make(k, path);
		if (r != -EEXIST)
			return r;
		fd = open(path, O_RDONLY | O_CLOEXEC);
	}
	if (fd < 0)
		return -errno;
	r = keyhash_read(k, fd);
	close(fd);
	return r;
}

void
keyhash_ephemeral(struct keyhash *k)
{
	size_t got = 0;

	while (got < sizeof(k->secret)) {
		ssize_t n = getrandom(
		    k->secret + got, sizeof(k->secret) - got, 0);

		if (n > 0)
			got += (size_t)n;
	}
}

/* A context of this thread that has K's key. Fetching the algorithm and taking
 * in the key cost more than a hash, so both are done once. */
static EVP_MAC_CTX *
keyhash_context(const struct keyhash *k)
{
	static __thread EVP_MAC_CTX *context;
	static __thread unsigned char key[KEYHASH_SECRET_BYTES];
	OSSL_PARAM params[] = {
	    OSSL_PARAM_construct_utf8_string("digest", (char[]){"SHA256"}, 0),
	    OSSL_PARAM_construct_end()};

	if (context != NULL && memcmp(key, k->secret, sizeof(key)) == 0) {
		EVP_MAC_init(context, NULL, 0, NULL);
		return context;
	}
	if (context == NULL) {
		EVP_MAC *mac = EVP_MAC_fetch(NULL, "HMAC", NULL);

		context = EVP_MAC_CTX_new(mac);
		EVP_MAC_free(mac);
	}
	memcpy(key, k->secret, sizeof(key));
	EVP_MAC_init(context, k->secret, sizeof(k->secret), params);
	return context;
}

void
keyhash_hex(const struct keyhash *k, const void *data, size_t n, size_t n_hex,
    char *out)
{
	static const char digits[] = "0123456789abcdef";
	unsigned char mac[KEYHASH_BYTES] = {0};
	EVP_MAC_CTX *context = keyhash_context(k);
	size_t n_mac = 0;

	assert(n_hex <= 2 * sizeof(mac));
	EVP_MAC_update(context, data, n);
	EVP_MAC_final(context, mac, &n_mac, sizeof(mac));
	for (size_t i = 0; i < n_hex; i++)
		out[i] = digits[i % 2 == 0 ? mac[i / 2] >> 4 : mac[i / 2] & 15];
	out[n_hex] = '\0';
}

/* A row is found by 128 bits that depend on the key as well. */
void
keyhash_hex_again(const struct keyhash *k, const void *data, size_t n,
    size_t n_hex, char *out)
{
	static __thread struct {
		bool is_known;
		XXH128_hash_t name;
		char hex[2 * KEYHASH_BYTES + 1];
	} memo[KEYHASH_MEMO_ROWS], *row;
	XXH128_hash_t name = XXH3_128bits_withSecret(
	    data, n, k->secret, sizeof(k->secret));

	assert(n_hex <= sizeof(row->hex) - 1);
	row = &memo[name.low64 % KEYHASH_MEMO_ROWS];
	if (!row->is_known || !XXH128_isEqual(row->name, name)) {
		keyhash_hex(k, data, n, sizeof(row->hex) - 1, row->hex);
		row->name = name;
		row->is_known = true;
	}
	memcpy(out, row->hex, n_hex);
	out[n_hex] = '\0';
}

void
keyhash_seal64(const struct keyhash *k, uint64_t fast, char out[17])
{
	keyhash_hex(k, &fast, sizeof(fast), 16, out);
}
