"""Renders a neutral request as a call of /api/chat, and reads its answer as a neutral reply.

Messages that the model sent are sent back with the bytes in which they came; `messages.py` writes
all others. Notes report what the wire cannot express and was left out, and what the server drops.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from wire.catalogue.facts import is_in
from wire.core.arguments import checked_arguments
from wire.core.call import Call, StreamCall
from wire.core.errors import Violation
from wire.core.memory import Note, with_notes
from wire.core.provider import Provider
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
from wire.ollama.endpoints import chat, stream_chat
from wire.ollama.error_body import parse_error
from wire.ollama.messages import wire_messages
from wire.ollama.parse import EventReader, parse_reply
from wire.ollama.reader import parse_answer
from wire.ollama.rows import provider_row
from wire.ollama.rules import Body, check, check_body
from wire.ollama.types import ChatRequest, ChatResponse, Options, ToolFunction
from wire.ollama.types import Tool as WireTool

AnyCall = TypeVar("AnyCall", bound=Call[Any] | StreamCall[Any, Any])


@checked_arguments()
def call(request: Request, model: str, provider: Provider | str = "ollama") -> Call[Reply]:
    """Render the request as a call that returns one complete reply.

    >>> from wire.neutral.messages import Message
    >>> call(Request(messages=(Message.user("Hi"),)), "qwen3").path
    '/api/chat'

    Parameters and errors are those of `stream_call`.
    """
    raw = _wire_call(chat, request, model, provider)
    return _reader(raw, model, provider).whole_call(raw)


@checked_arguments()
def stream_call(
    request: Request, model: str, provider: Provider | str = "ollama"
) -> StreamCall[Event, Reply]:
    """Render the request as a call that streams events.

    `reply()` of the stream is the reply of `call`.

    >>> from wire.neutral.messages import Message
    >>> stream_call(Request(messages=(Message.user("Hi"),)), "qwen3").path
    '/api/chat'

    `provider` is a row or its name. It decides which rules apply, and which messages are sent back
    unchanged.

    Raises `HistoryError` for turns that are out of order, `RuleError` for what the provider refuses
    or the wire cannot express.
    """
    raw = _wire_call(stream_chat, request, model, provider)
    return _reader(raw, model, provider).event_call(raw)


@checked_arguments()
def render_request(
    request: Request, model: str, provider: Provider | str = "ollama"
) -> ChatRequest:
    """Render the body as a struct, without the request's `options`.

    >>> from wire.neutral.messages import Message
    >>> request = Request(messages=(Message.user("Hi"),), effort="low", max_tokens=100)
    >>> render_request(request, "qwen3").think, render_request(request, "qwen3").options
    ('low', Options(num_predict=100))

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
    for name in ("search_grounding", "compaction"):
        if getattr(request, name):
            notes.append(Note(name, "not sent: the wire has no field for it"))
    _note_caching(request, notes)
    built = ChatRequest(
        model=model,
        messages=wire_messages(request.system, conversation, answers, notes),
        tools=_tools(request, model, row, notes) or None,
        format=_format(request.output),
        think=_think(request.effort, model, notes),
        options=_options(request, row, model, notes),
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
        _check,
    )


def _check(built: ChatRequest, row: Provider) -> list[Violation]:
    return check_body(Body(built), row)


def _reader(
    raw: Call[Any] | StreamCall[Any, Any], model: str, provider: Provider | str
) -> ReplyReader[ChatResponse]:
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

    Ids of tool calls that the server gave none are made of `seed`.
    """
    raw = Call("ollama", "POST", "", seed, parse=parse_answer, read_error=parse_error)
    return _reader(raw, model, row).whole_call(raw)


# --- settings -------------------------------------------------------------------------------------


def _note_caching(request: Request, notes: list[Note]) -> None:
    if request.caching not in (None, "auto"):
        words = "not sent: the server keeps the beginning of a prompt by itself"
        notes.append(Note("caching", words))
    for index, message in enumerate(request.messages):
        if wants_cache(message):
            words = "not sent: the wire has no breakpoints"
            notes.append(Note(f"messages[{index}].cache", words))


def _options(request: Request, row: Provider, model: str, notes: list[Note]) -> Options | None:
    options = Options(
        num_predict=within_longest(request.max_tokens, row, model, notes),
        temperature=request.temperature,
        top_p=request.top_p,
        stop=list(request.stop) or None,
    )
    return None if options == Options() else options


_LEVELS = {"minimal": "low", "low": "low", "medium": "medium", "high": "high", "xhigh": "max"}
"""Neutral effort -> the word of the wire, where it is not the same."""


def _think(effort: str | None, model: str, notes: list[Note]) -> bool | str | None:
    """Return the effort as the server takes it; `None` for the default of the model."""
    if effort is None:
        return None
    level = str(effort).lower()
    if level == "none" and not is_in("ollama.levels-only", model):
        return False
    word = _LEVELS.get(level, "low" if level == "none" else level)
    if word == "max" and is_in("ollama.levels-only", model):
        word = "high"
    if word != level:
        notes.append(Note("effort", f"changed to {word}: this model has no effort {level}"))
    return word


def _format(output: Output | None) -> Any:
    if output is None:
        return None
    return dict(output.schema) if output.schema else "json"


# --- tools ----------------------------------------------------------------------------------------


def _tools(request: Request, model: str, row: Provider, notes: list[Note]) -> list[WireTool]:
    functions, _ = sent_functions(request, model, notes)
    if len(functions) < len(request.tools):
        from wire.neutral.server_tools import hosted  # few requests have one

        hosted(request.tools, row.dialect.server_tools, {}, row.name, model)
    choice = request.tool_choice
    if choice == "none" and functions:
        notes.append(Note("tool_choice", "sent without the tools: the wire has no choice"))
        return []
    if isinstance(choice, tuple):
        words = f"sent as the only tools: {', '.join(choice)}; the wire cannot force a call"
        notes.append(Note("tool_choice", words))
        functions = [each for each in functions if each[1].name in choice]
    elif choice not in (None, "auto"):
        notes.append(Note("tool_choice", "not sent: the wire has no choice of tools"))
    return [_tool(tool, path, notes) for path, tool in functions]


def _tool(tool: Tool, path: str, notes: list[Note]) -> WireTool:
    if tool.kind == "custom":
        note_custom(tool, path, notes)
    if tool.response is not None:
        notes.append(no_response(path))
    if tool.strict:
        notes.append(Note(f"{path}.strict", "not sent: the wire has no strict tools"))
    lost = sorted(set(_lost(tool.parameters)))
    if lost:
        words = f"sent, and dropped by the server: {', '.join(lost)}"
        notes.append(Note(f"{path}.parameters", words))
    schema = dict(tool.parameters)
    function = ToolFunction(
        name=tool.name,
        description=tool.description or None,
        parameters=schema if "type" in schema else {"type": "object", **schema},
    )
    return WireTool(type="function", function=function)


_DROPPED = frozenset(
    {
        *("$ref", "allOf", "const", "default", "exclusiveMaximum", "exclusiveMinimum", "format"),
        *("maxItems", "maxLength", "maximum", "minItems", "minLength", "minimum", "multipleOf"),
        *("not", "oneOf", "pattern", "uniqueItems"),
    }
)
"""Keywords of a property that say something and that the server does not keep."""


def _lost(schema: Any, depth: int = 0) -> Iterator[str]:
    """Yield the keywords that the server drops from the properties of a schema."""
    if not isinstance(schema, Mapping) or depth > 50:
        return
    if depth:
        yield from (key for key in schema if key in _DROPPED)
    properties = schema.get("properties")
    inner = [*properties.values()] if isinstance(properties, Mapping) else []
    any_of = schema.get("anyOf")
    inner += any_of if isinstance(any_of, (list, tuple)) else []
    inner.append(schema.get("items"))
    for each in inner:
        yield from _lost(each, depth + 1)
