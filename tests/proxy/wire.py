# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the turnmeter authors
"""wire: HTTP/1.1 as bytes on a socket, without a library that tidies it up.

A test must see exactly what went over the wire, so nothing here normalises:
heads are kept raw, chunk boundaries stay visible, and a broken transfer is an
exception of its own and never a short body.
"""
import hashlib
import os
import random
import socket
import struct
import time

# No wait in a test is longer than this; a busy machine may need more.
TIMEOUT = float(os.environ.get("TURNMETER_TEST_TIMEOUT", "15"))

# Made anew by each hop (RFC 9110, 7.6.1), so never compared.
HOP_BY_HOP = {
    b"connection", b"keep-alive", b"proxy-connection", b"te", b"trailer",
    b"transfer-encoding", b"upgrade", b"proxy-authorization",
    b"proxy-authenticate",
}
FRAMING = HOP_BY_HOP | {b"content-length"}


class Broken(Exception):
    """The transfer ended before its framing did. `how`: fin, rst, timeout."""

    def __init__(self, how, got=b""):
        super().__init__("%s after %d bytes" % (how, len(got)))
        self.how = how
        self.got = got


class Message:
    """One request or response: its head as sent, and its body."""

    def __init__(self, raw):
        self.raw = raw
        lines = raw[:-4].split(b"\r\n")
        self.start = lines[0]
        self.headers = []
        for line in lines[1:]:
            name, _, value = line.partition(b":")
            self.headers.append((name, value.strip(b" \t")))
        self.body = b""
        self.digest = None  # of a body that was too big to keep
        self.n_body = 0
        self.chunks = []
        self.trailers = []

    def all(self, name):
        name = name.lower()
        return [v for n, v in self.headers if n.lower() == name]

    def get(self, name, default=None):
        values = self.all(name)
        return values[0] if values else default

    def without(self, names=FRAMING):
        """The headers in order, less those of `names` (lower case) and
        those that Connection names."""
        dropped = set(names)
        for value in self.all(b"connection"):
            dropped |= {v.strip().lower() for v in value.split(b",")}
        return [(n, v) for n, v in self.headers if n.lower() not in dropped]

    @property
    def is_chunked(self):
        return self.get(b"transfer-encoding", b"").lower() == b"chunked"


class Request(Message):
    @property
    def method(self):
        return self.start.split(b" ")[0]

    @property
    def target(self):
        return self.start.split(b" ")[1]


class Response(Message):
    @property
    def status(self):
        return int(self.start.split(b" ")[1])

    @property
    def error(self):
        """The kind, where turnmeter itself answered, else None."""
        return self.get(b"x-turnmeter-error")


class Wire:
    """A connected socket and what was read from it but not yet taken."""

    def __init__(self, sock):
        self.sock = sock
        self.sock.settimeout(TIMEOUT)
        self.buffer = b""

    def send(self, data):
        self.sock.sendall(data)

    def fill(self):
        """Reads once; False at the end."""
        try:
            data = self.sock.recv(1 << 16)
        except socket.timeout:
            raise Broken("timeout", self.buffer) from None
        except (ConnectionResetError, BrokenPipeError):
            raise Broken("rst", self.buffer) from None
        except OSError as error:  # TLS: a cut without close_notify
            raise Broken("fin" if "EOF" in str(error) else "rst",
                         self.buffer) from None
        self.buffer += data
        return data != b""

    def until(self, mark):
        while mark not in self.buffer:
            if not self.fill():
                raise Broken("fin", self.buffer)
        end = self.buffer.index(mark) + len(mark)
        taken, self.buffer = self.buffer[:end], self.buffer[end:]
        return taken

    def exactly(self, n):
        while len(self.buffer) < n:
            if not self.fill():
                raise Broken("fin", self.buffer)
        taken, self.buffer = self.buffer[:n], self.buffer[n:]
        return taken

    def some(self, n_max=1 << 30):
        """At least one byte, as soon as there is one; b"" at the end."""
        if not self.buffer and not self.fill():
            return b""
        taken, self.buffer = self.buffer[:n_max], self.buffer[n_max:]
        return taken

    def rest(self):
        """All until the peer ends its half."""
        while self.fill():
            pass
        taken, self.buffer = self.buffer, b""
        return taken

    def wait_closed(self, timeout=TIMEOUT):
        """How the peer went away: fin, rst, or timeout (it did not)."""
        self.sock.settimeout(timeout)
        try:
            while self.fill():
                self.buffer = b""
        except Broken as broken:
            return broken.how
        finally:
            self.sock.settimeout(TIMEOUT)
        return "fin"

    def shutdown(self):
        """Ends our half only."""
        self.sock.shutdown(socket.SHUT_WR)

    def reset(self):
        """Closes with RST."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                             struct.pack("ii", 1, 0))
        self.sock.close()

    def close(self):
        self.sock.close()

    # Bodies, piece by piece.

    def body_pieces(self, message, has_body=True, to_end=False):
        """Yields the body as it arrives; message.chunks and .trailers are
        filled on the way. `to_end`: a body without framing runs to the
        peer's end."""
        if not has_body:
            return
        if message.is_chunked:
            yield from self._chunks(message)
        elif message.get(b"content-length") is not None:
            left = int(message.get(b"content-length"))
            while left > 0:
                piece = self.some(left)
                if not piece:
                    raise Broken("fin", message.body)
                left -= len(piece)
                yield piece
        elif to_end:
            while True:
                piece = self.some()
                if not piece:
                    return
                yield piece

    def _chunks(self, message):
        while True:
            size = int(self.until(b"\r\n").split(b";")[0], 16)
            if size == 0:
                break
            chunk = self.exactly(size)
            assert self.exactly(2) == b"\r\n", "a chunk's size is wrong"
            message.chunks.append(len(chunk))
            yield chunk
        while True:
            line = self.until(b"\r\n")
            if line == b"\r\n":
                return
            name, _, value = line.rstrip(b"\r\n").partition(b":")
            message.trailers.append((name, value.strip()))

    def take_body(self, message, keep=True, **how):
        """The whole body into message.body, or only its digest."""
        digest = hashlib.sha256()
        parts = []
        try:
            for piece in self.body_pieces(message, **how):
                message.n_body += len(piece)
                digest.update(piece)
                if keep:
                    parts.append(piece)
        except Broken as broken:
            message.body = b"".join(parts)
            broken.got = message.body
            raise
        message.body = b"".join(parts)
        message.digest = digest.hexdigest()
        return message


class Client(Wire):
    """A client that sends exactly the bytes it is told to."""

    def __init__(self, port, host="127.0.0.1"):
        self.port = port
        super().__init__(socket.create_connection((host, port), TIMEOUT))
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()

    def request(self, method, target, headers=(), body=None, framing=True):
        """Sends a well-formed request. `headers` are pairs, or whole lines
        as bytes."""
        self.send(head(method, target, self.port, headers, body, framing)
                  + (body or b""))

    def head(self):
        """The next response's head; interim answers are returned too."""
        return Response(self.until(b"\r\n\r\n"))

    def response(self, method=b"GET", keep=True):
        """The next final response, whole. What it must not have (a body
        after HEAD, 204, 304) is not read: it would spoil the next one."""
        response = self.head()
        while response.status < 200:
            response = self.head()
        has_body = method != b"HEAD" and response.status not in (204, 304)
        return self.take_body(response, keep, has_body=has_body, to_end=True)

    def ask(self, method, target, headers=(), body=None, **how):
        """One exchange."""
        self.request(method, target, headers, body)
        return self.response(method, **how)


def head(method, target, port, headers=(), body=None, framing=True):
    lines = [method + b" " + target + b" HTTP/1.1",
             b"Host: 127.0.0.1:%d" % port]
    for header in headers:
        lines.append(header if isinstance(header, bytes)
                     else header[0] + b": " + header[1])
    if framing and body is not None:
        lines.append(b"Content-Length: %d" % len(body))
    return b"\r\n".join(lines) + b"\r\n\r\n"


def chunked(body, sizes=(1 << 16,), trailers=()):
    """Body in chunks of the given sizes, the last size repeated."""
    out = []
    at = i = 0
    while at < len(body):
        n = sizes[min(i, len(sizes) - 1)]
        piece = body[at:at + n]
        out.append(b"%x\r\n%s\r\n" % (len(piece), piece))
        at += n
        i += 1
    out.append(b"0\r\n")
    out.extend(b"%s: %s\r\n" % pair for pair in trailers)
    out.append(b"\r\n")
    return b"".join(out)


def noise(n, seed=0):
    """n bytes that compress badly and repeat from run to run."""
    return random.Random(seed).randbytes(n)


def until(condition, what, timeout=TIMEOUT):
    """Waits for what happens in another process, where no event can tell.
    Never a barrier between steps of one test: those use events."""
    end = time.monotonic() + timeout
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < end, "still not: " + what
        time.sleep(0.002)
