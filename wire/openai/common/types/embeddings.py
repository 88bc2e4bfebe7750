"""Embeddings."""

from __future__ import annotations

from typing import Annotated, Any

from wire.core.facts import TRAFFIC, Facts
from wire.openai.common.types.base import OpenAIStruct


class EmbeddingRequest(OpenAIStruct, frozen=True, kw_only=True):
    """Body of embeddings."""

    model: str | None = None
    """As `ChatCompletionRequest.model`."""
    input: str | list[Any]
    """A text, a list of texts, the tokens of one text, or those of several.

    `Any`, because a union in msgspec may have one kind of list only.
    """
    encoding_format: str | None = None
    """`float`, `base64`."""
    dimensions: int | None = None
    output_dimension: Annotated[int | None, Facts(hosts=("mistral",), source=TRAFFIC)] = None
    """Mistral's name of `dimensions`."""
    user: str | None = None


class EmbeddingList(OpenAIStruct, frozen=True, kw_only=True):
    """Response of embeddings."""

    object: str | None = None
    """`list`."""
    data: list[Embedding] | None = None
    model: str | None = None
    usage: EmbeddingUsage | None = None
    id: Annotated[str | None, Facts(hosts=("azure", "mistral", "openrouter"), source=TRAFFIC)] = (
        None
    )


class Embedding(OpenAIStruct, frozen=True, kw_only=True):
    """The vector of one text."""

    object: str | None = None
    """`embedding`."""
    index: int | None = None
    """Position of the text in `EmbeddingRequest.input`."""
    embedding: list[float] | str | None = None
    """A text is base64 of little-endian float32."""


class EmbeddingUsage(OpenAIStruct, frozen=True, kw_only=True):
    """Token counts."""

    prompt_tokens: int | None = None
    total_tokens: int | None = None
    completion_tokens: Annotated[int | None, Facts(hosts=("azure", "mistral"), source=TRAFFIC)] = (
        None
    )
    """Always 0."""
    cost: Annotated[
        float | dict[str, Any] | None, Facts(hosts=("openrouter", "perplexity"), source=TRAFFIC)
    ] = None
    """As `CompletionUsage.cost`."""
