"""Each recorded reply, written again as a response of its wire, is read as the same reply."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.conformance.records import body_of, lines
from tests.property import sample
from wire import anthropic, gemini, openai
from wire.anthropic import fold as anthropic_fold
from wire.anthropic.reader import ChunkReader as AnthropicReader
from wire.anthropic.reader import parse_message as anthropic_body
from wire.core.memory import PARTIAL
from wire.errors import WireError
from wire.gemini import fold as gemini_fold
from wire.gemini.reader import ChunkReader as GeminiReader
from wire.gemini.reader import parse_response as gemini_body
from wire.neutral.messages import Reply, Text, Thought, ToolCall
from wire.openai import responses
from wire.openai.chat import fold as chat_fold
from wire.openai.chat.reader import ChunkReader as ChatReader
from wire.openai.chat.reader import parse_completion as chat_body
from wire.openai.responses import fold as responses_fold
from wire.openai.responses.reader import ChunkReader as ResponsesReader
from wire.openai.responses.reader import parse_response as responses_body

SHARED = Path(__file__).parents[3] / "shared" / "corpus"
SAMPLES = Path(__file__).parents[1] / "fixtures" / "corpus"
Case = tuple[Any, Callable[[bytes], Any], Any, Callable[[Sequence[Any]], Any], str, str]
WIRES: dict[str, Case] = {
    "gemini": (
        *(gemini, gemini_body, GeminiReader, gemini_fold.fold),
        *("gemini", r":(stream)?[gG]enerateContent$"),
    ),
    "chat": (
        *(openai, chat_body, ChatReader, chat_fold.fold),
        *("openai-chat openai-chat-compatible", r"/chat/completions$"),
    ),
    "responses": (
        *(responses, responses_body, ResponsesReader, responses_fold.fold),
        *("openai-responses openai-responses-compatible", r"/responses(/[^/]+)?$"),
    ),
    "anthropic": (
        *(anthropic, anthropic_body, AnthropicReader, anthropic_fold.fold),
        *("anthropic anthropic-compatible", r"/messages$"),
    ),
}
OTHER_ANSWER = re.compile(r"(choices|candidates)\[\d+\]")
"""Further answers to one request are noted, and no part of the reply."""


def records(name: str) -> Sequence[dict[str, Any]]:
    *_, files, path = WIRES[name]
    paths = [SHARED / f"{file}.jsonl.gz" for file in files.split()]
    if not paths[0].exists():
        paths = sorted(SAMPLES.glob("*.jsonl"))
    found = (each for file in paths for each in lines(file, ("status", "url", "response_body")))
    return [each for each in found if fits(each, path)]


def fits(record: dict[str, Any], path: str) -> bool:
    return record["status"] == 200 and bool(re.search(path, record["url"].split("?")[0]))


def read(name: str, body: bytes, *, stream: bool) -> Reply:
    wire, whole, reader, fold, *_ = WIRES[name]
    if not stream:
        return wire.parse_reply(whole(body))
    opened = reader()
    return wire.parse_reply(fold([*opened.feed(body), *(opened.close() or ())]))


def replies(name: str) -> Iterator[tuple[str, Reply]]:
    """Id and reply of each record that has a whole one."""
    for record in records(name):
        try:
            reply = read(name, body_of(record), stream=record.get("framing") == "sse")
        except WireError:
            continue
        if PARTIAL not in reply.notes and reply.stop.reason != "error":
            notes = [each for each in reply.notes if not OTHER_ANSWER.fullmatch(each.path)]
            yield record["id"], msgspec.structs.replace(reply, notes=tuple(notes))


def joined(reply: Reply) -> Reply:
    """The reply without a border between two plain texts or thoughts, which no stream has."""
    parts: list[Any] = []
    for part in reply.message.parts:
        last = parts[-1] if parts else None
        plain = isinstance(part, Text | Thought) and not getattr(last, "signature", True)
        if plain and type(part) is type(last):
            part = msgspec.structs.replace(part, text=last.text + part.text)
            parts.pop()
        parts.append(part)
    message = msgspec.structs.replace(reply.message, parts=tuple(parts))
    return msgspec.structs.replace(reply, message=message)


@pytest.mark.sampled
@pytest.mark.parametrize("name", WIRES)
def test_a_reply_that_is_written_again_is_the_same_whole_and_as_events(name: str) -> None:
    render = WIRES[name][0].render_reply
    tried, differ = 0, []
    for id, reply in sample(list(replies(name)), 20):
        tried += 1
        if read(name, render(reply), stream=False) != reply:
            differ.append((id, "whole"))
        again = read(name, render(reply, stream=True), stream=True)
        if joined(again) != joined(reply):
            differ.append((id, "events"))
    assert differ == []
    assert tried > 5


def bare(reply: Reply) -> Reply:
    """The reply without the bytes that it came in."""
    parts = tuple(map(msgspec.structs.replace, reply.message.parts))
    message = msgspec.structs.replace(reply.message, parts=parts)
    return msgspec.structs.replace(reply, message=message)


@pytest.mark.sampled
@pytest.mark.parametrize("name", WIRES)
def test_a_reply_of_fields_alone_is_written_whole_and_as_events(name: str) -> None:
    """Such as one of another program, or one that was changed. Results of tools that a server ran
    have no fields for all that it sends."""
    render = WIRES[name][0].render_reply
    tried, differ = 0, []
    for id, received in sample(list(replies(name)), 20):
        kinds = {type(part) for part in received.message.parts}
        if not kinds <= {Text, Thought, ToolCall} or received.citations or not received.stop.raw:
            continue
        tried, reply = tried + 1, bare(received)
        for stream in (False, True):
            again = read(name, render(reply, stream=stream), stream=stream)
            if said(again) != said(reply):
                differ.append((id, stream))
    assert differ == []
    assert tried > 5


def said(reply: Reply) -> Reply:
    """The reply with what it says, however empty arguments and its stop are spelled."""
    reply = joined(reply)
    parts = [
        msgspec.structs.replace(part, text="")
        if isinstance(part, ToolCall) and part.arguments == {}
        else part
        for part in reply.message.parts
    ]
    message = msgspec.structs.replace(reply.message, parts=tuple(parts))
    stop = msgspec.structs.replace(reply.stop, raw=None)
    return msgspec.structs.replace(reply, message=message, stop=stop, notes=())
