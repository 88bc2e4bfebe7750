"""What the endpoints with a memory have in common: times without a clock, pages of a list."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from wire.testing.emulator.received import Received
from wire.testing.emulator.refusals import refusal

_BEGIN = datetime(2026, 11, 21, 12, tzinfo=UTC)


def timestamp(number: int, *, days: float = 0, seconds: float = 0) -> str:
    """The time of the `number`-th thing that was made.

    >>> timestamp(1), timestamp(1, days=2)
    ('2026-11-21T12:00:01.000000Z', '2026-11-23T12:00:01.000000Z')
    """
    when = _BEGIN + timedelta(days=days, seconds=seconds + number)
    return when.isoformat(timespec="microseconds").replace("+00:00", "Z")


def page(key: str, items: Sequence[Any], request: Received, size: int, most: int) -> dict[str, Any]:
    """One page of a list; the token of the next one is where it begins."""
    wanted, token = request.query.get("pageSize") or "", request.query.get("pageToken") or "0"
    if not token.isdecimal() or (wanted and not wanted.isdecimal()):
        raise refusal(400, "Request contains an invalid argument.")
    begin, count = int(token), min(int(wanted or 0) or size, most)
    shown = list(items[begin : begin + count])
    more = {"nextPageToken": str(begin + count)} if begin + count < len(items) else {}
    return {**({key: shown} if shown else {}), **more}
