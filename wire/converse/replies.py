"""Writes neutral replies as answers of Converse: whole, as their frames, or while they arrive.

If the client sends reasoning back, one block of it carries the opaque state of the reply, and
stands before the calls: these are then sent when the reply is complete.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from wire.catalogue.usage import Usage
from wire.converse.finish import COLUMN
from wire.converse.parse import REDACTED, WIRE
from wire.converse.server_parts import RESULT
from wire.core.arguments import checked_arguments
from wire.core.event_stream import frame_bytes
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
    Split,
    argument_object,
    checked_feed,
    encoded,
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
    "filter": "content_filtered",
}
_EVENTS = {":content-type": "application/json", ":message-type": "event"}
_Events = list[dict[str, Any]]
_FORMATS = ("image/png", "image/jpeg", "image/gif", "image/webp")


def takes(media: Media) -> bool:
    """Return whether an answer can have media of a reply.

    >>> takes(Media(data=b"RIFF", media_type="audio/wav"))
    False
    """
    return media.data is not None and media.media_type in _FORMATS


def body_of(
    reply: Reply, received: ReceivedRequest | None = None, head: ResponseHead | None = None
) -> dict[str, Any]:
    """Return a reply as an answer.

    >>> from wire.neutral.messages import Message, Stop
    >>> body_of(Reply(Message.assistant("Hello."), Stop("end")))["output"]["message"]["content"]
    [{'text': 'Hello.'}]

    `received` is the request of a client of another server, which gets the parts that it can use;
    without it, the answer has all parts of the reply that Bedrock can send.
    """
    word = stop_word_of(reply, WIRE, COLUMN, _STOPS, shown=received is not None)
    if reply.stop.sequence is not None and word == "end_turn":
        word = "stop_sequence"
    body: dict[str, Any] = {
        "metrics": {"latencyMs": 1},
        "output": {"message": {"content": _content(reply, received, head), "role": "assistant"}},
        "stopReason": word,
    }
    if reply.usage is not None or received is not None:
        body["usage"] = usage_of(reply.usage or Usage())
    if reply.stop.message and reply.stop.reason == "filter":
        body["trace"] = {"guardrail": {"actionReason": reply.stop.message}}
    return body


def usage_of(usage: Usage) -> dict[str, Any]:
    """Convert usage to the token counts of the wire: the input excludes the tokens of the cache.

    >>> usage_of(Usage(input=30, output=5, cached=20))["inputTokens"]
    10
    """
    counts: dict[str, Any] = {
        "inputTokens": max(0, usage.input - usage.cached - usage.cache_written),
        "outputTokens": usage.output,
        "totalTokens": usage.total or usage.input + usage.output,
    }
    if usage.cached or usage.cache_written:
        counts["cacheReadInputTokens"] = usage.cached
        counts["cacheWriteInputTokens"] = usage.cache_written
    if hour := usage.cache_written_1h:
        rest = usage.cache_written - hour
        details = [{"inputTokens": hour, "ttl": "1h"}, {"inputTokens": rest, "ttl": "5m"}]
        counts["cacheDetails"] = details
    return counts


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
    calls = [each for each in blocks if "toolUse" in each]
    others = [each for each in blocks if "toolUse" not in each]
    if state := head.state(reply.message):
        reasoning = [each["reasoningContent"] for each in others if "reasoningContent" in each]
        if reasoning and "reasoningText" in reasoning[-1]:
            reasoning[-1]["reasoningText"]["signature"] = state
        else:
            others.append({"reasoningContent": {REDACTED: state}})
    return others + calls


def _block(
    part: Part, reply: Reply, at: int, received: ReceivedRequest | None
) -> dict[str, Any] | None:
    """Return the block of a part; `None` if the client gets none."""
    match part:
        case Text(text) if text or received is None:
            cited = _cited(reply, at, at + len(text))
            if not cited:
                return {"text": text}
            return {"citationsContent": {"citations": cited, "content": [{"text": text}]}}
        case Thought() if received is None and part.slot in (REDACTED, "redacted_thinking"):
            return {"reasoningContent": {REDACTED: (part.details or ({},))[0].get("data", "")}}
        case Thought(text) if received is None:
            signed = {"signature": part.signature} if part.signature else {}
            return {"reasoningContent": {"reasoningText": {"text": text, **signed}}}
        case Thought(text) if text and received is not None and received.thoughts:
            signature = {"signature": NO_STATE}
            return {"reasoningContent": {"reasoningText": {"text": text, **signature}}}
        case ToolCall(id=id, name=name):
            cut = received is None and part.arguments is None
            given: Any = part.text if cut else argument_object(part)
            return {"toolUse": {"input": given, "name": name, "toolUseId": id}}
        case Media(data=bytes(data), media_type=kind) if takes(part):
            source = {"bytes": base64.b64encode(data).decode()}
            return {"image": {"format": kind.removeprefix("image/"), "source": source}}
        case ServerToolCall() if received is None:
            call = {"input": part.arguments, "name": part.name, "toolUseId": part.id}
            return {"toolUse": {**call, "type": "server_tool_use"}}
        case ServerToolResult() if received is None:
            status = "error" if part.error else "success"
            result = {"content": part.content, "status": status, "toolUseId": part.id}
            return {"toolResult": {**result, "type": f"{part.name}{RESULT}"}}
        case Other(data=dict()) if received is None and part.origin is None:
            return {**part.data}
    return None


def _cited(reply: Reply, begin: int, end: int) -> _Events:
    """Return the citations whose span begins in a text, which is a part of the reply's."""
    last = max(0, len(reply.text) - 1)
    return [
        _citation(each)
        for each in reply.citations
        if (each.url or "location" in (each.extra or ()))
        and begin <= min(each.start or 0, last) < end
    ]


def _citation(citation: Citation) -> dict[str, Any]:
    """Render a citation: as Bedrock's own, or as one of a page."""
    made: dict[str, Any] = {}
    if citation.url:
        domain = citation.url.partition("://")[2].partition("/")[0]
        made["location"] = {"web": {"domain": domain, "url": citation.url}}
    if citation.text:
        made["sourceContent"] = [{"text": citation.text}]
    if citation.title:
        made["title"] = citation.title
    if citation.source:
        made["source"] = citation.source
    own = citation.extra or {}
    return {**made, **({"location": own["location"]} if "location" in own else {})}


# --- events ---------------------------------------------------------------------------------------


def events_of(body: Mapping[str, Any], split: Split = in_one_piece) -> Iterator[dict[str, Any]]:
    """Yield a whole answer as the events of a stream; `split` returns the pieces of a text."""
    rest = dict(body)
    message = (rest.pop("output", None) or {}).get("message") or {}
    yield {"messageStart": {"role": message.get("role") or "assistant"}}
    for index, block in enumerate(message.get("content") or ()):
        yield from block_events(index, block, split)
    stop = {
        key: rest.pop(key) for key in ("additionalModelResponseFields", "stopReason") if key in rest
    }
    yield {"messageStop": stop}
    yield {"metadata": rest}


def block_events(
    index: int, block: Mapping[str, Any], split: Split = in_one_piece
) -> Iterator[dict[str, Any]]:
    """Yield the events of one block; only calls, results and images have a start."""
    start: dict[str, Any] = {}
    deltas: _Events = []
    for kind, value in block.items():
        if kind == "text":
            deltas += [{"text": text} for text in split(value or "") or ("",)]
        elif kind == "reasoningContent":
            deltas += _reasoning_deltas(value, split)
        elif kind == "citationsContent":
            texts = "".join(each.get("text") or "" for each in value.get("content") or ())
            deltas += [{"text": text} for text in split(texts)]
            deltas += [{"citation": each} for each in value.get("citations") or ()]
        elif kind == "toolUse":
            start[kind] = {key: each for key, each in value.items() if key != "input"}
            given = value.get("input")
            written = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
            halves = (written[: len(written) // 2], written[len(written) // 2 :])
            deltas += [{kind: {"input": each}} for each in halves] if given != {} else []
        elif kind == "toolResult":
            start[kind] = {key: each for key, each in value.items() if key != "content"}
            deltas.append({kind: value.get("content") or []})
        elif kind == "image":
            start[kind] = {"format": value.get("format")}
            deltas.append({kind: {"source": value.get("source")}})
        else:
            deltas.append({kind: value})
    at = {"contentBlockIndex": index}
    if start:
        yield {"contentBlockStart": {**at, "start": start}}
    for delta in deltas:
        yield {"contentBlockDelta": {**at, "delta": delta}}
    yield {"contentBlockStop": at}


def _reasoning_deltas(reasoning: Mapping[str, Any], split: Split) -> Iterator[dict[str, Any]]:
    text = reasoning.get("reasoningText") or {}
    deltas: _Events = [{"text": piece} for piece in split(text.get("text") or "")]
    deltas += [
        {key: value}
        for key, value in (*text.items(), *reasoning.items())
        if key not in ("text", "reasoningText")
    ]
    for each in deltas or ({"text": ""},):  # without a delta, there is no block
        yield {"reasoningContent": each}


_PADDING = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"


def frame(name: str, payload: Mapping[str, Any]) -> bytes:
    """Encode one event as a frame, with a padding as Bedrock sends it.

    >>> len(frame("messageStart", {"role": "assistant"}))
    147
    """
    size = len(str(payload)) % len(_PADDING) + 1
    data = encoded(dict(sorted({**payload, "p": _PADDING[:size]}.items())))
    return frame_bytes({":event-type": name, **_EVENTS}, data)


def framed(events: Iterable[Mapping[str, Any]]) -> bytes:
    """Encode events, objects with their name as the only key, as frames."""
    return b"".join(frame(name, fields) for event in events for name, fields in event.items())


# --- a reply that arrives -------------------------------------------------------------------------


class ReplyWriter:
    """Writes the events of one reply while it arrives.

    >>> from wire.neutral.messages import Message
    >>> from wire.neutral.request import Request
    >>> received = ReceivedRequest(request=Request(messages=(Message.user("Hi"),)))
    >>> writer = ReplyWriter(received, ResponseHead(id="1", model="m", created=0))
    >>> b'"delta":{"text":"Hello."}' in writer.feed(TextDelta("Hello."))
    True

    Blocks have their own indexes, so that calls may arrive at once.
    """

    @checked_arguments()
    def __init__(self, received: ReceivedRequest, head: ResponseHead) -> None:
        self._received, self._head = received, head
        self._count = 0  # of blocks
        self._open: tuple[int, str] | None = None  # index and kind of the open block
        self._calls: dict[int, int] = {}  # position of a call -> index of its block
        self._begun = self._length = 0  # of the reply's text: where that block begins, and so far

    def begin(self) -> bytes:
        """Render `messageStart`."""
        return framed([{"messageStart": {"role": "assistant"}}])

    @checked_feed
    def feed(self, event: Event) -> bytes:
        """Render the events of the wire for one event."""
        events: _Events = []
        if isinstance(event, TextDelta):
            self._add("text", {"text": event.text}, events)
            self._length += len(event.text)
        elif isinstance(event, ThoughtDelta):
            if self._received.thoughts:
                self._add("reasoning", {"reasoningContent": {"text": event.text}}, events)
        elif isinstance(event, ToolCallStart) and not self._received.returns_state:
            if event.id:  # some hosts send the id later
                self._begin_call(event.position, event.id, event.name, events)
        elif isinstance(event, ToolCallDelta) and not self._received.returns_state:
            if event.position in self._calls:
                at = self._calls[event.position]
                events.append(_delta(at, {"toolUse": {"input": event.text}}))
        elif isinstance(event, ToolCallEnd) and not self._received.returns_state:
            self._end_call(event.position, event.call, events)
        elif isinstance(event, Done):
            self._end(event.reply, events)
        return framed(events)

    def _add(self, kind: str, delta: dict[str, Any], events: _Events) -> None:
        """Add a piece to the open block; begin one if another kind is open."""
        if self._open is None or self._open[1] != kind:
            self._close(events)
            self._begun = self._length
            self._open = self._count, kind
            self._count += 1
        events.append(_delta(self._open[0], delta))

    def _close(self, events: _Events, signature: str = NO_STATE) -> None:
        """End the open block. Clients drop reasoning that has no signature."""
        if self._open is None:
            return
        (index, kind), self._open = self._open, None
        if kind == "reasoning":
            events.append(_delta(index, {"reasoningContent": {"signature": signature}}))
        events.append({"contentBlockStop": {"contentBlockIndex": index}})

    def _begin_call(self, position: int, id: str, name: str, events: _Events) -> None:
        self._close(events)
        self._calls[position] = self._count
        start = {"toolUse": {"name": name, "toolUseId": id}}
        events.append({"contentBlockStart": {"contentBlockIndex": self._count, "start": start}})
        self._count += 1

    def _end_call(self, position: int, call: ToolCall, events: _Events) -> None:
        if position not in self._calls:
            self._begin_call(position, call.id, call.name, events)
            given = json.dumps(argument_object(call), ensure_ascii=False)
            events.append(_delta(self._calls[position], {"toolUse": {"input": given}}))
        at = {"contentBlockIndex": self._calls[position]}
        events.append({"contentBlockStop": at})

    def _end(self, reply: Reply, events: _Events) -> None:
        body = body_of(reply, self._received, self._head)
        content = body["output"]["message"]["content"]
        if self._open is not None and self._open[1] == "text":
            # A block that ended gets its citations in the whole answer alone.
            for each in _cited(reply, self._begun, len(reply.text)):
                events.append(_delta(self._open[0], {"citation": each}))
        # The state is the signature of the reasoning before the calls, or a block of its own.
        reasoning = [each["reasoningContent"] for each in content if "reasoningContent" in each]
        texts = [each["reasoningText"] for each in reasoning if "reasoningText" in each]
        self._close(events, texts[-1]["signature"] if texts else NO_STATE)
        for block in content:
            held = "toolUse" in block and self._received.returns_state
            if held or REDACTED in block.get("reasoningContent", ()) or "image" in block:
                events += block_events(self._count, block)
                self._count += 1
        *_, stop, metadata = events_of(body)
        events += [stop, metadata]


def _delta(index: int, delta: dict[str, Any]) -> dict[str, Any]:
    return {"contentBlockDelta": {"contentBlockIndex": index, "delta": delta}}


render_reply = rendering(body_of, events_of, framed)
