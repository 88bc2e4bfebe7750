"""A neutral request as a call of Gemini, whose answer is a neutral reply again.

What this model said goes back in the bytes it came in; everything else is written here, by
`parts.py`, and put into order by `turns.py`. Paths such as `messages[1].parts[0]` name a part
of the neutral request, all others a place in the body.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import msgspec

from wire import history
from wire.core.call import Call, StreamCall
from wire.core.memory import Note, notes, shared, with_notes
from wire.core.provider import Provider
from wire.errors import Violation
from wire.gemini.declarations import declared
from wire.gemini.effort import thinking
from wire.gemini.endpoints import generate_content, stream_generate_content
from wire.gemini.families import Family, family
from wire.gemini.parse import WIRE, EventReader, parse_reply
from wire.gemini.parts import system_instruction, wire_turns
from wire.gemini.paths import resource
from wire.gemini.rows import provider_row
from wire.gemini.rules import check
from wire.gemini.schemas import schema
from wire.gemini.turns import paired_contents
from wire.gemini.types import (
    FunctionCallingConfig,
    FunctionCallingMode,
    FunctionDeclaration,
    GenerateContentRequest,
    GenerateContentResponse,
    GenerationConfig,
    GoogleSearch,
    Tool,
    ToolConfig,
)
from wire.neutral.messages import Event, Message, Reply
from wire.neutral.rendering import ReplyReader, wire_call
from wire.neutral.request import Output, Request, checked_request
from wire.neutral.request import Tool as Function

AnyCall = TypeVar("AnyCall", bound=Call[Any] | StreamCall[Any, Any])


def call(request: Request, model: str, provider: Provider | str = "gemini") -> Call[Reply]:
    """The request as a call with one whole reply. Takes and raises what `stream_call` does."""
    row = provider_row(provider)
    raw = _wire_call(generate_content, "generateContent", request, model, row)
    return _reader(raw, model, row).whole_call(raw)


def stream_call(
    request: Request, model: str, provider: Provider | str = "gemini"
) -> StreamCall[Event, Reply]:
    """The request as a call whose stream hands out events; `reply()` gives what `call` gives.

    >>> from wire.neutral.messages import Message
    >>> request = Request(messages=(Message.user("Hi"),), max_tokens=9)
    >>> stream_call(request, "gemini-3-pro-preview").body
    b'{"contents":[{"parts":[{"text":"Hi"}],"role":"user"}],"generationConfig":{"maxOutputTokens":9}}'

    `provider` is a row or its name. It decides which rules apply, and which messages go back as
    they came.

    Raises `HistoryError` for turns that are out of order, `RuleError` for what this model refuses,
    `SchemaError` for a schema that Gemini cannot express, `ConfigurationError` for a model name
    that cannot stand in a path.
    """
    row = provider_row(provider)
    raw = _wire_call(stream_generate_content, "streamGenerateContent", request, model, row)
    return _reader(raw, model, row).event_call(raw)


def render_request(
    request: Request, model: str, provider: Provider | str = "gemini"
) -> GenerateContentRequest:
    """The body as a struct, without the request's `options`.

    `wire.notes` of it reports what was changed or left out. Raises as `stream_call`.
    """
    request = checked_request(request)
    row, name = provider_row(provider), _name(model)
    of, vertex = family(name), row.dialect.api == "vertex"
    left, found, answers = history.sendable(request.messages, row.name, name)
    # One for each message, so that notes name its position. An empty one becomes no Content.
    handed = [left.get(index, Message("assistant")) for index in range(len(request.messages))]
    system = system_instruction(request.system, handed, found)
    names = [tool.name for tool in request.tools]
    turns = wire_turns(handed, answers, names, of, found, vertex=vertex)
    made = paired_contents(turns, name)
    found += made.notes
    built = GenerateContentRequest(
        contents=list(made),
        system_instruction=system,
        tools=_tools(request, found) or None,
        tool_config=_tool_config(request, of, vertex=vertex),
        generation_config=_generation_config(request, of, found),
    )
    return with_notes(built, found)


# --- the call -------------------------------------------------------------------------------------


def _name(model: str) -> str:
    return resource(model).removeprefix("models/")


def _wire_call(
    make: Callable[..., AnyCall],
    endpoint: str,
    request: Request,
    model: str,
    row: Provider,
) -> AnyCall:
    return wire_call(
        render_request(request, model, row),
        request.options,
        row,
        lambda built: make(model, built, checked=False),
        functools.partial(_check, _name(model), endpoint),
    )


def _check(
    model: str, endpoint: str, built: GenerateContentRequest, row: Provider
) -> list[Violation]:
    return check(built, model, row, endpoint=endpoint)


def _reader(
    raw: Call[Any] | StreamCall[Any, Any], model: str, row: Provider
) -> ReplyReader[GenerateContentResponse]:
    asked: dict[str, Any] = {"body": raw.body, "provider": row.name, "model": _name(model)}
    return ReplyReader(
        functools.partial(parse_reply, **asked), functools.partial(EventReader, **asked), raw.notes
    )


# --- tools ----------------------------------------------------------------------------------------


def _tools(request: Request, found: list[Note]) -> list[Tool]:
    raw = request.raw_schemas
    declarations: list[FunctionDeclaration] = []
    for index, tool in enumerate(request.tools):
        path = f"tools[{index}]"
        declaration, changed = tool.lowered(
            (WIRE, raw), functools.partial(_lower, tool, path, raw=raw)
        )
        declarations.append(declaration)
        found += [Note(f"{path}.{each.path}", each.message) for each in changed]
    return [
        *([Tool(function_declarations=declarations)] if declarations else []),
        *([Tool(google_search=GoogleSearch())] if request.search_grounding else []),
    ]


def _lower(tool: Function, path: str, *, raw: bool) -> tuple[FunctionDeclaration, tuple[Note, ...]]:
    """The declaration, which all requests with this tool share, and the notes of its making.

    Errors have paths below `path`.
    """
    declaration = _raw(tool) if raw else _converted(tool, path)
    return shared(declaration), notes(declaration)


_SAYS_NOTHING = frozenset(
    {"$schema", "additionalProperties", "description", "properties", "required", "title", "type"}
)


def _takes_something(parameters: Mapping[str, Any]) -> bool:
    """Parameters that there are none of have no key (S0-01)."""
    named = (
        parameters.get("properties")
        or parameters.get("required")
        or isinstance(parameters.get("additionalProperties"), Mapping)
    )
    return bool(named) or not parameters.keys() <= _SAYS_NOTHING


def _converted(tool: Function, path: str) -> FunctionDeclaration:
    """The declaration with its schemas in Gemini's dialect."""
    definition: dict[str, Any] = {
        "name": tool.name,
        "description": tool.description or None,
        "response": tool.response,
    }
    if _takes_something(tool.parameters):
        definition["parameters"] = tool.parameters
    return declared(definition, path, [])


def _raw(tool: Function) -> FunctionDeclaration:
    """The declaration with its JSON Schema as it is."""
    found: list[Note] = []
    parameters: Any = tool.parameters if _takes_something(tool.parameters) else msgspec.UNSET
    if parameters is not msgspec.UNSET and "properties" in parameters and "type" not in parameters:
        parameters = {"type": "object", **parameters}
        found.append(Note("parameters", "was given the type object, which it did not name"))
    declaration = FunctionDeclaration(
        name=tool.name,
        description=tool.description or None,
        parameters_json_schema=parameters,
        response_json_schema=msgspec.UNSET if tool.response is None else tool.response,
    )
    return with_notes(declaration, found)


_MODES = {
    "auto": FunctionCallingMode.AUTO,
    "none": FunctionCallingMode.NONE,
    "required": FunctionCallingMode.ANY,
}


def _tool_config(request: Request, of: Family, *, vertex: bool) -> ToolConfig | None:
    choice = request.tool_choice
    calling = None
    if isinstance(choice, str):
        calling = FunctionCallingConfig(mode=_MODES[choice])
    elif choice:
        calling = FunctionCallingConfig(
            mode=FunctionCallingMode.ANY, allowed_function_names=list(choice)
        )
    # From 3 on the Gemini API wants it where search stands beside functions; 2.x refuses it, Vertex
    # does not know it (G32, G34).
    shows = (
        True
        if request.search_grounding and request.tools and not vertex and not of.before(3)
        else None
    )
    if calling is None and shows is None:
        return None
    return ToolConfig(function_calling_config=calling, include_server_side_tool_invocations=shows)


# --- how to answer --------------------------------------------------------------------------------


def _generation_config(request: Request, of: Family, found: list[Note]) -> GenerationConfig | None:
    config = GenerationConfig(
        max_output_tokens=request.max_tokens,
        temperature=request.temperature,
        top_p=request.top_p,
        stop_sequences=list(request.stop) or None,
        thinking_config=thinking(request.effort, of, found) if request.effort is not None else None,
        **_form(request.output, request.raw_schemas, found),
    )
    return config if config != GenerationConfig() else None


def _form(output: Output | None, raw: bool, found: list[Note]) -> dict[str, Any]:
    """The fields that ask for JSON in place of prose (S2-22)."""
    if output is None:
        return {}
    if raw:
        return {"response_mime_type": "application/json", "response_json_schema": output.schema}
    lowered = schema(output.schema, path="output.schema")
    found += notes(lowered)
    return {"response_mime_type": "application/json", "response_schema": lowered}
