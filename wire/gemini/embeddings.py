"""Embeddings as calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import msgspec

from wire.core.arguments import checked_arguments
from wire.core.bodies import wrong_type
from wire.core.call import Call
from wire.core.errors import RuleError, Violation
from wire.gemini.paths import checked, not_on_vertex, plain, resource
from wire.gemini.types import (
    BatchEmbedContentsRequest,
    BatchEmbedContentsResponse,
    Content,
    EmbedContentRequest,
    EmbedContentResponse,
    Part,
)

Embeddable: TypeAlias = EmbedContentRequest | Content | str

MAX_BATCH_REQUESTS = 100
"""Maximum number of requests in one call of batchEmbedContents (G71)."""


@checked_arguments()
def embed_content(model: str, request: Embeddable) -> Call[EmbedContentResponse]:
    """Embed one Content as one vector. A text is sent as a Content with one part.

    >>> print(embed_content("gemini-embedding-001", "Hi").preview())
    POST /models/gemini-embedding-001:embedContent
    content-type: application/json
    <BLANKLINE>
    {"content":{"parts":[{"text":"Hi"}]}}
    """
    return plain(
        EmbedContentResponse,
        "POST",
        f"/{resource(model)}:embedContent",
        checked(_request(request, "request"), EmbedContentRequest),
    )


@checked_arguments()
def batch_embed_contents(
    model: str, requests: BatchEmbedContentsRequest | Sequence[Embeddable]
) -> Call[BatchEmbedContentsResponse]:
    """Embed up to 100 Contents, each as its own vector, in order. The Gemini API only.

    >>> call = batch_embed_contents("gemini-embedding-001", ["Hi"])
    >>> call.target
    '/models/gemini-embedding-001:batchEmbedContents'
    >>> print(call.body.decode())
    {"requests":[{"model":"models/gemini-embedding-001","content":{"parts":[{"text":"Hi"}]}}]}

    The model is also written into each request, which the server requires.
    """
    name = resource(model)
    given = (
        requests
        if isinstance(requests, BatchEmbedContentsRequest)
        else BatchEmbedContentsRequest(requests=_listed(requests))
    )
    items = _listed(given.requests if given.requests is not None else [])
    if len(items) > MAX_BATCH_REQUESTS:
        message = (
            f"BatchEmbedContentsRequest.requests: at most {MAX_BATCH_REQUESTS} requests can be in "
            "one batch"
        )
        raise RuleError(violations=[Violation("requests", message, "G71")])
    items = [
        msgspec.structs.replace(_request(each, f"requests[{index}]"), model=name)
        for index, each in enumerate(items)
    ]
    body = checked(msgspec.structs.replace(given, requests=items), BatchEmbedContentsRequest)
    return plain(
        BatchEmbedContentsResponse,
        "POST",
        f"/{name}:batchEmbedContents",
        body,
        host_rules=not_on_vertex,
    )


def _request(given: Embeddable, path: str) -> EmbedContentRequest:
    if isinstance(given, str):
        given = Content(parts=[Part(text=given)])
    if isinstance(given, Content):
        given = EmbedContentRequest(content=given)
    if not isinstance(given, EmbedContentRequest):
        raise wrong_type(path, given, "EmbedContentRequest, a Content or a text")
    return given


def _listed(requests: object) -> list[EmbedContentRequest]:
    if not isinstance(requests, (list, tuple)):
        raise wrong_type("requests", requests, "list of EmbedContentRequests, Contents or texts")
    return list(requests)
