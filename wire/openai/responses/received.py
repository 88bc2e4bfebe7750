"""Converts requests of Responses, which a client has sent, to neutral requests."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from wire.core.arguments import checked_arguments
from wire.core.lenient import fields_of
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
from wire.neutral.unread import Kinds, Shape, Unread, find_unread, keys
from wire.openai.responses.parse import WIRE, parse_reply
from wire.openai.responses.types import (
    ContentPart,
    InputTokensRequest,
    Item,
    Response,
    ResponseRequest,
    TextFormat,
    Tool,
    ToolChoice,
)

ENCRYPTED = "reasoning.encrypted_content"
_OUTPUTS = ("function_call_output", "custom_tool_call_output")
_PARTS = Kinds(
    "type",
    {
        "input_text": keys("type text"),
        "text": keys("type text"),
        "output_text": keys("type text annotations logprobs"),
        "input_image": keys("type image_url file_id detail"),
        "input_file": keys("type file_data file_url file_id filename"),
    },
    ContentPart,
)
# The id and the status of an item are the server's.
_OUTPUT = keys("type id status call_id", output=_PARTS)
_OF_USER = keys("type id status role", content=_PARTS)


def _items(of_model: Shape) -> Kinds:
    message = Kinds("role", {"assistant": of_model}, _OF_USER)
    outputs = dict.fromkeys(_OUTPUTS, _OUTPUT)
    return Kinds("type", {"": message, "message": message, **outputs}, of_model)


_READ = keys(
    "include instructions max_output_tokens metadata model"
    " previous_response_id service_tier store stream stream_options temperature top_p"
    " background conversation prompt",
    input=_items(Item),
    reasoning=keys("effort summary generate_summary"),
    tool_choice=keys("type name mode", tools=keys("type name")),
    text=keys("verbosity", format=keys("type name description schema strict")),
    tools=Kinds(
        "type",
        {
            "function": keys("type name description parameters output_schema strict"),
            "custom": keys("type name description", format=keys("type syntax definition")),
        },
        Tool,
    ),
)
"""What is read of a body; the tools of hosts report for themselves what they do not have."""
_READ_OF_OWN = {**_READ, "input": _items(Item)}
"""As `_READ`, for a model whose items those of the assistant are: it gets their bytes."""
_ECHOED = ("instructions", "max_output_tokens", "metadata", "reasoning", "text", "tools")


@checked_arguments()
def parse_request(
    body: bytes, *, provider: str = "", model: str = "", counts: bool = False
) -> ReceivedRequest:
    """Convert the body of a request for a response, or with `counts` for its number of tokens.

    >>> parse_request(b'{"model":"gpt-5.4","input":"Hi"}').request.messages
    (Message('user', 'Hi'),)

    `provider` and `model` are those whose items the items of the assistant are. Raises `RuleError`
    with the JSON path of a value of a wrong type.
    """
    sent: Any = decoded_request(body, InputTokensRequest if counts else ResponseRequest)
    given = find_unread(body, _READ_OF_OWN if provider else _READ, own=bool(provider))
    _leave_out(sent, given)
    items = [Item(role="user", content=sent.input)] if isinstance(sent.input, str) else sent.input
    reasoning = sent.reasoning
    shown = (reasoning.summary or reasoning.generate_summary) if reasoning is not None else None
    request = Request(
        **_tools_and_choice(sent, provider, given),  # first: it finds the names
        messages=renamed(_messages(items or [], provider, model, given), given),
        system=sent.instructions or "",
        max_tokens=None if counts else sent.max_output_tokens,
        temperature=None if counts else sent.temperature,
        top_p=None if counts else sent.top_p,
        **effort_and_settings(given, WIRE, reasoning.effort if reasoning is not None else None),
        thoughts=shown,
        verbosity=sent.text.verbosity if sent.text is not None else None,
        tier=None if counts else sent.service_tier,
        metadata=None if counts else sent.metadata,
        output=_output(sent.text.format if sent.text is not None else None, given),
    )
    if counts:
        model = sent.model or ""
        return ReceivedRequest(request=request, model=model, notes=given.notes(), unread=given)
    fields = fields_of(msgspec.Raw(body))
    return ReceivedRequest(
        request=request,
        model=sent.model or "",
        stream=bool(sent.stream),
        parallel=sent.parallel_tool_calls is not False,
        thoughts=bool(shown),
        returns_state=ENCRYPTED in (sent.include or ()),
        previous=sent.previous_response_id or "",
        stores=sent.store is not False,
        echo={name: fields[name] for name in _ECHOED if name in fields},
        notes=given.notes(),
        unread=given,
    )


def _leave_out(sent: ResponseRequest | InputTokensRequest, given: Unread) -> None:
    """Mark as unread what only models of the client's own API have."""
    for index, each in enumerate(getattr(sent, "include", None) or ()):
        if each != ENCRYPTED:
            given.add("include", index)
    for name in ("conversation", "prompt"):
        if getattr(sent, name, None) and not given.own:
            given.refuse(name, "the gateway stores nothing of this kind")
        given.add(name)
    if getattr(sent, "background", None):
        given.tell("background", "left out: the client waits for the answer")


def _output(form: TextFormat | None, given: Unread) -> Output | None:
    """Return the requested form of the answer."""
    if form is None or form.type in (None, "text"):
        return None
    if form.type == "json_object":
        return Output({})
    if form.type != "json_schema" or form.schema is None:
        words = "expected text, json_object, or json_schema with a schema"
        given.refuse("text.format", words)
        return Output({})
    return Output(form.schema, form.name or "answer", bool(form.strict), form.description or "")


# --- items ----------------------------------------------------------------------------------------


def _messages(items: Sequence[Item], provider: str, model: str, given: Unread) -> Iterator[Message]:
    """Yield the messages.

    Adjacent items of the model form one message, and so do adjacent outputs.
    """
    names: dict[str, str] = {}  # id of a call -> name of its tool
    own: list[Item] = []
    results: list[ToolResult] = []

    def ended(*, by_output: bool) -> Iterator[Message]:
        if own:
            response = Response(output=list(own))
            message = parse_reply(response, provider=provider, model=model).message
            names.update((call.id, call.name) for call in message.tool_calls)
            own.clear()
            yield message
        if results and not by_output:
            yield Message.tool_response(list(results))
            results.clear()

    for index, item in enumerate(items):
        path = f"input[{index}]"
        kind = item.type or "message"
        if kind == "item_reference":
            given.refuse(path, "the gateway stores no items", "send the item itself")
        elif kind in _OUTPUTS:
            yield from ended(by_output=True)
            id, output = item.call_id or "", item.output
            if isinstance(output, dict):
                results.append(ToolResult(id, names.get(id, ""), output))
                continue
            parts, name = (
                _parts(output, provider, model, f"{path}.output", given),
                names.get(id, ""),
            )
            results.append(result_of(id, name, parts, given, "input", index, "output"))
        elif kind == "message" and item.role != "assistant":
            yield from ended(by_output=False)
            parts = _parts(item.content, provider, model, f"{path}.content", given)
            yield _of_user(item, parts, index, given)
        else:
            if results:
                yield from ended(by_output=False)
            own.append(item)
    yield from ended(by_output=False)


def _of_user(item: Item, parts: list[Part], index: int, given: Unread) -> Message:
    role: Any = item.role if item.role in ("user", "system", "developer") else "user"
    if role != item.role:
        given.refuse(f"input[{index}].role", f"{item.role!r} has no neutral form")
    # A model of the client's own API gets the marks where they are.
    mark = not given.own and given.taken("prompt_cache_breakpoint", inside=("input", index))
    return Message(role, tuple(parts), cache=bool(mark))


def _parts(
    content: str | list[ContentPart] | None, provider: str, model: str, path: str, given: Unread
) -> list[Part]:
    if isinstance(content, str):
        return [Text(content)]
    parts: list[Part] = []
    for index, each in enumerate(content or ()):
        part, at = _part(each, given), f"{path}[{index}].type"
        if part is None:
            part = own_part(each, each.type, Origin(provider, model, WIRE, each), given, at)
        parts.append(part)
    return parts


def _part(part: ContentPart, given: Unread) -> Part | None:
    """Return the part in its neutral form; `None` if it has none.

    The id of a file alone does not say that it is an image: a model of the client's own API gets
    the part.
    """
    if part.type in ("input_text", "output_text", "text"):
        return Text(part.text or "")
    if part.type == "input_image" and not (part.file_id and given.own):
        detail: Any = part.detail if part.detail in ("low", "high", "auto") else ""
        return Media(url=part.image_url or part.file_id or "", detail=detail)
    if part.type == "input_file":
        url = part.file_data or part.file_url or part.file_id or ""
        return Media(url=url, name=part.filename or "")
    return None


# --- tools ----------------------------------------------------------------------------------------


def _tools_and_choice(sent: Any, provider: str, given: Unread) -> dict[str, Any]:
    """Return the fields `tools` and `tool_choice` of the request."""
    steps = ((("tools", index, "name"), tool.name) for index, tool in enumerate(sent.tools or ()))
    tool_names(steps, given)
    tools = tuple(_tools(sent.tools or (), provider, given))
    tools, choice = chosen(tools, _choice(sent.tool_choice, tools, given), given, "tool_choice")
    names = () if isinstance(choice, tuple) else _allowed(sent.tool_choice)
    return {"tools": allowed(tools, names, given, "tool_choice"), "tool_choice": choice}


def _tools(tools: Sequence[Tool], provider: str, given: Unread) -> Iterator[Function | ServerTool]:
    for index, tool in enumerate(tools):
        name, description = tool.name or "", tool.description or ""
        if tool.type == "function":
            schema = {"type": "object", "properties": {}, **(tool.parameters or {})}
            strict = bool(tool.strict)
            if tool.strict is None:  # the server then makes a schema strict where it can
                given.unsaid("tools", index, "strict")
            name, output = given.name_of(name), tool.output_schema
            make = functools.partial(Function, name, description, schema, output, strict)
            yield from function_of(given, make)
        elif tool.type == "custom":
            form = tool.format
            syntax: Any = (form.syntax if form is not None else None) or "lark"
            grammar = (form.definition or "") if form is not None else ""
            more: dict[str, Any] = {"kind": "custom", "grammar": grammar, "syntax": syntax}
            make = functools.partial(Function, given.name_of(name), description, **more)
            yield from function_of(given, make)
        else:
            from wire.neutral.server_tools import received_tool  # few requests have one
            from wire.openai.responses.server_tools import form_of

            of = form_of(tool.type or "")
            if of is None:
                given.add("tools", index, why=f"left out: only OpenAI's models have {tool.type}")
            else:
                path, fields = f"tools[{index}]", msgspec.to_builtins(tool)
                yield received_tool(fields, of, path, provider, given.told)


def _allowed(choice: str | ToolChoice | None) -> tuple[str, ...]:
    """Return the names of the tools that the model may call; empty if it may call all."""
    if choice is None or isinstance(choice, str) or choice.type != "allowed_tools":
        return ()
    return tuple(str(each.get("name", "")) for each in choice.tools or ())


def _choice(
    choice: str | ToolChoice | None, tools: Sequence[Function | ServerTool], given: Unread
) -> str | tuple[str, ...] | None:
    if choice is None or not tools:
        return None
    if isinstance(choice, str):
        return choice
    if choice.type in ("function", "custom"):
        return (choice.name or "",)
    if choice.type == "allowed_tools":
        if given.own:
            given.add("tool_choice")
        return _allowed(choice) if choice.mode == "required" else "auto"
    if any(isinstance(tool, ServerTool) for tool in tools):
        return (choice.type or "",)
    given.add("tool_choice")
    return None
