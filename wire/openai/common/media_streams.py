"""Reads the bodies of images, speech and transcriptions, and decides when they are complete.

- Images are complete when as many as were asked for have come, or when the body ends after one:
  hosts may send fewer.
- Speech as events ends with `speech.audio.done`, or with `[DONE]` at Together. Speech as bytes has
  no end of its own: the length or the chunks of HTTP are the only sign.
- A transcription ends with `transcript.text.done`, or `transcription.done` at Mistral.
- A whole response may come in place of events: whisper-1 ignores `stream`.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, TypeVar

import msgspec

from wire.core.decoders import from_base64
from wire.core.error_words import ErrorReader
from wire.core.errors import StreamIncomplete, StreamInvalid, WireError
from wire.core.json_values import merged_json
from wire.core.lenient import Unreadable, decoded, plain
from wire.core.limits import Limits
from wire.core.memory import Note, WireStruct, encode, remember
from wire.core.reading import FramedReader
from wire.neutral.media_types import media_type_of
from wire.openai.common.error_body import ERRORS
from wire.openai.common.reader import parse_plain
from wire.openai.common.types.audio import (
    SpeechEvent,
    SpeechResponse,
    SpokenAudio,
    Transcription,
    TranscriptionEvent,
)
from wire.openai.common.types.images import ImageEvent, ImageList

C = TypeVar("C", bound=WireStruct)

_PIECE = "speech.audio.delta"
_HEAD_BYTES = 32
"""Bytes by which events and JSON are told from sound."""
_JSON = (b'{"error"', b'{"audio_data"')
_EVENTS = (b"data:", b"event:")
"""Beginnings of bodies that are no sound, whatever was asked for; without white space."""


class _EventReader(FramedReader[C]):
    """Decodes the events of one stream of media."""

    done: bool
    finished: bool
    __slots__ = ()

    errors: ClassVar[ErrorReader[Any]] = ERRORS

    def __init__(self, limits: Limits = Limits()) -> None:  # noqa: B008  it is immutable
        super().__init__(limits)

    def read(self, data: bytes, name: str) -> None:
        """Emit an event; raise the error that it contains."""
        event = decoded(data, self.chunk_type)
        error = ERRORS.in_success(data, certain="error" in (name, getattr(event, "type", None)))
        if error is not None:
            raise error
        self.emit(event)

    def is_whole(self) -> bool:
        """Return whether the last event was read."""
        return self.finished


class ImageReader(_EventReader[ImageEvent]):
    """Decodes the events of one stream of images."""

    __slots__ = ("_asked", "_images")
    value_name = "an event of images"
    ending = "a completed image"
    answer_name = "image"
    chunk_type = ImageEvent

    def __init__(self, limits: Limits = Limits(), asked: int = 1) -> None:  # noqa: B008
        super().__init__(limits)
        self._asked, self._images = asked, 0

    def follow(self, chunk: ImageEvent) -> None:
        """Count the images."""
        if is_completed(chunk):
            self._images += 1
        elif chunk.type is None:  # a whole response
            self._images += len(chunk.data or ())
        self.answers = self._images > 0
        self.finished = self._images >= self._asked

    def is_whole(self) -> bool:
        """Return whether there is an image."""
        return self._images > 0


def is_completed(event: ImageEvent) -> bool:
    """Return whether an event has a whole image."""
    return (event.type or "").endswith(".completed")


class SpeechEventReader(_EventReader[SpeechEvent]):
    """Decodes the events of one stream of speech."""

    __slots__ = ()
    value_name = "an event of speech"
    ending = "speech.audio.done"
    answer_name = "audio"
    chunk_type = SpeechEvent

    def follow(self, chunk: SpeechEvent) -> None:
        """Record the last event, which ends the reading."""
        self.answers = self.answers or bool(_sound(chunk))
        # A whole response of Mistral has neither a type nor another event after it.
        whole = chunk.type is None and chunk.audio_data is not None
        self.done = self.finished = whole or chunk.type == "speech.audio.done"

    def end(self) -> None:
        """Handle `[DONE]`, the end at Together."""
        self.done = self.finished = True


class SpeechReader:
    """Decodes a stream of speech: events, or the bytes of the sound, each read as one event.

    `events`: events were asked for. Some hosts send the bytes of the sound all the same.
    """

    def __init__(self, limits: Limits = Limits(), *, events: bool = False) -> None:  # noqa: B008
        self.error: WireError | None = None
        self.done = self.finished = False
        self.notes: list[Note] = []
        self._limits, self._expects_events = limits, events
        self._head: bytes | None = b""  # the first bytes, until they tell what comes
        self._events: SpeechEventReader | None = None
        self._any = False

    def feed(self, data: bytes) -> Sequence[SpeechEvent]:
        """Return the events that `data` completes."""
        if self._head is not None:
            self._head += data
            if len(self._head) < _HEAD_BYTES:
                return ()
            data = self._begin()
        return self._read(data)

    def close(self) -> Sequence[SpeechEvent]:
        """Return the last events at the end of the body; set `error` if it is incomplete."""
        last = list(self._read(self._begin())) if self._head is not None else []
        if self._events is not None:
            last += self._events.close()
            self._follow(self._events)
        elif not self._any:
            problem = "the answer ended before its first byte of sound"
            self.error = StreamIncomplete(problem, retryable=True)
        else:
            self.finished = True
        return last

    def _begin(self) -> bytes:
        head, self._head = self._head or b"", None
        more = (b":", b"{") if self._expects_events else ()
        if _begins(head, (*_EVENTS, *_JSON, *more)):
            self._events = SpeechEventReader(self._limits)
        return head

    def _read(self, data: bytes) -> Sequence[SpeechEvent]:
        if self._events is not None:
            found = self._events.feed(data)
            self._follow(self._events)
            return found
        if not data:
            return ()
        self._any = True
        event = SpeechEvent(type=_PIECE, audio=base64.b64encode(data).decode())
        return (remember(event, encode(event)),)

    def _follow(self, events: SpeechEventReader) -> None:
        self.error, self.done, self.finished = events.error, events.done, events.finished
        self.notes[:] = events.notes


def _begins(data: bytes, starts: Sequence[bytes]) -> bool:
    """Return whether data begin as one of `starts`, or end within it. White space is ignored."""
    text = b"".join(data[:_HEAD_BYTES].split())
    return bool(text) and any(text.startswith(each) or each.startswith(text) for each in starts)


class TranscriptionReader(_EventReader[TranscriptionEvent]):
    """Decodes the events of one stream of a transcription."""

    __slots__ = ()
    value_name = "an event of a transcription"
    ending = "transcript.text.done"
    answer_name = "text"
    chunk_type = TranscriptionEvent

    def follow(self, chunk: TranscriptionEvent) -> None:
        """Record the last event, which ends the reading."""
        self.answers = self.answers or chunk.delta is not None or chunk.text is not None
        ends = chunk.type is None and chunk.text is not None
        self.done = self.finished = ends or is_last(chunk)


def is_last(event: TranscriptionEvent) -> bool:
    """Return whether an event ends a transcription."""
    return event.type in ("transcript.text.done", "transcription.done")


# --- folding --------------------------------------------------------------------------------------

Raws = Sequence[msgspec.Raw | WireStruct]


def fold_images(events: Raws) -> ImageList:
    """Fold events into the response of the same call without streaming.

    Partial images are not part of it, unless there is nothing else.
    """
    found = [_object(each) for each in events]
    last = [each for each in found if str(each.get("type", "")).endswith(".completed")] or [
        each for each in found if "b64_json" in each
    ][-1:]
    whole = next((each for each in found if "data" in each and "type" not in each), None)
    if whole is not None:
        return decoded(merged_json(whole), ImageList)
    merged: dict[str, Any] = {}
    images = []
    for each in last:
        keys = {"b64_json", "media_type"} & each.keys()
        images.append({key: each[key] for key in sorted(keys)})
        dropped = {*keys, "type", "partial_image_index", "created_at"}
        merged |= {key: value for key, value in each.items() if key not in dropped}
        merged |= {"created": each["created_at"]} if "created_at" in each else {}
    return decoded(merged_json({**merged, "data": images}), ImageList)


def fold_speech(events: Raws, media_type: str = "") -> SpokenAudio:
    """Join the sound of events. `media_type` is that of the format that was asked for."""
    found = [decoded(bytes(_raw(each)), SpeechEvent) for each in events]
    data = b"".join([sound_of(each) for each in found])
    usage = next((each.usage for each in reversed(found) if each.usage is not None), None)
    return SpokenAudio(data, media_type_of("", data) or media_type, usage)


def fold_transcription(events: Raws) -> Transcription:
    """Fold events into the response of the same call without streaming."""
    found = [_object(each) for each in events]
    last = found[-1] if found else {}
    if "type" not in last and "text" in last:  # a whole response
        return decoded(merged_json(last), Transcription)
    merged: dict[str, Any] = {}
    segments, texts = [], []
    logprobs: list[Any] = []
    for each in found:
        kind = str(each.get("type", ""))
        if kind.endswith(".segment"):
            segments.append(each)
        elif kind.endswith(".delta"):
            texts.append(each.get("delta", each.get("text", "")))
            likely = each.get("logprobs")
            logprobs += likely if isinstance(likely, list) else ()
        elif kind.endswith(".language"):
            merged["language"] = each.get("audio_language")
        else:
            merged |= {key: value for key, value in each.items() if key != "type"}
    merged.setdefault("text", "".join([each for each in texts if isinstance(each, str)]))
    if logprobs:
        merged.setdefault("logprobs", logprobs)
    if segments and not merged.get("segments"):
        merged["segments"] = segments
    return decoded(merged_json(merged), Transcription)


def _raw(event: msgspec.Raw | WireStruct) -> bytes:
    return bytes(event) if isinstance(event, msgspec.Raw) else encode(event)


def _object(event: msgspec.Raw | WireStruct) -> dict[str, Any]:
    value = plain(_raw(event))
    return value if isinstance(value, dict) else {}


# --- sound ----------------------------------------------------------------------------------------


def _sound(event: SpeechEvent) -> str:
    return event.audio or event.audio_data or event.b64 or ""


def sound_of(event: SpeechEvent) -> bytes:
    """Return the sound of an event. Raises `StreamInvalid` for what is not base64."""
    return sound(_sound(event))


def sound(text: str) -> bytes:
    """Decode sound from base64. Raises `StreamInvalid` for another text."""
    try:
        return from_base64(text)
    except (ValueError, binascii.Error):
        raise StreamInvalid("the sound is not base64") from None


def parse_audio(body: bytes) -> SpokenAudio:
    """Decode the response of speech: the bytes of the sound, or a JSON object of it.

    Raises the provider's error if the body is one, `StreamInvalid` if it has no sound.
    """
    if body[:1] == b"{":
        try:
            response = decoded(body, SpeechResponse)
        except Unreadable:  # samples may begin with that byte
            if _begins(body, _JSON):
                parse_plain(SpeechResponse, body)
        else:
            if response.audio_data is None:
                response = parse_plain(SpeechResponse, body)
                raise StreamInvalid("the response has no audio", raw=body)
            data = sound(response.audio_data)
            return SpokenAudio(data, media_type_of("", data), response.usage)
    if not body:
        raise StreamInvalid("the response has no audio")
    return SpokenAudio(body, media_type_of("", body[:64]))


def with_media_type(audio: SpokenAudio, headers: Mapping[str, str]) -> SpokenAudio:
    """Take the media type of sound from the headers, if its first bytes do not tell it."""
    named = headers.get("content-type", "").strip()
    if audio.media_type or not named.startswith("audio/"):
        return audio
    return SpokenAudio(audio.data, named, audio.usage)


def parse_text(body: bytes) -> Transcription:
    """Decode a transcript that is a text, such as subtitles."""
    return Transcription(text=body.decode("utf-8", "replace"))
