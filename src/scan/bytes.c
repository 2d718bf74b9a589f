/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
#include "bytes.h"

const char *
bytes_find_quote_far(const char *p, const char *end, bool *is_escaped)
{
	uint64_t carry = *is_escaped;

	for (; end - p >= BYTES_BLOCK; p += BYTES_BLOCK) {
		uint64_t slashes = bytes_block_equal(p, 0, '\\');
		uint64_t quotes = bytes_block_equal(p, 0, '"');

		if ((slashes | carry) != 0)
			quotes &= ~bytes_escaped(slashes, &carry);
		if (quotes != 0) {
			*is_escaped = false;
			return p + __builtin_ctzll(quotes);
		}
	}
	if (carry != 0 && p < end) {
		carry = 0;
		p++;
	}
	while (p < end) {
		p = bytes_find_string_end(p, end);
		if (p == end || *p == '"')
			break;
		carry = p + 1 == end;
		p += carry != 0 ? 1 : 2;
	}
	*is_escaped = carry != 0;
	return p;
}

/* The first of CLOSES at which no container of N_OPEN and of OPENS is open. */
static int
bytes_last_close(size_t n_open, uint64_t opens, uint64_t closes)
{
	for (; closes != 0; closes &= closes - 1) {
		int i = __builtin_ctzll(closes);
		uint64_t before = (UINT64_C(1) << i) - 1;

		if (--n_open + bytes_count(opens & before) == 0)
			return i;
	}
	return BYTES_BLOCK;
}

/* { and [ differ in one bit, as do } and ]. */
static const char bytes_bracket_bit = 0x20;

static const char *
bytes_find_close_slowly(const char *p, const char *end, size_t *n_open,
    bool *in_string, bool *is_escaped)
{
	for (; p < end; p++) {
		char bracket = *p | bytes_bracket_bit;
		bool is_escaped_now = *is_escaped;

		*is_escaped = *p == '\\' && !is_escaped_now;
		if (*p == '"')
			*in_string ^= !is_escaped_now;
		else if (*in_string)
			continue;
		else if (bracket == '{')
			++*n_open;
		else if (bracket == '}' && --*n_open == 0)
			return p;
	}
	return end;
}

const char *
bytes_find_close(const char *p, const char *end, size_t *n_open,
    bool *in_string, bool *is_escaped)
{
	uint64_t carry = *is_escaped, outside = *in_string ? 0 : ~UINT64_C(0);

	for (; end - p >= BYTES_BLOCK; p += BYTES_BLOCK) {
		uint64_t slashes = bytes_block_equal(p, 0, '\\');
		uint64_t quotes = bytes_block_equal(p, 0, '"');
		uint64_t opens = bytes_block_equal(p, bytes_bracket_bit, '{');
		uint64_t closes = bytes_block_equal(p, bytes_bracket_bit, '}');

		if ((slashes | carry) != 0)
			quotes &= ~bytes_escaped(slashes, &carry);
		outside ^= bytes_parity(quotes);
		opens &= outside;
		closes &= outside;
		if (bytes_count(closes) >= *n_open) {
			int i = bytes_last_close(*n_open, opens, closes);

			if (i < BYTES_BLOCK) {
				*n_open = 0;
				*in_string = *is_escaped = false;
				return p + i;
			}
		}
		*n_open += bytes_count(opens);
		*n_open -= bytes_count(closes);
		outside = outside >> 63 != 0 ? ~UINT64_C(0) : 0;
	}
	*in_string = outside == 0;
	*is_escaped = carry != 0;
	return bytes_find_close_slowly(p, end, n_open, in_string, is_escaped);
}

bool
bytes_equal_nocase(const char *s, size_t n, const char *word)
{
	if (strlen(word) != n)
		return false;
	for (size_t i = 0; i < n; i++) {
		unsigned a = (unsigned char)s[i], b = (unsigned char)word[i];

		if (a - 'A' < 26)
			a |= 0x20;
		if (b - 'A' < 26)
			b |= 0x20;
		if (a != b)
			return false;
	}
	return true;
}
