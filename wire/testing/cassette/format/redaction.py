"""Replaces values of a body by a visible token before it is recorded or compared (C-13).

The bytes around a value stay as they are, so a redacted body is as readable as the received one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from wire.core.errors import CassetteError
from wire.core.limits import is_deeper
from wire.testing.cassette.format.file_position import Path
from wire.testing.cassette.format.json_paths import matches, parsed

REDACTED = "[redacted]"
"""Stands in place of a value. It has no character that a server writes as an escape."""

MAX_DEPTH = 512
"""Levels. A path is built for each value, which takes long for one that is nested without end."""

_DOCUMENT = re.compile(r"\ufeff?\s*[{\[]")
_DATA = re.compile(r"^\ufeff?[ \t]*data:[ \t]?(.*)$", re.MULTILINE)
# JSON between the events, as errors of some servers are.
_OUTSIDE = re.compile(r"^\ufeff?[ \t]*[{\[][\s\S]*?(?=(?:(?>\r\n|\r|\n)){2}|\Z)", re.MULTILINE)
_LINES_OF_DATA = re.compile(r"(?:^\ufeff?[ \t]*data:.*(?:\r\n|\r|\n)?){2,}", re.MULTILINE)
# A body may be cut inside a text: then the text ends with the body.
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|[\[\]{}:,]|[^\s\[\]{}:,"]+', re.DOTALL)


class Redacted(NamedTuple):
    """A body after redaction."""

    data: bytes
    paths: list[str]
    """Those that selected a value."""


class Redaction:
    """Replaces the values that JSON paths select.

    >>> redaction = Redaction(["$.metadata.user_id", "$..email"])
    >>> redaction.apply(b'{"metadata": {"user_id": 7}}')
    Redacted(data=b'{"metadata": {"user_id": "[redacted]"}}', paths=['$.metadata.user_id'])

    In an event stream, each path begins at the JSON of each event.

    Raises `ConfigurationError` for a malformed path.
    """

    def __init__(self, paths: Iterable[str] = ()) -> None:
        self.paths: tuple[str, ...] = (paths,) if isinstance(paths, str) else tuple(paths)
        self._parsed = {
            path: parsed(path, f"redact[{index}]") for index, path in enumerate(self.paths)
        }

    def apply(self, data: bytes) -> Redacted:
        """Replaces the selected values.

        Raises `CassetteError` if a selected value is in an event whose JSON has several lines, or
        if the JSON is nested too deeply: nothing known sends these, and a value could be missed.
        """
        if not self.paths:
            return Redacted(data, [])
        if is_deeper(data, MAX_DEPTH):
            raise CassetteError(f"redact: JSON is nested more than {MAX_DEPTH} levels deep")
        text = data.decode("utf-8", "surrogateescape")
        used: set[str] = set()
        if _DOCUMENT.match(text):
            text = self._document(text, used)
        else:
            for event in _LINES_OF_DATA.finditer(text):
                if list(self._spans("\n".join(_DATA.findall(event[0])), set())):
                    raise CassetteError("redact: an event has its JSON in several lines")
            text = _DATA.sub(
                lambda line: (
                    line[0][: line.start(1) - line.start()] + self._document(line[1], used)
                ),
                text,
            )
            text = _OUTSIDE.sub(lambda value: self._document(value[0], used), text)
        return Redacted(
            text.encode("utf-8", "surrogateescape"), [path for path in self.paths if path in used]
        )

    def _document(self, text: str, used: set[str]) -> str:
        pieces: list[str] = []
        done = 0
        for start, end in self._spans(text, used):
            if start >= done:  # else it is inside a value that is replaced
                pieces += text[done:start], json.dumps(REDACTED)
                done = end
        return "".join(pieces) + text[done:]

    def _spans(self, text: str, used: set[str]) -> list[tuple[int, int]]:
        """The positions of the selected values, from left to right."""
        spans: list[tuple[int, int]] = []
        for path, start, end in _values(text):
            found = [each for each, steps in self._parsed.items() if matches(steps, path)]
            if found:
                used.update(found)
                spans.append((start, end))
        return sorted(spans)


NO_REDACTION = Redaction()


def _values(text: str) -> Iterator[tuple[Path, int, int]]:
    """Yields the path and position of each value; one that is cut ends with the text."""
    # For each open bracket: the step to the current value (`None` before a key), and its position.
    open_: list[tuple[list[str | int | None], int]] = []
    for match in _TOKEN.finditer(text):
        token, at = match[0], match.start()
        if token in "]}":
            if open_:
                _, start = open_.pop()
                yield _path(open_), start, match.end()
        elif token == ",":
            if open_:
                step = open_[-1][0]
                step[0] = step[0] + 1 if isinstance(step[0], int) else None
        elif token == ":":
            pass
        elif open_ and open_[-1][0][0] is None:
            open_[-1][0][0] = _key(token)
        elif token in "[{":
            open_.append(([0 if token == "[" else None], at))
        else:
            yield _path(open_), at, match.end()
    while open_:
        _, start = open_.pop()
        yield _path(open_), start, len(text)


def _path(open_: list[tuple[list[str | int | None], int]]) -> Path:
    return tuple(step[0] for step, _ in open_ if step[0] is not None)


def _key(token: str) -> str:
    try:
        return str(json.loads(token))
    except ValueError:
        return token
