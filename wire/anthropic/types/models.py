"""Models and their capabilities."""

from __future__ import annotations

from typing import Annotated

from wire.anthropic.types.base import AnthropicStruct
from wire.core.facts import SDK, Facts


class ModelList(AnthropicStruct, frozen=True, kw_only=True):
    """A page of models, the newest first."""

    data: list[ModelInfo] | None = None
    has_more: bool | None = None
    first_id: str | None = None
    last_id: str | None = None
    """Start of the next page: `list_models(after_id=...)`."""


class ModelInfo(AnthropicStruct, frozen=True, kw_only=True):
    """Metadata of a model."""

    id: str | None = None
    type: str | None = None
    """`model`."""
    display_name: str | None = None
    created_at: str | None = None
    """RFC 3339."""
    max_input_tokens: int | None = None
    max_tokens: int | None = None
    """Maximum of `MessageRequest.max_tokens`."""
    capabilities: ModelCapabilities | None = None
    lifecycle: str | None = None
    """`active`, `deprecated`, `retired`: requests for a retired model fail."""
    deprecated_at: str | None = None
    """RFC 3339."""
    retires_at: str | None = None
    """RFC 3339. A date in the past does not mean that the model is retired; `lifecycle` tells."""
    line: str | None = None
    """`opus`, `sonnet` and others."""


class ModelCapabilities(AnthropicStruct, frozen=True, kw_only=True):
    """Capabilities of a model."""

    batch: Capability | None = None
    citations: Capability | None = None
    code_execution: Capability | None = None
    compaction: Annotated[CompactionCapability | None, Facts(source=SDK)] = None
    context_management: ContextManagementCapability | None = None
    effort: EffortCapability | None = None
    image_input: Capability | None = None
    pdf_input: Capability | None = None
    server_tools: ServerToolsCapability | None = None
    structured_outputs: Capability | None = None
    thinking: ThinkingCapability | None = None


class Capability(AnthropicStruct, frozen=True, kw_only=True):
    """Whether the model supports it."""

    supported: bool | None = None


class ContextManagementCapability(Capability, frozen=True, kw_only=True):
    """The edits of `ContextManagement` that the model supports."""

    clear_thinking_20251015: Capability | None = None
    clear_tool_uses_20250919: Capability | None = None
    compact_20260112: Capability | None = None


class CompactionCapability(Capability, frozen=True, kw_only=True):
    """The values of `Compaction.type` that the model supports."""

    summarize: Capability | None = None


class ServerToolsCapability(Capability, frozen=True, kw_only=True):
    """The tools of the server that the model supports."""

    code_execution: Capability | None = None
    web_search: Capability | None = None


class EffortCapability(Capability, frozen=True, kw_only=True):
    """The values of `OutputConfig.effort` that the model supports."""

    low: Capability | None = None
    medium: Capability | None = None
    high: Capability | None = None
    xhigh: Capability | None = None
    max: Capability | None = None


class ThinkingCapability(Capability, frozen=True, kw_only=True):
    """Whether the model can think."""

    types: ThinkingTypes | None = None


class ThinkingTypes(AnthropicStruct, frozen=True, kw_only=True):
    """The values of `Thinking.type` that the model supports."""

    adaptive: Capability | None = None
    enabled: Capability | None = None
    between_tools: Capability | None = None
    disabled: Capability | None = None
