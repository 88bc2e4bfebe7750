"""Reads the recordings of VCR and its relatives, and writes those that vcrpy replays (C-37).

Layouts that are read, from YAML or JSON:
- vcrpy since 1.0: `interactions`, each with `request` and `response`; the response's body as
  `body.string`, or as `content` beside `status_code`, as vcrpy 2 to 5 wrote it for httpx;
- vcrpy before 1.0: a list, with `protocol`, `host`, `port` and `path` in place of the URL;
- pydantic-ai: `parsed_body`, the value of a JSON body, beside `headers`;
- cassetter: `body` with `type` and `content`;
- langchain: the lists `requests` and `responses`;
- VCR for Ruby and betamax: `http_interactions`, with `body.string` or `body.base64_string`;
- go-vcr: `body` as a text, `code` beside `status`.
"""

from __future__ import annotations

import binascii
import datetime
import json
from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import UNSET

from wire.testing.cassette.convert.foreign import At, Exchange, Headers, Notes, reason_phrase
from wire.testing.cassette.convert.yaml_values import pyyaml, resolved
from wire.testing.cassette.format.bodies import body_bytes
from wire.testing.cassette.format.sent import Sent
from wire.testing.cassette.format.structs import Interaction

_INTERACTION_KEYS = {"request", "response"}
_REQUEST_KEYS = {
    "method",
    "uri",
    "url",
    "protocol",
    "host",
    "port",
    "path",
    "headers",
    "body",
    "parsed_body",
}
_RESPONSE_KEYS = {
    "status",
    "headers",
    "body",
    "parsed_body",
    "code",
    "status_code",
    "content",
    "uncompressed",
    "http_version",  # replay has a version of its own
    "url",  # the request's
}
_TEXT_ENCODINGS = {"", "utf-8", "us-ascii", "ascii", "ascii-8bit", "gzip"}
"""Encodings of a text that UTF-8 gives back: ASCII-8BIT is Ruby's name for bytes."""
_OTHER_RECORDINGS = ("ws_interactions", "grpc_interactions")

REWRITTEN = "a JSON body is stored as a value: it is written as compact JSON, not as received"


def is_vcr(file: At) -> bool:
    """Return whether a document has one of the layouts."""
    return (
        "interactions" in file
        or "http_interactions" in file
        or ("requests" in file and "responses" in file)
        or (
            isinstance(file.value, list)
            and file.value != []
            and all(isinstance(each, dict) and "request" in each for each in file.value)
        )
    )


def read_vcr(file: At, notes: Notes) -> Iterator[Exchange]:
    """Yield the exchanges of a document; raises `Fault` with the path of what is malformed."""
    for each, request, response in _interactions(file, notes):
        try:
            yield _exchange(each, request, response, notes)
        except RecursionError:
            raise each.fault("nested too deeply") from None


def write_vcr(interactions: Iterable[Interaction], notes: Notes) -> str:
    """Return a YAML document in the layout of vcrpy 1.0 and later.

    Raises `CassetteError` if PyYAML is not installed.
    """
    yaml = pyyaml()
    interactions = list(interactions)
    calls = [each for each in interactions if each.messages is UNSET]
    if sessions := len(interactions) - len(calls):
        notes.add("a session over WebSocket: not converted, the format has none", sessions)
    written = [_written(each, notes) for each in calls]
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    text: str = yaml.dump({"interactions": written, "version": 1}, Dumper=dumper)
    return text


# --- reading --------------------------------------------------------------------------------------


def _interactions(file: At, notes: Notes) -> Iterator[tuple[At, At, At]]:
    if file.is_map:
        for key in _OTHER_RECORDINGS:
            other = file.get(key)
            if other is not None and other.value:
                notes.add(f"{key}: not converted, only HTTP is", len(list(other.items())))
        if "metadata" in file:
            notes.drop("fields of the file", "metadata")
    if "requests" in file and "responses" in file:
        requests = list(file.child("requests").items())
        responses = list(file.child("responses").items())
        if len(requests) != len(responses):
            raise file.fault(f"{len(requests)} requests, but {len(responses)} responses")
        for request, response in zip(requests, responses, strict=True):
            yield request, request, response
        return
    each: At
    for each in _in_time_order(
        file if isinstance(file.value, list) else file.first("interactions", "http_interactions")
    ):
        yield each, each.child("request"), each.child("response")


def _in_time_order(file: At) -> list[At]:
    """Return the interactions in the order of `recorded_at`: cassetter sorts them by URL."""
    interactions = [] if file.none else list(file.items())
    times = [_time(each) for each in interactions]
    in_order = sorted((time, index) for index, time in enumerate(times) if time is not None)
    if len(in_order) < len(interactions):
        return interactions
    return [interactions[index] for _, index in in_order]


def _time(interaction: At) -> datetime.datetime | None:
    at = interaction.get("recorded_at")
    try:
        time = None if at is None else datetime.datetime.fromisoformat(str(at.value))
    except ValueError:
        return None
    return time if time is not None and time.tzinfo is not None else None


def _exchange(each: At, request: At, response: At, notes: Notes) -> Exchange:
    if each is not request:
        _drop_unknown("fields of an interaction", each, _INTERACTION_KEYS, notes)
    _drop_unknown("fields of a request", request, _REQUEST_KEYS, notes)
    _drop_unknown("fields of a response", response, _RESPONSE_KEYS, notes)
    sent = Sent(
        request.child("method").text(),
        _url(request),
        _headers(request),
        _body(request, notes)[0],
    )
    received, decoded = _body(response, notes)
    return Exchange(
        each.path, sent, _status(response, notes), _headers(response), received, decoded
    )


def _drop_unknown(owner: str, at: At, known: set[str], notes: Notes) -> None:
    for key, _ in at.pairs():
        if key not in known:
            notes.drop(owner, key)


def _url(request: At) -> str:
    if "uri" in request or "url" in request or "host" not in request:
        return request.first("uri", "url").url()
    protocol, port = request.child("protocol").text(), request.child("port").text()
    ending = "" if port == {"https": "443", "http": "80"}.get(protocol) else f":{port}"
    url = f"{protocol}://{request.child('host').text()}{ending}{request.child('path').text()}"
    return At(url, request.path).url()


def _status(response: At, notes: Notes) -> int:
    if "status_code" in response or "code" in response:
        return response.first("status_code", "code").status()
    status = response.child("status")
    if not status.is_map:
        return status.status()
    code = status.child("code").status()
    message = status.get("message")
    if message is not None and message.text() not in ("", reason_phrase(code)):
        notes.drop("fields of a response", "status.message")
    return code


def _headers(owner: At) -> Headers:
    headers = owner.get("headers")
    if headers is None:
        return []
    if headers.is_map:
        return [
            (name, each.text())
            for name, values in headers.pairs()
            if not values.none
            for each in (values.items() if isinstance(values.value, list) else [values])
        ]
    pairs: Headers = []
    for line in headers.items():
        name, colon, value = line.text().partition(":")
        if not colon:
            raise line.expected("a header as `name: value`")
        pairs.append((name.strip(), value.strip()))
    return pairs


def _body(owner: At, notes: Notes) -> tuple[bytes, bool]:
    """Return the bytes of a body, and whether they are stored decoded."""
    if "parsed_body" in owner:
        return _json(owner.child("parsed_body"), notes), True
    content = owner.get("content")
    if content is not None:
        return content.utf8(), True
    body = owner.get("body")
    if body is None:
        return b"", True
    if isinstance(body.value, list):
        return b"".join(piece.utf8() for piece in body.items()), False
    if not body.is_map:
        return body.utf8(), isinstance(body.value, str)
    if "type" in body:
        return _typed(body, notes), True
    encoding = body.get("encoding")
    name = "" if encoding is None else encoding.text().lower()
    packed = body.get("base64_string")
    if packed is not None:
        return packed.base64(), False
    text = body.get("string")
    if text is None:
        return _no_string(body), True
    if isinstance(text.value, bytes):
        return text.value, False
    if name == "base64":
        return text.base64(), False
    if name == "iso-8859-1":
        return _latin(text), False
    if name not in _TEXT_ENCODINGS:
        raise body.fault(f"the text has the encoding {name[:100]!r}; expected UTF-8 or base64")
    return text.utf8(), True


def _latin(text: At) -> bytes:
    try:
        return text.text().encode("latin-1")
    except UnicodeEncodeError as cause:
        raise text.fault(f"character {cause.start} is not in ISO-8859-1") from None


def _no_string(body: At) -> bytes:
    unknown = [key for key, _ in body.pairs() if key not in ("string", "encoding", "base64_string")]
    if unknown:
        raise body.fault(f"unknown form of a body: {', '.join(unknown)[:200]}")
    return b""


def _typed(body: At, notes: Notes) -> bytes:
    """Return the body of a cassette of cassetter."""
    kind = body.child("type").text()
    if kind == "none":
        return b""
    content = body.child("content")
    if kind == "json":
        return _json(content, notes)
    if kind == "binary":
        try:
            return binascii.unhexlify(content.text())
        except ValueError as cause:
            raise content.fault(f"hexadecimal: {cause}") from None
    if kind == "text":
        return content.utf8()
    raise body.fault(f"unknown type of a body: {kind[:100]!r}")


def _json(content: At, notes: Notes) -> bytes:
    notes.add(REWRITTEN)
    try:
        text = json.dumps(
            resolved(content.value), ensure_ascii=False, allow_nan=False, separators=(",", ":")
        )
        return text.encode()
    except (TypeError, ValueError) as cause:
        raise content.fault(f"JSON cannot represent it: {cause}") from None


# --- writing --------------------------------------------------------------------------------------


def _written(interaction: Interaction, notes: Notes) -> dict[str, Any]:
    request, response = interaction.request, interaction.response
    if response.end != "eof":
        notes.add(
            f"response.end: {response.end!r} is not kept: vcrpy replays the body as a complete one"
        )
    if response.decoded is not UNSET:
        notes.drop("fields of a response", "decoded")
    if response.emulated:
        notes.drop("fields of a response", "emulated")
    return {
        "request": {
            "body": _text_or_bytes(body_bytes(request.body)),
            "headers": {name: [value] for name, value in request.headers.items()},
            "method": request.method,
            "uri": request.url,
        },
        "response": {
            "body": {"string": _text_or_bytes(body_bytes(response.body))},
            "headers": {name: [value] for name, value in response.headers.items()},
            "status": {"code": response.status, "message": reason_phrase(response.status)},
        },
    }


def _text_or_bytes(data: bytes) -> str | bytes:
    """Decode UTF-8, which stays readable in YAML; vcrpy encodes a text as UTF-8."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data
