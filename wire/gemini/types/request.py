"""How to generate: GenerationConfig and its parts, safety, the request itself."""

from __future__ import annotations

from typing import Any

import msgspec

from wire.gemini.types.base import GeminiStruct, OpenEnum
from wire.gemini.types.content import Content
from wire.gemini.types.tools import Schema, Tool, ToolConfig

# --- generation config ----------------------------------------------------------------------------


class GenerationConfig(GeminiStruct, frozen=True, kw_only=True):
    """How to generate."""

    candidate_count: int | None = None
    """More than 1 is refused on 3.x (G60)."""
    stop_sequences: list[str] | None = None
    """At most 5."""
    max_output_tokens: int | None = None
    """Thinking counts too."""
    temperature: float | None = None
    """0 to 2 (G82). 3.6 on: deprecated and ignored."""
    top_p: float | None = None
    """As `temperature`."""
    top_k: int | None = None
    """As `temperature`."""
    seed: int | None = None
    presence_penalty: float | None = None
    """Many models have none (G61)."""
    frequency_penalty: float | None = None
    """Many models have none (G61)."""
    response_mime_type: str | None = None
    """`text/plain`, `application/json` or `text/x.enum`. JSON beside tools: Gemini 3 on (G56)."""
    response_schema: Schema | None = None
    """Marked deprecated; Schema dialect."""
    response_json_schema: Any = msgspec.UNSET
    """JSON Schema. Excludes `response_schema`; set `response_mime_type` too."""
    response_format: ResponseFormatConfig | None = None
    """Since 2026-05-13: the newer form, per kind of output."""
    response_modalities: list[OpenEnum] | None = None
    """`ResponseModality`."""
    response_logprobs: bool | None = None
    """Not every model, never in a stream (G79, G80)."""
    logprobs: int | None = None
    """How many candidates per token; with `response_logprobs`."""
    thinking_config: ThinkingConfig | None = None
    media_resolution: OpenEnum | None = None
    """`MediaResolutionLevel`, for all media; `Part.media_resolution` for one."""
    speech_config: SpeechConfig | None = None
    image_config: ImageConfig | None = None
    audio_transcription_config: AudioTranscriptionConfig | None = None
    """Since 2026-07-22."""
    translation_config: TranslationConfig | None = None
    """Since 2026-06-09."""
    enable_affective_dialog: bool | None = None
    """Since 2026-07-13."""
    enable_enhanced_civic_answers: bool | None = None
    """Not on Vertex."""
    audio_timestamp: bool | None = None
    """Vertex only."""
    model_config: ModelConfig | None = None
    """Vertex only. google-genai calls it `model_selection_config`, but sends `modelConfig`."""
    routing_config: RoutingConfig | None = None
    """Vertex only."""


class ThinkingConfig(GeminiStruct, frozen=True, kw_only=True):
    """How much to think: a level or a budget, not both (G58)."""

    include_thoughts: bool | None = None
    """Gives parts with `thought`."""
    thinking_level: OpenEnum | None = None
    """`ThinkingLevel`; 3.x only (G59)."""
    thinking_budget: int | None = None
    """Tokens; for the 2.5 family, with a range per model (G57), though 3.x takes it too. 0 is off,
    -1 leaves it to the model.
    """


class ResponseFormatConfig(GeminiStruct, frozen=True, kw_only=True):
    """Form of the output, per kind. Since 2026-05-13."""

    text: TextResponseFormat | None = None
    image: ImageResponseFormat | None = None
    audio: AudioResponseFormat | None = None


class TextResponseFormat(GeminiStruct, frozen=True, kw_only=True):
    """Form of text output."""

    mime_type: OpenEnum | None = None
    """`TextMimeType`."""
    schema: Any = msgspec.UNSET
    """JSON Schema."""
    json_schema: Any = msgspec.UNSET
    """google-genai 3.3.0 only."""


class ImageResponseFormat(GeminiStruct, frozen=True, kw_only=True):
    """Form of image output."""

    mime_type: OpenEnum | None = None
    """`ImageMimeType`."""
    aspect_ratio: OpenEnum | None = None
    """`AspectRatio`."""
    image_size: OpenEnum | None = None
    """`ImageSize`."""
    delivery: OpenEnum | None = None
    """`Delivery`."""


class AudioResponseFormat(GeminiStruct, frozen=True, kw_only=True):
    """Form of audio output."""

    mime_type: OpenEnum | None = None
    """`AudioMimeType`."""
    sample_rate: int | None = None
    """Hertz."""
    bit_rate: int | None = None
    """Bits per second."""
    delivery: OpenEnum | None = None
    """`Delivery`."""


class ImageConfig(GeminiStruct, frozen=True, kw_only=True):
    """How to make images."""

    aspect_ratio: str | None = None
    """`"16:9"`."""
    image_size: str | None = None
    """`"1K"`, `"2K"`, `"4K"`."""
    person_generation: OpenEnum | None = None
    """`PersonGeneration`. Vertex only."""
    prominent_people: OpenEnum | None = None
    """`ProminentPeople`. Vertex only."""
    image_output_options: ImageOutputOptions | None = None
    """Vertex only. google-genai's `output_mime_type` and `output_compression_quality` are sent in
    here.
    """


class ImageOutputOptions(GeminiStruct, frozen=True, kw_only=True):
    """File format of made images. Vertex only."""

    mime_type: str | None = None
    compression_quality: int | None = None


class SpeechConfig(GeminiStruct, frozen=True, kw_only=True):
    """How to speak: one voice, or one for each speaker."""

    language_code: str | None = None
    """BCP 47."""
    voice_config: VoiceConfig | None = None
    multi_speaker_voice_config: MultiSpeakerVoiceConfig | None = None
    """Excludes `voice_config`."""


class VoiceConfig(GeminiStruct, frozen=True, kw_only=True):
    """A voice."""

    prebuilt_voice_config: PrebuiltVoiceConfig | None = None
    replicated_voice_config: ReplicatedVoiceConfig | None = None
    """google-genai 3.3.0 only."""
    voice: str | None = None
    """google-genai 3.3.0 only."""


class PrebuiltVoiceConfig(GeminiStruct, frozen=True, kw_only=True):
    """A voice by name."""

    voice_name: str | None = None


class ReplicatedVoiceConfig(GeminiStruct, frozen=True, kw_only=True):
    """A copy of a person's voice. google-genai 3.3.0 only."""

    mime_type: str | None = None
    """`audio/wav` alone: 16 bit little-endian, 24 kHz."""
    voice_sample_audio: str | None = None
    """base64."""
    consent_audio: str | None = None
    """base64: the owner's recorded consent. Not on Vertex."""
    voice_consent_signature: VoiceConsentSignature | None = None
    """In place of `consent_audio` once the server has checked it. Not on Vertex."""


class VoiceConsentSignature(GeminiStruct, frozen=True, kw_only=True):
    """The server's mark on a consent it checked. google-genai 3.3.0 only."""

    signature: str | None = None


class MultiSpeakerVoiceConfig(GeminiStruct, frozen=True, kw_only=True):
    """Voices of a dialogue."""

    speaker_voice_configs: list[SpeakerVoiceConfig] | None = None


class SpeakerVoiceConfig(GeminiStruct, frozen=True, kw_only=True):
    """Voice of one speaker."""

    speaker: str | None = None
    """The name used in the prompt."""
    voice_config: VoiceConfig | None = None


class TranslationConfig(GeminiStruct, frozen=True, kw_only=True):
    """Speech translation. Since 2026-06-09."""

    target_language_code: str | None = None
    """BCP 47; the API needs it."""
    echo_target_language: bool | None = None


class AudioTranscriptionConfig(GeminiStruct, frozen=True, kw_only=True):
    """How to transcribe audio. The message grew field by field from 2026-07-03 on."""

    language_codes: list[str] | None = None
    """Since 2026-07-31. BCP 47 hints; without them the language is detected."""
    mode: OpenEnum | None = None
    """`TranscriptionMode`, since 2026-08-17."""
    custom_vocabulary: list[str] | None = None
    """Since 2026-07-21."""
    diarization: bool | None = None
    """Since 2026-07-22."""
    word_timestamp: bool | None = None
    """Since 2026-07-22."""
    source_text: str | None = None
    """google-genai 3.3.0 only: text that the speech says how to change, in SMART mode."""
    adaptation_phrases: list[str] | None = None
    """Deprecated: `custom_vocabulary`."""
    language_auto: LanguageAuto | None = None
    """Deprecated: it is the default."""
    language_hints: LanguageHints | None = None
    """Deprecated: `language_codes`."""


class LanguageAuto(GeminiStruct, frozen=True, kw_only=True):
    """Detect the language, no settings. Deprecated."""


class LanguageHints(GeminiStruct, frozen=True, kw_only=True):
    """Languages to expect. Deprecated."""

    language_codes: list[str] | None = None


class ModelConfig(GeminiStruct, frozen=True, kw_only=True):
    """What the choice of a model weighs. Vertex only."""

    feature_selection_preference: OpenEnum | None = None
    """`RoutingPreference`."""


class RoutingConfig(GeminiStruct, frozen=True, kw_only=True):
    """Which model answers: chosen by the server, or named. Vertex only."""

    auto_mode: AutoRoutingMode | None = None
    manual_mode: ManualRoutingMode | None = None


class AutoRoutingMode(GeminiStruct, frozen=True, kw_only=True):
    """The server chooses. Vertex only."""

    model_routing_preference: OpenEnum | None = None
    """`RoutingPreference`."""


class ManualRoutingMode(GeminiStruct, frozen=True, kw_only=True):
    """A model by name. Vertex only."""

    model_name: str | None = None


class SafetySetting(GeminiStruct, frozen=True, kw_only=True):
    """Threshold of one category."""

    category: OpenEnum | None = None
    """`HarmCategory`, each at most once."""
    threshold: OpenEnum | None = None
    """`HarmBlockThreshold`."""
    method: OpenEnum | None = None
    """`HarmBlockMethod`. Vertex only."""


# --- request --------------------------------------------------------------------------------------


class GenerateContentRequest(GeminiStruct, frozen=True, kw_only=True):
    """Body of generateContent and streamGenerateContent."""

    contents: list[Content] | None = None
    """The API needs at least one (G4).

    Order of calls and results: G10 to G13; from 3.6 on the last may not be of the model (G15).
    """
    system_instruction: Content | None = None
    """Text only; its role is ignored."""
    tools: list[Tool] | None = None
    tool_config: ToolConfig | None = None
    generation_config: GenerationConfig | None = None
    safety_settings: list[SafetySetting] | None = None
    cached_content: str | None = None
    """`cachedContents/ID`. Excludes `system_instruction`, `tools`, `tool_config` (G62)."""
    model: str | None = None
    """`models/ID`. The path names the model; only needed here inside countTokens and batches."""
    service_tier: OpenEnum | None = None
    """`ServiceTier`, since 2026-03-24."""
    store: bool | None = None
    """Logging of this request. Not on Vertex."""
    labels: dict[str, str] | None = None
    """Vertex only; seen on the wire, in no inventory. For billing reports."""
    model_armor_config: ModelArmorConfig | None = None
    """Vertex only; seen on the wire, in no inventory."""


class ModelArmorConfig(GeminiStruct, frozen=True, kw_only=True):
    """Model Armor templates that screen a call, by resource name.

    Vertex only; seen on the wire, in no inventory.
    """

    prompt_template_name: str | None = None
    response_template_name: str | None = None
