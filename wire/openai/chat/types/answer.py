"""What comes back: answers and chunks, choices, usage, log probabilities, moderation."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from wire.core.facts import DOCS, TRAFFIC, Facts
from wire.openai.chat.types.base import OpenAIStruct
from wire.openai.chat.types.message import Delta, Message, ToolCall
from wire.openai.common.types.errors import BaseResp, ErrorObject

# --- answers --------------------------------------------------------------------------------------


class _Answer(OpenAIStruct, frozen=True, kw_only=True):
    """What an answer and a chunk have in common."""

    id: str | None = None
    """The same in all chunks; empty in Azure's first."""
    object: str | None = None
    """`chat.completion`, `chat.completion.chunk`.

    Absent at GitHub Copilot; Perplexity calls its chunks the former.
    """
    created: int | None = None
    """Unix time."""
    model: str | None = None
    usage: CompletionUsage | None = None
    """In a stream in the last chunk, in one before, or in each: the last one counts; never sum."""
    service_tier: str | None = None
    """The tier that was used."""
    system_fingerprint: str | None = None
    """Deprecated."""
    moderation: Moderation | None = None
    """If `ChatCompletionRequest.moderation` asked for it; in a stream in a chunk near the end."""
    metadata: dict[str, Any] | None = None
    """What the request said; Together and HuggingFace put objects of their own here."""
    error: Annotated[ErrorObject | str | None, Facts(source=TRAFFIC)] = None
    """In place of the others, inside an answer of status 200. Clients raise it."""
    base_resp: Annotated[BaseResp | None, Facts(hosts=("minimax",), source=DOCS)] = None
    """An error too, if its code is not 0."""
    provider: Annotated[str | None, Facts(hosts=("openrouter",), source=TRAFFIC)] = None
    """Who served this."""
    request_id: Annotated[str | None, Facts(hosts=("qwen", "glm"), source=TRAFFIC)] = None
    citations: Annotated[list[str] | None, Facts(hosts=("perplexity", "xai"), source=TRAFFIC)] = (
        None
    )
    """URLs."""
    search_results: Annotated[
        list[SearchResult] | None, Facts(hosts=("perplexity",), source=TRAFFIC)
    ] = None
    prompt_filter_results: Annotated[
        list[PromptFilterResult] | None, Facts(hosts=("azure", "github-copilot"), source=TRAFFIC)
    ] = None
    """Azure, GitHub Copilot; in a stream in a first chunk without choices."""
    x_groq: Annotated[XGroq | None, Facts(hosts=("groq",), source=TRAFFIC)] = None
    timings: Annotated[dict[str, Any] | None, Facts(hosts=("llama.cpp",), source=TRAFFIC)] = None
    """`prompt_ms`, `predicted_per_second`, ..."""
    time_info: Annotated[dict[str, Any] | None, Facts(hosts=("cerebras",), source=TRAFFIC)] = None
    """`queue_time`, `completion_time`, ..., in seconds."""
    cost: Annotated[dict[str, Any] | None, Facts(hosts=("venice",), source=TRAFFIC)] = None
    """`usd`, `diem`."""


class ChatCompletion(_Answer, frozen=True, kw_only=True):
    """An answer. `message`, `text` and `tool_calls` are those of its first choice."""

    choices: list[Choice] | None = None

    @property
    def message(self) -> Message | None:
        """What the model said."""
        return self.choices[0].message if self.choices else None

    @property
    def text(self) -> str:
        """The text of it, empty if there is none."""
        return self.message.text if self.message is not None else ""

    @property
    def tool_calls(self) -> list[ToolCall]:
        """The calls in it, as they came; `wire.openai.parse_reply` reads their arguments."""
        return (self.message.tool_calls or []) if self.message is not None else []


class ChatCompletionChunk(_Answer, frozen=True, kw_only=True):
    """One chunk of a streamed answer."""

    choices: list[ChunkChoice] | None = None
    """`[]`, null or absent in chunks of usage, filters and errors; that is no end."""
    obfuscation: str | None = None
    """Padding."""

    @property
    def text(self) -> str:
        """What this chunk adds to the text of the first choice, empty if nothing."""
        return "".join(
            choice.delta.text
            for choice in self.choices or ()
            if choice.delta is not None and not choice.index
        )


class Choice(OpenAIStruct, frozen=True, kw_only=True):
    """One answer of the model."""

    index: int | None = None
    message: Message | None = None
    delta: Delta | None = None
    """Only in a chunk."""
    finish_reason: str | None = None
    """`stop`, `length`, `tool_calls`, `content_filter`, `function_call`, and the host's own.

    `stop` with calls is common.
    """
    finish_reason_camel: Annotated[str | None, Facts(hosts=("gemini@openai",), source=DOCS)] = (
        msgspec.field(name="finishReason", default=None)
    )
    """At times. `finishReason` in place of `finish_reason`."""
    native_finish_reason: Annotated[str | None, Facts(hosts=("openrouter",), source=TRAFFIC)] = None
    """The model's own word; `tool_calls` may hide that it is `length`."""
    stop_reason: Annotated[str | int | None, Facts(hosts=("vllm",), source=TRAFFIC)] = None
    """The stop text or token."""
    logprobs: Logprobs | None = None
    usage: Annotated[CompletionUsage | None, Facts(hosts=("kimi",), source=DOCS)] = None
    """Kimi, at times, in place of the chunk's."""
    content_filter_results: Annotated[
        dict[str, Any] | None, Facts(hosts=("azure",), source=TRAFFIC)
    ] = None
    """What each filter said, by its name."""


class ChunkChoice(Choice, frozen=True, kw_only=True):
    """What one chunk adds to one choice.

    With both, `delta` is what is new and `message` the whole text so far (Perplexity); `message`
    alone may be the whole answer (MiniMax, at the end).
    """


class SearchResult(OpenAIStruct, frozen=True, kw_only=True):
    """A page that a search found. Perplexity."""

    title: str | None = None
    url: str | None = None
    date: str | None = None
    last_updated: str | None = None
    snippet: str | None = None
    source: str | None = None
    """`web`, ..."""


class PromptFilterResult(OpenAIStruct, frozen=True, kw_only=True):
    """What Azure's filters said of one prompt."""

    prompt_index: int | None = None
    content_filter_results: dict[str, Any] | None = None
    """By the filter's name."""


class XGroq(OpenAIStruct, frozen=True, kw_only=True):
    """What Groq adds."""

    id: str | None = None
    """Of the request; ask Groq with it."""
    usage: CompletionUsage | None = None
    """In a stream in the chunk that finishes."""
    error: ErrorObject | str | None = None
    seed: int | None = None


# --- usage ----------------------------------------------------------------------------------------


class CompletionUsage(OpenAIStruct, frozen=True, kw_only=True):
    """Tokens of a call, and at some hosts what it cost."""

    prompt_tokens: int | None = None
    """Cached tokens included."""
    completion_tokens: int | None = None
    """Reasoning included, but not at xAI."""
    total_tokens: int | None = None
    prompt_tokens_details: PromptTokensDetails | None = None
    completion_tokens_details: CompletionTokensDetails | None = None
    prompt_cache_hit_tokens: Annotated[int | None, Facts(hosts=("deepseek",), source=TRAFFIC)] = (
        None
    )
    """Cached tokens."""
    prompt_cache_miss_tokens: Annotated[int | None, Facts(hosts=("deepseek",), source=TRAFFIC)] = (
        None
    )
    """The others."""
    cached_tokens: Annotated[int | None, Facts(hosts=("kimi", "together"), source=TRAFFIC)] = None
    num_cached_tokens: Annotated[int | None, Facts(hosts=("mistral",), source=TRAFFIC)] = None
    """Cached tokens."""
    cache_read_input_tokens: Annotated[
        int | None, Facts(hosts=("databricks", "venice", "doubleword"), source=TRAFFIC)
    ] = None
    """Cached tokens."""
    cache_creation_input_tokens: Annotated[
        int | None, Facts(hosts=("databricks", "vercel", "doubleword"), source=TRAFFIC)
    ] = None
    """Tokens written to the cache."""
    reasoning_tokens: Annotated[
        int | None, Facts(hosts=("together", "github-copilot"), source=TRAFFIC)
    ] = None
    cost: Annotated[
        float | dict[str, Any] | None,
        Facts(hosts=("openrouter", "vercel", "perplexity"), source=TRAFFIC),
    ] = None
    """In USD, or in the host's credits.

    Perplexity: an object with `total_cost`."""
    cost_details: Annotated[dict[str, Any] | None, Facts(hosts=("openrouter",), source=TRAFFIC)] = (
        None
    )
    """What the provider took."""
    market_cost: Annotated[float | None, Facts(hosts=("vercel",), source=TRAFFIC)] = None
    is_byok: Annotated[bool | None, Facts(hosts=("openrouter",), source=TRAFFIC)] = None
    """With a key of one's own at the provider."""
    cost_in_usd_ticks: Annotated[int | None, Facts(hosts=("xai",), source=TRAFFIC)] = None
    num_sources_used: Annotated[int | None, Facts(hosts=("xai",), source=TRAFFIC)] = None
    """Of its live search."""
    service_tier: Annotated[str | None, Facts(hosts=("mistral",), source=TRAFFIC)] = None
    queue_time: Annotated[float | None, Facts(hosts=("groq",), source=TRAFFIC)] = None
    """Groq, in seconds, as the next three."""
    prompt_time: Annotated[float | None, Facts(hosts=("groq",), source=TRAFFIC)] = None
    completion_time: Annotated[float | None, Facts(hosts=("groq",), source=TRAFFIC)] = None
    total_time: Annotated[float | None, Facts(hosts=("groq",), source=TRAFFIC)] = None


class PromptTokensDetails(OpenAIStruct, frozen=True, kw_only=True):
    """Of which kind the tokens of the prompt were."""

    cached_tokens: int | None = None
    cache_write_tokens: int | None = None
    """Written to the cache."""
    cache_creation_input_tokens: Annotated[int | None, Facts(hosts=("qwen",), source=TRAFFIC)] = (
        None
    )
    """Written to the cache."""
    text_tokens: int | None = None
    image_tokens: int | None = None
    audio_tokens: int | None = None
    video_tokens: Annotated[
        int | None, Facts(hosts=("openrouter", "vercel", "xiaomi"), source=TRAFFIC)
    ] = None


class CompletionTokensDetails(OpenAIStruct, frozen=True, kw_only=True):
    """Of which kind the tokens of the answer were."""

    reasoning_tokens: int | None = None
    accepted_prediction_tokens: int | None = None
    """Of `ChatCompletionRequest.prediction`."""
    rejected_prediction_tokens: int | None = None
    """Paid for like the others."""
    text_tokens: int | None = None
    audio_tokens: int | None = None
    image_tokens: Annotated[int | None, Facts(hosts=("openrouter", "vercel"), source=TRAFFIC)] = (
        None
    )


# --- log probabilities ----------------------------------------------------------------------------


class Logprobs(OpenAIStruct, frozen=True, kw_only=True):
    """Log probabilities, token by token."""

    content: list[TokenLogprob] | None = None
    refusal: list[TokenLogprob] | None = None
    reasoning_content: Annotated[
        list[TokenLogprob] | None, Facts(hosts=("deepseek",), source=TRAFFIC)
    ] = None


class TopLogprob(OpenAIStruct, frozen=True, kw_only=True):
    """One of the likeliest tokens of a step."""

    token: str | None = None
    logprob: float | None = None
    """-9999.0 if it is not among the likeliest."""
    bytes: list[int] | str | None = None
    """UTF-8 of the token, which may be a piece of a character; base64 at a back end of
    HuggingFace.
    """


class TokenLogprob(TopLogprob, frozen=True, kw_only=True):
    """The token of one step, and the likeliest ones."""

    top_logprobs: list[TopLogprob] | None = None


# --- moderation -----------------------------------------------------------------------------------


class Moderation(OpenAIStruct, frozen=True, kw_only=True):
    """What moderation said of both sides."""

    input: ModerationResults | None = None
    output: ModerationResults | None = None


class ModerationResults(OpenAIStruct, frozen=True, kw_only=True):
    """What moderation said of one side, or why it could not."""

    type: str | None = None
    """`moderation_results`, or `error`: then there are `code` and `message`."""
    model: str | None = None
    results: list[ModerationResult] | None = None
    code: str | None = None
    message: str | None = None


class ModerationResult(OpenAIStruct, frozen=True, kw_only=True):
    """One verdict, by category."""

    type: str | None = None
    """`moderation_result`."""
    model: str | None = None
    flagged: bool | None = None
    categories: dict[str, bool] | None = None
    category_scores: dict[str, float] | None = None
    category_applied_input_types: dict[str, list[str]] | None = None
    """`text`, `image`."""
