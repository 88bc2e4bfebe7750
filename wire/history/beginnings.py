"""Where a request begins to differ from the one before it, which a vendor may have cached, and what
that may cost.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from wire.catalogue.facts import is_in
from wire.core.arguments import checked_arguments
from wire.neutral.messages import Message, Thought
from wire.neutral.request import Request

_BOUND = "anthropic.bound_thoughts"
"""Models that read a thought only behind the messages that it was made after."""


class Beginning(NamedTuple):
    """What vendors cache of a request, in the order in which they read it."""

    tools: Sequence[Any]
    system: str
    messages: Sequence[Message]


@checked_arguments()
def first_change(before: Request, now: Request) -> str:
    """Return where a request begins to differ from an earlier one; empty if it goes on from it.

    >>> before = Request(system="Be brief.", messages=(Message.user("Hi"),))
    >>> after = (*before.messages, Message.assistant("Hello."), Message.user("And now?"))
    >>> first_change(before, Request(system="Be brief.", messages=after))
    ''
    >>> first_change(before, Request(system="Be kind.", messages=after))
    'system'
    >>> first_change(before, Request(system="Be brief.", messages=after[1:]))
    'messages[0]'

    The order is that of the vendors' caches: tools, system, messages. The path is one of `now`,
    such as `tools[2].description` or `messages[3].parts[0]`.
    """
    return change_of(
        Beginning(before.tools, before.system, before.messages),
        Beginning(now.tools, now.system, now.messages),
    )


def change_of(before: Beginning, now: Beginning) -> str:
    """Return the path of the first difference of two beginnings, as `first_change`."""
    if len(before.tools) != len(now.tools):
        return f"tools[{_common(before.tools, now.tools)}]"
    for index, (old, new) in enumerate(zip(before.tools, now.tools, strict=True)):
        if old is not new and old != new:
            return f"tools[{index}]{_field_of(old, new)}"
    if before.system != now.system:
        return "system"
    for index, old in enumerate(before.messages):
        if index >= len(now.messages):
            return f"messages[{index}]"
        new = now.messages[index]
        if old is new or old == new:
            continue
        goes_on = index == len(before.messages) - 1 and old.role == new.role
        parts = _common(old.parts, new.parts)
        if goes_on and parts == len(old.parts):
            return ""  # the last message got more parts, such as the results of further calls
        is_within = old.role == new.role and parts < len(new.parts)
        return f"messages[{index}]" + (f".parts[{parts}]" if is_within else "")
    return ""


def _common(old: Sequence[Any], new: Sequence[Any]) -> int:
    """Return how many items at the beginning are equal."""
    pairs = zip(old, new, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(old), len(new)))


def _field_of(old: Any, new: Any) -> str:
    if type(old) is not type(new):
        return ""
    names = [each for each in old.__struct_fields__ if getattr(old, each) != getattr(new, each)]
    return f".{names[0]}" if names else ""


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
