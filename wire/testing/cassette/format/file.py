"""The structs of a cassette: `load` parses a file, `save` writes one.

A cassette is one indented JSON document. It holds no count, length or checksum of its content, so
it can be edited by hand (C-28); only a side file is checked against its name. Its first key holds
the version; later releases still read every earlier version (C-29).
"""

from __future__ import annotations

import base64
import binascii
import codecs
import operator
import os
import re
from collections.abc import Callable, Iterable
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
from msgspec import UNSET, Meta, UnsetType

from wire.core.decoders import decoder, json_schema
from wire.core.errors import CassetteError, ConfigurationError
from wire.core.files import read_whole, write_whole
from wire.core.secret_fields import masked_body, may_have_fields
from wire.testing.cassette.format.file_position import Fault, fault_of, refuse_deep, repeated_key
from wire.testing.cassette.format.json_paths import parsed
from wire.testing.cassette.format.json_style import (
    ON_ONE_LINE,
    Escapes,
    Layout,
    escape_invisible,
)
from wire.testing.cassette.format.side_files import (
    DIGEST,
    INLINE_BYTES,
    Coding,
    Folder,
    digest_of,
    encoded,
    has_token,
    media_type_of,
    moved_in,
    moved_out,
    named_in,
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

_BODY_FORMS = ("json", "events", "text", "base64", "file")
_EVENT_FORMS = ("json", "data", "comment", "text", "base64")
_LINE_END = re.compile(r"[\r\n]")
_UTF8_AT_ONCE = 1024 * 1024
"""Bytes. A decoded text can take four times the space of its bytes, so it is decoded in pieces."""
# Only the response has such keys at this indentation.
_NUMBERS = re.compile(r'^(        "(?:times|chunks)": \[)([\s\d,]*)\]', re.MULTILINE)


class _Strict(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Base of all structs here. An unknown key, which may be a misspelt one, is an error."""


class SideFile(_Strict, frozen=True, kw_only=True):
    """A file in the folder beside the cassette, whose name is that of the cassette and `.files`."""

    sha256: Annotated[str, Meta(pattern=r"^[0-9a-f]{64}$")]
    """The file's name, and the SHA-256 of its content."""
    type: str
    """Media type."""
    length: Annotated[int, Meta(ge=0)]
    """Bytes."""
    coding: Coding | UnsetType = UNSET
    """How JSON has the content. The token `<sha256:...>` stands in the JSON in its place."""

    def __post_init__(self) -> None:
        # Checked here too, because the `$` of the pattern accepts a line end at the end.
        if not DIGEST.fullmatch(self.sha256):
            raise ValueError("sha256: expected 64 hexadecimal digits in lower case")


class Event(_Strict, frozen=True, kw_only=True, gc=False):
    """One event of a stream: its fields if they reproduce its bytes in the framing of its body,
    else its text, else base64.
    """

    event: OneLine | UnsetType = UNSET
    """The field `event`: its kind."""
    id: OneLine | UnsetType = UNSET
    """The field `id`."""
    retry: Annotated[int, Meta(ge=0)] | UnsetType = UNSET
    """The field `retry`, in milliseconds."""
    outside: bool = False
    """True: the JSON stands between the events, without `data:`, as errors of some servers do."""
    before: Annotated[str, Meta(pattern=r"^[\ufeff \t\r\n]*$")] | UnsetType = UNSET
    """White space before the first line. After a blank, `data:` is not a field of SSE."""
    end: Annotated[str, Meta(pattern=r"^[\r\n]*$")] | UnsetType = UNSET
    """The bytes after the last line. Without it: its line end and a blank line."""
    layout: Layout | UnsetType = UNSET
    """Present only if it differs from the body's. One line, unless the JSON is `outside`."""
    escapes: Escapes | UnsetType = UNSET
    """Present only if it differs from the body's."""
    pad: Annotated[int, Meta(ge=1)] | UnsetType = UNSET
    """Number of blanks before the last brace. Anthropic inserts them to hide lengths."""
    json: msgspec.Raw | UnsetType = UNSET
    """The field `data`, if it is a JSON object or array."""
    data: OneLine | UnsetType = UNSET
    """The field `data`, if it is another text, such as `[DONE]`."""
    comment: OneLine | UnsetType = UNSET
    """The text of a comment."""
    text: Lines | UnsetType = UNSET
    """Lines with their ends, of an event that its fields do not reproduce."""
    base64: Lines | UnsetType = UNSET
    """The bytes of an event that is not UTF-8."""

    def __post_init__(self) -> None:
        form = _only_one(self, _EVENT_FORMS)
        if form not in ("json", "data") and (self.event, self.id, self.retry) != (
            UNSET,
            UNSET,
            UNSET,
        ):
            raise ValueError(
                f"event, id and retry are allowed with json or data only, not with {form}"
            )
        if form in ("text", "base64") and (self.before, self.end) != (UNSET, UNSET):
            raise ValueError(f"before and end are not allowed with {form}, which has all bytes")
        if self.outside and (form, self.event, self.id, self.retry) != (
            "json",
            UNSET,
            UNSET,
            UNSET,
        ):
            raise ValueError("outside is allowed with json only, without event, id and retry")
        if not self.outside and self.layout not in (UNSET, *ON_ONE_LINE):
            raise ValueError(
                f"layout: expected a layout on one line for an event, not {self.layout!r}"
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
    """A body in a readable form: a JSON value with its style, events, lines of text, base64, or a
    side file.
    """

    framing: Framing | UnsetType = UNSET
    """How the events are framed. Without it: `lf`."""
    layout: Layout | UnsetType = UNSET
    """The white space of the JSON. Without it: `compact`."""
    escapes: Escapes | UnsetType = UNSET
    r"""The characters that are written as `\u` escapes. Without it: `raw`."""
    before: str | UnsetType = UNSET
    """White space before the JSON."""
    after: str | UnsetType = UNSET
    """White space after the JSON."""
    files: list[SideFile] | UnsetType = UNSET
    """Side files whose tokens are in the JSON of the body or of its events."""
    json: msgspec.Raw | UnsetType = UNSET
    """A JSON object or array. Its numbers, the order of its keys and its repeated keys are those
    that were received."""
    events: list[Event] | UnsetType = UNSET
    """An event stream."""
    text: Lines | UnsetType = UNSET
    """Lines with their ends. The body is their concatenation."""
    base64: Lines | UnsetType = UNSET
    """A body that is not UTF-8, in lines of 76 columns. On loading, lines may have any length."""
    file: SideFile | UnsetType = UNSET
    """The whole body as a side file: binary, and larger than 4 KiB."""

    def __post_init__(self) -> None:
        form = _only_one(self, _BODY_FORMS)
        if self.files is not UNSET:
            if form not in ("json", "events"):
                raise ValueError(f"files are allowed with json or events only, not with {form}")
            if any(each.coding is UNSET for each in self.files):
                raise ValueError("files: each needs its coding")
        if form == "events" and self.layout not in (UNSET, *ON_ONE_LINE):
            raise ValueError(
                f"layout: expected a layout on one line for events, not {self.layout!r}"
            )
        _check_base64(self.base64)


class Request(_Strict, frozen=True, kw_only=True):
    """A sent request, without its secrets."""

    method: str
    """As sent, such as `POST`."""
    url: str
    """Without user, password and fragment. The values of keys in the query are `***`."""
    headers: dict[str, str] = {}
    """Those of the allow-list, with names in lower case, sorted."""
    redacted: list[str] | UnsetType = UNSET
    """JSON paths in the body whose values were replaced by `[redacted]` (C-13)."""
    body: Body | UnsetType = UNSET
    """Absent if nothing was sent."""

    def __post_init__(self) -> None:
        _check_paths(self.redacted)


class Response(_Strict, frozen=True, kw_only=True):
    """The received response."""

    emulated: bool = False
    """True: the emulator answered, and not the vendor."""
    status: Annotated[int, Meta(ge=100, le=999)]
    """Status code."""
    headers: dict[str, str] = {}
    """Those of the allow-list, with names in lower case, sorted. Ids of requests are `***`."""
    decoded: str | UnsetType = UNSET
    """The content encoding of the received body. In the cassette and on replay the body is decoded
    (C-07).
    """
    redacted: list[str] | UnsetType = UNSET
    """JSON paths in the body, or in its events, whose values were replaced by `[redacted]`."""
    times: list[Annotated[int, Meta(ge=0)]] | UnsetType = UNSET
    """Milliseconds before each chunk of the body, the first since the request was sent (C-06)."""
    chunks: list[Annotated[int, Meta(ge=0)]] | UnsetType = UNSET
    """Bytes of each chunk, recorded with `times` if a chunk is not an event. They do not count
    after an edit that changed the length of the body."""
    body: Body | UnsetType = UNSET
    """Absent if no byte was received."""
    end: End
    """How the body ended."""

    def __post_init__(self) -> None:
        _check_paths(self.redacted)


class Interaction(_Strict, frozen=True, kw_only=True):
    """One request and its response."""

    started: Annotated[int, Meta(ge=0, le=10**12)] | UnsetType = UNSET
    """Milliseconds from the first recorded request to this one (C-06)."""
    request: Request
    """The request that was sent."""
    response: Response
    """The response that was received."""


class CassetteFile(_Strict, frozen=True, kw_only=True):
    """A recording: interactions in the order in which they were sent."""

    wire_cassette: Literal[1]
    """Version of the format."""
    interactions: list[Interaction]
    """In the order in which they were sent."""


class _Head(msgspec.Struct):
    """The version alone. Decoding it reads the whole JSON, but builds nothing of it."""

    wire_cassette: Any = VERSION


def load(data: bytes, name: str) -> CassetteFile:
    """Parse the bytes of the cassette file at the path `name`, and read its side files.

    The contents of side files stand in the returned bodies, as if they had been in the cassette.
    Credentials in the fields of bodies are `***`: a file that another tool or release has written
    may have them.

    Raises `CassetteError` with `name`, line and JSON path of the error, or with the path of a side
    file.
    """
    try:
        _check_utf8(data)
    except UnicodeDecodeError as cause:
        line = data.count(b"\n", 0, cause.start) + 1
        raise CassetteError(
            f"{name}, line {line}: byte {data[cause.start]:#04x} is not UTF-8"
        ) from None
    data = data.removeprefix(codecs.BOM_UTF8)
    try:
        cassette: CassetteFile = decoder(CassetteFile).decode(data)
        refuse_deep(data)
        _check_keys(data, cassette)
    except (ValueError, RecursionError) as cause:
        fault = _first_fault(data.decode(), cause)
    else:
        cassette = _with_side_files(cassette, Folder(name))
        return _without_credentials(cassette) if may_have_fields(data) else cassette
    where = f", line {fault.line}" if fault.line else ""
    at = f"{fault.path}: " if fault.path else ""
    raise CassetteError(f"{name}{where}: {at}{fault.message}")


def _without_credentials(cassette: CassetteFile) -> CassetteFile:
    return msgspec.structs.replace(
        cassette,
        interactions=[
            _with_bodies(each, _masked(each.request.body), _masked(each.response.body))
            for each in cassette.interactions
        ],
    )


def _masked(held: Any) -> Any:
    """Mask credentials in the fields of a body or event; return it unchanged if it has none."""
    changed: dict[str, Any] = {}
    if held is UNSET:
        return held
    if isinstance(held, Body) and held.events is not UNSET:
        changed["events"] = [_masked(each) for each in held.events]
        if all(map(operator.is_, changed["events"], held.events)):
            return held
    elif held.json is not UNSET:
        changed["json"] = msgspec.Raw(masked_body(bytes(held.json)))
    elif held.text is not UNSET:
        changed["text"] = [masked_body("".join(held.text).encode()).decode()]
        if changed["text"] == ["".join(held.text)]:
            return held
    return msgspec.structs.replace(held, **changed) if changed else held


def dump(interactions: Iterable[Interaction]) -> str:
    """Return the text of a cassette with these interactions, without side files."""
    return assembled(map(text_of, interactions))


class Block(NamedTuple):
    """An interaction as it is written."""

    text: str
    """Indented as in the file."""
    files: dict[str, bytes]
    """The contents of its side files by their digests."""


def block(interaction: Interaction) -> Block:
    """Convert an interaction to its text and its side files."""
    files: dict[str, bytes] = {}
    request, response = interaction.request, interaction.response
    parts = (request.body, request.headers), (response.body, response.headers)
    if any(_has_side_files(body) for body, _ in parts):
        sent, received = (_moved_out(body, headers, files) for body, headers in parts)
        interaction = _with_bodies(interaction, sent, received)
    return Block(text_of(interaction), files)


def whole_block(interaction: Interaction) -> Block:
    """Convert an interaction to its text alone."""
    return Block(text_of(interaction), {})


def text_of(interaction: Interaction) -> str:
    """Return the text of one interaction, indented as in the file."""
    text = msgspec.json.format(msgspec.json.encode(interaction), indent=2).decode()
    # JSON escapes line ends inside strings, so this changes the indentation only.
    text = escape_invisible("    " + text.replace("\n", "\n    "))
    if interaction.response.times is not UNSET:
        text = _NUMBERS.sub(lambda found: found[1] + " ".join(found[2].split()) + "]", text)
    return text


def assembled(blocks: Iterable[str]) -> str:
    """Join the texts of interactions to the text of a cassette."""
    inside = ",\n".join(blocks)
    listed = f"[\n{inside}\n  ]" if inside else "[]"
    return f'{{\n  "wire_cassette": {VERSION},\n  "interactions": {listed}\n}}\n'


def save(path: str | os.PathLike[str], blocks: Iterable[Block]) -> None:
    """Write a cassette and its side files, in place of an earlier one and its side files.

    Raises `CassetteError` with the path of the file that cannot be written.
    """
    blocks = list(blocks)
    folder = Folder(path)
    files = {digest: content for each in blocks for digest, content in each.files.items()}
    earlier: set[str] = set()
    if folder.exists and os.path.exists(path):
        earlier = named_in(read_whole(path, CassetteError))
    # In this order a reader finds the side files of either cassette.
    folder.write(files)
    write_whole(path, assembled(each.text for each in blocks).encode(), CassetteError)
    folder.remove(earlier - files.keys())


def schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of a cassette.

    `schemas/cassette.schema.json` is its text.
    """
    made = json_schema(CassetteFile)
    for name, forms in (
        ("Event", _EVENT_FORMS),
        ("Body", _BODY_FORMS),
    ):
        part = made["$defs"][name]
        part["oneOf"] = [{"required": [form]} for form in forms]
        part["description"] = " ".join(part["description"].split())
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"wire cassette, version {VERSION}",
        **made,
    }


# --- side files -----------------------------------------------------------------------------------


def in_columns(content: bytes) -> Lines:
    """Encode base64 in lines of 76 columns."""
    text = base64.b64encode(content).decode()
    return [text[at : at + 76] for at in range(0, len(text), 76)]


def _has_side_files(body: Body | UnsetType) -> bool:
    """Return whether a body is large enough for a side file, which is quick to see."""
    return body is not UNSET and (
        (body.base64 is not UNSET and sum(map(len, body.base64)) > INLINE_BYTES)
        or any(len(raw) > INLINE_BYTES for raw in _raws(body))
    )


def _raws(body: Body) -> Iterable[bytes]:
    events = [] if body.events is UNSET else body.events
    return (
        bytes(each) for each in (body.json, *(event.json for event in events)) if each is not UNSET
    )


def _moved_out(
    body: Body | UnsetType, headers: dict[str, str], files: dict[str, bytes]
) -> Body | UnsetType:
    """Move large binary content from a body to `files`."""
    if body is UNSET or not _has_side_files(body):
        return body
    if body.base64 is not UNSET:
        content = base64.b64decode("".join(body.base64))
        if len(content) <= INLINE_BYTES:
            return body
        kind = headers.get("content-type", "").partition(";")[0].strip()
        file = SideFile(
            sha256=digest_of(content), type=kind or media_type_of(content), length=len(content)
        )
        files[file.sha256] = content
        return Body(file=file)
    if any(map(has_token, _raws(body))):
        return body  # what was received would be taken for a token of the cassette
    moved: dict[str, tuple[Coding, bytes]] = {}
    body = _rewritten(body, UNSET, lambda json: moved_out(json, moved))
    listed = [
        SideFile(sha256=digest, type=media_type_of(content), length=len(content), coding=coding)
        for digest, (coding, content) in moved.items()
    ]
    files.update((digest, content) for digest, (_, content) in moved.items())
    return msgspec.structs.replace(body, files=listed or UNSET)


def _with_side_files(cassette: CassetteFile, folder: Folder) -> CassetteFile:
    """Put the contents of side files in their places."""
    if not any(
        body is not UNSET and (body.file is not UNSET or body.files is not UNSET)
        for each in cassette.interactions
        for body in (each.request.body, each.response.body)
    ):
        return cassette
    interactions = [
        _with_bodies(
            each, _moved_in(each.request.body, folder), _moved_in(each.response.body, folder)
        )
        for each in cassette.interactions
    ]
    return msgspec.structs.replace(cassette, interactions=interactions)


def _with_bodies(
    interaction: Interaction, sent: Body | UnsetType, received: Body | UnsetType
) -> Interaction:
    return msgspec.structs.replace(
        interaction,
        request=msgspec.structs.replace(interaction.request, body=sent),
        response=msgspec.structs.replace(interaction.response, body=received),
    )


def _moved_in(body: Body | UnsetType, folder: Folder) -> Body | UnsetType:
    if body is UNSET:
        return UNSET
    if body.file is not UNSET:
        return Body(base64=in_columns(folder.read(body.file.sha256, body.file.length)))
    if body.files is UNSET:
        return body
    files = {each.sha256: each for each in body.files}

    def base64_of(digest: str) -> bytes | None:
        file = files.get(digest)
        if file is None:
            return None
        assert file.coding is not UNSET
        return encoded(folder.read(digest, file.length), file.coding)

    return _rewritten(body, UNSET, lambda json: moved_in(json, base64_of))


def _rewritten(
    body: Body, files: list[SideFile] | UnsetType, change: Callable[[bytes], bytes]
) -> Body:
    """Change each JSON text of a body."""

    def changed(json: msgspec.Raw | UnsetType) -> msgspec.Raw | UnsetType:
        return UNSET if json is UNSET else msgspec.Raw(change(bytes(json)))

    events: list[Event] | UnsetType = UNSET
    if body.events is not UNSET:
        events = [msgspec.structs.replace(each, json=changed(each.json)) for each in body.events]
    return msgspec.structs.replace(body, files=files, json=changed(body.json), events=events)


# --- checks ---------------------------------------------------------------------------------------


def _check_utf8(data: bytes) -> None:
    """Raise `UnicodeDecodeError`. msgspec does not look at the texts of JSON that it keeps raw."""
    pieces = codecs.getincrementaldecoder("utf-8")()
    done = 0
    try:
        for done in range(0, len(data), _UTF8_AT_ONCE):
            pieces.decode(data[done : done + _UTF8_AT_ONCE])
        pieces.decode(b"", final=True)
    except UnicodeDecodeError:
        data.decode()  # for the position in the whole
        raise


def _check_keys(data: bytes, cassette: CassetteFile) -> None:
    """Raise `Fault` for a key that occurs twice, of which msgspec takes the last in silence.

    A file that equals what is written of its content has none; that is quick to see. Others are
    searched.
    """
    written = msgspec.json.format(msgspec.json.encode(cassette), indent=-1)
    if written != msgspec.json.format(data, indent=-1):
        repeated_key(data.decode())


def _first_fault(text: str, cause: BaseException) -> Fault:
    """Return the fault of a text.

    Broken JSON and another version are reported before other faults.
    """
    try:
        _check_version(decoder(_Head).decode(text).wire_cassette)
    except msgspec.ValidationError:
        pass  # no object: `cause` says so
    except (ValueError, RecursionError) as first:
        cause = first
    return fault_of(text, cause)


def _check_version(version: object) -> None:
    if isinstance(version, int) and not isinstance(version, bool) and version != VERSION:
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


def _check_paths(paths: list[str] | UnsetType) -> None:
    for index, path in enumerate(paths or ()):
        try:
            parsed(path, f"redacted[{index}]")
        except ConfigurationError as cause:
            raise ValueError(cause.message) from None


def _check_base64(lines: Lines | UnsetType) -> None:
    if lines is not UNSET:
        try:
            binascii.a2b_base64("".join(lines), strict_mode=True)
        except ValueError as cause:  # UnicodeEncodeError too: a letter beyond ASCII
            raise ValueError(f"base64: {cause}") from None
