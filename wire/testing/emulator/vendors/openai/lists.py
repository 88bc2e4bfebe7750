"""What OpenAI's server stores, and pages of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, TypeVar

from wire.testing.emulator.answer import Answer
from wire.testing.emulator.pages import Page, page_of
from wire.testing.emulator.received import Received
from wire.testing.emulator.shelves import Shelf
from wire.testing.emulator.vendor import Refusal
from wire.testing.emulator.vendors.openai.chat import body_answer
from wire.testing.emulator.vendors.openai.errors import refusal

T = TypeVar("T")

_LIMIT = 20
_MAX_LIMIT = 100
_MAX_DIGITS = 9


class OpenAIShelf(Shelf[T]):
    """The things of one kind that the server stores."""

    unknown: ClassVar[str]
    """The message for an unknown id."""
    param: ClassVar[str | None] = "id"
    """The parameter that it is about."""
    kind: ClassVar[str] = ""
    """The object of the response to a request that deleted a thing."""
    limit = "20"
    """Items of a page, unless the query says it."""

    def missing(self, name: str) -> Exception:
        """Build the refusal of an id that no thing has."""
        return refusal(404, self.unknown.format(name), param=self.param)

    def answer(self, value: Any) -> Answer:
        """Return a response."""
        return body_answer(value, 200)

    def page(self, items: Sequence[Mapping[str, Any]], request: Received) -> Any:
        """Return the page of a list that a request asks for with `limit` and `after`."""
        limit, after = request.query.get("limit") or self.limit, request.query.get("after")
        if not limit.isdecimal() or (after is not None and after not in [i["id"] for i in items]):
            raise refusal(400, "Invalid value of 'limit' or 'after'.")
        shown = page_of(items, int(limit), after or "")
        return {"object": "list", "data": shown.items, **shown.ends, "has_more": shown.more}

    def deleted(self, name: str) -> Any:
        """Return the body of a response to a request that deleted a thing."""
        return {"object": self.kind, "deleted": True, "id": name}


def items_page(items: Sequence[Mapping[str, Any]], request: Received) -> Answer:
    """Return a page of items, the newest first; the query may have `limit`, `order`, `after`.

    Raises `Refusal` for an invalid query.
    """
    order, after = request.query.get("order") or "desc", request.query.get("after")
    if order not in ("asc", "desc"):
        message = f"Invalid value: '{order}'. Supported values are: 'asc' and 'desc'."
        raise refusal(400, message, param="order", code="invalid_value")
    if after is not None and after not in [item.get("id") for item in items]:
        raise refusal(400, f"Item with id '{after}' not found.", param="after")
    limit = _limit(request.query.get("limit"))
    return list_of(page_of(items if order == "asc" else items[::-1], limit, after or ""))


def list_of(page: Page) -> Answer:
    """Return a list of items."""
    body = {"object": "list", "data": page.items, "has_more": page.more, **page.ends}
    return body_answer(body, 200)


def _limit(value: str | None) -> int:
    if value is None:
        return _LIMIT
    if not value.isdecimal() or len(value) > _MAX_DIGITS:
        raise not_an_integer("limit", value)
    if 1 <= int(value) <= _MAX_LIMIT:
        return int(value)
    above = int(value) > _MAX_LIMIT
    word, bound = ("above maximum", f"<= {_MAX_LIMIT}") if above else ("below minimum", ">= 1")
    message = f"Invalid 'limit': integer {word} value. Expected a value {bound}, but got "
    code = "integer_above_max_value" if above else "integer_below_min_value"
    raise refusal(400, f"{message}{int(value)} instead.", param="limit", code=code)


def not_an_integer(name: str, value: str) -> Refusal:
    """Build the refusal of a query parameter that is not an integer, or has too many digits."""
    message = f"Invalid type for '{name}': expected an integer, but got '{value[:20]}' instead."
    return refusal(400, message, param=name, code="invalid_type")
