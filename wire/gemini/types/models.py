"""Models, and counting of tokens."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from wire.core.facts import SDK, TRAFFIC, Facts
from wire.gemini.types.answer import ModalityTokenCount
from wire.gemini.types.base import GEMINI, VERTEX, GeminiStruct
from wire.gemini.types.content import Content
from wire.gemini.types.request import GenerateContentRequest, GenerationConfig
from wire.gemini.types.tools import Tool

# --- count tokens ---------------------------------------------------------------------------------


class CountTokensRequest(GeminiStruct, frozen=True, kw_only=True):
    """Body of countTokens: contents alone, or a whole request."""

    contents: list[Content] | None = None
    """Excludes `generate_content_request`."""
    generate_content_request: Annotated[GenerateContentRequest | None, Facts(hosts=GEMINI)] = None
    """Counts the system instruction and the tools as well. Its `model` is required."""
    system_instruction: Annotated[Content | None, Facts(hosts=VERTEX, source=TRAFFIC)] = None
    """The Gemini API takes it inside `generate_content_request`, as the next two."""
    tools: Annotated[list[Tool] | None, Facts(hosts=VERTEX, source=TRAFFIC)] = None
    generation_config: Annotated[GenerationConfig | None, Facts(hosts=VERTEX, source=TRAFFIC)] = (
        None
    )


class CountTokensResponse(GeminiStruct, frozen=True, kw_only=True):
    """Response of countTokens."""

    total_tokens: int | None = None
    cached_content_token_count: int | None = None
    prompt_tokens_details: list[ModalityTokenCount] | None = None
    """Output only."""
    cache_tokens_details: list[ModalityTokenCount] | None = None
    """Output only."""
    total_billable_characters: Annotated[int | None, Facts(hosts=VERTEX, source=TRAFFIC)] = None
    content_tokens: Annotated[list[ContentTokens] | None, Facts(hosts=GEMINI, source=TRAFFIC)] = (
        None
    )
    """Recorded once."""
    system_instructions_tokens: Annotated[Any, Facts(hosts=GEMINI, source=TRAFFIC)] = msgspec.UNSET
    """Recorded once."""


class ContentTokens(GeminiStruct, frozen=True, kw_only=True):
    """Tokens of one Content. Recorded once; this library chose the name."""

    part_tokens: list[Any] | None = None
    role_tokens: Any = msgspec.UNSET


# --- models ---------------------------------------------------------------------------------------


class Model(GeminiStruct, frozen=True, kw_only=True):
    """Metadata of a model."""

    name: str | None = None
    """`models/ID`."""
    base_model_id: str | None = None
    """Required by the reference; responses lack it."""
    version: str | None = None
    display_name: str | None = None
    description: str | None = None
    input_token_limit: int | None = None
    output_token_limit: int | None = None
    supported_generation_methods: list[str] | None = None
    """`generateContent`, `countTokens`, ..."""
    temperature: float | None = None
    """The default."""
    max_temperature: float | None = None
    top_p: float | None = None
    """The default."""
    top_k: int | None = None
    """The default; absent if the model has no such option."""
    thinking: bool | None = None
    labels: Annotated[dict[str, str] | None, Facts(hosts=VERTEX, source=SDK)] = None
    default_checkpoint_id: Annotated[str | None, Facts(hosts=VERTEX, source=SDK)] = None
    checkpoints: Annotated[list[Checkpoint] | None, Facts(hosts=VERTEX, source=SDK)] = None


class Checkpoint(GeminiStruct, frozen=True, kw_only=True):
    """A checkpoint of a tuned model."""

    checkpoint_id: str | None = None
    epoch: int | str | None = None
    step: int | str | None = None


class ListModelsResponse(GeminiStruct, frozen=True, kw_only=True):
    """A page of models."""

    models: list[Model] | None = None
    next_page_token: str | None = None
    """Absent on the last page."""
