"""Body of generateContent: GenerationConfig and its parts, safety settings, the request itself."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from wire.core.facts import DOCS, SDK, TRAFFIC, Facts
from wire.gemini.types.base import GEMINI, VERTEX, GeminiRequestStruct, OpenEnum
from wire.gemini.types.content import Content
from wire.gemini.types.tools import Schema, Tool, ToolConfig

# --- generation config ----------------------------------------------------------------------------


class GenerationConfig(GeminiRequestStruct, frozen=True, kw_only=True):
    """Options of the generation."""

    candidate_count: int | None = None
    """3.x refuses more than 1 (G60)."""
    stop_sequences: list[str] | None = None
    """At most 5."""
    max_output_tokens: int | None = None
    """Tokens of thinking count too."""
    temperature: float | None = None
    """0 to 2 (G82). Deprecated and ignored from 3.6 on."""
    top_p: float | None = None
    """As `temperature`."""
    top_k: int | None = None
    """As `temperature`."""
    seed: int | None = None
    presence_penalty: float | None = None
    """Many models refuse it (G61)."""
    frequency_penalty: float | None = None
    """Many models refuse it (G61)."""
    response_mime_type: str | None = None
    """`text/plain`, `application/json` or `text/x.enum`. Models before Gemini 3 refuse JSON
    together with tools (G56).
    """
    response_schema: Schema | None = None
    """In Google's Schema dialect. Marked deprecated in the reference."""
    response_json_schema: Any = msgspec.UNSET
    """JSON Schema. Excludes `response_schema`; set `response_mime_type` as well."""
    response_format: Annotated[ResponseFormatConfig | None, Facts(since="2026-05-13")] = None
    """The newer form, with one entry for each kind of output."""
    response_modalities: list[OpenEnum] | None = None
    """`ResponseModality`."""
    response_logprobs: bool | None = None
    """Some models refuse it, every stream refuses it (G79, G80)."""
    logprobs: int | None = None
    """Number of top candidates for each token. Needs `response_logprobs`."""
    thinking_config: ThinkingConfig | None = None
    media_resolution: OpenEnum | None = None
    """`MediaResolutionLevel` of all media; `Part.media_resolution` sets that of one part."""
    speech_config: SpeechConfig | None = None
    image_config: ImageConfig | None = None
    audio_transcription_config: Annotated[
        AudioTranscriptionConfig | None, Facts(since="2026-07-22")
    ] = None
    translation_config: Annotated[TranslationConfig | None, Facts(since="2026-06-09")] = None
    enable_affective_dialog: Annotated[bool | None, Facts(since="2026-07-13")] = None
    enable_enhanced_civic_answers: Annotated[bool | None, Facts(hosts=GEMINI)] = None
    audio_timestamp: Annotated[bool | None, Facts(hosts=VERTEX, source=SDK)] = None
    """Audio is sent to the model with timestamps."""
    model_config: Annotated[ModelConfig | None, Facts(hosts=VERTEX, source=SDK)] = None
    """google-genai calls it `model_selection_config` and sends `modelConfig`."""
    routing_config: Annotated[RoutingConfig | None, Facts(hosts=VERTEX, source=SDK)] = None


class ThinkingConfig(GeminiRequestStruct, frozen=True, kw_only=True):
    """How much the model thinks: a level or a budget, not both (G58)."""

    include_thoughts: bool | None = None
    """The answer then has parts with `thought`."""
    thinking_level: OpenEnum | None = None
    """`ThinkingLevel`; 3.x only (G59)."""
    thinking_budget: int | None = None
    """In tokens; 0 turns thinking off, -1 lets the model decide. Each model of the 2.5 family has
    its own range (G57). 3.x accepts a budget too.
    """


class ResponseFormatConfig(GeminiRequestStruct, frozen=True, kw_only=True):
    """Form of the output, for each kind of output."""

    text: Annotated[TextResponseFormat | None, Facts(since="2026-05-13")] = None
    image: Annotated[ImageResponseFormat | None, Facts(since="2026-05-13")] = None
    audio: Annotated[AudioResponseFormat | None, Facts(since="2026-05-13")] = None


class TextResponseFormat(GeminiRequestStruct, frozen=True, kw_only=True):
    """Form of text output."""

    mime_type: Annotated[OpenEnum | None, Facts(since="2026-05-13")] = None
    """`TextMimeType`."""
    schema: Annotated[Any, Facts(since="2026-05-13")] = msgspec.UNSET
    """JSON Schema."""
    json_schema: Annotated[Any, Facts(source=SDK)] = msgspec.UNSET


class ImageResponseFormat(GeminiRequestStruct, frozen=True, kw_only=True):
    """Form of image output."""

    mime_type: Annotated[OpenEnum | None, Facts(since="2026-05-13")] = None
    """`ImageMimeType`."""
    aspect_ratio: Annotated[OpenEnum | None, Facts(since="2026-05-13")] = None
    """`AspectRatio`."""
    image_size: Annotated[OpenEnum | None, Facts(since="2026-05-13")] = None
    """`ImageSize`."""
    delivery: Annotated[OpenEnum | None, Facts(since="2026-05-13")] = None
    """`Delivery`."""


class AudioResponseFormat(GeminiRequestStruct, frozen=True, kw_only=True):
    """Form of audio output."""

    mime_type: Annotated[OpenEnum | None, Facts(since="2026-05-13")] = None
    """`AudioMimeType`."""
    sample_rate: Annotated[int | None, Facts(since="2026-05-13")] = None
    """In hertz."""
    bit_rate: Annotated[int | None, Facts(since="2026-05-13")] = None
    """In bits per second."""
    delivery: Annotated[OpenEnum | None, Facts(since="2026-05-13")] = None
    """`Delivery`."""


class ImageConfig(GeminiRequestStruct, frozen=True, kw_only=True):
    """Options of generated images."""

    aspect_ratio: str | None = None
    """`"16:9"`."""
    image_size: str | None = None
    """`"1K"`, `"2K"`, `"4K"`."""
    person_generation: Annotated[OpenEnum | None, Facts(hosts=VERTEX, source=SDK)] = None
    """`PersonGeneration`."""
    prominent_people: Annotated[OpenEnum | None, Facts(hosts=VERTEX, source=SDK)] = None
    """`ProminentPeople`."""
    image_output_options: Annotated[ImageOutputOptions | None, Facts(hosts=VERTEX, source=SDK)] = (
        None
    )
    """google-genai sends its `output_mime_type` and `output_compression_quality` in here."""


class ImageOutputOptions(GeminiRequestStruct, frozen=True, kw_only=True):
    """File format of generated images."""

    mime_type: str | None = None
    compression_quality: int | None = None


class SpeechConfig(GeminiRequestStruct, frozen=True, kw_only=True):
    """Options of generated speech: one voice, or one for each speaker."""

    language_code: str | None = None
    """BCP 47."""
    voice_config: VoiceConfig | None = None
    multi_speaker_voice_config: MultiSpeakerVoiceConfig | None = None
    """Excludes `voice_config`."""


class VoiceConfig(GeminiRequestStruct, frozen=True, kw_only=True):
    """A voice."""

    prebuilt_voice_config: PrebuiltVoiceConfig | None = None
    replicated_voice_config: Annotated[ReplicatedVoiceConfig | None, Facts(source=SDK)] = None
    voice: Annotated[str | None, Facts(source=SDK)] = None


class PrebuiltVoiceConfig(GeminiRequestStruct, frozen=True, kw_only=True):
    """A voice by name."""

    voice_name: str | None = None


class ReplicatedVoiceConfig(GeminiRequestStruct, frozen=True, kw_only=True):
    """A copy of a person's voice."""

    mime_type: str | None = None
    """Only `audio/wav`: 16 bit little-endian samples at 24 kHz."""
    voice_sample_audio: Annotated[str | None, Facts(base64=True)] = None
    """Base64."""
    consent_audio: Annotated[str | None, Facts(hosts=GEMINI, source=SDK, base64=True)] = None
    """Base64 of a recording in which the owner of the voice consents."""
    voice_consent_signature: Annotated[
        VoiceConsentSignature | None, Facts(hosts=GEMINI, source=SDK)
    ] = None
    """Replaces `consent_audio` once the server has checked it."""


class VoiceConsentSignature(GeminiRequestStruct, frozen=True, kw_only=True):
    """The server's proof that it has checked a recorded consent."""

    signature: str | None = None


class MultiSpeakerVoiceConfig(GeminiRequestStruct, frozen=True, kw_only=True):
    """Voices of a dialogue."""

    speaker_voice_configs: list[SpeakerVoiceConfig] | None = None


class SpeakerVoiceConfig(GeminiRequestStruct, frozen=True, kw_only=True):
    """Voice of one speaker."""

    speaker: str | None = None
    """The name that the prompt uses."""
    voice_config: VoiceConfig | None = None


class TranslationConfig(GeminiRequestStruct, frozen=True, kw_only=True):
    """Options of speech translation."""

    target_language_code: Annotated[str | None, Facts(since="2026-06-09")] = None
    """BCP 47. The API requires it."""
    echo_target_language: Annotated[bool | None, Facts(since="2026-06-09")] = None


class AudioTranscriptionConfig(GeminiRequestStruct, frozen=True, kw_only=True):
    """Options of audio transcription. Google added its fields one by one from July 2026 on."""

    language_codes: Annotated[list[str] | None, Facts(since="2026-07-31")] = None
    """Languages to expect (BCP 47). Without them the server detects the language."""
    mode: Annotated[OpenEnum | None, Facts(since="2026-08-17")] = None
    """`TranscriptionMode`."""
    custom_vocabulary: Annotated[list[str] | None, Facts(since="2026-07-21")] = None
    diarization: Annotated[bool | None, Facts(since="2026-07-22")] = None
    word_timestamp: Annotated[bool | None, Facts(since="2026-07-22")] = None
    source_text: Annotated[str | None, Facts(source=SDK)] = None
    """Text to edit, in mode SMART: the speech contains the instructions."""
    adaptation_phrases: Annotated[list[str] | None, Facts(since="2026-07-03")] = None
    """Deprecated; use `custom_vocabulary`."""
    language_auto: Annotated[LanguageAuto | None, Facts(since="2026-07-03")] = None
    """Deprecated; detection is the default."""
    language_hints: Annotated[LanguageHints | None, Facts(since="2026-07-03")] = None
    """Deprecated; use `language_codes`."""


class LanguageAuto(GeminiRequestStruct, frozen=True, kw_only=True):
    """Detection of the language; has no settings. Deprecated."""


class LanguageHints(GeminiRequestStruct, frozen=True, kw_only=True):
    """Languages to expect. Deprecated."""

    language_codes: Annotated[list[str] | None, Facts(since="2026-07-03")] = None


class ModelConfig(GeminiRequestStruct, frozen=True, kw_only=True):
    """The server's preference when it chooses a model."""

    feature_selection_preference: OpenEnum | None = None
    """`RoutingPreference`."""


class RoutingConfig(GeminiRequestStruct, frozen=True, kw_only=True):
    """Which model answers: one that the server chooses, or a named one."""

    auto_mode: Annotated[AutoRoutingMode | None, Facts(one_of="routing_config")] = None
    manual_mode: Annotated[ManualRoutingMode | None, Facts(one_of="routing_config")] = None


class AutoRoutingMode(GeminiRequestStruct, frozen=True, kw_only=True):
    """The server chooses the model."""

    model_routing_preference: OpenEnum | None = None
    """`RoutingPreference`."""


class ManualRoutingMode(GeminiRequestStruct, frozen=True, kw_only=True):
    """The model by its name."""

    model_name: str | None = None


class SafetySetting(GeminiRequestStruct, frozen=True, kw_only=True):
    """Threshold of one harm category."""

    category: OpenEnum | None = None
    """`HarmCategory`. Each category may occur in one setting only."""
    threshold: OpenEnum | None = None
    """`HarmBlockThreshold`."""
    method: Annotated[OpenEnum | None, Facts(hosts=VERTEX, source=SDK)] = None
    """`HarmBlockMethod`."""


# --- request --------------------------------------------------------------------------------------


class GenerateContentRequest(GeminiRequestStruct, frozen=True, kw_only=True):
    """Body of generateContent and streamGenerateContent."""

    contents: list[Content] | None = None
    """The turns of the conversation; the API requires at least one (G4).

    Results of calls follow their calls directly (G10 to G13). From 3.6 on, the last turn must not
    be the model's (G15). `gemini.contents` puts turns into this order.
    """
    system_instruction: Content | None = None
    """Text parts only. The server ignores its role."""
    tools: list[Tool] | None = None
    tool_config: ToolConfig | None = None
    generation_config: GenerationConfig | None = None
    safety_settings: list[SafetySetting] | None = None
    cached_content: str | None = None
    """`cachedContents/ID`. Excludes `system_instruction`, `tools`, `tool_config` (G62)."""
    model: str | None = None
    """`models/ID`. The path names the model; the body needs it only inside countTokens and batches.
    """
    service_tier: Annotated[OpenEnum | None, Facts(since="2026-03-24")] = None
    """`ServiceTier`."""
    store: Annotated[bool | None, Facts(hosts=GEMINI)] = None
    """Whether Google may log this request."""
    labels: Annotated[dict[str, str] | None, Facts(hosts=VERTEX, source=TRAFFIC)] = None
    """Key-value pairs that appear in billing reports."""
    model_armor_config: Annotated[ModelArmorConfig | None, Facts(hosts=VERTEX, source=TRAFFIC)] = (
        None
    )
    continuation_token: Annotated[str | None, Facts(source=DOCS, base64=True)] = None
    """`Candidate.continuation_token` of an answer that goes on. Everything else of the request is
    as before."""
    output_config: Annotated[dict[str, Any] | None, Facts(hosts=VERTEX, source=SDK)] = None
    """Where Google stores what it made. google-genai calls it `generation_output_config`."""


class ModelArmorConfig(GeminiRequestStruct, frozen=True, kw_only=True):
    """Model Armor templates that screen a call, by resource name."""

    prompt_template_name: str | None = None
    response_template_name: str | None = None
