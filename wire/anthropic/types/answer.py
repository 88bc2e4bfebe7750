"""What comes back: answers, the events of a stream, usage."""

from __future__ import annotations

from typing import Annotated, Any

from wire.anthropic.types.base import AnthropicStruct
from wire.anthropic.types.content import Citation, ContentBlock, Message, text_of
from wire.anthropic.types.errors import BaseResp, ErrorObject
from wire.anthropic.types.request import Container, ContextManagement
from wire.core.facts import DOCS, TRAFFIC, Facts

# --- answers --------------------------------------------------------------------------------------


class MessageResponse(AnthropicStruct, frozen=True, kw_only=True):
    """An answer."""

    id: str | None = None
    type: str | None = None
    """`message`."""
    role: str | None = None
    """`assistant`."""
    model: str | None = None
    content: list[ContentBlock] | None = None
    stop_reason: str | None = None
    """`end_turn`, `max_tokens`, `stop_sequence`, `tool_use`, `pause_turn`, `refusal`,
    `model_context_window_exceeded`. After `pause_turn` the content is sent back as it is, and the
    model goes on."""
    stop_sequence: str | None = None
    """Which of them came."""
    stop_details: StopDetails | None = None
    container: Container | None = None
    usage: Usage | None = None
    context_management: Annotated[ContextManagement | None, Facts(source=TRAFFIC)] = None
    provider: Annotated[str | None, Facts(hosts=("openrouter",), source=TRAFFIC)] = None
    """Who served this."""
    base_resp: Annotated[BaseResp | None, Facts(hosts=("minimax",), source=DOCS)] = None
    """An error, if its code is not 0."""

    @property
    def message(self) -> Message:
        """What was said, as it goes into the next request."""
        return Message(role=self.role or "assistant", content=self.content)

    @property
    def text(self) -> str:
        """The text of it, empty if there is none."""
        return text_of(self.content)

    @property
    def tool_uses(self) -> list[ContentBlock]:
        """The calls in it that are yours to answer."""
        return [block for block in self.content or () if block.type == "tool_use"]


class StopDetails(AnthropicStruct, frozen=True, kw_only=True):
    """Why the model did not answer."""

    type: str | None = None
    """`refusal`."""
    category: str | None = None
    """`cyber`, `bio`, `frontier_llm`, `reasoning_extraction`, `general_harms`."""
    explanation: str | None = None
    recommended_model: Annotated[str | None, Facts(source=TRAFFIC)] = None


# --- streams --------------------------------------------------------------------------------------


class MessageStreamEvent(AnthropicStruct, frozen=True, kw_only=True):
    """One event of a streamed answer."""

    type: str | None = None
    """`message_start`, `content_block_start`, `content_block_delta`, `content_block_stop`,
    `message_delta`, `message_stop`, and what else there is. `ping` and `error` are no events for
    the caller: the one is skipped, the other raised."""
    message: MessageResponse | None = None
    """`message_start`: the answer without its content.

    In place of events: a server that does not stream.
    """
    index: int | None = None
    """Which block of the content."""
    content_block: ContentBlock | None = None
    """`content_block_start`: empty, or whole if no delta can bring it."""
    delta: Delta | None = None
    usage: Usage | None = None
    """`message_delta`: the counts so far, in place of those before."""
    context_management: Annotated[ContextManagement | None, Facts(source=TRAFFIC)] = None
    """`message_delta`."""
    error: Annotated[ErrorObject | str | None, Facts(source=DOCS)] = None
    """`error`."""
    request_id: Annotated[str | None, Facts(source=DOCS)] = None
    """`error`."""

    @property
    def text(self) -> str:
        """What this event adds to the text, empty if nothing."""
        if self.type == "content_block_start" and self.content_block is not None:
            return (self.content_block.text or "") if self.content_block.type == "text" else ""
        return (self.delta.text or "") if self.delta is not None else ""


class Delta(AnthropicStruct, frozen=True, kw_only=True):
    """What an event adds to a block, or to the message."""

    type: str | None = None
    """`text_delta`, `input_json_delta`, `thinking_delta`, `signature_delta`, `citations_delta`,
    `compaction_delta`; absent in a `message_delta`."""
    text: str | None = None
    partial_json: str | None = None
    """A piece of `ContentBlock.input` as text; the first one is mostly empty."""
    thinking: str | None = None
    signature: str | None = None
    """Whole, at the end of its block."""
    citation: Citation | None = None
    """One more."""
    content: Annotated[str | None, Facts(source=TRAFFIC)] = None
    """Type `compaction_delta`."""
    estimated_tokens: Annotated[int | None, Facts(source=TRAFFIC)] = None
    """Beta thinking-token-count-2026-05-13."""
    stop_reason: str | None = None
    stop_sequence: str | None = None
    stop_details: StopDetails | None = None
    container: Container | None = None


# --- usage ----------------------------------------------------------------------------------------


class _Counts(AnthropicStruct, frozen=True, kw_only=True):
    """What a usage and one of its iterations have in common."""

    input_tokens: int | None = None
    """Tokens read from the cache and written to it NOT included."""
    cache_creation_input_tokens: int | None = None
    """Written to the cache."""
    cache_read_input_tokens: int | None = None
    cache_creation: CacheCreation | None = None
    """`cache_creation_input_tokens` by how long they are kept."""
    output_tokens: int | None = None
    """Thinking included."""


class Usage(_Counts, frozen=True, kw_only=True):
    """Tokens of a call.

    The whole prompt is `input_tokens`, what was written to the cache, and what was read from it.
    """

    output_tokens_details: OutputTokensDetails | None = None
    server_tool_use: ServerToolUsage | None = None
    service_tier: str | None = None
    """`standard`, `priority`, `batch`."""
    inference_geo: str | None = None
    iterations: Annotated[list[Iteration] | None, Facts(source=TRAFFIC)] = None
    """Of a call in which the model was run more than once: compaction, advisor, fallback."""
    speed: Annotated[str | None, Facts(source=TRAFFIC)] = None
    cost: Annotated[float | None, Facts(hosts=("openrouter",), source=TRAFFIC)] = None
    """In USD, as the next two."""
    cost_details: Annotated[dict[str, Any] | None, Facts(hosts=("openrouter",), source=TRAFFIC)] = (
        None
    )
    is_byok: Annotated[bool | None, Facts(hosts=("openrouter",), source=TRAFFIC)] = None
    """With a key of one's own at the provider."""


class Iteration(_Counts, frozen=True, kw_only=True):
    """Tokens of one run of a model."""

    type: str | None = None
    """`message`, `compaction`, `advisor_message`, `fallback_message`."""
    model: str | None = None


class CacheCreation(AnthropicStruct, frozen=True, kw_only=True):
    """Tokens written to the cache, by how long they are kept."""

    ephemeral_5m_input_tokens: int | None = None
    ephemeral_1h_input_tokens: int | None = None


class OutputTokensDetails(AnthropicStruct, frozen=True, kw_only=True):
    """Of which kind the tokens of the answer were."""

    thinking_tokens: int | None = None


class ServerToolUsage(AnthropicStruct, frozen=True, kw_only=True):
    """How often tools were called that the server runs."""

    web_search_requests: int | None = None
    web_fetch_requests: int | None = None


class TokenCount(AnthropicStruct, frozen=True, kw_only=True):
    """How long a prompt is."""

    input_tokens: int | None = None
    context_management: Annotated[ContextManagement | None, Facts(source=TRAFFIC)] = None
    """Beta."""
