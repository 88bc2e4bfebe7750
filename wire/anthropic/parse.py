"""Answers and events as neutral replies and events.

Every block becomes one neutral part, in its order, and remembers the bytes that it came in; what
only this wire understands is an `Other`. A call is told in pieces as its input comes, and whole at
the end of its block.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import msgspec

from wire.anthropic.finish import reason_of
from wire.anthropic.fold import fold
from wire.anthropic.types import ContentBlock, Delta, MessageResponse, MessageStreamEvent, Usage
from wire.anthropic.types import Message as WireMessage
from wire.core.lenient import Halves, plain, said
from wire.core.memory import PARTIAL, encode, notes
from wire.errors import WireError
from wire.neutral.ids import made_id
from wire.neutral.messages import (
    Done,
    Event,
    Message,
    Origin,
    Other,
    Part,
    Reply,
    Stop,
    Text,
    TextDelta,
    Thought,
    ThoughtDelta,
    ToolCall,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
    checked,
    partial_stop,
    with_answer,
    with_origin,
)
from wire.neutral.messages import Usage as Tokens

WIRE = "anthropic"


def parse_reply(
    answer: MessageResponse,
    *,
    body: bytes = b"",
    provider: str = "anthropic",
    model: str = "",
    error: WireError | None = None,
) -> Reply:
    """An answer as a reply. `body` is that of the request: ids that the host did not give are made
    of it.

    >>> from wire.anthropic.reader import parse_message
    >>> reply = parse_reply(
    ...     parse_message(b'{"content":[{"type":"text","text":"Hi"}],"stop_reason":"end_turn"}')
    ... )
    >>> reply.text, reply.stop
    ('Hi', Stop(reason='end', raw='end_turn'))

    `provider` and `model` are who was asked: only they get back what they said as it came. An
    answer with `wire.core.memory.PARTIAL` in its notes becomes a reply that claims no end; `error`
    is what its stream broke with, if it did.
    """
    blocks = list(answer.content or ())
    partial = PARTIAL in notes(answer)
    parts: list[Part] = []
    calls = 0
    for place, block in enumerate(blocks, 1):
        part = part_of(block, body, calls)
        calls += isinstance(part, ToolCall)
        if partial and place == len(blocks) and isinstance(part, ToolCall) and not part.arguments:
            # A block begins with an empty input, and its arguments may be still to come.
            part = msgspec.structs.replace(part, arguments=None)
        parts.append(with_origin(part, Origin(provider, model, WIRE, block)))
    message = with_origin(
        Message("assistant", tuple(parts)),
        Origin(provider, model, WIRE, WireMessage(role="assistant", content=blocks)),
    )
    stop = _stop(answer, calls=bool(calls))
    reply = Reply(
        message=message,
        stop=partial_stop(stop, error) if partial else stop,
        usage=usage_of(answer.usage) if answer.usage is not None else None,
        notes=notes(answer),
        id=said(answer.id or ""),
        model=said(answer.model or ""),
    )
    return with_answer(reply, answer)


# --- parts ----------------------------------------------------------------------------------------


def part_of(block: ContentBlock, body: bytes = b"", position: int = 0) -> Part:
    """What a block says; `position` counts the calls before it."""
    if block.type == "text":
        return Text(said(block.text or ""))
    if block.type == "thinking":
        return Thought(said(block.thinking or ""), slot="thinking", signature=block.signature or "")
    if block.type == "redacted_thinking":
        return Thought(slot="redacted_thinking", details=({"data": block.data or ""},))
    if block.type == "tool_use":
        return _tool_call(block, body, position)
    return Other(block.type or "", plain(encode(block)))


def _tool_call(block: ContentBlock, body: bytes, position: int) -> ToolCall:
    id = block.id or made_id(body, position)
    given: Any = block.input
    if given is None and block.raw is not None:
        given = (plain(block.raw) or {}).get("input")
    if given is None or isinstance(given, dict):
        return ToolCall(
            id=id, name=block.name or "", arguments=_sayable({} if given is None else given)
        )
    text = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
    return ToolCall(id=id, name=block.name or "", arguments=None, text=said(text))


def _sayable(arguments: dict[str, Any]) -> dict[str, Any]:
    try:
        msgspec.json.encode(arguments)
    except UnicodeEncodeError:
        arguments = json.loads(said(json.dumps(arguments, ensure_ascii=False)))
    return arguments


# --- why, and how much ----------------------------------------------------------------------------


def _stop(answer: MessageResponse, *, calls: bool) -> Stop:
    details = answer.stop_details
    words = (details.explanation or details.category or "") if details is not None else ""
    return Stop(reason_of(answer.stop_reason, calls=calls), answer.stop_reason, said(words))


def usage_of(usage: Usage) -> Tokens:
    """Tokens as all vendors' are counted here: input includes what was read from the cache and what
    was written to it.

    >>> usage_of(
    ...     Usage(
    ...         input_tokens=3,
    ...         cache_read_input_tokens=20,
    ...         cache_creation_input_tokens=7,
    ...         output_tokens=5,
    ...     )
    ... )
    Usage(input=30, output=5, cached=20, cache_written=7, total=35)
    """
    cached, written = usage.cache_read_input_tokens or 0, usage.cache_creation_input_tokens or 0
    given, output = (usage.input_tokens or 0) + cached + written, usage.output_tokens or 0
    details = usage.output_tokens_details
    reasoning = (details.thinking_tokens or 0) if details is not None else 0
    return Tokens(
        input=given,
        output=output,
        cached=cached,
        cache_written=written,
        reasoning=reasoning,
        total=given + output,
    )


# --- events ---------------------------------------------------------------------------------------


class EventReader:
    """Events of one answer in, neutral events out.

    >>> from wire.anthropic.types import MessageStreamEvent
    >>> EventReader().feed(
    ...     MessageStreamEvent(
    ...         type="content_block_delta", index=0, delta=Delta(type="text_delta", text="Hi")
    ...     )
    ... )
    [TextDelta(text='Hi')]
    """

    def __init__(self, *, body: bytes = b"", provider: str = "anthropic", model: str = "") -> None:
        self._body, self._provider, self._model = body, provider, model
        self._open: dict[int | None, _Open] = {}
        self._calls = 0

    def feed(self, event: MessageStreamEvent) -> list[Event]:
        """What the event says."""
        return list(self._told(event))

    def close(self, reply: Reply) -> list[Event]:
        """What is left to say: the ends of what is still open, and `Done` with the reply.

        Raises `BlockedError` if nothing was said.
        """
        return [
            *(event for index in list(self._open) for event in self._ended(index)),
            Done(checked(reply)),
        ]

    def _told(self, event: MessageStreamEvent) -> Iterator[Event]:
        if event.type == "message_start":
            # In the middle of a stream the answer begins anew, and what came before is none of it.
            self._open, self._calls = {}, 0
            for block in (event.message.content if event.message is not None else None) or ():
                yield from self._began(None, block)
                yield from self._ended(None)
        elif event.type == "content_block_start":
            yield from self._ended(event.index)
            yield from self._began(event.index, event.content_block or ContentBlock(), event)
        elif event.type == "content_block_delta" and event.delta is not None:
            if event.index not in self._open:  # some hosts forget to begin a block
                yield from self._began(
                    event.index, ContentBlock(type=_TYPES.get(event.delta.type or "", "text"))
                )
            yield from self._goes_on(self._open[event.index], event.delta, event)
        elif event.type == "content_block_stop":
            yield from self._ended(event.index)

    def _began(
        self, index: int | None, block: ContentBlock, event: MessageStreamEvent | None = None
    ) -> Iterator[Event]:
        opened = self._open[index] = _Open(block)
        if block.type == "tool_use":
            opened.position, self._calls = self._calls, self._calls + 1
            opened.events = [
                event
                or MessageStreamEvent(type="content_block_start", index=index, content_block=block)
            ]
            yield ToolCallStart(opened.position, block.name or "", block.id or "")
        elif block.type == "thinking":
            yield from _says(ThoughtDelta, opened.halves.feed(block.thinking or ""))
        elif block.type == "text":
            yield from _says(TextDelta, opened.halves.feed(block.text or ""))

    def _goes_on(self, opened: _Open, delta: Delta, event: MessageStreamEvent) -> Iterator[Event]:
        kind = opened.block.type
        if kind == "tool_use":
            opened.events.append(event)
            text = opened.halves.feed(delta.partial_json or "")
            if text:
                opened.told = True
                yield ToolCallDelta(opened.position, text)
        elif kind == "thinking":
            yield from _says(ThoughtDelta, opened.halves.feed(delta.thinking or ""))
        elif kind == "text":
            yield from _says(TextDelta, opened.halves.feed(delta.text or ""))

    def _ended(self, index: int | None) -> Iterator[Event]:
        opened = self._open.pop(index, None)
        if opened is None:
            return
        rest = opened.halves.rest
        if opened.block.type != "tool_use":
            yield from _says(ThoughtDelta if opened.block.type == "thinking" else TextDelta, rest)
            return
        block = (fold(opened.events).content or [opened.block])[0]
        call = part_of(block, self._body, opened.position)
        assert isinstance(call, ToolCall)
        if not opened.told and call.arguments:  # it came whole
            rest = msgspec.json.encode(call.arguments).decode()
        if rest:
            yield ToolCallDelta(opened.position, rest)
        yield ToolCallEnd(
            opened.position, with_origin(call, Origin(self._provider, self._model, WIRE, block))
        )


_TYPES = {
    "thinking_delta": "thinking",
    "signature_delta": "thinking",
    "input_json_delta": "tool_use",
    "compaction_delta": "compaction",
}


class _Open:
    """A block that is not at its end."""

    def __init__(self, block: ContentBlock) -> None:
        self.block = block
        self.halves = Halves()
        self.position = 0
        self.events: list[MessageStreamEvent] = []
        self.told = False


def _says(kind: type[TextDelta] | type[ThoughtDelta], text: str) -> Iterator[Event]:
    if text:
        yield kind(text)
