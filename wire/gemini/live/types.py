"""The messages of Gemini Live as structs.

Sources: google-genai 3.6.1 (November 2026), called the reference here; recorded conversations.
The rules are those of `wire.gemini.types`, whose structs stand in most messages.
"""

from __future__ import annotations

from typing import Annotated

from wire.core.facts import Facts
from wire.gemini.types import (
    AudioTranscriptionConfig,
    Blob,
    Content,
    FunctionCall,
    FunctionResponse,
    GenerationConfig,
    GroundingMetadata,
    OpenEnum,
    SafetySetting,
    Tool,
    Transcription,
    UrlContextMetadata,
    UsageMetadata,
    VoiceConsentSignature,
)
from wire.gemini.types.base import GEMINI, VERTEX, GeminiRequestStruct, GeminiStruct

__all__ = [
    "ActivityEnd",
    "ActivityStart",
    "AutomaticActivityDetection",
    "AvatarConfig",
    "ClientContent",
    "ClientMessage",
    "ContextUpdate",
    "ContextWindowCompressionConfig",
    "CustomizedAvatar",
    "GoAway",
    "HistoryConfig",
    "LiveToolCall",
    "LiveToolResponse",
    "ProactivityConfig",
    "RealtimeInput",
    "RealtimeInputConfig",
    "ServerContent",
    "ServerMessage",
    "SessionResumptionConfig",
    "SessionResumptionUpdate",
    "Setup",
    "SetupComplete",
    "SlidingWindow",
    "ToolCallCancellation",
    "ToolsUpdate",
    "VoiceActivity",
    "VoiceActivityDetectionSignal",
]

# --- from the client ------------------------------------------------------------------------------


class ClientMessage(GeminiRequestStruct, frozen=True, kw_only=True):
    """What a client sends: one of the fields."""

    setup: Annotated[Setup | None, Facts(one_of="message")] = None
    """The first message, and no other."""
    client_content: Annotated[ClientContent | None, Facts(one_of="message")] = None
    realtime_input: Annotated[RealtimeInput | None, Facts(one_of="message")] = None
    tool_response: Annotated[LiveToolResponse | None, Facts(one_of="message")] = None
    context_update: Annotated[ContextUpdate | None, Facts(one_of="message")] = None


class Setup(GeminiRequestStruct, frozen=True, kw_only=True):
    """The settings of a session."""

    model: str | None = None
    """`models/…`; on Vertex `projects/…/publishers/google/models/…`."""
    generation_config: GenerationConfig | None = None
    """`response_modalities` has one word: `AUDIO` or `TEXT`."""
    system_instruction: Content | None = None
    tools: list[Tool] | None = None
    realtime_input_config: RealtimeInputConfig | None = None
    session_resumption: SessionResumptionConfig | None = None
    """Present: the server sends handles with which another connection continues the session."""
    context_window_compression: ContextWindowCompressionConfig | None = None
    input_audio_transcription: AudioTranscriptionConfig | None = None
    """Present, if only as `{}`: the server sends transcripts of the user."""
    output_audio_transcription: AudioTranscriptionConfig | None = None
    """Present, if only as `{}`: the server sends transcripts of the model."""
    proactivity: ProactivityConfig | None = None
    explicit_vad_signal: Annotated[bool | None, Facts(hosts=VERTEX)] = None
    history_config: HistoryConfig | None = None
    avatar_config: AvatarConfig | None = None
    safety_settings: list[SafetySetting] | None = None
    labels: Annotated[dict[str, str] | None, Facts(hosts=GEMINI)] = None


class RealtimeInputConfig(GeminiRequestStruct, frozen=True, kw_only=True):
    """How audio and video of the user are taken as turns."""

    automatic_activity_detection: AutomaticActivityDetection | None = None
    activity_handling: OpenEnum | None = None
    """`START_OF_ACTIVITY_INTERRUPTS`, `NO_INTERRUPTION`."""
    turn_coverage: OpenEnum | None = None
    """`TURN_INCLUDES_ONLY_ACTIVITY`, `TURN_INCLUDES_ALL_INPUT`."""
    interim_transcript_timestamp_enabled: bool | None = None


class AutomaticActivityDetection(GeminiRequestStruct, frozen=True, kw_only=True):
    """How the server finds where the user begins and ends to speak."""

    disabled: bool | None = None
    """True: the client sends `activity_start` and `activity_end`."""
    start_of_speech_sensitivity: OpenEnum | None = None
    """`START_SENSITIVITY_HIGH`, `START_SENSITIVITY_LOW`."""
    end_of_speech_sensitivity: OpenEnum | None = None
    """`END_SENSITIVITY_HIGH`, `END_SENSITIVITY_LOW`."""
    prefix_padding_ms: int | None = None
    silence_duration_ms: int | None = None


class SessionResumptionConfig(GeminiRequestStruct, frozen=True, kw_only=True):
    """Whether the session can be continued, and which one this connection continues."""

    handle: str | None = None
    """Absent: a new session."""
    transparent: Annotated[bool | None, Facts(hosts=VERTEX)] = None
    """True: the server tells which messages of the client it has read."""


class ContextWindowCompressionConfig(GeminiRequestStruct, frozen=True, kw_only=True):
    """What happens to the oldest turns of a long session."""

    trigger_tokens: str | int | None = None
    sliding_window: SlidingWindow | None = None


class SlidingWindow(GeminiRequestStruct, frozen=True, kw_only=True):
    """The oldest turns are dropped."""

    target_tokens: str | int | None = None


class ProactivityConfig(GeminiRequestStruct, frozen=True, kw_only=True):
    """Whether the model may speak unasked, and be silent."""

    proactive_audio: bool | None = None
    proactive_video: bool | None = None


class HistoryConfig(GeminiRequestStruct, frozen=True, kw_only=True):
    """Where the beginning of the conversation comes from."""

    initial_history_in_client_content: bool | None = None


class AvatarConfig(GeminiRequestStruct, frozen=True, kw_only=True):
    """A face for the voice of the model."""

    avatar_name: str | None = None
    customized_avatar: CustomizedAvatar | None = None
    audio_bitrate_bps: int | None = None
    video_bitrate_bps: int | None = None


class CustomizedAvatar(GeminiRequestStruct, frozen=True, kw_only=True):
    """A face of the user's choice."""

    image_mime_type: str | None = None
    image_data: Annotated[str | None, Facts(base64=True)] = None
    """9:16, at least 704 by 1280 pixels."""


class ClientContent(GeminiRequestStruct, frozen=True, kw_only=True):
    """Turns of the conversation. They interrupt the model."""

    turns: list[Content] | None = None
    turn_complete: bool | None = None
    """True: the model answers now."""


class RealtimeInput(GeminiRequestStruct, frozen=True, kw_only=True):
    """Input that goes on while the model answers: one of the fields."""

    audio: Blob | None = None
    """`audio/pcm;rate=16000`: 16 bits, mono, little endian."""
    video: Blob | None = None
    """One picture."""
    text: str | None = None
    audio_stream_end: Annotated[bool | None, Facts(hosts=GEMINI)] = None
    """The microphone is off."""
    activity_start: ActivityStart | None = None
    activity_end: ActivityEnd | None = None
    media_chunks: list[Blob] | None = None
    """Deprecated; use `audio` and `video`."""


class ActivityStart(GeminiRequestStruct, frozen=True, kw_only=True):
    """The user begins to speak."""


class ActivityEnd(GeminiRequestStruct, frozen=True, kw_only=True):
    """The user has spoken."""


class LiveToolResponse(GeminiRequestStruct, frozen=True, kw_only=True):
    """Results of calls; each has the id of its call."""

    function_responses: list[FunctionResponse] | None = None


class ContextUpdate(GeminiRequestStruct, frozen=True, kw_only=True):
    """New settings for the rest of the session."""

    system_instruction: Content | None = None
    tools: ToolsUpdate | None = None


class ToolsUpdate(GeminiRequestStruct, frozen=True, kw_only=True):
    """The tools from now on; an empty list removes all."""

    tools: list[Tool] | None = None


# --- from the server ------------------------------------------------------------------------------


class ServerMessage(GeminiStruct, frozen=True, kw_only=True):
    """What a server sends: one of the fields, at times with `usage_metadata` beside it."""

    setup_complete: SetupComplete | None = None
    server_content: ServerContent | None = None
    tool_call: LiveToolCall | None = None
    tool_call_cancellation: ToolCallCancellation | None = None
    usage_metadata: UsageMetadata | None = None
    go_away: GoAway | None = None
    session_resumption_update: SessionResumptionUpdate | None = None
    voice_activity_detection_signal: VoiceActivityDetectionSignal | None = None
    voice_activity: VoiceActivity | None = None


class SetupComplete(GeminiStruct, frozen=True, kw_only=True):
    """The session has begun."""

    session_id: str | None = None
    voice_consent_signature: VoiceConsentSignature | None = None


class ServerContent(GeminiStruct, frozen=True, kw_only=True):
    """A part of the model's turn, or news about it."""

    model_turn: Content | None = None
    generation_complete: bool | None = None
    """The model has made its answer. It may still be played."""
    turn_complete: bool | None = None
    """The turn has ended."""
    turn_complete_reason: OpenEnum | None = None
    """`MALFORMED_FUNCTION_CALL`, `RESPONSE_REJECTED`, `NEED_MORE_INPUT` and others."""
    interrupted: bool | None = None
    """The user spoke: what is not played yet is not to be played."""
    input_transcription: Transcription | None = None
    interim_input_transcription: Transcription | None = None
    """A guess that later ones replace."""
    output_transcription: Transcription | None = None
    waiting_for_input: bool | None = None
    interaction_status: OpenEnum | None = None
    """`IN_PROGRESS`, `REQUIRES_ACTION`, `IDLE`."""
    grounding_metadata: GroundingMetadata | None = None
    url_context_metadata: UrlContextMetadata | None = None


class LiveToolCall(GeminiStruct, frozen=True, kw_only=True):
    """Calls of functions; each has an id."""

    function_calls: list[FunctionCall] | None = None


class ToolCallCancellation(GeminiStruct, frozen=True, kw_only=True):
    """Calls whose results must not be sent any more."""

    ids: list[str] | None = None


class GoAway(GeminiStruct, frozen=True, kw_only=True):
    """The server will end the connection."""

    time_left: str | None = None
    """Duration, such as `10s`."""


class SessionResumptionUpdate(GeminiStruct, frozen=True, kw_only=True):
    """A handle of the session, which replaces the one before."""

    new_handle: str | None = None
    """Empty if the session cannot be resumed at this moment."""
    resumable: bool | None = None
    last_consumed_client_message_index: str | int | None = None
    """With `SessionResumptionConfig.transparent`."""


class VoiceActivityDetectionSignal(GeminiStruct, frozen=True, kw_only=True):
    """The user begins or ends to speak."""

    vad_signal_type: OpenEnum | None = None
    """`VAD_SIGNAL_TYPE_SOS`, `VAD_SIGNAL_TYPE_EOS`."""


class VoiceActivity(GeminiStruct, frozen=True, kw_only=True):
    """The user begins or ends to speak, and when."""

    voice_activity_type: OpenEnum | None = None
    """`ACTIVITY_START`, `ACTIVITY_END`."""
    audio_offset: str | None = None
    """Duration from the start of the audio."""
