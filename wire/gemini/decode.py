"""Requests as other clients write them, decoded into our types.

The server takes more than one spelling, and recorded requests use all of them, also within one
body: snake_case beside camelCase, `null` for absent, a bare object where a list belongs, numbers as
text. What is decoded here is brought to one spelling first; keys that no message has are kept, and
`wire.unknown` tells them.
"""

from __future__ import annotations

import functools
import json
import types
import typing
from typing import Any, TypeVar

import msgspec

from wire.core.decoders import decoder
from wire.core.memory import WireStruct, remember, sayable
from wire.errors import RuleError, Violation

S = TypeVar("S", bound=WireStruct)


def decode(body: bytes, kind: type[S]) -> S:
    """A request body as a `kind`. Raises `RuleError` that names the JSON path of what no spelling
    allows.

    >>> from wire.gemini.types import GenerateContentRequest
    >>> decode(
    ...     b'{"contents": {"parts": {"text": "Hi"}}, "system_instruction": null}',
    ...     GenerateContentRequest,
    ... )
    GenerateContentRequest(contents=[Content(parts=[Part(text='Hi')])])
    """
    try:
        plain = json.loads(body)
        spelled = sayable(
            json.dumps(_spelled(plain, kind), ensure_ascii=False, separators=(",", ":"))
        )
        read: S = decoder(kind, strict=False).decode(spelled)
        return remember(read, spelled)
    except msgspec.ValidationError as cause:
        message, _, path = str(cause).partition(" - at `$")
        raise RuleError(violations=[Violation(path.strip("`."), message)]) from None
    except (ValueError, RecursionError) as cause:
        raise RuleError(violations=[Violation("", f"the body is no JSON: {cause}")]) from None


def _spelled(value: Any, hint: Any) -> Any:
    """`value` in the one spelling that its type has."""
    kind = _struct(hint)
    if kind is not None:
        if not isinstance(value, dict):
            return value
        fields, hints = _fields(kind)
        spelled = {}
        for key, item in value.items():
            name = fields.get(key)
            if name is None:
                spelled[key] = item
            elif item is not None or hints[name] is Any:
                spelled[name] = _spelled(item, hints[name])
        return spelled
    item = _inside(hint, list)
    if item is not None:
        return [_spelled(each, item) for each in (value if isinstance(value, list) else [value])]
    item = _inside(hint, dict)
    if item is not None and isinstance(value, dict):
        return {key: _spelled(each, item) for key, each in value.items()}
    return value


@functools.cache
def _fields(kind: type[WireStruct]) -> tuple[dict[str, str], dict[str, Any]]:
    """Both spellings of each key -> its name on the wire; name on the wire -> type."""
    found = typing.get_type_hints(kind)
    pairs = list(zip(kind.__struct_fields__, kind.__struct_encode_fields__, strict=True))
    return {**dict(pairs), **{name: name for _, name in pairs}}, {
        name: found[field] for field, name in pairs
    }


def _struct(hint: Any) -> type[WireStruct] | None:
    return next(
        (
            each
            for each in _members(hint)
            if isinstance(each, type) and issubclass(each, WireStruct)
        ),
        None,
    )


def _inside(hint: Any, container: type) -> Any:
    """The type of the items of a list, or of the values of an object."""
    for each in _members(hint):
        if typing.get_origin(each) is container:
            return typing.get_args(each)[-1]
    return None


def _members(hint: Any) -> tuple[Any, ...]:
    return (
        typing.get_args(hint)
        if isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union
        else (hint,)
    )
