"""Endpoints of chat completions as calls. A call is a value: it holds the request and the function
that parses the response; a client sends it.

Paths are relative to a base URL that ends in the version. The dialect of the provider is the
client's: before it sends a call, the call is checked against that dialect, and its stream is read
by it. Source of paths and bodies: OpenAI's API reference 2.3.0, 2026-08-21.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from wire.core.arguments import checked_arguments
from wire.core.bodies import checked_body, unstreamed, wrong_type
from wire.core.call import Call, StreamCall
from wire.core.errors import refuse
from wire.core.memory import notes
from wire.core.provider import Provider
from wire.openai.chat.fold import TextChunk, fold
from wire.openai.chat.reader import ChunkReader, parse_completion
from wire.openai.chat.rules import check_struct
from wire.openai.chat.turns import needs_no_check
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


@checked_arguments()
def chat_completions(
    request: ChatCompletionRequest, *, checked: bool = True
) -> Call[ChatCompletion]:
    """Build a call that returns one complete response.

    >>> from wire.openai import Message
    >>> call = chat_completions(
    ...     ChatCompletionRequest(model="gpt-5.4", messages=[Message(role="user", content="Hi")])
    ... )
    >>> print(call.preview())
    POST /chat/completions
    content-type: application/json
    <BLANKLINE>
    {"model":"gpt-5.4","messages":[{"role":"user","content":"Hi"}]}

    Raises `RuleError` with JSON paths for a request that every host refuses, or with a value that
    JSON cannot encode. The client also raises `RuleError`, before it sends anything, for what its
    provider refuses. `checked=False` skips both checks of the rules.
    """
    if not isinstance(request, ChatCompletionRequest) or request.stream:
        raise unstreamed(request, ChatCompletionRequest, "stream_chat_completions")
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


@checked_arguments()
def stream_chat_completions(
    request: ChatCompletionRequest, *, checked: bool = True
) -> StreamCall[ChatCompletionChunk, ChatCompletion]:
    """Build a call that streams a response as chunks.

    `result()` of the stream returns the complete response, the same as `chat_completions`.

    `stream` is set. So is `include_usage`, unless the request has `stream_options`: without it a
    streamed response has no usage, while a complete one has.

    >>> from wire.openai import Message
    >>> request = ChatCompletionRequest(
    ...     model="gpt-5.4", messages=[Message(role="user", content="Hi")]
    ... )
    >>> body = stream_chat_completions(request).body
    >>> body.endswith(b'"stream":true,"stream_options":{"include_usage":true}}')
    True

    Parameters and errors are those of `chat_completions`.
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
    """Encode the request, and return the hook that adapts the call to a host before it is sent."""
    body, encoded = checked_body(request, "messages", needs_no_check)
    if checked:
        refuse(check_struct(encoded, ""))
    return body, functools.partial(_judged, encoded if checked else None)


def _judged(request: ChatCompletionRequest | None, call: AnyCall, provider: Provider) -> AnyCall:
    """Check the call against the provider's rules; return it with the dialect's stream reader."""
    if request is not None:
        refuse(check_struct(request, provider))
    if isinstance(call, StreamCall):
        dialect = provider.dialect
        return msgspec.structs.replace(
            call,
            reader=functools.partial(ChunkReader, dialect=dialect),
            fold=functools.partial(fold, dialect=dialect),
        )
    return call
