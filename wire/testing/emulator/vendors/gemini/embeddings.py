"""embedContent and batchEmbedContents."""

from __future__ import annotations

from wire.catalogue.facts import is_in
from wire.gemini.types import BatchEmbedContentsRequest, EmbedContentRequest
from wire.testing.emulator.answer import Answer
from wire.testing.emulator.embeddings import vector
from wire.testing.emulator.received import Received
from wire.testing.emulator.tokens import count
from wire.testing.emulator.vendors.gemini.bodies import whole
from wire.testing.emulator.vendors.gemini.catalog import Traits
from wire.testing.emulator.vendors.gemini.refusals import decoded, refusal, rule_refusal

MAX_BATCH_REQUESTS = 100
"""Requests in one batch (G71)."""


def embed(request: Received, model: Traits) -> Answer:
    """Answer embedContent: one vector, whatever the number of texts (G77)."""
    requested = decoded(request.body, EmbedContentRequest)
    text = _text(requested, "EmbedContentRequest")
    values = vector(text, _dimensions(requested, model))
    usage = {"promptTokenCount": count(text)}
    return whole({"embedding": {"values": values}, "usageMetadata": usage})


def embed_batch(request: Received, model: Traits, *, lenient: bool) -> Answer:
    """Answer batchEmbedContents: a vector for each request, in their order."""
    requests = decoded(request.body, BatchEmbedContentsRequest).requests or []
    if not requests:
        raise refusal(400, "* BatchEmbedContentsRequest.requests: requests is not specified\n")
    if len(requests) > MAX_BATCH_REQUESTS and not lenient:
        raise rule_refusal("G71")
    paths = [f"BatchEmbedContentsRequest.requests[{at}]" for at in range(len(requests))]
    pairs = list(zip(paths, requests, strict=True))
    for path, each in pairs:
        if not lenient and (each.model or "").removeprefix("models/") != model.name:
            problem = "the model of a request must be the model of the batch"
            raise refusal(400, f"* {path}.model: {problem}: models/{model.name}\n")
    texts = [_text(each, path) for path, each in pairs]
    sized = zip(texts, requests, strict=True)
    vectors = [{"values": vector(text, _dimensions(each, model))} for text, each in sized]
    usage = {"promptTokenCount": sum(map(count, texts))}
    return whole({"embeddings": vectors, "usageMetadata": usage})


def _text(request: EmbedContentRequest, path: str) -> str:
    parts = request.content.parts if request.content is not None else None
    if not parts:
        raise refusal(400, f"* {path}.content: contents is not specified\n")
    return "\n".join(part.text if part.text is not None else repr(part) for part in parts)


def _dimensions(request: EmbedContentRequest, model: Traits) -> int:
    maximum = 3072 if is_in("gemini.embeds-3072", model.name) else 768
    config = request.embed_content_config
    configured = config.output_dimensionality if config is not None else None
    size = configured or request.output_dimensionality or maximum
    if not 1 <= size <= maximum:
        raise refusal(400, f"Invalid output dimensionality: {size}, allowed is 1 to {maximum}.")
    return size
