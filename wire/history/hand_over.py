"""A conversation made fit for another model: what only the one that said it takes back is taken
out, and told.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple, TypeAlias, get_args

import msgspec

from wire.core.memory import Note, Noted
from wire.errors import ConfigurationError, HistoryError, refuse
from wire.history.order import listed, violations
from wire.neutral.messages import Message, Other, Part, Text, Thought, ToolCall, with_origin
from wire.neutral.pairing import Answers, answers, turns

Thoughts: TypeAlias = Literal["withhold", "as_text"]


def hand_over(
    messages: Iterable[Message], provider: str, model: str, *, thoughts: Thoughts = "withhold"
) -> Noted[Message]:
    """The messages as this model of this provider may be told them; its own stay as they are, bytes
    and all.

    >>> from wire.neutral.messages import Origin
    >>> said = Message.assistant(
    ...     with_origin(Thought("hm"), Origin("deepseek", "deepseek-chat", "openai")), "Hello."
    ... )
    >>> handed = hand_over([Message.user("Hi"), said], "gemini", "gemini-3-pro-preview")
    >>> handed[1].text, [str(note) for note in handed.notes]
    ('Hello.', ['messages[1].parts[0]: withheld: a thought of another model'])

    Of other models' messages signatures, encrypted thoughts and what else only they read are
    withheld; `thoughts="as_text"` lets what they thought stand as text between `<thinking>` tags.
    Ids of calls stay, and each wire makes of them what it takes. What was made here and never came
    from a model keeps what it says. A message of which nothing is left goes too. Everything
    withheld stands in `wire.notes(result)`.

    Raises `RuleError` for what is no message, `ConfigurationError` for another way to treat
    thoughts.
    """
    kept, found = handed(messages, provider, model, thoughts=thoughts)
    return Noted(kept.values(), found)


def handed(
    messages: Iterable[Message], provider: str, model: str, *, thoughts: Thoughts = "withhold"
) -> tuple[dict[int, Message], list[Note]]:
    """As `hand_over`: what is left of the messages, each under its place among those that were
    given, and what was withheld.
    """
    if thoughts not in get_args(Thoughts):
        raise ConfigurationError(f"thoughts: withhold or as_text, not {thoughts!r}")
    return _handed(listed(messages), provider, model, as_text=thoughts == "as_text")


def _handed(
    messages: Iterable[Message], provider: str, model: str, *, as_text: bool = False
) -> tuple[dict[int, Message], list[Note]]:
    found: list[Note] = []
    result: dict[int, Message] = {}
    for index, message in enumerate(messages):
        path = f"messages[{index}]"
        if message.role != "assistant" or _is_own(message, provider, model):
            result[index] = message
            continue
        parts = tuple(
            kept
            for place, part in enumerate(message.parts)
            for kept in _kept(part, provider, model, f"{path}.parts[{place}]", found, as_text)
        )
        same = (
            message.origin is None
            and len(parts) == len(message.parts)
            and all(a is b for a, b in zip(parts, message.parts, strict=True))
        )
        if parts or same:
            result[index] = message if same else Message("assistant", parts)
        else:
            found.append(Note(path, "left out: nothing of it is left"))
    return result, found


class Sendable(NamedTuple):
    """Messages that are about to be sent to one model."""

    messages: dict[int, Message]
    """What is left of them, each under its index among those that were given."""
    notes: list[Note]
    """What was withheld."""
    answers: dict[str, Answers]
    """Path of a message with calls to their results, in the order of the calls."""


def sendable(messages: Iterable[Message], provider: str, model: str) -> Sendable:
    """As `handed`, for messages that are about to be sent, with their results paired.

    Raises `HistoryError` for turns that are out of order.
    """
    asked = listed(messages)
    paired = turns(asked)
    refuse(violations(asked, paired), HistoryError)
    return Sendable(*_handed(asked, provider, model), answers(paired))


def _is_own(message: Message, provider: str, model: str) -> bool:
    return message.origin is not None and message.origin.is_of(provider, model)


def _kept(
    part: Part, provider: str, model: str, path: str, found: list[Note], as_text: bool
) -> Iterator[Part]:
    origin = part.origin
    if origin is None or origin.is_of(provider, model):
        yield part
    elif isinstance(part, Thought):
        if as_text and part.text:
            found.append(Note(path, "a thought of another model, as text"))
            yield Text(f"<thinking>\n{part.text}\n</thinking>\n")
        else:
            found.append(Note(path, "withheld: a thought of another model"))
    elif isinstance(part, Other):
        found.append(Note(path, f"withheld: {part.kind} is understood by its own vendor only"))
    elif isinstance(part, ToolCall):
        if part.signature or part.extra:
            found.append(
                Note(path, f"withheld: what {origin.provider} sent beside the call of {part.name}")
            )
        yield msgspec.structs.replace(part, signature="", extra=None)
    elif isinstance(part, Text):
        if part.signature:
            found.append(Note(path, "withheld: the signature of another model"))
        if part.text:
            yield msgspec.structs.replace(part, signature="")
    else:
        yield with_origin(part, None)
