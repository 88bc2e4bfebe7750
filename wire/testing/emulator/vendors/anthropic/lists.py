"""Pages of a list, as Anthropic's server gives them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from wire.testing.emulator.vendors.anthropic.errors import refusal


def page(items: Sequence[Mapping[str, Any]], query: Mapping[str, str]) -> dict[str, Any]:
    """Return a page of items that have an `id`.

    The query may have `limit`, and `after_id` or `before_id`. Raises `Refusal` for a wrong one.
    """
    limit, after, before = query.get("limit") or "20", query.get("after_id"), query.get("before_id")
    if not limit.isdecimal() or not 1 <= int(limit) <= 1000:
        raise refusal(400, "limit: Input should be between 1 and 1000")
    ids = [each["id"] for each in items]
    for name, cursor in (("after_id", after), ("before_id", before)):
        if cursor and cursor not in ids:
            raise refusal(400, f"{name}: Invalid cursor")
    if before:
        items = items[: ids.index(before)]
        shown = items[-int(limit) :]
    else:
        items = items[ids.index(after) + 1 :] if after else items
        shown = items[: int(limit)]
    return {
        "data": list(shown),
        "has_more": len(shown) < len(items),
        "first_id": shown[0]["id"] if shown else None,
        "last_id": shown[-1]["id"] if shown else None,
    }
