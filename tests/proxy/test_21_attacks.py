# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the turnmeter authors
"""Hostile peers on every side, and what they once broke."""
import json
import os
import resource
import socket
import threading
import time

import pytest

from upstream import answer, reply
from wire import TIMEOUT, Broken, chunked, until

POST = b"POST /up/x HTTP/1.1\r\nHost: 127.0.0.1\r\n"


def test_a_looked_up_name_leaves_no_stale_socket(new_daemon, up):
    """Goal: the descriptor of a resolver's wake-up socket, used again for
    the next connection, is watched; it once stalled until the connect
    timeout."""
    up.answers(reply(b"ok"))
    daemon = new_daemon({"up": up.url, "nowhere": {
        "url": "http://nowhere.invalid", "connect_timeout": "60s"}}).start()
    with daemon.client() as client:
        assert client.ask(b"GET", b"/nowhere/x").status == 502
        begin = time.monotonic()
        assert client.ask(b"GET", b"/up/x").body == b"ok"
        assert time.monotonic() - begin < 5


def test_a_query_of_5000_keys(daemon, up):
    """Goal: libmicrohttpd closes without a word, neither to the client nor
    to us; what we keep for the request is freed (a sanitised build tells)."""
    up.answers(reply(b"ok"))
    with daemon.client() as client:
        client.send(b"POST /up/x?" + b"a&" * 5000 + b" HTTP/1.1\r\n"
                    b"Host: 127.0.0.1\r\nContent-Length: 0\r\n\r\n")
        assert client.wait_closed(5) in ("fin", "rst")
    assert daemon.ask(b"POST", b"/up/x", body=b"a").body == b"ok"
    assert daemon.health()["exchanges"]["in_flight"] == 0


def cpu_share(daemon, seconds=0.5):
    """Of a processor, while nothing should go on."""
    before = daemon.cpu_s()
    time.sleep(seconds)
    return (daemon.cpu_s() - before) / seconds


@pytest.mark.parametrize("tail", [b"5;" + b"a" * 60000, b"0" * 60000],
                         ids=["extension", "size"])
def test_an_endless_chunk_head_is_no_busy_loop(daemon, up, tail):
    """Goal: what libmicrohttpd cannot hold, and so neither reads nor
    refuses, costs no processor time; others are served meanwhile."""
    up.answers(reply(b"ok"))
    with daemon.client() as client:
        client.send(POST + b"Transfer-Encoding: chunked\r\n\r\n" + tail)
        until(lambda: daemon.health()["exchanges"]["in_flight"] == 1, "in")
        assert cpu_share(daemon) < 0.2
        assert daemon.ask(b"POST", b"/up/x", body=b"a").body == b"ok"
    until(lambda: daemon.health()["exchanges"]["in_flight"] == 0, "out")


def test_no_descriptors_left_is_no_busy_loop(daemon, up):
    """Goal: more clients than descriptors wait without a cost, those there
    are served, and all is well when some have left."""
    up.answers(reply(b"ok"))
    first = daemon.client()
    assert first.ask(b"POST", b"/up/x", body=b"a").body == b"ok"
    resource.prlimit(daemon.pid, resource.RLIMIT_NOFILE, (120, 120))
    crowd = [daemon.client() for _ in range(120)]
    assert cpu_share(daemon) < 0.2
    assert first.ask(b"POST", b"/up/x", body=b"a").body == b"ok"
    for client in crowd[:110]:
        client.close()
    assert crowd[-1].ask(b"POST", b"/up/x", body=b"a").body == b"ok"
    for client in [first] + crowd[110:]:
        client.close()


@pytest.mark.parametrize("stale", [
    reply(b"stale", b"408 Request Timeout"), b"hello", b"x"],
    ids=["answer", "body", "byte"])
def test_bytes_on_an_idle_connection_answer_nobody(new_daemon, up, stale):
    """Goal: what an upstream sends unasked, such as a 408 when it is tired
    of waiting, is not taken for the answer to the next request, and so its
    answer not for that of somebody else's."""
    tired, closed = threading.Event(), threading.Event()

    def script(connection):
        connection.take()
        connection.send(reply(b"one"))
        assert tired.wait(TIMEOUT)
        connection.send(stale)
        while connection.take() is not None:
            connection.send(reply(b"late"))
        closed.set()

    up.script(script, answer(reply(b"fresh")))
    daemon = new_daemon({"up": up.url}, 'pool_idle = "60s"').start()
    assert daemon.ask(b"POST", b"/up/x", body=b"a").body == b"one"
    tired.set()
    assert closed.wait(5), "the connection is not used again"
    assert daemon.ask(b"POST", b"/up/x", body=b"b").body == b"fresh"
    assert daemon.ask(b"POST", b"/up/x", body=b"c").body == b"fresh"


def test_a_flood_of_trailers_ends(daemon, up):
    """Goal: an upstream whose trailers never end is cut off; nothing of it
    is kept, and the client does not take the answer for whole."""
    def script(connection):
        connection.take()
        connection.stream([b"hello"])
        connection.send(b"0\r\n")
        try:
            for _ in range(256):
                connection.send(b"X-T: 1\r\n" * 2000)
        except OSError:
            cut.set()

    cut = threading.Event()
    up.script(script)
    with daemon.client() as client:
        client.request(b"POST", b"/up/x", body=b"a")
        with pytest.raises(Broken):
            client.response()
    assert cut.wait(5)


def test_trailers_frame_nothing(daemon, up):
    """Goal: trailers pass both ways, less what would frame or route a
    message, or is no name."""
    bad = [(b"Content-Length", b"3"), (b"Transfer-Encoding", b"gzip"),
           (b"Host", b"evil"), (b"Connection", b"x"), (b"X A", b"1")]
    good = [(b"X-T", b"1"), (b"x-t", b"2")]

    def script(connection):
        connection.take()
        connection.stream([b"hello"])
        connection.end_chunks(b"".join(
            b"%s: %s\r\n" % pair for pair in bad + good))

    up.script(script)
    with daemon.client() as client:
        client.send(POST + b"Transfer-Encoding: chunked\r\n\r\n"
                    + chunked(b"abc", trailers=bad + good))
        response = client.response()
    assert response.body == b"hello"
    assert response.trailers == good
    assert up.request.body == b"abc"
    assert up.request.trailers == good


@pytest.mark.parametrize("behind", [b"hello", b""])
def test_an_unasked_101(daemon, up, behind):
    """Goal: nobody switches protocols, and nobody waits for it."""
    def script(connection):
        connection.take()
        connection.send(b"HTTP/1.1 101 Switching Protocols\r\n"
                        b"Upgrade: x\r\nConnection: upgrade\r\n\r\n"
                        + behind)
        connection.wait_closed()

    up.script(script)
    with daemon.client() as client:
        client.sock.settimeout(5)
        assert client.ask(b"POST", b"/up/x", body=b"a").status == 502
    turn = daemon.final_turn()
    assert (turn["outcome"], turn["status"]) == ("upstream_reset", None)


@pytest.mark.parametrize("blank", [b" ", b"\t", b" \t "])
def test_a_blank_before_the_colon_frames_nothing(daemon, up, blank):
    """Goal: a framing header in disguise does not reach the client beside
    the true one."""
    def script(connection):
        connection.take()
        connection.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding" + blank
                        + b": chunked\r\nContent-Length" + blank
                        + b": 3\r\nConnection: close\r\n\r\nhello")

    up.script(script)
    with daemon.client() as client:
        client.request(b"POST", b"/up/x", body=b"a")
        head = client.head()
        names = [name.strip().lower() for name, _ in head.headers]
        assert names.count(b"transfer-encoding") \
            + names.count(b"content-length") == 1
        assert client.take_body(head).body == b"hello"


def test_no_idle_connection_at_all(new_daemon, up):
    """Goal: `pool_idle = "0s"` means that none is used again."""
    daemon = new_daemon({"up": up.url}, 'pool_idle = "0s"').start()
    with daemon.client() as client:
        for _ in range(3):
            assert client.ask(b"POST", b"/up/x", body=b"a").status == 200
    assert len(up.connections) == 3


def test_an_abandoned_connect_leaves_no_stale_socket(new_daemon, up):
    """Goal: libcurl closes a socket that is still connecting without a
    word; its number, used again, is watched for whom it then belongs to."""
    up.answers(reply(b"ok"))
    full = socket.socket()
    full.bind(("127.0.0.1", 0))
    full.listen(0)
    fillers = [socket.socket() for _ in range(4)]
    for filler in fillers:  # the accept queue is full: SYNs get nothing
        filler.setblocking(False)
        filler.connect_ex(full.getsockname())
    daemon = new_daemon({"up": up.url, "full": {
        "url": "http://127.0.0.1:%d" % full.getsockname()[1],
        "connect_timeout": "60s"}}).start()

    def in_flight():
        response = keeper.ask(b"GET", b"/_turnmeter/health")
        return json.loads(response.body)["exchanges"]["in_flight"]

    with daemon.client() as keeper:
        in_flight()
        with daemon.client() as leaver:
            leaver.request(b"POST", b"/full/x", body=b"a")
            until(lambda: in_flight() == 1, "in")
        until(lambda: in_flight() == 0, "out")
        with daemon.client() as other:  # takes the number of `leaver`
            other.ask(b"GET", b"/_turnmeter/health")
            assert keeper.ask(b"POST", b"/up/x", body=b"a").body == b"ok"
    for sock in fillers + [full]:
        sock.close()


def test_the_port_file_follows_no_link(daemon):
    """Goal: a link that somebody laid where the port is written aside, in
    a folder that many may write, costs its target nothing."""
    victim = os.path.join(daemon.folder, "victim")
    with open(victim, "w", encoding="ascii") as file:
        file.write("precious")
    daemon.stop()
    os.symlink(victim, daemon.port_file + ".new")
    daemon.start()
    with open(victim, encoding="ascii") as file:
        assert file.read() == "precious"
    assert daemon.health()
