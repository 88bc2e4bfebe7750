"""Endpoints of Converse as calls. A call is a value: it holds the request and the function that
parses the response; a client sends it.

The model stands in the path. The colon of a version stays as it is, the slash of an ARN is escaped.
Source of paths and bodies: the service model of botocore 1.44.5, `bedrock-runtime`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import msgspec

from wire.converse.error_body import parse_error
from wire.converse.fold import TextEvent, fold
from wire.converse.reader import ChunkReader, parse_answer, parse_plain
from wire.converse.rules import Body, check_body
from wire.converse.types import (
    CohereEmbedRequest,
    CohereEmbedResponse,
    ContentBlock,
    ConverseRequest,
    ConverseResponse,
    ConverseStreamEvent,
    ConverseTokensRequest,
    CountTokensInput,
    CountTokensRequest,
    CountTokensResponse,
    FoundationModels,
    InferenceProfiles,
    Message,
    NovaEmbedRequest,
    NovaEmbedResponse,
    TitanEmbedRequest,
    TitanEmbedResponse,
)
from wire.core.arguments import checked_arguments
from wire.core.bodies import checked_body, wrong_type
from wire.core.call import Call, StreamCall
from wire.core.errors import ConfigurationError, refuse
from wire.core.event_stream import CONTENT_TYPE
from wire.core.extra_keys import narrowed
from wire.core.memory import WireStruct, notes, raw_of
from wire.core.path_segment import model_segment
from wire.core.provider import Provider

W = TypeVar("W", bound=WireStruct)
AnyCall = TypeVar("AnyCall", bound=Call[Any] | StreamCall[Any, Any])
HostRules = Callable[[Any, Provider], Any]

WIRE = "converse"
_EXAMPLE = "anthropic.claude-sonnet-5"
_JSON = {"content-type": "application/json"}
_FRAMES = {**_JSON, "accept": CONTENT_TYPE}
EmbedBody = TitanEmbedRequest | CohereEmbedRequest | NovaEmbedRequest
EmbedAnswer = TitanEmbedResponse | CohereEmbedResponse | NovaEmbedResponse


@checked_arguments()
def converse(
    model: str, request: ConverseRequest, *, checked: bool = True
) -> Call[ConverseResponse]:
    """Build a call that returns one complete answer.

    >>> request = ConverseRequest(
    ...     messages=[Message(role="user", content=[ContentBlock(text="Hi")])]
    ... )
    >>> print(converse("anthropic.claude-3-haiku-20240307-v1:0", request).preview())
    POST /model/anthropic.claude-3-haiku-20240307-v1:0/converse
    content-type: application/json
    <BLANKLINE>
    {"messages":[{"role":"user","content":[{"text":"Hi"}]}]}

    `model` is the id of a model or of an inference profile, or an ARN. Raises `ConfigurationError`
    for a name that cannot stand in a path, and `RuleError` with JSON paths for a request that every
    host refuses, or with a value that JSON cannot encode. A client of `bedrock` also raises
    `RuleError`, before it sends anything, for what Bedrock alone refuses. `checked=False` skips
    both checks of the rules.
    """
    path = _path(model, "converse")
    body, host_rules = _body(model, request, checked)
    return Call(
        WIRE,
        "POST",
        path,
        body,
        headers=_JSON,
        parse=parse_answer,
        read_error=parse_error,
        host_rules=host_rules,
        notes=notes(request),
    )


@checked_arguments()
def converse_stream(
    model: str, request: ConverseRequest, *, checked: bool = True
) -> StreamCall[ConverseStreamEvent, ConverseResponse]:
    """Build a call that streams an answer as events.

    `result()` of the stream returns the complete answer, the same as `converse`.

    >>> request = ConverseRequest(
    ...     messages=[Message(role="user", content=[ContentBlock(text="Hi")])]
    ... )
    >>> converse_stream("us.amazon.nova-lite-v1:0", request).path
    '/model/us.amazon.nova-lite-v1:0/converse-stream'

    Parameters and errors are those of `converse`.
    """
    path = _path(model, "converse-stream")
    body, host_rules = _body(model, request, checked)
    return StreamCall(
        WIRE,
        "POST",
        path,
        body,
        headers=_FRAMES,
        reader=ChunkReader,
        fold=fold,
        text_chunk=TextEvent,
        read_error=parse_error,
        host_rules=host_rules,
        notes=notes(request),
    )


@checked_arguments()
def count_tokens(
    model: str, request: CountTokensRequest | ConverseTokensRequest | ConverseRequest
) -> Call[CountTokensResponse]:
    """Build a call that returns the number of tokens of a prompt.

    Of a `ConverseRequest` only the fields of the prompt are sent.

    >>> request = ConverseRequest(
    ...     messages=[Message(role="user", content=[ContentBlock(text="Hi")])]
    ... )
    >>> count_tokens("anthropic.claude-sonnet-5", request).body
    b'{"input":{"converse":{"messages":[{"role":"user","content":[{"text":"Hi"}]}]}}}'

    Not every model counts, and no inference profile with a region before its name does. Errors are
    those of `converse`.
    """
    path, host_rules, noted = _path(model, "count-tokens"), None, notes(request)
    if isinstance(request, ConverseRequest):
        request = narrowed(request, ConverseTokensRequest)
    if isinstance(request, ConverseTokensRequest):
        host_rules = _body(model, request, True)[1]
        request = CountTokensRequest(input=CountTokensInput(converse=request))
    if not isinstance(request, CountTokensRequest):
        raise wrong_type("request", request, "CountTokensRequest or ConverseRequest")
    body, _ = checked_body(request)
    return _plain(CountTokensResponse, path, body, host_rules=host_rules, notes=noted)


_ANSWERS: dict[type[Any], type[Any]] = {
    TitanEmbedRequest: TitanEmbedResponse,
    CohereEmbedRequest: CohereEmbedResponse,
    NovaEmbedRequest: NovaEmbedResponse,
}


@checked_arguments()
def embed(model: str, request: EmbedBody) -> Call[Any]:
    """Build a call that returns vectors of texts, by InvokeModel.

    The request is that of the vendor of the model, and so is the answer.

    >>> request = TitanEmbedRequest(input_text="Hi", dimensions=256)
    >>> embed("amazon.titan-embed-text-v2:0", request).path
    '/model/amazon.titan-embed-text-v2:0/invoke'
    """
    answer = _ANSWERS.get(type(request))
    if answer is None:
        expected = "TitanEmbedRequest, CohereEmbedRequest or NovaEmbedRequest"
        raise wrong_type("request", request, expected)
    body, _ = checked_body(request)
    return _plain(answer, _path(model, "invoke"), body)


@checked_arguments()
def list_models(
    *,
    by_provider: str | None = None,
    by_output_modality: str | None = None,
    by_inference_type: str | None = None,
    by_customization_type: str | None = None,
) -> Call[FoundationModels]:
    """Build a call that lists the models of a region, all in one page.

    >>> list_models(by_provider="Anthropic").target
    '/foundation-models?byProvider=Anthropic'

    A client of `bedrock@models` sends it: Bedrock lists models at a host of their own.
    """
    query = {
        "byProvider": by_provider,
        "byOutputModality": by_output_modality,
        "byInferenceType": by_inference_type,
        "byCustomizationType": by_customization_type,
    }
    return _list(FoundationModels, "/foundation-models", query)


@checked_arguments()
def list_inference_profiles(
    *, next_token: str | None = None, max_results: int | None = None, type: str | None = None
) -> Call[InferenceProfiles]:
    """Build a call that lists a page of the inference profiles of a region.

    `type` is `SYSTEM_DEFINED` or `APPLICATION`. A client of `bedrock@models` sends it.
    """
    size = None if max_results is None else str(max_results)
    query = {"nextToken": next_token, "maxResults": size, "typeEquals": type}
    return _list(InferenceProfiles, "/inference-profiles", query)


def _list(kind: type[W], path: str, query: Mapping[str, str | None]) -> Call[W]:
    given = {name: value for name, value in query.items() if value is not None}
    parse = functools.partial(parse_plain, kind)
    return Call(
        WIRE, "GET", path, query=given, parse=parse, read_error=parse_error, host_rules=_listed
    )


def _listed(call: AnyCall, provider: Provider) -> AnyCall:
    if provider.dialect.vendor_rules and not provider.dialect.lists_models:
        words = "Bedrock lists models at another host: bedrock@models"
        raise ConfigurationError(f"call: {words}", provider=provider.name)
    return call


# --- parts of a call ------------------------------------------------------------------------------


def _path(model: str, endpoint: str) -> str:
    return f"/model/{model_segment(model, _EXAMPLE)}/{endpoint}"


def _plain(kind: type[W], path: str, body: bytes, **more: Any) -> Call[W]:
    """Build a call whose response is one struct."""
    parse = functools.partial(parse_plain, kind)
    return Call(
        WIRE, "POST", path, body, headers=_JSON, parse=parse, read_error=parse_error, **more
    )


def _body(
    model: str, request: ConverseRequest | ConverseTokensRequest, checked: bool
) -> tuple[bytes, HostRules | None]:
    """Encode the request, and return the hook that checks it against the host before it is sent."""
    if not isinstance(request, (ConverseRequest, ConverseTokensRequest)):
        raise wrong_type("request", request, "ConverseRequest")
    body, encoded = checked_body(request, "messages", _needs_no_check)
    if not checked:
        return body, None
    content = Body(encoded)
    refuse(check_body(content, model, ""))
    return body, functools.partial(_judged, content, model)


def _judged(body: Body, model: str, call: AnyCall, provider: Provider) -> AnyCall:
    if provider.dialect.lists_models:
        words = f"{provider.name} lists models, and answers nothing else; take bedrock"
        raise ConfigurationError(f"call: {words}", provider=provider.name)
    refuse(check_body(body, model, provider))
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
    return isinstance(content, list) and False not in map(_is_received_or_text, content)


def _is_received_or_text(block: object) -> bool:
    return type(block) is ContentBlock and (raw_of(block) is not None or _has_texts_only(block))


def _has_texts_only(block: ContentBlock) -> bool:
    values = msgspec.structs.astuple(block)
    return type(block.text) is str and values.count(None) == len(values) - 1
