# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the turnmeter authors
"""turnmeter db: statuses, where the text goes, and what is left on the disk.

Needs TURNMETER_BIN. The store's own tests look at what the verbs do.
"""
import os
import sqlite3
import stat
import subprocess

import pytest


def db(*args):
    return subprocess.run(
        [os.environ["TURNMETER_BIN"], "db", *map(str, args)],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)


@pytest.fixture
def path(tmp_path):
    """A database with three turns."""
    path = tmp_path / "t.db"
    path.touch()
    assert db("rebuild", "--db", path).returncode == 0
    with sqlite3.connect(path) as connection:
        connection.executemany(
            "INSERT INTO turns (seq, id) VALUES (?, ?)",
            [(n, f"id-{n}") for n in (1, 2, 3)])
    connection.close()
    return path


@pytest.mark.parametrize("args", [
    (), ("nope",), ("check", "more"), ("backup",), ("rebuild", "more"),
    ("backup", "a", "b")])
def test_wrong_usage_is_2(args):
    r = db(*args)
    assert r.returncode == 2
    assert r.stdout == ""
    assert r.stderr.startswith("turnmeter db: ")


def test_check_of_a_sound_database(path):
    r = db("check", "--db", path)
    assert r.returncode == 0
    assert r.stderr == ""
    assert r.stdout.endswith("sound\n")
    assert "turns: 3, to seq 3\n" in r.stdout


@pytest.mark.parametrize("verb", [("check",), ("backup", "copy"), ("rebuild",)])
def test_no_database_fails_and_makes_none(tmp_path, verb):
    r = db(*verb, "--db", tmp_path / "none.db")
    assert r.returncode == 1
    assert r.stdout == ""
    assert "none.db" in r.stderr
    assert list(tmp_path.iterdir()) == []


def test_check_of_a_damaged_database(path):
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA foreign_keys = OFF")
        connection.execute("INSERT INTO turn_tools VALUES (77, 'read', 1, 0, 0)")
    connection.close()
    r = db("check", "--db", path)
    assert r.returncode == 1
    assert "rows without their turn: turn_tools" in r.stderr
    assert "NOT SOUND" in r.stderr


def test_backup_is_a_private_whole_copy(path, tmp_path):
    copy = tmp_path / "copy.db"
    r = db("backup", copy, "--db", path)
    assert r.returncode == 0, r.stderr
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    connection = sqlite3.connect(f"file:{copy}?mode=ro", uri=True)
    assert connection.execute(
        "SELECT count(*), max(id) FROM turns").fetchone() == (3, "id-3")
    assert connection.execute(
        "PRAGMA journal_mode").fetchone() == ("delete",)
    connection.close()


def test_backup_overwrites_nothing(path, tmp_path):
    copy = tmp_path / "copy.db"
    copy.write_text("mine")
    r = db("backup", copy, "--db", path)
    assert r.returncode == 1
    assert copy.read_text() == "mine"


def test_rebuild_says_what_it_did(path):
    r = db("rebuild", "--db", path)
    assert r.returncode == 0, r.stderr
    assert r.stdout.startswith("journal: 0 finished")
    assert r.stdout.endswith("done\n")
