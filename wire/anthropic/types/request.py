"""Requests: prompts, tools, thinking, the form of the answer."""

from __future__ import annotations

from typing import Annotated, Any

from wire.anthropic.types.base import AnthropicRequestStruct
from wire.anthropic.types.content import (
    CacheControl,
    CitationsConfig,
    ContentBlock,
    Message,
    ToolReference,
)
from wire.core.facts import DOCS, SDK, TRAFFIC, Facts

# --- requests -------------------------------------------------------------------------------------


class _Prompt(AnthropicRequestStruct, frozen=True, kw_only=True):
    """The fields that a request and a request for a token count share."""

    model: str
    messages: list[Message]
    system: str | list[ContentBlock] | None = None
    """Blocks have type `text`."""
    tools: list[Tool] | None = None
    tool_choice: ToolChoice | None = None
    thinking: Thinking | None = None
    output_config: OutputConfig | None = None
    output_format: Annotated[OutputFormat | None, Facts(source=TRAFFIC)] = None
    """Older name of `output_config.format`. Requires the beta structured-outputs-2025-11-13."""
    cache_control: CacheControl | None = None
    """Sets a cache breakpoint on the last block that can have one."""
    context_management: Annotated[ContextManagement | None, Facts(source=TRAFFIC)] = None
    """Beta context-management-2025-06-27."""
    mcp_servers: Annotated[list[McpServer] | None, Facts(source=TRAFFIC)] = None
    """Beta mcp-client-2025-04-04."""
    speed: str | None = None
    """`standard`, `fast`. Some models require the beta fast-mode-2026-02-01."""
    compaction: Annotated[Compaction | None, Facts(source=SDK)] = None
    """Beta compact-2026-09-04. The response is one `compaction` block, which later requests send
    first in place of the messages that it summarizes. Not together with `context_management`.
    """
    user_profile_id: str | None = None
    """Sent as the header `anthropic-user-profile-id`: the party on whose behalf you act."""
    workspace_id: str | None = None
    """Sent as the header `anthropic-workspace-id`, for a key that can act on several workspaces."""


class CountTokensRequest(_Prompt, frozen=True, kw_only=True):
    """A prompt to count the tokens of."""


class MessageRequest(_Prompt, frozen=True, kw_only=True):
    """A request of Messages."""

    max_tokens: int
    """Maximum of output tokens, thinking included. Required."""
    stream: bool | None = None
    stop_sequences: list[str] | None = None
    """Not blank."""
    temperature: float | None = None
    """0 to 1; must be 1 with `thinking.type: enabled`. opus-4-7 and later refuse it, and so does
    version 2026-10-21 of the API for every model, with `top_p` and `top_k`.
    """
    top_p: float | None = None
    top_k: int | None = None
    metadata: Metadata | None = None
    service_tier: str | None = None
    """`auto`, `standard_only`."""
    container: str | Container | None = None
    """Id of the container of an earlier response, whose state the code continues with. An object if
    skills are loaded into it.
    """
    inference_geo: str | None = None
    """Region in which the model may run."""
    diagnostics: Diagnostics | None = None
    """Asks why the prompt cache did not match."""
    thread: Annotated[Thread | None, Facts(source=SDK)] = None
    """Beta message-threads-2026-08-12: the server holds the conversation for some minutes."""
    billing_policy: Annotated[BillingPolicy | None, Facts(source=SDK)] = None
    """Beta user-profiles-billing-2026-10-01."""
    fallbacks: Annotated[list[Fallback] | str | None, Facts(source=SDK)] = None
    """Beta server-side-fallback-2026-07-01: models that are asked in turn if a model refuses, or
    `default`.
    """
    fallback_credit_token: Annotated[str | FallbackCredit | None, Facts(source=SDK)] = None
    """`StopDetails.fallback_credit_token` of the refused request that this one repeats on another
    model. An object requires the beta fallback-credit-2026-07-01.
    """
    anthropic_version: Annotated[str | None, Facts(hosts=("vertex",), source=TRAFFIC)] = None
    """Replaces the header of that name."""


class Metadata(AnthropicRequestStruct, frozen=True, kw_only=True):
    """Metadata of the request."""

    user_id: str | None = None
    """Opaque id of the end user; no name and no address."""


class Container(AnthropicRequestStruct, frozen=True, kw_only=True):
    """Where code runs."""

    id: str | None = None
    expires_at: str | None = None
    """RFC 3339; only in a response."""
    skills: list[Skill] | None = None


class Skill(AnthropicRequestStruct, frozen=True, kw_only=True):
    """A capability of the container beside running code."""

    type: str | None = None
    """`anthropic`, `custom`."""
    skill_id: str | None = None
    version: str | None = None


# --- tools ----------------------------------------------------------------------------------------


class Tool(AnthropicRequestStruct, frozen=True, kw_only=True):
    """A tool: a function of the caller, or a tool of the server by its dated `type`."""

    type: str | None = None
    """`custom` or absent for functions of the caller; `web_search_20260318`, `web_fetch_20260318`,
    `code_execution_20260521`, `bash_20250124`, `text_editor_20250728`, `memory_20250818`,
    `tool_search_tool_bm25_20251119`, `computer_toolset_20260801`, `browser_toolset_20260801`,
    `computer_20251124`, `advisor_20260301`, `mcp_toolset` and others.
    """
    name: str | None = None
    """`[a-zA-Z0-9_-]{1,128}`."""
    description: str | None = None
    input_schema: dict[str, Any] | None = None
    """JSON Schema with `type: object`."""
    strict: bool | None = None
    """The input fits the schema exactly. At most 20 strict tools in a request."""
    cache_control: CacheControl | None = None
    eager_input_streaming: bool | None = None
    """The input comes while it is generated, and may be invalid JSON."""
    input_examples: list[dict[str, Any]] | None = None
    defer_loading: bool | None = None
    """The model sees the tool only after a tool search found it."""
    allowed_callers: list[str] | None = None
    """Values of `Caller.type`."""
    max_uses: int | None = None
    """For web search and web fetch, as the next five."""
    allowed_domains: list[str] | None = None
    blocked_domains: list[str] | None = None
    user_location: UserLocation | None = None
    citations: CitationsConfig | None = None
    max_content_tokens: int | None = None
    use_cache: bool | None = None
    """For web fetch."""
    url_sources: UrlSources | None = None
    """For web fetch."""
    response_inclusion: str | None = None
    """`full` or `excluded`: whether the response has the results."""
    max_characters: int | None = None
    """For the text editor: maximum of a viewed file."""
    display_width_px: Annotated[int | None, Facts(source=TRAFFIC)] = None
    """For computer use, as the next three."""
    display_height_px: Annotated[int | None, Facts(source=TRAFFIC)] = None
    display_number: Annotated[int | None, Facts(source=DOCS)] = None
    enable_zoom: Annotated[bool | None, Facts(source=DOCS)] = None
    model: Annotated[str | None, Facts(source=TRAFFIC)] = None
    """For the advisor: the model that advises."""
    max_tokens: Annotated[int | None, Facts(source=TRAFFIC)] = None
    """For the advisor."""
    mcp_server_name: Annotated[str | None, Facts(source=DOCS)] = None
    """For `mcp_toolset`: one of `mcp_servers`."""
    default_config: Annotated[dict[str, Any] | None, Facts(source=DOCS)] = None
    """For `mcp_toolset`."""
    configs: dict[str, Any] | None = None
    """For the toolsets: name of a tool -> its options, such as `{"enabled": False}`."""


class UrlSources(AnthropicRequestStruct, frozen=True, kw_only=True):
    """The places whose URLs web fetch may fetch."""

    user_input: UrlSource | None = None
    """`all`, `none`."""
    client_tool_results: UrlSource | None = None
    server_tool_results: UrlSource | None = None


class UrlSource(AnthropicRequestStruct, frozen=True, kw_only=True):
    """The URLs of one place that web fetch may fetch."""

    type: str | None = None
    """`all`, `none`, `only`, `except`."""
    tools: list[ToolReference] | None = None
    """For types `only` and `except`: tools of the request."""


class UserLocation(AnthropicRequestStruct, frozen=True, kw_only=True):
    """Approximate location of the user."""

    type: str | None = None
    """`approximate`."""
    city: str | None = None
    region: str | None = None
    country: str | None = None
    """Two letters (ISO 3166)."""
    timezone: str | None = None
    """Name of the IANA database."""


class ToolChoice(AnthropicRequestStruct, frozen=True, kw_only=True):
    """Whether the model must call a tool, and which."""

    type: str | None = None
    """`auto`, `any`, `tool`, `none`."""
    name: str | None = None
    """For type `tool`."""
    disable_parallel_tool_use: bool | None = None
    """At most one call; for types `any` and `tool` exactly one."""


class McpServer(AnthropicRequestStruct, frozen=True, kw_only=True):
    """An MCP server that the provider calls."""

    type: str | None = None
    """`url`."""
    url: str | None = None
    name: str | None = None
    authorization_token: str | None = None
    tool_configuration: dict[str, Any] | None = None


# --- thinking, output, context --------------------------------------------------------------------


class Thinking(AnthropicRequestStruct, frozen=True, kw_only=True):
    """Whether the model thinks. Each model accepts its own types."""

    type: str | None = None
    """`adaptive` (4.6 and later), `enabled` (up to 4.6), `disabled`; `between_tools`, which
    `ModelCapabilities` lists for the models that accept it.
    """
    budget_tokens: int | None = None
    """For type `enabled`: at least 1024 and less than `max_tokens`."""
    display: str | None = None
    """`summarized`, `omitted`."""


class OutputConfig(AnthropicRequestStruct, frozen=True, kw_only=True):
    """Effort, and form of the text."""

    effort: str | None = None
    """`low`, `medium`, `high`, `xhigh`, `max`; each model accepts its own subset."""
    format: OutputFormat | None = None
    task_budget: Annotated[TaskBudget | None, Facts(source=TRAFFIC)] = None
    """In beta."""


class OutputFormat(AnthropicRequestStruct, frozen=True, kw_only=True):
    """The schema of a JSON answer."""

    type: str | None = None
    """`json_schema`."""
    schema: dict[str, Any] | None = None
    """JSON Schema in which every object has `additionalProperties: false`."""


class TaskBudget(AnthropicRequestStruct, frozen=True, kw_only=True):
    """Token budget of a task of several requests. The model sees it."""

    type: str | None = None
    """`tokens`."""
    total: int | None = None
    remaining: int | None = None


class ContextManagement(AnthropicRequestStruct, frozen=True, kw_only=True):
    """Edits by which the server shortens a long prompt: the requested and the applied ones."""

    edits: list[dict[str, Any]] | None = None
    """In a request. Each has a `type`, such as `clear_tool_uses_20250919`,
    `clear_thinking_20251015`, `compact_20260112`.
    """
    applied_edits: list[dict[str, Any]] | None = None
    """In a response."""
    original_input_tokens: int | None = None
    """In a token count: the number without the edits."""


# --- what the server keeps ------------------------------------------------------------------------


class Thread(AnthropicRequestStruct, frozen=True, kw_only=True):
    """A conversation that the server holds, so that a request has its new messages only.

    The server may lose it at any time: keep the whole conversation, and send it if an error has the
    code `thread_not_found`.
    """

    type: str | None = None
    """`create`, `continue`."""
    previous_message_id: str | None = None
    """For type `continue`: the `id` of the latest response."""


class Compaction(AnthropicRequestStruct, frozen=True, kw_only=True):
    """Asks for a summary of the conversation instead of an answer."""

    type: str | None = None
    """`summarize`."""
    instructions: str | None = None
    """Replaces the prompt that the server summarizes with."""


class Diagnostics(AnthropicRequestStruct, frozen=True, kw_only=True):
    """In a request: the response to compare with. In a response: why the prompt cache did not match
    all of that request.
    """

    previous_message_id: str | None = None
    """In a request: the `id` of an earlier response; absent in the first request."""
    cache_miss_reason: CacheMissReason | None = None
    """In a response."""


class CacheMissReason(AnthropicRequestStruct, frozen=True, kw_only=True):
    """The difference of two requests that the prompt cache met first."""

    type: str | None = None
    """`model_changed`, `system_changed`, `tools_changed`, `messages_changed`,
    `previous_message_not_found`, `unavailable`.
    """
    cache_missed_input_tokens: int | None = None
    """About the number of tokens that would have been read from the cache."""


class BillingPolicy(AnthropicRequestStruct, frozen=True, kw_only=True):
    """Who pays for the request."""

    type: str | None = None
    """`billing_policy`."""
    bill_to: str | None = None
    """`self`, `user_profile`: the party of `user_profile_id`, not in a batch."""


class Fallback(AnthropicRequestStruct, frozen=True, kw_only=True):
    """A model that is asked if the one before it refuses, with settings of its own."""

    model: str | None = None
    max_tokens: int | None = None
    thinking: Thinking | None = None
    output_config: OutputConfig | None = None
    speed: str | None = None


class FallbackCredit(AnthropicRequestStruct, frozen=True, kw_only=True):
    """A fallback credit token, and what its failure means."""

    token: str | None = None
    mode: str | None = None
    """`strict`: a token that fails is an error; `best_effort`: the request is served anyway."""
