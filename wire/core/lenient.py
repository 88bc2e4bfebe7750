"""Decodes JSON to structs leniently: one field of a wrong type does not lose the response."""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Callable
from types import UnionType
from typing import Annotated, Any, TypeAlias, TypeVar, Union, get_args, get_origin

import msgspec

from wire.core.decoders import convert, decoder
from wire.core.errors import LimitError
from wire.core.json_values import are_sound, merged_json
from wire.core.limits import READ_DEPTH, is_deeper
from wire.core.memory import (
    PICKLED_DEPTH,
    Note,
    WireStruct,
    built,
    encode,
    integer,
    remember,
    well_formed_utf8,
    with_notes,
)

S = TypeVar("S", bound=msgspec.Struct)
W = TypeVar("W", bound=WireStruct)

NOT_STRICT = "_not_strict"
"""Metadata key of a struct whose bytes are not strict JSON: a lone surrogate, NaN, invalid UTF-8.

`strict_json` converts such bytes before they are sent or split into parts.
"""


class Unreadable(ValueError):
    """The input is not a JSON object."""


def decoded(data: bytes, kind: type[W]) -> W:
    """Decode JSON to a struct and attach its bytes as metadata.

    A value of another type than its field's is left out of the struct; `wire.unknown` reports it,
    and a note of the struct names its path. Raises `Unreadable` if the input is not a JSON object,
    `LimitError` if it is nested too deeply.
    """
    if len(data) > READ_DEPTH and is_deeper(data, READ_DEPTH):
        raise LimitError("JSON is nested too deeply", raw=data)
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
        raise Unreadable("not a JSON object")
    misfits: list[Note] = []
    read = remember(fitted(value, kind, misfits), data)
    if misfits:
        with_notes(read, misfits)
    if not _is_strict(data):
        vars(read)[NOT_STRICT] = True
    return read


WireStruct._decode = staticmethod(decoded)


def plain(body: bytes) -> Any:
    """Decode JSON to plain values; `None` if it is malformed."""
    body = body.removeprefix(b"\xef\xbb\xbf")
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    try:
        return _loads(body, float)
    except (ValueError, RecursionError):
        return None


def odd_text(raw: bytes | None, *path: str | int) -> str:
    """Return the text for a value of a wrong type at a path in received bytes.

    A host may send an object where the wire has a text, such as a structured answer. The text is
    then the JSON of the object. Returns `""` if there is no value, or an empty list or object.

    >>> odd_text(b'{"content": {"city": "Paris"}}', "content")
    '{"city":"Paris"}'
    """
    value: Any = plain(raw) if raw else None
    for step in path:
        try:
            value = value[step]
        except (LookupError, TypeError):
            return ""
    if isinstance(value, str):
        return well_formed(value)
    if value in (None, [], {}):
        return ""
    return well_formed(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def strict_json(data: bytes) -> bytes:
    """Convert to strict JSON: valid UTF-8, no lone surrogates, `null` for NaN and infinity.

    >>> strict_json(b'{"logprob": -Infinity}')
    b'{"logprob": null}'

    Strict JSON is returned unchanged. Malformed JSON becomes `null`.
    """
    return (
        data
        if _is_strict(data)
        else well_formed_utf8(json.dumps(_readable(data), ensure_ascii=False))
    )


Fields: TypeAlias = dict[str, Any]
"""The members of a JSON object, each value as its received bytes."""


def fields_of(raw: Any) -> Fields:
    """Split an object into its members, each as bytes; empty if `raw` is not an object."""
    try:
        fields: Fields = decoder(dict[str, msgspec.Raw]).decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, TypeError):
        value = _readable(raw)
        fields = (
            {well_formed(key): _ascii_json(item) for key, item in value.items()}
            if isinstance(value, dict)
            else {}
        )
    return fields


def items_of(raw: Any) -> list[msgspec.Raw]:
    """Split a list into its items, each as bytes; empty if `raw` is not a list."""
    try:
        items: list[msgspec.Raw] = decoder(list[msgspec.Raw]).decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, TypeError):
        value = _readable(raw)
        items = list(map(_ascii_json, value)) if isinstance(value, list) else []
    return items


def _ascii_json(value: Any) -> msgspec.Raw:
    # In ASCII, because JSON escapes can hold a lone half of a surrogate pair and UTF-8 cannot. The
    # other half may be in the next chunk; replacing this one would destroy the character.
    return msgspec.Raw(json.dumps(value).encode())


def _readable(raw: Any) -> Any:
    """Decode JSON to plain values; `None` for NaN, infinity and malformed JSON."""
    if not isinstance(raw, (bytes, msgspec.Raw)):
        return None
    try:
        return json.loads(
            bytes(raw).decode("utf-8", "replace"),
            parse_int=_finite_integer,
            parse_float=_finite,
            parse_constant=_null,
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
    # The standard library accepts lone surrogates, and the NaN of servers that encode with it.
    # msgspec rejects both. Bytes that are not UTF-8 become U+FFFD.
    return json.loads(data.decode("utf-8", "replace"), parse_int=integer, parse_float=parse_float)


def _finite(digits: str) -> float | None:
    value = float(digits)
    return value if math.isfinite(value) else None


def _finite_integer(digits: str) -> int | float | None:
    value = integer(digits)
    return value if isinstance(value, int) or math.isfinite(value) else None


def _null(constant: str) -> None:
    """Replace NaN and infinity by `None`."""


def portable(value: Any) -> Any:
    """Make a value from received JSON portable: it can be saved and sent to any vendor (R-44).

    >>> portable({"a": [float("nan"), 2**64, "\\ud83d"]})
    {'a': [None, 18446744073709551616, '�']}

    NaN, infinity and integers of 640 digits become `None`, lone surrogates U+FFFD. A value of more
    than 200 levels becomes its JSON text: it could not be copied or pickled. The received bytes
    keep what was there.
    """
    if are_sound((value,)) and not _is_deep(value):
        return value
    data = well_formed_utf8(json.dumps(value, ensure_ascii=False))
    if is_deeper(data, PICKLED_DEPTH):
        return data.decode()
    return json.loads(data, parse_int=_finite_integer, parse_float=_finite, parse_constant=_null)


def portable_fields(received: Any) -> Any:
    """Return received structs as portable JSON values; see `portable`.

    An object stays an object: of one that is too deep, each field becomes portable by itself.
    """
    fields = plain_fields(received)
    made = portable(fields)
    if isinstance(fields, dict) and isinstance(made, str):
        return {well_formed(key): portable(value) for key, value in fields.items()}
    return made


def received_json(received: Any) -> bytes:
    """Encode received structs; a lone surrogate, which JSON cannot hold, becomes U+FFFD (R-08)."""
    try:
        return encode(received)
    except UnicodeEncodeError:
        return merged_json(plain_fields(received))


def plain_fields(received: Any) -> Any:
    """Return received structs as plain JSON values."""
    try:
        return plain(encode(received))
    except UnicodeEncodeError:  # half a surrogate pair in a field, which msgspec cannot encode
        return built(received, lambda raw: plain(bytes(raw)))


def _is_deep(value: Any) -> bool:
    return isinstance(value, (dict, list)) and is_deeper(msgspec.json.encode(value), PICKLED_DEPTH)


def number(digits: str) -> float:
    """Parse a number. `3.0` becomes the integer 3, because some servers send counts so."""
    value = float(digits)
    return int(value) if value.is_integer() and abs(value) < 1 << 53 else value


def fitted(plain: Any, kind: type[S], misfits: list[Note] | None = None) -> S:
    """Convert plain values to a struct; values of a wrong type are removed from `plain`.

    Each gets a note in `misfits`. Raises `Unreadable` if the rest does not fit either.
    """
    found: list[Note] = [] if misfits is None else misfits
    try:
        return _fitted(plain, kind, found)
    except UnicodeEncodeError:  # a lone surrogate in a key; no struct can have it
        plain = json.loads(well_formed_utf8(json.dumps(plain, ensure_ascii=False)))
        return _fitted(plain, kind, found)


def _fitted(plain: Any, kind: type[S], misfits: list[Note]) -> S:
    read: S
    try:
        read = convert(plain, kind)
        return read
    except msgspec.ValidationError:
        _drop_misfits(plain, kind, "", misfits)
    try:
        read = convert(plain, kind)
        return read
    except msgspec.ValidationError as cause:
        raise Unreadable(str(cause)) from None


def _drop_misfits(value: Any, kind: Any, path: str, misfits: list[Note]) -> None:
    """Remove the fields with values of a wrong type, at any depth, and note each.

    A list or a map with an item of a wrong type is removed with all its items. Each value is
    converted once for each struct around it. Converting the outermost value again after each field
    would take seconds for a list of a thousand structs with one odd field each.
    """
    if get_origin(kind) is Annotated:
        kind = get_args(kind)[0]
    for type_ in get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,):
        if isinstance(value, list) and get_origin(type_) is list:
            (item_type,) = get_args(type_)
            for index, item in enumerate(value):
                _misfit(item, item_type, f"{path}[{index}]", misfits)
        elif isinstance(value, dict) and get_origin(type_) is dict:
            for key, item in value.items():
                _misfit(item, get_args(type_)[1], f"{path}.{key}", misfits)
        elif isinstance(value, dict) and isinstance(type_, type(msgspec.Struct)):
            for name, field_type in _field_types(type_):
                at = f"{path}.{name}" if path else name
                if name in value and (problem := _misfit(value[name], field_type, at, misfits)):
                    del value[name]
                    misfits.append(Note(at, f"not read: {problem}"))


def _misfit(value: Any, kind: Any, path: str, misfits: list[Note]) -> str:
    """Remove the misfits in a value; return why it still has not the type, or an empty text."""
    problem = ""
    for last in (False, True):
        try:
            convert(value, kind)
            return ""
        except msgspec.ValidationError as cause:
            problem = str(cause).partition(" - at `$")[0]
            if not last:
                _drop_misfits(value, kind, path, misfits)
    return problem[:1].lower() + problem[1:]


@functools.cache
def _field_types(kind: type[msgspec.Struct]) -> tuple[tuple[str, Any], ...]:
    """Return the key and the type of each field of a struct."""
    return tuple((each.encode_name, each.type) for each in msgspec.structs.fields(kind))


class Halves:
    """Joins surrogate pairs that a stream splits: the first half waits for the second (R-08).

    A server may cut a character outside the basic plane into two JSON escapes, one in each chunk.
    Encoding either alone would fail, and replacing it would lose the character.

    >>> halves = Halves()
    >>> halves.feed("a\\ud83d"), halves.feed("\\ude00b"), halves.rest
    ('a', '😀b', '')
    """

    def __init__(self) -> None:
        self._held = ""

    def feed(self, text: str) -> str:
        """Return the text that is complete. A lone surrogate becomes U+FFFD."""
        if not self._held and (text.isascii() or _is_well_formed(text)):
            return text
        text, self._held = self._held + text, ""
        if "\ud800" <= text[-1:] <= "\udbff":
            text, self._held = text[:-1], text[-1]
        return well_formed_utf8(text).decode()

    @property
    def rest(self) -> str:
        """U+FFFD if a first half still waits at the end of the stream; otherwise empty."""
        return "\ufffd" if self._held else ""


def well_formed(text: str) -> str:
    """Replace lone surrogates by U+FFFD, so that UTF-8 can encode the text (R-08)."""
    return text if text.isascii() or _is_well_formed(text) else well_formed_utf8(text).decode()


def _is_well_formed(text: str) -> bool:
    try:
        # In pieces, because the UTF-8 of megabytes at once would waste memory.
        for start in range(0, len(text), _ENCODED_CHARACTERS):
            text[start : start + _ENCODED_CHARACTERS].encode()
    except UnicodeEncodeError:
        return False
    return True


_ENCODED_CHARACTERS = 64 * 1024
