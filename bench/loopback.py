"""Measures clients that send to the server on loopback, each in a process of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from bench.bodies import WIRES
from bench.implementations import IMPLEMENTATIONS
from bench.measuring import Figures, Report, Worker, rounds, same_work, server, workers

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
        if wrong := same_work(answers):
            report.fail(f"{name}: {wrong}")
        divisors = {"cpu": case.per, "memory": case.streams}
        return {
            measure: {
                client: [
                    _value(answer, measure, divisors.get(measure, 1), number)
                    for number, answer in enumerate(each)
                ]
                for client, each in answers.items()
            }
            for measure in self.measures
        }


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


def _value(answer: dict[str, Any] | None, measure: str, divisor: int, number: int) -> float | None:
    """Memory counts in the first round only: later ones use what was freed."""
    if answer is None or answer[measure] is None or (measure == "memory" and number > 0):
        return None
    value: float = answer[measure] / divisor
    return value
