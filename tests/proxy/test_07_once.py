# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the turnmeter authors
"""A request with a body reaches the upstream at most once (Law 1)."""
import pytest

from upstream import reply
from wire import noise


def dying(ending, first=reply(b"warm")):
    """A connection that serves one request, reads the next one whole and
    dies without a byte."""
    def script(connection):
        connection.take()
        connection.send(first)
        if connection.take() is not None:
            getattr(connection, ending)()

    return script


@pytest.mark.parametrize("ending", ["close", "reset"])
@pytest.mark.parametrize("method, n", [
    (b"POST", 10), (b"POST", 0), (b"POST", 60_000), (b"POST", 1_000_000),
    (b"PUT", 10), (b"PATCH", 10), (b"DELETE", 10)])
def test_a_warm_connection_dies_with_the_request(daemon, up, ending, method,
                                                 n):
    """Goal: one request is seen, the client gets 502, one row says
    upstream_reset. libcurl alone would send it twice."""
    up.script(dying(ending), dying(ending, reply(b"replayed")))
    body = noise(n)
    with daemon.client() as client:
        assert client.ask(b"POST", b"/up/warm", body=b"").body == b"warm"
        response = client.ask(method, b"/up/x", body=body)
        assert response.status == 502
        assert response.error
    assert [r.target for r in up.requests] == [b"/warm", b"/x"]
    assert up.requests[1].body == body
    rows = daemon.final_turns("path = '/x'")
    if method == b"DELETE":
        assert len(rows) <= 1
    else:
        assert [r["outcome"] for r in rows] == ["upstream_reset"]
        assert rows[0]["status"] is None


@pytest.mark.parametrize("ending", ["close", "reset"])
def test_chunked(daemon, up, ending):
    """Goal: the same for a body of unknown length."""
    up.script(dying(ending), dying(ending, reply(b"replayed")))
    with daemon.client() as client:
        client.ask(b"POST", b"/up/warm", body=b"")
        client.request(b"POST", b"/up/x",
                       [(b"Transfer-Encoding", b"chunked")])
        client.send(b"3\r\nabc\r\n0\r\n\r\n")
        assert client.response().status == 502
    assert [r.target for r in up.requests] == [b"/warm", b"/x"]


@pytest.mark.parametrize("ending", ["close", "reset"])
def test_a_fresh_connection_dies(daemon, up, ending):
    """Goal: no second try on a cold connection either."""
    def script(connection):
        connection.take()
        getattr(connection, ending)()

    up.script(script)
    response = daemon.ask(b"POST", b"/up/x", body=b"abc")
    assert response.status == 502
    assert len(up.requests) == 1
    turn = daemon.final_turn()
    assert turn["outcome"] == "upstream_reset"
    assert turn["response_bytes"] in (0, None)


@pytest.mark.parametrize("method", [b"GET", b"HEAD", b"OPTIONS"])
def test_harmless_methods_may_be_replayed(daemon, up, method):
    """Goal: GET over a stale connection is answered, by a replay or by a
    502, and never hangs."""
    up.script(dying("close"), dying("close", reply(b"again")))
    with daemon.client() as client:
        client.ask(b"POST", b"/up/warm", body=b"")
        response = client.ask(method, b"/up/x")
        assert response.status in (200, 502)
    assert len(up.requests) in (2, 3)


def test_a_connection_closed_while_idle(daemon, up):
    """Goal: a connection that the upstream closed between two requests is
    not used: the POST succeeds over a fresh one, at once, once."""
    def script(connection):
        connection.take()
        connection.send(reply(b"%d" % connection.number))

    up.script(script)
    with daemon.client() as client:
        for i in range(1, 6):
            # The close of the last connection is on its way: give it the
            # time of an exchange with the daemon alone.
            client.ask(b"HEAD", b"/")
            response = client.ask(b"POST", b"/up/x", body=b"abc")
            if response.status == 502:  # lost the race: then not sent twice
                continue
            assert response.body == b"%d" % i
    bodies = [r.body for r in up.requests]
    assert bodies == [b"abc"] * len(bodies) and len(bodies) <= 5


def test_half_an_answer_is_not_asked_again(daemon, up):
    """Goal: an upstream that dies within its head gets no second
    request."""
    def script(connection):
        connection.take()
        connection.send(reply(b"warm"))
        connection.take()
        connection.send(b"HTTP/1.1 200 OK\r\nX-Half: ")

    up.script(script)
    with daemon.client() as client:
        client.ask(b"POST", b"/up/warm", body=b"")
        response = client.ask(b"POST", b"/up/x", body=b"abc")
        assert response.status == 502
        assert response.error
    assert len(up.requests) == 2
    outcome = daemon.final_turns("path = '/x'")[0]["outcome"]
    assert outcome in ("upstream_reset", "upstream_truncated")
