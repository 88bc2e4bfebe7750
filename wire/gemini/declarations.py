"""Writes tool definitions in Gemini's form: one Tool with all declarations, and parameters in
Gemini's Schema dialect.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from wire.core.arguments import checked_arguments
from wire.core.errors import RuleError, Violation
from wire.core.json_values import checked
from wire.core.memory import Note, Noted, encode, notes, unknown, with_notes
from wire.core.secret import quoted
from wire.gemini.decode import decode
from wire.gemini.schema_values import fail
from wire.gemini.schemas import schema
from wire.gemini.types import FunctionDeclaration, Schema, Tool

# Without dots, which some models refuse (G28).
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")

_EMPTY = Schema(type="OBJECT")


@checked_arguments()
def function_declaration(
    name: str,
    description: str | None = None,
    parameters: Mapping[str, Any] | Schema | None = None,
    *,
    response: Mapping[str, Any] | Schema | None = None,
) -> FunctionDeclaration:
    """Declare one function that the model may call.

    `parameters` and `response` are JSON Schema or Gemini's `Schema`.

    >>> city = {"type": "object", "properties": {"city": {"type": "string"}}}
    >>> function_declaration("get_weather", "Weather of a city.", city).parameters
    Schema(type='OBJECT', properties={'city': Schema(type='STRING')})
    >>> function_declaration(
    ...     "now", "The time.", {"type": "object", "properties": {}}
    ... ).parameters is None
    True

    `wire.notes(declaration)` lists what the conversion changed or dropped. To send JSON Schema
    unchanged, build a `FunctionDeclaration(parameters_json_schema=...)`.

    Raises `RuleError` for a name that some model refuses (G28), `SchemaError` for a schema without
    an equivalent in Gemini's dialect.
    """
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        remedy = "a letter or underscore, then letters, digits, underscores or dashes, 64 in all"
        problem = f"{quoted(name)} is not a function name"
        raise RuleError(violations=[Violation("name", problem, "G28", remedy=remedy)])
    report: list[Note] = []
    declaration = FunctionDeclaration(
        name=name,
        description=description,
        parameters=_lowered(parameters, "parameters", report),
        response=_lowered(response, "response", report),
    )
    return with_notes(declaration, report)


def _lowered(
    source: Mapping[str, Any] | Schema | None, path: str, report: list[Note]
) -> Schema | None:
    """Convert a schema to Gemini's dialect; return `None` for an object without properties.

    Older backends refuse an OBJECT with empty properties; every backend accepts a function without
    the field (G44, S0-01).
    """
    if source is None:
        return None
    lowered = source if isinstance(source, Schema) else schema(source, path=path)
    report.extend(notes(lowered))
    if (
        path == "parameters"
        and lowered.type is not None
        and str(lowered.type).upper() not in ("OBJECT", "6")
    ):
        fail(
            path,
            f"must be an OBJECT, not {lowered.type}",
            "G50",
            "wrap it in an object with one property",
        )
    return None if lowered == _EMPTY else lowered


@checked_arguments()
def tools(*definitions: FunctionDeclaration | Tool | Mapping[str, Any]) -> Noted[Tool]:
    """Build the `tools` of a request: one Tool with all declarations, then the built-in tools.

    A definition is a `FunctionDeclaration`, a `Tool`, or a mapping in the form of chat completions,
    bare (`{"name", "description", "parameters"}`) or wrapped (`{"type": "function", "function":
    {...}}`). A built-in tool may be a mapping too: `{"google_search": {}}` or `{"type":
    "google_search"}`, in both spellings.

    >>> tools({"type": "function", "function": {"name": "now", "strict": True}})
    [Tool(function_declarations=[FunctionDeclaration(name='now')])]
    >>> tools({"type": "code_execution"})
    [Tool(code_execution=CodeExecution())]

    `wire.notes(result)` lists the keys that were dropped, such as `strict`.

    Raises `RuleError` for two functions with one name (G29), for a tool that Gemini does not
    have, for a mapping without a name, and for any other type.
    """
    declarations: list[FunctionDeclaration] = []
    others: list[Tool] = []
    report: list[Note] = []
    for index, definition in enumerate(definitions):
        path = f"tools[{index}]"
        if isinstance(definition, Mapping):
            definition = _built_in(definition, path) or definition
        if isinstance(definition, Tool):
            declarations += definition.function_declarations or ()
            rest = msgspec.structs.replace(definition, function_declarations=None)
            if rest != Tool():
                others.append(rest)
            continue
        declaration = (
            definition
            if isinstance(definition, FunctionDeclaration)
            else declared(definition, path, report)
        )
        report += (Note(f"{path}.{note.path}", note.message) for note in notes(declaration))
        declarations.append(declaration)
    names = [declaration.name for declaration in declarations]
    duplicates = sorted({str(name) for name in names if names.count(name) > 1})
    if duplicates:
        raise RuleError(
            violations=[
                Violation("tools", f"two functions have the name {name}", "G29")
                for name in duplicates
            ]
        )
    return Noted(
        [*([Tool(function_declarations=declarations)] if declarations else []), *others], report
    )


_BUILT_IN = {
    spelling: name
    for field, name in zip(Tool.__struct_fields__, Tool.__struct_encode_fields__, strict=True)
    for spelling in (field, name)
    if field != "function_declarations"
}
"""Both spellings of a built-in tool's field -> its name on the wire."""


def _built_in(definition: Mapping[str, Any], path: str) -> Tool | None:
    """Return the Tool for a mapping of a built-in tool; `None` for a function.

    Raises `RuleError` for a type of tool that Gemini does not have.
    """
    kind = definition.get("type", "function")
    if isinstance(kind, str) and kind in _BUILT_IN:
        rest = {key: value for key, value in definition.items() if key != "type"}
        named: dict[str, Any] = {_BUILT_IN[kind]: rest.get(kind, rest)}
    elif kind != "function":
        remedy = f"a function, or one of {', '.join(sorted(set(_BUILT_IN.values())))}"
        raise RuleError(
            violations=[
                Violation(path, f"Gemini has no tool of type {kind!r}", "G1", remedy=remedy)
            ]
        )
    elif definition and not definition.keys() - _BUILT_IN.keys():
        named = {_BUILT_IN[key]: value for key, value in definition.items()}
    else:
        return None
    try:
        tool = decode(encode(checked(named, path)), Tool)
    except RuleError as error:
        raise RuleError(
            violations=[
                each if each.path.startswith(path) else _below(path, each)
                for each in error.violations
            ]
        ) from None
    if lost := unknown(tool):
        raise RuleError(
            violations=[
                Violation(f"{path}.{key}", "a built-in tool of Gemini's has no such key", "G1")
                for key, _ in lost
            ]
        )
    return msgspec.structs.replace(tool)  # built here, not received


def _below(path: str, violation: Violation) -> Violation:
    return msgspec.structs.replace(violation, path=f"{path}.{violation.path}".rstrip("."))


_DECLARATION_KEYS = frozenset({"name", "description", "parameters", "response"})


def declared(definition: Any, path: str, report: list[Note]) -> FunctionDeclaration:
    """Convert a mapping to its declaration.

    `path` of the mapping begins the paths of notes and errors.

    Raises as `tools`.
    """
    if not isinstance(definition, Mapping):
        problem = (
            f"expected a FunctionDeclaration, a Tool or a mapping, not {type(definition).__name__}"
        )
        raise RuleError(violations=[Violation(path, problem)])
    function = definition.get("function", definition)
    if not isinstance(function, Mapping) or "name" not in function:
        raise RuleError(
            violations=[
                Violation(
                    path,
                    "a function must have a name",
                    "G1",
                    remedy="pass built-in tools as Tool(...)",
                )
            ]
        )
    for key in function:
        if key not in _DECLARATION_KEYS and not (function is definition and key == "type"):
            report.append(Note(f"{path}.{key}", "dropped, a FunctionDeclaration has no such field"))
    fields = {key: function[key] for key in _DECLARATION_KEYS if key in function}
    try:
        return function_declaration(**fields)
    except RuleError as error:
        error.violations = tuple(
            msgspec.structs.replace(each, path=f"{path}.{each.path}") for each in error.violations
        )
        raise type(error)(violations=error.violations) from None
