"""Pages of lists of items."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wire.testing.emulator.answer import Answer
from wire.testing.emulator.received import Received
from wire.testing.emulator.vendor import Refusal
from wire.testing.emulator.vendors.openai.chat import body_answer
from wire.testing.emulator.vendors.openai.errors import refusal

_LIMIT = 20
_MAX_LIMIT = 100
_MAX_DIGITS = 9


def page(items: Sequence[dict[str, Any]], request: Received) -> Answer:
    """Return a page of items, the newest first; the query may have `limit`, `order`, `after`.

    Raises `Refusal` for an invalid query.
    """
    order, after = request.query.get("order") or "desc", request.query.get("after")
    if order not in ("asc", "desc"):
        message = f"Invalid value: '{order}'. Supported values are: 'asc' and 'desc'."
        raise refusal(400, message, param="order", code="invalid_value")
    listed = list(items) if order == "asc" else list(reversed(items))
    ids = [item.get("id") for item in listed]
    if after is not None and after not in ids:
        raise refusal(400, f"Item with id '{after}' not found.", param="after")
    begin = ids.index(after) + 1 if after is not None else 0
    limit = _limit(request.query.get("limit"))
    return list_of(listed[begin : begin + limit], more=begin + limit < len(listed))


def list_of(items: Sequence[dict[str, Any]], *, more: bool = False) -> Answer:
    """Return a list of items."""
    ends = {
        "first_id": items[0].get("id") if items else None,
        "last_id": items[-1].get("id") if items else None,
    }
    return body_answer({"object": "list", "data": list(items), "has_more": more, **ends}, 200)


def _limit(value: str | None) -> int:
    if value is None:
        return _LIMIT
    if not value.isdecimal() or len(value) > _MAX_DIGITS:
        raise not_an_integer("limit", value)
    number = int(value)
    if number > _MAX_LIMIT:
        limit = f"Expected a value <= {_MAX_LIMIT}, but got {number} instead."
        message = f"Invalid 'limit': integer above maximum value. {limit}"
        raise refusal(400, message, param="limit", code="integer_above_max_value")
    if not number:
        limit = "Expected a value >= 1, but got 0 instead."
        message = f"Invalid 'limit': integer below minimum value. {limit}"
        raise refusal(400, message, param="limit", code="integer_below_min_value")
    return number


def not_an_integer(name: str, value: str) -> Refusal:
    """Build the refusal of a query parameter that is not an integer, or has too many digits."""
    message = f"Invalid type for '{name}': expected an integer, but got '{value[:20]}' instead."
    return refusal(400, message, param=name, code="invalid_type")
