# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the turnmeter authors
"""A client that leaves: the upstream is let go at once."""
import queue
import statistics
import threading
import time

import pytest

import shapes
from daemon import IS_SANITIZED
from upstream import reply
from wire import TIMEOUT, noise, until

# The promise is 100 ms; the median of several is steady on a busy machine.
WITHIN = 1.0 if IS_SANITIZED else 0.1


def watch(connection, gone):
    """Waits for the peer's end and tells when it was seen."""
    how = connection.wait_closed()
    gone.put((how, time.monotonic()))


def measure(daemon, up, script, act, n=5):
    """Runs n aborts; script(connection, gone, ready), act(client, ready)
    leads to the moment of leaving. The delays in order."""
    delays = []
    for i in range(n):
        gone, ready = queue.Queue(), threading.Event()
        up.script(lambda c: script(c, gone, ready))
        client = daemon.client()
        act(client, ready)
        start = time.monotonic()
        if i % 2:
            client.reset()
        else:
            client.close()
        how, at = gone.get(timeout=TIMEOUT)
        assert how in ("fin", "rst")
        delays.append(at - start)
    return delays


def test_before_any_answer(daemon, up):
    """Goal: the upstream learns that nobody waits any more (and stops
    generating)."""
    def script(connection, gone, ready):
        connection.take()
        ready.set()
        watch(connection, gone)

    def act(client, ready):
        client.request(b"POST", shapes.CHAT_PATH,
                       body=shapes.chat_request())
        assert ready.wait(TIMEOUT)

    delays = measure(daemon, up, script, act)
    assert statistics.median(delays) < WITHIN, delays
    turns = daemon.final_turns()
    assert [t["outcome"] for t in turns] == ["client_closed"] * 5
    assert {t["status"] for t in turns} == {None}


def test_get_before_any_answer(daemon, up):
    """Goal: the same without a body."""
    def script(connection, gone, ready):
        connection.take()
        ready.set()
        watch(connection, gone)

    def act(client, ready):
        client.request(b"GET", b"/up/v1/models")
        assert ready.wait(TIMEOUT)

    delays = measure(daemon, up, script, act)
    assert statistics.median(delays) < WITHIN, delays


def test_in_a_silent_stream(daemon, up):
    """Goal: a stream that thinks is cancelled as well, and what came is
    in the row."""
    pieces = shapes.chat_stream(3)[:3]

    def script(connection, gone, ready):
        connection.take()
        connection.stream(pieces)
        watch(connection, gone)

    def act(client, ready):
        client.request(b"POST", shapes.CHAT_PATH,
                       body=shapes.chat_request())
        response = client.head()
        got = b""
        for piece in client.body_pieces(response):
            got += piece
            if len(got) == sum(map(len, pieces)):
                return

    delays = measure(daemon, up, script, act)
    assert statistics.median(delays) < WITHIN, delays
    turns = daemon.final_turns()
    assert len(turns) == 5
    for turn in turns:
        assert turn["outcome"] == "client_closed"
        assert turn["status"] == 200
        assert turn["response_bytes"] == sum(map(len, pieces))
        assert turn["ttft_ms"] is not None
        assert turn["total_ms"] >= turn["ttft_ms"]
        assert turn["input_tokens"] is None
        assert turn["output_tokens"] is None
        assert turn["usable_tps"] is None


def test_in_a_busy_stream(daemon, up):
    """Goal: the same while bytes flow."""
    def script(connection, gone, ready):
        connection.take()
        connection.stream()
        try:
            while True:
                connection.chunk(shapes.chat_chunk({"content": "x" * 500}))
        except OSError:
            gone.put(("rst", time.monotonic()))

    def act(client, ready):
        client.request(b"POST", shapes.CHAT_PATH,
                       body=shapes.chat_request())
        response = client.head()
        for i, _ in enumerate(client.body_pieces(response)):
            if i == 5:
                return

    measure(daemon, up, script, act)
    assert [t["outcome"] for t in daemon.final_turns()] \
        == ["client_closed"] * 5


def test_during_an_upload(daemon, up):
    """Goal: half a request is not left hanging upstream, nor completed."""
    whole = []

    def script(connection, gone, ready):
        request = connection.head()
        n = 0
        try:
            for piece in connection.body_pieces(request):
                n += len(piece)
                if n >= 100_000:
                    ready.set()
            whole.append(request)
        except Exception as broken:
            gone.put((broken.how, time.monotonic()))

    def act(client, ready):
        client.request(b"POST", b"/up/x", [(b"Content-Length", b"1000000")])
        client.send(noise(200_000))
        assert ready.wait(TIMEOUT)

    delays = measure(daemon, up, script, act)
    assert statistics.median(delays) < WITHIN, delays
    assert whole == []
    assert [t["outcome"] for t in daemon.final_turns()] \
        == ["client_closed"] * 5


def test_during_a_chunked_upload(daemon, up):
    """Goal: no terminating chunk is made up for a client that left."""
    whole = []

    def script(connection, gone, ready):
        request = connection.head()
        try:
            for _ in connection.body_pieces(request):
                ready.set()
            whole.append(request)
        except Exception as broken:
            gone.put((broken.how, time.monotonic()))

    def act(client, ready):
        client.request(b"POST", b"/up/x",
                       [(b"Transfer-Encoding", b"chunked")])
        client.send(b"5\r\nhello\r\n")
        assert ready.wait(TIMEOUT)

    delays = measure(daemon, up, script, act)
    assert statistics.median(delays) < WITHIN, delays
    assert whole == []


def test_during_an_upload_that_is_held(daemon, up):
    """Goal: leaving while the upstream does not read (the upload is
    suspended) is seen as well."""
    def script(connection, gone, ready):
        connection.head()
        assert go.wait(TIMEOUT)
        watch(connection, gone)

    def act(client, ready):
        client.request(b"POST", b"/up/x",
                       [(b"Content-Length", b"100000000")])
        client.sock.settimeout(0.5)
        block = noise(1_000_000)
        try:
            while True:
                client.sock.send(block)
        except TimeoutError:
            pass
        go.set()

    go = threading.Event()
    measure(daemon, up, script, act, 1)
    assert daemon.final_turn()["outcome"] == "client_closed"


@pytest.mark.parametrize("shape", ["chat", "messages"])
def test_after_the_terminal_event(daemon, up, shape):
    """Goal: a client that closes once it has the terminal event (Codex
    does) has had its turn: ok, with its usage."""
    pieces = (shapes.chat_stream(3) if shape == "chat"
              else shapes.messages_stream(3))
    path, body = ((shapes.CHAT_PATH, shapes.chat_request())
                  if shape == "chat" else
                  (shapes.MESSAGES_PATH, shapes.messages_request()))

    def script(connection, gone, ready):
        connection.take()
        connection.stream(pieces)
        watch(connection, gone)

    def act(client, ready):
        client.request(b"POST", path, body=body)
        response = client.head()
        got = b""
        for piece in client.body_pieces(response):
            got += piece
            if len(got) == sum(map(len, pieces)):
                return

    measure(daemon, up, script, act)
    turns = daemon.final_turns()
    assert [t["outcome"] for t in turns] == ["ok"] * 5
    assert {t["output_tokens"] for t in turns} == {
        5 if shape == "chat" else 15}


def test_other_streams_live_on(daemon, up):
    """Goal: one client's leaving touches nobody else."""
    go = threading.Event()

    def script(connection):
        connection.take()
        connection.stream([b"a"])
        assert go.wait(TIMEOUT)
        connection.chunk(b"b")
        connection.end_chunks()

    up.script(script)
    clients = [daemon.client() for _ in range(6)]
    responses = []
    for client in clients:
        client.request(b"POST", b"/up/x", body=b"")
        response = client.head()
        body = client.body_pieces(response)
        assert next(body) == b"a"
        responses.append(body)
    for client in clients[::2]:
        client.reset()
    daemon.ask(b"HEAD", b"/")
    go.set()
    for body in responses[1::2]:
        assert b"".join(body) == b"b"
    outcomes = sorted(t["outcome"] for t in daemon.final_turns())
    assert outcomes == ["client_closed"] * 3 + ["ok"] * 3


def test_a_storm_of_aborts(daemon, up):
    """Goal: 300 clients that leave at odd moments leave no descriptor and
    one row each at most."""
    up.answers(reply(b"x" * 10_000))
    daemon.ask(b"POST", b"/up/x", body=b"")
    for i in range(300):
        client = daemon.client()
        client.request(b"POST", b"/up/x", body=b"a" * (i * 10))
        if i % 3 == 1:
            client.some()
        if i % 2:
            client.reset()
        else:
            client.close()
    assert daemon.ask(b"POST", b"/up/x", body=b"").status == 200
    health = daemon.health()
    assert health
    turns = daemon.final_turns()
    assert 2 <= len(turns) <= 302
    assert {t["outcome"] for t in turns} <= {"ok", "client_closed"}


@pytest.mark.parametrize("framing, body", [
    (b"Content-Length: 100", b""), (b"Content-Length: 100", b"abc"),
    (b"Transfer-Encoding: chunked", b""),
    (b"Transfer-Encoding: chunked", b"3\r\nabc\r\n"),
    (b"Content-Length: 3", b"abc")])
@pytest.mark.parametrize("is_reset", [False, True])
def test_gone_before_it_was_heard(daemon, up, framing, body, is_reset):
    """Goal: a client whose request and whose end arrive together leaves
    nothing in flight."""
    def script(connection):
        connection.take()
        connection.wait_closed()

    up.script(script)
    for _ in range(20):
        client = daemon.client()
        client.request(b"POST", b"/up/x", [framing], framing=False)
        client.send(body)
        if is_reset:
            client.reset()
        else:
            client.close()
    until(lambda: daemon.health()["exchanges"]["in_flight"] == 0,
          "nothing in flight")
    turns = daemon.final_turns()
    assert len(turns) <= 20
    assert {t["outcome"] for t in turns} <= {"client_closed"}
