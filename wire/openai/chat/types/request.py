"""The request: how to generate, and what the dialects add to it."""

from __future__ import annotations

from typing import Annotated, Any

from wire.core.facts import DOCS, TRAFFIC, Facts
from wire.openai.chat.types.base import OpenAIStruct
from wire.openai.chat.types.message import ContentPart, Message
from wire.openai.chat.types.tools import FunctionDefinition, NamedFunction, Tool, ToolChoice


class ChatCompletionRequest(OpenAIStruct, frozen=True, kw_only=True):
    """Body of chat/completions."""

    model: str | None = None
    """Needed but where the base URL names it, as Azure's deployments do, or where a server has one
    model only.
    """
    messages: list[Message]
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    """Only with `stream`."""
    max_completion_tokens: int | None = None
    """Reasoning counts too.

    OpenAI's reasoning models take this alone, DeepSeek does not read it.
    """
    max_tokens: int | None = None
    """Deprecated at OpenAI, whose reasoning models refuse it; the only one that most other hosts
    know.
    """
    temperature: float | None = None
    """Refused by reasoning models."""
    top_p: float | None = None
    """As `temperature`."""
    frequency_penalty: float | None = None
    presence_penalty: float | None = None
    stop: str | list[str] | None = None
    """At most 4. Refused by reasoning models."""
    n: int | None = None
    seed: int | None = None
    """Deprecated."""
    logprobs: bool | int | None = None
    """Together takes how many."""
    top_logprobs: int | None = None
    """0 to 20, with `logprobs`."""
    logit_bias: dict[str, int] | None = None
    """Token id -> -100 to 100."""
    reasoning_effort: str | None = None
    """`none`, `minimal`, `low`, `medium`, `high`, `xhigh`, `max`; each model takes some.

    Beside tools gpt-5.4 on takes `none` alone.
    """
    verbosity: str | None = None
    """`low`, `medium`, `high`."""
    response_format: ResponseFormat | None = None
    tools: list[Tool] | None = None
    tool_choice: str | ToolChoice | None = None
    """`none`, `auto`, `required`; Mistral has `any` too.

    Thinking models of some hosts refuse to be forced.
    """
    parallel_tool_calls: bool | None = None
    """Only with `tools`."""
    functions: list[FunctionDefinition] | None = None
    """Deprecated."""
    function_call: str | NamedFunction | None = None
    """Deprecated: `none`, `auto` or a name."""
    modalities: list[str] | None = None
    """`text`, `audio`."""
    audio: AudioOptions | None = None
    """Needed where `modalities` has `audio`."""
    prediction: Prediction | None = None
    service_tier: str | None = None
    """`auto`, `default`, `flex`, `scale`, `priority`, `fast`."""
    store: bool | None = None
    metadata: dict[str, str] | None = None
    """At most 16."""
    web_search_options: WebSearchOptions | None = None
    """Search models only."""
    moderation: ModerationOptions | None = None
    """Asks for `ChatCompletion.moderation`."""
    prompt_cache_key: str | None = None
    prompt_cache_options: PromptCacheOptions | None = None
    """gpt-5.6 on."""
    prompt_cache_retention: str | None = None
    """Deprecated: `in_memory`, `24h`."""
    safety_identifier: str | None = None
    user: str | None = None
    """Deprecated in favour of `prompt_cache_key` and `safety_identifier`."""

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
    """Tokens of reasoning at most."""
    include_reasoning: Annotated[
        bool | None, Facts(hosts=("groq", "openrouter"), source=TRAFFIC)
    ] = None
    """At Groq it excludes `reasoning_format`."""
    reasoning_format: Annotated[str | None, Facts(hosts=("groq", "llama.cpp"), source=TRAFFIC)] = (
        None
    )
    """`parsed`, `raw`, `hidden`. llama.cpp: `deepseek`, ..."""
    reasoning_split: Annotated[bool | None, Facts(hosts=("minimax",), source=DOCS)] = None
    """Reasoning in `reasoning_details` instead of inside `content`."""
    clear_thinking: Annotated[bool | None, Facts(hosts=("cerebras",), source=TRAFFIC)] = None
    """Reasoning of earlier turns is dropped."""
    chat_template_kwargs: Annotated[
        dict[str, Any] | None, Facts(hosts=("vllm", "llama.cpp", "together"), source=TRAFFIC)
    ] = None
    """E.g. `enable_thinking`."""
    chat_template_args: Annotated[
        dict[str, Any] | None, Facts(hosts=("baseten",), source=TRAFFIC)
    ] = None
    prompt_mode: Annotated[str | None, Facts(hosts=("mistral",), source=DOCS)] = None
    """`reasoning`, on models that no longer are."""
    extra_body: Annotated[dict[str, Any] | None, Facts(hosts=("gemini@openai",), source=DOCS)] = (
        None
    )
    """`google.thinking_config`. It goes over the wire under this name."""

    # --- of other hosts: the rest
    top_k: Annotated[
        int | None, Facts(hosts=("vllm", "llama.cpp", "together", "openrouter"), source=TRAFFIC)
    ] = None
    """vLLM, llama.cpp, Together, OpenRouter and others."""
    min_p: Annotated[
        float | None, Facts(hosts=("vllm", "llama.cpp", "together", "openrouter"), source=TRAFFIC)
    ] = None
    """As `top_k`."""
    random_seed: Annotated[int | None, Facts(hosts=("mistral",), source=TRAFFIC)] = None
    """Mistral's name for `seed`."""
    safe_prompt: Annotated[bool | None, Facts(hosts=("mistral",), source=TRAFFIC)] = None
    tool_stream: Annotated[bool | None, Facts(hosts=("glm",), source=DOCS)] = None
    """4.6 on. arguments come in pieces."""
    cache_prompt: Annotated[bool | None, Facts(hosts=("llama.cpp",), source=TRAFFIC)] = None
    provider: Annotated[dict[str, Any] | None, Facts(hosts=("openrouter",), source=TRAFFIC)] = None
    """Which providers may serve this, in which order."""
    usage: Annotated[dict[str, Any] | None, Facts(hosts=("openrouter",), source=TRAFFIC)] = None
    """Of old. `include`."""
    enable_search: Annotated[bool | None, Facts(hosts=("qwen",), source=TRAFFIC)] = None
    disable_search: Annotated[bool | None, Facts(hosts=("perplexity",), source=TRAFFIC)] = None
    return_images: Annotated[bool | None, Facts(hosts=("perplexity",), source=TRAFFIC)] = None
    venice_parameters: Annotated[
        dict[str, Any] | None, Facts(hosts=("venice",), source=TRAFFIC)
    ] = None


class StreamOptions(OpenAIStruct, frozen=True, kw_only=True):
    """What a stream brings beside the answer."""

    include_usage: bool | None = None
    """One more chunk at the end, without choices, that has the usage. Many hosts send it anyway."""
    include_obfuscation: bool | None = None
    """False leaves out the padding of the chunks."""


class ResponseFormat(OpenAIStruct, frozen=True, kw_only=True):
    """What the text of the answer is to be."""

    type: str | None = None
    """`text`, `json_object`, `json_schema`."""
    json_schema: JsonSchema | None = None


class JsonSchema(OpenAIStruct, frozen=True, kw_only=True):
    """The schema that the answer fits."""

    name: str | None = None
    """Needed; not empty."""
    description: str | None = None
    schema: dict[str, Any] | None = None
    """JSON Schema."""
    strict: bool | None = None


class AudioOptions(OpenAIStruct, frozen=True, kw_only=True):
    """How the answer sounds."""

    voice: str | CustomVoice | None = None
    """`alloy`, `ash`, `coral`, `marin`, ..."""
    format: str | None = None
    """`wav`, `aac`, `mp3`, `flac`, `opus`, `pcm16`."""


class CustomVoice(OpenAIStruct, frozen=True, kw_only=True):
    """A voice of one's own, by its id."""

    id: str | None = None


class Prediction(OpenAIStruct, frozen=True, kw_only=True):
    """What most of the answer will probably be, which makes it faster."""

    type: str | None = None
    """`content`."""
    content: str | list[ContentPart] | None = None
    """Parts are text."""


class WebSearchOptions(OpenAIStruct, frozen=True, kw_only=True):
    """How to search."""

    user_location: UserLocation | None = None
    search_context_size: str | None = None
    """`low`, `medium`, `high`."""


class UserLocation(OpenAIStruct, frozen=True, kw_only=True):
    """Where the user is."""

    type: str | None = None
    """`approximate`."""
    approximate: ApproximateLocation | None = None


class ApproximateLocation(OpenAIStruct, frozen=True, kw_only=True):
    """About where."""

    city: str | None = None
    country: str | None = None
    """Two letters, ISO 3166."""
    region: str | None = None
    timezone: str | None = None
    """IANA name."""


class ModerationOptions(OpenAIStruct, frozen=True, kw_only=True):
    """Moderation of what goes in and comes out."""

    model: str | None = None
    policy: ModerationPolicy | None = None


class ModerationPolicy(OpenAIStruct, frozen=True, kw_only=True):
    """What to do with each side."""

    input: ModerationConfig | None = None
    output: ModerationConfig | None = None


class ModerationConfig(OpenAIStruct, frozen=True, kw_only=True):
    """What to do with one side."""

    mode: str | None = None
    """`score`, `block`."""


class PromptCacheOptions(OpenAIStruct, frozen=True, kw_only=True):
    """How the prompt is cached."""

    mode: str | None = None
    """`implicit`, `explicit`: only up to `ContentPart.prompt_cache_breakpoint`."""
    ttl: str | None = None
    """`30m`."""


class Thinking(OpenAIStruct, frozen=True, kw_only=True):
    """Whether to think. Which values a model takes differs much."""

    type: str | None = None
    """`enabled`, `disabled`, `adaptive`."""
    budget_tokens: int | None = None
    """Fireworks, at least 1024."""
    clear_thinking: Annotated[bool | None, Facts(hosts=("glm",))] = None
    """False keeps the reasoning of earlier turns."""
    keep: Annotated[str | None, Facts(hosts=("kimi",))] = None
    """`all` keeps the reasoning of earlier turns; refused by models that cannot."""


class ReasoningOptions(OpenAIStruct, frozen=True, kw_only=True):
    """How much to reason, and whether to show it.

    OpenRouter's form, which others took over in part.
    """

    effort: str | None = None
    """As `ChatCompletionRequest.reasoning_effort`."""
    max_tokens: int | None = None
    """Excludes `effort`."""
    enabled: bool | None = None
    exclude: bool | None = None
    """Reason, but leave it out of the answer."""
