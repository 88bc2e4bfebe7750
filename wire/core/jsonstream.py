"""Splits a stream of JSON into its objects: the items of one array, or consecutive objects.

Some servers respond to a request for events with plain JSON: one array of chunks, one complete
object, or an error object after good events. `Cutter` locates the end of each object without
decoding it. It counts brackets outside strings.

State between two calls of `feed`:

- `rest` holds the bytes of the object that has not ended; `_at` is the position up to which they
  have been scanned. Scanning goes on there, so each byte is scanned once. Starting again at 0
  would take quadratic time for one large object.
- `_depth` is the number of open brackets, 0 between objects. `_in_string` is true inside a string,
  where brackets do not count.
- A backslash and the byte after it are scanned together. If the byte has not come yet, `_at` stays
  on the backslash; otherwise an escaped quote would end the string.

The cutter does not validate: a closing bracket of the wrong kind counts as one. The decoder that
reads the object reports that.
"""

from __future__ import annotations

import re

from wire.core.errors import LimitError
from wire.core.sse import EVENT_LIMIT

_MARK = re.compile(rb'["\[\]{}]')
_BEGIN = re.compile(rb"[\[\]{]|\Z")
_MAX_STRAY = 1000
_STRING_MARK = re.compile(rb'["\\]')
_BETWEEN = re.compile(rb"[ \t\r\n,]*")


class Cutter:
    """Splits the bytes of a body into complete JSON objects. An array around them is removed.

    >>> cutter = Cutter()
    >>> cutter.feed(b'[{"a": "}"},'), cutter.feed(b' {"b"'), cutter.feed(b': 1}]')
    ([b'{"a": "}"}'], [], [b'{"b": 1}'])

    `stray` collects the bytes outside objects that are neither white space nor a comma, up to 1000
    of them. `rest` is the beginning of an object that has not ended.

    Raises `LimitError` when one object is larger than `limit` bytes. The objects before it are
    returned first.
    """

    def __init__(self, limit: int = EVENT_LIMIT) -> None:
        self.stray: bytearray = bytearray()
        self.rest: bytearray = bytearray()
        self._limit = limit
        self._at = 0
        self._depth = 0
        self._in_string = False
        self._in_array = False
        self._over = False

    def feed(self, data: bytes) -> list[bytes]:
        """Return the objects that `data` completes."""
        self.check()
        rest = self.rest
        rest += data
        values: list[bytes] = []
        start = 0
        while True:
            if self._depth == 0:
                start = self._begin(start)
                if start < 0:
                    break
            if not self._scan():
                break
            if self._at - start > self._limit:
                self._over = True
                break
            values.append(bytes(rest[start : self._at]))
            start = self._at
        if self._depth == 0:
            rest.clear()
            self._at = 0
        elif start:
            del rest[:start]
            self._at -= start
        self._over = self._over or len(rest) > self._limit
        if not values:
            self.check()
        return values

    def check(self) -> None:
        """Raise `LimitError` if an object was too large.

        `feed` raises it as well, one call later if it has objects to return first.
        """
        if self._over:
            raise LimitError(
                f"a JSON value is larger than {self._limit} bytes; limits.event sets the limit"
            )

    def _begin(self, at: int) -> int:
        """Enter the next object and return its position, or -1 if there is none yet.

        The brackets of the array around the objects are skipped.
        """
        rest = self.rest
        while True:
            if not self.stray or len(self.stray) >= _MAX_STRAY:
                at = _BETWEEN.match(rest, at).end()  # type: ignore[union-attr]  # it may be empty
            if at == len(rest):
                return -1
            letter = rest[at]
            at += 1
            if letter == 123:  # {
                self._depth, self._at = 1, at
                return at - 1
            if letter == 91 and not self._in_array:  # [
                self._in_array = True
            elif letter == 93 and self._in_array:  # ]
                self._in_array = False
            elif len(self.stray) < _MAX_STRAY:
                self.stray.append(letter)
            else:
                at = _BEGIN.search(rest, at).start()  # type: ignore[union-attr]  # or the end

    def _scan(self) -> bool:
        """Scan to the end of the object; False if it has not come yet."""
        rest = self.rest
        while True:
            match = (_STRING_MARK if self._in_string else _MARK).search(rest, self._at)
            if match is None:
                self._at = len(rest)
                return False
            at = match.end()
            mark = rest[at - 1]
            if mark == 34:  # "
                self._in_string = not self._in_string
            elif mark == 92:  # a backslash: skip the byte that it escapes
                if at == len(rest):
                    self._at = at - 1
                    return False
                at += 1
            elif mark in b"[{":
                self._depth += 1
            else:
                self._depth -= 1
            self._at = at
            if self._depth == 0:
                return True
