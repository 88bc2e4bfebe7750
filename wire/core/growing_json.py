"""Parses one JSON value whose text comes in pieces, and reports its complete and growing fields.

`jsonstream.py` finds the ends of complete objects in a body; this reader looks into one value.

- Each character is read once. `_rest` holds only what may go on in the next piece: a part of an
  escape, or of a code fence. The pieces of a key or a number are joined at its end.
- The reader builds no value. It appends one step for each thing that it reads, and a value is built
  from the steps when somebody reads it. A value for each piece would take quadratic time.
- The complete fields do not depend on where the text was cut. Only growing texts do.
- The reader stops at the first error, which the parser of the complete text reports.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import msgspec

Path: TypeAlias = tuple[str | int, ...]

DEPTH_LIMIT = 100
"""Levels of lists and objects. A path is as long as its field is deep, so deeper ones would take
quadratic memory."""

_FENCE, _WORD = "```", "json"
_SPACE = re.compile(r"[ \t\r\n]*")
_SCALAR = re.compile(r"[-+.0-9A-Za-z]*")
_TEXT = re.compile(
    r'(?:[^"\\\x00-\x1f]+|\\(?:["\\/bfnrt]|u(?:[0-9a-cA-CefEF][0-9a-fA-F]{3}|[dD][0-7][0-9a-fA-F]{2}'
    r"|[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})))*"
)
"""Whole characters of a string: an escape of two surrogates is one."""
_ESCAPE_BEGINS = re.compile(
    r"\\(?:u(?:[0-9a-fA-F]{0,3}|[dD][89abAB][0-9a-fA-F]{2}(?:\\(?:u[0-9a-fA-F]{0,3})?)?))?"
)

_State: TypeAlias = "Callable[[GrowingJSON, str, int, list[Field]], int]"

_OPEN, _SET, _CLOSE = "open", "set", "close"
_ROOT = ""
"""Key of the outermost value in the object that holds it."""


class _Text:
    """A text that grows. One thread adds pieces while others may look at it."""

    __slots__ = ("_joined", "_pieces", "_whole", "length")

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._joined: tuple[int, str] = (0, "")  # how many pieces, and their text
        self._whole: str | None = None
        self.length = 0

    def add(self, piece: str) -> None:
        self._pieces.append(piece)
        self.length += len(piece)

    def end(self) -> None:
        """Mark the text as complete: no more pieces follow."""
        self._whole = self.upto(self.length)
        self._pieces, self._joined = [], (0, "")

    def upto(self, length: int) -> str:
        """Return the first `length` characters."""
        pieces, joined, whole = self._pieces, self._joined, self._whole  # in the order of `end`
        if whole is None:
            count, begun = joined
            added = pieces[count:]
            whole = "".join([begun, *added])
            if self._whole is None:
                self._joined = count + len(added), whole
        return whole[:length]


class Growth:
    """A value that grows, as the steps in which it grew.

    >>> growth = Growth()
    >>> growth.steps += [("open", "", list), ("set", 0, "Bergen"), ("open", 1, dict)]
    >>> growth.value(2), growth.value(3)
    (['Bergen'], ['Bergen', {}])
    """

    __slots__ = ("_built", "steps")

    def __init__(self) -> None:
        self.steps: list[tuple[str, Any, Any]] = []
        # The number of steps, how many of them to take again, the value that they make, and the
        # keys of its open containers. Replaced as a whole, so that two threads may read values.
        self._built: tuple[int, int, dict[str, Any], tuple[Any, ...]] = (0, 0, {}, ())

    def value(self, count: int, length: int = 0) -> Any:
        """Build the value after `count` steps.

        If the last one is a text, it has `length` characters.

        Only steps after those of the last value are taken. The parts that had ended are those of
        the last value; containers that were open are copies, so that no value changes.
        """
        done, repeated, top, keys = self._built
        if done > count:
            done, repeated, top, keys = 0, 0, {}, ()
        top = top.copy()
        opened: list[Any] = [top]
        for key in keys:
            copy = opened[-1][key].copy()
            opened[-1][key] = copy
            opened.append(copy)
        path, first = list(keys), done - repeated
        for number, (kind, key, value) in enumerate(self.steps[first:count], first + 1):
            if kind == _CLOSE:
                opened.pop()
                path.pop()
                continue
            here, made = opened[-1], value
            if kind == _OPEN:
                made = value()
                opened.append(made)
                path.append(key)
            elif type(value) is _Text:
                made = value.upto(length if number == count else value.length)
            if type(here) is list and key == len(here):
                here.append(made)
            else:
                here[key] = made
        # A text may have gone on since, so its step is taken again for the next value.
        is_text = count > 0 and type(self.steps[count - 1][2]) is _Text
        self._built = (count, int(is_text), top, tuple(path))
        return top.get(_ROOT)


class Field(NamedTuple):
    """A field of the value, or an item of a list in it, of which something is known."""

    path: Path
    """Keys and indexes from the outermost value, which has none."""
    growing: bool
    """Whether it is a text that has not ended."""
    steps: int
    """Number of the steps of `Growth` up to here."""
    length: int = 0
    """Characters of the text up to here, if the field is one."""


class GrowingJSON:
    """Reads the pieces of one JSON value, which may be inside a code fence.

    >>> growing = GrowingJSON()
    >>> growing.feed('{"port": "Brest", "at": "05')  # doctest: +NORMALIZE_WHITESPACE
    [Field(path=('port',), growing=False, steps=2, length=5),
     Field(path=('at',), growing=True, steps=3, length=2)]
    >>> growing.growth.value(3, 1)
    {'port': 'Brest', 'at': '0'}
    """

    def __init__(self) -> None:
        self.growth = Growth()
        self._state: _State = _begin
        self._rest = ""
        self._path: list[str | int] = []
        self._lists: list[bool] = []  # for each open container: is it a list
        self._texts: list[str] = []  # the pieces of a key or of a number
        self._growing = _Text()
        self._grew = False

    def feed(self, text: str) -> list[Field]:
        """Read the next piece. Returns each field that it ended, and the text that it left open."""
        text, self._rest = self._rest + text, ""
        found: list[Field] = []
        self._grew = False
        at = 0
        while at < len(text):
            at = self._state(self, text, at, found)
        if self._grew and self._state is _string:
            found.append(self._field(self._growing, growing=True))
        return found

    def _step(self, kind: str, value: Any) -> None:
        self.growth.steps.append((kind, self._path[-1] if self._path else _ROOT, value))

    def _field(self, text: _Text | None = None, *, growing: bool = False) -> Field:
        length = 0 if text is None else text.length
        return Field(tuple(self._path), growing, len(self.growth.steps), length)

    def _ended(self, at: int, found: list[Field], text: _Text | None = None) -> int:
        """Record that the value at the path is complete."""
        found.append(self._field(text))
        self._state = _next if self._lists else _over
        return at

    def _opened(self, is_list: bool) -> bool:
        """Record that a list or an object begins; return False if it is too deep."""
        if len(self._lists) >= DEPTH_LIMIT:
            return False
        self._step(_OPEN, list if is_list else dict)
        self._lists.append(is_list)
        self._path.append(0 if is_list else "")
        self._state = _first_item if is_list else _first_key
        return True

    def _closed(self, at: int, found: list[Field]) -> int:
        self._lists.pop()
        self._path.pop()
        self.growth.steps.append((_CLOSE, None, None))
        return self._ended(at, found)

    def _text(self, text: str, at: int) -> tuple[str | None, int]:
        """Return the next characters of a string, and where they end; `None` if it is not a string.

        The position is -1 if the string goes on in the next piece.
        """
        end = _TEXT.match(text, at).end()  # type: ignore[union-attr]  # it may be empty
        piece = text[at:end]
        if "\\" in piece:
            piece = msgspec.json.decode(f'"{piece}"')
        if end < len(text) and text[end] != '"':
            if not _ESCAPE_BEGINS.fullmatch(text, end):
                return None, end
            self._rest, end = text[end:], len(text)
        return piece, -1 if end == len(text) else end


# --- states: each reads something at a position, and returns the next position --------------------


def _fail(growing: GrowingJSON, text: str) -> int:
    growing._state = _over
    return len(text)


def _over(growing: GrowingJSON, text: str, at: int, found: list[Field]) -> int:
    return len(text)


def _begin(growing: GrowingJSON, text: str, at: int, found: list[Field]) -> int:
    """Skip a code fence."""
    begun = text.lstrip()
    head = begun[len(_FENCE) :]
    if not begun.startswith(_FENCE):
        if begun and not _FENCE.startswith(begun):
            growing._state = _value
            return len(text) - len(begun)
    elif len(head) >= len(_WORD) or not _WORD.startswith(head.lower()):
        has_word = head[: len(_WORD)].lower() == _WORD
        growing._state = _value
        return len(text) - len(head) + (len(_WORD) if has_word else 0)
    growing._rest = begun
    return len(text)


def _past_space(text: str, at: int) -> int:
    return _SPACE.match(text, at).end()  # type: ignore[union-attr]  # it may be empty


def _value(growing: GrowingJSON, text: str, at: int, found: list[Field]) -> int:
    at = _past_space(text, at)
    if at == len(text):
        return at
    letter = text[at]
    if letter == '"':
        growing._growing = _Text()
        growing._step(_SET, growing._growing)
        growing._state = _string
        growing._grew = True
        return at + 1
    if letter == "{" or letter == "[":
        return at + 1 if growing._opened(letter == "[") else _fail(growing, text)
    growing._state = _scalar
    return at


def _first_item(growing: GrowingJSON, text: str, at: int, found: list[Field]) -> int:
    at = _past_space(text, at)
    if at == len(text):
        return at
    if text[at] == "]":
        return growing._closed(at + 1, found)
    growing._state = _value
    return at


def _string(growing: GrowingJSON, text: str, at: int, found: list[Field]) -> int:
    piece, end = growing._text(text, at)
    if piece is None:
        return _fail(growing, text)
    grown = growing._growing
    if piece:
        grown.add(piece)
        growing._grew = True
    if end < 0:
        return len(text)
    grown.end()
    return growing._ended(end + 1, found, grown)


def _scalar(growing: GrowingJSON, text: str, at: int, found: list[Field]) -> int:
    """Read a number, `true`, `false` or `null`. It ends at the first other character."""
    end = _SCALAR.match(text, at).end()  # type: ignore[union-attr]  # it may be empty
    growing._texts.append(text[at:end])
    if end == len(text):
        return end
    word, growing._texts = "".join(growing._texts), []
    try:
        value = msgspec.json.decode(word)
    except msgspec.DecodeError:
        return _fail(growing, text)
    growing._step(_SET, value)
    return growing._ended(end, found)


def _first_key(growing: GrowingJSON, text: str, at: int, found: list[Field]) -> int:
    at = _past_space(text, at)
    if at < len(text) and text[at] == "}":
        return growing._closed(at + 1, found)
    return _key(growing, text, at, found)


def _key(growing: GrowingJSON, text: str, at: int, found: list[Field]) -> int:
    at = _past_space(text, at)
    if at == len(text):
        return at
    if text[at] != '"':
        return _fail(growing, text)
    growing._state = _key_text
    return at + 1


def _key_text(growing: GrowingJSON, text: str, at: int, found: list[Field]) -> int:
    piece, end = growing._text(text, at)
    if piece is None:
        return _fail(growing, text)
    growing._texts.append(piece)
    if end < 0:
        return len(text)
    growing._path[-1], growing._texts = "".join(growing._texts), []
    growing._state = _colon
    return end + 1


def _colon(growing: GrowingJSON, text: str, at: int, found: list[Field]) -> int:
    at = _past_space(text, at)
    if at == len(text):
        return at
    if text[at] != ":":
        return _fail(growing, text)
    growing._state = _value
    return at + 1


def _next(growing: GrowingJSON, text: str, at: int, found: list[Field]) -> int:
    at = _past_space(text, at)
    if at == len(text):
        return at
    letter, is_list = text[at], growing._lists[-1]
    if letter == ("]" if is_list else "}"):
        return growing._closed(at + 1, found)
    if letter != ",":
        return _fail(growing, text)
    if is_list:
        growing._path[-1] += 1  # type: ignore[operator]  # that of a list is an index
    growing._state = _value if is_list else _key
    return at + 1
