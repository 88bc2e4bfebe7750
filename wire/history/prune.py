"""Drops the oldest turns of a long conversation.

A turn is dropped with all its messages, since a call without its result cannot be sent. The current
turn stays.
"""

from __future__ import annotations

from collections.abc import Iterable

from wire.core.arguments import checked_arguments
from wire.core.errors import ConfigurationError
from wire.core.memory import Note, Noted
from wire.core.secret import quoted
from wire.history.beginnings import lost_thoughts
from wire.history.order import listed
from wire.history.tokens import Estimate, estimate_tokens
from wire.neutral.messages import Message

MAX_MESSAGES, MAX_TOKENS = 50, 100_000
"""Default limits of a conversation."""


@checked_arguments()
def prune(
    messages: Iterable[Message],
    max_messages: int | None = MAX_MESSAGES,
    max_tokens: int | None = MAX_TOKENS,
    *,
    estimate: Estimate = estimate_tokens,
    keep_first: bool = False,
) -> Noted[Message]:
    """Drop the oldest turns until the messages are within both limits.

    >>> turns = [Message.user("Hi"), Message.assistant("Hello."), Message.user("And now?")]
    >>> pruned = prune(turns, max_messages=2)
    >>> [message.text for message in pruned], [str(note) for note in pruned.notes]
    (['And now?'], ['messages[0]: dropped: 1 turn, 2 messages, for the limit of 2 messages'])

    `None` switches a limit off. Tokens are counted by `estimate`. A turn is a user message plus all
    messages up to the next user message. The last turn is never cut; a note says so if it alone is
    over a limit. System messages stay where they are, and count. `keep_first` keeps the first user
    message, which often holds the task, when the rest of its turn is dropped. It is dropped as well
    if it exceeds the limits together with the last turn. Pruning breaks no rule of `check`, and
    messages within the limits are returned unchanged. A note tells of thoughts that stay, and that
    their model reads only behind all the messages before them.

    Raises `ConfigurationError` for a limit below 1 or an `estimate` that is not callable,
    `RuleError` for an item that is not a `Message`.
    """
    checked_limits(max_messages, max_tokens, estimate)
    history = listed(messages)
    tokens = [tokens_of(message, estimate) if max_tokens is not None else 0 for message in history]
    turns = _turns(history)
    current = turns[-1] if turns else []

    def over(indexes: Iterable[int]) -> str:
        """Name the limits that these messages exceed; empty if none."""
        chosen = list(indexes)
        return exceeded_limits(
            len(chosen), sum(tokens[index] for index in chosen), max_messages, max_tokens
        )

    exceeded = over(range(len(history)))
    if not exceeded:
        return Noted(history)
    system = [index for index, message in enumerate(history) if message.instructs]
    first = (
        [turns[0][0]]
        if keep_first and len(turns) > 1 and not over([*system, turns[0][0], *current])
        else []
    )
    dropped: list[int] = []
    dropped_turns = 0
    count, weight = len(history), sum(tokens)
    for turn in turns[:-1]:
        if not exceeded_limits(count, weight, max_messages, max_tokens):
            break
        leaving = [index for index in turn if index not in first]
        dropped += leaving
        dropped_turns += bool(leaving)
        count -= len(leaving)
        weight -= sum(tokens[index] for index in leaving)
    excluded = set(dropped)
    notes: list[Note] = []
    if dropped:
        exception = "; the user's first message stays" if first else ""
        report = (
            f"dropped: {_counted(dropped_turns, 'turn')}, {_counted(len(dropped), 'message')}, "
            f"for the limit of {exceeded}{exception}"
        )
        notes += _notes_on(history, dropped, report)
    if still := exceeded_limits(count, weight, max_messages, max_tokens):
        notes.append(still_over(still, current[0] if current else None))
    return Noted((message for index, message in enumerate(history) if index not in excluded), notes)


def _notes_on(history: list[Message], dropped: list[int], report: str) -> Iterable[Note]:
    """Yield the notes on dropped messages: that they are, and what it may cost those that stay."""
    path, excluded = f"messages[{dropped[0]}]", set(dropped)
    yield Note(path, report)
    behind = enumerate(history[dropped[0] :], dropped[0])
    if lost := lost_thoughts(message for index, message in behind if index not in excluded):
        yield Note(path, lost)


def tokens_of(message: Message, estimate: Estimate) -> int:
    """Return the result of `estimate`. Raises `ConfigurationError` if it is not a number."""
    try:
        tokens = estimate(message)
    except Exception as cause:
        raise ConfigurationError(f"estimate: it raised {type(cause).__name__}") from cause
    if not isinstance(tokens, (int, float)):
        raise ConfigurationError(
            f"estimate: expected a function that returns a number, not {type(tokens).__name__}"
        )
    return tokens


def still_over(limits: str, begin: int | None) -> Note:
    """Build the note for a current turn, begun at index `begin`, that alone exceeds the limits."""
    path = "messages" if begin is None else f"messages[{begin}]"
    return Note(path, f"still over the limit of {limits}: the current turn is never cut")


def checked_limits(max_messages: object, max_tokens: object, estimate: object) -> None:
    """Raise `ConfigurationError` for an invalid limit or an `estimate` that is not callable."""
    for name, limit in (("max_messages", max_messages), ("max_tokens", max_tokens)):
        if limit is not None and (
            not isinstance(limit, int) or isinstance(limit, bool) or limit < 1
        ):
            raise ConfigurationError(
                f"{name}: expected a whole number from 1 up or None, not {quoted(limit)}"
            )
    if not callable(estimate):
        raise ConfigurationError(
            "estimate: expected a function from a message to its tokens, not "
            f"{type(estimate).__name__}"
        )


def _turns(history: list[Message]) -> list[list[int]]:
    """Return the indexes of the messages of each turn, without system messages."""
    turns: list[list[int]] = []
    for index, message in enumerate(history):
        if message.role == "user" or (not turns and not message.instructs):
            turns.append([])
        if not message.instructs:
            turns[-1].append(index)
    return turns


def exceeded_limits(
    count: int, weight: int, max_messages: int | None, max_tokens: int | None
) -> str:
    """Name the exceeded limits; empty if there are none."""
    exceeded = (
        [_counted(max_messages, "message")]
        if max_messages is not None and count > max_messages
        else []
    )
    if max_tokens is not None and weight > max_tokens:
        exceeded.append(_counted(max_tokens, "token"))
    return " and ".join(exceeded)


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
