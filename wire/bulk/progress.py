"""How far a bulk run is: counts, tokens, money and time. No clock, no I/O."""

from __future__ import annotations

from collections import deque
from decimal import Decimal
from typing import Any

import msgspec

_WINDOW = 30.0
"""Seconds. The rate is that of the last ones, so that it follows a change soon."""


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """How far a run is.

    >>> print(Progress(total=10, done=4, answered=3, failed=1, rate=2.0, eta=3.0))
    4 of 10 rows, 1 failed, 2 rows/s, 3 s left
    """

    total: int | None = None
    """All rows of the input; `None` if that is not known."""
    done: int = 0
    """Rows that have a line, those of earlier runs included."""
    earlier: int = 0
    """Rows that earlier runs have done."""
    answered: int = 0
    """Rows that this run has answered."""
    failed: int = 0
    """Rows that this run has put among the dead letters."""
    cached: int = 0
    """Rows that were answered from the cache."""
    set_aside: int = 0
    """Damaged lines that this start has moved to a file of their own."""
    running: int = 0
    """Rows that are asked now, or wait for the rate limits."""
    waiting: int = 0
    """Those of them that wait: for a limit that was given, reported or learned. On Dask, and in
    batches, they are not counted."""
    input_tokens: int = 0
    """Tokens of the requests that this run has sent, as the servers counted them."""
    output_tokens: int = 0
    """Tokens of their replies."""
    steps: int = 0
    """Replies that the agents of this start have got so far, if the rows are runs of an agent.
    Their tokens and their cost count when the row has ended."""
    cost: Decimal = Decimal(0)
    """USD of all replies whose cost is known, those of earlier starts of the run included."""
    unpriced: int = 0
    """Replies whose cost is not known, those of earlier starts of the run included."""
    seconds: float = 0.0
    """Time since the run began."""
    rate: float = 0.0
    """Rows a second, of late."""
    eta: float | None = None
    """Seconds until all rows are done at this rate; `None` if that is not known."""

    def __str__(self) -> str:
        words = [f"{self.done:,}{'' if self.total is None else f' of {self.total:,}'} rows"]
        if self.failed:
            words.append(f"{self.failed:,} failed")
        if self.cached:
            words.append(f"{self.cached:,} from the cache")
        if self.set_aside:
            words.append(f"{self.set_aside:,} damaged lines set aside")
        words.append(f"{self.rate:,.3g} rows/s" if self.rate < 1000 else f"{self.rate:,.0f} rows/s")
        tokens = self.input_tokens + self.output_tokens
        if self.steps:
            words.append(f"{self.steps:,} replies to agents")
        if tokens:
            words.append(f"{tokens:,} tokens")
        if self.cost or self.unpriced:
            least = "at least " if self.unpriced else ""
            words.append(f"{least}{usd(self.cost)}")
        if self.waiting:
            words.append(f"{self.waiting:,} wait for rate limits")
        if self.eta is not None:
            words.append(f"{duration(self.eta)} left")
        return ", ".join(words)

    def summary(self) -> dict[str, Any]:
        """Return the figures as JSON."""
        left = None if self.total is None else self.total - self.done
        return {
            "rows": self.total,
            "done": self.done,
            "earlier": self.earlier,
            "answered": self.answered,
            "failed": self.failed,
            "cached": self.cached,
            "set_aside": self.set_aside,
            "left": left,
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "steps": self.steps,
            "cost": self.cost,
            "unpriced": self.unpriced,
            "seconds": round(self.seconds, 3),
        }


def usd(amount: Decimal) -> str:
    """Format an amount of money.

    >>> usd(Decimal("1234.5")), usd(Decimal("0.0000045"))
    ('1,234.5000 USD', '0.0000045 USD')
    """
    return f"{amount:,.4f} USD" if amount >= Decimal("0.01") or not amount else f"{amount:f} USD"


def duration(seconds: float) -> str:
    """Format a time in two units at most.

    >>> duration(12.4), duration(200), duration(7300), duration(200_000)
    ('12 s', '3 min 20 s', '2 h 1 min', '2 d 7 h')
    """
    whole = round(seconds)
    for unit, name, next_unit, next_name in (
        (86400, "d", 3600, "h"),
        (3600, "h", 60, "min"),
        (60, "min", 1, "s"),
    ):
        if whole >= unit:
            count, rest = divmod(whole, unit)
            return f"{count} {name}" + (f" {rest // next_unit} {next_name}" if rest else "")
    return f"{whole} s"


class Counter:
    """Counts what a run does."""

    def __init__(
        self,
        total: int | None,
        earlier: int,
        now: float,
        cost: Decimal = Decimal(0),
        unpriced: int = 0,
    ) -> None:
        self.total, self.earlier, self._began = total, earlier, now
        self.answered = self.failed = self.cached = self.running = self.set_aside = 0
        self.input_tokens = self.output_tokens = 0
        self.cost, self.unpriced = cost, unpriced
        self._marks: deque[tuple[float, int]] = deque([(now, 0)])

    @property
    def done(self) -> int:
        """Rows that have a line."""
        return self.earlier + self.answered + self.failed

    def add(self, **counts: Any) -> None:
        """Add counts by the names of `Progress`."""
        for name, count in counts.items():
            setattr(self, name, getattr(self, name) + count)

    def progress(self, now: float, waiting: int, steps: int = 0) -> Progress:
        """Return the progress of the run at that time, in seconds of any clock."""
        own = self.answered + self.failed
        if now - self._marks[-1][0] >= 0.5:
            self._marks.append((now, own))
        while len(self._marks) > 2 and now - self._marks[1][0] >= _WINDOW:
            self._marks.popleft()
        since, before = self._marks[0]
        rate = (own - before) / (now - since) if now > since else 0.0
        left = None if self.total is None else max(0, self.total - self.done)
        return Progress(
            total=self.total,
            done=self.done,
            earlier=self.earlier,
            answered=self.answered,
            failed=self.failed,
            cached=self.cached,
            set_aside=self.set_aside,
            running=self.running,
            waiting=waiting,
            input_tokens=self.input_tokens,
            output_tokens=self.output_tokens,
            steps=steps,
            cost=self.cost,
            unpriced=self.unpriced,
            seconds=now - self._began,
            rate=rate,
            eta=left / rate if left is not None and rate else None,
        )
