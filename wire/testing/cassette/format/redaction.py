"""Replaces values of a body by a visible token before it is recorded or compared (C-13): those that
the caller selects, and those of fields that hold credentials.

The bytes around a value stay as they are, so a redacted body is as readable as the received one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from wire.core.errors import CassetteError
from wire.core.json_spans import json_values, path_of, replaced
from wire.core.limits import is_deeper
from wire.core.secret_fields import field_spans, may_have_fields
from wire.testing.cassette.format.file_position import shown
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


class Redacted(NamedTuple):
    """A body after redaction."""

    data: bytes
    paths: list[str]
    """Those that selected a value, and those of credentials in their fields."""


class Redaction:
    """Replaces the values that JSON paths select, and the credentials in `SECRET_FIELDS`.

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
        """Replace the selected values.

        Raises `CassetteError` if a selected value is in an event whose JSON has several lines, or
        if the JSON is nested too deeply: nothing known sends these, and a value could be missed.
        """
        used = set[str]()
        if self.paths:
            data = self._selected(data, used)
        paths = [path for path in self.paths if path in used]
        if may_have_fields(data):
            text = data.decode("utf-8", "surrogateescape")
            fields = list(field_spans(text))
            hidden = replaced(text, [(start, end) for _, start, end in fields], REDACTED)
            data = hidden.encode("utf-8", "surrogateescape")
            paths += dict.fromkeys(shown(path) for path, _, _ in fields)
        return Redacted(data, paths)

    def _selected(self, data: bytes, used: set[str]) -> bytes:
        """Replace the values that the paths select, and add these paths to `used`."""
        if is_deeper(data, MAX_DEPTH):
            raise CassetteError(f"redact: JSON is nested more than {MAX_DEPTH} levels deep")
        text = data.decode("utf-8", "surrogateescape")
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
        return text.encode("utf-8", "surrogateescape")

    def _document(self, text: str, used: set[str]) -> str:
        return replaced(text, self._spans(text, used), REDACTED)

    def _spans(self, text: str, used: set[str]) -> list[tuple[int, int]]:
        """Return the positions of the selected values."""
        spans: list[tuple[int, int]] = []
        for open_, start, end in json_values(text):
            path = path_of(open_)
            found = [each for each, steps in self._parsed.items() if matches(steps, path)]
            if found:
                used.update(found)
                spans.append((start, end))
        return spans


NO_REDACTION = Redaction()
