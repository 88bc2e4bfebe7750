"""Converts requests of Interactions, which a client has sent, to neutral requests."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from wire.core.arguments import checked_arguments
from wire.core.decoders import convert
from wire.core.lenient import fields_of
from wire.gemini.interactions.parse import MEDIA, WIRE, media_of, parse_reply
from wire.gemini.interactions.rules import SKIP
from wire.gemini.interactions.types import (
    Content,
    GenerationConfig,
    Interaction,
    InteractionRequest,
    ResponseFormat,
    Step,
    Tool,
    ToolChoice,
)
from wire.neutral.messages import Media, Message, Origin, Part, Text, ToolResult
from wire.neutral.request import Output, Request, ServerTool
from wire.neutral.request import Tool as Function
from wire.neutral.serving import (
    ReceivedRequest,
    allowed,
    chosen,
    decoded_request,
    function_of,
    own_part,
    renamed,
    result_of,
    tool_names,
)
from wire.neutral.settings import effort_and_settings
from wire.neutral.unread import Kinds, Unread, find_unread, keys

_MEDIA = keys("type data uri mime_type resolution")
_CONTENTS = Kinds(
    "type",
    {
        "text": keys("type text annotations"),
        **dict.fromkeys(MEDIA, _MEDIA),
        "function_result": keys("type call_id name result is_error"),
    },
    Content,
)
_STEPS = Kinds(
    "type",
    {
        **_CONTENTS.shapes,
        "user_input": keys("type", content=_CONTENTS),
        "function_result": keys("type call_id name result is_error signature"),
    },
    Step,
)
_READ = keys(
    "model system_instruction store stream background previous_interaction_id labels"
    " service_tier agent continuation_token",
    input=_STEPS,
    generation_config=keys(
        "max_output_tokens stop_sequences temperature top_p thinking_level thinking_summaries",
        tool_choice=keys("", allowed_tools=keys("mode tools")),
    ),
    response_format=keys("type mime_type schema"),
    tools=Kinds("type", {"function": keys("type name description parameters")}, Tool),
)
"""What is read of a body; the tools of the server report for themselves what they do not have."""
_ECHOED = ("system_instruction", "labels", "previous_interaction_id")


@checked_arguments()
def parse_request(
    body: bytes, *, provider: str = "", model: str = "", counts: bool = False
) -> ReceivedRequest:
    """Convert the body of a request for an interaction.

    >>> parse_request(b'{"model":"gemini-3.8-flash","input":"Hi"}').request.messages
    (Message('user', 'Hi'),)

    `provider` and `model` are those whose steps the steps of the model are. Raises `RuleError` with
    the JSON path of a value of a wrong type. `counts` changes nothing: no endpoint counts tokens.
    """
    sent = decoded_request(body, InteractionRequest)
    given = find_unread(body, _READ, own=bool(provider))
    _leave_out(sent, given)
    config = sent.generation_config or GenerationConfig()
    shown = config.thinking_summaries == "auto"
    request = Request(
        **_tools_and_choice(sent, config, provider, given),  # first: it finds the names
        messages=renamed(_messages(_steps(sent.input), provider, model, given), given),
        system=sent.system_instruction or "",
        max_tokens=config.max_output_tokens,
        temperature=config.temperature,
        top_p=config.top_p,
        stop=tuple(config.stop_sequences or ()),
        **effort_and_settings(given, WIRE, config.thinking_level),
        thoughts="auto" if shown else None,
        tier=sent.service_tier,
        metadata=sent.labels,
        output=_output(sent.response_format, given),
    )
    fields = fields_of(msgspec.Raw(body))
    return ReceivedRequest(
        request=request,
        model=sent.model or "",
        stream=bool(sent.stream),
        thoughts=shown,
        returns_state=sent.store is False,
        previous=sent.previous_interaction_id or "",
        stores=sent.store is not False,
        echo={name: fields[name] for name in _ECHOED if name in fields},
        notes=given.notes(),
        unread=given,
    )


def _leave_out(sent: InteractionRequest, given: Unread) -> None:
    """Refuse or mark as unread what only models of the client's own API have."""
    if sent.agent:
        given.refuse("agent", "an agent has no neutral form", "name a model")
    if sent.continuation_token:
        if not given.own:
            given.refuse("continuation_token", "only Google's server has it")
        given.add("continuation_token")
    if sent.background:
        given.tell("background", "left out: the client waits for the answer")


def _output(given: ResponseFormat | list[ResponseFormat] | None, unread: Unread) -> Output | None:
    """Return the requested form of the answer."""
    forms = given if isinstance(given, list) else [given] if given is not None else []
    found: Output | None = None
    for index, form in enumerate(forms):
        path = f"response_format[{index}]" if isinstance(given, list) else "response_format"
        if form.type not in (None, "text"):
            unread.refuse(f"{path}.type", f"{form.type!r} has no neutral form")
        elif form.mime_type == "application/json" or form.json_schema is not None:
            found = Output(form.json_schema or {})
    return found


# --- steps ----------------------------------------------------------------------------------------


def _steps(given: str | Content | list[Step] | None) -> list[Step]:
    """Return the input as steps: contents are one turn of the user."""
    if isinstance(given, str):
        return [Step(type="text", text=given)]
    if isinstance(given, Content):
        return [Step(type="user_input", content=[given])]
    return given or []


def _messages(steps: Sequence[Step], provider: str, model: str, given: Unread) -> Iterator[Message]:
    """Yield the messages.

    Adjacent steps of the model form one message, and so do adjacent results, and contents.
    """
    reader = _Reader(provider, model, given)
    for index, step in enumerate(steps):
        yield from reader.feed(step, index)
    yield from reader.ended()


class _Reader:
    """Collects adjacent steps to messages."""

    def __init__(self, provider: str, model: str, given: Unread) -> None:
        self._provider, self._model, self._given = provider, model, given
        self._names: dict[str, str] = {}  # id of a call -> name of its function
        self._own: list[Step] = []
        self._results: list[ToolResult] = []
        self._bare: list[Part] = []

    def feed(self, step: Step, index: int) -> Iterator[Message]:
        """Yield the messages that end before a step."""
        path = f"input[{index}]"
        if step.type == "function_result":
            yield from self._model_ended()
            yield from self._bare_ended()
            self._results.append(self._result(step, "input", index))
        elif step.type == "user_input":
            yield from self._model_ended()
            yield from self._bare_ended()
            parts: list[Part] = []
            for at, content in enumerate(step.content or ()):
                if content.type == "function_result":
                    self._results.append(self._result(content, "input", index, "content", at))
                else:
                    parts.append(self._part(content, f"{path}.content[{at}]"))
            if parts:
                yield from self.ended()
                yield Message("user", tuple(parts))
        elif step.type == "text" or step.type in MEDIA:
            yield from self._model_ended()
            yield from self._results_ended()
            content = convert(msgspec.to_builtins(step), Content)
            self._bare.append(self._part(content, path))
        elif self._provider or step.signature != SKIP:
            yield from self._results_ended()
            yield from self._bare_ended()
            self._own.append(step)

    def ended(self) -> Iterator[Message]:
        """Yield all that was collected."""
        yield from self._model_ended()
        yield from self._results_ended()
        yield from self._bare_ended()

    def _model_ended(self) -> Iterator[Message]:
        if self._own:
            interaction = Interaction(steps=list(self._own))
            message = parse_reply(interaction, provider=self._provider, model=self._model).message
            self._names.update((call.id, call.name) for call in message.tool_calls)
            self._own.clear()
            yield message

    def _results_ended(self) -> Iterator[Message]:
        if self._results:
            results = list(self._results)
            self._results.clear()
            yield Message.tool_response(results)

    def _bare_ended(self) -> Iterator[Message]:
        if self._bare:
            parts = tuple(self._bare)
            self._bare.clear()
            yield Message("user", parts)

    def _result(self, step: Step | Content, *steps: str | int) -> ToolResult:
        id = step.call_id or ""
        name = self._names.get(id) or step.name or ""
        failed, given = bool(step.is_error), step.result
        if isinstance(given, list):
            contents = [convert(each, Content) for each in given if isinstance(each, dict)]
            parts = [self._part(each, "result") for each in contents]
            made = result_of(id, name, parts, self._given, *steps, "result")
            return msgspec.structs.replace(made, error=failed) if failed else made
        return ToolResult(id, name, "" if given is None else given, error=failed)

    def _part(self, content: Content, path: str) -> Part:
        if content.type == "text":
            return Text(content.text or "")
        media = media_of(content) if content.type in MEDIA else None
        if media is not None:
            detail: Any = content.resolution if content.resolution in ("low", "high") else ""
            if media.data is not None:
                return Media(data=media.data, media_type=media.media_type, detail=detail)
            return Media(url=media.url, media_type=media.media_type, detail=detail)
        origin = Origin(self._provider, self._model, WIRE, content)
        return own_part(content, content.type, origin, self._given, f"{path}.type")


# --- tools ----------------------------------------------------------------------------------------


def _tools_and_choice(
    sent: InteractionRequest, config: GenerationConfig, provider: str, given: Unread
) -> dict[str, Any]:
    """Return the fields `tools` and `tool_choice` of the request."""
    steps = (
        (("tools", index, "name"), tool.name)
        for index, tool in enumerate(sent.tools or ())
        if tool.type == "function"
    )
    tool_names(steps, given)
    tools = tuple(_tools(sent.tools or (), provider, given))
    place = ("generation_config", "tool_choice")
    tools, choice = chosen(tools, _choice(config.tool_choice), given, *place)
    names = () if isinstance(choice, tuple) else _allowed(config.tool_choice)
    return {"tools": allowed(tools, names, given, ".".join(place)), "tool_choice": choice}


def _tools(tools: Sequence[Tool], provider: str, given: Unread) -> Iterator[Function | ServerTool]:
    for index, tool in enumerate(tools):
        if tool.type == "function":
            parameters = tool.parameters if isinstance(tool.parameters, dict) else {}
            schema = {"type": "object", "properties": {}, **parameters}
            name = given.name_of(tool.name or "")
            make = functools.partial(Function, name, tool.description or "", schema)
            yield from function_of(given, make)
        else:
            from wire.gemini.interactions.server_tools import FORMS  # few requests have one
            from wire.neutral.server_tools import received_tool

            of = FORMS.get(tool.type or "")
            if of is None:
                given.add("tools", index, why=f"left out: only Google's models have {tool.type}")
            else:
                path, fields = f"tools[{index}]", msgspec.to_builtins(tool)
                yield received_tool(fields, of, path, provider, given.told)


def _allowed(choice: str | ToolChoice | None) -> tuple[str, ...]:
    """Return the names of the functions that the model may call; empty if it may call all."""
    if choice is None or isinstance(choice, str) or choice.allowed_tools is None:
        return ()
    return tuple(choice.allowed_tools.tools or ())


def _choice(choice: str | ToolChoice | None) -> str | tuple[str, ...] | None:
    if choice is None:
        return None
    words = {"any": "required", "validated": "auto", "auto": "auto", "none": "none"}
    if isinstance(choice, str):
        return words.get(choice)
    mode = (choice.allowed_tools.mode if choice.allowed_tools is not None else None) or "auto"
    names = _allowed(choice)
    return names if mode == "any" and names else words.get(mode)
