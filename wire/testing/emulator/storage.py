"""How much an emulator stores for its clients, and what it remembers of their requests."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any


class StorageFull(Exception):
    """A request would store more than the limits allow; the vendor answers with its quota error."""


@dataclass(slots=True)
class Storage:
    """Counts what the stores of all vendors hold.

    >>> storage = Storage(max_items=1)
    >>> storage.add(100)
    >>> storage.add(1)
    Traceback (most recent call last):
    wire.testing.emulator.storage.StorageFull
    """

    max_items: int = 10_000
    max_bytes: int = 512 * 1024 * 1024
    _items: int = 0
    _bytes: int = 0

    def add(self, size: int, items: int = 1) -> None:
        """Count bytes that will be stored. Raises `StorageFull` instead of exceeding a limit."""
        if self._items + items > self.max_items or self._bytes + size > self.max_bytes:
            raise StorageFull
        self._items += items
        self._bytes += size

    def remove(self, size: int, items: int = 1) -> None:
        """Count bytes that were deleted."""
        self._items -= items
        self._bytes -= size


@dataclass(slots=True)
class Remembered:
    """A dict that forgets its oldest key beyond `max_keys`, for what no client can delete.

    >>> remembered = Remembered(max_keys=2)
    >>> for each in "abc":
    ...     remembered[each] = 1
    >>> "a" in remembered, "c" in remembered
    (False, True)
    """

    max_keys: int = 100_000
    _values: OrderedDict[Hashable, Any] = field(default_factory=OrderedDict)

    def __contains__(self, key: object) -> bool:
        return key in self._values

    def __setitem__(self, key: Hashable, value: Any) -> None:
        self._values[key] = value
        if len(self._values) > self.max_keys:
            self._values.popitem(last=False)

    def get(self, key: Hashable, default: Any = None) -> Any:
        """Return the value of a key."""
        return self._values.get(key, default)

    def counted(self, key: Hashable) -> int:
        """Count the calls with this key; return the number."""
        self[key] = number = self.get(key, 0) + 1
        return int(number)
