"""Calls of generateContent, streamGenerateContent, countTokens and models.

Each function returns a `Call`: the request to send and the parser of its response. It sends
nothing. Paths are relative to the version (`/v1beta`, or Vertex's project path), which the client
adds.

Other endpoints are in modules of their own: embeddings, caches, files, uploads, batches, stores,
prediction. Source of paths and bodies: Generative Language REST reference, v1beta, 2026-08-22.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import msgspec

from wire.core.arguments import checked_arguments
from wire.core.bodies import checked_body, wrong_type
from wire.core.call import Call, StreamCall
from wire.core.decoders import decoder
from wire.core.errors import RuleError, Violation, refuse
from wire.core.memory import RAW, WireStruct, notes
from wire.core.provider import Provider
from wire.gemini.error_body import parse_error
from wire.gemini.fold import TextChunk, fold
from wire.gemini.paths import JSON, not_on_vertex, page, plain, resource
from wire.gemini.reader import ChunkReader, parse_response
from wire.gemini.rules import Conversation, Kinds, check_encoded, kinds_of, read
from wire.gemini.types import (
    Content,
    CountTokensRequest,
    CountTokensResponse,
    GenerateContentRequest,
    GenerateContentResponse,
    ListModelsResponse,
    Model,
)

T = TypeVar("T", bound=WireStruct)
AnyCall = TypeVar("AnyCall", bound=Call[Any] | StreamCall[Any, Any])
HostRules = Callable[[Any, Provider], Any]


@checked_arguments()
def generate_content(
    model: str, request: GenerateContentRequest, *, checked: bool = True
) -> Call[GenerateContentResponse]:
    """Request one complete response.

    >>> call = generate_content(
    ...     "gemini-3.8-flash",
    ...     GenerateContentRequest(contents=[Content(parts=[{"text": "Hi"}])]),
    ... )
    >>> print(call.preview())
    POST /models/gemini-3.8-flash:generateContent
    content-type: application/json
    <BLANKLINE>
    {"contents":[{"parts":[{"text":"Hi"}]}]}

    Raises `ConfigurationError` for a model name that cannot stand in a path, and `RuleError`, with
    the JSON path, for a request that this model refuses on every host or that JSON cannot express.
    The client raises `RuleError` for a request that its own host refuses, before it sends anything.
    `gemini.check` returns warnings too. `checked=False` turns the rules off.
    """
    return whole_call(model, request, checked)[0]


def whole_call(
    model: str,
    request: GenerateContentRequest,
    checked: bool,
    parse: Callable[[bytes], GenerateContentResponse] = parse_response,
) -> tuple[Call[GenerateContentResponse], Conversation]:
    """Return the call of `generate_content`, and its conversation as the rules read it."""
    path, endpoint = resource(model), "generateContent"
    body, conversation, host_rules = _generate_body(request, model, endpoint, checked)
    call = Call(
        "gemini",
        "POST",
        f"/{path}:{endpoint}",
        body,
        headers=JSON,
        parse=parse,
        read_error=parse_error,
        host_rules=host_rules,
        notes=notes(request),
    )
    return call, conversation


@checked_arguments()
def stream_generate_content(
    model: str, request: GenerateContentRequest, *, checked: bool = True
) -> StreamCall[GenerateContentResponse, GenerateContentResponse]:
    """Request a response as server-sent events.

    `result()` of the stream returns the same struct as `generate_content`.

    >>> call = stream_generate_content(
    ...     "gemini-3.8-flash",
    ...     GenerateContentRequest(contents=[Content(parts=[{"text": "Hi"}])]),
    ... )
    >>> call.target
    '/models/gemini-3.8-flash:streamGenerateContent?alt=sse'

    Raises as `generate_content`.
    """
    return streamed_call(model, request, checked)[0]


def streamed_call(
    model: str, request: GenerateContentRequest, checked: bool
) -> tuple[StreamCall[GenerateContentResponse, GenerateContentResponse], Conversation]:
    """Return the call of `stream_generate_content`, and its conversation as the rules read it."""
    path, endpoint = resource(model), "streamGenerateContent"
    body, conversation, host_rules = _generate_body(request, model, endpoint, checked)
    call: StreamCall[GenerateContentResponse, GenerateContentResponse] = StreamCall(
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
    return call, conversation


@checked_arguments()
def count_tokens(
    model: str, request: CountTokensRequest | GenerateContentRequest | Sequence[Content]
) -> Call[CountTokensResponse]:
    """Count the tokens of an input.

    For a `GenerateContentRequest`, the system instruction and the tools are counted too.

    >>> count_tokens("gemini-3.8-flash", [Content(parts=[{"text": "Hi"}])]).target
    '/models/gemini-3.8-flash:countTokens'

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
        host_rules=_for_vertex,
    )


def _for_vertex(call: Call[CountTokensResponse], provider: Provider) -> Call[CountTokensResponse]:
    """Move the fields of the request to the top of the body for Vertex, which has no
    `generateContentRequest` there.
    """
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
                    "generateContentRequest.cachedContent",
                    "Vertex does not count cached content",
                    "G1",
                )
            ]
        )
    fields = {
        key: request[key]
        for key in request
        if key in ("contents", "systemInstruction", "tools", "generationConfig")
        or key not in GenerateContentRequest.__struct_encode_fields__  # an extra key
    }
    return msgspec.structs.replace(call, body=msgspec.json.encode(fields | body))


@checked_arguments()
def list_models(
    page_size: int | None = None, page_token: str | None = None
) -> Call[ListModelsResponse]:
    """List one page of the models. Pass the response's `next_page_token` for the next page.

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


@checked_arguments()
def get_model(model: str) -> Call[Model]:
    """Read the metadata of a model: token limits, methods, defaults.

    >>> get_model("gemini-3.8-flash").target
    '/models/gemini-3.8-flash'

    Raises `ConfigurationError` for a name that cannot stand in a path.
    """
    return plain(Model, "GET", f"/{resource(model)}", host_rules=not_on_vertex)


# --- bodies ---------------------------------------------------------------------------------------


def generate_body(request: GenerateContentRequest) -> bytes:
    """Encode a request as JSON. Raises `RuleError` for a request that every model refuses."""
    return _generate_body(request, "", "generateContent", True)[0]


def _generate_body(
    request: GenerateContentRequest, model: str, endpoint: str, checked: bool
) -> tuple[bytes, Conversation, HostRules | None]:
    """Encode a request; return its JSON, its conversation, and the rules that a client applies with
    its own host before sending.
    """
    if not isinstance(request, GenerateContentRequest):
        raise wrong_type("request", request, "GenerateContentRequest")
    body, decoded, kinds = _body(request)
    conversation = read(decoded.contents or (), kinds)
    if not checked:
        return body, conversation, None
    # The host is unknown here. Rules of one host are checked by the client (`host_rules`).
    refuse(check_encoded(decoded, model, "", endpoint, conversation))
    host_rules = functools.partial(_refuse_on_host, decoded, model, endpoint, conversation)
    return body, conversation, host_rules


def _refuse_on_host(
    request: GenerateContentRequest,
    model: str,
    endpoint: str,
    conversation: Conversation,
    call: AnyCall,
    provider: Provider,
) -> AnyCall:
    """Raise `RuleError` for a request that the provider's host refuses."""
    refuse(check_encoded(request, model, provider, endpoint, conversation, again=True))
    return call


def _body(request: T) -> tuple[bytes, T, Kinds]:
    """Encode a request; return its JSON, the request decoded from that JSON with plain dicts as
    structs, and the kinds of its contents.
    """
    turns = getattr(request, "contents", None)
    kinds = kinds_of(turns if isinstance(turns, (list, tuple)) else ())
    name = "contents" if hasattr(request, "contents") else ""
    body, decoded = checked_body(
        request, name, unsure=kinds.unsure, recognised=_with_received_parts
    )
    return body, decoded, kinds


def _with_received_parts(turn: object, decoded: Content) -> Content:
    """Return a Content that was decoded from the body, with the received parts of the original
    `turn`.

    Received parts keep their remembered bytes that way. A decoded part knows its fields only, so
    that a part of an unknown kind would look empty to the rules (G6).
    """
    own = turn.parts if isinstance(turn, Content) and isinstance(turn.parts, (list, tuple)) else ()
    parts = [
        part if RAW in getattr(part, "__dict__", ()) else other
        for part, other in zip(own, decoded.parts or (), strict=False)
    ]
    return msgspec.structs.replace(decoded, parts=parts) if parts else decoded
