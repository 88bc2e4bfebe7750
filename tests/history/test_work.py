"""The work of each function of a conversation grows with its length, not with its square (R-11).

Counted are the calls of functions and the comparisons of ids, since a clock measures the machine.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import pytest

from tests.joined import joined
from wire.agent.run_state import RunState, begin_run
from wire.agent.saved_runs import dump_run
from wire.agent.steps import Steps
from wire.history import HistoryManager, check, hand_over, prune, repair, sendable
from wire.history.order import unanswered, with_results
from wire.neutral.messages import Message, ToolCall, ToolResult
from wire.tools import Toolbox


class Work:
    """Counts the calls of functions and the comparisons of ids in a block."""

    def __init__(self) -> None:
        self.count = 0

    def _called(self, frame: Any, event: str, argument: Any) -> None:
        self.count += event in ("call", "c_call")

    def __enter__(self) -> Work:
        Id.work = self
        sys.setprofile(self._called)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)
        Id.work = None


class Id(str):
    """An id that counts how often it is compared."""

    work: Work | None = None

    def __eq__(self, other: object) -> bool:
        if Id.work is not None:
            Id.work.count += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__


HI = Message.user("Hi")


def call(id: str, response: str = "") -> ToolCall:
    return ToolCall(id=Id(id), name="f", arguments={"n": 1}, response=response)


def result(id: str) -> ToolResult:
    return ToolResult(Id(id), "f", "done")


def steps(n: int) -> list[Message]:
    """A run with n steps."""
    messages = [HI]
    for index in range(n):
        messages += [
            Message.assistant(call(f"c{index}")),
            Message.tool_response(result(f"c{index}")),
        ]
    return messages


def talk(n: int) -> list[Message]:
    """n turns of a user, each with a call that is left open."""
    return [each for n_ in range(n) for each in (HI, Message.assistant(call(f"c{n_}")))] + [HI]


def one_turn(n: int) -> list[Message]:
    """One message with n calls, and their results in another order."""
    ids = [f"c{index}" for index in range(n)]
    return [
        HI,
        Message.assistant(*map(call, ids)),
        Message.tool_response(result(id) for id in reversed(ids)),
    ]


def one_result_a_message(n: int) -> list[Message]:
    ids = [f"c{index}" for index in range(n)]
    results = [Message.tool_response(result(id)) for id in ids]
    return [HI, Message.assistant(*map(call, ids)), *results]


def one_response(n: int) -> list[Message]:
    """n messages with one call each, which one response requested."""
    messages = [HI]
    for index in range(n):
        messages += [
            Message.assistant(call(f"c{index}", "r")),
            Message.tool_response(result(f"c{index}")),
        ]
    return messages


def same_ids(n: int) -> list[Message]:
    ids = ["same"] * n
    return [HI, Message.assistant(*map(call, ids)), Message.tool_response(map(result, ids))]


def surplus(n: int) -> list[Message]:
    """n calls without results, and n results without calls."""
    return [
        HI,
        Message.assistant(*(call(f"c{index}") for index in range(n))),
        Message.tool_response(result(f"x{index}") for index in range(n)),
    ]


def assistants(n: int) -> list[Message]:
    return [HI, *(Message.assistant(f"word {index}", call(f"c{index}")) for index in range(n))]


SHAPES = [
    steps,
    talk,
    one_turn,
    one_result_a_message,
    one_response,
    same_ids,
    surplus,
    assistants,
]


def failing_is_fine(function: Callable[[Sequence[Message]], object]) -> Callable[..., None]:
    def run(messages: Sequence[Message]) -> None:
        try:
            function(messages)
        except Exception:
            pass  # a history that cannot be sent: the work until then counts

    return run


def with_plain_ids(messages: Sequence[Message]) -> tuple[Message, ...]:
    return tuple(
        msgspec.structs.replace(
            message,
            parts=tuple(
                msgspec.structs.replace(part, id=str(part.id)) if hasattr(part, "id") else part
                for part in message.parts
            ),
        )
        for message in messages
    )


FUNCTIONS: dict[str, Callable[[Sequence[Message]], object]] = {
    "check": check,
    "repair": repair,
    "repair, drop": lambda messages: repair(messages, open_calls="drop"),
    "prune": lambda messages: prune(messages, 10, 1000),
    "hand over": lambda messages: hand_over(messages, "gemini", "m"),
    "sendable": failing_is_fine(lambda messages: sendable(messages, "gemini", "m")),
    "unanswered": unanswered,
    "with results": lambda messages: with_results(messages, [result("c0")]),
    "next step": failing_is_fine(lambda messages: Steps(begin_run(messages), Toolbox()).next()),
    "dump a run": lambda messages: dump_run(RunState(messages=with_plain_ids(messages), begun=1)),
}


def work(function: Callable[[Any], object], messages: Sequence[Message]) -> int:
    with Work() as counted:
        function(messages)
    return counted.count


@pytest.mark.row("R-11")
@joined("shape", SHAPES, ids=lambda shape: shape.__name__)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_four_times_the_conversation_is_four_times_the_work(
    name: str, shape: Callable[[int], list[Message]]
) -> None:
    small, large = (work(FUNCTIONS[name], shape(n)) for n in (50, 200))
    assert large <= 5 * small + 200


@pytest.mark.row("R-11")
@joined("shape", [steps, talk], ids=lambda shape: shape.__name__)
@joined("limit", [None, 20])
def test_a_message_more_costs_the_same_in_a_longer_conversation(
    limit: int | None, shape: Callable[[int], list[Message]]
) -> None:
    """R-11: `HistoryManager.add_message`, without limits and at a limit."""

    def add_all(messages: Sequence[Message]) -> None:
        manager = HistoryManager(max_messages=limit, max_tokens=None if limit else 10**9)
        for message in messages:
            manager.add_message(message)

    small, large = (work(add_all, shape(n)) for n in (50, 200))
    assert large <= 5 * small + 200
