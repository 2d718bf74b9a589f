# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the turnmeter authors
"""SIGTERM drains, a second one ends; SIGHUP reads the config anew."""
import signal
import threading
import time

import pytest

import shapes
from upstream import reply
from wire import TIMEOUT, Broken, until


class Held:
    """A stream that waits for the test between its halves."""

    def __init__(self, daemon, up, path=shapes.CHAT_PATH):
        self.go = threading.Event()
        self.pieces = shapes.chat_stream(4)
        up.script(self._script)
        self.client = daemon.client()
        self.client.request(b"POST", path, body=shapes.chat_request())
        response = self.client.head()
        self.body = self.client.body_pieces(response)
        self.got = b""
        while len(self.got) < len(b"".join(self.pieces[:3])):
            self.got += next(self.body)

    def _script(self, connection):
        connection.take()
        connection.stream(self.pieces[:3])
        if not self.go.wait(TIMEOUT):
            return
        for piece in self.pieces[3:]:
            connection.chunk(piece)
        connection.end_chunks()

    def finish(self):
        self.go.set()
        for piece in self.body:
            self.got += piece
        assert self.got == b"".join(self.pieces)


def refuses(daemon):
    """Whether a new request is turned away, in one way or another."""
    try:
        response = daemon.ask(b"POST", b"/up/x", body=b"a")
        return response.status == 503 and response.error
    except (OSError, Broken):
        return True


def test_stream_outlives_the_readers_of_the_feed(daemon, up):
    """Goal: a drain closes the feed under its readers; what the stream that
    goes on has to tell is told to nobody, and it ends as it should."""
    reader = daemon.client()
    reader.request(b"GET", b"/_turnmeter/events")
    events = reader.body_pieces(reader.head())
    assert b"hello" in next(events)
    held = Held(daemon, up)
    daemon.signal(signal.SIGTERM)
    for _ in events:
        pass
    held.finish()
    assert daemon.wait() == 0
    assert daemon.final_turn()["outcome"] == "ok"


def test_streams_end_in_peace(daemon, up):
    """Goal: SIGTERM stops accepting, the stream in flight goes on to its
    end, then the daemon ends with status 0."""
    held = Held(daemon, up)
    daemon.signal(signal.SIGTERM)
    until(lambda: refuses(daemon), "no new requests")
    assert daemon.process.poll() is None
    held.finish()
    assert daemon.wait() == 0
    turns = daemon.turns("path = '/v1/chat/completions'")
    assert [t["outcome"] for t in turns] == ["ok"]
    assert turns[0]["output_tokens"] == 5


def test_a_second_signal_ends_at_once(daemon, up):
    """Goal: what was in flight is broken for the client and recorded as
    interrupted."""
    held = Held(daemon, up)
    daemon.signal(signal.SIGTERM)
    until(lambda: refuses(daemon), "no new requests")
    start = time.monotonic()
    daemon.signal(signal.SIGTERM)
    status = daemon.wait()
    assert time.monotonic() - start < 3
    assert status >= 0, "an end of its own accord"
    with pytest.raises(Broken):
        list(held.body)
    turns = daemon.turns("path = '/v1/chat/completions'")
    assert [t["outcome"] for t in turns] == ["interrupted"]
    assert turns[0]["status"] == 200
    assert turns[0]["ttft_ms"] is not None


def test_the_grace_ends(new_daemon, up):
    """Goal: shutdown_grace bounds the wait."""
    daemon = new_daemon({"up": up.url}, 'shutdown_grace = "1s"').start()
    held = Held(daemon, up)
    start = time.monotonic()
    daemon.signal(signal.SIGTERM)
    daemon.wait()
    assert 0.9 < time.monotonic() - start < 8
    with pytest.raises(Broken):
        list(held.body)
    turn, = daemon.turns()
    assert turn["outcome"] == "interrupted"


def test_before_the_answer(daemon, up):
    """Goal: a request that waits for its answer is in flight as well."""
    go = threading.Event()

    def script(connection):
        connection.take()
        assert go.wait(TIMEOUT)
        connection.send(reply(b"late"))

    up.script(script)
    with daemon.client() as client:
        client.request(b"POST", b"/up/x", body=b"a")
        up.wait_requests(1, whole=True)
        daemon.signal(signal.SIGTERM)
        until(lambda: refuses(daemon), "no new requests")
        go.set()
        assert client.response().body == b"late"
    assert daemon.wait() == 0
    assert daemon.turns("path = '/x' AND status = 200")


def reloaded(daemon, n=1):
    """Sends SIGHUP and waits for the log to say that it was obeyed."""
    before = daemon.log()
    daemon.signal(signal.SIGHUP)
    until(lambda: daemon.log() != before, "a line about the reload")
    return daemon.log()[len(before):]


def test_reload(daemon, up, new_upstream):
    """Goal: a new upstream works after SIGHUP, a stream in flight does
    not notice."""
    other = new_upstream()
    other.answers(reply(b"other"))
    assert daemon.ask(b"POST", b"/other/x", body=b"").status == 404
    held = Held(daemon, up)
    daemon.write_config({"up": up.url, "other": other.url})
    reloaded(daemon)
    until(lambda: daemon.ask(b"POST", b"/other/x", body=b"").status == 200,
          "the new upstream")
    held.finish()
    turns = daemon.final_turns("upstream = 'up'")
    assert [t["outcome"] for t in turns] == ["ok"]


def test_reload_moves_an_upstream(daemon, up, new_upstream):
    """Goal: the stream in flight keeps its old upstream, new requests go
    to the new one, also over the same client connection."""
    other = new_upstream()
    other.answers(reply(b"moved"))
    up.answers(reply(b"old", headers=[b"Connection: close"]))
    with daemon.client() as client:
        assert client.ask(b"POST", b"/up/x", body=b"").body == b"old"
        held = Held(daemon, up)
        daemon.write_config({"up": other.url})
        reloaded(daemon)
        until(lambda: daemon.ask(b"POST", b"/up/x",
                                 body=b"").body == b"moved", "the move")
        assert client.ask(b"POST", b"/up/x", body=b"").body == b"moved"
        held.finish()


def test_a_bad_reload(daemon, up):
    """Goal: a mistake leaves the old config in force, and says what and
    where."""
    up.answers(reply(b"ok"))
    daemon.write_config({"up": up.url}, 'no_such_key = "1"')
    said = reloaded(daemon)
    assert "no_such_key" in said
    assert "turnmeter.conf" in said
    for _ in range(3):
        assert daemon.ask(b"POST", b"/up/x", body=b"").body == b"ok"


def test_reload_many_times(daemon, up):
    """Goal: reloads under way of exchanges leak nothing and break
    nothing."""
    up.answers(reply(b"ok"))
    with daemon.client() as client:
        for _ in range(50):
            daemon.signal(signal.SIGHUP)
            assert client.ask(b"POST", b"/up/x", body=b"").body == b"ok"
    assert len(daemon.final_turns()) == 50


def test_sigpipe_and_other_signals(daemon, up):
    """Goal: stray signals do not end the daemon."""
    up.answers(reply(b"ok"))
    daemon.signal(signal.SIGPIPE)
    daemon.signal(signal.SIGWINCH)
    daemon.signal(signal.SIGCHLD)
    assert daemon.ask(b"POST", b"/up/x", body=b"").body == b"ok"
