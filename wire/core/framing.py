"""How a body is framed: as events, or as JSON.

The first byte that is not blank decides it, since hosts send the wrong content type (Q1).
"""

from __future__ import annotations

BOM = b"\xef\xbb\xbf"


class Framing:
    """Holds bytes back until the first non-blank byte shows whether the body is events or JSON.

    >>> framing = Framing()
    >>> framing.feed(b" "), framing.feed(b'{"id"'), framing.as_json
    (b'', b'{"id"', True)
    """

    def __init__(self) -> None:
        self.as_json = False
        self._head: bytes | None = b""  # what may yet become a BOM, or a blank; then `None`

    def feed(self, data: bytes) -> bytes:
        """The bytes to read, without a BOM and blanks before the first of them."""
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
