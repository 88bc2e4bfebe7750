"""Decodes compressed bodies, so that a cassette has them readable (C-07).

`br` and `zstd` are decoded where the standard library or an installed package can: those that httpx
uses, or their equals.
"""

from __future__ import annotations

import importlib
from typing import Any, NamedTuple, Protocol

from wire.core.errors import LimitError, StreamInvalid
from wire.core.limits import Inflater, Limits

_PACKAGES = {
    "br": ("brotli", "brotlicffi"),
    "zstd": ("compression.zstd", "zstandard", "backports.zstd"),
}
_INFLATED = ("gzip", "x-gzip", "deflate")
_AT_ONCE = 512
"""Bytes. Small pieces, so that the output before a malformed byte is not lost."""
_BROTLI_AT_ONCE = 16
"""Bytes. Four bytes of Brotli can decode to 16 MiB, and the limit is checked between the pieces."""
_UNCHECKED_OUTPUT = 1024 * 1024
"""Bytes that may come out at any ratio, as in `Inflater`."""


class Decoded(NamedTuple):
    """The content of a compressed body."""

    content: bytes
    complete: bool | None
    """`True` for a complete body, `None` for a truncated one, `False` for a malformed one."""


def decode_content(coding: str, body: bytes) -> Decoded | None:
    """Decode a body as far as possible; `None` if nothing installed decodes the coding.

    >>> import gzip
    >>> decode_content("gzip", gzip.compress(b"Hi")), decode_content("compress", b"Hi")
    (Decoded(content=b'Hi', complete=True), None)
    """
    decoder = _decoder(coding)
    if decoder is None:
        return None
    content = bytearray()
    step = _BROTLI_AT_ONCE if coding == "br" else _AT_ONCE
    try:
        for at in range(0, len(body), step):
            content += decoder.feed(body[at : at + step])
    except (StreamInvalid, LimitError):
        return Decoded(bytes(content), False)
    return Decoded(bytes(content), None if decoder.cut else True)


def refusal(coding: str) -> str:
    """Return the reason why a body of a coding is not recorded, and the remedy.

    >>> refusal("compress")
    "content-encoding: 'compress' cannot be recorded; request identity, gzip or deflate"
    """
    packages = _PACKAGES.get(coding)
    instead = f", or install {packages[-2]}" if packages else ""
    return (
        f"content-encoding: {coding!r} cannot be recorded; request identity, gzip or deflate"
        f"{instead}"
    )


class _Decoder(Protocol):
    @property
    def cut(self) -> bool: ...

    def feed(self, data: bytes) -> bytes: ...


def _decoder(coding: str) -> _Decoder | None:
    if coding in _INFLATED:
        return Inflater(coding, Limits())
    package = _package(coding)
    if package is None:
        return None
    return _Limited(_Brotli(package) if coding == "br" else _Zstandard(package))


def _package(coding: str) -> Any:
    for name in _PACKAGES.get(coding, ()):
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    return None


class _Limited:
    """Bounds the output, because 1 MiB of zstd can decode to 30 GiB."""

    def __init__(self, decoder: _Decoder) -> None:
        self._decoder = decoder
        self._taken = self._given = 0

    @property
    def cut(self) -> bool:
        return self._taken > 0 and self._decoder.cut

    def feed(self, data: bytes) -> bytes:
        self._taken += len(data)
        content = self._decoder.feed(data)
        self._given += len(content)
        if self._given > max(_UNCHECKED_OUTPUT, Limits().ratio * self._taken):
            raise LimitError("too much comes out of a compressed byte")
        return content


class _Brotli:
    def __init__(self, package: Any) -> None:
        self._package, self._state = package, package.Decompressor()

    @property
    def cut(self) -> bool:
        return not self._state.is_finished()

    def feed(self, data: bytes) -> bytes:
        if self._state.is_finished():
            raise StreamInvalid("the compressed body has bytes after its end")
        try:
            return bytes(self._state.process(data))
        except self._package.error as cause:
            raise StreamInvalid(f"the compressed body is broken: {cause}") from cause


class _Zstandard:
    def __init__(self, package: Any) -> None:
        self._package, self._state = package, self._new(package)

    @staticmethod
    def _new(package: Any) -> Any:
        state = package.ZstdDecompressor()
        # Of `zstandard`, the object that decodes piece by piece is another one.
        return state.decompressobj() if hasattr(state, "decompressobj") else state

    @property
    def cut(self) -> bool:
        return not self._state.eof

    def feed(self, data: bytes) -> bytes:
        content = b""
        while data:
            if self._state.eof:  # a body may have several frames, one after another
                self._state = self._new(self._package)
            try:
                content += self._state.decompress(data)
            except self._package.ZstdError as cause:
                raise StreamInvalid(f"the compressed body is broken: {cause}") from cause
            data = self._state.unused_data if self._state.eof else b""
        return content
