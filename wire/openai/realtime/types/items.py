"""Items of the conversation, responses, and what they cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from wire.core.facts import TRAFFIC, Facts
from wire.openai.common.types.base import OpenAIRequestStruct, OpenAIStruct
from wire.openai.common.types.errors import ErrorObject
from wire.openai.realtime.types.session import AZURE, XAI, Audio, Reasoning, Tool, Voice
from wire.openai.responses.types import Prompt, ToolChoice

if TYPE_CHECKING:
    from wire.catalogue.cost import Charges


class Item(OpenAIStruct, frozen=True, kw_only=True):
    """One item of any type: `type`, and the fields of that type."""

    type: str | None = None
    """`message`, `function_call`, `function_call_output`, `mcp_list_tools`, `mcp_call`,
    `mcp_approval_request`, `mcp_approval_response`; `item_reference` in the input of a response."""
    id: str | None = None
    object: str | None = None
    """`realtime.item`."""
    status: str | None = None
    """`in_progress`, `completed`, `incomplete`."""
    role: str | None = None
    """In `message`: `user`, `assistant`, `system`; `tool` in outputs at xAI."""
    content: list[Part] | None = None
    """In `message`."""
    phase: Annotated[str | None, Facts(source=TRAFFIC)] = None
    """In messages of the assistant: `commentary`, `final_answer`."""
    call_id: str | None = None
    """In `function_call` and `function_call_output`."""
    name: str | None = None
    arguments: str | None = None
    """JSON as text."""
    output: str | None = None
    """In `function_call_output` and `mcp_call`."""
    server_label: str | None = None
    """In items of MCP, as all below."""
    approval_request_id: str | None = None
    approve: bool | None = None
    reason: str | None = None
    tools: list[Tool] | None = None
    error: ErrorObject | None = None


class Part(OpenAIStruct, frozen=True, kw_only=True):
    """A part of a message, or of an answer that is being made."""

    type: str | None = None
    """`input_text`, `input_audio`, `input_image`, `output_text`, `output_audio`; in events `text`
    and `audio`."""
    text: str | None = None
    audio: str | None = None
    """base64, in the format of the session. The server does not send it back."""
    transcript: str | None = None
    """In parts of audio. `null` until it is made."""
    image_url: str | None = None
    """In `input_image`: a data URL."""
    detail: str | None = None
    """In `input_image`: `auto`, `low`, `high`."""


class ResponseOptions(OpenAIRequestStruct, frozen=True, kw_only=True):
    """The options of `response.create`; each replaces that of the session for one response."""

    conversation: str | None = None
    """`auto`, or `none` for a response that the conversation does not get."""
    input: list[Item] | None = None
    """What the response is about, in place of the conversation."""
    instructions: str | None = None
    output_modalities: list[str] | None = None
    audio: Audio | None = None
    tools: list[Tool] | None = None
    tool_choice: str | ToolChoice | None = None
    parallel_tool_calls: bool | None = None
    max_output_tokens: int | str | None = None
    reasoning: Reasoning | None = None
    prompt: Prompt | None = None
    metadata: dict[str, str] | None = None
    modalities: Annotated[list[str] | None, Facts(hosts=(*XAI, *AZURE), source=TRAFFIC)] = None


class Response(OpenAIStruct, frozen=True, kw_only=True):
    """A response of the model, in `response.created` and `response.done`."""

    id: str | None = None
    object: str | None = None
    """`realtime.response`."""
    status: str | None = None
    """`in_progress`, `completed`, `cancelled`, `failed`, `incomplete`."""
    status_details: StatusDetails | str | None = None
    output: list[Item] | None = None
    usage: Usage | None = None
    conversation_id: str | None = None
    output_modalities: list[str] | None = None
    audio: Audio | None = None
    max_output_tokens: int | str | None = None
    metadata: dict[str, Any] | None = None
    modalities: Annotated[list[str] | None, Facts(hosts=AZURE, source=TRAFFIC)] = None
    output_audio_format: Annotated[str | None, Facts(hosts=AZURE, source=TRAFFIC)] = None
    temperature: Annotated[float | None, Facts(hosts=AZURE, source=TRAFFIC)] = None
    voice: Annotated[str | Voice | None, Facts(hosts=AZURE, source=TRAFFIC)] = None

    def charges(self) -> Charges:
        """Return the facts about the price besides the token counts."""
        from wire.catalogue.cost import Charges

        details = self.usage.input_token_details if self.usage is not None else None
        cached = details.cached_tokens_details if details is not None else None
        return Charges(cached_audio=cached.audio_tokens if cached is not None else None)


class StatusDetails(OpenAIStruct, frozen=True, kw_only=True):
    """Why a response ended as it did."""

    type: str | None = None
    """The status again."""
    reason: str | None = None
    """`turn_detected`, `client_cancelled`, `max_output_tokens`, `content_filter`."""
    error: ErrorObject | None = None
    """In `failed`."""


# --- usage ----------------------------------------------------------------------------------------


class Usage(OpenAIStruct, frozen=True, kw_only=True):
    """Tokens of one response, or of one transcript. A response counts the whole conversation."""

    type: str | None = None
    """Of a transcript: `tokens`, `duration`."""
    input_tokens: int | None = None
    output_tokens: int | None = None
    total_tokens: int | None = None
    input_token_details: TokenDetails | None = None
    output_token_details: TokenDetails | None = None
    seconds: float | None = None
    """In `duration`: seconds of audio."""
    billable_audio_seconds: Annotated[float | None, Facts(hosts=XAI, source=TRAFFIC)] = None
    output_audio_seconds: Annotated[float | None, Facts(hosts=XAI, source=TRAFFIC)] = None


class TokenDetails(OpenAIStruct, frozen=True, kw_only=True):
    """Tokens by modality."""

    text_tokens: int | None = None
    audio_tokens: int | None = None
    image_tokens: int | None = None
    cached_tokens: int | None = None
    """Of the input."""
    cached_tokens_details: TokenDetails | None = None
    reasoning_tokens: Annotated[int | None, Facts(source=TRAFFIC)] = None
    """Of the output."""
    grok_tokens: Annotated[int | None, Facts(hosts=XAI, source=TRAFFIC)] = None


class RateLimit(OpenAIStruct, frozen=True, kw_only=True):
    """What is left of a rate limit."""

    name: str | None = None
    """`requests`, `tokens`."""
    limit: int | None = None
    remaining: int | None = None
    reset_seconds: float | None = None


class LogProb(OpenAIStruct, frozen=True, kw_only=True):
    """The probability of a token of a transcript."""

    token: str | None = None
    logprob: float | None = None
    bytes: list[int] | None = None
    """UTF-8 of the token, which may be part of a character."""
