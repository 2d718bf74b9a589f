# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the turnmeter authors
"""Nothing secret is kept (Law 4)."""
import gzip
import json

import pytest

import shapes
from upstream import OK, answer, reply

KEY = b"CANARYKEY7f3a9c"
WORD = "canaryword5d21e"


def leaks(daemon, *needles):
    """Where a needle is found: every file of the state folder but the
    config, -wal, -shm, journal and log included."""
    found = []
    for path in daemon.state_files():
        if path == daemon.config_file:
            continue
        with open(path, "rb") as file:
            data = file.read()
        found += [(path, n) for n in needles if n in data]
    return found


def canary_request(stream):
    return json.dumps({
        "model": "m-1", "stream": stream,
        "stream_options": {"include_usage": True},
        "messages": [
            {"role": "system", "content": "sys " + WORD},
            {"role": "user", "content": "user " + WORD},
            {"role": "assistant", "content": None, "tool_calls": [{
                "id": "call_1", "type": "function", "function": {
                    "name": "read", "arguments":
                        json.dumps({"path": WORD})}}]},
            {"role": "tool", "tool_call_id": "call_1",
             "content": "result " + WORD}],
        "tools": [{"type": "function", "function": {
            "name": "read", "description": "tool " + WORD,
            "parameters": {}}}]}).encode()


HEADERS = [
    (b"Authorization", b"Bearer " + KEY),
    (b"x-api-key", KEY),
    (b"x-goog-api-key", KEY),
    (b"api-key", KEY),
    (b"Cookie", b"session=" + KEY),
    (b"Proxy-Authorization", b"Basic " + KEY),
    (b"X-Custom-Secret", KEY),
]


@pytest.mark.parametrize("ending", ["running", "stopped", "killed"])
@pytest.mark.parametrize("level", ["info", "debug"])
def test_canary(new_daemon, up, level, ending):
    """Goal: keys, cookies, prompts, answers and tool arguments are in no
    file, at any log level, after any kind of end."""
    word = WORD.encode()
    answer_text = shapes.chat_json(text=WORD)
    pieces = shapes.chat_stream(2)
    pieces.insert(2, shapes.chat_chunk({"content": WORD}))
    pieces.insert(3, shapes.chat_chunk({"tool_calls": [{
        "index": 0, "id": "call_2", "type": "function", "function": {
            "name": "read", "arguments": '{"path":"%s"}' % WORD}}]}))
    error = (b'{"error":{"message":"Incorrect API key: ' + KEY
             + b' for ' + word + b'","type":"invalid_request_error",'
             b'"code":"' + KEY + b'"}}')
    cut = OK + b"Content-Length: 1000\r\n\r\n" + answer_text[:80]
    responses = [
        reply(answer_text, headers=[b"Set-Cookie: a=" + KEY,
                                    b"Content-Type: application/json"]),
        OK + b"Content-Type: text/event-stream\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n"
        + b"".join(b"%x\r\n%s\r\n" % (len(p), p) for p in pieces)
        + b"0\r\n\r\n",
        reply(error, b"401 Unauthorized",
              [b"WWW-Authenticate: Bearer " + KEY,
               b"Content-Type: application/json"]),
        reply(gzip.compress(error), b"400 Bad Request",
              [b"Content-Encoding: gzip"]),
        reply(word, headers=[b"X-Request-Id: ok", b"Connection: close"]),
    ]
    up.script(answer(*responses))
    daemon = new_daemon({"up": up.url}, 'log_level = "%s"' % level).start()
    path = shapes.CHAT_PATH + b"?key=" + KEY + b"&x=" + word
    for i in range(len(responses)):
        daemon.ask(b"POST", path, HEADERS, canary_request(i == 1))
    up.script(lambda c: (c.take(), c.send(cut)))
    with daemon.client() as client:
        client.request(b"POST", path, HEADERS, canary_request(False))
        client.rest()
    with daemon.client() as client:  # refused ones
        client.send(b"POST " + path + b" HTTP/1.1\r\nAuthorization: Bearer "
                    + KEY + b"\r\nX Bad: " + KEY + b"\r\n\r\n")
        client.rest()
    daemon.ask(b"POST", b"/" + KEY + b"/nowhere?key=" + KEY, HEADERS, b"")
    daemon.wait_turns(len(responses) + 1)
    needles = (KEY, word, KEY.lower(), KEY.hex().encode())
    if ending == "stopped":
        daemon.stop()
    elif ending == "killed":
        daemon.kill()
    assert leaks(daemon, *needles) == []


def test_accounts_are_told_apart_by_a_hash(daemon, up, turnmeter):
    """Goal: two keys are two accounts, one key is one, whatever header
    carries it; the hash is short and keyed."""
    import hashlib
    for key in (b"key-one", b"key-two", b"key-one"):
        daemon.ask(b"POST", shapes.CHAT_PATH,
                   [(b"Authorization", b"Bearer " + key)],
                   shapes.chat_request())
    a, b, c = [t["account"] for t in daemon.final_turns()]
    assert a == c != b
    for account in (a, b):
        assert len(account) == 12
        assert int(account, 16) >= 0
    for text in (b"key-one", b"Bearer key-one"):
        for name in ("md5", "sha1", "sha256"):
            digest = hashlib.new(name, text).hexdigest()
            assert not digest.startswith(a)


def test_the_process_gives_no_core(daemon):
    """Goal: a crash writes no memory to the disk."""
    with open("/proc/%d/limits" % daemon.pid, encoding="ascii") as file:
        core = [line for line in file if line.startswith("Max core")][0]
    assert core.split()[4] == "0", core


def test_the_command_line_and_environment_hold_no_key(new_daemon, up):
    """Goal: a token in the config is not shown in the process list."""
    daemon = new_daemon({"up": up.url}, 'token = "tok-%s"' % WORD).start()
    with open("/proc/%d/cmdline" % daemon.pid, "rb") as file:
        assert WORD.encode() not in file.read()
    daemon.stop()
    assert leaks(daemon, WORD.encode()) == []


def test_control_bytes_from_traffic_are_tame(daemon, up, turnmeter):
    """Goal: a model name with escape codes and line ends is stored and
    shown without them."""
    up.answers(reply(shapes.chat_json()))
    body = json.dumps({"model": "m\r\n\x1b[31mred\x07\x00",
                       "messages": []}).encode()
    daemon.ask(b"POST", shapes.CHAT_PATH,
               [(b"User-Agent", "evil\u009b2J/1.0".encode())], body)
    turn = daemon.final_turn()
    for text in (turn["model"], turn["client"]):
        assert text is None or all(
            ord(c) >= 32 and not 127 <= ord(c) < 160
            for c in text), repr(text)
    assert turn["model"].startswith("m")
    ran = turnmeter("turns", "--db", daemon.database)
    assert ran.returncode == 0, ran.stderr
    assert "\x1b" not in ran.stdout and "\x9b" not in ran.stdout


def test_long_texts_from_traffic_are_cut(daemon, up):
    """Goal: a model name of 10 KB is stored in 256 bytes."""
    body = json.dumps({"model": "é" * 10_000, "messages": []}).encode()
    daemon.ask(b"POST", shapes.CHAT_PATH, body=body)
    model = daemon.final_turn()["model"]
    assert model is None or len(model.encode()) <= 256
    assert up.request.body == body
