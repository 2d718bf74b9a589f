/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * bytes: the few searches in which the scanners spend their time, with SSE2 or
 * NEON where there is one of them. All search [p, end), return END where there
 * is nothing, and never read at END or behind it.
 *
 * Short searches go by 16 bytes. Where much must pass (long strings, skipped
 * containers) a block of 64 bytes becomes words of one bit a byte, and the
 * questions that a loop would ask of each byte, is it escaped, is it inside of
 * a string, are answered for all 64 by arithmetic, as simdjson does.
 */
#ifndef SCAN_BYTES_H
#define SCAN_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { BYTES_WIDE = 16, BYTES_BLOCK = 64 };

#if defined(__SSE2__)

#include <emmintrin.h>
#define BYTES_VECTOR 1
typedef __m128i bytes_vector;

static inline bytes_vector
bytes_load(const char *p)
{
	return _mm_loadu_si128((const __m128i *)(const void *)p);
}

/* Eight bytes, and eight of zero. */
static inline bytes_vector
bytes_load_half(const char *p)
{
	return _mm_loadl_epi64((const __m128i *)(const void *)p);
}

static inline bytes_vector
bytes_equal(bytes_vector v, char c)
{
	return _mm_cmpeq_epi8(v, _mm_set1_epi8(c));
}

static inline bytes_vector
bytes_or(bytes_vector a, bytes_vector b)
{
	return _mm_or_si128(a, b);
}

static inline bytes_vector
bytes_set_bits(bytes_vector v, char bits)
{
	return _mm_or_si128(v, _mm_set1_epi8(bits));
}

/* The index of the first byte that is set, or BYTES_WIDE. */
static inline int
bytes_first(bytes_vector v)
{
	return __builtin_ctz((unsigned)_mm_movemask_epi8(v) | 1U << BYTES_WIDE);
}

/* One bit for each byte of the four that is set. */
static inline uint64_t
bytes_mask(const bytes_vector v[4])
{
	return (uint64_t)(unsigned)_mm_movemask_epi8(v[0]) |
	       (uint64_t)(unsigned)_mm_movemask_epi8(v[1]) << 16 |
	       (uint64_t)(unsigned)_mm_movemask_epi8(v[2]) << 32 |
	       (uint64_t)(unsigned)_mm_movemask_epi8(v[3]) << 48;
}

#elif defined(__aarch64__) && defined(__ARM_NEON) && \
    __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__

#include <arm_neon.h>
#define BYTES_VECTOR 1
typedef uint8x16_t bytes_vector;

static inline bytes_vector
bytes_load(const char *p)
{
	return vld1q_u8((const uint8_t *)p);
}

static inline bytes_vector
bytes_load_half(const char *p)
{
	return vcombine_u8(vld1_u8((const uint8_t *)p), vdup_n_u8(0));
}

static inline bytes_vector
bytes_equal(bytes_vector v, char c)
{
	return vceqq_u8(v, vdupq_n_u8((uint8_t)c));
}

static inline bytes_vector
bytes_or(bytes_vector a, bytes_vector b)
{
	return vorrq_u8(a, b);
}

static inline bytes_vector
bytes_set_bits(bytes_vector v, char bits)
{
	return vorrq_u8(v, vdupq_n_u8((uint8_t)bits));
}

/* NEON has no movemask: each byte is narrowed to four bits of a word. */
static inline int
bytes_first(bytes_vector v)
{
	uint8x8_t narrow = vshrn_n_u16(vreinterpretq_u16_u8(v), 4);
	uint64_t mask = vget_lane_u64(vreinterpret_u64_u8(narrow), 0);

	return mask == 0 ? BYTES_WIDE : __builtin_ctzll(mask) / 4;
}

/* Each byte keeps the bit of its place in a byte of the mask; adding
 * neighbours three times puts eight of them into one. */
static inline uint64_t
bytes_mask(const bytes_vector v[4])
{
	const bytes_vector bit = vreinterpretq_u8_u64(
	    vdupq_n_u64(UINT64_C(0x8040201008040201)));
	bytes_vector low = vpaddq_u8(vandq_u8(v[0], bit), vandq_u8(v[1], bit));
	bytes_vector high = vpaddq_u8(vandq_u8(v[2], bit), vandq_u8(v[3], bit));
	bytes_vector sum = vpaddq_u8(low, high);

	sum = vpaddq_u8(sum, sum);
	return vgetq_lane_u64(vreinterpretq_u64_u8(sum), 0);
}

#else
#define BYTES_VECTOR 0
#endif

/* One bit for each byte of the block at P that is C once it has BITS set. */
static inline uint64_t
bytes_block_equal(const char *p, char bits, char c)
{
#if BYTES_VECTOR
	const bytes_vector v[4] = {
	    bytes_equal(bytes_set_bits(bytes_load(p), bits), c),
	    bytes_equal(bytes_set_bits(bytes_load(p + 16), bits), c),
	    bytes_equal(bytes_set_bits(bytes_load(p + 32), bits), c),
	    bytes_equal(bytes_set_bits(bytes_load(p + 48), bits), c)};

	return bytes_mask(v);
#else
	uint64_t mask = 0;

	for (int i = 0; i < BYTES_BLOCK; i++)
		mask |= (uint64_t)((p[i] | bits) == c) << i;
	return mask;
#endif
}

/*
 * The bytes of a block that a backslash escapes. In a run of backslashes every
 * second one does: subtracting the run's start from a pattern of odd bits
 * carries through the run and leaves those. *CARRY: whether the block's first
 * byte is escaped; on return, that of the next.
 */
static inline uint64_t
bytes_escaped(uint64_t slashes, uint64_t *carry)
{
	const uint64_t odd = UINT64_C(0xaaaaaaaaaaaaaaaa);
	uint64_t first = *carry, starts = slashes & ~first;
	uint64_t code = (((starts << 1) | odd) - starts) ^ odd;

	*carry = (code & slashes) >> 63;
	return code ^ (slashes | first);
}

/* Bit I: whether an odd number of bits are set up to and with I. */
static inline uint64_t
bytes_parity(uint64_t bits)
{
	bits ^= bits << 1;
	bits ^= bits << 2;
	bits ^= bits << 4;
	bits ^= bits << 8;
	bits ^= bits << 16;
	return bits ^ bits << 32;
}

/* Not the builtin: without the instruction that one is a call. */
static inline unsigned
bytes_count(uint64_t bits)
{
	bits -= bits >> 1 & UINT64_C(0x5555555555555555);
	bits = (bits & UINT64_C(0x3333333333333333)) +
	       (bits >> 2 & UINT64_C(0x3333333333333333));
	bits = (bits + (bits >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
	return (unsigned)(bits * UINT64_C(0x0101010101010101) >> 56);
}

#if BYTES_VECTOR

/* The index of the first byte that is A or B, or BYTES_WIDE. */
static inline int
bytes_first_of(bytes_vector v, char a, char b)
{
	return bytes_first(bytes_or(bytes_equal(v, a), bytes_equal(v, b)));
}

#endif

/* The first byte that is A or B; neither may be 0. */
static inline const char *
bytes_find(const char *p, const char *end, char a, char b)
{
#if BYTES_VECTOR
	for (; end - p >= BYTES_WIDE; p += BYTES_WIDE) {
		int i = bytes_first_of(bytes_load(p), a, b);

		if (i < BYTES_WIDE)
			return p + i;
	}
	if (end - p >= BYTES_WIDE / 2) {
		int i = bytes_first_of(bytes_load_half(p), a, b);

		if (i < BYTES_WIDE)
			return p + i;
		p += BYTES_WIDE / 2;
	}
#endif
	while (p < end && *p != a && *p != b)
		p++;
	return p;
}

/* The first quote or backslash. */
static inline const char *
bytes_find_string_end(const char *p, const char *end)
{
	return bytes_find(p, end, '"', '\\');
}

/* The first line feed or carriage return. */
static inline const char *
bytes_find_line_end(const char *p, const char *end)
{
	return bytes_find(p, end, '\n', '\r');
}

/* bytes_find_quote of a string that is long, or has escapes. */
const char *bytes_find_quote_far(
    const char *p, const char *end, bool *is_escaped);

/* The quote that ends a string: the first that is not escaped. *IS_ESCAPED:
 * whether the byte at P is, on return whether that at END will be. */
static inline const char *
bytes_find_quote(const char *p, const char *end, bool *is_escaped)
{
#if BYTES_VECTOR
	if (end - p >= BYTES_WIDE && !*is_escaped) {
		int i = bytes_first_of(bytes_load(p), '"', '\\');

		if (i < BYTES_WIDE && p[i] == '"')
			return p + i;
	}
#endif
	return bytes_find_quote_far(p, end, is_escaped);
}

/*
 * The bracket that closes the last of *N_OPEN containers; only brackets
 * outside of strings count, and either kind closes either. *IN_STRING and
 * *IS_ESCAPED are of the byte at P, on return of that at END.
 */
const char *bytes_find_close(const char *p, const char *end, size_t *n_open,
    bool *in_string, bool *is_escaped);

static inline bool
bytes_is_blank(char c)
{
	return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static inline const char *
bytes_skip_blanks(const char *p, const char *end)
{
	while (p < end && bytes_is_blank(*p))
		p++;
	return p;
}

/* What numbers and literals of JSON are made of. */
static inline bool
bytes_is_word(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
	       (c >= 'A' && c <= 'Z') || c == '-' || c == '+' || c == '.';
}

static inline const char *
bytes_skip_word(const char *p, const char *end)
{
	while (p < end && bytes_is_word(*p))
		p++;
	return p;
}

/* Equality but for the case of ASCII letters: strcasecmp asks the locale, and
 * Turkish has its own idea of I. */
bool bytes_equal_nocase(const char *s, size_t n, const char *word);

#endif
