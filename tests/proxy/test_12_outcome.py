# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the turnmeter authors
"""How an exchange ended: what the client sees, what the row says."""
import socket
import threading

import pytest

import shapes
from upstream import OK, answer, reply
from wire import Broken, noise


def ask_chat(daemon, **how):
    return daemon.ask(b"POST", shapes.CHAT_PATH, body=shapes.chat_request(),
                      **how)


@pytest.mark.parametrize("ending, how, outcome", [
    ("close", ("fin", "rst"), "upstream_truncated"),
    ("reset", ("fin", "rst"), "upstream_reset")])
@pytest.mark.parametrize("framing", ["chunked", "length"])
def test_cut_in_the_body(daemon, up, ending, how, outcome, framing):
    """Goal: a cut reaches the client as a broken transfer, after every
    byte that came and without one that did not."""
    pieces = shapes.chat_stream(5)[:3]

    def script(connection):
        connection.take()
        if framing == "chunked":
            connection.stream(pieces)
        else:
            connection.send(OK + b"Content-Type: text/event-stream\r\n"
                            b"Content-Length: 100000\r\n\r\n"
                            + b"".join(pieces))
        # The daemon must have read all of it before the reset, which
        # would throw it away.
        assert seen.wait(15)
        getattr(connection, ending)()

    seen = threading.Event()
    up.script(script)
    with daemon.client() as client:
        client.request(b"POST", shapes.CHAT_PATH,
                       body=shapes.chat_request())
        response = client.head()
        got = b""
        with pytest.raises(Broken) as broken:
            for piece in client.body_pieces(response):
                got += piece
                if len(got) == sum(map(len, pieces)):
                    seen.set()
        assert got == b"".join(pieces)
        assert broken.value.how in how
    turn = daemon.final_turn()
    assert turn["outcome"] == outcome
    assert turn["status"] == 200
    assert turn["response_bytes"] == len(b"".join(pieces))
    assert turn["input_tokens"] is None
    assert turn["usable_tps"] is None


def test_cut_within_a_chunk(daemon, up):
    """Goal: half a chunk is passed on, then the break."""
    def script(connection):
        connection.take()
        connection.stream([b"whole"])
        connection.send(b"64\r\nhalf")

    up.script(script)
    with pytest.raises(Broken):
        ask_chat(daemon)
    assert daemon.final_turn()["outcome"] == "upstream_truncated"


def test_cut_of_a_json_answer(daemon, up):
    """Goal: the same where nothing is streamed."""
    def script(connection):
        connection.take()
        connection.send(OK + b"Content-Type: application/json\r\n"
                        b"Content-Length: 1000\r\n\r\n"
                        + shapes.chat_json()[:50])

    up.script(script)
    with pytest.raises(Broken):
        daemon.ask(b"POST", shapes.CHAT_PATH,
                   body=shapes.chat_request(False))
    turn = daemon.final_turn()
    assert turn["outcome"] == "upstream_truncated"
    assert turn["status"] == 200


def test_before_the_first_body_byte(daemon, up):
    """Goal: a head without its body is a broken transfer as well."""
    def script(connection):
        connection.take()
        connection.send(OK + b"Content-Length: 10\r\n\r\n")

    up.script(script)
    try:
        response = ask_chat(daemon)
        assert response.status == 502 and response.error
    except Broken:
        pass
    assert daemon.final_turn()["outcome"] == "upstream_truncated"


@pytest.mark.parametrize("shape", ["chat", "messages"])
def test_a_clean_end_without_the_terminal_event(daemon, up, shape):
    """Goal: bytes are relayed as they are; the turn is incomplete and not
    a success."""
    if shape == "chat":
        path, body = shapes.CHAT_PATH, shapes.chat_request()
        pieces = shapes.chat_stream(3)[:4]
    else:
        path, body = shapes.MESSAGES_PATH, shapes.messages_request()
        pieces = shapes.messages_stream(3)[:5]

    def script(connection):
        connection.take()
        connection.stream(pieces)
        connection.end_chunks()

    up.script(script)
    response = daemon.ask(b"POST", path, body=body)
    assert response.body == b"".join(pieces)
    turn = daemon.final_turn()
    assert turn["outcome"] == "incomplete"
    assert turn["finish_reason"] is None
    if shape == "messages":
        assert turn["usage_source"] == "partial"
        assert turn["input_tokens"] == 25


@pytest.mark.parametrize("shape", ["chat", "messages"])
@pytest.mark.parametrize("ending", ["end_chunks", "close", "reset"])
def test_the_terminal_event_decides(daemon, up, shape, ending):
    """Goal: what follows the terminal event does not change the turn: it
    is ok, also when the connection then breaks; the client still sees the
    break."""
    if shape == "chat":
        path, body = shapes.CHAT_PATH, shapes.chat_request()
        pieces = shapes.chat_stream(3)
    else:
        path, body = shapes.MESSAGES_PATH, shapes.messages_request()
        pieces = shapes.messages_stream(3)

    def script(connection):
        connection.take()
        connection.stream(pieces)
        assert seen.wait(15)
        getattr(connection, ending)()

    seen = threading.Event()
    up.script(script)
    with daemon.client() as client:
        client.request(b"POST", path, body=body)
        response = client.head()
        got = b""
        try:
            for piece in client.body_pieces(response):
                got += piece
                if len(got) == sum(map(len, pieces)):
                    seen.set()
            assert ending == "end_chunks"
        except Broken:
            assert ending != "end_chunks"
        assert got == b"".join(pieces)
    turn = daemon.final_turn()
    assert turn["outcome"] == "ok"
    assert turn["stop"] == "final"
    assert turn["output_tokens"] == (5 if shape == "chat" else 15)


def test_an_unterminated_last_event(daemon, up):
    """Goal: usage in a last line without a newline is read, and nothing
    is added to the client's bytes."""
    pieces = shapes.chat_stream(2)[:-1]
    pieces[-1] = pieces[-1].rstrip(b"\n")

    def script(connection):
        connection.take()
        connection.stream(pieces)
        connection.end_chunks()

    up.script(script)
    assert ask_chat(daemon).body == b"".join(pieces)
    turn = daemon.final_turn()
    assert (turn["input_tokens"], turn["output_tokens"]) == (10, 5)
    assert "unterminated" in turn["flags"]


def test_an_error_event_in_a_200(daemon, up):
    """Goal: the first decisive event wins: stream_error, bytes unchanged."""
    pieces = shapes.messages_stream(2)[:4] + [shapes.sse("error", {
        "type": "error", "error": {"type": "overloaded_error",
                                   "message": "Overloaded"}})]

    def script(connection):
        connection.take()
        connection.stream(pieces)
        connection.end_chunks()

    up.script(script)
    response = daemon.ask(b"POST", shapes.MESSAGES_PATH,
                          body=shapes.messages_request())
    assert response.body == b"".join(pieces)
    turn = daemon.final_turn()
    assert turn["status"] == 200
    assert turn["outcome"] in ("stream_error", "overloaded")
    assert turn["error_kind"] == "overloaded"
    assert turn["input_tokens"] == 25


@pytest.mark.parametrize("status, body, outcome", [
    (b"429 Too Many Requests",
     b'{"type":"error","error":{"type":"rate_limit_error"}}',
     "rate_limited"),
    (b"529 Overloaded",
     b'{"type":"error","error":{"type":"overloaded_error"}}', "overloaded"),
    (b"401 Unauthorized",
     b'{"type":"error","error":{"type":"authentication_error"}}',
     "http_error"),
    (b"500 Oops", b"<html>", "http_error"),
])
def test_error_statuses(daemon, up, status, body, outcome):
    """Goal: the provider's errors are relayed verbatim and told apart."""
    up.answers(reply(body, status, [b"Content-Type: application/json",
                                    b"retry-after: 3"]))
    response = daemon.ask(b"POST", shapes.MESSAGES_PATH,
                          body=shapes.messages_request())
    assert response.status == int(status[:3])
    assert response.body == body
    assert response.error is None
    turn = daemon.final_turn()
    assert turn["status"] == int(status[:3])
    assert turn["outcome"] == outcome
    if outcome == "rate_limited":
        assert turn["retry_after_ms"] == 3000
    assert turn["input_tokens"] is None


def test_nobody_listens(new_daemon):
    """Goal: a dead upstream is our 502 at once, and a row."""
    probe = socket.create_server(("127.0.0.1", 0))
    port = probe.getsockname()[1]
    probe.close()
    daemon = new_daemon({"up": "http://127.0.0.1:%d" % port}).start()
    response = ask_chat(daemon)
    assert response.status == 502
    assert response.error
    turn = daemon.final_turn()
    assert (turn["outcome"], turn["status"]) == ("connect_failed", None)
    assert turn["model"] == "m-1"


def test_a_name_that_does_not_resolve(new_daemon):
    """Goal: a wrong host name is an error, not a hang of everyone."""
    daemon = new_daemon({"up": "http://no-such-host.invalid:1"}).start()
    with daemon.client() as client:
        client.request(b"POST", shapes.CHAT_PATH,
                       body=shapes.chat_request())
        assert daemon.health(), "the loop goes on meanwhile"
        assert client.response().status in (502, 504)
    assert daemon.final_turn()["outcome"] == "connect_failed"


def test_connect_timeout(new_daemon):
    """Goal: an address that swallows packets is given up in time."""
    full = socket.socket()
    full.bind(("127.0.0.1", 0))
    full.listen(0)
    fillers = []
    for _ in range(4):  # the accept queue is full: further SYNs get nothing
        filler = socket.socket()
        filler.setblocking(False)
        filler.connect_ex(full.getsockname())
        fillers.append(filler)
    daemon = new_daemon({"up": {
        "url": "http://127.0.0.1:%d" % full.getsockname()[1],
        "connect_timeout": "1s"}}).start()
    response = ask_chat(daemon)
    assert response.status in (502, 504)
    assert response.error
    assert daemon.final_turn()["outcome"] in ("connect_failed", "timeout")
    for sock in fillers + [full]:
        sock.close()


def test_a_tail_behind_a_close(daemon, up):
    """Goal: 1.2 MB sent and closed at once arrive whole at a client that
    reads slowly."""
    pieces = [noise(1200, i).hex().encode() for i in range(500)]

    def script(connection):
        connection.take()
        connection.send(OK + b"Content-Type: text/event-stream\r\n"
                        b"Transfer-Encoding: chunked\r\n\r\n"
                        + b"".join(b"%x\r\n%s\r\n" % (len(p), p)
                                   for p in pieces) + b"0\r\n\r\n")
        connection.shutdown()
        connection.wait_closed()

    up.script(script)
    with daemon.client() as client:
        client.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
        client.request(b"POST", b"/up/x", body=b"a")
        response = client.head()
        got = b"".join(client.body_pieces(response))
    assert got == b"".join(pieces)
    assert daemon.final_turn()["outcome"] == "ok"


def test_offsets_are_in_order(daemon, up):
    """Goal: the times of one turn make sense together."""
    pieces = shapes.chat_stream(12)

    def script(connection):
        connection.take()
        connection.stream(pieces)
        connection.end_chunks()

    up.script(script)
    ask_chat(daemon)
    turn = daemon.final_turn()
    order = ["sent_ms", "ttfb_ms", "ttft_ms", "first_text_ms",
             "last_token_ms", "total_ms"]
    values = [turn[name] for name in order]
    assert None not in values
    assert values == sorted(values), dict(zip(order, values))
    assert values[0] >= 0
    assert turn["connect_ms"] >= 0
    assert turn["n_pieces"] == 12
    assert turn["streaming"] == 1
    assert turn["finish_reason"] == "stop"


def test_a_json_turn(daemon, up):
    """Goal: a plain answer is metered, its stream times unknown."""
    up.script(answer(reply(shapes.chat_json(1000, 50), headers=[
        b"Content-Type: application/json", b"x-request-id: req_9"])))
    daemon.ask(b"POST", shapes.CHAT_PATH, [(b"User-Agent", b"cli/1.2 x")],
               shapes.chat_request(False, max_tokens=77))
    turn = daemon.final_turn()
    assert turn["outcome"] == "ok"
    assert turn["protocol"] == "openai-chat"
    assert (turn["model"], turn["model_served"]) == ("m-1", "m-1-served")
    assert (turn["input_tokens"], turn["output_tokens"]) == (1000, 50)
    assert turn["usage_source"] == "reported"
    assert turn["upstream_request_id"] == "req_9"
    assert turn["max_tokens"] == 77
    assert turn["n_messages"] == 1
    assert turn["client"] == "cli/1.2"
    assert turn["streaming"] == 0
    for name in ("ttft_ms", "first_text_ms", "last_token_ms", "decode_ms",
                 "itl_p50_ms"):
        assert turn[name] is None, name


def test_a_client_that_did_not_ask_for_usage(daemon, up):
    """Goal: nothing is put into the request; unknown stays NULL."""
    body = b'{"model":"m","stream":true,"messages":[]}'
    pieces = shapes.chat_stream(3)
    del pieces[-2]

    def script(connection):
        connection.take()
        connection.stream(pieces)
        connection.end_chunks()

    up.script(script)
    daemon.ask(b"POST", shapes.CHAT_PATH, body=body)
    assert up.request.body == body
    turn = daemon.final_turn()
    assert turn["outcome"] == "ok"
    assert turn["usage_source"] == "none"
    assert turn["input_tokens"] is None
    assert turn["output_tokens"] is None
