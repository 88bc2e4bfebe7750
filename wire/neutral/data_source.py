"""The data of an upload: a path, bytes, or an open binary file, read piece by piece.

With an `AsyncClient` each read blocks the event loop until the disk has delivered the piece.
"""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Iterator
from typing import Any, Protocol

from wire.core.bodies import wrong_type
from wire.core.errors import ConfigurationError, RuleError, Violation
from wire.core.files import open_regular
from wire.core.multipart import FormFile
from wire.core.secret import quoted
from wire.neutral.media_types import HEAD_BYTES, media_type_of

PIECE_BYTES = 64 * 1024
"""Size of a piece of a body, in bytes."""
_EXPECTED = "path, bytes or a file opened in binary mode"


class Readable(Protocol):
    """An open binary file."""

    def read(self, size: int, /) -> bytes:
        """Read at most `size` bytes; `b""` at the end of the file."""
        ...


class DataSource:
    """The data of an upload, read piece by piece, and its size in bytes.

    >>> source = DataSource(b"hello")
    >>> source.size, list(source.pieces(3))
    (5, [b'hel', b'lo'])

    `data` is a path, bytes, or a file that is open in binary mode, which is read from where it is.
    A file that cannot seek needs `size`, and can be read once.

    Raises `RuleError` for a file that cannot be read and for a wrong `size`.
    """

    def __init__(self, data: Any, size: int | None = None) -> None:
        if size is not None and (type(size) is not int or size < 0):
            raise RuleError(
                violations=[Violation("size", f"expected a number of bytes, not {quoted(size)}")]
            )
        self._path = data if isinstance(data, str | os.PathLike) else None
        self._file: Any = None
        self._begin: int | None = 0
        self._is_read = False
        self._bytes = b""
        self.name: str | None = None
        """Name of the file, if its path was given."""
        self.media_type: str = ""
        """Media type by the name and the first bytes; empty if it is unknown."""
        if isinstance(data, io.TextIOBase):  # checked before sending: its `read` returns texts
            raise wrong_type("data", data, _EXPECTED)
        if self._path is not None:
            self.name = os.path.basename(os.fsdecode(self._path))
            with open_regular(self._path, RuleError) as file:
                self.media_type = media_type_of(self.name, file.read(HEAD_BYTES))
                self.size = os.fstat(file.fileno()).st_size
        elif isinstance(data, (bytes, bytearray, memoryview)):
            self._bytes = bytes(data)
            self.media_type = media_type_of("", self._bytes[:HEAD_BYTES])
            self.size = len(self._bytes)
        elif callable(getattr(data, "read", None)):
            self._file = data
            self._begin = _position(data)
            self.size = _size(data, self._begin) if size is None else size
        else:
            raise wrong_type("data", data, _EXPECTED)
        if size is not None and size != self.size:
            raise RuleError(
                violations=[Violation("size", f"the data has {self.size} bytes, not {size}")]
            )

    @property
    def is_repeatable(self) -> bool:
        """Whether the data can be read more than once."""
        return self._begin is not None

    def pieces(self, size: int = PIECE_BYTES) -> Iterator[bytes]:
        """Yield the data from its beginning, in pieces of `size` bytes.

        Raises `ConfigurationError` if the file ends early, cannot be read, or cannot seek and was
        read before.
        """
        with self.opened() as data:
            while piece := data.read(size):
                yield piece

    @contextlib.contextmanager
    def opened(self) -> Iterator[OpenData]:
        """Open the data for reading from its beginning. Raises as `pieces`.

        A path is opened anew, so that several threads can send one call at a time.
        """
        if self._path is not None:
            with open_regular(self._path, ConfigurationError) as file:
                yield OpenData(file, b"", self.size)
            return
        if self._file is not None and self._is_read:
            if self._begin is None:
                raise ConfigurationError("data: a file that cannot seek can be sent once only")
            self._file.seek(self._begin)
        self._is_read = True
        yield OpenData(self._file, self._bytes, self.size)


class OpenData:
    """Data that are being read."""

    def __init__(self, file: Readable | None, data: bytes, size: int) -> None:
        self._file, self._data, self._at = file, data, 0
        self.size: int = size

    def read(self, limit: int) -> bytes:
        """Read the next `limit` bytes; fewer at the end of the data."""
        length = min(limit, self.size - self._at)
        piece = (
            self._data[self._at : self._at + length]
            if self._file is None
            else _read(self._file, length)
        )
        if len(piece) != length:
            raise ConfigurationError(
                f"data: the file ends after {self._at + len(piece)} of {self.size} bytes"
            )
        self._at += length
        return piece


def form_file(data: Any, name: str, media_type: str, size: int | None) -> FormFile:
    """Build the form field for the data of an upload.

    A path gives its name and media type.

    >>> form_file(b"%PDF-1.7", "a", "", None).media_type
    'application/pdf'

    Raises `RuleError` as `DataSource`, and for bytes or an open file without a name.
    """
    source = DataSource(data, size)
    shown = name or source.name
    if not shown:
        raise RuleError(violations=[Violation("filename", "required for bytes and open files")])
    kind = media_type or media_type_of(shown) or source.media_type or "application/octet-stream"
    return FormFile(source, shown, kind)


def _position(file: Any) -> int | None:
    """Return the current position of a file; `None` if it cannot seek."""
    try:
        position: int = file.tell()
        file.seek(position)
    except (AttributeError, OSError, ValueError):
        return None
    return position


def _size(file: Any, position: int | None) -> int:
    """Count the bytes from the current position to the end of a file."""
    if position is None:
        raise RuleError(violations=[Violation("size", "required for a file that cannot seek")])
    size: int = file.seek(0, 2) - position
    file.seek(position)
    return size


def _read(file: Readable, length: int) -> bytes:
    """Read exactly `length` bytes, unless the file ends.

    A raw file may return fewer bytes for each read.
    """
    pieces: list[bytes] = []
    while length > 0:
        try:
            piece = file.read(length)
        except OSError as cause:  # an `OSError` would count as a lost connection
            problem = cause.strerror or type(cause).__name__
            raise ConfigurationError(f"data: the file cannot be read: {problem}") from cause
        if not isinstance(piece, bytes):
            raise wrong_type("data", piece, "file opened in binary mode, which reads bytes")
        if not piece:
            break
        pieces.append(piece)
        length -= len(piece)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)
