"""Images, speech and transcripts as neutral calls: generateContent, and predict for Imagen."""

from __future__ import annotations

import base64
import functools
import re
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from wire.catalogue.facts import is_in
from wire.catalogue.media import Makes, media_model
from wire.core.arguments import checked_arguments
from wire.core.call import Call, StreamCall
from wire.core.decoders import from_base64
from wire.core.errors import ConfigurationError, RuleError, StreamInvalid, Violation, WireError
from wire.core.memory import Note
from wire.core.provider import Provider
from wire.gemini.endpoints import generate_content, stream_generate_content
from wire.gemini.parse import parse_reply, usage_of
from wire.gemini.prediction import predict
from wire.gemini.types import (
    AudioTranscriptionConfig,
    Blob,
    Content,
    FileData,
    GenerateContentRequest,
    GenerateContentResponse,
    GenerationConfig,
    ImageConfig,
    Part,
    PrebuiltVoiceConfig,
    PredictRequest,
    PredictResponse,
    SpeechConfig,
    Transcription,
    VoiceConfig,
)
from wire.neutral.conversion import converted, converted_stream
from wire.neutral.data_source import DataSource
from wire.neutral.images import ImageRequest, Images, PartialImage
from wire.neutral.media import Kind, TranscriptEvent, refuse_others
from wire.neutral.media_types import media_type_of
from wire.neutral.messages import Media, MediaDelta, Text, TextDelta
from wire.neutral.speech import Speech, SpeechRequest, as_wav
from wire.neutral.transcripts import (
    Transcript,
    TranscriptRequest,
    TranscriptSegment,
    TranscriptWord,
)

_KINDS: frozenset[Kind] = frozenset(
    {"image", "speech", "stream_speech", "transcript", "stream_transcript"}
)
_RATE = re.compile(r"rate=(\d+)")
_USUAL_RATE = 24_000
_checked = checked_arguments(ConfigurationError, before=True)


def kinds_of(provider: Provider | str) -> frozenset[Kind]:
    """Return what a host makes: all of this wire make the same."""
    return _KINDS


# --- images ---------------------------------------------------------------------------------------


@_checked
def image_call(
    request: ImageRequest, model: str, provider: Provider | str = "gemini"
) -> Call[Images]:
    """Return the call that makes images. Raises `RuleError` for what the model does not take."""
    name = provider if isinstance(provider, str) else provider.name
    if is_in("gemini.draws", model):
        return _predicted(request, model, name)
    refuse_others(request, ("pictures", "aspect_ratio", "resolution", "seed"))
    _refuse_words(request, model, "images", ("aspect_ratio", "resolution"))
    config = GenerationConfig(
        response_modalities=["TEXT", "IMAGE"],
        seed=request.seed,
        image_config=_image_config(request),
    )
    parts = [*map(_part, request.pictures), Part(text=request.prompt)]
    body = GenerateContentRequest(
        contents=[Content(role="user", parts=parts)], generation_config=config
    )
    convert = functools.partial(_images, model, name)
    return converted(generate_content(model, body), convert)


def _image_config(request: ImageRequest) -> ImageConfig | None:
    if request.aspect_ratio is None and request.resolution is None:
        return None
    return ImageConfig(aspect_ratio=request.aspect_ratio, image_size=request.resolution)


def _part(picture: Media) -> Part:
    if picture.data is None:
        return Part(file_data=FileData(file_uri=picture.url, mime_type=picture.media_type or None))
    data = base64.b64encode(picture.data).decode()
    return Part(inline_data=Blob(mime_type=picture.media_type, data=data))


def _images(model: str, provider: str, response: GenerateContentResponse) -> Images:
    reply = parse_reply(response, provider=provider, model=model)
    parts = reply.message.parts
    media = tuple(each for each in parts if isinstance(each, Media))
    text = "".join([each.text for each in parts if isinstance(each, Text)])
    if not media:
        why = f"; the model says: {text}" if text else f": it stopped with {reply.stop.raw}"
        raise StreamInvalid(f"the response has no images{why}")
    name = response.model_version or model
    return Images(media, name, provider, reply.usage, text, source=response)


def _predicted(request: ImageRequest, model: str, provider: str) -> Call[Images]:
    refuse_others(request, ("count", "aspect_ratio", "resolution", "format", "seed"))
    _refuse_words(request, model, "images", ("aspect_ratio", "resolution", "format"))
    parameters: dict[str, Any] = {
        "sampleCount": request.count or 1,
        "aspectRatio": request.aspect_ratio,
        "sampleImageSize": request.resolution,
        "seed": request.seed,
    }
    if request.format is not None:
        parameters["outputOptions"] = {"mimeType": f"image/{request.format}"}
    body = PredictRequest(
        instances=[{"prompt": request.prompt}],
        parameters={name: value for name, value in parameters.items() if value is not None},
    )
    return converted(predict(model, body), functools.partial(_drawn, model, provider))


def _drawn(model: str, provider: str, response: PredictResponse) -> Images:
    found = list(_predictions(response))
    media = tuple(Media(data=_decoded(data), media_type=kind) for data, kind in found)
    if not media:
        reasons = [
            str(each["raiFilteredReason"])
            for each in response.predictions or ()
            if isinstance(each, dict) and "raiFilteredReason" in each
        ]
        raise StreamInvalid("the response has no images" + "".join(f": {why}" for why in reasons))
    return Images(media, model, provider, source=response)


def _predictions(response: PredictResponse) -> Iterator[tuple[str, str]]:
    for each in response.predictions or ():
        if isinstance(each, dict) and isinstance(each.get("bytesBase64Encoded"), str):
            yield each["bytesBase64Encoded"], str(each.get("mimeType") or "image/png")


@_checked
def stream_image_call(
    request: ImageRequest, model: str, provider: Provider | str = "gemini"
) -> StreamCall[PartialImage, Images]:
    """Raise `ConfigurationError`: the wire streams no partial images."""
    raise ConfigurationError("model: this wire streams no partial images")


# --- speech ---------------------------------------------------------------------------------------


@_checked
def speech_call(
    request: SpeechRequest, model: str, provider: Provider | str = "gemini"
) -> Call[Speech]:
    """Return the call that speaks a text. Raises `RuleError` for what the model does not take.

    The API sends samples; with `format="wav"` they become a WAV file.
    """
    name = provider if isinstance(provider, str) else provider.name
    body, notes = _speech_body(request, model, ("pcm", "wav"))
    convert = functools.partial(_speech, model, name, request.format == "wav")
    call = converted(generate_content(model, body), convert)
    return msgspec.structs.replace(call, notes=(*call.notes, *notes))


@_checked
def stream_speech_call(
    request: SpeechRequest, model: str, provider: Provider | str = "gemini"
) -> StreamCall[MediaDelta, Speech]:
    """Return the same as a stream of samples. Raises as `speech_call`."""
    name = provider if isinstance(provider, str) else provider.name
    body, notes = _speech_body(request, model, ("pcm",))
    call = stream_generate_content(model, body)
    convert = functools.partial(_speech, model, name, False)
    made: StreamCall[MediaDelta, Speech] = converted_stream(call, _SoundEvents, convert)
    return msgspec.structs.replace(made, notes=(*call.notes, *notes))


def _speech_body(
    request: SpeechRequest, model: str, formats: Sequence[str]
) -> tuple[GenerateContentRequest, list[Note]]:
    refuse_others(request, ("voice", "format", "instructions", "language"))
    _refuse_words(request, model, "speech", ("voice",))
    if request.format is not None and request.format not in formats:
        told = f"this API sends samples: expected {' or '.join(formats)}"
        raise RuleError(violations=[Violation("format", told, remedy="leave it out")])
    text, notes = request.text, []
    if request.instructions is not None:
        text = f"{request.instructions}\n{text}"
        notes.append(Note("instructions", "sent before the text: there is no field for them"))
    voice = None
    if request.voice is not None:
        prebuilt = PrebuiltVoiceConfig(voice_name=request.voice)
        voice = VoiceConfig(prebuilt_voice_config=prebuilt)
    spoken = SpeechConfig(voice_config=voice, language_code=request.language)
    config = GenerationConfig(
        response_modalities=["AUDIO"],
        speech_config=None if spoken == SpeechConfig() else spoken,
    )
    contents = [Content(role="user", parts=[Part(text=text)])]
    return GenerateContentRequest(contents=contents, generation_config=config), notes


def _speech(
    model: str,
    provider: str,
    wav: bool,
    response: GenerateContentResponse,
    _: WireError | None = None,
) -> Speech:
    sounds = list(_sounds(response))
    data = b"".join([data for data, _ in sounds])
    if not data:
        stop = parse_reply(response, provider=provider, model=model).stop.raw
        raise StreamInvalid(f"the response has no sound: it stopped with {stop}")
    kind = sounds[0][1]
    usage = None if response.usage_metadata is None else usage_of(response.usage_metadata)
    name = response.model_version or model
    if wav:
        rate = _RATE.search(kind)
        data, kind = as_wav(data, int(rate[1]) if rate else _USUAL_RATE), "audio/wav"
    return Speech(Media(data=data, media_type=kind), name, provider, usage, source=response)


def _sounds(response: GenerateContentResponse) -> Iterator[tuple[bytes, str]]:
    """Yield the pieces of sound of a response, and their media types."""
    for candidate in (response.candidates or ())[:1]:
        content = candidate.content
        for part in (content.parts or ()) if content is not None else ():
            blob = part.inline_data
            if blob is not None and blob.data and (blob.mime_type or "").startswith("audio/"):
                yield _decoded(blob.data), blob.mime_type or ""


def _decoded(text: str) -> bytes:
    try:
        return from_base64(text)
    except ValueError:
        raise StreamInvalid("media are not base64") from None


class _SoundEvents:
    """Converts the chunks of a stream of speech."""

    def feed(self, chunk: GenerateContentResponse) -> Sequence[MediaDelta]:
        """Return the pieces of sound of a chunk."""
        return [MediaDelta(position=0, data=data, media_type=kind) for data, kind in _sounds(chunk)]

    def close(self, _: object) -> Sequence[MediaDelta]:
        """Return nothing: the sound is complete."""
        return ()


# --- transcripts ----------------------------------------------------------------------------------


@_checked
def transcript_call(
    request: TranscriptRequest, model: str, provider: Provider | str = "gemini"
) -> Call[Transcript]:
    """Return the call that writes down a sound, which is in the request as base64.

    Raises `RuleError` for what the model does not take.
    """
    name = provider if isinstance(provider, str) else provider.name
    call = generate_content(model, _transcript_body(request))
    return converted(call, functools.partial(_transcript, model, name))


@_checked
def stream_transcript_call(
    request: TranscriptRequest, model: str, provider: Provider | str = "gemini"
) -> StreamCall[TranscriptEvent, Transcript]:
    """Return the same as a stream of pieces of the text. Raises as `transcript_call`."""
    name = provider if isinstance(provider, str) else provider.name
    call = stream_generate_content(model, _transcript_body(request))
    return converted_stream(call, _TextEvents, functools.partial(_transcript, model, name))


def _transcript_body(request: TranscriptRequest) -> GenerateContentRequest:
    refuse_others(request, ("language", "timestamps", "speakers"))
    if "segment" in request.timestamps:
        told = "this API has times of words"
        raise RuleError(violations=[Violation("timestamps", told, remedy="use word")])
    config = AudioTranscriptionConfig(
        language_codes=None if request.language is None else [request.language],
        word_timestamp=True if request.timestamps else None,
        diarization=True if request.speakers else None,
    )
    sound = request.sound
    if not isinstance(sound, Media):
        source = DataSource(sound)
        kind = source.media_type or media_type_of(request.filename)
        sound = Media(data=b"".join(source.pieces()), media_type=kind or "audio/wav")
    return GenerateContentRequest(
        contents=[Content(role="user", parts=[_part(sound)])],
        generation_config=GenerationConfig(audio_transcription_config=config),
    )


def _transcript(
    model: str, provider: str, response: GenerateContentResponse, _: WireError | None = None
) -> Transcript:
    reply = parse_reply(response, provider=provider, model=model)
    found = list(_written(response))
    segments = tuple(_segment(each) for each in found)
    words = tuple(
        TranscriptWord(
            text=each.word or "",
            start=_seconds(each.start_offset),
            end=_seconds(each.end_offset),
        )
        for one in found
        for each in one.words or ()
    )
    text = "".join([each.text or "" for each in found]) or reply.text
    languages = dict.fromkeys(each.language_code for each in found if each.language_code)
    name = response.model_version or model
    return Transcript(
        text,
        segments,
        words,
        ", ".join(languages),
        None,
        name,
        provider,
        reply.usage,
        source=response,
    )


def _written(response: GenerateContentResponse) -> Iterator[Transcription]:
    for candidate in (response.candidates or ())[:1]:
        content = candidate.content
        for part in (content.parts or ()) if content is not None else ():
            if part.audio_transcription is not None:
                yield part.audio_transcription


def _segment(given: Transcription) -> TranscriptSegment:
    return TranscriptSegment(
        text=given.text or "",
        start=_seconds(given.start_offset),
        end=_seconds(given.end_offset),
        speaker=given.speaker_label or "",
    )


def _seconds(offset: str | None) -> float | None:
    """Convert a duration such as `1.5s` to seconds."""
    try:
        return float(offset.removesuffix("s")) if offset else None
    except ValueError:
        return None


class _TextEvents:
    """Converts the chunks of a stream of a transcript."""

    def feed(self, chunk: GenerateContentResponse) -> Sequence[TranscriptEvent]:
        """Return the pieces of text of a chunk."""
        found: list[TranscriptEvent] = [_segment(each) for each in _written(chunk)]
        for candidate in (chunk.candidates or ())[:1]:
            content = candidate.content
            parts = (content.parts or ()) if content is not None else ()
            found += [TextDelta(each.text) for each in parts if each.text]
        return found

    def close(self, _: object) -> Sequence[TranscriptEvent]:
        """Return nothing: the text is complete."""
        return ()


def _refuse_words(request: Any, model: str, kind: Makes, names: Sequence[str]) -> None:
    row = media_model("gemini", kind, model)
    values = {} if row is None else row.values
    found = []
    for name in names:
        given, known = getattr(request, name), values.get(_FIELDS.get(name, name), ())
        if given is not None and known and given.lower() not in [each.lower() for each in known]:
            found.append(Violation(name, f"expected one of {', '.join(known)}, not {given!r}"))
    if found:
        raise RuleError(violations=found)


_FIELDS = {"format": "output_format"}
