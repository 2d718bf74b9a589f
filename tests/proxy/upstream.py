# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the turnmeter authors
"""upstream: a provider that does what a test's script says.

One thread a connection runs a script, a function of the connection. What
arrives is recorded as bytes. A script that fails makes its test fail.
"""
import socket
import threading

from wire import TIMEOUT, Broken, Request, Wire

OK = b"HTTP/1.1 200 OK\r\n"
EMPTY = OK + b"Content-Length: 0\r\n\r\n"


def reply(body=b"", status=b"200 OK", headers=()):
    """A response with Content-Length."""
    lines = [b"HTTP/1.1 " + status]
    lines += [h if isinstance(h, bytes) else h[0] + b": " + h[1]
              for h in headers]
    lines.append(b"Content-Length: %d" % len(body))
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


class Connection(Wire):
    """The upstream's end of one connection."""

    def __init__(self, upstream, sock, number):
        super().__init__(sock)
        self.upstream = upstream
        self.number = number  # 1 is the first
        self.requests = []

    def head(self):
        """The next request's head, or None where the peer ended."""
        try:
            request = Request(self.until(b"\r\n\r\n"))
        except Broken as broken:
            if broken.got:
                self.upstream.partial.append(broken.got)
            return None
        request.connection = self.number
        request.is_whole = False
        self.requests.append(request)
        with self.upstream.changed:
            self.upstream.requests.append(request)
            self.upstream.changed.notify_all()
        return request

    def take(self, keep=True):
        """The next request, whole, or None."""
        request = self.head()
        if request is not None:
            self.take_body(request, keep)
            self.whole(request)
        return request

    def whole(self, request):
        with self.upstream.changed:
            request.is_whole = True
            self.upstream.changed.notify_all()

    def chunk(self, data):
        self.send(b"%x\r\n%s\r\n" % (len(data), data))

    def end_chunks(self, trailers=b""):
        self.send(b"0\r\n" + trailers + b"\r\n")

    def stream(self, pieces=(), content_type=b"text/event-stream",
               headers=b""):
        """Head and pieces of a chunked answer, without its end."""
        self.send(OK + b"Content-Type: " + content_type + b"\r\n" + headers
                  + b"Transfer-Encoding: chunked\r\n\r\n")
        for piece in pieces:
            self.chunk(piece)


class Upstream:
    def __init__(self, host="127.0.0.1", tls=None):
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.listener = socket.socket(family, socket.SOCK_STREAM)
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.bind((host, 0))
        self.listener.listen(512)
        self.host = "[%s]" % host if ":" in host else host
        self.port = self.listener.getsockname()[1]
        self.tls = tls
        self.url = "%s://%s:%d" % ("https" if tls else "http", self.host,
                                   self.port)
        self.changed = threading.Condition()
        self.requests = []
        self.connections = []
        self.partial = []  # heads that never became whole
        self.failures = []
        self.scripts = [answer(EMPTY)]
        self.is_open = True
        self.accepter = threading.Thread(target=self._accept, daemon=True)
        self.accepter.start()

    def script(self, *scripts):
        """The first connection from now on runs the first script, and so
        on; the last one is repeated."""
        self.scripts = list(scripts)

    def answers(self, *responses):
        self.script(answer(*responses))

    def _accept(self):
        while True:
            try:
                sock, _ = self.listener.accept()
            except OSError:
                return
            if not self.is_open:
                sock.close()
                return
            script = self.scripts[0]
            if len(self.scripts) > 1:
                self.scripts.pop(0)
            threading.Thread(target=self._run, args=(sock, script),
                             daemon=True).start()

    def _run(self, sock, script):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self.tls is not None:
            sock.settimeout(TIMEOUT)
            try:
                sock = self.tls.wrap_socket(sock, server_side=True)
            except OSError:
                return  # a client that does not trust us
        with self.changed:
            connection = Connection(self, sock, len(self.connections) + 1)
            self.connections.append(connection)
            self.changed.notify_all()
        try:
            script(connection)
        except (OSError, Broken):
            pass  # the daemon went away: the test looks at the outcome
        except BaseException as failure:  # noqa: shown by check()
            self.failures.append(failure)
        finally:
            connection.close()

    def wait_requests(self, n=1, whole=False):
        with self.changed:
            assert self.changed.wait_for(
                lambda: sum(r.is_whole or not whole
                            for r in self.requests) >= n, TIMEOUT), \
                "%d requests came, not %d" % (len(self.requests), n)
            return self.requests[:n]

    @property
    def request(self):
        """The only request that came."""
        assert len(self.requests) == 1, [r.start for r in self.requests]
        return self.requests[0]

    def close(self):
        self.is_open = False
        try:
            # Wakes the accepter, which a plain close does not.
            self.listener.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.listener.close()
        self.accepter.join(TIMEOUT)

    def check(self):
        if self.failures:
            raise self.failures[0]


def answer(*responses):
    """A script: each request is read whole and answered with the next of
    `responses` (bytes, or a function of the request), the last repeated;
    the connection is kept alive."""
    left = list(responses)

    def run(connection):
        while True:
            request = connection.take()
            if request is None:
                return
            response = left[0]
            if len(left) > 1:
                left.pop(0)
            if callable(response):
                response = response(request)
            connection.send(response)

    return run
