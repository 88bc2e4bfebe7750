"""Tool definitions as the server takes them: one Tool that holds all declarations, schemas in its
own dialect.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from wire.core.memory import Note, Noted, notes, with_notes
from wire.errors import RuleError, Violation
from wire.gemini.schema_values import fail
from wire.gemini.schemas import schema
from wire.gemini.types import FunctionDeclaration, Schema, Tool

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")

_EMPTY = Schema(type="OBJECT")


def function_declaration(
    name: str,
    description: str | None = None,
    parameters: Mapping[str, Any] | Schema | None = None,
    *,
    response: Mapping[str, Any] | Schema | None = None,
) -> FunctionDeclaration:
    """One function that the model may call; `parameters` and `response` are JSON Schema or Gemini's
    own.

    >>> function_declaration(
    ...     "now", "The time.", {"type": "object", "properties": {}}
    ... ).parameters is None
    True

    What the schemas lose on the way stands in `wire.notes(declaration)`. To send JSON Schema as it
    is, build a `FunctionDeclaration(parameters_json_schema=...)` yourself.

    Raises `RuleError` for a name that some model refuses (G28), `SchemaError` for a schema that
    cannot be written.
    """
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        remedy = "a letter or underscore, then letters, digits, underscores or dashes, 64 in all"
        raise RuleError(
            violations=[Violation("name", f"{name!r} is no function name", "G28", remedy=remedy)]
        )
    found: list[Note] = []
    declaration = FunctionDeclaration(
        name=name,
        description=description,
        parameters=_lowered(parameters, "parameters", found),
        response=_lowered(response, "response", found),
    )
    return with_notes(declaration, found)


def _lowered(
    source: Mapping[str, Any] | Schema | None, path: str, found: list[Note]
) -> Schema | None:
    """The schema in Gemini's dialect; an object without properties is left out, which every backend
    takes (G44, S0-01).
    """
    if source is None:
        return None
    lowered = source if isinstance(source, Schema) else schema(source, path=path)
    found.extend(notes(lowered))
    if (
        path == "parameters"
        and lowered.type is not None
        and str(lowered.type).upper() not in ("OBJECT", "6")
    ):
        fail(
            path,
            f"a function takes an OBJECT, not {lowered.type}",
            "G50",
            "give the parameter a name: an object with one property",
        )
    return None if lowered == _EMPTY else lowered


def tools(*definitions: FunctionDeclaration | Tool | Mapping[str, Any]) -> Noted[Tool]:
    """The `tools` of a request: all declarations in one Tool, built-in tools beside it.

    A definition is a `FunctionDeclaration`, a `Tool`, or a mapping as chat completions have it,
    bare (`{"name", "description", "parameters"}`) or wrapped (`{"type": "function", "function":
    {...}}`).

    >>> tools({"type": "function", "function": {"name": "now", "strict": True}})
    [Tool(function_declarations=[FunctionDeclaration(name='now')])]

    Raises `RuleError` for two functions of one name (G29), and for what is no tool.
    """
    declarations: list[FunctionDeclaration] = []
    others: list[Tool] = []
    found: list[Note] = []
    for index, definition in enumerate(definitions):
        path = f"tools[{index}]"
        if isinstance(definition, Tool):
            declarations += definition.function_declarations or ()
            rest = msgspec.structs.replace(definition, function_declarations=None)
            if rest != Tool():
                others.append(rest)
            continue
        declaration = (
            definition
            if isinstance(definition, FunctionDeclaration)
            else declared(definition, path, found)
        )
        found += (Note(f"{path}.{note.path}", note.message) for note in notes(declaration))
        declarations.append(declaration)
    names = [declaration.name for declaration in declarations]
    twice = sorted({str(name) for name in names if names.count(name) > 1})
    if twice:
        raise RuleError(
            violations=[
                Violation("tools", f"two functions are called {name}", "G29") for name in twice
            ]
        )
    return Noted(
        [*([Tool(function_declarations=declarations)] if declarations else []), *others], found
    )


_KNOWN = frozenset({"name", "description", "parameters", "response"})


def declared(definition: Any, path: str, found: list[Note]) -> FunctionDeclaration:
    """The declaration that a mapping is. Raises as `tools`."""
    if not isinstance(definition, Mapping):
        raise RuleError(
            violations=[
                Violation(
                    path, f"a declaration, a Tool or a mapping, not {type(definition).__name__}"
                )
            ]
        )
    function = definition.get("function", definition)
    if not isinstance(function, Mapping) or "name" not in function:
        raise RuleError(
            violations=[
                Violation(
                    path,
                    "this is no function: it has no name",
                    "G1",
                    remedy="built-in tools are Tool(...)",
                )
            ]
        )
    for key in function:
        if key not in _KNOWN and not (function is definition and key == "type"):
            found.append(Note(f"{path}.{key}", "dropped, a FunctionDeclaration has no such field"))
    try:
        return function_declaration(**{key: function[key] for key in _KNOWN if key in function})
    except RuleError as error:
        error.violations = tuple(
            msgspec.structs.replace(each, path=f"{path}.{each.path}") for each in error.violations
        )
        raise type(error)(violations=error.violations) from None
