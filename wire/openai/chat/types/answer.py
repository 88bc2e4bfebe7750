"""What comes back: answers and chunks, choices, usage, log probabilities, moderation."""

from __future__ import annotations

from typing import Any

import msgspec

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
    error: ErrorObject | str | None = None
    """In place of the others, inside an answer of status 200. Clients raise it."""
    base_resp: BaseResp | None = None
    """MiniMax: an error too, if its code is not 0."""
    provider: str | None = None
    """OpenRouter: who served this."""
    request_id: str | None = None
    """Qwen, GLM."""
    citations: list[str] | None = None
    """Perplexity, xAI: URLs."""
    search_results: list[SearchResult] | None = None
    """Perplexity."""
    prompt_filter_results: list[PromptFilterResult] | None = None
    """Azure, GitHub Copilot; in a stream in a first chunk without choices."""
    x_groq: XGroq | None = None
    timings: dict[str, Any] | None = None
    """llama.cpp: `prompt_ms`, `predicted_per_second`, ..."""
    time_info: dict[str, Any] | None = None
    """Cerebras: `queue_time`, `completion_time`, ..., in seconds."""
    cost: dict[str, Any] | None = None
    """Venice: `usd`, `diem`."""


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
    finish_reason_camel: str | None = msgspec.field(name="finishReason", default=None)
    """Gemini compat, at times: `finishReason` in place of `finish_reason`."""
    native_finish_reason: str | None = None
    """OpenRouter: the model's own word; `tool_calls` may hide that it is `length`."""
    stop_reason: str | int | None = None
    """vLLM: the stop text or token."""
    logprobs: Logprobs | None = None
    usage: CompletionUsage | None = None
    """Kimi, at times, in place of the chunk's."""
    content_filter_results: dict[str, Any] | None = None
    """Azure: what each filter said, by its name."""


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
    prompt_cache_hit_tokens: int | None = None
    """DeepSeek: cached tokens."""
    prompt_cache_miss_tokens: int | None = None
    """DeepSeek: the others."""
    cached_tokens: int | None = None
    """Kimi, Together."""
    num_cached_tokens: int | None = None
    """Mistral: cached tokens."""
    cache_read_input_tokens: int | None = None
    """Databricks, Venice, doubleword: cached tokens."""
    cache_creation_input_tokens: int | None = None
    """Databricks, Vercel gateway, doubleword: tokens written to the cache."""
    reasoning_tokens: int | None = None
    """Together, GitHub Copilot."""
    cost: float | dict[str, Any] | None = None
    """OpenRouter, Vercel gateway: in USD, or in the host's credits.

    Perplexity: an object with `total_cost`.
    """
    cost_details: dict[str, Any] | None = None
    """OpenRouter: what the provider took."""
    market_cost: float | None = None
    """Vercel gateway."""
    is_byok: bool | None = None
    """OpenRouter: with a key of one's own at the provider."""
    cost_in_usd_ticks: int | None = None
    """xAI."""
    num_sources_used: int | None = None
    """xAI: of its live search."""
    service_tier: str | None = None
    """Mistral."""
    queue_time: float | None = None
    """Groq, in seconds, as the next three."""
    prompt_time: float | None = None
    completion_time: float | None = None
    total_time: float | None = None


class PromptTokensDetails(OpenAIStruct, frozen=True, kw_only=True):
    """Of which kind the tokens of the prompt were."""

    cached_tokens: int | None = None
    cache_write_tokens: int | None = None
    """Written to the cache."""
    cache_creation_input_tokens: int | None = None
    """Qwen: written to the cache."""
    text_tokens: int | None = None
    image_tokens: int | None = None
    audio_tokens: int | None = None
    video_tokens: int | None = None
    """OpenRouter, Vercel gateway, Xiaomi."""


class CompletionTokensDetails(OpenAIStruct, frozen=True, kw_only=True):
    """Of which kind the tokens of the answer were."""

    reasoning_tokens: int | None = None
    accepted_prediction_tokens: int | None = None
    """Of `ChatCompletionRequest.prediction`."""
    rejected_prediction_tokens: int | None = None
    """Paid for like the others."""
    text_tokens: int | None = None
    audio_tokens: int | None = None
    image_tokens: int | None = None
    """OpenRouter, Vercel gateway."""


# --- log probabilities ----------------------------------------------------------------------------


class Logprobs(OpenAIStruct, frozen=True, kw_only=True):
    """Log probabilities, token by token."""

    content: list[TokenLogprob] | None = None
    refusal: list[TokenLogprob] | None = None
    reasoning_content: list[TokenLogprob] | None = None
    """DeepSeek."""


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
