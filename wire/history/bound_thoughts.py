"""Thoughts that a model reads only behind the messages that they were made after."""

from __future__ import annotations

from collections.abc import Iterable

from wire.catalogue.facts import is_in
from wire.neutral.messages import Message, Thought

_BOUND = "anthropic.bound_thoughts"


def lost_thoughts(messages: Iterable[Message], model: str | None = None) -> str:
    """Return what a change before these messages may cost; empty for nothing.

    >>> lost_thoughts([Message.assistant("Hi")])
    ''

    `model` is the one that reads them; by default, the one that made them does.
    """
    counted: dict[str, int] = {}
    for message in messages:
        reader = model or (message.origin.model if message.origin is not None else "")
        if _has_thoughts(message) and is_in(_BOUND, reader):
            counted[reader] = counted.get(reader, 0) + 1
    if not counted:
        return ""
    number = sum(counted.values())
    return (
        f"{' and '.join(counted)} reads a thought only behind the messages that it was made after, "
        f"so the thoughts of {number} {'message' if number == 1 else 'messages'} may be lost"
    )


def _has_thoughts(message: Message) -> bool:
    return any(isinstance(part, Thought) and bool(part.signature) for part in message.parts)
