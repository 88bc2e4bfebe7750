"""Answers as values: what a model is told of the form of its answer, and the reading of what it
said.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from wire.errors import OutputError, SchemaError, Violation, one_line
from wire.neutral.request import Output
from wire.neutral.validation import Mismatch, SchemaShape, Shape, TypeShape, shape_of

NAME = "answer"
WRAPPED = "value"
"""The one property of the object that an answer is wrapped in, where it is none itself: vendors
want an object.
"""

_FENCE = "```"
_NO_NAME = re.compile(r"[^A-Za-z0-9_-]+")
_LIMIT = 200  # bytes of an answer that are quoted


class OutputType:
    """A type, a pydantic model or a JSON Schema that an answer is to fit.

    >>> wanted = OutputType(list[int])
    >>> wanted.output.schema["properties"], wanted.read('{"value": [1, 2]}')
    ({'value': {'type': 'array', 'items': {'type': 'integer'}}}, [1, 2])

    `output` is what a `Request` takes. Raises `SchemaError` for what is no schema, or a type that
    JSON cannot say, `ConfigurationError` for a JSON Schema without the extra `wire-llm[tools]`.
    """

    def __init__(self, kind: Any) -> None:
        try:
            self._shape: Shape = shape_of(kind)
            # A schema is the caller's own, and is told as it is.
            self._wrapped = (
                not isinstance(self._shape, SchemaShape)
                and self._shape.schema.get("type") != "object"
            )
            if self._wrapped:
                self._shape = TypeShape(
                    msgspec.defstruct(NAME, [(WRAPPED, kind)], forbid_unknown_fields=True)
                )
        except (TypeError, ValueError, NameError, re.error) as cause:
            raise SchemaError(
                violations=[
                    Violation("output", f"an answer cannot be asked for as {_shown(kind)}: {cause}")
                ]
            ) from None
        # What vendors take as a name: a title may be any text.
        name = _NO_NAME.sub("_", str(self._shape.schema.get("title", NAME))).strip("_")[:64] or NAME
        self.output = Output(self._shape.schema, name)
        self._name = _shown(kind) if self._wrapped else name

    def read(self, text: str) -> Any:
        """The value that an answer says; it may stand in one code fence.

        Raises `OutputError` with the JSON path of what is wrong.
        """
        said = text.strip()
        if len(said) >= 2 * len(_FENCE) and said.startswith(_FENCE) and said.endswith(_FENCE):
            said = said[len(_FENCE) : -len(_FENCE)]
            said = (said[len("json") :] if said[: len("json")].lower() == "json" else said).strip()
        if not said:
            raise OutputError("nothing was said, and JSON is wanted")
        try:
            value = self._shape.read(msgspec.json.decode(said))
        except Mismatch as mismatch:
            raise OutputError(f"the answer does not fit {self._name}: {mismatch}") from None
        except (msgspec.DecodeError, UnicodeError, RecursionError) as cause:
            raise OutputError(f"the answer is no JSON: {cause}: {one_line(said, _LIMIT)}") from None
        return getattr(value, WRAPPED) if self._wrapped else value

    def __repr__(self) -> str:
        return f"OutputType({self._name})"


def _shown(kind: Any) -> str:
    return one_line(str(getattr(kind, "__name__", kind)), _LIMIT)
