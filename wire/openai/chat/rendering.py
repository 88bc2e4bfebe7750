"""Renders a neutral request as a call of chat completions, and reads its answer as a neutral reply.

Messages that the model sent are sent back with the bytes in which they came, as far as the dialect
allows (`turns.py`); `parts.py` writes all others. Notes report what the wire cannot express and was
left out. A path such as `messages[1].parts[0]` names a part of the neutral request; all other paths
are of the body.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Container, Sequence
from typing import Any, TypeVar, cast

import msgspec

from wire.catalogue.facts import facts
from wire.core.arguments import checked_arguments
from wire.core.call import Call, StreamCall
from wire.core.errors import StreamInvalid, Violation
from wire.core.memory import Note, with_notes
from wire.core.provider import Provider
from wire.history import sendable_request
from wire.neutral.compaction import not_sent
from wire.neutral.messages import Event, Reply, wants_cache
from wire.neutral.rendering import (
    ReplyReader,
    closed_objects,
    no_response,
    note_custom,
    says_json,
    schema_words,
    sent_functions,
    wire_call,
    within_longest,
)
from wire.neutral.request import Output, Request, Tool, checked_request, sent_stops
from wire.openai.chat.endpoints import chat_completions, stream_chat_completions
from wire.openai.chat.parse import EventReader, parse_reply
from wire.openai.chat.parts import SentMessage, one_system, wire_messages
from wire.openai.chat.reader import parse_completion
from wire.openai.chat.rules import check
from wire.openai.chat.turns import arranged
from wire.openai.chat.types import (
    AllowedTools,
    ChatCompletion,
    ChatCompletionRequest,
    ContentPart,
    CustomFormat,
    CustomTool,
    FunctionDefinition,
    Grammar,
    JsonSchema,
    NamedFunction,
    ResponseFormat,
    Thinking,
    ToolChoice,
)
from wire.openai.chat.types import Message as WireMessage
from wire.openai.chat.types import Tool as WireTool
from wire.openai.common.dialect import Dialect
from wire.openai.common.effort import effort_for
from wire.openai.common.error_body import parse_error
from wire.openai.common.rows import provider_row

AnyCall = TypeVar("AnyCall", bound=Call[Any] | StreamCall[Any, Any])


@checked_arguments()
def call(request: Request, model: str, provider: Provider | str = "openai") -> Call[Reply]:
    """Render the request as a call that returns one complete reply.

    >>> from wire.neutral.messages import Message
    >>> call(Request(messages=(Message.user("Hi"),)), "gpt-5.4").path
    '/chat/completions'

    Parameters and errors are those of `stream_call`.
    """
    raw = _wire_call(chat_completions, request, model, provider)
    raw = msgspec.structs.replace(raw, parse=_parse_with_choice)
    return _reader(raw, model, provider, request.stop).whole_call(raw)


@checked_arguments()
def stream_call(
    request: Request, model: str, provider: Provider | str = "openai"
) -> StreamCall[Event, Reply]:
    """Render the request as a call that streams events.

    `reply()` of the stream is the reply of `call`.

    >>> from wire.neutral.messages import Message
    >>> request = Request(messages=(Message.user("Hi"),), effort="low")
    >>> stream_call(request, "gpt-5.4").body[:85]
    b'{"model":"gpt-5.4","messages":[{"role":"user","content":"Hi"}],"stream":true,"stream_'

    `provider` is a row or its name. Its dialect decides which rules apply, and which fields of a
    received message are sent back.

    Raises `HistoryError` for turns that are out of order, `RuleError` for what the provider refuses
    or the wire cannot express.
    """
    raw = _wire_call(stream_chat_completions, request, model, provider, stream=True)
    return _reader(raw, model, provider, request.stop).event_call(raw)


@checked_arguments()
def render_request(
    request: Request, model: str, provider: Provider | str = "openai"
) -> ChatCompletionRequest:
    """Render the body as a struct, without the request's `options`.

    >>> from wire.neutral.messages import Message
    >>> request = Request(messages=(Message.user("Hi"),), max_tokens=9)
    >>> render_request(request, "gpt-5.4").max_completion_tokens
    9

    `wire.notes` of the struct reports what was changed or left out. Raises as `stream_call`.
    """
    request = checked_request(request)
    row = provider_row(provider)
    if request.has_further:  # few requests
        from wire.neutral.settings import with_further

        refuses = functools.partial(_refuses, row)
        return with_further(request, row, model, render_request, check, refuses)
    dialect: Dialect = row.dialect
    sendable, notes, answers = sendable_request(request, row, model, render_request, check)
    if request.compaction is not None:
        notes.append(not_sent(row))
    if request.search_grounding:
        notes.append(Note("search_grounding", "not sent: only Gemini searches with Google"))
    response_format, instruction = _response_format(request, model, row, notes)
    conversation = [(f"messages[{index}]", message) for index, message in sendable.items()]
    functions, _ = sent_functions(request, model, notes)
    custom = [tool.name for _, tool in functions if tool.kind == "custom" and dialect.custom_tools]
    breakpoints = None
    if any(map(wants_cache, request.messages)):
        from wire.openai.chat.caching import breakpoints_of

        breakpoints = breakpoints_of(request, conversation, model, dialect, notes)
    turns = wire_messages(conversation, answers, custom, dialect, notes, breakpoints)
    if request.system.strip():
        turns.insert(0, WireMessage(role="system", content=request.system))
    turns = one_system(_with_instruction(turns, instruction), dialect, notes)
    rendered = arranged(turns, dialect)
    messages = list(rendered)
    if messages and messages[-1].role == "assistant":
        messages[-1] = _continued(messages[-1], conversation, row, notes)
    takes = not request.stop or _takes(row, model, stop=[request.stop[0]])
    most = (dialect.most_stops or len(request.stop)) if takes else 0
    stops = sent_stops(request.stop, most, notes)
    built = ChatCompletionRequest(
        model=model,
        messages=messages,
        temperature=_temperature(request.temperature, dialect, notes),
        top_p=request.top_p,
        stop=stops,
        **(_thinking(request.effort, model, row, notes) if request.effort else {}),
        **_most_tokens(request.max_tokens, model, row, notes),
        response_format=response_format,
        tools=[
            _custom_tool(tool) if tool.name in custom else _function(tool, path, model, row, notes)
            for path, tool in functions
        ]
        or None,
        tool_choice=_tool_choice(request.tool_choice, custom, model, row, notes),
        store=False if dialect.stores else None,
    )
    if len(functions) < len(request.tools):
        from wire.openai.chat.server_tools import with_server_tools  # few requests have one

        built = with_server_tools(built, request.tools, model, row)
    if request.caching is not None and request.caching != "off":
        from wire.openai.chat.caching import cached

        refused = not _takes(row, model, prompt_cache_key="key")
        built = cached(built, request.caching, dialect, key_refused=refused, notes=notes)
    return with_notes(built, (*notes, *rendered.notes))


def _continued(
    last: WireMessage, conversation: Sequence[SentMessage], row: Provider, notes: list[Note]
) -> WireMessage:
    """Return the last message, of the assistant, with the key that makes the model continue it."""
    dialect: Dialect = row.dialect
    path = next(path for path, message in reversed(conversation) if not message.instructs)
    region = dialect.prefix_region
    if dialect.answers_anew:
        notes.append(Note(path, "not continued: this host answers with a message of its own"))
    elif dialect.prefix_key and region not in ("", row.name.partition("@")[2]):
        host = f"{row.name.partition('@')[0]}@{region}"
        notes.append(Note(path, f"not continued: only {host} continues a message"))
    elif dialect.prefix_key:
        return msgspec.structs.replace(last, **{dialect.prefix_key: True})
    return last


# --- the call -------------------------------------------------------------------------------------


def _wire_call(
    make: Callable[..., AnyCall],
    request: Request,
    model: str,
    provider: Provider | str,
    *,
    stream: bool | None = None,
) -> AnyCall:
    """Build the call with `make`.

    `stream` is the value in its body, which the rules need (O5): the rendered struct has none.
    """
    row = provider_row(provider)
    built = render_request(request, model, row)
    raw = wire_call(
        built,
        request.options,
        row,
        functools.partial(make, checked=False),
        functools.partial(_check, model, stream),
    )
    if request.caching is not None and request.caching != "off":
        from wire.openai.chat.caching import key_headers

        if headers := key_headers(built, row.dialect):
            return cast(AnyCall, raw.replace(headers=headers))
    return raw


def _check(
    model: str, stream: bool | None, built: ChatCompletionRequest, row: Provider
) -> list[Violation]:
    return check(msgspec.structs.replace(built, stream=stream), model, row)


def _reader(
    raw: Call[Any] | StreamCall[Any, Any],
    model: str,
    provider: Provider | str,
    stops: tuple[str, ...] = (),
) -> ReplyReader[ChatCompletion]:
    row = provider_row(provider)
    reply_context: dict[str, Any] = {"body": raw.body, "provider": row.name, "model": model}
    return ReplyReader(
        functools.partial(parse_reply, dialect=row.dialect, **reply_context),
        functools.partial(EventReader, row.dialect, **reply_context),
        raw.notes,
        stops,
    )


def reply_call(seed: bytes, model: str, row: Provider) -> Call[Reply]:
    """Return a call whose `parse` reads a response that came in another way. It is not sent.

    Ids of tool calls that the host gave none are made of `seed`.
    """
    raw = Call("openai", "POST", "", seed, parse=_parse_with_choice, read_error=parse_error)
    return _reader(raw, model, row).whole_call(raw)


def _parse_with_choice(data: bytes) -> ChatCompletion:
    """Parse the complete response.

    Raises `StreamInvalid` if it has no choice, since a reply is made of the choice's message.
    """
    response = parse_completion(data)
    if not response.choices:
        raise StreamInvalid("the response has no choices", partial=response, raw=data)
    return response


# --- settings -------------------------------------------------------------------------------------


def _takes(row: Provider, model: str, **fields: Any) -> bool:
    """Return whether the host accepts these fields and does not ignore them, according to its
    dialect.
    """
    probe = ChatCompletionRequest(model=model, messages=[], **fields)
    return all(violation.rule not in ("O7", "O22") for violation in check(probe, model, row))


def _refuses(row: Provider, model: str, field: str, value: Any) -> bool:
    return not _takes(row, model, **{field: value})


def _temperature(wanted: float | None, dialect: Dialect, notes: list[Note]) -> float | None:
    """Return the temperature within the range of the host, which is narrower than that of others.

    One below 0 or above 2 is none of any vendor, and the rules refuse it.
    """
    for name, least, most in dialect.ranges:
        if name == "temperature" and isinstance(wanted, (int, float)) and most < wanted <= 2:
            notes.append(Note(name, f"changed to {most:g}: this host takes {least:g} to {most:g}"))
            return most
    return wanted


def _thinking(effort: str, model: str, row: Provider, notes: list[Note]) -> dict[str, Any]:
    """Return the field that an effort becomes; some hosts switch thinking off with another one."""
    switch, known = row.dialect.thinking_switch, facts(model)
    is_off = effort.lower() == "none" and known.off == "accepted"
    if switch and is_off and known.vendor == row.family:
        return {switch: False if switch == "enable_thinking" else Thinking(type="disabled")}
    return {"reasoning_effort": effort_for(effort, model, row, notes, on_chat=True)}


def _most_tokens(
    max_tokens: int | None, model: str, row: Provider, notes: list[Note]
) -> dict[str, Any]:
    """Return the field for the maximum number of output tokens, if there is one.

    Most hosts know only the old name, `max_tokens`; OpenAI's reasoning models refuse it.
    """
    if max_tokens is None:
        return {}
    names = ("max_tokens", "max_completion_tokens")
    name = next((name for name in names if _takes(row, model, **{name: 1})), names[0])
    return {name: within_longest(max_tokens, row, model, notes)}


def _custom_tool(tool: Tool) -> WireTool:
    grammar = Grammar(definition=tool.grammar, syntax=tool.syntax)
    custom = CustomTool(
        name=tool.name,
        description=tool.description or None,
        format=CustomFormat(type="grammar", grammar=grammar) if tool.grammar else None,
    )
    return WireTool(type="custom", custom=custom)


def _function(tool: Tool, path: str, model: str, row: Provider, notes: list[Note]) -> WireTool:
    if tool.kind == "custom":
        note_custom(tool, path, notes)
    parameters = dict(tool.parameters) or {"type": "object", "properties": {}}
    strict = tool.strict and _takes(row, model, tools=[_STRICT_TOOL])
    if strict and row.dialect.strict_schemas_are_closed:
        parameters = closed_objects(parameters, f"{path}.parameters", notes)
    elif tool.strict and not strict:
        notes.append(Note(f"{path}.strict", "not sent: this host refuses it"))
    if tool.response is not None:
        notes.append(no_response(path))
    function = FunctionDefinition(
        name=tool.name,
        description=tool.description or None,
        parameters=parameters,
        strict=strict or None,
    )
    return WireTool(type="function", function=function)


_STRICT_TOOL = WireTool(
    type="function", function=FunctionDefinition(name="a", parameters={}, strict=True)
)
"""Shows whether a host accepts strict functions."""


def _tool_choice(
    choice: str | tuple[str, ...] | None,
    custom: Container[str],
    model: str,
    row: Provider,
    notes: list[Note],
) -> str | ToolChoice | None:
    if not choice:
        return None
    if isinstance(choice, str):
        return choice
    kinds = ["custom" if name in custom else "function" for name in choice]
    if len(choice) == 1:
        only = NamedFunction(name=choice[0])
        return (
            ToolChoice(type="custom", custom=only)
            if kinds[0] == "custom"
            else ToolChoice(type="function", function=only)
        )
    named = [{"type": kind, kind: {"name": name}} for kind, name in zip(kinds, choice, strict=True)]
    allowed = ToolChoice(
        type="allowed_tools", allowed_tools=AllowedTools(mode="required", tools=named)
    )
    if _takes(row, model, tool_choice=allowed):
        return allowed
    notes.append(
        Note(
            "tool_choice",
            f"changed to required: this host cannot limit the choice to {', '.join(choice)}",
        )
    )
    return "required"


def _response_format(
    request: Request, model: str, row: Provider, notes: list[Note]
) -> tuple[ResponseFormat | None, str]:
    """Return the strictest format that the host accepts.

    If that format has no schema, the second value is the text that replaces it in the system text.
    """
    output = request.output
    if output is None:
        return None, ""
    if not output.schema:
        return _json_mode(request, output, model, row, notes)
    plain = dict(output.schema)
    if output.strict and row.dialect.strict_schemas_are_closed:
        plain = closed_objects(plain, "output.schema", notes)
    schema = JsonSchema(
        name=output.name,
        description=output.description or None,
        schema=plain,
        strict=output.strict or None,
    )
    response_format: ResponseFormat | None = ResponseFormat(type="json_schema", json_schema=schema)
    if _takes(row, model, response_format=response_format):
        return response_format, ""
    response_format = ResponseFormat(type="json_object")
    if not _takes(row, model, response_format=response_format):
        response_format = None
    form = "without a format" if response_format is None else "as json_object"
    notes.append(
        Note(
            "output",
            f"sent {form}, with the schema in the system text: this host accepts no json_schema",
        )
    )
    return response_format, schema_words(output)


def _json_mode(
    request: Request, output: Output, model: str, row: Provider, notes: list[Note]
) -> tuple[ResponseFormat | None, str]:
    """Return the format of JSON without a schema, and the words that the host needs beside it."""
    mode = ResponseFormat(type="json_object")
    if not _takes(row, model, response_format=mode):
        notes.append(Note("output", "sent as words in the system text: there is no JSON mode here"))
        return None, schema_words(output)
    if says_json(request):
        return mode, ""
    notes.append(Note("output", "the system text says JSON, without which the mode is refused"))
    return mode, schema_words(output)


def _with_instruction(turns: list[WireMessage], instruction: str) -> list[WireMessage]:
    """Return the turns, with the instruction at the end of their first system text."""
    first = turns[0]
    if not instruction:
        return turns
    if first.role not in ("system", "developer"):
        return [WireMessage(role="system", content=instruction), *turns]
    content_before = first.content
    content = (
        f"{content_before}\n\n{instruction}"
        if isinstance(content_before, str)
        else [*(content_before or ()), ContentPart(type="text", text=instruction)]
    )
    return [msgspec.structs.replace(first, content=content), *turns[1:]]
