"""The request of chat completions, with the fields that other hosts add."""

from __future__ import annotations

from typing import Annotated, Any

from wire.core.facts import DOCS, TRAFFIC, Facts
from wire.openai.chat.types.message import ContentPart, Message
from wire.openai.chat.types.tools import FunctionDefinition, NamedFunction, Tool, ToolChoice
from wire.openai.common.types.base import OpenAIRequestStruct


class ChatCompletionRequest(OpenAIRequestStruct, frozen=True, kw_only=True):
    """Body of chat/completions."""

    model: str | None = None
    """Required, except where the base URL names it (deployments of Azure) or the server has one
    model only.
    """
    messages: list[Message]
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    """Only together with `stream`."""
    max_completion_tokens: int | None = None
    """Tokens of reasoning count too.

    OpenAI's reasoning models accept only this limit. DeepSeek ignores it.
    """
    max_tokens: int | None = None
    """Deprecated at OpenAI, whose reasoning models refuse it. Most other hosts know only this
    limit.
    """
    temperature: float | None = None
    """Reasoning models refuse it."""
    top_p: float | None = None
    """Reasoning models refuse it."""
    frequency_penalty: float | None = None
    presence_penalty: float | None = None
    stop: str | list[str] | None = None
    """At most 4. Reasoning models refuse it."""
    n: int | None = None
    seed: int | None = None
    """Deprecated."""
    logprobs: bool | int | None = None
    """Together takes the number of top candidates."""
    top_logprobs: int | None = None
    """0 to 20. Needs `logprobs`."""
    logit_bias: dict[str, int] | None = None
    """Token id -> -100 to 100."""
    reasoning_effort: str | None = None
    """`none`, `minimal`, `low`, `medium`, `high`, `xhigh`, `max`; each model accepts its own
    subset.

    From gpt-5.4 on, a request with tools accepts `none` only.
    """
    verbosity: str | None = None
    """`low`, `medium`, `high`."""
    response_format: ResponseFormat | None = None
    tools: list[Tool] | None = None
    tool_choice: str | ToolChoice | None = None
    """`none`, `auto`, `required`; at Mistral also `any`.

    Some hosts refuse a forced call while the model thinks.
    """
    parallel_tool_calls: bool | None = None
    """Only together with `tools`."""
    functions: list[FunctionDefinition] | None = None
    """Deprecated."""
    function_call: str | NamedFunction | None = None
    """Deprecated: `none`, `auto` or a name."""
    modalities: list[str] | None = None
    """`text`, `audio`."""
    audio: AudioOptions | None = None
    """Required if `modalities` has `audio`."""
    prediction: Prediction | None = None
    service_tier: str | None = None
    """`auto`, `default`, `flex`, `scale`, `priority`, `fast`."""
    store: bool | None = None
    metadata: dict[str, str] | None = None
    """At most 16 entries."""
    web_search_options: WebSearchOptions | None = None
    """Search models only."""
    moderation: ModerationOptions | None = None
    """Requests `ChatCompletion.moderation`."""
    prompt_cache_key: str | None = None
    prompt_cache_options: PromptCacheOptions | None = None
    """gpt-5.6 and later."""
    prompt_cache_retention: str | None = None
    """Deprecated: `in_memory`, `24h`."""
    safety_identifier: str | None = None
    user: str | None = None
    """Deprecated; use `prompt_cache_key` and `safety_identifier`."""

    # --- of other hosts: reasoning
    thinking: Annotated[
        Thinking | None,
        Facts(hosts=("deepseek", "glm", "kimi", "minimax", "xiaomi", "fireworks"), source=TRAFFIC),
    ] = None
    reasoning: Annotated[
        ReasoningOptions | None,
        Facts(hosts=("openrouter", "vercel", "snowflake", "together", "ollama"), source=TRAFFIC),
    ] = None
    enable_thinking: Annotated[bool | None, Facts(hosts=("qwen",), source=TRAFFIC)] = None
    thinking_budget: Annotated[int | None, Facts(hosts=("qwen",), source=DOCS)] = None
    """Maximum of reasoning tokens."""
    include_reasoning: Annotated[
        bool | None, Facts(hosts=("groq", "openrouter"), source=TRAFFIC)
    ] = None
    """Groq refuses it together with `reasoning_format`."""
    reasoning_format: Annotated[str | None, Facts(hosts=("groq", "llama.cpp"), source=TRAFFIC)] = (
        None
    )
    """Groq: `parsed`, `raw`, `hidden`. llama.cpp: `deepseek` and others."""
    reasoning_split: Annotated[bool | None, Facts(hosts=("minimax",), source=DOCS)] = None
    """Reasoning comes in `reasoning_details` instead of inside `content`."""
    clear_thinking: Annotated[bool | None, Facts(hosts=("cerebras",), source=TRAFFIC)] = None
    """The host drops the reasoning of earlier turns."""
    chat_template_kwargs: Annotated[
        dict[str, Any] | None, Facts(hosts=("vllm", "llama.cpp", "together"), source=TRAFFIC)
    ] = None
    """Variables of the chat template, such as `enable_thinking`."""
    chat_template_args: Annotated[
        dict[str, Any] | None, Facts(hosts=("baseten",), source=TRAFFIC)
    ] = None
    """Variables of the chat template, as `chat_template_kwargs`."""
    prompt_mode: Annotated[str | None, Facts(hosts=("mistral",), source=DOCS)] = None
    """`reasoning`; for models that have been shut down."""
    extra_body: Annotated[dict[str, Any] | None, Facts(hosts=("gemini@openai",), source=DOCS)] = (
        None
    )
    """Has `google.thinking_config`. The key `extra_body` itself goes over the wire."""

    # --- of other hosts: the rest
    top_k: Annotated[
        int | None, Facts(hosts=("vllm", "llama.cpp", "together", "openrouter"), source=TRAFFIC)
    ] = None
    """Other self-hosted servers accept it too."""
    min_p: Annotated[
        float | None, Facts(hosts=("vllm", "llama.cpp", "together", "openrouter"), source=TRAFFIC)
    ] = None
    """As `top_k`."""
    random_seed: Annotated[int | None, Facts(hosts=("mistral",), source=TRAFFIC)] = None
    """Replaces `seed`."""
    safe_prompt: Annotated[bool | None, Facts(hosts=("mistral",), source=TRAFFIC)] = None
    tool_stream: Annotated[bool | None, Facts(hosts=("glm",), source=DOCS)] = None
    """GLM 4.6 and later: arguments come in pieces."""
    cache_prompt: Annotated[bool | None, Facts(hosts=("llama.cpp",), source=TRAFFIC)] = None
    provider: Annotated[dict[str, Any] | None, Facts(hosts=("openrouter",), source=TRAFFIC)] = None
    """Providers that may serve the call, and their order."""
    usage: Annotated[dict[str, Any] | None, Facts(hosts=("openrouter",), source=TRAFFIC)] = None
    """Old; has `include`."""
    enable_search: Annotated[bool | None, Facts(hosts=("qwen",), source=TRAFFIC)] = None
    disable_search: Annotated[bool | None, Facts(hosts=("perplexity",), source=TRAFFIC)] = None
    return_images: Annotated[bool | None, Facts(hosts=("perplexity",), source=TRAFFIC)] = None
    venice_parameters: Annotated[
        dict[str, Any] | None, Facts(hosts=("venice",), source=TRAFFIC)
    ] = None


class StreamOptions(OpenAIRequestStruct, frozen=True, kw_only=True):
    """Options of a stream."""

    include_usage: bool | None = None
    """The stream ends with one more chunk, which has usage and no choices. Many hosts always send
    it.
    """
    include_obfuscation: bool | None = None
    """False omits the padding of chunks."""


class ResponseFormat(OpenAIRequestStruct, frozen=True, kw_only=True):
    """Form of the text of the answer."""

    type: str | None = None
    """`text`, `json_object`, `json_schema`."""
    json_schema: JsonSchema | None = None


class JsonSchema(OpenAIRequestStruct, frozen=True, kw_only=True):
    """The schema of a JSON answer."""

    name: str | None = None
    """Required, not empty."""
    description: str | None = None
    schema: dict[str, Any] | None = None
    """JSON Schema."""
    strict: bool | None = None


class AudioOptions(OpenAIRequestStruct, frozen=True, kw_only=True):
    """Options of generated speech."""

    voice: str | CustomVoice | None = None
    """`alloy`, `ash`, `coral`, `marin` and others."""
    format: str | None = None
    """`wav`, `aac`, `mp3`, `flac`, `opus`, `pcm16`."""


class CustomVoice(OpenAIRequestStruct, frozen=True, kw_only=True):
    """A voice of the account, by its id."""

    id: str | None = None


class Prediction(OpenAIRequestStruct, frozen=True, kw_only=True):
    """Text that most of the answer will probably repeat. It makes the answer faster."""

    type: str | None = None
    """`content`."""
    content: str | list[ContentPart] | None = None
    """Parts have type `text`."""


class WebSearchOptions(OpenAIRequestStruct, frozen=True, kw_only=True):
    """Options of web search."""

    user_location: UserLocation | None = None
    search_context_size: str | None = None
    """`low`, `medium`, `high`."""


class UserLocation(OpenAIRequestStruct, frozen=True, kw_only=True):
    """Location of the user."""

    type: str | None = None
    """`approximate`."""
    approximate: ApproximateLocation | None = None


class ApproximateLocation(OpenAIRequestStruct, frozen=True, kw_only=True):
    """Approximate location."""

    city: str | None = None
    country: str | None = None
    """Two letters (ISO 3166)."""
    region: str | None = None
    timezone: str | None = None
    """Name of the IANA database."""


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


class PromptCacheOptions(OpenAIRequestStruct, frozen=True, kw_only=True):
    """How the prompt is cached."""

    mode: str | None = None
    """`implicit`, or `explicit`, which caches up to `ContentPart.prompt_cache_breakpoint`."""
    ttl: str | None = None
    """`30m`."""


class Thinking(OpenAIRequestStruct, frozen=True, kw_only=True):
    """Whether the model thinks. Each model accepts its own values."""

    type: str | None = None
    """`enabled`, `disabled`, `adaptive`."""
    budget_tokens: int | None = None
    """At least 1024."""
    clear_thinking: Annotated[bool | None, Facts(hosts=("glm",))] = None
    """False keeps the reasoning of earlier turns."""
    keep: Annotated[str | None, Facts(hosts=("kimi",))] = None
    """`all` keeps the reasoning of earlier turns. Models that cannot keep it refuse the field."""


class ReasoningOptions(OpenAIRequestStruct, frozen=True, kw_only=True):
    """How much the model reasons, and whether the answer shows it.

    OpenRouter defined it; other hosts adopted parts of it.
    """

    effort: str | None = None
    """As `ChatCompletionRequest.reasoning_effort`."""
    max_tokens: int | None = None
    """Excludes `effort`."""
    enabled: bool | None = None
    exclude: bool | None = None
    """The model reasons, and the answer omits it."""
