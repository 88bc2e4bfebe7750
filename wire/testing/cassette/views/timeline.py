"""The time line of a page: a row for each exchange, drawn as SVG.

The drawing has attributes only and no styles, which the policy of the page would not allow.
"""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence

from msgspec import UNSET

from wire.core.printable import printable_line
from wire.testing.cassette.views.conversation import Exchange, Times, split_url
from wire.testing.cassette.views.text import attempt_text

_WIDTH = 1000
_LEAST = 4
"""Width of the smallest bar, so that a quick exchange can be seen."""

_NO_TIMES = (
    "In order, with the events of each response. The recording has no times: `timing=True` of the "
    "cassette records them."
)

_Row = tuple[Exchange, list[str], list[str]]
"""An exchange, the bars of its drawing, and facts beside it."""


def timeline(exchanges: Sequence[Exchange]) -> str:
    """Render the time line. Without recorded times it shows the order and the events alone."""
    if not exchanges:
        return ""
    timed = any(each.times is not UNSET for each in exchanges)
    rows = [
        f'<li class="{"failed" if each.failed else "done"}"><a href="#x{each.number}">'
        f"<b>{each.number}</b> <span>{_line(_label(each))}</span></a>{_svg(bars)}"
        f"<small>{_line(', '.join(facts))}</small></li>"
        for each, bars, facts in (_timed(exchanges) if timed else _ordered(exchanges))
    ]
    note = _note(exchanges) if timed else _NO_TIMES
    return (
        '<nav aria-label="Time line"><h2>Time line</h2>'
        f'<ol class="timeline">{"".join(rows)}</ol><p class="note">{note}</p></nav>'
    )


def _line(text: str) -> str:
    return html.escape(printable_line(text))


def _label(exchange: Exchange) -> str:
    last = split_url(exchange.url).path.rstrip("/").rpartition("/")[2]
    return exchange.model or last or exchange.method


def _note(exchanges: Sequence[Exchange]) -> str:
    placed = all(each.times is UNSET or each.times.started is not UNSET for each in exchanges)
    return "To scale. Pale: until the first byte. Ticks: pieces of the body. " + (
        "Dashed: the wait since the attempt before, or since all earlier responses had ended."
        if placed
        else "Times between exchanges are not recorded."
    )


def _timed(exchanges: Sequence[Exchange]) -> Iterator[_Row]:
    """Render the rows to scale.

    Without the time of its request, an exchange follows those before it.
    """
    known = [each.times.started for each in exchanges if each.times is not UNSET]
    first = min((each for each in known if each is not UNSET), default=0)
    starts: list[int] = []
    ends: list[int] = []
    waits: list[int] = []
    for each in exchanges:
        latest = max(ends, default=0)
        times = Times(chunks=[]) if each.times is UNSET else each.times
        starts.append(latest if times.started is UNSET else times.started - first)
        since = ends[each.retry_of - 1] if each.retry_of else latest
        waits.append(0 if times.started is UNSET else max(starts[-1] - since, 0))
        ends.append(starts[-1] + times.end)
    scale = _WIDTH / max(*ends, 1)
    for each, start, wait in zip(exchanges, starts, waits, strict=True):
        yield _timed_row(each, start, wait, scale)


def _timed_row(each: Exchange, start: int, wait: int, scale: float) -> _Row:
    facts = _facts(each)
    if (times := each.times) is UNSET:
        return each, [], [*facts, "no times"]
    x, first = start * scale, times.first_byte * scale
    bars = [
        _bar(x, first, "wait"),
        _bar(x + first, max((times.end - times.first_byte) * scale, _LEAST), "body"),
        *(_bar(x + at * scale, 2, "event") for at in times.chunks),
    ]
    if wait:
        bars.insert(0, _bar(x - wait * scale, wait * scale, "pause"))
        facts.append(f"waited {wait:,} ms" if each.retry_of else f"sent {wait:,} ms later")
    if times.chunks:
        facts.append(f"first byte {times.first_byte:,} ms")
    if times.end > times.first_byte:
        facts.append(f"end {times.end:,} ms")
    if times.longest_gap:
        facts.append(f"longest gap {times.longest_gap:,} ms")
    return each, bars, facts


def _ordered(exchanges: Sequence[Exchange]) -> Iterator[_Row]:
    slot = _WIDTH / len(exchanges)
    for index, each in enumerate(exchanges):
        width = max(slot - _LEAST, _LEAST)
        step = width / (each.events + 1)
        bars = [
            _bar(index * slot, width, "body"),
            *(_bar(index * slot + step * at, 2, "event") for at in range(1, each.events + 1)),
        ]
        facts = _facts(each)
        if each.events:
            facts.append(f"{each.events:,} event{'' if each.events == 1 else 's'}")
        yield each, bars, facts


def _facts(exchange: Exchange) -> list[str]:
    facts = [str(exchange.status), attempt_text(exchange)]
    if exchange.failed and exchange.retry_after:
        facts.append(f"retry after {exchange.retry_after} s")
    return [fact for fact in facts if fact]


def _svg(bars: Sequence[str]) -> str:
    return (
        f'<svg viewBox="0 0 {_WIDTH} 12" preserveAspectRatio="none" aria-hidden="true">'
        f"{''.join(bars)}</svg>"
    )


def _bar(x: float, width: float, kind: str) -> str:
    return f'<rect class="{kind}" x="{x:.1f}" y="0" width="{max(width, 0):.1f}" height="12"></rect>'
