"""Writes neutral replies as responses of Messages: whole, as their events, or while they arrive.

If the client sends thinking blocks back, one carries the opaque state of the reply, and stands
before the calls, where Anthropic's server wants it: the calls are then sent when the reply is
complete.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from wire.catalogue.usage import Usage
from wire.core.arguments import checked_arguments
from wire.neutral.messages import (
    Citation,
    Done,
    Event,
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

_STOPS = {
    "end": "end_turn",
    "tool_calls": "tool_use",
    "length": "max_tokens",
    "pause": "max_tokens",
    "filter": "refusal",
}
WIRE = "anthropic"
_ENDS = ("stop_reason", "stop_sequence", "stop_details", "container")
_TYPE, _DOCUMENT = "type", "document_index"
"""Keys of Anthropic's own citations, and of those of documents."""
_PING: dict[str, Any] = {"type": "ping"}
_Events = list[dict[str, Any]]


def body_of(
    reply: Reply, received: ReceivedRequest | None = None, head: ResponseHead | None = None
) -> dict[str, Any]:
    """Return a reply as a message.

    >>> from wire.neutral.messages import Message, Stop
    >>> body_of(Reply(Message.assistant("Hello."), Stop("end")))["content"]
    [{'type': 'text', 'text': 'Hello.'}]

    `received` is the request of a client of another server, which gets the parts that it can use;
    without it, the message has all parts of the reply that Anthropic's server can send. `head`
    replaces id and model of the reply.
    """
    word = stop_word_of(reply, WIRE, "messages", _STOPS, shown=received is not None)
    if reply.stop.sequence is not None and word == "end_turn":
        word = "stop_sequence"
    message = {
        **_fields(head or head_of(reply)),
        "content": _content(reply, received, head),
        "stop_reason": word,
        "stop_sequence": reply.stop.sequence,
    }
    if reply.usage is not None or received is not None:
        message["usage"] = usage_of(reply.usage or Usage())
    if word == "refusal":
        why = {"category": None, "explanation": reply.stop.message or None}
        message["stop_details"] = {"type": "refusal", **why}
    return message


def events_of(body: Mapping[str, Any], split: Split = in_one_piece) -> Iterator[dict[str, Any]]:
    """Yield a whole message as the events of a stream; `split` returns the pieces of a text."""
    usage: dict[str, Any] = body.get("usage") or {}
    begun = {**body, "content": [], **dict.fromkeys(_ENDS[:3])}
    if usage:
        first = {key: value for key, value in usage.items() if key != "output_tokens_details"}
        begun["usage"] = {**first, "output_tokens": 1}
    yield {"type": "message_start", "message": begun}
    for index, block in enumerate(body.get("content") or ()):
        events = block_events(index, block, split)
        yield next(events)
        if index == 0:
            yield _PING
        yield from events
    delta = {key: body[key] for key in _ENDS if key in body}
    edited = body.get("context_management")
    edits = {"context_management": edited} if edited else {}
    counts = {k: v for k, v in usage.items() if k not in ("cache_creation", "service_tier")}
    yield {
        "type": "message_delta",
        "delta": delta,
        **({"usage": counts} if counts else {}),
        **edits,
    }
    yield {"type": "message_stop"}


def block_events(
    index: int, block: Mapping[str, Any], split: Split = in_one_piece
) -> Iterator[dict[str, Any]]:
    """Yield the events of one block; a block that has no deltas begins complete."""
    begun, deltas = dict(block), []
    match block.get("type"):
        case "text":
            begun |= {"text": "", **({"citations": []} if block.get("citations") else {})}
            cited = block.get("citations") or ()
            deltas = [{"type": "citations_delta", "citation": each} for each in cited]
            deltas += _text_deltas("text", block, split)
        case "thinking":
            begun |= {"thinking": "", **({"signature": ""} if "signature" in block else {})}
            deltas = _text_deltas("thinking", block, split)
            if "signature" in block:
                deltas.append({"type": "signature_delta", "signature": block["signature"]})
        case "compaction":
            begun["content"] = None
            deltas = [{"type": "compaction_delta", "content": block.get("content")}]
        case "tool_use":
            begun["input"] = {}
            given = block.get("input")
            written = json.dumps(given, ensure_ascii=False) if given != {} else ""
            pieces = ("", written[: len(written) // 2], written[len(written) // 2 :])
            deltas = [{"type": "input_json_delta", "partial_json": each} for each in pieces]
            deltas = deltas if written else deltas[:1]
    yield {"type": "content_block_start", "index": index, "content_block": begun}
    for delta in deltas:
        yield {"type": "content_block_delta", "index": index, "delta": delta}
    yield {"type": "content_block_stop", "index": index}


def _text_deltas(field: str, block: Mapping[str, Any], split: Split) -> _Events:
    return [{"type": f"{field}_delta", field: text} for text in split(block.get(field) or "")]


# --- blocks ---------------------------------------------------------------------------------------


def _content(reply: Reply, received: ReceivedRequest | None, head: ResponseHead | None) -> _Events:
    blocks: _Events = []
    at = 0  # where the text of the part begins in the text of the reply
    for part in reply.message.parts:
        block = own_json(part, WIRE) if received is None else None
        if block is None:
            block = _block(part, reply, at, received)
        blocks += [] if block is None else [block]
        at += len(part.text) if isinstance(part, Text) else 0
    if received is None or not received.returns_state or head is None or not reply.tool_calls:
        return blocks
    calls = [each for each in blocks if each["type"] == "tool_use"]
    others = [each for each in blocks if each["type"] != "tool_use"]
    if state := head.state(reply.message):
        if others and others[-1]["type"] == "thinking":
            others[-1]["signature"] = state
        else:
            others.append({"type": "redacted_thinking", "data": state})
    return others + calls


def _block(
    part: Part, reply: Reply, at: int, received: ReceivedRequest | None
) -> dict[str, Any] | None:
    """Return the block of a part; `None` if the client gets none."""
    match part:
        case Text(text) if text or received is None:
            cited = _cited(reply, at, at + len(text))
            return {"type": "text", "text": text, **({"citations": cited} if cited else {})}
        case Thought() if received is None and part.slot == "redacted_thinking":
            return {"type": part.slot, **(part.details[0] if part.details else {})}
        case Thought(text) if received is None:
            signed = {"signature": part.signature} if part.signature else {}
            return {"type": "thinking", "thinking": text, **signed}
        case Thought(text) if text and received is not None and received.thoughts:
            # Clients drop a thinking block that has no signature.
            return {"type": "thinking", "thinking": text, "signature": NO_STATE}
        case ToolCall(id=id, name=name):
            cut = received is None and part.arguments is None
            given: Any = part.text if cut else argument_object(part)
            return {"type": "tool_use", "id": id, "name": name, "input": given}
        case ServerToolCall(id=id, name=name) if received is None:
            kind = "mcp_tool_use" if part.kind == "mcp" else "server_tool_use"
            return {"type": kind, "id": id, "name": name, "input": part.arguments}
        case ServerToolResult(id=id, name=name) if received is None:
            result = {"tool_use_id": id, "content": part.content}
            return {"type": f"{name}_tool_result", **result}
        case Other(data=dict()) if received is None and part.origin is None:
            return {**part.data}
    return None


def _cited(reply: Reply, begin: int, end: int) -> _Events:
    """Return the citations whose span begins in a text, which is a part of the reply's."""
    last = max(0, len(reply.text) - 1)
    return [
        _citation(each, reply.text)
        for each in reply.citations
        if (each.url or _TYPE in (each.extra or ())) and begin <= min(each.start or 0, last) < end
    ]


def _citation(citation: Citation, text: str) -> dict[str, Any]:
    """Render a citation: as Anthropic's own, or as a result of a web search.

    A source that is not quoted gets the cited span of the answer as its quotation.
    """
    own = citation.extra or {}
    quoted = citation.text or text[citation.start or 0 : citation.end or 0]
    if _DOCUMENT in own:
        file = {"file_id": citation.source} if citation.source else {}
        return {**own, "cited_text": quoted, "document_title": citation.title or None, **file}
    if not citation.url:
        return {**own, "cited_text": quoted, "title": citation.title, "source": citation.source}
    page = {"url": citation.url, "title": citation.title, "cited_text": quoted}
    # Only Anthropic's server makes an index; the request that returns the block is sent without.
    return {"type": "web_search_result_location", "encrypted_index": "", **own, **page}


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
    if usage.cache_written_1h:
        hour = usage.cache_written_1h
        counts["cache_creation"] = {
            "ephemeral_1h_input_tokens": hour,
            "ephemeral_5m_input_tokens": usage.cache_written - hour,
        }
    if usage.reasoning:
        counts["output_tokens_details"] = {"thinking_tokens": usage.reasoning}
    return counts


def _fields(head: ResponseHead) -> dict[str, Any]:
    return {
        "id": head.id,
        "type": "message",
        "role": "assistant",
        "model": head.model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
    }


# --- a reply that arrives -------------------------------------------------------------------------


class ReplyWriter:
    """Writes the events of one reply while it arrives.

    >>> from wire.neutral.messages import Message
    >>> from wire.neutral.request import Request
    >>> received = ReceivedRequest(request=Request(messages=(Message.user("Hi"),)))
    >>> writer = ReplyWriter(received, ResponseHead(id="1", model="m", created=0))
    >>> writer.feed(TextDelta("Hello."))[:32]
    b'event: content_block_start\\ndata:'

    Blocks have their own indexes, so that calls may arrive at once.
    """

    @checked_arguments()
    def __init__(self, received: ReceivedRequest, head: ResponseHead) -> None:
        self._received, self._head = received, head
        self._kinds: list[str] = []  # type of each block
        self._open: int | None = None  # index of the text or thinking block that is open
        self._begun = self._length = 0  # of the reply's text: where that block begins, and so far
        self._calls: dict[int, int] = {}  # position of a call -> index of its block

    def begin(self) -> bytes:
        """Render `message_start`."""
        message = {**_fields(self._head), "usage": {"input_tokens": 0, "output_tokens": 0}}
        return framed([{"type": "message_start", "message": message}, _PING])

    @checked_feed
    def feed(self, event: Event) -> bytes:
        """Render the events of the wire for one event."""
        events: _Events = []
        if isinstance(event, TextDelta):
            self._add("text", event.text, events)
            self._length += len(event.text)
        elif isinstance(event, ThoughtDelta):
            if self._received.thoughts:
                self._add("thinking", event.text, events)
        elif self._received.returns_state and isinstance(event, ToolCallStart | ToolCallDelta):
            events.append(_PING)  # the client sees that the model is not silent
        elif isinstance(event, ToolCallStart):
            if event.id:  # some hosts send the id later
                self._close(events)
                block = {"type": "tool_use", "id": event.id, "name": event.name, "input": {}}
                self._calls[event.position] = self._begin(block, events)
        elif isinstance(event, ToolCallDelta):
            if event.position in self._calls:
                at = self._calls[event.position]
                events.append(_delta(at, {"type": "input_json_delta", "partial_json": event.text}))
        elif isinstance(event, ToolCallEnd) and not self._received.returns_state:
            self._end_call(event.position, event.call, events)
        elif isinstance(event, Done):
            self._end(event.reply, events)
        return framed(events)

    def _add(self, kind: str, text: str, events: _Events) -> None:
        """Add a text to the open block; begin one if another kind is open."""
        if self._open is None or self._kinds[self._open] != kind:
            self._close(events)
            self._begun = self._length
            signed = {"signature": ""} if kind == "thinking" else {}
            self._open = self._begin({"type": kind, kind: "", **signed}, events)
        events.append(_delta(self._open, {"type": f"{kind}_delta", kind: text}))

    def _begin(self, block: dict[str, Any], events: _Events) -> int:
        index = len(self._kinds)
        self._kinds.append(block["type"])
        events.append({"type": "content_block_start", "index": index, "content_block": block})
        return index

    def _close(self, events: _Events, signature: str = NO_STATE) -> None:
        """End the open block. Clients drop a thinking block that has no signature."""
        if self._open is None:
            return
        index, self._open = self._open, None
        if self._kinds[index] == "thinking":
            events.append(_delta(index, {"type": "signature_delta", "signature": signature}))
        events.append({"type": "content_block_stop", "index": index})

    def _end_call(self, position: int, call: ToolCall, events: _Events) -> None:
        if position in self._calls:
            events.append({"type": "content_block_stop", "index": self._calls[position]})
            return
        self._close(events)
        block = {"type": "tool_use", "id": call.id, "name": call.name}
        self._block({**block, "input": argument_object(call)}, events)

    def _block(self, block: dict[str, Any], events: _Events) -> None:
        """Add the events of a whole block."""
        events += block_events(len(self._kinds), block)
        self._kinds.append(block["type"])

    def _end(self, reply: Reply, events: _Events) -> None:
        message = body_of(reply, self._received, self._head)
        if self._open is not None and self._kinds[self._open] == "text":
            # A block that ended gets its citations in the whole message alone.
            for each in _cited(reply, self._begun, len(reply.text)):
                events.append(_delta(self._open, {"type": "citations_delta", "citation": each}))
        # The state is the signature of the thinking block before the calls, or a block of its own.
        thoughts = [each for each in message["content"] if each["type"] == "thinking"]
        self._close(events, thoughts[-1]["signature"] if thoughts else NO_STATE)
        for block in message["content"]:
            held = block["type"] == "tool_use" and self._received.returns_state
            if held or block["type"] == "redacted_thinking":
                self._block(block, events)
        ends = {key: message[key] for key in _ENDS if key in message}
        events.append({"type": "message_delta", "delta": ends, "usage": message["usage"]})
        events.append({"type": "message_stop"})


def _delta(index: int, delta: dict[str, Any]) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": delta}


def framed(events: Iterable[dict[str, Any]]) -> bytes:
    """Encode events, each with its type as its name."""
    return b"".join(
        b"event: %s\ndata: %s\n\n" % (event["type"].encode(), encoded(event)) for event in events
    )


render_reply = rendering(body_of, events_of, framed)
