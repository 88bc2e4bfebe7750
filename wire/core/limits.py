"""Limits for received data, and the readers that enforce them (R-10).

Without them a server decides how much memory and time a client spends. Each default is far above
what vendors send, and each can be set: `Client("gemini", limits=Limits(event=2**20))`. An error
names the field.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Sequence
from itertools import accumulate, chain

import msgspec

from wire.core.errors import ConfigurationError, LimitError, StreamInvalid
from wire.core.fields import Fields
from wire.core.lazy import lazy_pattern
from wire.core.secret import quoted, seal_fields
from wire.core.sse import EVENT_LIMIT

MAX_FRAMING_BYTES = 100 * 1024
"""Bytes of a response head, or of a line of the chunked encoding, that may arrive without its end.
It cannot be set: httpcore lets h11 buffer as much, and direct lanes do the same."""
_INFLATED_AT_ONCE = 256 * 1024
"""Bytes. zlib holds its output twice, so a larger piece would cost twice its size."""
_COMPRESSED_AT_ONCE = 16 * 1024
"""Bytes of a compressed body between two checks of its limit."""
_UNCHECKED_OUTPUT = 1024 * 1024
"""Bytes that may be inflated at any ratio. Small bodies compress well and are not a bomb."""


class Limits(msgspec.Struct, frozen=True, metaclass=Fields):
    """Largest sizes of the data that a client receives.

    >>> Limits(body=1024 * 1024).body
    1048576

    What is larger raises `LimitError` that names the field. An error body is cut instead. Raises
    `ConfigurationError` that names a field whose value is not a positive integer.
    """

    event: int = EVENT_LIMIT
    """Bytes of one event of a stream, or of one JSON object in a body that is a list of them. A
    vendor's event with an image has 4 MiB."""
    line: int = EVENT_LIMIT
    """Bytes of one line of a stream. Vendors send an event in one line."""
    events: int = 1_000_000
    """Events of one stream. The stream of a long agent run has 200,000."""
    unused: int = 1024 * 1024
    """Bytes of a stream that complete no event, in a row: comments, blank lines, keep-alives. A
    comment each second fills it in 20 hours."""
    stream: int = 256 * 1024 * 1024
    """Bytes of a whole stream, after decompression."""
    body: int = 256 * 1024 * 1024
    """Bytes of a body that is not streamed, after decompression."""
    error_body: int = 1024 * 1024
    """Bytes of the body of an error response. Only its beginning is read."""
    ratio: int = 200
    """Bytes that one compressed byte may inflate to."""
    headers: int = 100 * 1024
    """Bytes of the response headers."""
    header_count: int = 1000
    """Number of the response headers."""
    depth: int = 512
    """Levels of lists and objects in the JSON of one body or event. Python's own limit is about
    1,000 frames."""
    containers: int = 50_000
    """Lists and objects in the JSON of one body or event. An empty object costs 300 times its two
    bytes. A body may have more if it has 16 bytes for each, such as one with log probabilities."""
    values: int = 1_000_000
    """Items of lists and objects in the JSON of one body or event. A body may have more if it has
    4 bytes for each, such as one with embeddings."""

    def __post_init__(self) -> None:
        seal_fields(self)
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if type(value) is not int or value < 1:
                raise ConfigurationError(
                    f"limits.{name}: expected a positive integer, not {quoted(value, 100)}"
                )


def over(name: str, problem: str) -> LimitError:
    """Build the error for something that exceeds the field `name` of `Limits`.

    >>> print(over("depth", "the JSON is nested more than 512 levels deep"))
    the JSON is nested more than 512 levels deep; limits.depth sets the limit
    """
    return LimitError(f"{problem}; limits.{name} sets the limit")


def check_headers(headers: Sequence[tuple[bytes, bytes]], limits: Limits) -> None:
    """Raise `LimitError` for response headers that are too many or too large."""
    if len(headers) > limits.header_count:
        raise over("header_count", f"the response has more than {limits.header_count} headers")
    if sum(map(len, chain.from_iterable(headers))) > limits.headers:
        raise over("headers", f"the response headers are larger than {limits.headers} bytes")


# --- JSON -----------------------------------------------------------------------------------------

_BYTES_OF_CONTAINER, _BYTES_OF_VALUE = 16, 4
_STRINGS = lazy_pattern(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_STEPS = {91: 1, 123: 1, 93: -1, 125: -1}


def unchecked_json(limits: Limits) -> int:
    """Return the size of the largest JSON that needs no `check_json`: most events are smaller."""
    return min(limits.depth, limits.containers, limits.values)


def check_json(data: bytes, limits: Limits) -> None:
    """Raise `LimitError` for JSON that is nested too deeply, or is many small values (R-10).

    >>> check_json(b"[" * 513, Limits())
    Traceback (most recent call last):
    wire.errors.LimitError: JSON is nested more than 512 levels deep; limits.depth sets the limit

    1.5 MB of `{},` decode to 470 MB. Counting costs a twentieth of decoding, and a JSON with few
    brackets, such as one with an image, is not scanned at all.
    """
    size = len(data)
    if size <= unchecked_json(limits):
        return
    containers = max(limits.containers, size // _BYTES_OF_CONTAINER)
    values = max(limits.values, size // _BYTES_OF_VALUE)
    opened = count(data, b"{") + count(data, b"[")
    if opened <= min(limits.depth, containers) and count(data, b",") <= values:
        return
    bare = _STRINGS().sub(b"", data)  # brackets in texts do not count
    if bare.count(b"{") + bare.count(b"[") > containers:
        raise over("containers", f"JSON has more than {containers} lists and objects")
    if bare.count(b",") > values:
        raise over("values", f"JSON has more than {values} values")
    if _depth(bare) > limits.depth:
        raise over("depth", f"JSON is nested more than {limits.depth} levels deep")


READ_DEPTH = 1_000
"""Levels of JSON that a file or a value may have. Python 3.11 decodes no more; later versions
decode as many as the stack of the thread holds, and walking or indenting these does not end."""
LARGE_JSON = 64 * 1024
"""Bytes from which on a search is worth a loop in Python."""
_FEW_BYTES = 256


def count(data: bytes, byte: bytes) -> int:
    """Count how often a byte occurs.

    Where it is rare, as in the JSON of an image, `find` takes a twentieth of the time that
    `bytes.count` takes.

    >>> count(b"[" * 300, b"["), count(b" " * 100_000 + b"[" * 300, b"[")
    (300, 300)
    """
    if len(data) < LARGE_JSON:
        return data.count(byte)
    after = 0
    for found in range(_FEW_BYTES):
        after = data.find(byte, after) + 1
        if not after:
            return found
    return _FEW_BYTES + data.count(byte, after)


def is_deeper(data: bytes, levels: int) -> bool:
    """Return whether JSON has more than `levels` levels of lists and objects.

    Most JSON has fewer brackets than that, so it needs no walk.
    """
    return count(data, b"{") + count(data, b"[") > levels and depth_of(data) > levels


def depth_of(data: bytes) -> int:
    """Count the levels of lists and objects in JSON.

    >>> depth_of(b'{"a": ["]]", {}]}')
    3
    """
    return _depth(_STRINGS().sub(b"", data))


def _depth(bare: bytes) -> int:
    brackets = bare.translate(None, _NO_BRACKETS)
    return max(accumulate(map(_STEPS.__getitem__, brackets)), default=0)


# --- bodies ---------------------------------------------------------------------------------------


class Inflater:
    """Decompresses a body within the limits.

    The client requests `identity`, so most bodies pass unchanged. Some servers compress anyway.
    Their output is bounded, because 1 MiB of gzip can inflate to 1 GiB.

    Raises `LimitError` over the limit, `StreamInvalid` for an unknown encoding or a broken body.
    """

    __slots__ = ("_given", "_kind", "_limits", "_zlib", "taken")

    def __init__(self, encoding: str, limits: Limits) -> None:
        encoding = encoding.strip().lower()
        if encoding not in ("", "identity", "gzip", "x-gzip", "deflate"):
            raise StreamInvalid(
                f"the body has the content encoding {encoding!r}, which was not requested"
            )
        self.taken: int = 0
        self._given = 0
        self._limits = limits
        self._kind = encoding
        self._zlib = zlib.decompressobj(wbits=47) if encoding not in ("", "identity") else None

    def parts(self, data: bytes) -> Iterable[bytes]:
        """Return the content that `data` completes, in pieces.

        A caller that stops at a limit does not inflate the rest of a large read.
        """
        if self._zlib is None:
            self.taken += len(data)
            return (data,)
        return (
            self.feed(data[start : start + _COMPRESSED_AT_ONCE])
            for start in range(0, len(data), _COMPRESSED_AT_ONCE)
        )

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
                raise over(
                    "ratio", f"more than {self._limits.ratio} bytes come out of a compressed byte"
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
        for content in self._inflater.parts(data):
            self._pieces.append(content)
            self._size += len(content)
            if self._size > self._limit:
                if self._cut:
                    return False
                raise over("body", f"the body is larger than {self._limit} bytes")
        return True

    @property
    def taken(self) -> int:
        """Number of bytes received, before decompression."""
        return self._inflater.taken

    def content(self) -> bytes:
        """Return the decompressed body. Raises `StreamInvalid` if its compression broke off."""
        if self._inflater.cut and not self._cut:
            raise StreamInvalid("the compressed body broke off")
        return b"".join(self._pieces)[: self._limit]
