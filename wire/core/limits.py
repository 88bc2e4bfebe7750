"""Limits for received bodies, in bytes, and the body reader that enforces them (R-10)."""

from __future__ import annotations

import zlib
from dataclasses import dataclass

from wire.core.sse import EVENT_LIMIT
from wire.errors import LimitError, StreamInvalid

_INFLATED_AT_ONCE = 256 * 1024
"""Bytes. zlib holds its output twice, so a larger piece would cost twice its size."""
_UNCHECKED_OUTPUT = 1024 * 1024
"""Bytes that may be inflated at any ratio. Small bodies compress well and are no bomb."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Largest sizes of what a client receives, in bytes.

    >>> Limits(body=1024 * 1024).body
    1048576

    A larger event or body raises `LimitError`. An error body is cut instead.
    """

    event: int = EVENT_LIMIT
    """One event of a stream."""
    body: int = 256 * 1024 * 1024
    """A body after decompression."""
    error_body: int = 1024 * 1024
    """The body of an error response. Only its beginning is read."""
    ratio: int = 200
    """Bytes that one compressed byte may inflate to."""


class Inflater:
    """Decompresses a body within the limits.

    The client requests `identity`, so most bodies pass unchanged. Some servers compress anyway.
    Their output is bounded, because 1 MiB of gzip can inflate to 1 GiB.

    Raises `LimitError` over the limit, `StreamInvalid` for an unknown encoding or a broken body.
    """

    def __init__(self, encoding: str, limits: Limits) -> None:
        encoding = encoding.strip().lower()
        if encoding not in ("", "identity", "gzip", "x-gzip", "deflate"):
            raise StreamInvalid(
                f"the body has the content encoding {encoding!r}, which was not requested"
            )
        self.taken = 0
        self._given = 0
        self._limits = limits
        self._kind = encoding
        self._zlib = zlib.decompressobj(wbits=47) if encoding not in ("", "identity") else None

    def feed(self, data: bytes) -> bytes:
        """Return the content that `data` completes."""
        self.taken += len(data)
        if self._zlib is None:
            return data
        allowed = max(_UNCHECKED_OUTPUT, self._limits.ratio * self.taken)
        pieces: list[bytes] = []
        more = True
        while more:
            pieces.append(self._inflated(data))
            self._given += len(pieces[-1])
            if self._given > allowed:
                raise LimitError(
                    f"more than {self._limits.ratio} bytes come out of each compressed "
                    "byte; the limit can be set"
                )
            data = self._zlib.unconsumed_tail or self._zlib.unused_data
            if self._zlib.eof and data:  # gzip may have several members, one after another
                self._zlib = zlib.decompressobj(wbits=47)
            # A full piece may mean that zlib holds further output back.
            full = len(pieces[-1]) == _INFLATED_AT_ONCE
            more = bool(data) or (full and not self._zlib.eof)
        return b"".join(pieces)

    def _inflated(self, data: bytes) -> bytes:
        assert self._zlib is not None
        try:
            return self._zlib.decompress(data, _INFLATED_AT_ONCE)
        except zlib.error as cause:
            problem = str(cause)
        if self._kind == "deflate" and not self._given and self.taken == len(data):
            self._zlib = zlib.decompressobj(wbits=-15)  # some servers leave the zlib header out
            try:
                return self._zlib.decompress(data, _INFLATED_AT_ONCE)
            except zlib.error as cause:
                problem = str(cause)
        raise StreamInvalid(f"the compressed body is broken: {problem}")

    @property
    def cut(self) -> bool:
        """Whether the compressed data has not reached its end."""
        return self._zlib is not None and self.taken > 0 and not self._zlib.eof


class BodyReader:
    """Collects a body piece by piece.

    A body over `limit` bytes raises `LimitError`. With `cut` it is cut at the limit instead.
    """

    def __init__(self, encoding: str, limit: int, limits: Limits, *, cut: bool = False) -> None:
        self._inflater = Inflater(encoding, limits)
        self._pieces: list[bytes] = []
        self._size = 0
        self._limit = limit
        self._cut = cut

    def feed(self, data: bytes) -> bool:
        """Add received bytes; return False if the limit is reached and the rest is not needed."""
        content = self._inflater.feed(data)
        self._pieces.append(content)
        self._size += len(content)
        if self._size <= self._limit:
            return True
        if self._cut:
            return False
        raise LimitError(f"the body is larger than {self._limit} bytes; the limit can be set")

    @property
    def taken(self) -> int:
        """Number of bytes received, before decompression."""
        return self._inflater.taken

    def content(self) -> bytes:
        """Return the decompressed body. Raises `StreamInvalid` if its compression broke off."""
        if self._inflater.cut and not self._cut:
            raise StreamInvalid("the compressed body broke off")
        return b"".join(self._pieces)[: self._limit]
