"""What the server answers and what histories contain: the same bytes in each run.

The wires are named as on the pages: `gemini`, `chat` (chat completions) and `messages`.
"""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Iterator
from typing import Any

WIRES = ("gemini", "chat", "messages")

MARK = "@turn"
"""Stands once in each message of a history, so that the server can count the messages."""

TOOL, ARGUMENTS = "read_log", {"path": "log/5.txt"}
"""The tool that an answer calls, and with what."""
_CALL = "call_TideLog5"

CLOCK = "0" * 18
"""Stands where the server writes its clock, in nanoseconds."""

IMAGE_BYTES = 3_750_000
"""Size of the image of a 5 MB answer; its base64 has 5,000,000 characters."""

# As models write: line ends, quotes and several alphabets.
_WORDS = (
    "harbour",
    "the",
    "tide",
    "rises",
    '"at five"',
    "and",
    "潮位",
    "falls",
    "again.\n",
    "marée",
    "of",
    "depth=3.4",
    "a",
    "boat",
    "`log`",
    "waits:\n\n",
)

Turn = tuple[str, Any]
"""`("user", text)`, `("model", text)`, `("call", (id, name, arguments))` or
`("result", (id, name, value))`."""


def text(dice: random.Random, words: int) -> str:
    """So many words, and a space before each."""
    return "".join(" " + dice.choice(_WORDS) for _ in range(words))


def gemini_chunk(said: str, tokens: int, *, last: bool = False) -> dict[str, Any]:
    candidate: dict[str, Any] = {
        "content": {"parts": [{"text": said}], "role": "model"},
        "index": 0,
    }
    if last:
        candidate["finishReason"] = "STOP"
    return {
        "candidates": [candidate],
        "usageMetadata": {
            "promptTokenCount": 812,
            "candidatesTokenCount": tokens,
            "totalTokenCount": 1100 + tokens,
            "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 812}],
            "thoughtsTokenCount": 288,
        },
        "modelVersion": "gemini-3.8-flash",
        "responseId": "dGhlIHRpZGUgdGFibGU",
    }


def chat_chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    return {
        "id": "chatcmpl-TideTableOfBrest0123456789abc",
        "object": "chat.completion.chunk",
        "created": 1795392000,
        "model": "gpt-5.6-2026-09-01",
        "service_tier": "default",
        "system_fingerprint": "fp_71de7ab1e5",
        "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}],
        "obfuscation": "wX3vT",
    }


def _gemini(count: int) -> list[dict[str, Any]]:
    dice = random.Random(11)
    last = count - 1
    return [
        gemini_chunk(text(dice, 10), 10 * place + 10, last=place == last) for place in range(count)
    ]


def _chat(count: int) -> list[dict[str, Any]]:
    """Mostly text; the last fifth is one tool call in pieces."""
    dice = random.Random(12)
    body = count - 4  # between the first chunk and the opening of the call, the end and the usage
    pieces = max(1, body // 5)
    written = [json.dumps(text(dice, 4), ensure_ascii=False)[1:-1] for _ in range(pieces)]
    written[0], written[-1] = '{"log": "' + written[0], written[-1] + '"}'
    call = {
        "index": 0,
        "id": "call_TideLog1",
        "type": "function",
        "function": {"name": "write_log", "arguments": ""},
    }
    usage = chat_chunk({}) | {
        "choices": [],
        "usage": {
            "prompt_tokens": 812,
            "completion_tokens": 10 * count,
            "total_tokens": 812 + 10 * count,
            "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": 288, "audio_tokens": 0},
        },
    }
    return [
        chat_chunk({"role": "assistant", "content": "", "refusal": None}),
        *(chat_chunk({"content": text(dice, 10)}) for _ in range(body - pieces)),
        chat_chunk({"tool_calls": [call]}),
        *(
            chat_chunk({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]})
            for piece in written
        ),
        chat_chunk({}, "tool_calls"),
        usage,
    ]


def _message(content: list[dict[str, Any]], stop: str | None, tokens: int) -> dict[str, Any]:
    return {
        "id": "msg_01TideTableBrest",
        "type": "message",
        "role": "assistant",
        "model": "claude-opus-4-8",
        "content": content,
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {"input_tokens": 812, "output_tokens": tokens},
    }


def _delta(said: str) -> dict[str, Any]:
    return {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "text_delta", "text": said},
    }


def _messages(count: int) -> list[dict[str, Any]]:
    dice = random.Random(13)
    block = {"type": "text", "text": ""}
    return [
        {"type": "message_start", "message": _message([], None, 1)},
        {"type": "content_block_start", "index": 0, "content_block": block},
        *(_delta(text(dice, 10)) for _ in range(count - 5)),
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn", "stop_sequence": None},
            "usage": {"output_tokens": 10 * count},
        },
        {"type": "message_stop"},
    ]


_EVENTS = {"gemini": _gemini, "chat": _chat, "messages": _messages}


def encoded(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


def spelled(wire: str, event: dict[str, Any]) -> bytes:
    """An event as the wire's servers write it."""
    if wire == "gemini":
        return b"data: " + encoded(event) + b"\r\n\r\n"
    if wire == "chat":
        return b"data: " + encoded(event) + b"\n\n"
    return b"event: %s\ndata: %s\n\n" % (event["type"].encode(), encoded(event))


def payloads(wire: str, count: int) -> list[bytes]:
    """The JSON of each event of a stream."""
    return [encoded(event) for event in _EVENTS[wire](count)]


def events(wire: str, count: int) -> list[bytes]:
    """A stream of so many events (at least 8), each as it is sent."""
    spelling = [spelled(wire, event) for event in _EVENTS[wire](count)]
    return [*spelling, b"data: [DONE]\n\n"] if wire == "chat" else spelling


def timed_events(wire: str) -> tuple[bytes, bytes, bytes]:
    """Before a stream with clocks, one event with `CLOCK`, and the end of the stream."""
    said = CLOCK + " and ten more words of plain text follow it"
    if wire == "gemini":
        event, end = gemini_chunk(said, 10), [gemini_chunk(".", 20, last=True)]
        return b"", spelled(wire, event), b"".join(spelled(wire, each) for each in end)
    if wire == "chat":
        end_of_chat = spelled(wire, chat_chunk({}, "stop")) + b"data: [DONE]\n\n"
        return b"", spelled(wire, chat_chunk({"content": said})), end_of_chat
    all_events = events(wire, 8)
    return b"".join(all_events[:2]), spelled(wire, _delta(said)), b"".join(all_events[-3:])


def packets(written: list[bytes]) -> list[bytes]:
    """The stream as a network cuts it: one to three events, a quarter end inside of one."""
    dice = random.Random(17)
    body = b"".join(written)
    ends = [0]
    for event in written:
        ends.append(ends[-1] + len(event))
    cut, place, found = 0, 0, []
    while cut < len(body):
        place = min(place + dice.choice((1, 1, 2, 2, 3)), len(written))
        end = ends[place]
        if place < len(written) and dice.random() < 0.25:
            end += dice.randrange(1, len(written[place]))
        found.append(body[cut:end])
        cut = end
    return found


def answer(wire: str, said: str, image: str = "", *, calls: bool = False) -> bytes:
    """A whole response with a text, at Gemini with an image in base64, or with a call of a tool."""
    if wire == "gemini":
        body = gemini_chunk(said, 120, last=True)
        parts = body["candidates"][0]["content"]["parts"]
        if image:
            parts.append({"inlineData": {"mimeType": "image/png", "data": image}})
        if calls:
            parts.append({"functionCall": {"id": _CALL, "name": TOOL, "args": ARGUMENTS}})
        return json.dumps(body, ensure_ascii=False, indent=2).encode()  # as Google's servers do
    if wire == "chat":
        message: dict[str, Any] = {"role": "assistant", "content": said}
        message |= {"refusal": None, "annotations": []}
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
        if calls:
            function = {"name": TOOL, "arguments": json.dumps(ARGUMENTS)}
            message["tool_calls"] = [{"id": _CALL, "type": "function", "function": function}]
            choice["finish_reason"] = "tool_calls"
        usage = {"prompt_tokens": 12, "completion_tokens": 120, "total_tokens": 132}
        whole = {"object": "chat.completion", "choices": [choice], "usage": usage}
        return encoded({**chat_chunk({}), **whole})
    blocks: list[dict[str, Any]] = [{"type": "text", "text": said}]
    if calls:
        blocks.append({"type": "tool_use", "id": _CALL, "name": TOOL, "input": ARGUMENTS})
    return encoded(_message(blocks, "tool_use" if calls else "end_turn", 120))


def answer_1kb(wire: str) -> bytes:
    return answer(wire, text(random.Random(19), 100))


def answer_call(wire: str) -> bytes:
    """The same text, and a call of a tool."""
    return answer(wire, text(random.Random(19), 100), calls=True)


def answer_5mb(wire: str) -> bytes:
    """An image of 5 MB at Gemini, a text of 5 MB elsewhere."""
    dice = random.Random(23)
    data = base64.b64encode(dice.randbytes(IMAGE_BYTES)).decode()
    return answer(wire, text(dice, 20), data) if wire == "gemini" else answer(wire, data)


def conversation(count: int, size: int = 2000) -> list[Turn]:
    """So many turns of so many characters, and a question; every fifth pair is a call of a tool."""
    return list(_turns(count, size))


def _turns(count: int, size: int) -> Iterator[Turn]:
    dice = random.Random(29)
    for place in range(0, count, 2):
        said = (MARK + text(dice, size // 4))[:size]
        answered = (MARK + text(dice, size // 4))[:size]
        if place % 10 == 8:
            identity = f"call_{place}"
            yield "call", (identity, "read_log", {"path": f"log/{place}.txt", "mark": MARK})
            yield "result", (identity, "read_log", {"text": answered})
        else:
            yield "user", said
            yield "model", answered
    yield "user", MARK


MORE: list[Turn] = [("model", MARK + " at five"), ("user", MARK + " and then?")]
"""By what a conversation that goes on is longer at each request."""
