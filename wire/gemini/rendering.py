"""A neutral request as a call of Gemini, whose answer is a neutral reply again.

What this model said goes back in the bytes it came in; everything else is written here, by
`parts.py`, and put into order by `contents(...)`. Paths such as `messages[1].parts[0]` name a part
of the neutral request, all others a place in the body.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from wire import history
from wire.core.bodies import merged_options, with_options, wrong_type
from wire.core.call import Call, StreamCall
from wire.core.memory import Note, notes, with_notes
from wire.errors import HistoryError, RuleError, WireError
from wire.gemini.declarations import tools
from wire.gemini.effort import thinking
from wire.gemini.endpoints import generate_content, stream_generate_content
from wire.gemini.families import Family, family
from wire.gemini.parse import Reading, parse_reply
from wire.gemini.parts import system_instruction, wire_turns
from wire.gemini.paths import resource
from wire.gemini.reader import parse_answer
from wire.gemini.rules import check
from wire.gemini.schemas import schema
from wire.gemini.turns import contents
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
from wire.neutral.messages import Event, Message, Reply, checked, with_answer
from wire.neutral.request import Output, Request
from wire.neutral.request import Tool as Function

HOSTS = {"gemini": "gemini", "gemini@vertex": "vertex"}
"""Providers whose own rules are known -> what `check` calls them."""


def render(
    request: Request, model: str, dialect: object = None, *, provider: str = "gemini"
) -> StreamCall[Event, Reply]:
    """The request as a stream of events; its `result()` is what `render_whole` would have given.

    >>> from wire.neutral.messages import Message
    >>> render(Request(messages=(Message.user("Hi"),), max_tokens=9), "gemini-3-pro-preview").body
    b'{"contents":[{"parts":[{"text":"Hi"}],"role":"user"}],"generationConfig":{"maxOutputTokens":9}}'

    `provider` is the name of the client's row: it decides whose rules are asked, and what goes back
    as it came. There are no dialects of this wire.

    Raises `HistoryError` for turns that are out of order, `RuleError` for what this model refuses,
    `SchemaError` for a schema that Gemini cannot say, `ConfigurationError` for a model name that no
    path can hold.
    """
    raw, answers = _rendered(stream_generate_content, request, model, provider)
    return dataclasses.replace(
        raw,
        telling=answers.reading,
        convert=answers.reply,
        notes=answers.notes,
    )


def render_whole(
    request: Request, model: str, dialect: object = None, *, provider: str = "gemini"
) -> Call[Reply]:
    """The request as a call with one whole reply. Takes and raises what `render` does."""
    raw, answers = _rendered(generate_content, request, model, provider)
    return dataclasses.replace(raw, parse=answers.whole, notes=answers.notes)


def render_request(
    request: Request, model: str, *, provider: str = "gemini"
) -> GenerateContentRequest:
    """The body as a struct, without the request's `options`; `wire.notes` tells what was changed or
    left out. Raises as `render`.
    """
    if not isinstance(request, Request):
        raise wrong_type("request", request, "Request")
    name = resource(model).removeprefix("models/")
    of, vertex = family(name), HOSTS.get(provider) == "vertex"
    said = tuple(request.messages)
    violations = [each for each in history.check(said) if each.severity == "error"]
    if violations:
        raise HistoryError(violations=violations)
    left, found = history.handed(said, provider, name)
    # One for each, so that what is told of a message names its place; one that says nothing becomes
    # no Content.
    handed = [left.get(index, Message("assistant")) for index in range(len(said))]
    system = system_instruction(request.system, handed, found)
    turns = wire_turns(handed, [tool.name for tool in request.tools], of, found, vertex=vertex)
    made = contents(*turns, model=name)
    found += made.notes
    declared = _tools(request, found)
    built = GenerateContentRequest(
        contents=list(made),
        system_instruction=system,
        tools=declared or None,
        tool_config=_tool_config(request, of, vertex=vertex),
        generation_config=_generation_config(request, of, found),
    )
    return with_notes(built, found)


# --- the call -------------------------------------------------------------------------------------


def _rendered(
    make: Callable[..., Any], request: Request, model: str, provider: str
) -> tuple[Any, _Answers]:
    """The call of the raw door, and how its answers are read."""
    built = render_request(request, model, provider=provider)
    options = merged_options(request.options, provider, built)
    raw = make(model, built, checked=False).replace(body_extra=options)
    name = resource(model).removeprefix("models/")
    endpoint = raw.path.rpartition(":")[2]
    found = check(with_options(built, options), name, HOSTS.get(provider, ""), endpoint=endpoint)
    violations = [each for each in found if each.severity == "error"]
    if violations:
        raise RuleError(violations=violations)
    return raw, _Answers(raw.body, provider, name, notes(built))


@dataclass(frozen=True, slots=True)
class _Answers:
    """How the answers to one call are read."""

    body: bytes
    provider: str
    model: str
    notes: tuple[Note, ...]

    def whole(self, data: bytes) -> Reply:
        return checked(self.reply(parse_answer(data)))

    def reading(self) -> Reading:
        return Reading(body=self.body, provider=self.provider, model=self.model)

    def reply(self, answer: GenerateContentResponse, error: WireError | None = None) -> Reply:
        reply = parse_reply(
            answer,
            body=self.body,
            provider=self.provider,
            model=self.model,
            error=error,
        )
        return with_answer(
            msgspec.structs.replace(reply, notes=(*self.notes, *reply.notes)), answer
        )


# --- tools ----------------------------------------------------------------------------------------


def _tools(request: Request, found: list[Note]) -> list[Tool]:
    write = _raw if request.raw_schemas else _converted
    declared = tools(
        *(write(tool, f"tools[{index}]", found) for index, tool in enumerate(request.tools))
    )
    found += declared.notes
    return [*declared, *([Tool(google_search=GoogleSearch())] if request.search_grounding else [])]


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


def _converted(tool: Function, path: str, found: list[Note]) -> dict[str, Any]:
    declaration: dict[str, Any] = {
        "name": tool.name,
        "description": tool.description or None,
        "response": tool.response,
    }
    return declaration | (
        {"parameters": tool.parameters} if _takes_something(tool.parameters) else {}
    )


def _raw(tool: Function, path: str, found: list[Note]) -> FunctionDeclaration:
    """The declaration with its JSON Schema as it is."""
    parameters: Any = tool.parameters if _takes_something(tool.parameters) else msgspec.UNSET
    if parameters is not msgspec.UNSET and "properties" in parameters and "type" not in parameters:
        parameters = {"type": "object", **parameters}
        found.append(Note(f"{path}.parameters", "was given the type object, which it did not name"))
    return FunctionDeclaration(
        name=tool.name,
        description=tool.description or None,
        parameters_json_schema=parameters,
        response_json_schema=msgspec.UNSET if tool.response is None else tool.response,
    )


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
