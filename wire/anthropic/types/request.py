"""What is asked: requests, tools, thinking, the form of the answer."""

from __future__ import annotations

from typing import Annotated, Any

from wire.anthropic.types.base import AnthropicStruct
from wire.anthropic.types.content import CacheControl, CitationsConfig, ContentBlock, Message
from wire.core.facts import DOCS, TRAFFIC, Facts

# --- requests -------------------------------------------------------------------------------------


class _Prompt(AnthropicStruct, frozen=True, kw_only=True):
    """What a request and one for a token count have in common."""

    model: str
    messages: list[Message]
    system: str | list[ContentBlock] | None = None
    """Blocks are text."""
    tools: list[Tool] | None = None
    tool_choice: ToolChoice | None = None
    thinking: Thinking | None = None
    output_config: OutputConfig | None = None
    output_format: Annotated[OutputFormat | None, Facts(source=TRAFFIC)] = None
    """Older name of `output_config.format`; needs the beta structured-outputs-2025-11-13."""
    cache_control: CacheControl | None = None
    """The last block that can be cached is marked."""
    context_management: Annotated[ContextManagement | None, Facts(source=TRAFFIC)] = None
    """Beta context-management-2025-06-27."""
    mcp_servers: Annotated[list[McpServer] | None, Facts(source=TRAFFIC)] = None
    """Beta mcp-client-2025-04-04."""
    user_profile_id: str | None = None


class CountTokensRequest(_Prompt, frozen=True, kw_only=True):
    """A prompt whose tokens are to be counted."""


class MessageRequest(_Prompt, frozen=True, kw_only=True):
    """A request of Messages."""

    max_tokens: int
    """Of the answer, thinking included; there is no default."""
    stream: bool | None = None
    stop_sequences: list[str] | None = None
    """Not blank."""
    temperature: float | None = None
    """0 to 1. Refused by opus-4-7 and later; 1 with `thinking.type: enabled`."""
    top_p: float | None = None
    top_k: int | None = None
    metadata: Metadata | None = None
    service_tier: str | None = None
    """`auto`, `standard_only`."""
    container: str | Container | None = None
    """The id of an earlier answer's: code goes on where it was. An object in beta, with skills."""
    inference_geo: str | None = None
    """Where the model may run."""
    speed: Annotated[str | None, Facts(source=TRAFFIC)] = None
    """Beta: `standard`, `fast`."""
    anthropic_version: Annotated[str | None, Facts(hosts=("vertex",), source=TRAFFIC)] = None
    """Vertex, in place of the header."""


class Metadata(AnthropicStruct, frozen=True, kw_only=True):
    """About the request."""

    user_id: str | None = None
    """Opaque to the server: no name, no address."""


class Container(AnthropicStruct, frozen=True, kw_only=True):
    """Where code runs."""

    id: str | None = None
    expires_at: str | None = None
    """RFC 3339; only in an answer."""
    skills: Annotated[list[Skill] | None, Facts(source=TRAFFIC)] = None
    """Beta."""


class Skill(AnthropicStruct, frozen=True, kw_only=True):
    """What the container can do beside running code."""

    type: str | None = None
    """`anthropic`, `custom`."""
    skill_id: str | None = None
    version: str | None = None


# --- tools ----------------------------------------------------------------------------------------


class Tool(AnthropicStruct, frozen=True, kw_only=True):
    """A tool of a request: one of yours, or one of the server's by its dated `type`."""

    type: str | None = None
    """`custom` or absent; `web_search_20260318`, `web_fetch_20260318`, `code_execution_20260521`,
    `bash_20250124`, `text_editor_20250728`, `memory_20250818`, `tool_search_tool_bm25_20251119`,
    `computer_20251124`, `advisor_20260301`, `mcp_toolset`, ..."""
    name: str | None = None
    """`[a-zA-Z0-9_-]{1,128}`."""
    description: str | None = None
    input_schema: dict[str, Any] | None = None
    """JSON Schema with `type: object`."""
    strict: bool | None = None
    """Input fits the schema exactly; at most 20 of these in a request."""
    cache_control: CacheControl | None = None
    eager_input_streaming: bool | None = None
    """Input comes as it is made, and may be no valid JSON."""
    input_examples: list[dict[str, Any]] | None = None
    defer_loading: bool | None = None
    """The model knows it only after a tool search found it."""
    allowed_callers: list[str] | None = None
    """As `Caller.type`."""
    max_uses: int | None = None
    """Web search and fetch, as the next five."""
    allowed_domains: list[str] | None = None
    blocked_domains: list[str] | None = None
    user_location: UserLocation | None = None
    citations: CitationsConfig | None = None
    max_content_tokens: int | None = None
    use_cache: bool | None = None
    """Web fetch."""
    response_inclusion: str | None = None
    """`full`, `excluded`: whether what was found stands in the answer."""
    max_characters: int | None = None
    """Text editor: of a file that is viewed."""
    display_width_px: Annotated[int | None, Facts(source=TRAFFIC)] = None
    """Computer use, as the next three."""
    display_height_px: Annotated[int | None, Facts(source=TRAFFIC)] = None
    display_number: Annotated[int | None, Facts(source=DOCS)] = None
    enable_zoom: Annotated[bool | None, Facts(source=DOCS)] = None
    model: Annotated[str | None, Facts(source=TRAFFIC)] = None
    """Advisor: who is asked."""
    max_tokens: Annotated[int | None, Facts(source=TRAFFIC)] = None
    """Advisor."""
    mcp_server_name: Annotated[str | None, Facts(source=DOCS)] = None
    """`mcp_toolset`: one of `mcp_servers`."""
    default_config: Annotated[dict[str, Any] | None, Facts(source=DOCS)] = None
    """`mcp_toolset`."""
    configs: Annotated[dict[str, Any] | None, Facts(source=DOCS)] = None
    """`mcp_toolset`: by the name of a tool."""


class UserLocation(AnthropicStruct, frozen=True, kw_only=True):
    """About where the user is."""

    type: str | None = None
    """`approximate`."""
    city: str | None = None
    region: str | None = None
    country: str | None = None
    """Two letters, ISO 3166."""
    timezone: str | None = None
    """IANA name."""


class ToolChoice(AnthropicStruct, frozen=True, kw_only=True):
    """Whether a tool is called, and which."""

    type: str | None = None
    """`auto`, `any`, `tool`, `none`."""
    name: str | None = None
    """Type `tool`."""
    disable_parallel_tool_use: bool | None = None
    """At most one call; of types `any` and `tool` exactly one."""


class McpServer(AnthropicStruct, frozen=True, kw_only=True):
    """A server whose tools the provider calls."""

    type: str | None = None
    """`url`."""
    url: str | None = None
    name: str | None = None
    authorization_token: str | None = None
    tool_configuration: dict[str, Any] | None = None


# --- thinking, output, context --------------------------------------------------------------------


class Thinking(AnthropicStruct, frozen=True, kw_only=True):
    """Whether to think. Which types a model takes differs."""

    type: str | None = None
    """`adaptive` (4.6 on), `enabled` (up to 4.6), `disabled`."""
    budget_tokens: int | None = None
    """Type `enabled`: at least 1024, less than `max_tokens`."""
    display: str | None = None
    """`summarized`, `omitted`."""


class OutputConfig(AnthropicStruct, frozen=True, kw_only=True):
    """How much effort, and the form of the text."""

    effort: str | None = None
    """`low`, `medium`, `high`, `xhigh`, `max`; which of them differs by model."""
    format: OutputFormat | None = None
    task_budget: Annotated[TaskBudget | None, Facts(source=TRAFFIC)] = None
    """Beta."""


class OutputFormat(AnthropicStruct, frozen=True, kw_only=True):
    """The schema that the text fits."""

    type: str | None = None
    """`json_schema`."""
    schema: dict[str, Any] | None = None
    """JSON Schema; every object in it says `additionalProperties: false`."""


class TaskBudget(AnthropicStruct, frozen=True, kw_only=True):
    """What a task of many requests may cost; the model plans with it."""

    type: str | None = None
    """`tokens`."""
    total: int | None = None
    remaining: int | None = None


class ContextManagement(AnthropicStruct, frozen=True, kw_only=True):
    """What the server leaves out of a long prompt: asked for in a request, told in an answer."""

    edits: list[dict[str, Any]] | None = None
    """In a request: each has a `type`, such as `clear_tool_uses_20250919`,
    `clear_thinking_20251015`, `compact_20260112`.
    """
    applied_edits: list[dict[str, Any]] | None = None
    """In an answer."""
    original_input_tokens: int | None = None
    """In a token count: without the edits."""
