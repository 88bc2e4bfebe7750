"""Pairs tool calls with their results.

`pair` is the algorithm. Its callers pass the keys that decide whether a result answers a call.
`turns` applies it once to the conversation of a request. The rules of `wire.history` read missing
and surplus results from the turns, and each wire takes the results in the order of their calls.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, TypeVar

import msgspec

if TYPE_CHECKING:  # wires pair calls of their own, without messages
    from wire.neutral.messages import Message, ToolCall, ToolResult

C = TypeVar("C")
R = TypeVar("R")


Keys = tuple[Hashable, ...]


class Waiting:
    """Items that wait for a partner, each under one or more keys.

    >>> waiting = Waiting()
    >>> waiting.add(0, ("a", "b")), waiting.add(1, ("b",))
    (None, None)
    >>> waiting.take(("b", "a")), waiting.take(("a",)), waiting.take(("b",))
    (0, None, 1)

    A search of all items for each partner would be quadratic: 50,000 results in another order than
    their calls took minutes.
    """

    def __init__(self) -> None:
        self._queues: dict[Hashable, deque[int]] = {}
        self._taken: set[int] = set()

    def add(self, position: int, keys: Keys) -> None:
        """Add an item, whose position is larger than those of the items before it."""
        for key in keys:
            self._queues.setdefault(key, deque()).append(position)

    def take(self, keys: Keys) -> int | None:
        """Take out the first item that has one of the keys, and return its position."""
        first = min((at for key in keys if (at := self._head(key)) is not None), default=None)
        if first is not None:
            self._taken.add(first)
        return first

    def _head(self, key: Hashable) -> int | None:
        queue = self._queues.get(key)
        while queue and queue[0] in self._taken:
            queue.popleft()
        return queue[0] if queue else None


def pair(
    calls: Sequence[C],
    results: Sequence[R],
    *tests: tuple[Callable[[C], Keys], Callable[[R], Keys]],
) -> list[int | None]:
    """Return for each call the position of its result; `None` for a call without one.

    A test is two functions, from a call and from a result to keys: a result answers a call if they
    share a key. Each test is applied to all calls before the next test. If several results pass, a
    call takes the first free one, so that the k-th result with an id answers the k-th call with
    that id.

    >>> pair("aba", "baac", (tuple, tuple))
    [1, 0, 2]
    """
    positions: list[int | None] = [None] * len(calls)
    used: set[int] = set()
    for keys_of_call, keys_of_result in tests:
        if len(used) == len(calls) or len(used) == len(results):
            break  # nothing is left to pair
        waiting = Waiting()
        for position, result in enumerate(results):
            if position not in used:
                waiting.add(position, keys_of_result(result))
        for index, call in enumerate(calls):
            if positions[index] is None:
                at = positions[index] = waiting.take(keys_of_call(call))
                if at is not None:
                    used.add(at)
    return positions


def pair_by_key(
    calls: Sequence[C], results: Sequence[R], *keys: Callable[[C | R], Hashable]
) -> list[int | None]:
    """Pair as `pair`, where a result answers a call with an equal key. Linear in their number.

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
    """Return the id of a call or result, the key for neutral conversations."""
    return item.id


class CallsOfTurn:
    """The calls of a turn so far, to which a message may have further ones of the same response.

    >>> from wire.neutral.messages import ToolCall
    >>> calls = [ToolCall(id=id, name="now", response="a") for id in ("a", "b")]
    >>> turn = CallsOfTurn(calls[:1])
    >>> turn.continue_in(calls[1:]), turn.continue_in(calls)
    (True, False)

    Calls with equal ids are of two responses, also if those begin alike: some hosts number the
    calls of each response from 0.
    """

    def __init__(self, calls: Iterable[ToolCall] = ()) -> None:
        self._responses: set[str] = set()
        self._ids: set[str] = set()
        self.add(calls)

    def __bool__(self) -> bool:
        return bool(self._ids)

    def add(self, calls: Iterable[ToolCall]) -> None:
        """Add the calls of a message of the turn."""
        for call in calls:
            self._responses.add(call.response)
            self._ids.add(call.id)

    def continue_in(self, calls: Sequence[ToolCall]) -> bool:
        """Return whether these calls are further ones of the response that requested all others."""
        return bool(
            calls
            and self._responses == {call.response for call in calls}
            and len(self._responses) == 1
            and "" not in self._responses
            and self._ids.isdisjoint(call.id for call in calls)
        )


class Result(msgspec.Struct, frozen=True, gc=False):
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


class Call(msgspec.Struct, frozen=True, gc=False):
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


class Turn(msgspec.Struct, gc=False):
    """One message of the user or the assistant, and the results in the tool messages after it.

    The first turn has no message: it holds results before the first message of user or assistant.
    Messages with calls of one response are one turn, whose results may stand between them.
    """

    index: int = -1
    """Index of the message; -1 for the first turn."""
    joined: list[int] = msgspec.field(default_factory=list)
    """Indices of further messages with calls of the same response."""
    calls: list[Call] = msgspec.field(default_factory=list)
    """The calls of the assistant."""
    results: list[Result] = msgspec.field(default_factory=list)
    pairs: list[int | None] = msgspec.field(default_factory=list)
    """For each call the position of its result in `results`."""
    _known: CallsOfTurn | None = None
    """Made when a message may continue the turn, which is rare."""

    def is_continued_in(self, calls: Sequence[Call]) -> bool:
        """Return whether calls of a later message are of the same response."""
        if not self.calls or self.calls[0].call.response != calls[0].call.response:
            return False
        if self._known is None:
            self._known = CallsOfTurn(each.call for each in self.calls)
        return self._known.continue_in([each.call for each in calls])

    def add(self, calls: Sequence[Call]) -> None:
        """Add the calls of a message that continues the turn."""
        self.calls += calls
        if self._known is not None:
            self._known.add(each.call for each in calls)


class Answers(msgspec.Struct, frozen=True, gc=False):
    """The results of one turn in the order of their calls."""

    results: tuple[Result, ...] = ()
    moved: str = ""
    """Path of the message with the first result, if the results were in another order."""


NO_ANSWERS = Answers()


def turns(messages: Sequence[Message], others: Iterable[int] | None = None) -> list[Turn]:
    """Group a conversation into turns that have calls or results, with each call's result.

    `others` is the list `others` of the messages' `own_texts`, if the caller has it.
    """
    from wire.neutral.messages import Text, ToolCall, ToolResult

    all_turns: list[Turn] = []
    following = 0  # the index that follows the last message
    begin = -1  # of the current turn
    turn: Turn | None = None  # created for its first call or result
    for index in range(len(messages)) if others is None else others:
        if index != following:
            begin, turn = index - 1, None  # a text of the user or the assistant is before it
        following = index + 1
        message = messages[index]
        role, parts = message.role, message.parts
        if role == "user" or role == "assistant":
            # Most messages of a long history are one text.
            is_text = len(parts) == 1 and type(parts[0]) is Text
            calls = [
                Call(index, position, part)
                for position, part in enumerate(() if is_text or role == "user" else parts)
                if isinstance(part, ToolCall)
            ]
            if not calls:
                begin, turn = index, None
                continue
            if turn is not None and turn.is_continued_in(calls):
                turn.joined.append(index)
                turn.add(calls)
                continue
            begin, turn = index, Turn(index, calls=calls)
            all_turns.append(turn)
        elif role == "tool":
            for position, part in enumerate(parts):
                if isinstance(part, ToolResult):
                    if turn is None:
                        turn = Turn(begin)
                        all_turns.append(turn)
                    turn.results.append(Result(index, position, part))
    for turn in all_turns:
        if turn.calls:
            turn.pairs = _paired(turn)
    return all_turns


def _paired(turn: Turn) -> list[int | None]:
    """Return for each call the position of its result."""
    call_ids = [each.call.id for each in turn.calls]
    if call_ids == [each.result.id for each in turn.results]:  # as in almost all turns
        return list(range(len(call_ids)))
    calls = [each.call for each in turn.calls]
    return pair_by_key(calls, [each.result for each in turn.results], by_id)


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
