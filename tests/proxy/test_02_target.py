# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the turnmeter authors
"""Method and target reach the upstream byte for byte (Law 1)."""
import pytest

from upstream import reply

TARGETS = [
    b"/",
    b"/v1/models",
    b"/v1/%5Bid%5D/page",
    b"/v1/a%2Fb",
    b"/v1/encoded%2520path",
    b"/v1/a//b",
    b"/v1/a//b/../c",
    b"/v1/./a/../../b",
    b"//double",
    b"/v1/trailing/",
    b"/v1/trailing//",
    b"/v1/%zz",
    b"/v1/%",
    b"/v1/%4",
    b"/v1/%00",
    b"/v1/x%0d%0aX-Evil:%201",
    b"/v1/x?",
    b"/v1/x??",
    b"/v1/x?a=1&a=2&=&b",
    b"/v1/x?q=%2F+%20&k=a/b/../c",
    b"/v1/x?u=http://other.example/?a=1",
    b"/v1/x;p=1;q=2/y;z",
    b"/v1/x:generate",
    b"/v1/models/gemini-pro:streamGenerateContent?alt=sse",
    b"/v1/~user/(a)*'!$,@=+",
    b"/v1/{braces}|pipe^caret`tick\"quote\\back<>",
    "/v1/große/日本/🙂".encode(),
    b"/v1/raw\x80\xff\xfe",
    b"/v1/x?raw=\x80\xff",
    b"/v1/x#fragment",
    b"/v1/" + b"a" * 8000,
]


def test_every_target(daemon, up):
    """Goal: no decoding, no normalising, no judging of targets."""
    with daemon.client() as client:
        for target in TARGETS:
            assert client.ask(b"POST", b"/up" + target,
                              body=b"").status == 200, target
    assert [r.target for r in up.requests] == TARGETS


def test_targets_without_a_body(daemon, up):
    """Goal: the same for GET, which takes another way through libraries."""
    with daemon.client() as client:
        for target in TARGETS:
            assert client.ask(b"GET", b"/up" + target).status == 200, target
    assert [r.target for r in up.requests] == TARGETS


def test_path_as_sent_is_recorded_without_its_query(daemon):
    """Goal: the row's path holds no query, where keys travel."""
    daemon.ask(b"POST", b"/up/v1/a%2Fb//c?key=abc", body=b"")
    assert daemon.final_turn()["path"] == "/v1/a%2Fb//c"


def test_an_evil_path_is_stored_tame(daemon):
    """Goal: bytes of the target are no control bytes in the database."""
    daemon.ask(b"POST", b"/up/v1/\xff\xfe/" + b"x" * 2000, body=b"")
    path = daemon.final_turn()["path"]
    assert len(path.encode()) <= 256
    assert path.startswith("/v1/")


@pytest.mark.parametrize("method", [
    b"GET", b"POST", b"PUT", b"PATCH", b"DELETE", b"OPTIONS", b"HEAD",
    b"PROPFIND", b"QUERY", b"M-SEARCH", b"X"])
def test_every_method(daemon, up, method):
    """Goal: any method passes, known or not, without and with a body."""
    with daemon.client() as client:
        assert client.ask(method, b"/up/v1/x").status == 200
        if method not in (b"GET", b"HEAD"):
            assert client.ask(method, b"/up/v1/x", body=b"abc").status == 200
    assert up.requests[0].method == method
    assert up.requests[0].body == b""
    if method not in (b"GET", b"HEAD"):
        assert up.requests[1].method == method
        assert up.requests[1].body == b"abc"


@pytest.mark.parametrize("method", [b"GET", b"DELETE"])
def test_a_body_where_none_is_usual(daemon, up, method):
    """Goal: GET and DELETE keep the body that the client sends."""
    up.answers(reply(b"ok"))
    body = b'{"filter":1}'
    assert daemon.ask(method, b"/up/v1/x", body=body).body == b"ok"
    assert up.request.method == method
    assert up.request.body == body


def test_methods_are_case_sensitive(daemon, up):
    """Goal: `post` is not made POST."""
    assert daemon.ask(b"post", b"/up/v1/x", body=b"a").status == 200
    assert up.request.method == b"post"


def test_without_a_body_no_length_is_invented(daemon, up):
    """Goal: GET, HEAD, DELETE, OPTIONS go without framing headers."""
    with daemon.client() as client:
        for method in (b"GET", b"HEAD", b"DELETE", b"OPTIONS"):
            client.ask(method, b"/up/v1/x")
    for request in up.requests:
        assert request.all(b"content-length") == [], request.raw
        assert request.all(b"transfer-encoding") == [], request.raw


def test_rows_of_quiet_methods(daemon, up):
    """Goal: listing models is no turn; an unknown POST leaves a row."""
    with daemon.client() as client:
        for method in (b"GET", b"HEAD", b"OPTIONS", b"DELETE"):
            client.ask(method, b"/up/v1/models")
        client.ask(b"POST", b"/up/v1/unheard-of", body=b"{}")
    turn = daemon.final_turn()
    assert (turn["method"], turn["path"]) == ("POST", "/v1/unheard-of")
    assert turn["status"] == 200
    assert turn["usage_source"] in ("none", None)
    assert turn["input_tokens"] is None
