"""What Google's server stores, and pages of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, TypeVar

from wire.testing.emulator.answer import Answer
from wire.testing.emulator.received import Received
from wire.testing.emulator.shelves import Shelf
from wire.testing.emulator.vendors.gemini.bodies import whole
from wire.testing.emulator.vendors.gemini.refusals import not_found, refusal

T = TypeVar("T")


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


class GeminiShelf(Shelf[T]):
    """The things of one kind that the server stores."""

    key: ClassVar[str]
    """The key of the items of a page."""
    sizes: ClassVar[tuple[int, int]] = (10, 100)
    """Usual and greatest number of them."""

    def missing(self, name: str) -> Exception:
        """Build the refusal of an id that no thing has."""
        return not_found()

    def answer(self, value: Any) -> Answer:
        """Return a response."""
        return whole(value)

    def page(self, items: Sequence[Mapping[str, Any]], request: Received) -> Any:
        """Return the page of a list that a request asks for."""
        return page(self.key, items, request, *self.sizes)

    def force(self, request: Received, what: str) -> None:
        """Raise `Refusal` for a request that deletes what is not empty without `force`."""
        if request.query.get("force", "").lower() != "true":
            message = f"Cannot delete non-empty {what}."
            raise refusal(400, message, code="FAILED_PRECONDITION")
