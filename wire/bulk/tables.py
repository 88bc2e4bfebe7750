"""Rows of CSV and TSV: a header with the names of the columns, then a record for each row. No I/O.

The reader is that of the standard library, for quotes, line ends in them and line ends of Windows.
A record is where the next one begins only if its quotes are closed, so a fault of quotes is one of
the whole file, and no row after it can be told.
"""

from __future__ import annotations

import codecs
import csv
import string
import sys
import threading
from collections.abc import Iterator, Sequence

import msgspec

from wire.bulk.rows import Row, read_row
from wire.core.arguments import suggestion
from wire.core.errors import ConfigurationError
from wire.core.forks import new_in_child
from wire.core.secret import quoted

PROMPT, ID = "prompt", "id"
"""The columns of the prompt, unless another is named, and of the id of the row."""
_lock = threading.Lock()
"""The standard library has one limit of cells for the process."""
new_in_child(sys.modules[__name__], _lock=threading.Lock)


class Records:
    """The records of a table, by the number of the line that each begins in.

    >>> lines = [b"a,b\\n", b"\\n", b'1,"x\\n', b'y"\\n', b"2,z\\n"]
    >>> list(Records(enumerate(lines, 1), "t.csv", ",", 100))
    [(1, ['a', 'b']), (3, ['1', 'x\\ny']), (5, ['2', 'z'])]
    """

    def __init__(
        self, lines: Iterator[tuple[int, bytes]], name: str, delimiter: str, most: int
    ) -> None:
        self._lines, self._name, self._most = lines, name, most
        self._reader = csv.reader(self._texts(), delimiter=delimiter, strict=True)
        self._first = self._last = self._bytes = 0

    def _texts(self) -> Iterator[str]:
        for number, line in self._lines:
            self._first, self._last = self._first or number, number
            self._bytes += len(line)
            if self._bytes > self._most:
                raise self._refused(
                    f"the record has more than {self._most:,} bytes: is a quote not closed?"
                )
            if number == 1:
                line = line.removeprefix(codecs.BOM_UTF8)
            try:
                yield line.decode()
            except UnicodeDecodeError:
                raise self._refused("it is not UTF-8: save the file as CSV UTF-8") from None

    def _refused(self, problem: str) -> ConfigurationError:
        return ConfigurationError(f"rows: {self._name}: line {self._first}: {problem}")

    def __iter__(self) -> Iterator[tuple[int, list[str]]]:
        return self

    def __next__(self) -> tuple[int, list[str]]:
        """Return the next record that is not blank.

        Raises `ConfigurationError` with the line for a fault of quotes, for a record that is too
        long and for one that is not UTF-8.
        """
        while True:
            self._first = self._bytes = 0
            try:
                cells = self._read()
            except csv.Error as cause:
                raise self._refused(f"it is no record: {cause}") from None
            if cells:
                return self._first, cells

    def _read(self) -> list[str]:
        with _lock:
            others = csv.field_size_limit(self._most)
            try:
                return next(self._reader)
            finally:
                csv.field_size_limit(others)


class Columns:
    """Which cells of a record are the prompt and the id of its row.

    >>> columns = Columns("t.csv", ["id", "text"], template="Summarise: {text}")
    >>> columns.row(2, ["a", "Low tide."]).line
    b'{"id":"a","prompt":"Summarise: Low tide."}'
    """

    def __init__(
        self,
        name: str,
        header: Sequence[str],
        *,
        column: str | None = None,
        template: str | None = None,
    ) -> None:
        """Raise `ConfigurationError` for a column that the header does not have once."""
        self._name, self._header = name, list(header)
        option = "column" if template is None else "template"
        parts = [("", column or PROMPT)] if template is None else _parts_of(template)
        self._parts = [(text, self._position(option, each)) for text, each in parts]
        self._id = self._position("id", ID) if ID in self._header else None

    def _position(self, option: str, column: str | None) -> int | None:
        if column is None:
            return None
        found = self._header.count(column)
        if found == 1:
            return self._header.index(column)
        listed = ", ".join(quoted(each, 40) for each in self._header)
        problem = "there are several columns" if found else "there is no column"
        near = suggestion(column, self._header)
        remedy = f"{near} There are {listed}" if near else f"there are {listed}"
        if option == "column" and not found:
            remedy = f"{remedy}; name one with column, or several with template"
        elif option == "template" and not found:
            remedy = f"{remedy}; braces of the text are written {{{{ and }}}}"
        raise ConfigurationError(
            f"{option}: {self._name}: {problem} {quoted(column, 40)}: {remedy}"
        )

    def row(self, number: int, cells: Sequence[str]) -> Row:
        """Build the row of a record. One without a prompt has a problem."""
        problem = self._problem(cells)
        prompt = "" if problem else "".join(self._texts(cells))
        id = cells[self._id] if self._id is not None and self._id < len(cells) else ""
        row = read_row(number, {"id": id, "prompt": prompt} if id else {"prompt": prompt})
        if not problem or row.problem:
            return row
        return Row(number, row.id, msgspec.json.encode(list(cells)), problem)

    def _texts(self, cells: Sequence[str]) -> Iterator[str]:
        for text, position in self._parts:
            yield text
            if position is not None:
                yield cells[position]

    def _problem(self, cells: Sequence[str]) -> str:
        if len(cells) > len(self._header):
            return f"{len(cells)} cells, and the header has {len(self._header)}"
        asked = [position for _, position in self._parts if position is not None]
        missing = [position for position in asked if position >= len(cells)]
        if not missing and not any(cells[position].strip() for position in asked):
            missing = asked
        if missing:
            return f"nothing in the column {quoted(self._header[missing[0]], 40)}"
        return ""


def _parts_of(template: str) -> list[tuple[str, str | None]]:
    """Split a template into texts, each with the column that follows it.

    >>> _parts_of("{{a}} {b c}.")
    [('{', None), ('a}', None), (' ', 'b c'), ('.', None)]
    """
    try:
        parsed = list(string.Formatter().parse(template))
    except ValueError as cause:
        raise ConfigurationError(
            f"template: {cause}: braces of the text are written {{{{ and }}}}"
        ) from None
    parts: list[tuple[str, str | None]] = []
    for text, field, spec, conversion in parsed:
        whole = field
        if field is not None and (spec or conversion):  # a name of a column may have a colon
            whole = f"{field}{'!' + conversion if conversion else ''}{':' + spec if spec else ''}"
        parts.append((text, whole))
    if all(column is None for _, column in parts):
        raise ConfigurationError(
            "template: expected at least one column in braces, such as 'Summarise: {text}'"
        )
    return parts
