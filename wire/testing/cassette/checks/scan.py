"""Searches a file for secrets by their form (C-15): cassettes, VCR YAML, HAR, any text.

`leaks` searches for values that the recorder knows, before it writes. This module knows no value,
so it searches for what keys look like. It is for files that exist: recordings of other tools,
edited cassettes, recordings made before a pattern was known.

A value that is masked or that says that it is an example is not reported: see `forms`.
"""

from __future__ import annotations

import bisect
import hashlib
import io
import itertools
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import msgspec

from wire.core.errors import ConfigurationError
from wire.testing.cassette.checks.forms import IN_BASE64, KINDS, Found, found_in, is_kind
from wire.testing.cassette.format.file_position import Path, positions, shown
from wire.testing.cassette.leaks import unescaped


class Hit(NamedTuple):
    """The place and the kind of a text that looks like a secret, without its value."""

    line: int
    """Line of the file, from 1."""
    kind: str
    """Such as `Anthropic key` or `Google API key, in base64`."""
    path: str = ""
    """JSON path, if the file is JSON."""
    digests: tuple[str, ...] = ()
    """The SHA-256 of the value, by which a false alarm is allowed. Several, if the place has more
    values or the file shows one in several forms, such as two pieces and the whole."""

    def __str__(self) -> str:
        return f"{self.line}: {self.kind}{f', {self.path}' if self.path else ''}"


class Allowed(NamedTuple):
    """A value that looks like a secret, but is not one."""

    kind: str
    """As `Hit.kind`."""
    digest: str
    """The first digits of the SHA-256 of the value."""


def allowed_of(text: str) -> Allowed:
    """Parse `KIND:DIGITS`.

    >>> allowed_of("GitHub token:3f2a91c04b7d")
    Allowed(kind='GitHub token', digest='3f2a91c04b7d')

    Raises `ConfigurationError` for an unknown kind, and for digits that are not 8 to 64 hexadecimal
    ones.
    """
    kind, _, digest = text.rpartition(":")
    if kind.removesuffix(IN_BASE64) not in KINDS:
        # A key by mistake must not be shown.
        raise ConfigurationError(
            "allow: expected KIND:DIGITS, as `wire cassette scan --json` shows them"
        )
    if not re.fullmatch("[0-9a-f]{8,64}", digest):
        raise ConfigurationError(
            f"allow: {kind}: expected 8 to 64 hexadecimal digits of the SHA-256 of the value"
        )
    return Allowed(kind, digest)


def scan(text: str, allowed: Iterable[Allowed] = ()) -> list[Hit]:
    """List what looks like a secret in the text of a file, by line.

    Each kind is listed once for a line and JSON path. A secret that is split over the events of a
    stream is listed at the first of them. Values in `allowed` are left out.
    """
    allowed = tuple(allowed)
    found: dict[tuple[int, str], dict[str, None]] = {}
    paths: dict[tuple[int, str], dict[str, None]] = {}
    for part in _parts(text):
        for at, kind, value in part.found():
            line, kind, path = part.place(at, kind)
            digest = _digest(value)
            if not any(
                is_kind(each.kind, kind) and digest.startswith(each.digest) for each in allowed
            ):
                found.setdefault((line, kind), {})[digest] = None
                paths.setdefault((line, kind), {})[path] = None
    # The lines of a JSON file are searched too; what the JSON path tells better is left out.
    return sorted(
        Hit(*place, path, tuple(digests))
        for place, digests in found.items()
        for path in sorted(filter(None, paths[place])) or [""]
    )


def _digest(value: str) -> str:
    # A form without an end of its own takes what the file writes after the value.
    value = value.rstrip("\\\"'}], ")
    return hashlib.sha256(value.encode("utf-8", "surrogatepass")).hexdigest()


def text_of(data: bytes) -> str:
    """Decode a file to scan; one character for each byte if it is not UTF-8."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("latin-1")


# --- where to search ------------------------------------------------------------------------------


class _Part(NamedTuple):
    """A text to search, and where its pieces are in the file."""

    text: str
    marks: list[tuple[int, int, Path | None]]
    """Offset in the text, line of the file, and JSON path of each piece."""
    name: str = ""
    """The name of the header, cookie or parameter that has the text as its value."""

    def found(self) -> Iterator[Found]:
        """Yield each secret."""
        yield from found_in(self.text)
        others = list(itertools.islice(unescaped(self.text), 1, None)) if self._is_one else []
        if self.name:
            others.append(f"{self.name}{self.text}")
        for form in others:
            yield from ((0, kind, value) for _, kind, value in found_in(form))

    @property
    def _is_one(self) -> bool:
        return len(self.marks) == 1

    def place(self, at: int, kind: str) -> tuple[int, str, str]:
        """Return the line, the kind and the JSON path of the text at an offset."""
        index = bisect.bisect_right(self.marks, at, key=lambda mark: mark[0]) - 1
        _, line, path = self.marks[index]
        return line, kind, "" if path is None else shown(path)


def _parts(text: str) -> Iterator[_Part]:
    """Yield the texts to search."""
    lines = list(io.StringIO(text))  # at LF only, unlike `splitlines`
    yield _joined((line, number, None) for number, line in enumerate(lines, 1))
    if text.lstrip()[:1] in ("{", "["):
        strings = list(_strings(text))
        yield from _string_parts(strings)
        if strings:
            return
    for number, line in enumerate(lines, 1):
        if "\\" in line or "%" in line:
            yield _Part(line, [(0, number, None)])
    yield from _blocks(lines)


_Piece = tuple[str, int, Path | None]
"""A text, the line of the file on which it begins, and its JSON path."""


def _joined(pieces: Iterable[_Piece]) -> _Part:
    marks, offset = [], 0
    texts = []
    for text, line, path in pieces:
        marks.append((offset, line, path))
        texts.append(text)
        offset += len(text)
    return _Part("".join(texts), marks or [(0, 1, None)])


_ONLY_BASE64 = re.compile(r"[A-Za-z0-9+/]{16,}={0,2}")
_DATA = re.compile(r"^\s*(?:- )?data: ?(\{.*\})\s*$")


def _blocks(lines: list[str]) -> Iterator[_Part]:
    """Yield texts that span several lines: base64, folded texts of YAML, and events of streams."""
    block: list[_Piece] = []
    folded: list[_Piece] = []
    events: list[_Piece] = []
    for number, line in enumerate([*lines, ""], 1):
        word = line.strip().strip("',\"")
        if _ONLY_BASE64.fullmatch(word):
            block.append((word, number, None))
        elif block:
            yield _joined(block)
            block = []
        is_folded = line.rstrip("\r\n").endswith("\\")  # in a double-quoted text of YAML
        if folded or is_folded:
            content = line.strip() if folded else line.rstrip()
            content = content.removeprefix("\\") if folded else content
            folded.append((content.removesuffix("\\"), number, None))
        if folded and not is_folded:
            yield from _folded(folded)
            folded = []
        if data := _DATA.match(line):
            events.append((data[1], number, None))
    yield from _events(events)


def _folded(pieces: list[_Piece]) -> Iterator[_Part]:
    part = _joined(pieces)
    yield part
    *_, plain = unescaped(part.text)
    line = pieces[0][1]
    yield _Part(plain, [(0, line, None)])
    yield from _events(
        (data[1], line, None) for each in plain.split("\n") if (data := _DATA.match(each))
    )


def _strings(text: str) -> Iterator[_Piece]:
    """Yield the strings of a JSON file, keys included. A file that is not JSON has none."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return
    starts = [0, *(match.end() for match in re.finditer("\n", text))]
    for path, at, token in positions(text):
        line = bisect.bisect_right(starts, at)
        if path and isinstance(path[-1], str) and len(path[-1]) >= _MIN_KEY:
            yield path[-1], line, path
        if token[0] == '"':
            yield json.loads(token), line, path


_MIN_KEY = 16
"""Characters of an object's key that is searched. The shortest secret that stands alone has more.
"""


def _string_parts(strings: list[_Piece]) -> Iterator[_Part]:
    """Yield the strings of a JSON file, and those that one client joins."""
    names = {
        path[:-1]: value
        for value, _, path in strings
        if path is not None and path[-1:] == ("name",)
    }
    for value, line, path in strings:
        yield _Part(value, [(0, line, path)], _name_of(path or (), names))
        if "data:" in value:
            found = (_DATA.match(each) for each in value.split("\n"))
            yield from _events((data[1], line, path) for data in found if data)
    yield from _together(strings)


def _name_of(path: Path, names: dict[Path, str]) -> str:
    """Return the text before this value of a header, cookie or parameter in a request."""
    steps = [step for step in path if isinstance(step, str)]
    holders = [step.lower() for step in steps[-3:-1]]
    name = names.get(path[:-1], "") if steps[-1:] == ["value"] else steps[-1] if steps else ""
    if not name or name == "name":
        return ""
    if "cookies" in holders:
        return f"cookie: {name}="
    if "headers" in holders:
        return f"{name}: "
    return f"?{name}=" if "querystring" in holders else ""


def _events(pieces: Iterable[_Piece]) -> Iterator[_Part]:
    """Yield the texts that a client joins from the JSON of events."""
    leaves: list[_Piece] = []
    for index, (data, line, place) in enumerate(pieces):
        try:
            texts = list(_leaves(msgspec.json.decode(data)))
        except (ValueError, RecursionError):
            continue
        leaves += ((text, line, (*(place or ()), index, *path)) for path, text in texts)
    for part in _together(leaves):
        # The path of an event inside a text is none of the file.
        yield part._replace(marks=[(at, line, None) for at, line, _ in part.marks])


def _leaves(value: Any, path: Path = ()) -> Iterator[tuple[Path, str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, item in items:
            yield from _leaves(item, (*path, key))


def _together(strings: list[_Piece]) -> Iterator[_Part]:
    """Join the texts of which the paths differ in list indexes only: in all of them, or in one.

    A stream has a piece of a text in each event, a cassette has a line of a body in each string.
    """
    for count in (1, None):
        together: dict[Path, list[_Piece]] = {}
        for text, line, path in strings:
            together.setdefault(_without_indexes(path or (), count), []).append((text, line, path))
        for pieces in together.values():
            if len(pieces) > 1:
                yield _joined(pieces)


def _without_indexes(path: Path, count: int | None) -> Path:
    """Replace the indexes after the first, which is that of the interaction."""
    at = [index for index, step in enumerate(path) if isinstance(step, int)]
    starred = set(at[1:] if len(at) > 1 else at)
    if count is not None:
        starred = set(sorted(starred)[:count])
    return tuple("*" if index in starred else step for index, step in enumerate(path))
