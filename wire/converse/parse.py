"""Converts answers and events of Converse to neutral replies and events.

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

from wire.catalogue.stops import Stop, partial_stop, stopped
from wire.catalogue.usage import Usage as Tokens
from wire.converse.finish import meaning_of
from wire.converse.fold import fold_block
from wire.converse.types import (
    ContentBlock,
    ContentBlockDelta,
    ConverseResponse,
    ConverseStreamEvent,
    TokenUsage,
    ToolUseBlock,
)
from wire.converse.types import Message as WireMessage
from wire.core.arguments import check_inside, checked_arguments
from wire.core.errors import WireError
from wire.core.lenient import Halves, odd_text, plain, portable, portable_fields, well_formed
from wire.core.memory import PARTIAL, notes
from wire.neutral.events import media_event, provider_events
from wire.neutral.ids import ReplyIds
from wire.neutral.messages import (
    Citation,
    Done,
    Event,
    Media,
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

WIRE = "converse"
REASONING, REDACTED = "reasoningText", "redactedContent"
"""Slots of thoughts: the keys of `reasoningContent`."""


@checked_arguments()
def parse_reply(
    response: ConverseResponse,
    *,
    body: bytes = b"",
    provider: str = "bedrock",
    model: str = "",
    error: WireError | None = None,
) -> Reply:
    """Convert an answer to a reply.

    `body` is the body of the request. A host may omit the id of a call; the id is then derived from
    `body`, so that it is the same each time.

    >>> from wire.converse.reader import parse_answer
    >>> reply = parse_reply(
    ...     parse_answer(
    ...         b'{"output":{"message":{"content":[{"text":"Hi"}]}},"stopReason":"end_turn"}'
    ...     )
    ... )
    >>> reply.text, reply.stop
    ('Hi', Stop(reason='end', raw='end_turn'))

    `provider` and `model` received the request. The received blocks are sent back unchanged to them
    only. The reply of an answer with `wire.core.memory.PARTIAL` in its notes has no regular stop
    reason; `error` is the error that ended its stream, if any.
    """
    blocks = list(response.content)
    partial = PARTIAL in notes(response)
    parts: list[Part] = []
    ids = ReplyIds(body)
    for number, block in enumerate(blocks, 1):
        part = part_of(block, ids)
        if partial and number == len(blocks) and isinstance(part, ToolCall) and not part.arguments:
            # A block begins with an empty input, and the stream may have ended before the arguments
            # arrived. `{}` would then be a call that the model did not make.
            part = msgspec.structs.replace(part, arguments=None)
        parts.append(with_origin(part, Origin(provider, model, WIRE, block)))
    citations: tuple[Citation, ...] = ()
    if [block for block in blocks if block.citations_content is not None]:
        from wire.converse.server_parts import citations_of  # few replies have citations

        citations = citations_of(blocks, parts)
    message = with_origin(
        Message("assistant", tuple(parts), citations=citations),
        Origin(provider, model, WIRE, WireMessage(role="assistant", content=blocks)),
    )
    calls = any(isinstance(part, ToolCall) for part in parts)
    stop, of_stop = _stop(response, calls=calls)
    router = response.trace.prompt_router if response.trace is not None else None
    reply = Reply(
        message=message,
        stop=partial_stop(stop, error) if partial else stop,
        usage=usage_of(response.usage) if response.usage is not None else None,
        notes=(*notes(response), *of_stop),
        model=well_formed(router.invoked_model_id or "") if router is not None else "",
    )
    return with_answer(reply, response)


# --- parts ----------------------------------------------------------------------------------------


def part_of(block: ContentBlock, ids: ReplyIds) -> Part:
    """Convert a block to a neutral part."""
    if block.text is not None:
        return Text(well_formed(block.text))
    if block.reasoning_content is not None:
        return _thought(block)
    call = block.tool_use
    if call is not None and call.type in (None, "tool_use"):
        return _tool_call(block, call, ids.own(call.tool_use_id), ids.response)
    if block.citations_content is not None:
        written = block.citations_content.content or ()
        return Text(well_formed("".join(each.text or "" for each in written)))
    if text := odd_text(block.raw, "text"):
        return Text(text)
    from wire.converse.server_parts import server_part  # few replies have other blocks

    fields = portable_fields(block)
    kind = next(iter(fields), "") if isinstance(fields, dict) else ""
    return server_part(block) or Other(well_formed(kind), fields)


def _thought(block: ContentBlock) -> Thought:
    reasoning = block.reasoning_content
    text = reasoning.reasoning_text if reasoning is not None else None
    if reasoning is not None and text is None and reasoning.redacted_content is not None:
        data = {"data": well_formed(reasoning.redacted_content)}
        return Thought(slot=REDACTED, details=(data,))
    return Thought(
        well_formed((text.text if text is not None else None) or ""),
        slot=REASONING,
        signature=well_formed((text.signature if text is not None else None) or ""),
    )


def _tool_call(block: ContentBlock, call: ToolUseBlock, id: str, response: str) -> ToolCall:
    given: Any = call.input
    if given is None and block.raw is not None:
        given = ((plain(block.raw) or {}).get("toolUse") or {}).get("input")
    name, given = well_formed(call.name or ""), portable(given)
    if given is None or isinstance(given, dict):
        arguments = {} if given is None else given
        return ToolCall(id=id, name=name, arguments=arguments, response=response)
    text = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
    return ToolCall(id=id, name=name, arguments=None, text=text, response=response)


# --- stop and usage -------------------------------------------------------------------------------


def _stop(response: ConverseResponse, *, calls: bool) -> tuple[Stop, tuple[Any, ...]]:
    guardrail = response.trace.guardrail if response.trace is not None else None
    words = well_formed((guardrail.action_reason if guardrail is not None else None) or "")
    meaning = meaning_of(response.stop_reason, calls=calls)
    return stopped(meaning, response.stop_reason, words if meaning.reason == "filter" else "")


def usage_of(usage: TokenUsage) -> Tokens:
    """Convert token counts to the neutral ones.

    Input includes the tokens that were read from the cache and those that were written to it.

    >>> usage_of(
    ...     TokenUsage(
    ...         input_tokens=3,
    ...         cache_read_input_tokens=20,
    ...         cache_write_input_tokens=7,
    ...         output_tokens=5,
    ...     )
    ... )
    Usage(input=30, output=5, cached=20, cache_written=7, total=35)
    """
    cached, written = usage.cache_read_input_tokens or 0, usage.cache_write_input_tokens or 0
    given, output = (usage.input_tokens or 0) + cached + written, usage.output_tokens or 0
    hour = sum(each.input_tokens or 0 for each in usage.cache_details or () if each.ttl == "1h")
    return Tokens(
        input=given,
        output=output,
        cached=cached,
        cache_written=written,
        cache_written_1h=hour,
        total=given + output,
    )


# --- events ---------------------------------------------------------------------------------------


class EventReader:
    """Converts the events of one answer to neutral events.

    >>> from wire.converse.types import ContentBlockDeltaEvent
    >>> delta = ContentBlockDeltaEvent(content_block_index=0, delta=ContentBlockDelta(text="Hi"))
    >>> EventReader().feed(ConverseStreamEvent(content_block_delta=delta))
    [TextDelta(text='Hi')]
    """

    @checked_arguments()
    def __init__(self, *, body: bytes = b"", provider: str = "bedrock", model: str = "") -> None:
        self._body, self._provider, self._model = body, provider, model
        self._open: dict[int | None, _OpenBlock] = {}
        self._ids = ReplyIds(body)
        self._calls = self._media = 0
        self._has_events = self._has_text = False
        # The block that the last chunk had a text of, and the chunk.
        self._latest: tuple[_OpenBlock, ConverseStreamEvent] | None = None

    def feed(self, event: ConverseStreamEvent) -> list[Event]:
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
            check_inside("event", event, ConverseStreamEvent)
            raise

    @checked_arguments()
    def feed_texts(self, texts: Sequence[str]) -> list[Event]:
        """Return the events of chunks that repeat the last one, a delta of a block, with other
        texts.
        """
        if self._latest is None:
            return []
        opened, event = self._latest
        texts = [text for text in texts if text]
        if opened.kind == "toolUse":
            opened.events.append(_with_input(event, "".join(texts)))
            return [ToolCallDelta(opened.position, text) for text in texts] if opened.own else []
        return list(map(ThoughtDelta if opened.kind == "reasoningContent" else TextDelta, texts))

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

    def _events_of(self, event: ConverseStreamEvent) -> Iterator[Event]:
        self._latest = None
        begun, delta, ended = (
            event.content_block_start,
            event.content_block_delta,
            event.content_block_stop,
        )
        if event.message_start is not None:
            if self._has_events:
                yield Restart()
            self._open, self._ids, self._calls, self._media = {}, ReplyIds(self._body), 0, 0
        elif begun is not None:
            yield from self._end_block(begun.content_block_index)
            yield from self._begin_block(begun.content_block_index, event)
        elif delta is not None and delta.delta is not None:
            index = delta.content_block_index
            if index not in self._open:  # as all texts begin
                self._open[index] = _OpenBlock(_kind_of(delta.delta))
            yield from self._continue_block(self._open[index], delta.delta, event)
        elif ended is not None:
            yield from self._end_block(ended.content_block_index)
        elif event.message_stop is None and event.metadata is None and delta is None:
            yield from provider_events(event, _name_of(event))

    def _begin_block(self, index: int | None, event: ConverseStreamEvent) -> Iterator[Event]:
        start = event.content_block_start.start if event.content_block_start is not None else None
        call = start.tool_use if start is not None else None
        opened = self._open[index] = _OpenBlock("toolUse" if call is not None else "")
        opened.events = [event]
        if start is not None and start.image is not None:
            opened.kind = "image"
        if call is not None:
            opened.own = call.type in (None, "tool_use")
        if call is not None and opened.own:
            opened.position, self._calls = self._calls, self._calls + 1
            opened.id = self._ids.own(call.tool_use_id)
            yield ToolCallStart(opened.position, well_formed(call.name or ""), opened.id)

    def _continue_block(
        self, opened: _OpenBlock, delta: ContentBlockDelta, event: ConverseStreamEvent
    ) -> Iterator[Event]:
        reasoning = delta.reasoning_content
        if delta.image is not None:
            opened.kind = "image"
            opened.events.append(event)
        elif delta.tool_use is not None:
            self._latest = opened, event
            opened.events.append(event)
            if opened.own and (text := opened.halves.feed(delta.tool_use.input or "")):
                yield ToolCallDelta(opened.position, text)
        elif reasoning is not None and reasoning.text is not None:
            self._latest, opened.kind = (opened, event), "reasoningContent"
            yield from _text_events(ThoughtDelta, opened.halves.feed(reasoning.text))
        elif delta.text is not None:
            self._latest, opened.kind = (opened, event), "text"
            yield from _text_events(TextDelta, opened.halves.feed(delta.text))

    def _end_block(self, index: int | None) -> Iterator[Event]:
        opened = self._open.pop(index, None)
        if opened is None:
            return
        rest = opened.halves.rest
        if opened.kind == "image":
            made = part_of(fold_block(opened.events), ReplyIds(self._body))
            if isinstance(made, Media):
                yield media_event(made, self._media)
                self._media += 1
            return
        if opened.kind != "toolUse":
            kind = ThoughtDelta if opened.kind == "reasoningContent" else TextDelta
            yield from _text_events(kind, rest)
            return
        if not opened.own:
            return
        block = fold_block(opened.events)
        call = _tool_call(block, block.tool_use or ToolUseBlock(), opened.id, self._ids.response)
        if rest:
            yield ToolCallDelta(opened.position, rest)
        origin = Origin(self._provider, self._model, WIRE, block)
        yield ToolCallEnd(opened.position, with_origin(call, origin))


def _kind_of(delta: ContentBlockDelta) -> str:
    if delta.reasoning_content is not None:
        return "reasoningContent"
    return "text" if delta.text is not None else ""


def _name_of(event: ConverseStreamEvent) -> str:
    fields = plain(event.raw) if event.raw is not None else None
    return next(iter(fields), "") if isinstance(fields, dict) else ""


def _with_input(event: ConverseStreamEvent, text: str) -> ConverseStreamEvent:
    """Return a delta of a call with another piece of its input."""
    replace = msgspec.structs.replace
    outer = event.content_block_delta
    assert outer is not None
    assert outer.delta is not None
    assert outer.delta.tool_use is not None
    delta = replace(outer.delta, tool_use=replace(outer.delta.tool_use, input=text))
    return replace(event, content_block_delta=replace(outer, delta=delta))


class _OpenBlock:
    """A block whose end was not read yet."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.own = False  # a call that the client runs
        self.halves = Halves()
        self.id = ""  # of a call
        self.position = 0
        self.events: list[ConverseStreamEvent] = []


def _text_events(kind: type[TextDelta] | type[ThoughtDelta], text: str) -> Iterator[Event]:
    if text:
        yield kind(text)
