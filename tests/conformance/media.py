"""What is to hold of a recorded exchange of images, speech, transcriptions and translations."""

from __future__ import annotations

import base64
import functools
import json
import re
from typing import Any

import msgspec

from tests.conformance.compare import identical, typed
from tests.conformance.forms import check_form
from tests.conformance.gemini import Checks
from tests.conformance.openai import check_error
from tests.conformance.records import (
    Record,
    body_of,
    cut_at_random,
    path_of,
    row_of,
    same_bytes,
)
from tests.conformance.result import APART, Mismatch
from wire import errors
from wire.core.lenient import decoded
from wire.core.limits import Limits
from wire.core.memory import encode
from wire.core.provider import Provider
from wire.openai.chat import types
from wire.openai.common.audio import speech, stream_speech, transcriptions
from wire.openai.common.images import edit_images, generate_images, stream_images
from wire.openai.common.media_streams import (
    ImageReader,
    SpeechReader,
    TranscriptionReader,
    fold_images,
    fold_speech,
    fold_transcription,
    parse_audio,
    parse_text,
)
from wire.openai.common.reader import parse_plain

_PATH = re.compile(
    r"/(?P<kind>images)(/(generations|edits|variations))?$"
    r"|/audio/(?P<audio>speech|transcriptions|translations)$"
)
_REQUESTS = {"images": types.ImageRequest, "speech": types.SpeechRequest}
_ANSWERS: dict[str, Any] = {
    "images": types.ImageList,
    "transcriptions": types.Transcription,
    "translations": types.Transcription,
}
_STREAMS: dict[str, tuple[Any, Any]] = {
    "images": (ImageReader, fold_images),
    "speech": (functools.partial(SpeechReader, events=True), fold_speech),
    "transcriptions": (TranscriptionReader, fold_transcription),
}


def scope(record: Record, *, every: bool = False) -> Checks | None:
    """What is to hold of a record; `None` for other endpoints."""
    match = _PATH.search(path_of(record))
    if match is None:
        return None
    kind = str(match["kind"] or match["audio"])
    checks: Checks = []
    if isinstance(record.get("request_body"), dict):
        checks.append(functools.partial(check_request, kind))
    elif record.get("request_body"):
        checks.append(_check_form)
    if not 200 <= record["status"] < 300:
        return [*checks, check_error]
    if record.get("framing") == "sse":
        return [*checks, functools.partial(check_stream, kind)]
    if kind == "speech":
        return [*checks, check_sound]
    return [*checks, functools.partial(check_plain, kind)]


def _check_form(record: Record) -> None:
    if record.get("cut"):
        APART["form that was cut or changed by its recorder"] += 1
        return
    check_form(record)


def check_request(kind: str, record: Record) -> None:
    """Decoded into our types, typed values equal; and, if a server took it, neither refused for
    the host that took it nor sent in other words.
    """
    of: Any = _REQUESTS.get(kind, types.TranscriptionRequest)
    body = json.dumps(record["request_body"]).encode()
    request: Any = decoded(body, of)
    typed(request, record["request_body"], "request")
    same_bytes(encode(request), body)
    if record["status"] != 200:
        return
    built = msgspec.structs.replace(request)
    if kind == "speech":
        events = built.stream_format == "sse" or built.stream
        call: Any = stream_speech(built) if events else speech(built)
    elif kind == "transcriptions":
        call = transcriptions(built)
    elif path_of(record).endswith("/edits"):
        call = edit_images(built)
    else:
        call = stream_images(built) if built.stream else generate_images(built)
    row = row_of(record, "openai")
    if isinstance(row, Provider):
        call = call.judge(row)
        if not path_of(record).endswith(call.path):
            raise Mismatch(f"{call.path} is not {path_of(record)}")
    sent = decoded(call.body, of)
    if sent != request:
        raise Mismatch("what is sent is not the request")


def check_plain(kind: str, record: Record) -> None:
    """One struct, equal as JSON and as bytes; or the text of a transcript."""
    body = body_of(record)
    if not body.strip():
        APART["empty body"] += 1
        return
    if kind != "images" and body.lstrip()[:1] != b"{":
        if parse_text(body).text != body.decode():
            raise Mismatch("the text is another")
        return
    answer = parse_plain(_ANSWERS[kind], body)
    typed(answer, json.loads(body), "answer")
    same_bytes(answer.raw, body)


def check_sound(record: Record) -> None:
    """All bytes of the sound, as they came or from base64; whole, and as a stream."""
    body = body_of(record)
    if not body:
        APART["empty body"] += 1
        return
    in_json = body[:1] == b"{"
    told = base64.b64decode(json.loads(body)["audio_data"]) if in_json else body
    if parse_audio(body).data != told:
        raise Mismatch("the sound is another")
    for events in (True, False):
        reader = SpeechReader(Limits(), events=events)
        if _read(reader, fold_speech, cut_at_random(body, record["id"])).data != told:
            raise Mismatch("the streamed sound is another")


def check_stream(kind: str, record: Record) -> None:
    """Each event equal as JSON; the fold has all of it; each cut is an error."""
    body = body_of(record)
    make, fold = _STREAMS[kind]
    reader = make(Limits())
    chunks = [each for piece in cut_at_random(body, record["id"]) for each in reader.feed(piece)]
    chunks += reader.close()
    if reader.error is not None:
        raise Mismatch(f"a whole stream ends in {reader.error!r}")
    data = [line[5:].strip() for line in body.splitlines() if line.startswith(b"data:")]
    told = [json.loads(each) for each in data if each != b"[DONE]"]
    for index, (chunk, plain) in enumerate(zip(chunks, told, strict=True)):
        typed(chunk, plain, f"event {index}")
    answer = fold([msgspec.Raw(encode(each)) for each in chunks])
    last = told[-1]
    if kind == "transcriptions":
        identical(answer.text, last["text"], "text")
        identical(json.loads(encode(answer.usage)), last.get("usage"), "usage")
        segments = [each for each in told if each["type"].endswith(".segment")]
        identical(
            [json.loads(encode(each)) for each in answer.segments or ()], segments, "segments"
        )
    elif kind == "speech":
        sound = b"".join([base64.b64decode(each.get("audio", "")) for each in told])
        identical(base64.b64encode(answer.data), base64.b64encode(sound), "sound")
    check_cuts(make, body)


def check_cuts(make: Any, body: bytes) -> None:
    """A body that ends anywhere before its last event is an error, and raises nothing."""
    end = body.rstrip().removesuffix(b"data: [DONE]").rfind(b"\ndata:")
    for cut in range(0, end, max(1, end // 200)):
        reader = make(Limits())
        reader.feed(body[:cut])
        reader.close()
        if not isinstance(reader.error, errors.StreamError):
            raise Mismatch(f"a body of {cut} bytes is whole")


def _read(reader: Any, fold: Any, pieces: list[bytes]) -> Any:
    chunks = [each for piece in pieces for each in reader.feed(piece)] + list(reader.close())
    if reader.error is not None:
        raise Mismatch(f"a whole body ends in {reader.error!r}")
    return fold([msgspec.Raw(encode(each)) for each in chunks])
