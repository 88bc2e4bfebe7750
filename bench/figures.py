"""Figures of the rounds to medians and ratios. Pure: values in, values out.

A ratio is taken inside each round and then its median, because the machine is busier in one round
than in another.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

Values = Sequence[float | None]
Measured = dict[str, Any]
"""What `bench/measured.json` contains: `suites` has the date and the figures of each suite."""


def median(values: Values) -> float | None:
    """Of the rounds that took place."""
    found = [value for value in values if value is not None]
    return statistics.median(found) if found else None


def ratio(values: Values, base: Values) -> float | None:
    """The median of the ratios of each round. None if no round has both."""
    pairs = zip(values, base, strict=False)
    return median([one / of for one, of in pairs if one is not None and of])


def suites(measured: Measured) -> dict[str, Any]:
    """Suite -> case -> measure -> client -> values."""
    return {name: suite["figures"] for name, suite in measured["suites"].items()}


def values(measured: Measured, suite: str, case: str, measure: str, client: str) -> list[Any]:
    """Of one client; empty if it was not measured."""
    figures = suites(measured).get(suite, {})
    found: list[Any] = figures.get(case, {}).get(measure, {}).get(client, [])
    return found


def number(value: float | None) -> str:
    """Two or three digits, or a dash for what was not measured.

    >>> number(0.4567), number(1.25), number(3.999), number(172.4), number(None)
    ('0.46', '1.25', '4.0', '172', '–')
    """
    if value is None:
        return "–"
    if value < 1.995:
        return f"{value:.2f}"
    return f"{value:.1f}" if value < 9.95 else f"{value:.0f}"


_UNITS = {
    "cpu": (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9)),
    "memory": (("MB", 1e6), ("kB", 1e3), ("B", 1.0)),
}
_UNITS["disk"] = _UNITS["memory"]
_UNITS["wall"] = _UNITS["lag_p50"] = _UNITS["lag_p99"] = _UNITS["cpu"]


def quantity(measure: str, value: float | None) -> str:
    """A value with its unit.

    >>> quantity("cpu", 0.0000172), quantity("memory", 44_900.0), quantity("modules", 261.0)
    ('17 µs', '45 kB', '261')
    """
    if value is None:
        return "–"
    units = _UNITS.get(measure)
    if units is None:
        return f"{value:g}"
    name, factor = next((unit for unit in units if abs(value) >= unit[1]), units[-1])
    return f"{number(value / factor)} {name}".strip()
