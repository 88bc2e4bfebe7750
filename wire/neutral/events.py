"""The events of a reply that was not streamed, and of a chunk that no other event stands for."""

from __future__ import annotations

from collections.abc import Container

import msgspec

from wire.core import json_values
from wire.core.lenient import plain
from wire.core.memory import WireStruct, encode, freeze
from wire.neutral.messages import (
    Done,
    Event,
    Media,
    MediaDelta,
    ProviderEvent,
    Reply,
    Text,
    TextDelta,
    Thought,
    ThoughtDelta,
    ToolCall,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
)


def media_event(media: Media, position: int) -> MediaDelta:
    """Return the event of media that arrive in one piece.

    >>> media_event(Media(data=b"RIFF", media_type="audio/wav"), 0).data
    b'RIFF'
    """
    return MediaDelta(
        position=position,
        data=media.data or b"",
        url=media.url or "",
        media_type=media.media_type,
        transcript=media.transcript,
    )


def events_of(reply: Reply) -> list[Event]:
    """Build the events that a stream of this reply could have had, in the order of its parts.

    >>> from wire.neutral.messages import Message, Stop
    >>> events_of(Reply(Message.assistant("Hello."), Stop("end")))[0]
    TextDelta(text='Hello.')
    """
    events: list[Event] = []
    position = media = 0
    for part in reply.message.parts:
        match part:
            case Text(text) if text:
                events.append(TextDelta(text))
            case Thought(text) if text:
                events.append(ThoughtDelta(text))
            case Media():
                events.append(media_event(part, media))
                media += 1
            case ToolCall(id=id, name=name):
                arguments = part.text or msgspec.json.encode(part.arguments or {}).decode()
                events += [
                    ToolCallStart(position, name, id),
                    ToolCallDelta(position, arguments),
                    ToolCallEnd(position, part),
                ]
                position += 1
    return [*events, Done(reply)]


def provider_events(
    chunk: WireStruct, name: str, known: Container[str] = ()
) -> list[ProviderEvent]:
    """Return the event for a chunk that adds nothing to the reply; none for `known` keys only.

    Raises `RuleError` for a chunk that was not received and holds values that JSON cannot
    represent.
    """
    try:
        data = plain(encode(chunk))
    except (TypeError, UnicodeEncodeError):
        json_values.checked(chunk, "event")
        raise
    keys = data if isinstance(data, dict) else ()
    has_news = any(key not in known and data[key] is not None for key in keys)
    return [ProviderEvent(name, freeze(data))] if has_news else []
