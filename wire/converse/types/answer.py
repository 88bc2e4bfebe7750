"""Answers, and the events of a stream."""

from __future__ import annotations

from typing import Annotated, Any

from wire.converse.types.base import ConverseStruct
from wire.converse.types.content import (
    Citation,
    ContentBlock,
    ErrorBlock,
    ImageSource,
    Message,
    text_of,
)
from wire.converse.types.guardrails import GuardrailTraceAssessment
from wire.converse.types.request import PerformanceConfig, ServiceTier
from wire.core.facts import TRAFFIC, Facts


class ConverseResponse(ConverseStruct, frozen=True, kw_only=True):
    """A complete answer."""

    output: ConverseOutput | None = None
    stop_reason: str | None = None
    """`end_turn`, `tool_use`, `max_tokens`, `stop_sequence`, `guardrail_intervened`,
    `content_filtered`, `malformed_model_output`, `malformed_tool_use`,
    `model_context_window_exceeded`.
    """
    usage: TokenUsage | None = None
    metrics: ConverseMetrics | None = None
    additional_model_response_fields: Any = None
    trace: ConverseTrace | None = None
    performance_config: PerformanceConfig | None = None
    service_tier: ServiceTier | None = None

    @property
    def content(self) -> list[ContentBlock]:
        """The blocks of the message; empty without a message."""
        message = self.output.message if self.output is not None else None
        return (message.content if message is not None else None) or []

    @property
    def text(self) -> str:
        """The text of the message; `""` if it has none."""
        return text_of(self.content)


class ConverseOutput(ConverseStruct, frozen=True, kw_only=True):
    """What the model made: an object with one key."""

    message: Message | None = None
    """Absent if a guardrail stepped in before there was any content."""


class TokenUsage(ConverseStruct, frozen=True, kw_only=True):
    """Token counts. Tokens that were read from the cache or written to it are not in
    `inputTokens`.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    total_tokens: int | None = None
    """Sum of all."""
    cache_read_input_tokens: int | None = None
    cache_write_input_tokens: int | None = None
    cache_details: list[CacheDetail] | None = None
    """Tokens that were written to the cache, by lifetime."""
    cache_read_input_token_count: Annotated[int | None, Facts(source=TRAFFIC)] = None
    """The same as `cacheReadInputTokens`."""
    cache_write_input_token_count: Annotated[int | None, Facts(source=TRAFFIC)] = None
    """The same as `cacheWriteInputTokens`."""
    server_tool_usage: Annotated[dict[str, Any] | None, Facts(source=TRAFFIC)] = None


class CacheDetail(ConverseStruct, frozen=True, kw_only=True):
    """Tokens that were written to the cache with one lifetime."""

    ttl: str | None = None
    """`5m`, `1h`."""
    input_tokens: int | None = None


class ConverseMetrics(ConverseStruct, frozen=True, kw_only=True):
    """Time that the answer took."""

    latency_ms: int | None = None


class ConverseTrace(ConverseStruct, frozen=True, kw_only=True):
    """What a guardrail and a router of prompts did."""

    guardrail: GuardrailTraceAssessment | None = None
    prompt_router: PromptRouterTrace | None = None


class PromptRouterTrace(ConverseStruct, frozen=True, kw_only=True):
    """The model that a router of prompts chose."""

    invoked_model_id: str | None = None
    """ARN of the model."""


class CountTokensResponse(ConverseStruct, frozen=True, kw_only=True):
    """The number of tokens of a prompt."""

    input_tokens: int | None = None


class ConverseStreamEvent(ConverseStruct, frozen=True, kw_only=True):
    """One event of a stream: an object with one key, which is the type of its frame.

    The padding `p`, which the server adds to each event, is left out.
    """

    message_start: MessageStartEvent | None = None
    content_block_start: ContentBlockStartEvent | None = None
    content_block_delta: ContentBlockDeltaEvent | None = None
    content_block_stop: ContentBlockStopEvent | None = None
    message_stop: MessageStopEvent | None = None
    metadata: ConverseStreamMetadataEvent | None = None

    @property
    def text(self) -> str:
        """The text that the event adds to the answer; `""` if it adds none."""
        event = self.content_block_delta
        return (event.delta.text if event is not None and event.delta is not None else "") or ""


class MessageStartEvent(ConverseStruct, frozen=True, kw_only=True):
    """A message begins."""

    role: str | None = None
    """`user`, `assistant`, `system`."""


class ContentBlockStartEvent(ConverseStruct, frozen=True, kw_only=True):
    """A block begins. A text and reasoning have no such event: their first delta begins them."""

    start: ContentBlockStart | None = None
    content_block_index: int | None = None


class ContentBlockStart(ConverseStruct, frozen=True, kw_only=True):
    """The beginning of a block: an object with one key, which names its kind."""

    tool_use: ToolUseBlockStart | None = None
    tool_result: ToolResultBlockStart | None = None
    image: ImageBlockStart | None = None


class ToolUseBlockStart(ConverseStruct, frozen=True, kw_only=True):
    """A tool call begins."""

    tool_use_id: str | None = None
    name: str | None = None
    type: str | None = None
    """`server_tool_use` for a tool that the server runs."""


class ToolResultBlockStart(ConverseStruct, frozen=True, kw_only=True):
    """The result of a tool that the server ran begins."""

    tool_use_id: str | None = None
    type: str | None = None
    status: str | None = None
    """`success`, `error`."""


class ImageBlockStart(ConverseStruct, frozen=True, kw_only=True):
    """An image begins."""

    format: str | None = None
    """`png`, `jpeg`, `gif`, `webp`."""


class ContentBlockDeltaEvent(ConverseStruct, frozen=True, kw_only=True):
    """A piece of a block."""

    delta: ContentBlockDelta | None = None
    content_block_index: int | None = None


class ContentBlockDelta(ConverseStruct, frozen=True, kw_only=True):
    """A piece of a block: an object with one key, which names its kind."""

    text: str | None = None
    tool_use: ToolUseBlockDelta | None = None
    tool_result: list[ToolResultBlockDelta] | None = None
    reasoning_content: ReasoningContentBlockDelta | None = None
    citation: Citation | None = None
    image: ImageBlockDelta | None = None


class ToolUseBlockDelta(ConverseStruct, frozen=True, kw_only=True):
    """A piece of the arguments of a call."""

    input: str | None = None
    """A piece of JSON text."""


class ToolResultBlockDelta(ConverseStruct, frozen=True, kw_only=True):
    """A part of the result of a tool that the server ran: an object with one key."""

    text: str | None = None
    json: Any = None
    """Any JSON value."""


class ReasoningContentBlockDelta(ConverseStruct, frozen=True, kw_only=True):
    """A piece of reasoning: an object with one key."""

    text: str | None = None
    redacted_content: str | None = None
    """Base64; encrypted."""
    signature: str | None = None


class ImageBlockDelta(ConverseStruct, frozen=True, kw_only=True):
    """The bytes of an image, or why there are none."""

    source: ImageSource | None = None
    error: ErrorBlock | None = None


class ContentBlockStopEvent(ConverseStruct, frozen=True, kw_only=True):
    """A block ends."""

    content_block_index: int | None = None


class MessageStopEvent(ConverseStruct, frozen=True, kw_only=True):
    """The message ends. The stream ends later, with `metadata`."""

    stop_reason: str | None = None
    """`end_turn`, `tool_use`, `max_tokens`, `stop_sequence`, `guardrail_intervened`,
    `content_filtered`, `malformed_model_output`, `malformed_tool_use`,
    `model_context_window_exceeded`.
    """
    additional_model_response_fields: Any = None


class ConverseStreamMetadataEvent(ConverseStruct, frozen=True, kw_only=True):
    """The end of a stream: token counts, and what else belongs to no block."""

    usage: TokenUsage | None = None
    metrics: ConverseMetrics | None = None
    trace: ConverseTrace | None = None
    performance_config: PerformanceConfig | None = None
    service_tier: ServiceTier | None = None
