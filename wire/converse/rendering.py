"""Renders a neutral request as a call of Converse, and reads its answer as a neutral reply.

Messages that the model sent are sent back with the bytes in which they came; `parts.py` writes all
others. Notes report what the wire cannot express and was left out. A path such as
`messages[1].parts[0]` names a part of the neutral request; all other paths are of the body.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from wire.catalogue.settings import setting
from wire.converse.caching import cache_point
from wire.converse.effort import effort_fields
from wire.converse.endpoints import converse, converse_stream
from wire.converse.error_body import parse_error
from wire.converse.families import Family, family
from wire.converse.parse import EventReader, parse_reply
from wire.converse.parts import system_of, wire_messages
from wire.converse.reader import parse_answer
from wire.converse.rows import provider_row
from wire.converse.rules import Body, check, check_body
from wire.converse.types import (
    ConverseRequest,
    ConverseResponse,
    InferenceConfig,
    JsonSchemaDefinition,
    OutputConfig,
    OutputFormat,
    OutputFormatStructure,
    SpecificToolChoice,
    SystemContentBlock,
    ToolChoice,
    ToolConfig,
    ToolInputSchema,
    ToolSpecification,
)
from wire.converse.types import Message as WireMessage
from wire.converse.types import Tool as WireTool
from wire.core.arguments import checked_arguments
from wire.core.call import Call, StreamCall
from wire.core.errors import Violation
from wire.core.json_values import json_text
from wire.core.memory import Note, with_notes
from wire.core.provider import Provider
from wire.history import sendable_request
from wire.neutral.messages import Event, Reply, wants_cache
from wire.neutral.rendering import (
    ReplyReader,
    closed_objects,
    no_response,
    note_custom,
    note_names,
    schema_words,
    sent_functions,
    wire_call,
    within_longest,
)
from wire.neutral.request import Output, Request, Tool, checked_request

AnyCall = TypeVar("AnyCall", bound=Call[Any] | StreamCall[Any, Any])


@checked_arguments()
def call(request: Request, model: str, provider: Provider | str = "bedrock") -> Call[Reply]:
    """Render the request as a call that returns one complete reply.

    >>> from wire.neutral.messages import Message
    >>> call(Request(messages=(Message.user("Hi"),)), "anthropic.claude-sonnet-5").path
    '/model/anthropic.claude-sonnet-5/converse'

    Parameters and errors are those of `stream_call`.
    """
    raw = _wire_call(converse, request, model, provider)
    return _reader(raw, model, provider).whole_call(raw)


@checked_arguments()
def stream_call(
    request: Request, model: str, provider: Provider | str = "bedrock"
) -> StreamCall[Event, Reply]:
    """Render the request as a call that streams events.

    `reply()` of the stream is the reply of `call`.

    >>> from wire.neutral.messages import Message
    >>> stream_call(Request(messages=(Message.user("Hi"),)), "anthropic.claude-sonnet-5").body
    b'{"messages":[{"role":"user","content":[{"text":"Hi"}]}]}'

    `provider` is a row or its name. It decides which rules apply, and which messages are sent back
    unchanged.

    Raises `HistoryError` for turns that are out of order, `RuleError` for what the provider refuses
    or the wire cannot express.
    """
    raw = _wire_call(converse_stream, request, model, provider)
    return _reader(raw, model, provider).event_call(raw)


@checked_arguments()
def render_request(
    request: Request, model: str, provider: Provider | str = "bedrock"
) -> ConverseRequest:
    """Render the body as a struct, without the request's `options`.

    >>> from wire.neutral.messages import Message
    >>> request = Request(messages=(Message.user("Hi"),), effort="low")
    >>> render_request(request, "openai.gpt-oss-20b-1:0").additional_model_request_fields
    {'reasoning_effort': 'low'}

    `wire.notes` of the struct reports what was changed or left out. Raises as `stream_call`.
    """
    request = checked_request(request)
    row = provider_row(provider)
    if request.has_further:  # few requests
        from wire.neutral.settings import with_further

        return with_further(request, row, model, render_request, _check_settings)
    known = family(model)
    messages, notes, answers = sendable_request(request, row, model, render_request, check)
    conversation = [(f"messages[{index}]", message) for index, message in messages.items()]
    note_names(conversation, notes)
    for name in ("search_grounding", "compaction"):
        if getattr(request, name):
            notes.append(Note(name, "not sent: the wire has no field for it"))
    output_config, words = _output_config(request.output, known, notes)
    point = cache_point(request.caching)
    marked: Sequence[str] = ()
    if any(map(wants_cache, request.messages)):
        from wire.neutral.caching import breakpoint_paths

        marked = tuple(breakpoint_paths(request, conversation, notes))
    system = system_of(request.system, conversation, notes, marked, point)
    tools = _tools(request, model, row, known, notes)
    names = [tool.tool_spec.name or "" for tool in tools if tool.tool_spec is not None]
    turns = wire_messages(conversation, answers, names, notes, marked, point, known)
    further: dict[str, Any] = {}
    if request.effort is not None:
        further = effort_fields(str(request.effort), model, known, request.max_tokens, notes)
    built = ConverseRequest(
        messages=turns,
        system=[*system, *([SystemContentBlock(text=words)] if words else [])] or None,
        inference_config=_inference(request, row, model, notes),
        tool_config=_tool_config(request.tool_choice, tools, turns, known, notes),
        output_config=output_config,
        additional_model_request_fields=further or None,
    )
    if request.caching is not None and request.caching != "off":
        from wire.converse.caching import with_auto_points

        built = with_auto_points(built, request.caching, known, notes)
    return with_notes(built, notes)


# --- the call -------------------------------------------------------------------------------------


def _wire_call(
    make: Callable[..., AnyCall], request: Request, model: str, provider: Provider | str
) -> AnyCall:
    row = provider_row(provider)
    return wire_call(
        render_request(request, model, row),
        request.options,
        row,
        functools.partial(make, model, checked=False),
        functools.partial(_check, model),
    )


def _check(model: str, built: ConverseRequest, row: Provider) -> list[Violation]:
    return check_body(Body(built), model, row)


def _check_settings(built: ConverseRequest, model: str, row: Provider) -> list[Violation]:
    return _check(model, built, row)


def _reader(
    raw: Call[Any] | StreamCall[Any, Any], model: str, provider: Provider | str
) -> ReplyReader[ConverseResponse]:
    reply_context: dict[str, Any] = {
        "body": raw.body,
        "provider": provider_row(provider).name,
        "model": model,
    }
    return ReplyReader(
        functools.partial(parse_reply, **reply_context),
        functools.partial(EventReader, **reply_context),
        raw.notes,
    )


def reply_call(seed: bytes, model: str, row: Provider) -> Call[Reply]:
    """Return a call whose `parse` reads a response that came in another way. It is not sent.

    Ids of tool calls that the vendor gave none are made of `seed`.
    """
    raw = Call("converse", "POST", "", seed, parse=parse_answer, read_error=parse_error)
    return _reader(raw, model, row).whole_call(raw)


# --- settings -------------------------------------------------------------------------------------


def _inference(
    request: Request, row: Provider, model: str, notes: list[Note]
) -> InferenceConfig | None:
    """Return length and randomness; `temperature` ends at 1 on this wire."""
    temperature, most = request.temperature, setting("temperature").bounds["converse"][1] or 1
    if isinstance(temperature, (int, float)) and most < temperature <= 2:
        # Other vendors go up to 2; beyond that it is a mistake, which the rules refuse (B29).
        notes.append(Note("temperature", f"changed to {most}: this wire takes 0 to {most}"))
        temperature = float(most)
    config = InferenceConfig(
        max_tokens=within_longest(request.max_tokens, row, model, notes),
        temperature=temperature,
        top_p=request.top_p,
        stop_sequences=list(request.stop) or None,
    )
    return None if config == InferenceConfig() else config


def _tools(
    request: Request, model: str, row: Provider, known: Family, notes: list[Note]
) -> list[WireTool]:
    functions, _ = sent_functions(request, model, notes)
    hosted: list[WireTool] = []
    if len(functions) < len(request.tools):
        from wire.converse.server_tools import server_tools  # few requests have one

        hosted = server_tools(request.tools, model, row)
    return [*(_tool(tool, path, known, notes) for path, tool in functions), *hosted]


def _tool(tool: Tool, path: str, known: Family, notes: list[Note]) -> WireTool:
    if tool.kind == "custom":
        note_custom(tool, path, notes)
    if tool.response is not None:
        notes.append(no_response(path))
    schema = dict(tool.parameters)
    if "type" not in schema:
        schema = {"type": "object", **schema}
        words = "added: type object, which the schema did not name"
        notes.append(Note(f"{path}.parameters", words))
    if tool.strict and known.schemas:
        schema = closed_objects(schema, f"{path}.parameters", notes)
    elif tool.strict:
        notes.append(Note(f"{path}.strict", "not sent: this model is not known to take it"))
    spec = ToolSpecification(
        name=tool.name,
        description=tool.description or None,
        input_schema=ToolInputSchema(json=schema),
        strict=True if tool.strict and known.schemas else None,
    )
    return WireTool(tool_spec=spec)


def _tool_config(
    choice: str | tuple[str, ...] | None,
    tools: list[WireTool],
    messages: Sequence[WireMessage],
    known: Family,
    notes: list[Note],
) -> ToolConfig | None:
    called = _called(messages)
    if choice == "none" and tools:
        if called:
            words = "not sent: the wire has no such choice; the tools are sent, since the "
            notes.append(Note("tool_choice", f"{words}conversation has calls"))
        else:
            words = "sent without the tools: the wire has no choice none"
            notes.append(Note("tool_choice", words))
            tools = []
    if not tools and called:
        words = f"added: {', '.join(called)}, since the conversation has calls (B15)"
        notes.append(Note("tools", words))
        tools = list(_declared(called))
    if not tools:
        return None
    return ToolConfig(tools=tools, tool_choice=_tool_choice(choice, known, notes))


def _called(messages: Sequence[WireMessage]) -> list[str]:
    """Return the names of the tools that are called in the messages."""
    blocks = (block for message in messages for block in message.content or ())
    names = (block.tool_use.name or "" for block in blocks if block.tool_use is not None)
    return list(dict.fromkeys(names))


def _declared(names: Iterable[str]) -> Iterable[WireTool]:
    """Yield tools of which nothing but the name is known."""
    for name in names:
        schema = ToolInputSchema(json={"type": "object"})
        yield WireTool(tool_spec=ToolSpecification(name=name, input_schema=schema))


def _tool_choice(
    choice: str | tuple[str, ...] | None, known: Family, notes: list[Note]
) -> ToolChoice | None:
    if not choice or choice == "none":
        return None
    if choice == "auto":
        return ToolChoice(auto={})
    if known.free_choice:
        notes.append(Note("tool_choice", "changed to auto: this model takes no other (B27)"))
        return ToolChoice(auto={})
    if isinstance(choice, tuple) and len(choice) == 1:
        return ToolChoice(tool=SpecificToolChoice(name=choice[0]))
    if isinstance(choice, tuple):
        words = f"changed to any tool: the wire cannot limit the choice to {', '.join(choice)}"
        notes.append(Note("tool_choice", words))
    return ToolChoice(any={})


def _output_config(
    output: Output | None, known: Family, notes: list[Note]
) -> tuple[OutputConfig | None, str]:
    """Return the form of the answer; or `None`, and the system text in its place."""
    if output is None:
        return None, ""
    problem = "" if known.schemas else "this model is not known to accept a schema"
    problem = problem if output.schema else "the wire has no JSON without a schema"
    if problem:
        words = f"not sent as a schema, but as an instruction in the system text: {problem}"
        notes.append(Note("output", words))
        return None, schema_words(output)
    schema = closed_objects(output.schema, "output.schema", notes)
    definition = JsonSchemaDefinition(
        schema=json_text(schema, "output.schema"),
        name=output.name,
        description=output.description or None,
    )
    structure = OutputFormatStructure(json_schema=definition)
    return OutputConfig(text_format=OutputFormat(type="json_schema", structure=structure)), ""
