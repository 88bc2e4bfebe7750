"""Renders a neutral request as a call of Responses, and reads its answer as a neutral reply.

Requests are stateless: `store` is false, and the reasoning of the model comes back encrypted in the
items that the next request sends. `parts.py` writes the items. Notes report what the wire cannot
express and was left out. A path such as `messages[1].parts[0]` names a part of the neutral request;
all other paths are of the body.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Container, Sequence
from typing import Any, TypeVar

import msgspec

from wire.catalogue.facts import facts
from wire.core.arguments import checked_arguments
from wire.core.call import Call, StreamCall
from wire.core.errors import Violation, WireError
from wire.core.memory import Note, with_notes
from wire.core.provider import Provider
from wire.history import sendable_request
from wire.neutral.messages import Event, Reply, Text, ToolCall, wants_cache
from wire.neutral.rendering import (
    ReplyReader,
    closed_objects,
    note_custom,
    note_names,
    schema_words,
    sent_functions,
    wire_call,
    within_longest,
)
from wire.neutral.request import Output, Request, Tool, checked_request, sent_stops
from wire.openai.common.effort import effort_for
from wire.openai.common.error_body import parse_error
from wire.openai.responses.dialect import Dialect
from wire.openai.responses.endpoints import create_response, stream_response
from wire.openai.responses.parse import EventReader, parse_reply
from wire.openai.responses.parts import (
    Accepted,
    SentMessage,
    input_items,
    instructions_of,
    without_reasoning,
)
from wire.openai.responses.reader import parse_response
from wire.openai.responses.rows import provider_row
from wire.openai.responses.rules import Body, check, check_body
from wire.openai.responses.types import (
    ContentPart,
    CustomFormat,
    Item,
    Reasoning,
    Response,
    ResponseRequest,
    TextFormat,
    TextOptions,
    ToolChoice,
)
from wire.openai.responses.types import Tool as WireTool

AnyCall = TypeVar("AnyCall", bound=Call[Any] | StreamCall[Any, Any])

ENCRYPTED_REASONING = "reasoning.encrypted_content"
"""Value of `include` that requests the reasoning in a form that can be sent back."""


@checked_arguments()
def call(
    request: Request, model: str, provider: Provider | str = "openai@responses"
) -> Call[Reply]:
    """Render the request as a call that returns one complete reply.

    >>> from wire.neutral.messages import Message
    >>> call(Request(messages=(Message.user("Hi"),)), "gpt-5.6").path
    '/responses'

    Parameters and errors are those of `stream_call`.
    """
    raw = _wire_call(create_response, request, model, provider)
    neutral: Call[Reply] = _neutral(raw, model, provider, request.stop)
    return neutral


@checked_arguments()
def stream_call(
    request: Request, model: str, provider: Provider | str = "openai@responses"
) -> StreamCall[Event, Reply]:
    """Render the request as a call that streams events.

    `reply()` of the stream is the reply of `call`.

    >>> from wire.neutral.messages import Message
    >>> body = stream_call(Request(messages=(Message.user("Hi"),)), "gpt-4.1").body
    >>> body.endswith(b'"store":false,"stream":true}')
    True

    `provider` is a row or its name. It decides which rules apply, and which messages are sent back
    unchanged. Raises `HistoryError` for turns that are out of order, `RuleError` for what the
    provider refuses or the wire cannot express.
    """
    raw = _wire_call(stream_response, request, model, provider, stream=True)
    neutral: StreamCall[Event, Reply] = _neutral(raw, model, provider, request.stop)
    return neutral


@checked_arguments()
def render_request(
    request: Request, model: str, provider: Provider | str = "openai@responses"
) -> ResponseRequest:
    """Render the body as a struct, without the request's `options`.

    >>> from wire.neutral.messages import Message
    >>> request = Request(messages=(Message.user("Hi"),), effort="low")
    >>> render_request(request, "gpt-5.6").include
    ['reasoning.encrypted_content']

    `wire.notes` of the struct reports what was changed or left out. Raises as `stream_call`.
    """
    request = checked_request(request)
    row = provider_row(provider)
    if request.has_further:  # few requests
        from wire.neutral.settings import with_further

        refuses = functools.partial(_refuses, row)
        return with_further(request, row, model, render_request, check, refuses)
    dialect: Dialect = row.dialect
    messages, notes, answers = sendable_request(request, row, model, render_request, check)
    conversation = [(f"messages[{index}]", message) for index, message in messages.items()]
    note_names(conversation, notes)
    if dialect.vendor_rules and conversation and conversation[-1][1].role == "assistant":
        words = "not continued: this host answers with a message of its own"
        notes.append(Note(conversation[-1][0], words))
    if request.search_grounding:
        notes.append(Note("search_grounding", "not sent: only Gemini searches with Google"))
    sent_stops(request.stop, 0, notes)  # the body has no field for them
    accepted = _accepted(request, conversation, model, row)
    custom = accepted.custom_tools or frozenset()
    breakpoints = None
    if any(map(wants_cache, request.messages)):
        from wire.openai.responses.caching import breakpoints_of

        breakpoints = breakpoints_of(request, conversation, model, dialect, notes)
    functions, deferred = sent_functions(
        request, model, notes, _TOOL_SEARCH.type, dialect.tool_search
    )
    include = [ENCRYPTED_REASONING] if _reasons(request, model, dialect) else []
    hosted: list[WireTool] = []
    if len(functions) < len(request.tools):
        from wire.openai.responses.server_tools import included, server_tools  # few have one

        hosted = server_tools(request.tools, model, row)
        include += included(hosted) if dialect.vendor_rules else []
    instructions, conversation = instructions_of(request.system, conversation)
    built = ResponseRequest(
        model=model,
        input=input_items(
            conversation,
            answers,
            [tool.name for _, tool in functions],
            accepted,
            dialect,
            notes,
            breakpoints,
        ),
        instructions=instructions or None,
        max_output_tokens=_tokens(request.max_tokens, row, model, notes),
        temperature=request.temperature,
        top_p=request.top_p,
        reasoning=_reasoning(request, model, row, notes),
        tools=[
            *[
                _custom_tool(tool, tool.name in deferred)
                if tool.name in custom
                else _function(tool, path, notes, tool.name in deferred)
                for path, tool in functions
            ],
            *hosted,
            *([_TOOL_SEARCH] if deferred else []),
        ]
        or None,
        tool_choice=_tool_choice(request.tool_choice, custom),
        store=False if dialect.stores else None,
        include=include or None,
    )
    if request.output is not None:
        built = _with_output(built, request.output, row, notes)
    if request.caching is not None and request.caching != "off":
        from wire.openai.responses.caching import cached

        refused = not _takes(row, model, prompt_cache_key="key")
        built = cached(built, request.caching, dialect, key_refused=refused, notes=notes)
    if request.compaction is not None:
        from wire.openai.responses.compaction import with_compaction

        built = with_compaction(built, request.compaction, row, notes)
    return with_notes(built, notes)


# --- the call -------------------------------------------------------------------------------------


def _wire_call(
    make: Callable[..., AnyCall],
    request: Request,
    model: str,
    provider: Provider | str,
    *,
    stream: bool | None = None,
) -> AnyCall:
    """Build the call with `make`. `stream` is the value in its body, which rules need (P16)."""
    row = provider_row(provider)
    return wire_call(
        render_request(request, model, row),
        request.options,
        row,
        functools.partial(make, checked=False),
        functools.partial(_check, model, stream),
    )


def _check(
    model: str, stream: bool | None, built: ResponseRequest, row: Provider
) -> list[Violation]:
    return check_body(Body(msgspec.structs.replace(built, stream=stream)), model, row)


def reply_call(seed: bytes, model: str, row: Provider) -> Call[Reply]:
    """Return a call whose `parse` reads a response that came in another way. It is not sent.

    Ids of tool calls that the host gave none are made of `seed`.
    """
    raw = Call("openai", "POST", "", seed, parse=parse_response, read_error=parse_error)
    return _reader(raw, model, row).whole_call(raw)


def _neutral(raw: Any, model: str, provider: Provider | str, stops: tuple[str, ...]) -> Any:
    """Convert the raw call to one that returns a reply, and that is sent once more without
    reasoning.
    """
    reader = _reader(raw, model, provider, stops)
    neutral = reader.event_call(raw) if isinstance(raw, StreamCall) else reader.whole_call(raw)
    amend = functools.partial(_amended, raw, model, provider, stops)
    return msgspec.structs.replace(neutral, amend=amend)


def _amended(
    raw: Any,
    model: str,
    provider: Provider | str,
    stops: tuple[str, ...],
    call: AnyCall,
    error: WireError,
) -> AnyCall | None:
    """Return the call without the reasoning in its input, if the server could not decrypt that.

    The key of another organization, project or resource cannot: the answer is then 400.
    """
    if error.code != "invalid_encrypted_content":
        return None
    body, dropped = without_reasoning(call.body)
    if not dropped:
        return None
    note = Note(
        "input",
        f"sent again without {dropped} items of reasoning, which the server could not verify",
    )
    sent = msgspec.structs.replace(call, body=body, notes=(*raw.notes, note))
    own = {"parse": raw.parse} if isinstance(raw, Call) else {"events": None, "convert": None}
    again: AnyCall = _neutral(msgspec.structs.replace(sent, **own), model, provider, stops)
    return again


def _reader(
    raw: Call[Any] | StreamCall[Any, Any],
    model: str,
    provider: Provider | str,
    stops: tuple[str, ...] = (),
) -> ReplyReader[Response]:
    reply_context: dict[str, Any] = {
        "body": raw.body,
        "provider": provider_row(provider).name,
        "model": model,
    }
    return ReplyReader(
        functools.partial(parse_reply, **reply_context),
        functools.partial(EventReader, **reply_context),
        raw.notes,
        stops,
    )


# --- settings -------------------------------------------------------------------------------------


def _tokens(max_tokens: int | None, row: Provider, model: str, notes: list[Note]) -> int | None:
    """Return the number of output tokens to ask for, within the bounds of the host."""
    if max_tokens is None:
        return None
    from wire.catalogue.settings import setting  # most requests name no number

    least = setting("max_tokens").bounds["responses"][0] if row.dialect.vendor_rules else 1
    return within_longest(max_tokens, row, model, notes, least or 1)


def _accepted(
    request: Request, conversation: Sequence[SentMessage], model: str, row: Provider
) -> Accepted:
    """Return which of the refusals and the custom tools of a request the host accepts."""
    parts = [part for _, message in conversation for part in message.parts]
    has_refusals = any(isinstance(part, Text) and part.refusal for part in parts)
    custom = frozenset(
        tool.name for tool in request.tools if isinstance(tool, Tool) and tool.kind == "custom"
    )
    has_custom = bool(custom) or any(
        isinstance(part, ToolCall) and part.kind == "custom" for part in parts
    )
    return Accepted(
        refusals=not has_refusals or _takes(row, model, input=[_REFUSAL]),
        custom_tools=custom
        if not has_custom or _takes(row, model, input=_CUSTOM_ITEMS, tools=[_CUSTOM_TOOL])
        else None,
    )


_REFUSAL = Item(
    type="message", role="assistant", content=[ContentPart(type="refusal", refusal="No.")]
)
_CUSTOM_ITEMS = [
    Item(type="custom_tool_call", call_id="c", name="a", input=""),
    Item(type="custom_tool_call_output", call_id="c", output=""),
]
_CUSTOM_TOOL = WireTool(type="custom", name="a")
"""These show whether a host accepts refusals and custom tools."""


def _takes(row: Provider, model: str, **fields: Any) -> bool:
    """Return whether the host accepts these fields and does not ignore them, according to its
    dialect.
    """
    violations = check(ResponseRequest(model=model, **fields), model, row)
    return all(each.rule not in ("P2", "P16") for each in violations)


def _refuses(row: Provider, model: str, path: str, value: Any) -> bool:
    from wire.neutral.settings import placed

    if path == "store" and not row.dialect.stores:
        return True
    violations = check(placed(ResponseRequest(model=model), path, value), model, row)
    return any(each.rule in ("P16", "P18") for each in violations)


_TOOL_SEARCH = WireTool(type="tool_search")


def _custom_tool(tool: Tool, deferred: bool) -> WireTool:
    grammar = CustomFormat(type="grammar", syntax=tool.syntax, definition=tool.grammar)
    return WireTool(
        type="custom",
        name=tool.name,
        description=tool.description or None,
        format=grammar if tool.grammar else None,
        defer_loading=deferred or None,
    )


def _function(tool: Tool, path: str, notes: list[Note], deferred: bool) -> WireTool:
    if tool.kind == "custom":
        note_custom(tool, path, notes)
    parameters = dict(tool.parameters) or {"type": "object", "properties": {}}
    if tool.strict:
        parameters = closed_objects(parameters, f"{path}.parameters", notes)
    # Without the field, the server makes a schema strict where it can.
    return WireTool(
        type="function",
        name=tool.name,
        description=tool.description or None,
        parameters=parameters,
        strict=tool.strict,
        output_schema=tool.response,
        defer_loading=deferred or None,
    )


def _tool_choice(
    choice: str | tuple[str, ...] | None, custom: Container[str]
) -> str | ToolChoice | None:
    if not choice:
        return None
    if isinstance(choice, str):
        return choice
    named = [{"type": "custom" if name in custom else "function", "name": name} for name in choice]
    if len(choice) == 1:
        return ToolChoice(type=named[0]["type"], name=choice[0])
    return ToolChoice(type="allowed_tools", mode="required", tools=named)


def _reasoning(request: Request, model: str, row: Provider, notes: list[Note]) -> Reasoning | None:
    effort = effort_for(request.effort, model, row, notes, on_chat=False)
    return None if effort is None else Reasoning(effort=effort.lower())


def _reasons(request: Request, model: str, dialect: Dialect) -> bool:
    """Return whether the model is known to reason.

    A request with an effort says so of a deployment, whose name says nothing.
    """
    if dialect.encrypts:
        return True
    if dialect.models_of:
        known = facts(model)
        return known.vendor == dialect.models_of and known.efforts != ()
    return dialect.vendor_rules and request.effort not in (None, "none")


def _with_output(
    built: ResponseRequest, output: Output, row: Provider, notes: list[Note]
) -> ResponseRequest:
    """Return the request for an output: in the host's own mode, or in words if it has none."""
    text = _text(output, notes)
    if not _takes(row, built.model or "", text=text):
        mode = "schema" if output.schema else "JSON mode"
        notes.append(Note("output", f"sent as words in the instructions: there is no {mode} here"))
        instructions = "\n\n".join(filter(None, (built.instructions, schema_words(output))))
        return msgspec.structs.replace(built, instructions=instructions)
    built = msgspec.structs.replace(built, text=text)
    if any(each.rule == "P20" for each in check(built, built.model or "", row)):
        notes.append(Note("output", "a message says JSON, without which the mode is refused"))
        words = Item(type="message", role="developer", content=schema_words(output))
        built = msgspec.structs.replace(built, input=[words, *(built.input or ())])
    return built


def _text(output: Output, notes: list[Note]) -> TextOptions:
    if not output.schema:
        return TextOptions(format=TextFormat(type="json_object"))
    schema = dict(output.schema)
    if output.strict:
        schema = closed_objects(schema, "output.schema", notes)
    form = TextFormat(
        type="json_schema",
        name=output.name,
        description=output.description or None,
        schema=schema,
        strict=output.strict,
    )
    return TextOptions(format=form)
