"""Checks one cassette: its format, secrets, drift, and what cannot be played as a user expects."""

from __future__ import annotations

import bisect
import functools
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

import msgspec
from msgspec import UNSET

from wire.core.decoders import decoder
from wire.core.errors import CassetteError
from wire.testing.cassette.checks.drift import drift
from wire.testing.cassette.checks.endpoints import endpoint_of
from wire.testing.cassette.checks.scan import Allowed, scan
from wire.testing.cassette.format.bodies import body_bytes
from wire.testing.cassette.format.file import load
from wire.testing.cassette.format.file_position import (
    Fault,
    Path,
    fault_of,
    positions,
    refuse_deep,
    shown,
)
from wire.testing.cassette.format.sent import is_session
from wire.testing.cassette.format.structs import VERSION, CassetteFile
from wire.testing.cassette.matching import Match

Kind = Literal["format", "secret", "drift", "orphan", "incomplete", "repeated", "unknown"]
FAULTS: tuple[Kind, ...] = ("format", "secret", "drift", "orphan")
"""The kinds of findings for which a check fails. The others are notes."""

_POSITION = re.compile(r"(?:, line (\d+))?: (?:(\$[^ ]*): )?(.*)", re.DOTALL)


class Finding(NamedTuple):
    """One finding in a cassette."""

    file: str
    line: int
    """From 1; 0 if the finding is about the whole file."""
    kind: Kind
    """`format`: the file breaks the format. `secret`: a value looks like one. `drift`: the types of
    the wire do not know a key, type or value. `orphan`: a side file that no cassette names.
    `incomplete`: the response broke off, and does so when it is played. `repeated`: equal requests,
    whose responses are told apart by their order only. `unknown`: the request belongs to no wire,
    so drift cannot be found.
    """
    path: str
    """JSON path in the file; empty if there is none."""
    message: str

    @property
    def is_fault(self) -> bool:
        """Whether the check fails."""
        return self.kind in FAULTS

    def __str__(self) -> str:
        line = f":{self.line}" if self.line else ""
        path = f"{self.path}: " if self.path else ""
        note = "" if self.is_fault else "note: "
        return f"{self.file}{line}: {note}{self.kind}: {path}{self.message}"


def check(
    data: bytes,
    name: str,
    *,
    with_drift: bool = False,
    side_files: Iterable[str] = (),
    allowed: Iterable[Allowed] = (),
) -> list[Finding]:
    """List the findings in the bytes of a cassette file.

    `side_files` are the names of the files in its folder of side files, `allowed` values that are
    not secrets.
    """
    text = data.decode("utf-8-sig", "replace")
    found = [Finding(name, hit.line, "secret", hit.path, hit.kind) for hit in scan(text, allowed)]
    lines = _Lines(text)
    try:
        cassette = load(data, name)
    except CassetteError as error:
        found += _format_faults(text, name, lines, error)
    else:
        found += _incomplete(cassette, name, lines)
        found += _repeated(cassette, name, lines)
        found += _drift(cassette, name, lines) if with_drift else ()
    found += (
        Finding(name, 0, "orphan", "", f"side file {each} is not named in the cassette")
        for each in side_files
        if each not in text
    )
    return sorted(found, key=lambda finding: finding.line)


class _Lines:
    """The lines on which values, or their keys, begin; computed at the first access."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._lines: dict[Path, int] = {}

    def of(self, path: Path) -> int:
        if not self._lines:
            ends = [match.end() for match in re.finditer("\n", self._text)]
            self._lines = {
                each: bisect.bisect_right(ends, at) + 1 for each, at, _ in positions(self._text)
            }
        return self._lines[path]

    def of_interaction(self, index: int) -> int:
        return self.of(("interactions", index))


def _format_faults(text: str, name: str, lines: _Lines, error: CassetteError) -> list[Finding]:
    """Yield all faults of the keys and values; for other faults, the error of `load`."""
    found: list[Finding] = []
    try:
        json.loads(text)
        if decoder(_Version).decode(text).wire_cassette == VERSION:
            refuse_deep(text.encode())
            for path, at, fault in _faults(CassetteFile, text.encode(), ()):
                line = lines.of(at) + max(fault.line - 1, 0)
                whole = shown(path) + fault.path[1:]
                found.append(Finding(name, line, "format", whole, fault.message))
    except (ValueError, RecursionError):
        pass  # not JSON, or no version, which `load` says
    if found:
        return found
    position = _POSITION.fullmatch(error.message.removeprefix(name))
    if position is None:
        return [Finding(name, 0, "format", "", error.message)]
    return [Finding(name, int(position[1] or 0), "format", position[2] or "", position[3])]


class _Version(msgspec.Struct):
    wire_cassette: Any = VERSION


def _faults(kind: Any, raw: bytes, path: Path) -> Iterator[tuple[Path, Path, Fault]]:
    """Yield each fault of a value: the path of the value, that of what has the line, and the rest.

    The decoder stops at the first fault, so each field and each item is decoded alone.
    """
    values: dict[Any, msgspec.Raw]
    try:
        if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
            kinds = _hints(kind)
            values = decoder(dict[str, msgspec.Raw]).decode(raw)
        elif get_origin(kind) is list:
            values = dict(enumerate(decoder(list[msgspec.Raw]).decode(raw)))
            kinds = dict.fromkeys(values, get_args(kind)[0])
        elif get_origin(kind) is dict:
            values = decoder(dict[str, msgspec.Raw]).decode(raw)
            kinds = dict.fromkeys(values, get_args(kind)[1])
        else:
            kinds = values = {}
    except msgspec.ValidationError:
        kinds = values = {}  # not an object, or no array
    found: list[tuple[Path, Path, Fault]] = []
    for name, value in values.items():
        if name in kinds:
            found += _faults(kinds[name], bytes(value), (*path, name))
        else:
            fault = Fault("$", f"object contains unknown field `{name}`")
            found.append((path, (*path, name), fault))
    if kinds and isinstance(kind, type):
        missing = [each.name for each in msgspec.structs.fields(kind) if each.required]
        found += [
            (path, path, Fault("$", f"object missing required field `{name}`"))
            for name in missing
            if name not in values
        ]
    # Rules between the fields say nothing of use while a field is wrong.
    yield from found or _fault(kind, raw, path)


@functools.cache
def _hints(struct: type[msgspec.Struct]) -> dict[str, Any]:
    """Return the types of the fields without `UNSET`, as for a field that is present."""
    hints = get_type_hints(struct, include_extras=True)
    return {
        name: next(each for each in get_args(hint) if each is not msgspec.UnsetType)
        if msgspec.UnsetType in get_args(hint)
        else hint
        for name, hint in hints.items()
    }


def _fault(kind: Any, raw: bytes, path: Path) -> Iterator[tuple[Path, Path, Fault]]:
    """Yield the first fault of a value."""
    try:
        decoder(kind).decode(raw)
    except msgspec.ValidationError as cause:
        yield path, path, fault_of(raw.decode(), cause)


def _incomplete(cassette: CassetteFile, name: str, lines: _Lines) -> Iterator[Finding]:
    for index, interaction in enumerate(cassette.interactions):
        end = interaction.response.end
        is_left = interaction.messages is not UNSET and end == "closed by the caller"
        if end != "eof" and not is_left:  # a program ends its session
            path = f"$.interactions[{index}].response.end"
            yield Finding(
                name,
                lines.of_interaction(index),
                "incomplete",
                path,
                f"the response ended early: {end}",
            )


def _repeated(cassette: CassetteFile, name: str, lines: _Lines) -> Iterator[Finding]:
    """Yield equal requests.

    Their responses are played in recorded order, whoever sends them.
    """
    match, equal = Match(), defaultdict[str, list[int]](list)
    for index, each in enumerate(cassette.interactions):
        request = each.request
        content_type = request.headers.get("content-type", "")
        compared = match.compared(
            request.method, request.url, body_bytes(request.body), content_type
        )
        equal[f"{is_session(request.url)} {compared.key}"].append(index)
    for first, *others in equal.values():
        for index in others:
            yield Finding(
                name,
                lines.of_interaction(index),
                "repeated",
                f"$.interactions[{index}].request",
                f"equal to that of interactions[{first}]: only the order tells them apart",
            )


def _drift(cassette: CassetteFile, name: str, lines: _Lines) -> Iterator[Finding]:
    for index, interaction in enumerate(cassette.interactions):
        request, path = interaction.request, f"$.interactions[{index}]"
        if endpoint_of(request.method, request.url, request.headers) is None:
            message = f"{request.method} {request.url} belongs to no wire"
            yield Finding(name, lines.of_interaction(index), "unknown", path, message)
        for each in drift(interaction):
            yield Finding(name, lines.of_interaction(index), "drift", path, str(each))


def is_cassette(data: bytes) -> bool:
    """Return whether a JSON file is a cassette, also one that breaks the format."""
    return re.match(rb'\s*\{\s*"wire_cassette"', data.removeprefix(b"\xef\xbb\xbf")) is not None
