"""Which result answers which call.

`pair` is the algorithm; what makes a result the answer to a call differs, so it is given as tests
in order of preference. `turns` applies it to a neutral conversation, once a request: the rules of
`wire.history` read from it what is missing or left over, and each wire takes from it the results in
the order of their calls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from wire.neutral.messages import Message, ToolCall, ToolResult

C = TypeVar("C")
R = TypeVar("R")


def pair(
    calls: Sequence[C], results: Sequence[R], *answers: Callable[[C, R], bool]
) -> list[int | None]:
    """For each call the position of its result, `None` for a call without one.

    Each test in `answers` is tried on all calls before the next test. Of several results that pass
    it a call takes the first that is free, so that the k-th result under an id answers the k-th
    call of that id.

    >>> pair("aba", "baac", lambda call, result: call == result)
    [1, 0, 2]
    """
    positions: list[int | None] = [None] * len(calls)
    free = dict(enumerate(results))
    for test in answers:
        for index, call in enumerate(calls):
            if positions[index] is None and free:
                for position, result in free.items():
                    if test(call, result):
                        positions[index] = position
                        del free[position]
                        break
    return positions


def same_id(call: ToolCall, result: ToolResult) -> bool:
    """Whether a result names the id of a call: the rule of a neutral conversation."""
    return call.id == result.id


class Result(NamedTuple):
    """A result, and where it stands in the conversation."""

    message: int
    """Index of its message."""
    position: int
    """Its position among the parts of that message."""
    result: ToolResult

    @property
    def path(self) -> str:
        """Path of the part."""
        return f"messages[{self.message}].parts[{self.position}]"


@dataclass(slots=True)
class Turn:
    """One message, and the results in the tool messages after it.

    A message of the user or of the assistant begins a turn. The first turn begins with the
    conversation, before any message.
    """

    index: int = -1
    """Index of the message; -1 for the first turn."""
    calls: list[tuple[int, ToolCall]] = field(default_factory=list)
    """The calls of a message of the assistant, with their positions among its parts."""
    results: list[Result] = field(default_factory=list)
    pairs: list[int | None] = field(default_factory=list)
    """For each call the position of its result in `results`."""


class Answers(NamedTuple):
    """The results of one turn in the order of their calls."""

    results: tuple[Result, ...] = ()
    moved: str = ""
    """Path of the message with the first result, if the results stood in another order."""


NO_ANSWERS = Answers()


def turns(messages: Iterable[Message]) -> list[Turn]:
    """The turns of a conversation, with each call's result."""
    turn = Turn()
    found = [turn]
    for index, message in enumerate(messages):
        role = message.role
        if role == "user" or role == "assistant":
            turn = Turn(index)
            found.append(turn)
            if role == "assistant":
                for position, part in enumerate(message.parts):
                    if isinstance(part, ToolCall):
                        turn.calls.append((position, part))
        elif role == "tool":
            for position, part in enumerate(message.parts):
                if isinstance(part, ToolResult):
                    turn.results.append(Result(index, position, part))
    for turn in found:
        if turn.calls:
            turn.pairs = pair(
                [call for _, call in turn.calls],
                [each.result for each in turn.results],
                same_id,
            )
    return found


def answers(turns: Iterable[Turn]) -> dict[str, Answers]:
    """Path of a message with calls to their results, of which none is missing."""
    found: dict[str, Answers] = {}
    for turn in turns:
        if turn.calls:
            given = [position for position in turn.pairs if position is not None]
            moved = f"messages[{turn.results[0].message}]" if given != sorted(given) else ""
            found[f"messages[{turn.index}]"] = Answers(
                tuple(turn.results[each] for each in given), moved
            )
    return found
