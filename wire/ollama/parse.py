"""Converts answers and lines of Ollama to neutral replies and events.

- The thoughts of a message come before its text, then its images and its calls.
- A call arrives whole: its start, its arguments and its end are emitted at once.
- A message and its calls have the received structs as their origins. A text and a thought have only
  the provider and the model: in this format they are strings, not JSON objects of their own.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from wire.catalogue.stops import partial_stop, stopped
from wire.catalogue.usage import Usage
from wire.core.arguments import check_inside, checked_arguments
from wire.core.decoders import from_base64
from wire.core.errors import WireError
from wire.core.lenient import Halves, odd_text, plain, portable, well_formed
from wire.core.memory import PARTIAL, Note, notes
from wire.neutral.events import media_event, provider_events
from wire.neutral.ids import ReplyIds
from wire.neutral.media_types import media_type_of
from wire.neutral.messages import (
    Done,
    Event,
    Media,
    Message,
    Origin,
    Other,
    Part,
    Reply,
    Text,
    TextDelta,
    Thought,
    ThoughtDelta,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
    checked,
    with_answer,
    with_origin,
)
from wire.neutral.messages import ToolCall as NeutralCall
from wire.ollama.finish import meaning_of
from wire.ollama.types import ChatResponse, ToolCall, ToolCallFunction
from wire.ollama.types import Message as WireMessage

WIRE = "ollama"
THINKING = "thinking"
"""The slot of thoughts: the key of the message."""


@checked_arguments()
def parse_reply(
    response: ChatResponse,
    *,
    body: bytes = b"",
    provider: str = "ollama",
    model: str = "",
    error: WireError | None = None,
) -> Reply:
    """Convert an answer to a reply.

    `body` is the body of the request. A server may omit the id of a call; the id is then derived
    from `body`, so that it is the same each time.

    >>> from wire.ollama.reader import parse_answer
    >>> answer = b'{"message":{"content":"Hi"},"done":true,"done_reason":"stop"}'
    >>> reply = parse_reply(parse_answer(answer))
    >>> reply.text, reply.stop
    ('Hi', Stop(reason='end', raw='stop'))

    `provider` and `model` received the request. The received message is sent back unchanged to them
    only. The reply of an answer with `wire.core.memory.PARTIAL` in its notes has no regular stop
    reason; `error` is the error that ended its stream, if any.
    """
    source = response.message or WireMessage()
    parts = parts_of(source, ReplyIds(body), Origin(provider, model, WIRE))
    has_text = any(isinstance(part, Text) for part in parts)
    if not has_text and (text := odd_text(response.raw, "message", "content")):
        parts.append(with_origin(Text(text), Origin(provider, model, WIRE)))
    message = with_origin(Message("assistant", tuple(parts)), Origin(provider, model, WIRE, source))
    calls = any(isinstance(part, NeutralCall) for part in parts)
    meaning = meaning_of(response.done_reason, calls=calls)
    stop, of_stop = stopped(meaning, response.done_reason, "")
    usage, of_usage = _usage(response)
    partial = PARTIAL in notes(response)
    reply = Reply(
        message=message,
        stop=partial_stop(stop, error) if partial else stop,
        usage=usage,
        notes=(*notes(response), *of_stop, *of_usage),
        model=well_formed(response.model or ""),
    )
    return with_answer(reply, response)


# --- parts ----------------------------------------------------------------------------------------


def parts_of(message: WireMessage, ids: ReplyIds, origin: Origin) -> list[Part]:
    """Convert a message to neutral parts; `origin` is that of its texts."""
    parts: list[Part] = []
    if message.thinking:
        parts.append(with_origin(Thought(well_formed(message.thinking), slot=THINKING), origin))
    if message.content:
        parts.append(with_origin(Text(well_formed(message.content)), origin))
    parts += [with_origin(image_of(each), origin) for each in message.images or ()]
    for call in message.tool_calls or ():
        source = Origin(origin.provider, origin.model, WIRE, call)
        parts.append(with_origin(call_of(call, ids.own(call.id), ids.response), source))
    return parts


def image_of(text: str) -> Media | Other:
    """Convert an image; what is no base64 becomes an `Other`."""
    try:
        data = from_base64(text)
        return Media(data=data, media_type=media_type_of("", data[:64]) or "image/png")
    except (ValueError, WireError):
        return Other("image", {"image": well_formed(text)})


def call_of(call: ToolCall, id: str, response: str) -> NeutralCall:
    """Convert a call."""
    function = call.function or ToolCallFunction()
    given: Any = function.arguments
    if given is None and call.raw is not None:
        odd = (plain(call.raw) or {}).get("function")
        given = odd.get("arguments") if isinstance(odd, dict) else None
    name, given = well_formed(function.name or ""), portable(given)
    if given is None or isinstance(given, dict):
        arguments = {} if given is None else given
        return NeutralCall(id=id, name=name, arguments=arguments, response=response)
    text = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
    return NeutralCall(id=id, name=name, arguments=None, text=text, response=response)


def _usage(response: ChatResponse) -> tuple[Usage | None, tuple[Note, ...]]:
    """Return the token counts; a prompt that was cached as a whole is not counted."""
    given, output = response.prompt_eval_count, response.eval_count
    if given is None and output is None:
        return None, ()
    words = "not counted: the server had the whole prompt in its cache"
    noted = (Note("usage.input", words),) if given is None else ()
    made = Usage(input=given or 0, output=output or 0, total=(given or 0) + (output or 0))
    return made, noted


# --- events ---------------------------------------------------------------------------------------

_KNOWN_KEYS = frozenset(
    each for each in ChatResponse.__struct_encode_fields__ if each not in ("logprobs",)
)
"""Keys of a line that are in the reply, or only identify it."""


class EventReader:
    """Converts the lines of one answer to neutral events.

    >>> EventReader().feed(ChatResponse(message=WireMessage(content="Hi")))
    [TextDelta(text='Hi')]
    """

    @checked_arguments()
    def __init__(self, *, body: bytes = b"", provider: str = "ollama", model: str = "") -> None:
        self._provider, self._model = provider, model
        self._ids = ReplyIds(body)
        self._text, self._thought = Halves(), Halves()
        self._calls = self._media = 0
        self._has_text = False
        self._thinks = False  # the last line had a thought

    def feed(self, line: ChatResponse) -> list[Event]:
        """Return the neutral events of one line."""
        try:
            return list(self._events_of(line))
        except WireError:
            raise
        except Exception:
            check_inside("line", line, ChatResponse)
            raise

    @checked_arguments()
    def feed_texts(self, texts: Sequence[str]) -> list[Event]:
        """Return the events of lines that repeat the last one with other texts."""
        texts = [text for text in texts if text]
        self._has_text = self._has_text or (bool(texts) and not self._thinks)
        return list(map(ThoughtDelta if self._thinks else TextDelta, texts))

    @checked_arguments()
    def close(self, reply: Reply) -> list[Event]:
        """Return the last events: `Done` with the reply.

        Raises `BlockedError` if filters removed the complete reply.
        """
        events: list[Event] = []
        if rest := self._thought.rest:
            events.append(ThoughtDelta(rest))
        if rest := self._text.rest:
            events.append(TextDelta(rest))
        elif reply.text and not self._has_text:  # folded from a text of a wrong type
            events.append(TextDelta(reply.text))
        return [*events, Done(checked(reply))]

    def _events_of(self, line: ChatResponse) -> Iterator[Event]:
        message = line.message
        if message is not None:
            if message.thinking:
                self._thinks = True
                if text := self._thought.feed(message.thinking):
                    yield ThoughtDelta(text)
            if message.content:
                self._thinks, self._has_text = False, True
                if text := self._text.feed(message.content):
                    yield TextDelta(text)
            for image in message.images or ():
                made = image_of(image)
                if isinstance(made, Media):
                    yield media_event(made, self._media)
                    self._media += 1
            for call in message.tool_calls or ():
                yield from self._call(call)
        yield from provider_events(line, "", _KNOWN_KEYS)

    def _call(self, call: ToolCall) -> Iterator[Event]:
        position, self._calls = self._calls, self._calls + 1
        id = self._ids.own(call.id)
        made = call_of(call, id, self._ids.response)
        arguments = made.text or msgspec.json.encode(made.arguments or {}).decode()
        yield ToolCallStart(position, made.name, id)
        yield ToolCallDelta(position, arguments)
        origin = Origin(self._provider, self._model, WIRE, call)
        yield ToolCallEnd(position, with_origin(made, origin))
