"""Conversations: items that the server stores, and that responses read and extend."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from wire.openai.responses.types import ConversationRequest, ItemsRequest
from wire.testing.emulator.answer import Answer, json_bytes
from wire.testing.emulator.received import Received
from wire.testing.emulator.storage import Storage
from wire.testing.emulator.vendors.openai.chat import body_answer
from wire.testing.emulator.vendors.openai.errors import refusal
from wire.testing.emulator.vendors.openai.responses.hosts import CREATED
from wire.testing.emulator.vendors.openai.responses.lists import list_of, page
from wire.testing.emulator.vendors.openai.responses.requests import decoded, stored_form
from wire.testing.emulator.vendors.openai.responses.stored import Item

_MAX_ITEMS = 20


@dataclass(slots=True)
class _Conversation:
    described: dict[str, Any]
    items: list[Item] = field(default_factory=list)

    @property
    def size(self) -> int:
        return sum(len(json_bytes(item)) for item in self.items)


@dataclass(slots=True)
class Conversations:
    """The conversations of one emulator, shared by all keys."""

    storage: Storage
    _conversations: dict[str, _Conversation] = field(default_factory=dict)
    _made: int = 0

    # --- conversations ----------------------------------------------------------------------------

    def create(self, request: Received) -> Answer:
        """Store a conversation with its first items. Raises `Refusal`, `StorageFull`."""
        sent = decoded(request.body or b"{}", ConversationRequest)
        items = _checked(sent.get("items") or ())
        self.storage.add(0)
        self._made += 1
        digest = hashlib.sha256(f"conversation {self._made}".encode()).hexdigest()
        id = f"conv_{digest[:48]}"
        self._conversations[id] = _Conversation(
            {
                "id": id,
                "object": "conversation",
                "created_at": CREATED,
                "metadata": sent.get("metadata") or {},
            }
        )
        self._add(id, [stored_form(item, f"{id} {n}") for n, item in enumerate(items)])
        return self.get(id)

    def get(self, id: str) -> Answer:
        """Return a conversation without its items."""
        return body_answer(self._lookup(id).described, 200)

    def update(self, request: Received, id: str) -> Answer:
        """Replace the metadata."""
        sent, found = decoded(request.body, ConversationRequest), self._lookup(id)
        found.described["metadata"] = sent.get("metadata") or {}
        return body_answer(found.described, 200)

    def delete(self, id: str) -> Answer:
        """Forget a conversation with its items."""
        found = self._lookup(id)
        self.storage.remove(found.size, 1 + len(found.items))
        del self._conversations[id]
        return body_answer({"object": "conversation.deleted", "deleted": True, "id": id}, 200)

    # --- items ------------------------------------------------------------------------------------

    def items(self, id: str) -> list[Item]:
        """Return the items of a conversation, the oldest first.

        Raises `Refusal` if it is unknown.
        """
        return list(self._lookup(id).items)

    def extend(self, id: str, items: Iterable[Item]) -> None:
        """Add the items of a response, if the conversation is there. Raises `StorageFull`."""
        if id in self._conversations:
            self._add(id, items)

    def list_items(self, request: Received, id: str) -> Answer:
        """Return a page of the items."""
        return page(self._lookup(id).items, request)

    def add_items(self, request: Received, id: str) -> Answer:
        """Add items. Raises `Refusal`, `StorageFull`."""
        items, found = decoded(request.body, ItemsRequest)["items"], self._lookup(id)
        begin = len(found.items)
        added = [stored_form(i, f"{id} {begin + n}") for n, i in enumerate(_checked(items))]
        self._add(id, added)
        return list_of(added)

    def get_item(self, id: str, item_id: str) -> Answer:
        """Return one item."""
        return body_answer(self._item(id, item_id), 200)

    def delete_item(self, id: str, item_id: str) -> Answer:
        """Remove an item; the response is the conversation."""
        item = self._item(id, item_id)
        self._lookup(id).items.remove(item)
        self.storage.remove(len(json_bytes(item)))
        return self.get(id)

    def _add(self, id: str, items: Iterable[Item]) -> None:
        for item in items:
            self.storage.add(len(json_bytes(item)))
            self._conversations[id].items.append(item)

    def _lookup(self, id: str) -> _Conversation:
        found = self._conversations.get(id)
        if found is None:
            raise refusal(404, f"Conversation with id '{id}' not found.")
        return found

    def _item(self, id: str, item_id: str) -> Item:
        for item in self._lookup(id).items:
            if item.get("id") == item_id:
                return item
        raise refusal(404, f"Item with id '{item_id}' not found in conversation '{id}'.")


def conversation_id(body: Mapping[str, Any]) -> str:
    """Return the conversation of a request, or an empty string."""
    sent = body.get("conversation")
    return str((sent.get("id") if isinstance(sent, Mapping) else sent) or "")


def _checked(items: Sequence[Item]) -> Sequence[Item]:
    if len(items) > _MAX_ITEMS:
        message = (
            "Invalid 'items': array too long. Expected an array with maximum length "
            f"{_MAX_ITEMS}, but got an array with length {len(items)} instead."
        )
        raise refusal(400, message, param="items", code="array_above_max_length")
    return items
