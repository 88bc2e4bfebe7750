"""What a function returned, as a model is told of it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from typing import Any

import msgspec

from wire.core.memory import sayable
from wire.neutral.messages import Media, ToolCall, ToolResult
from wire.neutral.validation import Mismatch, Shape, json_path


def result_of(call: ToolCall, value: Any, shape: Shape | None = None) -> ToolResult:
    """The answer to a call whose function returned `value`.

    >>> result_of(ToolCall(name="now"), "noon").answer
    {'result': 'noon'}

    Any JSON, structs, dataclasses and pydantic models are its content; `Media`, alone or in a list,
    go beside it. A `ToolResult` is taken as it is, with the id and name of the call: so a function
    says that it failed, without raising. An object with `to_message()` is what that says, and has
    failed if it has a false `success`.

    Raises `Mismatch` for what JSON cannot say, and for what is not of the shape.
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


def _apart(value: Any) -> tuple[Any, tuple[Media, ...]]:
    """What is said, and the media beside it."""
    items = value if isinstance(value, (list, tuple)) else [value]
    media = tuple(item for item in items if isinstance(item, Media))
    if not media:
        return value, ()
    rest = [item for item in items if not isinstance(item, Media)]
    return rest if len(rest) > 1 else rest[0] if rest else "", media


def as_json(value: Any) -> Any:
    """`value` as JSON has it, sharing nothing with it: what its owner does to it later is not seen
    in the history.
    """
    try:
        return _finite(msgspec.to_builtins(value, str_keys=True, enc_hook=_other), ())
    except Mismatch:
        raise
    except (TypeError, ValueError, OverflowError, RecursionError) as cause:
        raise Mismatch("$", f"JSON cannot say this: {cause}") from None


def text_of(text: str) -> str:
    """A text that can be sent: half of a surrogate pair, as in odd names of files, becomes U+FFFD
    (R-08).
    """
    return text if text.isascii() else sayable(text).decode()


def _finite(value: Any, path: tuple[str | int, ...]) -> Any:
    if isinstance(value, str):
        return text_of(value)
    if isinstance(value, dict):
        return {text_of(key): _finite(item, (*path, key)) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item, (*path, index)) for index, item in enumerate(value)]
    if isinstance(value, float) and not math.isfinite(value):
        raise Mismatch(json_path(path), f"JSON has no number {value}")
    return value


def _other(value: Any) -> Any:
    """What msgspec does not know by itself."""
    if callable(getattr(value, "model_dump", None)):
        return value.model_dump(mode="json")
    if isinstance(value, str):
        return str.__str__(value)  # an heir's own `__str__` may say something else
    if isinstance(value, (int, float)):
        return int(value) if isinstance(value, int) else float(value)
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, (Sequence, Set)):
        return list(value)
    raise TypeError(f"it has no form for {type(value).__name__}")
