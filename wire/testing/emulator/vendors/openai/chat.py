"""Chat completions: from a request to a prompt, and to a response."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from wire.catalogue.abilities import overflow
from wire.core.decoders import decoder
from wire.core.provider import Provider
from wire.neutral.messages import Message, Reply, Text, Thought, ToolCall
from wire.neutral.serving import ResponseHead
from wire.openai.chat.received import parse_request
from wire.openai.chat.replies import body_of, events_of
from wire.openai.chat.rules import check, required_reasoning
from wire.openai.chat.types import ChatCompletionRequest
from wire.openai.chat.types import Message as WireMessage
from wire.openai.common.rows import provider_row
from wire.testing.emulator.answer import Answer, json_answer, json_bytes
from wire.testing.emulator.logprobs import TokenLogprob, logprobs
from wire.testing.emulator.model import Prompt, numbered, pieces, thinking, thoughts_on, written
from wire.testing.emulator.moments import CREATED
from wire.testing.emulator.prefixes import Piece
from wire.testing.emulator.received import Received
from wire.testing.emulator.signing import digest
from wire.testing.emulator.sources import sources_of
from wire.testing.emulator.tokens import count
from wire.testing.emulator.vendor import Settings
from wire.testing.emulator.vendors.openai import refusals
from wire.testing.emulator.vendors.openai.errors import refusal, undecodable
from wire.testing.emulator.vendors.openai.prompt_cache import (
    PromptCache,
    PromptTokens,
    prompt_piece,
)

_MAX_CHOICES = 128
"""The maximum of `n`, which multiplies the response."""

CallExtra = Callable[[str, int], dict[str, Any]]
"""Fields that a host adds to a call, by its name and its position among the calls."""


# --- requests -------------------------------------------------------------------------------------


def decoded(body: bytes, host: Provider | None, settings: Settings) -> ChatCompletionRequest:
    """Decode a body, and check it by the rules of a host; `None` stands for an unknown one.

    Raises `Refusal`.
    """
    try:
        request: ChatCompletionRequest = decoder(ChatCompletionRequest).decode(body)
        keys = json.loads(body)  # the decoder does not look at the values of unknown keys
    except (msgspec.DecodeError, ValueError, RecursionError) as cause:
        raise undecodable(cause) from None
    if (request.n or 1) > _MAX_CHOICES:
        limit = f"Expected a value <= {_MAX_CHOICES}, but got {request.n} instead."
        raise refusal(400, f"Invalid 'n': integer above maximum value. {limit}", param="n")
    if not request.model:
        raise refusal(400, "you must provide a model parameter", param="model")
    if not settings.lenient:
        refusals.check_model(request.model, host)
        refusals.check_keys(keys, request.model, host)
        for each in check(request, "", host or ""):
            if settings.warnings_too or each.severity == "error":
                code = None if each.code in ("", "INVALID_ARGUMENT") else each.code
                raise refusal(each.status, each.message, param=each.path, code=code)
        family = host.family if host is not None else ""
        total = lambda: sum(each.tokens for each in prompt_pieces(request))  # noqa: E731
        over = overflow(family, request.model, len(body), total)
        if over is not None:
            message = f"This model's maximum context length is {over[1]} tokens. However, your "
            message += f"messages resulted in {over[0]} tokens. Please reduce their length."
            raise refusal(400, message, param="messages", code="context_length_exceeded")
    return request


def prompt_pieces(request: ChatCompletionRequest) -> list[Piece]:
    """Return the tools and the messages, with their tokens."""
    tools = [prompt_piece(request.tools, count(_json(request.tools)))] if request.tools else []
    return [*tools, *(prompt_piece(message, _tokens(message)) for message in request.messages)]


def _tokens(message: WireMessage) -> int:
    calls = message.tool_calls or ()
    return count(message.text or "") + sum(count(_json(call.function)) for call in calls)


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


# --- responses ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Generation:
    """A request for a chat completion that was not refused."""

    request: ChatCompletionRequest
    prompt: Prompt
    model: str
    tokens: Callable[[], PromptTokens]
    """Counts the tokens of the prompt, once."""
    call_extra: CallExtra = lambda name, position: {}
    reasoning: str = ""
    """The key of messages that has the thoughts, which clients must send back; empty: none has."""
    scripted: Callable[[Sequence[Any]], None] = lambda bodies: None
    """Gets the body or the chunks of a script, whose signatures are accepted later on."""

    def render(self, reply: Reply, id: str, hops: int) -> Answer:
        """Render the reply of the small model as a response."""
        self.tokens()  # kept, also if the request does not want the usage
        body = self._body(reply, id)
        if self.request.stream:
            return event_stream(self._chunks(body))
        body["choices"] = [{**body["choices"][0], "index": at} for at in range(self.request.n or 1)]
        return json_answer(json_bytes({**body, "service_tier": "default"}, indent=2) + b"\n")

    def render_body(self, body: dict[str, Any], id: str) -> Answer:
        """Render a script's body; a stream sends it as its one event."""
        self.scripted([body])
        return event_stream([body]) if self.request.stream else body_answer(body, 200)

    def render_events(self, events: Sequence[Any], id: str) -> Answer:
        """Render a script's chunks, streamed whatever the request wants."""
        self.scripted(events)
        return event_stream(events)

    def _body(self, reply: Reply, id: str) -> dict[str, Any]:
        searches = self.request.web_search_options is not None
        parts = [Thought(reply.thought, slot=self.reasoning)] if self.reasoning else []
        made = Message(
            "assistant",
            (*parts, *([Text(reply.text)] if reply.text else ()), *self._calls(reply, id)),
            citations=tuple(sources_of(reply, searches=searches)),
        )
        head = ResponseHead(id=f"chatcmpl-{id}", model=self.request.model or "", created=CREATED)
        body = body_of(msgspec.structs.replace(reply, message=made), head=head)
        body["choices"][0]["logprobs"] = self._logprobs(reply.text)
        return {**body, "usage": self._usage(reply)}

    def _chunks(self, body: dict[str, Any]) -> Iterator[dict[str, Any]]:
        options, key = self.request.stream_options, self.reasoning
        counts = options is not None and bool(options.include_usage)
        for number, event in enumerate(events_of(body, pieces, counts=counts)):
            for choice in event["choices"]:
                delta = choice["delta"]
                choice["logprobs"] = self._logprobs(delta.get("content") or "")
                # Recorded at DeepSeek: null beside the other kind of text.
                if key in delta or (key and "content" in delta):
                    choice["delta"] = {"content": None, key: None, **delta}
                elif not number:
                    whole = body["choices"][0]["message"]
                    called = whole["content"] is None and whole.get("tool_calls")
                    content = None if key or called else ""
                    delta |= {"content": content, "refusal": None, **({key: ""} if key else {})}
            yield {**({"usage": None} if counts else {}), **event}

    def _logprobs(self, text: str) -> dict[str, Any] | None:
        """Return the log probabilities of a text, if the request asks for them."""
        if not self.request.logprobs or not text:
            return None
        return {"content": token_entries(text, self.request.top_logprobs or 0), "refusal": None}

    def _calls(self, reply: Reply, id: str) -> Iterator[ToolCall]:
        def id_of(position: int, name: str) -> str:
            return f"call_{digest(f'chatcmpl-{id} {position} {name}')[:24]}"

        for position, call in enumerate(numbered(reply, id_of)):
            extra = self.call_extra(call.name, position)
            yield msgspec.structs.replace(call, extra=extra or None)

    def _usage(self, reply: Reply) -> dict[str, Any]:
        # A client sees all thoughts that have a key, so they can be counted.
        spent = count(reply.thought) if self.reasoning else thinking(reply)
        prompt, completion = self.tokens(), written(reply) + spent
        return {
            "prompt_tokens": prompt.total,
            "completion_tokens": completion,
            "total_tokens": prompt.total + completion,
            "prompt_tokens_details": {**prompt.details, "audio_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": spent, "audio_tokens": 0},
        }


def generation_of(
    request: Received,
    body: ChatCompletionRequest,
    host: Provider | None,
    cache: PromptCache,
    thinking: int = 0,
    **more: Any,
) -> Generation:
    """Build the generation of a decoded request; some hosts demand thoughts back (O14)."""
    dialect = provider_row(host or "").dialect
    key = required_reasoning(body, dialect)
    plain, pieces = msgspec.to_builtins(body), prompt_pieces(body)
    tokens = cache.counter(plain, pieces, dialect.caching, request.headers)
    received = parse_request(request.body)
    prompt = Prompt(received.request, thinking, received.parallel)
    if key:
        prompt = replace(prompt, thinking=count(thoughts_on(prompt.question)))
    more = {"model": body.model or "", "reasoning": key, **more}
    return Generation(body, prompt, tokens=tokens, **more)


def token_entries(text: str, top: int) -> list[dict[str, Any]]:
    """Return the tokens of a text in the format of OpenAI's log probabilities."""
    return [
        {**_token_entry(chosen), "top_logprobs": [_token_entry(each) for each in likeliest]}
        for chosen, likeliest in logprobs(text, top)
    ]


def _token_entry(each: TokenLogprob) -> dict[str, Any]:
    return {"token": each.token, "logprob": each.logprob, "bytes": list(each.token.encode())}


def body_answer(value: Any, status: int) -> Answer:
    """Return a response with a complete body, indented."""
    return json_answer(json_bytes(value, indent=2) + b"\n", status)


def frame(data: bytes) -> bytes:
    """Encode one event."""
    return b"data: " + data + b"\n\n"


def event_stream(chunks: Iterable[Any]) -> Answer:
    """Build a response of server-sent events, with `[DONE]` at the end."""
    pieces = [frame(json_bytes(chunk)) for chunk in chunks]
    content_type = "text/event-stream; charset=utf-8"
    return Answer(200, (("content-type", content_type),), (*pieces, frame(b"[DONE]")))
