"""Reads the rows of a bulk run one after the other, from a file or an iterable."""

from __future__ import annotations

import os
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator, Mapping
from typing import IO, Any, TypeAlias

from wire.bulk.row_files import RowFile
from wire.bulk.rows import Row, read_row
from wire.core.errors import ConfigurationError, WireError
from wire.core.secret import type_name
from wire.neutral.request import Request

RowLike: TypeAlias = Mapping[str, Any] | Request | str | bytes
"""A row: a prompt, a dict, a `Request`, or a line of JSON as bytes."""
Rows: TypeAlias = (
    str
    | os.PathLike[str]
    | RowFile
    | IO[str]
    | IO[bytes]
    | Iterable[RowLike]
    | AsyncIterable[RowLike]
)
"""The path of a file, an open file, what `from_file` returns, or rows."""


class Source:
    """The rows of one run.

    A file is read line by line, and can be read again. Other rows are read once.
    """

    def __init__(self, rows: Rows, **options: str | None) -> None:
        """`options` are those of `from_file`."""
        given = next((name for name, each in options.items() if each is not None), "")
        self._file: RowFile | None = None
        if isinstance(rows, RowFile):
            self._file = rows
            if given:
                raise ConfigurationError(f"{given}: give it to from_file")
        elif isinstance(rows, (str, os.PathLike)) or hasattr(rows, "readline"):
            self._file = RowFile(rows, **options)
        else:
            _check_rows(rows)
            if given:
                raise ConfigurationError(f"{given}: is for a file, and not for {type_name(rows)}")
        self._rows: Any = rows
        self._version: tuple[int, ...] | None = None  # of the file, when its rows were counted

    @property
    def path(self) -> str | None:
        """`None` for rows that are read once."""
        return None if self._file is None else self._file.path

    def read(self) -> Iterator[Row]:
        """Return an iterator over the rows of a file, or of an iterable."""
        if self._file is None:
            return (read_row(number, each) for number, each in enumerate(self._rows, 1))
        return self._file.read() if self.path is None else self._checked(self._file, self.path)

    def _checked(self, file: RowFile, path: str) -> Iterator[Row]:
        try:
            for row in file.read():
                self._check_version(path)
                yield row
        except ConfigurationError:
            self._check_version(path)  # a table that is damaged was none when it was counted
            raise
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
        return self._file is None and isinstance(self._rows, AsyncIterable)

    @property
    def can_be_read_again(self) -> bool:
        """Whether a second `read` returns the same rows: those of a path, or of a list."""
        return self.path is not None or (self._file is None and hasattr(self._rows, "__len__"))

    async def read_async(self) -> AsyncIterator[Row]:
        """Yield the rows of an async iterable."""
        number = 0
        async for each in self._rows:
            number += 1
            yield read_row(number, each)

    def count(self) -> int | None:
        """Count the rows; a file is read for it. Return `None` for a source without a length."""
        if self._file is None:
            try:
                return len(self._rows)
            except TypeError:
                return None
        if self.path is not None:
            self._version = _version_of(self.path)
        return self._file.count()


def _check_rows(rows: Any) -> None:
    """Raise `ConfigurationError` for what is no iterable of rows."""
    if hasattr(rows, "columns") and not isinstance(rows, Mapping):  # its items are their names
        raise ConfigurationError(
            f'rows: a {type_name(rows)} is no list of rows: give one column, such as rows["prompt"]'
        )
    if not isinstance(rows, (Iterable, AsyncIterable)) or isinstance(rows, (bytes, Mapping)):
        raise ConfigurationError(
            f"rows: expected the path of a file or an iterable of rows, not {type_name(rows)}"
        )


def _version_of(path: str) -> tuple[int, ...] | None:
    """Return what changes if a file is written or replaced; `None` if there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns
