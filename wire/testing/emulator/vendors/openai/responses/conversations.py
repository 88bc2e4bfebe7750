"""Conversations: items that the server stores, and that responses read and extend."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from wire.openai.responses.types import ConversationRequest, ItemsRequest
from wire.testing.emulator.answer import Answer, json_bytes
from wire.testing.emulator.moments import CREATED
from wire.testing.emulator.pages import Page
from wire.testing.emulator.received import Received
from wire.testing.emulator.routes import Route
from wire.testing.emulator.signing import digest
from wire.testing.emulator.vendors.openai.chat import body_answer
from wire.testing.emulator.vendors.openai.errors import refusal, too_many
from wire.testing.emulator.vendors.openai.lists import OpenAIShelf, items_page, list_of
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


class Conversations(OpenAIShelf[_Conversation]):
    """The conversations of one emulator."""

    unknown = "Conversation with id '{}' not found."
    param = None
    kind = "conversation.deleted"

    def describe(self, thing: _Conversation, request: Received) -> Any:
        """Describe a conversation, without its items."""
        return thing.described

    def before_delete(self, thing: _Conversation, request: Received) -> None:
        """Delete the items."""
        self.storage.remove(thing.size, len(thing.items))

    def create(self, request: Received, route: Route) -> Answer:
        """Store a conversation with its first items. Raises `Refusal`, `StorageFull`."""
        sent = decoded(request.body or b"{}", ConversationRequest)
        items = _checked(sent.get("items") or ())
        id = f"conv_{digest(f'conversation {self.take(0)}')[:48]}"
        described = {
            "id": id,
            "object": "conversation",
            "created_at": CREATED,
            "metadata": sent.get("metadata") or {},
        }
        self.put(id, _Conversation(described), 0)
        self.extend(id, [stored_form(item, f"{id} {n}") for n, item in enumerate(items)])
        return self.answer(described)

    def update(self, request: Received, route: Route) -> Answer:
        """Replace the metadata."""
        sent = decoded(request.body, ConversationRequest)
        self[route.name].described["metadata"] = sent.get("metadata") or {}
        return self.get(request, route)

    def extend(self, id: str, items: Iterable[Item]) -> None:
        """Add items to a conversation, if it is there. Raises `StorageFull`."""
        for item in items if id in self else ():
            self.storage.add(len(json_bytes(item)))
            self[id].items.append(item)


@dataclass(frozen=True, slots=True)
class Items:
    """The items of the conversations."""

    conversations: Conversations

    def listed(self, request: Received, route: Route) -> Answer:
        """Return a page of the items."""
        return items_page(self.conversations[route.parent].items, request)

    def create(self, request: Received, route: Route) -> Answer:
        """Add items. Raises `Refusal`, `StorageFull`."""
        items, id = decoded(request.body, ItemsRequest)["items"], route.parent
        begin = len(self.conversations[id].items)
        added = [stored_form(i, f"{id} {begin + n}") for n, i in enumerate(_checked(items))]
        self.conversations.extend(id, added)
        return list_of(Page(added))

    def get(self, request: Received, route: Route) -> Answer:
        """Return one item."""
        return body_answer(self._item(route), 200)

    def delete(self, request: Received, route: Route) -> Answer:
        """Remove an item; the response is the conversation."""
        item, found = self._item(route), self.conversations[route.parent]
        found.items.remove(item)
        self.conversations.storage.remove(len(json_bytes(item)))
        return body_answer(found.described, 200)

    def _item(self, route: Route) -> Item:
        for item in self.conversations[route.parent].items:
            if item.get("id") == route.name:
                return item
        message = f"Item with id '{route.name}' not found in conversation '{route.parent}'."
        raise refusal(404, message)


def conversation_id(body: Mapping[str, Any]) -> str:
    """Return the conversation of a request, or an empty string."""
    sent = body.get("conversation")
    return str((sent.get("id") if isinstance(sent, Mapping) else sent) or "")


def _checked(items: Sequence[Item]) -> Sequence[Item]:
    if len(items) > _MAX_ITEMS:
        raise too_many("items", _MAX_ITEMS, len(items))
    return items
