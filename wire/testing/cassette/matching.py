"""Matches a sent request with recorded ones (C-16), and reports the differences (C-18)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import msgspec

from wire.testing.cassette.file_position import Path, shown
from wire.testing.cassette.kept_headers import kept_url, open_query

SHOWN_VALUE = 200
"""Characters of a value that a message shows."""
_MAX_LISTED = 900
"""Characters of all differences in one message. An error's message has at most 1,500."""

_NOTHING = object()


class ComparedRequest(NamedTuple):
    """The parts of a request that are compared.

    The scheme is left out: a recording made over http matches a request over https.
    """

    method: str
    host: str
    path: str
    query: tuple[tuple[str, str], ...]
    body: Any
    """The JSON value, or the bytes if they are not JSON."""
    url: str
    key: str
    """Equal for two requests that match."""


def compared(method: str, url: str, body: bytes) -> ComparedRequest:
    """Extracts the parts of a request that are compared."""
    parts = urlsplit(url)
    try:
        value = msgspec.json.decode(body)
        text = json.dumps(_canonical(value), sort_keys=True)
    except (ValueError, RecursionError):
        value, text = body, f"bytes {body.hex()}"
    head = (
        method.upper(),
        parts.netloc.rpartition("@")[2].lower(),
        parts.path or "/",
        tuple(open_query(url)),
    )
    return ComparedRequest(*head, value, kept_url(url), f"{head} {text}")


def closest(
    sent: ComparedRequest, recorded: Sequence[ComparedRequest]
) -> tuple[int, list[str]] | None:
    """Returns the index of the most similar recorded request, and the differences to it.

    A difference reads `path: recorded a, sent b`.
    """
    if not recorded:
        return None
    heads = [
        (
            each.method != sent.method,
            each.host != sent.host,
            each.path != sent.path,
            each.query != sent.query,
        )
        for each in recorded
    ]
    least = min(map(sum, heads))
    candidates = [
        (index, list(differences(recorded[index].body, sent.body)))
        for index, head in enumerate(heads)
        if sum(head) == least
    ]
    index, changed = min(candidates, key=lambda each: len(each[1]))
    near = recorded[index]
    names = ("method", "host", "path", "query")
    reported = [
        f"{name}: recorded {_head(a)}, sent {_head(b)}"
        for name, a, b in zip(names, near, sent, strict=False)
        if a != b
    ]
    for path, old, new in changed:
        old, new = _windows(old, new)
        reported.append(f"{shown(path) if path else 'body'}: recorded {old}, sent {new}")
    return index, reported


def listed(reported: Sequence[str]) -> str:
    """Joins differences to one line, as many as fit."""
    taken: list[str] = []
    for each in reported:
        if taken and sum(map(len, taken)) + len(each) > _MAX_LISTED:
            return f"{'; '.join(taken)}; and {len(reported) - len(taken)} more"
        taken.append(each)
    return "; ".join(taken)


def differences(recorded: Any, sent: Any, path: Path = ()) -> Iterator[tuple[Path, Any, Any]]:
    """Yields the JSON paths at which two values differ, with both values, in recorded order.

    >>> recorded, sent = {"a": [1, {"b": 2}]}, {"a": [1.0, {"b": 3}], "c": 4}
    >>> [shown(path) for path, _, _ in differences(recorded, sent)]
    ['$.a[1].b', '$.c']
    """
    if isinstance(recorded, dict) and isinstance(sent, dict):
        for key in {**recorded, **sent}:
            yield from differences(
                recorded.get(key, _NOTHING), sent.get(key, _NOTHING), (*path, key)
            )
    elif isinstance(recorded, list) and isinstance(sent, list):
        for index in range(max(len(recorded), len(sent))):
            old, new = (each[index] if index < len(each) else _NOTHING for each in (recorded, sent))
            yield from differences(old, new, (*path, index))
    elif (
        isinstance(recorded, bool) is not isinstance(sent, bool) or recorded != sent
    ):  # 1 == True in Python, but not in JSON
        yield path, recorded, sent


def _canonical(value: Any) -> Any:
    """Normalizes a value so that equal values have equal JSON text: 1.0 becomes 1."""
    if isinstance(value, dict):
        return {key: _canonical(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_canonical(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _head(value: Any) -> str:
    return value if isinstance(value, str) else _value(value)


def _value(value: Any) -> str:
    if value is _NOTHING:
        return "nothing"
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= SHOWN_VALUE else text[:SHOWN_VALUE] + "..."


def _windows(old: Any, new: Any) -> tuple[str, str]:
    """Shortens two values for a message; long texts are cut around their first difference."""
    if isinstance(old, bytes) and isinstance(new, bytes):
        old, new = old.decode("utf-8", "replace"), new.decode("utf-8", "replace")
    if not (isinstance(old, str) and isinstance(new, str)):
        return _value(old), _value(new)
    same = next(
        (at for at, (a, b) in enumerate(zip(old, new, strict=False)) if a != b),
        min(len(old), len(new)),
    )
    start = max(0, same - SHOWN_VALUE // 4) if max(len(old), len(new)) > SHOWN_VALUE else 0
    return _window(old, start), _window(new, start)


def _window(text: str, start: int) -> str:
    cut = text[start : start + SHOWN_VALUE]
    before = "..." if start else ""
    after = "..." if start + SHOWN_VALUE < len(text) else ""
    return f"{before}{json.dumps(cut, ensure_ascii=False)}{after}"
