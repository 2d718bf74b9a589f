# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the turnmeter authors
"""Malformed requests get 400 and never reach an upstream."""
import pytest

from wire import TIMEOUT, Broken

H = b"Host: 127.0.0.1\r\n"
POST = b"POST /up/x HTTP/1.1\r\n"

# Name, bytes. Every one of them is refused.
BAD = [
    ("no host", POST + b"Content-Length: 0\r\n\r\n"),
    ("two hosts", POST + H + H + b"Content-Length: 0\r\n\r\n"),
    ("two different hosts",
     POST + H + b"Host: localhost\r\nContent-Length: 0\r\n\r\n"),
    ("two equal lengths",
     POST + H + b"Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello"),
    ("two lengths",
     POST + H + b"Content-Length: 46\r\nContent-Length: 0\r\n\r\n"),
    ("two lengths, the other way",
     POST + H + b"Content-Length: 0\r\nContent-Length: 46\r\n\r\n"),
    ("length with a sign", POST + H + b"Content-Length: +5\r\n\r\nhello"),
    ("negative length", POST + H + b"Content-Length: -5\r\n\r\nhello"),
    ("length in words", POST + H + b"Content-Length: five\r\n\r\nhello"),
    ("length with a tail", POST + H + b"Content-Length: 5x\r\n\r\nhello"),
    ("hex length", POST + H + b"Content-Length: 0x5\r\n\r\nhello"),
    ("length of 30 digits", POST + H + b"Content-Length: "
     b"999999999999999999999999999999\r\n\r\nhello"),
    ("length and chunked", POST + H + b"Content-Length: 5\r\n"
     b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    ("chunked and length", POST + H + b"Transfer-Encoding: chunked\r\n"
     b"Content-Length: 5\r\n\r\n0\r\n\r\n"),
    ("chunked with a tab",
     POST + H + b"Transfer-Encoding: chunked\t\r\n\r\n0\r\n\r\n"),
    ("xchunked", POST + H + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n"),
    ("chunked folded",
     POST + H + b"Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n"),
    ("space before the colon of TE",
     POST + H + b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n"),
    ("gzip as TE", POST + H + b"Transfer-Encoding: gzip\r\n\r\nx"),
    ("gzip, chunked",
     POST + H + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"),
    ("chunked twice",
     POST + H + b"Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n"),
    ("two TE headers", POST + H + b"Transfer-Encoding: chunked\r\n"
     b"Transfer-Encoding: identity\r\n\r\n0\r\n\r\n"),
    ("empty TE", POST + H + b"Transfer-Encoding:\r\n\r\n0\r\n\r\n"),
    ("space before a colon",
     POST + H + b"X-A : 1\r\nContent-Length: 0\r\n\r\n"),
    ("space within a name",
     POST + H + b"X A: 1\r\nContent-Length: 0\r\n\r\n"),
    ("a name that is no token",
     POST + H + b"X(A): 1\r\nContent-Length: 0\r\n\r\n"),
    ("a name of high bytes",
     POST + H + b"X-\xc3\xa9: 1\r\nContent-Length: 0\r\n\r\n"),
    ("no name", POST + H + b": 1\r\nContent-Length: 0\r\n\r\n"),
    ("no colon", POST + H + b"NoColon\r\nContent-Length: 0\r\n\r\n"),
    ("NUL in a value", POST + H + b"X-A: a\0b\r\nContent-Length: 0\r\n\r\n"),
    ("NUL in a name", POST + H + b"X\0A: 1\r\nContent-Length: 0\r\n\r\n"),
    ("bare CR in a value",
     POST + H + b"X-A: a\rX-Evil: 1\r\nContent-Length: 0\r\n\r\n"),
    ("space in the target",
     b"POST /up/a b HTTP/1.1\r\n" + H + b"Content-Length: 0\r\n\r\n"),
    ("tab in the target",
     b"POST /up/a\tb HTTP/1.1\r\n" + H + b"Content-Length: 0\r\n\r\n"),
    ("control byte in the target",
     b"POST /up/a\x01b HTTP/1.1\r\n" + H + b"Content-Length: 0\r\n\r\n"),
    ("NUL in the target",
     b"POST /up/a\0b HTTP/1.1\r\n" + H + b"Content-Length: 0\r\n\r\n"),
    ("DEL in the target",
     b"POST /up/a\x7fb HTTP/1.1\r\n" + H + b"Content-Length: 0\r\n\r\n"),
    ("target without a slash",
     b"POST up/x HTTP/1.1\r\n" + H + b"Content-Length: 0\r\n\r\n"),
    ("no target", b"POST HTTP/1.1\r\n" + H + b"Content-Length: 0\r\n\r\n"),
    ("asterisk for POST",
     b"POST * HTTP/1.1\r\n" + H + b"Content-Length: 0\r\n\r\n"),
    ("method that is no token",
     b"PO(ST /up/x HTTP/1.1\r\n" + H + b"Content-Length: 0\r\n\r\n"),
]


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """One daemon for all of these: it must outlive them together."""
    from daemon import Daemon
    from upstream import Upstream
    up = Upstream()
    daemon = Daemon(tmp_path_factory.mktemp("shared"), {"up": up.url})
    daemon.start()
    daemon.up = up
    yield daemon
    daemon.stop()
    up.close()
    assert daemon.turns() == [], "refused before routing: no row"


@pytest.mark.parametrize("data", [d for _, d in BAD],
                         ids=[n.replace(" ", "-") for n, _ in BAD])
def test_refused(shared, data):
    """Goal: 400 and the connection's end; the upstream hears nothing."""
    shared.up.requests.clear()
    with shared.client() as client:
        # What follows must not be taken for a second request.
        client.send(data)
        response = client.response()
        # libmicrohttpd's own word for a length beyond 64 bits is 413.
        accepted = (400, 413) if b"9" * 30 in data else (400,)
        assert response.status in accepted, response.raw
        assert client.wait_closed() in ("fin", "rst")
    assert shared.up.requests == []
    assert shared.up.partial == []
    assert shared.health()


@pytest.mark.parametrize("name, data", [
    ("http-3", b"POST /up/x HTTP/3.0\r\n" + H + b"\r\n"),
    ("http-0.9", b"GET /up/x\r\n\r\n"),
    ("no-version", b"POST /up/x\r\n" + H + b"\r\n"),
    ("garbage", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"),
    ("lines", b"\r\n\r\n\r\n\r\n" + b"x" * 100 + b"\r\n\r\n"),
])
def test_not_http(shared, name, data):
    """Goal: other protocols get an error or the end, soon."""
    shared.up.requests.clear()
    with shared.client() as client:
        client.send(data)
        client.shutdown()
        try:
            assert client.response().status in (400, 505)
        except (Broken, IndexError, ValueError):
            pass
    assert shared.up.requests == []
    assert shared.health()


@pytest.mark.parametrize("size", [b"FFFFFFFFFFFFFFFFF", b"-1", b"0x3",
                                  b"xyz", b"", b"+3"])
def test_a_bad_chunk_size(daemon, up, size):
    """Goal: a body that cannot be delimited is refused, and no whole
    request reaches the upstream."""
    with daemon.client() as client:
        client.send(POST + H + b"Transfer-Encoding: chunked\r\n\r\n"
                    + size + b"\r\nabc\r\n0\r\n\r\n")
        try:
            assert client.response().status in (400, 413)
        except Broken as broken:
            assert broken.how in ("fin", "rst")
    assert not any(r.is_whole for r in up.requests)
    assert daemon.health()


def test_folded_or_listed_length(daemon, up):
    """Goal: `Content-Length: 5,5` is refused, or is 5."""
    with daemon.client() as client:
        client.send(POST + H + b"Content-Length: 5,5\r\n\r\nhello")
        status = client.response().status
    assert status in (200, 400)
    for request in up.requests:
        assert request.all(b"content-length") == [b"5"]
        assert request.body == b"hello"


def test_bare_line_feeds(daemon, up):
    """Goal: bare LF is refused, or normalised: the upstream sees CRLF."""
    with daemon.client() as client:
        client.send(b"POST /up/x HTTP/1.1\nHost: 127.0.0.1\n"
                    b"X-A: 1\nContent-Length: 5\n\nhello")
        status = client.response().status
    assert status in (200, 400)
    for request in up.requests:
        assert b"\n" not in request.raw.replace(b"\r\n", b"")
        assert request.body == b"hello"


def test_a_head_byte_by_byte(daemon, up):
    """Goal: a slow but sound request is served."""
    with daemon.client() as client:
        for byte in POST + H + b"Content-Length: 2\r\n\r\nhi":
            client.send(bytes([byte]))
        assert client.response().status == 200
    assert up.request.body == b"hi"


def test_many_broken_clients_cost_nothing(daemon, up):
    """Goal: heads that never end and clients that vanish leave the daemon
    well and without a row."""
    head = POST + H + b"Content-Length: 100\r\n\r\n"
    for i in range(100):
        client = daemon.client()
        client.send(head[:i % len(head)])
        if i % 2:
            client.reset()
        else:
            client.close()
    assert daemon.health()
    assert daemon.ask(b"POST", b"/up/x", body=b"a").status == 200
    assert len(daemon.final_turns()) == 1


def test_the_socket_answers_within_a_second(daemon):
    """Goal: a refusal does not wait for the body that was announced."""
    with daemon.client() as client:
        client.sock.settimeout(min(TIMEOUT, 5))
        client.send(POST + H + b"Content-Length: 100\r\n"
                    b"Content-Length: 200\r\n\r\n")
        assert client.response().status == 400
