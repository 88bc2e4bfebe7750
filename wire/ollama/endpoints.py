"""Endpoints of Ollama's API as calls. A call is a value: it holds the request and the function that
parses the response; a client sends it.

Source of paths and bodies: ollama/ollama @fb30760 (August 2026), `server/routes.go`. The server
streams by default and cuts what is too long in silence. So each call says whether it streams, and
sends `truncate: false` and `shift: false` unless the request has them: the server then answers with
an error.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from wire.core.arguments import checked_arguments
from wire.core.bodies import checked_body, texts_only, unstreamed, wrong_type
from wire.core.call import Call, StreamCall
from wire.core.errors import refuse
from wire.core.memory import WireStruct, notes, raw_of
from wire.core.provider import Provider
from wire.ollama.error_body import parse_error
from wire.ollama.fold import TextChunk, fold, fold_generated, fold_progress
from wire.ollama.reader import (
    ChunkReader,
    GeneratedReader,
    ProgressReader,
    parse_answer,
    parse_generated,
    parse_plain,
    parse_progress,
)
from wire.ollama.rules import Body, check_body
from wire.ollama.types import (
    ChatRequest,
    ChatResponse,
    DeleteRequest,
    DeleteResponse,
    EmbedRequest,
    EmbedResponse,
    GenerateRequest,
    GenerateResponse,
    Message,
    Progress,
    PsResponse,
    PullRequest,
    ShowRequest,
    ShowResponse,
    TagsResponse,
    VersionResponse,
)

W = TypeVar("W", bound=WireStruct)
R = TypeVar("R", ChatRequest, GenerateRequest, EmbedRequest)
AnyCall = TypeVar("AnyCall", bound=Call[Any] | StreamCall[Any, Any])
HostRules = Callable[[Any, Provider], Any]

WIRE = "ollama"
_JSON = {"content-type": "application/json"}


@checked_arguments()
def chat(request: ChatRequest, *, checked: bool = True) -> Call[ChatResponse]:
    """Build a call that returns one complete answer.

    >>> request = ChatRequest(model="qwen3", messages=[Message(role="user", content="Hi")])
    >>> print(chat(request).preview())
    POST /api/chat
    content-type: application/json
    <BLANKLINE>
    {"model":"qwen3","messages":[{"role":"user","content":"Hi"}],"stream":false,"truncate":false,"shift":false}

    Raises `RuleError` with JSON paths for a request that every host refuses, or with a value that
    JSON cannot encode. `checked=False` skips the check of the rules.
    """
    if not isinstance(request, ChatRequest) or request.stream:
        raise unstreamed(request, ChatRequest, "stream_chat")
    body, host_rules = _body(_complete(request, stream=False), checked)
    return _call("/api/chat", body, parse_answer, host_rules, request)


@checked_arguments()
def stream_chat(
    request: ChatRequest, *, checked: bool = True
) -> StreamCall[ChatResponse, ChatResponse]:
    """Build a call that streams an answer as its lines.

    `result()` of the stream returns the complete answer, the same as `chat`.

    >>> request = ChatRequest(model="qwen3", messages=[Message(role="user", content="Hi")])
    >>> b'"stream":true' in stream_chat(request).body
    True

    Parameters and errors are those of `chat`.
    """
    if not isinstance(request, ChatRequest):
        raise wrong_type("request", request, "ChatRequest")
    body, host_rules = _body(_complete(request, stream=True), checked)
    return StreamCall(
        WIRE,
        "POST",
        "/api/chat",
        body,
        headers=_JSON,
        reader=ChunkReader,
        fold=fold,
        text_chunk=TextChunk,
        read_error=parse_error,
        host_rules=host_rules,
        notes=notes(request),
    )


@checked_arguments()
def generate(request: GenerateRequest, *, checked: bool = True) -> Call[GenerateResponse]:
    """Build a call that returns the continuation of a text, or the text before `suffix`.

    >>> request = GenerateRequest(model="qwen3-coder", prompt="def add(", suffix="return a + b")
    >>> generate(request).path
    '/api/generate'

    Errors are those of `chat`.
    """
    if not isinstance(request, GenerateRequest) or request.stream:
        raise unstreamed(request, GenerateRequest, "stream_generate")
    body, host_rules = _body(_complete(request, stream=False), checked)
    return _call("/api/generate", body, parse_generated, host_rules, request)


@checked_arguments()
def stream_generate(
    request: GenerateRequest, *, checked: bool = True
) -> StreamCall[GenerateResponse, GenerateResponse]:
    """Build a call that streams the continuation of a text as its lines. As `generate`.

    >>> request = GenerateRequest(model="qwen3", prompt="Once upon")
    >>> b'"stream":true' in stream_generate(request).body
    True
    """
    if not isinstance(request, GenerateRequest):
        raise wrong_type("request", request, "GenerateRequest")
    body, host_rules = _body(_complete(request, stream=True), checked)
    return StreamCall(
        WIRE,
        "POST",
        "/api/generate",
        body,
        headers=_JSON,
        reader=GeneratedReader,
        fold=fold_generated,
        read_error=parse_error,
        host_rules=host_rules,
        notes=notes(request),
    )


@checked_arguments()
def embed(request: EmbedRequest, *, checked: bool = True) -> Call[EmbedResponse]:
    """Build a call that returns vectors of texts.

    >>> embed(EmbedRequest(model="nomic-embed-text", input="Hi")).body
    b'{"model":"nomic-embed-text","input":"Hi","truncate":false}'

    Errors are those of `chat`.
    """
    if not isinstance(request, EmbedRequest):
        raise wrong_type("request", request, "EmbedRequest")
    body, host_rules = _body(_complete(request), checked)
    parse = functools.partial(parse_plain, EmbedResponse)
    return _call("/api/embed", body, parse, host_rules, request)


@checked_arguments()
def list_models() -> Call[TagsResponse]:
    """Build a call that returns the models of the server, on one page.

    >>> list_models().path
    '/api/tags'
    """
    return _get(TagsResponse, "/api/tags")


@checked_arguments()
def list_running() -> Call[PsResponse]:
    """Build a call that returns the models that are loaded.

    >>> list_running().path
    '/api/ps'
    """
    return _get(PsResponse, "/api/ps")


@checked_arguments()
def version() -> Call[VersionResponse]:
    """Build a call that returns the version of the server.

    >>> version().path
    '/api/version'
    """
    return _get(VersionResponse, "/api/version")


@checked_arguments()
def show_model(request: ShowRequest) -> Call[ShowResponse]:
    """Build a call that returns what is known of a model. `model_facts` reads it for `check`.

    >>> show_model(ShowRequest(model="qwen3")).body
    b'{"model":"qwen3"}'
    """
    return _plain(ShowResponse, "POST", "/api/show", request, ShowRequest)


@checked_arguments()
def pull_model(request: PullRequest) -> Call[Progress]:
    """Build a call that downloads a model, and returns when it is there.

    >>> pull_model(PullRequest(model="qwen3")).body
    b'{"model":"qwen3","stream":false}'
    """
    if not isinstance(request, PullRequest) or request.stream:
        raise unstreamed(request, PullRequest, "stream_pull")
    body, _ = checked_body(msgspec.structs.replace(request, stream=False))
    return _call("/api/pull", body, parse_progress, None, request)


@checked_arguments()
def stream_pull(request: PullRequest) -> StreamCall[Progress, Progress]:
    """Build a call that downloads a model, and streams how far it is.

    >>> stream_pull(PullRequest(model="qwen3")).body
    b'{"model":"qwen3","stream":true}'
    """
    if not isinstance(request, PullRequest):
        raise wrong_type("request", request, "PullRequest")
    body, _ = checked_body(msgspec.structs.replace(request, stream=True))
    return StreamCall(
        WIRE,
        "POST",
        "/api/pull",
        body,
        headers=_JSON,
        reader=ProgressReader,
        fold=fold_progress,
        read_error=parse_error,
    )


@checked_arguments()
def delete_model(request: DeleteRequest) -> Call[DeleteResponse]:
    """Build a call that deletes a model.

    >>> delete_model(DeleteRequest(model="qwen3")).method
    'DELETE'
    """
    return _plain(
        DeleteResponse, "DELETE", "/api/delete", request, DeleteRequest, may_be_empty=True
    )


# --- parts of a call ------------------------------------------------------------------------------


def _complete(request: R, *, stream: bool | None = None) -> R:
    """Return the request with what the server would otherwise decide in silence."""
    changed: dict[str, Any] = {} if stream is None else {"stream": stream}
    for name in ("truncate", "shift"):
        if name in request.__struct_fields__ and getattr(request, name) is None:
            changed[name] = False
    return msgspec.structs.replace(request, **changed)


def _call(
    path: str,
    body: bytes,
    parse: Callable[[bytes], W],
    host_rules: HostRules | None,
    request: WireStruct,
) -> Call[W]:
    return Call(
        WIRE,
        "POST",
        path,
        body,
        headers=_JSON,
        parse=parse,
        read_error=parse_error,
        host_rules=host_rules,
        notes=notes(request),
    )


def _get(kind: type[W], path: str) -> Call[W]:
    parse = functools.partial(parse_plain, kind, may_be_empty=True)
    return Call(WIRE, "GET", path, parse=parse, read_error=parse_error)


def _plain(
    kind: type[W],
    method: str,
    path: str,
    request: WireStruct,
    expected: type[WireStruct],
    *,
    may_be_empty: bool = False,
) -> Call[W]:
    if not isinstance(request, expected):
        raise wrong_type("request", request, expected.__name__)
    body, _ = checked_body(request)
    parse = functools.partial(parse_plain, kind, may_be_empty=may_be_empty)
    return Call(WIRE, method, path, body, headers=_JSON, parse=parse, read_error=parse_error)


def _body(
    request: ChatRequest | GenerateRequest | EmbedRequest, checked: bool
) -> tuple[bytes, HostRules | None]:
    """Encode the request, and return the hook that checks it against the host before it is sent."""
    turns = "messages" if isinstance(request, ChatRequest) else ""
    body, encoded = checked_body(request, turns, _needs_no_check)
    if not checked:
        return body, None
    content = Body(encoded)
    refuse(check_body(content, ""))
    return body, functools.partial(_judged, content)


def _judged(body: Body, call: AnyCall, provider: Provider) -> AnyCall:
    refuse(check_body(body, provider))
    return call


_has_texts_only = texts_only(Message, "role", "content", "thinking", "tool_name", "tool_call_id")


def _needs_no_check(message: object) -> bool:
    """Return whether the message was received, or has texts only: then JSON can encode it.

    Long histories mostly consist of such messages, and walking through their values would be slow.
    """
    if type(message) is not Message:
        return False
    return raw_of(message) is not None or _has_texts_only(message)
