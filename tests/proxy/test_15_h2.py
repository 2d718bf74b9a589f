# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the turnmeter authors
"""HTTP/2 to a TLS upstream."""
import queue
import threading
import time

import pytest

import shapes
from wire import TIMEOUT, Broken, noise

pytest.importorskip("h2")
import h2server  # noqa: E402  after the skip


@pytest.fixture
def h2(new_daemon, new_upstream, authority):
    """(daemon, upstream): set the answer with h2server.serve."""
    upstream = new_upstream(tls=authority.context(alpn=("h2", "http/1.1")))
    daemon = new_daemon({"up": {
        "url": upstream.url.replace("127.0.0.1", "localhost"),
        "ca_file": authority.ca_file}}).start()
    return daemon, upstream


def ok(body=b"ok", headers=()):
    return lambda x: x.respond([(b":status", b"200"), *headers], body)


def test_an_exchange(h2):
    """Goal: the same bytes over HTTP/2, names in lower case, nothing
    added."""
    daemon, up = h2
    h2server.serve(up, lambda x: x.respond(
        [(b":status", b"200"), (b"x-b", b"2"), (b"x-a", b"1"),
         (b"set-cookie", b"a=1"), (b"set-cookie", b"b=2"),
         (b"content-type", b"application/json")], x.body[::-1]))
    body = noise(50_000)
    response = daemon.ask(b"POST", b"/up/v1/a%2Fb//c?x=%20", [
        (b"X-Upper", b"V"), (b"Authorization", b"Bearer k"),
        (b"X-Empty", b""), (b"Connection", b"x-hop"), (b"X-Hop", b"1"),
        (b"TE", b"trailers")], body)
    assert response.status == 200
    assert response.body == body[::-1]
    assert response.without() == [
        (b"x-b", b"2"), (b"x-a", b"1"), (b"set-cookie", b"a=1"),
        (b"set-cookie", b"b=2"), (b"content-type", b"application/json")]
    exchange, = up.exchanges
    assert exchange.body == body
    assert exchange.get(b":method") == b"POST"
    assert exchange.get(b":path") == b"/v1/a%2Fb//c?x=%20"
    assert exchange.get(b":authority") == b"localhost:%d" % up.port
    rest = [(n, v) for n, v in exchange.headers
            if not n.startswith(b":") and n != b"content-length"]
    assert rest == [(b"x-upper", b"V"), (b"authorization", b"Bearer k"),
                    (b"x-empty", b"")]


def test_one_stream_a_connection(h2):
    """Goal: 16 at once go over 16 connections, so that none waits for
    another's slow reader; later ones use them again."""
    daemon, up = h2
    n = 16
    together = threading.Barrier(n)

    def respond(exchange):
        if exchange.get(b":path") == b"/together":
            together.wait(TIMEOUT)
        exchange.respond([(b":status", b"200")], exchange.body)

    h2server.serve(up, respond)
    clients = [daemon.client() for _ in range(n)]
    for i, client in enumerate(clients):
        client.request(b"POST", b"/up/together", body=b"%d" % i)
    for i, client in enumerate(clients):
        assert client.response().body == b"%d" % i
    for i, client in enumerate(clients):
        assert client.ask(b"POST", b"/up/x", body=b"%d" % i).body == b"%d" % i
        client.close()
    assert len(up.connections) == n


def test_each_piece_at_once(h2):
    """Goal: no buffering on this way either."""
    daemon, up = h2
    pieces = shapes.chat_stream(8)
    got = queue.Queue()

    def respond(exchange):
        exchange.respond([(b":status", b"200"),
                          (b"content-type", b"text/event-stream")],
                         end=False)
        for piece in pieces:
            assert got.get(timeout=TIMEOUT)
            exchange.send(piece)
        assert got.get(timeout=TIMEOUT)
        exchange.send(b"", end=True)

    h2server.serve(up, respond)
    with daemon.client() as client:
        client.request(b"POST", shapes.CHAT_PATH,
                       body=shapes.chat_request())
        response = client.head()
        body = client.body_pieces(response)
        have = b""
        for piece in pieces:
            got.put(True)
            want = len(have) + len(piece)
            while len(have) < want:
                have += next(body)
        got.put(True)
        assert list(body) == []
    assert have == b"".join(pieces)
    turn = daemon.final_turn()
    assert (turn["outcome"], turn["output_tokens"]) == ("ok", 5)


def test_reset_stream(h2):
    """Goal: RST_STREAM breaks this transfer, and no other."""
    daemon, up = h2

    def respond(exchange):
        if exchange.get(b":path") == b"/ok":
            ok()(exchange)
            return
        exchange.respond([(b":status", b"200")], b"part", end=False)
        assert seen.wait(TIMEOUT)
        exchange.reset()

    seen = threading.Event()
    h2server.serve(up, respond)
    with daemon.client() as client:
        client.request(b"POST", b"/up/x", body=b"a")
        response = client.head()
        body = client.body_pieces(response)
        assert next(body) == b"part"
        seen.set()
        with pytest.raises(Broken):
            list(body)
    assert daemon.ask(b"POST", b"/up/ok", body=b"a").body == b"ok"
    turns = daemon.final_turns()
    assert [t["outcome"] for t in turns] == ["upstream_reset", "ok"]


def test_reset_before_the_answer(h2):
    """Goal: an error after the request was taken is 502 and no second
    try."""
    daemon, up = h2
    h2server.serve(up, lambda x: x.reset(2))
    response = daemon.ask(b"POST", b"/up/x", body=b"abc")
    assert response.status == 502
    assert response.error
    assert len(up.exchanges) == 1
    assert daemon.final_turn()["outcome"] == "upstream_reset"


def test_a_client_that_leaves(h2):
    """Goal: the upstream hears of it at once, with its connection; the
    other stream lives on."""
    daemon, up = h2
    go = threading.Event()

    def respond(exchange):
        exchange.respond([(b":status", b"200")], b"part", end=False)
        if exchange.get(b":path") == b"/stay":
            assert go.wait(TIMEOUT)
            exchange.send(b"end", end=True)

    h2server.serve(up, respond)
    stay, leave = daemon.client(), daemon.client()
    stay.request(b"POST", b"/up/stay", body=b"a")
    kept = stay.body_pieces(stay.head())
    assert next(kept) == b"part"
    leave.request(b"POST", b"/up/leave", body=b"a")
    assert next(leave.body_pieces(leave.head())) == b"part"
    exchange = [x for x in up.exchanges if x.get(b":path") == b"/leave"][0]
    leave.close()
    assert exchange.session.is_closed.wait(TIMEOUT)
    go.set()
    assert b"".join(kept) == b"end"
    stay.close()
    outcomes = {t["path"]: t["outcome"] for t in daemon.final_turns()}
    assert outcomes == {"/leave": "client_closed", "/stay": "ok"}


def test_trailers(h2):
    """Goal: trailers of HTTP/2 reach the client as trailers, or are left
    out; the body is whole in either case."""
    daemon, up = h2

    def respond(exchange):
        exchange.respond([(b":status", b"200")], b"body", end=False)
        exchange.trailers([(b"x-sum", b"1")])

    h2server.serve(up, respond)
    response = daemon.ask(b"POST", b"/up/x", body=b"a")
    assert response.body == b"body"
    assert response.trailers in ([], [(b"x-sum", b"1")])


def test_a_big_upload(h2):
    """Goal: uploads larger than the windows pass, chunked from the client
    too."""
    daemon, up = h2
    h2server.serve(up, lambda x: x.respond([(b":status", b"200")],
                                           b"%d" % len(x.body)))
    body = noise(3_000_000)
    assert daemon.ask(b"POST", b"/up/x", body=body).body == b"3000000"
    with daemon.client() as client:
        client.request(b"POST", b"/up/x",
                       [(b"Transfer-Encoding", b"chunked")])
        client.send(b"5\r\nhello\r\n0\r\n\r\n")
        assert client.response().body == b"5"
    assert up.exchanges[0].body == body
    assert up.exchanges[1].body == b"hello"
    assert up.exchanges[1].get(b"transfer-encoding") is None


def test_goaway(h2):
    """Goal: an upstream that ends its connection in good order costs no
    request."""
    daemon, up = h2

    def respond(exchange):
        def both(connection):
            connection.send_headers(exchange.stream, [(b":status", b"200")],
                                    end_stream=True)
            connection.close_connection()

        exchange.session.act(both)

    h2server.serve(up, respond)
    statuses = []
    for _ in range(4):
        daemon.ask(b"HEAD", b"/")
        statuses.append(daemon.ask(b"POST", b"/up/x", body=b"a").status)
    assert statuses.count(200) >= 3, statuses
    assert len(up.exchanges) <= 4, "none was sent twice"
