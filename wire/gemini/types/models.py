"""Models, and counting tokens."""

from __future__ import annotations

from typing import Any

import msgspec

from wire.gemini.types.answer import ModalityTokenCount
from wire.gemini.types.base import GeminiStruct
from wire.gemini.types.content import Content
from wire.gemini.types.request import GenerateContentRequest, GenerationConfig
from wire.gemini.types.tools import Tool

# --- count tokens ---------------------------------------------------------------------------------


class CountTokensRequest(GeminiStruct, frozen=True, kw_only=True):
    """Body of countTokens: contents alone, or a whole request."""

    contents: list[Content] | None = None
    """Excludes `generate_content_request`."""
    generate_content_request: GenerateContentRequest | None = None
    """Gemini API: counts system and tools too; needs `model` in it."""
    system_instruction: Content | None = None
    """Vertex only; seen on the wire, in no inventory."""
    tools: list[Tool] | None = None
    """Vertex only; seen on the wire, in no inventory."""
    generation_config: GenerationConfig | None = None
    """Vertex only; seen on the wire, in no inventory."""


class CountTokensResponse(GeminiStruct, frozen=True, kw_only=True):
    """Answer of countTokens."""

    total_tokens: int | None = None
    cached_content_token_count: int | None = None
    prompt_tokens_details: list[ModalityTokenCount] | None = None
    """Output only."""
    cache_tokens_details: list[ModalityTokenCount] | None = None
    """Output only."""
    total_billable_characters: int | None = None
    """Vertex only; seen on the wire, in no inventory."""
    content_tokens: list[ContentTokens] | None = None
    """Seen on the wire (Gemini API, once), in no inventory."""
    system_instructions_tokens: Any = msgspec.UNSET
    """Seen on the wire (Gemini API, once), in no inventory."""


class ContentTokens(GeminiStruct, frozen=True, kw_only=True):
    """Tokens of one content. Seen on the wire once, in no inventory; the name is ours."""

    part_tokens: list[Any] | None = None
    role_tokens: Any = msgspec.UNSET


# --- models ---------------------------------------------------------------------------------------


class Model(GeminiStruct, frozen=True, kw_only=True):
    """What the server says of a model."""

    name: str | None = None
    """`models/ID`."""
    base_model_id: str | None = None
    """Marked required in the snapshot, but answers lack it."""
    version: str | None = None
    display_name: str | None = None
    description: str | None = None
    input_token_limit: int | None = None
    output_token_limit: int | None = None
    supported_generation_methods: list[str] | None = None
    """`generateContent`, `countTokens`, ..."""
    temperature: float | None = None
    """Default."""
    max_temperature: float | None = None
    top_p: float | None = None
    """Default."""
    top_k: int | None = None
    """Default; absent if the model has no such setting."""
    thinking: bool | None = None
    labels: dict[str, str] | None = None
    """Vertex only."""
    default_checkpoint_id: str | None = None
    """Vertex only."""
    checkpoints: list[Checkpoint] | None = None
    """Vertex only."""


class Checkpoint(GeminiStruct, frozen=True, kw_only=True):
    """A stage of a tuned model. Vertex only."""

    checkpoint_id: str | None = None
    epoch: int | str | None = None
    step: int | str | None = None


class ListModelsResponse(GeminiStruct, frozen=True, kw_only=True):
    """A page of models."""

    models: list[Model] | None = None
    next_page_token: str | None = None
    """Absent on the last page."""
