"""Paths to values of a JSON body, as cases write them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

_STEP = re.compile(r"\.?(?P<key>[\w|-]+)|\[(?P<inside>\*|-?\d+|[^\]=]+=[^\]]*)\]")


def values_at(value: Any, path: str) -> list[Any]:
    """Return the values at a path, in the order of the body; what is missing is left out.

    `[2]` is one item of a list, `[-1]` the last one, `[*]` each one, and `[role=tool]` each item
    whose key has this text. Of `a|b` the first key that is there counts.

    >>> body = {"messages": [{"role": "user"}, {"role": "tool", "content": "sunny"}]}
    >>> values_at(body, "messages[*].role"), values_at(body, "messages[role=tool].content")
    (['user', 'tool'], ['sunny'])

    Raises `ValueError` for a path that is not written so.
    """
    found, at = [value], 0
    while at < len(path):
        step = _STEP.match(path, at)
        if step is None:
            raise ValueError(f"{path!r}: expected a key or an index at character {at}")
        found = [each for one in found for each in _next(one, step["key"], step["inside"])]
        at = step.end()
    return found


def _next(value: Any, key: str | None, inside: str | None) -> Iterator[Any]:
    if key is not None:
        if isinstance(value, dict):
            yield from (value[each] for each in [*filter(value.__contains__, key.split("|"))][:1])
        return
    if not isinstance(value, list):
        return
    assert inside is not None
    name, equals, text = inside.partition("=")
    if inside == "*":
        yield from value
    elif equals:
        yield from (each for each in value if isinstance(each, dict) and each.get(name) == text)
    elif -len(value) <= (index := int(inside)) < len(value):
        yield value[index]
