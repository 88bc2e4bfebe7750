"""Pairs tool calls with their results.

`pair` is the algorithm. Its callers pass the tests that decide whether a result answers a call.
`turns` applies it once to the conversation of a request. The rules of `wire.history` read missing
and surplus results from the turns, and each wire takes the results in the order of their calls.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Sequence, Set
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from wire.neutral.messages import Message, ToolCall, ToolResult

C = TypeVar("C")
R = TypeVar("R")


def pair(
    calls: Sequence[C], results: Sequence[R], *answers: Callable[[C, R], bool]
) -> list[int | None]:
    """For each call the position of its result, `None` for a call without one.

    Each test in `answers` is applied to all calls before the next test. If several results pass, a
    call takes the first free one, so that the k-th result with an id answers the k-th call with
    that id.

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


def pair_by_key(
    calls: Sequence[C], results: Sequence[R], *keys: Callable[[C | R], Hashable]
) -> list[int | None]:
    """As `pair`, where a result answers a call with an equal key. Linear in their number.

    >>> pair_by_key("aBb", "baac", str, str.lower)
    [1, None, 0]
    """
    positions: list[int | None] = [None] * len(calls)
    used: set[int] = set()
    for key in keys:
        free: dict[Hashable, deque[int]] = {}
        for position, result in enumerate(results):
            if position not in used:
                free.setdefault(key(result), deque()).append(position)
        for index, call in enumerate(calls):
            if positions[index] is None and (left := free.get(key(call))):
                positions[index] = left.popleft()
                used.add(positions[index])  # type: ignore[arg-type]
    return positions


def by_id(item: ToolCall | ToolResult) -> str:
    """The id of a call or result. This is the key for neutral conversations."""
    return item.id


def of_one_response(responses: Set[str]) -> bool:
    """Whether calls with these values of `response` say that one response requested all of them."""
    return len(responses) == 1 and "" not in responses


class Result(NamedTuple):
    """A result and its position in the conversation."""

    message: int
    """Index of its message."""
    position: int
    """Its position among the parts of that message."""
    result: ToolResult

    @property
    def path(self) -> str:
        """Path of the part."""
        return f"messages[{self.message}].parts[{self.position}]"


class Call(NamedTuple):
    """A call and its position in the conversation."""

    message: int
    """Index of its message."""
    position: int
    """Its position among the parts of that message."""
    call: ToolCall

    @property
    def path(self) -> str:
        """Path of the part."""
        return f"messages[{self.message}].parts[{self.position}]"


@dataclass(slots=True)
class Turn:
    """One message of the user or the assistant, and the results in the tool messages after it.

    The first turn has no message: it holds results before the first message of user or assistant.
    Messages with calls of one response are one turn, whose results may stand between them.
    """

    index: int = -1
    """Index of the message; -1 for the first turn."""
    joined: list[int] = field(default_factory=list)
    """Indices of further messages with calls of the same response."""
    calls: list[Call] = field(default_factory=list)
    """The calls of the assistant."""
    results: list[Result] = field(default_factory=list)
    pairs: list[int | None] = field(default_factory=list)
    """For each call the position of its result in `results`."""


class Answers(NamedTuple):
    """The results of one turn in the order of their calls."""

    results: tuple[Result, ...] = ()
    moved: str = ""
    """Path of the message with the first result, if the results were in another order."""


NO_ANSWERS = Answers()


def turns(messages: Iterable[Message]) -> list[Turn]:
    """The turns of a conversation, with each call's result."""
    turn = Turn()
    all_turns = [turn]
    responses: set[str] = set()  # of the calls of the turn
    for index, message in enumerate(messages):
        role = message.role
        if role == "user" or role == "assistant":
            calls = [
                Call(index, position, part)
                for position, part in enumerate(message.parts if role == "assistant" else ())
                if isinstance(part, ToolCall)
            ]
            new = {each.call.response for each in calls}
            if calls and turn.calls and of_one_response(responses | new):
                turn.joined.append(index)
                turn.calls += calls
                continue
            turn, responses = Turn(index, calls=calls), new
            all_turns.append(turn)
        elif role == "tool":
            for position, part in enumerate(message.parts):
                if isinstance(part, ToolResult):
                    turn.results.append(Result(index, position, part))
    for turn in all_turns:
        if turn.calls:
            turn.pairs = pair_by_key(
                [each.call for each in turn.calls],
                [each.result for each in turn.results],
                by_id,
            )
    return all_turns


def answers(turns: Iterable[Turn]) -> dict[str, Answers]:
    """Map the path of each message with calls to their results. No result may be missing."""
    by_path: dict[str, Answers] = {}
    for turn in turns:
        if turn.calls:
            given = [position for position in turn.pairs if position is not None]
            moved = f"messages[{turn.results[0].message}]" if given != sorted(given) else ""
            by_path[f"messages[{turn.index}]"] = Answers(
                tuple(turn.results[each] for each in given), moved
            )
    return by_path
