"""Values compared as JSON, and structs written again from what they say of themselves."""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec

import wire
from tests.conformance.result import Mismatch
from wire.core.memory import WireStruct

_STEP = re.compile(r'\[("(?:[^"\\]|\\.)*")\]|\[(\d+)\]|([^.\[\]]+)')


def written(struct: WireStruct) -> Any:
    """The struct as plain JSON: its typed values, and the unknown keys that it reports.

    Its kept bytes are not looked at.
    """
    plain = msgspec.json.decode(msgspec.json.encode(struct))
    for path, value in wire.unknown(struct):
        steps: list[Any] = [
            json.loads(quoted) if quoted else int(index) if index else key
            for quoted, index, key in _STEP.findall(path)
        ]
        place = plain
        for step in steps[:-1]:
            place = place[step]
        if steps[-1] in place:
            raise Mismatch(f"{path} is reported as unknown, and there is a value")
        place[steps[-1]] = value
    return plain


def same(ours: Any, theirs: Any, path: str = "") -> None:
    """Raise `Mismatch` with the first path at which two JSON values differ; `1` and `1.0` are one
    number, `null` is as good as absent.
    """
    if isinstance(ours, dict) and isinstance(theirs, dict):
        ours, theirs = (
            {key: value for key, value in each.items() if value is not None}
            for each in (ours, theirs)
        )
        for key in theirs:
            if key not in ours:
                raise Mismatch(f"{path}.{key} is lost")
            same(ours[key], theirs[key], f"{path}.{key}")
        for key in ours:
            if key not in theirs:
                raise Mismatch(f"{path}.{key} is invented")
    elif isinstance(ours, list) and isinstance(theirs, list):
        if len(ours) != len(theirs):
            raise Mismatch(f"{path} has {len(ours)} items, not {len(theirs)}")
        for index, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            same(one, other, f"{path}[{index}]")
    elif isinstance(ours, bool) is not isinstance(theirs, bool) or ours != theirs:
        raise Mismatch(f"{path} is {str(ours)[:80]!r}, not {str(theirs)[:80]!r}")


def spelled(value: Any) -> Any:
    """A request in one of the spellings that all mean the same: camelCase, `null` left out, a list
    of one object opened.
    """
    if isinstance(value, dict):
        return {_camel(key): spelled(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return (
            spelled(value[0])
            if len(value) == 1 and isinstance(value[0], dict)
            else [spelled(item) for item in value]
        )
    return value


def _camel(key: str) -> str:
    return re.sub(r"(?<=[a-z0-9])_([a-z0-9])", lambda found: found[1].upper(), key)
