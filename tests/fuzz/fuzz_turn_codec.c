/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * The bytes of a journal slot: nothing in them may do harm, and what was read
 * from them is the same after writing and reading it once more.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "record/turn.h"
#include "turn_codec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static unsigned char one[1 << 17], two[1 << 17];
	struct turn *t = turn_decode(data, size, true), *again;
	size_t n, n_again;

	turn_free(t);
	t = turn_decode(data, size, false);
	if (t == NULL)
		return 0;
	n = turn_encode(t, TURN_CODEC_CUT_NOTHING, one, sizeof(one));
	turn_free(t);
	if (n == 0)
		return 0;
	again = turn_decode(one, n, false);
	assert(again != NULL);
	n_again = turn_encode(again, TURN_CODEC_CUT_NOTHING, two, sizeof(two));
	assert(n == n_again && memcmp(one, two, n) == 0);
	turn_free(again);
	return 0;
}
