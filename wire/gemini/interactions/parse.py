"""Converts interactions and their events to neutral replies and events.

- Each step becomes neutral parts, in the order of the steps, with the step as their origin: an
  output of the model one part for each content, a thought one thought, a call of a function one
  call. A step without a neutral equivalent becomes an `Other`.
- A stored interaction begins with its input: the reply is what came after the last step of the user
  or of a function.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from wire.catalogue.stops import partial_stop
from wire.catalogue.usage import Usage as Tokens
from wire.core.arguments import check_inside, checked_arguments
from wire.core.decoders import convert, decoder, from_base64
from wire.core.errors import RuleError, WireError
from wire.core.lenient import (
    Halves,
    fields_of,
    plain,
    portable,
    portable_fields,
    received_json,
    well_formed,
)
from wire.core.memory import PARTIAL, notes
from wire.gemini.interactions.finish import stop_of
from wire.gemini.interactions.fold import StepBuilder
from wire.gemini.interactions.types import (
    Content,
    Delta,
    Interaction,
    InteractionEvent,
    Step,
    Usage,
)
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

WIRE = "gemini.interactions"
OF_CLIENT = ("user_input", "function_result")
"""Types of the steps that the client sent."""
MEDIA = ("image", "audio", "video", "document")
_SEPARATOR = "\n\n"
"""Stands between two texts of a summary, each of which is a paragraph."""


@checked_arguments()
def parse_reply(
    interaction: Interaction,
    *,
    body: bytes = b"",
    provider: str = "gemini@interactions",
    model: str = "",
    error: WireError | None = None,
    ids: ReplyIds | None = None,
) -> Reply:
    """Convert an interaction to a reply.

    `body` is the body of the request. A call may lack its id; the id is then derived from `body`,
    so that it is the same each time. `ids` are those of an answer of which this is a part.

    >>> from wire.gemini.interactions.reader import parse_interaction
    >>> reply = parse_reply(
    ...     parse_interaction(
    ...         b'{"status":"completed","steps":[{"type":"model_output",'
    ...         b'"content":[{"type":"text","text":"Hi"}]}]}'
    ...     )
    ... )
    >>> reply.text, reply.stop
    ('Hi', Stop(reason='end', raw='completed'))

    `provider` and `model` received the request. The received steps are sent back unchanged to them
    only. The reply of an interaction with `wire.core.memory.PARTIAL` in its notes has no regular
    stop reason; `error` is the error that ended its stream, if any.
    """
    steps = output_of(interaction.steps or ())
    partial = PARTIAL in notes(interaction)
    ids = ids or ReplyIds(body)
    parts = tuple(
        with_origin(part, Origin(provider, model, WIRE, source))
        for number, step in enumerate(steps, 1)
        for part, source in parts_of(step, ids, cut=partial and number == len(steps))
    )
    message = with_origin(
        Message("assistant", parts, citations=_citations(steps)),
        Origin(provider, model, WIRE, Interaction(steps=steps)),
    )
    stop, of_stop = stop_of(interaction, parts)
    reply = Reply(
        message=message,
        stop=partial_stop(stop, error) if partial else stop,
        usage=usage_of(interaction.usage) if interaction.usage is not None else None,
        notes=(*notes(interaction), *of_stop),
        id=well_formed(interaction.id or ""),
        model=well_formed(interaction.model or interaction.agent or ""),
    )
    return with_answer(reply, interaction)


def output_of(steps: Sequence[Step]) -> list[Step]:
    """Return what the model did: the steps after the last one of the client."""
    last = max((at for at, step in enumerate(steps) if step.type in OF_CLIENT), default=-1)
    return list(steps[last + 1 :])


def _citations(steps: Sequence[Step]) -> tuple[Citation, ...]:
    contents = [
        each for step in steps if step.type == "model_output" for each in step.content or ()
    ]
    if not any(each.annotations for each in contents):
        return ()
    from wire.gemini.interactions.server_parts import citations_of  # few replies have citations

    return citations_of(contents)


# --- parts ----------------------------------------------------------------------------------------


def parts_of(step: Step, ids: ReplyIds, *, cut: bool = False) -> list[tuple[Part, Step]]:
    """Return the neutral parts of a step, each with the step that it alone would be sent as.

    `cut` says whether the stream was cut off in it: the arguments of a call may then be missing.
    """
    if step.type == "function_call":
        return [(_call(step, ids.own(step.id), ids.response, cut), step)]
    if step.type == "thought":
        return [(_thought(step), step)]
    if step.type == "model_output" and step.content is not None:
        if len(step.content) == 1:
            return [(_content_part(step.content[0]), step)]
        # A content has bytes of its own, so that one of several can be sent without the others.
        return [
            (_content_part(each), msgspec.structs.replace(step, content=[each]))
            for each in step.content
        ]
    if step.type == "model_output" and step.error is None:
        return []
    from wire.gemini.interactions.server_parts import server_part  # few replies have other steps

    part = server_part(step)
    return [(part or Other(well_formed(step.type or ""), portable_fields(step)), step)]


def _content_part(content: Content) -> Part:
    if content.type == "text":
        extra = None
        if content.annotations:
            extra = {"annotations": [portable_fields(each) for each in content.annotations]}
        return Text(well_formed(content.text or ""), extra=extra)
    media = media_of(content) if content.type in MEDIA else None
    return media or Other(well_formed(content.type or ""), portable_fields(content))


_OF_MEDIA = ("type", "data", "uri", "mime_type")
_TYPES = {"image": "image/png", "audio": "audio/wav", "video": "video/mp4"}
"""Kind of content -> its media type, if the server names none."""


def media_of(content: Content) -> Media | None:
    """Return a content as media; `None` if it has neither data nor a URI, or malformed base64."""
    fields = portable_fields(content)
    extra = {key: value for key, value in fields.items() if key not in _OF_MEDIA}
    kind = well_formed(content.mime_type or "")
    try:
        if content.data:
            kind = kind or _TYPES.get(content.type or "", "application/pdf")
            return Media(data=from_base64(content.data), media_type=kind, extra=extra or None)
        if content.uri:
            return Media(url=well_formed(content.uri), media_type=kind, extra=extra or None)
    except (RuleError, ValueError):
        pass
    return None


def _thought(step: Step) -> Thought:
    texts = [well_formed(each.text or "") for each in step.summary or () if each.type == "text"]
    return Thought(
        _SEPARATOR.join(filter(None, texts)),
        slot="summary",
        signature=well_formed(step.signature or ""),
    )


def _call(step: Step, id: str, response: str, cut: bool) -> ToolCall:
    given: Any = step.arguments
    if given is None and step.raw is not None:
        given = (plain(bytes(step.raw)) or {}).get("arguments")
    given = portable(given)
    name, signature = well_formed(step.name or ""), well_formed(step.signature or "")
    more: dict[str, Any] = {"id": id, "name": name, "response": response, "signature": signature}
    if isinstance(given, dict) and not (cut and not given):
        return ToolCall(arguments=given, **more)
    if given is None or given == {}:
        # A step begins with empty arguments, and the stream may have ended before they arrived.
        return ToolCall(arguments=None if cut else {}, **more)
    text = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
    return ToolCall(arguments=None, text=text, **more)


# --- usage ----------------------------------------------------------------------------------------


def usage_of(usage: Usage) -> Tokens:
    """Convert token counts to the neutral ones.

    Input includes the tokens of tools and those of the cache; output includes thoughts.

    >>> usage_of(Usage(total_input_tokens=14, total_output_tokens=34, total_thought_tokens=222))
    Usage(input=14, output=256, reasoning=222, total=270)
    """
    given = (usage.total_input_tokens or 0) + (usage.total_tool_use_tokens or 0)
    thought = usage.total_thought_tokens or 0
    output = (usage.total_output_tokens or 0) + thought
    return Tokens(
        input=given,
        output=output,
        cached=usage.total_cached_tokens or 0,
        reasoning=thought,
        total=usage.total_tokens or given + output,
    )


# --- events ---------------------------------------------------------------------------------------

_KNOWN = frozenset(
    {
        "interaction.created",
        "interaction.status_update",
        "interaction.in_progress",
        "interaction.requires_action",
        "interaction.completed",
        "step.start",
        "step.delta",
        "step.stop",
    }
)
"""Types of events that say nothing of their own to the caller: what they hold is in the reply."""


class EventReader:
    """Converts the events of one interaction to neutral events.

    >>> reader = EventReader()
    >>> reader.feed(
    ...     InteractionEvent(
    ...         event_type="step.delta", index=0, delta=Delta(type="text", text="Hi")
    ...     )
    ... )
    [TextDelta(text='Hi')]
    """

    @checked_arguments()
    def __init__(
        self, *, body: bytes = b"", provider: str = "gemini@interactions", model: str = ""
    ) -> None:
        self._body, self._provider, self._model = body, provider, model
        self._steps: dict[int, _OpenStep] = {}
        self._latest: _OpenStep | None = None  # of the last event, if that was a text
        self._ids = ReplyIds(body)
        self._calls = self._media = 0
        self._texts: list[str] = []

    def feed(self, event: InteractionEvent) -> list[Event]:
        """Return the neutral events of one event."""
        try:
            events = list(self._events_of(event))
        except WireError:
            raise
        except Exception:
            check_inside("event", event, InteractionEvent)
            raise
        self._texts += (each.text for each in events if isinstance(each, TextDelta))
        return events

    @checked_arguments()
    def feed_texts(self, texts: Sequence[str]) -> list[Event]:
        """Return the events of chunks that repeat the last one, a text, with other texts."""
        texts = [text for text in texts if text]
        self._texts += texts
        return list(map(TextDelta, texts))

    @checked_arguments()
    def close(self, reply: Reply) -> list[Event]:
        """Return the last events: the ends of the calls that are still open, and `Done` with the
        reply.

        Raises `BlockedError` if filters removed the complete reply.
        """
        events: list[Event] = []
        for _, opened in sorted(self._steps.items()):
            events += self._end(opened)
        checked(reply)
        emitted = "".join(self._texts)
        if not (reply.text.startswith(emitted) or emitted.startswith(reply.text)):
            from wire.neutral.events import events_of  # no host is known to do it

            return [Restart(), *events_of(reply)]
        return [*events, Done(reply)]

    def _events_of(self, event: InteractionEvent) -> Iterator[Event]:
        kind, index = event.event_type or "", event.index or 0
        if kind == "step.start":
            self._steps[index] = opened = _OpenStep(event.step or Step())
            yield from self._start(opened)
        elif kind == "step.delta" and event.delta is not None:
            if index not in self._steps:
                is_call = event.delta.type == "arguments_delta"
                self._steps[index] = _OpenStep(Step(type="function_call" if is_call else None))
                yield from self._start(self._steps[index])
            yield from self._delta(self._steps[index], event.delta)
        elif kind == "step.stop" and index in self._steps:
            yield from self._end(self._steps[index])
        elif kind not in _KNOWN:
            yield from provider_events(event, kind)

    def _start(self, opened: _OpenStep) -> Iterator[Event]:
        step = opened.step
        if step.type == "function_call":
            opened.position, self._calls = self._calls, self._calls + 1
            opened.id = self._ids.own(step.id)
            yield ToolCallStart(opened.position, well_formed(step.name or ""), opened.id)
        for content in (step.content if step.type == "model_output" else None) or ():
            yield from self._content(content)

    def _content(self, content: Content) -> Iterator[Event]:
        part = _content_part(content)
        if isinstance(part, Text) and part.text:
            yield TextDelta(part.text)
        elif isinstance(part, Media):
            yield media_event(part, self._media)
            self._media += 1

    def _delta(self, opened: _OpenStep, delta: Delta) -> Iterator[Event]:
        if delta.type == "text":
            if text := opened.halves.feed(delta.text or ""):
                yield TextDelta(text)
        elif delta.type == "thought_summary" and delta.content is not None:
            if text := well_formed(delta.content.text or ""):
                yield ThoughtDelta(_SEPARATOR + text if opened.has_thought else text)
                opened.has_thought = True
        elif delta.type == "arguments_delta":
            text = delta.arguments if isinstance(delta.arguments, str) else ""
            opened.deltas.append(delta)
            if opened.position is not None and (text := opened.halves.feed(text)):
                yield ToolCallDelta(opened.position, text)
        elif delta.type in MEDIA:
            yield from self._media_delta(opened, delta)
        elif opened.position is not None:
            opened.deltas.append(delta)

    def _media_delta(self, opened: _OpenStep, delta: Delta) -> Iterator[Event]:
        fields = fields_of(msgspec.Raw(received_json(delta)))
        media = media_of(convert(plain(msgspec.json.encode(fields)), Content))
        if media is None:
            return
        joins = delta.type == "audio" and opened.sound is not None and media.data is not None
        if not joins:
            opened.sound = self._media if delta.type == "audio" and media.data else None
            position, self._media = self._media, self._media + 1
        else:
            position = opened.sound or 0
        yield media_event(media, position)

    def _end(self, opened: _OpenStep) -> Iterator[Event]:
        """Yield the end of a call."""
        if opened.position is None or opened.ended:
            return
        opened.ended = True
        builder = StepBuilder(fields_of(msgspec.Raw(received_json(opened.step))))
        for delta in opened.deltas:
            builder.add(fields_of(msgspec.Raw(received_json(delta))))
        step = decoder(Step).decode(msgspec.json.encode(builder.merged()))
        call = _call(step, opened.id, self._ids.response, False)
        origin = Origin(self._provider, self._model, WIRE, step)
        yield ToolCallEnd(opened.position, with_origin(call, origin))


class _OpenStep:
    """A step whose end was not read yet."""

    def __init__(self, step: Step) -> None:
        self.step = step
        self.position: int | None = None  # among the calls
        self.id = ""  # of a call
        self.deltas: list[Delta] = []  # of a call
        self.ended = False
        self.has_thought = False
        self.sound: int | None = None  # position of the sound whose pieces arrive
        self.halves = Halves()
