"""Renders a neutral request as a call of Gemini, whose response is parsed as a neutral reply.

Messages of the same model are sent back in the bytes in which they were received. `parts.py`
writes all others, and `turns.py` puts the turns into order. In notes and errors, paths such as
`messages[1].parts[0]` are positions in the neutral request; all others are positions in the body.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

import msgspec

from wire.core.arguments import checked_arguments
from wire.core.bodies import merged_options
from wire.core.call import Call, StreamCall
from wire.core.errors import SchemaError, Violation
from wire.core.memory import Note, notes, shared, with_notes
from wire.core.provider import Provider
from wire.gemini.continuation import as_stream, follow, parse_hops, resumed
from wire.gemini.effort import thinking
from wire.gemini.endpoints import streamed_call, whole_call
from wire.gemini.error_body import parse_error
from wire.gemini.families import Family, family
from wire.gemini.parse import WIRE, EventReader
from wire.gemini.parts import system_instruction, wire_turns
from wire.gemini.paths import resource
from wire.gemini.reader import parse_response
from wire.gemini.rows import provider_row
from wire.gemini.rules import Conversation, check, check_encoded
from wire.gemini.turns import paired_contents
from wire.gemini.types import (
    FunctionCallingConfig,
    FunctionDeclaration,
    GenerateContentRequest,
    GenerateContentResponse,
    GenerationConfig,
    GoogleSearch,
    Tool,
    ToolConfig,
)
from wire.history import sendable_request
from wire.neutral.compaction import not_sent
from wire.neutral.messages import Event, Message, Reply
from wire.neutral.rendering import (
    ReplyReader,
    note_custom,
    note_names,
    schema_words,
    sent_functions,
    wire_call,
    within_longest,
)
from wire.neutral.request import Output, Request, checked_request, sent_stops, texts_of
from wire.neutral.request import Tool as Function

AnyCall = TypeVar("AnyCall", bound=Call[Any] | StreamCall[Any, Any])


@checked_arguments()
def call(request: Request, model: str, provider: Provider | str = "gemini") -> Call[Reply]:
    """Render the request as a call with one complete reply.

    Arguments and errors are those of `stream_call`.

    >>> from wire.neutral.messages import Message
    >>> call(Request(messages=(Message.user("Hi"),)), "gemini-3.8-flash").target
    '/models/gemini-3.8-flash:generateContent'
    """
    row = provider_row(provider)
    raw = _wire_call(_WHOLE_CALL, "generateContent", request, model, row)
    streamed, whole = family(_name(model)).known.continues or (0, 0)
    if whole < streamed and (request.max_tokens or 0) > whole:
        raw = as_stream(raw, whole)
    made = _reader(raw, model, row, request.stop).whole_call(raw)
    return msgspec.structs.replace(made, follow=follow if request.continue_long else None)


@checked_arguments()
def stream_call(
    request: Request, model: str, provider: Provider | str = "gemini"
) -> StreamCall[Event, Reply]:
    """Render the request as a call with a stream of events.

    `reply()` of the stream returns the same reply as `call`.

    >>> from wire.neutral.messages import Message
    >>> request = Request(messages=(Message.user("Hi"),))
    >>> print(stream_call(request, "gemini-3.8-flash").body.decode())
    {"contents":[{"parts":[{"text":"Hi"}],"role":"user"}],"store":false}

    `provider` is a row or its name. It decides which rules apply, and which messages are sent back
    in their received bytes: those of the same provider and model.

    Raises `HistoryError` for turns that are out of order, `RuleError` for a request that this model
    refuses, `SchemaError` for a schema without an equivalent in Gemini's dialect,
    `ConfigurationError` for a model name that cannot stand in a path.
    """
    row = provider_row(provider)
    raw = _wire_call(streamed_call, "streamGenerateContent", request, model, row)
    made = _reader(raw, model, row, request.stop).event_call(raw)
    return msgspec.structs.replace(made, resume=resumed if request.continue_long else None)


@checked_arguments()
def render_request(
    request: Request, model: str, provider: Provider | str = "gemini"
) -> GenerateContentRequest:
    """Render the body of the request as a struct, without the `options` of the request.

    >>> from wire.neutral.messages import Message
    >>> render_request(Request(messages=(Message.user("Hi"),)), "gemini-3.8-flash")
    GenerateContentRequest(contents=[Content(parts=[Part(text='Hi')], role='user')], store=False)

    `wire.notes(result)` lists what was changed or left out. Raises as `stream_call`.
    """
    request = checked_request(request)
    row, name = provider_row(provider), _name(model)
    if request.has_further:  # few requests
        from wire.neutral.settings import with_further

        return with_further(request, row, name, render_request, check, _refuses)
    of, vertex = family(name), row.dialect.api == "vertex"
    sendable, report, answers = sendable_request(request, row, name, render_request, check)
    texts, others = texts_of(request)
    # Empty messages fill the positions of those that are not sent, so that the index of a message,
    # which notes and errors name, stays that of the caller. An empty message becomes no Content.
    empty = Message("assistant")
    rest = {index: sendable.get(index, empty) for index in others}
    note_names(((f"messages[{index}]", each) for index, each in rest.items()), report)
    if request.compaction is not None:
        report.append(not_sent(row))
    if request.caching == "long":
        words = "sent as auto: implicit caching has no lifetime; an agent keeps a context cache"
        report.append(Note("caching", words))
    output, prompt = _lowered(request, of, report) if request.output else (None, request.system)
    names = [tool.name for tool in request.tools if isinstance(tool, Function)]
    paths: dict[int, str] = {}
    messages = [rest.get(index, each) for index, each in enumerate(request.messages)]
    turns = wire_turns(messages, texts, answers, names, of, report, paths, vertex=vertex)
    ordered = paired_contents(turns, name, paths)
    report += ordered.notes
    try:
        rendered = GenerateContentRequest(
            contents=list(ordered),
            system_instruction=system_instruction(prompt, rest, report),
            tools=_tools(request, name, row, report) or None,
            tool_config=_tool_config(request, of, vertex=vertex),
            generation_config=_generation_config(request, output, row, name, of, report),
            store=False if row.dialect.api == "gemini" else None,
        )
    except SchemaError as error:
        from wire.gemini.schemas import RAW_FIELDS

        violations = [
            msgspec.structs.replace(
                each, remedy=each.remedy.replace(RAW_FIELDS, "the setting raw_schemas=True")
            )
            for each in error.violations
        ]
        raise SchemaError(violations=violations) from None
    return with_notes(rendered, report)


def _refuses(model: str, path: str, value: object) -> bool:
    """Return whether a model refuses a setting: those before 2.5 do not think."""
    return "thinkingConfig" in path and family(_name(model)).before(2, 5)


# --- the call -------------------------------------------------------------------------------------


def _name(model: str) -> str:
    return resource(model).removeprefix("models/")


def _wire_call(
    make: Callable[[str, GenerateContentRequest, bool], tuple[AnyCall, Conversation]],
    endpoint: str,
    request: Request,
    model: str,
    row: Provider,
) -> AnyCall:
    """Build a call of the raw API with `make`, and add the rules of the provider's host.

    The call itself is not checked, since `wire_call` does so for the host that is known here. It
    checks what the call was made of, whose conversation is read once.
    """
    rules = _Rules(_name(model), endpoint)

    def made(rendered: GenerateContentRequest) -> AnyCall:
        call, rules.conversation = make(model, rendered, False)
        return call

    rendered = render_request(request, model, row)
    if request.options:
        rendered = _beside_cached_content(rendered, request, row)
    return wire_call(rendered, request.options, row, made, rules.check)


class _Rules(msgspec.Struct):
    """The rules for a request that is encoded. A struct, since calls can be pickled."""

    model: str
    endpoint: str
    conversation: Conversation | None = None
    """The conversation of the request, read when its call was built."""

    def check(self, rendered: GenerateContentRequest, row: Provider) -> list[Violation]:
        """Return the violations for the host of a provider."""
        return check_encoded(rendered, self.model, row, self.endpoint, self.conversation)


_OF_THE_CACHE = {"system_instruction": "system", "tools": "tools", "tool_config": "tool_choice"}
"""Fields that a request with cached content must not have (G62) -> the settings they come from."""


def _beside_cached_content(
    rendered: GenerateContentRequest, request: Request, row: Provider
) -> GenerateContentRequest:
    """Return the request without the fields that the server wants only in the cached content, if
    the options name one (G62).
    """
    named = merged_options(request.options, row.option_names, rendered).get("cachedContent")
    left_out = [name for name in _OF_THE_CACHE if getattr(rendered, name) is not None]
    if named is None or not left_out:
        return rendered
    words = "not sent: the request names a cached content, which has it (G62)"
    report = [*notes(rendered), *(Note(_OF_THE_CACHE[name], words) for name in left_out)]
    return with_notes(msgspec.structs.replace(rendered, **dict.fromkeys(left_out)), report)


_PARSE = functools.partial(parse_response, for_reply=True)
_WHOLE_CALL = functools.partial(whole_call, parse=_PARSE)


def reply_call(seed: bytes, model: str, row: Provider) -> Call[Reply]:
    """Return a call whose `parse` reads a response that came in another way. It is not sent.

    Ids of calls are made of `seed`.
    """
    raw = Call("gemini", "POST", "", seed, parse=_PARSE, read_error=parse_error)
    return _reader(raw, model, row).whole_call(raw)


def _reader(
    raw: Call[Any] | StreamCall[Any, Any], model: str, row: Provider, stops: tuple[str, ...] = ()
) -> ReplyReader[GenerateContentResponse]:
    """Build the parsers of replies and events.

    Ids of calls are derived from the body of the request.
    """
    context: dict[str, Any] = {"body": raw.body, "provider": row.name, "model": _name(model)}
    return ReplyReader(
        functools.partial(parse_hops, **context),
        functools.partial(EventReader, **context),
        raw.notes,
        stops,
    )


# --- tools ----------------------------------------------------------------------------------------


def _tools(request: Request, model: str, row: Provider, report: list[Note]) -> list[Tool]:
    raw = request.raw_schemas
    declarations: list[FunctionDeclaration] = []
    functions, _ = sent_functions(request, model, report)
    for path, tool in functions:
        declaration, changes = tool.lowered(
            (WIRE, raw), functools.partial(_lower, tool, path, raw=raw)
        )
        declarations.append(declaration)
        report += [Note(f"{path}.{each.path}", each.message) for each in changes]
        if tool.kind == "custom":
            note_custom(tool, path, report)
        if tool.strict and not _is_validated(request, family(model)):
            report.append(Note(f"{path}.strict", "not sent: Gemini has no strict functions"))
    tools = [Tool(function_declarations=declarations)] if declarations else []
    if len(declarations) < len(request.tools):
        from wire.gemini.server_tools import server_tools  # few requests have one

        tools += server_tools(request.tools, model, row)
    searches = [tool for tool in tools if tool.google_search is not None]
    if request.search_grounding and not searches:
        tools.append(Tool(google_search=GoogleSearch()))
    return tools


def _lower(tool: Function, path: str, *, raw: bool) -> tuple[FunctionDeclaration, tuple[Note, ...]]:
    """Return the declaration of a tool, and its notes.

    `path` of the tool begins the paths of errors.

    The result is computed once for each tool; all requests with the tool share the declaration.
    """
    declaration = _raw(tool) if raw else _converted(tool, path)
    added = {f"parameters.{keyword}" for keyword in tool.added_keywords}
    changes = tuple(each for each in notes(declaration) if each.path not in added)
    return shared(declaration), changes


_KEYS_OF_EMPTY_PARAMETERS = frozenset(
    {"$schema", "additionalProperties", "description", "properties", "required", "title", "type"}
)


def _has_parameters(parameters: Mapping[str, Any]) -> bool:
    """Return whether a schema allows any parameter.

    A function without parameters is sent without the field, which every backend accepts (G44,
    S0-01).
    """
    named = (
        parameters.get("properties")
        or parameters.get("required")
        or isinstance(parameters.get("additionalProperties"), Mapping)
    )
    return bool(named) or not parameters.keys() <= _KEYS_OF_EMPTY_PARAMETERS


def _converted(tool: Function, path: str) -> FunctionDeclaration:
    """Convert the schemas of the declaration to Gemini's dialect."""
    from wire.gemini.declarations import declared  # many requests have no tools

    definition: dict[str, Any] = {
        "name": tool.name,
        "description": tool.description or None,
        "response": tool.response,
    }
    if _has_parameters(tool.parameters):
        definition["parameters"] = tool.parameters
    return declared(definition, path, [])


def _raw(tool: Function) -> FunctionDeclaration:
    """Return the declaration with its JSON Schema unchanged, except for a missing `type` of the
    root.
    """
    report: list[Note] = []
    parameters: Any = tool.parameters if _has_parameters(tool.parameters) else msgspec.UNSET
    if parameters is not msgspec.UNSET and "properties" in parameters and "type" not in parameters:
        parameters = {"type": "object", **parameters}
        report.append(Note("parameters", "the missing type was set to object"))
    declaration = FunctionDeclaration(
        name=tool.name,
        description=tool.description or None,
        parameters_json_schema=parameters,
        response_json_schema=msgspec.UNSET if tool.response is None else tool.response,
    )
    return with_notes(declaration, report)


_MODES = {
    "auto": "AUTO",
    "none": "NONE",
    "required": "ANY",
}


def _is_validated(request: Request, of: Family) -> bool:
    """Return whether the model is held to the schemas: all functions are strict, none is forced."""
    functions = [tool for tool in request.tools if isinstance(tool, Function)]
    is_strict = bool(functions) and all(tool.strict for tool in functions)
    return is_strict and request.tool_choice == "auto" and not of.before(2, 5)


def _tool_config(request: Request, of: Family, *, vertex: bool) -> ToolConfig | None:
    choice = request.tool_choice
    calling = None
    if isinstance(choice, str):
        validated = _is_validated(request, of)
        calling = FunctionCallingConfig(mode="VALIDATED" if validated else _MODES[choice])
    elif choice:
        calling = FunctionCallingConfig(mode="ANY", allowed_function_names=list(choice))
    # From 3 on, the Gemini API requires the flag for search together with functions. 2.x refuses
    # it, and Vertex has no such field (G32, G34).
    functions = [tool for tool in request.tools if isinstance(tool, Function)]
    built_in = request.search_grounding or len(functions) < len(request.tools)
    flag = True if built_in and functions and not vertex and not of.before(3) else None
    if calling is None and flag is None:
        return None
    return ToolConfig(function_calling_config=calling, include_server_side_tool_invocations=flag)


# --- generation config ----------------------------------------------------------------------------


def _stops(stops: tuple[str, ...], report: list[Note]) -> list[str] | None:
    from wire.catalogue.settings import setting  # few requests have stop sequences

    return sent_stops(stops, setting("stop").bounds["gemini"][1] or 0, report)


def _generation_config(
    request: Request,
    output: Output | None,
    row: Provider,
    name: str,
    of: Family,
    report: list[Note],
) -> GenerationConfig | None:
    config = GenerationConfig(
        max_output_tokens=within_longest(request.max_tokens, row, name, report),
        temperature=request.temperature,
        top_p=request.top_p,
        stop_sequences=_stops(request.stop, report) if request.stop else None,
        thinking_config=(
            thinking(request.effort, of, report) if request.effort is not None else None
        ),
        **_json_output(output, request.raw_schemas, report),
    )
    return config if config != GenerationConfig() else None


def _lowered(request: Request, of: Family, report: list[Note]) -> tuple[Output | None, str]:
    """Return the output that is sent as a schema, and the system prompt, which may have it as
    words.
    """
    output = cast(Output, request.output)
    if of.takes_json_beside_tools or not (request.tools or request.search_grounding):
        return output, request.system
    report.append(Note("output", "sent as words in the system prompt: beside tools (G56)"))
    return None, "\n\n".join(filter(None, (request.system, schema_words(output))))


def _json_output(output: Output | None, raw: bool, report: list[Note]) -> dict[str, Any]:
    """Return the fields that request JSON instead of prose (S2-22)."""
    if output is None:
        return {}
    if not output.schema:
        return {"response_mime_type": "application/json"}
    if raw:
        return {"response_mime_type": "application/json", "response_json_schema": output.described}
    from wire.gemini.schemas import schema

    lowered = schema(output.described, path="output.schema")
    report += notes(lowered)
    return {"response_mime_type": "application/json", "response_schema": lowered}
