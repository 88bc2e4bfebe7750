"""What is said: messages, their parts, tool calls, reasoning, and the deltas of a stream."""

from __future__ import annotations

from typing import Annotated, Any

from wire.core.facts import DOCS, TRAFFIC, Facts
from wire.openai.chat.types.base import OpenAIStruct

# --- messages -------------------------------------------------------------------------------------


class _Said(OpenAIStruct, frozen=True, kw_only=True):
    """What a message and a delta have in common."""

    role: str | None = None
    """`system`, `developer`, `user`, `assistant`, `tool`, `function`.

    Few hosts but OpenAI take `developer`.
    """
    content: str | list[ContentPart] | None = None
    """A list of an assistant is Mistral's, for reasoning models."""
    refusal: str | None = None
    """Why the model does not answer, in place of `content`."""
    tool_calls: list[ToolCall] | None = None
    """Each is answered by one message of role `tool` before any other role speaks.

    Some hosts refuse `[]`.
    """
    function_call: FunctionCall | None = None
    """Deprecated: one call, without an id."""
    audio: Audio | None = None
    annotations: list[Annotation] | None = None
    reasoning_content: Annotated[
        str | None,
        Facts(hosts=("deepseek", "glm", "kimi", "qwen", "xai", "llama.cpp"), source=TRAFFIC),
    ] = None
    """Reasoning of DeepSeek, GLM, Kimi, Qwen, xAI, llama.cpp; DeepSeek and Kimi want it back beside
    tool calls.
    """
    reasoning: Annotated[
        str | None,
        Facts(
            hosts=("openrouter", "groq", "together", "ollama", "cerebras", "vllm"), source=TRAFFIC
        ),
    ] = None
    """Reasoning of OpenRouter, Groq, Together, Ollama, Cerebras, vLLM.

    Hosts that send it under two names send one text twice.
    """
    reasoning_text: Annotated[str | None, Facts(source=DOCS)] = None
    """Reasoning under a third name; read after the two others."""
    reasoning_details: Annotated[
        list[ReasoningDetail] | None,
        Facts(hosts=("openrouter", "vercel", "minimax", "snowflake"), source=TRAFFIC),
    ] = None
    """Reasoning with its signatures (OpenRouter, Vercel, MiniMax, Snowflake); goes back unchanged
    and in order.
    """
    extra_content: Annotated[
        dict[str, Any] | None, Facts(hosts=("gemini@openai",), source=TRAFFIC)
    ] = None
    """`google.thought_signature`, which goes back."""
    thought_signature: Annotated[str | None, Facts(hosts=("gemini@openai",), source=TRAFFIC)] = None
    """The same signature once more, bare."""
    provider_metadata: Annotated[
        dict[str, Any] | None, Facts(hosts=("vercel",), source=TRAFFIC)
    ] = None
    """Routing, cost, and what the model's own provider said, by provider."""
    channel: Annotated[str | None, Facts(hosts=("groq",), source=TRAFFIC)] = None
    """`analysis` beside reasoning."""

    @property
    def text(self) -> str:
        """The content that is text, joined; empty if there is none."""
        if isinstance(self.content, list):
            return "".join(part.text or "" for part in self.content if part.type == "text")
        return self.content or ""


class Message(_Said, frozen=True, kw_only=True):
    """One message of any role, sent or received: what an answer says can be put in the next
    request.
    """

    remembers = True

    name: str | None = None
    """Of the speaker; of the function in roles `function` and `tool`, where OpenAI does not ask for
    it.
    """
    tool_call_id: str | None = None
    """Role `tool`: the `ToolCall.id` that this answers."""
    prefix: Annotated[bool | None, Facts(hosts=("mistral",), source=TRAFFIC)] = None
    """Last message of the assistant. the answer goes on from here."""
    cache_control: Annotated[
        CacheControl | None, Facts(hosts=("openrouter", "vercel"), source=TRAFFIC)
    ] = None


class Delta(_Said, frozen=True, kw_only=True):
    """What one chunk adds to a message.

    `null`, `""` and absent all mean nothing new, and never overwrite.
    """


class ContentPart(OpenAIStruct, frozen=True, kw_only=True):
    """One part of a message: `type`, and the field of that name."""

    type: str | None = None
    """`text`, `image_url`, `input_audio`, `file`, `refusal`; `thinking`, `video_url`,
    `document_url`, `reference` are of other hosts.
    """
    text: str | None = None
    refusal: str | None = None
    image_url: ImageUrl | str | None = None
    """The bare URL is Mistral's form."""
    input_audio: InputAudio | str | None = None
    """Bare base64 is Mistral's form."""
    file: FileInput | None = None
    thinking: Annotated[
        list[ContentPart] | str | None, Facts(hosts=("mistral",), source=TRAFFIC)
    ] = None
    """Reasoning, as parts of type `text`."""
    closed: Annotated[bool | None, Facts(hosts=("mistral",), source=TRAFFIC)] = None
    """This reasoning is complete."""
    reference_ids: Annotated[list[int | str] | None, Facts(hosts=("mistral",), source=DOCS)] = None
    """What the text before rests on."""
    document_url: Annotated[str | None, Facts(hosts=("mistral",), source=TRAFFIC)] = None
    document_name: Annotated[str | None, Facts(hosts=("mistral",), source=TRAFFIC)] = None
    video_url: Annotated[
        VideoUrl | str | None, Facts(hosts=("xiaomi", "together"), source=TRAFFIC)
    ] = None
    prompt_cache_breakpoint: PromptCacheBreakpoint | None = None
    """gpt-5.6 on: the prompt up to here is written to the cache."""
    cache_control: Annotated[
        CacheControl | None, Facts(hosts=("openrouter", "vercel"), source=TRAFFIC)
    ] = None


class ImageUrl(OpenAIStruct, frozen=True, kw_only=True):
    """An image by URL; a `data:` URL holds it."""

    url: str | None = None
    detail: str | None = None
    """`auto`, `low`, `high`."""


class InputAudio(OpenAIStruct, frozen=True, kw_only=True):
    """Audio inside the message."""

    data: str | None = None
    """base64, without a `data:` prefix."""
    format: str | None = None
    """`wav`, `mp3`."""


class FileInput(OpenAIStruct, frozen=True, kw_only=True):
    """A file: its data, or the id of an uploaded one."""

    filename: str | None = None
    file_data: str | None = None
    """A `data:` URL; OpenRouter takes an https URL too."""
    file_id: str | None = None


class VideoUrl(OpenAIStruct, frozen=True, kw_only=True):
    """A video by URL. Xiaomi, Together."""

    url: str | None = None


class PromptCacheBreakpoint(OpenAIStruct, frozen=True, kw_only=True):
    """A place up to which the prompt is cached; at most 4 in a request."""

    mode: str | None = None
    """`explicit`."""


class CacheControl(OpenAIStruct, frozen=True, kw_only=True):
    """Anthropic's mark for the cache, as gateways take it."""

    type: str | None = None
    """`ephemeral`."""
    ttl: str | None = None
    """`5m`, `1h`."""


# --- calls ----------------------------------------------------------------------------------------


class ToolCall(OpenAIStruct, frozen=True, kw_only=True):
    """A call that the model wants made; in a delta, a piece of one."""

    remembers = True

    id: str | None = None
    """Opaque, and goes back in `Message.tool_call_id`.

    OpenAI takes at most 40 characters, Mistral exactly 9.
    """
    type: str | None = None
    """`function` or `custom`. Absent at Mistral."""
    function: FunctionCall | None = None
    custom: CustomCall | None = None
    index: int | None = None
    """In a delta: which call this is a piece of. Absent, always 0 or repeated at some hosts."""
    extra_content: Annotated[
        dict[str, Any] | None, Facts(hosts=("gemini@openai",), source=TRAFFIC)
    ] = None
    """`google.thought_signature`, which goes back."""
    cache_control: Annotated[
        CacheControl | None, Facts(hosts=("openrouter", "vercel"), source=TRAFFIC)
    ] = None


class FunctionCall(OpenAIStruct, frozen=True, kw_only=True):
    """Which function, and with what."""

    name: str | None = None
    arguments: Any = None
    """JSON as text, maybe invalid; in a delta, a piece of it.

    Builds of llama.cpp sent an object, and no value may be lost here.
    """


class CustomCall(OpenAIStruct, frozen=True, kw_only=True):
    """Which custom tool, and with what text."""

    name: str | None = None
    input: str | None = None


# --- what answers add -----------------------------------------------------------------------------


class ReasoningDetail(OpenAIStruct, frozen=True, kw_only=True):
    """A piece of reasoning.

    Those of one `type` and `index` belong together; a `text` and an `encrypted` may share an index.
    """

    type: str | None = None
    """`reasoning.text`, `reasoning.summary`, `reasoning.encrypted`,
    `reasoning.server_tool_call`.
    """
    id: str | None = None
    index: int | None = None
    format: str | None = None
    """Of which vendor the signature or the data are, e.g. `anthropic-claude-v1`."""
    text: str | None = None
    """At MiniMax the whole text so far, not a piece."""
    summary: str | None = None
    data: str | None = None
    """Encrypted reasoning, opaque; always whole."""
    signature: str | None = None
    """Opaque; once for a piece of reasoning."""
    provider: str | None = None


class Annotation(OpenAIStruct, frozen=True, kw_only=True):
    """A source of the answer."""

    type: str | None = None
    """`url_citation`; `file` at OpenRouter."""
    url_citation: UrlCitation | None = None
    url: Annotated[str | None, Facts(hosts=("xiaomi",), source=TRAFFIC)] = None
    """Which has no `url_citation`."""
    title: Annotated[str | None, Facts(hosts=("xiaomi",), source=TRAFFIC)] = None
    summary: Annotated[str | None, Facts(hosts=("xiaomi",), source=TRAFFIC)] = None
    site_name: Annotated[str | None, Facts(hosts=("xiaomi",), source=TRAFFIC)] = None


class UrlCitation(OpenAIStruct, frozen=True, kw_only=True):
    """A web page, and the stretch of the text that rests on it."""

    url: str | None = None
    title: str | None = None
    start_index: int | None = None
    """In characters."""
    end_index: int | None = None


class Audio(OpenAIStruct, frozen=True, kw_only=True):
    """What the model said aloud. In a request `id` alone, in place of the sound."""

    id: str | None = None
    data: str | None = None
    """base64; in a delta, a piece of it."""
    transcript: str | None = None
    expires_at: int | None = None
    """Unix time up to which the server knows the id; in a stream in the last chunk."""
