"""Server-sent events out of bytes, cut anywhere: `Decoder.feed(bytes) -> list[Event]`,
`Decoder.close() -> list[Event]`.

Rules of this file (https://html.spec.whatwg.org/multipage/server-sent-events.html, on bytes):

- A line ends at LF, CRLF or CR, and at nothing else: U+2028, U+0085 and friends are data (R-06).
  CRLF may be cut in two.
- What comes out does not depend on where the bytes were cut, and costs time linear in their number:
  a long line is kept as a list of pieces and joined once (R-07, R-11).
- Beyond the standard, because servers need it: the last event may lack its blank line (`close`
  gives it, marked `cut`), an event with empty data is skipped, and a line that is no field of any
  kind, such as a bare JSON error after good events, is surfaced as an `outside` event of its own
  instead of being skipped (R-03).
"""

from __future__ import annotations

import re
from typing import NoReturn

import msgspec

from wire.errors import LimitError

EVENT_LIMIT = 32 * 1024 * 1024
"""Bytes of one event; inline images of several MiB are legal (R-10)."""

_BOM = b"\xef\xbb\xbf"
_FIELD_NAME = re.compile(rb"[A-Za-z0-9_.-]+")


class Event(msgspec.Struct, frozen=True, gc=False):
    """One event, or one line that belongs to none."""

    data: bytes
    event: str = "message"
    id: str = ""
    retry: int | None = None
    outside: bool = False
    """`data` is one line outside the framing, without its line end."""
    cut: bool = False
    """The stream ended before the blank line that ends an event."""

    @property
    def blank(self) -> bool:
        """Nothing to read: white space, or a keep-alive comment that somebody wrapped in
        `data:`.
        """
        return self.data[:1] == b":" or not self.data.strip()


class Decoder:
    r"""A stream of bytes in, events out.

    >>> decoder = Decoder()
    >>> [event.data for event in decoder.feed(b"data: a\r\n\r\ndata: b")]
    [b'a']
    >>> [event.data for event in decoder.close()]
    [b'b']

    Raises `LimitError` when one event is larger than `limit` bytes; the events before it are given
    out first.
    """

    def __init__(self, limit: int = EVENT_LIMIT) -> None:
        self._limit = limit
        self._pieces: list[bytes] = []  # of a line that has not ended
        self._lines: list[bytes] = []  # data lines of an event that has not ended
        self._held = 0  # bytes of those data lines
        self._size = 0  # bytes of the event so far, its unfinished line included
        self._event = ""
        self._id = ""
        self._retry: int | None = None
        self._begun = False
        self._over = False  # an event was too large; said as soon as those before it were given out
        self._after_cr = False  # a LF that comes next ends no line: it is the second half of CRLF

    def feed(self, data: bytes) -> list[Event]:
        """Events that `data` completes, in order."""
        if self._after_cr and data:
            self._after_cr = False
            if data[0] == 10:
                data = data[1:]
        if self._over:
            self._refuse()
        if not data:
            return []
        if b"\n" not in data and b"\r" not in data:
            self._pieces.append(data)
            self._size += len(data)
            if self._size > self._limit:
                self._refuse()
            return []
        if self._pieces:
            data = b"".join((*self._pieces, data))
            self._pieces.clear()
        if not self._begun:
            self._begun = True
            data = data.removeprefix(_BOM)
        lines = data.splitlines()
        self._after_cr = data[-1:] == b"\r"
        if data and data[-1] not in b"\r\n":
            self._pieces.append(lines.pop())
        events = self._read(lines)
        self._size = self._held + len(self._pieces[0]) if self._pieces else self._held
        if self._size > self._limit:
            self._over = True
        if self._over and not events:
            self._refuse()
        return events

    def close(self) -> list[Event]:
        """The last event, if the stream ended without the blank line after it."""
        if self._over:
            self._refuse()
        rest = b"".join(self._pieces)
        self._pieces.clear()
        if not self._begun:
            rest = rest.removeprefix(_BOM)
        events = self._read([rest, b""] if rest else [b""], cut=True)
        self._size = 0
        return events

    def _read(self, lines: list[bytes], cut: bool = False) -> list[Event]:
        events: list[Event] = []
        held, size = self._lines, self._held
        for line in lines:
            if size + len(line) > self._limit:
                self._over = True
                break
            if line[:5] == b"data:" or line == b"data":
                held.append(line[6:] if line[5:6] == b" " else line[5:])
                size += len(line)
            elif line:
                self._field(line, events)
            else:
                if held:
                    data = held[0] if len(held) == 1 else b"\n".join(held)
                    held.clear()
                    if data:
                        events.append(
                            Event(data, self._event or "message", self._id, self._retry, False, cut)
                        )
                size = 0
                self._event = ""
                self._retry = None
        self._held = size
        return events

    def _field(self, line: bytes, events: list[Event]) -> None:
        name, _, value = line.partition(b":")
        if not name:
            return  # a comment
        value = value.removeprefix(b" ")
        if name == b"event":
            self._event = value.decode("utf-8", "replace")
        elif name == b"id":
            if b"\0" not in value:
                self._id = value.decode("utf-8", "replace")
        elif name == b"retry":
            if value.isdigit():
                self._retry = int(value[:18])
        elif not _FIELD_NAME.fullmatch(name):
            events.append(Event(line, outside=True))

    def _refuse(self) -> NoReturn:
        self._over = True
        raise LimitError(f"an event is larger than {self._limit} bytes; the limit can be set")
