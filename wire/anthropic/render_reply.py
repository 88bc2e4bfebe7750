"""Writes neutral replies as responses of Messages, whole or as events.

Blocks have their own indexes, so that calls may arrive at once. If the client sends thinking blocks
back, one carries the opaque state of the reply, and stands before the calls, where Anthropic's
server wants it: the calls are then sent when the reply is complete.
"""

from __future__ import annotations

from typing import Any

import msgspec

from wire.catalogue.stops import known
from wire.catalogue.usage import Usage
from wire.neutral.messages import (
    Citation,
    Done,
    Event,
    Reply,
    TextDelta,
    ThoughtDelta,
    ToolCall,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
)
from wire.neutral.serving import (
    NO_STATE,
    ReceivedRequest,
    ResponseHead,
    argument_object,
    encoded,
    web_pages,
)

_STOPS = {
    "end": "end_turn",
    "tool_calls": "tool_use",
    "length": "max_tokens",
    "pause": "max_tokens",
    "filter": "refusal",
}
_PING: dict[str, Any] = {"type": "ping"}


class ReplyWriter:
    """Writes one reply as Anthropic's server does.

    >>> from wire.neutral.messages import Message
    >>> from wire.neutral.request import Request
    >>> received = ReceivedRequest(request=Request(messages=(Message.user("Hi"),)))
    >>> writer = ReplyWriter(received, ResponseHead(id="1", model="m", created=0))
    >>> writer.feed(TextDelta("Hello."))[:32]
    b'event: content_block_start\\ndata:'
    """

    def __init__(self, received: ReceivedRequest, head: ResponseHead) -> None:
        self._received, self._head = received, head
        self._content: list[dict[str, Any]] = []
        self._open: int | None = None  # index of the text or thinking block that is open
        self._calls: dict[int, int] = {}  # position of a call -> index of its block
        self._message: dict[str, Any] = {}

    def begin(self) -> bytes:
        """Render `message_start`."""
        message = {**self._fields(), "usage": {"input_tokens": 0, "output_tokens": 0}}
        return _framed([{"type": "message_start", "message": message}, _PING])

    def feed(self, event: Event) -> bytes:
        """Render the events of the wire for one event."""
        events: list[dict[str, Any]] = []
        if isinstance(event, TextDelta):
            self._add("text", "text", event.text, events)
        elif isinstance(event, ThoughtDelta):
            if self._received.thoughts:
                self._add("thinking", "thinking", event.text, events)
        elif self._received.returns_state and isinstance(event, ToolCallStart | ToolCallDelta):
            events.append(_PING)  # the client sees that the model is not silent
        elif isinstance(event, ToolCallStart):
            if event.id:  # some hosts send the id later
                self._begin_call(event.position, event.id, event.name, events)
        elif isinstance(event, ToolCallDelta):
            if event.position in self._calls:
                events.append(_delta(self._calls[event.position], "input_json", event.text))
        elif isinstance(event, ToolCallEnd) and not self._received.returns_state:
            self._end_call(event.position, event.call, events)
        elif isinstance(event, Done):
            self._end(event.reply, events)
        return _framed(events)

    def body(self) -> bytes:
        """Render the whole message."""
        return encoded(self._message)

    def _fields(self) -> dict[str, Any]:
        return {
            "id": f"msg_{self._head.id}",
            "type": "message",
            "role": "assistant",
            "model": self._head.model,
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
        }

    # --- blocks

    def _add(self, kind: str, field: str, text: str, events: list[dict[str, Any]]) -> None:
        """Add a text to the open block; begin one if another kind is open."""
        if self._open is None or self._content[self._open]["type"] != kind:
            self._close(events)
            self._open = self._begin({"type": kind, field: ""}, events)
        self._content[self._open][field] += text
        events.append(_delta(self._open, field, text))

    def _begin(self, block: dict[str, Any], events: list[dict[str, Any]]) -> int:
        index = len(self._content)
        self._content.append(block)
        begun = {**block, "signature": ""} if block["type"] == "thinking" else dict(block)
        events.append({"type": "content_block_start", "index": index, "content_block": begun})
        return index

    def _close(self, events: list[dict[str, Any]], state: str = "") -> None:
        """End the open block. Clients drop a thinking block that has no signature."""
        if self._open is None:
            return
        index, self._open = self._open, None
        block = self._content[index]
        if block["type"] == "thinking":
            block["signature"] = state or NO_STATE
            delta = {"type": "signature_delta", "signature": block["signature"]}
            events.append({"type": "content_block_delta", "index": index, "delta": delta})
        events.append({"type": "content_block_stop", "index": index})

    def _begin_call(self, position: int, id: str, name: str, events: list[dict[str, Any]]) -> None:
        self._close(events)
        block = {"type": "tool_use", "id": id, "name": name, "input": {}}
        self._calls[position] = self._begin(block, events)

    def _end_call(self, position: int, call: ToolCall, events: list[dict[str, Any]]) -> None:
        if position not in self._calls:
            self._begin_call(position, call.id, call.name, events)
            text = msgspec.json.encode(argument_object(call)).decode()
            events.append(_delta(self._calls[position], "input_json", text))
        index = self._calls[position]
        self._content[index] |= {"id": call.id, "name": call.name, "input": argument_object(call)}
        events.append({"type": "content_block_stop", "index": index})

    # --- the end

    def _cite(self, reply: Reply, events: list[dict[str, Any]]) -> None:
        """Add each citation to the text block in which its span begins. A block that ended gets it
        in the whole message alone.
        """
        begin, last = 0, max(0, len(reply.text) - 1)
        for index, block in enumerate(self._content):
            if block["type"] != "text":
                continue
            end = begin + len(block["text"])
            cited = [each for each in web_pages(reply) if begin <= min(each.start or 0, last) < end]
            begin = end
            if cited:
                block["citations"] = [_citation(each, reply.text) for each in cited]
            if index == self._open:
                events += [
                    {
                        "type": "content_block_delta",
                        "index": index,
                        "delta": {"type": "citations_delta", "citation": each},
                    }
                    for each in block.get("citations", ())
                ]

    def _end(self, reply: Reply, events: list[dict[str, Any]]) -> None:
        self._cite(reply, events)
        calls = reply.tool_calls
        if self._received.returns_state and calls:
            state = self._head.state(reply.message)
            opened = self._content[self._open] if self._open is not None else {}
            if state and opened.get("type") != "thinking":
                self._close(events)
                self._open = self._begin({"type": "redacted_thinking", "data": state}, events)
            self._close(events, state)
            for position, call in enumerate(calls):
                self._end_call(position, call, events)
        self._close(events)
        usage = usage_of(reply.usage or Usage())
        reason = _stop_reason(reply)
        sequence = reply.stop.sequence if reason == "stop_sequence" else None
        stop = {"stop_reason": reason, "stop_sequence": sequence}
        self._message = {**self._fields(), "content": self._content, **stop, "usage": usage}
        events.append({"type": "message_delta", "delta": stop, "usage": usage})
        events.append({"type": "message_stop"})


def _citation(citation: Citation, text: str) -> dict[str, Any]:
    """Render a citation as a result of a web search, with the cited span if the source is not
    quoted.
    """
    quoted = citation.text or text[citation.start or 0 : citation.end or 0]
    page = {"url": citation.url, "title": citation.title, "cited_text": quoted}
    # Only Anthropic's server makes an index; the request that returns the block is sent without.
    return {"type": "web_search_result_location", **page, "encrypted_index": ""}


def usage_of(usage: Usage) -> dict[str, Any]:
    """Convert usage to the token counts of the wire: the input excludes the tokens of the cache.

    >>> usage_of(Usage(input=30, output=5, cached=20))["input_tokens"]
    10
    """
    counts: dict[str, Any] = {
        "input_tokens": max(0, usage.input - usage.cached - usage.cache_written),
        "cache_read_input_tokens": usage.cached,
        "cache_creation_input_tokens": usage.cache_written,
        "output_tokens": usage.output,
    }
    if usage.reasoning:
        counts["output_tokens_details"] = {"thinking_tokens": usage.reasoning}
    return counts


def _stop_reason(reply: Reply) -> str:
    if (row := known("messages", reply.stop.raw or "")) is not None:
        return row.word  # the backend speaks this wire
    if reply.stop.sequence is not None and reply.stop.reason == "end":
        return "stop_sequence"
    return _STOPS.get(reply.stop.reason, "end_turn")


def _delta(index: int, field: str, text: str) -> dict[str, Any]:
    key = "partial_json" if field == "input_json" else field
    return {
        "type": "content_block_delta",
        "index": index,
        "delta": {"type": f"{field}_delta", key: text},
    }


def _framed(events: list[dict[str, Any]]) -> bytes:
    return b"".join(
        b"event: %s\ndata: %s\n\n" % (event["type"].encode(), encoded(event)) for event in events
    )
