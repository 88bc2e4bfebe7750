"""Endpoints of Messages as calls. A call is a value: it holds the request and the function that
parses the response; a client sends it.

Paths are relative to the base URL and the version, which the client adds. Source of paths, headers
and bodies: Anthropic's SDK for Python, 0.121.0 of 2026-08-07 and 2.12.0 of November 2026. The
client adds the header `anthropic-version`, whose value depends on the host.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from wire.anthropic.error_body import parse_error
from wire.anthropic.fold import TextEvent, fold
from wire.anthropic.reader import ChunkReader, parse_message, parse_plain
from wire.anthropic.rules import Body, check_body
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
from wire.core.arguments import checked_arguments
from wire.core.bodies import checked_body, texts_only, unstreamed, wrong_type
from wire.core.call import Call, StreamCall
from wire.core.errors import ConfigurationError, refuse
from wire.core.extra_keys import narrowed
from wire.core.memory import WireStruct, notes, raw_of
from wire.core.path_segment import path_segment
from wire.core.provider import Provider
from wire.core.secret import quoted

W = TypeVar("W", bound=WireStruct)
AnyCall = TypeVar("AnyCall", bound=Call[Any] | StreamCall[Any, Any])
HostRules = Callable[[Any, Provider], Any]


@checked_arguments()
def create_message(
    request: MessageRequest, *, betas: Sequence[str] = (), checked: bool = True
) -> Call[MessageResponse]:
    """Build a call that returns one complete response.

    `betas` are the names of beta features to enable.

    >>> request = MessageRequest(
    ...     model="claude-opus-4-8", max_tokens=100, messages=[Message(role="user", content="Hi")]
    ... )
    >>> print(create_message(request, betas=["context-management-2025-06-27"]).preview())
    POST /messages
    anthropic-beta: context-management-2025-06-27
    content-type: application/json
    <BLANKLINE>
    {"model":"claude-opus-4-8","messages":[{"role":"user","content":"Hi"}],"max_tokens":100}

    Raises `RuleError` with JSON paths for a request that every host refuses, or with a value that
    JSON cannot encode. A client of `anthropic` also raises `RuleError`, before it sends anything,
    for what Anthropic alone refuses. `checked=False` skips both checks of the rules.
    """
    if not isinstance(request, MessageRequest) or request.stream:
        raise unstreamed(request, MessageRequest, "stream_message")
    request, sent = with_headers(request, betas)
    body, host_rules = _body(request, checked)
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


@checked_arguments()
def stream_message(
    request: MessageRequest, *, betas: Sequence[str] = (), checked: bool = True
) -> StreamCall[MessageStreamEvent, MessageResponse]:
    """Build a call that streams a response as events.

    `result()` of the stream returns the complete response, the same as `create_message`.

    >>> request = MessageRequest(
    ...     model="claude-opus-4-8", max_tokens=100, messages=[Message(role="user", content="Hi")]
    ... )
    >>> stream_message(request).body.endswith(b'"max_tokens":100,"stream":true}')
    True

    Parameters and errors are those of `create_message`.
    """
    if not isinstance(request, MessageRequest):
        raise wrong_type("request", request, "MessageRequest")
    request, sent = with_headers(request, betas)
    body, host_rules = _body(msgspec.structs.replace(request, stream=True), checked)
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


@checked_arguments()
def count_tokens(
    request: CountTokensRequest | MessageRequest, *, betas: Sequence[str] = ()
) -> Call[TokenCount]:
    """Build a call that returns the number of tokens of a prompt.

    Of a `MessageRequest` only the fields of the prompt are sent, without `max_tokens` and sampling.

    >>> request = MessageRequest(
    ...     model="claude-opus-4-8", max_tokens=100, messages=[Message(role="user", content="Hi")]
    ... )
    >>> count_tokens(request).body
    b'{"model":"claude-opus-4-8","messages":[{"role":"user","content":"Hi"}]}'

    Parameters and errors are those of `create_message`.
    """
    if isinstance(request, MessageRequest):
        request = narrowed(request, CountTokensRequest)
    if not isinstance(request, CountTokensRequest):
        raise wrong_type("request", request, "CountTokensRequest or MessageRequest")
    request, sent = with_headers(request, betas)
    body, host_rules = _body(request)
    return plain(
        TokenCount,
        "POST",
        "/messages/count_tokens",
        body,
        sent=sent,
        host_rules=host_rules,
        notes=notes(request),
    )


@checked_arguments()
def list_models(
    *,
    limit: int | None = None,
    after_id: str | None = None,
    before_id: str | None = None,
    lifecycle: str | None = None,
) -> Call[ModelList]:
    """Build a call that returns one page of the models that the key has access to, the newest
    first.

    >>> list_models(limit=20, after_id="claude-opus-4-8").query
    {'limit': '20', 'after_id': 'claude-opus-4-8'}

    `limit` is the number of models; `after_id` and `before_id` are the ids around the page;
    `lifecycle` restricts the list to models that are `active`, `deprecated` or `retired`.
    """
    if not isinstance(lifecycle, str | None):
        raise ConfigurationError(
            f"lifecycle: expected active, deprecated or retired, not {quoted(lifecycle)}"
        )
    wanted = {} if lifecycle is None else {"lifecycle[]": lifecycle}
    return plain(ModelList, "GET", "/models", query=page(limit, after_id, before_id) | wanted)


@checked_arguments()
def get_model(model: str) -> Call[ModelInfo]:
    """Build a call that returns the metadata of one model.

    >>> get_model("claude-opus-4-8").path
    '/models/claude-opus-4-8'

    Raises `ConfigurationError` for an empty or malformed name.
    """
    return plain(ModelInfo, "GET", f"/models/{path_segment('model', model, 'claude-opus-4-8')}")


FILES_BETA = "files-api-2025-04-14"
"""Beta of files, which a request with ids of uploaded files has to name too."""

# --- parts of a call ------------------------------------------------------------------------------


HEADER_FIELDS = {
    "user_profile_id": "anthropic-user-profile-id",
    "workspace_id": "anthropic-workspace-id",
}
"""Fields of a request that are sent as headers, as Anthropic's SDKs send them."""


def with_headers(request: W, betas: Sequence[str]) -> tuple[W, dict[str, str]]:
    """Return the request without the fields that are sent as headers, and the headers of its call.

    Raises `ConfigurationError` if `betas` is not a list of names, or a field is not a valid header.
    """
    # Most requests have none; an empty text is refused.
    sent = beta_headers(betas) if betas or isinstance(betas, str) else {}
    for name, header in HEADER_FIELDS.items():
        if (value := getattr(request, name)) is not None:
            sent[header] = value
            request = msgspec.structs.replace(request, **{name: None})
    return request, {**sent, "content-type": "application/json"}


def beta_headers(betas: Sequence[str]) -> dict[str, str]:
    """Return the header that enables beta features.

    Raises `ConfigurationError` if `betas` is not a list of names.
    """
    if isinstance(betas, str) or not all(isinstance(name, str) and name.strip() for name in betas):
        raise ConfigurationError(
            "betas: expected a list of names, such as ['context-management-2025-06-27']"
        )
    return {"anthropic-beta": ",".join(betas)} if betas else {}


def plain(
    kind: type[W],
    method: str,
    path: str,
    body: bytes = b"",
    *,
    sent: Mapping[str, str] | None = None,
    **more: Any,
) -> Call[W]:
    """Build a call whose response is one struct; `sent` are its headers."""
    return Call(
        "anthropic",
        method,
        path,
        body,
        headers=sent or {},
        parse=functools.partial(parse_plain, kind),
        read_error=parse_error,
        **more,
    )


def page(limit: int | None, after_id: str | None, before_id: str | None) -> dict[str, str]:
    """Return the query parameters of a list; omits those that are `None`."""
    if (
        not isinstance(limit, int | None)
        or not isinstance(after_id, str | None)
        or not isinstance(before_id, str | None)
    ):
        raise ConfigurationError("limit, after_id, before_id: expected an integer and two texts")
    query = {
        "limit": None if limit is None else str(limit),
        "after_id": after_id,
        "before_id": before_id,
    }
    return {name: value for name, value in query.items() if value is not None}


def _body(
    request: MessageRequest | CountTokensRequest, checked: bool = True
) -> tuple[bytes, HostRules | None]:
    """Encode the request, and return the hook that checks it against the host before it is sent."""
    body, encoded = checked_body(request, "messages", _needs_no_check)
    if not checked:
        return body, None
    endpoint = "count_tokens" if isinstance(encoded, CountTokensRequest) else "messages"
    content = Body(encoded)
    refuse(check_body(content, "", "", endpoint))
    return body, functools.partial(_judged, content, endpoint)


def _judged(body: Body, endpoint: str, call: AnyCall, provider: Provider) -> AnyCall:
    refuse(check_body(body, "", provider, endpoint, provider.version))
    return call


def _needs_no_check(message: object) -> bool:
    """Return whether the message consists of texts and received blocks only, which JSON can encode.

    Long histories mostly do, and walking through all their values again would be slow.
    """
    if type(message) is not Message:
        return False
    if raw_of(message) is not None:
        return True
    content = message.content
    if type(message.role) is not str:
        return False
    return type(content) is str or (
        isinstance(content, list) and False not in map(_is_received_or_text, content)
    )


def _is_received_or_text(block: object) -> bool:
    return type(block) is ContentBlock and (raw_of(block) is not None or _has_texts_only(block))


_has_texts_only = texts_only(
    ContentBlock,
    *("type", "text", "thinking", "signature", "data"),
    *("id", "name", "tool_use_id", "content"),
)
