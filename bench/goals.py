"""What each suite should cost at most, and whether it does. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from bench.bodies import WIRES
from bench.figures import Measured, median, quantity, ratio, suites, values
from bench.figures import number as shown
from bench.processes import BASE


@dataclass(frozen=True, slots=True)
class Goal:
    """A client costs at most so much of what a base costs, in each case of a suite."""

    suite: str
    client: str
    at_most: float
    base: str = "raw"
    """A client; `ideal` for the time that the server takes; empty for a value without a base."""
    measure: str = "cpu"
    cases: tuple[str, ...] = ()
    """Which cases; none named means all that were measured."""
    base_case: str = ""
    """The case of the base, if it is another one."""

    @property
    def text(self) -> str:
        """Such as `≤ 3.9 × raw`."""
        if not self.base:
            return f"≤ {quantity(self.measure, self.at_most)}"
        at = f" at {self.base_case}" if self.base_case else ""
        return f"≤ {_factor(self.at_most)} × {self.base}{at}"


def _factor(value: float) -> str:
    """As a fraction where it is one, such as 1/12."""
    parts = 1 / value
    whole = round(parts)
    return f"1/{whole}" if whole > 2 and abs(parts - whole) < 1e-9 else f"{value:g}"


def _both(suite: str, default: tuple[float, float], fast: tuple[float, float]) -> list[Goal]:
    """Of the raw and the neutral door, with httpx and with the direct transport."""
    return [
        Goal(suite, "wire", default[0]),
        Goal(suite, "wire-neutral", default[1]),
        Goal(suite, "wire-fast", fast[0]),
        Goal(suite, "wire-neutral-fast", fast[1]),
    ]


def _at_once(suite: str, cpu: tuple[float, float], wall: tuple[float, float]) -> list[Goal]:
    """With httpx and with the direct transport."""
    return [
        Goal(suite, "wire", cpu[0]),
        Goal(suite, "wire-fast", cpu[1]),
        Goal(suite, "wire", wall[0], "ideal", "wall"),
        Goal(suite, "wire-fast", wall[1], "ideal", "wall"),
        Goal(suite, "wire", 45e3, "", "memory"),
        Goal(suite, "wire-fast", 14e3, "", "memory"),
    ]


_PACKAGES = tuple(f"wire.{each}, types and rules" for each in ("gemini", "openai", "anthropic"))
_TO_SEND = ("wire, Client", "wire, AsyncClient", "wire, AsyncChat")

GOALS = [
    *(Goal("import", each, 0.5, BASE) for each in _PACKAGES),
    *(Goal("import", each, 1.15, BASE) for each in _TO_SEND),
    Goal("import", _PACKAGES[0], 0.15, "openai"),
    Goal("import", "wire, Client", 0.35, "openai"),
    Goal("import", "wire, Client", 0.3, "google-genai"),
    Goal("process", "wire", 1.15, "httpx"),
    Goal("process", "wire", 0.5, "openai"),
    Goal("client", "wire", 1e-3, ""),
    Goal("size", "wire", 9, "", "distributions"),
    Goal("size", "wire", 3e6, "", "disk"),
    Goal("size", "wire", 0.2, "openai", "disk"),
    *_both("burst", (3.9, 6), (1.8, 3.5)),
    Goal("burst", "wire", 1 / 12, "google-genai"),
    Goal("burst", "wire", 1 / 10, "openai"),
    Goal("burst", "wire", 0.4, "anthropic"),
    *_both("paced", (2.6, 2.8), (1.25, 1.5)),
    Goal("paced", "wire", 0.4, "google-genai"),
    Goal("paced", "wire", 0.55, "openai"),
    *_at_once("streams-200", (5.5, 2.1), (1.35, 1.05)),
    *_at_once("streams-1000", (5.5, 1.9), (1.2, 1.04)),
    *_both("1kb", (16, 18), (5, 7)),
    Goal("1kb", "wire", 0.9, "httpx"),
    *(Goal("1kb", "wire-fast", 1 / 9, each) for each in ("google-genai", "openai", "anthropic")),
    Goal("5mb", "wire", 1.9),
    Goal("5mb", "wire-neutral", 2.2),
    Goal("5mb", "wire-fast", 1.15),
    Goal("5mb", "wire", 1.3, measure="memory"),
    Goal("5mb", "wire", 15e6, "", "memory"),
    Goal("5mb", "wire", 0.5, "openai"),
    Goal("history", "wire", 2),
    Goal("history", "wire-neutral", 3),
    *(Goal("history", "wire", 1 / 40, each) for each in ("google-genai", "openai")),
    Goal("history", "wire", 1 / 4, "anthropic"),
    *(
        Goal("length", client, 1.1, client, cases=(chunks,), base_case="2,000")
        for client in ("wire", "wire-neutral")
        for chunks in ("20,000", "100,000")
    ),
    Goal("core", "wire (reader)", 2),
    Goal("core", "wire (reader)", 1 / 20, "google-genai (structs)"),
    Goal("core", "wire (reader)", 1 / 20, "openai (structs)"),
    Goal("core", "wire", 1.5),
    Goal("core", "wire-neutral", 2.7),
    Goal("sse", "wire", 2),
    Goal("sse", "wire", 0.5, "httpx", cases=WIRES),
    Goal("echo", "wire", 1.2),
]
"""In the order of the page."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A goal and what was measured."""

    goal: Goal
    found: dict[str, float]
    """Case to a ratio, or to a value if the goal has no base."""

    @property
    def word(self) -> str:
        """`met`, `missed` or `not measured`."""
        if not self.found:
            return "not measured"
        return "met" if max(self.found.values()) <= self.goal.at_most else "missed"

    @property
    def text(self) -> str:
        """The figure of each case, in the order of the suite."""
        goal = self.goal
        each = [
            shown(value) if goal.base else quantity(goal.measure, value)
            for value in self.found.values()
        ]
        return " / ".join(each) or "–"


def verdict(goal: Goal, measured: Measured, ideal: float | None = None) -> Verdict:
    """Compare a goal with the figures. `ideal` is the time that the server of the suite takes."""
    found = {}
    for case in goal.cases or suites(measured).get(goal.suite, {}):
        own = values(measured, goal.suite, case, goal.measure, goal.client)
        base = values(measured, goal.suite, goal.base_case or case, goal.measure, goal.base)
        if not goal.base:
            value = median(own)
        elif goal.base == "ideal":
            assert ideal is not None, goal
            value = ratio(own, [ideal] * len(own))
        else:
            value = ratio(own, base)
        if value is not None:
            found[case] = value
    return Verdict(goal, found)
