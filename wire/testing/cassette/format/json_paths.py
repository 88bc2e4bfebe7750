"""JSON paths that select values of a body: `$.metadata.user_id`, `$.messages[*].id`, `$..id`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal, NamedTuple

from wire.core.errors import ConfigurationError
from wire.core.secret import quoted

_STEP = re.compile(
    r"""(?P<deep>\.\.)?\.?(?:(?P<name>[^\W\d][\w-]*)|\[(?P<index>\d+)\]"""
    r"""|\[(?P<key>"(?:[^"\\]|\\.)*")\]|(?P<any>\*|\[\*\]))"""
)


class Step(NamedTuple):
    """One step of a path: a key, an index, or `*` for each item; `deep` finds it at any depth."""

    what: str | int
    kind: Literal["key", "index", "any"]
    deep: bool


def parsed(path: str, where: str) -> tuple[Step, ...]:
    """Parse a JSON path.

    >>> [step.what for step in parsed('$.messages[*]["tool-id"]', "ignore[0]")]
    ['messages', '*', 'tool-id']

    Raises `ConfigurationError` that begins with `where`.
    """
    steps: list[Step] = []
    at = 1
    while path[:1] == "$" and at < len(path):
        found = _STEP.match(path, at)
        if found is None or not (found["deep"] or path[at] in ".["):
            break
        deep, at = found["deep"] is not None, found.end()
        if found["any"]:
            steps.append(Step("*", "any", deep))
        elif found["index"]:
            steps.append(Step(int(found["index"]), "index", deep))
        else:
            steps.append(Step(found["name"] or json.loads(found["key"]), "key", deep))
    if not steps or at < len(path):
        raise ConfigurationError(
            f"{where}: expected a JSON path such as $.metadata.user_id, not {quoted(path)}"
        )
    return tuple(steps)


def matches(path: Sequence[Step], place: Sequence[str | int]) -> bool:
    """Return whether a path selects the value at a place.

    >>> matches(parsed("$..id", "ignore"), ("messages", 0, "id"))
    True
    """
    if not path:
        return not place
    step, *rest = path
    return any(
        (step.kind == "any" or step.what == place[at]) and matches(rest, place[at + 1 :])
        for at in (range(len(place)) if step.deep else range(min(1, len(place))))
    )


def without(value: Any, paths: Iterable[tuple[Step, ...]]) -> Any:
    """Remove what the paths select from a JSON value, in place.

    >>> without({"a": 1, "b": [{"id": 1, "c": 2}]}, [parsed("$..id", "ignore")])
    {'a': 1, 'b': [{'c': 2}]}
    """
    for path in paths:
        *steps, last = path
        places = [value]
        for step in steps:
            places = [inner for place in places for _, inner in _selected(place, step)]
        for place in places:
            for holder, key in reversed(list(_holders(place, last))):
                del holder[key]
    return value


def _selected(place: Any, step: Step) -> Iterator[tuple[Any, Any]]:
    for holder, key in _holders(place, step):
        yield key, holder[key]


def _holders(place: Any, step: Step) -> Iterator[tuple[Any, Any]]:
    """Yield each dict or list with the key of a value that the step selects."""
    for each in _all_inside(place) if step.deep else (place,):
        if isinstance(each, dict):
            if step.kind == "any":
                yield from ((each, key) for key in each)
            elif step.kind == "key" and step.what in each:
                yield each, step.what
        elif isinstance(each, list):
            if step.kind == "any":
                yield from ((each, index) for index in range(len(each)))
            elif step.kind == "index" and int(step.what) < len(each):
                yield each, step.what


def _all_inside(place: Any) -> Iterator[Any]:
    todo = [place]
    while todo:
        each = todo.pop()
        yield each
        todo += each.values() if isinstance(each, dict) else each if isinstance(each, list) else ()
