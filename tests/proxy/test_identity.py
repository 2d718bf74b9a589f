# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the turnmeter authors
"""500 random exchanges, direct and through the daemon, are the same."""
import gzip
import os
import random

import brotli
import pytest
import zstandard


from wire import FRAMING, Client, chunked

SEED = int(os.environ.get("TURNMETER_SEED", "20261130"))
N = 500
TCHARS = (b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
          b"0123456789!#$%&'*+-.^_`|~")
PATH = (b"abcxyz019-._~!$&'()*+,;=:@/%[]{}|\\^\"<>`#"
        b"\x80\xc3\xa9\xff")
CODINGS = {
    b"gzip": lambda data: gzip.compress(data, mtime=0),
    b"br": lambda data: brotli.compress(data, quality=2),
    b"zstd": zstandard.ZstdCompressor().compress,
    b"identity": lambda data: data,
}
METHODS = [b"POST"] * 6 + [b"PUT", b"PATCH", b"DELETE", b"GET", b"HEAD",
                           b"OPTIONS", b"QUERY"]
STATUSES = [200] * 10 + [201, 202, 204, 206, 300, 302, 304, 400, 401, 404,
                         409, 413, 422, 429, 500, 502, 503, 529]
# Names that a hop or the framing owns, or that turnmeter itself reads.
OWNED = FRAMING | {b"host", b"expect", b"date", b"server",
                   b"x-turnmeter-token", b"sec-fetch-site", b"origin"}


def of(rng, alphabet, low, high):
    return bytes(rng.choice(alphabet) for _ in range(rng.randint(low, high)))


def headers(rng, is_response=False):
    """A tab in a response's value is exempt: libmicrohttpd refuses it."""
    blanks = b"    " if is_response else b"    \t"
    out = []
    for _ in range(rng.randint(0, 12)):
        name = rng.choice([
            of(rng, TCHARS, 1, 20), b"X-Repeat", b"x-repeat", b"Cookie",
            b"Authorization", b"User-Agent", b"Accept", b"Content-Type",
            b"ETag", b"Cache-Control"])
        value = of(rng, bytes(range(33, 127)) + blanks
                   + bytes(range(128, 256)), 0, 60).strip(b" \t")
        if name.lower() not in OWNED:
            out.append((name, value))
    return out


def payload(rng):
    size = rng.choice([0, 1, 10, 100, 1000, 5000, 70_000, 200_000])
    size = rng.randint(size // 2, size)
    kind = rng.randrange(4)
    if kind == 0:
        return rng.randbytes(size)
    if kind == 1:
        return b'{"model":"m","messages":[{"role":"user","content":"' \
            + b"x" * size + b'"}]}'
    if kind == 2:
        return b'data: {"choices":[{"delta":{"content":"a"}}]}\n\n' \
            * (size // 50)
    return (b"{[\"\\" * size)[:size]


def sizes(rng):
    return [rng.choice([1, 2, 7, 100, 4096, 16_384, 65_536])
            for _ in range(5)] + [16_384]


def body_of(rng):
    """(coding header or None, body bytes)"""
    coding = rng.choice([None, None, *CODINGS])
    body = payload(rng)
    if coding is not None:
        body = CODINGS[coding](body)
    return coding, body


class Exchange:
    """One exchange, made from its number alone: both ways get the same."""

    def __init__(self, number):
        rng = random.Random(SEED * 1000 + number)
        self.method = rng.choice(METHODS)
        self.target = (rng.choice([b"/v1/chat/completions", b"/v1/messages",
                                   b"/v1/responses", b"/x", b"/"])
                       + rng.choice([b"", b"/" + of(rng, PATH, 0, 40)])
                       + rng.choice([b"", b"?" + of(rng, PATH + b"?", 0,
                                                    40)]))
        self.headers = headers(rng)
        self.headers.append((b"X-Number", b"%d" % number))
        self.body = None
        self.is_chunked = False
        if self.method not in (b"GET", b"HEAD", b"OPTIONS"):
            coding, self.body = body_of(rng)
            if coding is not None:
                self.headers.append((b"Content-Encoding", coding))
            self.is_chunked = rng.random() < 0.3
        self.request_sizes = sizes(rng)
        self.status = rng.choice(STATUSES)
        self.response_headers = headers(rng, True)
        coding, self.response_body = body_of(rng)
        if coding is not None:
            self.response_headers.append((b"Content-Encoding", coding))
        if rng.random() < 0.5:
            self.response_headers.append(
                (b"Content-Type", rng.choice([
                    b"application/json", b"text/event-stream",
                    b"application/x-ndjson", b"text/html"])))
        self.response_framing = rng.choice(["length", "chunked", "close"])
        self.response_sizes = sizes(rng)
        self.trailers = ([(b"X-Trailer", b"t")]
                         if rng.random() < 0.2 else [])

    @property
    def has_response_body(self):
        return self.method != b"HEAD" and self.status not in (204, 304)

    def send(self, client, prefix):
        target = prefix + self.target
        if self.is_chunked:
            client.request(self.method, target, self.headers + [
                (b"Transfer-Encoding", b"chunked")])
            client.send(chunked(self.body, self.request_sizes))
        else:
            client.request(self.method, target, self.headers, self.body)

    def response(self):
        head = b"HTTP/1.1 %d Phrase\r\n" % self.status
        head += b"".join(b"%s: %s\r\n" % p for p in self.response_headers)
        if not self.has_response_body:
            if self.method == b"HEAD" and self.status not in (204, 304):
                head += b"Content-Length: %d\r\n" % len(self.response_body)
            return head + b"\r\n", False
        if self.response_framing == "length":
            return head + b"Content-Length: %d\r\n\r\n" % len(
                self.response_body) + self.response_body, False
        if self.response_framing == "chunked":
            return head + b"Transfer-Encoding: chunked\r\n\r\n" + chunked(
                self.response_body, self.response_sizes,
                self.trailers), False
        return head + b"Connection: close\r\n\r\n" + self.response_body, True


def upstream_script(connection):
    while True:
        request = connection.take()
        if request is None:
            return
        data, must_close = Exchange(int(request.get(b"x-number"))).response()
        connection.send(data)
        if must_close:
            return


def seen_by_client(response):
    return (response.status, response.without(FRAMING | {b"date"}),
            response.body, response.trailers)


def seen_by_upstream(request):
    return (request.method, request.target,
            request.without(FRAMING | {b"host"}), request.body,
            request.trailers)


def run(new_client, prefix, numbers):
    """The client's views, over kept connections where both sides agree."""
    views = []
    client = new_client()
    for number in numbers:
        exchange = Exchange(number)
        exchange.send(client, prefix)
        response = client.response(exchange.method)
        views.append(seen_by_client(response))
        if response.get(b"connection", b"").lower() == b"close" or (
                exchange.has_response_body and not response.is_chunked
                and response.get(b"content-length") is None):
            client.close()
            client = new_client()
    client.close()
    return views


@pytest.mark.parametrize("part", range(5))
def test_identity(daemon, up, part):
    """Goal: whatever is sent, client and upstream see the same with and
    without the daemon, less Host, Date, hop-by-hop headers and framing."""
    up.script(upstream_script)
    numbers = range(part * N // 5, (part + 1) * N // 5)
    direct = run(lambda: Client(up.port), b"", numbers)
    n = len(up.requests)
    assert n == len(numbers)
    through = run(daemon.client, b"/up", numbers)
    assert len(up.requests) == 2 * n
    for i, number in enumerate(numbers):
        what = "exchange %d (TURNMETER_SEED=%d)" % (number, SEED)
        assert through[i] == direct[i], what
        assert seen_by_upstream(up.requests[n + i]) == \
            seen_by_upstream(up.requests[i]), what
    turns = daemon.final_turns()
    with_body = [x for x in map(Exchange, numbers)
                 if x.method not in (b"GET", b"HEAD", b"OPTIONS",
                                     b"DELETE")]
    assert len(turns) >= len(with_body)
    assert sum(t["request_bytes"] for t in turns
               if t["method"] == "POST") == sum(
        len(x.body) for x in with_body if x.method == b"POST")
