# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the turnmeter authors
"""Turns as `turns --json` prints them."""
import datetime

START_MS = 1796047330000  # 2026-11-30T14:02:10Z


def time_of(ms):
    moment = datetime.datetime.fromtimestamp(ms / 1000, datetime.timezone.utc)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + "%03dZ" % (ms % 1000)


def example(seq, **changes):
    """One streamed turn of a tool session."""
    turn = {
        "seq": seq,
        "id": "01a0d0c4-%04x-7000-8000-%012x" % (seq % 65536, seq * 7919),
        "source": "proxy",
        "started_at": time_of(START_MS + seq * 5420),
        "upstream": "cerebras",
        "protocol": "openai-chat",
        "method": "POST",
        "path": "/v1/chat/completions",
        "model": "qwen-3.8-27b",
        "model_served": "qwen-3.8-27b",
        "streaming": True,
        "client": "opencode/1.18.33",
        "session_id": "ses_%d" % (seq % 3),
        "session_source": "header:x-session-id",
        "kind": "turn",
        "attempt": 1,
        "status": 200,
        "outcome": "ok",
        "finish_reason": "tool_calls",
        "stop": "tool_calls",
        "flags": [],
        "input_tokens": 11000 + seq * 600,
        "uncached_tokens": 4000 + seq,
        "cache_read_tokens": 7000 + seq * 599,
        "output_tokens": 230,
        "reasoning_tokens": 184,
        "reasoning_bytes": 700,
        "tool_calls": 2,
        "usage_source": "reported",
        "usage_raw": {"prompt_tokens": 11000 + seq * 600},
        "n_messages": 5,
        "last_message": "results",
        "sent_ms": 1.25,
        "ttfb_ms": 210.5,
        "ttft_ms": 390.125,
        "first_text_ms": 400.25,
        "tool_ready_ms": 540.0,
        "last_token_ms": 556.75,
        "total_ms": 560.125,
        "connect_ms": 0.0,
        "decode_ms": 166.625,
        "decode_tps": 1381.5,
        "usable_tps": 413.25,
        "n_pieces": 40,
        "text_bytes": 100,
        "request_bytes": 40000,
        "response_bytes": 9000,
    }
    turn.update(changes)
    return turn
