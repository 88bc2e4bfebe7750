"""Speech, and the transcription and translation of sound.

Sources: openai 3.57.0, types/audio/; mistralai 3.7.0, models/speech*.py and models/*transcription*;
groq 1.7.0 and together 3.1.1, types/audio/; openrouter 1.3.84, components/speech*.py and stt*.py;
docs.x.ai, text to speech, and litellm 1.110.2 for xAI's transcripts;
recorded traffic of OpenAI, Mistral, OpenRouter and Cohere; read on 2026-11-29.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from wire.core.facts import DOCS, SDK, TRAFFIC, Facts
from wire.core.memory import MetadataStruct
from wire.openai.common.types.base import OpenAIRequestStruct, OpenAIStruct

if TYPE_CHECKING:
    from wire.catalogue.cost import Charges

_MISTRAL = Facts(hosts=("mistral",), source=SDK)
_TOGETHER = Facts(hosts=("together",), source=SDK)
_GROQ = Facts(hosts=("groq",), source=SDK)
_ROUTER = Facts(hosts=("openrouter",), source=SDK)
_XAI = Facts(hosts=("xai",), source=DOCS)

# --- speech ---------------------------------------------------------------------------------------


class SpeechRequest(OpenAIRequestStruct, frozen=True, kw_only=True):
    """Body of speech."""

    model: str | None = None
    """`gpt-4o-mini-tts`."""
    input: str | list[Any] | None = None
    """The text; at OpenRouter also a list of turns with `text`, `voice` and `instructions`."""
    voice: str | dict[str, Any] | None = None
    """`alloy`, or `{"id": "voice_1234"}` for one of your own."""
    instructions: str | None = None
    """How to speak."""
    response_format: str | None = None
    """`mp3`, `opus`, `aac`, `flac`, `wav`, `pcm`; other hosts have some of them, and others."""
    speed: float | None = None
    """0.25 to 4; 1 is usual."""
    stream_format: str | None = None
    """`audio`, the bytes of the sound, or `sse`, events."""
    stream: Annotated[bool | None, Facts(hosts=("mistral", "together"), source=SDK)] = None
    """Mistral and Together send events."""
    text: Annotated[str | None, _XAI] = None
    """xAI's name of `input`."""
    output_format: Annotated[dict[str, Any] | None, _XAI] = None
    """`codec`, `sample_rate` and `bit_rate`."""
    optimize_streaming_latency: Annotated[int | None, _XAI] = None
    """0 to 2; more begins sooner and sounds worse."""
    voice_id: Annotated[str | None, Facts(hosts=("mistral", "xai"), source=SDK)] = None
    ref_audio: Annotated[str | None, _MISTRAL] = None
    """Base64 of a voice to speak with."""
    expressiveness: Annotated[float | None, _MISTRAL] = None
    phoneme_hints: Annotated[dict[str, Any] | None, _MISTRAL] = None
    """Words, and how each is spoken."""
    conversation_history: Annotated[list[dict[str, Any]] | None, _MISTRAL] = None
    """Turns to which the text is the next."""
    metadata: Annotated[dict[str, Any] | None, _MISTRAL] = None
    prompt_cache_key: Annotated[str | None, _MISTRAL] = None
    sample_rate: Annotated[int | None, Facts(hosts=("groq", "together"), source=SDK)] = None
    bit_rate: Annotated[int | None, _TOGETHER] = None
    language: Annotated[str | None, Facts(hosts=("together", "xai"), source=SDK)] = None
    """BCP 47; at xAI also `auto`."""
    response_encoding: Annotated[str | None, _TOGETHER] = None
    """Of the format `raw`: `pcm_f32le`, `pcm_s16le`, `pcm_mulaw`, `pcm_alaw`."""
    extra_params: Annotated[dict[str, Any] | None, _TOGETHER] = None
    input_references: Annotated[list[dict[str, Any]] | None, _ROUTER] = None
    """Sounds, texts and pictures for a new voice."""
    provider: Annotated[dict[str, Any] | None, _ROUTER] = None
    session_id: Annotated[str | None, _ROUTER] = None
    trace: Annotated[dict[str, Any] | None, _ROUTER] = None
    user: Annotated[str | None, _ROUTER] = None


class SpeechResponse(OpenAIStruct, frozen=True, kw_only=True):
    """Response of speech, of hosts that send JSON in place of the bytes of the sound."""

    audio_data: Annotated[str | None, Facts(hosts=("mistral",), source=TRAFFIC)] = None
    """Base64."""
    usage: AudioUsage | None = None


class SpeechEvent(OpenAIStruct, frozen=True, kw_only=True):
    """An event of a stream of speech."""

    type: str | None = None
    """`speech.audio.delta`, `speech.audio.done`."""
    audio: str | None = None
    """A piece of the sound as base64."""
    usage: AudioUsage | None = None
    """Of the last event."""
    audio_data: Annotated[str | None, _MISTRAL] = None
    """Mistral's name of `audio`."""
    b64: Annotated[str | None, _TOGETHER] = None
    """Together's name of `audio`."""
    object: Annotated[str | None, _TOGETHER] = None
    """`audio.tts.chunk`."""
    model: Annotated[str | None, _TOGETHER] = None


class SpokenAudio(MetadataStruct, frozen=True):
    """The sound of a response.

    >>> SpokenAudio(b"ID3", "audio/mpeg").usage is None
    True
    """

    data: bytes
    media_type: str = ""
    """As the response says, or by the first bytes; empty if neither tells it."""
    usage: AudioUsage | None = None
    """Counts, of hosts that send them."""


# --- transcription and translation ----------------------------------------------------------------


class TranscriptionRequest(OpenAIRequestStruct, frozen=True, kw_only=True):
    """The fields of the form of transcriptions and translations, besides the file. With
    `input_audio` they are the body.

    Each host has some of the fields only.
    """

    model: str | None = None
    """`gpt-4o-transcribe`, `whisper-1`."""
    language: str | None = None
    """ISO 639-1, such as `en`."""
    languages: list[str] | None = None
    """Languages that the sound may have, of `gpt-transcribe`."""
    prompt: str | None = None
    """A text in the style of the transcript, or what was said before."""
    keywords: list[str] | None = None
    """Words that are likely, of `gpt-transcribe`."""
    response_format: str | None = None
    """`json`, `text`, `srt`, `verbose_json`, `vtt`, `diarized_json`."""
    temperature: float | None = None
    """0 to 1."""
    timestamp_granularities: list[str] | None = None
    """`segment`, `word`, of `verbose_json`."""
    include: list[str] | None = None
    """`logprobs`."""
    chunking_strategy: str | dict[str, Any] | None = None
    """`auto`, or `{"type": "server_vad", ...}`."""
    known_speaker_names: list[str] | None = None
    known_speaker_references: list[str] | None = None
    """A data URL of 2 to 10 seconds for each speaker."""
    stream: bool | None = None
    diarize: Annotated[
        bool | None,
        Facts(hosts=("mistral", "openrouter", "together"), source=SDK),
    ] = None
    """Tell who speaks."""
    context_bias: Annotated[list[str] | None, _MISTRAL] = None
    """Words that are likely."""
    speaker_references: Annotated[dict[str, Any] | None, _MISTRAL] = None
    file_url: Annotated[str | None, _MISTRAL] = None
    """In place of a file."""
    file_id: Annotated[str | None, _MISTRAL] = None
    """In place of a file: one that was uploaded before."""
    url: Annotated[str | None, _GROQ] = None
    """In place of a file."""
    input_audio: Annotated[dict[str, Any] | None, _ROUTER] = None
    """In place of a file, in a request that is JSON: `data` as base64 or `url`, and `format`."""
    keyterms: Annotated[list[str] | None, _ROUTER] = None
    """Words that are likely."""
    provider: Annotated[dict[str, Any] | None, _ROUTER] = None
    session_id: Annotated[str | None, _ROUTER] = None
    trace: Annotated[dict[str, Any] | None, _ROUTER] = None
    user: Annotated[str | None, _ROUTER] = None
    min_speakers: Annotated[int | None, _TOGETHER] = None
    max_speakers: Annotated[int | None, _TOGETHER] = None


class Transcription(OpenAIStruct, frozen=True, kw_only=True):
    """Response of transcriptions and translations."""

    text: str | None = None
    """All of it. Of the formats `text`, `srt` and `vtt`, the body."""
    task: str | None = None
    """`transcribe`, `translate`."""
    language: str | None = None
    """A word such as `english`, or a code."""
    languages: list[TranscriptionLanguage] | None = None
    duration: float | None = None
    """Seconds of the sound."""
    segments: list[TranscriptionSegment] | None = None
    words: list[TranscriptionWord] | None = None
    logprobs: list[TranscriptionLogprob] | None = None
    usage: AudioUsage | None = None
    model: Annotated[str | None, Facts(hosts=("mistral",), source=TRAFFIC)] = None
    finish_reason: Annotated[str | None, Facts(hosts=("mistral",), source=TRAFFIC)] = None
    speaker_segments: Annotated[list[TranscriptionSegment] | None, _TOGETHER] = None
    confidence: Annotated[float | None, _ROUTER] = None
    language_confidence: Annotated[float | None, _ROUTER] = None
    entities: Annotated[list[dict[str, Any]] | None, _ROUTER] = None

    def charges(self) -> Charges:
        """Return the facts of the response, besides its token counts, that decide its price."""
        from wire.catalogue.cost import Charges, vendor_figure

        return Charges(vendor=vendor_figure(self.usage.cost if self.usage else None))


class TranscriptionLanguage(OpenAIStruct, frozen=True, kw_only=True):
    """A language of the sound."""

    code: str | None = None
    """ISO 639-1."""


class TranscriptionSegment(OpenAIStruct, frozen=True, kw_only=True):
    """A part of the transcript."""

    id: str | int | None = None
    type: str | None = None
    """`transcript.text.segment` of speakers, `transcription_segment` at Mistral."""
    start: float | None = None
    """Seconds."""
    end: float | None = None
    text: str | None = None
    speaker: str | int | None = None
    """`A`, `B`, or a name that was given; at OpenRouter a number."""
    seek: int | None = None
    tokens: list[int] | None = None
    temperature: float | None = None
    avg_logprob: float | None = None
    compression_ratio: float | None = None
    no_speech_prob: float | None = None
    speaker_id: Annotated[
        str | None,
        Facts(hosts=("mistral", "together"), source=SDK),
    ] = None
    score: Annotated[float | None, _MISTRAL] = None
    words: Annotated[list[TranscriptionWord] | None, _TOGETHER] = None
    channel: Annotated[int | None, _ROUTER] = None
    speaker_label: Annotated[str | None, _ROUTER] = None


class TranscriptionWord(OpenAIStruct, frozen=True, kw_only=True):
    """A word of the transcript."""

    word: str | None = None
    start: float | None = None
    """Seconds."""
    end: float | None = None
    text: Annotated[str | None, _XAI] = None
    """xAI's name of `word`."""
    speaker_id: Annotated[str | None, _TOGETHER] = None
    type: Annotated[str | None, _ROUTER] = None
    """`word`, `audio_event`."""
    confidence: Annotated[float | None, _ROUTER] = None
    channel: Annotated[int | None, _ROUTER] = None
    speaker: Annotated[int | None, _ROUTER] = None
    speaker_label: Annotated[str | None, _ROUTER] = None


class TranscriptionLogprob(OpenAIStruct, frozen=True, kw_only=True):
    """How probable a token of the transcript was."""

    token: str | None = None
    bytes: list[int] | None = None
    logprob: float | None = None


class TranscriptionEvent(OpenAIStruct, frozen=True, kw_only=True):
    """An event of a stream of a transcription."""

    type: str | None = None
    """`transcript.text.delta`, `transcript.text.segment`, `transcript.text.done`; at Mistral
    `transcription.language`, `transcription.segment`, `transcription.text.delta`,
    `transcription.done`. Absent in a whole response that came in place of events."""
    delta: str | None = None
    """A piece of the text."""
    segment_id: str | None = None
    """Of a delta: the segment that it is part of."""
    text: str | None = None
    """Of a segment its text, of the last event all of it; at Mistral also a piece."""
    id: str | int | None = None
    start: float | None = None
    """Of a segment, in seconds."""
    end: float | None = None
    speaker: str | int | None = None
    logprobs: list[TranscriptionLogprob] | None = None
    languages: list[TranscriptionLanguage] | None = None
    usage: AudioUsage | None = None
    """Of the last event."""
    speaker_id: Annotated[str | None, _MISTRAL] = None
    audio_language: Annotated[str | None, _MISTRAL] = None
    language: str | None = None
    """Of the last event at Mistral, and of a whole response."""
    segments: list[TranscriptionSegment] | None = None
    words: list[TranscriptionWord] | None = None
    """Of a whole response."""
    duration: float | None = None
    """Of a whole response."""
    task: str | None = None
    """Of a whole response."""
    model: Annotated[str | None, _MISTRAL] = None
    finish_reason: Annotated[str | None, _MISTRAL] = None


# --- counts ---------------------------------------------------------------------------------------


class AudioUsage(OpenAIStruct, frozen=True, kw_only=True):
    """Token counts, or seconds."""

    type: str | None = None
    """`tokens`, `duration`."""
    seconds: float | None = None
    """Of the sound that was sent."""
    input_tokens: int | None = None
    output_tokens: int | None = None
    total_tokens: int | None = None
    input_token_details: AudioTokens | None = None
    prompt_tokens: Annotated[int | None, Facts(hosts=("mistral",), source=TRAFFIC)] = None
    """Mistral's name of `input_tokens`."""
    completion_tokens: Annotated[int | None, Facts(hosts=("mistral",), source=TRAFFIC)] = None
    """Mistral's name of `output_tokens`."""
    prompt_audio_seconds: Annotated[float | None, Facts(hosts=("mistral",), source=TRAFFIC)] = None
    """Mistral's name of `seconds`."""
    prompt_tokens_details: Annotated[
        AudioTokens | None, Facts(hosts=("mistral",), source=TRAFFIC)
    ] = None
    service_tier: Annotated[str | None, Facts(hosts=("mistral",), source=TRAFFIC)] = None
    cost: Annotated[float | None, Facts(hosts=("openrouter",), source=TRAFFIC)] = None
    """In USD."""


class AudioTokens(OpenAIStruct, frozen=True, kw_only=True):
    """Tokens by kind of media."""

    text_tokens: int | None = None
    audio_tokens: int | None = None
    cached_tokens: Annotated[int | None, Facts(hosts=("mistral",), source=TRAFFIC)] = None
