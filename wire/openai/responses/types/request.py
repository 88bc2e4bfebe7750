"""Requests: a response, a number of input tokens, a compaction."""

from __future__ import annotations

from typing import Annotated, Any

from wire.core.facts import DOCS, SDK, Facts
from wire.openai.common.types.base import OpenAIRequestStruct
from wire.openai.responses.types.items import ContentPart, Item
from wire.openai.responses.types.options import Reasoning, TextOptions
from wire.openai.responses.types.tools import Tool, ToolChoice


class _Prompt(OpenAIRequestStruct, frozen=True, kw_only=True):
    """The fields that a request for a response and one for its number of input tokens share."""

    model: str | None = None
    """Required, unless `ResponseRequest.prompt` has it."""
    input: str | list[Item] | None = None
    """Required, unless `ResponseRequest.prompt` has it. A text is one message of the user."""
    instructions: str | None = None
    """A message of the system before the input."""
    previous_response_id: str | None = None
    """The response that this one continues, which its server must have stored. Its `instructions`
    are not carried over. Not together with `conversation`.
    """
    conversation: str | ConversationId | None = None
    """The conversation that the input continues, and that gets the items of input and output."""
    tools: list[Tool] | None = None
    tool_choice: str | ToolChoice | None = None
    """`none`, `auto`, `required`."""
    parallel_tool_calls: bool | None = None
    text: TextOptions | None = None
    reasoning: Reasoning | None = None
    truncation: str | None = None
    """Deprecated: `auto`, `disabled`."""


class ResponseRequest(_Prompt, frozen=True, kw_only=True):
    """Body of a request for a response."""

    prompt: Prompt | None = None
    max_output_tokens: int | None = None
    """At least 16. Tokens of reasoning count too."""
    max_tool_calls: int | None = None
    """Maximum of calls of hosted tools, all together."""
    temperature: float | None = None
    """0 to 2. Reasoning models refuse it."""
    top_p: float | None = None
    """0 to 1. Reasoning models refuse it."""
    top_logprobs: int | None = None
    """0 to 20. Reasoning models refuse it."""
    include: list[str] | None = None
    """Further fields that the response has beside its usual ones: `reasoning.encrypted_content`,
    `message.output_text.logprobs`, `message.input_image.image_url`, `web_search_call.results`,
    `web_search_call.action.sources`, `file_search_call.results`, `code_interpreter_call.outputs`,
    `computer_call_output.output.image_url`.
    """
    store: bool | None = None
    """Whether the server stores the response. Absent means true."""
    background: bool | None = None
    """The server answers at once, and generates the response later. Needs `store`."""
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    """Only together with `stream`."""
    context_management: list[ContextManagement] | None = None
    moderation: ModerationOptions | None = None
    """Requests `Response.moderation`."""
    metadata: dict[str, str] | None = None
    """At most 16 entries."""
    service_tier: str | None = None
    """`auto`, `default`, `flex`, `scale`, `priority`, `fast`, `ultrafast`."""
    prompt_cache_key: str | None = None
    prompt_cache_options: PromptCacheOptions | None = None
    prompt_cache_retention: str | None = None
    """Deprecated: `in_memory`, `24h`."""
    safety_identifier: str | None = None
    """At most 64 characters."""
    user: str | None = None
    """Deprecated; use `prompt_cache_key` and `safety_identifier`."""
    access_programs: Annotated[AccessPrograms | None, Facts(source=SDK)] = None
    image: Annotated[ImageOptions | None, Facts(source=SDK)] = None
    background_options: Annotated[BackgroundOptions | None, Facts(source=SDK)] = None
    multi_agent: MultiAgent | None = None
    """Beta responses_multi_agent=v1."""
    provider: Annotated[dict[str, Any] | None, Facts(hosts=("openrouter",), source=DOCS)] = None
    """Providers that may serve the call, and their order."""
    chat_template_kwargs: Annotated[dict[str, Any] | None, Facts(hosts=("vllm",), source=DOCS)] = (
        None
    )
    """Variables of the chat template, such as `enable_thinking`."""


class InputTokensRequest(_Prompt, frozen=True, kw_only=True):
    """Body of a request for the number of input tokens."""

    personality: str | None = None
    """`friendly`, `pragmatic`."""


class CompactRequest(OpenAIRequestStruct, frozen=True, kw_only=True):
    """Body of a request for a compaction."""

    model: str | None = None
    """Required."""
    input: str | list[Item] | None = None
    instructions: str | None = None
    previous_response_id: str | None = None
    prompt_cache_key: str | None = None
    prompt_cache_options: PromptCacheOptions | None = None
    prompt_cache_retention: str | None = None
    service_tier: str | None = None


# --- options --------------------------------------------------------------------------------------


class ConversationId(OpenAIRequestStruct, frozen=True, kw_only=True):
    """A conversation by its id."""

    id: str | None = None


class ResponseSteer(OpenAIRequestStruct, frozen=True, kw_only=True):
    """Input for a response that is being made, over a socket. A further response goes on with it.

    `response.steer.accepted`, `.pending` or `.failed` follows.
    """

    previous_response_id: str | None = None
    """The response that is being made."""
    input: str | list[Item] | None = None
    """Messages of the user."""


class Prompt(OpenAIRequestStruct, frozen=True, kw_only=True):
    """A prompt of the account, and the values of its variables."""

    id: str | None = None
    version: str | None = None
    variables: dict[str, str | ContentPart] | None = None


class StreamOptions(OpenAIRequestStruct, frozen=True, kw_only=True):
    """Options of a stream."""

    include_obfuscation: bool | None = None
    """False omits the padding of events."""


class ContextManagement(OpenAIRequestStruct, frozen=True, kw_only=True):
    """When the server compacts a long input."""

    type: str | None = None
    """`compaction`."""
    compact_threshold: int | None = None
    """In tokens, at least 1000."""


class PromptCacheOptions(OpenAIRequestStruct, frozen=True, kw_only=True):
    """How the prompt is cached."""

    mode: str | None = None
    """`implicit`, or `explicit`, which caches up to `ContentPart.prompt_cache_breakpoint`."""
    ttl: str | None = None
    """`30m`, `12h`."""
    prewarm: Annotated[bool | None, Facts(source=SDK)] = None
    comparison_response_id: Annotated[str | None, Facts(source=SDK)] = None
    """Requests `Response.prompt_cache_diagnostics`."""


class ModerationOptions(OpenAIRequestStruct, frozen=True, kw_only=True):
    """Moderation of prompt and answer."""

    model: str | None = None
    policy: ModerationPolicy | None = None


class ModerationPolicy(OpenAIRequestStruct, frozen=True, kw_only=True):
    """Moderation of the prompt (`input`) and of the answer (`output`)."""

    input: ModerationConfig | None = None
    output: ModerationConfig | None = None


class ModerationConfig(OpenAIRequestStruct, frozen=True, kw_only=True):
    """Effect of moderation."""

    mode: str | None = None
    """`score`, `block`."""


class BackgroundOptions(OpenAIRequestStruct, frozen=True, kw_only=True):
    """When a background response must be complete."""

    completion_window: str | None = None
    """`soonest`, `2h`, `8h`."""
    continuation_id: str | None = None


class AccessPrograms(OpenAIRequestStruct, frozen=True, kw_only=True):
    """Programs of the account that widen what the model may answer."""

    cyber: str | None = None
    """`standard`, `daybreak_blue`, `daybreak_red`."""


class ImageOptions(OpenAIRequestStruct, frozen=True, kw_only=True):
    """Options for the images of the input."""

    context_compression: str | None = None
    """`auto`, `enabled`, `disabled`."""


class MultiAgent(OpenAIRequestStruct, frozen=True, kw_only=True):
    """Whether the model may start further agents."""

    enabled: bool | None = None
    max_concurrent_subagents: int | None = None
    """At least 1."""
