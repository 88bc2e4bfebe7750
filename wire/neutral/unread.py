"""Finds the values of a client's request that its reader does not read.

A reader declares beside its code what it reads, as a shape: `None` is the whole value, a mapping
names the keys of an object, with the shape of each, a struct has the keys of its fields, and
`Kinds` has one shape for each kind of object. The shape of a list is that of its items. Each value
that is in no shape becomes a note, so that a client learns what the model does not get, at any
depth. A model of the client's own API gets it: `Unread.passed` puts it into the request.
"""

from __future__ import annotations

import functools
import json
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias, cast

import msgspec

from wire.core.decoders import decoder
from wire.core.errors import RuleError, Violation
from wire.core.lenient import portable
from wire.core.memory import Note

Shape: TypeAlias = "Mapping[str, Shape] | Kinds | type[msgspec.Struct] | None"


Steps: TypeAlias = tuple[str | int, ...]
"""The keys and positions that lead to a value of a body."""

NO_FORM = "left out: it has no neutral form"

_MOST = 1000
"""Values of one body; a body of many megabytes could have a million."""
_SEARCHED = 256
"""Items of the longest list in which the place of a value is searched."""


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


def without_key(shape: Mapping[str, Shape], key: str) -> dict[str, Shape]:
    """Return a shape in which a key is read nowhere; the fields of structs stay as they are.

    >>> without_key(keys("type text", cache_control=keys("type")), "cache_control")
    {'type': None, 'text': None}
    """
    return {name: _without(each, key) for name, each in shape.items() if name != key}


def _without(shape: Shape, key: str) -> Shape:
    if isinstance(shape, Kinds):
        return Kinds(shape.key, without_key(shape.shapes, key), _without(shape.other, key))
    return without_key(shape, key) if isinstance(shape, Mapping) else shape


class Unread:
    """The values of a body that are not in the shape of its reader.

    `body` is the decoded body, `values` are keys and positions that lead to a value, and the value:
    the first thousand of `count`. `spelled` returns the spelling of a key in shapes. `own` says
    that the model is one of the client's own API, which gets them. `told` are notes on values that
    are read, and changed. `refused` is what no other model can be asked for. `names` are names of
    tools that are changed, and the new ones.
    """

    def __init__(
        self,
        body: Any,
        values: list[tuple[Steps, Any]],
        count: int,
        spelled: Callable[[str], str],
        *,
        own: bool,
    ) -> None:
        self.body, self.values, self.count, self._spelled = body, values, count, spelled
        self.own, self.told, self.refused = own, list[Note](), list[Violation]()
        self.names: dict[str, str] = {}
        self._why: dict[Steps, str] = {}
        self._absent: list[Steps] = []
        self._hidden: set[tuple[int, str | int]] = set()
        self._positions: dict[tuple[int, int], int | None] = {}

    def add(self, *steps: str | int, why: str = NO_FORM) -> None:
        """Add a value that the reader has read, and that has no neutral form: `why` is its note.

        One that is absent is not added.
        """
        value, path = self.body, cast(Steps, ())
        for step in steps:
            if isinstance(step, str):
                step = next((key for key in value if self._spelled(key) == step), step)
                if value.get(step) is None:
                    return
            value, path = value[step], (*path, step)
        if len(self.values) >= _MOST:
            self.count += 1
            return
        inside = [each for each in self.values if each[0][: len(path)] != path]
        self.count += 1 + len(inside) - len(self.values)
        self.values = [*inside, (path, value)]
        self._why[path] = why

    def unsaid(self, *steps: str | int) -> None:
        """Add a value that the body does not have, and that the neutral request always says.

        >>> given = find_unread(b'{"a":[{"b":1}]}', keys("a"), own=True)
        >>> given.unsaid("a", 0, "c")
        >>> given.passed(b'{"a":[{"b":1,"c":false}]}')
        (b'{"a":[{"b":1}]}', [])
        """
        if self.own:
            self._absent.append(steps)

    def _steps(self) -> list[Steps]:
        return [steps for steps, _ in self.values]

    def by_path(self) -> list[tuple[str, Any]]:
        """Return the values by their path as it is spelled in shapes."""
        return [(".".join(self._names(steps)), each) for steps, each in self.values]

    def _names(self, steps: Steps) -> Iterator[str]:
        return (self._spelled(step) if isinstance(step, str) else str(step) for step in steps)

    def taken(self, *keys: str, inside: Steps = ()) -> list[Any]:
        """Remove the values of keys at any depth, and return them: they have a neutral form."""
        found, kept = list[tuple[Steps, Any]](), list[tuple[Steps, Any]]()
        for steps, value in self.values:
            is_one = steps[-1] in keys and steps[: len(inside)] == inside
            (found if is_one else kept).append((steps, value))
        self.count -= len(found)
        self.values = kept
        return [value for _, value in found]

    def take(self, path: str) -> None:
        """Remove the value at a path of `by_path`: it has a neutral form."""
        kept = [each for each in self.values if ".".join(self._names(each[0])) != path]
        self.count -= len(self.values) - len(kept)
        self.values = kept

    def name_of(self, name: str | None) -> str:
        """Return the name of a tool in the neutral request."""
        return self.names.get(name or "", name or "")

    def tell(self, path: str, message: str) -> None:
        """Add a note on a value that is read, and changed."""
        self.told.append(Note(path, message))

    def refuse(self, path: str, problem: str, remedy: str = "") -> None:
        """Refuse a value."""
        self.refused.append(Violation(path, problem, remedy=remedy))

    def notes(self) -> tuple[Note, ...]:
        """Return the notes on what no model gets; of the client's own API, one may get the rest."""
        return (*(() if self.own else self._left(self._steps())), *self.told)

    def _left(self, left: Iterable[Steps]) -> list[Note]:
        notes = [Note(path_of(steps), self._why.get(steps, NO_FORM)) for steps in left]
        if self.count > len(self.values):
            words = f"{self.count - len(self.values)} more values were left out"
            notes.append(Note("body", words))
        return notes

    def passed(self, sent: bytes) -> tuple[bytes, list[Note]]:
        """Return the body of a request in the same API with these values and without those that are
        unsaid, and a note for each value whose place it lacks.

        A place in a list is that of the item that says the same as the client's.

        >>> shape = keys("", a=keys("b"), d={})
        >>> given = find_unread(b'{"a":[{"b":1,"c":2}],"d":{"e":3}}', shape, own=True)
        >>> given.passed(b'{"a":[{"b":1}],"f":4}')
        (b'{"a":[{"b":1,"c":2}],"f":4,"d":{"e":3}}', [])
        """
        if not self.own or not (self.values or self._absent):
            return sent, []
        rendered = decoder(Any).decode(sent)
        self._hidden = set(map(self._container, self._steps()))
        changes: dict[_Step, Any] = {}
        left: list[Steps] = []
        unsaid = [(steps, _UNSAID) for steps in self._absent]
        for steps, value in [*self.values, *unsaid]:
            try:
                found = self._place(rendered, steps, value)
            except RecursionError:
                found = None
            if found is None:
                left += () if value is _UNSAID else (steps,)
                continue
            [*above, last], placed = found
            inside = changes
            for step in above:
                inside = inside.setdefault(step, {})
            inside[last] = placed if placed is _UNSAID else _New(placed)
        return bytes(_changed(msgspec.Raw(sent), changes)), self._left(left)

    def _container(self, steps: Steps) -> tuple[int, str | int]:
        """Return the identity of what contains a value, and its key there."""
        inside = self.body
        for step in steps[:-1]:
            inside = inside[step]
        return id(inside), steps[-1]

    def _place(self, sent: Any, steps: Steps, value: Any) -> tuple[_Place, Any] | None:
        """Return where a value belongs in the decoded body of a request, and what to put there."""
        given, place = self.body, list[_Step]()
        for step in steps[:-1]:
            if isinstance(step, str):
                name = self._spelled(step)
                sent = sent.get(name, {}) if isinstance(sent, dict) else None
                place.append(name)
            elif isinstance(sent, str) and self._agree(given, sent):
                return tuple(place), given  # the only text of a list is sent without the list
            else:
                key = id(given), int(step)
                if key not in self._positions:  # of all values inside of one item
                    self._positions[key] = self._position(given, sent, int(step))
                at = self._positions[key]
                if at is None:
                    return self._added(given, int(step), sent, (*place,), steps[-1], value)
                place.append(at)
                sent = sent[at]
            given = given[step]
        last = steps[-1]
        if isinstance(last, int):
            return ((*place, _Slot(last)), value) if isinstance(sent, list) or not sent else None
        if not isinstance(sent, dict):
            return None
        before = sent.get(last)
        # The request may have more than the client's, as `include`; what `add` has is the whole.
        if isinstance(before, list) and isinstance(value, list) and steps not in self._why:
            value = [*before, *(each for each in value if each not in before)]
        return (*place, last), value

    def _added(
        self, given: Any, at: int, sent: Any, place: _Place, last: str | int, value: Any
    ) -> tuple[_Place, Any] | None:
        """Return the place in a list for an item of which nothing is read."""
        if self._is_read(given[at]) or isinstance(last, int) or value is _UNSAID:
            return None
        if isinstance(sent, list) or not sent:
            return (*place, _Slot(at)), {last: value}
        return None

    def _is_read(self, item: Any) -> bool:
        """Return whether anything of an item of a list is read."""
        own = {(id(item), key) for key in item} if isinstance(item, dict) else set()
        return not own or bool(own - self._hidden)

    def _position(self, given: list[Any], sent: Any, at: int) -> int | None:
        """Return the position of the item of a request that says the same as the client's."""
        items: list[Any] = sent if isinstance(sent, list) and self._is_read(given[at]) else []
        near = (at, at + len(items) - len(given))
        places: tuple[int, ...] = (*near, *range(len(items))) if len(items) <= _SEARCHED else near
        for place in places:
            if 0 <= place < len(items) and self._agree(given[at], items[place]):
                return place
        return None

    def _agree(self, given: Any, sent: Any) -> bool:
        """Return whether two values say the same, in the keys that both have, without what is not
        read. Ids may differ.
        """
        if isinstance(given, dict) and isinstance(sent, dict):
            names = [
                (key, self._spelled(key))
                for key in given
                if not key.lower().endswith("id")
                and (id(given), key) not in self._hidden
                and given[key] is not None
            ]
            common = [(given[key], sent[name]) for key, name in names if name in sent]
            return (bool(common) or not names) and all(self._agree(*each) for each in common)
        if isinstance(given, list) and self._hidden:
            given = [each for at, each in enumerate(given) if (id(given), at) not in self._hidden]
        if isinstance(given, list) and isinstance(sent, list):
            return len(given) == len(sent) and all(map(self._agree, given, sent))
        if isinstance(given, list) and isinstance(sent, str) and len(given) == 1:
            return isinstance(given[0], dict) and given[0].get("text") == sent
        return bool(given == sent)


class _Slot(NamedTuple):
    """The place of an item that is put into a list: its position among those of the client."""

    at: int


_UNSAID: Any = object()
_Step: TypeAlias = "str | int | _Slot"
_Place: TypeAlias = tuple[_Step, ...]


class _New(NamedTuple):
    """A value that replaces that of a body."""

    value: Any


def _changed(raw: msgspec.Raw | None, changes: Mapping[Any, Any] | _New) -> msgspec.Raw:
    """Return a JSON value with the changes, and the bytes of everything else."""
    if isinstance(changes, _New):
        return msgspec.Raw(msgspec.json.encode(portable(changes.value)))
    if isinstance(next(iter(changes), ""), str):
        fields = decoder(dict[str, msgspec.Raw]).decode(raw or b"{}")
        for key, each in changes.items():
            if each is _UNSAID:
                fields.pop(key, None)
            else:
                fields[key] = _changed(fields.get(key), each)
        return msgspec.Raw(msgspec.json.encode(fields))
    items = decoder(list[msgspec.Raw]).decode(raw or b"[]")
    for at, each in changes.items():
        if not isinstance(at, _Slot):
            items[at] = _changed(items[at], each)
    for slot in sorted(each for each in changes if isinstance(each, _Slot)):
        items.insert(slot.at, _changed(None, changes[slot]))
    return msgspec.Raw(msgspec.json.encode(items))


def path_of(steps: Steps) -> str:
    """Return the path of a value, as notes and errors write it."""
    path = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)
    return path.removeprefix(".")


def _plain(body: bytes) -> Any:
    """Decode a body of which a struct was decoded, which looks at no value of an unknown key."""
    try:
        return decoder(Any).decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        try:
            return json.loads(body)  # half of a surrogate pair, which msgspec refuses
        except ValueError as cause:  # a number of 4,300 digits, or what is not UTF-8
            raise RuleError(violations=[Violation("body", f"expected JSON: {cause}")]) from None


def find_unread(
    body: bytes, shape: Shape, spelled: Callable[[str], str] = str, *, own: bool = False
) -> Unread:
    """Find the values of a body that are not in the shape; null counts as absent.

    After a thousand notes, the last one has the number of the others. `spelled` returns the
    spelling of a key in shapes, for a wire with two. Raises `RuleError` for what is not JSON.

    >>> given = find_unread(b'{"a":[{"b":1},{"c":2}],"d":null}', keys("", a=keys("b")))
    >>> [note.path for note in given.notes()]
    ['a[1].c']
    """
    plain = _plain(body)
    values: list[tuple[Steps, Any]] = []
    count = 0
    # A stack instead of recursion: a body may be nested as deeply as its decoder allows.
    waiting: list[tuple[Steps, Any, Shape]] = [((), plain, shape)]
    while waiting:
        steps, value, read = waiting.pop()
        if isinstance(value, list):
            waiting += [((*steps, at), each, read) for at, each in enumerate(value)][::-1]
        if not isinstance(value, dict):
            continue
        while isinstance(read, Kinds):
            kind = value.get(read.key) or ""
            read = read.shapes.get(kind, read.other) if isinstance(kind, str) else read.other
        if isinstance(read, type):
            read = fields_of(read)
        if read is None:
            continue
        inside: list[tuple[Steps, Any, Shape]] = []
        for key, each in value.items():
            name, at = spelled(key), (*steps, key)
            if name not in read:
                if each is not None and len(values) < _MOST:
                    values.append((at, each))
                count += each is not None
            elif read[name] is not None:
                inside.append((at, each, read[name]))
        waiting += inside[::-1]
    return Unread(plain, values, count, spelled, own=own)


@functools.cache
def fields_of(kind: type[msgspec.Struct]) -> Mapping[str, Shape]:
    """Return the shape of a struct: its fields, and those of the structs in them."""
    return {each.encode_name: struct_in(each.type) for each in msgspec.structs.fields(kind)}


def struct_in(kind: Any) -> type[msgspec.Struct] | None:
    """Return the struct in a type such as `list[Part] | None`; `None` without exactly one.

    The keys of a dictionary are names of the caller's own.
    """
    if typing.get_origin(kind) is dict:
        return None
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return kind
    found = {each for each in map(struct_in, typing.get_args(kind)) if each is not None}
    return found.pop() if len(found) == 1 else None
