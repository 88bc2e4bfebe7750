"""The files of a bulk run: results and dead letters, one line of JSON each.

A row is done when its line is in one of the files. Lines are only appended, each with one write, so
a process that is killed leaves whole lines and at most one that is cut: the next run removes the
latter and asks its row again. The first line of the results names the run, and no other run appends
to the file.

    new row -> results         it was answered
    new row -> dead letters    it failed, or cannot be read
    dead letters -> new row    the next run asks again what failed for a while, such as at a 503
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from decimal import Decimal
from typing import Any, NamedTuple

import msgspec

from wire.core.appended import AppendedFile, Line
from wire.core.decoders import decoder
from wire.core.errors import ConfigurationError, WireError
from wire.core.secret import quoted
from wire.core.secret_fields import masked_body

FORMAT = "wire-bulk"
VERSION = 1
SAFE = "A new start asks each row that has no line in the file"


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """The first line of the results: models and settings of the run, without the rows."""

    format: str = FORMAT
    version: int = VERSION
    models: list[str]
    settings: dict[str, Any]
    """The settings of the run, as keys of a neutral row."""


class Done(NamedTuple):
    """A row that has its line in one of the files."""

    row: int
    id: str
    digest: str
    cost: Decimal = Decimal(0)
    """USD, as far as it is known."""


class _Error(msgspec.Struct):
    retryable: bool = False


class _Line(msgspec.Struct):
    """The keys of a line that tell which row it is of."""

    id: str
    row: int
    digest: str
    error: _Error | None = None
    cost: Decimal | None = None


def header_line(header: Header) -> bytes:
    """Return the first line of the results, with its line end.

    Credentials in the settings are masked.
    """
    return masked_body(msgspec.json.encode(header, order="deterministic")) + b"\n"


def refuse_other_run(name: str, found: bytes, header: Header) -> None:
    """Raise `ConfigurationError` if the first line of a file is not that of this run.

    The error names the first difference.
    """
    try:
        other = decoder(Header).decode(masked_body(found))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        other = None
    if other is None or other.format != FORMAT:
        raise ConfigurationError(f"to: {name}: exists, and was not written by a bulk run")
    if other.version != VERSION:
        raise ConfigurationError(f"to: {name}: has the version {other.version}, not {VERSION}")
    if other.models != header.models:
        theirs, ours = ", ".join(other.models), ", ".join(header.models)
        raise ConfigurationError(f"to: {name}: has the results of {theirs}, not of {ours}")
    settings = msgspec.json.decode(header_line(header))["settings"]
    for key in sorted(other.settings.keys() | settings.keys()):
        theirs, ours = other.settings.get(key), settings.get(key)
        if theirs != ours:
            raise ConfigurationError(
                f"to: {name}: has the results of another run: {key} was {quoted(theirs, 80)}, and "
                f"is {quoted(ours, 80)}"
            )


def read_done(name: str, number: int, line: bytes) -> tuple[Done, bool]:
    """Read the row of a line, and whether it failed in a way that may pass.

    Raises `ConfigurationError` for a line that no run has written.
    """
    try:
        read = decoder(_Line).decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as cause:
        raise ConfigurationError(f"to: {name}: line {number}: {cause}") from None
    row = Done(read.row, read.id, read.digest, read.cost or Decimal(0))
    return row, read.error is not None and read.error.retryable


class OutputFiles:
    """The results and the dead letters of a run."""

    def __init__(self, to: str, dead: str) -> None:
        self._dead_path = dead
        self._results = AppendedFile(to, ConfigurationError, prefix="to: ", safe=SAFE)
        self._dead: AppendedFile | None = None

    def done(self, header: Header, *, begin: bool = True) -> Iterator[Done]:
        """Yield the rows that earlier runs have done.

        With `begin`, the files are made ready: a line that was cut is removed, rows that are asked
        again leave the dead letters, and a new file gets its header.

        Raises `ConfigurationError` for files of another run.
        """
        first, name, size = header_line(header), self._results.path, 0
        for line in self._results.lines():
            if not line.ends:
                if line.number == 1 and not first.startswith(line.data):
                    refuse_other_run(name, line.data, header)
                break
            if line.number == 1:
                refuse_other_run(name, line.data, header)
            else:
                yield read_done(name, line.number, line.data)[0]
            size += line.size
        if begin:
            self._results.cut(size)
        yield from self._dead_rows(begin)
        if begin and not size:
            self._results.append(first)

    def _dead_rows(self, begin: bool) -> Iterator[Done]:
        if not os.path.exists(self._dead_path):
            return
        dead = self._open_dead()
        size, again = 0, False
        for line, row, may_pass in self._dead_lines(dead):
            size += line.size
            again = again or may_pass
            if not may_pass:
                yield row
        if begin:
            dead.cut(size)
        if begin and again:
            kept = (line.data for line, _, may_pass in self._dead_lines(dead) if not may_pass)
            dead.rewrite(kept)

    def _dead_lines(self, dead: AppendedFile) -> Iterator[tuple[Line, Done, bool]]:
        """Yield the complete lines, their rows, and whether the error of each may pass."""
        for line in dead.lines():
            if line.ends:
                yield line, *read_done(self._dead_path, line.number, line.data)

    def _open_dead(self) -> AppendedFile:
        if self._dead is None:
            path = self._dead_path
            self._dead = AppendedFile(path, ConfigurationError, prefix="dead: ", safe=SAFE)
        return self._dead

    def rewrite(self, lines: Iterable[bytes]) -> None:
        """Replace the results by these lines, completely or not at all."""
        self._results.rewrite(lines)

    def append(self, line: bytes, *, failed: bool) -> None:
        """Write the line of a row, which has its end."""
        (self._open_dead() if failed else self._results).append(line)

    def check(self) -> None:
        """Raise `WireError` if a file was removed, replaced or cut while the run wrote to it."""
        for file in filter(None, (self._results, self._dead)):
            file.check()

    def sync(self) -> None:
        """Put all lines on the disk. Raises `WireError` if that fails."""
        for file in filter(None, (self._results, self._dead)):
            file.sync()

    def close(self) -> None:
        """Put all lines on the disk and close the files."""
        for file in filter(None, (self._results, self._dead)):
            with suppress(WireError):
                file.sync()
            file.close()
