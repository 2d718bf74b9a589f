# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the turnmeter authors
"""What the client saw finish is in the database (Law 5)."""
import os
import sqlite3
import stat
import threading
import time

import pytest

import shapes
from daemon import IS_SANITIZED
from upstream import reply
from wire import TIMEOUT, until


class Load:
    """Clients that ask one after the other, at a pace that a journal can
    hold for seconds, and remember what they saw finish. Each request carries
    a name of its own as the model."""

    def __init__(self, daemon, n_threads=8, pause=0.02):
        self.pause = pause
        self.daemon = daemon
        self.seen = []
        self.delays = []
        self.stopping = threading.Event()
        self.threads = [threading.Thread(target=self._run, args=(i,))
                        for i in range(n_threads)]
        for thread in self.threads:
            thread.start()

    def _run(self, number):
        with self.daemon.client() as client:
            i = 0
            while not self.stopping.wait(self.pause):
                name = "m-%d-%d" % (number, i)
                start = time.monotonic()
                response = client.ask(
                    b"POST", shapes.CHAT_PATH,
                    body=shapes.chat_request(False, model=name))
                assert response.status == 200
                self.delays.append(time.monotonic() - start)
                self.seen.append(name)
                i += 1

    def stop(self):
        self.stopping.set()
        for thread in self.threads:
            thread.join(TIMEOUT)


def models(daemon):
    return sorted(t["model"] for t in daemon.turns())


def lock(daemon):
    db = sqlite3.connect(daemon.database, isolation_level=None,
                         timeout=TIMEOUT)
    db.execute("BEGIN IMMEDIATE")
    return db


def test_a_locked_database(daemon, up):
    """Goal: another program holds the database for 3 s under load: no row
    is lost, no request waits for it."""
    up.answers(reply(shapes.chat_json()))
    daemon.ask(b"POST", shapes.CHAT_PATH,
               body=shapes.chat_request(False, model="first"))
    daemon.wait_turns(1)
    load = Load(daemon)
    until(lambda: len(load.seen) > 50, "the load")
    db = lock(daemon)
    time.sleep(3)  # the length of the lock is what is tested
    during = len(load.seen)
    db.execute("ROLLBACK")
    db.close()
    load.stop()
    assert during > 100, "the relay stood still"
    assert max(load.delays) < (10 if IS_SANITIZED else 1.5), \
        max(load.delays)
    daemon.stop()
    assert models(daemon) == sorted(load.seen + ["first"])
    assert daemon.integrity() == "ok"


def test_locked_at_the_end(new_daemon, up):
    """Goal: a database locked while the daemon ends keeps the rows for
    the next start."""
    up.answers(reply(shapes.chat_json()))
    daemon = new_daemon({"up": up.url}, 'shutdown_grace = "1s"').start()
    daemon.ask(b"POST", shapes.CHAT_PATH,
               body=shapes.chat_request(False, model="a"))
    daemon.wait_turns(1)
    db = lock(daemon)
    for name in "bcd":
        daemon.ask(b"POST", shapes.CHAT_PATH,
                   body=shapes.chat_request(False, model=name))
    daemon.kill()
    db.execute("ROLLBACK")
    db.close()
    daemon.start()
    daemon.wait_turns(4)
    daemon.stop()
    assert models(daemon) == list("abcd")


def test_replay_is_harmless(new_daemon, up):
    """Goal: kill -9 after everything was written and twice again: each row
    once."""
    up.answers(reply(shapes.chat_json()))
    daemon = new_daemon({"up": up.url}).start()
    for name in ("a", "b"):
        daemon.ask(b"POST", shapes.CHAT_PATH,
                   body=shapes.chat_request(False, model=name))
    daemon.wait_turns(2)
    for _ in range(3):
        daemon.kill()
        daemon.start()
        daemon.health()
    daemon.stop()
    assert models(daemon) == ["a", "b"]


def test_a_pinned_reader(daemon, up):
    """Goal: someone's long read transaction delays nothing."""
    up.answers(reply(shapes.chat_json()))
    daemon.ask(b"POST", shapes.CHAT_PATH, body=shapes.chat_request(False))
    daemon.wait_turns(1)
    reader = sqlite3.connect(daemon.database, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM turns").fetchone()
    for _ in range(20):
        daemon.ask(b"POST", shapes.CHAT_PATH,
                   body=shapes.chat_request(False))
    daemon.wait_turns(21)
    assert reader.execute("SELECT count(*) FROM turns").fetchone() == (1,)
    reader.close()


def test_a_state_folder_that_cannot_be_written(new_daemon, up, tmp_path):
    """Goal: metering never harms relaying: the relay works, or the start
    is refused with a message; no silent loss."""
    if os.geteuid() == 0:
        folder = "/proc/nonexistent"
    else:
        folder = str(tmp_path / "locked")
        os.mkdir(folder, stat.S_IRUSR | stat.S_IXUSR)
    up.answers(reply(b"ok"))
    daemon = new_daemon({"up": up.url})
    daemon.database = folder + "/turnmeter.db"
    daemon.write_config({"up": up.url})
    daemon.launch()
    until(lambda: os.path.exists(daemon.port_file)
          or daemon.process.poll() is not None, "start")
    if daemon.process.poll() is None:
        daemon.read_port()
        assert daemon.ask(b"POST", b"/up/x", body=b"a").body == b"ok"
        daemon.kill()
    else:
        assert daemon.wait() == 1
    assert folder in daemon.log()


@pytest.mark.parametrize("kind", ["garbage", "empty", "newer"])
def test_a_database_that_is_none(new_daemon, up, kind):
    """Goal: a broken or newer file is never overwritten; an empty one is
    made use of."""
    daemon = new_daemon({"up": up.url})
    if kind == "garbage":
        content = b"this is not a database\n" * 1000
        with open(daemon.database, "wb") as file:
            file.write(content)
    elif kind == "empty":
        with open(daemon.database, "wb"):
            pass
    else:
        db = sqlite3.connect(daemon.database)
        db.execute("PRAGMA user_version = 99999")
        db.execute("CREATE TABLE future (x)")
        db.commit()
        db.close()
    daemon.launch()
    until(lambda: os.path.exists(daemon.port_file)
          or daemon.process.poll() is not None, "start")
    if daemon.process.poll() is None:
        daemon.read_port()
        assert daemon.ask(b"POST", b"/up/x", body=b"a").status == 200
        if kind != "empty":
            daemon.kill()
        else:
            assert len(daemon.final_turns()) == 1
    else:
        assert kind != "empty"
        assert daemon.wait() == 1
        assert daemon.database in daemon.log()
    if kind == "garbage":
        kept = [p for p in daemon.state_files()
                if os.path.getsize(p) == len(content)]
        assert kept, "the user's file is gone"
