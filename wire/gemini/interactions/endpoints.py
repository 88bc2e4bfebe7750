"""Endpoints of Interactions, as calls. A call is a value: it holds the request and the function
that parses the response; a client sends it.

Paths are relative to a base URL that ends in the version. Source of paths and bodies: google-genai
3.4.0, November 2026; recorded traffic.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from wire.core.arguments import checked_arguments
from wire.core.bodies import checked_body, texts_only, unstreamed, wrong_type
from wire.core.call import Call, StreamCall
from wire.core.errors import ConfigurationError, refuse
from wire.core.memory import notes, raw_of
from wire.core.path_segment import path_segment
from wire.core.provider import Provider
from wire.gemini.interactions.error_body import parse_error
from wire.gemini.interactions.fold import TextEvent, fold
from wire.gemini.interactions.reader import (
    ChunkReader,
    parse_interaction,
    parse_plain,
    parse_stored,
)
from wire.gemini.interactions.rules import Body, check_body
from wire.gemini.interactions.types import (
    Content,
    DeletedInteraction,
    Interaction,
    InteractionEvent,
    InteractionRequest,
    Step,
)

AnyCall = TypeVar("AnyCall", bound=Call[Any] | StreamCall[Any, Any])
HostRules = Callable[[Any, Provider], Any]

WIRE = "gemini.interactions"
JSON = {"content-type": "application/json"}


@checked_arguments()
def create_interaction(request: InteractionRequest, *, checked: bool = True) -> Call[Interaction]:
    """Build a call that returns one complete interaction; with `background`, one that has begun.

    >>> request = InteractionRequest(model="gemini-3.8-flash", input="Hi", store=False)
    >>> print(create_interaction(request).preview())
    POST /interactions
    content-type: application/json
    <BLANKLINE>
    {"model":"gemini-3.8-flash","input":"Hi","store":false}

    Google stores the interaction unless the request has `store=False`. Raises `RuleError` with JSON
    paths for a request that every host refuses, or with a value that JSON cannot encode. The client
    also raises `RuleError`, before it sends anything, for what its provider refuses.
    `checked=False` skips both checks of the rules.
    """
    if not isinstance(request, InteractionRequest) or request.stream:
        raise unstreamed(request, InteractionRequest, "stream_interaction")
    body, host_rules = _body(request, checked)
    return Call(
        WIRE,
        "POST",
        "/interactions",
        body,
        headers=JSON,
        parse=parse_interaction,
        read_error=parse_error,
        host_rules=host_rules,
        notes=notes(request),
    )


@checked_arguments()
def stream_interaction(
    request: InteractionRequest, *, checked: bool = True
) -> StreamCall[InteractionEvent, Interaction]:
    """Build a call that streams an interaction as events.

    `result()` of the stream returns the complete interaction, the same as `create_interaction`.

    >>> request = InteractionRequest(model="gemini-3.8-flash", input="Hi", store=False)
    >>> stream_interaction(request).body
    b'{"model":"gemini-3.8-flash","input":"Hi","store":false,"stream":true}'

    Parameters and errors are those of `create_interaction`. A stream whose events have ids, such as
    one in the background, is resumed behind the last event if it breaks off.
    """
    if not isinstance(request, InteractionRequest):
        raise wrong_type("request", request, "InteractionRequest")
    body, host_rules = _body(msgspec.structs.replace(request, stream=True), checked)
    return StreamCall(
        WIRE,
        "POST",
        "/interactions",
        body,
        headers=JSON,
        reader=ChunkReader,
        fold=fold,
        text_chunk=TextEvent,
        read_error=parse_error,
        host_rules=host_rules,
        resume=stream_resumed,
        notes=notes(request),
    )


@checked_arguments()
def stream_again(
    interaction_id: str, *, last_event_id: str = ""
) -> StreamCall[InteractionEvent, Interaction]:
    """Build a call that streams a stored interaction again, or continues its stream.

    >>> stream_again("v1_1", last_event_id="e7").target
    '/interactions/v1_1?stream=true&last_event_id=e7'

    `last_event_id` is the `event_id` of the last event that arrived; without it the stream begins
    anew. `result()` has the steps of the events that this stream sends. Raises `ConfigurationError`
    for a malformed id.
    """
    query = {"stream": "true"}
    if not isinstance(last_event_id, str):
        raise ConfigurationError("last_event_id: expected the event_id of an event")
    if last_event_id:
        query["last_event_id"] = last_event_id
    return StreamCall(
        WIRE,
        "GET",
        interaction_path(interaction_id),
        query=query,
        reader=ChunkReader,
        fold=fold,
        text_chunk=TextEvent,
        read_error=parse_error,
        resume=stream_resumed,
    )


def stream_resumed(
    _: object, reader: ChunkReader
) -> StreamCall[InteractionEvent, Interaction] | None:
    """Build the call that continues a stream after its last event; `None` without ids of events."""
    if not reader.is_resumable:
        return None
    reader.reopen()
    return stream_again(reader.interaction_id, last_event_id=reader.last_event_id)


@checked_arguments()
def get_interaction(interaction_id: str, *, include_input: bool | None = None) -> Call[Interaction]:
    """Build a call that returns a stored interaction, complete or not: `status` tells which.

    >>> get_interaction("v1_1").path
    '/interactions/v1_1'

    Its steps begin with the input. A failed one is returned, with its `errors`. `include_input` is
    deprecated. Raises `ConfigurationError` for a malformed id.
    """
    query = {} if include_input is None else {"include_input": str(bool(include_input)).lower()}
    return _stored("GET", interaction_id, parse=parse_stored, query=query)


@checked_arguments()
def cancel_interaction(interaction_id: str) -> Call[Interaction]:
    """Build a call that cancels an interaction with `background`.

    >>> cancel_interaction("v1_1").path
    '/interactions/v1_1/cancel'

    Raises `ConfigurationError` for a malformed id.
    """
    return _stored("POST", interaction_id, "/cancel", parse=parse_stored)


@checked_arguments()
def delete_interaction(interaction_id: str) -> Call[DeletedInteraction]:
    """Build a call that deletes a stored interaction.

    >>> delete_interaction("v1_1").method
    'DELETE'

    Raises `ConfigurationError` for a malformed id.
    """
    return _stored(
        "DELETE", interaction_id, parse=functools.partial(parse_plain, DeletedInteraction)
    )


# --- parts of a call ------------------------------------------------------------------------------


def interaction_path(interaction_id: str) -> str:
    """Return the path of one interaction; raise `ConfigurationError` for an id that is not a path
    segment.
    """
    return f"/interactions/{path_segment('interaction_id', interaction_id, 'v1_abc')}"


def _stored(method: str, interaction_id: str, action: str = "", **more: Any) -> Call[Any]:
    path = f"{interaction_path(interaction_id)}{action}"
    return Call(WIRE, method, path, read_error=parse_error, **more)


def _body(request: InteractionRequest, checked: bool) -> tuple[bytes, HostRules | None]:
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


def needs_no_check(step: object) -> bool:
    """Return whether it is a received step, or has texts only: then JSON can encode it."""
    if type(step) is not Step:
        return False
    if raw_of(step) is not None:
        return True
    content = step.content
    if type(content) is list:
        return all(map(_is_text, content)) and _has_texts_only(step, 1)
    return _has_texts_only(step)


def _is_text(content: object) -> bool:
    return type(content) is Content and _content_has_texts_only(content)


_has_texts_only = texts_only(Step, "type", "content", "signature", "id", "name", "call_id")
_content_has_texts_only = texts_only(Content, "type", "text", "uri", "mime_type", "data")
