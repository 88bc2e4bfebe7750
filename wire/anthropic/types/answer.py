"""Responses, the events of a stream, usage."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from wire.anthropic.types.base import AnthropicStruct
from wire.anthropic.types.content import Citation, ContentBlock, Message, text_of
from wire.anthropic.types.errors import BaseResp, ErrorObject
from wire.anthropic.types.request import Container, ContextManagement, Diagnostics
from wire.core.facts import DOCS, SDK, TRAFFIC, Facts

if TYPE_CHECKING:
    from wire.catalogue.cost import Charges

# --- answers --------------------------------------------------------------------------------------


class MessageResponse(AnthropicStruct, frozen=True, kw_only=True):
    """A response."""

    id: str | None = None
    type: str | None = None
    """`message`."""
    role: str | None = None
    """`assistant`."""
    model: str | None = None
    content: list[ContentBlock] | None = None
    stop_reason: str | None = None
    """`end_turn`, `max_tokens`, `stop_sequence`, `tool_use`, `pause_turn`, `refusal`,
    `model_context_window_exceeded`; in beta `compaction`. After `pause_turn`, send the content back
    unchanged; the model then continues.
    """
    stop_sequence: str | None = None
    """The stop sequence that was generated."""
    stop_details: StopDetails | None = None
    container: Container | None = None
    usage: Usage | None = None
    context_management: Annotated[ContextManagement | None, Facts(source=TRAFFIC)] = None
    diagnostics: Diagnostics | None = None
    input_transformations: Annotated[list[dict[str, Any]] | None, Facts(source=SDK)] = None
    """Thinking blocks that the server left out of the prompt, or did not accept. Beta
    thinking-binding-controls-2026-08-01.
    """
    provider: Annotated[str | None, Facts(hosts=("openrouter",), source=TRAFFIC)] = None
    """The provider that served the call."""
    base_resp: Annotated[BaseResp | None, Facts(hosts=("minimax",), source=DOCS)] = None
    """An error if its code is not 0."""
    invocation_metrics: Annotated[
        dict[str, Any] | None, Facts(hosts=("bedrock",), source=TRAFFIC)
    ] = msgspec.field(default=None, name="amazon-bedrock-invocationMetrics")
    """Counts of tokens, and times in milliseconds, at the end of a stream."""

    @property
    def message(self) -> Message:
        """The answer as a message for the next request."""
        return Message(role=self.role or "assistant", content=self.content)

    @property
    def text(self) -> str:
        """The text of the answer; `""` if it has none."""
        return text_of(self.content)

    def charges(self) -> Charges:
        """Return the facts of the response, besides its token counts, that decide its price.

        The server's searches are counted. Its other tools are not charged apart.
        """
        from wire.catalogue.cost import Charges, vendor_figure

        usage = self.usage
        if usage is None:
            return Charges()
        tools = usage.server_tool_use
        # The fast mode is a price of the standard service; a tier is one of capacity.
        fast = usage.speed == "fast" and usage.service_tier in (None, "standard")
        return Charges(
            tier="fast" if fast else usage.service_tier or "",
            searches=(tools.web_search_requests or 0) if tools is not None else 0,
            unpriced=usage.unpriced(),
            vendor=vendor_figure(usage.cost, usage.cost_details, own_key=bool(usage.is_byok)),
        )

    @property
    def tool_uses(self) -> list[ContentBlock]:
        """The tool calls that the caller has to answer."""
        return [block for block in self.content or () if block.type == "tool_use"]


class StopDetails(AnthropicStruct, frozen=True, kw_only=True):
    """Why the model refused to answer."""

    type: str | None = None
    """`refusal`."""
    category: str | None = None
    """`cyber`, `bio`, `frontier_llm`, `reasoning_extraction`, `general_harms`."""
    explanation: str | None = None
    recommended_model: Annotated[str | None, Facts(source=TRAFFIC)] = None
    fallback_credit_token: Annotated[str | None, Facts(source=SDK)] = None
    """For `MessageRequest.fallback_credit_token`, within 5 minutes."""
    fallback_has_prefill_claim: Annotated[bool | None, Facts(source=SDK)] = None
    """Whether that request may end with the content of this response as a prefill."""


# --- streams --------------------------------------------------------------------------------------


class MessageStreamEvent(AnthropicStruct, frozen=True, kw_only=True):
    """One event of a stream."""

    type: str | None = None
    """`message_start`, `content_block_start`, `content_block_delta`, `content_block_stop`,
    `message_delta`, `message_stop`, or a type that is not known here. The caller never gets `ping`,
    which is skipped, and `error`, which is raised.
    """
    message: MessageResponse | None = None
    """In `message_start`: the response without its content.

    A server that does not stream sends a complete response in place of events.
    """
    index: int | None = None
    """Position of the block in the content."""
    content_block: ContentBlock | None = None
    """In `content_block_start`: an empty block, or a complete one if it has no deltas."""
    delta: Delta | None = None
    usage: Usage | None = None
    """In `message_delta`: the counts so far. They replace earlier ones."""
    context_management: Annotated[ContextManagement | None, Facts(source=TRAFFIC)] = None
    """In `message_delta`."""
    error: Annotated[ErrorObject | str | None, Facts(source=DOCS)] = None
    """In `error`."""
    request_id: Annotated[str | None, Facts(source=DOCS)] = None
    """In `error`."""
    invocation_metrics: Annotated[
        dict[str, Any] | None, Facts(hosts=("bedrock",), source=TRAFFIC)
    ] = msgspec.field(default=None, name="amazon-bedrock-invocationMetrics")
    """Counts of tokens, and times in milliseconds, at the end of a stream."""

    @property
    def text(self) -> str:
        """The text that this event adds; `""` if none."""
        if self.type == "content_block_start" and self.content_block is not None:
            return (self.content_block.text or "") if self.content_block.type == "text" else ""
        return (self.delta.text or "") if self.delta is not None else ""


class Delta(AnthropicStruct, frozen=True, kw_only=True):
    """The part of a block or of the message that an event adds."""

    type: str | None = None
    """`text_delta`, `input_json_delta`, `thinking_delta`, `signature_delta`, `citations_delta`,
    `compaction_delta`. A `message_delta` has none.
    """
    text: str | None = None
    partial_json: str | None = None
    """A piece of `ContentBlock.input` as text. The first piece is usually empty."""
    thinking: str | None = None
    signature: str | None = None
    """Never split; comes at the end of its block."""
    citation: Citation | None = None
    """One additional citation."""
    content: Annotated[str | None, Facts(source=TRAFFIC)] = None
    """In `compaction_delta`."""
    encrypted_content: Annotated[str | None, Facts(source=SDK)] = None
    """In `compaction_delta`."""
    estimated_tokens: Annotated[int | None, Facts(source=TRAFFIC)] = None
    """Beta thinking-token-count-2026-05-13."""
    stop_reason: str | None = None
    stop_sequence: str | None = None
    stop_details: StopDetails | None = None
    container: Container | None = None


# --- usage ----------------------------------------------------------------------------------------


class _Counts(AnthropicStruct, frozen=True, kw_only=True):
    """The counts that a usage and one of its iterations share."""

    input_tokens: int | None = None
    """Excludes tokens that were read from the cache or written to it."""
    cache_creation_input_tokens: int | None = None
    """Tokens that were written to the cache."""
    cache_read_input_tokens: int | None = None
    """Tokens that were read from the cache."""
    cache_creation: CacheCreation | None = None
    """`cache_creation_input_tokens` by lifetime."""
    output_tokens: int | None = None
    """Includes thinking."""


class Usage(_Counts, frozen=True, kw_only=True):
    """Token counts of a call.

    The prompt has `input_tokens` + `cache_creation_input_tokens` + `cache_read_input_tokens`
    tokens.
    """

    output_tokens_details: OutputTokensDetails | None = None
    server_tool_use: ServerToolUsage | None = None
    service_tier: str | None = None
    """`standard`, `priority`, `batch`."""
    inference_geo: str | None = None
    iterations: Annotated[list[Iteration] | None, Facts(source=TRAFFIC)] = None
    """The runs of a call that ran a model more than once: compaction, advisor, fallback."""
    speed: str | None = None
    """`standard`, `fast`."""
    fallback_credit: Annotated[dict[str, Any] | None, Facts(source=SDK)] = None
    """The outcome of `MessageRequest.fallback_credit_token`."""
    cost: Annotated[float | None, Facts(hosts=("openrouter",), source=TRAFFIC)] = None
    """In USD."""
    cost_details: Annotated[dict[str, Any] | None, Facts(hosts=("openrouter",), source=TRAFFIC)] = (
        None
    )
    is_byok: Annotated[bool | None, Facts(hosts=("openrouter",), source=TRAFFIC)] = None
    """Whether the call used the caller's own key at the provider."""

    def unpriced(self) -> str:
        """Return the reason why counts and a price list do not give the cost; empty if they do."""
        others = {run.type for run in self.iterations or ()} - {None, "message"}
        if others:
            # The counts leave a compaction out, and another model has other prices.
            return f"the call had a run of the type {min(map(str, others))}, with other prices"
        if self.inference_geo not in (None, "", "global", "not_available"):
            return "inference in one region has prices of its own, which the catalogue lacks"
        return ""


class Iteration(_Counts, frozen=True, kw_only=True):
    """Token counts of one run of a model."""

    type: str | None = None
    """`message`, `compaction`, `advisor_message`, `fallback_message`."""
    model: str | None = None


class CacheCreation(AnthropicStruct, frozen=True, kw_only=True):
    """Tokens written to the cache, by lifetime."""

    ephemeral_5m_input_tokens: int | None = None
    ephemeral_1h_input_tokens: int | None = None


class OutputTokensDetails(AnthropicStruct, frozen=True, kw_only=True):
    """Tokens of the answer by kind."""

    thinking_tokens: int | None = None


class ServerToolUsage(AnthropicStruct, frozen=True, kw_only=True):
    """Numbers of calls of tools that the server runs."""

    web_search_requests: int | None = None
    web_fetch_requests: int | None = None


class TokenCount(AnthropicStruct, frozen=True, kw_only=True):
    """Number of tokens of a prompt."""

    input_tokens: int | None = None
    context_management: Annotated[ContextManagement | None, Facts(source=TRAFFIC)] = None
    """Beta."""
