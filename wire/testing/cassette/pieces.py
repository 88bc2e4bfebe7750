"""A body as it is sent: bytes, pauses, and how it breaks off. No clock and no socket."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pause:
    """Nothing is sent for this many seconds.

    As the first piece it delays the status line.
    """

    seconds: float
    """Length of the pause; infinite if nothing more is sent."""


@dataclass(frozen=True, slots=True)
class Cut:
    """The connection is closed before the body is complete."""


@dataclass(frozen=True, slots=True)
class Reset:
    """The connection is reset."""


Piece = bytes | Pause | Cut | Reset
