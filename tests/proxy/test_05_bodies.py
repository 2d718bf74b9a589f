# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the turnmeter authors
"""Bodies up and down, in every framing and size."""
import gzip
import hashlib
import threading

import pytest

from daemon import IS_SANITIZED
from upstream import OK, reply
from wire import chunked, noise

MIB = 1 << 20


@pytest.mark.parametrize("n", [0, 1, 2, 1023, 65_535, 65_536, 65_537,
                               1_000_003])
@pytest.mark.parametrize("up_chunked", [False, True])
@pytest.mark.parametrize("down_chunked", [False, True])
def test_echo(daemon, up, n, up_chunked, down_chunked):
    """Goal: any size comes back as it went, in all four framings, twice
    on one connection."""
    def echo(request):
        if not down_chunked:
            return reply(request.body)
        return (OK + b"Transfer-Encoding: chunked\r\n\r\n"
                + chunked(request.body, (7, 16_384)))

    up.answers(echo)
    body = noise(n)
    with daemon.client() as client:
        for _ in range(2):
            if up_chunked:
                client.request(b"POST", b"/up/x",
                               [(b"Transfer-Encoding", b"chunked")])
                client.send(chunked(body, (1, 4096, 65_536)))
            else:
                client.request(b"POST", b"/up/x", body=body)
            assert client.response().body == body
    for request in up.requests:
        assert request.body == body
        framing = (request.all(b"content-length"),
                   request.all(b"transfer-encoding"))
        assert framing in (([b"%d" % n], []), ([], [b"chunked"]))
        if not up_chunked:
            assert framing[0] == [b"%d" % n]
    for turn in daemon.final_turns():
        assert turn["request_bytes"] == n
        assert turn["response_bytes"] == n


def test_a_response_until_the_close(daemon, up):
    """Goal: HTTP/1.0 style bodies, ended by the upstream's close, are
    whole and end properly for the client."""
    def script(connection):
        connection.take()
        connection.send(OK + b"\r\n" + b"part one, ")
        connection.send(b"part two")

    up.script(script)
    with daemon.client() as client:
        for _ in range(2):
            response = client.ask(b"POST", b"/up/x", body=b"a")
            assert response.body == b"part one, part two"
            assert response.is_chunked or response.get(b"content-length")
    assert daemon.final_turns()[0]["outcome"] == "ok"


def test_an_http_1_0_upstream(daemon, up):
    """Goal: an old server's answer passes."""
    def script(connection):
        connection.take()
        connection.send(b"HTTP/1.0 200 OK\r\nX-A: 1\r\n\r\nold")

    up.script(script)
    response = daemon.ask(b"POST", b"/up/x", body=b"a")
    assert response.body == b"old"
    assert response.get(b"x-a") == b"1"


def test_an_http_1_0_client(daemon, up):
    """Goal: an old client gets a body it can delimit: no chunks."""
    def script(connection):
        connection.take()
        connection.stream([b"one ", b"two"])
        connection.end_chunks()

    up.script(script)
    with daemon.client() as client:
        client.send(b"POST /up/x HTTP/1.0\r\nHost: 127.0.0.1:%d\r\n"
                    b"Content-Length: 1\r\n\r\na" % daemon.port)
        response = client.response()
        assert not response.is_chunked
        assert response.body == b"one two"


def test_a_compressed_body_is_not_touched(daemon, up):
    """Goal: gzip stays gzip, with its headers, both ways."""
    packed = gzip.compress(b'{"a": "' + b"x" * 1000 + b'"}')
    up.answers(reply(packed, headers=[b"Content-Encoding: gzip",
                                      b"Content-Type: application/json"]))
    response = daemon.ask(b"POST", b"/up/x", [
        (b"Content-Encoding", b"gzip"),
        (b"Accept-Encoding", b"gzip, deflate, br, zstd")], packed)
    assert response.body == packed
    assert response.get(b"content-encoding") == b"gzip"
    assert response.get(b"content-length") == b"%d" % len(packed)
    assert up.request.body == packed
    assert up.request.get(b"accept-encoding") == b"gzip, deflate, br, zstd"


def test_a_lie_about_the_encoding(daemon, up):
    """Goal: a body that is not what its headers say passes all the same;
    only the meter is at a loss."""
    up.answers(reply(b"not gzip at all", headers=[
        b"Content-Encoding: gzip", b"Content-Type: application/json"]))
    response = daemon.ask(b"POST", b"/up/v1/chat/completions",
                          [(b"Content-Encoding", b"zstd")], b"not zstd")
    assert response.body == b"not gzip at all"
    assert up.request.body == b"not zstd"
    turn = daemon.final_turn()
    assert turn["status"] == 200
    assert turn["input_tokens"] is None


@pytest.mark.parametrize("framing", ["length", "chunked"])
def test_64_mib_up(daemon, up, framing):
    """Goal: a big upload passes in small memory, whole."""
    def script(connection):
        request = connection.head()
        connection.take_body(request, keep=False)
        connection.whole(request)
        connection.send(reply(b"ok"))

    up.script(script)
    daemon.ask(b"HEAD", b"/")
    before = daemon.peak_kib()
    block = noise(MIB)
    with daemon.client() as client:
        if framing == "length":
            client.request(b"POST", b"/up/x",
                           [(b"Content-Length", b"%d" % (64 * MIB))])
        else:
            client.request(b"POST", b"/up/x",
                           [(b"Transfer-Encoding", b"chunked")])
        for _ in range(64):
            client.send(block if framing == "length" else
                        b"100000\r\n" + block + b"\r\n")
        if framing == "chunked":
            client.send(b"0\r\n\r\n")
        assert client.response().body == b"ok"
    grown = daemon.peak_kib() - before
    assert up.request.n_body == 64 * MIB
    assert up.request.digest == hashlib.sha256(block * 64).hexdigest()
    assert grown < 8 * 1024 or IS_SANITIZED, "%d KiB" % grown
    assert daemon.final_turn()["request_bytes"] == 64 * MIB


@pytest.mark.parametrize("framing", ["length", "chunked"])
def test_200_mb_down(daemon, up, framing):
    """Goal: a big answer passes in small memory, whole."""
    block = noise(1_000_000)

    def script(connection):
        connection.take()
        if framing == "length":
            connection.send(OK + b"Content-Length: 200000000\r\n\r\n")
        else:
            connection.stream(content_type=b"application/octet-stream")
        for _ in range(200):
            if framing == "length":
                connection.send(block)
            else:
                connection.chunk(block)
        if framing == "chunked":
            connection.end_chunks()

    up.script(script)
    daemon.ask(b"HEAD", b"/")
    before = daemon.peak_kib()
    with daemon.client() as client:
        client.request(b"POST", b"/up/x", body=b"a")
        response = client.response(keep=False)
    grown = daemon.peak_kib() - before
    assert response.n_body == 200_000_000
    assert response.digest == hashlib.sha256(block * 200).hexdigest()
    assert grown < 8 * 1024 or IS_SANITIZED, "%d KiB" % grown
    assert daemon.final_turn()["response_bytes"] == 200_000_000


def test_a_big_json_request_is_scanned_in_small_memory(daemon, up):
    """Goal: 30 MB of messages cost no second copy, and are counted."""
    n = 30_000
    text = "x" * 1000
    body = ('{"model":"m","messages":[' + ",".join(
        '{"role":"user","content":"%s"}' % text for _ in range(n))
        + '],"stream":false}').encode()

    def script(connection):
        request = connection.head()
        connection.take_body(request, keep=False)
        connection.send(reply(b"{}"))

    up.script(script)
    daemon.ask(b"HEAD", b"/")
    before = daemon.peak_kib()
    assert daemon.ask(b"POST", b"/up/v1/chat/completions",
                      body=body).status == 200
    grown = daemon.peak_kib() - before
    assert grown < 8 * 1024 or IS_SANITIZED, "%d KiB" % grown
    turn = daemon.final_turn()
    assert turn["n_messages"] == n
    assert turn["request_bytes"] == len(body)


def test_expect_is_forwarded_and_answered(daemon, up):
    """Goal: the upstream's 100 releases the client's body; no stall."""
    held = threading.Event()

    def script(connection):
        request = connection.head()
        held.wait(15)
        connection.send(b"HTTP/1.1 100 Continue\r\n\r\n")
        connection.take_body(request)
        connection.send(reply(b"ok"))

    up.script(script)
    body = noise(2 * MIB)
    with daemon.client() as client:
        client.request(b"POST", b"/up/x", [
            (b"Content-Length", b"%d" % len(body)),
            (b"Expect", b"100-continue")])
        request, = up.wait_requests()
        assert request.get(b"expect", b"").lower() == b"100-continue"
        held.set()
        assert client.head().status == 100
        client.send(body)
        response = client.response()
        assert (response.status, response.body) == (200, b"ok")
    assert request.body == body
    assert daemon.final_turn()["status"] == 200


def test_expect_refused(daemon, up):
    """Goal: an early final answer goes out without a 100."""
    def script(connection):
        connection.head()
        connection.send(reply(b"too big", b"413 Payload Too Large"))
        connection.wait_closed()

    up.script(script)
    with daemon.client() as client:
        client.request(b"POST", b"/up/x", [
            (b"Content-Length", b"2097152"), (b"Expect", b"100-continue")])
        response = client.head()
        assert response.status == 413, "no 100 first"
        assert response.error is None
        assert client.take_body(response).body == b"too big"
    turn = daemon.final_turn()
    assert (turn["status"], turn["outcome"]) == (413, "http_error")


def test_expect_ignored_by_the_upstream(daemon, up):
    """Goal: an upstream that knows no Expect gets the body after a
    second."""
    up.answers(reply(b"ok"))
    with daemon.client() as client:
        client.request(b"POST", b"/up/x", [
            (b"Content-Length", b"5"), (b"Expect", b"100-continue")])
        assert client.head().status == 100
        client.send(b"hello")
        assert client.response().body == b"ok"
    assert up.request.body == b"hello"


def test_expect_with_the_body_behind_it(daemon, up):
    """Goal: a client that does not wait is served as well."""
    up.answers(reply(b"ok"))
    with daemon.client() as client:
        client.request(b"POST", b"/up/x", [(b"Expect", b"100-continue")],
                       b"hello")
        assert client.response().body == b"ok"
    assert up.request.body == b"hello"


def test_an_early_answer(daemon, up):
    """Goal: an upstream that answers and ends its half before the upload
    is over: the client gets that answer."""
    def script(connection):
        connection.head()
        connection.exactly(65_536)
        connection.send(reply(b"no", b"429 Too Many Requests",
                              [b"Retry-After: 1", b"Connection: close"]))
        connection.shutdown()
        connection.wait_closed()

    up.script(script)
    with daemon.client() as client:
        client.request(b"POST", b"/up/x", body=noise(8 * MIB))
        response = client.response()
        assert (response.status, response.body) == (429, b"no")
        assert response.get(b"retry-after") == b"1"
    turn = daemon.final_turn()
    assert (turn["status"], turn["outcome"]) == (429, "rate_limited")


def test_an_early_answer_and_a_hard_close(daemon, up):
    """Goal: the same with a reset behind it ends soon, with that answer or
    with an error of ours, and the daemon is well."""
    def script(connection):
        connection.head()
        connection.exactly(65_536)
        connection.send(reply(b"no", b"401 Unauthorized"))

    up.script(script)
    with daemon.client() as client:
        client.request(b"POST", b"/up/x", body=noise(8 * MIB))
        response = client.response()
        assert response.status == 401 or (
            response.status == 502 and response.error)
    assert daemon.health()


def test_max_body(new_daemon, up):
    """Goal: where the user sets a limit, more is 413, chunked too."""
    daemon = new_daemon({"up": up.url}, 'max_body = "1MiB"').start()
    assert daemon.ask(b"POST", b"/up/x", body=b"a" * MIB).status == 200
    with daemon.client() as client:
        client.request(b"POST", b"/up/x",
                       [(b"Content-Length", b"%d" % (2 * MIB))])
        try:
            client.send(b"a" * (2 * MIB))
        except OSError:
            pass
        response = client.response()
        assert response.status == 413
        assert response.error
    assert len(up.wait_requests()) == 1
