"""The files that rows are read from: lines of JSON, lines of prompts, tables as CSV and TSV."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, TypeAlias

from wire.bulk.rows import Row, read_row
from wire.bulk.tables import Columns, Records
from wire.core.arguments import checked_names
from wire.core.errors import ConfigurationError
from wire.core.files import open_regular
from wire.core.secret import quoted, type_name

MAX_LINE_BYTES = 64 * 1024 * 1024
"""The longest line of a file, and the longest record of a table. Without a limit, a file without
line ends, or with a quote that is not closed, would fill the memory."""
_SHOWN_BYTES = 1024

DELIMITERS = {"csv": ",;\t", "tsv": "\t"}
"""Format to the delimiters of its cells: the first of them that the header has."""
FORMATS = ("jsonl", "txt", *DELIMITERS)
_BY_SUFFIX = {
    "": "jsonl",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".jsonlines": "jsonl",
    ".csv": "csv",
    ".tsv": "tsv",
}
_UNPACK = "unpack it, or give an open file and its format: from_file(gzip.open(path), format=...)"
_SHEET = "save it as .csv"
_COLUMNS = 'write it as .csv, or give a column as rows: pandas.read_parquet(path)["prompt"]'
_REMEDIES = {
    ".txt": "give format='txt' if each line is a prompt, or give format='jsonl' if each is JSON",
    ".json": "a file of one value is given as rows: json.load(file); for a value a line, give "
    "format='jsonl'",
    **dict.fromkeys((".gz", ".bz2", ".xz", ".zst", ".zip"), _UNPACK),
    **dict.fromkeys((".xlsx", ".xls", ".ods", ".numbers"), _SHEET),
    **dict.fromkeys((".parquet", ".feather", ".arrow"), _COLUMNS),
}

File: TypeAlias = str | os.PathLike[str] | Iterable[str] | Iterable[bytes]
"""The path of a file, an open file, or lines."""


class RowFile:
    """The rows of a file; `wire.bulk.from_file` makes one.

    A file with a path is read line by line, and can be read again. An open one is read once.
    """

    def __init__(
        self, file: Any, *, format: Any = None, column: Any = None, template: Any = None
    ) -> None:
        """Raise `ConfigurationError` for a file that cannot be read, before a row is."""
        self.path: str | None = None
        """`None` for an open file."""
        if isinstance(file, (str, os.PathLike)):
            self.path = _checked(file)
        elif not isinstance(file, Iterable) or isinstance(file, bytes):
            raise ConfigurationError(
                f"rows: expected the path of a file, an open file or lines, not {type_name(file)}"
            )
        name = self.path if self.path is not None else getattr(file, "name", None)
        self._name = name if isinstance(name, str) else "the open file"
        self._file, self._options = file, {"column": column, "template": template}
        self._format = _format_of(self._name, format)
        self._check_options()
        if self.path is not None and self._format in DELIMITERS:
            with open_regular(self.path, ConfigurationError) as opened:
                self._columns(self._records(_lines_of(opened)))

    def _check_options(self) -> None:
        given = {name: each for name, each in self._options.items() if each is not None}
        for name, value in given.items():
            if not isinstance(value, str):
                raise ConfigurationError(f"{name}: expected a text, not {type_name(value)}")
            if self._format not in DELIMITERS:
                raise ConfigurationError(
                    f"{name}: is for CSV and TSV, and {self._name} is read as {self._format}"
                )
        if len(given) > 1:
            raise ConfigurationError("template: is given in place of a column, and not with one")

    def read(self) -> Iterator[Row]:
        """Yield the rows. Raises `ConfigurationError` for a table that is damaged."""
        if self.path is None:
            yield from self._rows(_lines_of(self._file))
            return
        with open_regular(self.path, ConfigurationError) as file:
            yield from self._rows(_lines_of(file))

    def count(self) -> int | None:
        """Count the rows, for which the file is read; `None` if it can be read only once.

        Raises `ConfigurationError` for a table that is damaged.
        """
        if self.path is None:
            return None
        with open_regular(self.path, ConfigurationError) as file:
            lines = _lines_of(file)
            if self._format in DELIMITERS:
                return max(0, sum(1 for _ in self._records(lines)) - 1)
            return sum(1 for _, line in lines if line.strip())

    def _rows(self, lines: Iterator[tuple[int, bytes]]) -> Iterator[Row]:
        if self._format in DELIMITERS:
            records = self._records(lines)
            columns = self._columns(records)
            yield from (columns.row(number, cells) for number, cells in records)
            return
        for number, line in lines:
            if not line.strip():
                continue
            if len(line) > MAX_LINE_BYTES:
                problem = f"the line has more than {MAX_LINE_BYTES:,} bytes"
                yield Row(number, str(number), line[:_SHOWN_BYTES], problem)
            else:
                yield read_row(number, line) if self._format == "jsonl" else _prompt(number, line)

    def _records(self, lines: Iterator[tuple[int, bytes]]) -> Records:
        header = next(lines, (1, b""))
        known = DELIMITERS[self._format]
        delimiter = next((each for each in known if each.encode() in header[1]), known[0])
        return Records(chain([header], lines), self._name, delimiter, MAX_LINE_BYTES)

    def _columns(self, records: Records) -> Columns:
        header = next(records, None)
        if header is None:
            raise ConfigurationError(
                f"rows: {self._name}: is empty: expected a line with the names of the columns"
            )
        return Columns(self._name, header[1], **self._options)


@checked_names()
def from_file(
    file: File,
    *,
    format: str | None = None,
    column: str | None = None,
    template: str | None = None,
) -> RowFile:
    """Read the rows of `bulk.run` from a file, with a format and columns that you name.

    >>> import io
    >>> table = io.StringIO("id,text\\na,Low tide.\\n")
    >>> [row.line for row in from_file(table, format="csv", template="Summarise: {text}").read()]
    [b'{"id":"a","prompt":"Summarise: Low tide."}']

    Raises `ConfigurationError` for a file that cannot be read or has an unknown format, and for a
    column that it does not have.

    Args:
        file: The path of a file, an open file, or an iterable of lines.
        format: `jsonl` (a line is a prompt in quotes, an object, or a line of a vendor's batch
            file), `txt` (a line is a prompt), `csv` or `tsv` (the first line has the names of the
            columns). By default by the suffix of the name; without one, `jsonl`.
        column: The column of the prompts in a table, `prompt` by default. A column `id` has the ids
            of the rows; no other one is read.
        template: The prompt, with the names of columns in braces, in place of `column`.
    """
    return RowFile(file, format=format, column=column, template=template)


def _checked(path: str | os.PathLike[str]) -> str:
    try:
        name = os.fsdecode(path)
    except Exception:  # whatever `__fspath__` raises
        raise ConfigurationError(f"rows: {type_name(path)} gives no path of a file") from None
    try:
        open_regular(name, ConfigurationError).close()
    except ConfigurationError as error:
        if not isinstance(path, str) or not any(map(str.isspace, path)):
            raise
        hint = "a text is the path of a file: give prompts as a list"
        raise ConfigurationError(f"rows: {error.message}; {hint}") from None
    return name


def _format_of(name: str, format: Any) -> str:
    """Return the format that is given, or that of the suffix. Raises `ConfigurationError`."""
    if isinstance(format, str) and format in FORMATS:
        return format
    listed = ", ".join(FORMATS)
    if format is not None:
        shown = quoted(format, 40) if isinstance(format, str) else type_name(format)
        raise ConfigurationError(f"format: expected one of {listed}, not {shown}")
    suffix = os.path.splitext(name)[1].lower()
    if suffix not in _BY_SUFFIX:
        remedy = _REMEDIES.get(suffix, f"give format= with one of {listed}")
        raise ConfigurationError(f"format: {name}: {suffix} is not read: {remedy}")
    return _BY_SUFFIX[suffix]


def _prompt(number: int, line: bytes) -> Row:
    """Return the row of a prompt; its text must be UTF-8."""
    try:
        text = line.removeprefix(b"\xef\xbb\xbf").decode()
    except UnicodeDecodeError as cause:
        return Row(number, str(number), line, str(cause))
    return read_row(number, text.strip())


def _lines_of(file: Any) -> Iterator[tuple[int, bytes]]:
    """Yield the lines with their numbers; the beginning of one that is too long."""
    if not hasattr(file, "readline"):
        yield from enumerate(map(_bytes_of, file), 1)
        return
    number, begins = 0, True
    while piece := file.readline(MAX_LINE_BYTES + 1):
        line = _bytes_of(piece)
        number += begins
        if begins:
            yield number, line
        begins = line.endswith(b"\n")


def _bytes_of(line: Any) -> bytes:
    if isinstance(line, str):
        return line.encode("utf-8", "surrogatepass")
    if not isinstance(line, bytes):
        raise ConfigurationError(f"rows: expected lines of a file, not {type_name(line)}")
    return line
