"""Endpoints of conversations as calls. A conversation is a list of items that the server stores.

Paths are relative to a base URL that ends in the version. Source of paths and bodies: OpenAI's API
reference 2.3.0, 2026-08-21.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from wire.core.arguments import checked_arguments
from wire.core.bodies import checked_body, wrong_type
from wire.core.call import Call
from wire.core.errors import RuleError, Violation
from wire.core.memory import WireStruct, notes
from wire.core.path_segment import path_segment
from wire.openai.common.endpoints import page
from wire.openai.responses.endpoints import included, needs_no_check, only_where_stored
from wire.openai.responses.stored import plain
from wire.openai.responses.types import (
    Conversation,
    ConversationRequest,
    DeletedConversation,
    Item,
    ItemList,
    ItemsRequest,
)

W = TypeVar("W", bound=WireStruct)

MAX_ITEMS_PER_REQUEST = 20


@checked_arguments()
def create_conversation(request: ConversationRequest | None = None) -> Call[Conversation]:
    """Build a call that creates a conversation, empty or with its first items.

    >>> create_conversation(ConversationRequest(items=[Item(role="user", content="Hi")])).body
    b'{"items":[{"role":"user","content":"Hi"}]}'

    `ResponseRequest.conversation` takes the `id` of the result. Raises `RuleError` with JSON paths
    for more than 20 items, a value of a wrong type, and one that JSON cannot encode.
    """
    request = ConversationRequest() if request is None else request
    if not isinstance(request, ConversationRequest):
        raise wrong_type("request", request, "ConversationRequest")
    _check_number(request.items or ())
    body, _ = checked_body(request, "items", needs_no_check)
    return _plain(Conversation, "POST", "/conversations", body, notes=notes(request))


@checked_arguments()
def get_conversation(conversation_id: str) -> Call[Conversation]:
    """Build a call that returns a conversation without its items.

    >>> get_conversation("conv_1").path
    '/conversations/conv_1'

    Raises `ConfigurationError` for a malformed id.
    """
    return _plain(Conversation, "GET", _path(conversation_id))


@checked_arguments()
def update_conversation(conversation_id: str, metadata: Mapping[str, str]) -> Call[Conversation]:
    """Build a call that replaces the metadata of a conversation.

    >>> update_conversation("conv_1", {"topic": "tides"}).body
    b'{"metadata":{"topic":"tides"}}'

    Raises `ConfigurationError` for a malformed id, `RuleError` for metadata that are not texts.
    """
    if not isinstance(metadata, Mapping):
        raise wrong_type("metadata", metadata, "mapping of texts to texts")
    body, _ = checked_body(ConversationRequest(metadata=dict(metadata)))
    return _plain(Conversation, "POST", _path(conversation_id), body)


@checked_arguments()
def delete_conversation(conversation_id: str) -> Call[DeletedConversation]:
    """Build a call that deletes a conversation.

    >>> delete_conversation("conv_1").method
    'DELETE'

    Raises `ConfigurationError` for a malformed id.
    """
    return _plain(DeletedConversation, "DELETE", _path(conversation_id))


@checked_arguments()
def list_items(
    conversation_id: str,
    *,
    limit: int | None = None,
    order: str | None = None,
    after: str | None = None,
    include: Sequence[str] = (),
) -> Call[ItemList]:
    """Build a call that returns one page of the items of a conversation.

    >>> list_items("conv_1", limit=2).target
    '/conversations/conv_1/items?limit=2'

    Parameters and errors are those of `list_input_items`.
    """
    query = page(limit, order, after) | included(include)
    return _plain(ItemList, "GET", f"{_path(conversation_id)}/items", query=query)


@checked_arguments()
def add_items(
    conversation_id: str, items: Sequence[Item], *, include: Sequence[str] = ()
) -> Call[ItemList]:
    """Build a call that adds items to the end of a conversation, and returns them with their ids.

    >>> add_items("conv_1", [Item(role="user", content="Hi")]).body
    b'{"items":[{"role":"user","content":"Hi"}]}'

    Received items are sent in their own bytes. Raises `ConfigurationError` for a malformed id or
    `include`, `RuleError` with JSON paths for none or more than 20 items, a value of a wrong type,
    and one that JSON cannot encode.
    """
    if not isinstance(items, (list, tuple)) or not items:
        raise wrong_type("items", items, "non-empty list of Items")
    _check_number(items)
    request = ItemsRequest(items=list(items))
    body, _ = checked_body(request, "items", needs_no_check)
    return _plain(
        ItemList,
        "POST",
        f"{_path(conversation_id)}/items",
        body,
        query=included(include),
        notes=notes(request),
    )


@checked_arguments()
def get_item(conversation_id: str, item_id: str, *, include: Sequence[str] = ()) -> Call[Item]:
    """Build a call that returns one item of a conversation.

    >>> get_item("conv_1", "msg_1").path
    '/conversations/conv_1/items/msg_1'

    Raises `ConfigurationError` for a malformed id or `include`.
    """
    return _plain(Item, "GET", _item_path(conversation_id, item_id), query=included(include))


@checked_arguments()
def delete_item(conversation_id: str, item_id: str) -> Call[Conversation]:
    """Build a call that deletes one item of a conversation, and returns the conversation.

    >>> delete_item("conv_1", "msg_1").method
    'DELETE'

    Raises `ConfigurationError` for a malformed id.
    """
    return _plain(Conversation, "DELETE", _item_path(conversation_id, item_id))


def _plain(kind: type[W], method: str, path: str, body: bytes = b"", **more: Any) -> Call[W]:
    return plain(kind, method, path, body, host_rules=only_where_stored, **more)


def _path(conversation_id: str) -> str:
    return f"/conversations/{path_segment('conversation_id', conversation_id, 'conv_1')}"


def _item_path(conversation_id: str, item_id: str) -> str:
    return f"{_path(conversation_id)}/items/{path_segment('item_id', item_id, 'msg_1')}"


def _check_number(items: Sequence[Item]) -> None:
    if len(items) > MAX_ITEMS_PER_REQUEST:
        message = f"at most {MAX_ITEMS_PER_REQUEST} items, not {len(items)}"
        raise RuleError(violations=[Violation("items", message)])
