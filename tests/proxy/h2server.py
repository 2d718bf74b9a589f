# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the turnmeter authors
"""h2server: an HTTP/2 upstream over TLS, one thread a connection."""
import threading

import h2.config
import h2.connection
import h2.events
import h2.exceptions

from wire import TIMEOUT


class Exchange:
    """One request as it came, and the means to answer it."""

    def __init__(self, session, stream, headers):
        self.session = session
        self.stream = stream
        self.headers = [(bytes(n), bytes(v)) for n, v in headers]
        self.body = b""
        self.is_whole = False
        self.was_reset = threading.Event()

    def get(self, name):
        return dict(self.headers).get(name)

    def respond(self, headers, body=b"", end=True):
        self.session.act(lambda c: c.send_headers(
            self.stream, headers, end_stream=end and not body))
        if body:
            self.send(body, end)

    def send(self, data, end=False):
        """Within the peer's window; tests here send less than it."""
        size = 16_384
        parts = [data[i:i + size] for i in range(0, len(data), size)] or [b""]
        for i, part in enumerate(parts):
            self.session.act(lambda c, p=part, last=i == len(parts) - 1:
                             c.send_data(self.stream, p,
                                         end_stream=end and last))

    def trailers(self, headers):
        self.session.act(lambda c: c.send_headers(self.stream, headers,
                                                  end_stream=True))

    def reset(self, code=2):
        self.session.act(lambda c: c.reset_stream(self.stream, code))


class Session:
    def __init__(self, upstream, connection):
        self.upstream = upstream
        self.wire = connection
        self.lock = threading.Lock()
        self.exchanges = {}
        self.is_closed = threading.Event()
        self.h2 = h2.connection.H2Connection(h2.config.H2Configuration(
            client_side=False, header_encoding=None))

    def act(self, what):
        with self.lock:
            what(self.h2)
            data = self.h2.data_to_send()
            if data:
                self.wire.send(data)

    def run(self, respond):
        self.act(lambda c: c.initiate_connection())
        self.wire.sock.settimeout(TIMEOUT * 4)
        while True:
            try:
                data = self.wire.some()
            except OSError:
                data = b""
            if not data:
                self.is_closed.set()
                break
            try:
                with self.lock:
                    events = self.h2.receive_data(data)
            except h2.exceptions.ProtocolError:
                break  # a word that crossed our goodbye
            for event in events:
                self.take(event, respond)
            self.act(lambda c: None)

    def take(self, event, respond):
        if isinstance(event, h2.events.RequestReceived):
            exchange = Exchange(self, event.stream_id, event.headers)
            self.exchanges[event.stream_id] = exchange
            self.upstream.exchanges.append(exchange)
        elif isinstance(event, h2.events.DataReceived):
            self.exchanges[event.stream_id].body += event.data
            self.act(lambda c: c.acknowledge_received_data(
                event.flow_controlled_length, event.stream_id))
        elif isinstance(event, h2.events.StreamEnded):
            exchange = self.exchanges[event.stream_id]
            exchange.is_whole = True
            threading.Thread(target=self.answer, args=(respond, exchange),
                             daemon=True).start()
        elif isinstance(event, h2.events.StreamReset):
            self.exchanges[event.stream_id].was_reset.set()

    def answer(self, respond, exchange):
        try:
            respond(exchange)
        except OSError:
            pass
        except BaseException as failure:  # noqa: shown by check()
            self.upstream.failures.append(failure)


def serve(upstream, respond):
    """Lets a TLS `upstream` (context with alpn h2) answer every stream
    with respond(exchange), each in a thread of its own."""
    upstream.exchanges = []

    def script(connection):
        assert connection.sock.selected_alpn_protocol() == "h2"
        Session(upstream, connection).run(respond)

    upstream.script(script)
