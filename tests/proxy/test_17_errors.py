# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the turnmeter authors
"""What the proxy says itself, and that it says so."""
import json

import pytest

import shapes


def test_errors_in_the_shape_of_the_protocol(new_daemon):
    """Goal: a client's SDK can read our error, and nobody takes it for the
    provider's."""
    daemon = new_daemon({"up": "http://127.0.0.1:1"}).start()
    for path, body in ((shapes.CHAT_PATH, shapes.chat_request()),
                       (shapes.MESSAGES_PATH, shapes.messages_request())):
        response = daemon.ask(b"POST", path, body=body)
        assert response.status == 502
        assert response.error
        assert b"application/json" in response.get(b"content-type")
        error = json.loads(response.body)
        assert isinstance(error["error"], dict)
        assert isinstance(error["error"]["message"], str)
        assert "turnmeter" in error["error"]["message"].lower() or \
            "up" in error["error"]["message"]
        if path == shapes.MESSAGES_PATH:
            assert error["type"] == "error"
            assert error["error"]["type"]


def test_the_real_answer_has_no_mark(daemon):
    """Goal: the mark is on our own errors alone."""
    response = daemon.ask(b"POST", b"/up/x", body=b"")
    assert response.all(b"x-turnmeter-error") == []
    assert b"turnmeter" not in response.raw.lower()


def test_head_gets_no_body(daemon):
    """Goal: an error of ours to HEAD has no body behind it."""
    with daemon.client() as client:
        client.request(b"HEAD", b"/nowhere")
        client.request(b"GET", b"/nowhere")
        first = client.head()
        assert first.status == 404
        second = client.head()
        assert second.start.startswith(b"HTTP/1.1 404")
        assert client.take_body(second).body


@pytest.mark.parametrize("target", [b"/up/v1/responses", b"/up/v1/realtime",
                                    b"/up/any/path"])
def test_websocket(daemon, up, target):
    """Goal: 426 at once, so that Codex falls back to HTTP without a
    pause."""
    with daemon.client() as client:
        client.request(b"GET", target, [
            (b"Connection", b"Upgrade"), (b"Upgrade", b"websocket"),
            (b"Sec-WebSocket-Version", b"13"),
            (b"Sec-WebSocket-Key", b"dGhlIHNhbXBsZSBub25jZQ=="),
            (b"Sec-WebSocket-Extensions", b"permessage-deflate")])
        response = client.response()
        assert response.status == 426
        assert response.error
    assert up.connections == []


def test_other_upgrades_are_ignored(daemon, up):
    """Goal: `Upgrade: h2c` is hop by hop: the request passes without
    it."""
    response = daemon.ask(b"POST", b"/up/x", [
        (b"Connection", b"Upgrade, HTTP2-Settings"), (b"Upgrade", b"h2c"),
        (b"HTTP2-Settings", b"AAMAAABkAAQAAP__")], b"a")
    assert response.status == 200
    names = {n.lower() for n, _ in up.request.headers}
    assert names <= {b"host", b"content-length"}


def test_unknown_admin_paths(daemon):
    """Goal: 404 in JSON, for every method."""
    for method in (b"GET", b"POST", b"DELETE"):
        response = daemon.ask(method, b"/_turnmeter/no/such", body=b""
                              if method == b"POST" else None)
        assert response.status in (404, 405)


def test_no_row_for_what_never_was_routed(daemon):
    """Goal: our own 4xx leave no row, routed failures one each."""
    for target in (b"/nowhere", b"/", b"/_turnmeter/health",
                   b"/_turnmeter/none"):
        daemon.ask(b"POST", target, body=b"{}")
    assert daemon.final_turns() == []


def test_error_bodies_hold_no_markup_of_the_caller(daemon):
    """Goal: a path with markup or quotes is escaped in our JSON."""
    response = daemon.ask(
        b"POST", b'/x"<script>\\' + b"\xff" + b"/y", body=b"")
    assert response.status == 404
    json.loads(response.body.decode("utf-8"))
    assert b"html" not in response.get(b"content-type")
