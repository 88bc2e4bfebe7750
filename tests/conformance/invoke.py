"""What is to hold of a recorded exchange of Claude on Bedrock's InvokeModel: Messages, whose stream
is binary frames.

The exchange is judged as one of Messages (`tests.conformance.anthropic`); here is what differs.
"""

from __future__ import annotations

import base64
import functools
import json
import re
import struct
import urllib.parse
from typing import Any

import msgspec

from tests.conformance import anthropic
from tests.conformance.gemini import Checks
from tests.conformance.records import Record, body_of, cut_at_random, path_of
from tests.conformance.result import Mismatch
from wire.anthropic import types
from wire.anthropic.endpoints import count_tokens, create_message, stream_message
from wire.anthropic.reader import ChunkReader
from wire.core.event_stream import Decoder, frame_bytes
from wire.core.lenient import decoded
from wire.errors import StreamIncomplete, WireError
from wire.http.target import Target, target

_PATH = re.compile(
    r"/model/(?P<model>.+)/(invoke(?P<stream>-with-response-stream)?|(?P<count>count-tokens))$"
)
_MESSAGES = re.compile(r"anthropic\.claude-(?!instant|v\d)")
"""Models that speak Messages; before them, Claude completed a prompt."""
_PROMPT = set(types.CountTokensRequest.__struct_fields__)
_NONE = {"anthropic_version": "bedrock-2023-05-31", "max_tokens": 1, "messages": []}
"""In place of a request that was not recorded."""
_ALL_CUTS = 20_000
"""Bytes of the longest stream that is read one byte at a time."""


def scope(record: Record, *, every: bool = False) -> Checks | None:
    """What is to hold of a record; `None` for other models and endpoints."""
    match, body = _PATH.search(path_of(record)), record.get("request_body")
    if match is None:
        return None
    if match["count"]:
        is_ours = isinstance(body, dict) and "invokeModel" in body["input"]
        return [check_count] if is_ours and record["status"] == 200 else None
    if body is None and not _MESSAGES.search(match["model"]):
        return None
    if body is not None and not (isinstance(body, dict) and "anthropic_version" in body):
        return None
    checks: Checks = [check_call] if body is not None else []
    if record["status"] != 200:
        return [*checks, check_error]
    if match["stream"]:
        return [*checks, check_frames, functools.partial(_check_stream, every=every)]
    return [*checks, anthropic.check_answer]


def _target(record: Record) -> Target:
    region = re.search(r"\.([a-z]+-[a-z]+-\d)\.", str(record["url"]))
    options: Any = {"region": region[1] if region else "us-east-1", "api_key": "fake-key"}
    return target("bedrock@invoke", options)


def _call(record: Record) -> Any:
    """The call of this library for the recorded request, in the form of the host."""
    match, body = _PATH.search(path_of(record)), dict(record["request_body"] or _NONE)
    assert match is not None
    betas = body.pop("anthropic_beta", [])
    version = body.pop("anthropic_version")
    model = urllib.parse.unquote(match["model"])
    data = json.dumps({"model": model, **body}).encode()
    request = decoded(data, types.MessageRequest)
    make = stream_message if match["stream"] else create_message
    there = _target(record)
    row = msgspec.structs.replace(there.provider, version=version, versions=())
    call = make(request, betas=betas, checked=False)
    return msgspec.structs.replace(there, provider=row).shaped(call)


def check_call(record: Record) -> None:
    """The recorded request, made by this library: the same path and the same body."""
    call = _call(record)
    path = urllib.parse.unquote(urllib.parse.urlsplit(str(record["url"])).path)
    if urllib.parse.unquote(call.target) != path:
        raise Mismatch(f"{call.target} is not {path}")
    if (sent := json.loads(call.body)) != record["request_body"]:
        raise Mismatch(f"the body differs: {sent} is not {record['request_body']}"[:500])


def check_count(record: Record) -> None:
    """The recorded request, made by this library; the count of the answer."""
    match, body = _PATH.search(path_of(record)), record["request_body"]
    assert match is not None
    data = json.loads(base64.b64decode(body["input"]["invokeModel"]["body"]))
    model = urllib.parse.unquote(match["model"])
    prompt = {"model": model, **{key: data[key] for key in data if key in _PROMPT}}
    there = _target(record)
    row = msgspec.structs.replace(there.provider, version=data["anthropic_version"], versions=())
    request = decoded(json.dumps(prompt).encode(), types.CountTokensRequest)
    call = msgspec.structs.replace(there, provider=row).shaped(
        count_tokens(request, betas=data.get("anthropic_beta", ()))
    )
    sent = json.loads(base64.b64decode(json.loads(call.body)["input"]["invokeModel"]["body"]))
    # What is not of the prompt is not counted.
    beside = {key: data[key] for key in ("anthropic_version", "anthropic_beta") if key in data}
    if sent != {
        **{key: prompt[key] for key in prompt if key != "model"},
        **beside,
        "max_tokens": 1,
    }:
        raise Mismatch(f"the body differs: {sent} is not {data}"[:500])
    answer = body_of(record)
    if call.parse(answer).input_tokens != json.loads(answer)["inputTokens"]:
        raise Mismatch("the count differs")


def check_error(record: Record) -> None:
    """A typed error of the status, with the server's words and its type."""
    body, headers = body_of(record), record.get("response_headers") or {}
    error = _call(record).read_error(record["status"], headers, body)
    try:
        plain = json.loads(body)
    except ValueError:
        plain = {}
    words = plain.get("message") or plain.get("Message") or ""
    kind = headers.get("x-amzn-errortype", "").partition(":")[0]
    if error.status != record["status"] or words not in error.message:
        raise Mismatch(f"error is {error!r}, not {words!r}")
    if kind and error.code != kind:
        raise Mismatch(f"error is {error.code}, not {kind}")


def check_frames(record: Record) -> None:
    """All frames, written again byte for byte; the same events wherever the bytes were cut."""
    body = body_of(record)
    decoder = Decoder()
    frames = decoder.feed(body)
    if decoder.error is not None or decoder.rest:
        raise Mismatch(f"frames end in {decoder.error!r}, with {len(decoder.rest)} bytes left")
    if b"".join(frame_bytes(frame.headers, frame.payload) for frame in frames) != body:
        raise Mismatch("the frames that are written are not those that came")
    whole = _raws([body])
    pieces = [cut_at_random(body, record["id"])]
    if len(body) <= _ALL_CUTS:
        pieces.append([body[at : at + 1] for at in range(len(body))])
    if any(_raws(each) != whole for each in pieces):
        raise Mismatch("the events depend on where the bytes were cut")
    if whole[0] != [payload for payload in _payloads(body) if not _is_ping(payload)]:
        raise Mismatch("the events are not those in the frames")
    cut = _raws([body[: len(body) - 5]])[1]
    if cut is not None and cut is not StreamIncomplete:
        raise Mismatch(f"a stream that is cut in its last frame is {cut}")


def _raws(pieces: list[bytes]) -> tuple[list[bytes], type[WireError] | None]:
    reader = ChunkReader()
    events = [event for piece in pieces for event in reader.feed(piece)]
    events += reader.close()
    return [bytes(event.raw) for event in events], type(reader.error) if reader.error else None


def _payloads(body: bytes) -> list[bytes]:
    """The events in the frames, found in another way than the library's."""
    found, at = [], 0
    while at < len(body):
        size, headers = struct.unpack_from(">II", body, at)
        payload = json.loads(body[at + 12 + headers : at + size - 4])
        found.append(base64.b64decode(payload["bytes"]))
        at += size
    return found


def _is_ping(payload: bytes) -> bool:
    return bool(json.loads(payload).get("type") == "ping")


def _check_stream(record: Record, *, every: bool) -> None:
    """The events as those of Messages."""
    body = b"".join(b"data: " + each + b"\n\n" for each in _payloads(body_of(record)))
    as_events = {**record, "response_body": body.decode(), "response_body_encoding": "utf-8"}
    anthropic.check_stream(as_events, every=every)
