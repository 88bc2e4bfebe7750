"""What Anthropic's server stores, and pages of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, TypeVar

from wire.testing.emulator.answer import Answer, json_answer, json_bytes
from wire.testing.emulator.pages import page_of
from wire.testing.emulator.received import Received
from wire.testing.emulator.shelves import Shelf
from wire.testing.emulator.vendors.anthropic.errors import refusal

T = TypeVar("T")


def page(items: Sequence[Mapping[str, Any]], query: Mapping[str, str]) -> dict[str, Any]:
    """Return a page of items that have an `id`.

    The query may have `limit`, and `after_id` or `before_id`. Raises `Refusal` for a wrong one.
    """
    limit, ids = query.get("limit") or "20", [each["id"] for each in items]
    if not limit.isdecimal() or not 1 <= int(limit) <= 1000:
        raise refusal(400, "limit: Input should be between 1 and 1000")
    for name in ("after_id", "before_id"):
        if query.get(name) and query[name] not in ids:
            raise refusal(400, f"{name}: Invalid cursor")
    shown = page_of(items, int(limit), query.get("after_id", ""), query.get("before_id", ""))
    return {"data": list(shown.items), "has_more": shown.more, **shown.ends}


class AnthropicShelf(Shelf[T]):
    """The things of one kind that the server stores."""

    unknown: ClassVar[str]
    """The message for an unknown id."""
    kind: ClassVar[str]
    """The type of the response to a request that deleted a thing."""

    def missing(self, name: str) -> Exception:
        """Build the refusal of an id that no thing has."""
        return refusal(404, self.unknown.format(name))

    def answer(self, value: Any) -> Answer:
        """Return a response."""
        return json_answer(json_bytes(value))

    def page(self, items: Sequence[Mapping[str, Any]], request: Received) -> Any:
        """Return the page of a list that a request asks for."""
        return page(items, request.query)

    def deleted(self, name: str) -> Any:
        """Return the body of a response to a request that deleted a thing."""
        return {"id": name, "type": self.kind}
