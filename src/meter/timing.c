/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * Percentiles come from a histogram of logarithmic buckets: constant memory,
 * an error that is known, and no dependence on the order of the gaps (which
 * the P2 estimator has, and streams of reasoning then text are two-humped).
 *
 * A speed is only given where the arrival of pieces says something about the
 * pace of generation. What came at the first token's moment was not generated
 * after it, so its share is taken off; where one read brought over half of the
 * bytes, somebody on the way was buffering.
 */
#include "meter/timing.h"

#include <math.h>

void
timing_init(struct timing *g, int64_t t0_ns)
{
	*g = (struct timing){
	    .t0_ns = t0_ns,
	    .gen_start_ns = TURN_NULL,
	    .first_ns = TURN_NULL,
	    .first_text_ns = TURN_NULL,
	    .tool_ready_ns = TURN_NULL,
	    .last_ns = TURN_NULL,
	    .moment_ns = TURN_NULL,
	};
}

/* Below 2^SUB_BITS one bucket a microsecond, above 2^SUB_BITS an octave. */
static unsigned
timing_bucket(uint32_t us)
{
	unsigned octave;

	if (us < 1u << TIMING_SUB_BITS)
		return us;
	octave = 31u - (unsigned)__builtin_clz(us) - TIMING_SUB_BITS;
	return (octave << TIMING_SUB_BITS) + (us >> octave);
}

/* The least value of bucket I. */
static double
timing_bucket_floor_us(unsigned i)
{
	unsigned octave = i >> TIMING_SUB_BITS;

	if (octave == 0)
		return i;
	return ldexp(
	    (1u << TIMING_SUB_BITS) + (i & ((1u << TIMING_SUB_BITS) - 1)),
	    (int)octave - 1);
}

/* Halving keeps the shares, and with them the percentiles. */
static void
timing_count(struct timing *g, unsigned bucket)
{
	if (g->gaps[bucket] == UINT16_MAX) {
		g->n_gaps = 0;
		for (unsigned i = 0; i < TIMING_BUCKETS; i++) {
			g->gaps[i] /= 2;
			g->n_gaps += g->gaps[i];
		}
	}
	g->gaps[bucket]++;
	g->n_gaps++;
}

static void
timing_gap(struct timing *g, int64_t gap_ns)
{
	int64_t us = (gap_ns + 500) / 1000;

	if (us < 0)
		us = 0;
	if (us > UINT32_MAX)
		us = UINT32_MAX;
	if (g->n_gaps == 0 || us < g->gap_min_us)
		g->gap_min_us = us;
	if (us > g->gap_max_us)
		g->gap_max_us = us;
	if (gap_ns > g->gap_max_ns)
		g->gap_max_ns = gap_ns;
	timing_count(g, timing_bucket((uint32_t)us));
	if (gap_ns > (int64_t)TIMING_STALL_MS * 1000000) {
		g->stalls++;
		g->stall_ns += gap_ns;
	}
}

void
timing_piece_end(struct timing *g)
{
	if (g->piece_bytes == 0)
		return;
	if (g->n_pieces++ == 0)
		g->first_piece_bytes = g->piece_bytes;
	else
		timing_gap(g, g->piece_ns - g->previous_ns);
	if (g->piece_bytes > g->most_bytes)
		g->most_bytes = g->piece_bytes;
	g->previous_ns = g->piece_ns;
	g->piece_bytes = 0;
}

double
timing_offset_ms(const struct timing *g, const struct turn *t, int64_t ns)
{
	double ms;

	if (ns == TURN_NULL)
		return NAN;
	ms = (double)(ns - g->t0_ns) / 1e6;
	return isnan(t->held_ms) ? ms : ms - t->held_ms;
}

void
timing_fill(const struct timing *g, bool is_stream, struct turn *t)
{
	t->text_bytes = g->bytes[TIMING_TEXT];
	t->reasoning_bytes = g->bytes[TIMING_REASONING];
	t->tool_bytes = g->bytes[TIMING_TOOL];
	if (!is_stream)
		return;
	t->n_pieces = g->n_pieces + (g->piece_bytes > 0);
	if (t->n_pieces > 0)
		t->first_piece_bytes = g->n_pieces > 0 ? g->first_piece_bytes
						       : g->piece_bytes;
	t->ttft_ms = timing_offset_ms(g, t, g->first_ns);
	t->first_text_ms = timing_offset_ms(g, t, g->first_text_ns);
	t->last_token_ms = timing_offset_ms(g, t, g->last_ns);
	t->tool_ready_ms = timing_offset_ms(g, t, g->tool_ready_ns);
	t->gen_start_ms = timing_offset_ms(
	    g, t, g->gen_start_ns != TURN_NULL ? g->gen_start_ns : g->first_ns);
	t->decode_ms = t->last_token_ms - t->ttft_ms;
}

/* The gap that the share Q of the gaps does not exceed, in milliseconds. */
static double
timing_percentile_ms(const struct timing *g, double q)
{
	double rank = q * g->n_gaps, us = (double)g->gap_max_us;
	uint64_t seen = 0;

	for (unsigned i = 0; i < TIMING_BUCKETS; i++) {
		double low, high;

		if (g->gaps[i] == 0)
			continue;
		if ((double)(seen + g->gaps[i]) < rank) {
			seen += g->gaps[i];
			continue;
		}
		low = timing_bucket_floor_us(i);
		high = timing_bucket_floor_us(i + 1);
		us = low + (high - low) * (rank - (double)seen) / g->gaps[i];
		break;
	}
	if (us < (double)g->gap_min_us)
		us = (double)g->gap_min_us;
	/* Gaps are counted as rounded; none is longer than the longest. */
	return fmin(us / 1e3, (double)g->gap_max_ns / 1e6);
}

void
timing_fill_gaps(const struct timing *g, bool is_stream, struct turn *t)
{
	if (!is_stream || g->n_pieces == 0)
		return;
	t->stalls = g->stalls;
	t->stall_ms = (double)g->stall_ns / 1e6;
	if (g->n_gaps == 0)
		return;
	t->itl_p50_ms = timing_percentile_ms(g, 0.50);
	t->itl_p99_ms = timing_percentile_ms(g, 0.99);
	t->itl_max_ms = (double)g->gap_max_ns / 1e6;
}

static bool
timing_is_paced(const struct timing *g, const struct turn *t, int64_t bytes)
{
	return g->n_pieces >= TIMING_PIECES_MIN &&
	       t->decode_ms >= TIMING_DECODE_MS && 2 * g->most_bytes <= bytes;
}

static void
timing_fill_decode(const struct timing *g, struct turn *t)
{
	int64_t bytes = g->bytes[TIMING_TEXT] + g->bytes[TIMING_REASONING] +
			g->bytes[TIMING_TOOL];
	double streamed = (double)t->output_tokens;

	if (g->n_pieces == 0)
		return;
	if (!timing_is_paced(g, t, bytes)) {
		turn_add_flag(t, "burst");
		return;
	}
	/* Reasoning that was not shown, or only told in short, did not come
	 * down the wire. */
	if (t->reasoning_tokens != TURN_NULL &&
	    (double)t->reasoning_bytes < 1.5 * (double)t->reasoning_tokens)
		streamed -= (double)t->reasoning_tokens;
	streamed *= 1 - (double)g->first_piece_bytes / (double)bytes;
	t->decode_tps = streamed / t->decode_ms * 1e3;
}

void
timing_fill_speeds(const struct timing *g, struct turn *t)
{
	double end_ms;

	t->usable_tps = t->decode_tps = t->prefill_tps = NAN;
	if (t->outcome != TURN_OUTCOME_OK ||
	    t->usage_source != TURN_USAGE_SOURCE_REPORTED)
		return;
	if (t->server_prefill_ms > 0 && t->uncached_tokens != TURN_NULL)
		t->prefill_tps = (double)t->uncached_tokens /
				 t->server_prefill_ms * 1e3;
	if (t->output_tokens == TURN_NULL)
		return;
	end_ms = isnan(t->last_token_ms) ? t->total_ms : t->last_token_ms;
	if (end_ms > 0)
		t->usable_tps = (double)t->output_tokens / end_ms * 1e3;
	if (t->streaming == 1)
		timing_fill_decode(g, t);
}
