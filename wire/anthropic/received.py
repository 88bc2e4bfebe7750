"""Converts requests of Messages, which a client has sent, to neutral requests."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from wire.anthropic.effort import default_effort, omits_thoughts
from wire.anthropic.families import family
from wire.anthropic.parse import WIRE, parse_reply
from wire.anthropic.types import (
    ContentBlock,
    CountTokensRequest,
    MessageRequest,
    MessageResponse,
    Tool,
    ToolChoice,
)
from wire.anthropic.types import Message as WireMessage
from wire.core.arguments import checked_arguments
from wire.core.decoders import from_base64
from wire.core.errors import RuleError, Violation
from wire.core.memory import Note
from wire.neutral.messages import Media, Message, Origin, Part, Role, Text, ToolResult
from wire.neutral.request import Output, Request, ServerTool
from wire.neutral.request import Tool as Function
from wire.neutral.serving import (
    ReceivedRequest,
    chosen,
    decoded_request,
    function_of,
    own_part,
    renamed,
    result_of,
    tool_names,
)
from wire.neutral.settings import effort_and_settings, effort_of
from wire.neutral.unread import Kinds, Steps, Unread, find_unread, keys, without_key

_CACHE = keys("type")
_SOURCE = keys("type data media_type url")
_MEDIA = {
    "text": keys("type text", cache_control=_CACHE),
    "image": keys("type", source=_SOURCE, cache_control=_CACHE),
    "document": keys("type title", source=_SOURCE, cache_control=_CACHE),
}
_OF_USER = Kinds(
    "type",
    {
        **_MEDIA,
        "tool_result": keys(
            "type tool_use_id is_error",
            # A mark inside a result has no place in a neutral conversation.
            content=Kinds(
                "type", {k: {**v, "cache_control": {}} for k, v in _MEDIA.items()}, ContentBlock
            ),
            cache_control=_CACHE,
        ),
    },
    ContentBlock,
)
_OF_ASSISTANT = Kinds(
    "type",
    {
        "text": keys("type text", cache_control=_CACHE),
        "thinking": keys("type thinking signature"),
        "redacted_thinking": keys("type data"),
        "tool_use": keys("type id name input", cache_control=_CACHE),
    },
    ContentBlock,
)
_USER = keys("role", content=_OF_USER)
_FORM = keys("type schema")
_FUNCTION = keys("type name description input_schema strict", cache_control=_CACHE)
_READ = keys(
    "max_tokens model service_tier stop_sequences stream temperature top_p",
    cache_control=_CACHE,
    messages=Kinds("role", {"assistant": keys("role", content=_OF_ASSISTANT)}, _USER),
    metadata=keys("user_id"),
    output_config=keys("effort", format=_FORM),
    output_format=_FORM,
    system=Kinds("type", {"text": keys("type text", cache_control=_CACHE)}, {}),
    thinking=keys("type display"),
    tool_choice=keys("type name"),
    tools=Kinds("type", {"": _FUNCTION, "custom": _FUNCTION}, Tool),
)
"""What is read of a body; the tools of hosts report for themselves what they do not have."""
_READ_OF_OWN = without_key(
    {
        **_READ,
        "messages": Kinds("role", {"assistant": keys("role", content=ContentBlock)}, _USER),
    },
    "cache_control",
)
"""As `_READ`, for a model of the client's own API: it gets the bytes of the assistant's blocks, and
each mark of the cache at its place.
"""
_CHOICES = {"auto": "auto", "any": "required", "none": "none"}


@checked_arguments()
def parse_request(
    body: bytes, *, provider: str = "", model: str = "", counts: bool = False
) -> ReceivedRequest:
    """Convert the body of a request for a message, or with `counts` for its number of tokens.

    >>> parsed = parse_request(
    ...     b'{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"Hi"}]}'
    ... )
    >>> parsed.request.messages, parsed.request.max_tokens
    ((Message('user', 'Hi'),), 9)

    `provider` and `model` are those whose blocks the messages of the assistant have. Raises
    `RuleError` with the JSON path of a value of a wrong type, and for `thread`.
    """
    sent: Any = decoded_request(body, CountTokensRequest if counts else MessageRequest)
    if not counts and sent.thread is not None:
        # Anthropic's tool runners go on without a thread after this code (SDK 2.12.0).
        problem = "threads are not supported here; send the full conversation without it"
        violations = [Violation("thread", problem)]
        raise RuleError(violations=violations, code="thread_unsupported_request")
    given = find_unread(body, _READ_OF_OWN if provider else _READ, own=bool(provider))
    reader = _Reader(provider, model, given)
    messages = [*_system(sent.system, given), *reader.messages(sent.messages)]
    display = sent.thinking.display if sent.thinking is not None else None
    kind = sent.thinking.type if sent.thinking is not None else None
    thinks = kind not in (None, "disabled")
    if not thinks and sent.output_config is not None and sent.output_config.effort:
        given.tell("output_config.effort", "left out: it would turn thinking on")
    marked = sent.cache_control is not None or any(tool.cache_control for tool in sent.tools or ())
    request = Request(
        **_tools_and_choice(sent, provider, given),  # first: it finds the names
        messages=renamed(messages, given),
        system=sent.system if isinstance(sent.system, str) else "",
        max_tokens=None if counts else sent.max_tokens,
        temperature=None if counts else sent.temperature,
        top_p=None if counts else sent.top_p,
        stop=() if counts else tuple(sent.stop_sequences or ()),
        tier=None if counts else sent.service_tier,
        metadata=_metadata(sent),
        **effort_and_settings(given, WIRE, _effort(sent, kind, model or sent.model)),
        thoughts=_shows_thoughts(kind, display, model),
        output=_output(sent),
        caching=_caching(given, marked=marked),
    )
    return ReceivedRequest(
        request=request,
        model=sent.model,
        stream=not counts and bool(sent.stream),
        parallel=not (sent.tool_choice and sent.tool_choice.disable_parallel_tool_use),
        thoughts=thinks and display != "omitted",
        returns_state=thinks,
        notes=given.notes(),
        unread=given,
    )


def _output(sent: MessageRequest | CountTokensRequest) -> Output | None:
    form = (sent.output_config and sent.output_config.format) or sent.output_format
    return None if form is None else Output(form.schema or {}, strict=True)


def _caching(given: Unread, *, marked: bool) -> str | None:
    """Return the setting `caching`. A mark's lifetime is that of all."""
    if given.own:
        return None
    return "long" if "1h" in given.taken("ttl") else "auto" if marked else None


def _metadata(sent: MessageRequest | CountTokensRequest) -> dict[str, str] | None:
    user_id = sent.metadata.user_id if isinstance(sent, MessageRequest) and sent.metadata else None
    return {"user_id": user_id} if user_id else None


def _effort(sent: MessageRequest | CountTokensRequest, kind: str | None, model: str) -> str | None:
    """Return the effort of a request; `None` if it says nothing of thinking.

    If thinking is enabled without a level, it is that of its budget, else the model's default.
    """
    if kind in (None, "disabled"):
        return kind and "none"
    level = sent.output_config and sent.output_config.effort
    budget = sent.thinking and sent.thinking.budget_tokens
    if level or budget:
        return level or effort_of(budget or 0)
    return default_effort(family(model))


def _shows_thoughts(kind: str | None, display: str | None, model: str) -> bool | None:
    """Return whether the reply has thoughts; `None` for what the model does unasked."""
    if display is None and kind == "adaptive" and omits_thoughts(family(model)):
        return False
    return None if display is None else display != "omitted"


# --- messages -------------------------------------------------------------------------------------


def _is_marked(blocks: Sequence[ContentBlock], given: Unread) -> bool:
    """Return whether a block has a mark of the cache, which the neutral request has to have."""
    return not given.own and any(block.cache_control is not None for block in blocks)


def _system(system: Any, given: Unread) -> Iterator[Message]:
    """Convert the blocks of a system prompt, which may have marks of the cache."""
    for block in system if isinstance(system, list) else ():
        if block.text:
            yield Message.system(block.text, cache=_is_marked([block], given))


class _Reader:
    """Converts the messages of one conversation."""

    def __init__(self, provider: str, model: str, given: Unread) -> None:
        self._provider, self._model, self._given = provider, model, given
        self._names: dict[str, str] = {}  # id of a call -> name of its tool

    def messages(self, sent: Sequence[WireMessage]) -> Iterator[Message]:
        """Yield the messages; results of calls become messages of their own."""
        for index, each in enumerate(sent):
            path = f"messages[{index}].content"
            if each.role not in ("user", "assistant", "system"):
                problem = f"expected user or assistant, not {each.role!r}"
                self._given.refuse(f"messages[{index}].role", problem)
            content = each.content
            blocks = (
                [ContentBlock(type="text", text=content)] if isinstance(content, str) else content
            )
            cache = _is_marked(blocks or [], self._given)
            if each.role == "assistant":
                yield self._assistant(blocks or [], path, cache)
                continue
            results, parts = self._parts(blocks or [], index)
            if results:
                yield Message.tool_response(results, cache=cache)
            if parts or not results:
                role: Role = "system" if each.role == "system" else "user"
                yield Message(role, tuple(parts), cache=cache and bool(parts))

    def _assistant(self, blocks: list[ContentBlock], path: str, cache: bool) -> Message:
        if not any((block.type or "").endswith("_tool_result") for block in blocks):
            # Citations of the gateway: Anthropic's server would look for the results they cite.
            self._given.told += [
                Note(f"{path}[{index}].citations", "left out: what they cite is not there")
                for index, block in enumerate(blocks)
                if block.citations and self._provider
            ]
            blocks = [
                msgspec.structs.replace(block, citations=None) if block.citations else block
                for block in blocks
            ]
        response = MessageResponse(content=blocks)
        message = parse_reply(response, provider=self._provider, model=self._model).message
        self._names |= {call.id: call.name for call in message.tool_calls}
        return Message("assistant", message.parts, cache=True) if cache else message

    def _parts(
        self, blocks: Sequence[ContentBlock], message: int
    ) -> tuple[list[ToolResult], list[Part]]:
        results: list[ToolResult] = []
        parts: list[Part] = []
        for index, block in enumerate(blocks):
            if block.type == "tool_result":
                steps = ("messages", message, "content", index, "content")
                results.append(self._result(block, steps))
            else:
                parts.append(self._part(block, f"messages[{message}].content[{index}]"))
        return results, parts

    def _part(self, block: ContentBlock, path: str) -> Part:
        part = _part(block, path, self._given)
        if part is not None:
            return part
        origin = Origin(self._provider, self._model, WIRE, block)
        return own_part(block, block.type, origin, self._given, f"{path}.type")

    def _result(self, block: ContentBlock, steps: Steps) -> ToolResult:
        id, content = block.tool_use_id or "", block.content
        path = f"messages[{steps[1]}].content[{steps[3]}].content"
        blocks = content if isinstance(content, list) else []
        parts = [self._part(inner, f"{path}[{at}]") for at, inner in enumerate(blocks)]
        if isinstance(content, str):
            parts = [Text(content)]
        result = result_of(id, self._names.get(id, ""), parts, self._given, *steps)
        return msgspec.structs.replace(result, error=bool(block.is_error))


def _part(block: ContentBlock, path: str, given: Unread) -> Part | None:
    """Return the block in its neutral form; `None` if it has none."""
    if block.type == "text":
        return Text(block.text or "")
    source = block.source
    if block.type not in ("image", "document") or source is None or isinstance(source, str):
        return None
    name = block.title or ""
    if source.type == "base64":
        try:
            data = from_base64(source.data or "")
        except ValueError:
            given.refuse(f"{path}.source.data", "expected base64")
            return None
        return Media(data=data, media_type=source.media_type or "", name=name)
    if source.type == "text":
        return Media(data=(source.data or "").encode(), media_type="text/plain", name=name)
    if source.type == "url":
        kind = "application/pdf" if block.type == "document" else ""
        return Media(url=source.url or "", media_type=kind, name=name)
    if not given.own:  # a model of the client's own API reads its files
        words = f"{source.type!r} has no neutral form"
        given.refuse(f"{path}.source.type", words, "send the bytes")
    return None


# --- tools ----------------------------------------------------------------------------------------


def _tools_and_choice(sent: Any, provider: str, given: Unread) -> dict[str, Any]:
    """Return the fields `tools` and `tool_choice` of the request."""
    steps = ((("tools", index, "name"), tool.name) for index, tool in enumerate(sent.tools or ()))
    tool_names(steps, given)
    tools = tuple(_tools(sent.tools or (), provider, given))
    tools, choice = chosen(tools, _choice(sent.tool_choice, tools, given), given, "tool_choice")
    return {"tools": tools, "tool_choice": choice}


def _tools(tools: Sequence[Tool], provider: str, given: Unread) -> Iterator[Function | ServerTool]:
    for index, tool in enumerate(tools):
        if tool.type not in (None, "custom"):
            from wire.anthropic.server_tools import form_of  # few requests have one
            from wire.neutral.server_tools import received_tool

            path, form = f"tools[{index}]", form_of(tool.type)
            if form is None:
                why = f"left out: only Anthropic's models have {tool.type}"
                given.add("tools", index, why=why)
                continue
            fields = msgspec.to_builtins(tool)
            if fields.pop("cache_control", None) and given.own:
                given.add("tools", index, "cache_control")
            yield received_tool(fields, form, path, provider, given.told)
            continue
        schema = {"type": "object", **(tool.input_schema or {})}
        name, words, strict = given.name_of(tool.name), tool.description or "", bool(tool.strict)
        make = functools.partial(Function, name, words, schema, strict=strict)
        yield from function_of(given, make)


def _choice(
    choice: ToolChoice | None, tools: Sequence[Function | ServerTool], given: Unread
) -> str | tuple[str, ...] | None:
    if choice is None or not tools:
        return None
    if choice.type == "tool":
        return (choice.name or "",)
    if choice.type not in _CHOICES:
        problem = f"expected auto, any, tool or none, not {choice.type!r}"
        given.refuse("tool_choice.type", problem)
    return _CHOICES.get(choice.type or "")
