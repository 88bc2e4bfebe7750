"""A neutral request as a call of chat completions, whose answer is a neutral reply again.

What the model said goes back in the bytes it came in, as far as `turns.py` and the dialect allow;
everything else is written here. What chat completions have no words for is left out and told. Paths
such as `messages[1].parts[0]` name a part of the neutral request, all others a place in the body.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from wire import history
from wire.core.call import Call, StreamCall
from wire.core.json_values import json_text
from wire.core.memory import Note, with_notes
from wire.core.provider import Provider
from wire.errors import StreamInvalid, Violation
from wire.neutral.messages import Event, Reply
from wire.neutral.rendering import SCHEMA_WORDS, ReplyReader, wire_call
from wire.neutral.request import Output, Request, Tool, checked_request
from wire.openai.chat.endpoints import chat_completions, stream_chat_completions
from wire.openai.chat.parse import EventReader, parse_reply
from wire.openai.chat.parts import one_system, wire_messages
from wire.openai.chat.reader import parse_completion
from wire.openai.chat.rules import check
from wire.openai.chat.turns import messages
from wire.openai.chat.types import (
    AllowedTools,
    ChatCompletion,
    ChatCompletionRequest,
    ContentPart,
    FunctionDefinition,
    JsonSchema,
    NamedFunction,
    ResponseFormat,
    ToolChoice,
)
from wire.openai.chat.types import Message as WireMessage
from wire.openai.chat.types import Tool as WireTool
from wire.openai.common.dialect import Dialect
from wire.openai.common.rows import provider_row

AnyCall = TypeVar("AnyCall", bound=Call[Any] | StreamCall[Any, Any])


def call(request: Request, model: str, provider: Provider | str = "openai") -> Call[Reply]:
    """The request as a call with one whole reply. Takes and raises what `stream_call` does."""
    raw = _wire_call(chat_completions, request, model, provider)
    raw = dataclasses.replace(raw, parse=_parse_answered)
    return _reader(raw, model, provider).whole_call(raw)


def stream_call(
    request: Request, model: str, provider: Provider | str = "openai"
) -> StreamCall[Event, Reply]:
    """The request as a call whose stream hands out events; `reply()` gives what `call` gives.

    >>> from wire.neutral.messages import Message
    >>> request = Request(messages=(Message.user("Hi"),), effort="low")
    >>> stream_call(request, "gpt-5.4").body[:85]
    b'{"model":"gpt-5.4","messages":[{"role":"user","content":"Hi"}],"stream":true,"stream_'

    `provider` is a row or its name. Its dialect decides which rules apply, and what goes back of a
    message that the model sent.

    Raises `HistoryError` for turns that are out of order, `RuleError` for what the provider refuses
    or this wire cannot express.
    """
    raw = _wire_call(stream_chat_completions, request, model, provider, stream=True)
    return _reader(raw, model, provider).event_call(raw)


def render_request(
    request: Request, model: str, provider: Provider | str = "openai"
) -> ChatCompletionRequest:
    """The body as a struct, without the request's `options`.

    `wire.notes` of it reports what was changed or left out. Raises as `stream_call`.
    """
    request = checked_request(request)
    row = provider_row(provider)
    dialect: Dialect = row.dialect
    left, found, answers = history.sendable(request.messages, row.name, model)
    if request.search_grounding:
        found.append(Note("search_grounding", "not sent: only Gemini searches with Google"))
    response_format, words = _response_format(request.output, model, row, found)
    said = [(f"messages[{index}]", message) for index, message in left.items()]
    turns = wire_messages(said, answers, dialect, found)
    if request.system.strip():
        turns.insert(0, WireMessage(role="system", content=request.system))
    made = messages(*one_system(_told(turns, words), dialect, found), dialect=dialect)
    built = ChatCompletionRequest(
        model=model,
        messages=list(made),
        temperature=request.temperature,
        top_p=request.top_p,
        stop=list(request.stop) or None,
        reasoning_effort=request.effort,
        response_format=response_format,
        tools=list(map(_tool, request.tools)) or None,
        tool_choice=_tool_choice(request.tool_choice, model, row, found),
    )
    built = msgspec.structs.replace(built, **{_limit(model, row): request.max_tokens})
    return with_notes(built, (*found, *made.notes))


# --- the call -------------------------------------------------------------------------------------


def _wire_call(
    make: Callable[..., AnyCall],
    request: Request,
    model: str,
    provider: Provider | str,
    *,
    stream: bool | None = None,
) -> AnyCall:
    """The call that `make` builds; `stream` as it stands in its body, which rules read (O5)."""
    row = provider_row(provider)
    return wire_call(
        render_request(request, model, row),
        request.options,
        row,
        functools.partial(make, checked=False),
        functools.partial(_check, model, stream),
    )


def _check(
    model: str, stream: bool | None, built: ChatCompletionRequest, row: Provider
) -> list[Violation]:
    return check(msgspec.structs.replace(built, stream=stream), model, row)


def _reader(
    raw: Call[Any] | StreamCall[Any, Any], model: str, provider: Provider | str
) -> ReplyReader[ChatCompletion]:
    row = provider_row(provider)
    asked: dict[str, Any] = {"body": raw.body, "provider": row.name, "model": model}
    return ReplyReader(
        functools.partial(parse_reply, dialect=row.dialect, **asked),
        functools.partial(EventReader, row.dialect, **asked),
        raw.notes,
    )


def _parse_answered(data: bytes) -> ChatCompletion:
    """The whole answer, which a reply needs a choice of."""
    answer = parse_completion(data)
    if not answer.choices:
        raise StreamInvalid("the answer has no choices", partial=answer, raw=data)
    return answer


# --- settings -------------------------------------------------------------------------------------


def _takes(row: Provider, model: str, **fields: Any) -> bool:
    """Whether the host does what these fields say, as far as its dialect tells."""
    asked = ChatCompletionRequest(model=model, messages=[], **fields)
    return all(violation.rule != "O7" for violation in check(asked, model, row))


def _limit(model: str, row: Provider) -> str:
    """The field for the most tokens of an answer: most hosts know the old one only, OpenAI's
    reasoning models refuse it.
    """
    names = ("max_tokens", "max_completion_tokens")
    return next((name for name in names if _takes(row, model, **{name: 1})), names[0])


def _tool(tool: Tool) -> WireTool:
    parameters = dict(tool.parameters) or {"type": "object", "properties": {}}
    function = FunctionDefinition(
        name=tool.name, description=tool.description or None, parameters=parameters
    )
    return WireTool(type="function", function=function)


def _tool_choice(
    choice: str | tuple[str, ...] | None, model: str, row: Provider, found: list[Note]
) -> str | ToolChoice | None:
    if not choice:
        return None
    if isinstance(choice, str):
        return choice
    if len(choice) == 1:
        return ToolChoice(type="function", function=NamedFunction(name=choice[0]))
    named = [{"type": "function", "function": {"name": name}} for name in choice]
    allowed = ToolChoice(
        type="allowed_tools", allowed_tools=AllowedTools(mode="required", tools=named)
    )
    if _takes(row, model, tool_choice=allowed):
        return allowed
    found.append(
        Note(
            "tool_choice",
            f"required, of whichever tool: this host does not choose among {', '.join(choice)}",
        )
    )
    return "required"


def _response_format(
    output: Output | None, model: str, row: Provider, found: list[Note]
) -> tuple[ResponseFormat | None, str]:
    """The best form that the host takes, and what the system text says in its place."""
    if output is None:
        return None, ""
    schema = JsonSchema(name=output.name, schema=dict(output.schema), strict=output.strict or None)
    response_format: ResponseFormat | None = ResponseFormat(type="json_schema", json_schema=schema)
    if _takes(row, model, response_format=response_format):
        return response_format, ""
    response_format = ResponseFormat(type="json_object")
    if not _takes(row, model, response_format=response_format):
        response_format = None
    form = "asked for in words alone" if response_format is None else "as json_object"
    found.append(
        Note(
            "output", f"{form}, with the schema in the system text: this host takes no json_schema"
        )
    )
    return response_format, SCHEMA_WORDS + json_text(output.schema, "output.schema")


def _told(turns: list[WireMessage], words: str) -> list[WireMessage]:
    """The turns, with these words at the end of the system text that they begin with."""
    first = turns[0]
    if not words:
        return turns
    if first.role != "system":
        return [WireMessage(role="system", content=words), *turns]
    said = first.content
    content = (
        f"{said}\n\n{words}"
        if isinstance(said, str)
        else [*(said or ()), ContentPart(type="text", text=words)]
    )
    return [msgspec.structs.replace(first, content=content), *turns[1:]]
