"""Locates a decoding error in a cassette: its JSON path and its line.

msgspec reports an incomplete path (it leaves out keys of mappings) and no line; whoever edits a
file of 10,000 lines needs both. This code runs only after an error, so it may be slow.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import msgspec

from wire.core.limits import READ_DEPTH, is_deeper

Path = tuple[str | int, ...]

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"|[\[\]{}:,]|[^\s\[\]{}:,"]+', re.DOTALL)
_STEP = re.compile(r"\.([A-Za-z_]\w*)|\[(\.\.\.|\d+)\]")
_WHERE = re.compile(r" - at `(\$.*?)`$", re.DOTALL)
_FIELD = re.compile(r"unknown field `(.*?)`", re.DOTALL)
_BYTE = re.compile(r"\(byte (\d+)\)")


def _nothing(_: object) -> None:
    return None


# Reads JSON for its syntax errors alone: values are dropped, since they would take many times the
# space of the file.
_SYNTAX = json.JSONDecoder(object_pairs_hook=_nothing, parse_float=_nothing, parse_int=_nothing)


class Fault(ValueError):
    """An error in a file, with its JSON path and its line (0 if unknown)."""

    def __init__(self, path: str, message: str, line: int = 0) -> None:
        super().__init__(message)
        self.path = path
        self.message = message
        self.line = line


def refuse_deep(data: bytes) -> None:
    """Raise `RecursionError` for JSON that is nested more deeply than it may be."""
    if is_deeper(data, READ_DEPTH):
        raise RecursionError


def fault_of(text: str, cause: BaseException) -> Fault:
    """Convert `cause`, which the decoder raised while it read `text`, to a fault."""
    if isinstance(cause, RecursionError):
        return Fault("", "nested too deeply")
    if isinstance(cause, Fault):
        return Fault(cause.path, cause.message, cause.line or line_of(text, ("wire_cassette",)))
    if not isinstance(cause, msgspec.ValidationError):
        return _broken(text, cause)
    message = _WHERE.sub("", str(cause))
    where = _WHERE.search(str(cause))
    path = _exact(where[1] if where else "$", text)
    unknown = _FIELD.search(message)
    line = line_of(text, (*path, unknown[1]) if unknown else path)
    return Fault(shown(path), message[:1].lower() + message[1:], line)


def shown(path: Path) -> str:
    """Format a path as JSON path; the step `*` stands for any index.

    >>> shown(("interactions", 0, "headers", "content-type"))
    '$.interactions[0].headers["content-type"]'
    """
    return "$" + "".join(
        f"[{step}]"
        if isinstance(step, int) or step == "*"
        else f".{step}"
        if step.isidentifier()
        else f"[{json.dumps(step)}]"
        for step in path
    )


def line_of(text: str, path: Path) -> int:
    """Return the line on which the value at `path`, or its key, begins; 0 if there is none."""
    for here, at, _ in positions(text):
        if here == path:
            return text.count("\n", 0, at) + 1
    return 0


def repeated_key(text: str) -> None:
    """Raise `Fault` for a key that an object of the cassette has twice.

    The JSON of a body may repeat its keys: they are what was received.
    """
    # For each open bracket of the cassette itself: its keys, or `None` for an array.
    open_: list[set[str] | None] = []
    inside = 0  # brackets open in the JSON of a body
    key = ""
    before = ""
    for match in _TOKEN.finditer(text):
        token = match[0]
        if inside or (key == "json" and before == ":" and token in "[{"):
            inside += (token in "[{") - (token in "]}")
        elif token in "[{":
            open_.append(set() if token == "{" else None)
        elif token in "]}":
            open_.pop()
        elif token[0] == '"' and before in "{," and (keys := open_[-1]) is not None:
            key = json.loads(token)
            if key in keys:
                line = text.count("\n", 0, match.start()) + 1
                raise Fault("", f"the key {token} occurs twice in one object", line)
            keys.add(key)
        before = token


def _broken(text: str, cause: BaseException) -> Fault:
    try:
        _SYNTAX.decode(text)
    except (ValueError, RecursionError) as error:
        if isinstance(error, json.JSONDecodeError):
            return Fault("", f"not JSON: {error.msg}, column {error.colno}", error.lineno)
    offset = _BYTE.search(str(cause))
    line = text.encode()[: int(offset[1])].count(b"\n") + 1 if offset else 0
    return Fault("", f"not JSON: {cause}", line)


def positions(text: str) -> Iterator[tuple[Path, int, str]]:
    """Yield the path, the offset and the first token of every JSON value.

    A value in an object begins at its key.
    """
    # One entry for each open bracket: the step to the current value, or `None` before a key.
    open_: list[list[Any]] = []
    key_at = 0
    for match in _TOKEN.finditer(text):
        token, at = match[0], match.start()
        if token in "]}":
            open_.pop()
        elif token == ",":
            step = open_[-1]
            step[0] = step[0] + 1 if isinstance(step[0], int) else None
        elif token == ":":
            pass
        elif open_ and open_[-1][0] is None:
            open_[-1][0], key_at = json.loads(token), at
        else:
            in_object = bool(open_) and isinstance(open_[-1][0], str)
            yield tuple(step[0] for step in open_), key_at if in_object else at, token
            if token in "[{":
                open_.append([0 if token == "[" else None])


def _exact(path: str, text: str) -> Path:
    """Split msgspec's path into steps.

    msgspec writes `[...]` for an unnamed key of an object of strings. It is replaced by the first
    key whose value is not a string, which is the one that msgspec rejected.
    """
    steps: list[str | int] = []
    # Only for such a key, since the decoded text takes many times the space of the file.
    value: Any = json.loads(text, parse_int=float) if "[...]" in path else None
    for name, index in _STEP.findall(path):
        step = name
        if index == "...":
            step = next((key for key, item in value.items() if not isinstance(item, str)), None)
            if step is None:  # of a key that occurs twice, the other value
                break
        elif index:
            step = int(index)
        steps.append(step)
        value = None if value is None else value[step]
    return tuple(steps)
