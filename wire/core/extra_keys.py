"""Extra keys: JSON keys that a request sends and that the structs of this library do not have.

A vendor adds keys before this library knows them. A mistyped field of a struct is a `TypeError`, so
extra keys have a door of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wire.core.arguments import checked_arguments
from wire.core.errors import ConfigurationError, RuleError, Violation
from wire.core.json_values import checked
from wire.core.memory import NOTES, RAW, S, WireStruct, extended, extra_of


@checked_arguments(ConfigurationError)
def with_extra(struct: S, keys: Mapping[str, Any]) -> S:
    """Return a copy of a request struct that sends further JSON keys beside its fields.

    >>> from wire import anthropic
    >>> from wire.core.memory import encode
    >>> tool = with_extra(anthropic.Tool(name="look"), {"zoom": {"levels": [1, 2]}})
    >>> encode(tool)
    b'{"name":"look","zoom":{"levels":[1,2]}}'

    Any struct of a request can have extra keys: the request, a message, a block, a tool. Copies,
    pickles and `msgspec.structs.replace` keep them. Keys that were added before stay, unless `keys`
    has them too. The rules do not check extra keys; the server does.

    Raises `RuleError` for a key that the struct has a field for, a value that JSON cannot
    represent, and a received struct, which is sent in the bytes in which it came.
    """
    if not isinstance(struct, WireStruct):
        raise RuleError(
            violations=[
                Violation("", f"expected a struct of a request, not {type(struct).__name__}")
            ]
        )
    if RAW in vars(struct):
        raise RuleError(
            violations=[
                Violation(
                    "",
                    f"this {type(struct).__name__} was received, and is sent in its own bytes",
                    remedy="build a struct of its fields, or call.replace(body_extra=...)",
                )
            ]
        )
    if not isinstance(keys, Mapping):
        raise RuleError(
            violations=[
                Violation("extra", f"expected a mapping of keys, not {type(keys).__name__}")
            ]
        )
    checked(dict(keys), "extra")
    names = dict(zip(struct.__struct_encode_fields__, struct.__struct_fields__, strict=True))
    names |= {name: name for name in names.values()}
    taken = [key for key in keys if key in names]
    if taken:
        raise RuleError(
            violations=[
                Violation(
                    f"extra.{key}",
                    f"{type(struct).__name__} has a field {names[key]}",
                    remedy=f"set {names[key]}=",
                )
                for key in taken
            ]
        )
    fields = {name: getattr(struct, name) for name in struct.__struct_fields__}
    made = extended(type(struct))(**{**fields, "extra": {**extra_of(struct), **keys}})
    if NOTES in vars(struct):
        vars(made)[NOTES] = vars(struct)[NOTES]
    return made


def narrowed(request: WireStruct, kind: type[S]) -> S:
    """Return the fields of a request that another struct has too, with its extra keys.

    >>> from wire import anthropic
    >>> request = anthropic.MessageRequest(model="claude-opus-4-8", max_tokens=9, messages=[])
    >>> narrowed(request, anthropic.CountTokensRequest)
    CountTokensRequest(model='claude-opus-4-8', messages=[])
    """
    shared = set(kind.__struct_fields__) & set(request.__struct_fields__)
    made = kind(**{name: getattr(request, name) for name in shared})
    extra = extra_of(request)
    return with_extra(made, extra) if extra else made
