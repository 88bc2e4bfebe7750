"""A body of a vendor's API as the call that sends its bytes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import msgspec

from wire.core.call import Call, StreamCall
from wire.core.errors import ConfigurationError
from wire.core.provider import Provider

AnyCall: TypeAlias = Call[Any] | StreamCall[Any, Any]
Body: TypeAlias = Mapping[str, Any]


def raw_call(row: Provider, model: str, data: bytes, body: Body, *, stream: bool) -> AnyCall:
    """Build the call that sends the bytes of a body, with the model and the kind of answer set.

    `body` is what the bytes contain. They stay as they are, unless something in them has to change.
    Raises `ConfigurationError` for a stream of an endpoint that has none.
    """
    call = _EMPTY[row.wire](model, body, stream)
    wanted: dict[str, Any] = {}
    if row.wire == "ollama":
        # Unless it is told otherwise, the server streams, and cuts in silence what is too long.
        own = msgspec.json.decode(call.body)
        wanted = {key: own[key] for key in own if key == "stream" or key not in body}
    if row.wire not in ("gemini", "converse"):  # whose path has the model and the kind of answer
        wanted |= {} if body.get("agent") else {"model": model}
        if stream or "stream" in body:
            wanted["stream"] = stream
    if any(body.get(name) != value for name, value in wanted.items()):
        data = msgspec.json.encode({**body, **wanted})
    return msgspec.structs.replace(call, body=data)


def _gemini(model: str, body: Body, stream: bool) -> AnyCall:
    from wire import gemini

    empty = gemini.GenerateContentRequest(contents=[])
    if stream:
        return gemini.stream_generate_content(model, empty, checked=False)
    return gemini.generate_content(model, empty, checked=False)


def _interactions(model: str, body: Body, stream: bool) -> AnyCall:
    from wire.gemini import interactions

    empty = interactions.InteractionRequest(model=model)
    if stream:
        return interactions.stream_interaction(empty, checked=False)
    return interactions.create_interaction(empty, checked=False)


def _chat(model: str, body: Body, stream: bool) -> AnyCall:
    from wire import openai

    empty = openai.ChatCompletionRequest(model=model, messages=[])
    if stream:
        return openai.stream_chat_completions(empty, checked=False)
    return openai.chat_completions(empty, checked=False)


def _responses(model: str, body: Body, stream: bool) -> AnyCall:
    from wire.openai import responses

    empty = responses.ResponseRequest(model=model)
    if stream:
        return responses.stream_response(empty, checked=False)
    return responses.create_response(empty, checked=False)


def _anthropic(model: str, body: Body, stream: bool) -> AnyCall:
    from wire import anthropic

    empty = anthropic.MessageRequest(model=model, messages=[], max_tokens=1)
    if stream:
        return anthropic.stream_message(empty, checked=False)
    return anthropic.create_message(empty, checked=False)


def _converse(model: str, body: Body, stream: bool) -> AnyCall:
    from wire import converse

    empty = converse.ConverseRequest()
    if stream:
        return converse.converse_stream(model, empty, checked=False)
    return converse.converse(model, empty, checked=False)


def _ollama(model: str, body: Body, stream: bool) -> AnyCall:
    """Each of the endpoints has a key of its own."""
    from wire import ollama

    if "input" in body:
        if stream:
            raise ConfigurationError("stream: embeddings come in one answer")
        return ollama.embed(ollama.EmbedRequest(model=model), checked=False)
    if "prompt" in body:
        prompt = ollama.GenerateRequest(model=model)
        if stream:
            return ollama.stream_generate(prompt, checked=False)
        return ollama.generate(prompt, checked=False)
    empty = ollama.ChatRequest(model=model)
    if stream:
        return ollama.stream_chat(empty, checked=False)
    return ollama.chat(empty, checked=False)


_EMPTY: Mapping[str, Callable[[str, Body, bool], AnyCall]] = {
    "gemini": _gemini,
    "gemini.interactions": _interactions,
    "openai": _chat,
    "openai.responses": _responses,
    "anthropic": _anthropic,
    "converse": _converse,
    "ollama": _ollama,
}
"""Wire -> the call of its endpoint without a request; `body` tells which endpoint, if several."""
