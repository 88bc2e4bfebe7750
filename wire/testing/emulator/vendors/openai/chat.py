"""Chat completions: from a request to its wish, and to a response."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from wire.catalogue.abilities import overflow
from wire.core.decoders import decoder
from wire.core.provider import Provider
from wire.openai.chat.rules import check, required_reasoning
from wire.openai.chat.types import ChatCompletionRequest, Message
from wire.openai.common.dialect import Dialect
from wire.openai.common.rows import provider_row
from wire.testing.emulator.answer import Answer, json_answer, json_bytes
from wire.testing.emulator.logprobs import TokenLogprob, logprobs
from wire.testing.emulator.model import Declared, Output, Wish, pieces, thoughts_on
from wire.testing.emulator.prefixes import Piece
from wire.testing.emulator.sources import Source, found
from wire.testing.emulator.tokens import count
from wire.testing.emulator.vendor import Settings
from wire.testing.emulator.vendors.openai import refusals
from wire.testing.emulator.vendors.openai.errors import refusal
from wire.testing.emulator.vendors.openai.prompt_cache import (
    PromptCache,
    PromptTokens,
    prompt_piece,
)

CREATED = 1795262400
_MAX_CHOICES = 128
"""The maximum of `n`, which multiplies the response."""
_FINISH_REASONS = {"STOP": "stop", "MAX_TOKENS": "length", "SAFETY": "content_filter"}
_MODES = {"none": "NONE", "required": "ANY"}
_SYSTEM_ROLES = ("system", "developer")

CallExtra = Callable[[str, int], dict[str, Any]]
"""Fields that a host adds to a call, by its name and its position among the calls."""


# --- requests -------------------------------------------------------------------------------------


def decoded(body: bytes, host: Provider | None, settings: Settings) -> ChatCompletionRequest:
    """Decode a body, and check it by the rules of a host; `None` stands for an unknown one.

    Raises `Refusal`.
    """
    try:
        request: ChatCompletionRequest = decoder(ChatCompletionRequest).decode(body)
    except msgspec.ValidationError as cause:
        message, _, path = str(cause).partition(" - at `$")
        param = path.strip("`.") or None
        raise refusal(400, f"Invalid type: {message}", param=param) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as cause:
        message = f"We could not parse the JSON body of your request: {cause}"
        raise refusal(400, message) from None
    if (request.n or 1) > _MAX_CHOICES:
        limit = f"Expected a value <= {_MAX_CHOICES}, but got {request.n} instead."
        raise refusal(400, f"Invalid 'n': integer above maximum value. {limit}", param="n")
    if not request.model:
        raise refusal(400, "you must provide a model parameter", param="model")
    if not settings.lenient:
        refusals.check_model(request.model, host)
        refusals.check_keys(decoder(dict[str, Any]).decode(body), request.model, host)
        for each in check(request, "", host or ""):
            if settings.warnings_too or each.severity == "error":
                code = None if each.code in ("", "INVALID_ARGUMENT") else each.code
                raise refusal(each.status, each.message, param=each.path, code=code)
        family = host.family if host is not None else ""
        over = overflow(family, request.model, len(body), lambda: _total(request))
        if over is not None:
            message = f"This model's maximum context length is {over[1]} tokens. However, your "
            message += f"messages resulted in {over[0]} tokens. Please reduce their length."
            raise refusal(400, message, param="messages", code="context_length_exceeded")
    return request


def wish_of(request: ChatCompletionRequest, thinking: int = 0) -> Wish:
    """Convert a request to the input of the small model, which thinks for so many tokens."""
    turns = [message for message in request.messages if message.role not in _SYSTEM_ROLES]
    questions = (
        message.text
        for message in reversed(turns)
        if message.role not in ("assistant", "tool") and message.text
    )
    calls = [call for message in turns for call in message.tool_calls or ()]
    names = {call.id: call.function.name for call in calls if call.function is not None}
    choice = msgspec.to_builtins(request.tool_choice)
    form = request.response_format
    schema = form.json_schema.schema if form is not None and form.json_schema is not None else None
    return Wish(
        question=next(questions, ""),
        system=" ".join(each.text for each in request.messages if each.role in _SYSTEM_ROLES),
        results=[
            (names.get(message.tool_call_id) or "", result_of(message.text))
            for message in _results(turns)
        ],
        called=bool(calls),
        functions=list(_functions(request, choice)),
        mode="ANY" if isinstance(choice, dict) else _MODES.get(choice or "", "AUTO"),
        parallel=request.parallel_tool_calls is not False,
        schema=schema,
        format="text" if form is None or form.type in (None, "text") else "json",
        max_tokens=request.max_completion_tokens or request.max_tokens,
        stop_sequences=[request.stop] if isinstance(request.stop, str) else request.stop or (),
        thinking=thinking,
        prefill=turns[-1].text if turns and (turns[-1].prefix or turns[-1].partial) else "",
    )


def _functions(request: ChatCompletionRequest, choice: Any) -> Iterator[Declared]:
    """Yield the declared functions, or the one that `tool_choice` names."""
    named = (choice.get("function") or {}).get("name") if isinstance(choice, dict) else None
    for tool in request.tools or ():
        function = tool.function
        if function is not None and named in (None, function.name):
            yield Declared(function.name or "", function.description or "", function.parameters)


def _results(turns: Sequence[Message]) -> list[Message]:
    """Return the results at the end of the conversation."""
    results: list[Message] = []
    for message in reversed(turns):
        if message.role != "tool":
            break
        results.insert(0, message)
    return results


def result_of(text: str) -> Any:
    """Return the result of a tool as the small model reads it: an object, else under `result`."""
    try:
        value = json.loads(text)
    except ValueError:
        value = text
    return value if isinstance(value, dict) else {"result": value}


def prompt_pieces(request: ChatCompletionRequest) -> list[Piece]:
    """Return the tools and the messages, with their tokens."""
    tools = [prompt_piece(request.tools, count(_json(request.tools)))] if request.tools else []
    return [*tools, *(prompt_piece(message, _tokens(message)) for message in request.messages)]


def _total(request: ChatCompletionRequest) -> int:
    return sum(each.tokens for each in prompt_pieces(request))


def _tokens(message: Message) -> int:
    calls = message.tool_calls or ()
    return count(message.text or "") + sum(count(_json(call.function)) for call in calls)


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


# --- responses ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Generation:
    """A request for a chat completion that was not refused."""

    request: ChatCompletionRequest
    wish: Wish
    model: str
    prompt: Callable[[], PromptTokens]
    call_extra: CallExtra = lambda name, position: {}
    reasoning: str = ""
    """The key of messages that has the thoughts, which clients must send back; empty: none has."""

    def render(self, output: Output, id: str) -> Answer:
        """Render output of the small model as a response."""
        self.prompt()  # kept, also if the request does not want the usage
        if self.request.stream:
            return event_stream(self._chunks(output, id))
        return json_answer(json_bytes(self._whole(output, id), indent=2) + b"\n")

    def render_body(self, body: dict[str, Any], id: str) -> Answer:
        """Render a script's body; a stream sends it as its one event."""
        return event_stream([body]) if self.request.stream else body_answer(body, 200)

    def render_events(self, events: Sequence[Any], id: str) -> Answer:
        """Render a script's chunks, streamed whatever the request wants."""
        return event_stream(events)

    def _whole(self, output: Output, id: str) -> dict[str, Any]:
        message: dict[str, Any] = {
            "role": "assistant",
            "content": output.text or None,
            "refusal": None,
        }
        if self.reasoning:
            message[self.reasoning] = output.thoughts
        if output.calls:
            message["tool_calls"] = self._calls(output, id)
        if annotations := self._annotations(output):
            message["annotations"] = annotations
        finish, logs = _finish_reason(output), self._logprobs(output.text)
        choices = [
            {"index": index, "message": message, "logprobs": logs, "finish_reason": finish}
            for index in range(self.request.n or 1)
        ]
        return {
            **self._head("chat.completion", id),
            "choices": choices,
            "usage": self._usage(output),
            "service_tier": "default",
        }

    def _chunks(self, output: Output, id: str) -> Iterator[dict[str, Any]]:
        options = self.request.stream_options
        counts = options is not None and bool(options.include_usage)
        head = self._head("chat.completion.chunk", id)
        for delta, finish in self._deltas(output, id):
            logs = self._logprobs(delta.get("content") or "")
            choice = {"index": 0, "delta": delta, "logprobs": logs, "finish_reason": finish}
            yield {**head, "choices": [choice], **({"usage": None} if counts else {})}
        if counts:
            yield {**head, "choices": [], "usage": self._usage(output)}

    def _deltas(self, output: Output, id: str) -> Iterator[tuple[dict[str, Any], str | None]]:
        """Yield each delta of a stream with its finish reason."""
        content = None if output.calls and not output.text else ""
        key = self.reasoning
        if key:
            # Recorded at DeepSeek: a null content beside thoughts, and null thoughts beside text.
            yield {"role": "assistant", "content": None, "refusal": None, key: ""}, None
            for text in pieces(output.thoughts):
                yield {"content": None, key: text}, None
        else:
            yield {"role": "assistant", "content": content, "refusal": None}, None
        for text in output.pieces:
            yield {"content": text, **({key: None} if key else {})}, None
        for index, call in enumerate(self._calls(output, id)):
            arguments = call["function"]["arguments"]
            first = {**call, "index": index, "function": {**call["function"], "arguments": ""}}
            yield {"tool_calls": [first]}, None
            half = len(arguments) // 2
            for piece in (arguments[:half], arguments[half:]):
                yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}, None
        if annotations := self._annotations(output):
            yield {"annotations": annotations}, None
        yield {}, _finish_reason(output)

    def _annotations(self, output: Output) -> list[dict[str, Any]]:
        searches = self.request.web_search_options is not None
        return [
            {"type": "url_citation", "url_citation": annotation(source, output.text)}
            for source in found(output.sources, output.text, searches=searches)
        ]

    def _logprobs(self, text: str) -> dict[str, Any] | None:
        """Return the log probabilities of a text, if the request asks for them."""
        if not self.request.logprobs or not text:
            return None
        content = [
            {**token_entry(chosen), "top_logprobs": [token_entry(each) for each in likeliest]}
            for chosen, likeliest in logprobs(text, self.request.top_logprobs or 0)
        ]
        return {"content": content, "refusal": None}

    def _head(self, kind: str, id: str) -> dict[str, Any]:
        return {
            "id": f"chatcmpl-{id}",
            "object": kind,
            "created": CREATED,
            "model": self.request.model,
        }

    def _calls(self, output: Output, id: str) -> list[dict[str, Any]]:
        calls: list[dict[str, Any]] = []
        for position, (name, args) in enumerate(output.calls):
            digest = hashlib.sha256(f"chatcmpl-{id} {position} {name}".encode()).hexdigest()[:24]
            arguments = json.dumps(args, ensure_ascii=False, separators=(",", ":"))
            calls.append(
                {
                    "id": f"call_{digest}",
                    "type": "function",
                    "function": {"name": name, "arguments": arguments},
                    **self.call_extra(name, position),
                }
            )
        return calls

    def _usage(self, output: Output) -> dict[str, Any]:
        # A client sees all thoughts that have a key, so they can be counted.
        thinking = count(output.thoughts) if self.reasoning else output.thinking
        prompt, completion = self.prompt(), output.tokens + thinking
        return {
            "prompt_tokens": prompt.total,
            "completion_tokens": completion,
            "total_tokens": prompt.total + completion,
            "prompt_tokens_details": {**prompt.details, "audio_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": thinking, "audio_tokens": 0},
        }


def prompt_of(
    request: ChatCompletionRequest,
    dialect: Dialect,
    cache: PromptCache,
    headers: Mapping[str, str],
) -> Callable[[], PromptTokens]:
    """Return the function that counts the tokens of a prompt, with those that a cache has."""
    plain = msgspec.to_builtins(request)
    return cache.counter(plain, prompt_pieces(request), dialect.caching, headers)


def generation_of(
    request: ChatCompletionRequest,
    host: Provider | None,
    cache: PromptCache,
    headers: Mapping[str, str],
) -> Generation:
    """Build the generation of a decoded request; some hosts demand thoughts back (O14)."""
    dialect = provider_row(host or "").dialect
    key = required_reasoning(request, dialect)
    prompt = prompt_of(request, dialect, cache, headers)
    wish = wish_of(request)
    if key:
        wish = replace(wish, thinking=count(thoughts_on(wish.question)))
    return Generation(request, wish, request.model or "", prompt, reasoning=key)


def token_entry(each: TokenLogprob) -> dict[str, Any]:
    """Return a token in the format of OpenAI's log probabilities."""
    return {"token": each.token, "logprob": each.logprob, "bytes": list(each.token.encode())}


def annotation(source: Source, text: str) -> dict[str, Any]:
    """Return a page, and the span of the text that it supports."""
    start, end = source.span(text)
    page = {"title": source.title, "url": source.url}
    return {"start_index": start, "end_index": end, **page}


def _finish_reason(output: Output) -> str:
    return "tool_calls" if output.calls else _FINISH_REASONS.get(output.finish, "stop")


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
