"""Dates in the headers of a response, by a clock that may be wrong."""

from __future__ import annotations

from collections.abc import Mapping

_SAME_TIME = 2.0
"""Seconds by which the clocks of a server and of this machine may differ and count as equal."""


def server_time(headers: Mapping[str, str], now: float) -> float:
    """Return the time of the server's clock, from its header `date`; `now` without a valid one.

    >>> server_time({"date": "Fri, 15 Jan 2027 08:00:00 GMT"}, 0)
    1800000000.0
    >>> server_time({"date": "Fri, 15 Jan 2027 08:00:00 GMT"}, 1_800_000_001.2)
    1800000001.2
    """
    date = http_date(headers.get("date", ""))
    # Within two seconds it is the delay of the response, and that the date has whole seconds.
    return now if date is None or abs(date - now) <= _SAME_TIME else date


def http_date(text: str) -> float | None:
    """Parse a date of HTTP; `None` for any other text."""
    if not text:
        return None
    # Both cost more than a third of `import httpx`, and few servers send a date.
    import datetime
    import email.utils

    try:
        date = email.utils.parsedate_to_datetime(text)
        # A date without a zone is in GMT (RFC 9110), not in the local zone.
        return (date if date.tzinfo else date.replace(tzinfo=datetime.UTC)).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None
