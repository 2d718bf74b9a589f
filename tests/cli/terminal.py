# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the turnmeter authors
"""A program on a pseudo-terminal, and what it wrote there."""
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time


class Terminal:
    def __init__(self, args, env, columns, timeout):
        self.timeout = timeout
        self.text = ""
        self.master, slave = pty.openpty()
        self.resize(columns)
        self.process = subprocess.Popen(args, stdin=slave, stdout=slave,
                                        stderr=slave, env=env, close_fds=True,
                                        start_new_session=True)
        os.close(slave)

    def resize(self, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ,
                    struct.pack("HHHH", 24, columns, 0, 0))

    def wait_for(self, pattern):
        """Reads until PATTERN was written since the last call; gives all up
        to its end."""
        until = time.monotonic() + self.timeout
        while True:
            found = re.search(pattern, self.text)
            if found:
                seen = self.text[:found.end()]
                self.text = self.text[found.end():]
                return seen
            left = until - time.monotonic()
            if left <= 0 or not select.select([self.master], [], [], left)[0]:
                raise AssertionError("no '%s' in %r" % (pattern, self.text))
            try:
                data = os.read(self.master, 65536)
            except OSError:
                data = b""
            if not data:
                raise AssertionError("ended without '%s': %r"
                                     % (pattern, self.text))
            self.text += data.decode()

    def write(self, text):
        os.write(self.master, text.encode())

    def rest(self):
        """All that is written until the program ends."""
        while True:
            try:
                data = os.read(self.master, 65536)
            except OSError:
                break
            if not data:
                break
            self.text += data.decode()
        self.process.wait(timeout=self.timeout)
        seen, self.text = self.text, ""
        return seen

    def end(self, signal):
        self.process.send_signal(signal)
        seen = self.rest()
        os.close(self.master)
        return seen
