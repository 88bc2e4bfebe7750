"""Which keys the emulator takes: all but those that begin with bad, invalid, wrong or expired."""

from __future__ import annotations

import re

_WRONG = re.compile(r"(?i)^(bad|invalid|wrong|expired)")


def is_wrong(key: str) -> bool:
    """Return whether a key or token is refused.

    >>> is_wrong("expired-key"), is_wrong("any")
    (True, False)
    """
    return _WRONG.match(key) is not None
