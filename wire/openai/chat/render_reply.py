"""Writes neutral replies as responses of chat completions, whole or as chunks."""

from __future__ import annotations

import base64
from typing import Any

from wire.catalogue.usage import Usage
from wire.neutral.messages import (
    Citation,
    Done,
    Event,
    Media,
    Reply,
    TextDelta,
    ThoughtDelta,
    ToolCall,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
)
from wire.neutral.serving import (
    ReceivedRequest,
    ResponseHead,
    argument_text,
    custom_text,
    encoded,
    web_pages,
)

_STOPS = {
    "end": "stop",
    "tool_calls": "tool_calls",
    "length": "length",
    "pause": "length",
    "filter": "content_filter",
}


class ReplyWriter:
    """Writes one reply as OpenAI's server does; thoughts are `reasoning_content`, as at most hosts
    that show them.

    >>> from wire.neutral.messages import Message
    >>> from wire.neutral.request import Request
    >>> received = ReceivedRequest(request=Request(messages=(Message.user("Hi"),)))
    >>> writer = ReplyWriter(received, ResponseHead(id="1", model="m", created=0))
    >>> writer.feed(TextDelta("Hello."))[:33]
    b'data: {"id":"chatcmpl-1","object"'
    """

    def __init__(self, received: ReceivedRequest, head: ResponseHead) -> None:
        self._received, self._head = received, head
        self._custom = received.custom_tools
        self._begun: set[int] = set()  # positions of calls
        self._completion: dict[str, Any] = {}

    def begin(self) -> bytes:
        """Render the chunk with the role."""
        return self._chunk({"role": "assistant", "content": ""})

    def feed(self, event: Event) -> bytes:
        """Render the chunks for one event."""
        if isinstance(event, TextDelta):
            return self._chunk({"content": event.text})
        if isinstance(event, ThoughtDelta):
            return self._chunk({"reasoning_content": event.text})
        if isinstance(event, ToolCallStart):
            # The input of a custom tool is a text, and a host may send it inside of JSON.
            if event.name in self._custom or not event.id:
                return b""
            self._begun.add(event.position)
            function = {"name": event.name, "arguments": ""}
            return self._call(event.position, id=event.id, type="function", function=function)
        if isinstance(event, ToolCallDelta) and event.position in self._begun:
            return self._call(event.position, function={"arguments": event.text})
        if isinstance(event, ToolCallEnd) and event.position not in self._begun:
            return self._call(event.position, **self._whole_call(event.call))
        return self._end(event.reply) if isinstance(event, Done) else b""

    def body(self) -> bytes:
        """Render the whole completion."""
        return encoded(self._completion)

    def _fields(self, kind: str) -> dict[str, Any]:
        return {
            "id": f"chatcmpl-{self._head.id}",
            "object": kind,
            "created": self._head.created,
            "model": self._head.model,
        }

    def _chunk(self, delta: dict[str, Any], finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return _framed({**self._fields("chat.completion.chunk"), "choices": [choice]})

    def _call(self, position: int, **fields: Any) -> bytes:
        if self._received.legacy_calls:
            return b"" if position else self._chunk({"function_call": fields["function"]})
        return self._chunk({"tool_calls": [{"index": position, **fields}]})

    def _whole_call(self, call: ToolCall) -> dict[str, Any]:
        if call.name in self._custom:
            custom = {"name": call.name, "input": custom_text(call)}
            return {"id": call.id, "type": "custom", "custom": custom}
        function = {"name": call.name, "arguments": argument_text(call)}
        return {"id": call.id, "type": "function", "function": function}

    def _end(self, reply: Reply) -> bytes:
        message: dict[str, Any] = {"role": "assistant", "content": reply.text or None}
        message["refusal"] = None
        if reply.message.refusal and reply.message.refusal == reply.text:
            message |= {"content": None, "refusal": reply.text}
        if reply.thought:
            message["reasoning_content"] = reply.thought
        finish = _STOPS.get(reply.stop.reason, "stop")
        if reply.tool_calls and self._received.legacy_calls:
            message["function_call"] = self._whole_call(reply.tool_calls[0])["function"]
            finish = "function_call"
        elif reply.tool_calls:
            message["tool_calls"] = [self._whole_call(call) for call in reply.tool_calls]
        found: dict[str, Any] = {}  # what a stream has in its last chunk with a choice
        if citations := web_pages(reply):
            found["annotations"] = [_annotation(each) for each in citations]
        if images := [_image(each) for each in reply.media if takes(each)]:
            found["images"] = images
        message |= found
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": finish}
        usage = usage_of(reply.usage or Usage())
        self._completion = {
            **self._fields("chat.completion"),
            "choices": [choice],
            "usage": usage,
        }
        last = self._chunk(found, finish)
        if self._received.sends_usage:
            chunk = self._fields("chat.completion.chunk")
            last += _framed({**chunk, "choices": [], "usage": usage})
        return last + b"data: [DONE]\n\n"


def takes(media: Media) -> bool:
    """Return whether a message has a place for media: for images, as at OpenRouter.

    >>> takes(Media(data=b"RIFF", media_type="audio/wav"))
    False
    """
    return media.media_type.startswith("image/")


def _image(media: Media) -> dict[str, Any]:
    url = media.url
    if media.data is not None:
        url = f"data:{media.media_type};base64,{base64.b64encode(media.data).decode()}"
    return {"type": "image_url", "image_url": {"url": url}}


def _annotation(citation: Citation) -> dict[str, Any]:
    span = {"start_index": citation.start or 0, "end_index": citation.end or 0}
    cited = {"url": citation.url, "title": citation.title, **span}
    return {"type": "url_citation", "url_citation": cited}


def usage_of(usage: Usage) -> dict[str, Any]:
    """Convert usage to the token counts of the wire.

    >>> usage_of(Usage(input=30, output=5, total=35))["prompt_tokens"]
    30
    """
    return {
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.total or usage.input + usage.output,
        "prompt_tokens_details": {"cached_tokens": usage.cached},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
    }


def _framed(chunk: dict[str, Any]) -> bytes:
    return b"data: " + encoded(chunk) + b"\n\n"
