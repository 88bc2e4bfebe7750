"""Writes neutral replies as responses of Responses: whole, as their events, or while they arrive.

If the client sends encrypted reasoning back, one item of reasoning carries the opaque state of the
reply, and stands before the calls: these are then sent when the reply is complete.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable
from typing import Any

from wire.catalogue.usage import Usage
from wire.core.arguments import checked_arguments
from wire.neutral.messages import (
    Citation,
    Done,
    Event,
    Media,
    Other,
    Part,
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
    argument_text,
    checked_feed,
    custom_text,
    encoded,
    head_of,
    own_json,
    rendering,
    stop_word_of,
    web_pages,
)
from wire.openai.responses.reply_events import (
    SUMMARY,
    Events,
    events_of,
    item_events,
    last_event,
)

WIRE = "openai.responses"
_STOPS = {
    "end": "completed",
    "tool_calls": "completed",
    "length": "max_output_tokens",
    "pause": "max_output_tokens",
    "filter": "content_filter",
}
_STATUSES = ("completed", "failed", "in_progress", "queued", "cancelled", "incomplete")
_KEEP_ALIVE = b": the model writes a call\n\n"


def body_of(
    reply: Reply, received: ReceivedRequest | None = None, head: ResponseHead | None = None
) -> dict[str, Any]:
    """Return a reply as a response.

    >>> from wire.neutral.messages import Message, Stop
    >>> body = body_of(Reply(Message.assistant("Hello."), Stop("end")))
    >>> body["status"], body["output"][0]["content"][0]["text"]
    ('completed', 'Hello.')

    `received` is the request of a client of another server, which gets the parts that it can use;
    without it, the output has all parts of the reply that a host can send. `head` replaces id and
    model of the reply.
    """
    head = head or head_of(reply)
    own = own_json(reply.message, WIRE) if received is None else None
    items = own["output"] if own is not None else _Items(reply, received, head).items
    word = stop_word_of(reply, WIRE, "responses", _STOPS, shown=received is not None)
    status = word if word in _STATUSES or word is None else "incomplete"
    ends: dict[str, Any] = {"status": status, "output": items}
    if status == "completed":
        ends["completed_at"] = head.created
    elif status == "failed":
        ends["error"] = {"code": "server_error", "message": reply.stop.message}
    elif status != word:
        ends["incomplete_details"] = {"reason": word}
    if reply.usage is not None or received is not None:
        ends["usage"] = usage_of(reply.usage or Usage())
    return {**_fields(head, received), **ends}


# --- items ----------------------------------------------------------------------------------------


class _Items:
    """Builds the items of a reply."""

    def __init__(self, reply: Reply, received: ReceivedRequest | None, head: ResponseHead) -> None:
        self._reply, self._received, self._head = reply, received, head
        self.items: Events = []
        at = 0  # where the text of the part begins in the text of the reply
        for part in reply.message.parts:
            own = own_json(part, WIRE) if received is None else None
            self._add(part, at) if own is None else self.items.append(own)
            at += len(part.text) if isinstance(part, Text) else 0
        if received is not None and received.returns_state and reply.tool_calls:
            self._carry_state()

    def _add(self, part: Part, at: int) -> None:
        received, id = self._received, item_id(self._head, part, len(self.items))
        match part:
            case Text(text) if text or received is None:
                self.items.append(self._message(part, at, id))
            case Thought() if received is None or (received.thoughts and part.text):
                self.items.append(self._reasoning(part, id))
            case ToolCall():
                self.items.append(call_item(part, id, received))
            case Media() if takes(part):
                self.items.append(_image(part, id))
            case ServerToolCall() if received is None and part.kind in _TOOLS:
                self.items.append(_server_call(part, id))
            case ServerToolResult() if received is None and part.kind in _TOOLS and self.items:
                call = self.items[-1]
                call["error" if part.error else _TOOLS[part.kind][1]] = part.content
            case Other(data=dict()) if received is None and part.origin is None:
                self.items.append(dict(part.data))

    def _message(self, part: Text, at: int, id: str) -> dict[str, Any]:
        more = dict(part.extra or {}) if self._received is None else {}
        end = at + len(part.text)
        annotations = more.pop("annotations", None) or annotations_of(self._reply, at, end)
        text: dict[str, Any] = {"type": "refusal", "refusal": part.text}
        if not part.refusal or self._received is not None:
            text = _output_text(part.text, annotations)
        item = {"id": id, "type": "message", "status": "completed", "role": "assistant"}
        return {**item, "content": [text], **more}

    def _reasoning(self, part: Thought, id: str) -> dict[str, Any]:
        item: dict[str, Any] = {"id": id, "type": "reasoning", "summary": []}
        if part.slot == "content" and self._received is None:
            item["content"] = [{"type": "reasoning_text", "text": part.text}] if part.text else []
        elif part.text:
            item["summary"] = [{"type": "summary_text", "text": part.text}]
        if self._received is None:
            return {**item, **({"encrypted_content": part.signature} if part.signature else {})}
        return {**item, **({"encrypted_content": NO_STATE} if self._received.returns_state else {})}

    def _carry_state(self) -> None:
        """Put the state of the reply on the reasoning before the calls, which stand at the end."""
        calls = [each for each in self.items if each["type"] in _CALLS]
        self.items = [each for each in self.items if each["type"] not in _CALLS]
        state = self._head.state(self._reply.message)
        if not state:
            pass
        elif self.items and self.items[-1]["type"] == "reasoning":
            self.items[-1]["encrypted_content"] = state
        else:
            item = self._reasoning(Thought(), item_id(self._head, Thought(), len(self.items)))
            self.items.append({**item, "encrypted_content": state})
        self.items += calls


_CALLS = ("function_call", "custom_tool_call")
_TOOLS = {
    "web_search": ("web_search_call", "results"),
    "file_search": ("file_search_call", "results"),
    "code": ("code_interpreter_call", "outputs"),
    "mcp": ("mcp_call", "output"),
}
"""Kind of a tool of the server -> the type of its item, and the key of its results."""
_PREFIXES = {Text: "msg", Thought: "rs", ToolCall: "fc", Media: "ig"}


def item_id(head: ResponseHead, part: Part, index: int) -> str:
    """Return the id of the item of a part: that of the response, its kind, and its position.

    >>> item_id(ResponseHead(id="resp_5e1f", model="m", created=0), Text("Hi"), 0)
    'msg_5e1f_0'
    """
    prefix = _PREFIXES.get(type(part), "item")
    return f"{prefix}_{head.id.removeprefix('resp_')}_{index}"


def call_item(call: ToolCall, id: str, received: ReceivedRequest | None) -> dict[str, Any]:
    """Return a call as an item."""
    custom = call.kind == "custom" if received is None else call.name in received.custom_tools
    extra = call.extra or {} if received is None else {}
    status = "incomplete" if received is None and call.arguments is None else "completed"
    fields = {"status": status, "call_id": call.id, "name": call.name, **extra}
    if custom:
        id = id.replace("fc_", "ctc_", 1)
        return {"id": id, "type": "custom_tool_call", **fields, "input": custom_text(call)}
    return {"id": id, "type": "function_call", **fields, "arguments": argument_text(call)}


def _server_call(call: ServerToolCall, id: str) -> dict[str, Any]:
    item = {"id": call.id or id, "type": _TOOLS[call.kind][0], "status": "completed"}
    if call.kind == "web_search":
        return {**item, "action": call.arguments}
    if call.kind == "mcp":
        return {**item, "name": call.name, "arguments": encoded(call.arguments).decode()}
    return {**item, **(call.arguments or {})}


def takes(media: Media) -> bool:
    """Return whether a response has a place for media: for images, as base64.

    >>> takes(Media(url="https://example.com/a.png", media_type="image/png"))
    False
    """
    return media.data is not None and media.media_type.startswith("image/")


def _image(media: Media, id: str) -> dict[str, Any]:
    result = base64.b64encode(media.data or b"").decode()
    kind = media.media_type.removeprefix("image/").removesuffix("+xml")
    item = {"id": id, "type": "image_generation_call", "status": "completed", "result": result}
    return {**item, "output_format": kind, **(media.extra or {})}


def _output_text(text: str, annotations: Events) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": annotations, "logprobs": []}


def annotations_of(reply: Reply, begin: int, end: int) -> Events:
    """Return the citations whose span begins in a text, which is a part of the reply's."""
    last = max(0, len(reply.text) - 1)
    return [
        _annotation(each, begin)
        for each in web_pages(reply)
        if begin <= min(each.start or 0, last) < end
    ]


def _annotation(citation: Citation, begin: int) -> dict[str, Any]:
    """Render an annotation of the text that begins at this position of the reply's."""
    start, end = (max(0, (each or 0) - begin) for each in (citation.start, citation.end))
    cited = {"type": "url_citation", "url": citation.url, "title": citation.title}
    return {**cited, "start_index": start, "end_index": end}


def usage_of(usage: Usage) -> dict[str, Any]:
    """Convert usage to the token counts of the wire.

    >>> usage_of(Usage(input=30, output=5))["total_tokens"]
    35
    """
    written = {"cache_write_tokens": usage.cache_written} if usage.cache_written else {}
    return {
        "input_tokens": usage.input,
        "input_tokens_details": {"cached_tokens": usage.cached, **written},
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning},
        "total_tokens": usage.total or usage.input + usage.output,
    }


def _fields(head: ResponseHead, received: ReceivedRequest | None) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "id": head.id,
        "object": "response",
        "created_at": head.created,
        "status": "in_progress",
        "background": False,
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "model": head.model,
        "output": [],
        "parallel_tool_calls": True,
        "previous_response_id": None,
        "text": {"format": {"type": "text"}},
        "tool_choice": "auto",
        "tools": [],
        "truncation": "disabled",
        "usage": None,
    }
    if received is not None:
        fields["previous_response_id"] = received.previous or None
        fields |= {"store": received.stores, "top_p": received.request.top_p}
        fields |= {"temperature": received.request.temperature, **received.echo}
    return fields


# --- a reply that arrives -------------------------------------------------------------------------


class ReplyWriter:
    """Writes the events of one reply while it arrives.

    >>> from wire.neutral.messages import Message
    >>> from wire.neutral.request import Request
    >>> received = ReceivedRequest(request=Request(messages=(Message.user("Hi"),)))
    >>> writer = ReplyWriter(received, ResponseHead(id="1", model="m", created=0))
    >>> writer.feed(TextDelta("Hello."))[:39]
    b'event: response.output_item.added\\ndata:'
    """

    @checked_arguments()
    def __init__(self, received: ReceivedRequest, head: ResponseHead) -> None:
        self._received, self._head = received, head
        self._custom = received.custom_tools
        self._output: Events = []  # the items, as they began or ended
        self._open: int | None = None  # index of the message or the reasoning that is open
        self._text = ""  # of that item
        self._length = 0  # of the text of the reply
        self._calls: dict[int, int] = {}  # position of a call -> index of its item
        self._number = 0

    def begin(self) -> bytes:
        """Render `response.created` and `response.in_progress`."""
        begun = _fields(self._head, self._received)
        kinds = ("response.created", "response.in_progress")
        return self._framed([{"type": kind, "response": begun} for kind in kinds])

    @checked_feed
    def feed(self, event: Event) -> bytes:
        """Render the events of the wire for one event."""
        events: Events = []
        holds = self._received.returns_state
        if isinstance(event, TextDelta):
            self._add(Text(""), "response.output_text.delta", event.text, events)
            self._length += len(event.text)
        elif isinstance(event, ThoughtDelta):
            if self._received.thoughts:
                self._add(Thought(), f"{SUMMARY}_text.delta", event.text, events)
        elif holds and isinstance(event, ToolCallStart | ToolCallDelta):
            return _KEEP_ALIVE
        elif isinstance(event, ToolCallStart):
            # The input of a custom tool is a text, and a host may send it inside of JSON.
            if event.id and event.name not in self._custom:
                self._close(events)
                call = ToolCall(id=event.id, name=event.name, arguments=None)
                self._calls[event.position] = self._begin(self._call(call), events)
        elif isinstance(event, ToolCallDelta):
            if event.position in self._calls:
                at = self._at(self._calls[event.position])
                kind = "response.function_call_arguments.delta"
                events.append({"type": kind, **at, "delta": event.text})
        elif isinstance(event, ToolCallEnd) and not holds:
            self._end_call(event.position, event.call, events)
        elif isinstance(event, Done):
            self._end(event.reply, events)
        return self._framed(events)

    # --- items

    def _at(self, index: int) -> dict[str, Any]:
        return {"item_id": self._output[index]["id"], "output_index": index}

    def _begin(self, item: dict[str, Any], events: Events) -> int:
        index = len(self._output)
        self._output.append(item)
        events += item_events(index, item)[0]
        return index

    def _done(self, index: int, item: dict[str, Any], events: Events) -> None:
        """End an item that began; one that is no call has new annotations at the most."""
        opening, closing = item_events(index, item, lambda text: ())
        events += [each for each in opening if "annotation" in each]
        events += closing
        self._output[index] = item

    def _whole(self, item: dict[str, Any], events: Events) -> None:
        opening, closing = item_events(len(self._output), item)
        events += [*opening, *closing]
        self._output.append(item)

    def _add(self, part: Text | Thought, kind: str, text: str, events: Events) -> None:
        """Add a text to the open item; begin one if another kind is open."""
        item = self._item(part, "")
        if self._open is None or self._output[self._open]["type"] != item["type"]:
            self._close(events)
            self._open = self._begin(item, events)
        self._text += text
        more = {"content_index": 0, "logprobs": []}
        more = more if item["type"] == "message" else {"summary_index": 0}
        events.append({"type": kind, **self._at(self._open), **more, "delta": text})

    def _item(self, part: Text | Thought, text: str) -> dict[str, Any]:
        """Return the item of a text or a thought, also of an empty one."""
        id = item_id(self._head, part, len(self._output))
        if isinstance(part, Text):
            item: dict[str, Any] = {"id": id, "type": "message", "status": "completed"}
            return {**item, "role": "assistant", "content": [_output_text(text, [])]}
        summary = [{"type": "summary_text", "text": text}]
        return {"id": id, "type": "reasoning", "summary": summary}

    def _close(self, events: Events, state: str = "", annotations: Events | None = None) -> None:
        """End the open item."""
        if self._open is None:
            return
        index, text = self._open, self._text
        self._open, self._text = None, ""
        item = {**self._output[index]}
        if item["type"] == "message":
            item["content"] = [_output_text(text, annotations or [])]
        else:
            item["summary"] = [{"type": "summary_text", "text": text}]
            if self._received.returns_state:
                item["encrypted_content"] = state or NO_STATE
        self._done(index, item, events)

    def _call(self, call: ToolCall) -> dict[str, Any]:
        return call_item(call, item_id(self._head, call, len(self._output)), self._received)

    def _end_call(self, position: int, call: ToolCall, events: Events) -> None:
        if position not in self._calls:
            self._close(events)
            self._whole(self._call(call), events)
            return
        index = self._calls[position]
        item = call_item(call, self._output[index]["id"], self._received)
        self._done(index, item, events)

    # --- the end

    def _end(self, reply: Reply, events: Events) -> None:
        body = body_of(reply, self._received, self._head)
        cited = annotations_of(reply, self._length - len(self._text), self._length)
        thoughts = [each for each in body["output"] if each["type"] == "reasoning"]
        state = thoughts[-1].get("encrypted_content", "") if thoughts else ""
        was_open = self._open is not None and self._output[self._open]["type"] == "reasoning"
        self._close(events, state, cited)
        for item in body["output"]:
            held = self._received.returns_state and item["type"] in _CALLS
            carries = item["type"] == "reasoning" and not item["summary"] and not was_open
            if held or carries or item["type"] == "image_generation_call":
                id = item["id"].rpartition("_")[0]
                self._whole({**item, "id": f"{id}_{len(self._output)}"}, events)
        events.append(last_event({**body, "output": self._output}))

    def _framed(self, events: Events) -> bytes:
        numbered = [
            {**each, "sequence_number": self._number + at} for at, each in enumerate(events)
        ]
        self._number += len(events)
        return framed(numbered)


def framed(events: Iterable[dict[str, Any]]) -> bytes:
    """Encode events, each with its type as its name."""
    return b"".join(
        b"event: %s\ndata: %s\n\n" % (event["type"].encode(), encoded(event)) for event in events
    )


render_reply = rendering(body_of, events_of, framed)
