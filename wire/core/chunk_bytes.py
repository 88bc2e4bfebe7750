"""Keeps the bytes of a stream's chunks until they are folded to one response.

A stream has about one chunk for each token: 300 bytes around four letters. Consecutive chunks that
differ in nothing but their text are kept as one chunk with the joined text. Folding it gives the
same response, so neither the memory of a long stream nor the time of its fold grows with each
token. A chunk with anything else in it, such as a key that no struct knows, keeps its own bytes.
"""

from __future__ import annotations

from typing import Protocol, TypeAlias

import msgspec

from wire.core.decoders import decoder

RawValue: TypeAlias = msgspec.Raw | msgspec.UnsetType
"""The bytes of a value, which may be absent."""


class TextChunk(Protocol):
    """A chunk of a wire that holds text and nothing that folding would have to collect.

    It is a struct that forbids unknown fields, so that no other chunk can be decoded to it.
    """

    def split(self) -> tuple[tuple[str, ...], RawValue]:
        """Take out the texts, and a value whose last occurrence counts, such as usage.

        Chunks that are equal after `split` may be joined.
        """
        ...

    def joined(self, texts: tuple[str, ...], latest: RawValue, /) -> bytes:
        """Encode this chunk, after `split`, with these values."""
        ...


class ChunkBytes:
    """The bytes of all chunks so far."""

    def __init__(self, text_chunk: type[TextChunk] | None) -> None:
        self.count: int = 0
        """The number of chunks that were added."""
        self._decode = None if text_chunk is None else decoder(text_chunk).decode
        self._kept: list[msgspec.Raw] = []
        self._run: TextChunk | None = None  # the last item of `_kept`, if text may be joined to it
        self._texts: list[tuple[str, ...]] = []  # of all chunks of the run
        self._latest: RawValue = msgspec.UNSET

    def add(self, data: msgspec.Raw) -> None:
        """Keep the bytes of one chunk."""
        self.count += 1
        chunk, texts, latest = None, (), msgspec.UNSET
        if self._decode is not None:
            try:
                chunk = self._decode(data)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                pass  # it holds more than text
            else:
                texts, latest = chunk.split()
                if chunk == self._run:
                    self._texts.append(texts)
                    if latest is not msgspec.UNSET:
                        self._latest = latest
                    return
        self._kept[-1:] = self._last()
        self._kept.append(data)
        self._run, self._texts, self._latest = chunk, [texts], latest

    def all(self) -> list[msgspec.Raw]:
        """The bytes to fold."""
        return [*self._kept[:-1], *self._last()]

    def _last(self) -> list[msgspec.Raw]:
        """The last item, with the texts that were joined to it."""
        if self._run is None or len(self._texts) == 1:
            return self._kept[-1:]  # a single chunk keeps its bytes
        texts = tuple(map("".join, zip(*self._texts, strict=True)))
        return [msgspec.Raw(self._run.joined(texts, self._latest))]
