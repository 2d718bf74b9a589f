# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the turnmeter authors
"""The bare command, the status line, and doctor."""
import json
import time

from feed import HEALTH, Feed
from rows import time_of


def now():
    return int(time.time() * 1000)


def test_bare_command_is_status(home, feed, example):
    home.listen(feed.port)
    home.turns([example(1, started_at=time_of(now() - 2000)),
                example(2, started_at=time_of(now() - 1000),
                        outcome="rate_limited", status=429)])
    done = home.run()
    assert done.returncode == 0
    same = home.run("status")
    assert [line.split()[:2] for line in done.stdout.splitlines()] == \
        [line.split()[:2] for line in same.stdout.splitlines()]
    assert "listening on 127.0.0.1:%d since" % feed.port in done.stdout
    assert "2 turns" in done.stdout and "1 refused" in done.stdout
    assert "cerebras/qwen-3.8-27b" in done.stdout


def test_unreachable_is_3_and_the_database_is_read(home, feed, example):
    home.listen(feed.port)
    feed.close()
    home.turns([example(1, started_at=time_of(now()))])
    done = home.run("status")
    assert done.returncode == 3
    assert "no daemon reachable" in done.stdout and "1 turn " in done.stdout
    done = home.run("status", "--line")
    assert done.returncode == 3
    assert done.stdout == "qwen-3.8-27b 11.6K 413/s | daemon down\n"
    done = home.run("status", "--json")
    assert done.returncode == 3
    seen = json.loads(done.stdout)
    assert seen["reachable"] is False and seen["last"]["seq"] == 1


def test_a_broken_database_is_one_line_of_the_screen(home, feed):
    """What else there is to say is said; nothing of it is counted as 0."""
    home.listen(feed.port)
    home.database.write_bytes(b"no database" * 500)
    done = home.run()
    assert done.returncode == 1
    assert "listening on 127.0.0.1:%d since" % feed.port in done.stdout
    assert "not a database" in done.stdout and "no turn" not in done.stdout
    assert "doctor" in done.stdout
    done = home.run("status", "--json")
    assert done.returncode == 1
    seen = json.loads(done.stdout)
    assert seen["reachable"] is True and seen["today"] is None
    done = home.run("status", "--line")
    assert done.returncode == 1 and done.stdout == "database unreadable\n"


def test_doctor_survives_a_broken_database(home, feed):
    home.listen(feed.port)
    home.database.write_bytes(b"no database" * 500)
    status, seen = doctor(home, "--offline")
    assert status == 1
    assert ("daemon", "ok") in [(x["check"], x["verdict"]) for x in seen]
    assert ("database", "broken") in [(x["check"], x["verdict"])
                                      for x in seen]
    assert any("backup" in (line["help"] or "") for line in seen
               if line["check"] == "database")


def test_json_numbers_are_those_of_turns(home, feed, example):
    home.listen(feed.port)
    home.turns([example(1, started_at=time_of(now()), sent_ms=0.138556)])
    assert '"sent_ms":0.138556,' in home.run("turns", "--json").stdout
    assert '"sent_ms":0.138556,' in home.run("status", "--json").stdout


def test_a_new_day_is_not_a_new_user(home, feed, example):
    home.listen(feed.port)
    assert "point a client here" in home.run().stdout
    home.turns([example(1, started_at=time_of(now() - 3 * 86400000))])
    seen = home.run().stdout
    assert "no turn yet" in seen and "point a client here" not in seen


def test_nothing_known_is_not_0(home, feed, example):
    home.listen(feed.port)
    home.turns([example(1, started_at=time_of(now()), usage_source="none",
                        input_tokens=None, output_tokens=None,
                        cache_read_tokens=None)])
    assert "1 turn   ? in   ? from cache   ? out" in home.run().stdout
    today = json.loads(home.run("status", "--json").stdout)["today"]
    assert today["input_tokens"] is None and today["without_usage"] == 1


def test_line_of_a_project(home, feed, example):
    home.listen(feed.port)
    home.turns([example(1, project="home", model="mine"), example(2)])
    assert home.run("status", "--line").stdout.startswith("qwen-3.8-27b ")
    done = home.run("status", "--line", "--project", ".", cwd=home.path)
    assert done.stdout == "mine 11.6K 413/s\n"
    done = home.run("status", "--line", "--project", "nosuch")
    assert done.returncode == 0 and done.stdout == "no turn yet\n"


def test_line_of_a_refusal(home, feed, example):
    home.listen(feed.port)
    home.turns([example(1, started_at=time_of(now()), outcome="rate_limited",
                        status=429, retry_after_ms=600000.0)])
    assert " | refused, wait 9m" in home.run("status", "--line").stdout or \
        " | refused, wait 10m" in home.run("status", "--line").stdout


def doctor(home, *args):
    done = home.run("doctor", "--json", *args)
    return done.returncode, [json.loads(line)
                             for line in done.stdout.splitlines()]


def test_doctor_of_a_sound_house(home, feed, example):
    home.listen(feed.port)
    home.turns([example(1, started_at=time_of(now()))])
    status, seen = doctor(home, "--offline")
    assert status == 0
    assert {line["check"] for line in seen} == {
        "config", "daemon", "database", "upstreams", "clients", "usage"}
    assert all(line["verdict"] != "broken" for line in seen)
    assert any("sound" in line["text"] for line in seen)
    assert any("cerebras" in line["text"] and "not visited" in line["text"]
               for line in seen)


def test_doctor_finds_what_is_broken(home, feed, example):
    """A daemon that is not there, an upstream nobody listens on, a database
    that others may read."""
    feed.close()
    home.configure('listen = "127.0.0.1:%d"\nupstream gone { url = '
                   '"http://127.0.0.1:%d" }\n' % (feed.port, feed.port))
    home.turns([example(1)])
    home.database.chmod(0o644)
    status, seen = doctor(home)
    assert status == 1
    broken = {line["check"] for line in seen if line["verdict"] == "broken"}
    assert {"daemon", "upstreams", "database"} <= broken


def test_doctor_visits_without_a_request(home, example):
    """The upstream sees a connection and no byte."""
    upstream = Feed()
    other = Feed()
    try:
        home.configure('listen = "127.0.0.1:%d"\nupstream up { url = '
                       '"http://127.0.0.1:%d" }\n'
                       % (other.port, upstream.port))
        asked = []
        upstream.serve_health = asked.append
        status, seen = doctor(home)
        assert status == 0
        assert any("up: 127.0.0.1:%d reached" % upstream.port in line["text"]
                   for line in seen)
        assert asked == []
    finally:
        upstream.close()
        other.close()


def test_doctor_of_a_failing_daemon(home, example):
    health = json.loads(json.dumps(HEALTH))
    health["store"].update(failing=True, lost=7, reason="disk full")
    health["journal"]["free"] = 0
    feed = Feed(health=health)
    try:
        home.listen(feed.port)
        status, seen = doctor(home, "--offline")
        assert status == 1
        texts = " ".join(line["text"] for line in seen)
        assert "disk full" in texts and "7 turns were lost" in texts
        assert "0 places are free" in texts
        assert "version 0.0.0" in texts
    finally:
        feed.close()


def test_doctor_names_who_asks_for_no_usage(home, feed, example):
    home.listen(feed.port)
    none = dict(usage_source="none", started_at=time_of(now()))
    home.turns([example(1, client="a/1", flags=["usage_not_requested"],
                        **none),
                example(2, client="b/1", **none)])
    seen = [line for line in doctor(home, "--offline")[1]
            if line["check"] == "usage"]
    assert "2 of 2" in seen[0]["text"]
    assert "a/1 on cerebras: 1" in seen[1]["text"]
    assert "include_usage" in seen[1]["help"]
    assert "b/1 on cerebras: 1" in seen[2]["text"]
    assert "include_usage" not in seen[2]["help"]


def test_doctor_knows_the_clients(home, feed):
    home.listen(feed.port)
    (home.bin / "claude").write_text("#!/bin/sh\n")
    (home.bin / "claude").chmod(0o755)
    texts = [line["text"] for line in doctor(home, "--offline")[1]]
    assert any("Claude Code" in t and "does not point here" in t
               for t in texts)
    assert any("tool search" in t for t in texts)
    assert home.run("connect", "claude", "--yes").returncode == 0
    texts = [line["text"] for line in doctor(home, "--offline")[1]]
    assert any("Claude Code" in t and "configuration points here" in t
               for t in texts)


def test_privacy_shows_every_column(home, example):
    import sqlite3
    home.turns([example(1), example(2)])
    out = home.run("doctor", "--privacy").stdout
    db = sqlite3.connect(home.database)
    db.row_factory = sqlite3.Row
    row = db.execute("SELECT * FROM turns WHERE seq = 2").fetchone()
    shown = dict(line.split(None, 1) for line in out.splitlines()
                 if line.startswith("  "))
    assert list(shown) == row.keys()
    for column in row.keys():
        value = row[column]
        if value is None:
            assert shown[column] == "NULL"
        elif isinstance(value, str):
            assert shown[column] == "'%s'" % value
        else:
            assert float(shown[column]) == value
    assert "Never stored" in out and "API keys" in out
