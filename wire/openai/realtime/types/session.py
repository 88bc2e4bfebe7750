"""The session: what a client sets, and what the server says of it."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from wire.core.facts import TRAFFIC, Facts
from wire.openai.common.types.base import OpenAIRequestStruct, OpenAIStruct
from wire.openai.responses.types import Prompt, RequiredApproval, ToolChoice, ToolFilter

XAI, AZURE = ("xai",), ("azure",)
"""Values of `Facts.hosts`. Voice Live of Azure counts as Azure: it has the names of the beta."""


class Session(OpenAIRequestStruct, frozen=True, kw_only=True):
    """The session of `session.update`, `session.created` and `session.updated`.

    In `session.update`, a field that is absent keeps its value.
    """

    type: str | None = None
    """`realtime`, `transcription`; `translation` at the endpoint of translations."""
    id: str | None = None
    object: str | None = None
    """`realtime.session`."""
    expires_at: int | None = None
    """Unix time at which the server ends the session."""
    model: str | None = None
    output_modalities: list[str] | None = None
    """`["audio"]`, which has a transcript, or `["text"]`."""
    instructions: str | None = None
    audio: Audio | None = None
    tools: list[Tool] | None = None
    tool_choice: str | ToolChoice | None = None
    """`auto`, `none`, `required`, or one function or MCP server."""
    parallel_tool_calls: bool | None = None
    max_output_tokens: int | str | None = None
    """1 to 4096, or `inf`."""
    reasoning: Reasoning | None = None
    truncation: str | Truncation | None = None
    """What happens if the conversation is longer than the window: `auto`, `disabled`."""
    tracing: str | Tracing | None = None
    """`auto`; it cannot be changed later."""
    prompt: Prompt | None = None
    include: list[str] | None = None
    """`item.input_audio_transcription.logprobs`."""

    # --- names of the beta, which hosts still have
    modalities: Annotated[list[str] | None, Facts(hosts=(*XAI, *AZURE), source=TRAFFIC)] = None
    """`text`, `audio`; the name of `output_modalities` in the beta."""
    voice: Annotated[str | Voice | None, Facts(hosts=(*XAI, *AZURE), source=TRAFFIC)] = None
    turn_detection: Annotated[
        TurnDetection | msgspec.UnsetType | None, Facts(hosts=(*XAI, *AZURE), source=TRAFFIC)
    ] = msgspec.UNSET
    """`None` is sent as `null`, and switches it off."""
    input_audio_format: Annotated[str | None, Facts(hosts=(*XAI, *AZURE), source=TRAFFIC)] = None
    """`pcm16`, `g711_ulaw`, `g711_alaw`."""
    output_audio_format: Annotated[str | None, Facts(hosts=(*XAI, *AZURE), source=TRAFFIC)] = None
    input_audio_transcription: Annotated[
        Transcription | None, Facts(hosts=(*XAI, *AZURE), source=TRAFFIC)
    ] = None
    input_audio_noise_reduction: Annotated[
        NoiseReduction | None, Facts(hosts=AZURE, source=TRAFFIC)
    ] = None
    input_audio_sampling_rate: Annotated[int | None, Facts(hosts=AZURE, source=TRAFFIC)] = None
    """In hertz."""
    max_response_output_tokens: Annotated[
        int | str | None, Facts(hosts=(*XAI, *AZURE), source=TRAFFIC)
    ] = None
    """The name of `max_output_tokens` in the beta."""
    temperature: Annotated[float | None, Facts(hosts=(*XAI, *AZURE), source=TRAFFIC)] = None

    # --- of hosts
    animation: Annotated[dict[str, Any] | None, Facts(hosts=AZURE, source=TRAFFIC)] = None
    avatar: Annotated[dict[str, Any] | None, Facts(hosts=AZURE, source=TRAFFIC)] = None
    greeting: Annotated[dict[str, Any] | str | None, Facts(hosts=AZURE, source=TRAFFIC)] = None
    handoff: Annotated[dict[str, Any] | None, Facts(hosts=AZURE, source=TRAFFIC)] = None
    input_audio_echo_cancellation: Annotated[
        dict[str, Any] | None, Facts(hosts=AZURE, source=TRAFFIC)
    ] = None
    output_audio_timestamp_types: Annotated[
        list[str] | None, Facts(hosts=AZURE, source=TRAFFIC)
    ] = None
    truncation_strategy: Annotated[
        dict[str, Any] | str | None, Facts(hosts=AZURE, source=TRAFFIC)
    ] = None
    resumption: Annotated[Resumption | None, Facts(hosts=XAI, source=TRAFFIC)] = None
    keep_context: Annotated[bool | None, Facts(hosts=XAI, source=TRAFFIC)] = None
    enable_noise_suppression: Annotated[bool | None, Facts(hosts=XAI, source=TRAFFIC)] = None
    enable_phonetic_spelling: Annotated[bool | None, Facts(hosts=XAI, source=TRAFFIC)] = None


class Reasoning(OpenAIRequestStruct, frozen=True, kw_only=True):
    """How much the model reasons."""

    effort: str | None = None
    """`minimal`, `low`, `medium`, `high`, `xhigh`; `none` at xAI."""


class Resumption(OpenAIRequestStruct, frozen=True, kw_only=True):
    """Whether xAI keeps the session for a later connection."""

    enabled: Annotated[bool | None, Facts(hosts=XAI, source=TRAFFIC)] = None


class Truncation(OpenAIRequestStruct, frozen=True, kw_only=True):
    """How much of a long conversation is kept."""

    type: str | None = None
    """`retention_ratio`."""
    retention_ratio: float | None = None
    """0 to 1: the part of the conversation that is kept."""
    token_limits: TokenLimits | None = None


class TokenLimits(OpenAIRequestStruct, frozen=True, kw_only=True):
    """Limits of the conversation in tokens."""

    post_instructions: int | None = None
    """Tokens after the instructions, with tools."""


class Tracing(OpenAIRequestStruct, frozen=True, kw_only=True):
    """The trace of the session in the dashboard."""

    workflow_name: str | None = None
    group_id: str | None = None
    metadata: dict[str, Any] | None = None


# --- audio ----------------------------------------------------------------------------------------


class Audio(OpenAIRequestStruct, frozen=True, kw_only=True):
    """Audio in both directions."""

    input: AudioInput | None = None
    output: AudioOutput | None = None


class AudioFormat(OpenAIRequestStruct, frozen=True, kw_only=True):
    """A format of audio."""

    type: str | None = None
    """`audio/pcm` (16 bits, mono, little endian), `audio/pcmu`, `audio/pcma`."""
    rate: int | None = None
    """In `audio/pcm`: 24000 hertz; xAI and Azure take others."""


class AudioInput(OpenAIRequestStruct, frozen=True, kw_only=True):
    """The audio of the user."""

    format: AudioFormat | None = None
    transcription: Transcription | msgspec.UnsetType | None = msgspec.UNSET
    """`None` is sent as `null`, and switches it off, as in the next two."""
    noise_reduction: NoiseReduction | msgspec.UnsetType | None = msgspec.UNSET
    turn_detection: TurnDetection | msgspec.UnsetType | None = msgspec.UNSET
    """Without it the client commits the audio and asks for a response."""
    transport: Annotated[str | None, Facts(hosts=XAI, source=TRAFFIC)] = None
    """`json`."""


class AudioOutput(OpenAIRequestStruct, frozen=True, kw_only=True):
    """The audio of the model."""

    format: AudioFormat | None = None
    voice: str | Voice | None = None
    """`alloy`, `marin` and others. It cannot be changed after the model has spoken."""
    speed: float | None = None
    """0.25 to 1.5."""
    language: str | None = None
    """Of a translation: the language to which it translates."""
    transport: Annotated[str | None, Facts(hosts=XAI, source=TRAFFIC)] = None
    """`json`."""


class Voice(OpenAIRequestStruct, frozen=True, kw_only=True):
    """A voice that is not one of the built-in names."""

    id: str | None = None
    """A voice of the account."""
    name: Annotated[str | None, Facts(hosts=AZURE, source=TRAFFIC)] = None
    type: Annotated[str | None, Facts(hosts=AZURE, source=TRAFFIC)] = None
    """`openai`, `azure-standard` and others."""


class NoiseReduction(OpenAIRequestStruct, frozen=True, kw_only=True):
    """Noise reduction before the model hears the user."""

    type: str | None = None
    """`near_field`, `far_field`."""
    strength: float | None = None


class Transcription(OpenAIRequestStruct, frozen=True, kw_only=True):
    """Transcripts of the user's audio, made by another model."""

    model: str | None = None
    """`gpt-realtime-whisper`, `whisper-1` and others."""
    language: str | None = None
    """ISO 639-1."""
    languages: list[str] | None = None
    prompt: str | None = None
    keywords: list[str] | None = None
    delay: str | None = None
    """`minimal`, `low`, `medium`, `high`, `xhigh`."""
    custom_speech: Annotated[dict[str, Any] | None, Facts(hosts=AZURE, source=TRAFFIC)] = None
    phrase_list: Annotated[list[str] | None, Facts(hosts=AZURE, source=TRAFFIC)] = None


class TurnDetection(OpenAIRequestStruct, frozen=True, kw_only=True):
    """How the server finds the end of the user's turn."""

    type: str | None = None
    """`server_vad`, `semantic_vad`."""
    create_response: bool | None = None
    """Answer each turn without being asked."""
    interrupt_response: bool | None = None
    """End the answer when the user speaks."""
    threshold: float | None = None
    """In `server_vad`, as the next three: 0 to 1."""
    prefix_padding_ms: int | None = None
    silence_duration_ms: int | None = None
    idle_timeout_ms: int | None = None
    eagerness: str | None = None
    """In `semantic_vad`: `low`, `medium`, `high`, `auto`."""
    speech_duration_ms: Annotated[int | None, Facts(hosts=AZURE, source=TRAFFIC)] = None
    auto_truncate: Annotated[bool | None, Facts(hosts=AZURE, source=TRAFFIC)] = None
    appended_text_after_truncation: Annotated[str | None, Facts(hosts=AZURE, source=TRAFFIC)] = None
    end_of_utterance_detection: Annotated[
        dict[str, Any] | None, Facts(hosts=AZURE, source=TRAFFIC)
    ] = None


# --- tools ----------------------------------------------------------------------------------------


class Tool(OpenAIRequestStruct, frozen=True, kw_only=True):
    """A function of the client, or a server of MCP."""

    type: str | None = None
    """`function`, `mcp`."""
    name: str | None = None
    """In `function`, as the next two."""
    description: str | None = None
    parameters: dict[str, Any] | None = None
    """JSON Schema of an object."""
    function: Annotated[FunctionTool | None, Facts(hosts=XAI, source=TRAFFIC)] = None
    """xAI repeats the function in this form."""

    # --- MCP
    server_label: str | None = None
    """In `mcp`, as all up to `require_approval`: a name for the server."""
    server_url: str | None = None
    connector_id: str | None = None
    tunnel_id: str | None = None
    server_description: str | None = None
    authorization: str | None = None
    """An access token."""
    headers: dict[str, str] | None = None
    allowed_tools: list[str] | ToolFilter | None = None
    allowed_callers: list[str] | None = None
    defer_loading: bool | None = None
    require_approval: str | RequiredApproval | None = None
    """`always`, `never`."""
    input_schema: dict[str, Any] | None = None
    """In the item `mcp_list_tools`, as `annotations`."""
    annotations: dict[str, Any] | None = None


class FunctionTool(OpenAIStruct, frozen=True, kw_only=True):
    """A function as xAI repeats it."""

    name: Annotated[str | None, Facts(hosts=XAI, source=TRAFFIC)] = None
    description: Annotated[str | None, Facts(hosts=XAI, source=TRAFFIC)] = None
    parameters: Annotated[dict[str, Any] | None, Facts(hosts=XAI, source=TRAFFIC)] = None
