"""A response of the emulator: status, headers, and the pieces of a body with pauses and breaks.

No clock and no socket: `server` and `transports` wait, send and close.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from typing import Any

from wire.core.memory import well_formed_utf8
from wire.testing.cassette.faults import Fault
from wire.testing.cassette.pieces import Piece


@dataclass(frozen=True, slots=True)
class Answer:
    """One response.

    The headers contain neither `content-length` nor `transfer-encoding`: `server` and `transports`
    add these.
    """

    status: int
    """HTTP status."""
    headers: tuple[tuple[str, str], ...]
    """Names and values, in order."""
    pieces: tuple[Piece, ...]
    """Pieces of the body, pauses and faults, in order."""
    rule: str = ""
    """Id of the rule that refused the request."""
    expires: bool = False
    """Of a request of a batch: the batch expires before the request is answered."""
    faults: tuple[tuple[str, Fault], ...] = ()
    """Of a request of a session: what goes wrong with the messages that the session makes of the
    response, each with the place in the script that says so."""

    @property
    def body(self) -> bytes:
        """All bytes of the body."""
        return b"".join(piece for piece in self.pieces if isinstance(piece, bytes))

    @property
    def whole(self) -> bool:
        """Whether the body is sent in one piece, with its length."""
        return len(self.pieces) < 2 and all(isinstance(piece, bytes) for piece in self.pieces)


@dataclass(frozen=True, slots=True)
class LiveAnswer:
    """One response whose body is still being made: its pieces are sent as they come."""

    status: int
    headers: tuple[tuple[str, str], ...]
    pieces: AsyncGenerator[bytes, None]
    rule: str = ""
    """As in `Answer`."""


def json_bytes(value: Any, indent: int | None = None) -> bytes:
    """Encode JSON as UTF-8: on one line without spaces, or indented.

    Lone surrogates become U+FFFD, so that a response can repeat any text of a request (R-08).
    """
    separators = (",", ":") if indent is None else None
    return well_formed_utf8(
        json.dumps(value, ensure_ascii=False, indent=indent, separators=separators)
    )


def json_answer(
    body: bytes,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
    content_type: str = "application/json",
) -> Answer:
    """Build a response with a JSON body in one piece."""
    return Answer(status, (("content-type", content_type), *(headers or {}).items()), (body,))
