"""Bodies of chat completions made of a few words, and all that a caller sees of one."""

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
    """Each data as an event; bytes are taken as they are."""
    return b"".join(
        b"data: " + (data if isinstance(data, bytes) else json.dumps(data).encode()) + b"\n\n"
        for data in datas
    )


def chunk(delta: Any = None, finish: str | None = None, **beside: Any) -> dict[str, Any]:
    """A chunk of one choice."""
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
    """A delta with one fragment of a call."""
    function = {
        key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None
    }
    keys = {key: value for key, value in (("index", index), ("id", id)) if value is not None}
    return {"tool_calls": [{**keys, "function": function, **beside}]}


@dataclass
class Told:
    """What there is to see of one body."""

    chunks: list[ChatCompletionChunk]
    error: WireError | None
    notes: list[Note]
    reader: ChunkReader
    events: list[Event]
    reply: Reply
    answer: ChatCompletion


def told(*pieces: bytes, dialect: Dialect = PLAIN, choice: int = 0) -> Told:
    """The body read as a stream: its events come to the reply, and so does its fold."""
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
    """The events of a stream that ends with [DONE]."""
    return told(sse(*datas, DONE), dialect=dialect)
