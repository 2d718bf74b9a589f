# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the turnmeter authors
"""shapes: requests and answers of the protocols that tests talk."""
import json


def sse(event, data):
    text = data if isinstance(data, str) else json.dumps(data)
    prefix = "event: %s\n" % event if event else ""
    return ("%sdata: %s\n\n" % (prefix, text)).encode()


CHAT_PATH = b"/up/v1/chat/completions"
MESSAGES_PATH = b"/up/v1/messages"


def chat_request(stream=True, model="m-1", text="hello", **more):
    body = {"model": model, "stream": stream,
            "messages": [{"role": "user", "content": text}]}
    if stream:
        body["stream_options"] = {"include_usage": True}
    body.update(more)
    return json.dumps(body).encode()


def chat_chunk(delta=None, finish=None, usage=None, ident="chatcmpl-1"):
    choices = [] if delta is None else [
        {"index": 0, "delta": delta, "finish_reason": finish}]
    return sse(None, {"id": ident, "object": "chat.completion.chunk",
                      "model": "m-1-served", "choices": choices,
                      "usage": usage})


def chat_usage(n_in=10, n_out=5):
    return {"prompt_tokens": n_in, "completion_tokens": n_out,
            "total_tokens": n_in + n_out}


def chat_stream(n=3, n_in=10, n_out=5, ident="chatcmpl-1"):
    """The pieces of a whole answer, the last one its terminal event."""
    pieces = [chat_chunk({"role": "assistant", "content": ""}, ident=ident)]
    pieces += [chat_chunk({"content": " word%d" % i}, ident=ident)
               for i in range(n)]
    pieces.append(chat_chunk({}, "stop", ident=ident))
    pieces.append(chat_chunk(None, None, chat_usage(n_in, n_out), ident))
    pieces.append(sse(None, "[DONE]"))
    return pieces


def chat_json(n_in=10, n_out=5, ident="chatcmpl-1", text="hello"):
    return json.dumps({
        "id": ident, "object": "chat.completion", "model": "m-1-served",
        "choices": [{"index": 0, "finish_reason": "stop", "message": {
            "role": "assistant", "content": text}}],
        "usage": chat_usage(n_in, n_out)}).encode()


def messages_request(stream=True, model="c-1", text="hello", **more):
    body = {"model": model, "max_tokens": 100, "stream": stream,
            "messages": [{"role": "user", "content": text}]}
    body.update(more)
    return json.dumps(body).encode()


def messages_start(n_in=25):
    return sse("message_start", {"type": "message_start", "message": {
        "id": "msg_1", "type": "message", "role": "assistant",
        "model": "c-1-served", "content": [], "stop_reason": None,
        "usage": {"input_tokens": n_in, "output_tokens": 1}}})


def messages_delta(text):
    return sse("content_block_delta", {
        "type": "content_block_delta", "index": 0,
        "delta": {"type": "text_delta", "text": text}})


def messages_stream(n=3, n_in=25, n_out=15):
    pieces = [messages_start(n_in),
              sse("content_block_start", {
                  "type": "content_block_start", "index": 0,
                  "content_block": {"type": "text", "text": ""}})]
    pieces += [messages_delta(" w%d" % i) for i in range(n)]
    pieces += [sse("content_block_stop",
                   {"type": "content_block_stop", "index": 0}),
               sse("message_delta", {
                   "type": "message_delta",
                   "delta": {"stop_reason": "end_turn"},
                   "usage": {"output_tokens": n_out}}),
               sse("message_stop", {"type": "message_stop"})]
    return pieces
