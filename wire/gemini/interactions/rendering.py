"""Renders a neutral request as a call of Interactions, and reads its answer as a neutral reply.

Requests are stateless: `store` is false, and the steps of the model go back with the next request.
`parts.py` writes the steps. Notes report what the wire cannot express and was left out. A path such
as `messages[0].parts[0]` names a part of the neutral request; all other paths are of the body.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import msgspec

from wire.catalogue.facts import nearest
from wire.core.arguments import checked_arguments
from wire.core.call import Call, StreamCall
from wire.core.errors import Violation
from wire.core.memory import Note, with_notes
from wire.core.provider import Provider
from wire.gemini.effort import DEFAULT_EFFORTS
from wire.gemini.families import family
from wire.gemini.interactions.continuation import follow, parse_hops, resumed
from wire.gemini.interactions.endpoints import create_interaction, stream_interaction
from wire.gemini.interactions.parse import EventReader
from wire.gemini.interactions.parts import input_steps, system_text
from wire.gemini.interactions.rows import provider_row
from wire.gemini.interactions.rules import Body, check, check_body
from wire.gemini.interactions.types import (
    AllowedTools,
    GenerationConfig,
    Interaction,
    InteractionRequest,
    ResponseFormat,
    ToolChoice,
)
from wire.gemini.interactions.types import Tool as WireTool
from wire.history import sendable_request
from wire.neutral.messages import Event, Reply, wants_cache
from wire.neutral.rendering import (
    ReplyReader,
    no_response,
    note_custom,
    note_names,
    sent_functions,
    wire_call,
    within_longest,
)
from wire.neutral.request import Output, Request, Tool, checked_request

AnyCall = TypeVar("AnyCall", bound=Call[Any] | StreamCall[Any, Any])


@checked_arguments()
def call(
    request: Request, model: str, provider: Provider | str = "gemini@interactions"
) -> Call[Reply]:
    """Render the request as a call that returns one complete reply.

    >>> from wire.neutral.messages import Message
    >>> call(Request(messages=(Message.user("Hi"),)), "gemini-3.8-flash").path
    '/interactions'

    Parameters and errors are those of `stream_call`.
    """
    raw = _wire_call(create_interaction, request, model, provider)
    made = _reader(raw, model, provider).whole_call(raw)
    return msgspec.structs.replace(made, follow=follow if request.continue_long else None)


@checked_arguments()
def stream_call(
    request: Request, model: str, provider: Provider | str = "gemini@interactions"
) -> StreamCall[Event, Reply]:
    """Render the request as a call that streams events.

    `reply()` of the stream is the reply of `call`.

    >>> from wire.neutral.messages import Message
    >>> body = stream_call(Request(messages=(Message.user("Hi"),)), "gemini-3.8-flash").body
    >>> body.endswith(b'"store":false,"stream":true}')
    True

    `provider` is a row or its name. It decides which rules apply, and which messages are sent back
    unchanged. Raises `HistoryError` for turns that are out of order, `RuleError` for what the
    provider refuses or the wire cannot express.
    """
    raw = _wire_call(stream_interaction, request, model, provider)
    made = _reader(raw, model, provider).event_call(raw)
    return msgspec.structs.replace(made, resume=resumed) if request.continue_long else made


@checked_arguments()
def render_request(
    request: Request, model: str, provider: Provider | str = "gemini@interactions"
) -> InteractionRequest:
    """Render the body as a struct, without the request's `options`.

    >>> from wire.neutral.messages import Message
    >>> request = Request(messages=(Message.user("Hi"),), effort="low")
    >>> render_request(request, "gemini-3.8-flash").generation_config.thinking_level
    'low'

    `wire.notes` of the struct reports what was changed or left out. Raises as `stream_call`.
    """
    request = checked_request(request)
    row = provider_row(provider)
    if request.has_further:  # few requests
        from wire.neutral.settings import with_further

        return with_further(request, row, model, render_request, check)
    messages, notes, answers = sendable_request(request, row, model, render_request, check)
    conversation = [(f"messages[{index}]", message) for index, message in messages.items()]
    note_names(conversation, notes)
    if request.compaction:
        notes.append(Note("compaction", "not sent: the wire has no field for it"))
    if request.caching not in (None, "off", "auto") or any(map(wants_cache, request.messages)):
        notes.append(Note("caching", "not sent: the server caches by itself"))
    tools = _tools(request, model, row, notes)
    names = [tool.name or "" for tool in tools if tool.type == "function"]
    steps = input_steps(conversation, answers, names, model, notes)
    built = InteractionRequest(
        model=model,
        input=steps,
        system_instruction=system_text(request.system, conversation, notes) or None,
        tools=tools or None,
        generation_config=_config(request, row, model, names, notes),
        response_format=_format(request.output, notes),
        store=False,
    )
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
        functools.partial(make, checked=False),
        functools.partial(_check, model),
    )


def _check(model: str, built: InteractionRequest, row: Provider) -> list[Violation]:
    return check_body(Body(built), model, row)


def _reader(
    raw: Call[Any] | StreamCall[Any, Any], model: str, provider: Provider | str
) -> ReplyReader[Interaction]:
    reply_context: dict[str, Any] = {
        "body": raw.body,
        "provider": provider_row(provider).name,
        "model": model,
    }
    return ReplyReader(
        functools.partial(parse_hops, **reply_context),
        functools.partial(EventReader, **reply_context),
        raw.notes,
    )


# --- settings -------------------------------------------------------------------------------------


def _config(
    request: Request, row: Provider, model: str, names: list[str], notes: list[Note]
) -> GenerationConfig | None:
    level = None if request.effort is None else _level(str(request.effort), model, notes)
    config = GenerationConfig(
        max_output_tokens=within_longest(request.max_tokens, row, model, notes),
        stop_sequences=list(request.stop) or None,
        temperature=request.temperature,
        top_p=request.top_p,
        thinking_level=level,
        thinking_summaries="auto" if level is not None and request.effort != "none" else None,
        tool_choice=_tool_choice(request.tool_choice, names, notes),
    )
    return None if config == GenerationConfig() else config


def _level(effort: str, model: str, notes: list[Note]) -> str | None:
    """Return the thinking level for an effort, or the nearest one that the model has."""
    of, word = family(model), effort.lower()
    if of.before(2, 5):
        if word != "none":
            notes.append(Note("effort", "not sent: models before 2.5 do not think"))
        return None
    level = nearest(word, of.known.efforts or DEFAULT_EFFORTS)
    if word == "none":
        words = f"sent as the model's lowest level, {level}: the wire cannot turn thinking off"
        notes.append(Note("effort", words))
    elif level != word:
        notes.append(Note("effort", f"sent as {level}: this model has no level {word}"))
    return level


def _tool_choice(
    choice: str | tuple[str, ...] | None, names: list[str], notes: list[Note]
) -> str | ToolChoice | None:
    if not choice:
        return None
    if not names:
        words = "not sent: it governs functions, and the request has none (I11)"
        notes.append(Note("tool_choice", words))
        return None
    if isinstance(choice, str):
        return {"required": "any"}.get(choice, choice)
    return ToolChoice(allowed_tools=AllowedTools(mode="any", tools=list(choice)))


def _format(output: Output | None, notes: list[Note]) -> ResponseFormat | None:
    if output is None:
        return None
    if output.description:
        notes.append(Note("output.description", "not sent: the wire has no field for it"))
    schema = dict(output.schema) if output.schema else None
    return ResponseFormat(type="text", mime_type="application/json", json_schema=schema)


def _tools(request: Request, model: str, row: Provider, notes: list[Note]) -> list[WireTool]:
    functions, _ = sent_functions(request, model, notes)
    tools = [_tool(tool, path, notes) for path, tool in functions]
    if len(functions) < len(request.tools):
        from wire.gemini.interactions.server_tools import server_tools  # few requests have one

        tools += server_tools(request.tools, model, row)
    if request.search_grounding and all(tool.type != "google_search" for tool in tools):
        tools.append(WireTool(type="google_search"))
    return tools


def _tool(tool: Tool, path: str, notes: list[Note]) -> WireTool:
    if tool.kind == "custom":
        note_custom(tool, path, notes)
    if tool.response is not None:
        notes.append(no_response(path))
    if tool.strict:
        notes.append(Note(f"{path}.strict", "not sent: the wire has no strict functions"))
    schema: Mapping[str, Any] = tool.parameters or {"type": "object", "properties": {}}
    if "required" in schema and not schema["required"]:  # refused in March 2026 (I12)
        schema = {key: value for key, value in schema.items() if key != "required"}
    return WireTool(
        type="function",
        name=tool.name,
        description=tool.description or None,
        parameters=dict(schema),
    )
