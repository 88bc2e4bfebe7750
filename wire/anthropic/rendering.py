"""Renders a neutral request as a call of Messages, and reads its answer as a neutral reply.

Messages that the model sent are sent back with the bytes in which they came; `parts.py` writes all
others. Notes report what the wire cannot express and was left out. A path such as
`messages[1].parts[0]` names a part of the neutral request; all other paths are of the body.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from wire.anthropic.dialect import Dialect, is_since_2026
from wire.anthropic.effort import thinking_for
from wire.anthropic.endpoints import FILES_BETA, create_message, stream_message
from wire.anthropic.error_body import parse_error
from wire.anthropic.families import (
    Family,
    default_max_tokens,
    family,
    takes_adaptive,
    takes_sampling,
    takes_schema,
)
from wire.anthropic.parse import EventReader, parse_reply
from wire.anthropic.parts import system_of, wire_messages
from wire.anthropic.reader import parse_message
from wire.anthropic.rows import provider_row
from wire.anthropic.rules import Body, check, check_body
from wire.anthropic.schemas import closed, schema_problem
from wire.anthropic.types import (
    CacheControl,
    ContentBlock,
    MessageRequest,
    MessageResponse,
    OutputConfig,
    OutputFormat,
    Thinking,
    ToolChoice,
)
from wire.anthropic.types import Tool as WireTool
from wire.catalogue.settings import setting
from wire.core.arguments import checked_arguments
from wire.core.call import Call, StreamCall
from wire.core.errors import Violation
from wire.core.memory import Note, with_notes
from wire.core.provider import Provider
from wire.history import has_compaction, sendable_request
from wire.neutral.messages import Event, Message, Reply, wants_cache
from wire.neutral.rendering import (
    ReplyReader,
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
def call(request: Request, model: str, provider: Provider | str = "anthropic") -> Call[Reply]:
    """Render the request as a call that returns one complete reply.

    >>> from wire.neutral.messages import Message
    >>> request = Request(messages=(Message.user("Hi"),), max_tokens=9)
    >>> call(request, "claude-opus-4-8").path
    '/messages'

    Parameters and errors are those of `stream_call`.
    """
    raw = _wire_call(create_message, request, model, provider)
    return _reader(raw, model, provider).whole_call(raw)


@checked_arguments()
def stream_call(
    request: Request, model: str, provider: Provider | str = "anthropic"
) -> StreamCall[Event, Reply]:
    """Render the request as a call that streams events.

    `reply()` of the stream is the reply of `call`.

    >>> from wire.neutral.messages import Message
    >>> request = Request(messages=(Message.user("Hi"),), max_tokens=9)
    >>> stream_call(request, "claude-opus-4-8").body.endswith(b'"max_tokens":9,"stream":true}')
    True

    `provider` is a row or its name. It decides which rules apply, and which messages are sent back
    unchanged. The wire requires `max_tokens`: a request without it gets a number that the model
    accepts, and a note.

    Raises `HistoryError` for turns that are out of order, `RuleError` for what the provider refuses
    or the wire cannot express.
    """
    raw = _wire_call(stream_message, request, model, provider)
    return _reader(raw, model, provider).event_call(raw)


@checked_arguments()
def render_request(
    request: Request, model: str, provider: Provider | str = "anthropic"
) -> MessageRequest:
    """Render the body as a struct, without the request's `options`.

    >>> from wire.neutral.messages import Message
    >>> request = Request(messages=(Message.user("Hi"),), effort="low")
    >>> render_request(request, "claude-opus-4-8").thinking
    Thinking(type='adaptive', display='summarized')

    `wire.notes` of the struct reports what was changed or left out. Raises as `stream_call`.
    """
    request = checked_request(request)
    row = provider_row(provider)
    if request.has_further:  # few requests
        return _with_further(request, model, row)
    model_family = family(model)
    messages, notes, answers = sendable_request(request, row, model, render_request, check)
    conversation = [(f"messages[{index}]", message) for index, message in messages.items()]
    note_names(conversation, notes)
    if request.search_grounding:
        notes.append(Note("search_grounding", "not sent: only Gemini searches with Google"))
    functions, deferred = sent_functions(
        request, model, notes, _TOOL_SEARCH.name, row.dialect.tool_search
    )
    hosted: list[WireTool] = []
    if len(functions) < len(request.tools):
        from wire.anthropic.server_tools import server_tools  # few requests have one

        hosted = server_tools(request.tools, model, row)
    output_format, system_words = _output_format(request.output, model_family, row.dialect, notes)
    breakpoints: Mapping[str, CacheControl] = _NO_BREAKPOINTS
    if any(map(wants_cache, request.messages)):
        breakpoints = _breakpoints(request, conversation, notes)
    system = [
        *system_of(request.system, conversation, notes, breakpoints),
        *([ContentBlock(type="text", text=system_words)] if system_words else []),
    ]
    temperature, top_p = request.temperature, request.top_p
    if temperature is not None or top_p is not None:
        temperature, top_p = _sampling(request, model_family, row, model, notes)
    built = MessageRequest(
        model=model,
        max_tokens=within_longest(request.max_tokens, row, model, notes) or 0,
        messages=wire_messages(
            conversation, answers, [tool.name for _, tool in functions], notes, breakpoints
        ),
        system=system[0].text
        if len(system) == 1 and system[0].cache_control is None
        else system or None,
        tools=[
            *[
                _tool(tool, path, model_family, row.dialect, notes, tool.name in deferred)
                for path, tool in functions
            ],
            *hosted,
            *([_TOOL_SEARCH] if deferred else []),  # last: a breakpoint may be set on it
        ]
        or None,
        tool_choice=_tool_choice(request.tool_choice, notes),
        temperature=temperature,
        top_p=top_p,
        stop_sequences=list(request.stop) or None,
        output_config=OutputConfig(format=output_format) if output_format is not None else None,
    )
    if request.caching is not None and request.caching != "off":
        from wire.anthropic.caching import with_auto_breakpoints

        built = with_auto_breakpoints(built, request.caching, notes)
    if request.compaction is not None or has_compaction(messages.values()):
        from wire.anthropic.compaction import with_compaction  # few requests have it

        built = with_compaction(built, request.compaction, model_family, row, notes)
    if request.effort is not None:
        built = _thinking(built, request, model_family, row, notes)
    if request.max_tokens is None:
        budget = built.thinking.budget_tokens if built.thinking is not None else None
        max_tokens = default_max_tokens(model_family) + (budget or 0)
        notes.append(Note("max_tokens", f"this API requires it; {max_tokens} was sent"))
        built = msgspec.structs.replace(built, max_tokens=max_tokens)
    return with_notes(built, notes)


def _with_further(request: Request, model: str, row: Provider) -> MessageRequest:
    from wire.neutral.settings import with_further

    adapt = functools.partial(_with_display, model_family=family(model), dialect=row.dialect)
    if (request.settings or {}).get("parallel_tool_calls") is False and request.tools:
        choice = request.tool_choice or "auto"  # which has the setting on this wire
        request = msgspec.structs.replace(request, tool_choice=choice)
    return with_further(request, row, model, render_request, _check_settings, adapt=adapt)


_NO_BREAKPOINTS: dict[str, CacheControl] = {}


def _breakpoints(
    request: Request, conversation: Sequence[tuple[str, Message]], notes: list[Note]
) -> dict[str, CacheControl]:
    """Return the breakpoints of messages, by path."""
    from wire.anthropic.caching import cache_control
    from wire.neutral.caching import breakpoint_paths

    control = cache_control(request.caching)
    return dict.fromkeys(breakpoint_paths(request, conversation, notes), control)


# --- the call -------------------------------------------------------------------------------------


def _wire_call(
    make: Callable[..., AnyCall], request: Request, model: str, provider: Provider | str
) -> AnyCall:
    row = provider_row(provider)
    built = render_request(request, model, row)
    betas = [FILES_BETA] if _has_files(built) else []
    if [tool for tool in built.tools or () if tool.type]:
        from wire.anthropic.server_tools import betas_of

        betas += betas_of(built.tools or ())
    if built.context_management is not None:
        from wire.anthropic.compaction import COMPACT_BETA

        betas.append(COMPACT_BETA)
    return wire_call(
        built,
        request.options,
        row,
        functools.partial(make, betas=betas, checked=False),
        functools.partial(_check, model),
    )


def _check(model: str, built: MessageRequest, row: Provider) -> list[Violation]:
    return check_body(Body(built), model, row, version=row.version)


def _check_settings(built: MessageRequest, model: str, row: Provider) -> list[Violation]:
    thinking = built.thinking
    if thinking is not None and thinking.budget_tokens and thinking.type != "enabled":
        return [Violation("thinking.budget_tokens", "only thinking of type enabled has a budget")]
    return _check(model, built, row)


def _reader(
    raw: Call[Any] | StreamCall[Any, Any], model: str, provider: Provider | str
) -> ReplyReader[MessageResponse]:
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
    raw = Call("anthropic", "POST", "", seed, parse=parse_message, read_error=parse_error)
    return _reader(raw, model, row).whole_call(raw)


def _has_files(built: MessageRequest) -> bool:
    """Return whether a block, or a block within a result, refers to an uploaded file."""
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
    built: MessageRequest, request: Request, model_family: Family, row: Provider, notes: list[Note]
) -> MessageRequest:
    """Return the request with the settings for its effort.

    Without them if the request continues a turn that began without thinking: the server refuses
    `thinking: enabled` there (A17).
    """
    thinking_settings, effort = thinking_for(
        str(request.effort), model_family, row.dialect, request.max_tokens, notes
    )
    changed = msgspec.structs.replace(built, thinking=thinking_settings)
    if (
        thinking_settings is not None
        and thinking_settings.type == "enabled"
        and any(each.rule == "A17" for each in check_body(Body(changed), built.model, row))
    ):
        continues = built.messages[-1].role == "assistant"
        begun = (
            "the message that this request continues has no thoughts"
            if continues
            else "the calls that this request answers were made without thinking"
        )
        notes.append(Note("effort", f"not sent: {begun}"))
        return built
    config = msgspec.structs.replace(built.output_config or OutputConfig(), effort=effort)
    return msgspec.structs.replace(
        changed, output_config=config if config != OutputConfig() else None
    )


def _with_display(
    built: MessageRequest,
    paths: dict[str, Any],
    notes: list[Note],
    *,
    model_family: Family,
    dialect: Dialect,
) -> MessageRequest:
    """Return the request as one that thinks, if its thoughts are to be shown and the model can.

    Without thoughts, there is nothing to show: the path of the setting is then removed.
    """
    display = paths.get("thinking.display")
    thinking_settings = built.thinking
    is_known = model_family.version is not None or dialect.newest_models or dialect.adaptive_only
    thinks = is_known and takes_adaptive(model_family)
    if display == "summarized" and thinking_settings is None and thinks:
        return msgspec.structs.replace(built, thinking=Thinking(type="adaptive"))
    if display and (thinking_settings is None or thinking_settings.type == "disabled"):
        del paths["thinking.display"]
        if display == "summarized":
            words = "not sent: this request is answered without thoughts; an effort asks for them"
            notes.append(Note("thoughts", words))
    return built


def _sampling(
    request: Request, model_family: Family, row: Provider, model: str, notes: list[Note]
) -> tuple[float | None, float | None]:
    """Return `temperature`, which ends at 1 on this wire, and `top_p`.

    Version 2026-10-21 of Anthropic's API has neither, for any model.

    Those that the model refuses in every version stay: the rules refuse them (A37).
    """
    version = row.version_for(model)
    if not (row.dialect.vendor_rules and is_since_2026(version) and takes_sampling(model_family)):
        temperature, most = request.temperature, setting("temperature").bounds["messages"][1] or 1
        if isinstance(temperature, (int, float)) and most < temperature <= 2:
            # Other vendors go up to 2; beyond that it is a mistake, which the rules refuse (A38).
            notes.append(Note("temperature", f"changed to {most}: this wire takes 0 to {most}"))
            temperature = float(most)
        return temperature, request.top_p
    notes.extend(
        Note(
            name,
            f"not sent: version {version} of the API has no such parameter; "
            f'version="{row.dialect.older_version}" has',
        )
        for name in ("temperature", "top_p")
        if getattr(request, name) is not None
    )
    return None, None


_TOOL_SEARCH = WireTool(type="tool_search_tool_bm25_20251119", name="tool_search_tool_bm25")
"""The search for words; that of the other type is for regular expressions."""


def _tool(
    tool: Tool,
    path: str,
    model_family: Family,
    dialect: Dialect,
    notes: list[Note],
    deferred: bool,
) -> WireTool:
    if tool.kind == "custom":
        note_custom(tool, path, notes)
    if tool.response is not None:
        notes.append(no_response(path))
    schema = dict(tool.parameters)
    if "type" not in schema:
        schema = {"type": "object", **schema}
        notes.append(
            Note(f"{path}.parameters", "added: type object, which the schema did not name")
        )
    strict = False
    if tool.strict:
        problem = _schema_problem(schema, model_family, dialect)
        strict = not problem
        if strict:
            schema = closed(schema, f"{path}.parameters", notes)
        else:
            notes.append(Note(f"{path}.strict", f"not sent: {problem}"))
    return WireTool(
        name=tool.name,
        description=tool.description or None,
        input_schema=schema,
        strict=strict or None,
        defer_loading=deferred or None,
    )


def _schema_problem(schema: Mapping[str, Any], model_family: Family, dialect: Dialect) -> str:
    """Return the reason why this model cannot enforce the schema; `""` if it can."""
    if takes_schema(model_family) or (model_family.version is None and dialect.newest_models):
        return schema_problem(schema)
    return "this model accepts no schema"


_TOOL_CHOICE_TYPES = {"auto": "auto", "none": "none", "required": "any"}


def _tool_choice(choice: str | tuple[str, ...] | None, notes: list[Note]) -> ToolChoice | None:
    if not choice:
        return None
    if isinstance(choice, str):
        return ToolChoice(type=_TOOL_CHOICE_TYPES[choice])
    if len(choice) == 1:
        return ToolChoice(type="tool", name=choice[0])
    notes.append(
        Note(
            "tool_choice",
            f"changed to any tool: the wire cannot limit the choice to {', '.join(choice)}",
        )
    )
    return ToolChoice(type="any")


def _output_format(
    output: Output | None, model_family: Family, dialect: Dialect, notes: list[Note]
) -> tuple[OutputFormat | None, str]:
    """Return the output format; or `None`, and the text that replaces it in the system text."""
    if output is None:
        return None, ""
    no_mode = "the wire has no JSON without a schema"
    problem = _schema_problem(output.schema, model_family, dialect) if output.schema else no_mode
    if not problem:
        return OutputFormat(
            type="json_schema", schema=closed(output.described, "output.schema", notes)
        ), ""
    notes.append(
        Note("output", f"not sent as a schema, but as an instruction in the system text: {problem}")
    )
    return None, schema_words(output)
