"""Converts requests of /api/chat, which a client has sent, to neutral requests."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from wire.core.arguments import checked_arguments
from wire.core.decoders import from_base64
from wire.core.errors import RuleError
from wire.neutral.media_types import HEAD_BYTES, media_type_of
from wire.neutral.messages import Media, Message, Part, Role, Text, ToolResult
from wire.neutral.request import Output, Request
from wire.neutral.request import Tool as Function
from wire.neutral.serving import (
    ReceivedRequest,
    decoded_request,
    function_of,
    renamed,
    result_of,
    tool_names,
)
from wire.neutral.settings import effort_and_settings
from wire.neutral.unread import Kinds, Unread, find_unread, keys
from wire.ollama.parse import WIRE, parse_reply
from wire.ollama.types import ChatRequest, ChatResponse, GenerateRequest, Options, Tool
from wire.ollama.types import Message as WireMessage

_CALL = keys("id type", function=keys("index name arguments"))
_OF_USER = keys("role content images")
_MESSAGE = Kinds(
    "role",
    {
        "assistant": keys("role content thinking images", tool_calls=_CALL),
        "tool": keys("role content images tool_name tool_call_id"),
    },
    _OF_USER,
)
OPTIONS = keys("temperature top_p num_predict stop seed")
"""The options that have a neutral form."""
_READ = keys(
    "model stream think format",
    messages=_MESSAGE,
    options=OPTIONS,
    tools=keys("type", function=keys("name description parameters")),
)
"""What is read of a body."""
_READ_OF_OWN = {key: shape for key, shape in _READ.items() if key != "think"}
"""As `_READ`, for a model of the client's own API, which gets `think` as it came."""


@checked_arguments()
def parse_request(
    body: bytes, *, provider: str = "", model: str = "", counts: bool = False
) -> ReceivedRequest:
    """Convert the body of a request for an answer.

    >>> parsed = parse_request(b'{"model":"qwen3","messages":[{"role":"user","content":"Hi"}]}')
    >>> parsed.request.messages, parsed.stream
    ((Message('user', 'Hi'),), True)

    `provider` and `model` are those whose messages the messages of the assistant are; the wire has
    no endpoint that `counts`. Raises `RuleError` with the JSON path of a value of a wrong type.
    """
    sent = decoded_request(body, ChatRequest)
    given = find_unread(body, _READ_OF_OWN if provider else _READ, own=bool(provider))
    tools = tuple(_tools(sent.tools or (), given))  # first: it finds the names
    messages = _Reader(provider, model, given).messages(sent.messages or ())
    return received_of(sent, renamed(messages, given), given, tools)


def received_of(
    sent: ChatRequest | GenerateRequest,
    messages: tuple[Message, ...],
    given: Unread,
    tools: tuple[Function, ...] = (),
) -> ReceivedRequest:
    """Convert what requests of both endpoints have beside their messages."""
    options = sent.options or Options()
    most = options.num_predict
    if given.own:
        for key in ("truncate", "shift"):
            if getattr(sent, key) is None:
                given.unsaid(key)
        if most is not None and most < 1:
            given.add("options", "num_predict")
    request = Request(
        tools=tools,
        messages=messages,
        max_tokens=most if most is None or most > 0 else None,
        temperature=options.temperature,
        top_p=options.top_p,
        stop=tuple(options.stop or ()),
        seed=options.seed,
        **effort_and_settings(given, WIRE, None if given.own else _effort(sent.think)),
        thoughts="auto" if sent.think and not given.own else None,
        output=_output(sent.format, given),
    )
    return ReceivedRequest(
        request=request,
        model=sent.model or "",
        stream=sent.stream is not False,
        thoughts=sent.think is not False,
        notes=given.notes(),
        unread=given,
    )


def _effort(think: bool | str | None) -> str | None:
    """Return the effort that `think` means; `None` for the default of the model."""
    if isinstance(think, bool):
        return "medium" if think else "none"
    return "xhigh" if think == "max" else think


def _output(form: Any, given: Unread) -> Output | None:
    if form in (None, ""):
        return None
    if isinstance(form, dict):
        return Output(form, "answer")
    if form != "json":
        given.refuse("format", 'expected "json" or a JSON Schema')
    return Output({})


# --- messages -------------------------------------------------------------------------------------


class _Reader:
    """Converts the messages of one conversation."""

    def __init__(self, provider: str, model: str, given: Unread) -> None:
        self._provider, self._model, self._given = provider, model, given
        self._waiting: dict[str, str] = {}  # id of a call without a result -> name of its tool

    def messages(self, sent: Sequence[WireMessage]) -> Iterator[Message]:
        """Yield the messages; results in a row become one message."""
        results: list[ToolResult] = []
        for index, each in enumerate(sent):
            role = (each.role or "").lower()
            if role == "tool":
                results.append(self._result(each, index))
                continue
            if results:
                yield Message.tool_response(results)
                results = []
            if role == "assistant":
                yield self._assistant(each, index)
            elif role in ("user", "system"):
                named: Role = "user" if role == "user" else "system"
                yield Message(named, tuple(self._parts(each, index)))
            else:
                problem = f"expected system, user, assistant or tool, not {each.role!r}"
                self._given.refuse(f"messages[{index}].role", problem)
        if results:
            yield Message.tool_response(results)

    def _assistant(self, sent: WireMessage, index: int) -> Message:
        # Clients send calls without ids, which get one for each message.
        turn = f"turn {index}".encode()
        answer = ChatResponse(message=sent)
        message = parse_reply(answer, body=turn, provider=self._provider, model=self._model).message
        self._waiting = {call.id: call.name for call in message.tool_calls}
        return message

    def _result(self, sent: WireMessage, index: int) -> ToolResult:
        """Convert a result; one without an id is that of the next call of its tool."""
        id, name = sent.tool_call_id or "", sent.tool_name or ""
        if id not in self._waiting:
            fits = (each for each, tool in self._waiting.items() if tool == name or not name)
            id = id or next(fits, "")
        found = self._waiting.pop(id, "") or name
        for key in ("tool_name", "tool_call_id"):
            if getattr(sent, key) is None:  # the neutral result has both
                self._given.unsaid("messages", index, key)
        steps = ("messages", index, "content")
        return result_of(id, found, self._parts(sent, index), self._given, *steps)

    def _parts(self, sent: WireMessage, index: int) -> list[Part]:
        return parts_of(sent.content, sent.images, self._given, f"messages[{index}].")


def parts_of(
    text: str | None, images: Sequence[str] | None, given: Unread, path: str = ""
) -> list[Part]:
    """Convert a text and its images; `path` is where both stand."""
    parts: list[Part] = [Text(text)] if text else []
    for at, image in enumerate(images or ()):
        try:
            data = from_base64(image)
            kind = media_type_of("", data[:HEAD_BYTES]) or "image/png"
            parts.append(Media(data=data, media_type=kind))
        except (ValueError, RuleError):
            given.refuse(f"{path}images[{at}]", "expected base64 of an image")
    return parts or [Text("")]


# --- tools ----------------------------------------------------------------------------------------


def _tools(tools: Sequence[Tool], given: Unread) -> Iterator[Function]:
    named = [(index, each.function) for index, each in enumerate(tools) if each.function]
    tool_names(
        ((("tools", index, "function", "name"), function.name) for index, function in named), given
    )
    for _, function in named:
        found = function.parameters
        schema = {"type": "object", **(found if isinstance(found, Mapping) else {})}
        name, words = given.name_of(function.name or ""), function.description or ""
        yield from function_of(given, functools.partial(Function, name, words, schema))
