# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the turnmeter authors
"""daemon: one `turnmeter serve` with a state folder of its own."""
import glob
import json
import os
import signal
import sqlite3
import subprocess

from wire import TIMEOUT, Client, until

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
BIN = os.environ.get("TURNMETER_BIN",
                     os.path.join(ROOT, "build", "turnmeter"))
# A sanitised build is slow and big on purpose.
IS_SANITIZED = os.environ.get("TURNMETER_SANITIZED", "") not in ("", "0")


class Daemon:
    def __init__(self, folder, upstreams=None, config="", settings=(),
                 env=None, listen="127.0.0.1:0"):
        self.folder = str(folder)
        os.makedirs(self.folder, exist_ok=True)
        self.database = os.path.join(self.folder, "turnmeter.db")
        self.config_file = os.path.join(self.folder, "turnmeter.conf")
        self.port_file = os.path.join(self.folder, "port")
        self.log_file = os.path.join(self.folder, "log")
        self.listen = listen
        self.settings = list(settings)
        self.env = {
            "PATH": os.environ.get("PATH", ""),
            "HOME": self.folder,
            "XDG_STATE_HOME": self.folder,
            "XDG_CONFIG_HOME": self.folder,
            "LANG": "C.UTF-8",
        }
        for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS",
                     "LSAN_OPTIONS"):
            if name in os.environ:
                self.env[name] = os.environ[name]
        self.env.update(env or {})
        self.write_config(upstreams or {}, config)
        self.process = None
        self.port = None
        self.pid = None

    def write_config(self, upstreams, config=""):
        """`upstreams`: name -> URL, or name -> dict of keys."""
        lines = ['listen = "%s"' % self.listen,
                 'database = "%s"' % self.database, config]
        for name, keys in upstreams.items():
            if isinstance(keys, str):
                keys = {"url": keys}
            lines.append("upstream %s {" % name)
            lines += ['\t%s = "%s"' % pair for pair in keys.items()]
            lines.append("}")
        with open(self.config_file, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")

    def launch(self):
        """Starts it and does not wait."""
        if os.path.exists(self.port_file):
            os.unlink(self.port_file)
        command = [BIN, "serve", "--config", self.config_file, "--port-file",
                   self.port_file]
        for setting in self.settings:
            command += ["--set", setting]
        with open(self.log_file, "ab") as log:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env=self.env, cwd=self.folder)
        self.pid = self.process.pid
        return self

    def start(self):
        self.launch()
        until(lambda: os.path.exists(self.port_file)
              or self.process.poll() is not None, "ready: " + self.log())
        assert self.process.poll() is None, self.log()
        return self.read_port()

    def read_port(self):
        with open(self.port_file, encoding="ascii") as file:
            self.port = int(file.read())
        return self

    def stop(self, expect=0):
        """Ends it in the proper way and checks that it ended so."""
        if self.process is None:
            return
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            status = self.process.wait(TIMEOUT)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError("SIGTERM did not end it: "
                                 + self.log()) from None
        self.process = None
        assert status == expect, "status %d: %s" % (status, self.log())

    def kill(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def signal(self, number):
        self.process.send_signal(number)

    def wait(self):
        status = self.process.wait(TIMEOUT)
        self.process = None
        return status

    def log(self):
        try:
            with open(self.log_file, encoding="utf-8",
                      errors="replace") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    # What it answers.

    def client(self):
        host = "::1" if self.listen.startswith("[") else "127.0.0.1"
        return Client(self.port, host)

    def ask(self, method, target, headers=(), body=None, **how):
        with self.client() as client:
            return client.ask(method, target, headers, body, **how)

    def health(self):
        response = self.ask(b"GET", b"/_turnmeter/health")
        assert response.status == 200, response.raw
        return json.loads(response.body)

    # What it stored.

    def turns(self, where="1"):
        """The rows there are, as dicts in order of finishing."""
        if not os.path.exists(self.database):
            return []
        db = sqlite3.connect("file:%s?mode=ro" % self.database, uri=True,
                             timeout=TIMEOUT)
        try:
            db.row_factory = sqlite3.Row
            return [dict(row) for row in db.execute(
                "SELECT * FROM turns WHERE %s ORDER BY seq" % where)]
        except sqlite3.OperationalError as error:
            if "no such table" in str(error):
                return []
            raise
        finally:
            db.close()

    def tools(self, seq):
        """The child rows of one turn: name -> its numbers."""
        db = sqlite3.connect(self.database, timeout=TIMEOUT)
        try:
            db.row_factory = sqlite3.Row
            return {row["name"]: {key: row[key] for key in (
                "calls", "result_bytes", "result_errors")}
                for row in db.execute(
                    "SELECT * FROM turn_tools WHERE turn_seq = ?", (seq,))}
        finally:
            db.close()

    def wait_turns(self, n, where="1"):
        until(lambda: len(self.turns(where)) >= n,
              "%d turns in the database" % n)
        return self.turns(where)

    def final_turns(self, where="1"):
        """Ends it, and reads what it left: all of it, and no more."""
        self.stop()
        return self.turns(where)

    def final_turn(self):
        turns = self.final_turns()
        assert len(turns) == 1, [(t["method"], t["path"], t["outcome"])
                                 for t in turns]
        return turns[0]

    def integrity(self):
        db = sqlite3.connect(self.database, timeout=TIMEOUT)
        try:
            return db.execute("PRAGMA integrity_check").fetchone()[0]
        finally:
            db.close()

    def state_files(self):
        return [path for path in glob.glob(
            os.path.join(glob.escape(self.folder), "**", "*"),
            recursive=True) if os.path.isfile(path)]

    # What it costs.

    def status_kib(self, field):
        with open("/proc/%d/status" % self.pid, encoding="ascii") as file:
            for line in file:
                if line.startswith(field + ":"):
                    return int(line.split()[1])
        raise AssertionError(field)

    def rss_kib(self):
        return self.status_kib("VmRSS")

    def peak_kib(self):
        return self.status_kib("VmHWM")

    def cpu_s(self):
        total = 0
        for path in glob.glob("/proc/%d/task/*/schedstat" % self.pid):
            with open(path, encoding="ascii") as file:
                total += int(file.read().split()[0])
        return total / 1e9
