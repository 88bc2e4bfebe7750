"""What a long conversation can do without: its oldest turns, whole, and never the current one."""

from __future__ import annotations

from collections.abc import Iterable

from wire.core.memory import Note, Noted
from wire.errors import ConfigurationError
from wire.history.order import listed
from wire.history.tokens import Estimate, estimate_tokens
from wire.neutral.messages import Message

MAX_MESSAGES, MAX_TOKENS = 50, 100_000


def prune(
    messages: Iterable[Message],
    max_messages: int | None = MAX_MESSAGES,
    max_tokens: int | None = MAX_TOKENS,
    *,
    estimate: Estimate = estimate_tokens,
    keep_first: bool = False,
) -> Noted[Message]:
    """The messages without their oldest turns, as many of them as the limits ask for; `None`
    switches a limit off.

    >>> pruned = prune(
    ...     [Message.user("Hi"), Message.assistant("Hello."), Message.user("And now?")],
    ...     max_messages=2,
    ... )
    >>> [message.text for message in pruned], [str(note) for note in pruned.notes]
    (['And now?'], ['messages[0]: dropped: 1 turn, 2 messages, for the limit of 2 messages'])

    A turn is a message of the user and all that follows it up to the next one. The last turn stays
    whole, and a note says so if it is over a limit all the same. Messages of the system stay where
    they are, and count. `keep_first` keeps the user's first message, which often is the task, when
    the rest of its turn goes, unless the last turn leaves no room for it. Messages that can be sent
    can be sent when they are pruned, and what is within the limits stays as it is.

    Raises `ConfigurationError` for a limit below 1 and an estimator that cannot be called,
    `RuleError` for what is no message.
    """
    checked_limits(max_messages, max_tokens, estimate)
    said = listed(messages)
    tokens = [estimate(message) if max_tokens is not None else 0 for message in said]
    turns = _turns(said)
    current = turns[-1] if turns else []

    def over(indexes: Iterable[int]) -> str:
        """The limits that these messages break, in words."""
        chosen = list(indexes)
        return _over(len(chosen), sum(tokens[index] for index in chosen), max_messages, max_tokens)

    broken = over(range(len(said)))
    if not broken:
        return Noted(said)
    system = [index for index, message in enumerate(said) if message.role == "system"]
    first = (
        [turns[0][0]]
        if keep_first and len(turns) > 1 and not over([*system, turns[0][0], *current])
        else []
    )
    dropped: list[int] = []
    gone = 0
    count, weight = len(said), sum(tokens)
    for turn in turns[:-1]:
        if not _over(count, weight, max_messages, max_tokens):
            break
        going = [index for index in turn if index not in first]
        dropped += going
        gone += bool(going)
        count -= len(going)
        weight -= sum(tokens[index] for index in going)
    found: list[Note] = []
    if dropped:
        saved = "; the user's first message stays" if first else ""
        what = (
            f"dropped: {_counted(gone, 'turn')}, {_counted(len(dropped), 'message')}, for the "
            f"limit of {broken}{saved}"
        )
        found.append(Note(f"messages[{dropped[0]}]", what))
    if still := _over(count, weight, max_messages, max_tokens):
        path = f"messages[{current[0]}]" if current else "messages"
        found.append(
            Note(path, f"over the limit of {still} all the same: the current turn stays whole")
        )
    away = set(dropped)
    return Noted((message for index, message in enumerate(said) if index not in away), found)


def checked_limits(max_messages: object, max_tokens: object, estimate: object) -> None:
    """Raises `ConfigurationError` for what is no limit and no estimator."""
    for name, limit in (("max_messages", max_messages), ("max_tokens", max_tokens)):
        if limit is not None and (
            not isinstance(limit, int) or isinstance(limit, bool) or limit < 1
        ):
            raise ConfigurationError(f"{name}: a whole number from 1 on or None, not {limit!r}")
    if not callable(estimate):
        raise ConfigurationError(
            "estimate: a function from a message to its tokens is wanted, not "
            f"{type(estimate).__name__}"
        )


def _turns(said: list[Message]) -> list[list[int]]:
    """Places of the messages of each turn, without those of the system."""
    turns: list[list[int]] = []
    for index, message in enumerate(said):
        if message.role == "user" or (not turns and message.role != "system"):
            turns.append([])
        if message.role != "system":
            turns[-1].append(index)
    return turns


def _over(count: int, weight: int, max_messages: int | None, max_tokens: int | None) -> str:
    """The limits that are broken, in words."""
    broken = (
        [_counted(max_messages, "message")]
        if max_messages is not None and count > max_messages
        else []
    )
    if max_tokens is not None and weight > max_tokens:
        broken.append(_counted(max_tokens, "token"))
    return " and ".join(broken)


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
