"""The recorded replies, and the same ones written again as responses of their wire."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from tests.conformance import replies
from tests.conformance.replies import RecordedReply, recorded_replies
from tests.property import sample
from wire.core.limits import Limits
from wire.core.memory import with_notes
from wire.neutral.messages import Done, Message, Reply, Text, Thought, ToolCall
from wire.neutral.request import Request
from wire.wires.contract import WIRES

RECORDED = {
    "gemini": (938, 336),
    "openai": (2037, 1188),
    "openai.responses": (511, 255),
    "anthropic": (499, 286),
    "converse": (286, 62),
    "ollama": (20, 15),
    "gemini.interactions": (14, 11),
}
"""Wire -> whole answers and streams in the corpus, at least."""

MADE_ID = re.compile(r"call_[0-9a-f]{12}_\d+")


def test_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replies, "SHARED", replies.SAMPLES / "not here")
    found = list(replies.recorded_replies())
    forms = {(each.wire, bool(each.events)) for each in found}
    assert forms == {(wire, streamed) for wire in RECORDED for streamed in (True, False)}
    for each in found:
        assert isinstance(each.reply, Reply)
        assert (each.body is None) is bool(each.events) is bool(each.told), each.id
        if each.events:
            assert each.told[-1] == Done(each.reply), each.id


@pytest.mark.slow
@pytest.mark.parametrize("wire", RECORDED)
def test_all_of_the_corpus(wire: str) -> None:
    if not replies.SHARED.exists():
        pytest.skip("the corpus of recorded traffic is not beside this checkout; the sample serves")
    found = list(replies.recorded_replies(wire))
    whole = sum(not each.events for each in found)
    least = RECORDED[wire]
    assert whole >= least[0]
    assert len(found) - whole >= least[1]
    assert all(each.told[-1] == Done(each.reply) for each in found if each.events)


# --- written again --------------------------------------------------------------------------------

_ASKED = Request(messages=(Message.user("Hi"),))
OTHER_ANSWER = re.compile(r"(choices|candidates)\[\d+\]")
"""Further answers to one request are noted, and no part of the reply."""


def whole_ones(wire: str) -> Iterator[tuple[RecordedReply, Reply]]:
    """The recorded replies that are no failure, without notes on further answers."""
    for each in recorded_replies(wire):
        notes = [note for note in each.reply.notes if not OTHER_ANSWER.fullmatch(note.path)]
        if each.reply.stop.reason != "error":
            yield each, msgspec.structs.replace(each.reply, notes=tuple(notes))


def read(each: RecordedReply, body: bytes, *, stream: bool) -> Reply:
    """Read a response as the client of the recorded host does. Usage is written with the reasoning
    tokens among the output tokens, as the wire's own vendor counts them.
    """
    wire = WIRES[each.wire]
    row, dialect = each.provider, each.provider.dialect
    if getattr(dialect, "reasoning_outside_output", False):
        dialect = msgspec.structs.replace(dialect, reasoning_outside_output=False)
        row = msgspec.structs.replace(row, dialect=dialect)
    if not stream:
        return wire.call(_ASKED, each.model, row).parse(body)
    call = wire.stream_call(_ASKED, each.model, row)
    reader = call.reader(Limits())
    chunks = [*reader.feed(body), *reader.close()]
    assert call.convert is not None
    return call.convert(with_notes(call.fold(chunks), reader.notes), None)


def joined(reply: Reply) -> Reply:
    """The reply without a border between two plain texts or thoughts, which no stream has, and
    without ids that the library makes from a body for calls that have none.
    """
    parts: list[Any] = []
    for part in reply.message.parts:
        if isinstance(part, ToolCall):
            id, response = (
                MADE_ID.sub("made", part.id),
                MADE_ID.sub("made", part.response),
            )
            part = msgspec.structs.replace(part, id=id, response=response)
        last = parts[-1] if parts else None
        plain = isinstance(part, Text | Thought) and not getattr(last, "signature", True)
        if plain and type(part) is type(last):
            part = msgspec.structs.replace(part, text=last.text + part.text)
            parts.pop()
        parts.append(part)
    message = msgspec.structs.replace(reply.message, parts=tuple(parts))
    return msgspec.structs.replace(reply, message=message)


@pytest.mark.sampled
@pytest.mark.parametrize("wire", RECORDED)
def test_a_reply_that_is_written_again_is_the_same_whole_and_as_events(wire: str) -> None:
    render = WIRES[wire].render_reply
    tried, differ = 0, []
    for each, reply in sample(list(whole_ones(wire)), 20):
        tried += 1
        if read(each, render(reply), stream=False) != reply:
            differ.append((each.id, "whole"))
        if joined(read(each, render(reply, stream=True), stream=True)) != joined(reply):
            differ.append((each.id, "events"))
    assert differ == []
    assert tried > 2


def bare(reply: Reply) -> Reply:
    """The reply without the bytes that it came in."""
    parts = tuple(map(msgspec.structs.replace, reply.message.parts))
    message = msgspec.structs.replace(reply.message, parts=parts)
    return msgspec.structs.replace(reply, message=message)


@pytest.mark.sampled
@pytest.mark.parametrize("wire", RECORDED)
def test_a_reply_of_fields_alone_is_written_whole_and_as_events(wire: str) -> None:
    """Such as one of another program, or one that was changed. Results of tools that a server ran
    have no fields for all that it sends."""
    render = WIRES[wire].render_reply
    tried, differ = 0, []
    for each, received in sample(list(whole_ones(wire)), 20):
        kinds = {type(part) for part in received.message.parts}
        if not kinds <= {Text, Thought, ToolCall} or received.citations or not received.stop.raw:
            continue
        tried, reply = tried + 1, bare(received)
        for stream in (False, True):
            if said(read(each, render(reply, stream=stream), stream=stream)) != said(reply):
                differ.append((each.id, stream))
    assert differ == []
    assert tried > 2


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
