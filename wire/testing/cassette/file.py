"""The structs of a cassette: `load` parses a file, `dump` writes one.

A cassette is one indented JSON document. It holds no count, length or checksum of its content, so
it can be edited by hand (C-28). Its first key holds the version; later releases still read every
earlier version (C-29).
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterable
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from wire.core.decoders import decoder, json_schema
from wire.errors import CassetteError
from wire.testing.cassette.file_position import Fault, fault_of
from wire.testing.cassette.json_style import (
    ON_ONE_LINE,
    Escapes,
    Layout,
    OneLineLayout,
    escape_invisible,
)

VERSION = 1

End = Literal["eof", "reset", "cut", "timeout", "closed by the caller"]
"""How a body ended. `eof`: complete. `reset`: the connection was reset. `cut`: the connection was
closed before the announced end. `timeout`: no byte arrived in time. `closed by the caller`: the
caller stopped reading. Replay raises after the last byte unless it is `eof` (C-04, C-05)."""

Framing = Literal["crlf", "lf", "crlf tight", "lf tight"]
"""Line ends of an event stream. `tight` means no blank after the colon of a field."""

OneLine = Annotated[str, Meta(pattern=r"^[^\r\n]*$")]
Lines = list[str]

_LINE_END = re.compile(r"[\r\n]")


class _Strict(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Base of all structs here. An unknown key, which may be a misspelt one, is an error."""


class Event(_Strict, frozen=True, kw_only=True):
    """One event of a stream: its fields if they reproduce its bytes in the framing of its body,
    else its text, else base64.
    """

    event: OneLine | UnsetType = UNSET
    id: OneLine | UnsetType = UNSET
    retry: Annotated[int, Meta(ge=0)] | UnsetType = UNSET
    layout: OneLineLayout | UnsetType = UNSET
    """Present only if it differs from the body's."""
    escapes: Escapes | UnsetType = UNSET
    """Present only if it differs from the body's."""
    pad: Annotated[int, Meta(ge=1)] | UnsetType = UNSET
    """Number of blanks before the last brace. Anthropic inserts them to hide lengths."""
    json: msgspec.Raw | UnsetType = UNSET
    data: OneLine | UnsetType = UNSET
    comment: OneLine | UnsetType = UNSET
    text: Lines | UnsetType = UNSET
    base64: Lines | UnsetType = UNSET

    def __post_init__(self) -> None:
        forms = _only_one(self, ("json", "data", "comment", "text", "base64"))
        if forms not in ("json", "data") and (self.event, self.id, self.retry) != (
            UNSET,
            UNSET,
            UNSET,
        ):
            raise ValueError(
                f"event, id and retry are allowed with json or data only, not with {forms}"
            )
        if any(
            _LINE_END.search(value)
            for value in (self.event, self.id, self.data, self.comment)
            if value is not UNSET
        ):
            # Checked here too, because the `$` of the pattern accepts a line end at the end.
            raise ValueError("a field of an event cannot contain a line end; use text")
        _check_base64(self.base64)


class Body(_Strict, frozen=True, kw_only=True):
    """A body in a readable form: a JSON value with its style, events, lines of text, or base64."""

    framing: Framing | UnsetType = UNSET
    layout: Layout | UnsetType = UNSET
    escapes: Escapes | UnsetType = UNSET
    before: str | UnsetType = UNSET
    """White space before the JSON."""
    after: str | UnsetType = UNSET
    """White space after the JSON."""
    json: msgspec.Raw | UnsetType = UNSET
    events: list[Event] | UnsetType = UNSET
    text: Lines | UnsetType = UNSET
    """Lines with their ends. The body is their concatenation."""
    base64: Lines | UnsetType = UNSET

    def __post_init__(self) -> None:
        form = _only_one(self, ("json", "events", "text", "base64"))
        if form == "events" and self.layout not in (UNSET, *ON_ONE_LINE):
            raise ValueError(
                f"layout: expected a layout on one line for events, not {self.layout!r}"
            )
        _check_base64(self.base64)


class Request(_Strict, frozen=True, kw_only=True):
    """A sent request, without its secrets."""

    method: str
    url: str
    headers: dict[str, str] = {}
    body: Body | UnsetType = UNSET


class Response(_Strict, frozen=True, kw_only=True):
    """The received response."""

    status: Annotated[int, Meta(ge=100, le=999)]
    headers: dict[str, str] = {}
    decoded: str | UnsetType = UNSET
    """The content encoding of the received body. In the cassette and on replay the body is decoded
    (C-07).
    """
    body: Body | UnsetType = UNSET
    end: End


class Interaction(_Strict, frozen=True, kw_only=True):
    """One request and its response."""

    request: Request
    response: Response


class CassetteFile(_Strict, frozen=True, kw_only=True):
    """A recording: interactions in the order in which they were sent."""

    wire_cassette: Literal[1]
    interactions: list[Interaction]


def load(data: bytes, name: str) -> CassetteFile:
    """Parses the bytes of a cassette file.

    Raises `CassetteError` with `name`, line and JSON path of the error.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as cause:
        line = data.count(b"\n", 0, cause.start) + 1
        raise CassetteError(
            f"{name}, line {line}: byte {data[cause.start]:#04x} is not UTF-8"
        ) from None
    try:
        plain = msgspec.json.decode(text)
        _check_version(plain)
        cassette: CassetteFile = decoder(CassetteFile).decode(text)
        return cassette
    except (ValueError, RecursionError) as cause:
        fault = fault_of(text, cause)
    where = f", line {fault.line}" if fault.line else ""
    at = f"{fault.path}: " if fault.path else ""
    raise CassetteError(f"{name}{where}: {at}{fault.message}")


def dump(interactions: Iterable[Interaction]) -> str:
    """Returns the text of a cassette with these interactions."""
    return assembled(map(block, interactions))


def block(interaction: Interaction) -> str:
    """Returns the text of one interaction, indented as in the file."""
    text = msgspec.json.format(msgspec.json.encode(interaction), indent=2).decode()
    # JSON escapes line ends inside strings, so this changes the indentation only.
    return escape_invisible("    " + text.replace("\n", "\n    "))


def assembled(blocks: Iterable[str]) -> str:
    """Joins the texts of interactions to the text of a cassette."""
    inside = ",\n".join(blocks)
    listed = f"[\n{inside}\n  ]" if inside else "[]"
    return f'{{\n  "wire_cassette": {VERSION},\n  "interactions": {listed}\n}}\n'


def schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of a cassette; `wire/schemas/cassette.schema.json` is its text."""
    made = json_schema(CassetteFile)
    for name, forms in (
        ("Event", ("json", "data", "comment", "text", "base64")),
        ("Body", ("json", "events", "text", "base64")),
    ):
        part = made["$defs"][name]
        part["oneOf"] = [{"required": [form]} for form in forms]
        part["description"] = " ".join(part["description"].split())
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"wire cassette, version {VERSION}",
        **made,
    }


def _check_version(plain: object) -> None:
    if (
        isinstance(plain, dict)
        and isinstance(version := plain.get("wire_cassette", VERSION), int)
        and version != VERSION
    ):
        raise Fault(
            "$.wire_cassette", f"version {version} is unknown; this release reads version {VERSION}"
        )


def _only_one(struct: msgspec.Struct, forms: tuple[str, ...]) -> str:
    given = [form for form in forms if getattr(struct, form) is not UNSET]
    if len(given) != 1:
        raise ValueError(
            f"expected exactly one of {', '.join(forms)}, not {' and '.join(given) or 'none'}"
        )
    return given[0]


def _check_base64(lines: Lines | UnsetType) -> None:
    if lines is not UNSET:
        try:
            binascii.a2b_base64("".join(lines), strict_mode=True)
        except ValueError as cause:  # UnicodeEncodeError too: a letter beyond ASCII
            raise ValueError(f"base64: {cause}") from None
