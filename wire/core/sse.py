r"""Decodes server-sent events (SSE) incrementally, without I/O.

>>> from wire.sse import Decoder
>>> decoder = Decoder()
>>> [event.data for event in decoder.feed(b"data: 05:12\n\nda")]
[b'05:12']
>>> [event.data for event in decoder.feed(b"ta: 17:40\n\n")]
[b'17:40']

The decoder follows https://html.spec.whatwg.org/multipage/server-sent-events.html, on bytes:

- A line ends at LF, CRLF or CR, and at nothing else. U+2028 and U+0085 are data (R-06).
- The events do not depend on where the network cut the bytes (R-07).
- Decoding takes time linear in the number of bytes. A long line is collected in a buffer
  that grows in place; joining at every `feed` would take quadratic time (R-11).

It differs from the standard where servers do:

- The last event may lack its blank line. `close` returns it with `cut` set.
- An event with empty data is skipped.
- A line that is not a field, such as a bare JSON error after good events, becomes an event with
  `outside` set. The standard ignores such a line, and the error would be lost (R-03).

State between two calls of `feed`:

- `_rest`: the last line, which has no line end yet.
- `_lines`: the data lines of the last event, which has no blank line yet. `_joined` has the
  earlier ones of an event of many lines: a list of short lines takes ten times their bytes.
- `_event`, `_id`, `_retry`: the other fields of that event. The id outlives the event, because
  the standard lets an id hold until the next one.
- `_after_cr`: the last byte was a CR. A LF that follows belongs to it and ends no second line,
  which would be a blank line and would end the event too early.
- `over`: the limit that was exceeded. It stays set, so every later call raises the same error.
"""

from __future__ import annotations

import functools
from typing import NoReturn

import msgspec

from wire.core.arguments import refusal
from wire.core.errors import LimitError, RuleError
from wire.core.lazy import lazy_pattern
from wire.core.secret import type_name

__all__ = ["Decoder", "Event"]

EVENT_LIMIT = 32 * 1024 * 1024
"""Default limit of one event, in bytes. Inline images of several MiB are legal (R-10)."""

_BOM = b"\xef\xbb\xbf"
_MAX_LINES = 1000
"""Data lines of one event that are kept apart."""
_FIELD_NAME = lazy_pattern(rb"[A-Za-z0-9_.-]+")


class Event(msgspec.Struct, frozen=True, gc=False):
    """One event, or one line outside of any event (`outside`)."""

    data: bytes
    """The data lines, joined by LF."""
    event: str = "message"
    """The name of the event."""
    id: str = ""
    """The last id of the stream so far."""
    retry: int | None = None
    """Milliseconds after which the server wants a reconnect."""
    outside: bool = False
    """`data` is one line that belongs to no event, without its line end."""
    cut: bool = False
    """The stream ended before the blank line that ends an event."""

    @property
    def blank(self) -> bool:
        """Whether `data` is white space, or a keep-alive comment that a host sent as `data:`."""
        return self.data[:1] == b":" or not self.data.strip()


class Decoder:
    r"""Decodes the events of one stream from its bytes.

    >>> decoder = Decoder()
    >>> [event.data for event in decoder.feed(b"data: a\r\n\r\ndata: b")]
    [b'a']
    >>> [event.data for event in decoder.close()]
    [b'b']

    Raises `LimitError` when one event is larger than `limit` bytes, or one line than `line`. The
    events before it are returned first.
    """

    __slots__ = (
        "_after_cr",
        "_begun",
        "_event",
        "_held",
        "_id",
        "_joined",
        "_limit",
        "_line_limit",
        "_lines",
        "_rest",
        "_retry",
        "over",
    )

    def __init__(self, limit: int = EVENT_LIMIT, line: int = EVENT_LIMIT) -> None:
        self._limit, self._line_limit = limit, line
        self._rest = bytearray()  # of the line that has not ended
        self._lines: list[bytes] = []  # data lines of the event that has not ended
        self._joined = bytearray()  # earlier data lines of it, each with a line end
        self._held = 0  # bytes of those lines, their field names included
        self._event = ""
        self._id = ""
        self._retry: int | None = None
        self._begun = False
        self.over: str = ""
        """The limit that was exceeded. The next call raises if this one has events to return."""
        self._after_cr = False

    @property
    def held(self) -> int:
        """Bytes of the event and the line that have not ended."""
        return self._held + len(self._rest)

    @property
    def is_between(self) -> bool:
        """Whether the next byte is the first of an event."""
        return (
            self._begun
            and not (self._rest or self._held or self._event or self._after_cr or self.over)
            and self._retry is None
        )

    def feed(self, data: bytes) -> list[Event]:
        """Return the events that `data` completes, in order."""
        if not isinstance(data, bytes):
            raise refusal(RuleError, "data", f"expected bytes, not {type_name(data)}")
        if self._after_cr and data:
            self._after_cr = False
            if data[0] == 10:
                data = data[1:]
        if self.over:
            self.refuse()
        if not data:
            return []
        rest = self._rest
        if b"\n" not in data and b"\r" not in data:
            rest += data
            self._check_rest()
            if self.over:
                self.refuse()
            return []
        if rest:
            data = bytes(rest) + data
            rest.clear()
        if not self._begun:
            self._begun = True
            data = data.removeprefix(_BOM)
        lines = data.splitlines()
        self._after_cr = data[-1:] == b"\r"
        if data and data[-1] not in b"\r\n":
            rest += lines.pop()
        events = self._read(lines)
        if rest:
            self._check_rest()
        if self.over and not events:
            self.refuse()
        return events

    def close(self) -> list[Event]:
        """Return the last event, if the stream ended without the blank line after it."""
        if self.over:
            self.refuse()
        rest = bytes(self._rest)
        self._rest.clear()
        if not self._begun:
            rest = rest.removeprefix(_BOM)
        return self._read([rest, b""] if rest else [b""], cut=True)

    def _read(self, lines: list[bytes], cut: bool = False) -> list[Event]:
        events: list[Event] = []
        held, size = self._lines, self._held
        for line in lines:
            length = len(line)
            if length > self._line_limit:
                self.over = "line"
                break
            if size + length > self._limit:
                self.over = "event"
                break
            if line[:5] == b"data:" or line == b"data":
                held.append(line[6:] if line[5:6] == b" " else line[5:])
                size += length
                if len(held) > _MAX_LINES:
                    self._join()
            elif line:
                self._field(line, events)
            else:
                if held or self._joined:
                    if self._joined:
                        self._join()
                        data = bytes(self._joined[:-1])
                        self._joined.clear()
                    else:
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
        elif not _FIELD_NAME().fullmatch(name):
            events.append(Event(line, outside=True))

    def _join(self) -> None:
        if self._lines:
            self._joined += b"\n".join(self._lines) + b"\n"
            self._lines.clear()

    def _check_rest(self) -> None:
        if len(self._rest) > self._line_limit:
            self.over = "line"
        elif self._held + len(self._rest) > self._limit:
            self.over = "event"

    def refuse(self) -> NoReturn:
        """Raise the `LimitError` of the limit that was exceeded."""
        limit = self._line_limit if self.over == "line" else self._limit
        what = "a line" if self.over == "line" else "an event"
        raise LimitError(f"{what} is larger than {limit} bytes; limits.{self.over} sets the limit")


def end_of_event(data: bytes, start: int) -> int:
    """Return the position behind the first blank line; the end of the bytes if there is none.

    >>> end_of_event(b"data: a\\n\\ndata: b\\n\\n", 0)
    9
    """
    end = data.find(b"\n", start)
    while end >= 0:
        for blank in (b"\n\n", b"\n\r\n"):
            if data.startswith(blank, end):
                return end + len(blank)
        end = data.find(b"\n", end + 1)
    return len(data)


@functools.lru_cache(maxsize=64)  # a vendor has a dozen names of events; all streams share them
def event_form(name: str, line_end: bytes) -> EventForm:
    """Return the form of events with this name and line end."""
    return EventForm(name, line_end)


class EventForm:
    """The lines that vendors send around the data of an event: its name, and a blank line.

    Each line ends with `line_end`, which is empty or a CR, and a LF.

    >>> EventForm("a").data_lines(b"event: a\\ndata: 1\\n\\nevent: b\\ndata: 2\\n\\n")
    [b'data: 1']
    """

    def __init__(self, name: str = "message", line_end: bytes = b"") -> None:
        self.name, self.line_end = name, line_end
        names = [] if name == "message" else [b"event: " + name.encode() + line_end]
        self._lines = len(names) + 2  # of one event
        self._before = b"".join(line + b"\n" for line in names)
        self._start = self._before + b"data: "
        self._after = (line_end + b"\n") * 2
        self._expected = [*enumerate(names), (len(names) + 1, line_end)]
        self.others: int = sum(len(line) + 1 for _, line in self._expected) + 1
        """The bytes of an event beside its data line."""

    def is_begun(self, data: bytes) -> bool:
        """Return whether the bytes begin an event of this form, without its last line ends.

        >>> EventForm("a").is_begun(b"event: a\\ndata: 1"), EventForm("a").is_begun(b"event: b\\n")
        (True, False)
        """
        start = self._start
        if data.startswith(start):
            return data.find(b"\n", len(start)) < 0
        return start.startswith(data)

    def only_line(self, data: bytes) -> bytes | None:
        """Return the data line of a single complete event of this form, without its line end.

        >>> EventForm("a").only_line(b"event: a\\ndata: 1\\n\\n")
        b'data: 1'
        """
        if not (data.startswith(self._start) and data.endswith(self._after)):
            return None
        line = data[len(self._before) : -len(self._after)]
        return None if b"\n" in line else line

    def data_lines(self, data: bytes) -> list[bytes]:
        """Return the data lines of the complete events of this form at the beginning of `data`."""
        lines = data.split(b"\n")
        period = self._lines
        count = (len(lines) - 1) // period
        for position, expected in self._expected:
            column = lines[position : count * period : period]
            if column.count(expected) < count:
                count = next(index for index, line in enumerate(column) if line != expected)
        return lines[period - 2 : count * period : period]
