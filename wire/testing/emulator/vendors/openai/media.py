"""Images, speech, transcriptions and translations.

Images are one black pixel, speech is silence, and a transcript says which sound it was.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator
from typing import Any

from wire.catalogue.facts import is_in
from wire.core.bodies import decoded_body
from wire.core.errors import Violation
from wire.core.provider import Provider
from wire.neutral.speech import SOUND_TYPES
from wire.openai.chat.types import ImageRequest, SpeechRequest, TranscriptionRequest
from wire.openai.common.dialect import MediaEndpoints
from wire.openai.common.media_rules import (
    image_violations,
    speech_violations,
    transcription_violations,
)
from wire.testing.emulator.answer import Answer, json_bytes
from wire.testing.emulator.media import PIXEL, seconds_of, silence
from wire.testing.emulator.moments import CREATED
from wire.testing.emulator.multipart import Part, parts
from wire.testing.emulator.received import Received
from wire.testing.emulator.tokens import count
from wire.testing.emulator.vendors.openai.chat import body_answer, event_stream, frame
from wire.testing.emulator.vendors.openai.errors import refusal

_PIXEL_BASE64 = base64.b64encode(PIXEL).decode()
_TOKENS_OF_AN_IMAGE = 272
_TICKS_OF_AN_IMAGE = 200_000_000
"""10^10 ticks are one USD."""
_TOKENS_A_SECOND = 10
_PIECES = 4
_LISTS = ("include", "keywords", "known_speaker_names", "known_speaker_references", "languages",
          "timestamp_granularities", "context_bias")  # fmt: skip
_NUMBERS = ("n", "partial_images", "output_compression", "frame_count", "frame_duration_ms")
_TEXTS = ("text", "srt", "vtt")
_XAI = "/tts"
"""The path of speech at xAI, whose request has another shape."""


# --- images ---------------------------------------------------------------------------------------


def images(request: Received, host: MediaEndpoints, family: str, *, lenient: bool) -> Answer:
    """Draw the images of a request, or change its pictures."""
    asked, pictures = _image_request(request)
    if not lenient:
        _refuse(image_violations(asked, family, pictures=pictures))
    edits = bool(pictures or asked.images or asked.image)
    if request.path.endswith("/edits") and not edits:
        raise refusal(400, "Missing required parameter: 'image'.", param="image")
    number = asked.n or 1
    usage = _image_usage(asked, pictures, number)
    if asked.stream:
        if not host.streams_images:
            raise refusal(400, "Unknown parameter: 'stream'.", param="stream")
        return event_stream(_image_events(asked, "edit" if edits else "generation", usage))
    if family == "xai":
        body: dict[str, Any] = {"data": [_of_xai(asked)] * number, "usage": usage_of_xai(number)}
        return body_answer(body, 200)
    data = [{"b64_json": _PIXEL_BASE64}] * number
    if family == "together":
        data = [{"index": index, **_together(asked)} for index in range(number)]  # type: ignore[dict-item]
        head = {"id": f"{request.digest[:16]}-SEA", "model": asked.model, "object": "list"}
        return body_answer({**head, "data": data}, 200)
    form = {name: value for name, value in _form(asked).items() if family != "openrouter"}
    return body_answer({"created": CREATED, **form, "data": data, "usage": usage}, 200)


def _of_xai(asked: ImageRequest) -> dict[str, str]:
    if asked.response_format == "b64_json":
        return {"b64_json": _PIXEL_BASE64, "mime_type": "image/png"}
    return {"url": "https://imgen.x.ai/emulated/pixel.png", "mime_type": "image/png"}


def usage_of_xai(number: int) -> dict[str, int]:
    """Return what images cost at xAI."""
    return {"cost_in_usd_ticks": number * _TICKS_OF_AN_IMAGE}


def _together(asked: ImageRequest) -> dict[str, str]:
    if asked.response_format == "base64":
        return {"type": "b64_json", "b64_json": _PIXEL_BASE64}
    return {"type": "url", "url": "https://api.together.ai/shrt/emulated"}


def _form(asked: ImageRequest) -> dict[str, str]:
    """Return what an image is like, as OpenAI repeats it."""
    size = asked.size if asked.size not in (None, "auto") else "1024x1024"
    return {
        "background": asked.background if asked.background == "transparent" else "opaque",
        "output_format": asked.output_format or "png",
        "quality": asked.quality if asked.quality not in (None, "auto") else "low",
        "size": size or "",
    }


def _image_usage(asked: ImageRequest, pictures: int, number: int) -> dict[str, Any]:
    text = count(asked.prompt or "")
    image = _TOKENS_OF_AN_IMAGE * (pictures or len(asked.images or ()))
    output = _TOKENS_OF_AN_IMAGE * number
    return {
        "input_tokens": text + image,
        "input_tokens_details": {"image_tokens": image, "text_tokens": text},
        "output_tokens": output,
        "output_tokens_details": {"image_tokens": output, "text_tokens": 0},
        "total_tokens": text + image + output,
    }


def _image_events(asked: ImageRequest, what: str, usage: Any) -> Iterator[dict[str, Any]]:
    shared = {"b64_json": _PIXEL_BASE64, "created_at": CREATED, **_form(asked)}
    for index in range(asked.partial_images or 0):
        yield {"type": f"image_{what}.partial_image", **shared, "partial_image_index": index}
    for _ in range(asked.n or 1):
        yield {"type": f"image_{what}.completed", **shared, "usage": usage}


def _image_request(request: Received) -> tuple[ImageRequest, int]:
    """Return the request, and the number of uploaded pictures."""
    if not _is_form(request):
        return _json(request, ImageRequest), 0
    fields, files = _fields(parts(request))
    pictures = [each for each in files if each.name.partition("[")[0] == "image"]
    for picture in pictures:
        if not picture.kind.startswith("image/") and picture.kind != "application/octet-stream":
            message = "Invalid image file or mode for image 0, please check the your image file."
            raise refusal(400, message, code="invalid_image_file")
    return _struct(fields, ImageRequest), len(pictures)


# --- speech ---------------------------------------------------------------------------------------


def speech(request: Received, host: MediaEndpoints, family: str, *, lenient: bool) -> Answer:
    """Speak a text, whole or as events."""
    asked = _json(request, SpeechRequest)
    if not lenient:
        _refuse(speech_violations(asked, family))
    given = asked.text if host.speech == _XAI else asked.input
    if given is None:
        name = "text" if host.speech == _XAI else "input"
        raise refusal(400, f"Missing required parameter: '{name}'.", param=name)
    text = given if isinstance(given, str) else json.dumps(given)
    usual = {"openrouter": "pcm", "together": "wav"}.get(family, "mp3")
    form = asked.response_format or str((asked.output_format or {}).get("codec") or usual)
    sound = silence(text, form)
    asks = asked.stream_format == "sse" if host.streams_speech == "sse" else asked.stream is True
    if asks and host.streams_speech in ("sse", "stream"):
        return _speech_events(sound, text, family)
    if family == "mistral":
        return body_answer({"audio_data": base64.b64encode(sound).decode()}, 200)
    kind = SOUND_TYPES.get(form, "audio/mpeg")
    return Answer(200, (("content-type", kind),), tuple(_split(sound)))


def _speech_events(sound: bytes, text: str, family: str) -> Answer:
    packed = [base64.b64encode(each).decode() for each in _split(sound)]
    if family == "together":
        events = [{"object": "audio.tts.chunk", "b64": each} for each in packed]
        return event_stream(events)
    name = "audio_data" if family == "mistral" else "audio"
    tokens = count(text)
    counts = {"input_tokens": tokens, "output_tokens": 20, "total_tokens": tokens + 20}
    if family == "mistral":
        counts = {"prompt_tokens": tokens, "completion_tokens": 20, "total_tokens": tokens + 20}
    events = [{"type": "speech.audio.delta", name: each} for each in packed]
    last: dict[str, Any] = {"type": "speech.audio.done", "usage": counts}
    return _events([*events, last])


def _split(sound: bytes) -> list[bytes]:
    size = max(1, -(-len(sound) // _PIECES))
    return [sound[start : start + size] for start in range(0, len(sound), size)]


# --- transcripts ----------------------------------------------------------------------------------


def transcribe(
    request: Received, host: MediaEndpoints, family: str, *, lenient: bool, translates: bool
) -> Answer:
    """Write down a sound: in the format that was asked for, whole or as events."""
    asked, sound, name = _transcription(request)
    if not lenient:
        _refuse(transcription_violations(asked, family))
    if asked.model is None:
        raise refusal(400, "you must provide a model parameter")
    seconds = seconds_of(sound)
    text = f"This is {name or 'a sound'} of {len(sound)} bytes."
    form = asked.response_format or "json"
    if asked.stream and host.streams_transcriptions and not is_in("openai.times", asked.model):
        return _events(_text_events(asked, text, seconds, family))
    if form in _TEXTS:
        return _text_answer(form, text, seconds)
    return body_answer(_transcript(asked, text, seconds, family, translates=translates), 200)


def _transcript(
    asked: TranscriptionRequest, text: str, seconds: float, family: str, *, translates: bool
) -> dict[str, Any]:
    diarized = asked.response_format == "diarized_json" or asked.diarize is True
    verbose = asked.response_format == "verbose_json"
    usage = _sound_usage(asked, seconds, family)
    times = asked.timestamp_granularities or ["segment"]
    body: dict[str, Any] = {"text": text}
    if verbose or diarized:
        body = {"task": "translate" if translates else "transcribe", "duration": seconds, **body}
    if verbose:
        body["language"] = "english"
    if diarized or (verbose and "segment" in times):
        body["segments"] = [_segment(text, seconds, verbose=verbose, diarized=diarized)]
    if verbose and "word" in times:
        body["words"] = list(_words(text, seconds))
    if family == "xai":
        words = [{"text": each.pop("word"), **each} for each in _words(text, seconds)]
        return {"text": text, "language": "en", "duration": seconds, "words": words}
    if family == "mistral":
        segments = [{"text": text, "start": 0.0, "end": seconds, "type": "transcription_segment"}]
        has = bool(asked.timestamp_granularities or asked.diarize)
        body = {"model": asked.model, "text": text, "language": asked.language}
        body["segments"] = segments if has else []
    return {**body, "usage": usage}


def _segment(text: str, seconds: float, *, verbose: bool, diarized: bool) -> dict[str, Any]:
    segment: dict[str, Any] = {"start": 0.0, "end": seconds, "text": f" {text}"}
    if diarized:
        return {"type": "transcript.text.segment", "id": "seg_0", "speaker": "A", **segment}
    scores = {"avg_logprob": -0.25, "compression_ratio": 1.0, "no_speech_prob": 0.01}
    return {"id": 0, "seek": 0, **segment, "tokens": [50364], "temperature": 0.0, **scores}


def _words(text: str, seconds: float) -> Iterator[dict[str, Any]]:
    words = text.rstrip(".").split()
    for index, word in enumerate(words):
        begin, end = (round(seconds * at / len(words), 2) for at in (index, index + 1))
        yield {"word": word, "start": begin, "end": end}


def _sound_usage(asked: TranscriptionRequest, seconds: float, family: str) -> dict[str, Any]:
    tokens = max(1, round(_TOKENS_A_SECOND * seconds))
    if family == "mistral":
        return {
            "prompt_audio_seconds": round(seconds),
            "prompt_tokens": 3,
            "completion_tokens": 12,
            "total_tokens": tokens + 15,
        }
    if is_in("openai.times", asked.model or ""):
        return {"type": "duration", "seconds": max(1, round(seconds))}
    return {
        "type": "tokens",
        "input_tokens": tokens,
        "input_token_details": {"text_tokens": 0, "audio_tokens": tokens},
        "output_tokens": 12,
        "total_tokens": tokens + 12,
    }


def _text_events(
    asked: TranscriptionRequest, text: str, seconds: float, family: str
) -> Iterator[dict[str, Any]]:
    usage = _sound_usage(asked, seconds, family)
    pieces = [f"{word} " for word in text.split(" ")]
    pieces[-1] = pieces[-1].rstrip()
    if family == "mistral":
        yield {"type": "transcription.language", "audio_language": asked.language or "en"}
        for piece in pieces:
            yield {"type": "transcription.text.delta", "text": piece}
        last: dict[str, Any] = {"model": asked.model, "text": text, "segments": []}
        last["language"] = asked.language
        yield {"type": "transcription.done", **last, "usage": usage}
        return
    if asked.response_format == "diarized_json":
        yield _segment(text, seconds, verbose=False, diarized=True)
    else:
        for piece in pieces:
            yield {"type": "transcript.text.delta", "delta": piece}
    yield {"type": "transcript.text.done", "text": text, "usage": usage}


def _text_answer(form: str, text: str, seconds: float) -> Answer:
    begin, end = "00:00:00,000", f"00:00:{seconds:06.3f}".replace(".", ",")
    told = {
        "text": f"{text}\n",
        "srt": f"1\n{begin} --> {end}\n{text}\n\n",
        "vtt": f"WEBVTT\n\n{begin} --> {end}\n{text}\n\n".replace(",", "."),
    }[form]
    return Answer(200, (("content-type", "text/plain; charset=utf-8"),), (told.encode(),))


def _transcription(request: Received) -> tuple[TranscriptionRequest, bytes, str]:
    """Return the request, the sound, and its name."""
    if not _is_form(request):
        asked = _json(request, TranscriptionRequest)
        if asked.input_audio is None:
            raise refusal(400, "'input_audio' is a required property", param="input_audio")
        packed = asked.input_audio.get("data")
        return asked, base64.b64decode(packed or ""), str(asked.input_audio.get("url") or "")
    fields, files = _fields(parts(request))
    asked = _struct(fields, TranscriptionRequest)
    url = asked.file_url or asked.url or asked.file_id
    file = next((each for each in files if each.name == "file"), None)
    if file is None and not url:
        raise refusal(400, "'file' is a required property", param="file")
    if file is None:
        return asked, b"", url or ""
    if not file.data:
        message = "Audio file might be corrupted or unsupported"
        raise refusal(400, message, param="file", code="invalid_value")
    return asked, file.data, file.filename


# --- bodies ---------------------------------------------------------------------------------------


def _is_form(request: Received) -> bool:
    return request.headers.get("content-type", "").lower().startswith("multipart/")


def _fields(found: Iterable[Part]) -> tuple[dict[str, Any], list[Part]]:
    """Return the fields of a form as those of JSON, and its files."""
    fields: dict[str, Any] = {}
    files = []
    for part in found:
        name = part.name.removesuffix("[]")
        text = part.data.decode("utf-8", "replace")
        if part.filename:
            files.append(part)
        elif name in _LISTS:
            fields.setdefault(name, []).append(text)
        else:
            fields[name] = _value(name, text)
    return fields, files


def _value(name: str, text: str) -> Any:
    if text in ("true", "false"):
        return text == "true"
    plain = name in (*_NUMBERS, "temperature", "speed") or text[:1] == "{"
    try:
        return json.loads(text) if plain else text
    except ValueError:
        return text


def _struct(fields: dict[str, Any], kind: Any) -> Any:
    asked, problems = decoded_body(fields, kind)
    if asked is None:
        raise refusal(400, problems[0].message, param=problems[0].path or None)
    return asked


def _json(request: Received, kind: Any) -> Any:
    asked, problems = decoded_body(request.body, kind)
    if asked is None:
        raise refusal(400, problems[0].message, param=problems[0].path or None)
    for each in problems:
        told = f"Unknown parameter: '{each.path}'."
        raise refusal(400, told, param=each.path, code="unknown_parameter")
    return asked


def _refuse(violations: Iterable[Violation]) -> None:
    for each in violations:
        raise refusal(400, each.message, param=each.path, code=each.code or None)


def _events(events: Iterable[Any]) -> Answer:
    """Build a response of server-sent events without `[DONE]`."""
    content_type = "text/event-stream; charset=utf-8"
    pieces = tuple(frame(json_bytes(each)) for each in events)
    return Answer(200, (("content-type", content_type),), pieces)


def family_of(host: Provider | None) -> str:
    """Return the family of the host of a request; an unknown one is like OpenAI."""
    return "openai" if host is None else host.family
