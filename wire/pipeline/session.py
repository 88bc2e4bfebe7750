"""What of a long conversation a node's model is sent."""

from __future__ import annotations

from collections.abc import Iterable

from wire.core.memory import Note, Noted
from wire.history.order import listed
from wire.neutral.messages import Message

MOST, KEPT = 17, 10


def shortened(messages: Iterable[Message]) -> Noted[Message]:
    """Messages as they are up to 17; of more, the first instruction and the last 10 from an
    assistant's message on (S4-26).

    >>> talk = [Message.user("Count."), *(each for n in range(12) for each in (Message.assistant(f"{n}"), Message.user("Go on.")))]
    >>> short = shortened(talk)
    >>> [message.text for message in short][:3], len(short), str(short.notes[0])
    (['Count.', '7', 'Go on.'], 11, 'messages[1]: dropped: 14 messages, for the limit of 17')

    A call and its results stay together or go together: where the last 10 begin among results, the
    cut is at the next turn of the model, and if there is none, at the turn that the results belong
    to.
    """
    said = listed(messages)
    first = next((index + 1 for index, message in enumerate(said) if message.role == "user"), 1)
    cut = len(said) - KEPT
    if len(said) <= MOST or cut <= first:
        return Noted(said)
    turns = [index for index in range(first, len(said)) if said[index].role == "assistant"]
    start = next((index for index in turns if index >= cut), turns[-1] if turns else cut)
    if start == first:
        return Noted(said)
    return Noted(
        [*said[:first], *said[start:]],
        (
            Note(
                f"messages[{first}]", f"dropped: {start - first} messages, for the limit of {MOST}"
            ),
        ),
    )
