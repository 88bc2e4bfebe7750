"""Bars as SVG. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

from bench.figures import number

# Readable on a white and on a dark page alike: a picture of a page knows neither.
_TEXT, _LINE = "#777c84", "#777c8440"
_COLOURS = {"wire": "#2f86d0", "fast": "#17975a", "other": "#8b9099"}
_MARK = "#d9622b"

_WIDTH, _LEFT, _RIGHT = 720, 150, 50
_ROW, _BAR, _HEAD = 19, 13, 26
_FIGURE = 34  # width of the text beside a bar


@dataclass(frozen=True, slots=True)
class Bar:
    """A client: how often the cost of the limit, and the goal, if there is one."""

    label: str
    value: float
    goal: float | None = None

    @property
    def colour(self) -> str:
        """Blue for `wire`, green for it with the extra `[fast]`, grey for the others."""
        if not self.label.startswith("wire"):
            return _COLOURS["other"]
        return _COLOURS["fast" if self.label.endswith("-fast") else "wire"]


def _ticks(most: float) -> list[int]:
    steps = [factor * 10**power for power in range(5) for factor in (1, 2, 5)]
    return [*(step for step in steps if step < most), next(s for s in steps if s >= most)]


def svg(title: str, groups: dict[str, Sequence[Bar]]) -> str:
    """Groups of bars below each other on one logarithmic axis that begins at 1, the limit."""
    ticks = _ticks(max([2.0, *(bar.value for bars in groups.values() for bar in bars)]))
    scale = (_WIDTH - _LEFT - _RIGHT) / math.log(ticks[-1])

    def x(value: float) -> float:
        return round(_LEFT + scale * math.log(max(value, 1.0)), 1)

    height = _HEAD + sum(_HEAD + _ROW * len(bars) for bars in groups.values()) + 10
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" '
        f'width="{_WIDTH}" height="{height}" role="img" font-family="sans-serif" '
        f'font-size="12" fill="{_TEXT}">',
        f"<title>{escape(title)}</title>",
    ]
    for tick in ticks:
        lines += [
            f'<path d="M{x(tick)} {_HEAD - 6}V{height - 8}" stroke="{_LINE}"/>',
            f'<text x="{x(tick)}" y="14" text-anchor="middle">{tick} ×</text>',
        ]
    y = _HEAD
    for name, bars in groups.items():
        y += _HEAD
        lines.append(f'<text x="0" y="{y - 8}" font-weight="bold">{escape(name)}</text>')
        for bar in bars:
            lines += _bar(bar, x, y)
            y += _ROW
    return "\n".join([*lines, "</svg>", ""])


def _bar(bar: Bar, x: Callable[[float], float], y: int) -> list[str]:
    end, middle = x(bar.value), y + _BAR - 2
    goal = x(bar.goal) if bar.goal is not None else 0.0
    figure = goal if end <= goal < end + _FIGURE else end  # beside the mark, not below it
    lines = [
        f'<text x="{_LEFT - 8}" y="{middle}" text-anchor="end">{escape(bar.label)}</text>',
        f'<rect x="{_LEFT}" y="{y}" width="{round(end - _LEFT, 1)}" height="{_BAR}" '
        f'fill="{bar.colour}"/>',
        f'<text x="{figure + 6}" y="{middle}">{number(bar.value)}</text>',
    ]
    if goal:
        lines.append(
            f'<path d="M{goal} {y - 2}V{y + _BAR + 2}" stroke="{_MARK}" stroke-width="3"/>'
        )
    return lines
