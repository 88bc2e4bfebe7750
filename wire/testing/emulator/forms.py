"""Requests and responses of hosts that have another form than the reference of their wire.

A client changes a call by the `Shape` of a row (`wire.core.shaping`). This is the way back: such a
request becomes one of the reference, which a vendor answers, and the answer gets the form of the
host. Signatures of AWS are verified; the id of their key stands for a key then.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import functools
import json
import re
from collections.abc import AsyncGenerator, Iterator, Mapping
from dataclasses import dataclass, replace
from email.utils import formatdate
from typing import Any, TypeAlias, TypeVar, cast

from wire.core.error_words import STATUS_OF_WORD
from wire.core.event_stream import CONTENT_TYPE, frame_bytes
from wire.core.provider import Provider, Shape
from wire.core.sse import Decoder, Event
from wire.testing.cassette.pieces import Piece
from wire.testing.emulator.answer import Answer, LiveAnswer, json_answer, json_bytes
from wire.testing.emulator.aws_signatures import SecretOf, Signed, is_signed, refusal
from wire.testing.emulator.hosts import own_prefix, rows_of
from wire.testing.emulator.received import Received
from wire.testing.emulator.vendor import Failed, Failure
from wire.wires.providers import PROVIDERS

_KEY_ID = re.compile(r"Credential=([^/,\s]+)/")
_REGION = re.compile(r"\.([a-z]{2,8}(?:-[a-z0-9]+)+-\d{1,2})\.")
"""The region in the name of a host."""
_DAY = re.compile(r".*?(\d{4}-\d\d-\d\d)")
"""The day in a version of the API: hosts put their name before it, as in `bedrock-2023-05-31`."""
_COUNTS = ("input_tokens", "output_tokens")
A = TypeVar("A", bound=Answer | LiveAnswer)
Headers: TypeAlias = tuple[tuple[str, str], ...]
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

    def answered(self, answer: A) -> A:
        """Return the answer of a vendor in the form of the host."""
        made = self._live(answer) if isinstance(answer, LiveAnswer) else self._whole(answer)
        return cast(A, made)

    def _whole(self, answer: Answer) -> Answer:
        if self.shape.error_header and answer.whole:
            if answer.status >= 400:
                return _error(answer, self._head(answer.headers), self.shape)
            answer = replace(answer, headers=(*answer.headers, *_counts(answer.body)))
        headers = self._head(answer.headers)
        if self._has_frames(headers):
            framing = _Framing(self.shape)
            pieces: list[Piece] = [
                framing.feed(each) if isinstance(each, bytes) else each for each in answer.pieces
            ]
            pieces.append(framing.end())
            sent = tuple(each for each in pieces if each != b"")
            return replace(answer, headers=headers, pieces=sent)
        if (names := self.shape.renames.get(self.path)) and answer.whole:
            theirs = {ours: name for name, ours in names.items()}
            body = {theirs.get(key, key): value for key, value in json.loads(answer.body).items()}
            return replace(answer, headers=headers, pieces=(json_bytes(body),))
        return replace(answer, headers=headers)

    def _live(self, answer: LiveAnswer) -> LiveAnswer:
        headers, pieces = self._head(answer.headers), answer.pieces
        if self._has_frames(headers):
            pieces = _framed(pieces, self.shape)
        return replace(answer, headers=headers, pieces=pieces)

    def _head(self, headers: Headers) -> Headers:
        """Return the headers of an answer by their names here, with the type of a stream."""
        names = {"request-id": "x-amzn-requestid"} if self.shape.error_header else {}
        kind = self.shape.stream_headers.get("accept", "")
        return tuple(
            (name, kind)
            if kind and name == "content-type" and value.startswith("text/event-stream")
            else (names.get(name, name), value)
            for name, value in headers
        )

    @staticmethod
    def _has_frames(headers: Headers) -> bool:
        return ("content-type", CONTENT_TYPE) in headers


def as_reference(request: Received) -> tuple[Received, Form | None, Failure | None]:
    """Return a request in the form of its reference, and its own form; `None` if they are the same.

    The failure is that of a request without what the host requires.
    """
    for pattern, form in _forms():
        match = pattern.fullmatch(request.path)
        model = "" if match is None else match.groupdict().get("model") or ""
        if match is None or not _is_of(request, form, model):
            continue
        try:
            return _converted(request, form, model), form, None
        except Failed as failed:
            return request, form, failed.failure
    return request, None, None


def verified(
    request: Received, now: float, secret_of: SecretOf | None, bearer: str = ""
) -> tuple[Received, Answer | None]:
    """Return a request whose signature is right with a bearer token in its place, by default the
    id of its access key, or why it is refused.

    Without `secret_of`, which returns the secret of an access key, each signature is right.
    """
    if not is_signed(request.headers):
        return request, None
    if secret_of is not None:
        form = next((form for pattern, form in _forms() if pattern.fullmatch(request.path)), None)
        services = _services() if form is None else (form.row.signing_service,)
        region = _REGION.search(request.origin)
        signed = Signed(request.method, request.target, request.headers, request.body)
        refused = refusal(signed, services, region[1] if region else "", secret_of, now)
        if refused is not None:
            headers = {"x-amzn-errortype": refused.type, "x-amzn-requestid": request.digest[:36]}
            headers["date"] = formatdate(now, usegmt=True)
            body = json_bytes({"message": refused.message})
            return request, json_answer(body, refused.status, headers)
    key = _KEY_ID.search(request.headers["authorization"])
    bearer = bearer or (key[1] if key else "")
    headers = {**request.headers, "authorization": f"Bearer {bearer}"}
    return replace(request, headers=headers), None


@functools.cache
def _services() -> tuple[str, ...]:
    rows = (row for row in PROVIDERS.values() if "aws" in row.auth)
    return tuple(sorted({row.signing_service for row in rows}))


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


def _error(answer: Answer, headers: Headers, shape: Shape) -> Answer:
    """Return an error whose type stands in a header."""
    body = json.loads(answer.body)
    told = body.get("error") if isinstance(body, dict) else None
    status = {401: 403, 529: 503}.get(answer.status, answer.status)
    if isinstance(told, dict):
        body = {"message": told.get("message", "")}
    others = (each for each in headers if each[0] != shape.error_header)
    headers = (*others, (shape.error_header, _type(shape, answer.status)))
    return replace(answer, status=status, headers=headers, pieces=(json_bytes(body),))


def _counts(body: bytes) -> Iterator[tuple[str, str]]:
    """Yield the headers with the counts in the `usage` of a response."""
    usage = json.loads(body).get("usage") or {}
    for name in _COUNTS:
        if name in usage:
            header = f"x-amzn-bedrock-{name[:-1].replace('_', '-')}-count"
            yield header, str(usage[name])


def _type(shape: Shape, status: int) -> str:
    return shape.error_types.get(str(status)) or shape.error_types[str(status // 100 * 100)]


class _Framing:
    """The events of a stream as frames."""

    def __init__(self, shape: Shape) -> None:
        self._decoder, self._shape = Decoder(), shape
        self._usage: dict[str, int] = dict.fromkeys(_COUNTS, 0)

    def feed(self, data: bytes) -> bytes:
        """Return the frames of the events that the bytes complete."""
        events = self._decoder.feed(data)
        return b"".join([_frame(event, self._shape, self._usage) for event in events])

    def end(self) -> bytes:
        """Return half a frame for an event that was cut off."""
        rest = _chunk(b"{}") if self._decoder.held else b""
        return rest[: len(rest) // 2]


async def _framed(pieces: AsyncGenerator[bytes, None], shape: Shape) -> AsyncGenerator[bytes, None]:
    framing = _Framing(shape)
    async with contextlib.aclosing(pieces):
        async for piece in pieces:
            yield framing.feed(piece)
    yield framing.end()


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
