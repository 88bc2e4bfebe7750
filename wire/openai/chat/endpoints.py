"""The endpoints as values: each function returns what to send and how to read the answer, and sends
nothing.

Paths are relative to a base URL that ends in the version, which the client knows. The client also
knows the dialect of the provider: before a call is sent, it is checked against it, and told how
that provider's answer is read. Source of paths and bodies: OpenAI's API reference 2.3.0,
2026-08-21.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from wire.core.bodies import checked_body, wrong_type
from wire.core.call import Call, StreamCall
from wire.core.memory import notes
from wire.core.provider import Provider
from wire.errors import RuleError, Violation, refuse
from wire.openai.chat.fold import TextChunk, fold
from wire.openai.chat.reader import ChunkReader, parse_completion
from wire.openai.chat.rules import check
from wire.openai.chat.turns import is_sound
from wire.openai.chat.types import (
    ChatCompletion,
    ChatCompletionChunk,
    ChatCompletionRequest,
    StreamOptions,
)
from wire.openai.common.endpoints import JSON
from wire.openai.common.error_body import parse_error

AnyCall = TypeVar("AnyCall", bound=Call[Any] | StreamCall[Any, Any])
HostRules = Callable[[Any, Provider], Any]


def chat_completions(
    request: ChatCompletionRequest, *, checked: bool = True
) -> Call[ChatCompletion]:
    """One request, one whole answer.

    >>> from wire.openai import Message
    >>> call = chat_completions(
    ...     ChatCompletionRequest(model="gpt-5.4", messages=[Message(role="user", content="Hi")])
    ... )
    >>> print(call.preview())
    POST /chat/completions
    content-type: application/json
    <BLANKLINE>
    {"model":"gpt-5.4","messages":[{"role":"user","content":"Hi"}]}

    Raises `RuleError` for a request that every host refuses, or that JSON cannot say; what only the
    client's provider refuses is a `RuleError` of the client, before anything is sent. The errors
    name the JSON path.
    """
    if not isinstance(request, ChatCompletionRequest):
        raise wrong_type("request", request, "ChatCompletionRequest")
    if request.stream:
        raise RuleError(
            violations=[
                Violation(
                    "stream",
                    "an answer in one piece is no stream",
                    remedy="stream_chat_completions(request)",
                )
            ]
        )
    body, host_rules = _chat(request, checked)
    return Call(
        "openai",
        "POST",
        "/chat/completions",
        body,
        headers=JSON,
        parse=parse_completion,
        read_error=parse_error,
        host_rules=host_rules,
        notes=notes(request),
    )


def stream_chat_completions(
    request: ChatCompletionRequest, *, checked: bool = True
) -> StreamCall[ChatCompletionChunk, ChatCompletion]:
    """One request, the answer as chunks; `reply()` of its stream is what `chat_completions` would
    have given.

    `stream` is set, and usage is asked for unless `stream_options` says otherwise: the plain answer
    has it too.

    >>> from wire.openai import Message
    >>> request = ChatCompletionRequest(
    ...     model="gpt-5.4", messages=[Message(role="user", content="Hi")]
    ... )
    >>> stream_chat_completions(request).body
    b'{"model":"gpt-5.4","messages":[{"role":"user","content":"Hi"}],"stream":true,"stream_options":{"include_usage":true}}'

    Raises as `chat_completions`.
    """
    if not isinstance(request, ChatCompletionRequest):
        raise wrong_type("request", request, "ChatCompletionRequest")
    options = (
        StreamOptions(include_usage=True)
        if request.stream_options is None
        else request.stream_options
    )
    body, host_rules = _chat(
        msgspec.structs.replace(request, stream=True, stream_options=options), checked
    )
    return StreamCall(
        "openai",
        "POST",
        "/chat/completions",
        body,
        headers=JSON,
        reader=ChunkReader,
        fold=fold,
        text_chunk=TextChunk,
        read_error=parse_error,
        host_rules=host_rules,
        notes=notes(request),
    )


# --- chat -----------------------------------------------------------------------------------------


def _chat(request: ChatCompletionRequest, checked: bool) -> tuple[bytes, HostRules]:
    """The request as JSON, and what a host is asked about it before it is sent there."""
    body, read = checked_body(request, "messages", is_sound)
    if checked:
        refuse(check(read, "", ""))
    return body, functools.partial(_judged, read if checked else None)


def _judged(request: ChatCompletionRequest | None, call: AnyCall, provider: Provider) -> AnyCall:
    """The call as this provider takes it, and answers it."""
    if request is not None:
        refuse(check(request, "", provider))
    if isinstance(call, StreamCall):
        return dataclasses.replace(call, fold=functools.partial(fold, dialect=provider.dialect))
    return call
