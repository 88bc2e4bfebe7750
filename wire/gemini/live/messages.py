"""Messages of a connection as structs."""

from __future__ import annotations

from wire.core.arguments import checked_arguments
from wire.core.errors import StreamInvalid
from wire.core.framing import shown
from wire.core.lenient import Unreadable, decoded
from wire.gemini.live.types import ServerMessage


@checked_arguments()
def parse_message(message: bytes) -> ServerMessage:
    """Decode one message of a server.

    >>> parse_message(b'{"serverContent": {"turnComplete": true}}').server_content.turn_complete
    True

    Servers send JSON in binary messages. The result remembers its bytes. A value of another type
    than its field's is left out, and `wire.unknown` reports it. Raises `StreamInvalid` for a
    message that is not a JSON object, `LimitError` for one that is nested too deeply.
    """
    try:
        return decoded(message, ServerMessage)
    except Unreadable as cause:
        raise StreamInvalid(f"not a message of Live ({cause}): {shown(message)}") from None
