# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the turnmeter authors
"""What a row says, against what was sent and when.

The provider notes when it sends, the client when it receives; a time in the
row lies between the two, so that no tolerance has to be guessed.
"""
import json
import threading
import time
import zlib

import pytest

import shapes
from upstream import answer, reply
from wire import chunked

JSON = [b"Content-Type: application/json"]


def block_start(index, **block):
    return shapes.sse("content_block_start", {
        "type": "content_block_start", "index": index,
        "content_block": block})


def block_delta(index, kind, name, text):
    return shapes.sse("content_block_delta", {
        "type": "content_block_delta", "index": index,
        "delta": {"type": kind, name: text}})


def block_stop(index):
    return shapes.sse("content_block_stop",
                      {"type": "content_block_stop", "index": index})


def an_agents_answer():
    """Thinking, text with a long pause in it, a tool call. Each entry: name
    of what it is (None: not generated), the generated text, the piece."""
    thought, words = "хм, \"so\"\n", "слово "
    out = [(None, "", shapes.messages_start(100)),
           (None, "", shapes.sse("ping", {"type": "ping"})),
           ("gen", "", block_start(0, type="thinking", thinking=""))]
    out += [("reasoning", thought, block_delta(
        0, "thinking_delta", "thinking", thought))] * 6
    out += [(None, "", block_stop(0)),
            (None, "", block_start(1, type="text", text=""))]
    for i in range(12):
        if i == 6:
            out.append(("pause", "", b": still here\n\n"))
        out.append(("text", words, block_delta(1, "text_delta", "text",
                                               words)))
    out += [(None, "", block_stop(1)),
            ("tool", "Read", block_start(2, type="tool_use", id="t1",
                                         name="Read", input={})),
            ("tool", '{"p":', block_delta(2, "input_json_delta",
                                          "partial_json", '{"p":')),
            ("tool", ' "a"}', block_delta(2, "input_json_delta",
                                          "partial_json", ' "a"}')),
            ("ready", "", block_stop(2)),
            (None, "", shapes.sse("message_delta", {
                "type": "message_delta", "delta": {"stop_reason": "tool_use"},
                "usage": {"output_tokens": 90, "output_tokens_details":
                          {"thinking_tokens": 30}}})),
            ("end", "", shapes.sse("message_stop",
                                   {"type": "message_stop"}))]
    return out


class Times:
    """When each piece was sent and received, in ms from the request on."""

    def __init__(self):
        self.sent = []
        self.received = []
        self.asked = self.heard = None

    def between(self, value, i):
        """Whether VALUE is the time of piece I."""
        low = (self.sent[i] - self.heard) * 1e3
        high = (self.received[i] - self.asked) * 1e3
        assert low <= value <= high, (low, value, high)


def relay_with_times(daemon, up, pieces, times, body):
    """The pieces one by one, each only when the one before has arrived."""
    arrived = threading.Semaphore(0)

    def script(connection):
        connection.take()
        times.heard = time.monotonic()
        connection.stream()
        for name, _, piece in pieces:
            # The pace is what is measured here.
            time.sleep(1.2 if name == "pause" else 0.01)
            times.sent.append(time.monotonic())
            connection.chunk(piece)
            assert arrived.acquire(timeout=15)
        connection.end_chunks()

    up.script(script)
    got = b""
    with daemon.client() as client:
        times.asked = time.monotonic()
        client.request(b"POST", shapes.MESSAGES_PATH, JSON, body)
        response = client.head()
        whole = b""
        for piece in client.body_pieces(response):
            got += piece
            whole += piece
            for _, _, expected in pieces[len(times.received):]:
                if not whole.startswith(expected):
                    break
                whole = whole[len(expected):]
                times.received.append(time.monotonic())
                arrived.release()
    assert got == b"".join(piece for _, _, piece in pieces)
    return got


def test_a_turn_in_all_its_measures(daemon, up):
    """Goal: offsets, gaps, stalls, bytes and speeds are those of what was
    sent, text counted without JSON's escapes."""
    pieces, times = an_agents_answer(), Times()
    body = shapes.messages_request(text="weiß ich nicht")
    got = relay_with_times(daemon, up, pieces, times, body)
    turn = daemon.final_turn()
    names = [name for name, _, _ in pieces]
    born = [i for i, (_, text, _) in enumerate(pieces) if text]
    for field, i in (("gen_start_ms", names.index("gen")),
                     ("ttft_ms", born[0]),
                     ("first_text_ms", names.index("text")),
                     ("tool_ready_ms", names.index("ready")),
                     ("last_token_ms", born[-1]),
                     ("total_ms", names.index("end"))):
        times.between(turn[field], i)
    sizes = {kind: sum(len(text.encode()) for name, text, _ in pieces
                       if name == kind)
             for kind in ("text", "reasoning", "tool")}
    assert {kind: turn[kind + "_bytes"] for kind in sizes} == sizes
    assert turn["n_pieces"] == len(born)
    assert turn["first_piece_bytes"] == len(pieces[born[0]][1].encode())
    assert (turn["request_bytes"], turn["response_bytes"]) == (
        len(body), len(got))
    assert turn["stalls"] >= 1
    assert turn["stall_ms"] >= turn["itl_max_ms"] >= 1200
    assert 10 <= turn["itl_p50_ms"] < turn["itl_p99_ms"] <= turn["itl_max_ms"]
    assert (turn["in_flight"], turn["in_flight_mean"]) == (0, 0)
    assert (turn["output_tokens"], turn["reasoning_tokens"]) == (90, 30)
    decode = turn["last_token_ms"] - turn["ttft_ms"]
    assert turn["decode_ms"] == pytest.approx(decode)
    share = turn["first_piece_bytes"] / sum(sizes.values())
    assert turn["decode_tps"] == pytest.approx(
        90 * (1 - share) / decode * 1e3)
    assert turn["usable_tps"] == pytest.approx(
        90 / turn["last_token_ms"] * 1e3)
    assert turn["prefill_tps"] is None
    assert turn["flags"] == ""


def test_the_context_by_class(daemon, up):
    """Goal: each class has the bytes of its part of the request; results
    count only where the last answer's came."""
    def size(*parts):
        return sum(len(json.dumps(part).encode()) for part in parts)

    system = [{"type": "text", "text": "be brief"}]
    tools = [{"name": "Read", "input_schema": {"type": "object"}},
             {"name": "Bash", "input_schema": {"type": "object"}}]
    calls = [{"role": "assistant", "content": [
        {"type": "tool_use", "id": "t%d" % i, "name": name, "input": {}}]}
        for i, name in enumerate(("Bash", "Read"))]
    results = [{"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "t%d" % i, "content": text,
         "is_error": bad}]}
        for i, text, bad in ((0, "none", True), (1, "b\nc", False))]
    user = {"role": "user", "content": "list"}
    body = shapes.messages_request(
        False, system=system, tools=tools,
        messages=[user, calls[0], results[0], calls[1], results[1]])
    up.answers(reply(b"{}", headers=JSON))
    daemon.ask(b"POST", shapes.MESSAGES_PATH, JSON, body)
    turn = daemon.final_turn()
    assert turn["context_system_bytes"] == size(system)
    assert turn["context_tools_bytes"] == size(tools)
    assert turn["context_user_bytes"] == size(user)
    assert turn["context_assistant_bytes"] == size(*calls)
    assert turn["context_results_bytes"] == size(*results)
    assert (turn["n_messages"], turn["last_message"]) == (5, "results")
    assert daemon.tools(turn["seq"]) == {
        "Read": {"calls": 0, "result_bytes": size("b\nc"),
                 "result_errors": 0}}


def test_others_in_flight(daemon, up):
    """Goal: those that run at a turn's start, and the mean over its time."""
    go = {name: threading.Event() for name in (b"long", b"short")}

    def script(connection):
        while True:
            request = connection.take()
            if request is None:
                return
            assert go[request.get(b"x-name")].wait(15)
            connection.send(reply(shapes.chat_json(), headers=JSON))

    up.script(script)

    def ask(name):
        daemon.ask(b"POST", shapes.CHAT_PATH,
                   [(b"User-Agent", name + b"/1"), (b"X-Name", name)],
                   shapes.chat_request(False))

    threads = [threading.Thread(target=ask, args=(name,))
               for name in (b"long", b"short")]
    threads[0].start()
    up.wait_requests(1, whole=True)
    threads[1].start()
    up.wait_requests(2, whole=True)
    go[b"short"].set()
    threads[1].join(15)
    daemon.wait_turns(1)
    go[b"long"].set()
    threads[0].join(15)
    short, long = daemon.final_turns()
    assert (short["client"], long["client"]) == ("short/1", "long/1")
    assert (long["in_flight"], short["in_flight"]) == (0, 1)
    assert short["in_flight_mean"] == pytest.approx(1)
    # Less than a whole one: it had begun before and ended after.
    assert 0 < long["in_flight_mean"] < 1


def test_asked_again(daemon, up):
    """Goal: each answer counts on its own, the refused one not at all; that
    it was the same request shows in its hash."""
    refusal = {"error": {"message": "slow down", "type": "requests",
                         "code": "rate_limit_exceeded"}}
    up.answers(reply(json.dumps(refusal).encode(),
                     b"429 Too Many Requests", JSON),
               reply(shapes.chat_json(7, 20), headers=JSON),
               reply(shapes.chat_json(7, 20), headers=JSON))
    for _ in range(3):
        daemon.ask(b"POST", shapes.CHAT_PATH, JSON,
                   shapes.chat_request(False))
    turns = daemon.final_turns()
    assert [t["outcome"] for t in turns] == ["rate_limited", "ok", "ok"]
    assert [t["output_tokens"] for t in turns] == [None, 20, 20]
    assert len({t["body_hash"] for t in turns}) == 1
    assert turns[0]["body_hash"] is not None
    assert len({t["id"] for t in turns}) == 3


def flushes_gzip():
    packer = zlib.compressobj(wbits=31)
    return (lambda data: packer.compress(data)
            + packer.flush(zlib.Z_SYNC_FLUSH)), packer.flush


def flushes_deflate():
    packer = zlib.compressobj()
    return (lambda data: packer.compress(data)
            + packer.flush(zlib.Z_SYNC_FLUSH)), packer.flush


def flushes_br():
    packer = pytest.importorskip("brotli").Compressor()
    return (lambda data: packer.process(data) + packer.flush()), packer.finish


def flushes_zstd():
    zstandard = pytest.importorskip("zstandard")
    packer = zstandard.ZstdCompressor().compressobj()
    return (lambda data: packer.compress(data)
            + packer.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)), packer.flush


@pytest.mark.parametrize("coding, flushes", [
    (b"gzip", flushes_gzip), (b"deflate", flushes_deflate),
    (b"br", flushes_br), (b"zstd", flushes_zstd)])
def test_a_compressed_stream(daemon, up, coding, flushes):
    """Goal: forwarded flush by flush as it is, and metered from a copy."""
    pack, finish = flushes()
    parts = [pack(piece) for piece in shapes.messages_stream()]
    parts[-1] += finish()
    arrived = threading.Semaphore(0)

    def script(connection):
        connection.take()
        connection.stream(headers=b"Content-Encoding: " + coding + b"\r\n")
        for part in parts:
            connection.chunk(part)
            assert arrived.acquire(timeout=15)
        connection.end_chunks()

    up.script(script)
    wish = b"gzip;q=0.1, deflate, br, zstd"
    with daemon.client() as client:
        client.request(b"POST", shapes.MESSAGES_PATH,
                       [(b"Accept-Encoding", wish)],
                       shapes.messages_request())
        response = client.head()
        got = b""
        pieces = client.body_pieces(response)
        for part in parts:
            want = len(got) + len(part)
            while len(got) < want:
                got += next(pieces)
            arrived.release()
        assert next(pieces, None) is None
    assert got == b"".join(parts)
    assert response.get(b"content-encoding") == coding
    assert up.request.all(b"accept-encoding") == [wish]
    turn = daemon.final_turn()
    assert (turn["input_tokens"], turn["output_tokens"]) == (25, 15)
    assert (turn["outcome"], turn["flags"]) == ("ok", "burst")
    assert turn["n_pieces"] == 3
    assert turn["response_bytes"] == len(got)


def test_sizes_are_those_of_the_bodies(daemon, up):
    """Goal: neither chunk heads nor decoding change them."""
    body, packed = shapes.chat_request(), zlib.compress(
        shapes.chat_json(), wbits=31)
    up.script(answer(reply(packed, headers=JSON + [
        b"Content-Encoding: gzip"])))
    with daemon.client() as client:
        client.request(b"POST", shapes.CHAT_PATH,
                       [b"Transfer-Encoding: chunked"])
        client.send(chunked(body, (7,)))
        assert client.response().body == packed
    turn = daemon.final_turn()
    assert turn["request_bytes"] == len(body)
    assert turn["response_bytes"] == len(packed)
    assert (turn["model"], turn["output_tokens"]) == ("m-1", 5)
