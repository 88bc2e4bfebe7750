"""A request for an interaction, and its settings."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from wire.core.facts import DOCS, Facts
from wire.gemini.interactions.types.base import InteractionsRequestStruct
from wire.gemini.interactions.types.content import Content
from wire.gemini.interactions.types.steps import Step
from wire.gemini.interactions.types.tools import Tool, ToolChoice


class InteractionRequest(InteractionsRequestStruct, frozen=True, kw_only=True):
    """A request for an interaction: one turn of a model, or a run of an agent."""

    model: Annotated[str | None, Facts(one_of="who")] = None
    agent: Annotated[str | None, Facts(one_of="who")] = None
    """`deep-research-max-preview-04-2026`, `antigravity-preview-09-2026`, or an agent of one's own.
    """
    input: str | Content | list[Step] | None = None
    """A text, one content, or a list of steps."""
    system_instruction: str | None = None
    tools: list[Tool] | None = None
    """They are not inherited from a previous interaction; nor are the instruction and the config.
    """
    generation_config: GenerationConfig | None = None
    """Of a model."""
    agent_config: AgentConfig | None = None
    """Of an agent."""
    response_format: ResponseFormat | list[ResponseFormat] | None = None
    previous_interaction_id: str | None = None
    """The stored interaction that this one continues."""
    store: bool | None = None
    """The server stores the interaction unless it is false: 55 days in paid projects."""
    background: bool | None = None
    """Answers at once, and runs on."""
    stream: bool | None = None
    continuation_token: str | None = None
    """Of an interaction whose status is `requires_continuation`."""
    service_tier: str | None = None
    """`flex`, `standard`, `priority`, `deferred`."""
    safety_settings: list[SafetySetting] | None = None
    labels: dict[str, str] | None = None
    environment: str | Environment | None = None
    """A sandbox of an agent, or its id."""
    webhook_config: WebhookConfig | None = None
    cached_content: str | None = None
    """Deprecated."""
    response_mime_type: str | None = None
    """Deprecated: `response_format` has it."""
    response_modalities: list[str] | None = None
    """Deprecated: `response_format` has them."""


class GenerationConfig(InteractionsRequestStruct, frozen=True, kw_only=True):
    """Settings of a model."""

    max_output_tokens: int | None = None
    stop_sequences: list[str] | None = None
    seed: int | None = None
    thinking_level: str | None = None
    """`minimal`, `low`, `medium`, `high`, `xhigh`."""
    thinking_summaries: str | None = None
    """`auto`, `none`."""
    tool_choice: str | ToolChoice | None = None
    """`auto`, `any`, `none`, `validated`. It governs functions alone."""
    temperature: float | None = None
    """Deprecated."""
    top_p: float | None = None
    """Deprecated."""
    top_k: Annotated[int | None, Facts(source=DOCS)] = None
    speech_config: SpeakerConfig | list[SpeechConfig] | None = None
    transcription_config: TranscriptionConfig | None = None
    video_config: VideoConfig | None = None
    image_config: ImageConfig | None = None
    """Deprecated."""


class SpeakerConfig(InteractionsRequestStruct, frozen=True, kw_only=True):
    """Several speakers."""

    speakers: list[SpeechConfig] | None = None


class SpeechConfig(InteractionsRequestStruct, frozen=True, kw_only=True):
    """The voice of a speaker."""

    voice: str | None = None
    language: str | None = None
    speaker: str | None = None


class TranscriptionConfig(InteractionsRequestStruct, frozen=True, kw_only=True):
    """How speech is written down."""

    mode: str | TranscriptionMode | None = None
    """`verbatim`, `smart`."""
    language_codes: list[str] | None = None
    custom_vocabulary: list[str] | None = None
    adaptation_phrases: list[str] | None = None
    """Deprecated."""
    diarization_mode: str | None = None
    """Deprecated."""
    language_hints: list[str] | None = None
    """Deprecated."""
    timestamp_granularities: list[str] | None = None
    """Deprecated."""


class TranscriptionMode(InteractionsRequestStruct, frozen=True, kw_only=True):
    """A mode with its options."""

    type: str | None = None
    """`verbatim`, `smart`."""
    diarization_mode: str | None = None
    timestamp_granularities: list[str] | None = None
    source_text: str | None = None


class VideoConfig(InteractionsRequestStruct, frozen=True, kw_only=True):
    """What is done with videos."""

    task: str | None = None
    """`text_to_video`, `image_to_video`, `reference_to_video`, `edit`, `extend`, `upscale`."""


class ImageConfig(InteractionsRequestStruct, frozen=True, kw_only=True):
    """The size of images."""

    aspect_ratio: str | None = None
    image_size: str | None = None
    """`512`, `1K`, `2K`, `4K`."""


class ResponseFormat(InteractionsRequestStruct, frozen=True, kw_only=True):
    """The form of the output. `type` names the kind."""

    type: str | None = None
    """`text`, `image`, `audio`, `video`."""
    mime_type: str | None = None
    json_schema: dict[str, Any] | None = msgspec.field(name="schema", default=None)
    """`schema` in JSON; of a text with the media type `application/json`."""
    delivery: str | None = None
    """`inline`, `uri`."""
    aspect_ratio: str | None = None
    image_size: str | None = None
    bit_rate: int | None = None
    sample_rate: int | None = None
    duration: str | None = None
    resolution: str | None = None
    """Of videos: `360p`, `720p`, `1080p`, `4k`."""
    gcs_uri: str | None = None


class SafetySetting(InteractionsRequestStruct, frozen=True, kw_only=True):
    """When the server blocks a kind of content."""

    type: str | None = None
    """`hate_speech`, `dangerous_content`, `harassment`, `sexually_explicit`, `civic_integrity`,
    `image_hate`, `image_dangerous_content`, `image_harassment`, `image_sexually_explicit`,
    `jailbreak`.
    """
    threshold: str | None = None
    """`block_low_and_above`, `block_medium_and_above`, `block_only_high`, `block_none`, `off`."""
    method: str | None = None
    """`severity`, `probability`."""


class WebhookConfig(InteractionsRequestStruct, frozen=True, kw_only=True):
    """Where the server reports the end of a run."""

    uris: list[str] | None = None
    user_metadata: dict[str, Any] | None = None


# --- agents ---------------------------------------------------------------------------------------


class AgentConfig(InteractionsRequestStruct, frozen=True, kw_only=True):
    """Settings of an agent. `type` names the kind; `dynamic` has keys of its own."""

    type: str | None = None
    """`deep-research`, `antigravity`, `code-mender`, `dynamic`."""
    thinking_summaries: str | None = None
    """`auto`, `none`."""
    visualization: str | None = None
    """`off`, `auto`."""
    collaborative_planning: bool | None = None
    enable_bigquery_tool: bool | None = None
    model: str | None = None
    max_total_tokens: int | None = None
    session_id: str | None = None
    session_config: SessionConfig | None = None
    find_request: CodeRequest | None = None
    fix_request: CodeRequest | None = None


class SessionConfig(InteractionsRequestStruct, frozen=True, kw_only=True):
    """Limits of a session."""

    max_rounds: int | None = None


class CodeRequest(InteractionsRequestStruct, frozen=True, kw_only=True):
    """What an agent looks for in code, or mends."""

    description: str | None = None
    finding_id: str | None = None
    mode: str | None = None
    """`scan`, `verify`."""
    source_files: list[FileContent] | None = None


class FileContent(InteractionsRequestStruct, frozen=True, kw_only=True):
    """A file."""

    path: str | None = None
    content: str | None = None


class Environment(InteractionsRequestStruct, frozen=True, kw_only=True):
    """The sandbox of an agent."""

    type: str | None = None
    """`remote`."""
    environment_id: str | None = None
    env: dict[str, str | EnvVar] | None = None
    network: str | NetworkAllowlist | None = None
    """`disabled`, or a list of what may be reached."""
    sources: list[Source] | None = None


class EnvVar(InteractionsRequestStruct, frozen=True, kw_only=True):
    """A variable of the sandbox."""

    value: str | None = None
    credential: str | None = None


class NetworkAllowlist(InteractionsRequestStruct, frozen=True, kw_only=True):
    """What the sandbox may reach."""

    allowlist: str | list[AllowlistEntry] | None = None
    """`disabled`, or a list."""


class AllowlistEntry(InteractionsRequestStruct, frozen=True, kw_only=True):
    """A domain."""

    domain: str | None = None
    credential: str | None = None
    transform: dict[str, str] | list[dict[str, str]] | None = None


class Source(InteractionsRequestStruct, frozen=True, kw_only=True):
    """Files that the sandbox begins with."""

    type: str | None = None
    """`gcs`, `inline`, `repository`, `skill_registry`."""
    source: str | None = None
    target: str | None = None
    content: str | None = None
    encoding: str | None = None
