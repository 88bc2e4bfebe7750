"""Conversations, which the server stores."""

from __future__ import annotations

from wire.openai.common.types.base import OpenAIStruct
from wire.openai.responses.types.items import Item


class Conversation(OpenAIStruct, frozen=True, kw_only=True):
    """A conversation, without its items."""

    id: str | None = None
    object: str | None = None
    """`conversation`."""
    created_at: int | None = None
    """Unix time."""
    metadata: dict[str, str] | None = None


class ConversationRequest(OpenAIStruct, frozen=True, kw_only=True):
    """Body of a request that creates or updates a conversation."""

    metadata: dict[str, str] | None = None
    """At most 16 entries."""
    items: list[Item] | None = None
    """The first items, at most 20. An update takes none."""


class ItemsRequest(OpenAIStruct, frozen=True, kw_only=True):
    """Body of a request that adds items to a conversation."""

    items: list[Item]
    """At most 20."""


class DeletedConversation(OpenAIStruct, frozen=True, kw_only=True):
    """Response of deleting a conversation."""

    id: str | None = None
    object: str | None = None
    """`conversation.deleted`."""
    deleted: bool | None = None
