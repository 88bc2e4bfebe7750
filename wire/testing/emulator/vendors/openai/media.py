"""Images, speech, transcriptions and translations.

Images are one black pixel, speech is silence, and a transcript says which sound it was.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from urllib.parse import parse_qsl

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
from wire.testing.emulator.logprobs import logprobs
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
_NUMBERS = ("n", "partial_images", "output_compression", "frame_count", "frame_duration_ms",
            "min_speakers", "max_speakers")  # fmt: skip
_TEXTS = ("text", "srt", "vtt")
_DEEPEST = 8
"""Levels of the objects of a form; what is deeper is one key."""
_XAI = "/tts"
"""The path of speech at xAI, whose request has another shape."""
_COST = 0.0001
"""What anything costs at OpenRouter, in USD."""
_COUNTING = ("openai", "azure", "mistral", "openrouter")
"""Families whose transcripts have a usage."""


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
        if family == "openrouter":
            return event_stream(_router_events(asked, _router_usage(usage)))
        return event_stream(_image_events(asked, "edit" if edits else "generation", usage))
    if family == "xai":
        body: dict[str, Any] = {"data": [_of_xai(asked)] * number, "usage": usage_of_xai(number)}
        return body_answer(body, 200)
    if family == "openrouter":
        drawn = [{"b64_json": _PIXEL_BASE64, "media_type": "image/png"}] * number
        return body_answer({"created": CREATED, "data": drawn, "usage": _router_usage(usage)}, 200)
    data = [{"b64_json": _PIXEL_BASE64}] * number
    if family == "together":
        data = [{"index": index, **_together(asked)} for index in range(number)]  # type: ignore[dict-item]
        head = {"id": f"{request.digest[:16]}-SEA", "model": asked.model, "object": "list"}
        return body_answer({**head, "data": data}, 200)
    body = {"created": CREATED, **_form(asked), "data": data, "usage": usage}
    if asked.svg is not None:
        body["svg_usage"] = _svg_usage(asked.svg, usage["input_tokens"])
    return body_answer(body, 200)


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


def _svg_usage(svg: dict[str, Any], tokens: int) -> dict[str, Any]:
    """Return what the author of an SVG costs, beside the image."""
    counts = {"input_tokens": tokens, "output_tokens": 20, "total_tokens": tokens + 20}
    return {"model": str(svg.get("model") or ""), "reasoning_tokens": 0, **counts}


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


def _router_usage(usage: dict[str, Any]) -> dict[str, Any]:
    """Return a usage in the names of OpenRouter."""
    return {
        "prompt_tokens": usage["input_tokens"],
        "completion_tokens": usage["output_tokens"],
        "total_tokens": usage["total_tokens"],
        "cost": _COST,
    }


def _router_events(asked: ImageRequest, usage: Any) -> Iterator[dict[str, Any]]:
    for index in range(asked.partial_images or 0):
        partial = {"type": "image_generation.partial_image", "b64_json": _PIXEL_BASE64}
        yield {**partial, "partial_image_index": index}
    for _ in range(asked.n or 1):
        last = {"type": "image_generation.completed", "b64_json": _PIXEL_BASE64}
        yield {**last, "created": CREATED, "media_type": "image/png", "usage": usage}


def _image_request(request: Received) -> tuple[ImageRequest, int]:
    """Return the request, and the number of uploaded pictures."""
    if not _is_form(request):
        return _json(request, ImageRequest), 0
    fields, files = _fields(_parts(request))
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
        return _speech_events(sound, text, family, asked.model)
    if family == "mistral":
        return body_answer({"audio_data": base64.b64encode(sound).decode()}, 200)
    kind = SOUND_TYPES.get(form, "audio/mpeg")
    return Answer(200, (("content-type", kind),), tuple(_split(sound)))


def _speech_events(sound: bytes, text: str, family: str, model: str | None) -> Answer:
    packed = [base64.b64encode(each).decode() for each in _split(sound)]
    if family == "together":
        events = [
            {"object": "audio.tts.chunk", "model": model or "", "b64": each} for each in packed
        ]
        return event_stream(events)
    name = "audio_data" if family == "mistral" else "audio"
    tokens = count(text)
    counts = {"input_tokens": tokens, "output_tokens": 20, "total_tokens": tokens + 20}
    if family == "mistral":
        counts = {"prompt_tokens": tokens, "completion_tokens": 20, "total_tokens": tokens + 20}
    events = [{"type": "speech.audio.delta", name: each} for each in packed]
    last: dict[str, Any] = {"type": "speech.audio.done", "usage": counts}
    return _events([*events, last], family)


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
        return _events(_text_events(asked, text, seconds, family), family)
    if form in _TEXTS:
        return _text_answer(form, text, seconds)
    return body_answer(_transcript(asked, text, seconds, family, translates=translates), 200)


def _transcript(
    asked: TranscriptionRequest, text: str, seconds: float, family: str, *, translates: bool
) -> dict[str, Any]:
    if family == "xai":
        words = [{"text": each.pop("word"), **each} for each in _words(text, seconds)]
        return {"text": text, "language": "en", "duration": seconds, "words": words}
    usage = _sound_usage(asked, seconds, family)
    if family == "mistral":
        has = bool(asked.timestamp_granularities or asked.diarize)
        segments = [_mistral_segment(asked, text, seconds)] if has else []
        head = {"model": asked.model, "text": text, "language": asked.language}
        return {**head, "segments": segments, "usage": usage}
    diarized = asked.response_format == "diarized_json"
    verbose = asked.response_format == "verbose_json"
    times = asked.timestamp_granularities or ["segment"]
    body: dict[str, Any] = {"text": text}
    if verbose or diarized:
        body = {"task": "translate" if translates else "transcribe", "duration": seconds, **body}
    if verbose:
        body["language"] = "english"
    if diarized or (verbose and "segment" in times):
        body["segments"] = [_segment(text, seconds, diarized=diarized)]
    if verbose and ("word" in times or asked.diarize):
        body["words"] = list(_words(text, seconds, _speaker(asked, family)))
    if verbose and asked.diarize and family == "together":
        words = list(_words(text, seconds, _speaker(asked, family)))
        segment = {"id": 0, "start": 0.0, "end": seconds, "text": text, "words": words}
        body["speaker_segments"] = [{**segment, **_speaker(asked, family)}]
    if "logprobs" in (asked.include or ()):
        body["logprobs"] = _logprobs(text)
    return {**body, "usage": usage} if family in _COUNTING else body


def _speaker(asked: TranscriptionRequest, family: str) -> dict[str, Any]:
    """Return the fields of who speaks, of hosts that have them at each word."""
    if not asked.diarize:
        return {}
    if family == "openrouter":
        return {"speaker": 0, "speaker_label": "speaker_0"}
    return {"speaker_id": "SPEAKER_00"}


def _logprobs(text: str) -> list[dict[str, Any]]:
    return [
        {"token": each.token, "bytes": list(each.token.encode()), "logprob": each.logprob}
        for each, _ in logprobs(text)
    ]


def _mistral_segment(asked: TranscriptionRequest, text: str, seconds: float) -> dict[str, Any]:
    segment = {"type": "transcription_segment", "text": text, "start": 0.0, "end": seconds}
    return {**segment, "speaker_id": "speaker_1" if asked.diarize else None}


def _segment(text: str, seconds: float, *, diarized: bool) -> dict[str, Any]:
    segment: dict[str, Any] = {"start": 0.0, "end": seconds, "text": f" {text}"}
    if diarized:
        return {"type": "transcript.text.segment", "id": "seg_0", "speaker": "A", **segment}
    scores = {"avg_logprob": -0.25, "compression_ratio": 1.0, "no_speech_prob": 0.01}
    return {"id": 0, "seek": 0, **segment, "tokens": [50364], "temperature": 0.0, **scores}


def _words(
    text: str, seconds: float, speaker: dict[str, Any] | None = None
) -> Iterator[dict[str, Any]]:
    words = text.rstrip(".").split()
    for index, word in enumerate(words):
        begin, end = (round(seconds * at / len(words), 2) for at in (index, index + 1))
        yield {"word": word, "start": begin, "end": end, **(speaker or {})}


def _sound_usage(asked: TranscriptionRequest, seconds: float, family: str) -> dict[str, Any]:
    tokens = max(1, round(_TOKENS_A_SECOND * seconds))
    if family == "mistral":
        return {
            "prompt_audio_seconds": round(seconds),
            "prompt_tokens": 3,
            "completion_tokens": 12,
            "total_tokens": tokens + 15,
        }
    if family == "openrouter":
        counts = {"input_tokens": tokens, "output_tokens": 12, "total_tokens": tokens + 12}
        return {**counts, "seconds": seconds, "cost": _COST}
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
        if asked.timestamp_granularities or asked.diarize:
            segment = _mistral_segment(asked, text, seconds)
            yield {**segment, "type": "transcription.segment"}
        last = _transcript(asked, text, seconds, family, translates=False)
        yield {"type": "transcription.done", **last}
        return
    likely = {"logprobs": _logprobs} if "logprobs" in (asked.include or ()) else {}
    if asked.response_format == "diarized_json":
        yield _segment(text, seconds, diarized=True)
    else:
        for piece in pieces:
            more = {name: of(piece) for name, of in likely.items()}
            yield {"type": "transcript.text.delta", "delta": piece, **more}
    more = {name: of(text) for name, of in likely.items()}
    yield {"type": "transcript.text.done", "text": text, **more, "usage": usage}


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
        url = str(asked.input_audio.get("url") or "")
        try:
            sound = base64.b64decode(str(asked.input_audio.get("data") or ""), validate=True)
        except (ValueError, binascii.Error):
            raise refusal(400, "'data' is not base64", param="input_audio") from None
        if not sound and not url:
            raise refusal(400, "'data' or 'url' is required", param="input_audio")
        return asked, sound, url
    fields, files = _fields(_parts(request))
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
    """Return whether a body has fields; without a file, some clients send those of an address."""
    return _kind(request).startswith(("multipart/", _URL_ENCODED))


def _kind(request: Received) -> str:
    return request.headers.get("content-type", "").lower()


_URL_ENCODED = "application/x-www-form-urlencoded"


def _parts(request: Received) -> list[Part]:
    if not _kind(request).startswith(_URL_ENCODED):
        return parts(request)
    pairs = parse_qsl(request.body.decode("utf-8", "replace"), keep_blank_values=True)
    return [Part(name, "", "text/plain", value.encode()) for name, value in pairs]


def _fields(found: Iterable[Part]) -> tuple[dict[str, Any], list[Part]]:
    """Return the fields of a form as those of JSON, and its files.

    `name[]` is an item of a list, `name[key][key]` a value in an object.
    """
    fields: dict[str, Any] = {}
    files = []
    for part in found:
        name, *keys = part.name.replace("]", "").split("[", _DEEPEST)
        text = part.data.decode("utf-8", "replace")
        if part.filename:
            files.append(part)
        elif name in _LISTS:
            fields.setdefault(name, []).append(text)
        elif any(keys):
            _put(fields, (name, *keys), text)
        else:
            fields[name] = _value(name, text)
    return fields, files


def _put(fields: dict[str, Any], names: Sequence[str], text: str) -> None:
    *outer, last = names
    for name in outer:
        inner = fields.setdefault(name, {})
        if not isinstance(inner, dict):
            raise refusal(400, f"Invalid type for '{names[0]}'", param=names[0])
        fields = inner
    fields[last] = text


def _value(name: str, text: str) -> Any:
    if text in ("true", "false"):
        return text == "true"
    plain = name in (*_NUMBERS, "temperature", "speed") or text[:1] == "{"
    try:
        return json.loads(text) if plain else text
    except (ValueError, RecursionError):
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


def _events(events: Iterable[dict[str, Any]], family: str) -> Answer:
    """Build a response of server-sent events without `[DONE]`. Those of Mistral have names."""
    content_type = "text/event-stream; charset=utf-8"
    pieces = tuple(
        (f"event: {each['type']}\n".encode() if family == "mistral" else b"")
        + frame(json_bytes(each))
        for each in events
    )
    return Answer(200, (("content-type", content_type),), pieces)


def family_of(host: Provider | None) -> str:
    """Return the family of the host of a request; an unknown one is like OpenAI."""
    return "openai" if host is None else host.family
