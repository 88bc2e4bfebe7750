"""Speech and transcripts as neutral calls."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from wire.catalogue.usage import Usage
from wire.core.arguments import checked_arguments
from wire.core.call import Call, StreamCall
from wire.core.errors import ConfigurationError, RuleError, StreamInvalid, Violation, WireError
from wire.core.provider import Provider
from wire.neutral.conversion import converted, converted_stream
from wire.neutral.media import TranscriptEvent, refuse_others
from wire.neutral.media_types import media_type_of
from wire.neutral.messages import Media, MediaDelta, TextDelta
from wire.neutral.speech import SOUND_TYPES, Speech, SpeechRequest
from wire.neutral.transcripts import (
    Transcript,
    TranscriptRequest,
    TranscriptSegment,
    TranscriptWord,
)
from wire.openai.common import audio
from wire.openai.common.dialect import MediaEndpoints
from wire.openai.common.media_hosts import media_of, name_of, renamed, usage_of
from wire.openai.common.media_streams import is_last, sound_of
from wire.openai.common.types import audio as types

_checked = checked_arguments(ConfigurationError, before=True)

# --- speech ---------------------------------------------------------------------------------------

_SPEECH_FIELDS = {
    "voice": ("voice", "voice_id"),
    "format": ("response_format", "output_format"),
    "speed": ("speed",),
    "instructions": ("instructions",),
    "language": ("language",),
}
"""Neutral setting -> the fields that it may be, of which a host has one."""
_SETTINGS_OF_SPEECH = {
    **{field: name for name, fields in _SPEECH_FIELDS.items() for field in fields},
    "input": "text",
}
_DETECTED = "auto"
"""xAI needs a language; with this one it finds out."""
_OWN_VOICE = "voice_"
"""How the ids of voices of one's own begin at OpenAI."""


@_checked
def speech_call(
    request: SpeechRequest, model: str, provider: Provider | str = "openai"
) -> Call[Speech]:
    """Return the call that speaks a text.

    Raises `RuleError` for what the host does not take.
    """
    host = media_of(provider)
    body = _speech_body(request, model, host)
    convert = functools.partial(_speech, model, name_of(provider), request.format)
    call = audio.speech(body)
    with_type = functools.partial(_with_media_type, call.read_headers, convert)
    changed: Any = msgspec.structs.replace(call, read_headers=with_type)
    made: Call[Speech] = changed
    return renamed(made, _SETTINGS_OF_SPEECH)


def _with_media_type(read: Any, convert: Callable[[Any], Speech], sound: Any, headers: Any) -> Any:
    """Convert sound once the headers have told its type."""
    return convert(read(sound, headers))


@_checked
def stream_speech_call(
    request: SpeechRequest, model: str, provider: Provider | str = "openai"
) -> StreamCall[MediaDelta, Speech]:
    """Return the call that streams speech.

    Raises `RuleError` for what the host does not take.
    """
    host = media_of(provider)
    body = _speech_body(request, model, host)
    if host.streams_speech == "stream":
        body = msgspec.structs.replace(body, stream=True)
    convert = functools.partial(_speech, model, name_of(provider), request.format)
    kind = SOUND_TYPES.get(request.format or "", "")
    events = functools.partial(_SoundEvents, kind)
    made: StreamCall[MediaDelta, Speech]
    made = converted_stream(audio.stream_speech(body), events, convert)
    return renamed(made, _SETTINGS_OF_SPEECH)


def _speech_body(request: SpeechRequest, model: str, host: MediaEndpoints) -> types.SpeechRequest:
    named = {
        each: field
        for each, fields in _SPEECH_FIELDS.items()
        for field in fields
        if field in host.speech_fields
    }
    refuse_others(request, named)
    given: dict[str, Any] = {field: getattr(request, each) for each, field in named.items()}
    if (request.voice or "").startswith(_OWN_VOICE) and "voice" in given:
        given["voice"] = {"id": request.voice}
    if "text" in host.speech_fields:  # the shape of xAI, which names no model
        if request.format is not None:
            given["output_format"] = {"codec": request.format}
        given["language"] = request.language or _DETECTED
        return types.SpeechRequest(text=request.text, **given)
    return types.SpeechRequest(model=model, input=request.text, **given)


def _speech(
    model: str,
    provider: str,
    form: str | None,
    response: types.SpokenAudio,
    _: WireError | None = None,
) -> Speech:
    if not response.data:
        raise StreamInvalid("the response has no sound")
    kind = response.media_type or SOUND_TYPES.get(form or "", "application/octet-stream")
    media = Media(data=response.data, media_type=kind)
    return Speech(media, model, provider, _sound_usage(response.usage), source=response)


class _SoundEvents:
    """Converts the events of a stream of speech."""

    def __init__(self, kind: str) -> None:
        self._kind = kind

    def feed(self, chunk: types.SpeechEvent) -> Sequence[MediaDelta]:
        """Return the piece of sound of an event, if it has one."""
        data = sound_of(chunk)
        if not data:
            return ()
        self._kind = self._kind or media_type_of("", data[:64]) or "application/octet-stream"
        return (MediaDelta(position=0, data=data, media_type=self._kind),)

    def close(self, _: object) -> Sequence[MediaDelta]:
        """Return nothing: the sound is complete."""
        return ()


# --- transcripts ----------------------------------------------------------------------------------


@_checked
def transcript_call(
    request: TranscriptRequest, model: str, provider: Provider | str = "openai"
) -> Call[Transcript]:
    """Return the call that writes down a sound.

    Raises `RuleError` for what the host does not take.
    """
    host = media_of(provider)
    build = audio.translations if request.translate else audio.transcriptions
    body, data, names = _transcript_body(request, model, host)
    call = build(body, data, **names)
    made = converted(call, functools.partial(_transcript, model, name_of(provider)))
    return renamed(made, _settings_of(request))


@_checked
def stream_transcript_call(
    request: TranscriptRequest, model: str, provider: Provider | str = "openai"
) -> StreamCall[TranscriptEvent, Transcript]:
    """Return the call that streams a transcript.

    Raises `RuleError` for what the host does not take.
    """
    host = media_of(provider)
    body, data, names = _transcript_body(request, model, host)
    call = audio.stream_transcriptions(body, data, **names)
    convert = functools.partial(_transcript, model, name_of(provider))
    made: StreamCall[TranscriptEvent, Transcript] = converted_stream(call, _TextEvents, convert)
    return renamed(made, _settings_of(request))


def _settings_of(request: TranscriptRequest) -> dict[str, str]:
    """Map each field to the setting of the request that it comes from."""
    asked = "speakers" if request.speakers else "timestamps"
    return {"response_format": asked, "timestamp_granularities": "timestamps"}


def _transcript_body(
    request: TranscriptRequest, model: str, host: MediaEndpoints
) -> tuple[types.TranscriptionRequest, Any, dict[str, Any]]:
    """Return the request, the sound, and its name and type."""
    fields = host.transcription_fields
    known: list[str] = [each for each in ("language", "prompt", "temperature") if each in fields]
    known += ["timestamps"] if "timestamp_granularities" in fields else []
    known += ["speakers"] if host.speakers else []
    refuse_others(request, known)
    given: dict[str, Any] = {
        each: getattr(request, each) for each in ("language", "prompt", "temperature")
    }
    if request.timestamps:
        given["timestamp_granularities"] = list(request.timestamps)
    if "response_format" in fields and (request.timestamps or request.speakers):
        given["response_format"] = "verbose_json"
    if request.speakers and host.speakers == "diarized_json":
        given |= {"response_format": "diarized_json", "chunking_strategy": "auto"}
    elif request.speakers:
        given["diarize"] = True
    source: Any = request.sound
    names: dict[str, Any] = {"filename": request.filename}
    if isinstance(source, Media):
        names |= {"filename": source.name or request.filename, "media_type": source.media_type}
        if source.data is None and not host.sound_url:
            told = "this host takes no URL of a sound"
            raise RuleError(violations=[Violation("sound", told, remedy="Media.file(path)")])
        if source.data is None:
            given[host.sound_url] = source.url
            names = {}
        source = source.data
    return types.TranscriptionRequest(model=model, **given), source, names


def _transcript(
    model: str, provider: str, response: types.Transcription, _: WireError | None = None
) -> Transcript:
    if response.text is None:
        raise StreamInvalid("the response has no text")
    usage = response.usage or types.AudioUsage()
    lengths = (response.duration, usage.seconds, usage.prompt_audio_seconds)
    segments = tuple(map(_segment, response.speaker_segments or response.segments or ()))
    if not any(each.speaker for each in segments):  # OpenRouter says it at each word
        segments = tuple(_spoken(response.words or ())) or segments
    languages = [each.code for each in response.languages or () if each.code]
    return Transcript(
        response.text,
        segments,
        tuple(
            TranscriptWord(text=each.word or each.text or "", start=each.start, end=each.end)
            for each in response.words or ()
        ),
        response.language or ", ".join(languages),
        next((each for each in lengths if each is not None), None),
        response.model or model,
        provider,
        _sound_usage(response.usage),
        source=response,
    )


def _segment(
    given: types.TranscriptionSegment | types.TranscriptionEvent,
) -> TranscriptSegment:
    return TranscriptSegment(
        text=given.text or "", start=given.start, end=given.end, speaker=_speaker(given)
    )


def _speaker(given: Any) -> str:
    names = (getattr(given, each, None) for each in ("speaker_label", "speaker", "speaker_id"))
    return next((str(each) for each in names if each is not None), "")


def _spoken(words: Sequence[types.TranscriptionWord]) -> Iterator[TranscriptSegment]:
    """Yield what each speaker says at a time; nothing if no word has a speaker."""
    for speaker, said in itertools.groupby(words, _speaker):
        found = list(said)
        if speaker:
            text = " ".join([each.word or each.text or "" for each in found])
            yield TranscriptSegment(
                text=text, start=found[0].start, end=found[-1].end, speaker=speaker
            )


def _sound_usage(usage: types.AudioUsage | None) -> Usage | None:
    if usage is None:
        return None
    details = usage.input_token_details or usage.prompt_tokens_details
    kinds = {
        f"input_{kind}": number
        for kind in ("audio", "text")
        if details is not None and (number := getattr(details, f"{kind}_tokens"))
    }
    input = usage.input_tokens if usage.input_tokens is not None else usage.prompt_tokens
    output = usage.output_tokens if usage.output_tokens is not None else usage.completion_tokens
    return usage_of(input, output, usage.total_tokens, kinds)


class _TextEvents:
    """Converts the events of a stream of a transcript."""

    def __init__(self) -> None:
        self._any = False

    def feed(self, chunk: types.TranscriptionEvent) -> Sequence[TranscriptEvent]:
        """Return the piece of text, or the segment, of an event."""
        kind = chunk.type or ""
        if kind.endswith(".segment"):
            self._any = True
            return (_segment(chunk),)
        if kind.endswith(".delta"):
            text = chunk.delta if chunk.delta is not None else chunk.text
        else:  # a whole response has no pieces
            text = None if self._any or not (is_last(chunk) or chunk.type is None) else chunk.text
        if not text:
            return ()
        self._any = True
        return (TextDelta(text),)

    def close(self, _: object) -> Sequence[TranscriptEvent]:
        """Return nothing: the text is complete."""
        return ()
