"""The endpoints as values: each function returns what to send and how to read the answer, and sends
nothing.

Paths are relative to a base URL and the version, which the client knows. Source of paths, headers
and bodies: Anthropic's SDK for Python 0.121.0 of 2026-08-07.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import msgspec

from wire.anthropic.error_body import parse_error
from wire.anthropic.fold import TextEvent, fold
from wire.anthropic.reader import ChunkReader, parse_message, parse_plain
from wire.anthropic.rules import check
from wire.anthropic.types import (
    ContentBlock,
    CountTokensRequest,
    Message,
    MessageRequest,
    MessageResponse,
    MessageStreamEvent,
    ModelInfo,
    ModelList,
    TokenCount,
)
from wire.core.bodies import checked_body, wrong_type
from wire.core.call import Call, StreamCall
from wire.core.memory import RAW, WireStruct, notes
from wire.core.provider import Provider
from wire.errors import ConfigurationError, RuleError, Violation, refuse

W = TypeVar("W", bound=WireStruct)
AnyCall = TypeVar("AnyCall", bound=Call[Any] | StreamCall[Any, Any])
HostRules = Callable[[Any, Provider], Any]

VERSION = "2023-06-01"
"""Of the API, in the header `anthropic-version`."""


def create_message(
    request: MessageRequest, *, betas: Sequence[str] = (), checked: bool = True
) -> Call[MessageResponse]:
    """One request, one whole answer. `betas` are names of what is not in the API for everybody yet.

    >>> request = MessageRequest(
    ...     model="claude-opus-4-8", max_tokens=100, messages=[Message(role="user", content="Hi")]
    ... )
    >>> print(create_message(request, betas=["context-management-2025-06-27"]).preview())
    POST /messages
    anthropic-version: 2023-06-01
    anthropic-beta: context-management-2025-06-27
    content-type: application/json
    <BLANKLINE>
    {"model":"claude-opus-4-8","messages":[{"role":"user","content":"Hi"}],"max_tokens":100}

    Raises `RuleError` for a request that every host refuses, or that JSON cannot say; what only
    Anthropic refuses is a `RuleError` of a client of `anthropic`, before anything is sent. The
    errors name the JSON path.
    """
    if not isinstance(request, MessageRequest):
        raise wrong_type("request", request, "MessageRequest")
    if request.stream:
        raise RuleError(
            violations=[
                Violation(
                    "stream",
                    "an answer in one piece is no stream",
                    remedy="stream_message(request)",
                )
            ]
        )
    body, host_rules = _body(request, checked)
    sent = headers(betas, json=True)
    return Call(
        "anthropic",
        "POST",
        "/messages",
        body,
        headers=sent,
        parse=parse_message,
        read_error=parse_error,
        host_rules=host_rules,
        notes=notes(request),
    )


def stream_message(
    request: MessageRequest, *, betas: Sequence[str] = (), checked: bool = True
) -> StreamCall[MessageStreamEvent, MessageResponse]:
    """One request, the answer as events; `reply()` of its stream is what `create_message` would
    have given.

    >>> request = MessageRequest(
    ...     model="claude-opus-4-8", max_tokens=100, messages=[Message(role="user", content="Hi")]
    ... )
    >>> stream_message(request).body
    b'{"model":"claude-opus-4-8","messages":[{"role":"user","content":"Hi"}],"max_tokens":100,"stream":true}'

    Raises as `create_message`.
    """
    if not isinstance(request, MessageRequest):
        raise wrong_type("request", request, "MessageRequest")
    body, host_rules = _body(msgspec.structs.replace(request, stream=True), checked)
    sent = headers(betas, json=True)
    return StreamCall(
        "anthropic",
        "POST",
        "/messages",
        body,
        headers=sent,
        reader=ChunkReader,
        fold=fold,
        text_chunk=TextEvent,
        read_error=parse_error,
        host_rules=host_rules,
        notes=notes(request),
    )


def count_tokens(
    request: CountTokensRequest | MessageRequest, *, betas: Sequence[str] = ()
) -> Call[TokenCount]:
    """How many tokens a prompt has. Of a request for an answer the prompt counts, and not how it is
    to be answered.

    >>> request = MessageRequest(
    ...     model="claude-opus-4-8", max_tokens=100, messages=[Message(role="user", content="Hi")]
    ... )
    >>> count_tokens(request).body
    b'{"model":"claude-opus-4-8","messages":[{"role":"user","content":"Hi"}]}'

    Raises as `create_message`.
    """
    if isinstance(request, MessageRequest):
        request = CountTokensRequest(
            **{name: getattr(request, name) for name in CountTokensRequest.__struct_fields__}
        )
    if not isinstance(request, CountTokensRequest):
        raise wrong_type("request", request, "CountTokensRequest or MessageRequest")
    body, host_rules = _body(request)
    return plain(
        TokenCount,
        "POST",
        "/messages/count_tokens",
        body,
        betas=betas,
        host_rules=host_rules,
        notes=notes(request),
    )


def list_models(
    *, limit: int | None = None, after_id: str | None = None, before_id: str | None = None
) -> Call[ModelList]:
    """A page of the models that the key may use, the newest first."""
    return plain(ModelList, "GET", "/models", query=page(limit, after_id, before_id))


def get_model(model: str) -> Call[ModelInfo]:
    """What the server says of one model. Raises `ConfigurationError` for what is no name."""
    return plain(ModelInfo, "GET", f"/models/{segment('model', model, 'claude-opus-4-8')}")


# --- what calls are made of -----------------------------------------------------------------------


def headers(betas: Sequence[str] = (), *, json: bool = False) -> dict[str, str]:
    """The headers of every call.

    Raises `ConfigurationError` for betas that are no list of names.
    """
    if isinstance(betas, str) or not all(isinstance(name, str) and name.strip() for name in betas):
        raise ConfigurationError(
            "betas: a list of names is wanted, such as ['context-management-2025-06-27']"
        )
    asked = {"anthropic-beta": ",".join(betas)} if betas else {}
    return {
        "anthropic-version": VERSION,
        **asked,
        **({"content-type": "application/json"} if json else {}),
    }


def plain(
    kind: type[W],
    method: str,
    path: str,
    body: bytes = b"",
    *,
    betas: Sequence[str] = (),
    **more: Any,
) -> Call[W]:
    """A call whose answer is one struct."""
    sent, parse = headers(betas, json=bool(body)), functools.partial(parse_plain, kind)
    return Call(
        "anthropic", method, path, body, headers=sent, parse=parse, read_error=parse_error, **more
    )


def page(limit: int | None, after_id: str | None, before_id: str | None) -> dict[str, str]:
    """The query of a list; what is `None` is left to the server."""
    if (
        not isinstance(limit, int | None)
        or not isinstance(after_id, str | None)
        or not isinstance(before_id, str | None)
    ):
        raise ConfigurationError("limit, after_id, before_id: a number and two texts are wanted")
    query = {
        "limit": None if limit is None else str(limit),
        "after_id": after_id,
        "before_id": before_id,
    }
    return {name: value for name, value in query.items() if value is not None}


def segment(what: str, name: str, example: str) -> str:
    """A name as one step of a path."""
    if not isinstance(name, str) or not name.strip("/. ") or "/" in name:
        raise ConfigurationError(f"{what}: a name is wanted, such as {example}, not {name!r}")
    return name


def _body(
    request: MessageRequest | CountTokensRequest, checked: bool = True
) -> tuple[bytes, HostRules | None]:
    """A prompt as JSON, and what a host is asked about it before it is sent there."""
    body, read = checked_body(request, "messages", _is_sound)
    if not checked:
        return body, None
    refuse(check(read, "", ""))
    return body, functools.partial(_judged, read)


def _judged(
    request: MessageRequest | CountTokensRequest, call: AnyCall, provider: Provider
) -> AnyCall:
    refuse(check(request, "", provider))
    return call


def _is_sound(message: object) -> bool:
    """Nothing in it but what came from the wire, or texts."""
    if type(message) is not Message:
        return False
    if RAW in message.__dict__:
        return True
    content = message.content
    if type(message.role) is not str:
        return False
    return type(content) is str or (
        isinstance(content, list)
        and all(type(block) is ContentBlock and RAW in block.__dict__ for block in content)
    )
