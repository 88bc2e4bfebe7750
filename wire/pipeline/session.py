"""Shortens the conversation of an agent before it is sent."""

from __future__ import annotations

from collections.abc import Iterable

from wire.core.memory import Note, Noted
from wire.history import listed
from wire.neutral.messages import Message

MAX_MESSAGES, TAIL_MESSAGES = 17, 10


def shortened(messages: Iterable[Message]) -> Noted[Message]:
    """Keep up to 17 messages; of more, keep the first instruction and the last 10 (S4-26).

    >>> talk = [Message.user("Count.")]
    >>> for number in range(12):
    ...     talk += [Message.assistant(str(number)), Message.user("Go on.")]
    >>> short = shortened(talk)
    >>> [message.text for message in short][:3], len(short), str(short.notes[0])
    (['Count.', '7', 'Go on.'], 11, 'messages[1]: dropped: 14 messages, for the limit of 17')

    A call and its results are never separated. If the last 10 messages start with something else
    than a turn of the model, the cut moves to the next turn of the model, or to the turn before it
    if there is none.
    """
    history = listed(messages)
    first = next((index + 1 for index, message in enumerate(history) if message.role == "user"), 1)
    cut = len(history) - TAIL_MESSAGES
    if len(history) <= MAX_MESSAGES or cut <= first:
        return Noted(history)
    turns = [index for index in range(first, len(history)) if history[index].role == "assistant"]
    start = next((index for index in turns if index >= cut), turns[-1] if turns else cut)
    if start == first:
        return Noted(history)
    return Noted(
        [*history[:first], *history[start:]],
        (
            Note(
                f"messages[{first}]",
                f"dropped: {start - first} messages, for the limit of {MAX_MESSAGES}",
            ),
        ),
    )
