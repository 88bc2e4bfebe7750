"""Responses, lists of items, token counts, compactions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from wire.core.facts import DOCS, SDK, TRAFFIC, Facts
from wire.openai.common.types.base import OpenAIStruct
from wire.openai.responses.types.items import Action, Item
from wire.openai.responses.types.options import Reasoning, TextOptions
from wire.openai.responses.types.request import (
    AccessPrograms,
    ConversationId,
    ImageOptions,
    Prompt,
    PromptCacheOptions,
)
from wire.openai.responses.types.tools import Tool, ToolChoice

if TYPE_CHECKING:
    from wire.catalogue.cost import Charges

# --- answers --------------------------------------------------------------------------------------


class Response(OpenAIStruct, frozen=True, kw_only=True):
    """A response. Hosts omit any field; most repeat those of the request."""

    id: str | None = None
    object: str | None = None
    """`response`."""
    created_at: float | None = None
    """Unix time."""
    completed_at: float | None = None
    """Unix time."""
    model: str | None = None
    status: str | None = None
    """`queued`, `in_progress`, `completed`, `incomplete`, `failed`, `cancelled`. A response with
    calls for the caller is `completed` too.
    """
    error: ResponseError | None = None
    """In `failed`."""
    incomplete_details: IncompleteDetails | None = None
    """In `incomplete`."""
    output: list[Item] | None = None
    usage: ResponseUsage | None = None
    """`None` before the response ends, and if it failed."""
    conversation: ConversationId | None = None
    moderation: Moderation | None = None
    """Present if `ResponseRequest.moderation` requested it."""
    output_text: str | None = None
    """Sent by few hosts; `text` reads the items instead."""

    # --- repeated from the request
    instructions: str | list[Item] | None = None
    """A list if `ResponseRequest.prompt` was set."""
    previous_response_id: str | None = None
    prompt: Prompt | None = None
    tools: list[Tool] | None = None
    tool_choice: str | ToolChoice | None = None
    parallel_tool_calls: bool | None = None
    text_options: TextOptions | None = msgspec.field(name="text", default=None)
    """`text` in JSON."""
    reasoning: Reasoning | str | None = None
    """A text is the reasoning of the model, which mistral.rs sends here."""
    truncation: str | None = None
    max_output_tokens: int | None = None
    max_tool_calls: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_logprobs: int | None = None
    background: bool | None = None
    metadata: dict[str, str] | None = None
    """xAI adds `system_fingerprint`."""
    service_tier: str | None = None
    """The tier that served the call."""
    prompt_cache_key: str | None = None
    prompt_cache_options: PromptCacheOptions | None = None
    prompt_cache_retention: str | None = None
    safety_identifier: str | None = None
    user: str | None = None
    access_programs: Annotated[AccessPrograms | None, Facts(source=SDK)] = None
    image: Annotated[ImageOptions | None, Facts(source=SDK)] = None

    # --- beyond the reference
    store: Annotated[bool | None, Facts(source=TRAFFIC)] = None
    """Whether the server stores the response."""
    billing: Annotated[Billing | None, Facts(source=TRAFFIC)] = None
    frequency_penalty: Annotated[float | None, Facts(source=TRAFFIC)] = None
    """Always 0; a request cannot have it."""
    presence_penalty: Annotated[float | None, Facts(source=TRAFFIC)] = None
    """As `frequency_penalty`."""
    system_fingerprint: Annotated[str | None, Facts(source=TRAFFIC)] = None
    """Sent by OpenAI in 2025."""
    tool_usage: Annotated[dict[str, Any] | None, Facts(source=TRAFFIC)] = None
    """Tokens and calls of hosted tools. Keys `image_gen`, `web_search`."""
    input_transformations: Annotated[list[InputTransformation] | None, Facts(source=SDK)] = None
    """The parts of the input that the server left out."""
    prompt_cache_diagnostics: Annotated[PromptCacheDiagnostics | None, Facts(source=SDK)] = None
    """Present if `PromptCacheOptions.comparison_response_id` requested it."""
    content_filters: Annotated[
        list[ContentFilter] | None, Facts(hosts=("azure", "deepseek"), source=TRAFFIC)
    ] = None
    copilot_usage: Annotated[
        dict[str, Any] | None, Facts(hosts=("github-copilot",), source=TRAFFIC)
    ] = None
    """Keys `token_details`, `total_nano_aiu`."""
    input_messages: Annotated[list[Any] | None, Facts(hosts=("vllm",), source=TRAFFIC)] = None
    """The input of the model, in vLLM's own form."""
    output_messages: Annotated[list[Any] | None, Facts(hosts=("vllm",), source=TRAFFIC)] = None
    """The output of the model, in vLLM's own form."""

    def charges(self) -> Charges:
        """Return the facts of the response, besides its token counts, that decide its price.

        OpenAI charges each web search, and other hosted tools by figures of their own.
        """
        from wire.catalogue.cost import Charges, moment, vendor_figure

        usage = self.usage or ResponseUsage()
        kinds = {item.type for item in self.output or ()}
        charged = sorted(_CHARGED_TOOLS & kinds)
        return Charges(
            tier=self.service_tier or "",
            at=moment(self.created_at),
            searches=self._searches(),
            unpriced=f"{charged[0]} is charged apart, by a price that the catalogue lacks"
            if charged
            else "",
            vendor=vendor_figure(
                usage.cost,
                usage.cost_details,
                own_key=bool(usage.is_byok),
                ticks=usage.cost_in_usd_ticks,
            ),
        )

    def _searches(self) -> int:
        """Return the number of web searches that are charged.

        `tool_usage` counts them where it is sent.
        """
        told = (self.tool_usage or {}).get("web_search")
        counted = told.get("num_requests") if isinstance(told, dict) else None
        if isinstance(counted, int):
            return counted
        return sum(
            item.type == "web_search_call"
            # Opening a page and searching in it are free.
            and (not isinstance(item.action, Action) or item.action.type in (None, "search"))
            for item in self.output or ()
        )

    @property
    def text(self) -> str:
        """The text of the messages; `""` if there is none."""
        return "".join(item.text for item in self.output or () if item.type == "message")

    @property
    def tool_calls(self) -> list[Item]:
        """The calls of functions and custom tools, which the caller has to answer."""
        calls = ("function_call", "custom_tool_call")
        return [item for item in self.output or () if item.type in calls]


class ResponseError(OpenAIStruct, frozen=True, kw_only=True):
    """Why a response failed."""

    code: str | None = None
    """`server_error`, `rate_limit_exceeded`, `invalid_prompt` and others."""
    message: str | None = None


class IncompleteDetails(OpenAIStruct, frozen=True, kw_only=True):
    """Why a response is incomplete."""

    reason: str | None = None
    """`max_output_tokens`, `content_filter`, `max_messages`, `steered`."""


class InputTransformation(OpenAIStruct, frozen=True, kw_only=True):
    """One item that the server left out of the input."""

    id: str | None = None
    type: str | None = None
    """`reasoning`."""
    action: str | None = None
    """`removed`."""
    reason: str | None = None
    """`organization_mismatch`, `end_user_mismatch`, `model_mismatch`, `prefix_mismatch`,
    `turn_boundary`.
    """


class PromptCacheDiagnostics(OpenAIStruct, frozen=True, kw_only=True):
    """Whether the prompt cache matched the prompt of another response, and if not, why."""

    type: str | None = None
    """`cache_hit`, `cache_miss`, `comparison_response_not_found`, `unavailable`."""
    reason: str | None = None
    """In `cache_miss`: `model_changed`, `tools_changed`, `input_changed` and others."""
    cache_missed_tokens: int | None = None
    comparison_reusable_tokens: int | None = None


class Billing(OpenAIStruct, frozen=True, kw_only=True):
    """Who pays for the response."""

    payer: str | None = None
    """`developer`."""


class ContentFilter(OpenAIStruct, frozen=True, kw_only=True):
    """Results of Azure's filters for the prompt or the answer."""

    blocked: bool | None = None
    source_type: str | None = None
    """`prompt`, `completion`."""
    content_filter_results: dict[str, Any] | None = None
    """Name of each filter -> its result."""
    content_filter_offsets: dict[str, Any] | None = None
    """Keys `start_offset`, `end_offset`, `check_offset`."""
    content_filter_raw: Any = None


_CHARGED_TOOLS = {
    "code_interpreter_call",
    "file_search_call",
    "image_generation_call",
    "shell_call",
}
"""Items of hosted tools that OpenAI charges by containers, calls or images."""


# --- usage ----------------------------------------------------------------------------------------


class ResponseUsage(OpenAIStruct, frozen=True, kw_only=True):
    """Token counts of a response; at some hosts also its cost."""

    input_tokens: int | None = None
    """Includes cached tokens."""
    input_tokens_details: InputTokensDetails | None = None
    output_tokens: int | None = None
    """Includes reasoning tokens."""
    output_tokens_details: OutputTokensDetails | None = None
    total_tokens: int | None = None
    cost: Annotated[float | None, Facts(hosts=("openrouter",), source=TRAFFIC)] = None
    """In USD."""
    cost_details: Annotated[dict[str, Any] | None, Facts(hosts=("openrouter",), source=TRAFFIC)] = (
        None
    )
    """The price of the provider that served the call."""
    is_byok: Annotated[bool | None, Facts(hosts=("openrouter",), source=TRAFFIC)] = None
    """Whether the call used the caller's own key at the provider."""
    cost_in_usd_ticks: Annotated[int | None, Facts(hosts=("xai",), source=TRAFFIC)] = None
    num_sources_used: Annotated[int | None, Facts(hosts=("xai",), source=TRAFFIC)] = None
    num_server_side_tools_used: Annotated[int | None, Facts(hosts=("xai",), source=TRAFFIC)] = None
    """Number of calls of tools that the server ran."""
    server_side_tool_usage_details: Annotated[
        dict[str, Any] | None, Facts(hosts=("xai",), source=TRAFFIC)
    ] = None
    """Number of these calls for each tool."""
    context_details: Annotated[dict[str, Any] | None, Facts(hosts=("xai",), source=TRAFFIC)] = None
    """Keys `input_tokens`, `output_tokens`."""


class InputTokensDetails(OpenAIStruct, frozen=True, kw_only=True):
    """Tokens of the input by kind."""

    cached_tokens: int | None = None
    """Tokens that were read from the cache."""
    cache_write_tokens: int | None = None
    """Tokens that were written to the cache."""
    cache_write_tokens_details: Annotated[CacheWriteTokensDetails | None, Facts(source=SDK)] = None
    input_tokens_per_turn: Annotated[list[int] | None, Facts(hosts=("vllm",), source=DOCS)] = None
    """One number for each call of the model, as in the next three lists."""
    cached_tokens_per_turn: Annotated[list[int] | None, Facts(hosts=("vllm",), source=DOCS)] = None


class CacheWriteTokensDetails(OpenAIStruct, frozen=True, kw_only=True):
    """Tokens that were written to the cache, by lifetime."""

    ttl_30m_tokens: int | None = None
    ttl_12h_tokens: int | None = None


class OutputTokensDetails(OpenAIStruct, frozen=True, kw_only=True):
    """Tokens of the output by kind."""

    reasoning_tokens: int | None = None
    tool_output_tokens: Annotated[int | None, Facts(hosts=("vllm",), source=TRAFFIC)] = None
    """Tokens of the outputs of hosted tools."""
    output_tokens_per_turn: Annotated[list[int] | None, Facts(hosts=("vllm",), source=DOCS)] = None
    tool_output_tokens_per_turn: Annotated[
        list[int] | None, Facts(hosts=("vllm",), source=DOCS)
    ] = None


# --- moderation -----------------------------------------------------------------------------------


class Moderation(OpenAIStruct, frozen=True, kw_only=True):
    """Results of moderation for prompt and answer."""

    input: ModerationResult | None = None
    output: ModerationResult | None = None


class ModerationResult(OpenAIStruct, frozen=True, kw_only=True):
    """Result of moderation by category, or its error."""

    type: str | None = None
    """`moderation_result`, or `error`, which has `code` and `message`."""
    model: str | None = None
    flagged: bool | None = None
    categories: dict[str, bool] | None = None
    category_scores: dict[str, float] | None = None
    category_applied_input_types: dict[str, list[str]] | None = None
    """Category -> `text`, `image`."""
    code: str | None = None
    message: str | None = None


# --- other answers --------------------------------------------------------------------------------


class ItemList(OpenAIStruct, frozen=True, kw_only=True):
    """One page of items."""

    object: str | None = None
    """`list`."""
    data: list[Item] | None = None
    has_more: bool | None = None
    first_id: str | None = None
    last_id: str | None = None
    """For `after` of the next page."""


class DeletedResponse(OpenAIStruct, frozen=True, kw_only=True):
    """Response of deleting a response. A server may send nothing."""

    id: str | None = None
    object: str | None = None
    """`response.deleted`, `response`."""
    deleted: bool | None = None


class InputTokenCount(OpenAIStruct, frozen=True, kw_only=True):
    """Number of tokens of an input."""

    object: str | None = None
    """`response.input_tokens`."""
    input_tokens: int | None = None


class Compaction(OpenAIStruct, frozen=True, kw_only=True):
    """A shorter input that replaces a long one."""

    id: str | None = None
    """No response has it: `ResponseRequest.previous_response_id` cannot be this id."""
    object: str | None = None
    """`response.compaction`."""
    created_at: int | None = None
    """Unix time."""
    output: list[Item] | None = None
    """The input of the next request: the messages of the user, and one item `compaction`."""
    usage: ResponseUsage | None = None
