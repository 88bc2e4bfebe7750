"""Writes neutral replies as responses of Responses, whole or as events.

If the client sends encrypted reasoning back, one item of reasoning carries the opaque state of the
reply, and stands before the calls: these are then sent when the reply is complete.
"""

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
    NO_STATE,
    ReceivedRequest,
    ResponseHead,
    argument_text,
    custom_text,
    encoded,
    web_pages,
)

_INCOMPLETE = {
    "length": "max_output_tokens",
    "pause": "max_output_tokens",
    "filter": "content_filter",
}
_KEEP_ALIVE = b": the model writes a call\n\n"
_Events = list[dict[str, Any]]


class ReplyWriter:
    """Writes one reply as OpenAI's server does.

    >>> from wire.neutral.messages import Message
    >>> from wire.neutral.request import Request
    >>> received = ReceivedRequest(request=Request(messages=(Message.user("Hi"),)))
    >>> writer = ReplyWriter(received, ResponseHead(id="1", model="m", created=0))
    >>> writer.feed(TextDelta("Hello."))[:39]
    b'event: response.output_item.added\\ndata:'
    """

    def __init__(self, received: ReceivedRequest, head: ResponseHead) -> None:
        self._received, self._head = received, head
        self._custom = received.custom_tools
        self._output: list[dict[str, Any]] = []
        self._open: int | None = None  # index of the message or the reasoning that is open
        self._text = ""  # of that item
        self._annotations: list[dict[str, Any]] = []  # of that item
        self._calls: dict[int, int] = {}  # position of a call -> index of its item
        self._number = 0
        self._response: dict[str, Any] = {}

    def begin(self) -> bytes:
        """Render `response.created` and `response.in_progress`."""
        begun = self._fields("in_progress", None)
        return self._framed(
            [
                {"type": "response.created", "response": begun},
                {"type": "response.in_progress", "response": begun},
            ]
        )

    def feed(self, event: Event) -> bytes:
        """Render the events of the wire for one event."""
        events: _Events = []
        holds = self._received.returns_state
        if isinstance(event, TextDelta):
            self._add_text(event.text, events)
        elif isinstance(event, ThoughtDelta):
            if self._received.thoughts:
                self._add_thought(event.text, events)
        elif isinstance(event, ToolCallStart):
            if holds:
                return _KEEP_ALIVE
            # The input of a custom tool is a text, and a host may send it inside of JSON.
            if event.id and event.name not in self._custom:
                item = self._call_item(ToolCall(id=event.id, name=event.name), len(self._output))
                self._begin_call(event.position, item, events)
        elif isinstance(event, ToolCallDelta):
            if holds:
                return _KEEP_ALIVE
            if event.position in self._calls:
                at = self._at(self._calls[event.position])
                kind = "response.function_call_arguments.delta"
                events.append({"type": kind, **at, "delta": event.text})
        elif isinstance(event, ToolCallEnd) and not holds:
            self._end_call(event.position, event.call, events)
        elif isinstance(event, Done):
            self._end(event.reply, events)
        return self._framed(events)

    def body(self) -> bytes:
        """Render the whole response."""
        return encoded(self._response)

    def _fields(self, status: str, usage: dict[str, Any] | None) -> dict[str, Any]:
        return {
            "id": f"resp_{self._head.id}",
            "object": "response",
            "created_at": self._head.created,
            "status": status,
            "background": False,
            "error": None,
            "incomplete_details": None,
            "instructions": None,
            "metadata": {},
            "model": self._head.model,
            "output": list(self._output),
            "parallel_tool_calls": True,
            "previous_response_id": self._received.previous or None,
            "store": self._received.stores,
            "temperature": self._received.request.temperature,
            "text": {"format": {"type": "text"}},
            "tool_choice": "auto",
            "tools": [],
            "top_p": self._received.request.top_p,
            "truncation": "disabled",
            "usage": usage,
            **self._received.echo,
        }

    # --- items

    def _at(self, index: int) -> dict[str, Any]:
        return {"item_id": self._output[index]["id"], "output_index": index}

    def _begin(self, item: dict[str, Any], events: _Events) -> int:
        index = len(self._output)
        self._output.append(item)
        added = {"type": "response.output_item.added", "output_index": index}
        events.append({**added, "item": dict(item)})
        return index

    def _done(self, index: int, events: _Events) -> None:
        done = {"type": "response.output_item.done", "output_index": index}
        events.append({**done, "item": self._output[index]})

    def _is_open(self, kind: str) -> bool:
        return self._open is not None and self._output[self._open]["type"] == kind

    def _add_text(self, text: str, events: _Events) -> None:
        if not self._is_open("message"):
            self._close(events)
            item = {"id": f"msg_{self._head.id}_{len(self._output)}", "type": "message"}
            item |= {"status": "in_progress", "role": "assistant"}
            self._open = self._begin({**item, "content": []}, events)
            added = {"type": "response.content_part.added", **self._at(self._open)}
            events.append({**added, "content_index": 0, "part": _output_text("", [])})
        assert self._open is not None
        self._text += text
        delta = {"type": "response.output_text.delta", **self._at(self._open)}
        events.append({**delta, "content_index": 0, "delta": text, "logprobs": []})

    def _add_thought(self, text: str, events: _Events) -> None:
        if not self._is_open("reasoning"):
            self._close(events)
            self._begin_reasoning(events)
            assert self._open is not None
            added = {"type": "response.reasoning_summary_part.added", **self._at(self._open)}
            events.append({**added, "summary_index": 0, "part": _summary_text("")})
        assert self._open is not None
        self._text += text
        delta = {"type": "response.reasoning_summary_text.delta", **self._at(self._open)}
        events.append({**delta, "summary_index": 0, "delta": text})

    def _begin_reasoning(self, events: _Events) -> None:
        item = {"id": f"rs_{self._head.id}_{len(self._output)}", "type": "reasoning"}
        self._open = self._begin({**item, "summary": []}, events)

    def _close(self, events: _Events, state: str = "") -> None:
        """End the open item."""
        if self._open is None:
            return
        index, self._open = self._open, None
        text, self._text = self._text, ""
        item, at = self._output[index], self._at(index)
        if item["type"] == "message":
            part, where = _output_text(text, self._annotations), {**at, "content_index": 0}
            self._annotations = []
            item |= {"status": "completed", "content": [part]}
            events += [
                {"type": "response.output_text.done", **where, "text": text, "logprobs": []},
                {"type": "response.content_part.done", **where, "part": part},
            ]
        else:
            if text:
                part, where = _summary_text(text), {**at, "summary_index": 0}
                item["summary"] = [part]
                events += [
                    {"type": "response.reasoning_summary_text.done", **where, "text": text},
                    {"type": "response.reasoning_summary_part.done", **where, "part": part},
                ]
            if self._received.returns_state:
                item["encrypted_content"] = state or NO_STATE
        self._done(index, events)

    # --- calls

    def _call_item(self, call: ToolCall, index: int) -> dict[str, Any]:
        head = {"status": "in_progress", "call_id": call.id, "name": call.name}
        if call.name in self._custom:
            id = f"ctc_{self._head.id}_{index}"
            return {"id": id, "type": "custom_tool_call", **head, "input": ""}
        id = f"fc_{self._head.id}_{index}"
        return {"id": id, "type": "function_call", **head, "arguments": ""}

    def _begin_call(self, position: int, item: dict[str, Any], events: _Events) -> None:
        self._close(events)
        self._calls[position] = self._begin(item, events)

    def _end_call(self, position: int, call: ToolCall, events: _Events) -> None:
        custom = call.name in self._custom
        key, name = ("input", "custom_tool_call_input") if custom else _ARGUMENTS
        text = custom_text(call) if custom else argument_text(call)
        if position not in self._calls:
            self._begin_call(position, self._call_item(call, len(self._output)), events)
            at = self._at(self._calls[position])
            events.append({"type": f"response.{name}.delta", **at, "delta": text})
        index = self._calls[position]
        self._output[index] |= {"status": "completed", "call_id": call.id, key: text}
        events.append({"type": f"response.{name}.done", **self._at(index), key: text})
        self._done(index, events)

    # --- the end

    def _cite(self, reply: Reply, events: _Events) -> None:
        """Add the citations to the messages. A message that ended gets them in the whole response
        alone.
        """
        begin = 0
        messages = [index for index, item in enumerate(self._output) if item["type"] == "message"]
        citations, last = web_pages(reply), max(0, len(reply.text) - 1)
        for index in messages:
            is_open = index == self._open
            content = self._output[index]["content"]
            length = len(self._text if is_open else content[0]["text"])
            annotations = [
                _annotation(each, begin)
                for each in citations
                if begin <= min(each.start or 0, last) < begin + length
            ]
            begin += length
            if not is_open:
                content[0]["annotations"] = annotations
                continue
            self._annotations = annotations
            kind = "response.output_text.annotation.added"
            events += [
                {
                    "type": kind,
                    **self._at(index),
                    "content_index": 0,
                    "annotation_index": position,
                    "annotation": each,
                }
                for position, each in enumerate(annotations)
            ]

    def _draw(self, media: Media, events: _Events) -> None:
        self._close(events)
        item = {"id": f"ig_{self._head.id}_{len(self._output)}", "type": "image_generation_call"}
        index = self._begin({**item, "status": "in_progress", "result": None}, events)
        result = base64.b64encode(media.data or b"").decode()
        kind = media.media_type.removeprefix("image/")
        self._output[index] |= {"status": "completed", "result": result, "output_format": kind}
        self._done(index, events)

    def _end(self, reply: Reply, events: _Events) -> None:
        self._cite(reply, events)
        for media in filter(takes, reply.media):
            self._draw(media, events)
        if self._received.returns_state and reply.tool_calls:
            state = self._head.state(reply.message)
            if state and not self._is_open("reasoning"):
                self._close(events)
                self._begin_reasoning(events)
            self._close(events, state)
            for position, call in enumerate(reply.tool_calls):
                self._end_call(position, call, events)
        self._close(events)
        reason = _INCOMPLETE.get(reply.stop.reason)
        status = "incomplete" if reason else "completed"
        self._response = self._fields(status, usage_of(reply.usage or Usage()))
        if reason:
            self._response["incomplete_details"] = {"reason": reason}
        else:
            self._response["completed_at"] = self._head.created
        events.append({"type": f"response.{status}", "response": self._response})

    def _framed(self, events: _Events) -> bytes:
        pieces = []
        for event in events:
            numbered = encoded({**event, "sequence_number": self._number})
            pieces.append(b"event: %s\ndata: %s\n\n" % (event["type"].encode(), numbered))
            self._number += 1
        return b"".join(pieces)


_ARGUMENTS = ("arguments", "function_call_arguments")


def takes(media: Media) -> bool:
    """Return whether a response has a place for media: for images, as base64.

    >>> takes(Media(url="https://example.com/a.png", media_type="image/png"))
    False
    """
    return media.data is not None and media.media_type.startswith("image/")


def _output_text(text: str, annotations: list[dict[str, Any]]) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": annotations, "logprobs": []}


def _annotation(citation: Citation, begin: int) -> dict[str, Any]:
    """Render an annotation of the message that begins at this position of the text."""
    start, end = (max(0, (each or 0) - begin) for each in (citation.start, citation.end))
    cited = {"type": "url_citation", "url": citation.url, "title": citation.title}
    return {**cited, "start_index": start, "end_index": end}


def _summary_text(text: str) -> dict[str, Any]:
    return {"type": "summary_text", "text": text}


def usage_of(usage: Usage) -> dict[str, Any]:
    """Convert usage to the token counts of the wire.

    >>> usage_of(Usage(input=30, output=5))["total_tokens"]
    35
    """
    return {
        "input_tokens": usage.input,
        "input_tokens_details": {"cached_tokens": usage.cached},
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning},
        "total_tokens": usage.total or usage.input + usage.output,
    }
