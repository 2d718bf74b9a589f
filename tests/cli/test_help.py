# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the turnmeter authors
"""Help, usage, exit statuses, and man pages that say the same."""
import os
import pathlib
import re
import subprocess

import pytest

from conftest import BIN, TIMEOUT

SOURCE = pathlib.Path(os.environ["TURNMETER_SOURCE"])
MINE = ["config", "connect", "db", "doctor", "env", "explain", "run", "serve",
        "sim", "status", "tail", "turns"]


def commands(home):
    out = home.run("--help").stdout
    return re.findall(r"^  (\w+) ", out, re.M)


def test_every_command_has_help(home):
    names = commands(home)
    assert set(MINE) <= set(names)
    for name in names:
        done = home.run(name, "--help")
        assert done.returncode == 0 and done.stderr == ""
        assert done.stdout.startswith("usage: turnmeter " + name)
        assert "--config FILE" in done.stdout
        assert "exit status: 0 done" in done.stdout
        assert [x for x in done.stdout.splitlines() if len(x) > 80] == []


@pytest.mark.parametrize("args", [
    ["nosuch"], ["turns", "--nosuch"], ["turns", "--since"],
    ["turns", "extra"], ["turns", "--since", "tomorrow"],
    ["turns", "--until", "2026-13"], ["turns", "-n", "x"],
    ["turns", "-n", "-3"], ["turns", "--sort", "nosuch"],
    ["turns", "--kind", "nosuch"], ["turns", "--tz", "Europe/Nowhere"],
    ["explain"], ["explain", "1", "2"], ["tail", "--sort", "model"],
    ["run"], ["connect"], ["connect", "nosuch"], ["connect", "gemini"],
    ["status", "x"], ["doctor", "x"],
])
def test_wrong_usage_is_2(home, args):
    done = home.run(*args)
    assert done.returncode == 2
    assert done.stdout == ""
    assert "turnmeter" in done.stderr


@pytest.mark.parametrize("args, said", [
    (["turns", "-xy"], "unknown option -x "),
    (["turns", "--nosuch"], "unknown option --nosuch "),
    (["turns", "--json=1"], "--json=1: it takes no value "),
    (["turns", "-n"], "-n needs a value "),
    (["turns", "--since"], "--since needs a value "),
])
def test_complaint_names_the_option(home, args, said):
    assert home.run(*args).stderr.startswith("turnmeter turns: " + said)


@pytest.mark.parametrize("args", [
    ["--help"], ["turns", "--help"], ["turns"], ["turns", "--json"],
    ["tail", "--no-follow"], ["explain", "LAST"], ["db", "check"],
    ["config", "show"], ["config", "check"], ["env"],
    ["doctor", "--privacy"],
])
def test_output_that_is_not_written_is_1(home, example, args):
    """A full disk behind `> FILE` is a failure, and not a silent one."""
    home.turns([example(1)])
    with open("/dev/full", "w") as full:
        done = subprocess.run([BIN, *args], env=home.env, text=True,
                              stdin=subprocess.DEVNULL, stdout=full,
                              stderr=subprocess.PIPE, timeout=TIMEOUT)
    assert done.returncode == 1
    assert "the output was not written" in done.stderr


def test_broken_configuration_is_1(home):
    home.configure("nosuch = 1\n")
    for args in (["turns"], ["tail"], ["status"], ["env"], ["doctor"],
                 ["connect", "codex"], ["run", "true"]):
        done = home.run(*args)
        assert done.returncode == 1
        assert "turnmeter.conf:1:" in done.stderr


@pytest.mark.parametrize("name", MINE)
def test_man_page_has_every_option(home, name):
    text = (SOURCE / "docs/man" / ("turnmeter-%s.1" % name)).read_text()
    shown = home.run(name, "--help").stdout
    page = text.replace("\\-", "-")
    for option in re.findall(r"--([a-z-]+)", shown.split("options:")[1]):
        assert re.search(r"(Fl -|Fl Fl |, -)%s\b" % option, page), option


def test_overview_has_every_command(home):
    text = (SOURCE / "docs/man/turnmeter.1").read_text()
    for name in MINE:
        assert "turnmeter-%s 1" % name in text
