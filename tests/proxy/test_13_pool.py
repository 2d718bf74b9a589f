# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the turnmeter authors
"""Connections are kept and used again on both sides."""
import socket
import threading
import time

import pytest

from upstream import OK, answer, reply
from wire import TIMEOUT, Client, chunked


def test_one_client_connection_one_upstream_connection(daemon, up):
    """Goal: 20 exchanges of every framing over one connection on either
    side."""
    def respond(request):
        if request.body == b"odd":
            return (OK + b"Transfer-Encoding: chunked\r\n\r\n"
                    + chunked(b"odd"))
        return reply(b"even")

    up.answers(respond)
    with daemon.client() as client:
        for i in range(20):
            body = b"odd" if i % 2 else b"even"
            assert client.ask(b"POST", b"/up/x", body=body).body == body
            if i % 5 == 0:
                client.ask(b"GET", b"/up/x")
                client.ask(b"HEAD", b"/")
    assert len(up.connections) == 1


def test_new_clients_share_the_upstream_connection(daemon, up):
    """Goal: Codex opens a connection for each request; the upstream's
    stays."""
    up.answers(reply(b"ok"))
    for _ in range(10):
        daemon.ask(b"POST", b"/up/x", [(b"Connection", b"close")], b"a")
    assert len(up.connections) == 1
    turns = daemon.final_turns()
    assert turns[0]["connect_ms"] > 0
    assert [t["connect_ms"] for t in turns[1:]] == [0] * 9


def test_concurrent_exchanges_have_their_own(daemon, up):
    """Goal: two at once do not wait for each other, and both connections
    are used afterwards."""
    both = threading.Barrier(2)

    def script(connection):
        while connection.take() is not None:
            if not done.is_set():
                both.wait(TIMEOUT)
            connection.send(reply(b"ok"))

    done = threading.Event()
    up.script(script)
    with daemon.client() as one, daemon.client() as two:
        one.request(b"POST", b"/up/x", body=b"1")
        two.request(b"POST", b"/up/x", body=b"2")
        assert one.response().body == b"ok"
        assert two.response().body == b"ok"
        done.set()
        for _ in range(4):
            one.ask(b"POST", b"/up/x", body=b"1")
            two.ask(b"POST", b"/up/x", body=b"2")
    assert len(up.connections) == 2


def test_an_error_answer_keeps_connections(daemon, up):
    """Goal: 4xx and 5xx are no reason to reconnect."""
    up.script(answer(*[reply(b"e", b"%d Oops" % c)
                       for c in (400, 401, 429, 500, 529)]))
    with daemon.client() as client:
        for status in (400, 401, 429, 500, 529):
            assert client.ask(b"POST", b"/up/x",
                              body=b"a").status == status
    assert len(up.connections) == 1


def test_own_errors_keep_the_client_connection(daemon, up):
    """Goal: a 404 of ours does not cost the client its connection."""
    up.answers(reply(b"ok"))
    with daemon.client() as client:
        for _ in range(3):
            assert client.ask(b"POST", b"/nowhere", body=b"a").status == 404
            assert client.ask(b"POST", b"/up/x", body=b"a").body == b"ok"


def test_pool_idle(new_daemon, up):
    """Goal: a pooled connection older than pool_idle is not used again."""
    daemon = new_daemon({"up": up.url}, 'pool_idle = "1s"').start()
    up.answers(reply(b"ok"))
    daemon.ask(b"POST", b"/up/x", body=b"a")
    daemon.ask(b"POST", b"/up/x", body=b"a")
    assert len(up.connections) == 1
    time.sleep(2.2)  # the age is what is tested
    daemon.ask(b"POST", b"/up/x", body=b"a")
    assert len(up.connections) == 2


def test_ipv6(new_daemon, new_upstream):
    """Goal: IPv6 on both sides."""
    try:
        up = new_upstream(host="::1")
    except OSError:
        pytest.skip("no IPv6 loopback")
    up.answers(reply(b"six"))
    daemon = new_daemon({"up": up.url + "/v1"}, listen="[::1]:0").start()
    response = daemon.ask(b"POST", b"/up/x", body=b"a")
    assert response.body == b"six"
    assert up.request.get(b"host") == b"[::1]:%d" % up.port
    assert up.request.target == b"/v1/x"
    try:
        Client(daemon.port).close()
    except (ConnectionRefusedError, socket.timeout):
        pass
    else:
        raise AssertionError("listens on IPv4 too")


def test_a_dual_stack_name(new_daemon, new_upstream):
    """Goal: `localhost` with a server on 127.0.0.1 alone works."""
    up = new_upstream()
    up.answers(reply(b"ok"))
    daemon = new_daemon(
        {"up": up.url.replace("127.0.0.1", "localhost")}).start()
    assert daemon.ask(b"POST", b"/up/x", body=b"a").body == b"ok"
    assert up.request.get(b"host") == b"localhost:%d" % up.port


def test_many_client_connections(daemon, up):
    """Goal: 400 idle connections are held, and one more is served."""
    up.answers(reply(b"ok"))
    clients = [daemon.client() for _ in range(400)]
    for client in clients[::10]:
        assert client.ask(b"POST", b"/up/x", body=b"a").body == b"ok"
    assert daemon.ask(b"POST", b"/up/x", body=b"a").body == b"ok"
    for client in clients:
        client.close()
