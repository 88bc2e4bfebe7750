"""Converts requests of chat completions, which a client has sent, to neutral requests."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from wire.core.arguments import checked_arguments
from wire.core.decoders import from_base64
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
from wire.neutral.unread import Kinds, Steps, Unread, fields_of, find_unread, keys, without_key
from wire.openai.chat.parse import WIRE, parse_reply
from wire.openai.chat.types import (
    ChatCompletion,
    ChatCompletionRequest,
    Choice,
    ContentPart,
    ResponseFormat,
    Tool,
    ToolCall,
    ToolChoice,
    WebSearchOptions,
)
from wire.openai.chat.types import Message as WireMessage

_PARTS = Kinds(
    "type",
    {
        "text": keys("type text"),
        "image_url": keys("type", image_url=keys("url detail")),
        "input_audio": keys("type", input_audio=keys("data format")),
        "file": keys("type", file=keys("file_data file_id filename")),
        "document_url": keys("type document_url document_name"),
        "video_url": keys("type", video_url=keys("url")),
    },
    ContentPart,
)
_OF_USER = keys("role name", content=_PARTS)
_OF_TOOL = keys("role tool_call_id name", content=_PARTS)
_OF_OTHERS = ("tool_call_id", "prefix", "partial", "cache_control", "annotations")
"""Fields of messages that have no meaning in those of the assistant, or no neutral form there."""
_OF_ASSISTANT = keys(
    " ".join(name for name in WireMessage.__struct_fields__ if name not in _OF_OTHERS),
    content=ContentPart,
    tool_calls=ToolCall,
)
_RESULTS = dict.fromkeys(("tool", "function"), _OF_TOOL)
_NAMED = keys("name")
_FUNCTION = keys("type", function=keys("name description parameters strict"))
_ALLOWED = keys("mode", tools=keys("type", function=_NAMED, custom=_NAMED))
_GRAMMAR = keys("type", grammar=keys("definition syntax"))
_READ = keys(
    "function_call functions max_completion_tokens max_tokens metadata modalities model n"
    " reasoning_effort seed service_tier stop store stream temperature top_p verbosity",
    reasoning=keys("effort"),
    messages=Kinds("role", {"assistant": _OF_ASSISTANT, **_RESULTS}, _OF_USER),
    response_format=keys("type", json_schema=keys("name description schema strict")),
    stream_options=keys("include_usage"),
    tool_choice=keys("type", function=_NAMED, custom=_NAMED, allowed_tools=_ALLOWED),
    tools=Kinds(
        "type",
        {
            "": _FUNCTION,
            "function": _FUNCTION,
            "custom": keys("type", custom=keys("name description", format=_GRAMMAR)),
        },
        Tool,
    ),
    web_search_options=WebSearchOptions,
)
"""What is read of a body; the tools of hosts report for themselves what they do not have."""
_OWN_RESULT = without_key(_OF_TOOL, "name")
_READ_OF_OWN = {
    **_READ,
    "messages": Kinds(
        "role",
        {
            "assistant": {
                **without_key(fields_of(WireMessage), "name"),
                "tool_calls": without_key(fields_of(ToolCall), "cache_control"),
            },
            "tool": _OWN_RESULT,
            "function": _OWN_RESULT,
        },
        _OF_USER,
    ),
}
"""As `_READ`, for a model of the client's own API: it gets the bytes of the assistant's messages,
and what has no meaning in them.
"""


@checked_arguments()
def parse_request(
    body: bytes, *, provider: str = "", model: str = "", counts: bool = False
) -> ReceivedRequest:
    """Convert the body of a request for a chat completion.

    >>> parsed = parse_request(b'{"model":"gpt-5.4","messages":[{"role":"user","content":"Hi"}]}')
    >>> parsed.request.messages
    (Message('user', 'Hi'),)

    `provider` and `model` are those whose messages the messages of the assistant are; the wire has
    no endpoint that `counts`. Raises `RuleError` with the JSON path of a value of a wrong type.
    """
    sent = decoded_request(body, ChatCompletionRequest)
    given = find_unread(body, _READ_OF_OWN if provider else _READ, own=bool(provider))
    if sent.n not in (None, 1):
        given.tell("n", "left out: there is one answer")
    if "audio" in (sent.modalities or ()):
        given.add("modalities", why="left out: the answer is a text")
    stop = (sent.stop,) if isinstance(sent.stop, str) else tuple(sent.stop or ())
    effort = sent.reasoning.effort if sent.reasoning is not None else None
    request = Request(
        **_tools_and_choice(sent, provider, given),  # first: it finds the names
        messages=renamed(_messages(sent.messages, provider, model, given), given),
        max_tokens=sent.max_completion_tokens or sent.max_tokens,
        temperature=sent.temperature,
        top_p=sent.top_p,
        stop=stop,
        **effort_and_settings(given, WIRE, sent.reasoning_effort or effort),
        verbosity=sent.verbosity,
        seed=sent.seed,
        tier=sent.service_tier,
        store=sent.store,
        metadata=sent.metadata,
        output=_output(sent.response_format, given),
    )
    options = sent.stream_options
    return ReceivedRequest(
        request=request,
        model=sent.model or "",
        stream=bool(sent.stream),
        parallel=sent.parallel_tool_calls is not False,
        thoughts=True,
        legacy_calls=bool(sent.functions),
        sends_usage=options is not None and bool(options.include_usage),
        notes=given.notes(),
        unread=given,
    )


def _output(form: ResponseFormat | None, given: Unread) -> Output | None:
    """Return the requested form of the answer."""
    if form is None or form.type in (None, "text"):
        return None
    if form.type == "json_object":
        return Output({})
    schema = form.json_schema
    if form.type != "json_schema" or schema is None or schema.schema is None:
        words = "expected text, json_object, or json_schema with a schema"
        given.refuse("response_format", words)
        return Output({})
    name, description = schema.name or "answer", schema.description or ""
    return Output(schema.schema, name, bool(schema.strict), description)


# --- messages -------------------------------------------------------------------------------------


def _messages(
    sent: Sequence[WireMessage], provider: str, model: str, given: Unread
) -> Iterator[Message]:
    names: dict[str, str] = {}  # id of a call -> name of its tool
    ids: dict[str, str] = {}  # name of a tool -> id of its last call
    results: list[ToolResult] = []
    for index, each in enumerate(sent):
        path = f"messages[{index}]"
        if each.role in ("tool", "function"):
            id = each.tool_call_id or ids.get(each.name or "", "")
            parts = _parts(each.content, f"{path}.content", provider, model, given)
            steps = ("messages", index, "content")
            name = names.get(id, "")
            results.append(result_of(id, name, parts, given, *steps))
            continue
        if results:
            yield Message.tool_response(results)
            results = []
        if each.role == "assistant":
            choices = [Choice(index=0, message=each, finish_reason="stop")]
            # A `function_call` has no id, and gets one for each message.
            completion, turn = ChatCompletion(choices=choices), f"turn {index}".encode()
            message = parse_reply(completion, body=turn, provider=provider, model=model).message
            names |= {call.id: call.name for call in message.tool_calls}
            ids |= {call.name: call.id for call in message.tool_calls}
            named = Message("assistant", message.parts, each.name or "")
            yield named if each.name and not given.own else message
        elif each.role in ("system", "developer", "user"):
            parts = _parts(each.content, f"{path}.content", provider, model, given)
            # A model of the client's own API gets the marks where they are.
            marks = ("cache_control", "prompt_cache_breakpoint")
            mark = not given.own and given.taken(*marks, inside=("messages", index))
            role: Any = each.role
            yield Message(role, tuple(parts), each.name or "", cache=bool(mark))
        else:
            problem = (
                f"expected system, developer, user, assistant, tool or function, not {each.role!r}"
            )
            given.refuse(f"{path}.role", problem)
    if results:
        yield Message.tool_response(results)


def _parts(
    content: str | list[ContentPart] | None, path: str, provider: str, model: str, given: Unread
) -> list[Part]:
    if isinstance(content, str):
        return [Text(content)]
    parts: list[Part] = []
    for index, each in enumerate(content or ()):
        part, at = _part(each, f"{path}[{index}]", given), f"{path}[{index}].type"
        if part is None:
            part = own_part(each, each.type, Origin(provider, model, WIRE, each), given, at)
        parts.append(part)
    return parts


def _part(part: ContentPart, path: str, given: Unread) -> Part | None:
    """Return the part in its neutral form; `None` if it has none, or if the model is one of the
    client's own API and takes a part of one host.
    """
    if part.type == "text":
        return Text(part.text or "")
    image, audio, file = part.image_url, part.input_audio, part.file
    if part.type == "image_url" and image is not None:
        if isinstance(image, str):
            return Media(url=image)
        detail: Any = image.detail or ""
        return Media(url=image.url or "", detail=detail)
    if part.type == "input_audio" and audio is not None and not isinstance(audio, str):
        try:
            data = from_base64(audio.data or "")
        except ValueError:
            given.refuse(f"{path}.input_audio.data", "expected base64")
            return None
        return Media(data=data, media_type=f"audio/{audio.format or 'wav'}")
    if part.document_url is not None and not given.own:
        return Media(
            url=part.document_url, media_type="application/pdf", name=part.document_name or ""
        )
    video = part.video_url
    if video is not None and not given.own:
        url = video if isinstance(video, str) else video.url or ""
        return Media(url=url, media_type="" if url.startswith("data:") else "video/mp4")
    if part.type == "file" and file is not None:
        return Media(url=file.file_data or file.file_id or "", name=file.filename or "")
    return None


# --- tools ----------------------------------------------------------------------------------------


def _names(tools: Sequence[Tool], count: int) -> Iterator[tuple[Steps, str | None]]:
    """Yield the place and the name of each tool; those after `count` are `functions`."""
    for index, tool in enumerate(tools):
        for key, named in (("function", tool.function), ("custom", tool.custom)):
            if named is not None and index < count:
                yield ("tools", index, key, "name"), named.name
            elif named is not None:
                yield ("functions", index - count, "name"), named.name


def _legacy_choice(sent: ChatCompletionRequest) -> str | ToolChoice | None:
    """Return the choice among `functions`."""
    choice = sent.function_call
    return choice if choice is None or isinstance(choice, str) else ToolChoice(function=choice)


def _tools_and_choice(sent: ChatCompletionRequest, provider: str, given: Unread) -> dict[str, Any]:
    """Return the fields `tools` and `tool_choice` of the request."""
    if sent.functions:
        given.tell("functions", "read as tools: of several calls, the client gets the first")
    declared = [*(sent.tools or ()), *(Tool(function=each) for each in sent.functions or ())]
    tool_names(_names(declared, len(sent.tools or ())), given)
    tools = (*_tools(declared, provider, given), *_search(sent, provider, given))
    wanted = _choice(sent.tool_choice or _legacy_choice(sent), tools, given)
    tools, choice = chosen(tools, wanted, given, "tool_choice")
    names = () if isinstance(choice, tuple) else _allowed(sent.tool_choice)
    return {"tools": allowed(tools, names, given, "tool_choice"), "tool_choice": choice}


def _tools(tools: Sequence[Tool], provider: str, given: Unread) -> Iterator[Function | ServerTool]:
    for index, tool in enumerate(tools):
        if tool.function is not None:
            each = tool.function
            schema = {"type": "object", "properties": {}, **(each.parameters or {})}
            name, words, strict = (
                given.name_of(each.name),
                each.description or "",
                bool(each.strict),
            )
            make = functools.partial(Function, name, words, schema, strict=strict)
            yield from function_of(given, make)
        elif tool.custom is not None:
            custom = tool.custom
            grammar = custom.format.grammar if custom.format is not None else None
            syntax: Any = (grammar.syntax if grammar is not None else None) or "lark"
            make = functools.partial(
                Function,
                given.name_of(custom.name),
                custom.description or "",
                kind="custom",
                grammar=(grammar.definition or "") if grammar is not None else "",
                syntax=syntax,
            )
            yield from function_of(given, make)
        else:
            from wire.neutral.server_tools import received_tool  # few requests have one
            from wire.openai.chat.server_tools import form_of

            form = form_of(tool.type or "")
            if form is None or given.own:
                given.add("tools", index, why=f"left out: only its own host has {tool.type}")
            else:
                path, fields = f"tools[{index}]", msgspec.to_builtins(tool)
                yield received_tool(fields, form, path, provider, given.told)


def _search(sent: ChatCompletionRequest, provider: str, given: Unread) -> Iterator[ServerTool]:
    """Yield the web search that the body requests outside of `tools`."""
    if sent.web_search_options is None or given.own:
        given.add("web_search_options")
        return
    from wire.neutral.server_tools import received_tool  # few requests have one
    from wire.openai.common.server_tools import FORMS

    fields = {"web_search_options": msgspec.to_builtins(sent.web_search_options)}
    yield received_tool(fields, FORMS["web_search_options"], "", provider, given.told)


def _allowed(choice: str | ToolChoice | None) -> tuple[str, ...]:
    """Return the names of the tools that the model may call; empty if it may call all."""
    if choice is None or isinstance(choice, str) or choice.allowed_tools is None:
        return ()
    named = [each.get(each.get("type", ""), {}) for each in choice.allowed_tools.tools or ()]
    return tuple(str(each.get("name", "")) for each in named)


def _choice(
    choice: str | ToolChoice | None, tools: Sequence[Function | ServerTool], given: Unread
) -> str | tuple[str, ...] | None:
    if choice is None or not tools:
        return None
    if isinstance(choice, str):
        return "required" if choice == "any" else choice
    if choice.allowed_tools is not None:
        if given.own:
            given.add("tool_choice")
        return _allowed(choice) if choice.allowed_tools.mode == "required" else "auto"
    one = choice.function or choice.custom
    if one is None:
        given.add("tool_choice")
        return None
    return (one.name or "",)
