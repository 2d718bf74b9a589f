# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the turnmeter authors
"""The documentation against the program: keys, commands, options, units."""
import json
import os
import re
import shutil
import subprocess

import pytest

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
BIN = os.environ["TURNMETER_BIN"]
CONFIG_PAGES = os.environ["TURNMETER_TEST_CONFIG_PAGES"]
UNITS = os.environ["TURNMETER_TEST_UNITS"]
MAN = os.path.join(ROOT, "docs", "man")
EXAMPLE = os.path.join(ROOT, "etc", "turnmeter.conf.example")


def read(*parts):
    with open(os.path.join(ROOT, *parts), encoding="utf-8") as source:
        return source.read()


def output(*args, **env):
    clean = {name: value for name, value in os.environ.items()
             if not name.startswith(("TURNMETER_", "XDG_"))}
    clean["HOME"] = "/nonexistent"
    clean.update(env)
    return subprocess.run(args, check=True, capture_output=True, text=True,
                          env=clean, timeout=30,
                          stdin=subprocess.DEVNULL).stdout


def commands():
    found = re.findall(r"^  (\S+) ", output(BIN, "--help"), re.MULTILINE)
    assert "config" in found
    return found


COMMANDS = commands()


# Configuration keys

def test_example_is_made_from_the_table():
    assert read(EXAMPLE) == output(CONFIG_PAGES, "example")


def test_manual_has_the_lists_of_the_table():
    assert output(CONFIG_PAGES, "man") in read(MAN, "turnmeter.conf.5")


def settings(path, **env):
    shown = output(BIN, "config", "show", "--json", "--config", path, **env)
    return [json.loads(line) for line in shown.splitlines()]


def test_example_changes_nothing_as_it_is():
    assert settings(EXAMPLE) == settings("/dev/null")


def test_example_loads_with_every_comment_removed(tmp_path):
    text = re.sub(r"^#(?=[^ #\n])", "", read(EXAMPLE), flags=re.MULTILINE)
    path = tmp_path / "turnmeter.conf"
    path.write_text(text)
    shown = settings(str(path), METER_TOKEN="abcdefghijklmnop")
    assert "abcdefghijklmnop" not in json.dumps(shown)
    from_file = {(s["section"], s["key"]) for s in shown
                 if s["origin"].startswith(str(path))}
    man = output(CONFIG_PAGES, "man")
    assert len(from_file) == man.count("\n.It Ic ")
    defaults = {s["key"]: s["value"] for s in settings("/dev/null")
                if s["origin"] == "default" and s["section"] is None}
    del defaults["database"]
    for setting in shown:
        if setting["section"] is None and setting["key"] in defaults:
            assert setting["value"] == defaults[setting["key"]]


def test_what_is_shown_reproduces_itself(tmp_path):
    first = tmp_path / "first.conf"
    first.write_text(
        'default_upstream = "lab"\n'
        'allowed_hosts = {"a.lan", \'b.lan\'}\n'
        'upstream lab { url = "http://lab:1/v1" tier = "a\\"b\\\\c \\${HOME}" '
        'proxy = "" }\n'
        'upstream openai { pace = yes }\n'
        'limit "lab/m.x" { requests = {1/min, 9/day} }\n'
        'price "lab/m" { input = 0 }\n'
        'alert x { on = {limit, error} exec = "ring \'it\'" }\n')
    shown = output(BIN, "config", "show", "--config", str(first))
    second = tmp_path / "second.conf"
    second.write_text(shown)

    def values(path):
        return [(s["section"], s["title"], s["key"], s["value"])
                for s in settings(str(path))]

    before, after = values(first), values(second)
    assert sorted(before, key=repr) == sorted(after, key=repr)
    assert ("upstream", "lab", "tier", 'a"b\\c ${HOME}') in before


def test_show_masks_secrets_and_still_loads(tmp_path):
    first = tmp_path / "first.conf"
    first.write_text(
        "token = hushhushhushhush\n"
        'upstream a { url = "http://a" proxy = "http://u:hush@p:1" }\n'
        'upstream b { url = "http://b" proxy = "http://open:1" }\n'
        'alert x { on = limit via = desktop webhook = "https://h/hush" }\n')
    shown = output(BIN, "config", "show", "--config", str(first))
    assert "hush" not in shown
    assert 'proxy = "http://open:1"' in shown
    second = tmp_path / "second.conf"
    second.write_text(shown)
    output(BIN, "config", "check", "--config", str(second))
    lines = output(BIN, "config", "show", "--json", "--config", str(first))
    assert "hush" not in lines


def test_check_tells_every_problem_and_fails(tmp_path):
    path = tmp_path / "bad.conf"
    path.write_text("lisen = 1\nidle_timeout = soon\n")
    done = subprocess.run([BIN, "config", "check", "--config", str(path)],
                          capture_output=True, text=True, timeout=30,
                          env={"HOME": "/nonexistent"},
                          stdin=subprocess.DEVNULL, check=False)
    assert done.returncode == 1
    assert done.stdout == ""
    assert "%s:1: unknown key 'lisen'\n" % path in done.stderr
    assert "%s:2: idle_timeout: " % path in done.stderr


# Commands and their pages

def options_of_help(command):
    text = output(BIN, command, "--help")
    table = text.split("\noptions:\n")[1].split("\n\n")[0]
    names = set()
    for line in table.splitlines():
        if line.startswith(" " * 20):
            continue  # the help of the option above goes on
        left = re.split(r"(?<=\S) {2,}", line.strip())[0]
        own = re.findall(r"(?<![\w-])--?[A-Za-z][\w-]*", left)
        assert own, line
        names.update(own)
    return names


def options_of_page(text):
    """Of the tags of lists: -x of `Fl x`, --name of `Fl Fl name` and of
    `Fl -name`; `Fl` holds for every word up to the next macro."""
    names = set()
    for line in re.findall(r"^\.It (Fl .*)$", text, re.MULTILINE):
        dashes = 0
        is_fresh = False
        for word in line.split():
            if word == "Fl":
                dashes = 2 if is_fresh else 1
                is_fresh = True
            elif re.fullmatch("[A-Z][a-z]", word):
                dashes = 0
            elif dashes and word != ",":
                names.add("-" * dashes + word)
                is_fresh = False
    return names


def test_options_of_page():
    assert options_of_page(
        ".It Fl Fl json\n.It Fl h , Fl Fl help\n.It Fl -set Ar KEY=VALUE\n"
        ".It Fl n , -rows Ar N\n.It Cm check\n") == {
            "--json", "-h", "--help", "--set", "-n", "--rows"}


@pytest.mark.parametrize("command", COMMANDS)
def test_command_has_a_page_with_its_options(command):
    page = os.path.join(MAN, "turnmeter-%s.1" % command)
    assert os.path.exists(page)
    assert options_of_page(read(page)) == options_of_help(command)


def pages():
    return sorted(os.listdir(MAN))


@pytest.mark.parametrize("name", pages())
def test_page_is_clean(name):
    if shutil.which("mandoc") is None:
        pytest.skip("there is no mandoc")
    done = subprocess.run(
        ["mandoc", "-T", "lint", "-W", "warning", os.path.join(MAN, name)],
        capture_output=True, text=True, check=False)
    assert done.stdout == ""


@pytest.mark.parametrize("name", pages())
def test_page_is_of_something_that_exists(name):
    match = re.fullmatch(r"turnmeter-(.+)\.1", name)
    if match is not None:
        assert match.group(1) in COMMANDS
    else:
        assert name in ("turnmeter.1", "turnmeter.conf.5")


@pytest.mark.parametrize("name", pages())
def test_references_between_pages_hold(name):
    for other, section in re.findall(r"^\.Xr (turnmeter\S*) (\d)",
                                     read(MAN, name), re.MULTILINE):
        assert "%s.%s" % (other, section) in pages()


def markdown():
    for folder, _, names in os.walk(os.path.join(ROOT, "docs")):
        for name in names:
            if name.endswith(".md"):
                yield os.path.join(folder, name)
    for name in ("README.md", "CONTRIBUTING.md"):
        if os.path.exists(os.path.join(ROOT, name)):
            yield os.path.join(ROOT, name)


@pytest.mark.parametrize("path", sorted(markdown()),
                         ids=lambda p: os.path.relpath(p, ROOT))
def test_links_lead_somewhere(path):
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", read(path)):
        if "://" not in target and not target.startswith("mailto:"):
            assert os.path.exists(
                os.path.join(os.path.dirname(path), target)), target


# Units of systemd

@pytest.mark.parametrize("manager", ["user", "system"])
def test_units_are_sound(manager, tmp_path):
    if shutil.which("systemd-analyze") is None:
        pytest.skip("there is no systemd-analyze")
    with open(os.path.join(UNITS, manager + "-turnmeter.service"),
              encoding="utf-8") as source:
        service = source.read()
    service = re.sub(r"(?m)^ExecStart=\S+", "ExecStart=" + BIN, service)
    # the pages are not installed here
    service = re.sub(r"(?m)^Documentation=.*\n", "", service)
    socket = read("systemd", manager, "turnmeter.socket")
    socket = re.sub(r"(?m)^Documentation=.*\n", "", socket)
    (tmp_path / "turnmeter.service").write_text(service)
    (tmp_path / "turnmeter.socket").write_text(socket)
    done = subprocess.run(
        ["systemd-analyze", "--" + manager, "--recursive-errors=no", "verify",
         str(tmp_path / "turnmeter.service"),
         str(tmp_path / "turnmeter.socket")],
        capture_output=True, text=True, check=False, timeout=60,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path),
             "XDG_RUNTIME_DIR": str(tmp_path), "SYSTEMD_LOG_LEVEL": "warning"})
    if "Failed to initialize manager" in done.stderr:
        pytest.skip(done.stderr.strip())
    assert done.stderr == ""
    assert done.returncode == 0


@pytest.mark.parametrize("manager", ["user", "system"])
def test_units_are_hardened(manager):
    with open(os.path.join(UNITS, manager + "-turnmeter.service"),
              encoding="utf-8") as source:
        lines = source.read().splitlines()
    for line in ("Type=notify", "LimitCORE=0", "NoNewPrivileges=yes",
                 "ProtectSystem=strict", "MemoryDenyWriteExecute=yes",
                 "RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 "
                 "AF_NETLINK"):
        assert line in lines
    home = "ProtectHome=" + ("read-only" if manager == "user" else "yes")
    assert home in lines
    if manager == "user":
        assert not [x for x in lines if x.startswith("ProtectProc=")]
