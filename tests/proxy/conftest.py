# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the turnmeter authors
"""Fixtures: what a test asks for is stopped and checked when it ends."""
import os
import shutil
import subprocess

import pytest

import tls
from daemon import BIN, Daemon
from upstream import Upstream


def pytest_sessionstart(session):
    if not os.access(BIN, os.X_OK):
        pytest.exit("no program at %s: set TURNMETER_BIN" % BIN, 2)


@pytest.fixture
def new_upstream():
    made = []

    def new(**how):
        made.append(Upstream(**how))
        return made[-1]

    yield new
    for upstream in made:
        upstream.close()
    for upstream in made:
        upstream.check()


@pytest.fixture
def up(new_upstream):
    """One plain upstream."""
    return new_upstream()


@pytest.fixture
def new_daemon(tmp_path):
    made = []

    def new(upstreams=None, config="", **how):
        made.append(Daemon(tmp_path / ("d%d" % len(made)), upstreams, config,
                           **how))
        return made[-1]

    yield new
    failures = []
    for daemon in made:
        try:
            # A sanitiser's report ends the process with a status of its own.
            daemon.stop()
        except AssertionError as failure:
            failures.append(failure)
    if failures:
        raise failures[0]


@pytest.fixture
def daemon(new_daemon, up):
    """A daemon in front of `up`, called up; the URL has no path, so that
    targets pass as they are."""
    return new_daemon({"up": up.url}).start()


@pytest.fixture(scope="session")
def authority(tmp_path_factory):
    """A certificate authority of this run, or a skip without openssl."""
    if shutil.which("openssl") is None:
        pytest.skip("needs the openssl command")
    return tls.Authority(tmp_path_factory.mktemp("ca"))


@pytest.fixture(scope="session")
def turnmeter():
    """Runs a command of the program."""
    def run(*args, **how):
        return subprocess.run([BIN, *args], capture_output=True, text=True,
                              timeout=30, check=False, **how)
    return run
