"""Converts requests of Converse, which a client has sent, to neutral requests."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from wire.converse.media import AS_TYPES
from wire.converse.parse import WIRE, parse_reply
from wire.converse.types import (
    ContentBlock,
    ConverseOutput,
    ConverseRequest,
    ConverseResponse,
    CountTokensRequest,
    SystemContentBlock,
    Tool,
    ToolChoice,
    ToolResultBlock,
    ToolResultContentBlock,
)
from wire.converse.types import Message as WireMessage
from wire.core.arguments import checked_arguments
from wire.core.decoders import from_base64
from wire.core.errors import RuleError, Violation
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
from wire.neutral.settings import effort_of
from wire.neutral.unread import Shape, Steps, Unread, find_unread, keys, without_key

_SOURCE = keys("bytes", s3Location=keys("uri"))
_POINT = keys("type ttl")
_MEDIA: dict[str, Shape] = {
    "image": keys("format", source=_SOURCE),
    "document": keys("format name", source=keys("bytes text", s3Location=keys("uri"))),
    "video": keys("format", source=_SOURCE),
    "audio": keys("format", source=_SOURCE),
}
_RESULT = keys("toolUseId status", content=keys("text json", **_MEDIA))
_REASONING = keys("redactedContent", reasoningText=keys("text signature"))
_BLOCK = keys(
    "text citationsContent searchResult toolAddition toolRemoval",
    **_MEDIA,
    guardContent=keys("", text=keys("text qualifiers"), image=keys("format", source=_SOURCE)),
    toolUse=keys("toolUseId name input type"),
    toolResult=_RESULT,
    reasoningContent=_REASONING,
    cachePoint=_POINT,
)
_SPEC = keys("name description strict", inputSchema=keys("json"))
_READ = keys(
    "",
    messages=keys("role", content=_BLOCK),
    system=keys("text", cachePoint=_POINT),
    inferenceConfig=keys("maxTokens temperature topP stopSequences"),
    toolConfig=keys(
        "",
        tools=keys("", toolSpec=_SPEC, systemTool=keys("name"), cachePoint=_POINT),
        toolChoice=keys("", auto=keys(""), any=keys(""), tool=keys("name")),
    ),
    outputConfig=keys(
        "effort",
        textFormat=keys("type", structure=keys("", jsonSchema=keys("schema name description"))),
    ),
    additionalModelRequestFields=keys(
        "reasoning_effort reasoning_config",
        thinking=keys("type budget_tokens display"),
        output_config=keys("effort"),
        reasoningConfig=keys("type maxReasoningEffort"),
    ),
    requestMetadata={"*": None},
    serviceTier=keys("type"),
)
"""What is read of a body."""
_READ_OF_OWN = without_key(
    without_key(without_key(_READ, "cachePoint"), "additionalModelRequestFields"), "effort"
)
"""As `_READ`, for a model of the client's own API: it gets what only its server reads, the effort
as it came, and each cache point at its place.
"""


@checked_arguments()
def parse_request(
    body: bytes, *, provider: str = "", model: str = "", counts: bool = False
) -> ReceivedRequest:
    """Convert the body of a request for an answer, or with `counts` for its number of tokens.

    >>> parsed = parse_request(
    ...     b'{"inferenceConfig":{"maxTokens":9},'
    ...     b'"messages":[{"role":"user","content":[{"text":"Hi"}]}]}'
    ... )
    >>> parsed.request.messages, parsed.request.max_tokens
    ((Message('user', 'Hi'),), 9)

    `provider` and `model` are those whose blocks the messages of the assistant have. Raises
    `RuleError` with the JSON path of a value of a wrong type. The name of the model and whether the
    client wants a stream stand in the path.
    """
    sent = _prompt(body) if counts else decoded_request(body, ConverseRequest)
    if counts:
        body = msgspec.json.encode(_inner(body))
    shape = _READ_OF_OWN if provider else _READ
    given = find_unread(body, _without_metadata(shape, body), own=bool(provider))
    reader = _Reader(provider, model, given)
    tools_and_choice = _tools_and_choice(sent, provider, given)  # first: it finds the names
    messages = [*_system(sent.system, given), *reader.messages(sent.messages or ())]
    config, tier = sent.inference_config, sent.service_tier
    effort, shown = _effort(sent, given)
    request = Request(
        **tools_and_choice,
        messages=renamed(messages, given),
        max_tokens=None if config is None else config.max_tokens,
        temperature=None if config is None else config.temperature,
        top_p=None if config is None else config.top_p,
        stop=() if config is None else tuple(config.stop_sequences or ()),
        tier=None if tier is None else tier.type,
        metadata=sent.request_metadata or None,
        effort=effort,
        output=_output(sent, given),
        caching=_caching(sent, given),
    )
    return ReceivedRequest(
        request=request,
        thoughts=shown,
        returns_state=shown,
        notes=given.notes(),
        unread=given,
    )


def _inner(body: bytes) -> Any:
    """Return the prompt of a request to count its tokens, as plain JSON."""
    decoded_request(body, CountTokensRequest)
    given = msgspec.json.decode(body).get("input") or {}
    return given.get("converse") or {}


def _prompt(body: bytes) -> ConverseRequest:
    sent = decoded_request(body, CountTokensRequest)
    prompt = sent.input.converse if sent.input is not None else None
    if prompt is None:
        problem = "expected input.converse: the body of another API cannot be counted here"
        raise RuleError(violations=[Violation("input", problem)])
    return ConverseRequest(
        messages=prompt.messages,
        system=prompt.system,
        tool_config=prompt.tool_config,
        additional_model_request_fields=prompt.additional_model_request_fields,
    )


def _without_metadata(shape: Mapping[str, Shape], body: bytes) -> Mapping[str, Shape]:
    """Return the shape with the pairs of metadata, whose keys are the client's."""
    return {**shape, "requestMetadata": None}


def _effort(sent: ConverseRequest, given: Unread) -> tuple[str | None, bool]:
    """Return the effort of a request, and whether its reply shows thoughts.

    A model of the client's own API gets the fields as they came.
    """
    further = sent.additional_model_request_fields
    further = _object(further)
    thinking = _object(further.get("thinking"))
    thinks = thinking.get("type") in ("enabled", "adaptive")
    nova = _object(further.get("reasoningConfig"))
    words = [
        sent.output_config.effort if sent.output_config is not None else None,
        _word(_object(further.get("output_config")).get("effort")),
        _word(further.get("reasoning_effort")),
        _word(further.get("reasoning_config")),
        _word(nova.get("maxReasoningEffort")) if nova.get("type") == "enabled" else None,
    ]
    level = next(filter(None, words), None)
    budget = thinking.get("budget_tokens")
    if level is None and isinstance(budget, int) and thinks:
        level = effort_of(budget)
    if level is None and thinking.get("type") == "disabled":
        level = "none"
    level = "medium" if level is None and thinks else level
    shown = thinks or bool(level and level != "none")
    return (None if given.own else level), shown and thinking.get("display") != "omitted"


def _word(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _output(sent: ConverseRequest, given: Unread) -> Output | None:
    form = sent.output_config.text_format if sent.output_config is not None else None
    structure = form.structure if form is not None else None
    definition = structure.json_schema if structure is not None else None
    if definition is None:
        return None
    try:
        schema = json.loads(definition.schema or "")
    except (ValueError, RecursionError):
        schema = None
    if not isinstance(schema, dict):
        path = "outputConfig.textFormat.structure.jsonSchema.schema"
        raise RuleError(violations=[Violation(path, "expected a text with a JSON Schema")])
    name, words = definition.name or "answer", definition.description or ""
    return Output(schema, name, strict=True, description=words)


def _caching(sent: ConverseRequest, given: Unread) -> str | None:
    """Return the setting `caching`. A point's lifetime is that of all."""
    if given.own:
        return None
    tools = (sent.tool_config.tools if sent.tool_config is not None else None) or ()
    points = [each.cache_point for each in (*tools, *(sent.system or ()))]
    points += [each.cache_point for one in sent.messages or () for each in one.content or ()]
    if any(each is not None and each.ttl == "1h" for each in points):
        return "long"
    return "auto" if any(tool.cache_point is not None for tool in tools) else None


# --- messages -------------------------------------------------------------------------------------


def _system(system: Sequence[SystemContentBlock] | None, given: Unread) -> Iterator[Message]:
    """Convert the blocks of a system prompt; a cache point marks the block before it."""
    blocks = list(system or ())
    for at, block in enumerate(blocks):
        following = blocks[at + 1] if at + 1 < len(blocks) else None
        if block.text:
            marked = following is not None and following.cache_point is not None
            yield Message.system(block.text, cache=marked and not given.own)
        elif block.guard_content is not None:
            given.add("system", at, "guardContent")


class _Reader:
    """Converts the messages of one conversation."""

    def __init__(self, provider: str, model: str, given: Unread) -> None:
        self._provider, self._model, self._given = provider, model, given
        self._names: dict[str, str] = {}  # id of a call -> name of its tool

    def messages(self, sent: Sequence[WireMessage]) -> Iterator[Message]:
        """Yield the messages; results of calls become messages of their own."""
        for index, each in enumerate(sent):
            if each.role not in ("user", "assistant", "system"):
                problem = f"expected user or assistant, not {each.role!r}"
                self._given.refuse(f"messages[{index}].role", problem)
            content = each.content or []
            cache = not self._given.own and any(block.cache_point for block in content)
            if each.role == "assistant":
                yield self._assistant(content, index, cache)
                continue
            results, parts = self._parts(content, index)
            if results:
                yield Message.tool_response(results, cache=cache)
            if parts or not results:
                role: Role = "system" if each.role == "system" else "user"
                yield Message(role, tuple(parts), cache=cache and bool(parts))

    def _assistant(self, content: Sequence[ContentBlock], index: int, cache: bool) -> Message:
        blocks = [block for block in content if block.cache_point is None]
        output = ConverseOutput(message=WireMessage(role="assistant", content=blocks))
        response = ConverseResponse(output=output)
        message = parse_reply(response, provider=self._provider, model=self._model).message
        self._names |= {call.id: call.name for call in message.tool_calls}
        if not self._provider:
            for at, block in enumerate(content):
                cited = block.citations_content
                if cited is not None and cited.citations:
                    path = ("messages", index, "content", at, "citationsContent", "citations")
                    self._given.add(*path, why="left out: what they cite is not there")
            message = msgspec.structs.replace(message, citations=())
        return msgspec.structs.replace(message, cache=True) if cache else message

    def _parts(
        self, blocks: Sequence[ContentBlock], message: int
    ) -> tuple[list[ToolResult], list[Part]]:
        results: list[ToolResult] = []
        parts: list[Part] = []
        for index, block in enumerate(blocks):
            path = f"messages[{message}].content[{index}]"
            if block.tool_result is not None:
                steps = ("messages", message, "content", index, "toolResult", "content")
                results.append(self._result(block.tool_result, steps, path))
            elif block.cache_point is None:
                parts.append(self._part(block, path))
        return results, parts

    def _part(self, block: ContentBlock | ToolResultContentBlock, path: str) -> Part:
        part = _part(block, path, self._given)
        if part is not None:
            return part
        fields = msgspec.to_builtins(block)
        kind = next(iter(fields), None)
        origin = Origin(self._provider, self._model, WIRE, block)
        return own_part(block, kind, origin, self._given, path)

    def _result(self, result: ToolResultBlock, steps: Steps, path: str) -> ToolResult:
        id, content = result.tool_use_id or "", result.content or []
        name = self._names.get(id, "")
        if len(content) == 1 and isinstance(content[0].json, dict):
            made = ToolResult(id, name, content[0].json)
        else:
            place = f"{path}.toolResult.content"
            parts = [self._part(inner, f"{place}[{at}]") for at, inner in enumerate(content)]
            made = result_of(id, name, parts, self._given, *steps)
        return msgspec.structs.replace(made, error=result.status == "error")


def _part(block: ContentBlock | ToolResultContentBlock, path: str, given: Unread) -> Part | None:
    """Return the block in its neutral form; `None` if it has none."""
    if block.text is not None:
        return Text(block.text)
    if isinstance(block, ToolResultContentBlock) and block.json is not None:
        return Text(msgspec.json.encode(block.json).decode())
    for kind in ("image", "document", "video", "audio"):
        media: Any = getattr(block, kind, None)
        source = media.source if media is not None else None
        if source is not None:
            return _media(kind, media, source, f"{path}.{kind}", given)
    return None


def _media(kind: str, media: Any, source: Any, path: str, given: Unread) -> Part | None:
    name = getattr(media, "name", None) or ""
    # The server takes a media type in place of a format, too.
    form = str(media.format or "").removeprefix(f"{kind}/")
    media_type = AS_TYPES[kind].get(form, "text/plain" if kind == "document" else "")
    if source.bytes is not None:
        try:
            data = from_base64(source.bytes)
        except ValueError:
            given.refuse(f"{path}.source.bytes", "expected base64")
            return None
        if not data or not media_type:
            given.refuse(f"{path}.format", f"expected a format and bytes, not {media.format!r}")
            return None
        return Media(data=data, media_type=media_type, name=name)
    if source.s3_location is not None and source.s3_location.uri:
        return Media(url=source.s3_location.uri, media_type=media_type, name=name)
    text = getattr(source, "text", None)
    if text:
        return Media(data=text.encode(), media_type="text/plain", name=name)
    if not given.own:
        given.refuse(f"{path}.source", "it has no neutral form", "send the bytes")
    return None


# --- tools ----------------------------------------------------------------------------------------


def _tools_and_choice(sent: ConverseRequest, provider: str, given: Unread) -> dict[str, Any]:
    """Return the fields `tools` and `tool_choice` of the request."""
    config = sent.tool_config
    tools = (config.tools if config is not None else None) or []
    tool_names(
        (
            (("toolConfig", "tools", index, "toolSpec", "name"), tool.tool_spec.name)
            for index, tool in enumerate(tools)
            if tool.tool_spec is not None
        ),
        given,
    )
    made = tuple(_tools(tools, provider, given))
    choice = _choice(config.tool_choice if config is not None else None, made, given)
    if not tools:
        return {"tools": made, "tool_choice": choice}
    made, choice = chosen(made, choice, given, "toolConfig", "toolChoice")
    return {"tools": made, "tool_choice": choice}


def _tools(tools: Sequence[Tool], provider: str, given: Unread) -> Iterator[Function | ServerTool]:
    for index, tool in enumerate(tools):
        path = f"toolConfig.tools[{index}]"
        if tool.system_tool is not None:
            from wire.converse.server_tools import form_of  # few requests have one
            from wire.neutral.server_tools import received_tool

            name = tool.system_tool.name or ""
            form = form_of(name)
            if form is None:
                why = f"left out: only Bedrock's models have {name}"
                given.add("toolConfig", "tools", index, why=why)
                continue
            fields = msgspec.to_builtins(tool)
            yield received_tool(fields, form, path, provider, given.told)
        elif tool.tool_spec is not None:
            spec = tool.tool_spec
            found = spec.input_schema.json if spec.input_schema is not None else None
            schema = {"type": "object", **(found if isinstance(found, dict) else {})}
            name, words = given.name_of(spec.name or ""), spec.description or ""
            make = functools.partial(Function, name, words, schema, strict=bool(spec.strict))
            yield from function_of(given, make)


def _choice(
    choice: ToolChoice | None, tools: Sequence[Function | ServerTool], given: Unread
) -> str | tuple[str, ...] | None:
    if choice is None or not tools:
        return None
    if choice.tool is not None:
        return (choice.tool.name or "",)
    if choice.any is not None:
        return "required"
    if choice.auto is None:
        given.refuse("toolConfig.toolChoice", "expected auto, any or tool")
    return "auto"
