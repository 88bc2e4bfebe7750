"""A neutral request as a call of Messages, whose answer is a neutral reply again.

What the model said goes back in the bytes it came in; everything else is written here, by
`parts.py`. What this wire has no words for is left out and told. Paths such as
`messages[1].parts[0]` name a part of the neutral request, all others a place in the body.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from wire import history
from wire.anthropic.dialect import Dialect
from wire.anthropic.effort import thinking
from wire.anthropic.endpoints import create_message, stream_message
from wire.anthropic.families import Family, answer_tokens, family, takes_schema
from wire.anthropic.parse import EventReader, parse_reply
from wire.anthropic.parts import system_of, wire_messages
from wire.anthropic.rows import provider_row
from wire.anthropic.rules import check
from wire.anthropic.schemas import closed, unsayable
from wire.anthropic.types import (
    ContentBlock,
    MessageRequest,
    MessageResponse,
    OutputConfig,
    OutputFormat,
    ToolChoice,
)
from wire.anthropic.types import Tool as WireTool
from wire.core.call import Call, StreamCall
from wire.core.json_values import json_text
from wire.core.memory import Note, with_notes
from wire.core.provider import Provider
from wire.errors import Violation
from wire.neutral.messages import Event, Reply
from wire.neutral.rendering import SCHEMA_WORDS, ReplyReader, wire_call
from wire.neutral.request import Output, Request, Tool, checked_request

AnyCall = TypeVar("AnyCall", bound=Call[Any] | StreamCall[Any, Any])

FILES = "files-api-2025-04-14"
"""The beta under which ids of uploaded files are read."""


def call(request: Request, model: str, provider: Provider | str = "anthropic") -> Call[Reply]:
    """The request as a call with one whole reply. Takes and raises what `stream_call` does."""
    raw = _wire_call(create_message, request, model, provider)
    return _reader(raw, model, provider).whole_call(raw)


def stream_call(
    request: Request, model: str, provider: Provider | str = "anthropic"
) -> StreamCall[Event, Reply]:
    """The request as a call whose stream hands out events; `reply()` gives what `call` gives.

    >>> from wire.neutral.messages import Message
    >>> request = Request(messages=(Message.user("Hi"),), max_tokens=9)
    >>> stream_call(request, "claude-opus-4-8").body
    b'{"model":"claude-opus-4-8","messages":[{"role":"user","content":"Hi"}],"max_tokens":9,"stream":true}'

    `provider` is a row or its name. It decides which rules apply, and which messages go back as
    they came. This wire requires `max_tokens`: a request without it gets the most that the model
    takes, and a note.

    Raises `HistoryError` for turns that are out of order, `RuleError` for what the provider refuses
    or this wire cannot express.
    """
    raw = _wire_call(stream_message, request, model, provider)
    return _reader(raw, model, provider).event_call(raw)


def render_request(
    request: Request, model: str, provider: Provider | str = "anthropic"
) -> MessageRequest:
    """The body as a struct, without the request's `options`.

    `wire.notes` of it reports what was changed or left out. Raises as `stream_call`.
    """
    request = checked_request(request)
    row = provider_row(provider)
    of = family(model)
    left, found, answers = history.sendable(request.messages, row.name, model)
    said = [(f"messages[{index}]", message) for index, message in left.items()]
    if request.search_grounding:
        found.append(Note("search_grounding", "not sent: only Gemini searches with Google"))
    output_format, words = _output_format(request.output, of, row.dialect, found)
    system = [*system_of(request.system, said, found), *([words] if words else [])]
    built = MessageRequest(
        model=model,
        max_tokens=0 if request.max_tokens is None else request.max_tokens,
        messages=wire_messages(said, answers, [tool.name for tool in request.tools], found),
        system=system[0]
        if len(system) == 1
        else [ContentBlock(type="text", text=text) for text in system] or None,
        tools=[_tool(tool, f"tools[{index}]", found) for index, tool in enumerate(request.tools)]
        or None,
        tool_choice=_tool_choice(request.tool_choice, found),
        temperature=request.temperature,
        top_p=request.top_p,
        stop_sequences=list(request.stop) or None,
        output_config=OutputConfig(format=output_format) if output_format is not None else None,
    )
    if request.effort is not None:
        built = _thinking(built, request, of, row, found)
    if request.max_tokens is None:
        budget = built.thinking.budget_tokens if built.thinking is not None else None
        most = answer_tokens(of) + (budget or 0)
        found.append(Note("max_tokens", f"{most}: this wire wants a number, and none was given"))
        built = msgspec.structs.replace(built, max_tokens=most)
    return with_notes(built, found)


# --- the call -------------------------------------------------------------------------------------


def _wire_call(
    make: Callable[..., AnyCall], request: Request, model: str, provider: Provider | str
) -> AnyCall:
    row = provider_row(provider)
    built = render_request(request, model, row)
    betas = [FILES] if _has_files(built) else []
    return wire_call(
        built,
        request.options,
        row,
        functools.partial(make, betas=betas, checked=False),
        functools.partial(_check, model),
    )


def _check(model: str, built: MessageRequest, row: Provider) -> list[Violation]:
    return check(built, model, row)


def _reader(
    raw: Call[Any] | StreamCall[Any, Any], model: str, provider: Provider | str
) -> ReplyReader[MessageResponse]:
    asked: dict[str, Any] = {
        "body": raw.body,
        "provider": provider_row(provider).name,
        "model": model,
    }
    return ReplyReader(
        functools.partial(parse_reply, **asked), functools.partial(EventReader, **asked), raw.notes
    )


def _has_files(built: MessageRequest) -> bool:
    """Whether an uploaded file stands in it, or in a result."""
    blocks = [
        block
        for message in built.messages
        if isinstance(message.content, list)
        for block in message.content
    ]
    inner = [each for block in blocks if isinstance(block.content, list) for each in block.content]
    return any(getattr(block.source, "file_id", None) for block in (*blocks, *inner))


# --- settings -------------------------------------------------------------------------------------


def _thinking(
    built: MessageRequest, request: Request, of: Family, row: Provider, found: list[Note]
) -> MessageRequest:
    """The request with as much thinking as is asked for, if the turn that it goes on with can be
    thought about (A17).
    """
    how, effort = thinking(str(request.effort), of, row.dialect, request.max_tokens, found)
    asked = msgspec.structs.replace(built, thinking=how)
    if (
        how is not None
        and how.type == "enabled"
        and any(each.rule == "A17" for each in check(asked, built.model, row))
    ):
        found.append(
            Note("effort", "not sent: the calls that are answered here were made without thinking")
        )
        return built
    config = msgspec.structs.replace(built.output_config or OutputConfig(), effort=effort)
    return msgspec.structs.replace(
        asked, output_config=config if config != OutputConfig() else None
    )


def _tool(tool: Tool, path: str, found: list[Note]) -> WireTool:
    schema = dict(tool.parameters)
    if "type" not in schema:
        schema = {"type": "object", **schema}
        found.append(
            Note(f"{path}.input_schema", "was given the type object, which it did not name")
        )
    return WireTool(name=tool.name, description=tool.description or None, input_schema=schema)


_CHOICES = {"auto": "auto", "none": "none", "required": "any"}


def _tool_choice(choice: str | tuple[str, ...] | None, found: list[Note]) -> ToolChoice | None:
    if not choice:
        return None
    if isinstance(choice, str):
        return ToolChoice(type=_CHOICES[choice])
    if len(choice) == 1:
        return ToolChoice(type="tool", name=choice[0])
    found.append(
        Note(
            "tool_choice",
            f"any, of whichever tool: this wire does not choose among {', '.join(choice)}",
        )
    )
    return ToolChoice(type="any")


def _output_format(
    output: Output | None, of: Family, dialect: Dialect, found: list[Note]
) -> tuple[OutputFormat | None, str]:
    """The form that the model takes, and what the system text says in its place."""
    if output is None:
        return None, ""
    problem = "this model takes no schema"
    if takes_schema(of) or (of.version is None and dialect.newest_models):
        problem = unsayable(output.schema)
    if not problem:
        return OutputFormat(
            type="json_schema", schema=closed(output.schema, "output.schema", found)
        ), ""
    found.append(
        Note("output", f"asked for in words alone, with the schema in the system text: {problem}")
    )
    return None, SCHEMA_WORDS + json_text(output.schema, "output.schema")
