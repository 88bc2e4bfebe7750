"""The fields of each message on each host, as the server's parser knows them.

They are derived from the structs of `wire.gemini.types`: names and types from the struct fields;
hosts, sources and one-of groups from the `Facts` in the annotations.
"""

from __future__ import annotations

import functools
import re
import types as builtin
import typing
from typing import Any

import msgspec

from wire.core.facts import NO_FACTS, SDK, Facts, facts_of
from wire.core.memory import WireStruct
from wire.gemini import types


class Field(msgspec.Struct, frozen=True):
    """One field: its name in both spellings of the server, its type, and its facts."""

    name: str
    """In camelCase."""
    snake: str
    """In snake_case, as error texts spell it."""
    kind: str
    """`message`, `list`, `map`, `object`, `any`, or a scalar: `string`, `bytes`, `int`, `int64`,
    `float`, `bool`, `enum`.
    """
    struct: type[WireStruct] | None = None
    """The struct of a message, or of the items of a list or map of messages."""
    item: str = ""
    """Kind of the items of a list or map."""
    facts: Facts = NO_FACTS

    @property
    def unverified(self) -> bool:
        """Whether only Google's SDK has the field, so that it is unknown if a server accepts it."""
        return self.facts.source == SDK


def server_name(struct: type[WireStruct]) -> str:
    """Return Google's name of the message."""
    return types.VENDOR_NAMES.get(struct.__name__, struct.__name__)


@functools.cache
def fields(struct: type[WireStruct]) -> dict[str, Field]:
    """Map both spellings of each key to its field."""
    by_key: dict[str, Field] = {}
    hints = typing.get_type_hints(struct)
    facts = facts_of(struct)
    for attribute, name in zip(
        struct.__struct_fields__, struct.__struct_encode_fields__, strict=True
    ):
        kind, inner, item = _kind(hints[attribute])
        if facts[name].base64:
            kind = "bytes"
        field = Field(name, snake(name), kind, inner, item, facts[name])
        by_key[name] = by_key[field.snake] = field
    return by_key


@functools.cache
def known_to(host: str, struct: type[WireStruct]) -> dict[str, Field]:
    """Return the fields that a host has; for an unknown host (`""`), all fields.

    >>> "audioTimestamp" in known_to("vertex", types.GenerationConfig)
    True
    >>> "audioTimestamp" in known_to("gemini", types.GenerationConfig)
    False
    """
    return {
        key: field
        for key, field in fields(struct).items()
        if not (host and field.facts.hosts and host not in field.facts.hosts)
    }


@functools.cache
def one_of_groups(struct: type[WireStruct]) -> dict[str, frozenset[str]]:
    """Map the name of each one-of group to the names of its fields, of which at most one may be
    set.
    """
    groups: dict[str, frozenset[str]] = {}
    for name, facts in facts_of(struct).items():
        if facts.one_of:
            groups[facts.one_of] = groups.get(facts.one_of, frozenset()) | {name}
    return groups


def _kind(hint: Any) -> tuple[str, type[WireStruct] | None, str]:
    """Return `Field.kind`, `Field.struct` and `Field.item` for the type of a struct field."""
    if hint is Any:
        return "any", None, ""
    members = (
        typing.get_args(hint)
        if isinstance(hint, builtin.UnionType) or typing.get_origin(hint) is typing.Union
        else (hint,)
    )
    first, plain = members[0], [each for each in members if each is not type(None)]
    if typing.get_origin(first) in (list, dict):
        item, inner, _ = _kind(typing.get_args(first)[-1])
        if typing.get_origin(first) is dict:
            return ("object", None, "") if item == "any" else ("map", inner, item)
        return "list", inner, item
    if isinstance(first, type) and issubclass(first, WireStruct):
        return "message", first, ""
    if len(plain) == 2:
        # Of two scalars the first is the server's form: an enum's name, the digits of an int64.
        return {str: "enum", int: "int64", float: "float"}[first], None, ""
    return {str: "string", int: "int", float: "float", bool: "bool"}[first], None, ""


def snake(name: str) -> str:
    """Convert `functionDeclarations[0].parametersJsonSchema` to the server's spelling in error
    texts.

    >>> snake("tools[0].functionDeclarations[1].parametersJsonSchema")
    'tools[0].function_declarations[1].parameters_json_schema'
    """
    return re.sub("[A-Z]", lambda capital: "_" + capital[0].lower(), name)
