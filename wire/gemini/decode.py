"""Decodes request bodies that other clients wrote into the structs of `wire.gemini.types`.

The server accepts several spellings, and recorded requests mix them within one body: snake_case and
camelCase keys, `null` for an absent field, a bare object in place of a list, numbers as text. The
body is rewritten to one spelling before it is decoded. Unknown keys are kept, and `wire.unknown`
lists them.
"""

from __future__ import annotations

import functools
import json
import types
import typing
from typing import Any, TypeVar

import msgspec

from wire.core.decoders import decoder
from wire.core.errors import RuleError, Violation
from wire.core.memory import WireStruct, remember, well_formed_utf8

S = TypeVar("S", bound=WireStruct)


def decode(body: bytes, kind: type[S]) -> S:
    """Decode a request body as a `kind`.

    >>> from wire.gemini.types import GenerateContentRequest
    >>> decode(
    ...     b'{"contents": {"parts": {"text": "Hi"}}, "system_instruction": null}',
    ...     GenerateContentRequest,
    ... )
    GenerateContentRequest(contents=[Content(parts=[Part(text='Hi')])])

    Raises `RuleError` with the JSON path of a value that has the wrong type in every spelling.
    """
    try:
        value = json.loads(body)
        canonical = well_formed_utf8(
            json.dumps(_canonical(value, kind), ensure_ascii=False, separators=(",", ":"))
        )
        request: S = decoder(kind, strict=False).decode(canonical)
        return remember(request, canonical)
    except msgspec.ValidationError as cause:
        message, _, path = str(cause).partition(" - at `$")
        raise RuleError(violations=[Violation(path.strip("`."), message)]) from None
    except (ValueError, RecursionError) as cause:
        raise RuleError(violations=[Violation("", f"the body is not JSON: {cause}")]) from None


def _canonical(value: Any, hint: Any) -> Any:
    """Return `value` in camelCase, without nulls, and with lists in place of bare objects.

    `hint` is the type of the value. It decides which nulls stay: in a field of type `Any`, such as
    `parametersJsonSchema`, null is a value and not an absent field.
    """
    kind = _struct(hint)
    if kind is not None:
        if not isinstance(value, dict):
            return value
        fields, hints = _fields(kind)
        canonical = {}
        for key, item in value.items():
            name = fields.get(key)
            if name is None:
                canonical[key] = item
            elif item is not None or hints[name] is Any:
                canonical[name] = _canonical(item, hints[name])
        return canonical
    item = _inside(hint, list)
    if item is not None:
        return [_canonical(each, item) for each in (value if isinstance(value, list) else [value])]
    item = _inside(hint, dict)
    if item is not None and isinstance(value, dict):
        return {key: _canonical(each, item) for key, each in value.items()}
    return value


@functools.cache
def _fields(kind: type[WireStruct]) -> tuple[dict[str, str], dict[str, Any]]:
    """Return two mappings: both spellings of each key -> its name on the wire; that name -> its
    type.
    """
    hints = typing.get_type_hints(kind)
    pairs = list(zip(kind.__struct_fields__, kind.__struct_encode_fields__, strict=True))
    return {**dict(pairs), **{name: name for _, name in pairs}}, {
        name: hints[field] for field, name in pairs
    }


def _struct(hint: Any) -> type[WireStruct] | None:
    """Return the struct among the types that a hint allows."""
    return next(
        (
            each
            for each in _members(hint)
            if isinstance(each, type) and issubclass(each, WireStruct)
        ),
        None,
    )


def _inside(hint: Any, container: type) -> Any:
    """Return the type of the items, if the hint allows a container of this type: list items, or the
    values of a dict.
    """
    for each in _members(hint):
        if typing.get_origin(each) is container:
            return typing.get_args(each)[-1]
    return None


def _members(hint: Any) -> tuple[Any, ...]:
    """Return the types of a union; any other hint is its own only member."""
    return (
        typing.get_args(hint)
        if isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union
        else (hint,)
    )
