"""Endpoints that create responses, as calls. A call is a value: it holds the request and the
function that parses the response; a client sends it.

Paths are relative to a base URL that ends in the version. Source of paths and bodies: OpenAI's API
reference 2.3.0, 2026-08-21, and its SDK for Python 3.54.0, November 2026.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import msgspec

from wire.core.arguments import checked_arguments, whole_number
from wire.core.bodies import checked_body, texts_only, unstreamed, wrong_type
from wire.core.call import Call, StreamCall
from wire.core.errors import ConfigurationError, refuse
from wire.core.memory import notes, raw_of
from wire.core.path_segment import path_segment
from wire.core.provider import Provider
from wire.openai.common.endpoints import JSON
from wire.openai.common.error_body import parse_error
from wire.openai.responses.fold import TextEvent, fold
from wire.openai.responses.parse import WIRE
from wire.openai.responses.reader import ChunkReader, parse_response
from wire.openai.responses.rows import provider_row
from wire.openai.responses.rules import Body, check_body
from wire.openai.responses.types import ContentPart, Item, Response, ResponseRequest, StreamEvent
from wire.openai.responses.websocket import ResponseTurns

AnyCall = TypeVar("AnyCall", bound=Call[Any] | StreamCall[Any, Any])
HostRules = Callable[[Any, Provider], Any]


@checked_arguments()
def create_response(request: ResponseRequest, *, checked: bool = True) -> Call[Response]:
    """Build a call that returns one complete response.

    >>> request = ResponseRequest(model="gpt-5.6", input="Hi", store=False)
    >>> print(create_response(request).preview())
    POST /responses
    content-type: application/json
    <BLANKLINE>
    {"model":"gpt-5.6","input":"Hi","store":false}

    OpenAI stores the response unless the request has `store=False`. Raises `RuleError` with JSON
    paths for a request that every host refuses, or with a value that JSON cannot encode. The client
    also raises `RuleError`, before it sends anything, for what its provider refuses.
    `checked=False` skips both checks of the rules.
    """
    if not isinstance(request, ResponseRequest) or request.stream:
        raise unstreamed(request, ResponseRequest, "stream_response")
    body, host_rules = _body(request, checked)
    return Call(
        WIRE,
        "POST",
        "/responses",
        body,
        headers=JSON,
        parse=parse_response,
        read_error=parse_error,
        host_rules=host_rules,
        turns=None if request.background else ResponseTurns,
        notes=notes(request),
    )


@checked_arguments()
def stream_response(
    request: ResponseRequest, *, checked: bool = True
) -> StreamCall[StreamEvent, Response]:
    """Build a call that streams a response as events.

    `result()` of the stream returns the complete response, the same as `create_response`.

    >>> stream_response(ResponseRequest(model="gpt-5.6", input="Hi", store=False)).body
    b'{"model":"gpt-5.6","input":"Hi","store":false,"stream":true}'

    Parameters and errors are those of `create_response`.
    """
    if not isinstance(request, ResponseRequest):
        raise wrong_type("request", request, "ResponseRequest")
    body, host_rules = _body(msgspec.structs.replace(request, stream=True), checked)
    return StreamCall(
        WIRE,
        "POST",
        "/responses",
        body,
        headers=JSON,
        reader=ChunkReader,
        fold=fold,
        text_chunk=TextEvent,
        read_error=parse_error,
        host_rules=host_rules,
        resume=_resumed,
        turns=None if request.background else ResponseTurns,
        notes=notes(request),
    )


@checked_arguments()
def stream_again(
    response_id: str, *, starting_after: int | None = None, include: Sequence[str] = ()
) -> StreamCall[StreamEvent, Response]:
    """Build a call that streams a response with `background` again, or continues its stream.

    >>> stream_again("resp_1", starting_after=41).target
    '/responses/resp_1?stream=true&starting_after=41'

    `starting_after` is the `sequence_number` of the last event that arrived; without it the stream
    begins anew. `result()` is the complete response in both cases: its last event has all items.
    Raises `ConfigurationError` for a malformed id or number.
    """
    query: dict[str, str | Sequence[str]] = {"stream": "true"}
    if starting_after is not None:
        whole_number("starting_after", starting_after, least=0, error=ConfigurationError)
        query["starting_after"] = str(starting_after)
    return StreamCall(
        WIRE,
        "GET",
        response_path(response_id),
        query=query | included(include),
        reader=ChunkReader,
        fold=fold,
        text_chunk=TextEvent,
        read_error=parse_error,
        host_rules=only_where_stored,
        resume=_resumed,
    )


def _resumed(_: object, reader: ChunkReader) -> StreamCall[StreamEvent, Response] | None:
    """Build the call that continues a stream after its last event.

    It is `None` unless the server runs the response in the background.
    """
    if not reader.is_resumable:
        return None
    reader.reopen()
    return stream_again(reader.response_id, starting_after=reader.last_number)


# --- parts of a call ------------------------------------------------------------------------------


def response_path(response_id: str) -> str:
    """Return the path of one response; raise `ConfigurationError` for an id that is not a path
    segment.
    """
    return f"/responses/{path_segment('response_id', response_id, 'resp_1')}"


def only_where_stored(call: AnyCall, provider: Provider) -> AnyCall:
    """Return the call; raise `ConfigurationError` at a host that stores no responses."""
    if not provider_row(provider).dialect.stores:
        raise ConfigurationError(f"call: {provider.name} stores no responses and conversations")
    return call


def included(include: Sequence[str]) -> dict[str, Sequence[str]]:
    """Return the query parameter that asks for fields beside the usual ones."""
    if isinstance(include, str) or not all(isinstance(each, str) and each for each in include):
        raise ConfigurationError(
            "include: expected a list of texts, such as ['file_search_call.results']"
        )
    return {"include[]": list(include)} if include else {}


def _body(request: ResponseRequest, checked: bool) -> tuple[bytes, HostRules | None]:
    """Encode the request, and return the hook that checks it against the host before it is sent."""
    body, encoded = checked_body(request, "input", needs_no_check)
    if not checked:
        return body, None
    content = Body(encoded)
    refuse(check_body(content, "", ""))
    return body, functools.partial(_judged, content)


def _judged(body: Body, call: AnyCall, provider: Provider) -> AnyCall:
    refuse(check_body(body, "", provider))
    return call


def needs_no_check(item: object) -> bool:
    """Return whether it is a received item, or has texts only: then JSON can encode it."""
    if type(item) is not Item:
        return False
    if raw_of(item) is not None:
        return True
    parts = item.content
    if type(parts) is list:
        return all(map(_is_text_part, parts)) and _has_texts_only(item, 1)
    return _has_texts_only(item)


def _is_text_part(part: object) -> bool:
    return type(part) is ContentPart and _part_has_texts_only(part)


_has_texts_only = texts_only(
    Item,
    *("type", "id", "status", "role", "content", "phase"),
    *("call_id", "name", "namespace", "arguments", "input", "output"),
)
_part_has_texts_only = texts_only(ContentPart, "type", "text", "refusal")
