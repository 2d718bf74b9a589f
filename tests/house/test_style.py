# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the turnmeter authors
"""What a machine can tell about the style of the code."""
import os
import re
import subprocess

import pytest

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
FOLDERS = ("src", "include", "tests")
LINES_MAX = 800
HEAD = ("/* SPDX-License-Identifier: MIT\n"
        " * Copyright (c) 2026 the turnmeter authors\n"
        " */\n")


def c_files():
    for top in FOLDERS:
        for folder, _, names in os.walk(os.path.join(ROOT, top)):
            for name in sorted(names):
                if name.endswith((".c", ".h")):
                    yield os.path.join(folder, name)


FILES = sorted(c_files())
IDS = [os.path.relpath(path, ROOT) for path in FILES]


def read(path):
    with open(path, encoding="utf-8") as source:
        return source.read()


def test_there_are_files():
    assert len(FILES) > 20


@pytest.mark.parametrize("path", FILES, ids=IDS)
def test_licence_line(path):
    assert read(path).startswith(HEAD)


@pytest.mark.parametrize("path", FILES, ids=IDS)
def test_no_note_to_self(path):
    notes = re.findall(r"\b(?:TODO|FIXME|XXX)\b.*", read(path))
    assert not notes


@pytest.mark.parametrize("path", FILES, ids=IDS)
def test_file_is_short_enough(path):
    if os.path.relpath(path, ROOT).startswith("tests"):
        pytest.skip("a table of cases may be long")
    assert read(path).count("\n") <= LINES_MAX


@pytest.mark.parametrize("path", FILES, ids=IDS)
def test_header_guard_names_the_header(path):
    if not path.endswith(".h") or "/include/" not in path:
        pytest.skip("no contract")
    name = os.path.relpath(path, os.path.join(ROOT, "include"))
    guard = re.sub(r"[/.]", "_", name).upper()
    assert "#ifndef %s\n#define %s\n" % (guard, guard) in read(path)


SCRIPTS = [name for name in ("scripts/deps", "scripts/test",
                             "scripts/quickstart", ".ci/run")
           if os.path.exists(os.path.join(ROOT, name))]


@pytest.mark.parametrize("name", SCRIPTS)
def test_script_is_sound(name):
    path = os.path.join(ROOT, name)
    assert os.access(path, os.X_OK)
    assert "SPDX-License-Identifier: MIT" in read(path)
    first = read(path).split("\n", 1)[0]
    shell = "bash" if "bash" in first else "sh"
    subprocess.run([shell, "-n", path], check=True)
