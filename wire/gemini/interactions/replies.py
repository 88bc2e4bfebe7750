"""Writes neutral replies as interactions: whole, as their events, or while they arrive.

If the client sends the steps back itself, a thought carries the opaque state of the reply, and
stands before the calls: these are then sent when the reply is complete.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from typing import Any

from wire.catalogue.usage import Usage
from wire.core.arguments import checked_arguments
from wire.gemini.interactions.step_events import (
    Events,
    begin_events,
    events_of,
    last_event,
    step_events,
)
from wire.neutral.messages import (
    Citation,
    Done,
    Event,
    Media,
    Other,
    Reply,
    ServerToolCall,
    ServerToolResult,
    Text,
    TextDelta,
    Thought,
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
    checked_feed,
    encoded,
    head_of,
    own_json,
    rendering,
    stop_word_of,
)

WIRE = "gemini.interactions"
_STOPS = {
    "end": "completed",
    "tool_calls": "requires_action",
    "length": "incomplete",
    "pause": "incomplete",
    "filter": "failed",
    "error": "failed",
}
DONE = b"event: done\ndata: [DONE]\n\n"


def body_of(
    reply: Reply, received: ReceivedRequest | None = None, head: ResponseHead | None = None
) -> dict[str, Any]:
    """Return a reply as an interaction.

    >>> from wire.neutral.messages import Message, Stop
    >>> body = body_of(Reply(Message.assistant("Hello."), Stop("end")))
    >>> body["status"], body["steps"][0]["content"][0]["text"]
    ('completed', 'Hello.')

    `received` is the request of a client of another server, which gets the parts that it can use;
    without it, the steps have all parts of the reply that the server can send. `head` replaces id
    and model of the reply.
    """
    head = head or head_of(reply)
    own = own_json(reply.message, WIRE) if received is None else None
    steps = own["steps"] if own is not None else _Steps(reply, received, head).steps
    status = stop_word_of(reply, WIRE, "interactions", _STOPS, shown=received is not None)
    body = {**_fields(head, received), "status": status, "steps": steps}
    if status == "failed":
        body["errors"] = [{"code": "content_blocked", "message": reply.stop.message}]
    if reply.stop.token:
        body["continuation_token"] = reply.stop.token
    if reply.usage is not None or received is not None:
        body["usage"] = usage_of(reply.usage or Usage())
    return body


def _fields(head: ResponseHead, received: ReceivedRequest | None) -> dict[str, Any]:
    time = head.moment.strftime("%Y-%m-%dT%H:%M:%SZ")
    fields: dict[str, Any] = {"id": head.id} if received is None or received.stores else {}
    fields |= {"object": "interaction", "model": head.model, "created": time, "updated": time}
    return {**fields, **(received.echo if received is not None else {})}


# --- steps ----------------------------------------------------------------------------------------


class _Steps:
    """Builds the steps of a reply."""

    def __init__(self, reply: Reply, received: ReceivedRequest | None, head: ResponseHead) -> None:
        self._reply, self._received, self._head = reply, received, head
        self.steps: Events = []
        at = 0  # where the text of the part begins in the text of the reply
        for part in reply.message.parts:
            own = own_json(part, WIRE) if received is None else None
            if own is None:
                self._add(part, at)
            else:
                self.steps.append(own)
            at += len(part.text) if isinstance(part, Text) else 0
        if received is not None and received.returns_state and reply.tool_calls:
            self._carry_state()

    def _add(self, part: Any, at: int) -> None:
        received = self._received
        match part:
            case Text(text) if text or received is None:
                self._content(text_content(self._reply, text, at))
            case Media():
                self._content(media_content(part))
            case Thought() if received is None or (received.thoughts and part.text):
                self.steps.append(thought_step(part, shown=received is not None))
            case ToolCall():
                self.steps.append(call_step(part))
            case ServerToolCall() if received is None:
                self.steps.append(_server_call(part))
            case ServerToolResult() if received is None:
                self.steps.append(_server_result(part))
            case Other(data=dict()) if received is None and part.origin is None:
                self.steps.append(dict(part.data))

    def _content(self, content: dict[str, Any]) -> None:
        """Add a content to the output that is last; begin one after another step."""
        if not self.steps or self.steps[-1].get("type") != "model_output":
            self.steps.append({"type": "model_output", "content": []})
        self.steps[-1]["content"].append(content)

    def _carry_state(self) -> None:
        """Put the state of the reply on the thought before the calls, which stand at the end."""
        calls = [each for each in self.steps if each["type"] == "function_call"]
        self.steps = [each for each in self.steps if each["type"] != "function_call"]
        state = self._head.state(self._reply.message)
        if state and self.steps and self.steps[-1]["type"] == "thought":
            self.steps[-1]["signature"] = state
        elif state:
            self.steps.append({"type": "thought", "signature": state})
        self.steps += calls


def text_content(reply: Reply, text: str, at: int) -> dict[str, Any]:
    """Return a text that begins at this position of the reply's as a content, with its sources."""
    annotations = annotations_of(reply, text, at)
    return {"type": "text", "text": text, **({"annotations": annotations} if annotations else {})}


def annotations_of(reply: Reply, text: str, at: int) -> Events:
    """Return the citations whose span begins in a text; positions count bytes of UTF-8."""
    last = max(0, len(reply.text) - 1)
    return [
        _annotation(each, text, at)
        for each in reply.citations
        if at <= min(each.start or 0, last) < at + len(text)
    ]


def _annotation(citation: Citation, text: str, at: int) -> dict[str, Any]:
    spots = (max(0, (each or 0) - at) for each in (citation.start, citation.end))
    start, end = (len(text[:spot].encode("utf-8", "replace")) for spot in spots)
    made: dict[str, Any] = {"type": "url_citation", "url": citation.url, "title": citation.title}
    if not citation.url:
        made = {
            "type": "file_citation",
            "document_uri": citation.source,
            "file_name": citation.title,
        }
    return {**made, "start_index": start, "end_index": end}


def takes(media: Media) -> bool:
    """Return whether an interaction has a place for media: it has for all."""
    return True


def media_content(media: Media) -> dict[str, Any]:
    """Return media as a content."""
    word = media.media_type.partition("/")[0]
    content = {"type": word if word in ("image", "audio", "video") else "document"}
    if media.data is not None:
        content["data"] = base64.b64encode(media.data).decode()
    else:
        content["uri"] = media.url or ""
    return {**content, "mime_type": media.media_type, **(media.extra or {})}


def thought_step(part: Thought, *, shown: bool, state: str = NO_STATE) -> dict[str, Any]:
    """Return a thought as a step; for clients of another server, `state` is its signature."""
    step: dict[str, Any] = {"type": "thought"}
    signature = state if shown else part.signature
    if signature:
        step["signature"] = signature
    if part.text:
        step["summary"] = [{"type": "text", "text": part.text}]
    return step


def call_step(call: ToolCall) -> dict[str, Any]:
    """Return a call as a step."""
    return {
        "type": "function_call",
        "id": call.id,
        "name": call.name,
        "arguments": argument_object(call),
    }


_TOOLS = {
    "web_search": "google_search",
    "code": "code_execution",
    "url_context": "url_context",
    "file_search": "file_search",
    "mcp": "mcp_server_tool",
}
"""Kind of a tool of the server -> the type of its steps, without `_call` and `_result`."""


def _server_call(call: ServerToolCall) -> dict[str, Any]:
    tool = _TOOLS.get(call.kind, call.name)
    named = {"name": call.name} if call.kind == "mcp" else {}
    return {"type": f"{tool}_call", "id": call.id, **named, "arguments": call.arguments or {}}


def _server_result(part: ServerToolResult) -> dict[str, Any]:
    tool = _TOOLS.get(part.kind, part.name)
    named = {"name": part.name} if part.kind == "mcp" else {}
    step = {"type": f"{tool}_result", "call_id": part.id, **named, "result": part.content}
    return {**step, **({"is_error": True} if part.error else {})}


def usage_of(usage: Usage) -> dict[str, Any]:
    """Convert usage to the token counts of the wire, whose output has no thoughts.

    >>> usage_of(Usage(input=14, output=256, reasoning=222))["total_output_tokens"]
    34
    """
    return {
        "total_tokens": usage.total or usage.input + usage.output,
        "total_input_tokens": usage.input,
        "input_tokens_by_modality": [{"modality": "text", "tokens": usage.input}],
        "total_cached_tokens": usage.cached,
        "total_output_tokens": max(0, usage.output - usage.reasoning),
        "total_tool_use_tokens": 0,
        "total_thought_tokens": usage.reasoning,
    }


# --- a reply that arrives -------------------------------------------------------------------------


class ReplyWriter:
    """Writes the events of one reply while it arrives.

    >>> from wire.neutral.messages import Message
    >>> from wire.neutral.request import Request
    >>> received = ReceivedRequest(request=Request(messages=(Message.user("Hi"),)))
    >>> writer = ReplyWriter(received, ResponseHead(id="1", model="m", created=0))
    >>> writer.feed(TextDelta("Hello."))[:25]
    b'event: step.start\\ndata: {'

    One step is open at a time, so a call is sent when it is complete.
    """

    @checked_arguments()
    def __init__(self, received: ReceivedRequest, head: ResponseHead) -> None:
        self._received, self._head = received, head
        self._count = 0  # of steps
        self._open = ""  # type of the step that is open
        self._text = ""  # of that step
        self._length = 0  # of the text of the reply

    def begin(self) -> bytes:
        """Render the events before the first step."""
        return framed(begin_events(_fields(self._head, self._received)), done=False)

    @checked_feed
    def feed(self, event: Event) -> bytes:
        """Render the events of the wire for one event."""
        events: Events = []
        holds = self._received.returns_state
        if isinstance(event, TextDelta):
            self._begin("model_output", events)
            self._delta({"type": "text", "text": event.text}, events)
            self._text += event.text
            self._length += len(event.text)
        elif isinstance(event, ThoughtDelta):
            if self._received.thoughts:
                self._begin("thought", events)
                self._text += event.text
                if not events:
                    return b": the model thinks\n\n"
        elif isinstance(event, ToolCallStart | ToolCallDelta):
            return b": the model writes a call\n\n"
        elif isinstance(event, ToolCallEnd) and not holds:
            self._close(events)
            self._whole(call_step(event.call), events)
        elif isinstance(event, Done):
            self._end(event.reply, events)
            return framed(events)
        return framed(events, done=False)

    def _begin(self, kind: str, events: Events) -> None:
        if self._open != kind:
            self._close(events)
            self._open = kind
            start = {"event_type": "step.start", "index": self._count, "step": {"type": kind}}
            events.append(start)

    def _delta(self, delta: dict[str, Any], events: Events) -> None:
        events.append({"event_type": "step.delta", "index": self._count, "delta": delta})

    def _close(self, events: Events, annotations: Sequence[dict[str, Any]] = ()) -> None:
        """End the open step. A summary is sent whole: each of its events is a paragraph."""
        if not self._open:
            return
        if self._open == "thought":
            content = {"type": "text", "text": self._text}
            self._delta({"type": "thought_summary", "content": content}, events)
            self._delta({"type": "thought_signature", "signature": NO_STATE}, events)
        elif annotations:
            given = {"type": "text_annotation_delta", "annotations": list(annotations)}
            self._delta(given, events)
        events.append({"event_type": "step.stop", "index": self._count})
        self._count += 1
        self._open = self._text = ""

    def _whole(self, step: dict[str, Any], events: Events) -> None:
        events += step_events(self._count, step)
        self._count += 1

    def _end(self, reply: Reply, events: Events) -> None:
        body = body_of(reply, self._received, self._head)
        cited = annotations_of(reply, self._text, self._length - len(self._text))
        self._close(events, cited)
        for step in body["steps"]:
            held = step["type"] == "function_call" and self._received.returns_state
            carries = step["type"] == "thought" and step.get("signature") != NO_STATE
            contents = step.get("content") or ()
            media = [each for each in contents if each.get("type") != "text"]
            if held:
                self._whole(step, events)
            elif carries:
                self._whole({"type": "thought", "signature": step["signature"]}, events)
            elif media:
                self._whole({"type": "model_output", "content": media}, events)
        events.append(last_event(body))


def framed(events: Iterable[dict[str, Any]], *, done: bool = True) -> bytes:
    """Encode events, each with its type as its name; `done` adds the last frame."""
    return b"".join(
        b"event: %s\ndata: %s\n\n" % (str(event["event_type"]).encode(), encoded(event))
        for event in events
    ) + (DONE if done else b"")


render_reply = rendering(body_of, events_of, framed)
