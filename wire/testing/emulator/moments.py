"""Times without a clock: each thing is made a second after the one before, all on one day."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

CREATED = 1_795_262_400
"""The beginning: 2026-11-21T12:00:00Z, in seconds since 1970."""
DAY = 86_400
_FIRST = datetime.fromtimestamp(CREATED, UTC)


def timestamp(seconds: float) -> str:
    """Return the time so many seconds after the beginning.

    >>> timestamp(1), timestamp(1 + 2 * DAY)
    ('2026-11-21T12:00:01.000000Z', '2026-11-23T12:00:01.000000Z')
    """
    when = _FIRST + timedelta(seconds=seconds)
    return when.isoformat(timespec="microseconds").replace("+00:00", "Z")
