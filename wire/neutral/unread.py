"""Finds the values of a client's request that its reader does not read.

A reader declares beside its code what it reads, as a shape: `None` is the whole value, a mapping
names the keys of an object, with the shape of each, a struct has the keys of its fields, and
`Kinds` has one shape for each kind of object. The shape of a list is that of its items. Each value
that is in no shape becomes a note, so that a client learns what the model does not get, at any
depth.
"""

from __future__ import annotations

import functools
import json
import typing
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

import msgspec

from wire.core.decoders import decoder
from wire.core.memory import Note

Shape: TypeAlias = "Mapping[str, Shape] | Kinds | type[msgspec.Struct] | None"


_MOST = 1000
"""Notes on one body; a body of many megabytes could have a million."""


class Kinds(NamedTuple):
    """Objects whose kind is the value of one key."""

    key: str
    """The key that names the kind, as `type`."""
    shapes: Mapping[str, Shape]
    """Kind to the shape; `""` is an object without the key."""
    other: Shape = None
    """The shape of other kinds. They are read whole, unless it is said otherwise: a reader refuses
    the kinds that it does not know."""


def keys(names: str, **inside: Shape) -> dict[str, Shape]:
    """Return the shape of an object: keys whose values are read whole, and keys with a shape.

    >>> keys("type text", cache_control=keys("type"))
    {'type': None, 'text': None, 'cache_control': {'type': None}}
    """
    return {**dict.fromkeys(names.split()), **inside}


def unread(body: bytes, shape: Shape, spelled: Callable[[str], str] = str) -> list[Note]:
    """Return a note for each value of a body that is not in the shape; null counts as absent.

    After a thousand, the last note has the number of the others. `spelled` returns the spelling of
    a key in shapes, for a wire with two.

    >>> [note.path for note in unread(b'{"a":[{"b":1},{"c":2}],"d":null}', keys("", a=keys("b")))]
    ['a[1].c']
    """
    try:
        plain = decoder(Any).decode(body)
    except msgspec.DecodeError:
        plain = json.loads(body)  # half of a surrogate pair, which msgspec refuses
    notes: list[Note] = []
    count = 0
    # A stack instead of recursion: a body may be nested as deeply as its decoder allows.
    waiting: list[tuple[str, Any, Shape]] = [("", plain, shape)]
    while waiting:
        path, value, read = waiting.pop()
        if isinstance(value, list):
            waiting += [(f"{path}[{at}]", each, read) for at, each in enumerate(value)][::-1]
        if not isinstance(value, dict):
            continue
        while isinstance(read, Kinds):
            kind = value.get(read.key) or ""
            read = read.shapes.get(kind, read.other) if isinstance(kind, str) else read.other
        if isinstance(read, type):
            read = _fields_of(read)
        if read is None:
            continue
        inside: list[tuple[str, Any, Shape]] = []
        for key, each in value.items():
            name, at = spelled(key), f"{path}.{key}" if path else key
            if name not in read:
                if each is not None and len(notes) < _MOST:
                    notes.append(Note(at, "left out: it has no neutral form"))
                count += each is not None
            elif read[name] is not None:
                inside.append((at, each, read[name]))
        waiting += inside[::-1]
    if count > len(notes):
        notes.append(Note("body", f"{count - len(notes)} more values were left out"))
    return notes


@functools.cache
def _fields_of(kind: type[msgspec.Struct]) -> Mapping[str, Shape]:
    """Return the shape of a struct: its fields, and those of the structs in them."""
    return {each.encode_name: _struct_in(each.type) for each in msgspec.structs.fields(kind)}


def _struct_in(kind: Any) -> type[msgspec.Struct] | None:
    """Return the struct in a type such as `list[Part] | None`; `None` without exactly one.

    The keys of a dictionary are names of the caller's own.
    """
    if typing.get_origin(kind) is dict:
        return None
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return kind
    found = {each for each in map(_struct_in, typing.get_args(kind)) if each is not None}
    return found.pop() if len(found) == 1 else None
