"""Models."""

from __future__ import annotations

from typing import Annotated

from wire.core.facts import TRAFFIC, Facts
from wire.openai.common.types.base import OpenAIStruct


class ModelList(OpenAIStruct, frozen=True, kw_only=True):
    """All models in one page."""

    object: str | None = None
    """`list`."""
    data: list[Model] | None = None


class Model(OpenAIStruct, frozen=True, kw_only=True):
    """Metadata of a model.

    Most hosts add fields of their own; `wire.unknown` lists them.
    """

    id: str | None = None
    object: str | None = None
    """`model`."""
    created: int | None = None
    """Unix time."""
    owned_by: str | None = None
    shutdown_date: str | None = None
    name: Annotated[
        str | None,
        Facts(hosts=("mistral", "openrouter", "github-copilot", "baseten"), source=TRAFFIC),
    ] = None
    """Name for people."""
    description: Annotated[
        str | None, Facts(hosts=("mistral", "openrouter", "baseten"), source=TRAFFIC)
    ] = None
    aliases: Annotated[list[str] | None, Facts(hosts=("mistral", "llama.cpp"), source=TRAFFIC)] = (
        None
    )


class DeletedModel(OpenAIStruct, frozen=True, kw_only=True):
    """Response of deleting a fine-tuned model."""

    id: str | None = None
    object: str | None = None
    deleted: bool | None = None
