"""Writes neutral replies as answers of /api/chat: whole, as their lines, or while they arrive."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from wire.catalogue.usage import Usage
from wire.core.arguments import checked_arguments
from wire.neutral.messages import (
    Done,
    Event,
    Media,
    Other,
    Reply,
    TextDelta,
    ThoughtDelta,
    ToolCall,
    ToolCallEnd,
)
from wire.neutral.serving import (
    ReceivedRequest,
    ResponseHead,
    Split,
    argument_object,
    checked_feed,
    encoded,
    head_of,
    in_one_piece,
    own_json,
    rendering,
    stop_word_of,
)
from wire.ollama.finish import COLUMN
from wire.ollama.parse import WIRE

_STOPS = {"end": "stop", "tool_calls": "stop", "length": "length", "pause": "length"}
_Lines = list[dict[str, Any]]
NDJSON = "application/x-ndjson"
"""The content type of streams."""
VERSION = "0.12.0"
"""The version of the server whose answers these are."""
RUNNING = b"Ollama is running"
"""What the root of the server says."""


def takes(media: Media) -> bool:
    """Return whether an answer can have media of a reply.

    >>> takes(Media(data=b"RIFF", media_type="audio/wav"))
    False
    """
    return media.data is not None and media.media_type.startswith("image/")


def body_of(
    reply: Reply, received: ReceivedRequest | None = None, head: ResponseHead | None = None
) -> dict[str, Any]:
    """Return a reply as an answer.

    >>> from wire.neutral.messages import Message, Stop
    >>> body_of(Reply(Message.assistant("Hello."), Stop("end")))["message"]
    {'role': 'assistant', 'content': 'Hello.'}

    `received` is the request of a client of another server, which gets the parts that it can use;
    without it, the answer has all parts of the reply that Ollama can send. `head` replaces the
    model of the reply.
    """
    message = own_json(reply.message, WIRE) if received is None else None
    word = stop_word_of(reply, WIRE, COLUMN, _STOPS, shown=received is not None)
    body: dict[str, Any] = {
        **_head(head or head_of(reply)),
        "message": message or _message(reply, received),
        "done": True,
        "done_reason": word,
        "total_duration": 1,
        "load_duration": 1,
    }
    if reply.usage is not None or received is not None:
        body |= counts_of(reply.usage or Usage())
    if received is None and reply.usage is not None and not reply.usage.input:
        del body["prompt_eval_count"]  # a prompt that was cached is not counted
    return body


def counts_of(usage: Usage) -> dict[str, Any]:
    """Convert usage to the counts of the wire.

    >>> counts_of(Usage(input=30, output=5))["eval_count"]
    5
    """
    return {
        "prompt_eval_count": usage.input,
        "prompt_eval_duration": 1,
        "eval_count": usage.output,
        "eval_duration": 1,
    }


def _head(head: ResponseHead) -> dict[str, Any]:
    created = head.moment.isoformat().replace("+00:00", "Z")
    return {"model": head.model, "created_at": created}


def _message(reply: Reply, received: ReceivedRequest | None) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": reply.text}
    if reply.thought and (received is None or received.thoughts):
        message["thinking"] = reply.thought
    if images := _images(reply, received):
        message["images"] = images
    if reply.tool_calls:
        message["tool_calls"] = [call_of(at, each) for at, each in enumerate(reply.tool_calls)]
    return message


def _images(reply: Reply, received: ReceivedRequest | None) -> list[str]:
    found = [base64.b64encode(each.data or b"").decode() for each in reply.media if takes(each)]
    if received is None:  # images that are no base64 came as they are
        others = (each for each in reply.message.parts if isinstance(each, Other))
        found += [
            each.data["image"]
            for each in others
            if each.kind == "image" and isinstance(each.data, dict) and "image" in each.data
        ]
    return found


def call_of(index: int, call: ToolCall) -> dict[str, Any]:
    """Return a call as an item of `tool_calls`."""
    function = {"index": index, "name": call.name, "arguments": argument_object(call)}
    return {"id": call.id, "function": function}


# --- lines ----------------------------------------------------------------------------------------


def events_of(body: Mapping[str, Any], split: Split = in_one_piece) -> Iterator[dict[str, Any]]:
    """Yield a whole answer as the lines of a stream; `split` returns the pieces of a text."""
    head = {key: body[key] for key in ("model", "created_at") if key in body}
    message = dict(body.get("message") or {})
    role = message.pop("role", "assistant")
    for key in ("thinking", "content"):
        text = message.pop(key, "")
        for piece in split(text) if isinstance(text, str) else (text,):
            beside = {"content": ""} if key != "content" else {}
            yield {**head, "message": {"role": role, **beside, key: piece}, "done": False}
    if message:
        yield {**head, "message": {"role": role, "content": "", **message}, "done": False}
    yield {**body, "message": {"role": role, "content": ""}}


def framed(lines: Iterable[Mapping[str, Any]]) -> bytes:
    """Encode lines."""
    return b"".join(encoded(each) + b"\n" for each in lines)


# --- a reply that arrives -------------------------------------------------------------------------


class ReplyWriter:
    """Writes the lines of one reply while it arrives.

    >>> from wire.neutral.messages import Message
    >>> from wire.neutral.request import Request
    >>> received = ReceivedRequest(request=Request(messages=(Message.user("Hi"),)))
    >>> writer = ReplyWriter(received, ResponseHead(id="1", model="m", created=0))
    >>> b'"content":"Hello."' in writer.feed(TextDelta("Hello."))
    True

    A call is written when its arguments are complete: the wire has no pieces of calls.
    """

    @checked_arguments()
    def __init__(self, received: ReceivedRequest, head: ResponseHead) -> None:
        self._received, self._head = received, head

    def begin(self) -> bytes:
        """Render nothing: a stream begins with its first line."""
        return b""

    @checked_feed
    def feed(self, event: Event) -> bytes:
        """Render the lines for one event."""
        if isinstance(event, TextDelta):
            return self._line({"content": event.text})
        if isinstance(event, ThoughtDelta) and self._received.thoughts:
            return self._line({"content": "", "thinking": event.text})
        if isinstance(event, ToolCallEnd):
            call = call_of(event.position, event.call)
            return self._line({"content": "", "tool_calls": [call]})
        return self._end(event.reply) if isinstance(event, Done) else b""

    def _line(self, message: dict[str, Any]) -> bytes:
        said = {"role": "assistant", **message}
        return self._written({**_head(self._head), "message": said, "done": False})

    def _written(self, line: Mapping[str, Any]) -> bytes:
        """Render one line."""
        return framed([line])

    def _end(self, reply: Reply) -> bytes:
        body = body_of(reply, self._received, self._head)
        images = body["message"].get("images")
        beside = {"images": images} if images else {}
        return self._written({**body, "message": {"role": "assistant", "content": "", **beside}})


render_reply = rendering(body_of, events_of, framed)
