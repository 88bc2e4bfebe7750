"""Stored interactions: later requests continue them by id; the oldest of many are forgotten."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from wire.testing.emulator.answer import json_bytes
from wire.testing.emulator.storage import Storage

_SHARE = 4
"""The part of an emulator's storage that interactions take, since most clients delete none: the
oldest are forgotten beyond it."""
_POLLS = 1
"""How often a background interaction is fetched before it is complete."""


@dataclass(slots=True)
class Stored:
    """One interaction."""

    _body: bytes
    _timeline: bytes
    left: int = 0
    """How often it is still fetched before it is complete."""

    @property
    def size(self) -> int:
        """Bytes."""
        return len(self._body) + len(self._timeline)

    @property
    def body(self) -> dict[str, Any]:
        """The interaction as it ends, with the steps of the model alone."""
        body: dict[str, Any] = json.loads(self._body)
        return body

    @property
    def timeline(self) -> list[Any]:
        """The steps of the whole conversation, those of the model included."""
        steps: list[Any] = json.loads(self._timeline)
        return steps

    def cancel(self) -> None:
        """End an interaction that is not complete."""
        if self.left:
            self.left = 0
            body = {**self.body, "status": "cancelled", "steps": []}
            body.pop("usage", None)
            self._body = json_bytes(body)


@dataclass(slots=True)
class StoredInteractions:
    """The stored interactions of one emulator, shared by all keys."""

    storage: Storage
    _stored: OrderedDict[str, Stored] = field(default_factory=OrderedDict)
    _bytes: int = 0

    def get(self, id: str) -> Stored | None:
        """Return an interaction, or None."""
        return self._stored.get(id)

    def keep(self, body: Mapping[str, Any], timeline: list[Any], *, background: bool) -> None:
        """Store an interaction. The oldest are forgotten for it if there are many.

        One that is larger than all of their share is not stored.
        """
        id = str(body.get("id"))
        left = _POLLS if background else 0
        stored = Stored(json_bytes(dict(body)), json_bytes(timeline), left)
        self.remove(id)
        most, most_bytes = self.storage.max_items // _SHARE, self.storage.max_bytes // _SHARE
        if stored.size > most_bytes or not most:
            return
        while self._stored and (
            len(self._stored) >= most or self._bytes + stored.size > most_bytes
        ):
            self.remove(next(iter(self._stored)))
        self._stored[id] = stored
        self._bytes += stored.size

    def remove(self, id: str) -> None:
        """Forget an interaction, if it is there."""
        stored = self._stored.pop(id, None)
        if stored is not None:
            self._bytes -= stored.size
