"""Metadata of structs: the received bytes, the account of the call, the notes of the builder.

- A received struct keeps its bytes. A struct that you build has none, and neither has a copy made
  by `msgspec.structs.replace`. Received structs are read-only, with the lists and dicts in them: a
  change would be visible in the fields and absent from the bytes that are sent.
- Metadata is not a field: equality, `repr` and plain encoding ignore it; copies and pickles keep
  it.
- Requests are encoded by `encode` only. It writes the received bytes of a struct instead of
  encoding its fields, and extra keys beside the fields, at every depth.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import json
import operator
import sys
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, TypeVar

import msgspec

from wire.core.decoders import decoder
from wire.core.errors import WireError
from wire.core.lazy import lazy_pattern
from wire.core.limits import is_deeper
from wire.core.printable import printable_line

if TYPE_CHECKING:
    from wire.core.account import Account

T = TypeVar("T")
B = TypeVar("B", bound="MetadataStruct")
S = TypeVar("S", bound="WireStruct")

RAW, ACCOUNT, NOTES, FINDINGS = "_raw", "_account", "_notes", "_findings"
TIER = "_tier"
"""Metadata key of a reply whose tier of service the response does not say."""
WHOLE = "_whole"
"""Metadata key of a chunk that is a complete response, sent in place of a stream."""
COMPLETE = "_complete"
"""Metadata key of a received struct whose fields hold all of its JSON: it has no unknown keys and
no nulls.
"""
_PLAIN_KEY = lazy_pattern(r"[^.\[\]\"\\]+")

raw_of: Callable[[WireStruct], msgspec.Raw | Slice | None] = operator.attrgetter(RAW)
"""The received bytes of a struct, or where to copy them from; `None` if it was not received.

Most structs of a request have no metadata. To look into `__dict__` would make a dict for each.
"""


class MetadataStruct(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    repr_omit_defaults=True,
    dict=True,
):
    """Base of immutable structs with metadata, which is stored in `__dict__`.

    Copies and pickles keep the metadata; `msgspec.structs.replace` does not.
    """

    def __copy__(self: B) -> B:
        return self

    def __repr__(self) -> str:
        return msgspec.Struct.__repr__(self._shown())

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        return msgspec.Struct.__rich_repr__(self._shown())

    def _shown(self: B) -> B:
        """Return itself, or a copy without credentials."""
        hidden = self._hidden()
        if not hidden:
            return self
        # No checks here: a traceback may also show a struct that is not fully built.
        shown: B = msgspec.Struct.__copy__(self)  # type: ignore[attr-defined]
        for name, value in hidden.items():
            msgspec.structs.force_setattr(shown, name, value)
        return shown

    def _hidden(self) -> dict[str, Any]:
        """Return the fields that hold credentials, with `***` in place of their values."""
        from wire.core.secret_fields import hidden_fields  # few programs print a struct

        return hidden_fields(self)

    def __reduce__(self) -> tuple[Any, ...]:
        fields = {name: getattr(self, name) for name in self.__struct_fields__}
        return _restore, (type(self), fields, dict(self.__dict__))


def _restore(cls: type[B], fields: dict[str, Any], metadata: dict[str, Any]) -> B:
    struct = cls(**fields)
    vars(struct).update(metadata)
    return struct


PICKLED_DEPTH = 200
"""Levels of JSON that are copied and pickled as Python values. Both take two frames for each."""


def _restore_deep(
    decode: Callable[[bytes, type[S]], S], cls: type[S], raw: bytes, metadata: dict[str, Any]
) -> S:
    struct = decode(raw, cls)
    vars(struct).update(metadata)
    return struct


class WireStruct(MetadataStruct, frozen=True, kw_only=True):
    """Base of the structs of all wires. A field that is `None` is absent and not sent.

    A received struct has its bytes as metadata.
    """

    remembers: ClassVar[bool] = False
    """Whether a struct of this class may keep its own bytes inside a larger struct. `encode`
    searches for such structs.
    """
    _raw: ClassVar[msgspec.Raw | Slice | None] = None
    _decode: ClassVar[Callable[[bytes, type[Any]], Any]]
    """Decodes received bytes to a struct; `wire.core.lenient` sets it."""

    @property
    def raw(self) -> bytes | None:
        """The received bytes of this struct; `None` if it was not received."""
        return bytes(kept_bytes(self)) if self._raw is not None else None

    def __deepcopy__(self: S, memo: dict[int, Any]) -> S:
        if self._raw is not None:  # read-only, so a copy could not differ
            return self
        import copy

        fields = {name: copy.deepcopy(getattr(self, name), memo) for name in self.__struct_fields__}
        return _restore(type(self), fields, dict(self.__dict__))

    def __reduce__(self) -> tuple[Any, ...]:
        raw = self.raw
        if raw is not None and is_deeper(raw, PICKLED_DEPTH):
            metadata = {name: value for name, value in self.__dict__.items() if name != RAW}
            return _restore_deep, (type(self)._decode, type(self), raw, metadata)
        return super().__reduce__()


class Note(msgspec.Struct, frozen=True):
    """Reports one thing that was changed, added or dropped: its path, and a message.

    >>> print(Note("tools[0].name", "renamed to get_weather"))
    tools[0].name: renamed to get_weather
    """

    path: str
    """JSON path of the value; empty for the request or response itself."""
    message: str
    """The change, and its reason."""

    def __str__(self) -> str:
        text = f"{self.path}: {self.message}" if self.path else self.message
        return printable_line(text)


PARTIAL = Note("", "partial: the response is incomplete")
"""Marks a response that was folded before its stream ended: `PARTIAL in wire.notes(response)`."""


class Noted(list[T]):
    """A list made by a builder, with the notes of the builder."""

    def __init__(self, items: typing.Iterable[T] = (), notes: typing.Iterable[Note] = ()) -> None:
        super().__init__(items)
        self.notes: tuple[Note, ...] = tuple(notes)


def notes(built: object) -> tuple[Note, ...]:
    """Return the notes on changes, additions and omissions while `built` was built.

    >>> from wire import gemini
    >>> config = gemini.GenerationConfig(
    ...     response_schema=gemini.schema({"type": "object", "additionalProperties": False})
    ... )
    >>> request = gemini.GenerateContentRequest(contents=[], generation_config=config)
    >>> for note in notes(request):
    ...     print(note.path, note.message, sep="\\n")
    generationConfig.responseSchema.additionalProperties
    dropped, the Schema proto has no such keyword

    `built` is the result of a builder, a request that contains it, or a call of that request. Each
    path begins at `built`.
    """
    own = getattr(built, "notes", None)
    if own is None and isinstance(built, MetadataStruct):
        own = built.__dict__.get(NOTES)
    return tuple(own) if own is not None else tuple(_notes(built, ""))


def _notes(value: Any, path: str) -> Iterator[Note]:
    """Yield the notes in a struct or a list. Notes of a struct cover all values inside it."""
    if isinstance(value, Noted):
        yield from value.notes  # their paths begin at the request that gets the list
    elif isinstance(value, MetadataStruct):
        own = value.__dict__.get(NOTES)
        if own is not None:
            yield from (Note(_joined(path, each.path), each.message) for each in own)
        elif isinstance(value, WireStruct) and raw_of(value) is None:
            fields = msgspec.structs.astuple(value)
            for name, inner in zip(value.__struct_encode_fields__, fields, strict=True):
                # Most of the fifty fields of a request are `None`.
                if inner is not None and isinstance(inner, _WITH_NOTES):
                    yield from _notes(inner, _joined(path, name))
    elif isinstance(value, (list, tuple)):
        # Messages have no notes, and a history is long, so they are skipped.
        kinds = [
            kind
            for kind in set(map(type, value))
            if issubclass(kind, WireStruct) and not kind.remembers
        ]
        for index, item in enumerate(value) if kinds else ():
            if type(item) in kinds:
                yield from _notes(item, f"{path}[{index}]")


_WITH_NOTES = (MetadataStruct, list, tuple)


def _joined(path: str, step: str) -> str:
    return f"{path}.{step}" if path and step else path or step


def with_notes(built: B, added: typing.Iterable[Note]) -> B:
    """Add notes to `built`: to its field `notes` if it has one, otherwise as metadata."""
    added = tuple(added)
    if "notes" not in built.__struct_fields__:
        # An empty tuple is stored too: with it, `notes` does not search the fields.
        vars(built)[NOTES] = (*built.__dict__.get(NOTES, ()), *added)
    elif added:
        msgspec.structs.force_setattr(built, "notes", (*notes(built), *added))
    return built


def change_notes(built: object, change: Callable[[Any], Any]) -> None:
    """Replace the notes of a received struct by `change(notes)`.

    `change` gets their texts as one text before, and the notes only if it changes that: a long
    history has many notes, and hardly any has something to change.
    """
    if not isinstance(built, MetadataStruct):
        return
    is_field = "notes" in built.__struct_fields__
    own = built.notes if is_field else built.__dict__.get(NOTES)  # type: ignore[attr-defined]
    if not own:
        return
    texts = "\n".join([f"{each.path}\n{each.message}" for each in own])
    if change(texts) == texts:
        return
    if is_field:
        msgspec.structs.force_setattr(built, "notes", change(own))
    else:
        vars(built)[NOTES] = change(own)


# --- received bytes -------------------------------------------------------------------------------


def remember(struct: S, raw: msgspec.Raw | bytes) -> S:
    """Attach the received bytes to a struct.

    A view of a larger buffer is copied, so that it does not keep the buffer alive.
    """
    vars(struct)[RAW] = raw.copy() if isinstance(raw, msgspec.Raw) else msgspec.Raw(raw)
    return struct


class Slice:
    """A range of received bytes that is copied on first use.

    Most responses are never sent back, so most ranges are never copied.
    """

    __slots__ = ("_cut", "_position")

    def __init__(self, cut: Callable[..., msgspec.Raw], *position: int) -> None:
        self._cut, self._position = cut, position

    def raw(self) -> msgspec.Raw:
        """Copy the bytes: call `cut` with the position."""
        return self._cut(*self._position)

    def __reduce__(self) -> tuple[type[msgspec.Raw], tuple[bytes]]:
        return msgspec.Raw, (bytes(self.raw()),)


def kept_bytes(struct: WireStruct) -> msgspec.Raw:
    """Return the received bytes of a struct, in the form that `encode` writes into a body."""
    kept: msgspec.Raw | Slice = struct.__dict__[RAW]
    if isinstance(kept, Slice):
        vars(struct)[RAW] = kept = kept.raw()
    return kept


def _read_only(self: object, *_: object, **__: object) -> NoReturn:
    raise TypeError(
        "a received value is read-only, because its received bytes are sent back; change a copy"
    )


class FrozenList(list[T]):
    """A read-only list in a received struct. It equals a plain list with the same items."""

    __slots__ = ()

    def __reduce__(self) -> tuple[Any, ...]:
        return _pickled(self)

    def __copy__(self) -> list[T]:
        return list(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> FrozenList[T]:
        return self

    append: Any
    extend: Any
    insert: Any
    remove: Any
    pop: Any
    clear: Any
    sort: Any
    reverse: Any
    append = extend = insert = remove = pop = clear = sort = reverse = _read_only
    __setitem__: Any
    __delitem__: Any
    __iadd__: Any
    __imul__: Any
    __setitem__ = __delitem__ = __iadd__ = __imul__ = _read_only


class FrozenDict(dict[str, Any]):
    """A read-only dict in a received struct. It equals a plain dict with the same items."""

    __slots__ = ()

    def __reduce__(self) -> tuple[Any, ...]:
        return _pickled(self)

    def __copy__(self) -> dict[str, Any]:
        return dict(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> FrozenDict:
        return self

    pop: Any
    popitem: Any
    clear: Any
    update: Any
    setdefault: Any
    pop = popitem = clear = update = setdefault = _read_only
    __setitem__: Any
    __delitem__: Any
    __ior__: Any
    __setitem__ = __delitem__ = __ior__ = _read_only


def _pickled(value: Any) -> tuple[Any, ...]:
    """Return the pickle of a read-only container: plain values, or JSON if it is nested deeply."""
    plain = _thawed(value)
    try:
        data = json.dumps(plain)
    except (TypeError, ValueError):  # structs in it pickle themselves
        return freeze, (plain,)
    return (_frozen, (data,)) if is_deeper(data.encode(), PICKLED_DEPTH) else (freeze, (plain,))


def _frozen(data: str) -> Any:
    return freeze(json.loads(data))


def _thawed(value: Any) -> Any:
    """Replace read-only lists and dicts by plain ones."""
    if isinstance(value, dict):
        thawed: Any = {}
        for key, item in value.items():
            thawed[key] = _thawed(item)
    elif isinstance(value, list):
        thawed = []
        for item in value:
            thawed.append(_thawed(item))
    else:
        thawed = value
    return thawed


def freeze(value: T) -> T:
    """Make the lists and dicts in a received `value` read-only, at every depth.

    Returns the read-only value. Structs are changed in place.
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
    """Make a struct read-only, so that many requests can hold it, and attach an empty dict under
    the metadata key `FINDINGS`.

    Code that reads the struct caches there the values that it computed from it. The cache stays
    valid, because the struct never changes.
    """
    vars(freeze(struct))[FINDINGS] = {}
    return struct


@functools.cache
def _containers(cls: type[WireStruct]) -> tuple[str, ...]:
    """Return the names of the fields of `cls` that can hold a list or a dict, at any depth."""
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
    """Encode `value` as JSON; received structs are written as their received bytes.

    Raises `TypeError` or `UnicodeEncodeError` for a value that JSON cannot represent.
    """
    data = _encoder.encode(_lowered((value,))[0])
    # Extra keys are rare. The search for their mark is cheap, that for its first character cheaper
    # still; a walk through all structs is neither.
    if _EXTRA_CHARACTER in data and _EXTRA_MARK in data:
        return _encoder.encode(_with_extra_keys(value))
    return data


def built(value: Any, read: Callable[[msgspec.Raw], Any]) -> Any:
    """Return received structs as dicts, lists and scalars; `read` decodes their received bytes."""
    return msgspec.to_builtins(_lowered((value,))[0], enc_hook=read)


def _lowered(values: Sequence[Any]) -> Sequence[Any]:
    """Replace received structs in the values by their bytes; `values` itself if there are none.

    Values of one type are searched at once, field by field. A search in each message of a long
    history would take longer than encoding it.
    """
    kinds = set(map(type, values))
    if len(kinds) != 1:
        return _lowered_by_type(kinds, values)
    (kind,) = kinds
    if issubclass(kind, WireStruct):
        return _lowered_structs(kind, values)
    if not issubclass(kind, _CONTAINERS):
        return values
    is_dict = issubclass(kind, dict)
    inner = list(itertools.chain.from_iterable(map(dict.values, values) if is_dict else values))
    if len(values) > 1 and any(issubclass(each, _CONTAINERS) for each in set(map(type, inner))):
        # Of a list that contains itself, each level would have more items than the one before.
        alone = [_lowered((value,))[0] for value in values]
        return alone if any(map(operator.is_not, alone, values)) else values
    lowered = _lowered(inner)
    if lowered is inner:
        return values
    rest = iter(lowered)
    if is_dict:
        return [{key: next(rest) for key in value} for value in values]
    return [list(itertools.islice(rest, len(value))) for value in values]


def _lowered_structs(kind: type[WireStruct], structs: Sequence[Any]) -> Sequence[Any]:
    """Replace received structs in structs of one class, as `_lowered`."""
    raws = list(map(raw_of, structs))
    found = set(map(type, raws))
    if found == {msgspec.Raw}:
        return raws
    if found != {types.NoneType}:
        own = [each for each, raw in zip(structs, raws, strict=True) if raw is None]
        lowered = _lowered(own)
        if lowered is own and Slice not in found:
            return [each if raw is None else raw for each, raw in zip(structs, raws, strict=True)]
        rest = iter(lowered)
        return [
            next(rest) if raw is None else raw if type(raw) is msgspec.Raw else kept_bytes(each)
            for each, raw in zip(structs, raws, strict=True)
        ]
    for name, get in _holder_getters(kind):
        values = list(map(get, structs))
        lowered = _lowered(values) if any(values) else values
        if lowered is not values:
            structs = [
                each if new is old else msgspec.structs.replace(each, **{name: new})
                for each, old, new in zip(structs, values, lowered, strict=True)
            ]
    return structs


def _lowered_by_type(kinds: Iterable[type], values: Sequence[Any]) -> Sequence[Any]:
    """Replace received structs in values of several types, as `_lowered`."""
    for kind in kinds:
        if issubclass(kind, _HOLDERS):
            own = [value for value in values if type(value) is kind]
            lowered = _lowered(own)
            if lowered is not own:
                rest = iter(lowered)
                values = [next(rest) if type(value) is kind else value for value in values]
    return values


_CONTAINERS = (list, tuple, dict)
_HOLDERS = (WireStruct, *_CONTAINERS)


@functools.cache
def _holders(cls: type[WireStruct]) -> tuple[str, ...]:
    """Return the names of the fields of `cls` that can hold a struct with received bytes."""
    return tuple(
        name
        for name, inner in _structs_of_fields(cls).items()
        if any(_reaches(each, {cls}) for each in inner)
    )


@functools.cache
def _holder_getters(cls: type[WireStruct]) -> tuple[tuple[str, Callable[[Any], Any]], ...]:
    """Return the fields of `_holders` with their getters."""
    return tuple((name, operator.attrgetter(name)) for name in _holders(cls))


def _reaches(cls: type[WireStruct], passed: set[type[WireStruct]]) -> bool:
    if cls.remembers or cls in passed:
        return cls.remembers
    inner = itertools.chain.from_iterable(_structs_of_fields(cls).values())
    return any(_reaches(each, passed | {cls}) for each in inner)


@functools.cache
def _structs_of_fields(cls: type[WireStruct]) -> dict[str, tuple[type[WireStruct], ...]]:
    """Map the name of each field to the structs that its annotation names.

    `typing.get_type_hints` would evaluate each annotation, which for the request of Gemini takes as
    long as half of `import httpx`. The words of an annotation name the same structs.
    """
    found: dict[str, tuple[type[WireStruct], ...]] = {}
    for owner in reversed(cls.__mro__):
        names = vars(sys.modules[owner.__module__])
        for field, annotation in inspect.get_annotations(owner).items():
            if isinstance(annotation, str):
                hints = [names.get(word) for word in _WORD().findall(annotation)]
            else:
                hints = [annotation]
            found[field] = tuple(each for hint in hints for each in _structs(hint))
    return {name: found[name] for name in cls.__struct_fields__}


_WORD = lazy_pattern(r"\w+")


def _structs(hint: Any) -> Iterator[type[WireStruct]]:
    if isinstance(hint, type) and not isinstance(hint, types.GenericAlias):
        if issubclass(hint, WireStruct):
            yield hint
    else:
        for inner in typing.get_args(hint):
            yield from _structs(inner)


# --- extra keys -----------------------------------------------------------------------------------

_EXTRA_CHARACTER = b"\x7f"
EXTRA_KEY = f"{_EXTRA_CHARACTER.decode()}extra"
"""Key under which msgspec encodes the extra keys of a struct. It is not sent: `encode` writes the
extra keys in its place. Its first character is in hardly any text.
"""
_EXTRA_MARK = msgspec.json.encode(EXTRA_KEY) + b":"
_extended_classes: dict[type, type] = {}


def extended(cls: type[S]) -> type[S]:
    """Make the subclass of `cls` with a field `extra`: further JSON keys, each with its value.

    A field, because `msgspec.structs.replace` drops metadata; a subclass, so that responses, which
    are decoded by the thousand, do not carry the field.
    """
    if EXTRA_KEY in cls.__struct_encode_fields__:
        return cls
    # Two threads may make two classes, whose structs differ: both take the one that is stored
    # first.
    found = _extended_classes.get(cls) or _extended_classes.setdefault(cls, _extended(cls))
    return typing.cast("type[S]", found)


def _extended(cls: type[S]) -> type[S]:
    # Not `msgspec.defstruct`, which knows no metaclass of its bases.
    names = {
        "__module__": cls.__module__,
        "__reduce__": _reduce_extended,
        "__annotations__": {"extra": dict[str, Any] | None},
        "extra": msgspec.field(name=EXTRA_KEY, default=None),
    }
    kind: Any = type(cls)
    made = kind(cls.__name__, (cls,), names, frozen=True, kw_only=True)
    made.__doc__ = cls.__doc__
    return typing.cast("type[S]", made)


def _reduce_extended(struct: WireStruct) -> tuple[Any, ...]:
    # A pickle finds a class by its name, and the name is that of the class without the field.
    fields = {name: getattr(struct, name) for name in struct.__struct_fields__}
    return _restore_extended, (type(struct).__mro__[1], fields, dict(struct.__dict__))


def _restore_extended(cls: type[S], fields: dict[str, Any], metadata: dict[str, Any]) -> WireStruct:
    return _restore(extended(cls), fields, metadata)


def extra_of(struct: WireStruct) -> dict[str, Any]:
    """Return the extra keys of a struct; empty if it has none."""
    extra = getattr(struct, "extra", None) if EXTRA_KEY in struct.__struct_encode_fields__ else None
    return extra or {}


def _with_extra_keys(value: Any) -> Any:
    """Prepare `value` for msgspec: received structs and structs with extra keys become bytes."""
    if isinstance(value, WireStruct):
        if RAW in value.__dict__:
            return kept_bytes(value)
        changed = {}
        for name in value.__struct_fields__:
            item = getattr(value, name)
            if isinstance(item, _HOLDERS) and (inner := _with_extra_keys(item)) is not item:
                changed[name] = inner
        value = msgspec.structs.replace(value, **changed) if changed else value
        if EXTRA_KEY not in value.__struct_encode_fields__:
            return value
        fields = decoder(dict[str, msgspec.Raw]).decode(_encoder.encode(value))
        fields.pop(EXTRA_KEY, None)
        return msgspec.Raw(_encoder.encode({**fields, **extra_of(value)}))
    if isinstance(value, (list, tuple)):
        return [_with_extra_keys(item) for item in value]
    if isinstance(value, dict):
        return {key: _with_extra_keys(item) for key, item in value.items()}
    return value


# --- text as UTF-8 --------------------------------------------------------------------------------


def well_formed_utf8(text: str) -> bytes:
    """Encode a text as UTF-8: surrogate pairs are joined, lone ones become U+FFFD (R-08)."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


# --- unknown keys ---------------------------------------------------------------------------------


def unknown(struct: WireStruct) -> list[tuple[str, Any]]:
    """Return the keys of the received JSON without a field: `[(json path, value), ...]`.

    >>> from wire.gemini.types import GenerateContentResponse
    >>> from wire.core.lenient import decoded
    >>> unknown(decoded(b'{"responseId": "r1", "mood": "calm"}', GenerateContentResponse))
    [('mood', 'calm')]

    They are in document order. A value of another type than its field's counts as unknown too,
    because the decoder left it out of the struct. A `null` under a known key does not count. A
    struct that was not received has none.
    """
    raw = struct.raw if isinstance(struct, WireStruct) else None
    # The standard library accepts lone surrogates; msgspec does not.
    return (
        []
        if raw is None
        else list(
            _unknown(struct, json.loads(raw.decode("utf-8", "replace"), parse_int=integer), "")
        )
    )


def integer(digits: str) -> int | float:
    """Parse an integer of JSON; one of 640 digits or more becomes infinity."""
    # `int` raises ValueError above a number of digits that the user can set to 640 or more.
    return int(digits) if len(digits) < 640 else float(digits)


_STEP = lazy_pattern(r"""\.?([^.\[\]"\\]+)|\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]""")


def steps_of(path: str) -> list[str | int]:
    """Split a JSON path, as `key_path` and errors write it, into its keys and indices.

    >>> steps_of('tools[0].labels["a.b"]')
    ['tools', 0, 'labels', 'a.b']

    Raises `ValueError` for a text that is not a path.
    """
    steps: list[str | int] = []
    position = 0
    if not path:
        raise ValueError("an empty path")
    while position < len(path):
        match = _STEP().match(path, position)
        if match is None or (path[position] == ".") != bool(steps and match[1]):
            raise ValueError(f"not a JSON path at {path[position:]!r}")
        key, index, quoted = match.groups()
        steps.append(key if key is not None else int(index) if index else json.loads(quoted))
        position = match.end()
    return steps


def key_path(path: str, key: str) -> str:
    """Return the JSON path of a key below `path`; an ambiguous key is written in brackets.

    >>> key_path("labels", "team"), key_path("labels", "a.b")
    ('labels.team', 'labels["a.b"]')
    """
    if not _PLAIN_KEY().fullmatch(key):
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


def answer_account(answer: Any) -> Account | None:
    """Return the account of a received result or of an error; `None` if there is none.

    A result has an account if a client of this process received it. `client.account(result)` and
    `error.account` are the same.
    """
    if isinstance(answer, WireError):
        return answer.account
    account: Account | None = getattr(answer, "__dict__", {}).get(ACCOUNT)
    return account


def keep_account(answer: Any, account: Account) -> None:
    """Attach the account to a result as metadata, unless its type has no room for it."""
    metadata = getattr(answer, "__dict__", None)
    if metadata is not None:
        metadata[ACCOUNT] = account
