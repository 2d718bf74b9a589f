# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the turnmeter authors
"""Who may talk to the daemon (Law 6)."""
import os

import pytest

from upstream import reply

TOKEN = "tok-0123456789abcdef"


def ask_as(daemon, host, target=b"/up/x", method=b"POST", headers=b""):
    with daemon.client() as client:
        client.send(method + b" " + target + b" HTTP/1.1\r\nHost: " + host
                    + b"\r\n" + headers + b"Content-Length: 0\r\n\r\n")
        return client.response(method)


@pytest.mark.parametrize("host", [
    b"127.0.0.1", b"127.0.0.1:%d", b"localhost", b"localhost:%d",
    b"LOCALHOST:%d", b"[::1]:%d", b"[::1]"])
def test_own_hosts(daemon, up, host):
    """Goal: every name of loopback works."""
    if b"%d" in host:
        host = host % daemon.port
    assert ask_as(daemon, host).status == 200


@pytest.mark.parametrize("host", [
    b"evil.example", b"evil.example:%d", b"127.0.0.1.evil.example",
    b"localhost.evil.example", b"169.254.169.254", b"[::2]", b"",
    b"user@127.0.0.1", b"0x7f.1", b"127.0.0.1:%d.evil.example"])
@pytest.mark.parametrize("target", [b"/up/x", b"/_turnmeter/health"])
def test_foreign_hosts(daemon, up, host, target):
    """Goal: a page that rebinds its name to 127.0.0.1 gets nothing."""
    if b"%d" in host:
        host = host % daemon.port
    response = ask_as(daemon, host, target)
    assert 400 <= response.status < 500
    assert response.error or host == b""
    assert up.connections == []
    assert daemon.final_turns() == []


def test_allowed_hosts(new_daemon, up):
    """Goal: the user can let further names in."""
    daemon = new_daemon({"up": up.url},
                        'allowed_hosts = {"meter.lan"}').start()
    assert ask_as(daemon, b"meter.lan").status == 200
    assert ask_as(daemon, b"meter.lan:%d" % daemon.port).status == 200
    assert ask_as(daemon, b"other.lan").status >= 400


@pytest.mark.parametrize("site, is_let_in", [
    (b"cross-site", False), (b"Cross-Site", False), (b"same-site", True),
    (b"same-origin", True), (b"none", True)])
def test_cross_site(daemon, up, site, is_let_in):
    """Goal: no page of another site spends the user's money."""
    response = daemon.ask(b"POST", b"/up/x", [(b"Sec-Fetch-Site", site)],
                          b"")
    assert (response.status == 200) is is_let_in
    assert (len(up.connections) == 1) is is_let_in
    if not is_let_in:
        assert response.error


@pytest.mark.parametrize("origin, is_let_in", [
    (b"http://evil.example", False), (b"null", False),
    (b"http://127.0.0.1:%d", True), (b"http://localhost:%d", True)])
def test_origin_on_admin_paths(daemon, origin, is_let_in):
    """Goal: only our own pages read the turns."""
    if b"%d" in origin:
        origin = origin % daemon.port
    response = daemon.ask(b"GET", b"/_turnmeter/health",
                          [(b"Origin", origin)])
    assert (response.status == 200) is is_let_in
    assert response.get(b"access-control-allow-origin") in (None, origin)


@pytest.mark.parametrize("listen", ["0.0.0.0:0", "[::]:0"])
def test_everywhere_needs_a_token(new_daemon, up, listen):
    """Goal: no open daemon on a network by mistake."""
    daemon = new_daemon({"up": up.url}, listen=listen).launch()
    assert daemon.wait() == 1
    assert "token" in daemon.log()
    assert not os.path.exists(daemon.port_file)


@pytest.fixture
def guarded(new_daemon, up):
    up.answers(reply(b"ok"))
    return new_daemon({"up": up.url}, 'token = "%s"' % TOKEN,
                      listen="0.0.0.0:0").start()


def test_without_the_token(guarded, up):
    """Goal: nothing without it, on every kind of path, and no hint about
    routes."""
    for target in (b"/up/x", b"/~wrong/up/x", b"/_turnmeter/api/turns",
                   b"/nowhere", b"/~/up/x"):
        response = guarded.ask(b"POST", target, body=b"")
        assert 400 <= response.status < 500, target
        assert response.error
        assert b"127.0.0.1" not in response.body
    assert guarded.ask(b"POST", b"/up/x", [
        (b"x-turnmeter-token", TOKEN.encode()[:-1])], b"").status >= 400
    assert up.connections == []


def test_with_the_token(guarded, up):
    """Goal: in the path or in a header; neither goes upstream, nor to the
    disk."""
    token = TOKEN.encode()
    assert guarded.ask(b"POST", b"/~" + token + b"/up/x?a=1",
                       body=b"").body == b"ok"
    assert guarded.ask(b"POST", b"/up/x", [(b"X-Turnmeter-Token", token)],
                       b"").body == b"ok"
    assert guarded.ask(b"POST", b"/~" + token + b"/~p=demo/up/x",
                       body=b"").body == b"ok"
    assert [r.target for r in up.requests] == [b"/x?a=1", b"/x", b"/x"]
    for request in up.requests:
        assert token not in request.raw
        assert b"turnmeter" not in request.raw.lower()
    guarded.stop()
    for path in guarded.state_files():
        if path == guarded.config_file:
            continue
        with open(path, "rb") as file:
            assert token not in file.read(), path


def test_the_token_of_another_kind_stays(daemon, up):
    """Goal: an upstream's own `~` segment passes."""
    assert daemon.ask(b"POST", b"/up/~me/x", body=b"").status == 200
    assert up.request.target == b"/~me/x"


def test_nothing_in_a_request_chooses_the_upstream(daemon, up,
                                                   new_upstream):
    """Goal: no header and no body field leads elsewhere."""
    other = new_upstream()
    url = other.url.encode()
    body = b'{"api_base": "%s", "base_url": "%s"}' % (url, url)
    headers = [(b"x-base-url", url), (b"X-Forwarded-Host", url[7:]),
               (b"x-portkey-custom-host", url), (b"X-Original-URL", url),
               (b"X-Http-Method-Override", b"GET")]
    assert daemon.ask(b"POST", b"/up/x", headers, body).status == 200
    assert up.request.body == body
    assert [p for p in up.request.without() if p[0] != b"Host"] == headers
    assert other.connections == []


@pytest.mark.parametrize("status", [b"301 Moved", b"302 Found",
                                    b"303 See Other",
                                    b"307 Temporary Redirect",
                                    b"308 Permanent Redirect"])
def test_redirects_are_relayed(daemon, up, new_upstream, status):
    """Goal: no key follows a redirect."""
    other = new_upstream()
    up.answers(reply(b"go", status,
                     [(b"Location", other.url.encode() + b"/x")]))
    response = daemon.ask(b"POST", b"/up/x", body=b"{}")
    assert response.status == int(status[:3])
    assert response.get(b"location") == other.url.encode() + b"/x"
    assert response.body == b"go"
    assert other.connections == []
