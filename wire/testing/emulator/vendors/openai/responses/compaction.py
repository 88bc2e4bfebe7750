"""Compaction of a long input, and the items that it stands for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

T = TypeVar("T", bound=Mapping[str, Any])

COMPACTION_TOKENS = 120
"""Tokens of a compaction, however long what it stands for is."""


def uncompacted(items: Sequence[T]) -> Sequence[T]:
    """Return the items from the newest compaction on, which stands for those before it.

    >>> uncompacted([{"type": "message"}, {"type": "compaction"}])
    [{'type': 'compaction'}]
    """
    for index in reversed(range(len(items))):
        if items[index].get("type") == "compaction":
            return items[index:]
    return items


def is_over(request: Mapping[str, Any], tokens: int) -> bool:
    """Return whether a request is over the threshold that it names."""
    entries = request.get("context_management") or ()
    named = (entry.get("compact_threshold") for entry in entries)
    return any(each is not None and tokens >= each for each in named)
