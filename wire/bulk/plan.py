"""The plan of a bulk run: rows, tokens, money and time, estimated before anything is sent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

import msgspec

from wire.bulk.progress import duration, usd
from wire.bulk.rows import Row, question_of
from wire.catalogue.catalogue import current
from wire.catalogue.cost import cost_of_usage
from wire.catalogue.usage import Usage
from wire.core.arguments import whole_number
from wire.core.errors import WireError
from wire.history import estimate_request
from wire.neutral.request import Request


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """The rows, tokens, money and time that a run would need.

    >>> print(Plan(rows=2, input_tokens=100, seconds=120.0, reason="max_tokens is not set"))
    2 rows, about 100 input tokens, 2 min at the given limits
    """

    rows: int = 0
    """Rows that would be asked."""
    earlier: int = 0
    """Rows that earlier runs have done."""
    broken: int = 0
    """Rows that would go to the dead letters unsent."""
    set_aside: int = 0
    """Damaged lines that would be moved to a file of their own."""
    problems: tuple[str, ...] = ()
    """Why the first of them would: the number of the row, and the reason."""
    input_tokens: int = 0
    """Tokens of the requests, estimated as by `wire count --estimate`; of an agent, those of the
    first request of each row."""
    output_tokens: int | None = None
    """The most tokens of the replies, the sum of `max_tokens`; `None` if a row has none."""
    input_cost: Decimal | None = None
    """USD of the requests; `None` if the price is not known."""
    cost: Decimal | None = None
    """The most USD of requests and replies; `None` if that is not known."""
    reason: str = ""
    """Why `cost` is not known."""
    seconds: float | None = None
    """Time at the given limits on requests and tokens; `None` without any. What the server allows
    beyond them is not known before its first response."""

    def __str__(self) -> str:
        words = [f"{self.rows:,} rows"]
        if self.earlier:
            words.append(f"{self.earlier:,} done before")
        if self.broken:
            words.append(f"{self.broken:,} that cannot be sent")
        if self.set_aside:
            words.append(f"{self.set_aside:,} damaged lines to set aside")
        words.append(f"about {self.input_tokens:,} input tokens")
        if self.output_tokens is not None:
            words.append(f"at most {self.output_tokens:,} output tokens")
        if self.cost is not None:
            words.append(f"at most {usd(self.cost)}")
        elif self.input_cost is not None:
            words.append(f"{usd(self.input_cost)} for the input alone ({self.reason})")
        if self.seconds is not None:
            words.append(f"{duration(self.seconds)} at the given limits")
        return ", ".join(words)


_MOST_PROBLEMS = 10
FIRST_ALONE = "of the first request of each row; an agent makes more"


def planned(
    rows: Iterable[Row],
    earlier: int,
    *,
    model: str,
    settings: Mapping[str, Any],
    limits: Mapping[str, int],
    window: float,
    tier: str = "",
    is_agent: bool = False,
    beside: int | None = None,
) -> Plan:
    """Estimate the rows that are not done.

    `settings` are those of the run, as fields of a `Request`; `limits` are `requests` and `tokens`
    in `window` seconds; `tier` is that of the prices. Of an agent, the first request of each row is
    estimated: how many follow is up to the model. `beside` are the tokens of questions about each
    row, whose answers are not written and not charged.
    """
    count = broken = input_tokens = 0
    output_tokens: int | None = 0
    input_cost: Decimal | None = Decimal(0)
    total: Decimal | None = Decimal(0)
    reason = ""
    problems, facts = list[str](), current().model(model)
    for row in rows:
        try:
            asked = question_of(row)
            request = Request(messages=asked.request.messages, **{**settings, **asked.settings})
            if request.max_tokens is not None:
                whole_number("max_tokens", request.max_tokens, least=1)
        except WireError as error:
            broken += 1
            if len(problems) < _MOST_PROBLEMS:
                problems.append(f"row {row.number}: {error.message}")
            continue
        count += 1
        tokens, most = estimate_request(request) + (beside or 0), request.max_tokens or 0
        input_tokens += tokens
        usage = Usage(input=tokens, output=most, total=tokens + most)
        price = cost_of_usage(usage, facts, tier, None)
        input_cost = _sum(input_cost, price.total, price.output)
        if (request.max_tokens is None and beside is None) or is_agent:
            output_tokens = total = None
            reason = reason or (FIRST_ALONE if is_agent else "max_tokens is not set")
            continue
        output_tokens = None if output_tokens is None else output_tokens + most
        reason = reason or price.reason
        total = _sum(total, price.total)
    used = {"requests": count, "tokens": input_tokens + (output_tokens or 0)}
    waits = [used[unit] / most * window for unit, most in limits.items()]
    return Plan(
        rows=count,
        earlier=earlier,
        broken=broken,
        problems=tuple(problems),
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        input_cost=input_cost,
        cost=total,
        reason=reason,
        seconds=max(waits) if waits else None,
    )


def _sum(
    total: Decimal | None, added: Decimal | None, without: Decimal | None = None
) -> Decimal | None:
    return None if total is None or added is None else total + added - (without or 0)
