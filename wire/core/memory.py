"""What a struct remembers of the wire beside its fields: the bytes it came in, its account, the
notes of whoever built it.

Rules of this file:

- A struct that came from the wire remembers its bytes; one that you build does not, and neither
  does one made by `msgspec.structs.replace`. Structs are frozen, and the lists and dicts of a
  remembering struct are frozen with it: otherwise a change would be seen by the reader and not be
  sent.
- The memory lies beside the fields: equality, `repr` and plain encoding do not see it; copies and
  pickles keep it.
- `encode` is the one way to the wire. It puts remembered bytes in place of encoding, at every
  depth.
"""

from __future__ import annotations

import functools
import json
import operator
import re
import types
import typing
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, NoReturn, TypeVar

import msgspec

T = TypeVar("T")
B = TypeVar("B", bound="Beside")
S = TypeVar("S", bound="WireStruct")

RAW, ACCOUNT, NOTES, FINDINGS = "_raw", "_account", "_notes", "_findings"
_PLAIN_KEY = re.compile(r"[^.\[\]\"\\]+")
_BESIDE, _RAW_OF = operator.attrgetter("__dict__"), operator.itemgetter(RAW)


class Beside(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    repr_omit_defaults=True,
    dict=True,
):
    """Base of immutable structs that have members beside their fields: copies and pickles keep
    them, `msgspec.structs.replace` does not.
    """

    def __copy__(self: B) -> B:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        fields = {name: getattr(self, name) for name in self.__struct_fields__}
        return _restore, (type(self), fields, dict(self.__dict__))


def _restore(cls: type[B], fields: dict[str, Any], beside: dict[str, Any]) -> B:
    struct = cls(**fields)
    vars(struct).update(beside)
    return struct


class WireStruct(Beside, frozen=True, kw_only=True):
    """Base of every struct that travels: absent fields are `None` and are not sent, the bytes that
    it came in lie beside the fields.
    """

    remembers: ClassVar[bool] = False
    """Structs of this class may have bytes of their own inside a larger struct; `encode` looks for
    them there.
    """

    @property
    def raw(self) -> bytes | None:
        """The bytes this struct came in, or `None` if it was built here."""
        return bytes(kept_bytes(self)) if RAW in self.__dict__ else None


class Note(msgspec.Struct, frozen=True):
    """One thing that was changed, added or dropped on the way to the wire: where, and what."""

    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message


PARTIAL = Note("", "partial: the answer was not at its end")
"""In the notes of an answer that was folded before its stream ended, so that nobody takes it for a
whole one: `PARTIAL in wire.notes(answer)`."""


class Noted(list[T]):
    """A list that a builder made, with the notes of what it changed."""

    def __init__(self, items: typing.Iterable[T] = (), notes: typing.Iterable[Note] = ()) -> None:
        super().__init__(items)
        self.notes = tuple(notes)


def notes(built: object) -> tuple[Note, ...]:
    """Return what builders changed, added or dropped while they made `built`; often nothing.

    >>> from wire import gemini
    >>> config = gemini.GenerationConfig(
    ...     response_schema=gemini.schema({"type": "object", "additionalProperties": False})
    ... )
    >>> request = gemini.GenerateContentRequest(contents=[], generation_config=config)
    >>> for note in notes(request):
    ...     print(note)
    generationConfig.responseSchema.additionalProperties: dropped, the Schema proto has no such keyword

    `built` is what a builder returned, a request that holds it, or a call of that request. Each
    path begins at `built`.
    """  # noqa: E501
    own = getattr(built, "notes", None)
    if own is None and isinstance(built, Beside):
        own = built.__dict__.get(NOTES)
    return tuple(own) if own is not None else tuple(_notes(built, ""))


def _notes(value: Any, path: str) -> Iterator[Note]:
    """Notes in a struct or a list. What has notes of its own reports all that is inside it."""
    if isinstance(value, Noted):
        yield from value.notes  # their paths begin at the request that the list is for
    elif isinstance(value, Beside):
        own = value.__dict__.get(NOTES)
        if own is not None:
            yield from (Note(_joined(path, each.path), each.message) for each in own)
        elif isinstance(value, WireStruct) and RAW not in value.__dict__:
            for name, field in zip(
                value.__struct_encode_fields__, value.__struct_fields__, strict=True
            ):
                inner = getattr(value, field)
                if isinstance(inner, _WITH_NOTES):
                    yield from _notes(inner, _joined(path, name))
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            # Turns have no notes of their own, and a history is long.
            if isinstance(item, WireStruct) and not item.remembers:
                yield from _notes(item, f"{path}[{index}]")


_WITH_NOTES = (Beside, list, tuple)


def _joined(path: str, step: str) -> str:
    return f"{path}.{step}" if path and step else path or step


def with_notes(built: B, found: typing.Iterable[Note]) -> B:
    """`built`, with the notes of its making beside it; a struct that has a field for them gets them
    there.
    """
    found = tuple(found)
    if "notes" not in built.__struct_fields__:
        # No notes are kept too: then nobody looks for notes inside it.
        vars(built)[NOTES] = found
    elif found:
        msgspec.structs.force_setattr(built, "notes", (*notes(built), *found))
    return built


# --- remembering ----------------------------------------------------------------------------------


def remember(struct: S, raw: msgspec.Raw | bytes) -> S:
    """Put the bytes beside the struct.

    A view on a larger buffer is copied, so that it does not keep the buffer alive.
    """
    vars(struct)[RAW] = raw.copy() if isinstance(raw, msgspec.Raw) else msgspec.Raw(raw)
    return struct


class Slice:
    """Bytes inside other bytes, not yet cut out: most answers are read, and few of them are sent
    back.
    """

    __slots__ = ("_cut", "_place")

    def __init__(self, cut: Callable[..., msgspec.Raw], *place: int) -> None:
        self._cut, self._place = cut, place

    def raw(self) -> msgspec.Raw:
        """The bytes."""
        return self._cut(*self._place)

    def __reduce__(self) -> tuple[type[msgspec.Raw], tuple[bytes]]:
        return msgspec.Raw, (bytes(self.raw()),)


def kept_bytes(struct: WireStruct) -> msgspec.Raw:
    """The bytes that a received struct remembers, as `encode` puts them into a body."""
    kept: msgspec.Raw | Slice = struct.__dict__[RAW]
    if isinstance(kept, Slice):
        vars(struct)[RAW] = kept = kept.raw()
    return kept


def _read_only(self: object, *_: object, **__: object) -> NoReturn:
    raise TypeError(
        "this came from the wire and is read-only, since its bytes are sent back as they "
        "came; change a copy"
    )


class FrozenList(list[T]):
    """A list of a remembering struct: equal to the list it is, but not to be changed."""

    __slots__ = ()

    def __reduce__(self) -> tuple[Any, ...]:
        return FrozenList, (list(self),)

    def __copy__(self) -> list[T]:
        return list(self)

    append = extend = insert = remove = pop = clear = sort = reverse = _read_only
    __setitem__ = __delitem__ = __iadd__ = __imul__ = _read_only


class FrozenDict(dict[str, Any]):
    """A JSON object of a remembering struct: equal to the dict it is, but not to be changed."""

    __slots__ = ()

    def __reduce__(self) -> tuple[Any, ...]:
        return FrozenDict, (dict(self),)

    def __copy__(self) -> dict[str, Any]:
        return dict(self)

    pop = popitem = clear = update = setdefault = _read_only
    __setitem__ = __delitem__ = __ior__ = _read_only


def freeze(value: T) -> T:
    """Lists and dicts in a received `value` made read-only, at every depth; structs are changed in
    place.
    """
    frozen: Any = value
    if isinstance(value, dict):
        frozen = FrozenDict(value)
        for key, item in value.items():
            if isinstance(item, (dict, list, WireStruct)):
                dict.__setitem__(frozen, key, freeze(item))
    elif isinstance(value, list):
        frozen = FrozenList(value)
        for index, item in enumerate(value):
            if isinstance(item, (dict, list, WireStruct)):
                list.__setitem__(frozen, index, freeze(item))
    elif isinstance(value, WireStruct):
        for name in _containers(type(value)):
            item = getattr(value, name)
            if item is not None:
                inner = freeze(item)
                if inner is not item:
                    msgspec.structs.force_setattr(value, name, inner)
    kept: T = frozen
    return kept


def shared(struct: S) -> S:
    """`struct` made read-only, for many requests to hold it, with an empty dict `FINDINGS`.

    Readers keep there what they found out about it, which stays true since it never changes.
    """
    vars(freeze(struct))[FINDINGS] = {}
    return struct


@functools.cache
def _containers(cls: type[WireStruct]) -> tuple[str, ...]:
    """Names of the fields of `cls` that can hold a list or a dict, at whatever depth."""
    return tuple(
        name
        for name, hint in typing.get_type_hints(cls).items()
        if name in cls.__struct_fields__ and _can_contain(hint, (cls,))
    )


def _can_contain(hint: Any, passed: tuple[type[WireStruct], ...]) -> bool:
    if hint is Any or typing.get_origin(hint) in (list, dict):
        return True
    if isinstance(hint, type) and issubclass(hint, WireStruct) and hint not in passed:
        return any(
            _can_contain(inner, (*passed, hint)) for inner in typing.get_type_hints(hint).values()
        )
    return any(_can_contain(inner, passed) for inner in typing.get_args(hint))


# --- encoding -------------------------------------------------------------------------------------


_encoder = msgspec.json.Encoder()


def encode(value: Any) -> bytes:
    """JSON bytes of `value`, remembered bytes in place of encoding.

    Raises `TypeError` or `UnicodeEncodeError` for what JSON has not.
    """
    try:
        return _encoder.encode(_lowered(value))
    except TypeError:  # a slice that was not cut out yet, or something that JSON cannot say
        return _encoder.encode(_lowered(value, cut=True))


def _lowered(value: Any, cut: bool = False) -> Any:
    """`value` with remembered bytes in place of the structs that have them; the same object if
    nothing in it has.
    """
    if isinstance(value, WireStruct):
        if RAW in value.__dict__:
            return kept_bytes(value)
        changed = {}
        for name in _holders(type(value)):
            item = getattr(value, name)
            if item is not None:
                lowered = _lowered(item, cut)
                if lowered is not item:
                    changed[name] = lowered
        return msgspec.structs.replace(value, **changed) if changed else value
    if isinstance(value, (list, tuple)):
        try:  # a history of messages that all came from the wire costs one look at each
            if not cut:
                return list(map(_RAW_OF, map(_BESIDE, value)))
        except (AttributeError, KeyError):
            pass
        items = [_lowered(item, cut) if isinstance(item, _HOLDERS) else item for item in value]
        return items if any(map(operator.is_not, items, value)) else value
    if isinstance(value, dict):
        entries = {
            key: _lowered(item, cut) if isinstance(item, _HOLDERS) else item
            for key, item in value.items()
        }
        return entries if any(map(operator.is_not, entries.values(), value.values())) else value
    return value


_HOLDERS = (WireStruct, list, tuple, dict)


@functools.cache
def _holders(cls: type[WireStruct]) -> tuple[str, ...]:
    """Names of the fields of `cls` in which a remembering struct can be, at whatever depth."""
    hints = typing.get_type_hints(cls)
    return tuple(
        name
        for name in cls.__struct_fields__
        if any(_reaches(inner, {cls}) for inner in _structs(hints[name]))
    )


def _reaches(cls: type[WireStruct], passed: set[type[WireStruct]]) -> bool:
    if cls.remembers or cls in passed:
        return cls.remembers
    hints = typing.get_type_hints(cls)
    return any(
        _reaches(inner, passed | {cls})
        for name in cls.__struct_fields__
        for inner in _structs(hints[name])
    )


def _structs(hint: Any) -> Iterator[type[WireStruct]]:
    if isinstance(hint, type) and not isinstance(hint, types.GenericAlias):
        if issubclass(hint, WireStruct):
            yield hint
    else:
        for inner in typing.get_args(hint):
            yield from _structs(inner)


def sayable(text: str) -> bytes:
    """UTF-8 of a text in which halves of surrogate pairs stand: neighbours are joined, one alone
    becomes U+FFFD (R-08).
    """
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


# --- unknown keys ---------------------------------------------------------------------------------


def unknown(struct: WireStruct) -> list[tuple[str, Any]]:
    """Keys of the received JSON that the struct has no field for: `[(json path, value), ...]`, in
    document order.

    So are values of another type than their field's, which a lenient reader left out. A `null` says
    no more than an absent field. Looked up on demand in the remembered bytes; a struct that was
    built here has none.
    """
    raw = struct.raw if isinstance(struct, WireStruct) else None
    # Of the standard library, since it reads half a surrogate pair as well.
    return (
        []
        if raw is None
        else list(
            _unknown(struct, json.loads(raw.decode("utf-8", "replace"), parse_int=integer), "")
        )
    )


def integer(digits: str) -> int | float:
    """An integer of JSON; one that `int` may refuse for its length becomes infinity."""
    # `int` raises ValueError above a number of digits that the user can set, 640 at the least.
    return int(digits) if len(digits) < 640 else float(digits)


def key_path(path: str, key: str) -> str:
    """Return the JSON path of a key below `path`; a key that would be ambiguous stands in brackets.

    >>> key_path("labels", "team"), key_path("labels", "a.b")
    ('labels.team', 'labels["a.b"]')
    """
    if not _PLAIN_KEY.fullmatch(key):
        return f"{path}[{json.dumps(key, ensure_ascii=False)}]"
    return f"{path}.{key}" if path else key


def _unknown(typed: Any, plain: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(typed, WireStruct) and isinstance(plain, dict):
        fields = dict(zip(typed.__struct_encode_fields__, typed.__struct_fields__, strict=True))
        for key, value in plain.items():
            here = key_path(path, key)
            field = getattr(typed, fields[key]) if key in fields else None
            if key not in fields or (field is None and value is not None):
                yield here, value
            elif value is not None:
                yield from _unknown(field, value, here)
    elif isinstance(typed, list) and isinstance(plain, list):
        for index, (item, value) in enumerate(zip(typed, plain, strict=False)):
            yield from _unknown(item, value, f"{path}[{index}]")
    elif isinstance(typed, dict) and isinstance(plain, dict):
        for key, value in plain.items():
            yield from _unknown(typed.get(key), value, key_path(path, key))
