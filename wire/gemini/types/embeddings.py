"""Embeddings: Contents as vectors."""

from __future__ import annotations

import enum

from wire.gemini.types.answer import ModalityTokenCount
from wire.gemini.types.base import GeminiStruct, OpenEnum
from wire.gemini.types.content import Content


class EmbedContentRequest(GeminiStruct, frozen=True, kw_only=True):
    """One Content to be made a vector: several texts in it make one vector together (G77)."""

    model: str | None = None
    """`models/X`, wanted in batches, and there equal to the path's."""
    content: Content | None = None
    embed_content_config: EmbedContentConfig | None = None
    """Since 2026-04-20."""
    task_type: OpenEnum | None = None
    """`TaskType`. Deprecated: the config has it."""
    title: str | None = None
    """Deprecated: the config has it."""
    output_dimensionality: int | None = None
    """Deprecated: the config has it."""


class EmbedContentConfig(GeminiStruct, frozen=True, kw_only=True):
    """How it is embedded. Since 2026-04-20."""

    task_type: OpenEnum | None = None
    """`TaskType`."""
    title: str | None = None
    """Of a document to be found."""
    output_dimensionality: int | None = None
    auto_truncate: bool | None = None
    document_ocr: bool | None = None
    audio_track_extraction: bool | None = None
    mime_type: str | None = None
    """google-genai 3.3.0 only."""


class EmbedContentResponse(GeminiStruct, frozen=True, kw_only=True):
    """The vector."""

    embedding: ContentEmbedding | None = None
    """Output only."""
    usage_metadata: EmbeddingUsageMetadata | None = None
    """Output only. Since 2026-04-07."""
    truncated: bool | None = None
    """Vertex only."""


class ContentEmbedding(GeminiStruct, frozen=True, kw_only=True):
    """A vector."""

    values: list[float] | None = None
    shape: list[int] | None = None
    """Of a tensor that `values` holds row by row."""
    statistics: ContentEmbeddingStatistics | None = None
    """Vertex only."""


class ContentEmbeddingStatistics(GeminiStruct, frozen=True, kw_only=True):
    """What became of the input. Vertex only."""

    token_count: float | None = None
    truncated: bool | None = None


class EmbeddingUsageMetadata(GeminiStruct, frozen=True, kw_only=True):
    """Tokens. Since 2026-04-07."""

    prompt_token_count: int | None = None
    """Output only."""
    prompt_token_details: list[ModalityTokenCount] | None = None
    """Output only."""
    prompt_tokens_details: list[ModalityTokenCount] | None = None
    """Seen on the wire (Vertex, once), in no inventory."""
    total_token_count: int | None = None
    """Seen on the wire (Vertex, once), in no inventory."""


class BatchEmbedContentsRequest(GeminiStruct, frozen=True, kw_only=True):
    """Many Contents, each to be a vector of its own."""

    requests: list[EmbedContentRequest] | None = None
    """At most 100 (G71)."""
    model: str | None = None
    """Seen on the wire, in no inventory."""


class BatchEmbedContentsResponse(GeminiStruct, frozen=True, kw_only=True):
    """The vectors, in the order of the requests."""

    embeddings: list[ContentEmbedding] | None = None
    """Output only."""
    usage_metadata: EmbeddingUsageMetadata | None = None
    """Output only. Since 2026-04-07."""


class TaskType(enum.StrEnum):
    """What an embedding is for."""

    RETRIEVAL_QUERY = "RETRIEVAL_QUERY"
    RETRIEVAL_DOCUMENT = "RETRIEVAL_DOCUMENT"
    SEMANTIC_SIMILARITY = "SEMANTIC_SIMILARITY"
    CLASSIFICATION = "CLASSIFICATION"
    CLUSTERING = "CLUSTERING"
    QUESTION_ANSWERING = "QUESTION_ANSWERING"
    FACT_VERIFICATION = "FACT_VERIFICATION"
    CODE_RETRIEVAL_QUERY = "CODE_RETRIEVAL_QUERY"
