"""Converts responses and events of Responses to neutral replies and events.

- Each item becomes neutral parts, in the order of the output, with the item as their origin: a
  message one text for each of its parts, reasoning one thought, a call of a function or of a custom
  tool one call. An item without a neutral equivalent becomes an `Other`.
- The id of a call is its `call_id`. Results name that one, not the id of the item.
- Some hosts send an item without deltas, or complete it in the last event only. What no delta had
  is then emitted when the item ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeAlias

import msgspec

from wire.catalogue.stops import partial_stop
from wire.catalogue.usage import Usage
from wire.core.arguments import check_inside, checked_arguments
from wire.core.decoders import from_base64
from wire.core.errors import RuleError, WireError
from wire.core.lenient import Halves, portable_fields, well_formed
from wire.core.memory import PARTIAL, Note, notes
from wire.neutral.events import provider_events
from wire.neutral.ids import ReplyIds
from wire.neutral.media_types import HEAD_BYTES, media_type_of
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
    ServerToolResult,
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
from wire.openai.common.arguments import arguments_of, compact_json
from wire.openai.responses.finish import stop_of
from wire.openai.responses.fold import PIECES, TERMINAL_EVENTS, ItemPositions
from wire.openai.responses.types import ContentPart, Item, Response, ResponseUsage, StreamEvent

WIRE = "openai.responses"

CALLS = {"function_call": "arguments", "custom_tool_call": "input"}
"""Type of a call that the caller has to answer -> the field with its arguments."""


@checked_arguments()
def parse_reply(
    response: Response,
    *,
    body: bytes = b"",
    provider: str = "openai@responses",
    model: str = "",
    error: WireError | None = None,
) -> Reply:
    """Convert a response to a reply.

    `body` is the body of the request. A host may omit the id of a call; the id is then derived from
    `body`, so that it is the same each time.

    >>> from wire.openai.responses.reader import parse_response
    >>> reply = parse_reply(
    ...     parse_response(
    ...         b'{"status":"completed","output":[{"type":"message","role":"assistant",'
    ...         b'"content":[{"type":"output_text","text":"Hi"}]}]}'
    ...     )
    ... )
    >>> reply.text, reply.stop
    ('Hi', Stop(reason='end', raw='completed'))

    `provider` and `model` received the request. The received items are sent back unchanged to them
    only. The reply of a response with `wire.core.memory.PARTIAL` in its notes has no regular stop
    reason; `error` is the error that ended its stream, if any.
    """
    items = list(response.output or ())
    partial = PARTIAL in notes(response)
    ids = ReplyIds(body)
    parts = tuple(
        with_origin(part, Origin(provider, model, WIRE, source))
        for item in items
        for part, source in parts_of(item, ids, cut=partial)
    )
    message = with_origin(
        Message("assistant", parts, citations=_citations(items, parts)),
        Origin(provider, model, WIRE, Response(output=items)),
    )
    stop, of_stop = stop_of(response, parts)
    reply = Reply(
        message=message,
        stop=partial_stop(stop, error) if partial else stop,
        usage=usage_of(response.usage) if response.usage is not None else None,
        notes=(*notes(response), *of_stop, *_transformed(response)),
        id=well_formed(response.id or ""),
        model=well_formed(response.model or ""),
    )
    return with_answer(reply, response)


def _transformed(response: Response) -> Iterator[Note]:
    """Yield a note for each item that the server left out of the input."""
    for each in response.input_transformations or ():
        kind, reason = well_formed(str(each.type)), well_formed(str(each.reason))
        yield Note(well_formed(each.id or "input"), f"left out by the server: {kind}, {reason}")


def _citations(items: list[Item], parts: Sequence[Part]) -> tuple[Citation, ...]:
    if not [part for part in parts if isinstance(part, Text) and part.extra]:
        return ()
    from wire.openai.responses.server_parts import citations_of  # few replies have citations

    return citations_of(items)


# --- parts ----------------------------------------------------------------------------------------


def parts_of(item: Item, ids: ReplyIds, *, cut: bool = False) -> list[tuple[Part, Item | bytes]]:
    """Return the neutral parts of an item, each with the item that it alone would be sent as.

    The result of a server's tool is in the item of its call; alone it is sent as nothing. `cut`
    says whether the stream was cut off: the arguments of a call may then be missing.
    """
    if item.type in CALLS:
        return [(_call(item, ids.own(item.call_id), ids.response, cut), item)]
    if item.type == "reasoning":
        return [(_thought(item), item)]
    if item.type == "image_generation_call" and item.result:
        image = _image(item)
        if image is not None:
            return [(image, item)]
    if item.type in ("message", None) and item.role == "assistant":
        content = item.content
        if isinstance(content, str):
            return [(Text(well_formed(content), extra=_extra(item, _KEYS_OF_MESSAGES)), item)]
        if content is not None and all(part.type in _TEXTS for part in content):
            if len(content) == 1:
                return [(_text(content[0], item), item)]
            # A text has bytes of its own, so that one of several can be sent without the others.
            return [(_text(part, item), _with_content(item, part)) for part in content]
    from wire.openai.responses.server_parts import server_parts  # few replies have other items

    made = server_parts(item)
    if made:
        return [(part, b"" if isinstance(part, ServerToolResult) else item) for part in made]
    return [(Other(well_formed(item.type or ""), portable_fields(item)), item)]


_TEXTS = ("output_text", "refusal")


def _with_content(item: Item, part: ContentPart) -> Item:
    return msgspec.structs.replace(item, content=[part])


def _text(part: ContentPart, item: Item) -> Text:
    extra = _extra(item, _KEYS_OF_MESSAGES)
    if part.type == "refusal":
        return Text(well_formed(part.refusal or ""), refusal=True, extra=extra)
    if part.annotations:
        annotations = [portable_fields(each) for each in part.annotations]
        extra = {**(extra or {}), "annotations": annotations}
    return Text(well_formed(part.text or ""), extra=extra)


_KEYS_OF_MESSAGES = ("phase",)
_KEYS_OF_CALLS = ("namespace", "caller")


def _extra(item: Item, keys: tuple[str, ...]) -> dict[str, Any] | None:
    """Return the values of keys without a field in a neutral part; `None` if the item has none."""
    given = {key: value for key in keys if (value := getattr(item, key)) is not None}
    return portable_fields(given) if given else None


def _image(item: Item) -> Media | None:
    """Return the image that the host generated; `None` if its base64 is malformed."""
    try:
        data = from_base64(item.result or "")
        kind = _IMAGE_TYPES.get(item.output_format or "") or media_type_of("", data[:HEAD_BYTES])
        extra = {
            key: value
            for key, value in portable_fields(item).items()
            if key not in _OF_IMAGES and value is not None
        }
        return Media(data=data, media_type=kind or "image/png", extra=extra or None)
    except (RuleError, ValueError):
        return None


_IMAGE_TYPES = {
    "png": "image/png",
    "jpeg": "image/jpeg",
    "webp": "image/webp",
    "svg": "image/svg+xml",
}
"""`output_format` of an image -> its media type; OpenAI's default is png."""
_OF_IMAGES = ("type", "status", "result")
"""Keys of a generated image that its neutral part has no need of."""


_SEPARATOR = "\n\n"
"""Stands between two parts of a summary, which have no blank line of their own."""


def _thought(item: Item) -> Thought:
    texts = _texts_of(item)
    slot = next((name for (name, _), text in texts.items() if text), "summary")
    return Thought(
        (_SEPARATOR if slot == "summary" else "").join(filter(None, texts.values())),
        slot=slot,
        signature=well_formed(item.encrypted_content or ""),
    )


def _message_text(item: Item) -> str:
    return "".join(_texts_of(item).values())


def _texts_of(item: Item) -> dict[tuple[str, int], str]:
    """Map the list and the position of each part of a message or of reasoning to its text.

    Of reasoning the text itself, else its summary: no host is known to send both.
    """
    content = item.content
    if isinstance(content, str):
        return {("content", 0): well_formed(content)}
    name = "summary" if item.type == "reasoning" and not content else "content"
    return {
        (name, index): well_formed((part.refusal if part.type == "refusal" else part.text) or "")
        for index, part in enumerate((item.summary if name == "summary" else content) or ())
    }


def _call(item: Item, id: str, response: str, cut: bool) -> ToolCall:
    sent = getattr(item, CALLS[item.type or ""]) or ""
    text = well_formed(sent) if isinstance(sent, str) else compact_json(sent)
    cut = item.status == "incomplete" or (cut and item.status != "completed")
    is_custom = item.type == "custom_tool_call"
    custom = None if cut else {"input": text}
    return ToolCall(
        id=id,
        name=well_formed(item.name or ""),
        arguments=custom if is_custom else arguments_of(text, cut=cut),
        text=text,
        kind="custom" if is_custom else "function",
        extra=_extra(item, _KEYS_OF_CALLS),
        response=response,
    )


# --- usage ----------------------------------------------------------------------------------------


def usage_of(usage: ResponseUsage) -> Usage:
    """Convert token counts to the neutral ones. Input includes cached tokens, output reasoning.

    >>> usage_of(ResponseUsage(input_tokens=30, output_tokens=5)).total
    35
    """
    inside, outside = usage.input_tokens_details, usage.output_tokens_details
    given, output = usage.input_tokens or 0, usage.output_tokens or 0
    return Usage(
        input=given,
        output=output,
        cached=(inside.cached_tokens or 0) if inside is not None else 0,
        cache_written=(inside.cache_write_tokens or 0) if inside is not None else 0,
        reasoning=(outside.reasoning_tokens or 0) if outside is not None else 0,
        total=usage.total_tokens or given + output,
    )


# --- events ---------------------------------------------------------------------------------------

_KNOWN_EVENTS = frozenset(
    {
        "error",
        "response.completed",
        "response.content_part.added",
        "response.content_part.done",
        "response.created",
        "response.failed",
        "response.in_progress",
        "response.incomplete",
        "response.output_item.added",
        "response.output_item.done",
        "response.output_text.annotation.added",
        "response.queued",
        "response.reasoning_part.added",
        "response.reasoning_part.done",
        "response.reasoning_summary_part.added",
        "response.reasoning_summary_part.done",
        *(f"{name}.{step}" for name in PIECES for step in ("delta", "done")),
    }
)
"""Types of events that say nothing of their own to the caller: what they hold is in the reply."""

_TextEvent: TypeAlias = type[TextDelta] | type[ThoughtDelta]
_Place: TypeAlias = tuple[str, int]
"""A list of parts of an item, and a position in it."""
_ARGUMENTS: _Place = ("", 0)
_TEXT_EVENTS: dict[str, _TextEvent] = {
    "response.output_text.delta": TextDelta,
    "response.refusal.delta": TextDelta,
    "response.reasoning_text.delta": ThoughtDelta,
    "response.reasoning_summary_text.delta": ThoughtDelta,
}
_CALL_EVENTS = ("response.function_call_arguments.delta", "response.custom_tool_call_input.delta")


class EventReader:
    """Converts the events of one response to neutral events.

    >>> from wire.openai.responses.types import StreamEvent
    >>> EventReader().feed(
    ...     StreamEvent(type="response.output_text.delta", output_index=0, delta="Hi")
    ... )
    [TextDelta(text='Hi')]
    """

    @checked_arguments()
    def __init__(
        self, *, body: bytes = b"", provider: str = "openai@responses", model: str = ""
    ) -> None:
        self._body, self._provider, self._model = body, provider, model
        self._has_events = False
        self._restart()

    def _restart(self) -> None:
        # The item that the last event had a text of, the place of the text in it, and the type of
        # its events: `None` for arguments of a call.
        self._latest: tuple[_OpenItem, _Place, _TextEvent | None] | None = None
        self._items: dict[int, _OpenItem] = {}
        self._positions = ItemPositions()
        self._ids = ReplyIds(self._body)
        self._calls = self._images = 0
        self._texts: dict[type[Event], list[str]] = {TextDelta: [], ThoughtDelta: []}  # all of them

    def feed(self, event: StreamEvent) -> list[Event]:
        """Return the neutral events of one event."""
        try:
            events = list(self._events_of(event))
        except WireError:
            raise
        except Exception:
            check_inside("event", event, StreamEvent)
            raise
        self._record(events)
        return events

    def _record(self, events: Sequence[Event]) -> None:
        for each in events:
            if isinstance(each, TextDelta | ThoughtDelta):
                self._texts[type(each)].append(each.text)
            self._has_events = self._has_events or not isinstance(each, ProviderEvent)

    @checked_arguments()
    def feed_texts(self, texts: Sequence[str]) -> list[Event]:
        """Return the events of chunks that repeat the last one, a delta of an item, with other
        texts.
        """
        if self._latest is None:
            return []
        opened, place, kind = self._latest
        texts = [text for text in texts if text]
        opened.add(place, texts)
        if kind is None:
            return [ToolCallDelta(opened.position or 0, text) for text in texts]
        self._texts[kind] += texts
        return list(map(kind, texts))

    @checked_arguments()
    def close(self, reply: Reply) -> list[Event]:
        """Return the last events: the ends of the items that are still open, and `Done` with the
        reply.

        Some hosts end an item with another text than that of its deltas. What was emitted would
        then not be the begin of the reply: it starts anew. Raises `BlockedError` if filters removed
        the complete reply.
        """
        answer = reply.answer
        output = answer.output if isinstance(answer, Response) else None
        events: list[Event] = []
        for index, item in zip(sorted(self._items), output or (), strict=False):
            events += self._end(index, item)
        self._record(events)
        if self._says(checked(reply)):
            return [*events, Done(reply)]
        from wire.neutral.events import events_of  # few hosts do it

        return [Restart(), *events_of(reply)]

    def _says(self, reply: Reply) -> bool:
        """Return whether the texts, thoughts and calls of the events are those of the reply, which
        may have been cut at a stop sequence.
        """
        if any(opened.differs for opened in self._items.values()):
            return False
        for event, kind in ((TextDelta, Text), (ThoughtDelta, Thought)):
            emitted = "".join(self._texts[event])
            whole = "".join(part.text for part in reply.message.parts if isinstance(part, kind))
            if not (whole.startswith(emitted) or emitted.startswith(whole)):
                return False
        return True

    def _events_of(self, event: StreamEvent) -> Iterator[Event]:
        kind = event.type or ""
        self._latest = None
        if kind in _TEXT_EVENTS:
            text = event.delta if isinstance(event.delta, str) else ""
            opened, place = self._open(event), _place(event)
            self._latest = opened, place, _TEXT_EVENTS[kind]
            yield from opened.text(_TEXT_EVENTS[kind], place, text)
        elif kind in _CALL_EVENTS:
            opened = self._open(event)
            self._latest = opened, _ARGUMENTS, None
            yield from self._start(opened)
            yield from opened.arguments(event.delta if isinstance(event.delta, str) else "")
        elif kind == "response.output_item.added":
            opened = self._open(event)
            opened.item = event.item or opened.item
            yield from self._start(opened)
        elif kind == "response.output_item.done":
            self._open(event)
            if event.item is not None:
                yield from self._end(self._position(event), event.item)
        elif kind in TERMINAL_EVENTS or kind == "response.failed":
            yield from self._end_all(event.response)
        elif kind == "response.created":
            # In the middle of a stream it restarts the response: the host ran the model again.
            if self._has_events:
                yield Restart()
            self._restart()
        if kind not in _KNOWN_EVENTS:
            yield from provider_events(event, kind)

    def _position(self, event: StreamEvent) -> int:
        id = event.item_id or (event.item.id if event.item is not None else None)
        return self._positions.position(event.output_index, id)

    def _open(self, event: StreamEvent) -> _OpenItem:
        """Return the item of an event. Some hosts omit `output_item.added`."""
        index = self._position(event)
        if index not in self._items:
            kind = PIECES[base].item if (base := _base(event)) in PIECES else ""
            self._items[index] = _OpenItem(Item(type=kind))
        return self._items[index]

    def _start(self, opened: _OpenItem) -> Iterator[Event]:
        if opened.item.type in CALLS and opened.position is None:
            opened.position, self._calls = self._calls, self._calls + 1
            opened.id = self._ids.own(opened.item.call_id)
            yield ToolCallStart(opened.position, well_formed(opened.item.name or ""), opened.id)

    def _end(self, index: int, item: Item) -> Iterator[Event]:
        """Yield the events of a complete item that its deltas did not have."""
        opened = self._items.setdefault(index, _OpenItem(item))
        if opened.ended:
            return
        opened.ended, opened.item = True, item
        if item.type == "image_generation_call" and (image := _image(item)) is not None:
            from wire.neutral.events import media_event  # few models draw

            yield media_event(image, self._images)
            self._images += 1
        if item.type not in CALLS:
            if item.type == "reasoning" and (rest := opened.rest(_thought(item).text)):
                yield ThoughtDelta(rest)
            elif item.type in ("message", None) and (rest := opened.rest(_message_text(item))):
                yield TextDelta(rest)
            return
        yield from self._start(opened)
        position = opened.position or 0
        call = _call(item, opened.id, self._ids.response, False)
        if rest := opened.rest(call.text):
            yield ToolCallDelta(position, rest)
        yield ToolCallEnd(
            position, with_origin(call, Origin(self._provider, self._model, WIRE, item))
        )

    def _end_all(self, response: Response | None) -> Iterator[Event]:
        """Yield the items of the last event that no event before it completed."""
        output = response.output if response is not None else None
        # Such an item may stand at another position than the one that it was streamed at.
        ended = {_key(opened.item) for opened in self._items.values() if opened.ended}
        for index, item in enumerate(output or ()):
            opened = self._items.get(index)
            if (opened is None and _key(item) not in ended) or (
                opened is not None and not opened.ended and opened.item.type in (item.type, "")
            ):
                yield from self._end(index, item)


def _key(item: Item) -> tuple[str | None, str | None]:
    return item.id, item.call_id


def _base(event: StreamEvent) -> str:
    return (event.type or "").rpartition(".")[0]


def _place(event: StreamEvent) -> _Place:
    """Return the list of parts that a delta belongs to, and the position in it."""
    piece = PIECES[_base(event)]
    return piece.parts, getattr(event, piece.position) or 0


class _OpenItem:
    """An item whose end was not read yet."""

    def __init__(self, item: Item) -> None:
        self.item = item
        self.position: int | None = None  # among the calls
        self.id = ""  # of a call
        self.ended = False
        self.differs = False  # its final text does not begin with the emitted one
        self._halves: dict[_Place, Halves] = {}
        self._places: set[_Place] = set()  # of which a text was emitted
        self._emitted: list[str] = []

    def text(self, kind: _TextEvent, place: _Place, text: str) -> Iterator[Event]:
        """Yield the event of a delta of text; yield nothing if it completes no character."""
        if text := self._halves.setdefault(place, Halves()).feed(text):
            if place[0] == "summary" and self._places and place not in self._places:
                text = _SEPARATOR + text
            self.add(place, (text,))
            yield kind(text)

    def arguments(self, text: str) -> Iterator[Event]:
        """Yield the event of a delta of arguments."""
        if text := self._halves.setdefault(_ARGUMENTS, Halves()).feed(text):
            self.add(_ARGUMENTS, (text,))
            yield ToolCallDelta(self.position or 0, text)

    def add(self, place: _Place, texts: Iterable[str]) -> None:
        """Record that texts were emitted."""
        self._places.add(place)
        self._emitted += texts

    def rest(self, text: str) -> str:
        """Return what of the final text was not emitted."""
        emitted = "".join(self._emitted)
        self.differs = not text.startswith(emitted)
        return "" if self.differs else text[len(emitted) :]
