# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the turnmeter authors
"""Streams: each piece at once, slow readers, long silences."""
import gzip
import queue
import threading
import time
import zlib

import pytest

import shapes
from daemon import IS_SANITIZED
from upstream import OK, reply
from wire import TIMEOUT, Broken, noise


class Steps:
    """The upstream sends a piece only when the client has the last one."""

    def __init__(self):
        self.got = queue.Queue()

    def done(self):
        self.got.put(True)

    def wait(self):
        assert self.got.get(timeout=TIMEOUT)


def gzip_pieces(pieces):
    """Each piece flushed on its own, as servers do."""
    packer = zlib.compressobj(wbits=31)
    out = [packer.compress(p) + packer.flush(zlib.Z_SYNC_FLUSH)
           for p in pieces]
    out[-1] += packer.flush()
    return out


@pytest.mark.parametrize("coding", ["identity", "gzip"])
@pytest.mark.parametrize("framing", ["chunked", "length", "close"])
def test_each_piece_at_once(daemon, up, coding, framing):
    """Goal: piece i is with the client before the upstream sends piece
    i + 1, the head before the first piece, in every framing."""
    steps = Steps()
    plain = shapes.messages_stream(10)
    pieces = plain if coding == "identity" else gzip_pieces(plain)

    def script(connection):
        connection.take()
        extra = (b"Content-Encoding: gzip\r\n" if coding == "gzip" else b"")
        extra += b"Content-Type: text/event-stream\r\n"
        extra += {"chunked": b"Transfer-Encoding: chunked\r\n",
                  "length": b"Content-Length: %d\r\n" % sum(map(len,
                                                                pieces)),
                  "close": b""}[framing]
        connection.send(OK + extra + b"\r\n")
        for piece in pieces:
            steps.wait()
            if framing == "chunked":
                connection.chunk(piece)
            else:
                connection.send(piece)
        steps.wait()
        if framing == "chunked":
            connection.end_chunks()

    up.script(script)
    got = b""
    with daemon.client() as client:
        client.request(b"POST", b"/up/v1/messages",
                       body=shapes.messages_request())
        response = client.head()
        assert response.status == 200
        steps.done()
        body = client.body_pieces(response, to_end=True)
        for piece in pieces:
            want = len(got) + len(piece)
            while len(got) < want:
                got += next(body)
            steps.done()
        assert list(body) == []
    assert got == b"".join(pieces)
    turn = daemon.final_turn()
    assert turn["outcome"] == "ok"
    assert (turn["input_tokens"], turn["output_tokens"]) == (25, 15)
    assert turn["streaming"] == 1


def test_tiny_pieces(daemon, up):
    """Goal: even single bytes are passed on one by one."""
    steps = Steps()
    text = b"".join(shapes.chat_stream(2))[:150]

    def script(connection):
        connection.take()
        connection.stream()
        for i in range(len(text)):
            connection.chunk(text[i:i + 1])
            steps.wait()
        connection.end_chunks()

    up.script(script)
    with daemon.client() as client:
        client.request(b"POST", shapes.CHAT_PATH,
                       body=shapes.chat_request())
        response = client.head()
        got = b""
        for piece in client.body_pieces(response):
            got += piece
            for _ in piece:
                steps.done()
    assert got == text


def test_request_pieces_at_once(daemon, up):
    """Goal: a chunked upload streams too: the upstream has piece i before
    the client sends piece i + 1."""
    steps = Steps()

    def script(connection):
        request = connection.head()
        for _ in connection.body_pieces(request):
            steps.done()
        connection.send(reply(b"ok"))

    up.script(script)
    with daemon.client() as client:
        client.request(b"POST", b"/up/x",
                       [(b"Transfer-Encoding", b"chunked")])
        for i in range(10):
            client.send(b"5\r\npart%d\r\n" % i)
            steps.wait()
        client.send(b"0\r\n\r\n")
        assert client.response().body == b"ok"


def test_both_ways_at_once(daemon, up):
    """Goal: an answer that begins after the upload's last byte does not
    wait for anything else."""
    def script(connection):
        request = connection.head()
        connection.take_body(request)
        connection.stream([b"a"])
        assert go.wait(TIMEOUT)
        connection.end_chunks()

    go = threading.Event()
    up.script(script)
    with daemon.client() as client:
        client.request(b"POST", b"/up/x", body=noise(300_000))
        response = client.head()
        assert next(client.body_pieces(response)) == b"a"
        go.set()


def test_a_stalled_reader_pushes_back(daemon, up):
    """Goal: a client that reads nothing of 200 MB stops the upstream; the
    daemon grows by a few MB at most, other clients are served, and all of
    it arrives in the end."""
    block = noise(1_000_000)
    sent = []
    stalled = threading.Event()

    def script(connection):
        request = connection.take()
        if request.target == b"/quick":
            connection.send(reply(b"quick"))
            return
        connection.stream(content_type=b"application/octet-stream")
        connection.sock.settimeout(1)
        for i in range(200):
            data = b"f4240\r\n" + block + b"\r\n"
            view = memoryview(data)
            while view:
                try:
                    view = view[connection.sock.send(view):]
                except TimeoutError:
                    stalled.set()
            sent.append(i)
        connection.sock.settimeout(TIMEOUT)
        connection.end_chunks()
        connection.wait_closed()

    up.script(script)
    daemon.ask(b"HEAD", b"/")
    before = daemon.peak_kib()
    with daemon.client() as client:
        client.request(b"POST", b"/up/big", body=b"a")
        assert stalled.wait(TIMEOUT), "the upstream was never held"
        assert len(sent) < 50, "bytes pile up somewhere"
        assert daemon.ask(b"POST", b"/up/quick", body=b"").body == b"quick"
        grown = daemon.peak_kib() - before
        assert grown < 8 * 1024 or IS_SANITIZED, "%d KiB" % grown
        response = client.response(keep=False)
    assert response.n_body == 200_000_000
    grown = daemon.peak_kib() - before
    assert grown < 8 * 1024 or IS_SANITIZED, "%d KiB" % grown
    turns = daemon.final_turns("path = '/big'")
    assert [t["outcome"] for t in turns] == ["ok"]


def test_a_slow_upstream_pushes_back_an_upload(daemon, up):
    """Goal: an upstream that does not read stops the client; the daemon
    does not fill up."""
    go = threading.Event()

    def script(connection):
        request = connection.head()
        assert go.wait(TIMEOUT * 2)
        connection.take_body(request, keep=False)
        connection.send(reply(b"%d" % request.n_body))

    up.script(script)
    daemon.ask(b"HEAD", b"/")
    before = daemon.peak_kib()
    total = 100_000_000
    with daemon.client() as client:
        client.request(b"POST", b"/up/x",
                       [(b"Content-Length", b"%d" % total)])
        client.sock.settimeout(1)
        block = memoryview(noise(1_000_000))
        sent = 0
        while sent < total:
            try:
                at = sent % len(block)
                sent += client.sock.send(block[at:])
            except TimeoutError:
                if not go.is_set():
                    assert sent < 50_000_000, "bytes pile up somewhere"
                    go.set()
        client.sock.settimeout(TIMEOUT)
        assert client.response().body == b"%d" % total
    grown = daemon.peak_kib() - before
    assert go.is_set(), "the client was never held"
    assert grown < 8 * 1024 or IS_SANITIZED, "%d KiB" % grown


def test_silence_is_no_fault(new_daemon, up):
    """Goal: a stream silent for a while lives, and nothing is put into the
    silence. Default limit: an hour; this is a scaled one."""
    daemon = new_daemon({"up": up.url}, 'idle_timeout = "10s"').start()
    pieces = shapes.chat_stream(3)

    def script(connection):
        connection.take()
        time.sleep(2)  # the silence is what is tested, not a barrier
        connection.stream(pieces[:2])
        time.sleep(2)
        for piece in pieces[2:]:
            connection.chunk(piece)
        connection.end_chunks()

    up.script(script)
    response = daemon.ask(b"POST", shapes.CHAT_PATH,
                          body=shapes.chat_request())
    assert response.body == b"".join(pieces)
    turn = daemon.final_turn()
    assert turn["outcome"] == "ok"
    assert turn["ttfb_ms"] >= 1900
    assert turn["stalls"] == 1
    assert turn["stall_ms"] >= 1000


def test_idle_timeout_in_a_stream(new_daemon, up):
    """Goal: beyond the limit the transfer is broken, the upstream is let
    go, and the row says timeout."""
    daemon = new_daemon({"up": up.url}, 'idle_timeout = "1s"').start()
    gone = queue.Queue()

    def script(connection):
        connection.take()
        connection.stream(shapes.chat_stream(3)[:2])
        gone.put(connection.wait_closed())

    up.script(script)
    start = time.monotonic()
    with pytest.raises(Broken) as broken:
        daemon.ask(b"POST", shapes.CHAT_PATH, body=shapes.chat_request())
    assert broken.value.how in ("fin", "rst")
    assert broken.value.got == b"".join(shapes.chat_stream(3)[:2])
    assert 0.9 < time.monotonic() - start < 8
    assert gone.get(timeout=TIMEOUT) in ("fin", "rst")
    assert daemon.final_turn()["outcome"] == "timeout"


def test_idle_timeout_before_the_answer(new_daemon, up):
    """Goal: an upstream that never answers is our 504."""
    daemon = new_daemon({"up": up.url}, 'idle_timeout = "1s"').start()

    def script(connection):
        connection.take()
        connection.wait_closed()

    up.script(script)
    response = daemon.ask(b"POST", shapes.CHAT_PATH,
                          body=shapes.chat_request())
    assert response.status == 504
    assert response.error
    turn = daemon.final_turn()
    assert (turn["outcome"], turn["status"]) == ("timeout", None)


def test_a_trickle_is_not_idle(new_daemon, up):
    """Goal: the limit counts silence, not length: bytes of any kind, such
    as comments, start it anew."""
    daemon = new_daemon({"up": up.url}, 'idle_timeout = "1s"').start()
    pieces = [b": keep-alive\n\n"] * 6 + shapes.chat_stream(1)

    def script(connection):
        connection.take()
        connection.stream()
        for piece in pieces:
            time.sleep(0.3)  # the pace is what is tested
            connection.chunk(piece)
        connection.end_chunks()

    up.script(script)
    response = daemon.ask(b"POST", shapes.CHAT_PATH,
                          body=shapes.chat_request())
    assert response.body == b"".join(pieces)
    assert daemon.final_turn()["outcome"] == "ok"


def test_many_streams_at_once(daemon, up):
    """Goal: 200 streams side by side, each whole and its own."""
    n = 200
    started = threading.Barrier(n + 1)

    def script(connection):
        request = connection.take()
        ident = request.get(b"x-id")
        connection.stream([ident])
        started.wait(TIMEOUT)
        for i in range(5):
            connection.chunk(b"%s-%d" % (ident, i))
        connection.end_chunks()

    up.script(script)
    clients = [daemon.client() for _ in range(n)]
    for i, client in enumerate(clients):
        client.request(b"POST", b"/up/x", [(b"X-Id", b"%d" % i)], b"a")
    started.wait(TIMEOUT)
    for i, client in enumerate(clients):
        want = b"%d" % i + b"".join(b"%d-%d" % (i, j) for j in range(5))
        assert client.response().body == want
        client.close()
    turns = daemon.final_turns()
    assert len(turns) == n
    assert {t["outcome"] for t in turns} == {"ok"}
    assert max(t["in_flight"] for t in turns) == n - 1


def test_gzip_that_blows_up(daemon, up):
    """Goal: a bomb passes as it is; the meter gives up, not the relay."""
    bomb = gzip.compress(b"\0" * 300_000_000, 9)
    up.answers(reply(bomb, headers=[b"Content-Encoding: gzip",
                                    b"Content-Type: application/json"]))
    daemon.ask(b"HEAD", b"/")
    before = daemon.peak_kib()
    response = daemon.ask(b"POST", shapes.CHAT_PATH,
                          body=shapes.chat_request(False))
    assert response.body == bomb
    grown = daemon.peak_kib() - before
    assert grown < 16 * 1024 or IS_SANITIZED, "%d KiB" % grown
    turn = daemon.final_turn()
    assert turn["status"] == 200
    assert turn["input_tokens"] is None
