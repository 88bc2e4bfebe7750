"""Embeddings, each vendor's own body of InvokeModel: Titan, Cohere, Nova."""

from __future__ import annotations

from typing import Annotated, Any

from wire.converse.types.base import ConverseRequestStruct, ConverseStruct
from wire.core.facts import TRAFFIC, Facts
from wire.core.memory import WireStruct


class TitanEmbedRequest(ConverseRequestStruct, frozen=True, kw_only=True):
    """A text for a model of Titan."""

    input_text: Annotated[str | None, Facts(source=TRAFFIC)] = None
    dimensions: Annotated[int | None, Facts(source=TRAFFIC)] = None
    normalize: Annotated[bool | None, Facts(source=TRAFFIC)] = None
    embedding_types: Annotated[list[str] | None, Facts(source=TRAFFIC)] = None
    """`float`, `binary`."""


class TitanEmbedResponse(ConverseStruct, frozen=True, kw_only=True):
    """The vector of a text by Titan."""

    embedding: Annotated[list[float] | None, Facts(source=TRAFFIC)] = None
    embeddings_by_type: Annotated[dict[str, list[float]] | None, Facts(source=TRAFFIC)] = None
    input_text_token_count: Annotated[int | None, Facts(source=TRAFFIC)] = None


class CohereEmbedRequest(ConverseRequestStruct, frozen=True, kw_only=True, rename=None):
    """Texts for a model of Cohere, whose keys are snake_case."""

    texts: Annotated[list[str] | None, Facts(source=TRAFFIC)] = None
    input_type: Annotated[str | None, Facts(source=TRAFFIC)] = None
    """`search_document`, `search_query`, `classification`, `clustering`."""
    truncate: Annotated[str | None, Facts(source=TRAFFIC)] = None
    """`NONE`, `START`, `END`."""
    embedding_types: Annotated[list[str] | None, Facts(source=TRAFFIC)] = None
    """`float` and others: the answer then has an object of lists."""
    output_dimension: Annotated[int | None, Facts(source=TRAFFIC)] = None
    """Of embed-v4."""


class CohereEmbedResponse(WireStruct, frozen=True, kw_only=True):
    """The vectors of texts by Cohere."""

    id: Annotated[str | None, Facts(source=TRAFFIC)] = None
    texts: Annotated[list[str] | None, Facts(source=TRAFFIC)] = None
    embeddings: Annotated[
        list[list[float]] | dict[str, list[list[float]]] | None, Facts(source=TRAFFIC)
    ] = None
    response_type: Annotated[str | None, Facts(source=TRAFFIC)] = None
    """`embeddings_floats`, `embeddings_by_type`."""


class NovaEmbedRequest(ConverseRequestStruct, frozen=True, kw_only=True):
    """A text for a model of Nova."""

    task_type: Annotated[str | None, Facts(source=TRAFFIC)] = None
    """`SINGLE_EMBEDDING`."""
    single_embedding_params: Annotated[NovaEmbedParams | None, Facts(source=TRAFFIC)] = None


class NovaEmbedParams(ConverseRequestStruct, frozen=True, kw_only=True):
    """What is embedded, and for what."""

    embedding_purpose: Annotated[str | None, Facts(source=TRAFFIC)] = None
    """`GENERIC_INDEX`, `GENERIC_RETRIEVAL`, `CLASSIFICATION`, `CLUSTERING`."""
    embedding_dimension: Annotated[int | None, Facts(source=TRAFFIC)] = None
    text: Annotated[NovaEmbedText | None, Facts(source=TRAFFIC)] = None
    image: Annotated[dict[str, Any] | None, Facts(source=TRAFFIC)] = None


class NovaEmbedText(ConverseRequestStruct, frozen=True, kw_only=True):
    """A text to embed."""

    value: Annotated[str | None, Facts(source=TRAFFIC)] = None
    truncation_mode: Annotated[str | None, Facts(source=TRAFFIC)] = None
    """`NONE`, `START`, `END`."""


class NovaEmbedResponse(ConverseStruct, frozen=True, kw_only=True):
    """The vectors of a text by Nova."""

    embeddings: Annotated[list[NovaEmbedding] | None, Facts(source=TRAFFIC)] = None


class NovaEmbedding(ConverseStruct, frozen=True, kw_only=True):
    """One vector."""

    embedding_type: Annotated[str | None, Facts(source=TRAFFIC)] = None
    """`TEXT`."""
    embedding: Annotated[list[float] | None, Facts(source=TRAFFIC)] = None
