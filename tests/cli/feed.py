# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the turnmeter authors
"""A stand-in for the daemon: health, and a feed that says what it is told."""
import json
import queue
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

HEALTH = {"v": 1, "status": "ok", "version": "0.0.0", "uptime_s": 61.5,
          "listen": "127.0.0.1", "upstreams": 3,
          "exchanges": {"total": 5, "in_flight": 1, "connections": 2,
                        "refused": 0},
          "store": {"written": 5, "waiting": 0, "lost": 0, "failing": False,
                    "reason": None},
          "journal": {"free": 4096, "errors": 0},
          "feed": {"readers": 1, "dropped": 0}}


class Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True


class Feed:
    def __init__(self, port=0, health=HEALTH):
        feed = self
        self.health = health
        self.resumes = queue.Queue()  # Last-Event-ID of each reader, or None
        self.readers = []
        self.lock = threading.Lock()

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                if self.path == "/_turnmeter/health":
                    feed.serve_health(self)
                elif self.path == "/_turnmeter/events":
                    feed.serve_events(self)
                else:
                    self.send_error(404)

            def log_message(self, *args):
                pass

        self.server = Server(("127.0.0.1", port), Handler)
        self.port = self.server.server_address[1]
        self.thread = threading.Thread(target=self.server.serve_forever,
                                       kwargs={"poll_interval": 0.01})
        self.thread.start()

    def serve_health(self, handler):
        body = json.dumps(self.health).encode()
        handler.send_response(200)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    def serve_events(self, handler):
        events = queue.Queue()
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.end_headers()
        handler.wfile.flush()
        with self.lock:
            self.readers.append(events)
        self.resumes.put(handler.headers.get("Last-Event-ID"))
        while True:
            text = events.get()
            if text is None:
                return
            try:
                handler.wfile.write(text.encode())
                handler.wfile.flush()
            except OSError:
                return

    def resumed(self, timeout):
        """Waits for the next reader; where it wants to go on."""
        return self.resumes.get(timeout=timeout)

    def send(self, text):
        with self.lock:
            for events in self.readers:
                events.put(text)

    def event(self, name, turn):
        head = "id: %d\n" % turn["seq"] if name == "finished" else ""
        data = json.dumps({"v": 1, "event": name, **turn})
        self.send("%sevent: %s\ndata: %s\n\n" % (head, name, data))

    def notice(self, level, text):
        data = json.dumps({"v": 1, "event": "notice", "level": level,
                           "text": text})
        self.send("event: notice\ndata: %s\n\n" % data)

    def close(self):
        """Ends every reader, then no longer listens."""
        self.send(None)
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()
