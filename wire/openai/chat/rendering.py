"""A neutral request as a call of chat completions, whose answer is a neutral reply again.

What the model said goes back in the bytes it came in, as far as `turns.py` and the dialect allow;
everything else is written here. What chat completions have no words for is left out and told. Paths
such as `messages[1].parts[0]` name a part of the neutral request, all others a place in the body.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec

from wire import history
from wire.core.bodies import merged_options, with_options, wrong_type
from wire.core.call import Call, StreamCall
from wire.core.memory import Note, notes, with_notes
from wire.errors import HistoryError, RuleError, StreamInvalid, WireError
from wire.neutral.messages import Event, Reply, checked, with_answer
from wire.neutral.request import Output, Request, Tool
from wire.openai.chat.endpoints import chat_completions, stream_chat_completions
from wire.openai.chat.fold import fold
from wire.openai.chat.parse import Reading, parse_reply
from wire.openai.chat.parts import json_of, one_system, wire_messages
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
from wire.openai.common.dialect import PLAIN, Dialect

SCHEMA_WORDS = "Answer with JSON that fits this schema: "
"""Said in the system text where the host takes no schema."""


def render(
    request: Request, model: str, dialect: Dialect | None = PLAIN, *, provider: str = "openai"
) -> StreamCall[Event, Reply]:
    """The request as a stream of events; its `result()` is what `render_whole` would have given.

    >>> from wire.neutral.messages import Message
    >>> render(Request(messages=(Message.user("Hi"),), effort="low"), "gpt-5.4").body[:85]
    b'{"model":"gpt-5.4","messages":[{"role":"user","content":"Hi"}],"stream":true,"stream_'

    `provider` is the name of the client's row and `dialect` its `client.dialect`: they decide what
    goes back of what the model said.

    Raises `HistoryError` for turns that are out of order, `RuleError` for what this wire cannot
    say; what the provider refuses is a `RuleError` of the client, before anything is sent.
    """
    raw, answers = _rendered(stream_chat_completions, request, model, dialect, provider)
    return dataclasses.replace(
        raw,
        telling=answers.reading,
        fold=functools.partial(fold, dialect=answers.dialect),
        convert=answers.reply,
        **_shared(raw, answers),
    )


def render_whole(
    request: Request, model: str, dialect: Dialect | None = PLAIN, *, provider: str = "openai"
) -> Call[Reply]:
    """The request as a call with one whole reply. Takes and raises what `render` does."""
    raw, answers = _rendered(chat_completions, request, model, dialect, provider)
    return dataclasses.replace(raw, parse=answers.whole, **_shared(raw, answers))


def render_request(
    request: Request, model: str, dialect: Dialect | None = PLAIN, *, provider: str = "openai"
) -> ChatCompletionRequest:
    """The body as a struct, without the request's `options`; `wire.notes` tells what was changed or
    left out. Raises as `render`.
    """
    if not isinstance(request, Request):
        raise wrong_type("request", request, "Request")
    dialect = dialect or PLAIN
    violations = [each for each in history.check(request.messages) if each.severity == "error"]
    if violations:
        raise HistoryError(violations=violations)
    left, found = history.handed(request.messages, provider, model)
    if request.search_grounding:
        found.append(Note("search_grounding", "not sent: only Gemini searches with Google"))
    response_format, words = _response_format(request.output, model, dialect, found)
    turns = wire_messages(
        [(f"messages[{index}]", message) for index, message in left.items()], dialect, found
    )
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
        tool_choice=_tool_choice(request.tool_choice, model, dialect, found),
    )
    built = msgspec.structs.replace(built, **{_limit(model, dialect): request.max_tokens})
    return with_notes(built, (*found, *made.notes))


# --- the call -------------------------------------------------------------------------------------


def _rendered(
    make: Callable[[ChatCompletionRequest], Any],
    request: Request,
    model: str,
    dialect: Dialect | None,
    provider: str,
) -> Any:
    """The call of the raw door, and how its answers are read."""
    dialect = dialect or PLAIN
    built = render_request(request, model, dialect, provider=provider)
    options = merged_options(request.options, provider, built)
    seen = with_options(built, options)
    raw = make(seen)
    try:
        raw = raw.replace(body_extra=options)
    except RuleError as error:
        raise RuleError(
            violations=[
                msgspec.structs.replace(each, path=f"options.{provider}")
                for each in error.violations
            ]
        ) from None
    ignored = [
        Note(each.path, f"ignored by the host: {each.message}")
        for each in check(seen, dialect)
        if each.severity == "warning"
    ]
    return raw, _Answers(dialect, raw.body, provider, model, (*notes(built), *ignored))


def _shared(raw: Any, answers: _Answers) -> dict[str, Any]:
    return {"adapt": functools.partial(_adapted, raw), "notes": answers.notes}


def _adapted(raw: Any, call: Any, dialect: Dialect) -> Any:
    """The call as it is, after the rules of the provider were asked."""
    raw.adapt(raw, dialect)
    return call


@dataclass(frozen=True, slots=True)
class _Answers:
    """How the answers to one call are read."""

    dialect: Dialect
    body: bytes
    provider: str
    model: str
    notes: tuple[Note, ...]

    def whole(self, data: bytes) -> Reply:
        try:
            answer = parse_completion(data)
            if not answer.choices:
                raise StreamInvalid("the answer has no choices", partial=answer, raw=data)
        except WireError as error:
            if isinstance(error.partial, ChatCompletion):
                error.partial = self.reply(error.partial, error)
            raise
        return checked(self.reply(answer))

    def reading(self) -> Reading:
        return Reading(self.dialect, body=self.body, provider=self.provider, model=self.model)

    def reply(self, answer: ChatCompletion, error: WireError | None = None) -> Reply:
        reply = parse_reply(
            answer,
            self.dialect,
            body=self.body,
            provider=self.provider,
            model=self.model,
            error=error,
        )
        return with_answer(
            msgspec.structs.replace(reply, notes=(*self.notes, *reply.notes)), answer
        )


# --- settings -------------------------------------------------------------------------------------


def _takes(dialect: Dialect, model: str, **fields: Any) -> bool:
    """Whether the host does what these fields say, as far as its dialect tells."""
    asked = ChatCompletionRequest(model=model, messages=[], **fields)
    return all(violation.rule != "O7" for violation in check(asked, dialect))


def _limit(model: str, dialect: Dialect) -> str:
    """The field for the most tokens of an answer: most hosts know the old one only, OpenAI's
    reasoning models refuse it.
    """
    names = ("max_tokens", "max_completion_tokens")
    return next((name for name in names if _takes(dialect, model, **{name: 1})), names[0])


def _tool(tool: Tool) -> WireTool:
    parameters = dict(tool.parameters) or {"type": "object", "properties": {}}
    function = FunctionDefinition(
        name=tool.name, description=tool.description or None, parameters=parameters
    )
    return WireTool(type="function", function=function)


def _tool_choice(
    choice: str | tuple[str, ...] | None, model: str, dialect: Dialect, found: list[Note]
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
    if _takes(dialect, model, tool_choice=allowed):
        return allowed
    found.append(
        Note(
            "tool_choice",
            f"required, of whichever tool: this host does not choose among {', '.join(choice)}",
        )
    )
    return "required"


def _response_format(
    output: Output | None, model: str, dialect: Dialect, found: list[Note]
) -> tuple[ResponseFormat | None, str]:
    """The best form that the host takes, and what the system text says in its place."""
    if output is None:
        return None, ""
    schema = JsonSchema(name=output.name, schema=dict(output.schema), strict=output.strict or None)
    response_format: ResponseFormat | None = ResponseFormat(type="json_schema", json_schema=schema)
    if _takes(dialect, model, response_format=response_format):
        return response_format, ""
    response_format = ResponseFormat(type="json_object")
    if not _takes(dialect, model, response_format=response_format):
        response_format = None
    form = "asked for in words alone" if response_format is None else "as json_object"
    found.append(
        Note(
            "output", f"{form}, with the schema in the system text: this host takes no json_schema"
        )
    )
    return response_format, SCHEMA_WORDS + json_of(output.schema, "output.schema")


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
