"""Structs compared with the JSON that they were decoded from, and JSON values with each other."""

from __future__ import annotations

import functools
import json
import re
import typing
from typing import Any

import msgspec

import wire
from tests.conformance.result import Mismatch
from wire.core.memory import WireStruct

_STEP = re.compile(r'\[("(?:[^"\\]|\\.)*")\]|\[(\d+)\]|([^.\[\]]+)')

Steps = tuple[Any, ...]

UNKNOWN: set[str] = set()
"""What `wire.unknown` reported in this run: struct and path, positions of lists left out. A struct
that loses a field makes it longer."""


def typed(
    struct: WireStruct, plain: Any, path: str, *, spelled: bool = False, is_chunk: bool = False
) -> None:
    """Raise `Mismatch` unless each field holds the value that the JSON has under its name, and
    `wire.unknown` reports exactly the rest.

    A value under the name of a field may be reported only if it is of another type than the
    field's. What the user wrote (arguments, schemas, results: fields without a struct) is compared
    exactly, `null` and spelling included; anywhere else `null` is as good as absent. `spelled`:
    keys may be in snake_case and one item may stand for its list, as Gemini's server takes them.
    `is_chunk`: where the fields hold everything, `unknown` is not asked.
    """
    rest: list[tuple[Steps, Any]] = []
    _Walk(rest, spelled).struct(struct, plain, path, ())
    if not rest and is_chunk:
        return  # most of the time of a run
    reported = [(_steps(where), value) for where, value in wire.unknown(struct)]
    UNKNOWN.update(f"{type(struct).__name__}.{_shape(at)}" for at, _ in reported)
    identical(
        sorted(({"at": at, "value": value} for at, value in reported), key=_at),
        sorted(({"at": at, "value": value} for at, value in rest), key=_at),
        f"{path}: what unknown reports",
    )


def _shape(at: Steps) -> str:
    return ".".join("[]" if isinstance(step, int) else step for step in at)


def _at(entry: dict[str, Any]) -> list[str]:
    return [str(step) for step in entry["at"]]


def _steps(path: str) -> Steps:
    return tuple(
        json.loads(quoted) if quoted else int(index) if index else key
        for quoted, index, key in _STEP.findall(path)
    )


class _Walk:
    """One comparison; values that no field holds are collected in `rest`."""

    def __init__(self, rest: list[tuple[Steps, Any]], spelled: bool) -> None:
        self._rest = rest
        self._spelled = spelled

    def struct(self, ours: WireStruct, theirs: Any, path: str, at: Steps) -> None:
        if not isinstance(theirs, dict):
            raise Mismatch(f"{path} is {type(ours).__name__}, not {str(theirs)[:80]!r}")
        fields = _fields(type(ours), self._spelled)
        seen = set()
        for key, value in theirs.items():
            entry = fields.get(key)
            if entry is None:
                if value is not None or not self._spelled:
                    self._rest.append(((*at, key), value))
                continue
            field, name, hint = entry
            seen.add(field)
            held = getattr(ours, field)
            if held is None or held is msgspec.UNSET:
                if value is not None:
                    if _fits(value, hint):
                        raise Mismatch(f"{path}.{key} is lost")
                    self._rest.append(((*at, name), value))
            elif value is None:
                raise Mismatch(f"{path}.{key} is {str(held)[:80]!r}, not null")
            else:
                self.value(held, value, f"{path}.{key}", (*at, name))
        for field, default in _defaults(type(ours)):
            if field not in seen and getattr(ours, field) != default:
                raise Mismatch(f"{path}.{field} is invented")

    def value(self, ours: Any, theirs: Any, path: str, at: Steps) -> None:
        if isinstance(ours, WireStruct):
            self.struct(ours, theirs, path, at)
        elif isinstance(ours, list) and _holds_structs(ours):
            if self._spelled and isinstance(theirs, dict):
                theirs = [theirs]
            if not isinstance(theirs, list) or len(ours) != len(theirs):
                raise Mismatch(f"{path} has {len(ours)} items, not {str(theirs)[:80]!r}")
            for index, (one, other) in enumerate(zip(ours, theirs, strict=True)):
                self.value(one, other, f"{path}[{index}]", (*at, index))
        elif isinstance(ours, dict) and _holds_structs(ours.values()):
            identical(sorted(ours), sorted(theirs), path)
            for key in ours:
                self.value(ours[key], theirs[key], f"{path}.{key}", (*at, key))
        elif self._spelled:
            _near(ours, theirs, path)
        else:
            identical(ours, theirs, path)


def _holds_structs(values: Any) -> bool:
    return any(
        isinstance(each, WireStruct) or (isinstance(each, list) and _holds_structs(each))
        for each in values
    )


def _near(ours: Any, theirs: Any, path: str) -> None:
    """Identical, but for a number or a flag sent as text, and one item in place of its list."""
    if isinstance(ours, list) and not isinstance(theirs, list):
        theirs = [theirs]
    if isinstance(theirs, str) and isinstance(ours, int | float):
        theirs = json.loads(theirs)
    identical(ours, theirs, path)


@functools.cache
def _fields(kind: type[WireStruct], spelled: bool) -> dict[str, tuple[str, str, Any]]:
    """Key in the JSON -> field, its name on the wire, its type."""
    hints = typing.get_type_hints(kind)
    found = {
        name: (field, name, hints[field])
        for field, name in zip(kind.__struct_fields__, kind.__struct_encode_fields__, strict=True)
    }
    if spelled:
        found |= {entry[0]: entry for entry in found.values()}
    return found


@functools.cache
def _defaults(kind: type[WireStruct]) -> tuple[tuple[str, Any], ...]:
    return tuple(
        (each.name, each.default if each.default is not msgspec.NODEFAULT else _made(each))
        for each in msgspec.structs.fields(kind)
    )


def _made(field: Any) -> Any:
    factory = field.default_factory
    return None if factory is msgspec.NODEFAULT else factory()


def _fits(value: Any, hint: Any) -> bool:
    try:
        msgspec.convert(value, hint)
    except msgspec.ValidationError:
        return False
    return True


def identical(ours: Any, theirs: Any, path: str = "") -> None:
    """Raise `Mismatch` with the first path at which two JSON values differ; `1` and `1.0` are one
    number, `null` is not absent.
    """
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key in theirs:
            if key not in ours:
                raise Mismatch(f"{path}.{key} is lost")
            identical(ours[key], theirs[key], f"{path}.{key}")
        for key in ours:
            if key not in theirs:
                raise Mismatch(f"{path}.{key} is invented")
    elif isinstance(ours, list | tuple) and isinstance(theirs, list | tuple):
        if len(ours) != len(theirs):
            raise Mismatch(f"{path} has {len(ours)} items, not {len(theirs)}")
        for index, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            identical(one, other, f"{path}[{index}]")
    elif isinstance(ours, bool) is not isinstance(theirs, bool) or ours != theirs:
        raise Mismatch(f"{path} is {str(ours)[:80]!r}, not {str(theirs)[:80]!r}")


def same(ours: Any, theirs: Any, path: str = "") -> None:
    """As `identical`, but `null` is as good as absent: for bodies that the wires wrote."""
    identical(_without_nulls(ours), _without_nulls(theirs), path)


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_without_nulls(item) for item in value]
    return value
