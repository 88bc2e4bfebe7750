"""The least that a client must do: structs of msgspec with the fields that are read, and a split.

`split` reads well-formed streams of one `data:` line an event, not the standard; the structs drop
what they do not name. What `wire` costs is told as a ratio to this.
"""

from __future__ import annotations

from typing import Any

import msgspec

from bench.bodies import MARK, Turn


class _Camel(msgspec.Struct, omit_defaults=True, rename="camel"):
    pass


class FunctionCall(_Camel):
    name: str
    args: dict[str, Any] = {}
    id: str | None = None


class FunctionResponse(_Camel):
    name: str
    response: dict[str, Any] = {}
    id: str | None = None


class Blob(_Camel):
    mime_type: str = ""
    data: str = ""


class Part(_Camel):
    text: str | None = None
    thought: bool = False
    thought_signature: str | None = None
    function_call: FunctionCall | None = None
    function_response: FunctionResponse | None = None
    inline_data: Blob | None = None


class Content(_Camel):
    parts: list[Part] = []
    role: str = ""


class Candidate(_Camel):
    content: Content | None = None
    finish_reason: str | None = None
    index: int = 0


class Details(_Camel):
    modality: str = ""
    token_count: int = 0


class GeminiUsage(_Camel):
    prompt_token_count: int = 0
    candidates_token_count: int = 0
    total_token_count: int = 0
    thoughts_token_count: int = 0
    prompt_tokens_details: list[Details] = []


class GeminiAnswer(_Camel):
    candidates: list[Candidate] = []
    usage_metadata: GeminiUsage | None = None
    model_version: str = ""
    response_id: str = ""


class GeminiRequest(_Camel):
    contents: list[Content]


class _Snake(msgspec.Struct, omit_defaults=True):
    pass


class Function(_Snake):
    name: str | None = None
    arguments: str | None = None


class Call(_Snake):
    index: int = 0
    id: str | None = None
    type: str | None = None
    function: Function | None = None


class ChatMessage(_Snake):
    role: str | None = None
    content: str | None = None
    refusal: str | None = None
    tool_calls: list[Call] | None = None
    tool_call_id: str | None = None


class Choice(_Snake):
    index: int = 0
    delta: ChatMessage | None = None
    message: ChatMessage | None = None
    finish_reason: str | None = None


class ChatUsage(_Snake):
    prompt_tokens: int = 0
    completion_tokens: int = 0
    total_tokens: int = 0


class ChatAnswer(_Snake):
    id: str = ""
    model: str = ""
    created: int = 0
    choices: list[Choice] = []
    usage: ChatUsage | None = None


class ChatRequest(_Snake):
    model: str
    messages: list[ChatMessage]


class Delta(_Snake):
    type: str = ""
    text: str | None = None
    partial_json: str | None = None
    stop_reason: str | None = None


class Block(_Snake):
    type: str
    text: str | None = None
    id: str | None = None
    name: str | None = None
    input: dict[str, Any] | None = None
    tool_use_id: str | None = None
    content: str | None = None


class MessagesUsage(_Snake):
    input_tokens: int = 0
    output_tokens: int = 0


class MessagesAnswer(_Snake):
    """An event of a stream, or a whole message."""

    type: str
    index: int = 0
    delta: Delta | None = None
    content: list[Block] = []
    content_block: Block | None = None
    message: dict[str, Any] | None = None
    usage: MessagesUsage | None = None


class Said(_Snake):
    role: str
    content: str | list[Block]


class MessagesRequest(_Snake):
    model: str
    max_tokens: int
    messages: list[Said]


DECODERS = {
    "gemini": msgspec.json.Decoder(GeminiAnswer),
    "chat": msgspec.json.Decoder(ChatAnswer),
    "messages": msgspec.json.Decoder(MessagesAnswer),
}
_ENCODE = msgspec.json.Encoder().encode


def text_of(wire: str, chunk: Any) -> str:
    """The text of a decoded chunk, or its piece of a tool call."""
    if wire == "gemini":
        content = chunk.candidates[0].content if chunk.candidates else None
        return (content.parts[0].text or "") if content is not None and content.parts else ""
    if wire == "chat":
        if not chunk.choices:
            return ""
        delta = chunk.choices[0].delta
        if delta.content:
            return str(delta.content)
        return (delta.tool_calls[0].function.arguments or "") if delta.tool_calls else ""
    return (chunk.delta.text or "") if chunk.delta is not None else ""


def size_of(wire: str, answer: Any) -> int:
    """Characters of a whole answer: its text, and the base64 of its image."""
    if wire == "gemini":
        parts = answer.candidates[0].content.parts
        texts = sum(len(part.text or "") for part in parts)
        return texts + sum(len(part.inline_data.data) for part in parts if part.inline_data)
    if wire == "chat":
        return len(answer.choices[0].message.content)
    return sum(len(block.text or "") for block in answer.content)


class Split:
    """Cuts a stream into the data of its events."""

    def __init__(self) -> None:
        self._rest: list[bytes] = []
        self._end = b""

    def feed(self, data: bytes) -> list[bytes]:
        if b"\n" not in data:  # of a long line: it is joined once, or its time would be quadratic
            self._rest.append(data)
            return []
        if self._rest:
            data = b"".join([*self._rest, data])
        if not self._end:
            self._end = b"\r\n\r\n" if b"\r\n" in data else b"\n\n"
        *events, rest = data.split(self._end)
        self._rest = [rest] if rest else []
        return [event[event.find(b"data: ") + 6 :] for event in events]


def target(wire: str, model: str, *, stream: bool) -> tuple[str, bytes]:
    """Path and body of a request that says "Hi"."""
    if wire == "gemini":
        method = "streamGenerateContent?alt=sse" if stream else "generateContent"
        body = b'{"contents":[{"parts":[{"text":"Hi"}],"role":"user"}]}'
        return f"/v1beta/models/{model}:{method}", body
    asked = b'"messages":[{"role":"user","content":"Hi"}],"stream":%s' % _ENCODE(stream)
    if wire == "chat":
        return "/v1/chat/completions", b'{"model":"%s",%s}' % (model.encode(), asked)
    return "/v1/messages", b'{"model":"%s","max_tokens":99,%s}' % (model.encode(), asked)


def built(wire: str, turns: list[Turn]) -> list[Any]:
    """Turns as structs."""
    build = {"gemini": _gemini_content, "chat": _chat_message, "messages": _said}[wire]
    return [build(kind, value) for kind, value in turns]


def history(wire: str, model: str, messages: list[Any]) -> bytes:
    """The body of a request with a conversation."""
    if wire == "gemini":
        return _ENCODE(GeminiRequest(messages))
    if wire == "chat":
        return _ENCODE(ChatRequest(model, messages))
    return _ENCODE(MessagesRequest(model, 99, messages))


def echo(wire: str, answers: list[Any]) -> bytes:
    """The body of a request that sends decoded answers back, each after a question."""
    if wire == "gemini":
        asked = Content([Part(text=MARK)], "user")
        contents = [each.candidates[0].content for each in answers]
        turns = [one for each in contents for one in (asked, each)]
        return _ENCODE(GeminiRequest([*turns, asked]))
    if wire == "chat":
        question = ChatMessage("user", MARK)
        messages = [each.choices[0].message for each in answers]
        told = [one for each in messages for one in (question, each)]
        return _ENCODE(ChatRequest("m", [*told, question]))
    said = Said("user", MARK)
    both = [one for each in answers for one in (said, Said("assistant", each.content))]
    return _ENCODE(MessagesRequest("m", 99, [*both, said]))


def _gemini_content(kind: str, value: Any) -> Content:
    if kind == "call":
        call = FunctionCall(name=value[1], args=value[2], id=value[0])
        return Content([Part(function_call=call)], "model")
    if kind == "result":
        response = FunctionResponse(name=value[1], response=value[2], id=value[0])
        return Content([Part(function_response=response)], "user")
    return Content([Part(text=value)], kind)


def _chat_message(kind: str, value: Any) -> ChatMessage:
    if kind == "call":
        function = Function(value[1], _ENCODE(value[2]).decode())
        return ChatMessage("assistant", tool_calls=[Call(0, value[0], "function", function)])
    if kind == "result":
        return ChatMessage("tool", _ENCODE(value[2]).decode(), tool_call_id=value[0])
    return ChatMessage("assistant" if kind == "model" else "user", value)


def _said(kind: str, value: Any) -> Said:
    if kind == "call":
        block = Block("tool_use", id=value[0], name=value[1], input=value[2])
        return Said("assistant", [block])
    if kind == "result":
        result = Block("tool_result", tool_use_id=value[0], content=_ENCODE(value[2]).decode())
        return Said("user", [result])
    return Said("assistant" if kind == "model" else "user", value)
