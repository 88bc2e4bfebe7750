"""Pages of lists whose items have an `id`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a list."""

    items: Sequence[Mapping[str, Any]]
    more: bool = False
    """Whether the list goes on, in the direction of the page."""

    @property
    def ends(self) -> dict[str, Any]:
        """The ids of the first and of the last item, as the servers name them."""
        first, last = (self.items[0], self.items[-1]) if self.items else ({}, {})
        return {"first_id": first.get("id"), "last_id": last.get("id")}


def page_of(
    items: Sequence[Mapping[str, Any]], limit: int, after: str = "", before: str = ""
) -> Page:
    """Return the items after an id, the first `limit` of them, or the last ones before an id.

    Raises `ValueError` for an id that no item has.

    >>> page_of([{"id": "a"}, {"id": "b"}, {"id": "c"}], 1, after="a")
    Page(items=[{'id': 'b'}], more=True)
    """
    ids = [each.get("id") for each in items]
    if before:
        found = items[: ids.index(before)]
        return Page(found[-limit:], limit < len(found))
    found = items[ids.index(after) + 1 :] if after else items
    return Page(found[:limit], limit < len(found))
