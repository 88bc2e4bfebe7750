"""JSON values out of bytes, cut anywhere: the elements of one array, or objects one after another.

Some servers answer a request for events with plain JSON: one array of chunks, one whole object, or
an error object after good events. The cutter finds where each value ends without decoding it: it
only counts brackets outside strings.
"""

from __future__ import annotations

import re

from wire.core.sse import EVENT_LIMIT
from wire.errors import LimitError

_MARK = re.compile(rb'["\[\]{}]')
_STRING_MARK = re.compile(rb'["\\]')
_BETWEEN = b" \t\r\n,"


class Cutter:
    """Bytes of JSON in, whole objects out; one array around them is opened.

    >>> cutter = Cutter()
    >>> cutter.feed(b'[{"a": "}"},'), cutter.feed(b' {"b"'), cutter.feed(b': 1}]')
    ([b'{"a": "}"}'], [], [b'{"b": 1}'])

    What lies outside objects and is neither white space nor a comma stays in `stray`; `rest` is a
    value that has not ended.
    """

    def __init__(self, limit: int = EVENT_LIMIT) -> None:
        self.stray = bytearray()
        self.rest = bytearray()
        self._limit = limit
        self._at = 0  # how far `rest` has been looked at
        self._depth = 0
        self._in_string = False
        self._in_array = False
        self._over = False

    def feed(self, data: bytes) -> list[bytes]:
        """Objects that `data` completes."""
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
        """Raise `LimitError` if a value was too large; `feed` does so once the values before it
        were given out.
        """
        if self._over:
            raise LimitError(
                f"a JSON value is larger than {self._limit} bytes; the limit can be set"
            )

    def _begin(self, at: int) -> int:
        """Position of the next object, its bracket counted, or -1: the array's own brackets are
        stepped over.
        """
        rest = self.rest
        while at < len(rest):
            letter = rest[at]
            at += 1
            if letter == 123:  # {
                self._depth, self._at = 1, at
                return at - 1
            if letter == 91 and not self._in_array:  # [
                self._in_array = True
            elif letter == 93 and self._in_array:  # ]
                self._in_array = False
            elif (self.stray or letter not in _BETWEEN) and len(self.stray) < 1000:
                self.stray.append(letter)
        return -1

    def _scan(self) -> bool:
        """Go on to the end of the object; False if it has not come yet."""
        rest = self.rest
        while True:
            found = (_STRING_MARK if self._in_string else _MARK).search(rest, self._at)
            if found is None:
                self._at = len(rest)
                return False
            at = found.end()
            mark = rest[at - 1]
            if mark == 34:  # "
                self._in_string = not self._in_string
            elif mark == 92:  # a backslash, and whatever it escapes
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
