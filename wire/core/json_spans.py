"""Finds the values of a JSON text by their positions, so that some can be replaced in place.

A text that is cut, or malformed, has the values that it shows up to its end.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Iterator

from wire.core.bounds import BOUNDS
from wire.core.lazy import lazy_pattern

Path = tuple[str | int, ...]

Open = deque[tuple[list[str | int | None], int]]
"""For each open bracket the step to the current value, `None` before a key, and its position; the
innermost ones if there are more than `BOUNDS.open_brackets`."""

# A body may be cut inside a text: then the text ends with the body.
_TOKEN = lazy_pattern(r'(?s:"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|[\[\]{}:,]|[^\s\[\]{}:,"]+)')


def json_values(text: str, at: int = 0) -> Iterator[tuple[Open, int, int]]:
    """Yield the brackets around each value, its begin and its end; inner values come first.

    The list of brackets changes with the next value.
    """
    open_: Open = deque(maxlen=BOUNDS.open_brackets)
    for match in _TOKEN().finditer(text, at):
        token, at = match[0], match.start()
        if token in "]}":
            if open_:
                _, start = open_.pop()
                yield open_, start, match.end()
        elif token == ",":
            if open_:
                step = open_[-1][0]
                step[0] = step[0] + 1 if isinstance(step[0], int) else None
        elif token == ":":
            pass
        elif open_ and open_[-1][0][0] is None:
            open_[-1][0][0] = _key(token)
        elif token in "[{":
            open_.append(([0 if token == "[" else None], at))
        else:
            yield open_, at, match.end()
    while open_:
        _, start = open_.pop()
        yield open_, start, len(text)


def path_of(open_: Open) -> Path:
    """Return the path of the value inside these brackets."""
    return tuple(step[0] for step, _ in open_ if step[0] is not None)


def replaced(text: str, spans: Iterable[tuple[int, int]], value: str) -> str:
    """Replace the spans of a text by the JSON of `value`; a span inside another one is ignored.

    >>> replaced('{"a": [1], "b": 2}', [(6, 9), (7, 8)], "x")
    '{"a": "x", "b": 2}'
    """
    pieces: list[str] = []
    done = 0
    for start, end in sorted(spans):
        if start >= done:
            pieces += text[done:start], json.dumps(value)
            done = end
    return "".join(pieces) + text[done:]


def _key(token: str) -> str:
    try:
        return str(json.loads(token))
    except ValueError:
        return token
