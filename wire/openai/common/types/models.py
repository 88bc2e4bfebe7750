"""Models."""

from __future__ import annotations

from wire.openai.chat.types.base import OpenAIStruct


class ModelList(OpenAIStruct, frozen=True, kw_only=True):
    """All models, in one page."""

    object: str | None = None
    """`list`."""
    data: list[Model] | None = None


class Model(OpenAIStruct, frozen=True, kw_only=True):
    """What the server says of a model.

    What most hosts add, and each in its own words, is told by `wire.unknown`.
    """

    id: str | None = None
    object: str | None = None
    """`model`."""
    created: int | None = None
    """Unix time."""
    owned_by: str | None = None
    shutdown_date: str | None = None
    name: str | None = None
    """Mistral, OpenRouter, GitHub Copilot, Baseten: for people."""
    description: str | None = None
    """Mistral, OpenRouter, Baseten."""
    aliases: list[str] | None = None
    """Mistral, llama.cpp."""


class DeletedModel(OpenAIStruct, frozen=True, kw_only=True):
    """Answer of deleting a model of one's own."""

    id: str | None = None
    object: str | None = None
    deleted: bool | None = None
