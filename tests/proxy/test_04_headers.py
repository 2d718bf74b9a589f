# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the turnmeter authors
"""Headers pass both ways as they are, less what belongs to one hop."""
import pytest

from upstream import OK, answer, reply

ODD = [
    (b"Authorization", b"Bearer sk-test"),
    (b"X-MiXed-CaSe", b"Yes"),
    (b"x-lower", b"a  b\tc"),
    (b"Cookie", b"a=1"),
    (b"Cookie", b"b=2"),
    (b"X-Repeat", b"first"),
    (b"X-Other", b"between"),
    (b"x-repeat", b"second"),
    (b"X-Empty", b""),
    (b"X-Colons", b"a:b: c::"),
    (b"X-Quotes", b'"\\"; , ='),
    (b"X-Latin", b"caf\xe9 \xff"),
    (b"X-Utf8", "日本".encode()),
    (b"!#$%&'*+-.^_`|~0aZ", b"every tchar"),
    (b"Accept-Encoding", b"gzip, br;q=0.5, zstd"),
    (b"Content-Encoding", b"identity"),
    (b"Range", b"bytes=0-1"),
    (b"If-None-Match", b'"x"'),
    (b"Via", b"1.0 someone"),
    (b"Forwarded", b"for=1.2.3.4"),
    (b"X-Forwarded-For", b"1.2.3.4"),
    (b"Referer", b"http://a/"),
    (b"x-base-url", b"http://169.254.169.254/"),
]


@pytest.mark.parametrize("method, body", [
    (b"POST", b"{}"), (b"POST", b""), (b"GET", None), (b"PUT", b"x"),
    (b"DELETE", None)])
def test_request_headers(daemon, up, method, body):
    """Goal: names, case, order, values, repeats and empty values reach
    the upstream, and nothing of our own comes along."""
    daemon.ask(method, b"/up/v1/x", ODD, body)
    request = up.request
    got = request.without()
    assert [p for p in got if p[0].lower() != b"host"] == ODD
    assert request.all(b"host") == [b"127.0.0.1:%d" % up.port]


def test_nothing_is_added(daemon, up):
    """Goal: a bare request stays bare: no User-Agent, Accept,
    Content-Type, Expect, Accept-Encoding, Via."""
    with daemon.client() as client:
        client.ask(b"POST", b"/up/v1/x", body=b"a")
        client.ask(b"POST", b"/up/v1/x", body=b"a" * 3_000_000)
        client.ask(b"GET", b"/up/v1/x")
        client.send(b"POST /up/v1/x HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n"
                    b"Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n"
                    % daemon.port)
        client.response()
    for request in up.requests:
        names = [n.lower() for n, _ in request.headers]
        assert set(names) <= {b"host", b"content-length",
                              b"transfer-encoding"}, request.raw
        assert len(names) == len(set(names))


def test_hop_by_hop_request_headers(daemon, up):
    """Goal: what concerns this connection stays on it, what Connection
    names included, in any case and over several lines."""
    with daemon.client() as client:
        client.ask(b"POST", b"/up/v1/x", [
            (b"Connection", b"X-Tmp, keep-alive"),
            (b"X-Tmp", b"1"),
            (b"X-Keep", b"1"),
            (b"Connection", b"x-TMP2"),
            (b"X-tmp2", b"2"),
            (b"Keep-Alive", b"timeout=5"),
            (b"TE", b"trailers"),
            (b"Proxy-Authorization", b"Basic eA=="),
            (b"Proxy-Connection", b"keep-alive"),
        ], b"abc")
    names = {n.lower() for n, _ in up.request.headers}
    assert names <= {b"host", b"x-keep", b"content-length"}, up.request.raw
    assert up.request.get(b"x-keep") == b"1"


def test_connection_cannot_name_end_to_end_framing(daemon, up):
    """Goal: `Connection: content-length, host` breaks nothing."""
    daemon.ask(b"POST", b"/up/v1/x",
               [(b"Connection", b"content-length, host")], b"abc")
    assert up.request.all(b"content-length") == [b"3"]
    assert up.request.all(b"host") == [b"127.0.0.1:%d" % up.port]
    assert up.request.body == b"abc"


def test_one_content_length(daemon, up):
    """Goal: exactly one, with the client's value."""
    daemon.ask(b"POST", b"/up/v1/x", body=b"x" * 17)
    assert up.request.all(b"content-length") == [b"17"]
    assert up.request.all(b"transfer-encoding") == []


RESPONSE = [
    (b"Date", b"Mon, 01 Jan 2024 00:00:00 GMT"),
    (b"Server", b"odd/1.0"),
    (b"request-id", b"req_1"),
    (b"x-accel-buffering", b"no"),
    (b"anthropic-ratelimit-requests-limit", b"50"),
    (b"Set-Cookie", b"a=1; Path=/"),
    (b"X-Odd-CASE", b"V"),
    (b"set-cookie", b"b=2, c"),
    (b"X-Spaces", b"a  b   c"),
    (b"Content-Type", b"application/json; charset=utf-8"),
    (b"X-Repeat", b"1"),
    (b"x-repeat", b"2"),
    (b"ETag", b'W/"x"'),
    (b"X-Latin", b"caf\xe9"),
    (b"Vary", b"*"),
    (b"Alt-Svc", b'h3=":443"'),
    (b"Strict-Transport-Security", b"max-age=1"),
    (b"Cf-Ray", b"x"),
    (b"Location", b"/elsewhere"),
    (b"Last", b"1"),
]


@pytest.mark.parametrize("chunked", [False, True])
def test_response_headers(daemon, up, chunked):
    """Goal: all of them, same values, same order, same case; one Date, one
    Server."""
    lines = b"".join(b"%s: %s\r\n" % pair for pair in RESPONSE)
    body = (b"Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"
            if chunked else b"Content-Length: 2\r\n\r\nok")
    up.answers(OK + lines + body)
    response = daemon.ask(b"POST", b"/up/v1/x", body=b"")
    assert response.body == b"ok"
    assert response.without() == RESPONSE


def test_no_date_or_server_is_added(daemon, up):
    """Goal: an upstream without a clock stays so."""
    up.answers(reply(b"ok"))
    response = daemon.ask(b"POST", b"/up/v1/x", body=b"")
    assert response.without() == []


def test_a_tab_in_a_response_value(daemon, up):
    """Goal: a tab, which libmicrohttpd refuses, arrives as it is or as one
    space; the header is not lost."""
    up.answers(reply(b"ok", headers=[b"X-Tab: a\tb", b"X-B: 2"]))
    response = daemon.ask(b"POST", b"/up/v1/x", body=b"")
    assert response.without() in ([(b"X-Tab", b"a\tb"), (b"X-B", b"2")],
                                  [(b"X-Tab", b"a b"), (b"X-B", b"2")])


def test_empty_response_value(daemon, up):
    """Goal: an empty value survives (as one space, which is one)."""
    up.answers(reply(b"ok", headers=[b"X-A: 1", b"X-Empty:", b"X-B: 2"]))
    response = daemon.ask(b"POST", b"/up/v1/x", body=b"")
    assert response.without() == [(b"X-A", b"1"), (b"X-Empty", b""),
                                  (b"X-B", b"2")]


def test_hop_by_hop_response_headers(daemon, up):
    """Goal: the same filter on the way back, and the client's connection
    lives on."""
    up.answers(reply(b"ok", headers=[
        b"Connection: X-Hop, keep-alive", b"X-Hop: secret", b"X-Keep: 1",
        b"Keep-Alive: timeout=5", b"Proxy-Authenticate: Basic",
        b"Upgrade: h2c"]))
    with daemon.client() as client:
        for _ in range(2):
            response = client.ask(b"POST", b"/up/v1/x", body=b"")
            names = {n.lower() for n, _ in response.headers}
            assert names <= {b"x-keep", b"content-length", b"connection",
                             b"keep-alive"}, response.raw
            assert response.get(b"x-keep") == b"1"
            assert b"timeout=5" not in response.raw


def test_upstream_close_does_not_close_the_client(daemon, up):
    """Goal: `Connection: close` of the upstream is its own affair."""
    def once(connection):
        connection.take()
        connection.send(reply(b"ok", headers=[b"Connection: close"]))

    up.script(once)
    with daemon.client() as client:
        for _ in range(3):
            assert client.ask(b"POST", b"/up/x", body=b"").body == b"ok"


def test_client_close_is_honoured(daemon, up):
    """Goal: a client that says close gets its answer and the end."""
    up.answers(reply(b"ok"))
    with daemon.client() as client:
        response = client.ask(b"POST", b"/up/x",
                              [(b"Connection", b"close")], b"")
        assert response.body == b"ok"
        assert client.wait_closed() == "fin"


def test_status_codes(daemon, up):
    """Goal: the code is relayed whatever it is; the phrase is exempt."""
    codes = [200, 201, 202, 206, 207, 226, 299, 300, 301, 400, 401, 402,
             403, 404, 405, 408, 409, 410, 413, 418, 422, 425, 429, 451,
             499, 500, 501, 502, 503, 504, 508, 520, 529, 530, 598, 599]
    up.script(answer(*[reply(b"b", b"%d Odd" % c) for c in codes]))
    with daemon.client() as client:
        for code in codes:
            response = client.ask(b"POST", b"/up/x", body=b"")
            assert (response.status, response.body) == (code, b"b")
            assert response.error is None
    assert [t["status"] for t in daemon.final_turns()] == codes


def test_a_missing_phrase(daemon, up):
    """Goal: `HTTP/1.1 200` without a phrase is a status like any."""
    up.answers(b"HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nok",
               b"HTTP/1.1 200 \r\nContent-Length: 2\r\n\r\nok")
    for _ in range(2):
        assert daemon.ask(b"POST", b"/up/x", body=b"").body == b"ok"


def test_20_kib_of_headers_by_default(daemon, up):
    """Goal: a long token fits under the default limit of 24 KiB, in either
    head."""
    big = b"k" * 20_000
    up.answers(reply(b"ok"), reply(b"ok", headers=[(b"X-Big", big)]))
    with daemon.client() as client:
        response = client.ask(b"POST", b"/up/x",
                              [(b"Authorization", big)], b"a")
        assert response.status == 200
        response = client.ask(b"POST", b"/up/x", body=b"a")
        assert response.get(b"x-big") == big
    assert up.requests[0].get(b"authorization") == big


def test_many_headers_by_default(daemon, up):
    """Goal: 100 headers of usual size pass, in order."""
    headers = [(b"X-%d" % i, b"v" * 60) for i in range(100)]
    up.answers(reply(b"ok", headers=headers))
    response = daemon.ask(b"POST", b"/up/x", headers, b"a")
    assert response.without() == headers
    assert [p for p in up.request.without() if p[0] != b"Host"] == headers


@pytest.mark.parametrize("n", [60_000, 300_000])
def test_too_many_headers_are_refused(daemon, up, n):
    """Goal: over the limit is 431 and never a truncated request."""
    with daemon.client() as client:
        try:
            client.request(b"POST", b"/up/x", [(b"X-Big", b"b" * n)], b"a")
            assert client.response().status == 431
        except (BrokenPipeError, ConnectionResetError):
            pass  # refused while we still wrote
    assert up.requests == []
    assert daemon.health()


def test_256_kib_when_configured(new_daemon, up):
    """Goal: max_header raises the limit."""
    daemon = new_daemon({"up": up.url}, 'max_header = "256KiB"').start()
    big = [(b"X-%d" % i, b"v" * 40_000) for i in range(6)]
    with daemon.client() as client:
        for _ in range(2):
            assert client.ask(b"POST", b"/up/x", big, b"a").status == 200
    for request in up.requests:
        assert [p for p in request.without() if p[0] != b"Host"] == big


def test_a_big_response_head(daemon, up):
    """Goal: 64 KiB of response headers pass or are an error of ours, and
    never a cut head."""
    headers = [(b"X-%d" % i, b"v" * 4000) for i in range(16)]
    up.answers(reply(b"ok", headers=headers))
    response = daemon.ask(b"POST", b"/up/x", body=b"a")
    if response.error is None:
        assert response.without() == headers
        assert response.body == b"ok"
    else:
        assert response.status == 502
