"""Messages, their parts, tool calls, reasoning, and the deltas of a stream."""

from __future__ import annotations

from typing import Annotated, Any

from wire.core.facts import DOCS, TRAFFIC, Facts
from wire.openai.common.types.base import OpenAIStruct

# --- messages -------------------------------------------------------------------------------------


class _MessageFields(OpenAIStruct, frozen=True, kw_only=True):
    """The fields that a message and a delta share."""

    role: str | None = None
    """`system`, `developer`, `user`, `assistant`, `tool`, `function`.

    Few hosts besides OpenAI accept `developer`.
    """
    content: str | list[ContentPart] | None = None
    """A list in an assistant message comes from Mistral's reasoning models."""
    refusal: str | None = None
    """Why the model refuses to answer; replaces `content`."""
    tool_calls: list[ToolCall] | None = None
    """One message of role `tool` must answer each call before another role speaks.

    Some hosts refuse `[]`.
    """
    function_call: FunctionCall | None = None
    """Deprecated. One call without an id."""
    audio: Audio | None = None
    images: Annotated[
        list[ContentPart] | None, Facts(hosts=("openrouter", "vercel"), source=DOCS)
    ] = None
    """Images that the model made, as parts of type `image_url`."""
    annotations: list[Annotation] | None = None
    reasoning_content: Annotated[
        str | None,
        Facts(hosts=("deepseek", "glm", "kimi", "qwen", "xai", "llama.cpp"), source=TRAFFIC),
    ] = None
    """Reasoning as text. DeepSeek and Kimi require it back beside tool calls."""
    reasoning: Annotated[
        str | None,
        Facts(
            hosts=("openrouter", "groq", "together", "ollama", "cerebras", "vllm"), source=TRAFFIC
        ),
    ] = None
    """Reasoning as text. Hosts that send it under two names send the same text twice."""
    reasoning_text: Annotated[str | None, Facts(source=DOCS)] = None
    """Reasoning as text. Read if the two other names are absent."""
    reasoning_details: Annotated[
        list[ReasoningDetail] | None,
        Facts(hosts=("openrouter", "vercel", "minimax", "snowflake"), source=TRAFFIC),
    ] = None
    """Reasoning with its signatures. Send the list back unchanged and in order."""
    extra_content: Annotated[
        dict[str, Any] | None, Facts(hosts=("gemini@openai",), source=TRAFFIC)
    ] = None
    """Has `google.thought_signature`. Send it back."""
    thought_signature: Annotated[str | None, Facts(hosts=("gemini@openai",), source=TRAFFIC)] = None
    """The same signature a second time, without `extra_content`."""
    provider_metadata: Annotated[
        dict[str, Any] | None, Facts(hosts=("vercel",), source=TRAFFIC)
    ] = None
    """Provider -> routing, cost, and fields of that provider."""
    channel: Annotated[str | None, Facts(hosts=("groq",), source=TRAFFIC)] = None
    """`analysis` in deltas of reasoning."""
    executed_tools: Annotated[
        list[dict[str, Any]] | None, Facts(hosts=("groq",), source=TRAFFIC)
    ] = None
    """Calls of tools that the host ran: `index`, `type`, `name`, `arguments` as text, `output`. A
    stream sends a call first without its output and then with it."""

    @property
    def text(self) -> str:
        """The text of the content; `""` if it has none."""
        if isinstance(self.content, list):
            return "".join(part.text or "" for part in self.content if part.type == "text")
        return self.content or ""


class Message(_MessageFields, frozen=True, kw_only=True):
    """One message of any role, sent or received. A received message can be part of a request."""

    remembers = True

    name: str | None = None
    """Name of the speaker. In roles `function` and `tool`, name of the function, which OpenAI does
    not require.
    """
    tool_call_id: str | None = None
    """In role `tool`: the `ToolCall.id` that this message answers."""
    prefix: Annotated[bool | None, Facts(hosts=("mistral", "deepseek"), source=TRAFFIC)] = None
    """In the last message, of the assistant: the model continues its text."""
    partial: Annotated[bool | None, Facts(hosts=("kimi", "qwen"), source=DOCS)] = None
    """As `prefix`."""
    cache_control: Annotated[
        CacheControl | None, Facts(hosts=("openrouter", "vercel"), source=TRAFFIC)
    ] = None


class Delta(_MessageFields, frozen=True, kw_only=True):
    """The delta of a message in one chunk.

    `null`, `""` and an absent field mean that nothing is new; they never overwrite.
    """


class ContentPart(OpenAIStruct, frozen=True, kw_only=True):
    """One part of a message: `type`, and the field of that name."""

    type: str | None = None
    """`text`, `image_url`, `input_audio`, `file`, `refusal`. Other hosts add `thinking`,
    `video_url`, `document_url`, `reference`.
    """
    text: str | None = None
    refusal: str | None = None
    image_url: ImageUrl | str | None = None
    """Mistral uses the URL itself."""
    input_audio: InputAudio | str | None = None
    """Mistral uses the base64 itself."""
    file: FileInput | None = None
    thinking: Annotated[
        list[ContentPart] | str | None, Facts(hosts=("mistral",), source=TRAFFIC)
    ] = None
    """Reasoning, as parts of type `text`."""
    closed: Annotated[bool | None, Facts(hosts=("mistral",), source=TRAFFIC)] = None
    """True if this reasoning is complete."""
    reference_ids: Annotated[list[int | str] | None, Facts(hosts=("mistral",), source=DOCS)] = None
    """Ids of the sources of the text before."""
    document_url: Annotated[str | None, Facts(hosts=("mistral",), source=TRAFFIC)] = None
    document_name: Annotated[str | None, Facts(hosts=("mistral",), source=TRAFFIC)] = None
    video_url: Annotated[
        VideoUrl | str | None, Facts(hosts=("xiaomi", "together"), source=TRAFFIC)
    ] = None
    prompt_cache_breakpoint: PromptCacheBreakpoint | None = None
    """gpt-5.6 and later: writes the prompt up to this part to the cache."""
    cache_control: Annotated[
        CacheControl | None, Facts(hosts=("openrouter", "vercel"), source=TRAFFIC)
    ] = None


class ImageUrl(OpenAIStruct, frozen=True, kw_only=True):
    """An image by URL; a `data:` URL contains it."""

    url: str | None = None
    detail: str | None = None
    """`auto`, `low`, `high`."""


class InputAudio(OpenAIStruct, frozen=True, kw_only=True):
    """Audio inside the message."""

    data: str | None = None
    """Base64 without a `data:` prefix."""
    format: str | None = None
    """`wav`, `mp3`."""


class FileInput(OpenAIStruct, frozen=True, kw_only=True):
    """A file: its data, or the id of an uploaded file."""

    filename: str | None = None
    file_data: str | None = None
    """A `data:` URL. OpenRouter accepts an https URL too."""
    file_id: str | None = None


class VideoUrl(OpenAIStruct, frozen=True, kw_only=True):
    """A video by URL."""

    url: str | None = None


class PromptCacheBreakpoint(OpenAIStruct, frozen=True, kw_only=True):
    """The end of a cached part of the prompt. At most 4 in a request."""

    mode: str | None = None
    """`explicit`."""


class CacheControl(OpenAIStruct, frozen=True, kw_only=True):
    """Anthropic's cache breakpoint, as gateways accept it."""

    type: str | None = None
    """`ephemeral`."""
    ttl: str | None = None
    """`5m`, `1h`."""


# --- calls ----------------------------------------------------------------------------------------


class ToolCall(OpenAIStruct, frozen=True, kw_only=True):
    """A tool call of the model; in a delta, a piece of one."""

    remembers = True

    id: str | None = None
    """Opaque. The result repeats it in `Message.tool_call_id`.

    OpenAI accepts at most 40 characters, Mistral exactly 9.
    """
    type: str | None = None
    """`function` or `custom`. Mistral sends none."""
    function: FunctionCall | None = None
    custom: CustomCall | None = None
    index: int | None = None
    """In a delta: the position of the call that this piece belongs to. Some hosts send none, always
    0, or one index for several calls.
    """
    extra_content: Annotated[
        dict[str, Any] | None, Facts(hosts=("gemini@openai",), source=TRAFFIC)
    ] = None
    """Has `google.thought_signature`. Send it back."""
    cache_control: Annotated[
        CacheControl | None, Facts(hosts=("openrouter", "vercel"), source=TRAFFIC)
    ] = None


class FunctionCall(OpenAIStruct, frozen=True, kw_only=True):
    """Name and arguments of a function call."""

    name: str | None = None
    arguments: Any = None
    """JSON as text, possibly invalid; in a delta, a piece of it.

    The type is `Any` because some builds of llama.cpp sent an object.
    """


class CustomCall(OpenAIStruct, frozen=True, kw_only=True):
    """Name and input of a custom tool."""

    name: str | None = None
    input: str | None = None


# --- what answers add -----------------------------------------------------------------------------


class ReasoningDetail(OpenAIStruct, frozen=True, kw_only=True):
    """A piece of reasoning.

    Pieces of the same `type` and `index` belong together. A `text` and an `encrypted` piece may
    have the same index.
    """

    type: str | None = None
    """`reasoning.text`, `reasoning.summary`, `reasoning.encrypted`,
    `reasoning.server_tool_call`.
    """
    id: str | None = None
    index: int | None = None
    format: str | None = None
    """Vendor of the signature or data, such as `anthropic-claude-v1`."""
    text: str | None = None
    """MiniMax sends the complete text so far, not a piece."""
    summary: str | None = None
    data: str | None = None
    """Encrypted reasoning, opaque; never split."""
    signature: str | None = None
    """Opaque. Sent once for each piece of reasoning."""
    provider: str | None = None


class Annotation(OpenAIStruct, frozen=True, kw_only=True):
    """A source of the answer."""

    type: str | None = None
    """`url_citation`; at OpenRouter also `file`."""
    url_citation: UrlCitation | None = None
    url: Annotated[str | None, Facts(hosts=("xiaomi",), source=TRAFFIC)] = None
    """Replaces `url_citation`."""
    title: Annotated[str | None, Facts(hosts=("xiaomi",), source=TRAFFIC)] = None
    summary: Annotated[str | None, Facts(hosts=("xiaomi",), source=TRAFFIC)] = None
    site_name: Annotated[str | None, Facts(hosts=("xiaomi",), source=TRAFFIC)] = None


class UrlCitation(OpenAIStruct, frozen=True, kw_only=True):
    """A web page, and the segment of the text that it supports."""

    url: str | None = None
    title: str | None = None
    start_index: int | None = None
    """In characters."""
    end_index: int | None = None
    content: Annotated[str | None, Facts(hosts=("openrouter",), source=TRAFFIC)] = None
    """Text of the page."""


class Audio(OpenAIStruct, frozen=True, kw_only=True):
    """Generated speech. A request contains its `id` only."""

    id: str | None = None
    data: str | None = None
    """Base64; in a delta, a piece of it."""
    transcript: str | None = None
    expires_at: int | None = None
    """Unix time at which the server forgets the id. A stream has it in the last chunk."""
