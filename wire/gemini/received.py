"""Converts requests of generateContent, which a client has sent, to neutral requests."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import UNSET

from wire.core.arguments import checked_arguments
from wire.gemini.decode import decode
from wire.gemini.pairing import keys_of_call, keys_of_response
from wire.gemini.parse import WIRE, parse_reply
from wire.gemini.types import (
    Blob,
    Candidate,
    CodeExecution,
    CodeExecutionResult,
    Content,
    CountTokensRequest,
    ExecutableCode,
    FileData,
    FileSearch,
    FunctionCall,
    FunctionResponse,
    FunctionResponsePart,
    GenerateContentRequest,
    GenerateContentResponse,
    GenerationConfig,
    GoogleSearch,
    Part,
    Schema,
    ThinkingConfig,
    Tool,
    ToolConfig,
    UrlContext,
)
from wire.neutral.messages import Media, Message, Origin, Text, ToolResult
from wire.neutral.messages import Part as NeutralPart
from wire.neutral.pairing import Waiting
from wire.neutral.request import Output, Request, ServerTool
from wire.neutral.request import Tool as Function
from wire.neutral.serving import (
    ReceivedRequest,
    allowed,
    chosen,
    function_of,
    own_part,
    renamed,
    tool_names,
)
from wire.neutral.settings import effort_and_settings
from wire.neutral.unread import Kinds, Steps, Unread, find_unread, keys

_BLOB, _FILE = keys("mimeType data displayName"), keys("fileUri mimeType displayName")
_OF_USER = keys(
    "text codeExecutionResult executableCode functionCall toolCall toolResponse",
    videoMetadata=keys("startOffset endOffset fps"),
    inlineData=_BLOB,
    fileData=_FILE,
    functionResponse=keys(
        "id name response",
        parts=keys("", inlineData=keys("mimeType data"), fileData=keys("fileUri mimeType")),
    ),
)
_OF_MODEL = keys(
    "text thought thoughtSignature inlineData fileData functionResponse toolCall toolResponse",
    codeExecutionResult=CodeExecutionResult,
    executableCode=ExecutableCode,
    functionCall=keys("id name args"),
)
_CALLING = ("toolConfig", "functionCallingConfig")
_SERVER_TOOLS = ("google_search", "code_execution", "url_context", "file_search")
_USER = keys("role", parts=_OF_USER)
_CONFIG = keys(
    "candidateCount maxOutputTokens responseJsonSchema responseMimeType responseModalities"
    " responseSchema seed stopSequences temperature topP",
    responseFormat=keys("", text=keys("mimeType schema")),
    thinkingConfig=keys("includeThoughts thinkingLevel"),
)
_OF_FUNCTION = "name description parameters parametersJsonSchema"
_TOOLS = keys(
    "",
    codeExecution=CodeExecution,
    fileSearch=FileSearch,
    googleSearch=GoogleSearch,
    urlContext=UrlContext,
    functionDeclarations=keys(f"{_OF_FUNCTION} response responseJsonSchema"),
)
_READ = keys(
    "cachedContent labels model serviceTier store",
    contents=Kinds("role", {"model": keys("role", parts=_OF_MODEL)}, _USER),
    systemInstruction=keys("role", parts=keys("text")),
    generationConfig=_CONFIG,
    toolConfig=keys("", functionCallingConfig=keys("mode allowedFunctionNames")),
    tools=_TOOLS,
)
"""What is read of a body; the tools of hosts report for themselves what they do not have."""
_READ_OF_OWN = {
    **_READ,
    "contents": Kinds("role", {"model": keys("role", parts=Part)}, _USER),
    "tools": {**_TOOLS, "functionDeclarations": keys(_OF_FUNCTION)},
}
"""As `_READ`, for a model of the client's own API: it gets the bytes of the model's parts, and the
schemas of what functions return, as they came.
"""
_TEXT_KEYS = {"error", "output", "result"}
_SENT_KEYS = {"error", "result"}
"""Those that the library itself writes."""
_MODES = {"AUTO": "auto", "NONE": "none", "ANY": "required", "VALIDATED": "auto"}


@checked_arguments()
def parse_request(
    body: bytes, *, provider: str = "", model: str = "", counts: bool = False
) -> ReceivedRequest:
    """Convert the body of generateContent, or with `counts` that of countTokens.

    >>> parse_request(b'{"contents":[{"parts":[{"text":"Hi"}]}]}').request.messages
    (Message('user', 'Hi'),)

    `provider` and `model` are those whose parts the parts of the model are. Raises `RuleError` with
    the JSON path of a value of a wrong type.
    """
    if counts:
        counting = decode(body, CountTokensRequest)
        sent = counting.generate_content_request or decode(body, GenerateContentRequest)
    else:
        sent = decode(body, GenerateContentRequest)
    read = _READ_OF_OWN if provider else _READ
    shape = {**read, "generateContentRequest": read} if counts else read
    given = find_unread(body, shape, camel, own=bool(provider))
    config = sent.generation_config or GenerationConfig()
    _leave_out(sent, given)
    system = sent.system_instruction.parts or () if sent.system_instruction is not None else ()
    thinking = config.thinking_config or ThinkingConfig()
    settings = effort_and_settings(given, WIRE, _effort(thinking))
    request = Request(
        **_tools_and_choice(sent, provider, given),  # first: it finds the names
        messages=renamed(_Reader(provider, model, given).messages(sent.contents or ()), given),
        system="\n\n".join(part.text for part in system if part.text),
        max_tokens=config.max_output_tokens,
        temperature=config.temperature,
        top_p=config.top_p,
        stop=tuple(config.stop_sequences or ()),
        **settings,
        thoughts=_wants_thoughts(thinking, given, by_effort=bool(settings.get("effort"))),
        seed=config.seed,
        tier=None if sent.service_tier is None else str(sent.service_tier),
        store=sent.store,
        metadata=sent.labels,
        output=_output(config, given),
    )
    return ReceivedRequest(
        request=request,
        thoughts=bool(thinking.include_thoughts),
        returns_state=True,
        notes=given.notes(),
        unread=given,
    )


def camel(key: str) -> str:
    """Return a key in camel case; the server takes the spelling of its protocol buffers, too."""
    first, *rest = key.split("_")
    return first + "".join(map(str.title, rest))


def _leave_out(sent: GenerateContentRequest, given: Unread) -> None:
    """Mark as unread what only models of the client's own API have."""
    if sent.cached_content and not given.own:
        words = "the backend has no such cache"
        given.refuse("cachedContent", words, "send the content itself")
    given.add("cachedContent")
    config = sent.generation_config or GenerationConfig()
    kinds = {str(each).upper() for each in config.response_modalities or ()}
    if kinds - {"TEXT", "1"}:
        given.add("generationConfig", "responseModalities", why="left out: the answer is a text")
    if (config.candidate_count or 1) > 1:
        given.tell("generationConfig.candidateCount", "left out: there is one answer")


def _effort(thinking: ThinkingConfig) -> str | None:
    level = str(thinking.thinking_level or "").lower()
    return None if level in ("", "thinking_level_unspecified") else level


def _wants_thoughts(thinking: ThinkingConfig, given: Unread, *, by_effort: bool) -> bool | None:
    """Return the setting `thoughts`. An effort alone asks for thoughts, which a client of this API
    does not.
    """
    wanted = thinking.include_thoughts
    return bool(wanted) if given.own and by_effort else wanted


def _output(config: GenerationConfig, given: Unread) -> Output | None:
    """Return the requested form of the answer."""
    kind, schema = config.response_mime_type or "text/plain", config.response_json_schema
    text = config.response_format.text if config.response_format is not None else None
    if text is not None:
        kind = _JSON if str(text.mime_type or "").upper() in ("APPLICATION_JSON", "1") else kind
        schema = schema if text.schema is UNSET else text.schema
    if schema is UNSET and config.response_schema is not None:
        schema = json_schema(config.response_schema, ordered=given.own)
    if kind == "text/plain":
        return None
    if kind != _JSON:
        given.refuse("generationConfig.responseMimeType", f"{kind!r} has no neutral form")
    return Output({} if schema is UNSET else schema)


_JSON = "application/json"


# --- contents -------------------------------------------------------------------------------------


class _Reader:
    """Converts the contents of one conversation."""

    def __init__(self, provider: str, model: str, given: Unread) -> None:
        self._provider, self._model, self._given = provider, model, given
        self._calls: list[tuple[str, str]] = []  # id and name of each call so far
        self._waiting = Waiting()

    def messages(self, contents: Sequence[Content]) -> Iterator[Message]:
        """Yield the messages; responses of functions become messages of their own.

        Google's SDKs keep a Content for each chunk of a stream: those of the model in a row are one
        message.
        """
        own: list[Part] = []
        for index, content in enumerate(contents):
            path = f"contents[{index}]"
            if content.role == "model":
                own += content.parts or ()
                continue
            if own:
                yield self._assistant(own, index)
                own = []
            if content.role not in (None, "", "user", "function", "tool"):
                problem = f"expected user or model, not {content.role!r}"
                self._given.refuse(f"{path}.role", problem)
            results: list[ToolResult] = []
            parts: list[NeutralPart] = []
            for position, part in enumerate(content.parts or ()):
                at = f"{path}.parts[{position}]"
                if part.function_response is not None:
                    results.append(self._result(part.function_response, at))
                else:
                    parts.append(self._part(part, at))
            if results:
                yield Message.tool_response(results)
            if parts or not results:
                yield Message("user", tuple(parts))
        if own:
            yield self._assistant(own, len(contents))

    def _part(self, part: Part, path: str) -> NeutralPart:
        if part.inline_data is not None or part.file_data is not None:
            return _media(part, path, self._given)
        if part.text is not None:
            return Text(part.text)
        kind = next(iter(msgspec.to_builtins(part)), None)
        origin = Origin(self._provider, self._model, WIRE, part)
        return own_part(part, kind, origin, self._given, path)

    def _assistant(self, parts: list[Part], index: int) -> Message:
        content = Content(role="model", parts=parts)
        response = GenerateContentResponse(candidates=[Candidate(content=content)])
        # The ids of calls without one are derived from the body: they differ in each turn.
        body = f"turn {index}".encode()
        reply = parse_reply(response, body=body, provider=self._provider, model=self._model)
        message = reply.message
        for call in message.tool_calls:
            # Only ids that the client has seen are in its responses.
            wire = FunctionCall(name=call.name, id=call.id)
            self._waiting.add(len(self._calls), keys_of_call(wire))
            self._calls.append((call.id, call.name))
        return message

    def _result(self, response: FunctionResponse, path: str) -> ToolResult:
        at = self._waiting.take(keys_of_response(response))
        id, name = (response.id or "", response.name or "") if at is None else self._calls[at]
        parts = [_media(_part_of_result(each), path, self._given) for each in response.parts or ()]
        media = tuple(each for each in parts if isinstance(each, Media))
        content: Any = response.response or {}
        error = set(content) == {"error"}
        # A text stands under one of these keys, because a response is an object.
        is_text = len(content) == 1 and set(content) <= (
            _SENT_KEYS if self._given.own else _TEXT_KEYS
        )
        [text] = content.values() if is_text else [None]
        if isinstance(text, str):
            content = text
        return ToolResult(id, name, content, error, media)


def _part_of_result(part: FunctionResponsePart) -> Part:
    """Return the media of a result as a part of their own."""
    blob, file = part.inline_data, part.file_data
    return Part(
        inline_data=Blob(data=blob.data, mime_type=blob.mime_type) if blob is not None else None,
        file_data=FileData(file_uri=file.file_uri, mime_type=file.mime_type)
        if file is not None
        else None,
    )


def _media(part: Part, path: str, given: Unread) -> NeutralPart:
    """Return the media of a part, as `parse_reply` reads them."""
    content = Content(role="model", parts=[part])
    response = GenerateContentResponse(candidates=[Candidate(content=content)])
    parts = parse_reply(response).message.parts
    if not parts or not isinstance(parts[0], Media):
        given.refuse(path, "expected media as base64 with a type, or as a URI")
    return msgspec.structs.replace(parts[0]) if parts else Text("")


# --- tools ----------------------------------------------------------------------------------------


def _names(tools: Sequence[Tool]) -> Iterator[tuple[Steps, str | None]]:
    for index, tool in enumerate(tools):
        for at, each in enumerate(tool.function_declarations or ()):
            yield ("tools", index, "functionDeclarations", at, "name"), each.name


def _tools_and_choice(sent: GenerateContentRequest, provider: str, given: Unread) -> dict[str, Any]:
    """Return the fields `tools` and `tool_choice` of the request."""
    tool_names(_names(sent.tools or ()), given)
    tools = tuple(_tools(sent.tools or (), provider, given))
    tools, choice = chosen(tools, _choice(sent.tool_config, tools, given), given, *_CALLING)
    calling = sent.tool_config.function_calling_config if sent.tool_config is not None else None
    if calling is None or isinstance(choice, tuple):
        return {"tools": tools, "tool_choice": choice}
    tools = allowed(tools, calling.allowed_function_names or (), given, ".".join(_CALLING))
    if str(calling.mode).upper() == "VALIDATED":
        # Elsewhere, each function is held to its schema.
        tools = tuple(
            msgspec.structs.replace(tool, strict=True) if isinstance(tool, Function) else tool
            for tool in tools
        )
    return {"tools": tools, "tool_choice": choice}


def _tools(tools: Sequence[Tool], provider: str, given: Unread) -> Iterator[Function | ServerTool]:
    for index, tool in enumerate(tools):
        for each in tool.function_declarations or ():
            schema: Any = {}
            if each.parameters_json_schema is not UNSET:
                schema = each.parameters_json_schema
            elif each.parameters is not None:
                schema = json_schema(each.parameters, ordered=given.own)
            parameters = {"type": "object", "properties": {}, **(schema or {})}
            response: Any = None
            if given.own:
                pass
            elif each.response_json_schema is not UNSET:
                response = each.response_json_schema
            elif each.response is not None:
                response = json_schema(each.response)
            name, description = given.name_of(each.name), each.description or ""
            make = functools.partial(Function, name, description, parameters, response)
            yield from function_of(given, make)
        if any(getattr(tool, name) is not None for name in _SERVER_TOOLS):
            from wire.gemini.server_tools import FORMS_OF_CLIENTS  # few requests have one
            from wire.neutral.server_tools import received_tool

            fields = msgspec.to_builtins(tool)
            for key, form in FORMS_OF_CLIENTS.items():
                if key in fields:
                    path = f"tools[{index}]"
                    yield received_tool({key: fields[key]}, form, path, provider, given.told)


def _choice(
    config: ToolConfig | None, tools: Sequence[Function | ServerTool], given: Unread
) -> str | tuple[str, ...] | None:
    calling = config.function_calling_config if config is not None else None
    if calling is None or not tools or calling.mode is None:
        return None
    mode = str(calling.mode).upper()
    if mode == "ANY" and calling.allowed_function_names:
        return tuple(calling.allowed_function_names)
    if given.own and (mode == "VALIDATED" or calling.allowed_function_names):
        given.add(*_CALLING)
    return _MODES.get(mode)


_COUNTS = ("minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties")


def json_schema(schema: Schema, *, ordered: bool = False) -> dict[str, Any]:
    """Convert a schema of Google's dialect to JSON Schema.

    With `ordered` it keeps `propertyOrdering`, which no other vendor reads.

    >>> json_schema(Schema(type="STRING", nullable=True))
    {'type': ['string', 'null']}
    """
    plain: dict[str, Any] = msgspec.to_builtins(schema)
    return _json_schema(plain, ordered)


def _json_schema(node: Mapping[str, Any], ordered: bool) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in node.items():
        if key == "type":
            result[key] = str(value).lower()
        elif key == "properties" or key == "defs":
            name = "$defs" if key == "defs" else key
            # The order in which a model writes them is that of the schema.
            first = {
                each: value[each] for each in node.get("propertyOrdering", ()) if each in value
            }
            result[name] = {
                name: _json_schema(each, ordered) for name, each in {**first, **value}.items()
            }
        elif key in ("items", "additionalProperties") and isinstance(value, Mapping):
            result[key] = _json_schema(value, ordered)
        elif key == "anyOf":
            result[key] = [_json_schema(each, ordered) for each in value]
        elif key in _COUNTS:
            result[key] = int(value)
        elif key == "ref":
            result["$ref"] = re.sub("^#/defs/", "#/$defs/", value)
        elif key == "example":
            result["examples"] = [value]
        elif key != "nullable" and (ordered or key != "propertyOrdering"):
            result[key] = value
    if node.get("nullable"):
        if "type" in result:
            result["type"] = [result["type"], "null"]
        if "anyOf" in result:
            result["anyOf"].append({"type": "null"})
        if "enum" in result:
            result["enum"] = [*result["enum"], None]
    return result
