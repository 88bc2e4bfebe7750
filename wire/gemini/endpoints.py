"""Gemini's endpoints as values: each function returns what to send and how to read the answer, and
sends nothing.

Here: generating, counting, models. Beside it: embeddings, caches, files, uploads, batches, stores,
prediction.

Paths are relative to the version (`/v1beta`, or Vertex's project path), which the client knows.
Source of paths and bodies: Generative Language REST reference, v1beta, 2026-08-22.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import msgspec

from wire.core.bodies import checked_body, wrong_type
from wire.core.call import Call, StreamCall
from wire.core.decoders import decoder
from wire.core.memory import RAW, WireStruct, notes
from wire.core.provider import Provider
from wire.errors import RuleError, Violation, refuse
from wire.gemini.error_body import parse_error
from wire.gemini.fold import TextChunk, fold
from wire.gemini.paths import JSON, not_on_vertex, page, plain, resource
from wire.gemini.reader import ChunkReader, parse_answer
from wire.gemini.rules import check
from wire.gemini.types import (
    Content,
    CountTokensRequest,
    CountTokensResponse,
    GenerateContentRequest,
    GenerateContentResponse,
    ListModelsResponse,
    Model,
    Part,
)

T = TypeVar("T", bound=WireStruct)
AnyCall = TypeVar("AnyCall", bound=Call[Any] | StreamCall[Any, Any])
HostRules = Callable[[Any, Provider], Any]


def generate_content(
    model: str, request: GenerateContentRequest, *, checked: bool = True
) -> Call[GenerateContentResponse]:
    """One request, one whole answer.

    >>> call = generate_content(
    ...     "gemini-3-pro-preview",
    ...     GenerateContentRequest(contents=[Content(parts=[{"text": "Hi"}])]),
    ... )
    >>> print(call.preview())
    POST /models/gemini-3-pro-preview:generateContent
    content-type: application/json
    <BLANKLINE>
    {"contents":[{"parts":[{"text":"Hi"}]}]}

    Raises `ConfigurationError` for a model name that cannot stand in a path, `RuleError` for a
    request that this model refuses on every host, or that is not JSON; the error names the JSON
    path. What the client's own host refuses is a `RuleError` of the client, before anything is
    sent. `gemini.check` reports warnings too. `checked=False` leaves all rules to the server.
    """
    path, endpoint = resource(model), "generateContent"
    body, host_rules = _generate_body(request, model, endpoint, checked)
    return Call(
        "gemini",
        "POST",
        f"/{path}:{endpoint}",
        body,
        headers=JSON,
        parse=parse_answer,
        read_error=parse_error,
        host_rules=host_rules,
        notes=notes(request),
    )


def stream_generate_content(
    model: str, request: GenerateContentRequest, *, checked: bool = True
) -> StreamCall[GenerateContentResponse, GenerateContentResponse]:
    """One request, the answer as server-sent events; `reply()` of its stream is what
    `generate_content` would have given.

    Raises as `generate_content`.
    """
    path, endpoint = resource(model), "streamGenerateContent"
    body, host_rules = _generate_body(request, model, endpoint, checked)
    return StreamCall(
        "gemini",
        "POST",
        f"/{path}:{endpoint}",
        body,
        query={"alt": "sse"},
        headers=JSON,
        reader=ChunkReader,
        fold=fold,
        text_chunk=TextChunk,
        read_error=parse_error,
        host_rules=host_rules,
        notes=notes(request),
    )


def count_tokens(
    model: str, request: CountTokensRequest | GenerateContentRequest | Sequence[Content]
) -> Call[CountTokensResponse]:
    """How many tokens the input is; given a whole request, system instruction and tools are counted
    with it.

    Raises as `generate_content`.
    """
    name = resource(model)
    if isinstance(request, GenerateContentRequest):
        request = CountTokensRequest(
            generate_content_request=msgspec.structs.replace(request, model=name)
        )
    elif isinstance(request, (list, tuple)):
        request = CountTokensRequest(contents=list(request))
    if not isinstance(request, CountTokensRequest):
        raise wrong_type(
            "request", request, "CountTokensRequest, a GenerateContentRequest or a list of Contents"
        )
    return plain(
        CountTokensResponse,
        "POST",
        f"/{name}:countTokens",
        _body(request)[0],
        host_rules=_counted_on_vertex,
    )


def _counted_on_vertex(
    call: Call[CountTokensResponse], provider: Provider
) -> Call[CountTokensResponse]:
    """Vertex takes the counted fields at the top of the body, not in a whole request."""
    if provider.dialect.api != "vertex":
        return call
    body = decoder(dict[str, msgspec.Raw]).decode(call.body)
    if "generateContentRequest" not in body:
        return call
    request = decoder(dict[str, msgspec.Raw]).decode(body.pop("generateContentRequest"))
    if "cachedContent" in request:
        raise RuleError(
            violations=[
                Violation(
                    "generateContentRequest.cachedContent", "Vertex counts no cached content", "G1"
                )
            ]
        )
    counted = {
        key: request[key]
        for key in ("contents", "systemInstruction", "tools", "generationConfig")
        if key in request
    }
    return dataclasses.replace(call, body=msgspec.json.encode(counted | body))


def list_models(
    page_size: int | None = None, page_token: str | None = None
) -> Call[ListModelsResponse]:
    """One page of the models; `next_page_token` of the answer asks for the next one.

    >>> list_models(50).target
    '/models?pageSize=50'
    """
    return plain(
        ListModelsResponse,
        "GET",
        "/models",
        query=page(page_size, page_token),
        host_rules=not_on_vertex,
    )


def get_model(model: str) -> Call[Model]:
    """What a model is and can take.

    Raises `ConfigurationError` for a name that no path can hold.
    """
    return plain(Model, "GET", f"/{resource(model)}", host_rules=not_on_vertex)


# --- bodies ---------------------------------------------------------------------------------------


def generate_body(request: GenerateContentRequest) -> bytes:
    """A request as JSON. Raises `RuleError` with the JSON path of what every model refuses."""
    return _generate_body(request, "", "generateContent", True)[0]


def _generate_body(
    request: GenerateContentRequest, model: str, endpoint: str, checked: bool
) -> tuple[bytes, HostRules | None]:
    """The request as JSON, and what a host is asked about it before it is sent there."""
    if not isinstance(request, GenerateContentRequest):
        raise wrong_type("request", request, "GenerateContentRequest")
    body, read = _body(request)
    if not checked:
        return body, None
    # No host is known yet: only what all of them refuse is found.
    refuse(check(read, model, "", endpoint=endpoint))
    return body, functools.partial(_judged, read, model, endpoint)


def _judged(
    request: GenerateContentRequest, model: str, endpoint: str, call: AnyCall, provider: Provider
) -> AnyCall:
    refuse(check(request, model, provider, endpoint=endpoint))
    return call


def _body(request: T) -> tuple[bytes, T]:
    return checked_body(
        request, "contents" if hasattr(request, "contents") else "", _is_sound, _recognised
    )


def _recognised(turn: object, read: Content) -> Content:
    """A Content as it was read back, with the parts of it that came from the wire: of those,
    reading back sees only what we know.
    """
    own = turn.parts if isinstance(turn, Content) and isinstance(turn.parts, (list, tuple)) else ()
    parts = [
        part if RAW in getattr(part, "__dict__", ()) else other
        for part, other in zip(own, read.parts or (), strict=False)
    ]
    return msgspec.structs.replace(read, parts=parts) if parts else read


def _is_sound(turn: object) -> bool:
    if type(turn) is not Content:
        return False
    if RAW in turn.__dict__:
        return True
    return (
        type(turn.role) is str
        and isinstance(turn.parts, (list, tuple))
        and all(map(_is_sound_part, turn.parts))
    )


def _is_sound_part(part: object) -> bool:
    return type(part) is Part and (
        RAW in part.__dict__ or (type(part.text) is str and part == Part(text=part.text))
    )
