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
import stat
from collections.abc import Iterator
from contextlib import suppress
from decimal import Decimal
from typing import Any, NamedTuple

import msgspec

from wire.core.decoders import decoder
from wire.core.errors import ConfigurationError, WireError
from wire.core.files import open_regular, replace_file
from wire.core.secret import quoted
from wire.core.secret_fields import masked_body

FORMAT = "wire-bulk"
VERSION = 1
_READ_BYTES = 1 << 20


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


class LinesFile:
    """A file to which whole lines are appended by one process at a time.

    Before each line, and at the end, it looks whether its path still leads to the file that it
    opened, with all that it has written: a program that removes, replaces or cuts the file while a
    run writes would else lose rows in silence.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._is_synced = True
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)
        try:
            self._descriptor = os.open(path, flags, 0o600)
            if not stat.S_ISREG(os.fstat(self._descriptor).st_mode):
                os.close(self._descriptor)
                raise OSError(0, "not a regular file")
        except (OSError, ValueError) as cause:
            reason = getattr(cause, "strerror", None) or str(cause)
            raise ConfigurationError(f"to: {path}: cannot be written: {reason}") from cause
        try:
            self._lock()
        except BaseException:
            os.close(self._descriptor)
            raise
        self._size = os.fstat(self._descriptor).st_size

    def check(self) -> None:
        """Raise `WireError` if the file is not the one that was opened, or not as long as it has to
        be.
        """
        own = os.fstat(self._descriptor)
        try:
            found: os.stat_result | None = os.stat(self.path)
        except OSError:
            found = None
        if found is None:
            problem = "was removed"
        elif (found.st_dev, found.st_ino) != (own.st_dev, own.st_ino):
            problem = "was replaced by another file"
        elif own.st_size < self._size:
            problem = f"was cut from {self._size:,} to {own.st_size:,} bytes"
        elif own.st_size > self._size:
            problem = f"has {own.st_size - self._size:,} bytes that another program wrote"
        else:
            return
        raise WireError(
            f"stopped, because {self.path} {problem} while the run wrote to it. A new start asks "
            "each row that has no line in the file"
        )

    def _lock(self) -> None:
        """Keep other processes away; the system removes the lock with this process."""
        try:
            import fcntl
        except ImportError:  # Windows
            return
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise ConfigurationError(f"to: {self.path}: another run writes to it") from None

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Yield the lines with their numbers; the last one may be cut."""
        with open_regular(self.path, ConfigurationError) as file:
            yield from enumerate(file, 1)

    def cut(self, size: int) -> None:
        """Remove what follows the first `size` bytes, a line that was cut."""
        os.ftruncate(self._descriptor, size)
        self._size = size

    def append(self, line: bytes) -> None:
        """Write a line, which has its end.

        Raises `OSError` if not all of it can be written, and `WireError` as `check` does.
        """
        self.check()
        written = os.write(self._descriptor, line)
        while written < len(line):  # a full disk, or a signal
            written += os.write(self._descriptor, line[written:])
        self._size += len(line)
        self._is_synced = False

    def sync(self) -> None:
        """Put what was written on the disk."""
        if not self._is_synced:
            os.fsync(self._descriptor)
            self._is_synced = True

    def close(self) -> None:
        """Close the file. Closing twice has no effect."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)


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
        self._results = LinesFile(to)
        self._dead: LinesFile | None = None

    def done(self, header: Header, *, begin: bool = True) -> Iterator[Done]:
        """Yield the rows that earlier runs have done.

        With `begin`, the files are made ready: a line that was cut is removed, rows that are asked
        again leave the dead letters, and a new file gets its header.

        Raises `ConfigurationError` for files of another run.
        """
        first, name, size = header_line(header), self._results.path, 0
        for number, line in self._results.lines():
            if not line.endswith(b"\n"):
                if number == 1 and not first.startswith(line):
                    refuse_other_run(name, line, header)
                break
            if number == 1:
                refuse_other_run(name, line, header)
            else:
                yield read_done(name, number, line)[0]
            size += len(line)
        if begin:
            self._results.cut(size)
        yield from self._dead_rows(begin)
        if begin and not size:
            self._results.append(first)

    def _dead_rows(self, begin: bool) -> Iterator[Done]:
        if not os.path.exists(self._dead_path):
            return
        dead = LinesFile(self._dead_path)
        again = False
        try:
            size = 0
            for line, row, may_pass in self._dead_lines(dead):
                size += len(line)
                again = again or may_pass
                if not may_pass:
                    yield row
            if begin:
                dead.cut(size)
            if begin and again:
                kept = (line for line, _, may_pass in self._dead_lines(dead) if not may_pass)
                replace_file(self._dead_path, kept)
        except OSError as cause:
            reason = f"cannot be written: {cause.strerror}"
            raise ConfigurationError(f"dead: {self._dead_path}: {reason}") from cause
        finally:
            dead.close()

    def _dead_lines(self, dead: LinesFile) -> Iterator[tuple[bytes, Done, bool]]:
        """Yield the complete lines, their rows, and whether the error of each may pass."""
        for number, line in dead.lines():
            if line.endswith(b"\n"):
                yield line, *read_done(self._dead_path, number, line)

    def append(self, line: bytes, *, failed: bool) -> None:
        """Write the line of a row, which has its end."""
        if failed and self._dead is None:
            self._dead = LinesFile(self._dead_path)
        file = self._dead if failed else self._results
        assert file is not None
        file.append(line)

    def check(self) -> None:
        """Raise `WireError` if a file was removed, replaced or cut while the run wrote to it."""
        for file in filter(None, (self._results, self._dead)):
            file.check()

    def sync(self) -> None:
        """Put all lines on the disk. Raises `OSError`."""
        for file in filter(None, (self._results, self._dead)):
            file.sync()

    def close(self) -> None:
        """Put all lines on the disk and close the files."""
        for file in filter(None, (self._results, self._dead)):
            with suppress(OSError):
                file.sync()
            file.close()
