/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
#include "base/uuid.h"

#include <string.h>
#include <sys/random.h>

enum { UUID_POOL_BYTES = 1020 };

/* Random bytes are fetched a hundred ids at a time. */
static void
uuid_random(unsigned char *out, size_t n)
{
	static __thread unsigned char pool[UUID_POOL_BYTES];
	static __thread size_t n_left;

	if (n_left < n) {
		size_t got = 0;

		while (got < sizeof(pool)) {
			ssize_t k = getrandom(
			    pool + got, sizeof(pool) - got, 0);

			if (k > 0)
				got += (size_t)k;
		}
		n_left = sizeof(pool);
	}
	n_left -= n;
	memcpy(out, pool + n_left, n);
}

void
uuid_new(int64_t wall_ms, char out[UUID_TEXT_BYTES])
{
	static const char digits[] = "0123456789abcdef";
	uint64_t ms = (uint64_t)wall_ms;
	unsigned char b[16];

	for (int i = 0; i < 6; i++)
		b[i] = (unsigned char)(ms >> (8 * (5 - i)));
	uuid_random(b + 6, 10);
	b[6] = (unsigned char)((b[6] & 0x0f) | 0x70);
	b[8] = (unsigned char)((b[8] & 0x3f) | 0x80);
	for (int i = 0; i < 16; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			*out++ = '-';
		*out++ = digits[b[i] >> 4];
		*out++ = digits[b[i] & 15];
	}
	*out = '\0';
}
