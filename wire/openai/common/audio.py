"""Speech, transcriptions and translations as calls.

Paths are relative to a base URL that ends in the version. Sources: openai 3.57.0, resources/audio/;
of other hosts as the types say.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import msgspec

from wire.core.arguments import checked_arguments
from wire.core.bodies import checked_body, unstreamed, wrong_type
from wire.core.call import Call, StreamCall
from wire.core.errors import RuleError, Violation
from wire.core.multipart import Multipart, form_parts
from wire.core.provider import Provider
from wire.neutral.data_source import Readable
from wire.openai.common.endpoints import JSON
from wire.openai.common.error_body import parse_error
from wire.openai.common.media_forms import form_fields, upload
from wire.openai.common.media_hosts import Kind, at_host, media_of
from wire.openai.common.media_rules import speech_violations, transcription_violations
from wire.openai.common.media_streams import (
    SpeechReader,
    TranscriptionReader,
    fold_speech,
    fold_transcription,
    parse_audio,
    parse_text,
    with_media_type,
)
from wire.openai.common.reader import parse_plain
from wire.openai.common.types.audio import (
    SpeechEvent,
    SpeechRequest,
    SpokenAudio,
    Transcription,
    TranscriptionEvent,
    TranscriptionRequest,
)

Sound: TypeAlias = str | os.PathLike[str] | bytes | Readable
"""A sound to upload: a path, bytes, or a file that is open in binary mode."""

TEXTS = ("text", "srt", "vtt")
"""Formats of a transcript that is no JSON."""

# --- speech ---------------------------------------------------------------------------------------


@checked_arguments()
def speech(request: SpeechRequest, *, checked: bool = True) -> Call[SpokenAudio]:
    """Build a call that speaks a text.

    >>> speech(SpeechRequest(model="gpt-4o-mini-tts", input="Hi", voice="alloy")).path
    '/audio/speech'

    Raises `RuleError` for a value that JSON cannot encode. The client raises `ConfigurationError`
    for a host that makes no speech, and `RuleError` with the path of each value that its host
    refuses; `checked=False` skips the latter.
    """
    if not isinstance(request, SpeechRequest) or request.stream or request.stream_format == "sse":
        raise unstreamed(request, SpeechRequest, "stream_speech")
    body, rules = _json(request, checked)
    return Call(
        "openai",
        "POST",
        "/audio/speech",
        body,
        headers=JSON,
        parse=parse_audio,
        any_content=True,
        read_headers=with_media_type,
        read_error=parse_error,
        host_rules=rules,
    )


@checked_arguments()
def stream_speech(
    request: SpeechRequest, *, checked: bool = True
) -> StreamCall[SpeechEvent, SpokenAudio]:
    """Build a call that speaks a text, and streams the sound.

    The sound comes as bytes, each read as one event, or with `stream_format="sse"` as events, which
    also have the usage. At Mistral and Together `stream=True` asks for events. A stream of bytes
    that ends early is known by the length or the chunks of HTTP alone.

    >>> request = SpeechRequest(model="gpt-4o-mini-tts", input="Hi", voice="alloy")
    >>> stream_speech(request).body
    b'{"model":"gpt-4o-mini-tts","input":"Hi","voice":"alloy"}'

    `result()` of the stream has all of the sound. Raises as `speech`.
    """
    if not isinstance(request, SpeechRequest):
        raise wrong_type("request", request, "SpeechRequest")
    events = request.stream_format == "sse" or request.stream is True
    body, rules = _json(request, checked)
    return StreamCall(
        "openai",
        "POST",
        "/audio/speech",
        body,
        headers=JSON,
        reader=functools.partial(SpeechReader, events=events),
        fold=fold_speech,
        read_error=parse_error,
        host_rules=rules,
    )


def _json(request: SpeechRequest, checked: bool) -> tuple[bytes, Any]:
    body, read = checked_body(request)
    violations = functools.partial(speech_violations, read) if checked else None
    return body, functools.partial(at_host, "speech", violations)


# --- transcriptions and translations --------------------------------------------------------------


@checked_arguments()
def transcriptions(
    request: TranscriptionRequest,
    data: Sound | None = None,
    *,
    filename: str = "",
    media_type: str = "",
    size: int | None = None,
    boundary: str = "",
    checked: bool = True,
) -> Call[Transcription]:
    r"""Build a call that writes down what is said in a sound, which is read while it is sent.

    >>> wav = b"RIFF\x24\0\0\0WAVE"
    >>> transcriptions(TranscriptionRequest(model="whisper-1"), wav).path
    '/audio/transcriptions'

    `data` is a path, bytes, or a binary file that the caller opens and closes; `None` with
    `file_url`, `file_id`, `url` or `input_audio` in the request. `filename` is needed if neither a
    path nor the first bytes tell what the sound is. A file that cannot seek needs `size`, in bytes,
    and its upload is never retried. `boundary` separates the fields of the form; by default it is
    random.

    Of the formats `text`, `srt` and `vtt`, the whole body is the `text` of the result. Raises
    `RuleError` for a file that cannot be read. The client raises `ConfigurationError` for a host
    that reads no sound, and `RuleError` with the path of each value that its host refuses;
    `checked=False` skips the latter.
    """
    if not isinstance(request, TranscriptionRequest) or request.stream:
        raise unstreamed(request, TranscriptionRequest, "stream_transcriptions")
    given = (data, filename, media_type, size, boundary)
    return _form_call("transcriptions", request, checked, *given)


@checked_arguments()
def stream_transcriptions(
    request: TranscriptionRequest,
    data: Sound | None = None,
    *,
    filename: str = "",
    media_type: str = "",
    size: int | None = None,
    boundary: str = "",
    checked: bool = True,
) -> StreamCall[TranscriptionEvent, Transcription]:
    r"""Build a call that streams a transcript as events.

    `result()` of the stream is the same as of `transcriptions`.

    >>> wav = b"RIFF\x24\0\0\0WAVE"
    >>> stream_transcriptions(TranscriptionRequest(model="gpt-4o-transcribe"), wav).path
    '/audio/transcriptions'

    Parameters and errors are those of `transcriptions`.
    """
    if not isinstance(request, TranscriptionRequest):
        raise wrong_type("request", request, "TranscriptionRequest")
    request = msgspec.structs.replace(request, stream=True)
    given = (data, filename, media_type, size, boundary)
    return StreamCall(
        "openai",
        "POST",
        "/audio/transcriptions",
        **_content("transcriptions", request, checked, *given),
        reader=TranscriptionReader,
        fold=fold_transcription,
        read_error=parse_error,
    )


@checked_arguments()
def translations(
    request: TranscriptionRequest,
    data: Sound | None = None,
    *,
    filename: str = "",
    media_type: str = "",
    size: int | None = None,
    boundary: str = "",
    checked: bool = True,
) -> Call[Transcription]:
    r"""Build a call that writes down in English what is said in a sound.

    >>> wav = b"RIFF\x24\0\0\0WAVE"
    >>> translations(TranscriptionRequest(model="whisper-1"), wav).path
    '/audio/translations'

    Parameters and errors are those of `transcriptions`; no host streams translations.
    """
    if not isinstance(request, TranscriptionRequest) or request.stream:
        told = "no host streams translations"
        if isinstance(request, TranscriptionRequest):
            raise RuleError(violations=[Violation("stream", told)])
        raise wrong_type("request", request, "TranscriptionRequest")
    given = (data, filename, media_type, size, boundary)
    return _form_call("translations", request, checked, *given)


def _form_call(
    kind: Kind, request: TranscriptionRequest, checked: bool, *given: Any
) -> Call[Transcription]:
    as_text = request.response_format in TEXTS
    return Call(
        "openai",
        "POST",
        f"/audio/{kind}",
        **_content(kind, request, checked, *given),
        parse=parse_text if as_text else functools.partial(parse_plain, Transcription),
        any_content=as_text,
        read_error=parse_error,
    )


def _content(
    kind: Kind, request: TranscriptionRequest, checked: bool, data: Any, *given: Any
) -> dict[str, Any]:
    """Return the fields of a call that are the request: a form, or JSON."""
    body, read = checked_body(request)
    violations = functools.partial(transcription_violations, read) if checked else None
    if data is None and request.input_audio is not None:
        rules = functools.partial(at_host, kind, violations)
        return {"body": body, "headers": JSON, "host_rules": rules}
    build = functools.partial(_form, request, data, *given)
    rules = functools.partial(_form_at, kind, violations, build)
    return {**form_parts(build()), "host_rules": rules}


def _form(
    request: TranscriptionRequest,
    data: Any,
    filename: str,
    media_type: str,
    size: int | None,
    boundary: str,
    lists: str = "brackets",
) -> Multipart:
    fields = form_fields(request, lists)
    if data is not None:
        fields["file"] = upload("audio", data, filename, media_type, size)
    elif not (request.file_url or request.file_id or request.url):
        raise RuleError(violations=[Violation("data", "expected a sound to write down")])
    return Multipart(fields, boundary=boundary)


def _form_at(
    kind: Kind,
    violations: Callable[[str], Iterable[Violation]] | None,
    build: Callable[..., Multipart],
    call: Any,
    provider: Provider,
) -> Any:
    """Return the call for the host: its path, and its form of lists and objects."""
    call = at_host(kind, violations, call, provider)
    lists = media_of(provider).lists
    if lists == "brackets" or not any(name.endswith("]") for name in call.form.fields):
        return call
    form = build(lists=lists)
    headers = {**call.headers, "content-type": form.content_type}
    return msgspec.structs.replace(call, form=form, headers=headers)
