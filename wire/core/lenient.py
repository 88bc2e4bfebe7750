"""JSON as structs, however odd its values are: one field that is not as it should be does not cost
the answer.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

import msgspec

from wire.core.decoders import convert, decoder
from wire.core.memory import WireStruct, integer, remember, sayable
from wire.errors import LimitError

S = TypeVar("S", bound=msgspec.Struct)
W = TypeVar("W", bound=WireStruct)

_PLACE = re.compile(r"([^.\[\]]+)|\[(\d+|\.\.\.)\]")
_MOST_MISFITS = 100

NOT_STRICT = "_not_strict"
"""Key beside a struct whose bytes are not strict JSON: half a surrogate pair, NaN, no UTF-8.

`strict_json` makes of them what may be sent or cut into parts.
"""


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
        value = _loads(data, number)
    except ValueError:
        raise Unreadable(str(problem)) from None
    except RecursionError:
        raise LimitError("JSON is nested too deeply", raw=data) from None
    if not isinstance(value, dict):
        raise Unreadable("no object")
    read = remember(fitted(value, kind), data)
    if not _is_strict(data):
        vars(read)[NOT_STRICT] = True
    return read


def plain(body: bytes) -> Any:
    """JSON as plain values, `None` for what is none."""
    body = body.removeprefix(b"\xef\xbb\xbf")
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    try:
        return _loads(body, float)
    except (ValueError, RecursionError):
        return None


def strict_json(data: bytes) -> bytes:
    """The JSON that `data` means, as every reader takes it: UTF-8, whole surrogate pairs, and
    `null` in place of NaN and infinity. Bytes that are already so stay as they are.

    >>> strict_json(b'{"logprob": -Infinity}')
    b'{"logprob": null}'

    What is no JSON at all becomes `null`.
    """
    return data if _is_strict(data) else sayable(json.dumps(_readable(data), ensure_ascii=False))


Fields: TypeAlias = dict[str, Any]
"""The members of a JSON object, each as the bytes it came in."""


def fields_of(raw: Any) -> Fields:
    """The members of an object as bytes; empty for what is no object."""
    try:
        found: Fields = decoder(dict[str, msgspec.Raw]).decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, TypeError):
        value = _readable(raw)
        found = (
            {said(key): _written(item) for key, item in value.items()}
            if isinstance(value, dict)
            else {}
        )
    return found


def items_of(raw: Any) -> list[msgspec.Raw]:
    """The items of a list as bytes; empty for what is no list."""
    try:
        found: list[msgspec.Raw] = decoder(list[msgspec.Raw]).decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, TypeError):
        value = _readable(raw)
        found = list(map(_written, value)) if isinstance(value, list) else []
    return found


def _written(value: Any) -> msgspec.Raw:
    # In ASCII: half a surrogate pair stays, since the other half may come in the next chunk.
    return msgspec.Raw(json.dumps(value).encode())


def _readable(raw: Any) -> Any:
    """JSON as plain values, with `None` for NaN and infinity and for what is no JSON."""
    if not isinstance(raw, (bytes, msgspec.Raw)):
        return None
    try:
        return json.loads(
            bytes(raw).decode("utf-8", "replace"),
            parse_int=integer,
            parse_float=_finite,
            parse_constant=lambda _: None,
        )
    except (ValueError, RecursionError):
        return None


def _is_strict(data: bytes) -> bool:
    # A `Raw` is checked against the grammar of JSON without being built; its UTF-8 is not checked.
    try:
        decoder(msgspec.Raw).decode(data)
        data.decode()
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return True


def _loads(data: bytes, parse_float: Callable[[str], float]) -> Any:
    # The standard library reads half a surrogate pair, and the NaN of servers that write with it.
    # msgspec reads neither. Bytes that are not UTF-8 become U+FFFD.
    return json.loads(data.decode("utf-8", "replace"), parse_int=integer, parse_float=parse_float)


def _finite(digits: str) -> float | None:
    value = float(digits)
    return value if math.isfinite(value) else None


def number(digits: str) -> float:
    """A count that came as `3.0` is a count."""
    value = float(digits)
    return int(value) if value.is_integer() and abs(value) < 1 << 53 else value


def fitted(plain: Any, kind: type[S]) -> S:
    """The struct of what of `plain` fits it.

    Raises `Unreadable` if nothing does; `plain` is changed.
    """
    try:
        return _fitted(plain, kind)
    except UnicodeEncodeError:  # half a surrogate pair in a key, where no struct can have it
        return _fitted(json.loads(sayable(json.dumps(plain, ensure_ascii=False))), kind)


def _fitted(plain: Any, kind: type[S]) -> S:
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
    while steps and (steps[-1].isdigit() or "..." in steps):
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
        if not self._held and (text.isascii() or _is_sayable(text)):
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
