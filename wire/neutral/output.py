"""Structured output: the JSON Schema that is sent to the model, and the parsing of its text."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import msgspec

from wire.core.errors import OutputError, SchemaError, Violation, one_line
from wire.core.secret import quoted
from wire.neutral.request import Output
from wire.neutral.validation import (
    Mismatch,
    SchemaShape,
    Shape,
    TypeShape,
    is_schema,
    shape_of,
)

NAME = "answer"
"""Name of a schema without a title."""
WRAPPED = "value"
"""Property of the object that wraps a value of another type: vendors accept only objects."""

_FENCE = "```"
_NO_NAME = re.compile(r"[^A-Za-z0-9_-]+")
_MOST_LEVELS = 8
_LIMIT = 200  # bytes of the model's text that an error quotes


class OutputType:
    """A type, a pydantic model, a JSON Schema or an `Output` that the model's text must match.

    >>> numbers = OutputType(list[int])
    >>> numbers.output.schema["properties"], numbers.read('{"value": [1, 2]}')
    ({'value': {'type': 'array', 'items': {'type': 'integer'}}}, [1, 2])

    `"json"` stands for any JSON, and has no schema:

    >>> OutputType("json").output.schema, OutputType("json").read('{"a": 1}')
    ({}, {'a': 1})

    `output` is the value for `Request.output`. Raises `SchemaError` for an invalid schema or a type
    without a JSON form, with the path of the part that has none, such as `output.ports[*].pilot`;
    `ConfigurationError` for a JSON Schema if the extra `wire-llm[tools]` is not installed.
    """

    def __init__(self, kind: Any) -> None:
        if isinstance(kind, str) and kind == "json":
            kind = Output({})
        given = kind if isinstance(kind, Output) else None
        kind = (given.schema or Any) if given else kind
        try:
            self._shape: Shape = shape_of(kind)
            # A JSON Schema is sent as the caller wrote it, so it is never wrapped.
            self.is_wrapped: bool = (
                not isinstance(self._shape, SchemaShape)
                and given is None
                and self._shape.schema.get("type") != "object"
            )
            if self.is_wrapped:
                self._shape = TypeShape(
                    msgspec.defstruct(NAME, [(WRAPPED, kind)], forbid_unknown_fields=True)
                )
        except (TypeError, ValueError, NameError, re.error) as cause:
            problem = f"{_shown(kind)} cannot be the type of output: {cause}"
            found = Violation(_path_of_fault(kind), problem, remedy=_remedy(kind))
            raise SchemaError(violations=[found]) from None
        # Vendors restrict the characters of a name; a title may be any text.
        name = _NO_NAME.sub("_", str(self._shape.schema.get("title", NAME))).strip("_")[:64] or NAME
        self.output: Output = given or Output(self._shape.schema, name)
        self._name = _shown(kind) if self.is_wrapped else self.output.name

    def read(self, text: str) -> Any:
        """Parse the model's text, which may be inside a code fence, and return its value.

        Raises `OutputError` with the JSON path of the error.
        """
        json = text.strip()
        if len(json) >= 2 * len(_FENCE) and json.startswith(_FENCE) and json.endswith(_FENCE):
            json = json[len(_FENCE) : -len(_FENCE)]
            json = (json[len("json") :] if json[: len("json")].lower() == "json" else json).strip()
        if not json:
            raise OutputError("expected JSON, and the model's text is empty")
        try:
            value = self._shape.read(msgspec.json.decode(json))
        except Mismatch as mismatch:
            raise OutputError(f"the answer does not match {self._name}: {mismatch}") from None
        except (msgspec.DecodeError, UnicodeError, RecursionError) as cause:
            raise OutputError(
                f"the answer is not JSON: {cause}: {one_line(json, _LIMIT)}"
            ) from None
        return getattr(value, WRAPPED) if self.is_wrapped else value

    def __repr__(self) -> str:
        return f"OutputType({self._name})"


def _remedy(kind: Any) -> str:
    """Return what to write in place of what other libraries take."""
    word = kind.get("type") if isinstance(kind, dict) else kind
    if word == "json_schema":
        return "write the schema itself, without the object around it"
    if isinstance(word, str):
        return "output='json' is for JSON without a schema"
    return "" if isinstance(kind, type) or get_origin(kind) else "write the type, not a value of it"


def _shown(kind: Any) -> str:
    name = getattr(kind, "__name__", None)
    return one_line(name, _LIMIT) if isinstance(name, str) else quoted(kind, _LIMIT)


def _path_of_fault(kind: Any, path: str = "output", around: tuple[Any, ...] = ()) -> str:
    """Return the path of the innermost part of a type that has no JSON form.

    At most `_MOST_LEVELS` levels are searched. Each level is tried with everything inside it:
    without the limit, a type nested without end would take quadratic work.
    """
    for place, part in _parts(kind) if len(around) < _MOST_LEVELS else ():
        if any(part is each for each in around):
            continue  # a type that holds itself
        try:
            shape_of(part)
        except (TypeError, ValueError, NameError, re.error):
            return _path_of_fault(part, path + place, (*around, kind))
    return path


def _parts(kind: Any) -> list[tuple[str, Any]]:
    """Return the types of the parts of a type, with their paths in it."""
    if is_schema(kind):
        return []
    arguments = get_args(kind)
    origin = get_origin(kind)
    if origin in (Union, UnionType):
        return [("", part) for part in arguments]
    if origin is Annotated:
        return [("", arguments[0])]
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return [(".*", part) for part in arguments[1:]]
    if isinstance(origin, type) and issubclass(origin, Collection):
        return [("[*]", part) for part in arguments if part is not ...]
    try:
        fields = get_type_hints(origin or kind)
    except Exception:  # annotations of a user's type may run any code
        return []
    return [(f".{name}", part) for name, part in fields.items()]
