"""Writes neutral replies as responses of generateContent: whole, as their chunks, or while they
arrive.

Calls are sent whole, as Google's server does. A client of another server gets the opaque state of
the reply as the signature of the first call, or of an empty text at the end.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from wire.catalogue.stops import known
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
    web_pages,
)

WIRE = "gemini"
_STOPS = {
    "end": "STOP",
    "tool_calls": "STOP",
    "length": "MAX_TOKENS",
    "pause": "MAX_TOKENS",
    "filter": "SAFETY",
}
_START = "startIndex"
"""A key of the citation of a text that the model quotes, if the reply has no such span."""


def body_of(
    reply: Reply, received: ReceivedRequest | None = None, head: ResponseHead | None = None
) -> dict[str, Any]:
    """Return a reply as a response of generateContent.

    >>> from wire.neutral.messages import Message, Stop
    >>> body = body_of(Reply(Message.assistant("Hello."), Stop("end")))
    >>> body["candidates"][0]["content"]["parts"]
    [{'text': 'Hello.'}]

    `received` is the request of a client of another server, which gets the parts that it can use;
    without it, the candidate has all parts of the reply that Google's server can send. `head`
    replaces id and model of the reply.
    """
    usage = reply.usage
    head = head or head_of(reply)
    word, blocked = reply.stop.raw or "", reply.stop.reason == "filter" and not reply.message.parts
    if received is None and blocked and known("gemini.block", word) is not None:
        block = {"blockReason": reply.stop.raw, "blockReasonMessage": reply.stop.message}
        return _response([], usage, head, promptFeedback=block)
    parts = _parts(reply, received)
    if received is not None:
        _sign(parts, head.state(reply.message))
        usage = usage or Usage()
    return _response([_candidate(parts, reply, received, reply.text)], usage, head)


def events_of(body: Mapping[str, Any], split: Split = in_one_piece) -> Iterator[dict[str, Any]]:
    """Yield a whole response as the chunks of a stream: texts in pieces, other parts whole.

    `split` returns the pieces of a text.
    """
    candidates = body.get("candidates") or ()
    head = {key: body[key] for key in ("modelVersion", "responseId") if key in body}
    for candidate in candidates[:1]:
        for part in (candidate.get("content") or {}).get("parts") or ():
            for piece in _pieces(part, split):
                content = {"parts": [piece], "role": "model"}
                yield {"candidates": [{"content": content, "index": 0}], **head}
    # The last chunk adds no part.
    ends = [{**each, "content": {"role": "model"}} for each in candidates]
    yield {**body, **({"candidates": ends} if ends else {})}


def _pieces(part: Mapping[str, Any], split: Split) -> Iterator[Mapping[str, Any]]:
    text = part.get("text")
    texts = split(text) if isinstance(text, str) else ()
    if not texts or not set(part) <= {"text", "thought"}:
        yield part
        return
    yield from ({**part, "text": each} for each in texts)


def _response(
    candidates: list[dict[str, Any]], usage: Usage | None, head: ResponseHead, **more: Any
) -> dict[str, Any]:
    found = {"candidates": candidates} if candidates else {}
    counts = {"usageMetadata": usage_of(usage)} if usage is not None else {}
    return {**found, **more, **counts, "modelVersion": head.model, "responseId": head.id}


def candidate_of(reply: Reply, *, text: str | None = None) -> dict[str, Any]:
    """Return a reply as a candidate; `text` is the text of its citations, if it is a longer one."""
    text = reply.text if text is None else text
    return _candidate(_parts(reply, None), reply, None, text)


def _candidate(
    parts: list[dict[str, Any]], reply: Reply, received: ReceivedRequest | None, text: str
) -> dict[str, Any]:
    word = stop_word_of(reply, WIRE, "gemini", _STOPS, shown=received is not None)
    if received is not None and reply.stop.reason in ("error", "other"):
        word = "OTHER"
    candidate: dict[str, Any] = {"content": {"parts": parts, "role": "model"}, "index": 0}
    if word is not None:
        # Some clients ask for the number of the word.
        candidate["finishReason"] = int(word) if word.isdigit() else word
    if reply.stop.message:
        candidate["finishMessage"] = reply.stop.message
    if reply.stop.token and received is None:
        candidate["continuationToken"] = reply.stop.token
    quoted = [each for each in reply.citations if _START in (each.extra or ())]
    cited = [each for each in reply.citations if each not in quoted]
    if cited := web_pages(reply) if received is not None else cited:
        candidate["groundingMetadata"] = _grounding(cited, text)
    if quoted and received is None:
        pages = [
            {**_filled(uri=each.url, title=each.title), **(each.extra or {})} for each in quoted
        ]
        candidate["citationMetadata"] = {"citationSources": pages}
    return candidate


# --- parts ----------------------------------------------------------------------------------------


def _parts(reply: Reply, received: ReceivedRequest | None) -> list[dict[str, Any]]:
    if received is None:
        made = ((part, own_json(part, WIRE)) for part in reply.message.parts)
        return [each for part, own in made if (each := own or _part(part)) is not None]
    found = [_part(part) for part in reply.message.parts if _is_shown(part, received)]
    calls = [each for each in found if each is not None]
    # Clients keep a text and a media of a turn in one Content, and calls at its end.
    return sorted(calls, key=lambda part: "text" not in part)


def _is_shown(part: Part, received: ReceivedRequest) -> bool:
    """Return whether a client of another server gets a part."""
    if isinstance(part, Thought):
        return bool(part.text) and received.thoughts
    return bool(part.text) if isinstance(part, Text) else isinstance(part, Media | ToolCall)


def _part(part: Part) -> dict[str, Any] | None:
    """Return the part of the wire; `None` if Google's server has none."""
    match part:
        case Text(text):
            made: dict[str, Any] = {"text": text}
        case Thought(text):
            payload = part.details[0] if part.details and not text else {"text": text}
            made = {**payload, "thought": True}
        case Media():
            return _media(part)
        case ToolCall(name=name, id=id):
            call = {"name": name, "args": argument_object(part), **_filled(id=id)}
            made = {"functionCall": call}
        case ServerToolCall(id=id) if part.name == _CODE:
            return {"executableCode": {**(part.arguments or {}), **_filled(id=id)}}
        case ServerToolResult(id=id) if part.name == _CODE:
            return {"codeExecutionResult": {**(part.content or {}), **_filled(id=id)}}
        case ServerToolCall(id=id, name=name):
            return {"toolCall": {"toolType": name, "args": part.arguments, **_filled(id=id)}}
        case ServerToolResult(id=id, name=name):
            return {"toolResponse": {"toolType": name, "response": part.content, **_filled(id=id)}}
        case Other(kind=kind, data=data) if part.origin is None:
            return {kind: data}
        case _:
            return None
    if part.signature:
        made["thoughtSignature"] = part.signature
    return made


_CODE = "codeExecution"


def _sign(parts: list[dict[str, Any]], state: str) -> None:
    """Put the state of the reply on its first call, or on an empty text at the end."""
    for part in parts:
        part.pop("thoughtSignature", None)
    call = next((each for each in parts if "functionCall" in each), None)
    if call is not None:
        # Clients give a call without a signature one of their own.
        call["thoughtSignature"] = state or NO_STATE
    elif state:
        parts.append({"text": "", "thoughtSignature": state})


def _media(media: Media) -> dict[str, Any]:
    named = {"displayName": media.name} if media.name else {}
    if media.data is None:
        return {"fileData": {"fileUri": media.url, "mimeType": media.media_type, **named}}
    data = base64.b64encode(media.data).decode()
    return {"inlineData": {"data": data, "mimeType": media.media_type, **named}}


def _grounding(citations: list[Citation], text: str) -> dict[str, Any]:
    """Render the sources, and the segments of the text that they support, with positions in bytes
    of UTF-8.
    """

    def size(of: str) -> int:
        return len(of.encode(errors="surrogatepass"))

    chunks: list[dict[str, Any]] = []
    supports = []
    for each in citations:
        more = dict(each.extra or {})
        score, segment = more.pop("confidenceScore", None), more.pop("segment", None)
        kind, key = _kind_of(each.source)
        page = _filled(uri=each.url, title=each.title, text=each.text, **{key: each.source})
        source = {kind: {**page, **more}}
        if each.start is None or source not in chunks:
            chunks.append(source)
        if each.start is not None and each.end is not None:
            cited, start = text[each.start : each.end], size(text[: each.start])
            first = {"startIndex": start} if start else {}  # a number of 0 is absent
            segment = {**first, "endIndex": start + size(cited), "text": cited}
        if segment is not None:
            support = {"segment": segment, "groundingChunkIndices": [chunks.index(source)]}
            supports.append({**support, **({"confidenceScores": [score]} if score else {})})
    return {"groundingChunks": chunks, "groundingSupports": supports}


def _kind_of(source: str) -> tuple[str, str]:
    """Return the kind of a chunk, and its key for the id of a source that is no web page."""
    if not source or source.startswith("places/"):
        return "maps" if source else "web", "placeId"
    is_store = source.startswith("fileSearchStores/")
    return "retrievedContext", "fileSearchStore" if is_store else "mediaId"


def _filled(**fields: str) -> dict[str, str]:
    return {key: value for key, value in fields.items() if value}


def usage_of(usage: Usage) -> dict[str, Any]:
    """Convert usage to the token counts of the wire; the count of the candidates excludes thoughts.

    >>> usage_of(Usage(input=30, output=5, reasoning=2))["candidatesTokenCount"]
    3
    """
    counts: dict[str, Any] = {
        "promptTokenCount": usage.input,
        "candidatesTokenCount": max(0, usage.output - usage.reasoning),
        "totalTokenCount": usage.total or usage.input + usage.output,
    }
    if usage.reasoning:
        counts["thoughtsTokenCount"] = usage.reasoning
    if usage.cached:
        counts["cachedContentTokenCount"] = usage.cached
    for side, key in (("input_", "promptTokensDetails"), ("output_", "candidatesTokensDetails")):
        details = [
            {"modality": kind.removeprefix(side).upper(), "tokenCount": count}
            for kind, count in usage.by_modality.items()
            if kind.startswith(side)
        ]
        counts |= {key: details} if details else {}
    return counts


# --- a reply that arrives -------------------------------------------------------------------------


class ReplyWriter:
    """Writes the chunks of one reply while it arrives.

    >>> from wire.neutral.messages import Message
    >>> from wire.neutral.request import Request
    >>> received = ReceivedRequest(request=Request(messages=(Message.user("Hi"),)))
    >>> writer = ReplyWriter(received, ResponseHead(id="1", model="m", created=0))
    >>> writer.feed(TextDelta("Hello."))[:51]
    b'data: {"candidates":[{"content":{"parts":[{"text":"'
    """

    @checked_arguments()
    def __init__(self, received: ReceivedRequest, head: ResponseHead) -> None:
        self._received, self._head = received, head

    def begin(self) -> bytes:
        """Return no bytes: the first event is the first chunk."""
        return b""

    @checked_feed
    def feed(self, event: Event) -> bytes:
        """Render the chunk for one event."""
        if isinstance(event, TextDelta):
            return self._chunk({"text": event.text})
        if isinstance(event, ThoughtDelta) and self._received.thoughts:
            return self._chunk({"text": event.text, "thought": True})
        return self._end(event.reply) if isinstance(event, Done) else b""

    def _chunk(self, part: dict[str, Any]) -> bytes:
        candidate = {"content": {"parts": [part], "role": "model"}, "index": 0}
        return framed([_response([candidate], None, self._head)])

    def _end(self, reply: Reply) -> bytes:
        body = body_of(reply, self._received, self._head)
        content = body["candidates"][0]["content"]
        # The texts were sent as they came.
        signed = [each for each in content["parts"] if each.get("text") in (None, "")]
        content["parts"] = signed or [{"text": ""}]
        return framed([body])


def framed(events: Iterable[dict[str, Any]]) -> bytes:
    """Encode the chunks of a stream."""
    return b"".join(b"data: " + encoded(each) + b"\r\n\r\n" for each in events)


render_reply = rendering(body_of, events_of, framed)
