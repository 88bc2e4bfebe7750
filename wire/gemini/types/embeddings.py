"""Embeddings: vectors of Contents."""

from __future__ import annotations

import enum
from typing import Annotated

from wire.core.facts import SDK, TRAFFIC, Facts
from wire.gemini.types.answer import ModalityTokenCount
from wire.gemini.types.base import GEMINI, VERTEX, GeminiStruct, OpenEnum
from wire.gemini.types.content import Content


class EmbedContentRequest(GeminiStruct, frozen=True, kw_only=True):
    """A Content to embed. All its texts together make one vector (G77)."""

    model: str | None = None
    """`models/X`. Required in batches, where it must equal the model of the path."""
    content: Content | None = None
    embed_content_config: Annotated[EmbedContentConfig | None, Facts(since="2026-04-20")] = None
    task_type: OpenEnum | None = None
    """`TaskType`. Deprecated; use `embed_content_config`."""
    title: str | None = None
    """Deprecated; use `embed_content_config`."""
    output_dimensionality: int | None = None
    """Deprecated; use `embed_content_config`."""


class EmbedContentConfig(GeminiStruct, frozen=True, kw_only=True):
    """Options of an embedding."""

    task_type: Annotated[OpenEnum | None, Facts(since="2026-04-20")] = None
    """`TaskType`."""
    title: Annotated[str | None, Facts(since="2026-04-20")] = None
    """Title of the document, for `RETRIEVAL_DOCUMENT`."""
    output_dimensionality: Annotated[int | None, Facts(since="2026-04-20")] = None
    auto_truncate: Annotated[bool | None, Facts(since="2026-04-20")] = None
    """The server shortens an input that is too long, instead of refusing it."""
    document_ocr: Annotated[bool | None, Facts(since="2026-04-20")] = None
    audio_track_extraction: Annotated[bool | None, Facts(since="2026-04-20")] = None
    mime_type: Annotated[str | None, Facts(hosts=VERTEX, source=SDK)] = None


class EmbedContentResponse(GeminiStruct, frozen=True, kw_only=True):
    """The vector."""

    embedding: ContentEmbedding | None = None
    """Output only."""
    usage_metadata: Annotated[EmbeddingUsageMetadata | None, Facts(since="2026-04-07")] = None
    """Output only."""
    truncated: Annotated[bool | None, Facts(hosts=VERTEX, source=SDK)] = None


class ContentEmbedding(GeminiStruct, frozen=True, kw_only=True):
    """A vector."""

    values: list[float] | None = None
    shape: list[int] | None = None
    """Shape of the tensor whose rows `values` holds."""
    statistics: Annotated[ContentEmbeddingStatistics | None, Facts(hosts=VERTEX, source=SDK)] = None


class ContentEmbeddingStatistics(GeminiStruct, frozen=True, kw_only=True):
    """How much of the input was embedded."""

    token_count: float | None = None
    truncated: bool | None = None


class EmbeddingUsageMetadata(GeminiStruct, frozen=True, kw_only=True):
    """Token counts."""

    prompt_token_count: Annotated[int | None, Facts(since="2026-04-07")] = None
    """Output only."""
    prompt_token_details: Annotated[list[ModalityTokenCount] | None, Facts(since="2026-04-07")] = (
        None
    )
    """Output only."""
    prompt_tokens_details: Annotated[
        list[ModalityTokenCount] | None, Facts(hosts=VERTEX, source=TRAFFIC)
    ] = None
    """Recorded once, in place of `prompt_token_details`."""
    total_token_count: Annotated[int | None, Facts(hosts=VERTEX, source=TRAFFIC)] = None
    """Recorded once."""


class BatchEmbedContentsRequest(GeminiStruct, frozen=True, kw_only=True):
    """Several Contents, each of which gets its own vector."""

    requests: list[EmbedContentRequest] | None = None
    """At most 100 (G71)."""
    model: Annotated[str | None, Facts(hosts=GEMINI, source=TRAFFIC)] = None
    """`models/X`."""


class BatchEmbedContentsResponse(GeminiStruct, frozen=True, kw_only=True):
    """The vectors, in the order of the requests."""

    embeddings: list[ContentEmbedding] | None = None
    """Output only."""
    usage_metadata: Annotated[EmbeddingUsageMetadata | None, Facts(since="2026-04-07")] = None
    """Output only."""


class TaskType(enum.StrEnum):
    """The purpose of an embedding."""

    RETRIEVAL_QUERY = "RETRIEVAL_QUERY"
    RETRIEVAL_DOCUMENT = "RETRIEVAL_DOCUMENT"
    SEMANTIC_SIMILARITY = "SEMANTIC_SIMILARITY"
    CLASSIFICATION = "CLASSIFICATION"
    CLUSTERING = "CLUSTERING"
    QUESTION_ANSWERING = "QUESTION_ANSWERING"
    FACT_VERIFICATION = "FACT_VERIFICATION"
    CODE_RETRIEVAL_QUERY = "CODE_RETRIEVAL_QUERY"
