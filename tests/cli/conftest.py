# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the turnmeter authors
"""Fixtures of the command line's tests: a home of one's own, a database made
from rows, the program as a process, with pipes or on a terminal."""
import json
import os
import subprocess

import pytest

import rows
from feed import Feed
from terminal import Terminal

BIN = os.environ.get("TURNMETER_BIN", "")
MAKE_DB = os.environ.get("TURNMETER_MAKE_DB", "")
TIMEOUT = float(os.environ.get("TURNMETER_TEST_TIMEOUT", "15"))


def pytest_sessionstart(session):
    for program in (BIN, MAKE_DB):
        if not os.access(program, os.X_OK):
            pytest.exit("no program at '%s': run it through meson" % program,
                        2)


class Home:
    """A home folder and the environment that goes with it."""

    def __init__(self, path):
        self.path = path
        self.bin = path / "bin"
        self.bin.mkdir(parents=True)
        self.config = path / ".config/turnmeter/turnmeter.conf"
        self.config.parent.mkdir(parents=True)
        self.state = path / ".local/state/turnmeter"
        self.state.mkdir(parents=True, mode=0o700)
        self.database = self.state / "turnmeter.db"
        self.env = {
            "HOME": str(path),
            "PATH": "%s:/usr/bin:/bin" % self.bin,
            "TZ": "UTC",
            "LC_ALL": "C",
            "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", ""),
        }

    def configure(self, text):
        self.config.write_text(text)

    def listen(self, port):
        self.configure('listen = "127.0.0.1:%d"\n' % port)

    def turns(self, turns):
        """Writes rows into the database, by the product's own writer."""
        text = "".join(json.dumps(t) + "\n" for t in turns)
        subprocess.run([MAKE_DB, str(self.database)], input=text, text=True,
                       check=True, timeout=TIMEOUT)

    def run(self, *args, env=None, **how):
        """Runs a command to its end."""
        how.setdefault("stdin", subprocess.DEVNULL)
        if "input" in how:
            del how["stdin"]
        return subprocess.run([BIN, *map(str, args)], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env={**self.env, **(env or {})},
                              timeout=TIMEOUT, **how)

    def start(self, *args, env=None):
        """Starts a command with pipes."""
        return subprocess.Popen([BIN, *map(str, args)], text=True,
                                stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                env={**self.env, **(env or {})})

    def terminal(self, *args, columns=80, env=None):
        """Starts a command on a terminal of its own."""
        return Terminal([BIN, *map(str, args)],
                        {**self.env, "TERM": "xterm", **(env or {})}, columns,
                        TIMEOUT)


@pytest.fixture
def home(tmp_path):
    return Home(tmp_path / "home")


@pytest.fixture
def feed():
    made = Feed()
    yield made
    made.close()


@pytest.fixture
def example():
    return rows.example
