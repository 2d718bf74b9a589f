# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the turnmeter authors
"""Which upstream a request is for, and its path there."""
import json

import pytest

from upstream import reply


def ask(daemon, target):
    return daemon.ask(b"POST", target.encode(), body=b"{}")


@pytest.mark.parametrize("base, target, path", [
    ("", "/up/v1/messages", "/v1/messages"),
    ("/", "/up/v1/messages", "/v1/messages"),
    ("/v1", "/up/v1/messages", "/v1/messages"),
    ("/v1/", "/up/v1/messages", "/v1/messages"),
    ("/v1", "/up/messages", "/v1/messages"),
    ("/v1/", "/up/messages", "/v1/messages"),
    ("/api/v1/", "/up/v1/chat/completions", "/api/v1/chat/completions"),
    ("/api/v1", "/up/api/v1/chat/completions", "/api/v1/chat/completions"),
    ("/api/v1", "/up/chat/completions", "/api/v1/chat/completions"),
    ("/openai/v1", "/up/v1/models/v1", "/openai/v1/models/v1"),
    # Only whole segments overlap, and only the longest run, once.
    ("/v1", "/up/v1beta/models", "/v1/v1beta/models"),
    ("/v1/v1", "/up/v1/x", "/v1/v1/x"),
    ("/a/b/a", "/up/a/b/x", "/a/b/a/b/x"),
    ("/v1", "/up/v1/v1/messages", "/v1/v1/messages"),
    # The client's own slashes and escapes stay.
    ("/v1", "/up//v1/x", "/v1//v1/x"),
    ("/v1", "/up/v1//x", "/v1//x"),
    ("/v1", "/up/%76%31/x", "/v1/%76%31/x"),
    ("/v1", "/up/x/../y", "/v1/x/../y"),
    # Nothing behind the name.
    ("", "/up/", "/"),
    ("", "/up/?a=1", "/?a=1"),
    ("/v1", "/up/v1?a=/v1/", "/v1?a=/v1/"),
    ("/v1", "/up/x?a=//b", "/v1/x?a=//b"),
])
def test_join(new_daemon, up, base, target, path):
    """Goal: one rule joins every spelling; no `//`, no `/v1/v1/` is
    made here."""
    daemon = new_daemon({"up": up.url + base}).start()
    assert ask(daemon, target).status == 200
    assert up.request.target == path.encode()


@pytest.mark.parametrize("target, path", [
    ("/up/v1/messages?beta=true", "/v1/messages?beta=true"),
    ("/up/messages", "/v1/messages"),
    ("/up/v1/v1/messages", "/v1/messages"),
    ("/up/v1/messages/count_tokens", "/v1/messages/count_tokens"),
    ("/up/api/hello", "/api/hello"),
])
def test_version(new_daemon, up, target, path):
    """Goal: both spellings of ANTHROPIC_BASE_URL work, other paths stay."""
    daemon = new_daemon({"up": {"url": up.url, "version": "v1"}}).start()
    assert ask(daemon, target).status == 200
    assert up.request.target == path.encode()


def test_names_choose(new_daemon, new_upstream):
    """Goal: each name reaches its own upstream, names with dots and
    dashes too."""
    a, b = new_upstream(), new_upstream()
    a.answers(reply(b"a"))
    b.answers(reply(b"b"))
    daemon = new_daemon({"a": a.url, "b.2-x": b.url}).start()
    assert ask(daemon, "/a/x").body == b"a"
    assert ask(daemon, "/b.2-x/x").body == b"b"
    turns = daemon.final_turns()
    assert [t["upstream"] for t in turns] == ["a", "b.2-x"]


def test_host_in_place_of_the_name(new_daemon, new_upstream):
    """Goal: the upstream's own host routes, the path after it is whole;
    of several upstreams the longest matching path wins."""
    plain, deep, other = new_upstream(), new_upstream(), new_upstream()
    plain.answers(reply(b"plain"))
    deep.answers(reply(b"deep"))
    other.answers(reply(b"other"))
    daemon = new_daemon({
        "other": other.url,
        "plain": plain.url.replace("127.0.0.1", "localhost") + "/v1",
        "deep": deep.url.replace("127.0.0.1", "localhost") + "/v1/deep",
    }).start()
    assert ask(daemon, "/localhost/v1/x").body == b"plain"
    assert ask(daemon, "/localhost/v1/deep/x?q").body == b"deep"
    assert plain.request.target == b"/v1/x"
    assert deep.request.target == b"/v1/deep/x?q"


def test_only_configured_hosts(daemon, up):
    """Goal: a host that no upstream has is not contacted."""
    for target in ("/169.254.169.254/latest", "/evil.example/v1/messages",
                   "//evil.example/v1/messages", "/localhost:1/x"):
        response = ask(daemon, target)
        assert response.status == 404, target
        assert response.error
    assert up.connections == []
    assert daemon.final_turns() == []


def test_by_shape(new_daemon, new_upstream):
    """Goal: a client whose base URL has no path still finds its
    provider."""
    ups = {name: new_upstream() for name in ("anthropic", "gemini",
                                             "ollama")}
    for name, upstream in ups.items():
        upstream.answers(reply(name.encode()))
    daemon = new_daemon({n: u.url for n, u in ups.items()}).start()
    for target, name in (
            ("/v1/messages?beta=true", "anthropic"),
            ("/v1beta/models/g:generateContent", "gemini"),
            ("/api/chat", "ollama")):
        assert ask(daemon, target).body == name.encode(), target
        assert ups[name].request.target == target.encode()


def test_default_upstream(new_daemon, up):
    """Goal: what has neither name nor shape goes to the default, whole."""
    up.answers(reply(b"ok"))
    daemon = new_daemon({"mine": up.url},
                        'default_upstream = "mine"').start()
    assert ask(daemon, "/some/unknown/path").body == b"ok"
    assert up.request.target == b"/some/unknown/path"


def test_project(new_daemon, up):
    """Goal: a project tag is taken off the path and kept with the turn."""
    daemon = new_daemon({"up": up.url}).start()
    assert ask(daemon, "/~p=my%20proj/up/v1/x").status == 200
    assert up.request.target == b"/v1/x"
    assert daemon.final_turn()["project"] == "my proj"


def test_unknown_lists_the_routes(daemon):
    """Goal: a 404 that helps: JSON, and the names that would work."""
    response = ask(daemon, "/nowhere/v1/x")
    assert response.status == 404
    assert response.error
    assert b"json" in response.get(b"content-type")
    json.loads(response.body)
    assert b"up" in response.body


def test_names_are_no_prefixes(daemon, up):
    """Goal: /upper and /u are not /up."""
    for target in ("/upper/x", "/u/x", "/UP/x", "/up%2Fx"):
        assert ask(daemon, target).status == 404, target
    assert up.connections == []


@pytest.mark.parametrize("target, status", [
    (b"http://127.0.0.1:%d/up/v1/x", 200),
    (b"http://localhost:%d/up/v1/x", 200),
    (b"http://other.example/up/v1/x", 400),
    (b"http://169.254.169.254/latest", 400),
    (b"https://api.openai.com/v1/models", 400),
])
def test_absolute_form(daemon, up, target, status):
    """Goal: absolute form for this authority is a path, for another one
    it is refused, whatever Host says: this is no open proxy."""
    if b"%d" in target:
        target = target % daemon.port
    authority = target.split(b"/")[2]
    own = b"127.0.0.1:%d" % daemon.port
    for host in {authority} if status == 200 else {authority, own}:
        with daemon.client() as client:
            client.send(b"POST " + target + b" HTTP/1.1\r\nHost: " + host
                        + b"\r\nContent-Length: 0\r\n\r\n")
            got = client.response().status
        if host == own or status == 200:
            assert got == status
        else:
            assert got in (400, 403), "a foreign Host is refused as well"
    if status == 200:
        assert {r.target for r in up.requests} == {b"/v1/x"}
    else:
        assert up.connections == []


def test_connect_is_refused(daemon, up):
    """Goal: no tunnels."""
    with daemon.client() as client:
        client.send(b"CONNECT 127.0.0.1:%d HTTP/1.1\r\n"
                    b"Host: 127.0.0.1:%d\r\n\r\n" % (up.port, up.port))
        assert client.response().status == 400
    assert up.connections == []
