"""Converts responses and events of Messages to neutral replies and events.

- Each block becomes one neutral part, in the same order, with the block as its origin. A block
  without a neutral equivalent becomes an `Other`.
- A call is emitted as deltas while its input arrives, and as a complete call at the end of its
  block.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from wire.anthropic.finish import meaning_of
from wire.anthropic.fold import fold
from wire.anthropic.types import ContentBlock, Delta, MessageResponse, MessageStreamEvent, Usage
from wire.anthropic.types import Message as WireMessage
from wire.catalogue.stops import Stop, partial_stop, stopped
from wire.catalogue.usage import Usage as Tokens
from wire.core.arguments import check_inside, checked_arguments
from wire.core.errors import WireError
from wire.core.lenient import Halves, odd_text, plain, portable, portable_fields, well_formed
from wire.core.memory import PARTIAL, Note, notes
from wire.neutral.events import provider_events
from wire.neutral.ids import ReplyIds
from wire.neutral.messages import (
    Citation,
    Done,
    Event,
    Message,
    Origin,
    Other,
    Part,
    ProviderEvent,
    Reply,
    Restart,
    Text,
    TextDelta,
    Thought,
    ThoughtDelta,
    ToolCall,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
    checked,
    with_answer,
    with_origin,
)

WIRE = "anthropic"


@checked_arguments()
def parse_reply(
    response: MessageResponse,
    *,
    body: bytes = b"",
    provider: str = "anthropic",
    model: str = "",
    error: WireError | None = None,
) -> Reply:
    """Convert a response to a reply.

    `body` is the body of the request. A host may omit the id of a call; the id is then derived from
    `body`, so that it is the same each time.

    >>> from wire.anthropic.reader import parse_message
    >>> reply = parse_reply(
    ...     parse_message(b'{"content":[{"type":"text","text":"Hi"}],"stop_reason":"end_turn"}')
    ... )
    >>> reply.text, reply.stop
    ('Hi', Stop(reason='end', raw='end_turn'))

    `provider` and `model` received the request. The received blocks are sent back unchanged to them
    only. The reply of a response with `wire.core.memory.PARTIAL` in its notes has no regular stop
    reason; `error` is the error that ended its stream, if any.
    """
    blocks = list(response.content or ())
    partial = PARTIAL in notes(response)
    parts: list[Part] = []
    ids = ReplyIds(body)
    for number, block in enumerate(blocks, 1):
        part = _part(block, ids)
        if partial and number == len(blocks) and isinstance(part, ToolCall) and not part.arguments:
            # A block begins with an empty input, and the stream may have ended before the arguments
            # arrived. `{}` would then be a call that the model did not make.
            part = msgspec.structs.replace(part, arguments=None)
        parts.append(with_origin(part, Origin(provider, model, WIRE, block)))
    citations: tuple[Citation, ...] = ()
    if [block for block in blocks if block.citations]:
        from wire.anthropic.server_parts import citations_of  # few replies have citations

        citations = citations_of(blocks, parts)
    message = with_origin(
        Message("assistant", tuple(parts), citations=citations),
        Origin(provider, model, WIRE, WireMessage(role="assistant", content=blocks)),
    )
    calls = any(isinstance(part, ToolCall) for part in parts)
    stop, of_stop = _stop(response, calls=calls)
    reply = Reply(
        message=message,
        stop=partial_stop(stop, error) if partial else stop,
        usage=usage_of(response.usage) if response.usage is not None else None,
        notes=(*notes(response), *of_stop, *_transformed(response)),
        id=well_formed(response.id or ""),
        model=well_formed(response.model or ""),
    )
    return with_answer(reply, response)


def _transformed(response: MessageResponse) -> Iterator[Note]:
    """Yield a note for each block that the server changed in the request, such as a thought that
    it dropped. It says so under the beta thinking-binding-controls-2026-08-01 only.
    """
    for each in response.input_transformations or ():
        kind, reason = well_formed(str(each.get("type"))), well_formed(str(each.get("reason")))
        yield Note(well_formed(str(each.get("path"))), f"changed by the server: {kind}, {reason}")


# --- parts ----------------------------------------------------------------------------------------


def _part(block: ContentBlock, ids: ReplyIds) -> Part:
    """Convert a block to a neutral part."""
    if block.type == "text":
        return Text(well_formed(odd_text(block.raw, "text") if block.text is None else block.text))
    if block.type == "thinking":
        return Thought(
            well_formed(block.thinking or ""),
            slot="thinking",
            signature=well_formed(block.signature or ""),
        )
    if block.type == "redacted_thinking":
        return Thought(slot="redacted_thinking", details=({"data": well_formed(block.data or "")},))
    if block.type == "tool_use":
        return _tool_call(block, ids.own(block.id), ids.response)
    from wire.anthropic.server_parts import server_part  # few replies have other blocks

    return server_part(block) or Other(well_formed(block.type or ""), portable_fields(block))


def _tool_call(block: ContentBlock, id: str, response: str) -> ToolCall:
    given: Any = block.input
    if given is None and block.raw is not None:
        given = (plain(block.raw) or {}).get("input")
    name, given = well_formed(block.name or ""), portable(given)
    if given is None or isinstance(given, dict):
        arguments = {} if given is None else given
        return ToolCall(id=id, name=name, arguments=arguments, response=response)
    text = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
    return ToolCall(id=id, name=name, arguments=None, text=text, response=response)


# --- stop and usage -------------------------------------------------------------------------------


def _stop(response: MessageResponse, *, calls: bool) -> tuple[Stop, tuple[Note, ...]]:
    details = response.stop_details
    words = (details.explanation or details.category or "") if details is not None else ""
    return stopped(
        meaning_of(response.stop_reason, calls=calls),
        response.stop_reason,
        well_formed(words),
        None if response.stop_sequence is None else well_formed(response.stop_sequence),
    )


def usage_of(usage: Usage) -> Tokens:
    """Convert token counts to the neutral ones.

    Input includes the tokens that were read from the cache and those that were written to it.

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
    lifetimes = usage.cache_creation
    hour = (lifetimes.ephemeral_1h_input_tokens or 0) if lifetimes is not None else 0
    return Tokens(
        input=given,
        output=output,
        cached=cached,
        cache_written=written,
        cache_written_1h=hour,
        reasoning=reasoning,
        total=given + output,
    )


# --- events ---------------------------------------------------------------------------------------


_KNOWN_TYPES = frozenset({"content_block_delta", "message_delta", "message_stop"})
"""Types of events that say nothing of their own to `EventReader`, or not without their fields."""


class EventReader:
    """Converts the events of one response to neutral events.

    >>> from wire.anthropic.types import MessageStreamEvent
    >>> EventReader().feed(
    ...     MessageStreamEvent(
    ...         type="content_block_delta", index=0, delta=Delta(type="text_delta", text="Hi")
    ...     )
    ... )
    [TextDelta(text='Hi')]
    """

    @checked_arguments()
    def __init__(self, *, body: bytes = b"", provider: str = "anthropic", model: str = "") -> None:
        self._body, self._provider, self._model = body, provider, model
        self._open: dict[int | None, _OpenBlock] = {}
        self._ids = ReplyIds(body)
        self._calls = 0
        self._has_events = self._has_text = False
        # The block that the last chunk had a text of, the field of the text, and the chunk.
        self._latest: tuple[_OpenBlock, str, MessageStreamEvent] | None = None

    def feed(self, event: MessageStreamEvent) -> list[Event]:
        """Return the neutral events of one event."""
        try:
            events = list(self._events_of(event))
            self._has_events = self._has_events or any(
                not isinstance(each, ProviderEvent) for each in events
            )
            self._has_text = self._has_text or any(isinstance(each, TextDelta) for each in events)
            return events
        except WireError:
            raise
        except Exception:
            check_inside("event", event, MessageStreamEvent)
            raise

    @checked_arguments()
    def feed_texts(self, texts: Sequence[str]) -> list[Event]:
        """Return the events of chunks that repeat the last one, a delta of a block, with other
        texts.
        """
        if self._latest is None:
            return []
        opened, field, event = self._latest
        texts = [text for text in texts if text]
        if opened.block.type == "tool_use":
            delta = msgspec.structs.replace(event.delta or Delta(), **{field: "".join(texts)})
            opened.events.append(msgspec.structs.replace(event, delta=delta))
        if field != _FIELDS.get(opened.block.type or ""):
            return []
        if field == "partial_json":
            return [ToolCallDelta(opened.position, text) for text in texts]
        return list(map(ThoughtDelta if field == "thinking" else TextDelta, texts))

    @checked_arguments()
    def close(self, reply: Reply) -> list[Event]:
        """Return the last events: the ends of the blocks that are still open, and `Done` with the
        reply.

        Raises `BlockedError` if filters removed the complete reply.
        """
        events = [event for index in list(self._open) for event in self._end_block(index)]
        if reply.text and not self._has_text:  # folded from a text of a wrong type
            events.append(TextDelta(reply.text))
        return [*events, Done(checked(reply))]

    def _events_of(self, event: MessageStreamEvent) -> Iterator[Event]:
        self._latest = None
        if event.type == "message_start":
            # In the middle of a stream it restarts the response: the host retried the model. Blocks
            # before it are not part of the reply, so their ends must not be emitted.
            if self._has_events:
                yield Restart()
            self._open, self._ids, self._calls = {}, ReplyIds(self._body), 0
            for block in (event.message.content if event.message is not None else None) or ():
                yield from self._begin_block(None, block)
                yield from self._end_block(None)
        elif event.type == "content_block_start":
            yield from self._end_block(event.index)
            yield from self._begin_block(event.index, event.content_block or ContentBlock(), event)
        elif event.type == "content_block_delta" and event.delta is not None:
            if event.index not in self._open:  # some hosts omit `content_block_start`
                yield from self._begin_block(
                    event.index, ContentBlock(type=_BLOCK_TYPES.get(event.delta.type or "", "text"))
                )
            yield from self._continue_block(self._open[event.index], event.delta, event)
        elif event.type == "content_block_stop":
            yield from self._end_block(event.index)
        elif event.type not in _KNOWN_TYPES:
            yield from provider_events(event, event.type or "")

    def _begin_block(
        self, index: int | None, block: ContentBlock, event: MessageStreamEvent | None = None
    ) -> Iterator[Event]:
        opened = self._open[index] = _OpenBlock(block)
        if block.type == "tool_use":
            opened.position, self._calls = self._calls, self._calls + 1
            opened.id = self._ids.own(block.id)
            opened.events = [
                event
                or MessageStreamEvent(type="content_block_start", index=index, content_block=block)
            ]
            yield ToolCallStart(opened.position, well_formed(block.name or ""), opened.id)
        elif block.type == "thinking":
            yield from _text_events(ThoughtDelta, opened.halves.feed(block.thinking or ""))
        elif block.type == "text":
            yield from _text_events(TextDelta, opened.halves.feed(block.text or ""))

    def _continue_block(
        self, opened: _OpenBlock, delta: Delta, event: MessageStreamEvent
    ) -> Iterator[Event]:
        kind = opened.block.type
        if delta.type in _TEXT_DELTAS:
            self._latest = opened, _TEXT_DELTAS[delta.type], event
        if kind == "tool_use":
            opened.events.append(event)
            text = opened.halves.feed(delta.partial_json or "")
            if text:
                opened.has_deltas = True
                yield ToolCallDelta(opened.position, text)
        elif kind == "thinking":
            yield from _text_events(ThoughtDelta, opened.halves.feed(delta.thinking or ""))
        elif kind == "text":
            yield from _text_events(TextDelta, opened.halves.feed(delta.text or ""))

    def _end_block(self, index: int | None) -> Iterator[Event]:
        opened = self._open.pop(index, None)
        if opened is None:
            return
        rest = opened.halves.rest
        if opened.block.type != "tool_use":
            yield from _text_events(
                ThoughtDelta if opened.block.type == "thinking" else TextDelta, rest
            )
            return
        block = (fold(opened.events).content or [opened.block])[0]
        call = _tool_call(block, opened.id, self._ids.response)
        # Without deltas, the block had its complete input from the start.
        if not opened.has_deltas and call.arguments:
            rest = msgspec.json.encode(call.arguments).decode()
        if rest:
            yield ToolCallDelta(opened.position, rest)
        yield ToolCallEnd(
            opened.position, with_origin(call, Origin(self._provider, self._model, WIRE, block))
        )


_BLOCK_TYPES = {
    "thinking_delta": "thinking",
    "signature_delta": "thinking",
    "input_json_delta": "tool_use",
    "compaction_delta": "compaction",
}


_FIELDS = {"text": "text", "thinking": "thinking", "tool_use": "partial_json"}
"""Type of a block -> the field of a delta that is emitted."""
_TEXT_DELTAS = {
    "text_delta": "text",
    "thinking_delta": "thinking",
    "input_json_delta": "partial_json",
}
"""Type of a delta -> the field of its text."""


class _OpenBlock:
    """A block whose end was not read yet."""

    def __init__(self, block: ContentBlock) -> None:
        self.block = block
        self.halves = Halves()
        self.id = ""  # of a call
        self.position = 0
        self.events: list[MessageStreamEvent] = []
        self.has_deltas = False


def _text_events(kind: type[TextDelta] | type[ThoughtDelta], text: str) -> Iterator[Event]:
    if text:
        yield kind(text)
