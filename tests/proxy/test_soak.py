# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the turnmeter authors
"""A long mixed load: nothing grows, nothing is lost. Suite `soak`."""
import os
import random
import threading
import time

import shapes
from daemon import IS_SANITIZED
from test_kill import respond
from wire import Broken, until

SECONDS = float(os.environ.get("TURNMETER_SOAK_SECONDS", "60"))
SEED = int(os.environ.get("TURNMETER_SEED", "20261130"))


def one(daemon, client, rng, name):
    """One exchange, whole or left at some point; true where it was whole
    on a connection that goes on."""
    is_stream = rng.random() < 0.5
    client.request(b"POST", shapes.CHAT_PATH, body=shapes.chat_request(
        is_stream, model=name, text="x" * rng.randrange(20_000)))
    if rng.random() < 0.05:
        client.reset()
        return False
    response = client.head()
    assert response.status == 200
    for i, _ in enumerate(client.body_pieces(response)):
        if i == 2 and rng.random() < 0.1:
            client.close()
            return False
    return True


def work(daemon, number, end, whole):
    rng = random.Random(SEED + number)
    client = daemon.client()
    i = 0
    while time.monotonic() < end:
        name = "m-%d-%d" % (number, i)
        i += 1
        if one(daemon, client, rng, name):
            whole.append(name)
        else:
            client = daemon.client()
        # A pace at which the store keeps up; the journal is not tested here.
        time.sleep(rng.random() * 0.02)
    client.close()


def n_fds(daemon):
    return len(os.listdir("/proc/%d/fd" % daemon.pid))


def test_soak(daemon, up):
    """Goal: after a warm-up neither memory nor descriptors grow, no
    exchange hangs, and each whole one has its row."""
    def keep(connection):
        while True:
            request = connection.take()
            if request is None:
                return
            # Only the daemon's memory is to stand still, but the test's
            # must not run away either.
            up.requests.clear()
            connection.requests.clear()
            connection.send(respond(request))

    up.script(keep)
    whole = []
    failures = []

    def guarded(number, end):
        try:
            work(daemon, number, end, whole)
        except (AssertionError, Broken, OSError) as failure:
            failures.append(failure)

    def round_of(seconds, first):
        end = time.monotonic() + seconds
        threads = [threading.Thread(target=guarded, args=(first + i, end))
                   for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        until(lambda: daemon.health()["exchanges"]["in_flight"] == 0,
              "nothing in flight")

    round_of(SECONDS / 4, 0)
    rss, fds = daemon.rss_kib(), n_fds(daemon)
    round_of(SECONDS * 3 / 4, 100)
    assert failures == []
    grown = daemon.rss_kib() - rss
    assert grown < 4096 or IS_SANITIZED, "%d KiB" % grown
    assert n_fds(daemon) <= fds + 8
    stored = {t["model"]: t for t in daemon.final_turns()}
    missing = [name for name in whole if name not in stored]
    assert missing == [], "%d of %d lost" % (len(missing), len(whole))
    assert {stored[name]["outcome"] for name in whole} == {"ok"}
    assert daemon.integrity() == "ok"
