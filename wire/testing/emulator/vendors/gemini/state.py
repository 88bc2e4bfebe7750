"""Timestamps without a clock, and pages of a list, for endpoints that store things."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from wire.testing.emulator.received import Received
from wire.testing.emulator.vendors.gemini.refusals import refusal

_FIRST = datetime(2026, 11, 21, 12, tzinfo=UTC)


def timestamp(number: int, *, days: float = 0, seconds: float = 0) -> str:
    """Return the time of storing item `number`: each is a second later than the one before.

    >>> timestamp(1), timestamp(1, days=2)
    ('2026-11-21T12:00:01.000000Z', '2026-11-23T12:00:01.000000Z')
    """
    when = _FIRST + timedelta(days=days, seconds=seconds + number)
    return when.isoformat(timespec="microseconds").replace("+00:00", "Z")


def page(
    key: str, items: Sequence[Any], request: Received, size: int, max_size: int
) -> dict[str, Any]:
    """Return one page of a list; the token of the next page is the index of its first item."""
    requested, token = request.query.get("pageSize") or "", request.query.get("pageToken") or "0"
    numbers = [token, requested or "0"]
    # Python refuses to read a number of more than 4,300 digits.
    if not all(each.isdecimal() and len(each) < 20 for each in numbers):
        raise refusal(400, "Request contains an invalid argument.")
    begin, count = int(token), min(int(requested or 0) or size, max_size)
    shown = list(items[begin : begin + count])
    token_of_next = {"nextPageToken": str(begin + count)} if begin + count < len(items) else {}
    return {**({key: shown} if shown else {}), **token_of_next}
