"""Converts the return value of a function to the result that the model gets; shows a call."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence, Set
from typing import Any

import msgspec

from wire.core import json_values
from wire.core.arguments import checked_arguments
from wire.core.errors import RuleError, ToolError
from wire.core.memory import well_formed_utf8
from wire.core.printable import printable_json, printable_line
from wire.neutral.messages import Media, ToolCall, ToolResult
from wire.neutral.validation import Mismatch, Shape


def result_of(call: ToolCall, value: Any, shape: Shape | None = None) -> ToolResult:
    """Build the result of a call whose function returned `value`.

    >>> result_of(ToolCall(name="now"), "noon").answer
    {'result': 'noon'}

    JSON values, structs, dataclasses and pydantic models become its content. `Media`, alone or in a
    list, become its media. A `ToolResult` keeps its content, error and media, and gets the id and
    name of the call: so a function can report an error without raising. For an object with
    `to_message()`, the returned message is the content; a false `success` makes it an error.

    Raises `Mismatch` for a value that has no JSON form and for one that does not match `shape`.
    """
    error = False
    media: tuple[Media, ...] = ()
    if isinstance(value, ToolResult):
        value, error, media = value.content, value.error, value.media
    elif callable(getattr(value, "to_message", None)):
        value, error = value.to_message(), not getattr(value, "success", True)
    if not media:
        value, media = _apart(value)
    content = as_json(value)
    if shape is not None and not error:
        shape.read(content)
    return ToolResult(call.id, call.name, content, error, media)


@checked_arguments(ToolError)
def format_call(call: ToolCall) -> str:
    r"""Format a call as one line for a question to a person: its name and all its arguments.

    >>> format_call(ToolCall(name="run", arguments={"command": "ls\r\x1b[2Krm -rf ."}))
    'run {"command": "ls\\r\\u001b[2Krm -rf ."}'

    Characters that act on a terminal or cannot be seen are escaped. Nothing is cut, so that an
    argument cannot hide its end. Arguments that are no JSON object are shown as received.
    """
    if call.arguments is None:
        arguments = printable_line(call.text)
    else:
        arguments = printable_json(json.dumps(call.arguments, ensure_ascii=False, default=repr))
    return f"{printable_line(call.name)} {arguments}"


def _apart(value: Any) -> tuple[Any, tuple[Media, ...]]:
    """Split a value into content and media."""
    items = value if isinstance(value, (list, tuple)) else [value]
    media = tuple(item for item in items if isinstance(item, Media))
    if not media:
        return value, ()
    rest = [item for item in items if not isinstance(item, Media)]
    return rest if len(rest) > 1 else rest[0] if rest else "", media


def as_json(value: Any) -> Any:
    """Return a JSON copy of `value`.

    It shares no object with `value`, so a later change to `value` does not change the history.
    """
    try:
        copy = _mended(msgspec.to_builtins(value, str_keys=True, enc_hook=_other))
        return json_values.checked(copy, "$", plain=True)
    except RuleError as error:
        raise Mismatch(error.violations[0].path, error.violations[0].message) from None
    except RecursionError:
        raise Mismatch("$", "nested too deeply, or contains itself") from None
    except (TypeError, ValueError, OverflowError) as cause:
        raise Mismatch("$", f"JSON cannot represent this: {cause}") from None


def text_of(text: str) -> str:
    """Replace lone surrogates, as in odd file names, by U+FFFD: UTF-8 cannot encode them (R-08)."""
    return text if text.isascii() else well_formed_utf8(text).decode()


def _mended(value: Any) -> Any:
    """Return a copy without lone surrogates."""
    if isinstance(value, str):
        return text_of(value)
    if isinstance(value, dict):
        return {text_of(key): _mended(item) for key, item in value.items()}
    return [_mended(item) for item in value] if isinstance(value, (list, tuple)) else value


def _other(value: Any) -> Any:
    """Convert a type that msgspec cannot convert itself, as its hook."""
    if callable(getattr(value, "model_dump", None)):
        return value.model_dump(mode="json")
    if isinstance(value, str):
        return str.__str__(value)  # a subclass may override `__str__`
    if isinstance(value, (int, float)):
        return int(value) if isinstance(value, int) else float(value)
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, (Sequence, Set)):
        return list(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")
