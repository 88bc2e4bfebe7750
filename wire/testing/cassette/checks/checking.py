"""Checks one cassette: its format, secrets, drift, and what cannot be played as a user expects."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

import msgspec

from wire.core.decoders import decoder
from wire.errors import CassetteError
from wire.testing.cassette.checks.drift import drift
from wire.testing.cassette.checks.endpoints import endpoint_of
from wire.testing.cassette.checks.scan import scan
from wire.testing.cassette.format.bodies import body_bytes
from wire.testing.cassette.format.file import CassetteFile, Interaction, load
from wire.testing.cassette.format.file_position import fault_of, positions
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
    data: bytes, name: str, *, with_drift: bool = False, side_files: Iterable[str] = ()
) -> list[Finding]:
    """List the findings in the bytes of a cassette file.

    `side_files` are the names of the files in its folder of side files.
    """
    text = data.decode("utf-8-sig", "replace")
    found = [Finding(name, hit.line, "secret", hit.path, hit.kind) for hit in scan(text)]
    try:
        cassette = load(data, name)
    except CassetteError as error:
        found += _format_faults(text, name, error)
    else:
        lines = _Lines(text)
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
    """The lines on which interactions begin, found when the first is asked for."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._starts: list[int] | None = None

    def of(self, index: int) -> int:
        if self._starts is None:
            self._starts = [line for line, _ in _starts(self._text)]
        return self._starts[index]


def _starts(text: str) -> Iterator[tuple[int, int]]:
    """Yields the line and the offset of each interaction."""
    for path, at, _ in positions(text):
        if len(path) == 2 and path[0] == "interactions":
            yield text.count("\n", 0, at) + 1, at


def _format_faults(text: str, name: str, error: CassetteError) -> list[Finding]:
    """The first fault of each interaction; of the file around them if they have none."""
    found = []
    try:
        json.loads(text)
        for index, (line, at) in enumerate(_starts(text)):
            _, end = json.JSONDecoder().raw_decode(text, at)
            inside = text[at:end]
            try:
                decoder(Interaction).decode(inside)
            except msgspec.ValidationError as cause:
                fault = fault_of(inside, cause)
                path = f"$.interactions[{index}]{fault.path[1:]}"
                line += max(fault.line - 1, 0)
                found.append(Finding(name, line, "format", path, fault.message))
    except (ValueError, RecursionError):
        pass  # not JSON, which the error of the whole says
    if found:
        return found
    position = _POSITION.fullmatch(error.message.removeprefix(name))
    if position is None:
        return [Finding(name, 0, "format", "", error.message)]
    return [Finding(name, int(position[1] or 0), "format", position[2] or "", position[3])]


def _incomplete(cassette: CassetteFile, name: str, lines: _Lines) -> Iterator[Finding]:
    for index, interaction in enumerate(cassette.interactions):
        end = interaction.response.end
        if end != "eof":
            path = f"$.interactions[{index}].response.end"
            yield Finding(
                name, lines.of(index), "incomplete", path, f"the response ended early: {end}"
            )


def _repeated(cassette: CassetteFile, name: str, lines: _Lines) -> Iterator[Finding]:
    """Equal requests. Their responses are played in recorded order, whoever sends them."""
    match, equal = Match(), defaultdict[str, list[int]](list)
    for index, each in enumerate(cassette.interactions):
        request = each.request
        content_type = request.headers.get("content-type", "")
        compared = match.compared(
            request.method, request.url, body_bytes(request.body), content_type
        )
        equal[compared.key].append(index)
    for first, *others in equal.values():
        for index in others:
            yield Finding(
                name,
                lines.of(index),
                "repeated",
                f"$.interactions[{index}].request",
                f"equal to that of interactions[{first}]: only the order tells them apart",
            )


def _drift(cassette: CassetteFile, name: str, lines: _Lines) -> Iterator[Finding]:
    for index, interaction in enumerate(cassette.interactions):
        request, path = interaction.request, f"$.interactions[{index}]"
        if endpoint_of(request.method, request.url, request.headers) is None:
            message = f"{request.method} {request.url} belongs to no wire"
            yield Finding(name, lines.of(index), "unknown", path, message)
        for each in drift(interaction):
            yield Finding(name, lines.of(index), "drift", path, str(each))


def is_cassette(data: bytes) -> bool:
    """Whether a JSON file is a cassette, also one that breaks the format."""
    return re.match(rb'\s*\{\s*"wire_cassette"', data.removeprefix(b"\xef\xbb\xbf")) is not None
