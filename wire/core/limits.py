"""How much of an answer is taken: sizes in bytes, and a body reader that stays within them
(R-10).
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass

from wire.core.sse import EVENT_LIMIT
from wire.errors import LimitError, StreamInvalid

_PIECE = 256 * 1024  # bytes inflated at a time
_FREE = (
    1024 * 1024
)  # bytes that may come out of any number of bytes: small bodies compress well without being a bomb


@dataclass(frozen=True, slots=True)
class Limits:
    """Most bytes of one event, of a whole answer and of an error body; how many bytes may come out
    of one compressed byte.
    """

    event: int = EVENT_LIMIT
    body: int = 256 * 1024 * 1024
    error_body: int = 1024 * 1024
    ratio: int = 200


class Inflater:
    """Bytes of a body as sent in, bytes of its content out, never more than the limits allow.

    We ask for `identity`, so that mostly nothing is to be done; servers that compress all the same
    are read with a bound, since 1 MiB of gzip can become a GiB. Raises `LimitError`, or
    `StreamInvalid` for an encoding that nobody asked for.
    """

    def __init__(self, encoding: str, limits: Limits) -> None:
        encoding = encoding.strip().lower()
        if encoding not in ("", "identity", "gzip", "x-gzip", "deflate"):
            raise StreamInvalid(f"the body is encoded as {encoding!r}, which was not asked for")
        self.taken = 0
        self._given = 0
        self._limits = limits
        self._kind = encoding
        self._zlib = zlib.decompressobj(wbits=47) if encoding not in ("", "identity") else None

    def feed(self, data: bytes) -> bytes:
        """The content that `data` completes."""
        self.taken += len(data)
        if self._zlib is None:
            return data
        allowed = max(_FREE, self._limits.ratio * self.taken)
        pieces: list[bytes] = []
        more = True
        while more:
            # Piece by piece, since zlib holds what it inflates in one go twice.
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
            more = bool(data) or (
                len(pieces[-1]) == _PIECE and not self._zlib.eof
            )  # zlib may hold output back
        return b"".join(pieces)

    def _inflated(self, data: bytes) -> bytes:
        assert self._zlib is not None
        try:
            return self._zlib.decompress(data, _PIECE)
        except zlib.error as cause:
            problem = str(cause)
        if self._kind == "deflate" and not self._given and self.taken == len(data):
            self._zlib = zlib.decompressobj(wbits=-15)  # some servers leave the zlib header out
            try:
                return self._zlib.decompress(data, _PIECE)
            except zlib.error as cause:
                problem = str(cause)
        raise StreamInvalid(f"the compressed body is broken: {problem}")

    @property
    def cut(self) -> bool:
        """The body ended in the middle of its compression."""
        return self._zlib is not None and self.taken > 0 and not self._zlib.eof


class BodyReader:
    """A whole body, read piece by piece.

    Over `limit` bytes it raises `LimitError`, or stops taking if `cut` is set.
    """

    def __init__(self, encoding: str, limit: int, limits: Limits, *, cut: bool = False) -> None:
        self._inflater = Inflater(encoding, limits)
        self._pieces: list[bytes] = []
        self._size = 0
        self._limit = limit
        self._cut = cut

    def feed(self, data: bytes) -> bool:
        """Take bytes off the wire; False if no more are wanted."""
        content = self._inflater.feed(data)
        self._pieces.append(content)
        self._size += len(content)
        if self._size <= self._limit:
            return True
        if self._cut:
            return False
        raise LimitError(f"the answer is larger than {self._limit} bytes; the limit can be set")

    @property
    def taken(self) -> int:
        """Bytes as they went over the wire."""
        return self._inflater.taken

    def content(self) -> bytes:
        """The body."""
        if self._inflater.cut and not self._cut:
            raise StreamInvalid("the compressed body broke off")
        return b"".join(self._pieces)[: self._limit]
