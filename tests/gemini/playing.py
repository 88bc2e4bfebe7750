"""Runs a flow without a network and records its calls and pauses."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from wire.core.call import Call
from wire.core.exchange import Pause
from wire.core.flow import Flow, FlowRun
from wire.errors import WireError

Outcome = bytes | tuple[bytes, dict[str, str]] | WireError


@dataclass
class Played:
    calls: list[Call[Any]] = field(default_factory=list)
    pauses: list[float] = field(default_factory=list)
    answer: Any = None
    error: WireError | None = None

    @property
    def asked(self) -> list[str]:
        return [
            f"{call.method} {call.shown(call.path_prefix + call.target)}" for call in self.calls
        ]


def play(flow: Flow[Any], *outcomes: Outcome) -> Played:
    """Runs a flow. Each call gets the next outcome: a body, a body with headers, or an error. Fails
    if outcomes are left over.
    """
    played, left = Played(), list(outcomes)
    try:
        with FlowRun(flow) as running:
            while running.step is not None:
                if isinstance(running.step, Pause):
                    played.pauses.append(running.step.seconds)
                    running.tell(None)
                else:
                    played.calls.append(running.step)
                    running.tell(_told(running.step, left.pop(0)))
        played.answer = running.answer
    except WireError as error:
        played.error = error
    assert left == []
    return played


def _told(call: Call[Any], outcome: Outcome) -> Any:
    if isinstance(outcome, WireError):
        return outcome
    body, headers = outcome if isinstance(outcome, tuple) else (outcome, {})
    try:
        answer = call.parse(body)
        return answer if call.read_headers is None else call.read_headers(answer, headers)
    except WireError as error:
        return error
