"""Stored responses: later requests continue them by id; the oldest of many are forgotten."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from wire.testing.emulator.answer import json_bytes
from wire.testing.emulator.storage import Storage, StorageFull

_SHARE = 4
"""The part of an emulator's storage that responses take, since most clients delete none: the
oldest are forgotten beyond it."""
_UNLISTED = ("reasoning",)
_POLLS = 1
"""How often a background response is fetched before it is complete."""

Item = dict[str, Any]


@dataclass(slots=True)
class Stored:
    """One response."""

    _response: bytes
    _input: bytes
    previous: str = ""
    """The response that it continues."""
    continues: bool = True
    """Whether a later response may continue it; not with `store: false`."""
    background: bool = False
    streamed: bool = False
    left: int = 0
    """How often it is still fetched before it is complete."""
    item_ids: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """Bytes."""
        return len(self._response) + len(self._input)

    @property
    def response(self) -> dict[str, Any]:
        """The response, which a stream of it ends with."""
        response: dict[str, Any] = json.loads(self._response)
        return response

    @property
    def input(self) -> list[Item]:
        """Its own input, each item with an id."""
        items: list[Item] = json.loads(self._input)
        return items

    def cancel(self) -> None:
        """End a response that is not complete."""
        if self.left:
            self.left = 0
            ended: Item = {"status": "cancelled", "output": [], "usage": None, "completed_at": None}
            self._response = json_bytes({**self.response, **ended})


@dataclass(slots=True)
class StoredResponses:
    """The stored responses of one emulator, shared by all keys."""

    storage: Storage
    _stored: OrderedDict[str, Stored] = field(default_factory=OrderedDict)
    _owners: dict[str, str] = field(default_factory=dict)
    _bytes: int = 0

    def get(self, id: str) -> Stored | None:
        """Return a response, or None."""
        return self._stored.get(id)

    def keep(
        self, response: Mapping[str, Any], input: Sequence[Item], *, continues: bool, streamed: bool
    ) -> None:
        """Store a response with its own input. The oldest are forgotten for it if there are many.

        A response that is larger than all of their share is not stored.
        """
        id, background = str(response.get("id")), bool(response.get("background"))
        items = [*input, *_items(response)]
        stored = Stored(
            json_bytes(response),
            json_bytes(list(input)),
            previous=str(response.get("previous_response_id") or ""),
            continues=continues,
            background=background,
            streamed=streamed,
            left=_POLLS if background and not streamed else 0,
            item_ids=tuple(str(item["id"]) for item in items if item.get("id") is not None),
        )
        self.remove(id)
        most, most_bytes = self.storage.max_items // _SHARE, self.storage.max_bytes // _SHARE
        if stored.size > most_bytes or not most:
            return
        while len(self._stored) >= most or self._bytes + stored.size > most_bytes:
            self.remove(next(iter(self._stored)))
        try:
            self.storage.add(stored.size)
        except StorageFull:
            return  # other things fill the storage; they are not forgotten for a response
        self._stored[id] = stored
        self._bytes += stored.size
        for each in stored.item_ids:
            self._owners.setdefault(each, id)  # a later one only repeats the item

    def remove(self, id: str) -> None:
        """Forget a response, if it is there."""
        stored = self._stored.pop(id, None)
        if stored is not None:
            self.storage.remove(stored.size)
            self._bytes -= stored.size
            for each in stored.item_ids:
                if self._owners.get(each) == id:
                    del self._owners[each]

    def item(self, id: str) -> Item | None:
        """Return an item of any response that later ones may continue."""
        stored = self._stored.get(self._owners.get(id, ""))
        if stored is None or not stored.continues:
            return None
        items = [*stored.input, *_items(stored.response)]
        return next((item for item in items if item.get("id") == id), None)

    def neighbours(self, id: str) -> tuple[Item | None, Item | None]:
        """Return the reasoning before an item of a response, and the item after it.

        The first is None for reasoning itself, the second for anything else.
        """
        stored = self._stored.get(self._owners.get(id, ""))
        if stored is None or not stored.continues:
            return None, None
        reasoning, wanted = None, False
        for item in _items(stored.response):
            if wanted:
                return None, item
            if item.get("type") == "reasoning":
                reasoning, wanted = item, item.get("id") == id
            elif item.get("id") == id:
                return reasoning, None
        return None, None

    def context(self, id: str) -> list[Item]:
        """Return the items of a response and of all that it continues, the oldest first."""
        turns: list[list[Item]] = []
        seen: set[str] = set()
        while (stored := self._stored.get(id)) is not None and id not in seen:
            seen.add(id)
            turns.append([*stored.input, *_items(stored.response)])
            id = stored.previous
        return [item for turn in reversed(turns) for item in turn]

    def input_of(self, stored: Stored) -> Iterator[Item]:
        """Yield the items that a response answered, without reasoning."""
        for item in [*self.context(stored.previous), *stored.input]:
            if item.get("type") not in _UNLISTED:
                yield item


def _items(response: Mapping[str, Any]) -> list[Item]:
    return [item for item in response.get("output") or () if isinstance(item, dict)]
