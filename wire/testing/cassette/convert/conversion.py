"""Converts recordings between formats: cassettes, VCR's YAML and JSON, HAR (C-37)."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from typing import Any, Literal, NamedTuple

import msgspec
from msgspec import UNSET

from wire.core.credentials import looks_secret, secret_name
from wire.core.errors import CassetteError, LimitError, StreamInvalid
from wire.core.limits import Inflater, Limits, check_json
from wire.testing.cassette.convert.foreign import At, Exchange, FaultAt, Headers, Notes
from wire.testing.cassette.convert.har import is_har, read_har, write_har
from wire.testing.cassette.convert.vcr import is_vcr, read_vcr, write_vcr
from wire.testing.cassette.convert.yaml_values import parse_yaml, yaml_line_of
from wire.testing.cassette.format.bodies import read_body
from wire.testing.cassette.format.file import assembled, load, whole_block
from wire.testing.cassette.format.file_position import Fault, fault_of, line_of, positions, shown
from wire.testing.cassette.format.kept_headers import kept_url, request_headers, response_headers
from wire.testing.cassette.format.redaction import NO_REDACTION
from wire.testing.cassette.format.structs import Interaction, Request
from wire.testing.cassette.leaks import Known
from wire.testing.cassette.recorder import response_of, with_session

Format = Literal["wire", "vcr", "har"]

_LIMITS = Limits()
_CASSETTE = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*"wire_cassette"')
_GZIP = b"\x1f\x8b"
_CODINGS = {"gzip", "x-gzip", "deflate", "br", "zstd", "compress"}
_HEADER_VALUE = re.compile(r"[\t\x20-\x7e]*")
_REDACTED = re.compile(
    r"[\W_]*(?:redacted|filtered|scrubbed|masked|hidden|removed)[\W_]*", re.IGNORECASE
)
"""A value that another recorder wrote in place of a header's."""
_PLACEHOLDER = re.compile(
    r"[\W_x]*|.*(?:redact|filter|dummy|placeholder|scrub|mask|hidden|removed).*",
    re.IGNORECASE | re.DOTALL,
)
"""A value that stands for a secret. Bodies often have the same word."""


class Converted(NamedTuple):
    """A converted recording: its text, and what was not kept."""

    text: str
    source: Format
    interactions: int
    notes: list[str]
    recorded: list[Interaction]
    """The interactions; `save` writes them with side files, which `text` has not."""


class NothingToConvert(CassetteError):
    """A file is not a recording, or has the wanted format already."""


class Recording(NamedTuple):
    """A recording of any format, read as interactions."""

    source: Format
    interactions: list[Interaction]
    blocks: list[str]
    """The text of each interaction in a cassette."""
    notes: Notes


def convert(data: bytes, name: str, to: Format = "wire") -> Converted:
    """Convert the bytes of a recording, of a format that its content shows, to another format.

    Raises `CassetteError` with `name`, line and path of what is malformed, and of a known secret
    in what would be written: those of the recorded requests, and the values of environment
    variables with names such as `...KEY`.
    """
    source, interactions, blocks, notes = read_recording(data, name)
    if source == to:
        raise NothingToConvert(f"{name}: it has the format {to!r} already")
    if to == "wire":
        text = assembled(blocks)
    elif to == "vcr":
        text = write_vcr(interactions, notes)
    else:
        text = write_har(interactions, notes)
    return Converted(text, source, len(interactions), notes.listed(), interactions)


def read_recording(data: bytes, name: str) -> Recording:
    """Read a recording of any format; a file compressed with gzip is decompressed.

    Raises as `convert`, and `NothingToConvert` for valid JSON or YAML of another kind.
    """
    data = _plain(data, name)
    notes, known = Notes(), Known()
    known.learn_environment(os.environ)
    if _CASSETTE.match(data):
        interactions = load(data, name).interactions
        return Recording("wire", interactions, _blocks(interactions, known, name), notes)
    text = _text(data, name)
    is_json = text.lstrip()[:1] in ("{", "[")
    try:
        file = At(_json_value(text) if is_json else parse_yaml(text))
        if is_har(file):
            source: Format = "har"
            exchanges = list(read_har(file, notes))
        elif is_vcr(file):
            source = "vcr"
            exchanges = list(read_vcr(file, notes))
        else:
            raise NothingToConvert(
                f"{name}: not a recording: expected one of the keys wire_cassette, interactions, "
                "http_interactions and log"
            )
        interactions = [_interaction(each, notes) for each in exchanges]
        for each in exchanges:
            _learn(each, known)
        return Recording(source, interactions, _blocks(interactions, known, name), notes)
    except Fault as fault:
        raise _located(fault, name, text, is_json) from None
    except LimitError as error:
        raise CassetteError(f"{name}: {_reason(error)}") from None
    except UnicodeEncodeError:
        problem = "a text has half of a surrogate pair, which no cassette can hold"
        raise CassetteError(f"{name}: {problem}") from None


def _plain(data: bytes, name: str) -> bytes:
    if not data.startswith(_GZIP):
        return data
    inflater = Inflater("gzip", _LIMITS)
    try:
        plain = b"".join(inflater.parts(data))
    except (StreamInvalid, LimitError) as error:
        raise CassetteError(f"{name}: {_reason(error)}") from None
    if inflater.cut:
        raise CassetteError(f"{name}: the gzip data is cut")
    return plain


def _reason(error: StreamInvalid | LimitError) -> str:
    """Return the message without its end, which names an option of clients."""
    return error.message.partition(";")[0]


def _text(data: bytes, name: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as cause:
        line = data.count(b"\n", 0, cause.start) + 1
        raise CassetteError(
            f"{name}, line {line}: byte {data[cause.start]:#04x} is not UTF-8"
        ) from None


def _json_value(text: str) -> Any:
    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(pairs)
        if len(value) != len(pairs):
            raise _duplicate(text)
        return value

    check_json(text.encode(), _LIMITS)
    try:
        return json.loads(text, object_pairs_hook=unique)
    except (json.JSONDecodeError, RecursionError) as cause:
        raise fault_of(text, cause) from None
    except Fault:
        raise
    except ValueError as cause:  # Python refuses numbers of 4,300 digits
        raise Fault("", f"cannot be read: {str(cause).partition(';')[0]}") from None


def _duplicate(text: str) -> Fault:
    seen = set()
    for path, at, _ in positions(text):
        if path in seen:
            return Fault(shown(path), "the key occurs twice", text.count("\n", 0, at) + 1)
        seen.add(path)
    return Fault("", "a key occurs twice")


def _located(fault: Fault, name: str, text: str, is_json: bool) -> CassetteError:
    line = fault.line
    if isinstance(fault, FaultAt):
        line = (line_of if is_json else yaml_line_of)(text, fault.steps)
    where = f", line {line}" if line else ""
    at = f"{fault.path}: " if fault.path else ""
    return CassetteError(f"{name}{where}: {at}{fault.message}")


# --- exchanges to interactions --------------------------------------------------------------------


def _interaction(exchange: Exchange, notes: Notes) -> Interaction:
    sent = exchange.sent
    url, kept = kept_url(sent.url), request_headers(_unredacted(sent.headers))
    received = _unredacted(exchange.headers)
    _check_headers(exchange, "request", kept)
    _check_headers(exchange, "response", response_headers(received))
    _drop_headers("headers of a request", sent.headers, kept, notes)
    _drop_headers("headers of a response", exchange.headers, response_headers(received), notes)
    if url != sent.url:
        notes.add("the secrets, user and fragment of a URL are not kept")
    headers, coding = _without_coding(exchange._replace(headers=received))
    try:
        response, _ = response_of(exchange.status, headers, exchange.body, exchange.end)
    except CassetteError as error:
        raise FaultAt((*exchange.path, "response"), error.message) from None
    if coding in _CODINGS:
        response = msgspec.structs.replace(response, decoded=coding)
    elif coding:
        notes.drop("headers of a response", "content-encoding")
    redacted = NO_REDACTION.apply(sent.body)
    request = Request(
        method=sent.method,
        url=url,
        headers=kept,
        redacted=redacted.paths or UNSET,
        body=read_body(redacted.data, kept.get("content-type", "")),
    )
    if redacted.paths or response.redacted:
        notes.add("credentials in fields of bodies are replaced by [redacted]")
    interaction = Interaction(request=request, response=response)
    if exchange.heard is not None:
        interaction = with_session(interaction, exchange.heard, NO_REDACTION)
        if interaction.request.redacted or interaction.response.redacted:
            notes.add("credentials in fields of messages are replaced by [redacted]")
    return interaction


def _check_headers(exchange: Exchange, owner: str, kept: dict[str, str]) -> None:
    """Raise for a header that no client could send, or read in the replay."""
    for name, value in kept.items():
        if not _HEADER_VALUE.fullmatch(value):
            raise FaultAt(
                (*exchange.path, owner), f"the value of header {name} has characters beyond ASCII"
            )


def _unredacted(headers: Headers) -> Headers:
    """Remove redacted headers: a redacted content type would mislead the client of the replay."""
    return [pair for pair in headers if not _REDACTED.fullmatch(pair[1])]


def _drop_headers(owner: str, headers: Headers, kept: dict[str, str], notes: Notes) -> None:
    for name, _ in headers:
        if name.lower() not in kept:
            notes.drop(owner, name.lower())


def _without_coding(exchange: Exchange) -> tuple[Headers, str]:
    """Remove `content-encoding` from the headers of a body that is stored decoded.

    Recorders leave it there. Returns the headers, and the coding that was removed.
    """
    coding = next(
        (value for name, value in exchange.headers if name.lower() == "content-encoding"), ""
    )
    coding = coding.strip().lower()
    if coding in ("", "identity") or not (exchange.decoded or _is_plain(exchange.body, coding)):
        return exchange.headers, ""
    return [pair for pair in exchange.headers if pair[0].lower() != "content-encoding"], coding


def _is_plain(body: bytes, coding: str) -> bool:
    if coding in ("gzip", "x-gzip"):
        return not body.startswith(_GZIP)
    if coding not in _CODINGS:
        return True
    try:
        body.decode()  # compressed data is not UTF-8, but for a few bytes
    except UnicodeDecodeError:
        return False
    return True


# --- secrets --------------------------------------------------------------------------------------


def _learn(exchange: Exchange, known: Known) -> None:
    """Learn the secrets of a request, but not placeholders of another recorder."""
    pairs = exchange.sent.headers
    known.learn_request(
        _url_without_placeholders(exchange.sent.url),
        [(name, value) for name, value in pairs if not _is_placeholder(value)],
    )
    for each in exchange.heard.messages if exchange.heard is not None else ():
        if each.direction == "sent":
            known.learn_request(exchange.sent.url, (), each.data)


def _is_placeholder(value: str) -> bool:
    scheme, _, rest = value.strip().partition(" ")
    word = rest or scheme
    return _PLACEHOLDER.fullmatch(word) is not None and not looks_secret(word)


def _url_without_placeholders(url: str) -> str:
    head, mark, query = url.partition("?")
    kept = [
        each
        for each in query.split("&")
        if not (secret_name(each.partition("=")[0]) and _is_placeholder(each.partition("=")[2]))
    ]
    return f"{head}{mark}{'&'.join(kept)}"


def _blocks(interactions: Iterable[Interaction], known: Known, name: str) -> list[str]:
    """Return the text of each interaction.

    Raises `CassetteError` for an interaction that contains a known secret.
    """
    blocks = []
    for index, each in enumerate(interactions):
        made = whole_block(each)
        blocks.append(made.text)
        leak = known.leak(each, made)
        if leak is not None:
            raise CassetteError(
                f"{name}: not converted, because it contains a secret: {leak.secret} is in "
                f"{leak.position} (interactions[{index}])"
            )
    return blocks
