"""Reads the interactions of a cassette as a conversation: turns, calls, results, replies.

The body of a request for a reply becomes turns. Its response is decoded by the parsers that a
client uses. Requests to other endpoints keep their JSON. Nothing here raises for a body that a
vendor did not send: what cannot be decoded is shown as it was recorded.
"""

from __future__ import annotations

import bisect
import hashlib
import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple
from urllib.parse import SplitResult, unquote, urlsplit

import msgspec
from msgspec import UNSET, UnsetType

from wire import anthropic, gemini, openai
from wire.anthropic import reader as anthropic_reader
from wire.core.lenient import Unreadable
from wire.core.memory import encode
from wire.errors import WireError, one_line
from wire.gemini import reader as gemini_reader
from wire.neutral import messages as neutral
from wire.openai import responses
from wire.openai.chat import reader as chat_reader
from wire.openai.responses import reader as responses_reader
from wire.testing.cassette.format.bodies import body_bytes, body_chunks
from wire.testing.cassette.format.file import Body, End, Interaction, Response
from wire.testing.cassette.format.kept_headers import kept_url

PartKind = Literal["text", "thought", "call", "result", "file", "other"]

_MAX_DEPTH = 200
"""Levels of JSON that are shown as JSON. A deeper value is shown as text: each function here that
walks a value calls itself."""


class _Shown(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Base of the structs here: fields with their default are left out of JSON."""


class Part(_Shown, frozen=True, kw_only=True):
    """One part of a turn."""

    kind: PartKind
    text: str = ""
    """The text; of a call, arguments that are not a JSON object."""
    name: str = ""
    """Name of the tool or of the file; of another part, the vendor's name of its kind."""
    id: str = ""
    """Id of the call."""
    value: Any = UNSET
    """Arguments of a call, result of a tool, data of another part: JSON."""
    media_type: str = ""
    size: int | UnsetType = UNSET
    """Bytes of a file."""
    url: str = ""
    """Where a file is that is not in the request."""
    signature: str = ""
    """The vendor's signature of a thought, a call or a text; or its encrypted content."""
    error: bool = False
    """The result reports an error."""
    refusal: bool = False
    """With this text the model refuses the request."""
    files: list[Part] = []


class Turn(_Shown, frozen=True, kw_only=True):
    """One message of a conversation."""

    role: str
    """As on the wire; the role of a model is `assistant`."""
    name: str = ""
    parts: list[Part]


class Stop(_Shown, frozen=True, kw_only=True):
    """Why the model stopped."""

    reason: str
    raw: str = ""
    """The vendor's word."""
    message: str = ""


class Failure(_Shown, frozen=True, kw_only=True):
    """The error that a client raises for a response."""

    type: str
    message: str


class Times(_Shown, frozen=True, kw_only=True):
    """When the pieces of a response arrived, in milliseconds after the request."""

    started: int | UnsetType = UNSET
    """When the request was sent, in milliseconds after the first recorded one."""
    chunks: list[int]
    """One for each chunk of the body: the first is the time to the first byte."""
    events: list[int] = []
    """When each event was complete; empty if that is not known."""

    @property
    def first_byte(self) -> int:
        """When the body began; 0 if there is none."""
        return self.chunks[0] if self.chunks else 0

    @property
    def end(self) -> int:
        """When the last chunk arrived; 0 if there is none."""
        return self.chunks[-1] if self.chunks else 0

    @property
    def longest_gap(self) -> int:
        """The longest time between two chunks; 0 if there is one chunk."""
        return max((b - a for a, b in itertools.pairwise(self.chunks)), default=0)


class Exchange(_Shown, frozen=True, kw_only=True):
    """One request and its response."""

    number: int
    """Position in the cassette, from 1."""
    method: str
    url: str
    status: int
    end: End
    wire: str = ""
    """Name of the wire, if the request is one for a reply; else empty."""
    model: str = ""
    attempt: int = 1
    """Above 1 if the same request, which failed, is recorded before."""
    retry_of: int = 0
    """Number of the attempt before; 0 if there is none."""
    of_attempts: int = 1
    settings: dict[str, Any] = {}
    """Fields of the request besides the conversation and the tools."""
    tools: list[str] = []
    """Names of the tools that the request declares."""
    turns: list[Turn] = []
    """The conversation that the request contains."""
    continues: int = 0
    """Number of the exchange whose conversation this request continues; 0 if it begins one."""
    known: int = 0
    """Number of first turns that are those of `continues` and of its reply."""
    reply: Turn | UnsetType = UNSET
    stop: Stop | UnsetType = UNSET
    usage: dict[str, Any] = {}
    """Token counts that are not 0."""
    notes: list[str] = []
    """What the parser changed or dropped."""
    error: Failure | UnsetType = UNSET
    events: int = 0
    """Number of events of a streamed response."""
    retry_after: str = ""
    times: Times | UnsetType = UNSET
    request: Any = UNSET
    """The body of a request to another endpoint: JSON, a text, or type, size and digest of
    bytes.
    """
    response: Any = UNSET
    """The body of its response, or of one that could not be decoded."""

    @property
    def failed(self) -> bool:
        """Whether a client would not get a complete response."""
        return self.status >= 400 or self.end != "eof" or self.error is not UNSET


class Conversation(_Shown, frozen=True, kw_only=True):
    """A cassette as a person reads it."""

    name: str
    exchanges: list[Exchange]


class _Wire(NamedTuple):
    path: re.Pattern[str]
    methods: tuple[str, ...]
    read: Callable[[bytes], Any]
    contract: Any
    turns: Callable[[Mapping[str, Any]], Iterator[Turn]]
    conversation: tuple[str, ...]
    """Fields of the request that hold the conversation and the tools."""


def conversation(interactions: Sequence[Interaction], name: str = "") -> Conversation:
    """Read the interactions of a cassette."""
    exchanges: list[Exchange] = []
    bodies: list[bytes] = []
    for number, each in enumerate(interactions, 1):
        body = body_bytes(each.request.body)
        exchange = _exchange(number, each, body)
        attempt, retry_of = 1, 0
        for earlier, sent in zip(reversed(exchanges), reversed(bodies), strict=True):
            if (earlier.method, earlier.url, sent) == (exchange.method, exchange.url, body):
                if earlier.failed:
                    attempt, retry_of = earlier.attempt + 1, earlier.number
                break
        continues, known = _continued(exchange, exchanges)
        exchanges.append(
            msgspec.structs.replace(
                exchange, attempt=attempt, retry_of=retry_of, continues=continues, known=known
            )
        )
        bodies.append(body)
    return Conversation(name=name, exchanges=_with_attempts(exchanges, bodies))


def wire_of(method: str, url: str) -> str:
    """The name of the wire of a request for a reply; empty for another endpoint.

    >>> wire_of("POST", "https://api.openai.com/v1/chat/completions")
    'openai'
    >>> wire_of("POST", "https://api.openai.com/v1/embeddings")
    ''
    """
    path = split_url(url).path
    for name, wire in _WIRES.items():
        if method in wire.methods and wire.path.search(path):
            return name
    return ""


def split_url(url: str) -> SplitResult:
    """The parts of a URL; one that is malformed is a path as a whole.

    >>> split_url("https://[llm.example/v1").path
    'https://[llm.example/v1'
    """
    try:
        return urlsplit(url)
    except ValueError:
        return SplitResult("", "", url, "", "")


def _without_keys(url: str) -> str:
    try:
        return kept_url(url)  # a recording of another tool, or one edited by hand, may have a key
    except ValueError:
        return url


def json_of(body: Body | UnsetType) -> Any:
    """The JSON value of a body; `UNSET` if it is not JSON."""
    if body is UNSET:
        return UNSET
    try:
        value = msgspec.json.decode(body.json if body.json is not UNSET else body_bytes(body))
    except (ValueError, RecursionError):
        return UNSET
    return UNSET if _is_deep(value) else value


def _is_deep(value: Any) -> bool:
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(_MAX_DEPTH):
        level = [
            inner
            for each in level
            for inner in (each.values() if isinstance(each, dict) else each)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return False
    return True


def readable(body: Body | UnsetType, headers: Mapping[str, str]) -> Any:
    """A body for a person: its JSON, its text, or the type, size and digest of its bytes."""
    value = json_of(body)
    if body is UNSET or value is not UNSET:
        return value
    data = body_bytes(body)
    if body.base64 is not UNSET:
        digest = hashlib.sha256(data).hexdigest()
        return {
            "media_type": headers.get("content-type", ""),
            "size": len(data),
            "sha256": digest,
        }
    return data.decode("utf-8", "replace")


def _exchange(number: int, interaction: Interaction, body: bytes) -> Exchange:
    request, response = interaction.request, interaction.response
    name = wire_of(request.method, request.url)
    head: dict[str, Any] = {
        "number": number,
        "method": request.method,
        "url": _without_keys(request.url),
        "status": response.status,
        "end": response.end,
        "retry_after": response.headers.get("retry-after", ""),
    }
    if response.body is not UNSET and response.body.events is not UNSET:
        head["events"] = len(response.body.events)
    if response.times or interaction.started is not UNSET:
        chunks = list(itertools.accumulate(response.times or ()))
        head["times"] = Times(
            started=interaction.started, chunks=chunks, events=_event_times(response, chunks)
        )
    sent = json_of(request.body)
    if not name or not (isinstance(sent, dict) or request.body is UNSET):
        return Exchange(
            **head,
            request=readable(request.body, request.headers),
            response=readable(response.body, response.headers),
        )
    wire, fields = _WIRES[name], sent if isinstance(sent, dict) else {}
    kept = {key: value for key, value in fields.items() if key not in wire.conversation}
    model = ""
    if isinstance(kept.get("model"), str):
        model = kept.pop("model")
    elif found := _MODEL.search(split_url(request.url).path):
        model = unquote(found[1])
    return Exchange(
        **head,
        wire=name,
        model=model,
        settings=kept,
        tools=_tool_names(fields.get("tools")),
        turns=_named(_joined(wire.turns(fields))),
        **_reply(wire, interaction, body),
    )


def _event_times(response: Response, times: Sequence[int]) -> list[int]:
    """When the chunk with the end of each event came."""
    if response.body is UNSET or response.body.events is UNSET:
        return []
    events = [len(each) for each in body_chunks(response.body)]
    chunks = events if response.chunks is UNSET else response.chunks
    if len(chunks) != len(times) or sum(chunks) != sum(events):
        return []
    ends = list(itertools.accumulate(chunks))
    return [times[bisect.bisect_left(ends, end)] for end in itertools.accumulate(events)]


def _reply(wire: _Wire, interaction: Interaction, body: bytes) -> dict[str, Any]:
    """The fields of an exchange that the response has."""
    response = interaction.response
    data = body_bytes(response.body)
    if not 200 <= response.status < 300:
        error = wire.contract.parse_error(response.status, response.headers, data)
        return {"error": _failure(error)}
    failed: WireError | None = None
    try:
        answer = wire.read(data)
    except WireError as error:
        failed, answer = error, error.partial
    except (Unreadable, ValueError, RecursionError) as error:
        return {
            "error": Failure(type=type(error).__name__, message=one_line(str(error))),
            "response": readable(response.body, response.headers),
        }
    if answer is None:
        assert failed is not None
        shown = readable(response.body, response.headers) if data else UNSET
        return {"error": _failure(failed), "response": shown}
    reply = wire.contract.parse_reply(answer, body=body, error=failed)
    stop, counts = reply.stop, reply.usage
    return {
        "reply": Turn(role="assistant", parts=[_part(part) for part in reply.message.parts]),
        "stop": Stop(reason=stop.reason, raw=stop.raw or "", message=stop.message),
        "usage": {
            name: value for name in counts.__struct_fields__ if (value := getattr(counts, name))
        }
        if counts
        else {},
        "notes": [str(note) for note in reply.notes],
        **({"error": _failure(failed)} if failed is not None else {}),
    }


def _failure(error: WireError) -> Failure:
    return Failure(type=type(error).__name__, message=one_line(error.message))


def _continued(exchange: Exchange, earlier: Sequence[Exchange]) -> tuple[int, int]:
    """The number of the latest exchange whose conversation the request contains, and the number of
    turns that both have, the reply of that exchange included.
    """
    for other in reversed(earlier):
        if not exchange.turns or other.wire != exchange.wire or not other.turns:
            continue
        if exchange.turns[: len(other.turns)] != other.turns:
            continue
        known = len(other.turns)
        following = exchange.turns[known : known + 1]
        if other.reply is not UNSET and following and _say_same(following[0], other.reply):
            known += 1
        return other.number, known
    return 0, 0


def _say_same(sent: Turn, reply: Turn) -> bool:
    """Whether a turn of a request is an earlier reply, whose ids and thoughts a client may omit."""

    def content(turn: Turn) -> list[Any]:
        return [
            (part.kind, part.text, part.name, part.value)
            for part in turn.parts
            if part.kind != "thought" and (part.kind != "text" or part.text)
        ]

    return sent.role == reply.role and content(sent) == content(reply)


def _with_attempts(exchanges: list[Exchange], bodies: list[bytes]) -> list[Exchange]:
    """The exchanges with the number of attempts of their request."""
    most: dict[int, int] = {}
    open_: dict[tuple[str, str, bytes], list[int]] = {}
    for index, (each, body) in enumerate(zip(exchanges, bodies, strict=True)):
        same = open_.setdefault((each.method, each.url, body), [])
        if each.attempt == 1:
            same.clear()
        same.append(index)
        most |= dict.fromkeys(same, each.attempt)
    return [
        msgspec.structs.replace(each, of_attempts=most[index])
        for index, each in enumerate(exchanges)
    ]


# --- parts ----------------------------------------------------------------------------------------


def _part(part: neutral.Part) -> Part:
    """A part that the library parsed."""
    match part:
        case neutral.Text():
            return Part(kind="text", text=part.text, signature=part.signature, refusal=part.refusal)
        case neutral.Thought():
            sealed = next((str(each["data"]) for each in part.details if each.get("data")), "")
            return Part(kind="thought", text=part.text, signature=part.signature or sealed)
        case neutral.ToolCall():
            return Part(
                kind="call",
                name=part.name,
                id=part.id,
                value=part.arguments if part.arguments is not None else UNSET,
                text=part.text if part.arguments is None else "",
                signature=part.signature,
            )
        case neutral.Media():
            size = UNSET if part.data is None else len(part.data)
            return Part(
                kind="file",
                media_type=part.media_type,
                name=part.name,
                url=part.url or "",
                size=size,
            )
        case neutral.ToolResult():  # no parser makes one of what a model sent
            return _result(part.id, part.name, part.content, part.error)
        case neutral.Other():
            return Part(kind="other", name=part.kind, value=msgspec.json.decode(encode(part.data)))


def _other(value: Any, kind: str = "") -> Part:
    if not kind and isinstance(value, dict):
        kind = str(value.get("type") or next(iter(value), ""))
    return Part(kind="other", name=kind, value=value)


def _text(value: Any) -> Part:
    return Part(kind="text", text=value) if isinstance(value, str) else _other(value, "text")


def _result(id: Any, name: str, content: Any, error: bool, files: Sequence[Part] = ()) -> Part:
    id = id if isinstance(id, str) else ""
    if isinstance(content, str):
        return Part(kind="result", id=id, name=name, text=content, error=error, files=list(files))
    return Part(kind="result", id=id, name=name, value=content, error=error, files=list(files))


def _file(
    media_type: Any, data: Any = None, url: Any = None, name: Any = None, *, kind: str = ""
) -> Part:
    """A file of a request: base64 or a `data:` URL in `data`, or its address in `url`."""
    if isinstance(url, str) and url[:5].lower() == "data:":
        head, _, data = url[5:].partition(",")
        media_type, url = media_type or head.partition(";")[0], None
    size: int | UnsetType = UNSET
    if isinstance(data, str):
        if data[:5].lower() == "data:":
            head, _, data = data[5:].partition(",")
            media_type = media_type or head.partition(";")[0]
        size = len(data) * 3 // 4 - data[-2:].count("=")
    return Part(
        kind="file",
        media_type=media_type if isinstance(media_type, str) else kind,
        size=size,
        url=url if isinstance(url, str) else "",
        name=name if isinstance(name, str) else "",
    )


def _of_model(contract: Any, wire_json: Any, *, part: bool = False) -> list[Part]:
    """The parts of a model's message in a request, by the parser of its wire."""
    try:
        message = contract.parse_message(encode(wire_json), part=part)[0]
        return [_part(each) for each in message.parts] or [_other(wire_json, "message")]
    except (WireError, Unreadable, ValueError, RecursionError):
        return [_other(wire_json, "message")]


def _items(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _get(value: Any, *names: str) -> Any:
    """The first of these keys that an object has; Gemini accepts two spellings of each."""
    if isinstance(value, dict):
        return next((value[name] for name in names if name in value), None)
    return None


def _tool_names(tools: Any) -> list[str]:
    names: list[str] = []
    for tool in _items(tools):
        declared = _get(tool, "functionDeclarations", "function_declarations")
        for each in _items(declared) or [_get(tool, "function", "custom") or tool]:
            name = _get(each, "name", "type")
            if isinstance(name, str):
                names.append(name)
            elif isinstance(each, dict):
                names += [str(key) for key in each]
    return names


def _joined(turns: Iterator[Turn]) -> list[Turn]:
    """Turns of the same model in succession become one: Responses sends each item by itself."""
    joined: list[Turn] = []
    for turn in turns:
        if joined and turn.role == joined[-1].role and turn.role in ("assistant", "tool"):
            joined[-1] = msgspec.structs.replace(turn, parts=[*joined[-1].parts, *turn.parts])
        else:
            joined.append(turn)
    return joined


def _named(turns: list[Turn]) -> list[Turn]:
    """Results get the name of the call that they answer, if they have none of their own."""
    names = {part.id: part.name for turn in turns for part in turn.parts if part.kind == "call"}
    return [
        msgspec.structs.replace(
            turn,
            parts=[
                msgspec.structs.replace(part, name=names.get(part.id, ""))
                if part.kind == "result" and not part.name
                else part
                for part in turn.parts
            ],
        )
        for turn in turns
    ]


# --- Gemini ---------------------------------------------------------------------------------------


def _gemini_turns(fields: Mapping[str, Any]) -> Iterator[Turn]:
    system = _get(fields, "systemInstruction", "system_instruction")
    if system is not None:
        yield Turn(role="system", parts=_gemini_parts(system))
    for content in _items(fields.get("contents")):
        if _get(content, "role") == "model":
            parts = [_in_camel_case(part) for part in _items(_get(content, "parts"))]
            yield Turn(role="assistant", parts=_of_model(gemini, {**content, "parts": parts}))
        else:
            parts = _gemini_parts(content)
            results = parts and all(part.kind == "result" for part in parts)
            yield Turn(role="tool" if results else "user", parts=parts)


def _in_camel_case(part: Any) -> Any:
    """A part with the keys that responses have. Requests may have keys such as `function_call`."""

    def renamed(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        return {re.sub("_([a-z])", lambda m: m[1].upper(), key): value[key] for key in value}

    # The keys inside `args` are those of the tool.
    part = renamed(part)
    if not isinstance(part, dict):
        return part
    return {key: renamed(inner) for key, inner in part.items()}


def _gemini_parts(content: Any) -> list[Part]:
    if isinstance(content, str):
        return [_text(content)]
    parts = _get(content, "parts")
    return [_gemini_part(part) for part in _items(parts)] or [_other(content)]


def _gemini_part(part: Any) -> Part:
    if isinstance(part, str):
        return _text(part)
    result = _get(part, "functionResponse", "function_response")
    if isinstance(result, dict):
        files = [_gemini_part(each) for each in _items(result.get("parts"))]
        response = result.get("response")
        error = isinstance(response, dict) and "error" in response
        return _result(result.get("id"), str(result.get("name", "")), response, error, files)
    inline = _get(part, "inlineData", "inline_data")
    if isinstance(inline, dict):
        name = _get(inline, "displayName", "display_name")
        return _file(_get(inline, "mimeType", "mime_type"), inline.get("data"), name=name)
    linked = _get(part, "fileData", "file_data")
    if isinstance(linked, dict):
        url = _get(linked, "fileUri", "file_uri")
        return _file(_get(linked, "mimeType", "mime_type"), url=url)
    if isinstance(part, dict) and "text" in part:
        return _text(part["text"])
    return _other(part)


# --- chat completions -----------------------------------------------------------------------------


def _chat_turns(fields: Mapping[str, Any]) -> Iterator[Turn]:
    for message in _items(fields.get("messages")):
        role, content = _get(message, "role"), _get(message, "content")
        name = _get(message, "name")
        name = name if isinstance(name, str) else ""
        if role == "assistant":
            yield Turn(role="assistant", name=name, parts=_of_model(openai, message))
        elif role in ("tool", "function"):
            parts = [_chat_part(each) for each in _items(content)]
            yield Turn(
                role="tool", parts=[_joined_result(message.get("tool_call_id"), name, parts)]
            )
        else:
            parts = [_chat_part(each) for each in _items(content)] or [_other(message)]
            yield Turn(role=role if isinstance(role, str) else "", name=name, parts=parts)


def _joined_result(id: Any, name: str, parts: list[Part], error: bool = False) -> Part:
    """A result whose content is texts and files."""
    files = [part for part in parts if part.kind == "file"]
    others = [part.value for part in parts if part.kind == "other"]
    texts = "\n".join(part.text for part in parts if part.kind == "text")
    return _result(id, name, [texts, *others] if others else texts, error, files)


def _chat_part(part: Any) -> Part:
    if isinstance(part, str):
        return _text(part)
    kind = _get(part, "type")
    inner = _get(part, str(kind))
    if kind in ("text", "refusal") and isinstance(inner, str):
        return Part(kind="text", text=inner, refusal=kind == "refusal")
    if kind in ("image_url", "video_url", "audio_url"):
        return _file(None, url=_get(inner, "url") or inner, kind=str(kind).partition("_")[0])
    if kind == "input_audio":
        return _file(f"audio/{_get(inner, 'format') or '*'}", _get(inner, "data"))
    if kind == "file":
        data, name = _get(inner, "file_data"), _get(inner, "filename")
        return _file(None, data, _get(inner, "file_id"), name, kind="file")
    return _other(part)


# --- Messages -------------------------------------------------------------------------------------


def _messages_turns(fields: Mapping[str, Any]) -> Iterator[Turn]:
    if fields.get("system"):
        yield Turn(role="system", parts=[_block(each) for each in _items(fields["system"])])
    for message in _items(fields.get("messages")):
        role, content = _get(message, "role"), _get(message, "content")
        if role == "assistant" and isinstance(content, list):
            parts = _of_model(anthropic, {"type": "message", "content": content})
        else:
            parts = [_block(each) for each in _items(content)] or [_other(message)]
        if parts and all(part.kind == "result" for part in parts):
            role = "tool"
        yield Turn(role=role if isinstance(role, str) else "", parts=parts)


def _block(block: Any) -> Part:
    if isinstance(block, str):
        return _text(block)
    kind = _get(block, "type")
    if kind == "text":
        return _text(block.get("text"))
    if kind == "tool_result":
        parts = [_block(each) for each in _items(block.get("content"))]
        return _joined_result(block.get("tool_use_id"), "", parts, block.get("is_error") is True)
    source = _get(block, "source")
    if kind in ("image", "document", "file") and isinstance(source, dict):
        url, name = _get(source, "url", "file_id"), block.get("title")
        if source.get("type") == "text":
            text = str(source.get("data", ""))
            part = _file(source.get("media_type"), name=name)
            return msgspec.structs.replace(part, size=len(text.encode()))
        return _file(source.get("media_type"), source.get("data"), url, name, kind=str(kind))
    return _other(block)


# --- Responses ------------------------------------------------------------------------------------


def _responses_turns(fields: Mapping[str, Any]) -> Iterator[Turn]:
    if isinstance(fields.get("instructions"), str):
        yield Turn(role="system", parts=[_text(fields["instructions"])])
    for item in _items(fields.get("input")):
        yield _item(item)


def _item(item: Any) -> Turn:
    if isinstance(item, str):
        return Turn(role="user", parts=[_text(item)])
    kind, role = _get(item, "type") or "message", _get(item, "role")
    if kind == "message" and role != "assistant":
        parts = [_input_part(each) for each in _items(_get(item, "content"))] or [_other(item)]
        return Turn(role=role if isinstance(role, str) else "", parts=parts)
    if kind == "message" and isinstance(_get(item, "content"), str):
        return Turn(role="assistant", parts=[_text(item["content"])])
    if kind in ("function_call_output", "custom_tool_call_output"):
        parts = [_input_part(each) for each in _items(item.get("output"))]
        return Turn(role="tool", parts=[_joined_result(item.get("call_id"), "", parts)])
    return Turn(role="assistant", parts=_of_model(responses, item, part=True))


def _input_part(part: Any) -> Part:
    if isinstance(part, str):
        return _text(part)
    kind = _get(part, "type")
    if kind in ("input_text", "output_text", "text"):
        return _text(part.get("text"))
    if kind in ("input_image", "input_file"):
        url = _get(part, "image_url", "file_url", "file_id")
        return _file(
            None, part.get("file_data"), url, part.get("filename"), kind=kind.removeprefix("input_")
        )
    return _other(part)


_MODEL = re.compile(r"/(?:models|tunedModels|endpoints|deployments)/([^/:]+)")

_WIRES: dict[str, _Wire] = {
    "gemini": _Wire(
        re.compile(r":(?:generateContent|streamGenerateContent)$"),
        ("POST",),
        gemini_reader.parse_response,
        gemini,
        _gemini_turns,
        ("contents", "systemInstruction", "system_instruction", "tools"),
    ),
    "openai": _Wire(
        re.compile(r"/chat/completions$"),
        ("POST",),
        chat_reader.parse_completion,
        openai,
        _chat_turns,
        ("messages", "tools"),
    ),
    "openai.responses": _Wire(
        re.compile(r"/responses(?:/resp_[^/]+)?$"),
        ("POST", "GET"),
        responses_reader.parse_response,
        responses,
        _responses_turns,
        ("input", "instructions", "tools"),
    ),
    "anthropic": _Wire(
        re.compile(r"/v1/messages$|/messages$|:(?:rawPredict|streamRawPredict)$"),
        ("POST",),
        anthropic_reader.parse_message,
        anthropic,
        _messages_turns,
        ("messages", "system", "tools"),
    ),
}
