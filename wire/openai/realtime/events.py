"""Messages of a connection as events, and their names at all hosts."""

from __future__ import annotations

from wire.core.arguments import checked_arguments
from wire.core.errors import StreamInvalid
from wire.core.framing import shown
from wire.core.lenient import Unreadable, decoded
from wire.openai.realtime.types.events import ServerEvent

_RENAMED = {
    "conversation.item.created": "conversation.item.added",
    "response.audio.": "response.output_audio.",
    "response.audio_transcript.": "response.output_audio_transcript.",
    "response.text.": "response.output_text.",
}
"""Names, or beginnings of names, of the beta: those of today."""


@checked_arguments()
def parse_event(message: bytes) -> ServerEvent:
    """Decode one message of a server.

    >>> parse_event(b'{"type": "response.text.delta", "delta": "Hi"}').delta
    'Hi'

    The event remembers its bytes. A value of another type than its field's is left out, and
    `wire.unknown` reports it. Raises `StreamInvalid` for a message that is not a JSON object,
    `LimitError` for one that is nested too deeply.
    """
    try:
        return decoded(message, ServerEvent)
    except Unreadable as cause:
        raise StreamInvalid(f"not an event of Realtime ({cause}): {shown(message)}") from None


@checked_arguments()
def event_name(event: ServerEvent) -> str:
    """Return the type of an event by its name of today; some hosts send that of the beta.

    >>> from wire.openai.realtime import ServerEvent
    >>> event_name(ServerEvent(type="response.audio.delta"))
    'response.output_audio.delta'
    """
    name = event.type or ""
    for old, new in _RENAMED.items():
        if name == old or (old[-1] == "." and name.startswith(old)):
            return new + name[len(old) :]
    return name
