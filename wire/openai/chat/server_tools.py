"""Tools that a host runs, in a request of chat completions: in `tools`, or as keys of the body."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from wire.core.decoders import convert
from wire.core.errors import RuleError, Violation
from wire.core.extra_keys import with_extra
from wire.core.memory import Note, extra_of, notes, with_notes
from wire.core.provider import Provider
from wire.neutral.request import ServerToolKind
from wire.neutral.server_tools import Form, Hosted, hosted, tool_struct
from wire.openai.chat.types import ChatCompletionRequest, Tool
from wire.openai.common.server_tools import FORMS

_RECEIVED = (
    "browser_search",
    "groq.code_interpreter",
    "openrouter:web_search",
    "openrouter:web_fetch",
)
"""The forms that are items of `tools`."""


def form_of(type: str) -> Form | None:
    """Return the form of an item of `tools` in a client's request; `None` if it has no neutral
    form.

    >>> form_of("browser_search").kind
    'web_search'
    """
    return next((FORMS[name] for name in _RECEIVED if FORMS[name].json["type"] == type), None)


def with_server_tools(
    built: ChatCompletionRequest, tools: Sequence[Any], model: str, row: Provider
) -> ChatCompletionRequest:
    """Return the request with the server tools among the tools of a neutral request."""
    elsewhere = functools.partial(with_responses, family=row.family)
    found = hosted(tools, row.dialect.server_tools, FORMS, row.name, model, elsewhere)
    items = [tool_struct(Tool, each) for each in found if not each.in_body]
    kept: tuple[Note, ...] = notes(built)
    made = msgspec.structs.replace(built, tools=[*(built.tools or ()), *items] or None)
    for each in found:
        if each.in_body:
            made = _with_keys(made, each)
    return with_notes(made, kept)


def _with_keys(built: ChatCompletionRequest, tool: Hosted) -> ChatCompletionRequest:
    """Return the request with the keys of a tool in its body."""
    fields: dict[str, Any] = {}
    types = {each.encode_name: each for each in msgspec.structs.fields(ChatCompletionRequest)}
    for key in tool.json.keys() & types.keys():
        try:
            fields[types[key].name] = convert(tool.json[key], types[key].type)
        except msgspec.ValidationError as cause:
            problem = f"{key}: {cause}"
            raise RuleError(violations=[Violation(f"{tool.path}.extra", problem)]) from None
    made = msgspec.structs.replace(built, **fields)
    rest = {key: value for key, value in tool.json.items() if key not in types}
    return with_extra(made, _joined(extra_of(made), rest)) if rest else made


def _joined(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Merge two objects, with the lists and the objects under one key joined."""
    joined = dict(one)
    for key, value in other.items():
        before = joined.get(key)
        if isinstance(before, Mapping) and isinstance(value, Mapping):
            joined[key] = _joined(before, value)
        elif isinstance(before, list) and isinstance(value, list):
            joined[key] = [*before, *value]
        else:
            joined[key] = value
    return joined


def with_responses(kind: ServerToolKind, family: str) -> str:
    """Name the row that has a tool which a host's chat completions do not offer.

    The text is empty if no such row is known.

    >>> with_responses("code", "openai")
    'openai@responses has it'
    """
    from wire.openai.responses.rows import ROWS

    return next(
        (
            f"{row.name} has it"
            for row in ROWS
            if row.family == family
            and any(FORMS[name].kind == kind for name, _ in row.dialect.server_tools)
        ),
        "",
    )
