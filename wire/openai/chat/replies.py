"""Writes neutral replies as responses of chat completions: whole, as their chunks, or while they
arrive.
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
    Reply,
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
    ReceivedRequest,
    ResponseHead,
    Split,
    argument_text,
    checked_feed,
    custom_text,
    encoded,
    head_of,
    in_one_piece,
    own_json,
    rendering,
    stop_word_of,
    web_pages,
)

WIRE = "openai"
_STOPS = {
    "end": "stop",
    "tool_calls": "tool_calls",
    "length": "length",
    "pause": "length",
    "filter": "content_filter",
}
_NATIVE = {"length": "max_tokens", "pause": "continuation"}
"""The word of the host behind a gateway, whose own word says something else (OpenRouter)."""
_SLOTS = ("reasoning_content", "reasoning", "reasoning_text")
_DETAILS = "reasoning_details"


def body_of(
    reply: Reply, received: ReceivedRequest | None = None, head: ResponseHead | None = None
) -> dict[str, Any]:
    """Return a reply as a chat completion.

    >>> from wire.neutral.messages import Message, Stop
    >>> body = body_of(Reply(Message.assistant("Hello."), Stop("end")))
    >>> body["choices"][0]["message"]["content"]
    'Hello.'

    `received` is the request of a client of another server, which gets the parts that it can use:
    thoughts are then `reasoning_content`, as at most hosts that show them. Without it, the message
    has all parts of the reply that a host can send. `head` replaces id and model of the reply.
    """
    message = own_json(reply.message, WIRE) if received is None else None
    word = _stop_word(reply, received)
    choice = {
        "index": 0,
        "message": message or _message(reply, received),
        "logprobs": None,
        "finish_reason": word,
    }
    if received is None and reply.stop.sequence is not None:
        choice["stop_reason"] = reply.stop.sequence  # as at vLLM
    meant = known("chat", word or "")
    if received is None and meant is not None and meant.reason != reply.stop.reason:
        choice["native_finish_reason"] = _NATIVE.get(reply.stop.reason)
    body = {**_fields("chat.completion", head or head_of(reply)), "choices": [choice]}
    listed = [each for each in reply.citations if each.start is None]
    if received is None and listed:
        body["search_results"] = [_result(each) for each in listed]  # as at Perplexity
    if reply.usage is not None or received is not None:
        body["usage"] = usage_of(reply.usage or Usage())
    return body


def _stop_word(reply: Reply, received: ReceivedRequest | None) -> str | None:
    # The table has the words of many hosts, which a client of OpenAI does not know.
    words = "chat" if received is None else ""
    if received is not None and received.legacy_calls and reply.tool_calls:
        return "function_call"
    return stop_word_of(reply, WIRE, words, _STOPS, shown=received is not None)


def events_of(
    body: Mapping[str, Any], split: Split = in_one_piece, *, counts: bool = True
) -> Iterator[dict[str, Any]]:
    """Yield a whole completion as the chunks of a stream, the token counts last if it `counts`.

    `split` returns the pieces of a text.
    """
    head = {key: value for key, value in body.items() if key not in ("choices", "usage")}
    head["object"] = "chat.completion.chunk"
    choices: list[dict[str, Any]] = body.get("choices") or []
    for number, choice in enumerate(choices):
        index = choice.get("index", number)
        for delta in _deltas(choice.get("message") or {}, split):
            one = {"index": index, "delta": delta, "logprobs": None, "finish_reason": None}
            yield {**head, "choices": [one]}
        end = {key: value for key, value in choice.items() if key != "message"}
        yield {**head, "choices": [{**end, "index": index, "delta": {}}]}
    if counts and body.get("usage") is not None:
        yield {**head, "choices": [], "usage": body["usage"]}


def _deltas(message: Mapping[str, Any], split: Split) -> Iterator[dict[str, Any]]:
    rest = {key: value for key, value in message.items() if value is not None}
    # A delta with details alone is a thought of its own: they stand beside their text.
    slot = next((name for name in _SLOTS if rest.get(name)), None)
    beside = {_DETAILS: rest.pop(_DETAILS)} if slot and rest.get(_DETAILS) else {}
    yield {"role": rest.pop("role", "assistant")}
    thoughts = [rest.pop(_DETAILS)] if _DETAILS in rest else []
    yield from ({_DETAILS: each} for each in thoughts)
    for name in (*_SLOTS, "content", "refusal"):
        text = rest.pop(name, "")
        for piece in split(text) if isinstance(text, str) else (text,):
            yield {name: piece, **beside}
            beside = {}
    for index, call in enumerate(rest.pop("tool_calls", ())):
        kind = next(
            (each for each in ("function", "custom") if isinstance(call.get(each), dict)), ""
        )
        key = "arguments" if kind == "function" else "input"
        text = call[kind].get(key) if kind else None
        begun = {**call, "index": index}
        if isinstance(text, str):
            begun[kind] = {**call[kind], key: ""}
        yield {"tool_calls": [begun]}
        for piece in (
            (text[: len(text) // 2], text[len(text) // 2 :]) if isinstance(text, str) else ()
        ):
            yield {"tool_calls": [{"index": index, kind: {key: piece}}]}
    if rest:
        yield rest


def _fields(kind: str, head: ResponseHead) -> dict[str, Any]:
    return {"id": head.id, "object": kind, "created": head.created, "model": head.model}


# --- the message ----------------------------------------------------------------------------------


def _message(reply: Reply, received: ReceivedRequest | None) -> dict[str, Any]:
    parts = reply.message.parts
    refused = "".join(part.text for part in parts if isinstance(part, Text) and part.refusal)
    text = "".join(part.text for part in parts if isinstance(part, Text) and not part.refusal)
    message: dict[str, Any] = {"role": "assistant", "content": text or None, "refusal": None}
    if refused and (received is None or not text):
        message["refusal"] = refused
    elif refused:
        message["content"] = reply.text
    if received is not None:
        message |= {"reasoning_content": reply.thought} if reply.thought else {}
    else:
        message |= _thoughts(reply)
        speech = [each for each in reply.media if each.media_type.startswith("audio/")]
        message |= {"audio": _speech(speech[0])} if speech else {}
    if reply.tool_calls and received is not None and received.legacy_calls:
        message["function_call"] = whole_call(reply.tool_calls[0], received)["function"]
    elif reply.tool_calls:
        message["tool_calls"] = [whole_call(call, received) for call in reply.tool_calls]
    return {**message, **_beside(reply, received)}


def _thoughts(reply: Reply) -> dict[str, Any]:
    """Return the thoughts in the field in which they came, or else in the usual one."""
    thoughts = [part for part in reply.message.parts if isinstance(part, Thought)]
    slot = thoughts[0].slot if thoughts else _DETAILS
    details = [each for part in thoughts for each in part.details]
    found: dict[str, Any] = {_DETAILS: details} if details else {}
    if slot == "content":  # as at Mistral
        found["content"] = [
            {"type": "thinking", "thinking": [{"type": "text", "text": part.text}]}
            if isinstance(part, Thought)
            else {"type": "text", "text": part.text}
            for part in reply.message.parts
            if isinstance(part, Thought | Text)
        ]
    elif slot != _DETAILS:
        found[slot if slot in _SLOTS else _SLOTS[0]] = reply.thought
    return found


def _beside(reply: Reply, received: ReceivedRequest | None) -> dict[str, Any]:
    """Return what a stream has in its last chunk with a choice."""
    found: dict[str, Any] = {}
    citations = web_pages(reply)
    if received is None:
        citations = [each for each in reply.citations if each.start is not None]
    if citations:
        found["annotations"] = [_annotation(each) for each in citations]
    if images := [_image(each) for each in reply.media if takes(each)]:
        found["images"] = images
    return found


def whole_call(call: ToolCall, received: ReceivedRequest | None) -> dict[str, Any]:
    """Return a call as an item of `tool_calls`."""
    custom = call.kind == "custom" if received is None else call.name in received.custom_tools
    if custom:
        text = custom_text(call)
        return {"id": call.id, "type": "custom", "custom": {"name": call.name, "input": text}}
    function = {"name": call.name, "arguments": argument_text(call)}
    extra = call.extra or {} if received is None else {}
    return {"id": call.id, "type": "function", "function": function, **extra}


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


def _speech(media: Media) -> dict[str, Any]:
    data = base64.b64encode(media.data or b"").decode()
    return {"data": data, "transcript": media.transcript, **(media.extra or {})}


def _result(citation: Citation) -> dict[str, Any]:
    found = {"url": citation.url, "title": citation.title, "snippet": citation.text}
    return {**{key: value for key, value in found.items() if value}, **(citation.extra or {})}


def _annotation(citation: Citation) -> dict[str, Any]:
    span = {"start_index": citation.start or 0, "end_index": citation.end or 0}
    cited = {"url": citation.url, "title": citation.title, **span, **(citation.extra or {})}
    return {"type": "url_citation", "url_citation": cited}


def usage_of(usage: Usage) -> dict[str, Any]:
    """Convert usage to the token counts of the wire.

    >>> usage_of(Usage(input=30, output=5, total=35))["prompt_tokens"]
    30
    """
    details: dict[str, dict[str, int]] = {
        "input": {"cached_tokens": usage.cached},
        "output": {"reasoning_tokens": usage.reasoning},
    }
    if usage.cache_written:
        details["input"]["cache_write_tokens"] = usage.cache_written
    for kind, count in usage.by_modality.items():
        side, _, name = kind.partition("_")
        if side in details:
            details[side][f"{name}_tokens"] = count
    return {
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.total or usage.input + usage.output,
        "prompt_tokens_details": details["input"],
        "completion_tokens_details": details["output"],
    }


# --- a reply that arrives -------------------------------------------------------------------------


class ReplyWriter:
    """Writes the chunks of one reply while it arrives.

    >>> from wire.neutral.messages import Message
    >>> from wire.neutral.request import Request
    >>> received = ReceivedRequest(request=Request(messages=(Message.user("Hi"),)))
    >>> writer = ReplyWriter(received, ResponseHead(id="1", model="m", created=0))
    >>> writer.feed(TextDelta("Hello."))[:24]
    b'data: {"id":"1","object"'
    """

    @checked_arguments()
    def __init__(self, received: ReceivedRequest, head: ResponseHead) -> None:
        self._received, self._head = received, head
        self._custom = received.custom_tools
        self._begun: set[int] = set()  # positions of calls

    def begin(self) -> bytes:
        """Render the chunk with the role."""
        return self._chunk({"role": "assistant", "content": ""})

    @checked_feed
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
            return self._call(event.position, **whole_call(event.call, self._received))
        return self._end(event.reply) if isinstance(event, Done) else b""

    def _chunk(self, delta: dict[str, Any], finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return _framed({**_fields("chat.completion.chunk", self._head), "choices": [choice]})

    def _call(self, position: int, **fields: Any) -> bytes:
        if self._received.legacy_calls:
            return b"" if position else self._chunk({"function_call": fields["function"]})
        return self._chunk({"tool_calls": [{"index": position, **fields}]})

    def _end(self, reply: Reply) -> bytes:
        last = self._chunk(_beside(reply, self._received), _stop_word(reply, self._received))
        if self._received.sends_usage:
            fields, usage = _fields("chat.completion.chunk", self._head), reply.usage or Usage()
            last += _framed({**fields, "choices": [], "usage": usage_of(usage)})
        return last + _framed("[DONE]")


def framed(events: Iterable[dict[str, Any]]) -> bytes:
    """Encode chunks, and the end of their stream."""
    return b"".join(map(_framed, events)) + _framed("[DONE]")


def _framed(event: dict[str, Any] | str) -> bytes:
    return b"data: " + (event.encode() if isinstance(event, str) else encoded(event)) + b"\n\n"


render_reply = rendering(body_of, events_of, framed)
