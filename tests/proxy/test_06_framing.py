# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the turnmeter authors
"""Answers without bodies, interim answers, trailers, pipelines."""
import pytest

from upstream import OK, answer, reply
from wire import Broken


def pipelined(daemon, first, n=2):
    """Sends `first` n times and a GET in one write; gives the heads and
    bodies that come back. An early close after a proper response is fine
    (the client would ask again); a stray byte is not."""
    with daemon.client() as client:
        host = b"Host: 127.0.0.1:%d\r\n\r\n" % daemon.port
        client.send((first + b" /up/x HTTP/1.1\r\n" + host) * n
                    + b"GET /up/last HTTP/1.1\r\n" + host)
        responses = []
        for i in range(n + 1):
            try:
                response = client.head()
            except Broken as broken:
                assert i > 0 and broken.got == b"", broken.got
                assert responses[-1].get(b"connection", b"").lower() \
                    == b"close", responses[-1].raw
                return responses
            assert response.start.startswith(b"HTTP/1.1 "), response.raw
            if i == n:
                client.take_body(response, to_end=True)
            responses.append(response)
        assert responses[-1].body == b"last"
        return responses


@pytest.mark.parametrize("method, status, extra", [
    (b"HEAD", b"200 OK", b"Content-Length: 10\r\n"),
    (b"HEAD", b"200 OK", b"Content-Length: 0\r\n"),
    (b"HEAD", b"200 OK", b"Transfer-Encoding: chunked\r\n"),
    (b"HEAD", b"200 OK", b""),
    (b"HEAD", b"404 Not Found", b"Content-Length: 10\r\n"),
    (b"HEAD", b"304 Not Modified", b""),
    (b"GET", b"304 Not Modified", b""),
    (b"GET", b"304 Not Modified", b"Content-Length: 10\r\n"),
    (b"GET", b"204 No Content", b""),
    (b"DELETE", b"204 No Content", b""),
])
def test_no_body_on_a_kept_connection(daemon, up, method, status, extra):
    """Goal: no stray byte follows an answer that has no body, so that the
    next pipelined answer is read properly."""
    def respond(request):
        if request.target == b"/last":
            return reply(b"last")
        return (b"HTTP/1.1 " + status + b"\r\nX-A: 1\r\n" + extra + b"\r\n")

    up.script(answer(respond))
    responses = pipelined(daemon, method)
    for response in responses:
        if response.body == b"last":
            continue
        assert response.status == int(status[:3])
        assert response.get(b"x-a") == b"1"
        if status.startswith(b"204"):
            assert response.all(b"content-length") == []
        if extra.startswith(b"Content-Length"):
            assert response.all(b"content-length") == [
                extra.split(b": ")[1].strip()]
            assert response.all(b"transfer-encoding") == []


@pytest.mark.parametrize("extra", [b"Content-Length: 10\r\n",
                                   b"Content-Length: 0\r\n"])
def test_head_keeps_the_connection(daemon, up, extra):
    """Goal: with a length there is no reason to close: all of a pipeline
    is answered."""
    def respond(request):
        if request.target == b"/last":
            return reply(b"last")
        return OK + extra + b"\r\n"

    up.script(answer(respond))
    assert len(pipelined(daemon, b"HEAD", 3)) == 4


def test_pipelined_posts(daemon, up):
    """Goal: requests sent in one write are answered in order."""
    up.answers(lambda request: reply(b"re:" + request.body))
    with daemon.client() as client:
        parts = [b"POST /up/x HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n"
                 b"Content-Length: 2\r\n\r\nb%d" % (daemon.port, i)
                 for i in range(5)]
        client.send(b"".join(parts))
        for i in range(5):
            assert client.response().body == b"re:b%d" % i


@pytest.mark.parametrize("interim", [
    b"HTTP/1.1 100 Continue\r\n\r\n",
    b"HTTP/1.1 102 Processing\r\n\r\n",
    b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\nX-Hint: 1\r\n\r\n",
    b"HTTP/1.1 103 Early Hints\r\nX-A: wrong\r\n\r\n"
    b"HTTP/1.1 102 Processing\r\n\r\n",
])
def test_interim_answers_are_consumed(daemon, up, interim):
    """Goal: 1xx never is the turn's status, nor do its headers mix with
    the final ones."""
    up.answers(interim + reply(b"ok", headers=[b"X-A: right"]))
    with daemon.client() as client:
        for _ in range(2):
            client.request(b"POST", b"/up/x", body=b"a")
            response = client.head()
            assert response.status == 200
            assert response.without() == [(b"X-A", b"right")]
            assert client.take_body(response).body == b"ok"
    assert [t["status"] for t in daemon.final_turns()] == [200, 200]


def test_response_trailers(daemon, up):
    """Goal: trailers reach the client, in order, and the connection goes
    on."""
    def script(connection):
        while connection.take() is not None:
            connection.stream([b"one", b"two"],
                              headers=b"Trailer: X-Sum, X-Time\r\n")
            connection.end_chunks(b"X-Sum: abc\r\nX-Time: 12\r\n")

    up.script(script)
    with daemon.client() as client:
        for _ in range(2):
            response = client.ask(b"POST", b"/up/x", body=b"a")
            assert response.body == b"onetwo"
            assert response.trailers == [(b"X-Sum", b"abc"),
                                         (b"X-Time", b"12")]


def test_request_trailers(daemon, up):
    """Goal: trailers reach the upstream."""
    up.answers(reply(b"ok"))
    with daemon.client() as client:
        for _ in range(2):
            client.request(b"POST", b"/up/x", [
                (b"Transfer-Encoding", b"chunked"),
                (b"Trailer", b"X-Sum")])
            client.send(b"3\r\nabc\r\n0\r\nX-Sum: abc\r\nX-B: 2\r\n\r\n")
            assert client.response().body == b"ok"
    for request in up.requests:
        assert request.body == b"abc"
        assert request.trailers == [(b"X-Sum", b"abc"), (b"X-B", b"2")]


def test_chunk_extensions(daemon, up):
    """Goal: extensions are of one hop; the payload is not touched."""
    up.answers(OK + b"Transfer-Encoding: chunked\r\n\r\n"
               b"3;name=value\r\nabc\r\n2 ; x\r\nde\r\n0;last\r\n\r\n")
    with daemon.client() as client:
        client.request(b"POST", b"/up/x",
                       [(b"Transfer-Encoding", b"chunked")])
        client.send(b"3;a=b\r\nxyz\r\n0\r\n\r\n")
        assert client.response().body == b"abcde"
    assert up.request.body == b"xyz"


def test_te_in_any_case(daemon, up):
    """Goal: `Chunked` is chunked, both ways."""
    up.answers(OK + b"transfer-encoding: Chunked\r\n\r\n"
               b"2\r\nok\r\n0\r\n\r\n")
    with daemon.client() as client:
        client.request(b"POST", b"/up/x",
                       [(b"transfer-encoding", b"CHUNKED")])
        client.send(b"2\r\nhi\r\n0\r\n\r\n")
        assert client.response().body == b"ok"
    assert up.request.body == b"hi"


def test_an_answer_longer_than_its_length(daemon, up):
    """Goal: bytes beyond Content-Length never reach the client and spoil
    no later exchange."""
    def script(connection):
        connection.take()
        connection.send(reply(b"ok") + b"HTTP/1.1 200 OK\r\nX: smuggled\r\n"
                        b"Content-Length: 4\r\n\r\nevil")
        connection.wait_closed()

    up.script(script)
    with daemon.client() as client:
        for _ in range(3):
            response = client.ask(b"POST", b"/up/x", body=b"a")
            assert response.body == b"ok", "the second answer is its own"


@pytest.mark.parametrize("answer_bytes", [
    b"garbage\r\n\r\n",
    b"HTTP/1.1 abc OK\r\n\r\n",
    b"\x00\x01\x02\x03",
    OK + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\nabc",
    OK + b"Content-Length: x\r\n\r\nab",
    OK + b"Transfer-Encoding: chunked\r\n\r\nzz\r\nabc",
    OK + b"Transfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFF\r\nabc",
])
def test_a_nonsense_answer(daemon, up, answer_bytes):
    """Goal: nonsense from the upstream is our 502 or a broken transfer,
    never a clean answer, and the daemon is well."""
    def script(connection):
        connection.take()
        connection.send(answer_bytes)

    up.script(script)
    try:
        response = daemon.ask(b"POST", b"/up/x", body=b"a")
        assert response.error and response.status == 502, response.raw
    except Broken:
        pass
    assert daemon.health()
    assert daemon.final_turn()["outcome"] != "ok"
