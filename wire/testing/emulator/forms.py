"""Requests and responses of hosts that have another form than the reference of their wire.

A client changes a call by the `Shape` of a row (`wire.core.shaping`). This is the way back: such a
request becomes one of the reference, which a vendor answers, and the answer gets the form of the
host. Signatures of AWS are not verified; the id of their key stands for a key.
"""

from __future__ import annotations

import base64
import binascii
import functools
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from wire.core.error_words import STATUS_OF_WORD
from wire.core.event_stream import CONTENT_TYPE, frame_bytes
from wire.core.provider import Provider, Shape
from wire.core.sse import Decoder, Event
from wire.testing.cassette.pieces import Piece
from wire.testing.emulator.answer import Answer, json_answer, json_bytes
from wire.testing.emulator.hosts import own_prefix, rows_of
from wire.testing.emulator.received import Received
from wire.testing.emulator.vendor import Failed, Failure
from wire.wires.providers import PROVIDERS

_SIGNED = re.compile(r"AWS4-HMAC-SHA256 Credential=(?P<id>[^/,\s]+)/")
_DAY = re.compile(r".*?(\d{4}-\d\d-\d\d)")
"""The day in a version of the API: hosts put their name before it, as in `bedrock-2023-05-31`."""
_COUNTS = ("input_tokens", "output_tokens")
_PADDING = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"


@dataclass(frozen=True, slots=True)
class Form:
    """The form of one request at the host of a row."""

    row: Provider
    shape: Shape
    path: str
    """The path of the call in the reference, such as `/messages`."""
    streams: bool
    """Whether the path is one of streams only."""

    def answered(self, answer: Answer) -> Answer:
        """Return the answer of a vendor in the form of the host."""
        headers = dict(answer.headers)
        if self.shape.error_header:
            headers["x-amzn-requestid"] = headers.pop("request-id", "")
            if answer.status >= 400 and answer.whole:
                return _error(answer, headers, self.shape)
            if answer.whole:
                headers |= _counts(answer.body)
        if headers.get("content-type", "").startswith("text/event-stream"):
            if self.shape.stream_headers.get("accept") != CONTENT_TYPE:
                return answer
            headers["content-type"] = CONTENT_TYPE
            pieces = tuple(_frames(answer.pieces, self.shape))
            return replace(answer, headers=tuple(headers.items()), pieces=pieces)
        if (names := self.shape.renames.get(self.path)) and answer.whole:
            theirs = {ours: name for name, ours in names.items()}
            body = {theirs.get(key, key): value for key, value in json.loads(answer.body).items()}
            return json_answer(json_bytes(body), answer.status, headers)
        return replace(answer, headers=tuple(headers.items()))


def form_of(request: Received) -> Form | None:
    """Return the form of a request; `None` for that of the reference."""
    return next((form for pattern, form in _forms() if pattern.fullmatch(request.path)), None)


def as_reference(request: Received) -> tuple[Received, Form | None]:
    """Return a request in the form of its reference, and its own form; `None` if they are the same.

    Raises `Failed` for a request without what the host requires.
    """
    for pattern, form in _forms():
        match = pattern.fullmatch(request.path)
        model = "" if match is None else match.groupdict().get("model") or ""
        if match is not None and _is_of(request, form, model):
            return _converted(request, form, model), form
    return request, None


def _is_of(request: Received, form: Form, model: str) -> bool:
    """Return whether a request is of this form, and not of another API at the same path."""
    models, keys = form.shape.models, form.shape.wraps.get(form.path, ())
    if model and models and not re.fullmatch(models, model, re.IGNORECASE):
        return False
    return not keys or _wraps(request.body, keys)


@functools.cache
def _forms() -> list[tuple[re.Pattern[str], Form]]:
    """List the paths of all hosts that have another form."""
    found = []
    for row in PROVIDERS.values():
        shape = row.shape or Shape()
        for templates in (shape.paths, shape.stream_paths):
            for path, template in templates.items():
                pattern = re.escape(own_prefix(row) + template)
                pattern = pattern.replace(r"\{model\}", "(?P<model>.+)")
                pattern = re.sub(r"\\\{\w+\\\}", "[^/]+", pattern)
                form = Form(row, shape, path, templates is shape.stream_paths)
                found.append((re.compile(pattern), form))
    # A path that names no model may look like one that does.
    return sorted(found, key=lambda each: "(?P<model>" in each[0].pattern)


def _converted(request: Received, form: Form, model: str) -> Received:
    """Return the request with the path, the headers and the body of the reference."""
    shape = form.shape
    if any(name not in request.query for name in shape.query):
        raise Failed(Failure(404, "Resource not found", request=request))
    headers = dict(request.headers)
    if (signed := _SIGNED.match(headers.get("authorization", ""))) is not None:
        headers["authorization"] = f"Bearer {signed['id']}"
    body = _body(request.body, shape.wraps.get(form.path, ()))
    data = request.body
    if body is not None:
        version = _unmoved(body, headers, form)
        if version:
            headers["anthropic-version"] = _DAY.sub(r"\1", version)
        if model:
            body["model"] = model
        if "stream" in shape.drops.get(form.path, ()):
            body["stream"] = form.streams
        data = json_bytes(body)
    path = own_prefix(rows_of(form.row.wire)[0]) + form.path
    return replace(request, path=path, headers=headers, body=data, host=form.row)


def _unmoved(body: dict[str, Any], headers: dict[str, str], form: Form) -> str:
    """Take what stands in headers in the reference from the body; return the version of the API.

    Raises `Failed` for a body without the version.
    """
    version = ""
    for key, value in form.shape.adds.get(form.path, {}).items():
        if value == "{version}":
            version = body.pop(key, "")
            if not isinstance(version, str) or not version:
                raise Failed(Failure(400, f"{key}: Field required"))
        else:
            body.pop(key, None)
    for name, key in form.shape.moves.items():
        moved = body.pop(key.removesuffix("[]"), None)
        if moved is not None:
            headers[name] = ",".join(map(str, moved)) if isinstance(moved, list) else str(moved)
    return version


def _wraps(data: bytes, keys: tuple[str, ...]) -> bool:
    """Return whether a body has a value below `keys`, or is none that could have one."""
    try:
        body: Any = json.loads(data)
        for key in keys[:-1]:
            body = body[key]
    except (ValueError, TypeError):
        return True
    except KeyError:
        return False
    return True


def _body(data: bytes, keys: tuple[str, ...]) -> dict[str, Any] | None:
    """Return the JSON object of a body, which may stand as base64 below `keys`; `None` for none."""
    try:
        body: Any = json.loads(data)
        for key in keys:
            body = body[key]
        if keys:
            body = json.loads(base64.b64decode(body, validate=True))
    except (ValueError, KeyError, TypeError, binascii.Error):
        return None
    return body if isinstance(body, dict) else None


# --- responses ------------------------------------------------------------------------------------


def _error(answer: Answer, headers: dict[str, str], shape: Shape) -> Answer:
    """Return an error whose type stands in a header."""
    body = json.loads(answer.body)
    told = body.get("error") if isinstance(body, dict) else None
    status = {401: 403, 529: 503}.get(answer.status, answer.status)
    if isinstance(told, dict):
        body = {"message": told.get("message", "")}
    headers[shape.error_header] = _type(shape, answer.status)
    return replace(json_answer(json_bytes(body), status, headers), rule=answer.rule)


def _counts(body: bytes) -> dict[str, str]:
    """Return the headers with the counts in the `usage` of a response."""
    usage = json.loads(body).get("usage") or {}
    names = {name: f"x-amzn-bedrock-{name[:-1].replace('_', '-')}-count" for name in _COUNTS}
    return {names[name]: str(usage[name]) for name in _COUNTS if name in usage}


def _type(shape: Shape, status: int) -> str:
    return shape.error_types.get(str(status)) or shape.error_types[str(status // 100 * 100)]


def _frames(pieces: tuple[Piece, ...], shape: Shape) -> Iterator[Piece]:
    """Yield the events of a stream as frames; half a frame for an event that was cut off."""
    decoder = Decoder()
    usage: dict[str, int] = dict.fromkeys(_COUNTS, 0)
    for piece in pieces:
        if not isinstance(piece, bytes):
            yield piece
            continue
        events = decoder.feed(piece)
        if events or not piece:
            yield b"".join([_frame(event, shape, usage) for event in events])
    if decoder.held:
        rest = _chunk(b"{}")
        yield rest[: len(rest) // 2]


def _frame(event: Event, shape: Shape, usage: dict[str, int]) -> bytes:
    """Return the frame of an event; `usage` has the counts of the events before it."""
    try:
        body = json.loads(event.data)
    except ValueError:
        return _chunk(event.data)
    if event.event == "error":
        return _exception(body.get("error", body), shape)
    counts = body.get("usage") or body.get("message", {}).get("usage") or {}
    usage |= {name: counts[name] for name in _COUNTS if name in counts}
    if body.get("type") != "message_stop":
        return _chunk(event.data)
    read, written = usage.values()
    metrics = {"inputTokenCount": read, "outputTokenCount": written}
    metrics |= {"invocationLatency": 9, "firstByteLatency": 5}
    return _chunk(json_bytes({**body, "amazon-bedrock-invocationMetrics": metrics}))


def _exception(error: Mapping[str, Any], shape: Shape) -> bytes:
    """Return the frame of an error."""
    status = STATUS_OF_WORD.get(str(error.get("type", "")), 500)
    name = _type(shape, status)
    headers = {
        ":exception-type": name[:1].lower() + name[1:],
        ":content-type": "application/json",
        ":message-type": "exception",
    }
    return frame_bytes(headers, json_bytes({"message": error.get("message", "")}))


def _chunk(data: bytes) -> bytes:
    """Return the frame of an event, with a padding as the host sends it."""
    padding = _PADDING[: len(data) % len(_PADDING)]
    payload = json_bytes({"bytes": base64.b64encode(data).decode(), "p": padding})
    headers = {":event-type": "chunk", ":content-type": "application/json"}
    return frame_bytes({**headers, ":message-type": "event"}, payload)
