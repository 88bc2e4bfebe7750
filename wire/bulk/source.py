"""Reads the rows of a bulk run one after the other, from a file or an iterable."""

from __future__ import annotations

import os
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from wire.bulk.rows import Row, read_row
from wire.core.errors import ConfigurationError, WireError
from wire.core.files import open_regular
from wire.core.secret import type_name
from wire.neutral.request import Request

MAX_LINE_BYTES = 64 * 1024 * 1024
"""The longest line of a file. Without a limit, a file without line ends would fill the memory."""
_SHOWN_BYTES = 1024

RowLike: TypeAlias = Mapping[str, Any] | Request | str | bytes
"""A row: a dict, a `Request`, or a line of JSON."""
Rows: TypeAlias = str | os.PathLike[str] | Iterable[RowLike] | AsyncIterable[RowLike]
"""The path of a file of JSON lines, or rows."""


class Source:
    """The rows of one run.

    A file is read line by line, and can be read again. Other rows are read once.
    """

    def __init__(self, rows: Rows) -> None:
        self.path: str | None = None
        """`None` for rows that are read once."""
        if isinstance(rows, (str, os.PathLike)):
            self.path = os.fsdecode(rows)
            open_regular(self.path, ConfigurationError).close()
        elif not isinstance(rows, (Iterable, AsyncIterable)) or isinstance(rows, (bytes, Mapping)):
            raise ConfigurationError(
                f"rows: expected the path of a file or an iterable of rows, not {type_name(rows)}"
            )
        self._rows: Any = rows
        self._version: tuple[int, ...] | None = None  # of the file, when its rows were counted

    def read(self) -> Iterator[Row]:
        """Return an iterator over the rows of a file, or of an iterable."""
        if self.path is None:
            return (read_row(number, each) for number, each in enumerate(self._rows, 1))
        return self._rows_of(self.path)

    def _rows_of(self, path: str) -> Iterator[Row]:
        for number, line in _lines(path):
            self._check_version(path)
            if len(line) > MAX_LINE_BYTES:
                problem = f"the line has more than {MAX_LINE_BYTES:,} bytes"
                yield Row(number, str(number), line[:_SHOWN_BYTES], problem)
            else:
                yield read_row(number, line)
        self._check_version(path)

    def _check_version(self, path: str) -> None:
        """Raise `WireError` if the file is another one than when its rows were counted: the numbers
        of the rows, which the results name, may be those of others.
        """
        if self._version is not None and self._version != _version_of(path):
            raise WireError(
                f"stopped, because {path} was changed while the run read it. A new start compares "
                "its rows with those that are done"
            )

    @property
    def is_async(self) -> bool:
        """Whether the rows come from an async iterable."""
        return self.path is None and isinstance(self._rows, AsyncIterable)

    async def read_async(self) -> AsyncIterator[Row]:
        """Yield the rows of an async iterable."""
        number = 0
        async for each in self._rows:
            number += 1
            yield read_row(number, each)

    def count(self) -> int | None:
        """Count the rows; a file is read for it. Return `None` for a source without a length."""
        if self.path is None:
            try:
                return len(self._rows)
            except TypeError:
                return None
        self._version = _version_of(self.path)
        return sum(1 for _ in _lines(self.path))


def _lines(path: str) -> Iterator[tuple[int, bytes]]:
    """Yield the lines that are not blank with their numbers; the beginning of one that is too
    long.
    """
    with open_regular(path, ConfigurationError) as file:
        number, begins = 0, True
        while line := file.readline(MAX_LINE_BYTES + 1):
            number += begins
            if begins and line.strip():
                yield number, line
            begins = line.endswith(b"\n")


def _version_of(path: str) -> tuple[int, ...] | None:
    """Return what changes if a file is written or replaced; `None` if there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns
