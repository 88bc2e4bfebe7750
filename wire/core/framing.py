"""How a body is framed: as events, or as JSON.

Its first letter says it, and not its content type (Q1).
"""

from __future__ import annotations

_BOM = b"\xef\xbb\xbf"
_MOST_BLANKS = 4096


class Framing:
    """Bytes in, bytes to be read out: none of them before it is clear how.

    >>> framing = Framing()
    >>> framing.feed(b" "), framing.feed(b'{"id"'), framing.as_json
    (b'', b' {"id"', True)
    """

    def __init__(self) -> None:
        self.as_json = False
        self._head: bytes | None = b""  # what came before the first letter; `None` after it

    def feed(self, data: bytes) -> bytes:
        """What is to be read of `data` and of what came before it."""
        if self._head is None:
            return data
        data = self._head + data
        bare = data.removeprefix(_BOM)
        first = bare.lstrip()[:1]
        if not first or _BOM.startswith(data):
            self._head = data if len(data) <= _MOST_BLANKS else data[-1:]
            return b""
        self._head = None
        self.as_json = first in b"[{"
        return bare
