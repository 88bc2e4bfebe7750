"""JSON as structs, however odd its values are: one field that is not as it should be does not cost
the answer.
"""

from __future__ import annotations

import json
import re
from typing import Any, TypeVar

import msgspec

from wire.core.decoders import convert, decoder
from wire.core.memory import WireStruct, remember, sayable
from wire.errors import LimitError

S = TypeVar("S", bound=msgspec.Struct)
W = TypeVar("W", bound=WireStruct)

_PLACE = re.compile(r"([^.\[\]]+)|\[(\d+|\.\.\.)\]")
_MOST_MISFITS = 100


class Unreadable(ValueError):
    """What came is no JSON object."""


def decoded(data: bytes, kind: type[W]) -> W:
    """JSON as a struct, with its bytes beside it.

    A value of another type than its field's is left out of the struct, and `wire.unknown` tells it.
    Raises `Unreadable` for what is no JSON object, `LimitError` for what is nested too deeply.
    """
    try:
        read: W = decoder(kind).decode(data)
        return remember(read, data)
    except (msgspec.DecodeError, UnicodeDecodeError) as cause:
        problem: Exception = cause
    except RecursionError:
        raise LimitError("JSON is nested too deeply", raw=data) from None
    try:
        # Of the standard library, since it reads half a surrogate pair, and the NaN of servers that
        # write with it; bytes that are no UTF-8 become U+FFFD.
        plain = json.loads(data.decode("utf-8", "replace"), parse_float=number)
    except ValueError:
        raise Unreadable(str(problem)) from None
    except RecursionError:
        raise LimitError("JSON is nested too deeply", raw=data) from None
    if not isinstance(plain, dict):
        raise Unreadable("no object")
    try:
        return remember(fitted(plain, kind), data)
    except UnicodeEncodeError:  # half a surrogate pair in a key, where no struct can have it
        return remember(
            fitted(json.loads(sayable(json.dumps(plain, ensure_ascii=False))), kind), data
        )


def plain(body: bytes) -> Any:
    """JSON as plain values, `None` for what is none."""
    body = body.removeprefix(b"\xef\xbb\xbf")
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    try:
        return json.loads(body.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None


def number(digits: str) -> float:
    """A count that came as `3.0` is a count."""
    value = float(digits)
    return int(value) if value.is_integer() and abs(value) < 1 << 53 else value


def fitted(plain: Any, kind: type[S]) -> S:
    """The struct of what of `plain` fits it.

    Raises `Unreadable` if nothing does; `plain` is changed.
    """
    for _ in range(_MOST_MISFITS):
        try:
            read: S = convert(plain, kind)
            return read
        except msgspec.ValidationError as cause:
            words = str(cause)
            if not _drop(
                plain,
                [
                    key or number
                    for key, number in _PLACE.findall(words.rpartition("at `$")[2].rstrip("`"))
                ],
            ):
                raise Unreadable(words) from None
    raise Unreadable(f"more than {_MOST_MISFITS} values of other types than their fields'")


def _drop(plain: Any, steps: list[str]) -> bool:
    """Take the value at a place out of the object that has it; of a list or a map whose item does
    not fit, the whole.
    """
    while steps and not (steps[-1].isidentifier() and "..." not in steps):
        steps.pop()
    for step in steps[:-1]:
        plain = plain[int(step)] if isinstance(plain, list) else plain[step]
    return bool(steps) and plain.pop(steps[-1], None) is not None


class Halves:
    """Text in, text out that UTF-8 can say: half a surrogate pair waits for its other half (R-08).

    >>> halves = Halves()
    >>> halves.feed("a\\ud83d"), halves.feed("\\ude00b"), halves.rest
    ('a', '😀b', '')
    """

    def __init__(self) -> None:
        self._held = ""

    def feed(self, text: str) -> str:
        """Text that is complete; a half that stays alone becomes U+FFFD."""
        if not self._held and _is_sayable(text):
            return text
        text, self._held = self._held + text, ""
        if "\ud800" <= text[-1:] <= "\udbff":
            text, self._held = text[:-1], text[-1]
        return sayable(text).decode()

    @property
    def rest(self) -> str:
        """What stands for the half that still waits."""
        return "\ufffd" if self._held else ""


def said(text: str) -> str:
    """A text that UTF-8 can say."""
    return text if _is_sayable(text) else sayable(text).decode()


def _is_sayable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
