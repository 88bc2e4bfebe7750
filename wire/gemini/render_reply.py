"""Writes neutral replies as responses of generateContent, whole or as chunks.

Calls are sent whole, as Google's server does. The opaque state of the reply is the signature of the
first call, or of an empty text at the end.
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
    Text,
    TextDelta,
    Thought,
    ThoughtDelta,
    ToolCall,
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
    "end": "STOP",
    "tool_calls": "STOP",
    "length": "MAX_TOKENS",
    "pause": "MAX_TOKENS",
    "filter": "SAFETY",
}


class ReplyWriter:
    """Writes one reply as Google's server does.

    >>> from wire.neutral.messages import Message
    >>> from wire.neutral.request import Request
    >>> received = ReceivedRequest(request=Request(messages=(Message.user("Hi"),)))
    >>> writer = ReplyWriter(received, ResponseHead(id="1", model="m", created=0))
    >>> writer.feed(TextDelta("Hello."))[:51]
    b'data: {"candidates":[{"content":{"parts":[{"text":"'
    """

    def __init__(self, received: ReceivedRequest, head: ResponseHead) -> None:
        self._received, self._head = received, head
        self._response: dict[str, Any] = {}

    def begin(self) -> bytes:
        """Return no bytes: the first event is the first chunk."""
        return b""

    def feed(self, event: Event) -> bytes:
        """Render the chunk for one event."""
        if isinstance(event, TextDelta):
            return self._chunk([{"text": event.text}])
        if isinstance(event, ThoughtDelta) and self._received.thoughts:
            return self._chunk([{"text": event.text, "thought": True}])
        return self._end(event.reply) if isinstance(event, Done) else b""

    def body(self) -> bytes:
        """Render the whole response."""
        return encoded(self._response)

    def _chunk(self, parts: list[dict[str, Any]]) -> bytes:
        return _framed(self._with({"content": {"parts": parts, "role": "model"}, "index": 0}))

    def _with(self, candidate: dict[str, Any], usage: Usage | None = None) -> dict[str, Any]:
        counts = {"usageMetadata": usage_of(usage)} if usage is not None else {}
        head = {"modelVersion": self._head.model, "responseId": self._head.id}
        return {"candidates": [candidate], **counts, **head}

    def _end(self, reply: Reply) -> bytes:
        texts: list[dict[str, Any]] = []
        others: list[dict[str, Any]] = []
        for part in reply.message.parts:
            if isinstance(part, Text) and part.text:
                texts.append({"text": part.text})
            elif isinstance(part, Thought) and part.text and self._received.thoughts:
                texts.append({"text": part.text, "thought": True})
            elif isinstance(part, Media):
                others.append(_media(part))
            elif isinstance(part, ToolCall):
                call = {"name": part.name, "args": argument_object(part), "id": part.id}
                others.append({"functionCall": call})
        state = self._head.state(reply.message)
        call_part = next((each for each in others if "functionCall" in each), None)
        if call_part is not None:
            # Clients give a call without a signature one of their own.
            call_part["thoughtSignature"] = state or NO_STATE
        elif state:
            others.append({"text": "", "thoughtSignature": state})
        candidate: dict[str, Any] = {
            "finishReason": _STOPS.get(reply.stop.reason, "OTHER"),
            "index": 0,
        }
        if reply.stop.message:
            candidate["finishMessage"] = reply.stop.message
        if citations := web_pages(reply):
            candidate["groundingMetadata"] = _grounding(citations, reply.text)
        usage = reply.usage or Usage()
        content = {"parts": [*texts, *others], "role": "model"}
        self._response = self._with({"content": content, **candidate}, usage)
        # The texts were sent as they came.
        content = {"parts": others or [{"text": ""}], "role": "model"}
        return _framed(self._with({"content": content, **candidate}, usage))


def _grounding(citations: list[Citation], text: str) -> dict[str, Any]:
    """Render the pages, and the segments of the text that they support, with positions in bytes of
    UTF-8.
    """

    def size(of: str) -> int:
        return len(of.encode(errors="surrogatepass"))

    pages = list(dict.fromkeys((each.url, each.title) for each in citations))
    supports = []
    for each in citations:
        if each.start is not None and each.end is not None:
            cited = text[each.start : each.end]
            start, index = size(text[: each.start]), pages.index((each.url, each.title))
            segment = {"startIndex": start, "endIndex": start + size(cited), "text": cited}
            supports.append({"segment": segment, "groundingChunkIndices": [index]})
    chunks = [{"web": {"uri": url, "title": title}} for url, title in pages]
    return {"groundingChunks": chunks, "groundingSupports": supports}


def _media(media: Media) -> dict[str, Any]:
    if media.data is None:
        return {"fileData": {"fileUri": media.url, "mimeType": media.media_type}}
    data = base64.b64encode(media.data).decode()
    return {"inlineData": {"data": data, "mimeType": media.media_type}}


def usage_of(usage: Usage) -> dict[str, int]:
    """Convert usage to the token counts of the wire; the count of the candidates excludes thoughts.

    >>> usage_of(Usage(input=30, output=5, reasoning=2))["candidatesTokenCount"]
    3
    """
    counts = {
        "promptTokenCount": usage.input,
        "candidatesTokenCount": max(0, usage.output - usage.reasoning),
        "totalTokenCount": usage.total or usage.input + usage.output,
    }
    if usage.reasoning:
        counts["thoughtsTokenCount"] = usage.reasoning
    if usage.cached:
        counts["cachedContentTokenCount"] = usage.cached
    return counts


def _framed(chunk: dict[str, Any]) -> bytes:
    return b"data: " + encoded(chunk) + b"\r\n\r\n"
