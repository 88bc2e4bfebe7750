"""A file of lines to which one process at a time appends.

Each line is written at once, so a process that is killed leaves whole lines and at most one that is
cut. The file is compared with its path before each line: a program that removes, replaces or cuts
it meanwhile would else lose lines in silence.
"""

from __future__ import annotations

import codecs
import errno
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any, BinaryIO, NamedTuple

from wire.core.errors import WireError
from wire.core.files import (
    MAX_FILE_BYTES,
    checked_path,
    open_regular,
    open_to_append,
    reason_of,
    replace_file,
)

MAX_LINE_BYTES = MAX_FILE_BYTES
"""Size of the longest line that is read whole."""

_IS_WINDOWS = os.name == "nt"
_PIECE_BYTES = 1 << 20
_LOCKED_BYTE = 1 << 40
"""Where Windows keeps the lock: nobody can read a byte that is locked there, so it lies beyond all
lines."""


class Line(NamedTuple):
    """A line of a file."""

    number: int
    """From 1."""
    start: int
    """Bytes before it."""
    size: int
    """Its bytes, with its end."""
    data: bytes
    """The line with its end; only the beginning of one that has NUL bytes or is too long."""
    ends: bool
    """Whether it has an end. The last one has none if it was cut."""

    @property
    def content(self) -> bytes:
        """The line without the mark of UTF-8, which some editors put before the first one."""
        return self.data.removeprefix(codecs.BOM_UTF8) if self.number == 1 else self.data


def lines_of(file: BinaryIO) -> Iterator[Line]:
    r"""Yield the lines of a file, with memory that a hole of NUL bytes does not fill.

    >>> import io
    >>> [line.data for line in lines_of(io.BytesIO(b"{}\n[]"))]
    [b'{}\n', b'[]']
    """
    number = start = 0
    while last := file.readline(_PIECE_BYTES):
        number += 1
        pieces, size, is_text = [last], len(last), b"\0" not in last
        while not last.endswith(b"\n") and (last := file.readline(_PIECE_BYTES)):
            size += len(last)
            is_text = is_text and size <= MAX_LINE_BYTES and b"\0" not in last
            pieces = [*pieces, last] if is_text else pieces[:1]
        yield Line(number, start, size, b"".join(pieces), last.endswith(b"\n"))
        start += size


class AppendedFile:
    """A regular file to which this process appends lines, and no other one meanwhile.

    A new file has mode 0600, and a folder that is made for it has 0700. A symlink stays one, and
    is refused if it leads to no file.

    Args:
        path: The file, which is made if there is none.
        error: Raised if the file cannot be opened or read, or if another process writes to it; the
            file is then unchanged.
        prefix: What the messages of `error` begin with, such as `"to: "`.
        changed: Raised if the file is another one than it has to be, or cannot be written further.
        safe: A sentence for the messages of `changed`: what is kept, and how to go on.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        error: type[WireError],
        *,
        prefix: str = "",
        changed: type[WireError] = WireError,
        safe: str = "",
    ) -> None:
        self.path = checked_path(path, error)
        self._error, self._prefix, self._changed, self._safe = error, prefix, changed, safe
        self._descriptor = -1
        self._open()

    def _open(self) -> None:
        self._descriptor, self._target = open_to_append(self.path, self._error, self._prefix)
        try:
            _lock(self._descriptor)
            self.size = os.fstat(self._descriptor).st_size
            # The process that had the lock may have replaced the file meanwhile.
            is_busy = bool(self._problem())
        except OSError as cause:
            is_busy = cause.errno in (errno.EACCES, errno.EAGAIN)
            if not is_busy:
                self.close()
                raise self._refused(f"cannot be locked: {reason_of(cause)}") from cause
        if is_busy:
            self.close()
            raise self._refused("another process writes to it")
        self._is_synced = True

    def _refused(self, reason: str) -> WireError:
        return self._error(f"{self._prefix}{self.path}: {reason}")

    def _stopped(self, problem: str) -> WireError:
        message = f"stopped, because {self.path} {problem}"
        return self._changed(f"{message}. {self._safe}" if self._safe else message)

    def check(self) -> None:
        """Raise `changed` if the path does not lead to the opened file, or its size is another."""
        if problem := self._problem():
            raise self._stopped(f"{problem} while this process wrote to it")

    def _problem(self) -> str:
        own = os.fstat(self._descriptor)
        try:
            found = os.stat(self.path)
        except OSError:
            return "was removed"
        if (found.st_dev, found.st_ino) != (own.st_dev, own.st_ino):
            return "was replaced by another file"
        if own.st_size < self.size:
            return f"was cut from {self.size:,} to {own.st_size:,} bytes"
        if own.st_size > self.size:
            return f"has {own.st_size - self.size:,} bytes that another program wrote"
        return ""

    def lines(self) -> Iterator[Line]:
        """Yield the lines. The last one has no end if it was cut."""
        with open_regular(self.path, self._error) as file:
            yield from lines_of(file)

    def append(self, line: bytes) -> None:
        """Write a line, which has its end. Raises `changed`; nothing of it is then kept."""
        self.check()
        try:
            written = os.write(self._descriptor, line)
            while written < len(line):  # a full disk, or a signal
                written += os.write(self._descriptor, line[written:])
        except OSError as cause:
            with suppress(OSError):
                os.ftruncate(self._descriptor, self.size)
            raise self._stopped(f"cannot be written: {reason_of(cause)}") from cause
        self.size += len(line)
        self._is_synced = False

    def copy(self, path: str, line: Line) -> None:
        """Append a line of another file in pieces, as it is; NUL bytes become a hole.

        Raises `error` if it cannot be read, and `changed`.
        """
        with open_regular(path, self._error) as file:
            file.seek(line.start)
            left = line.size
            while left and (piece := file.read(min(left, _PIECE_BYTES))):
                left -= len(piece)
                if piece.strip(b"\0"):
                    self.append(piece)
                else:
                    self.check()
                    self.cut(self.size + len(piece))

    def cut(self, size: int) -> None:
        """Remove what follows the first `size` bytes, such as a line that was cut."""
        if size == self.size:
            return
        try:
            os.ftruncate(self._descriptor, size)
        except OSError as cause:
            raise self._stopped(f"cannot be cut: {reason_of(cause)}") from cause
        self.size = size
        self._is_synced = False

    def rewrite(self, lines: Iterable[bytes]) -> None:
        """Replace the file by one with these lines, completely or not at all.

        Raises `error`; the old file is then unchanged.
        """
        self.check()
        if _IS_WINDOWS:  # a file that is open cannot be replaced there
            self.close()
        try:
            replace_file(self._target, lines)
        except OSError as cause:
            raise self._refused(f"cannot be written: {reason_of(cause)}") from cause
        finally:
            self.close()
            self._open()

    def sync(self) -> None:
        """Put what was written on the disk. Raises `changed` if that fails."""
        if self._is_synced:
            return
        try:
            os.fsync(self._descriptor)
        except OSError as cause:
            raise self._stopped(f"cannot be written: {reason_of(cause)}") from cause
        self._is_synced = True

    def close(self) -> None:
        """Close the file. Closing twice has no effect."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            _unlock(descriptor)
            os.close(descriptor)


def _lock(descriptor: int) -> None:
    """Keep other processes away until the file is closed.

    Raises `OSError` with `EAGAIN` or `EACCES` if one of them has the lock.
    """
    if _IS_WINDOWS:
        _lock_byte(descriptor, "LK_NBLCK")
        return
    import fcntl

    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _unlock(descriptor: int) -> None:
    """Remove the lock of Windows, which may outlive the descriptor; flock's ends with it."""
    if _IS_WINDOWS:
        with suppress(OSError):  # another process has it
            _lock_byte(descriptor, "LK_UNLCK")


def _lock_byte(descriptor: int, mode: str) -> None:
    import msvcrt

    windows: Any = msvcrt
    # The region begins at the position of the file. Lines are appended wherever that is.
    os.lseek(descriptor, _LOCKED_BYTE, os.SEEK_SET)
    windows.locking(descriptor, getattr(windows, mode), 1)
