"""Measures clients that send to the server on loopback, each in a process of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from bench.bodies import WIRES
from bench.implementations import IMPLEMENTATIONS, PLAIN
from bench.measuring import (
    Answers,
    Figures,
    Report,
    Values,
    Worker,
    other_work,
    rounds,
    server,
    workers,
)

EVERYONE = ("*",)


@dataclass(frozen=True, slots=True)
class Case:
    """What every client of one case does in a round."""

    wire: str
    command: dict[str, Any]
    """To `bench.client`."""
    per: int
    """Chunks or answers, by which CPU is divided."""
    who: Sequence[str] = EVERYONE
    """Patterns of the clients that take part."""

    @property
    def streams(self) -> int:
        """Streams at once, by which memory is divided; 1 if there is one thing at a time."""
        return int(self.command["times"]) if self.command["do"] == "streams" else 1

    @property
    def warm_up(self) -> dict[str, Any]:
        """A short command of the same kind, after which everything is loaded."""
        model = str(self.command.get("model", ""))
        if self.streams > 1 or model == "answer-5mb":
            return {"do": "ask", "model": "answer-1kb", "wire": self.wire}
        shorter = "burst-500" if self.command["do"] == "stream" else model
        return {**self.command, "model": shorter, "wire": self.wire}

    def takes(self, client: str, wires: Sequence[str]) -> bool:
        """Whether a client that speaks these wires takes part."""
        if self.streams > 1 and IMPLEMENTATIONS[client].on_threads:
            return False
        if client == PLAIN and self.command["do"] != "stream":
            return False
        return self.wire in wires and any(fnmatchcase(client, each) for each in self.who)


@dataclass(frozen=True, slots=True)
class Plan:
    """The cases of one suite."""

    cases: dict[str, Case]
    measures: Sequence[str] = ("cpu",)
    rounds: int = 5
    peer_rounds: int = 3
    """Rounds of other libraries, most of which are slow."""
    most: int = 0
    """Connections that `wire` may have, if it needs more than by default."""

    def run(self, clients: Sequence[str], most_rounds: int | None, report: Report) -> Figures:
        """The figures of these clients."""
        cases = list(self.cases.items())
        figures: Figures = {}
        # Memory that a process has used before is not taken again: each case gets new ones.
        for some in [[each] for each in cases] if "memory" in self.measures else [cases]:
            members = [
                IMPLEMENTATIONS[client]
                for client in clients
                if any(case.takes(client, WIRES) for _, case in some)
            ]
            with server() as base_url, workers(members, base_url, report, self.most) as started:
                for name, case in some:
                    taking = [each for each in started if case.takes(each.name, each.wires)]
                    figures[name] = self._measured(name, case, taking, most_rounds, report)
        return figures

    def _measured(
        self,
        name: str,
        case: Case,
        taking: Sequence[Worker],
        most_rounds: int | None,
        report: Report,
    ) -> dict[str, Any]:
        command = {**case.command, "wire": case.wire}
        answers = rounds(
            taking,
            command,
            case.warm_up,
            min(self.rounds, most_rounds or self.rounds),
            self.peer_rounds,
            report,
        )
        for client, wrong in other_work(answers).items():
            report.fail(f"{name}, {client}: {wrong}")
            del answers[client]
        divisors = {"cpu": case.per, "memory": case.streams}
        return {
            measure: _measured(answers, measure, divisors.get(measure, 1))
            for measure in self.measures
        }


CALLS = " (two calls)"
"""Behind the name of a client: the requests of an agent's step, without the agent."""


@dataclass(frozen=True, slots=True)
class AgentSteps:
    """Steps of an agent with a tool, and their two requests in the same process, in turns."""

    rounds: int = 7
    times: int = 50

    def run(self, clients: Sequence[str], most_rounds: int | None, report: Report) -> Figures:
        """The figures of the neutral doors among these clients."""
        members = [IMPLEMENTATIONS[each] for each in clients if each.startswith("wire-neutral")]
        figures: Figures = {}
        with server() as base_url, workers(members, base_url, report) as started:
            for wire in WIRES:
                taking = [Task(each, do) for each in started for do in ("calls", "agent")]
                command = {"wire": wire, "times": self.times}
                times = min(self.rounds, most_rounds or self.rounds)
                answers = rounds(taking, command, command, times, times, report)
                for client, wrong in other_work(answers).items():
                    report.fail(f"agent, {wire}, {client}: {wrong}")
                    del answers[client]
                figures[wire] = {"cpu": _measured(answers, "cpu", self.times)}
        return figures


class Task:
    """One of the things that a client does in turns, with a row of its own."""

    def __init__(self, worker: Worker, do: str) -> None:
        self._worker, self._do = worker, do
        self.implementation = worker.implementation
        self.name = worker.name + (CALLS if do == "calls" else "")

    def told(self, command: dict[str, Any]) -> dict[str, Any]:
        """Send its command and wait for the answer."""
        return self._worker.told({**command, "do": self._do})


@dataclass(frozen=True, slots=True)
class Profiles:
    """Where the CPU of clients goes in some cases: shares in place of measures."""

    cases: dict[str, Case]

    def run(self, clients: Sequence[str], _: int | None, report: Report) -> Figures:
        """The shares of these clients, once."""
        members = [
            IMPLEMENTATIONS[client]
            for client in clients
            if any(case.takes(client, WIRES) for case in self.cases.values())
        ]
        figures: Figures = {}
        with server() as base_url, workers(members, base_url, report) as started:
            for name, case in self.cases.items():
                command = {**case.command, "wire": case.wire, "profiled": True}
                found = rounds(started, command, case.warm_up, 1, 1, report)
                for client, answers in found.items():
                    for group, share in (answers[0] or {}).get("shares", {}).items():
                        figures.setdefault(name, {}).setdefault(group, {})[client] = [share]
        return figures


def _measured(answers: Answers, measure: str, divisor: int) -> Values:
    return {
        client: [_value(answer, measure, divisor, number) for number, answer in enumerate(each)]
        for client, each in answers.items()
    }


def _value(answer: dict[str, Any] | None, measure: str, divisor: int, number: int) -> float | None:
    """Memory counts in the first round only: later ones use what was freed."""
    found = None if answer is None else answer.get(measure)
    if found is None or (measure == "memory" and number > 0):
        return None
    value: float = found / divisor
    return value
