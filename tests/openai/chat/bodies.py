"""Builders of response bodies of chat completions, and the visible results of reading one."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from tests.conformance.quirks import check_events, check_fold
from wire.core.memory import Note
from wire.errors import WireError
from wire.neutral.messages import Event, Reply
from wire.openai import PLAIN, ChatCompletion, ChatCompletionChunk, Dialect, EventReader
from wire.openai.chat.fold import fold
from wire.openai.chat.reader import ChunkReader

DONE = b"[DONE]"
REQUEST = b'{"model":"m"}'


def sse(*datas: Any) -> bytes:
    """One SSE event for each item; bytes are sent unchanged."""
    return b"".join(
        b"data: " + (data if isinstance(data, bytes) else json.dumps(data).encode()) + b"\n\n"
        for data in datas
    )


def chunk(delta: Any = None, finish: str | None = None, **beside: Any) -> dict[str, Any]:
    """A chunk with one choice."""
    choice: dict[str, Any] = {"index": 0}
    choice |= {"delta": delta} if delta is not None else {}
    choice |= {"finish_reason": finish} if finish is not None else {}
    return {"choices": [choice | beside.pop("choice", {})], **beside}


def piece(
    arguments: Any = None,
    *,
    id: str | None = None,
    name: str | None = None,
    index: Any = 0,
    **beside: Any,
) -> dict[str, Any]:
    """A delta with a fragment of one call."""
    function = {
        key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None
    }
    keys = {key: value for key, value in (("index", index), ("id", id)) if value is not None}
    return {"tool_calls": [{**keys, "function": function, **beside}]}


@dataclass
class Told:
    """The visible results of reading one body."""

    chunks: list[ChatCompletionChunk]
    error: WireError | None
    notes: list[Note]
    reader: ChunkReader
    events: list[Event]
    reply: Reply
    answer: ChatCompletion


def told(*pieces: bytes, dialect: Dialect = PLAIN, choice: int = 0) -> Told:
    """Reads the body as a stream. Its events and its fold must give the same reply."""
    reader = ChunkReader()
    chunks = [chunk for data in pieces for chunk in reader.feed(data)] + reader.close()
    reading = EventReader(dialect, body=REQUEST, choice=choice)
    events = [event for chunk in chunks for event in reading.feed(chunk)] + reading.close(
        error=reader.error
    )
    reply, answer = reading.reply(), fold(chunks, dialect)
    check_events(events, reply)
    if reader.error is None:
        check_fold(answer, {choice: reply}, dialect, REQUEST)
    return Told(chunks, reader.error, reader.notes, reader, events, reply, answer)


def streamed(*datas: Any, dialect: Dialect = PLAIN) -> Told:
    """The SSE events of a stream that ends with [DONE]."""
    return told(sse(*datas, DONE), dialect=dialect)
