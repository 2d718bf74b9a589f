# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the turnmeter authors
"""An outbound proxy, from the config or the usual variables."""
import pytest

from outproxy import OutProxy
from upstream import reply


@pytest.fixture
def out():
    proxy = OutProxy()
    yield proxy
    proxy.close()
    proxy.check()


def test_from_the_config(new_daemon, up, out):
    """Goal: a plain upstream is asked for in absolute form, or through a
    tunnel; the upstream sees the same bytes."""
    up.answers(reply(b"ok"))
    daemon = new_daemon({"up": {"url": up.url, "proxy": out.url}}).start()
    headers = [(b"X-A", b"1"), (b"Authorization", b"Bearer k")]
    response = daemon.ask(b"POST", b"/up/a%2Fb//c?x", headers, b"body")
    assert response.body == b"ok"
    assert len(out.requests) == 1
    assert up.request.target == b"/a%2Fb//c?x"
    assert up.request.body == b"body"
    got = [p for p in up.request.without() if p[0].lower() != b"host"]
    assert got == headers


def test_tls_goes_through_a_tunnel(new_daemon, new_upstream, authority, out):
    """Goal: the proxy sees the host name and nothing else."""
    up = new_upstream(tls=authority.context())
    up.answers(reply(b"ok"))
    daemon = new_daemon({"up": {
        "url": up.url.replace("127.0.0.1", "localhost"),
        "ca_file": authority.ca_file, "proxy": out.url}}).start()
    response = daemon.ask(b"POST", b"/up/x",
                          [(b"Authorization", b"Bearer secret")], b"abc")
    assert response.body == b"ok"
    assert out.request.method == b"CONNECT"
    assert out.request.target == b"localhost:%d" % up.port
    assert b"secret" not in out.request.raw
    assert up.request.body == b"abc"


@pytest.mark.parametrize("name", ["http_proxy", "all_proxy", "ALL_PROXY"])
def test_from_the_environment(new_daemon, up, out, name):
    """Goal: the usual variables work without any config."""
    up.answers(reply(b"ok"))
    out.names_are = up.port
    daemon = new_daemon({"up": "http://api.example/v1"},
                        env={name: out.url}).start()
    assert daemon.ask(b"POST", b"/up/x?y", body=b"a").body == b"ok"
    assert len(out.requests) == 1
    assert up.request.target == b"/v1/x?y"
    assert up.request.get(b"host") == b"api.example"


@pytest.mark.parametrize("no_proxy, n", [("", 1), ("127.0.0.1", 0),
                                         ("localhost,127.0.0.1", 0)])
def test_local_upstreams_follow_the_variables(new_daemon, up, out, no_proxy,
                                              n):
    """Goal: a local server is asked through the proxy too, unless no_proxy
    names it, as with every other program."""
    up.answers(reply(b"ok"))
    daemon = new_daemon({"up": up.url}, env={
        "http_proxy": out.url, "no_proxy": no_proxy}).start()
    assert daemon.ask(b"POST", b"/up/x", body=b"a").body == b"ok"
    assert len(out.requests) == n


@pytest.mark.parametrize("names", ["api.example", ".example", "*",
                                   "other.test, api.example"])
def test_no_proxy(new_daemon, up, out, names):
    """Goal: no_proxy keeps its names off the proxy."""
    out.names_are = up.port
    daemon = new_daemon({"up": "http://api.example"}, env={
        "http_proxy": out.url, "no_proxy": names}).start()
    # Nobody has that name, which shows that it was asked for directly.
    assert daemon.ask(b"POST", b"/up/x", body=b"a").status in (502, 504)
    assert out.requests == []


def test_an_empty_proxy_is_none(new_daemon, up, out):
    """Goal: the config can switch the variables off for one upstream."""
    up.answers(reply(b"ok"))
    out.names_are = up.port
    daemon = new_daemon({"up": {"url": "http://api.example", "proxy": ""}},
                        env={"http_proxy": out.url}).start()
    assert daemon.ask(b"POST", b"/up/x", body=b"a").status in (502, 504)
    assert out.requests == []


def test_a_dead_proxy(new_daemon, up):
    """Goal: no silent way around a proxy that the user asked for."""
    daemon = new_daemon({"up": {"url": up.url,
                                "proxy": "http://127.0.0.1:1"}}).start()
    response = daemon.ask(b"POST", b"/up/x", body=b"a")
    assert response.status == 502
    assert response.error
    assert up.connections == []
    assert daemon.final_turn()["outcome"] == "connect_failed"


def test_a_proxy_that_refuses(new_daemon, new_upstream, authority, out):
    """Goal: a 407 of the proxy is not taken for the provider's answer."""
    out.script(lambda c: (c.head(), c.send(
        b"HTTP/1.1 407 Authenticate\r\nContent-Length: 0\r\n\r\n")))
    up = new_upstream(tls=authority.context())
    daemon = new_daemon({"up": {
        "url": up.url.replace("127.0.0.1", "localhost"),
        "ca_file": authority.ca_file, "proxy": out.url}}).start()
    response = daemon.ask(b"POST", b"/up/x", body=b"a")
    assert response.status == 502
    assert response.error
    turn = daemon.final_turn()
    assert (turn["outcome"], turn["status"]) == ("connect_failed", None)
