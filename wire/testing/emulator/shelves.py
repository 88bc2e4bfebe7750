"""Things that a vendor stores for its clients, such as files and batches, and their endpoints.

All keys of an emulator share them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Generic, TypeVar

from wire.testing.emulator.answer import Answer
from wire.testing.emulator.received import Received
from wire.testing.emulator.routes import Route
from wire.testing.emulator.vendor import Settings

T = TypeVar("T")


class Shelf(Generic[T]):
    """The things of one kind, by id. A vendor says how it describes, lists and refuses them."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.storage = settings.storage
        self.number = 0
        """How many were stored; deleted ones count."""
        self._things: dict[str, tuple[T, int]] = {}

    # --- what a vendor says -----------------------------------------------------------------------

    def missing(self, name: str) -> Exception:
        """Build the refusal of an id that no thing has."""
        raise NotImplementedError

    def answer(self, value: Any) -> Answer:
        """Return a response."""
        raise NotImplementedError

    def page(self, items: Sequence[Mapping[str, Any]], request: Received) -> Any:
        """Return the page of a list that a request asks for."""
        raise NotImplementedError

    def deleted(self, name: str) -> Any:
        """Return the body of a response to a request that deleted a thing."""
        return {}

    def describe(self, thing: T, request: Received) -> Any:
        """Describe a thing as the server does."""
        return thing

    # --- things -----------------------------------------------------------------------------------

    def take(self, size: int) -> int:
        """Count a thing and its bytes, and return its number. Raises `StorageFull`."""
        self.storage.add(size)
        self.number += 1
        return self.number

    def put(self, name: str, thing: T, size: int) -> T:
        """Store a thing whose bytes have been counted, and return it."""
        self._things[name] = thing, size
        return thing

    def __contains__(self, name: object) -> bool:
        return name in self._things

    def __getitem__(self, name: str) -> T:
        if name not in self._things:
            raise self.missing(name)
        return self._things[name][0]

    def newest(self) -> list[T]:
        """Return all things, the newest first."""
        return [thing for thing, _ in reversed(self._things.values())]

    def remove(self, name: str) -> None:
        """Forget a thing."""
        self.storage.remove(self._things.pop(name)[1])

    # --- endpoints --------------------------------------------------------------------------------

    def get(self, request: Received, route: Route) -> Answer:
        """Return one thing."""
        return self.answer(self.describe(self[route.name], request))

    def listed(self, request: Received, route: Route) -> Answer:
        """Return one page, the newest first."""
        items = [self.describe(each, request) for each in self.newest()]
        return self.answer(self.page(items, request))

    def delete(self, request: Received, route: Route) -> Answer:
        """Delete a thing."""
        self.before_delete(self[route.name], request)
        self.remove(route.name)
        return self.answer(self.deleted(route.name))

    def before_delete(self, thing: T, request: Received) -> None:
        """Delete what belongs to a thing, or raise the refusal of one that cannot be deleted."""
