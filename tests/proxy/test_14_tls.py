# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the turnmeter authors
"""TLS to the upstream: verified, resumed, ended properly."""
import os
import threading

import pytest

import shapes
from daemon import IS_SANITIZED
from upstream import OK, reply
from wire import Broken, noise, until


@pytest.fixture
def secure(new_upstream, authority):
    """A TLS upstream that speaks HTTP/1.1."""
    return new_upstream(tls=authority.context())


def tls_daemon(new_daemon, upstream, authority, host="localhost", **more):
    url = upstream.url.replace("127.0.0.1", host)
    return new_daemon({"up": {"url": url, "ca_file": authority.ca_file,
                              **more}}).start()


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
def test_verified(new_daemon, secure, authority, host):
    """Goal: a certificate of the given authority for this name works."""
    secure.answers(lambda request: reply(request.body))
    daemon = tls_daemon(new_daemon, secure, authority, host)
    with daemon.client() as client:
        for n in (0, 10, 100_000):
            body = noise(n)
            assert client.ask(b"POST", b"/up/x", body=body).body == body
    assert len(secure.connections) == 1
    turns = daemon.final_turns()
    assert turns[0]["connect_ms"] > 0
    assert turns[1]["connect_ms"] == 0


def test_an_unknown_authority(new_daemon, secure):
    """Goal: the system's authorities do not vouch for ours: no byte of
    the request goes out."""
    secure.answers(reply(b"ok"))
    daemon = new_daemon({"up": secure.url}).start()
    response = daemon.ask(b"POST", b"/up/x",
                          [(b"Authorization", b"Bearer secret")], b"a")
    assert response.status == 502
    assert response.error
    assert secure.requests == []
    assert daemon.final_turn()["outcome"] == "connect_failed"


def test_a_wrong_name(new_daemon, new_upstream, authority):
    """Goal: a certificate for another host is refused."""
    upstream = new_upstream(tls=authority.context("other.example"))
    daemon = tls_daemon(new_daemon, upstream, authority)
    assert daemon.ask(b"POST", b"/up/x", body=b"a").status == 502
    assert upstream.requests == []


def test_plain_text_where_tls_is_due(new_daemon, up, authority):
    """Goal: an upstream without TLS is an error, soon."""
    def script(connection):
        connection.some()
        connection.send(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    up.script(script)
    daemon = new_daemon({"up": {
        "url": up.url.replace("http:", "https:"),
        "ca_file": authority.ca_file}}).start()
    assert daemon.ask(b"POST", b"/up/x", body=b"a").status == 502


def test_a_missing_ca_file(new_daemon, secure):
    """Goal: a mistake in ca_file is found at the start, or named in the
    answer; never taken for `trust all`."""
    daemon = new_daemon({"up": {"url": secure.url,
                                "ca_file": "/nonexistent/ca.pem"}}).launch()
    until(lambda: os.path.exists(daemon.port_file)
          or daemon.process.poll() is not None, "start")
    if daemon.process.poll() is None:
        daemon.read_port()
        assert daemon.ask(b"POST", b"/up/x", body=b"a").status == 502
    else:
        assert daemon.wait() == 1
        assert "/nonexistent/ca.pem" in daemon.log()
    assert secure.requests == []


def test_resumption(new_daemon, secure, authority):
    """Goal: a second connection resumes the first one's session."""
    def script(connection):
        connection.take()
        connection.send(reply(b"1" if connection.sock.session_reused
                              else b"0", headers=[b"Connection: close"]))

    secure.script(script)
    daemon = tls_daemon(new_daemon, secure, authority)
    got = b"".join(daemon.ask(b"POST", b"/up/x", body=b"a").body
                   for _ in range(6))
    assert len(secure.connections) == 6
    assert got[:1] == b"0"
    assert got[1:].count(b"1") >= 4, got


def test_new_connections_are_cheap(new_daemon, secure):
    """Goal: the system's authorities are not loaded anew for each
    connection (28 ms with Debian's default path)."""
    if IS_SANITIZED:
        pytest.skip("not a figure of the product")
    daemon = new_daemon({"up": secure.url}).start()
    daemon.ask(b"POST", b"/up/x", body=b"a")  # loads them
    before = daemon.cpu_s()
    for _ in range(10):
        assert daemon.ask(b"POST", b"/up/x", body=b"a").status == 502
    spent = (daemon.cpu_s() - before) / 10
    assert spent < 0.012, "%.1f ms CPU a connection" % (spent * 1e3)


def test_a_tail_behind_close_notify(new_daemon, secure, authority):
    """Goal: all bytes before the proper end arrive, and the end of
    a body without framing is a clean one."""
    body = noise(1_200_000)

    def script(connection):
        connection.take()
        connection.send(OK + b"Content-Type: text/event-stream\r\n\r\n"
                        + body)
        connection.sock.unwrap()

    secure.script(script)
    daemon = tls_daemon(new_daemon, secure, authority)
    assert daemon.ask(b"POST", b"/up/x", body=b"a").body == body
    assert daemon.final_turn()["outcome"] == "ok"


@pytest.mark.parametrize("ending, outcome", [
    ("close", "upstream_truncated"), ("reset", "upstream_reset")])
def test_a_cut_without_close_notify(new_daemon, secure, authority, ending,
                                    outcome):
    """Goal: a cut is not a clean end for anybody: FIN without
    close_notify is a truncation, RST a reset."""
    pieces = shapes.chat_stream(5)[:3]
    seen = threading.Event()

    def script(connection):
        connection.take()
        connection.stream(pieces)
        assert seen.wait(15)
        if ending == "reset":
            connection.reset()

    secure.script(script)
    daemon = tls_daemon(new_daemon, secure, authority)
    with daemon.client() as client:
        client.request(b"POST", shapes.CHAT_PATH,
                       body=shapes.chat_request())
        response = client.head()
        got = b""
        with pytest.raises(Broken):
            for piece in client.body_pieces(response):
                got += piece
                if len(got) == sum(map(len, pieces)):
                    seen.set()
    assert got == b"".join(pieces)
    assert daemon.final_turn()["outcome"] == outcome


def test_at_most_once_over_tls(new_daemon, secure, authority):
    """Goal: the guard against replays holds here too."""
    def script(connection):
        connection.take()
        connection.send(reply(b"warm"))
        connection.take()

    secure.script(script)
    daemon = tls_daemon(new_daemon, secure, authority)
    with daemon.client() as client:
        client.ask(b"POST", b"/up/warm", body=b"")
        assert client.ask(b"POST", b"/up/x", body=b"abc").status == 502
    assert [r.target for r in secure.requests] == [b"/warm", b"/x"]
