"""The file of a cassette: `load` parses one, `save` writes one."""

from __future__ import annotations

import base64
import codecs
import operator
import os
import re
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import msgspec
from msgspec import UNSET, UnsetType

from wire.core.decoders import decoder, json_schema
from wire.core.errors import CassetteError
from wire.core.files import read_whole, write_whole
from wire.core.secret_fields import masked_body, may_have_fields
from wire.testing.cassette.format.file_position import Fault, fault_of, refuse_deep, repeated_key
from wire.testing.cassette.format.json_style import escape_invisible
from wire.testing.cassette.format.side_files import (
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
from wire.testing.cassette.format.structs import (
    BODY_FORMS,
    EVENT_FORMS,
    VERSION,
    Body,
    CassetteFile,
    Event,
    Interaction,
    SideFile,
    in_columns,
)

_UTF8_AT_ONCE = 1024 * 1024
"""Bytes. A decoded text can take four times the space of its bytes, so it is decoded in pieces."""
# Only the response has such keys at this indentation.
_NUMBERS = re.compile(r'^(        "(?:times|chunks)": \[)([\s\d,]*)\]', re.MULTILINE)


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
            _with_bodies(each, map(_masked, bodies_of(each))) for each in cassette.interactions
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
    if any(map(_has_side_files, bodies_of(interaction))):
        kinds = [_kind(interaction.request.headers), _kind(interaction.response.headers)]
        kinds += [""] * len(interaction.messages or ())
        bodies = zip(bodies_of(interaction), kinds, strict=True)
        interaction = _with_bodies(
            interaction, [_moved_out(body, kind, files) for body, kind in bodies]
        )
    return Block(text_of(interaction), files)


def _kind(headers: dict[str, str]) -> str:
    return headers.get("content-type", "").partition(";")[0].strip()


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
        ("Event", EVENT_FORMS),
        ("Body", BODY_FORMS),
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


def _moved_out(body: Body | UnsetType, kind: str, files: dict[str, bytes]) -> Body | UnsetType:
    """Move large binary content from a body to `files`."""
    if body is UNSET or not _has_side_files(body):
        return body
    if body.base64 is not UNSET:
        content = base64.b64decode("".join(body.base64))
        if len(content) <= INLINE_BYTES:
            return body
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
        for body in bodies_of(each)
    ):
        return cassette
    interactions = [
        _with_bodies(each, [_moved_in(body, folder) for body in bodies_of(each)])
        for each in cassette.interactions
    ]
    return msgspec.structs.replace(cassette, interactions=interactions)


def bodies_of(interaction: Interaction) -> list[Body | UnsetType]:
    """Return the bodies of the request, of the response and of the messages."""
    messages = interaction.messages or ()
    return [
        interaction.request.body,
        interaction.response.body,
        *(each.body for each in messages),
    ]


def _with_bodies(interaction: Interaction, bodies: Iterable[Body | UnsetType]) -> Interaction:
    """Replace the bodies, in the order of `bodies_of`."""
    sent, received, *inside = bodies
    messages = interaction.messages
    if messages is not UNSET:
        messages = [
            msgspec.structs.replace(message, body=body)
            for message, body in zip(messages, inside, strict=True)
        ]
    return msgspec.structs.replace(
        interaction,
        request=msgspec.structs.replace(interaction.request, body=sent),
        response=msgspec.structs.replace(interaction.response, body=received),
        messages=messages,
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
