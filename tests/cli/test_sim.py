# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the turnmeter authors
"""turnmeter sim: shapes, numbers, pacing and failures on the wire."""

import contextlib
import http.client
import json
import os
import signal
import subprocess
import threading
import time

BIN = os.environ["TURNMETER_BIN"]
FAST = ["--ttft-ms", "0", "--tps", "0"]
TOOL = {"name": "read", "parameters": {
    "type": "object", "required": ["path", "depth"],
    "properties": {"path": {"type": "string"},
                   "depth": {"type": "integer"}}}}


@contextlib.contextmanager
def sim(*args):
    """Runs it on a free port; gives the port and the process."""
    process = subprocess.Popen([BIN, "sim", *args], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    try:
        line = process.stdout.readline()
        assert line.startswith("listening 127.0.0.1:"), line
        yield int(line.rsplit(":", 1)[1]), process
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0
        assert process.stderr.read() == ""
    finally:
        process.kill()
        process.communicate()


def ask(port, path, body, method="POST", headers=()):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    if not isinstance(body, (bytes, type(None))):
        body = json.dumps(body).encode()
    connection.request(method, path, body, dict(headers))
    answer = connection.getresponse()
    data = answer.read()
    connection.close()
    return answer, data


def events(data):
    """The (event, data) pairs of an SSE body, which must be whole."""
    text = data.decode()
    assert text.endswith("\n\n")
    result = []
    for block in text[:-2].split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.split("\n"))
        result.append((fields.get("event"), fields["data"]))
    return result


def chat(messages=("hello",), **more):
    return {"model": "m", "messages": [
        {"role": "user", "content": text} for text in messages], **more}


def chat_stream(port, **more):
    answer, data = ask(port, "/v1/chat/completions",
                       chat(stream=True, **more))
    assert answer.status == 200
    assert answer.getheader("content-type").startswith("text/event-stream")
    pairs = events(data)
    assert pairs[-1] == (None, "[DONE]")
    return [json.loads(text) for _, text in pairs[:-1]]


def test_openai_stream_with_usage():
    with sim(*FAST, "--tokens", "10", "--reasoning", "40") as (port, _):
        chunks = chat_stream(port, stream_options={"include_usage": True})
    assert chunks[0]["choices"][0]["delta"] == {
        "role": "assistant", "content": ""}
    deltas = [c["choices"][0]["delta"] for c in chunks[1:-2]]
    assert [sorted(d) for d in deltas] == (
        [["reasoning_content"]] * 4 + [["content"]] * 6)
    assert chunks[-2]["choices"][0]["finish_reason"] == "stop"
    assert all(c["usage"] is None for c in chunks[:-1])
    assert chunks[-1]["choices"] == []
    usage = chunks[-1]["usage"]
    assert usage["completion_tokens"] == 10
    assert usage["completion_tokens_details"]["reasoning_tokens"] == 4
    assert usage["total_tokens"] == usage["prompt_tokens"] + 10
    assert {c["id"] for c in chunks} == {chunks[0]["id"]}


def test_openai_stream_without_usage():
    with sim(*FAST, "--tokens", "3") as (port, _):
        chunks = chat_stream(port)
    assert len(chunks) == 5
    assert not any("usage" in c for c in chunks)


def test_openai_whole_is_the_stream_joined():
    with sim(*FAST, "--tokens", "30") as (port, _):
        text = "".join(c["choices"][0]["delta"].get("content", "")
                       for c in chat_stream(port))
        body = chat()
        answer, data = ask(port, "/chat/completions", body)
    whole = json.loads(data)
    assert answer.getheader("content-type") == "application/json"
    assert whole["object"] == "chat.completion"
    assert whole["choices"][0]["message"]["content"] == text
    assert len(text.split()) == 30
    n = len(json.dumps(body))
    assert whole["usage"]["prompt_tokens"] == (n + 3) // 4


def test_the_request_limits_the_output():
    with sim(*FAST, "--tokens", "30") as (port, _):
        for key in "max_tokens", "max_completion_tokens":
            _, data = ask(port, "/v1/chat/completions", chat(**{key: 5}))
            whole = json.loads(data)
            assert whole["usage"]["completion_tokens"] == 5
            assert whole["choices"][0]["finish_reason"] == "length"
        _, data = ask(port, "/v1/messages", chat(max_tokens=5))
    assert json.loads(data)["stop_reason"] == "max_tokens"
    assert json.loads(data)["usage"]["output_tokens"] == 5


def test_anthropic_stream():
    with sim(*FAST, "--tokens", "10", "--reasoning", "40") as (port, _):
        answer, data = ask(port, "/messages",
                           chat(stream=True, max_tokens=100))
    assert answer.getheader("request-id")
    pairs = [(name, json.loads(text)) for name, text in events(data)]
    assert all(name == body["type"] for name, body in pairs)
    names = [name for name, _ in pairs]
    assert names == (
        ["message_start", "content_block_start", "ping"]
        + ["content_block_delta"] * 5 + ["content_block_stop"]
        + ["content_block_start"] + ["content_block_delta"] * 6
        + ["content_block_stop", "message_delta", "message_stop"])
    kinds = [body["delta"]["type"] for name, body in pairs
             if name == "content_block_delta"]
    assert kinds == (["thinking_delta"] * 4 + ["signature_delta"]
                     + ["text_delta"] * 6)
    assert [body["index"] for _, body in pairs if "index" in body] == (
        [0] * 7 + [1] * 8)
    assert pairs[0][1]["message"]["usage"]["output_tokens"] == 1
    final = pairs[-2][1]
    assert final["delta"]["stop_reason"] == "end_turn"
    assert final["usage"]["output_tokens"] == 10
    assert final["usage"]["output_tokens_details"]["thinking_tokens"] == 4


def test_anthropic_cache_needs_marks():
    def turn(port, texts):
        messages = [{"role": "user", "content": [
            {"type": "text", "text": t,
             "cache_control": {"type": "ephemeral"}}]} for t in texts]
        body = {"model": "m", "max_tokens": 9, "messages": messages}
        _, data = ask(port, "/v1/messages", body)
        return (len(json.dumps(body)) + 3) // 4, json.loads(data)["usage"]

    with sim(*FAST, "--tokens", "3") as (port, _):
        n, first = turn(port, ["a" * 4000])
        assert first["cache_creation_input_tokens"] == n
        assert first["cache_read_input_tokens"] == 0
        n, second = turn(port, ["a" * 4000, "b" * 400])
        assert 1000 <= second["cache_read_input_tokens"] < 1100
        assert (second["input_tokens"] + second["cache_read_input_tokens"]
                + second["cache_creation_input_tokens"]) == n
        _, other = turn(port, ["c" * 4000, "a" * 4000])
        assert other["cache_read_input_tokens"] < 20
        for _ in range(2):
            _, data = ask(port, "/v1/messages", chat(["a" * 4000]))
            usage = json.loads(data)["usage"]
            assert usage["cache_read_input_tokens"] == 0
            assert usage["cache_creation_input_tokens"] == 0


def test_openai_cache_by_prefix_and_by_share():
    def cached(port, texts):
        _, data = ask(port, "/v1/chat/completions", chat(texts))
        usage = json.loads(data)["usage"]
        return (usage["prompt_tokens_details"]["cached_tokens"],
                usage["prompt_tokens"])

    with sim(*FAST) as (port, _):
        assert cached(port, ["a" * 4000])[0] == 0
        n_cached, n = cached(port, ["a" * 4000, "b" * 4000])
        assert 1000 <= n_cached < n - 1000
        assert cached(port, ["b" * 4000])[0] < 20
    with sim(*FAST, "--cached-percent", "50") as (port, _):
        n_cached, n = cached(port, ["a" * 4000])
        assert n_cached == n // 2


def test_every_second_answer_calls_the_declared_tool():
    tools = [{"type": "function", "function": TOOL}]
    with sim(*FAST, "--tokens", "9", "--tool-calls", "2") as (port, _):
        assert chat_stream(port, tools=tools)[-1]["choices"][0][
            "finish_reason"] == "stop"
        chunks = chat_stream(port, tools=tools)
        assert chat_stream(port)[-1]["choices"][0]["finish_reason"] == "stop"
        assert chat_stream(port)[-1]["choices"][0]["finish_reason"] == "stop"
    calls = [c["choices"][0]["delta"]["tool_calls"][0] for c in chunks
             if "tool_calls" in c["choices"][0]["delta"]]
    assert calls[0]["function"] == {"name": "read", "arguments": ""}
    arguments = "".join(c["function"]["arguments"] for c in calls)
    assert json.loads(arguments) == {"path": "sample", "depth": 1}
    assert chunks[-1]["choices"][0]["finish_reason"] == "tool_calls"


def test_anthropic_tool_use():
    tools = [{"name": "read", "input_schema": TOOL["parameters"]}]
    with sim(*FAST, "--tokens", "9", "--tool-calls", "1") as (port, _):
        _, data = ask(port, "/v1/messages",
                      chat(stream=True, max_tokens=50, tools=tools))
        pairs = [(n, json.loads(t)) for n, t in events(data)]
        _, data = ask(port, "/v1/messages", chat(max_tokens=50, tools=tools))
    starts = [b["content_block"] for n, b in pairs
              if n == "content_block_start"]
    assert [s["type"] for s in starts] == ["text", "tool_use"]
    arguments = "".join(
        b["delta"]["partial_json"] for n, b in pairs
        if n == "content_block_delta"
        and b["delta"]["type"] == "input_json_delta")
    whole = json.loads(data)
    assert whole["stop_reason"] == "tool_use"
    assert whole["content"][-1]["input"] == json.loads(arguments) == {
        "path": "sample", "depth": 1}


def test_failures_on_demand():
    with sim(*FAST) as (port, _):
        answer, data = ask(port, "/v1/chat/completions", chat(),
                           headers={"x-sim-status": "429"})
        assert answer.status == 429
        assert int(answer.getheader("retry-after")) > 0
        assert json.loads(data)["error"]["code"] == "rate_limit_exceeded"
        answer, data = ask(port, "/v1/messages", chat(),
                           headers={"x-sim-status": "529"})
        assert answer.status == 529
        body = json.loads(data)
        assert body["type"] == "error"
        assert body["error"]["type"] == "overloaded_error"
        assert body["request_id"] == answer.getheader("request-id")
    with sim(*FAST, "--fail-every", "3") as (port, _):
        statuses = [ask(port, "/v1/messages", chat())[0].status
                    for _ in range(6)]
    assert statuses == [200, 200, 429, 200, 200, 429]


def test_requests_that_make_no_sense():
    with sim(*FAST) as (port, _):
        for body in b"", b"{", b"[]", b"{}", b'{"model":"m"}':
            answer, data = ask(port, "/v1/chat/completions", body)
            assert answer.status == 400
            assert json.loads(data)["error"]["type"] == (
                "invalid_request_error")
        answer, data = ask(port, "/v1/other", chat())
        assert answer.status == 404
        assert json.loads(data)["error"]["code"] == "unknown_url"
        answer, data = ask(port, "/v1/other", chat(),
                           headers={"anthropic-version": "2023-06-01"})
        assert answer.status == 404
        assert json.loads(data)["error"]["type"] == "not_found_error"
        answer, _ = ask(port, "/v1/messages", None, method="GET")
        assert answer.status == 405
        answer, data = ask(port, "/v1/models", None, method="GET")
        assert answer.status == 200
        assert all(m["object"] == "model" for m in json.loads(data)["data"])


def test_pace_and_first_token():
    with sim("--ttft-ms", "200", "--tps", "50", "--tokens", "11") as (port, _):
        for stream in True, False:
            start = time.monotonic()
            answer, _ = ask(port, "/v1/chat/completions",
                            chat(stream=stream))
            took = time.monotonic() - start
            assert answer.status == 200
            assert 0.4 <= took < 5
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        start = time.monotonic()
        connection.request("POST", "/v1/chat/completions",
                           json.dumps(chat(stream=True)))
        answer = connection.getresponse()
        assert b'"role"' in answer.readline()
        answer.readline()
        assert b'"content"' in answer.readline()
        assert time.monotonic() - start >= 0.2
        connection.close()


def test_a_hundred_slow_streams_need_no_hundred_threads():
    results = []

    def one(port):
        results.append(len(chat_stream(port)))

    with sim("--ttft-ms", "500", "--tps", "20", "--tokens", "20") as (
            port, process):
        start = time.monotonic()
        threads = [threading.Thread(target=one, args=(port,))
                   for _ in range(100)]
        for thread in threads:
            thread.start()
        assert len(os.listdir(f"/proc/{process.pid}/task")) <= 4
        for thread in threads:
            thread.join(60)
        took = time.monotonic() - start
    assert results == [22] * 100
    assert took < 30, "one after the other would take 145 s"


def test_term_ends_it_in_the_middle_of_answers(tmp_path):
    file = tmp_path / "port"
    with sim("--ttft-ms", "60000", "--port-file", str(file)) as (port, process):
        assert file.read_text() == f"{port}\n"
        assert os.listdir(tmp_path) == ["port"]
        connections = []
        for stream in True, False:
            connection = http.client.HTTPConnection(
                "127.0.0.1", port, timeout=20)
            connection.request("POST", "/v1/messages",
                               json.dumps(chat(stream=stream)))
            connections.append(connection)
        answer = connections[0].getresponse()
        assert answer.readline() == b"event: message_start\n"
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0
        with contextlib.suppress(http.client.IncompleteRead,
                                 ConnectionError):
            assert b"message_stop" not in answer.read()
        for connection in connections:
            connection.close()


def test_bad_values_are_refused():
    for args in (["--port", "70000"], ["--tokens", "0"], ["--tps", "x"],
                 ["--reasoning", "101"], ["--ttft-ms", "1.5"], ["operand"]):
        done = subprocess.run([BIN, "sim", *args], capture_output=True,
                              text=True, timeout=10)
        assert done.returncode == 2, args
        assert done.stdout == ""
        assert done.stderr.startswith("turnmeter sim: ")


def test_a_port_in_use_is_said():
    with sim() as (port, _):
        done = subprocess.run([BIN, "sim", "--port", str(port)],
                              capture_output=True, text=True, timeout=10)
    assert done.returncode == 1
    assert "in use" in done.stderr
