"""Detects the framing of a body: server-sent events, or JSON.

The first non-blank byte decides, because hosts send the wrong content type (Q1): `{` or `[` is
JSON, any other byte is SSE.
"""

from __future__ import annotations

BOM = b"\xef\xbb\xbf"


class Framing:
    """Buffers a body until its first non-blank byte shows whether it is SSE or JSON.

    >>> framing = Framing()
    >>> framing.feed(b" "), framing.feed(b'{"id"'), framing.as_json
    (b'', b'{"id"', True)

    `as_json` is valid once `feed` has returned bytes. From then on `feed` returns its input.
    """

    __slots__ = ("_head", "as_json")

    def __init__(self) -> None:
        self.as_json: bool = False
        # Undecided: the first bytes of a BOM, or `b" "` for blanks. Decided: `None`. A BOM after a
        # blank is data, and the blank that is kept makes sure that it is not removed.
        self._head: bytes | None = b""

    def feed(self, data: bytes) -> bytes:
        """Return the bytes to decode, without a BOM and blanks at the beginning of the body."""
        if self._head is None:
            return data
        data = self._head + data
        bare = data.removeprefix(BOM).lstrip()
        if not bare or BOM.startswith(data):
            self._head = data if BOM.startswith(data) else b" "
            return b""
        self._head = None
        self.as_json = bare[:1] in b"[{"
        return bare
