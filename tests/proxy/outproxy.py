# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the turnmeter authors
"""outproxy: a small forward proxy, CONNECT and absolute form."""
import socket
import threading

from upstream import Upstream
from wire import TIMEOUT


class OutProxy(Upstream):
    """Records each request's head, then connects to where it is told;
    names that are no addresses stand for `names_are`, a port here."""

    def __init__(self, names_are=None):
        super().__init__()
        self.names_are = names_are
        self.script(self._serve)

    def _serve(self, connection):
        request = connection.head()
        if request is None:
            return
        if request.method == b"CONNECT":
            authority = request.target
            first = b""
        else:
            authority, _, path = request.target.partition(
                b"//")[2].partition(b"/")
            first = request.raw.replace(request.target, b"/" + path, 1)
        host, _, port = authority.rpartition(b":")
        if b".example" in authority:
            host, port = b"127.0.0.1", self.names_are
        far = socket.create_connection((host.strip(b"[]").decode(),
                                        int(port)), TIMEOUT)
        if request.method == b"CONNECT":
            connection.send(b"HTTP/1.1 200 Connected\r\n\r\n")
        far.sendall(first + connection.buffer)
        back = threading.Thread(target=pump, args=(far, connection.sock),
                                daemon=True)
        back.start()
        pump(connection.sock, far)
        back.join(TIMEOUT)
        far.close()


def pump(source, sink):
    try:
        while True:
            data = source.recv(65_536)
            if not data:
                break
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        pass
