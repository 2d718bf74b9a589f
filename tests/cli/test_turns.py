# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the turnmeter authors
"""turns and explain: what a database holds, as JSON and in any width."""
import json
import sqlite3

import pytest

from rows import START_MS

ODD = "a-model-with-a-name-that-no-terminal-of-eighty-columns-can-hold-at-all"


def lines_of(done):
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_json_is_the_rows(home, example):
    """Each key of an object is a column, NULL is null and 0 stays 0."""
    home.turns([example(1), example(2, output_tokens=0, reasoning_tokens=None,
                                    flags=["burst", "odd"], streaming=False)])
    seen = lines_of(home.run("turns", "--json"))
    db = sqlite3.connect(home.database)
    db.row_factory = sqlite3.Row
    rows = db.execute("SELECT * FROM turns ORDER BY seq").fetchall()
    assert [t["seq"] for t in seen] == [row["seq"] for row in rows]
    for turn, row in zip(seen, rows):
        for column in row.keys():
            value = turn[column]
            if column == "started_at":
                assert value == example(turn["seq"])["started_at"]
                assert row[column] == START_MS + turn["seq"] * 5420
            elif column == "flags":
                assert " ".join(value) == row[column]
            elif column == "usage_raw":
                assert value == json.loads(row[column])
            elif column == "streaming":
                assert value == bool(row[column])
            else:
                assert value == row[column], column
    assert seen[1]["output_tokens"] == 0
    assert seen[1]["reasoning_tokens"] is None


def test_filters_sort_and_n(home, example):
    home.turns([example(1), example(2, upstream="zai"),
                example(3, model="other"), example(4, kind="side"),
                example(5, client="codex/1"), example(6, project="shop")])

    def seqs(*args):
        return [t["seq"] for t in lines_of(home.run("turns", "--json", *args))]

    assert seqs() == [1, 2, 3, 4, 5, 6]
    assert seqs("-n", "2") == [5, 6]
    assert seqs("--upstream", "zai") == [2]
    assert seqs("--model", "other") == [3]
    assert seqs("--model", "qwen-3.8-27b") == [1, 2, 3, 4, 5, 6]
    assert seqs("--kind", "side") == [4]
    assert seqs("--client", "codex/1") == [5]
    assert seqs("--client", "codex") == [5]
    assert seqs("--client", "opencode") == [1, 2, 3, 4, 6]
    assert seqs("--client", "open") == seqs("--client", "codex/") == []
    assert seqs("--project", "shop") == [6]
    assert seqs("--session", "ses_1") == [1, 4]
    assert seqs("--sort", "-input_tokens", "-n", "3") == [6, 5, 4]
    assert seqs("--since", "2026-11-30T14:02:27Z") == [4, 5, 6]
    assert seqs("--until", "2026-11-30T14:02:27Z") == [1, 2, 3]
    assert seqs("--until", "2026-11-29") == []
    assert seqs("--since", "2026-11", "--until", "2026-11-30") == [
        1, 2, 3, 4, 5, 6]


def test_days_are_the_users(home, example):
    """14:02 UTC is the next day in Auckland; the same text, another span."""
    home.turns([example(1)])
    for zone, day, n in (("UTC", "2026-11-30", 1), ("UTC", "2026-12-01", 0),
                         ("Pacific/Auckland", "2026-12-01", 1),
                         ("Pacific/Auckland", "2026-11-30", 0)):
        seen = lines_of(home.run("turns", "--json", "--tz", zone,
                                 "--since", day, "--until", day))
        assert len(seen) == n


@pytest.mark.parametrize("columns", [20, 40, 60, 80, 100, 120, 200])
def test_tables_fit(home, example, columns):
    home.turns([example(1, model=ODD, input_tokens=999949),
                example(2, output_tokens=123456, project=ODD, branch=ODD),
                example(3, outcome="rate_limited", status=429,
                        error_kind="rate", retry_after_ms=6000.0,
                        output_tokens=None, input_tokens=None,
                        usage_source=None),
                example(4, model="模型" * 20)])
    done = home.run("turns", env={"COLUMNS": str(columns)})
    table = done.stdout.splitlines()[:5]
    assert done.returncode == 0
    # The least table: TIME, MODEL, CTX, OUT and USE/S.
    widest = max(len(line) + sum(ord(c) > 0x2fff for c in line)
                 for line in table)
    assert widest <= max(columns, 40)
    assert "123.5K" in table[2]
    assert "429" in table[3] or columns < 80
    assert ("STOP" in table[0]) == (columns >= 80)
    assert "\033" not in done.stdout


def test_terminal_width_goes_before_columns(home, example):
    home.turns([example(1)])
    seen = home.terminal("turns", columns=60, env={"COLUMNS": "200"}).rest()
    assert max(map(len, seen.splitlines())) <= 60


def test_unknown_is_never_0(home, example):
    home.turns([example(1, input_tokens=None, uncached_tokens=None,
                        cache_read_tokens=None, output_tokens=None,
                        reasoning_tokens=None, tool_calls=None, ttft_ms=None,
                        decode_tps=None, usable_tps=None, stop=None,
                        session_id=None, usage_source="none")])
    done = home.run("turns", env={"COLUMNS": "120"})
    cells = done.stdout.splitlines()[1].split()
    assert cells == ["14:02:15", "?", "cerebras/qwen-3.8-27b"] + ["?"] * 10
    assert "1 without usage" in done.stdout


def test_columns_that_nobody_fills_are_absent(home, example):
    home.turns([example(1)])
    wide = {"COLUMNS": "200"}
    head = home.run("turns", env=wide).stdout.splitlines()[0]
    assert "COST" not in head and "GAP" not in head and "PROJ" not in head
    home.turns([example(2, project="shop", gap_ms=4900.0,
                        cost_source="computed", cost_pusd=36400000000)])
    done = home.run("turns", env=wide).stdout.splitlines()
    assert "PROJECT@BRANCH" in done[0] and "GAP" in done[0]
    assert done[2].split()[-1] == "0.0364"
    assert "4.90" in done[2]


def test_no_database_is_said(home):
    done = home.run("turns")
    assert done.returncode == 0 and done.stdout == ""
    assert "no turn yet" in done.stderr
    done = home.run("turns", "--db", "/nonexistent/turnmeter.db")
    assert done.returncode == 1


def test_explain_finds_a_turn(home, example):
    home.turns(example(i) for i in range(1, 13))
    whole = example(7)["id"]

    def found(name):
        return lines_of(home.run("explain", name, "--json"))[0]["seq"]

    assert found("LAST") == 12 and found("last") == 12
    assert found("7") == 7
    assert found(whole) == 7
    assert found(whole[:13]) == 7
    for name in ("99", "01a0d0c4", "nosuch", "7x"):
        done = home.run("explain", name)
        assert done.returncode == 1 and done.stdout == ""
    assert "more than one" in home.run("explain", "01a0d0c4").stderr


def test_explain_in_words(home, example):
    home.turns([example(1, flags=["burst", "flag_of_tomorrow"],
                        model_served="other")])
    out = home.run("explain", "1", env={"COLUMNS": "80"}).stdout
    assert max(map(len, out.splitlines())) <= 80
    assert "served by another model: other" in out
    assert "\n  burst: the answer came in too few pieces" in out
    assert "\n  flag_of_tomorrow\n" in out
    order = ["request sent", "first byte", "first token", "first text",
             "tool call ready", "last token", "end"]
    places = [out.index("\n  " + name) for name in order]
    assert places == sorted(places)
    # No line for what was not measured.
    assert "generation starts" not in out


def test_explain_tells_the_context(home, example):
    home.turns([example(1, context_system_bytes=12000, context_tools_bytes=0,
                        context_user_bytes=None, project="shop",
                        branch="main"),
                example(2, n_messages=None)])
    out = home.run("explain", "1", env={"COLUMNS": "100"}).stdout
    line = next(x for x in out.splitlines() if x.startswith("context "))
    assert "5 messages" in line and "system 12.0 kB" in line
    assert "tools 0 B" in line and "user ?" in line
    assert "\nproject shop   branch main\n" in out
    out = home.run("explain", "2").stdout
    assert "\ncontext " not in out and "\nproject " not in out


def test_every_flag_of_the_source_has_words(home, example):
    """A flag that some room sets is one that explain can tell."""
    import os
    import pathlib
    import re

    source = pathlib.Path(os.environ["TURNMETER_SOURCE"]) / "src"
    names = set()
    for file in source.glob("*/*.c"):
        names |= set(re.findall(r'turn_add_flag\([^;"]*"([a-z0-9_]+)"',
                                file.read_text()))
    assert "tools_cut" in names
    home.turns([example(1, flags=sorted(names))])
    out = home.run("explain", "1", env={"COLUMNS": "1000"}).stdout
    for name in names:
        assert "\n  %s: " % name in out, name
