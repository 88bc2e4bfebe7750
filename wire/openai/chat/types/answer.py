"""Responses: completions and chunks, choices, usage, log probabilities, moderation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from wire.core.facts import DOCS, TRAFFIC, Facts
from wire.core.memory import WHOLE
from wire.openai.chat.types.message import Delta, Message, ToolCall
from wire.openai.common.types.base import OpenAIStruct
from wire.openai.common.types.errors import BaseResp, ErrorObject

if TYPE_CHECKING:
    from wire.catalogue.cost import Charges

# --- answers --------------------------------------------------------------------------------------


class _ResponseFields(OpenAIStruct, frozen=True, kw_only=True):
    """The fields that a completion and a chunk share."""

    id: str | None = None
    """The same in all chunks. Empty in the first chunk of Azure."""
    object: str | None = None
    """`chat.completion` or `chat.completion.chunk`. Absent at GitHub Copilot; Perplexity sends the
    former for chunks too.
    """
    created: int | None = None
    """Unix time."""
    model: str | None = None
    usage: CompletionUsage | None = None
    """A stream has it in the last chunk, in the one before, or in each. The last one counts; never
    sum.
    """
    service_tier: str | None = None
    """The tier that served the call."""
    system_fingerprint: str | None = None
    """Deprecated."""
    moderation: Moderation | None = None
    """Present if `ChatCompletionRequest.moderation` requested it; in a stream in a chunk near the
    end.
    """
    metadata: dict[str, Any] | None = None
    """The metadata of the request. Together and HuggingFace send objects of their own."""
    error: Annotated[ErrorObject | str | None, Facts(source=TRAFFIC)] = None
    """An error in a response of status 200, in place of all other fields. Clients raise it."""
    base_resp: Annotated[BaseResp | None, Facts(hosts=("minimax",), source=DOCS)] = None
    """An error too, if its code is not 0."""
    provider: Annotated[str | None, Facts(hosts=("openrouter",), source=TRAFFIC)] = None
    """The provider that served the call."""
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
    """In a stream the first chunk has it, without choices."""
    x_groq: Annotated[XGroq | None, Facts(hosts=("groq",), source=TRAFFIC)] = None
    timings: Annotated[dict[str, Any] | None, Facts(hosts=("llama.cpp",), source=TRAFFIC)] = None
    """Keys `prompt_ms`, `predicted_per_second`, ..."""
    time_info: Annotated[dict[str, Any] | None, Facts(hosts=("cerebras",), source=TRAFFIC)] = None
    """Keys `queue_time`, `completion_time`, ..., in seconds."""
    cost: Annotated[dict[str, Any] | None, Facts(hosts=("venice",), source=TRAFFIC)] = None
    """Keys `usd`, `diem`."""


class ChatCompletion(_ResponseFields, frozen=True, kw_only=True):
    """A response. `message`, `text` and `tool_calls` are those of its first choice."""

    choices: list[Choice] | None = None

    @property
    def message(self) -> Message | None:
        """The message of the first choice, `None` if there is none."""
        return self.choices[0].message if self.choices else None

    def charges(self) -> Charges:
        """Return the facts of the response, besides its token counts, that decide its price.

        Models that search charge each search, which the response does not count.
        """
        from wire.catalogue.cost import SEARCHES_UNCOUNTED, Charges, moment, vendor_figure

        usage = self.usage or CompletionUsage()
        noted = self.message.annotations if self.message is not None else None
        searched = any(note.type == "url_citation" for note in noted or ())
        return Charges(
            tier=self.service_tier or usage.service_tier or "",
            at=moment(self.created),
            unpriced=SEARCHES_UNCOUNTED if searched else "",
            vendor=vendor_figure(
                self.cost if usage.cost is None else usage.cost,
                usage.cost_details,
                own_key=bool(usage.is_byok),
                ticks=usage.cost_in_usd_ticks,
            ),
        )

    @property
    def text(self) -> str:
        """The text of the message; `""` if it has none."""
        return self.message.text if self.message is not None else ""

    @property
    def tool_calls(self) -> list[ToolCall]:
        """The tool calls of the message, unparsed; `wire.openai.parse_reply` parses their
        arguments.
        """
        return (self.message.tool_calls or []) if self.message is not None else []


class ChatCompletionChunk(_ResponseFields, frozen=True, kw_only=True):
    """One chunk of a stream."""

    choices: list[ChunkChoice] | None = None
    """`[]`, null or absent in chunks that have usage, filter results or an error only. That does
    not end the stream.
    """
    obfuscation: str | None = None
    """Random padding."""

    @property
    def text(self) -> str:
        """The text that this chunk adds to the first choice; `""` if none."""
        # Beside deltas, a message repeats them.
        sent = "message" if WHOLE in vars(self) else "delta"
        found = (getattr(each, sent) for each in self.choices or () if not each.index)
        return "".join(each.text for each in found if each is not None)


class Choice(OpenAIStruct, frozen=True, kw_only=True):
    """One of the model's answers."""

    index: int | None = None
    message: Message | None = None
    delta: Delta | None = None
    """Only in chunks."""
    finish_reason: str | None = None
    """`stop`, `length`, `tool_calls`, `content_filter`, `function_call`, or a word of the host.

    Many hosts send `stop` for an answer with tool calls.
    """
    finish_reason_camel: Annotated[str | None, Facts(hosts=("gemini@openai",), source=DOCS)] = (
        msgspec.field(name="finishReason", default=None)
    )
    """`finishReason`, which the host sometimes sends instead of `finish_reason`."""
    native_finish_reason: Annotated[str | None, Facts(hosts=("openrouter",), source=TRAFFIC)] = None
    """The word of the model's own provider. It may be `length` where `finish_reason` is
    `tool_calls`.
    """
    stop_reason: Annotated[str | int | None, Facts(hosts=("vllm",), source=TRAFFIC)] = None
    """The stop text or the id of the stop token."""
    logprobs: Logprobs | None = None
    usage: Annotated[CompletionUsage | None, Facts(hosts=("kimi",), source=DOCS)] = None
    """Sometimes sent instead of the usage of the chunk."""
    content_filter_results: Annotated[
        dict[str, Any] | None, Facts(hosts=("azure",), source=TRAFFIC)
    ] = None
    """Name of each filter -> its result."""


class ChunkChoice(Choice, frozen=True, kw_only=True):
    """The delta of one choice in one chunk.

    If both are present, `delta` is new and `message` is the text so far (Perplexity). A `message`
    alone may be the complete answer (MiniMax, in the last chunk).
    """


class SearchResult(OpenAIStruct, frozen=True, kw_only=True):
    """A page that Perplexity's search found."""

    title: str | None = None
    url: str | None = None
    date: str | None = None
    last_updated: str | None = None
    snippet: str | None = None
    source: str | None = None
    """`web` and others."""


class PromptFilterResult(OpenAIStruct, frozen=True, kw_only=True):
    """Results of Azure's filters for one prompt."""

    prompt_index: int | None = None
    content_filter_results: dict[str, Any] | None = None
    """Name of each filter -> its result."""


class XGroq(OpenAIStruct, frozen=True, kw_only=True):
    """Additional fields of Groq."""

    id: str | None = None
    """Id of the request, for questions to Groq's support."""
    usage: CompletionUsage | None = None
    """A stream has it in the chunk with the finish reason."""
    error: ErrorObject | str | None = None
    seed: int | None = None


# --- usage ----------------------------------------------------------------------------------------


class CompletionUsage(OpenAIStruct, frozen=True, kw_only=True):
    """Token counts of a call; at some hosts also its cost."""

    prompt_tokens: int | None = None
    """Includes cached tokens."""
    completion_tokens: int | None = None
    """Includes reasoning tokens, except at xAI."""
    total_tokens: int | None = None
    prompt_tokens_details: PromptTokensDetails | None = None
    completion_tokens_details: CompletionTokensDetails | None = None
    prompt_cache_hit_tokens: Annotated[int | None, Facts(hosts=("deepseek",), source=TRAFFIC)] = (
        None
    )
    """Tokens that were read from the cache."""
    prompt_cache_miss_tokens: Annotated[int | None, Facts(hosts=("deepseek",), source=TRAFFIC)] = (
        None
    )
    """Tokens that were not in the cache."""
    cached_tokens: Annotated[int | None, Facts(hosts=("kimi", "together"), source=TRAFFIC)] = None
    num_cached_tokens: Annotated[int | None, Facts(hosts=("mistral",), source=TRAFFIC)] = None
    """Tokens that were read from the cache."""
    cache_read_input_tokens: Annotated[
        int | None, Facts(hosts=("databricks", "venice", "doubleword"), source=TRAFFIC)
    ] = None
    """Tokens that were read from the cache."""
    cache_creation_input_tokens: Annotated[
        int | None, Facts(hosts=("databricks", "vercel", "doubleword"), source=TRAFFIC)
    ] = None
    """Tokens that were written to the cache."""
    reasoning_tokens: Annotated[
        int | None, Facts(hosts=("together", "github-copilot"), source=TRAFFIC)
    ] = None
    cost: Annotated[
        float | dict[str, Any] | None,
        Facts(hosts=("openrouter", "vercel", "perplexity"), source=TRAFFIC),
    ] = None
    """In USD or in credits of the host. Perplexity sends an object with `total_cost`."""
    cost_details: Annotated[dict[str, Any] | None, Facts(hosts=("openrouter",), source=TRAFFIC)] = (
        None
    )
    """The price of the provider that served the call."""
    market_cost: Annotated[float | None, Facts(hosts=("vercel",), source=TRAFFIC)] = None
    is_byok: Annotated[bool | None, Facts(hosts=("openrouter",), source=TRAFFIC)] = None
    """Whether the call used the caller's own key at the provider."""
    cost_in_usd_ticks: Annotated[int | None, Facts(hosts=("xai",), source=TRAFFIC)] = None
    num_sources_used: Annotated[int | None, Facts(hosts=("xai",), source=TRAFFIC)] = None
    """Sources of the live search."""
    service_tier: Annotated[str | None, Facts(hosts=("mistral",), source=TRAFFIC)] = None
    queue_time: Annotated[float | None, Facts(hosts=("groq",), source=TRAFFIC)] = None
    """In seconds."""
    prompt_time: Annotated[float | None, Facts(hosts=("groq",), source=TRAFFIC)] = None
    """In seconds."""
    completion_time: Annotated[float | None, Facts(hosts=("groq",), source=TRAFFIC)] = None
    """In seconds."""
    total_time: Annotated[float | None, Facts(hosts=("groq",), source=TRAFFIC)] = None
    """In seconds."""


class PromptTokensDetails(OpenAIStruct, frozen=True, kw_only=True):
    """Tokens of the prompt by kind."""

    cached_tokens: int | None = None
    cache_write_tokens: int | None = None
    """Tokens that were written to the cache."""
    cache_creation_input_tokens: Annotated[int | None, Facts(hosts=("qwen",), source=TRAFFIC)] = (
        None
    )
    """Tokens that were written to the cache."""
    text_tokens: int | None = None
    image_tokens: int | None = None
    audio_tokens: int | None = None
    video_tokens: Annotated[
        int | None, Facts(hosts=("openrouter", "vercel", "xiaomi"), source=TRAFFIC)
    ] = None


class CompletionTokensDetails(OpenAIStruct, frozen=True, kw_only=True):
    """Tokens of the answer by kind."""

    reasoning_tokens: int | None = None
    accepted_prediction_tokens: int | None = None
    """Tokens of `ChatCompletionRequest.prediction` that the answer has."""
    rejected_prediction_tokens: int | None = None
    """Tokens of the prediction that the answer lacks. Billed as output."""
    text_tokens: int | None = None
    audio_tokens: int | None = None
    image_tokens: Annotated[int | None, Facts(hosts=("openrouter", "vercel"), source=TRAFFIC)] = (
        None
    )


# --- log probabilities ----------------------------------------------------------------------------


class Logprobs(OpenAIStruct, frozen=True, kw_only=True):
    """Log probabilities of each token."""

    content: list[TokenLogprob] | None = None
    refusal: list[TokenLogprob] | None = None
    reasoning_content: Annotated[
        list[TokenLogprob] | None, Facts(hosts=("deepseek",), source=TRAFFIC)
    ] = None


class TopLogprob(OpenAIStruct, frozen=True, kw_only=True):
    """One of the most likely tokens of a step."""

    token: str | None = None
    logprob: float | None = None
    """-9999.0 if the token is not among the most likely ones."""
    bytes: list[int] | str | None = None
    """UTF-8 of the token, which may be part of a character. A back end of HuggingFace sends base64.
    """


class TokenLogprob(TopLogprob, frozen=True, kw_only=True):
    """The token of one step, and the most likely ones."""

    top_logprobs: list[TopLogprob] | None = None


# --- moderation -----------------------------------------------------------------------------------


class Moderation(OpenAIStruct, frozen=True, kw_only=True):
    """Results of moderation for prompt and answer."""

    input: ModerationResults | None = None
    output: ModerationResults | None = None


class ModerationResults(OpenAIStruct, frozen=True, kw_only=True):
    """Result of moderation for the prompt or the answer, or its error."""

    type: str | None = None
    """`moderation_results`, or `error`, which has `code` and `message`."""
    model: str | None = None
    results: list[ModerationResult] | None = None
    code: str | None = None
    message: str | None = None


class ModerationResult(OpenAIStruct, frozen=True, kw_only=True):
    """One result, by category."""

    type: str | None = None
    """`moderation_result`."""
    model: str | None = None
    flagged: bool | None = None
    categories: dict[str, bool] | None = None
    category_scores: dict[str, float] | None = None
    category_applied_input_types: dict[str, list[str]] | None = None
    """Category -> `text`, `image`."""
