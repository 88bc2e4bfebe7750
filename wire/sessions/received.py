"""Compares a saved message with the bytes that it was received with.

A file holds both: parts that a person can read, and the vendor's JSON, which goes back to the model
unchanged. A person who edits the parts would not see that the JSON is sent. So a message that
differs from its bytes loses them when it is loaded, with a note: the readable parts in the file are
sent.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wire.core.errors import WireError
from wire.core.lenient import Unreadable
from wire.core.memory import Note
from wire.neutral.messages import (
    Message,
    Origin,
    Other,
    Part,
    ServerToolCall,
    ToolCall,
    with_origin,
)
from wire.wires.contract import WIRES

_OF_THE_CLIENT = ("id", "response")
"""Fields that are not compared. A call without an id gets one that is generated from the request,
and `response` is the id of another call.
"""


def checked_origins(message: Message, path: str, notes: list[Note]) -> Message:
    """Drop the received bytes of a message that differ from its parts.

    Bytes of a wire that this release does not know are not compared, and bytes that no host can
    have sent stay: they are never sent, and a note reports them.
    """
    origin = message.origin
    if origin is not None and _differs(origin, message.parts, path, notes, part=False):
        origin = _without_bytes(origin)
    parts = tuple(
        _checked_part(part, f"{path}.parts[{index}]", notes)
        for index, part in enumerate(message.parts)
    )
    made = Message(message.role, parts, message.name, message.cache, message.citations)
    return with_origin(made, origin)


def _checked_part(part: Part, path: str, notes: list[Note]) -> Part:
    origin = part.origin
    if origin is None or not _differs(origin, (part,), path, notes, part=True):
        return part
    return with_origin(part, _without_bytes(origin))


def _without_bytes(origin: Origin) -> Origin:
    """Copy the origin without its bytes.

    The message still came from that model: content that only this model understands goes to no
    other.
    """
    return Origin(origin.provider, origin.model, origin.wire)


def _differs(
    origin: Origin, parts: Sequence[Part], path: str, notes: list[Note], *, part: bool
) -> bool:
    if not origin.raw or origin.wire not in WIRES:
        return False
    try:
        readings = WIRES[origin.wire].parse_message(origin.raw, origin.provider, part=part)
    except (Unreadable, WireError, RecursionError):
        notes.append(Note(path, f"the bytes that it was received with are not of {origin.wire}"))
        return False
    first = ""
    for reading in readings:
        place = _difference(parts, reading.parts)
        if not place:
            return False
        first = first or place
    field = first if not part else first.partition("]")[2]
    notes.append(
        Note(
            f"{path}{field}", "differs from the bytes that it was received with: they were dropped"
        )
    )
    return True


def _difference(parts: Sequence[Part], received: Sequence[Part]) -> str:
    """Return the path of the first difference below the message; empty if there is none."""
    for index, (part, other) in enumerate(zip(parts, received, strict=False)):
        if type(part) is not type(other):
            if _depends_on_others(part, other):
                continue
            return f".parts[{index}]"
        for name in part.__struct_fields__:
            if name not in _OF_THE_CLIENT and _is_changed(part, other, name):
                return f".parts[{index}].{name}"
    return "" if len(parts) == len(received) else ".parts"


def _depends_on_others(part: Part, alone: Part) -> bool:
    """Return whether the neighbouring parts explain that `part` differs from `alone`.

    `alone` is the part that the bytes of `part` make without its neighbours.
    """
    if isinstance(part, ServerToolCall) and isinstance(alone, ToolCall):  # its result came after it
        return (part.name, part.arguments) == (alone.name, alone.arguments)
    return isinstance(part, Other) and not isinstance(alone, Other)


def _is_changed(part: Part, other: Any, name: str) -> bool:
    if getattr(part, name) == getattr(other, name):
        return False
    if name == "arguments" and isinstance(part, ToolCall) and part.arguments is None:
        # The arguments of a truncated reply are not parsed, whatever JSON they are.
        return part.text != other.text and bool(other.arguments)
    return True
