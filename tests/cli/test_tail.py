# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the turnmeter authors
"""tail: the seam between database and feed, restarts, terminals and pipes."""
import json
import signal

import pytest

from conftest import TIMEOUT
from feed import Feed


def stop(process):
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=TIMEOUT)
    assert process.returncode == 0
    return out, err


def test_no_follow_shows_the_last_turns(home, example):
    home.turns(example(i) for i in range(1, 31))
    done = home.run("tail", "--no-follow", "-n", "5")
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert lines[0].startswith("TIME")
    assert [line.split()[0] for line in lines[1:]] == [
        example(i)["started_at"][11:19] for i in range(26, 31)]


def test_seam_of_database_and_feed(home, feed, example):
    """The feed is asked for what follows the last row; a repeat is not shown
    twice."""
    home.turns(example(i) for i in range(1, 4))
    home.listen(feed.port)
    tail = home.start("tail", "--json")
    assert feed.resumed(TIMEOUT) == "3"
    feed.event("finished", example(3))
    feed.event("finished", example(4))
    seen = [json.loads(tail.stdout.readline())["seq"] for _ in range(4)]
    assert seen == [1, 2, 3, 4]
    assert stop(tail)[0] == ""


def test_client_is_any_version_of_it(home, feed, example):
    home.turns([example(1), example(2, client="codex/1")])
    home.listen(feed.port)
    tail = home.start("tail", "--json", "--client", "codex")
    assert feed.resumed(TIMEOUT) is not None
    feed.event("finished", example(3))
    feed.event("finished", example(4, client="codexfork/1"))
    feed.event("finished", example(5, client="codex/2"))
    seen = [json.loads(tail.stdout.readline())["seq"] for _ in range(2)]
    assert seen == [2, 5]
    assert stop(tail)[0] == ""


def test_survives_a_restart(home, feed, example):
    """After a restart it goes on behind the last turn shown, and says once
    that it waits."""
    home.listen(feed.port)
    home.turns([example(1)])
    tail = home.start("tail")
    assert feed.resumed(TIMEOUT) == "1"
    feed.event("finished", example(2))
    for _ in range(3):
        line = tail.stdout.readline()
    assert line.startswith("14:02:20")
    feed.close()
    waits = tail.stderr.readline()
    assert "no daemon reachable" in waits and "waiting" in waits
    again = Feed(feed.port)
    try:
        assert again.resumed(TIMEOUT) == "2"
        again.event("finished", example(3))
        assert tail.stdout.readline().startswith("14:02:26")
        out, err = stop(tail)
        assert out == "" and "no daemon reachable" not in err
    finally:
        again.close()


def test_waits_for_a_daemon_that_is_not_there(home, feed, example):
    port = feed.port
    feed.close()
    home.listen(port)
    home.turns([example(1)])
    tail = home.start("tail")
    assert tail.stdout.readline().startswith("TIME")
    assert tail.stdout.readline().startswith("14:02:15")
    assert "127.0.0.1:%d" % port in tail.stderr.readline()
    late = Feed(port)
    try:
        assert late.resumed(TIMEOUT) == "1"
        late.event("finished", example(2))
        assert tail.stdout.readline().startswith("14:02:20")
        stop(tail)
    finally:
        late.close()


def test_json_is_the_turn_as_in_turns(home, feed, example):
    """One object a line: finished turns with the keys of `turns --json`, and
    notices; nothing of turns in flight."""
    home.listen(feed.port)
    home.turns([example(1)])
    keys = list(json.loads(home.run("turns", "--json").stdout))
    tail = home.start("tail", "--json", "-n", "1")
    feed.resumed(TIMEOUT)
    first = json.loads(tail.stdout.readline())
    feed.event("started", example(2))
    feed.event("progress", example(2))
    feed.notice("warning", "the disk is full")
    feed.event("finished", example(2))
    notice = json.loads(tail.stdout.readline())
    second = json.loads(tail.stdout.readline())
    assert list(first) == keys and list(second) == keys
    assert notice["event"] == "notice"
    assert notice["text"] == "the disk is full"
    assert second["seq"] == 2 and second["output_tokens"] == 230
    stop(tail)


def test_filters_apply_to_the_feed(home, feed, example):
    home.listen(feed.port)
    tail = home.start("tail", "--json", "--model", "other")
    feed.resumed(TIMEOUT)
    feed.event("finished", example(1))
    feed.event("finished", example(2, model="x", model_served="other"))
    feed.event("finished", example(3, model="other"))
    assert json.loads(tail.stdout.readline())["seq"] == 2
    assert json.loads(tail.stdout.readline())["seq"] == 3
    stop(tail)


def test_pipe_has_no_escape_codes(home, feed, example):
    home.listen(feed.port)
    tail = home.start("tail", env={"TERM": "xterm"})
    feed.resumed(TIMEOUT)
    feed.event("started", example(1))
    feed.event("finished", example(1, outcome="rate_limited", status=429,
                                   error_kind="rate", output_tokens=None))
    feed.notice("critical", "the next turn is refused")
    lines = [tail.stdout.readline() for _ in range(3)]
    assert "429 rate" in lines[1]
    assert lines[2] == "  CRITICAL: the next turn is refused\n"
    out, err = stop(tail)
    assert "\033" not in "".join(lines) + out + err


def test_terminal_paints_turns_in_flight(home, feed, example):
    """In flight at the foot, gone when it ends; the foot is cleared when the
    program ends."""
    home.listen(feed.port)
    screen = home.terminal("tail")
    feed.resumed(TIMEOUT)
    seen = screen.wait_for("shows the change")
    assert "no request yet" in seen
    assert "127.0.0.1:%d" % feed.port in seen
    assert "turnmeter run -- opencode" in seen
    feed.event("started", example(1, output_tokens=None))
    seen = screen.wait_for(r"now +. qwen-3.8-27b.* so far")
    feed.event("finished", example(1))
    seen = screen.wait_for(r"14:02:15 a [^\n]*tools")
    assert "\033[1A\033[J" in seen
    feed.event("started", example(2, attempt=2))
    screen.wait_for("attempt 2, ")
    rest = screen.end(signal.SIGINT)
    assert rest.endswith("\033[1A\033[J")
    assert screen.process.returncode == 0


@pytest.mark.parametrize("columns", [40, 60, 80, 120])
def test_hint_fits_the_terminal(home, feed, columns):
    home.listen(feed.port)
    screen = home.terminal("tail", columns=columns)
    feed.resumed(TIMEOUT)
    seen = screen.wait_for(r"others\.\r\n")
    assert max(len(line) for line in seen.splitlines()) <= columns
    for words in ("request yet", "run -- opencode", "shows the", "env`"):
        assert words in " ".join(seen.split())
    screen.end(signal.SIGTERM)


def test_terminal_counts_all_that_is_in_flight(home, feed, example):
    home.listen(feed.port)
    screen = home.terminal("tail")
    feed.resumed(TIMEOUT)
    for i in range(100):
        feed.event("started", {k: v for k, v in example(i + 1).items()
                               if k != "seq"})
    screen.wait_for(r"now +93 more in flight")
    screen.end(signal.SIGTERM)


def test_terminal_of_any_width(home, feed, example):
    """A resize makes new columns; no line is wider than the terminal."""
    home.listen(feed.port)
    home.turns([example(1)])
    screen = home.terminal("tail", columns=60, env={"NO_COLOR": "1"})
    feed.resumed(TIMEOUT)
    seen = screen.wait_for(r"TIME.*\r\n14:02:15.*\r\n")
    assert max(len(line) for line in seen.splitlines()) <= 60
    assert "NEW" not in seen
    screen.wait_for("listening")
    screen.resize(120)
    screen.process.send_signal(signal.SIGWINCH)
    seen = screen.wait_for("TIME.*STOP")
    assert "UPSTREAM/MODEL" in seen
    feed.event("finished", example(2))
    screen.wait_for("14:02:20 . cerebras/qwen-3.8-27b")
    screen.end(signal.SIGTERM)


def test_no_color_and_dumb_terminals(home, feed, example):
    failed = dict(outcome="rate_limited", status=429, output_tokens=None)
    home.turns([example(1, **failed)])
    for env, codes in (({}, True), ({"NO_COLOR": "1"}, False),
                       ({"TERM": "dumb"}, False)):
        screen = home.terminal("tail", "--no-follow", env=env)
        seen = screen.rest()
        assert "429" in seen
        assert ("\033[31m" in seen) == codes


def test_notice_is_broken_at_blanks(home, feed):
    home.listen(feed.port)
    tail = home.start("tail", env={"COLUMNS": "40"})
    feed.resumed(TIMEOUT)
    feed.notice("notice", "one two three four five six seven eight nine ten")
    assert tail.stdout.readline() == "  notice: one two three four five six\n"
    assert tail.stdout.readline() == "          seven eight nine ten\n"
    stop(tail)


@pytest.mark.parametrize("data", ["{", "[]", "7", '{"v":1}', '{"id":3}',
                                  '{"id":"x","seq":"y","input_tokens":"z"}'])
def test_nonsense_of_the_feed_is_passed_over(home, feed, example, data):
    home.listen(feed.port)
    tail = home.start("tail", "--json")
    feed.resumed(TIMEOUT)
    feed.send("event: progress\ndata: %s\n\n" % data)
    feed.send("event: unknown\ndata: %s\n\n" % data)
    feed.send("data\n\n: comment\n\n")
    feed.event("finished", example(9))
    assert json.loads(tail.stdout.readline())["seq"] == 9
    stop(tail)


def test_ends_when_nobody_reads(home, feed, example):
    home.listen(feed.port)
    home.turns([example(1)])
    tail = home.start("tail")
    feed.resumed(TIMEOUT)
    tail.stdout.readline()
    tail.stdout.close()
    tail.stderr.close()
    assert tail.wait(timeout=TIMEOUT) == 0
