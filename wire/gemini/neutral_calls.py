"""Counting, embeddings and the list of models as neutral calls."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import UNSET, Struct, ValidationError

from wire.catalogue.usage import Usage
from wire.core.arguments import checked_arguments
from wire.core.call import Call
from wire.core.decoders import convert
from wire.core.errors import ConfigurationError, StreamInvalid
from wire.core.flow import Flow
from wire.core.memory import Note
from wire.core.provider import Provider
from wire.gemini.embeddings import MAX_BATCH_REQUESTS, batch_embed_contents, embed_content
from wire.gemini.endpoints import count_tokens, list_models
from wire.gemini.prediction import predict
from wire.gemini.rendering import render_request
from wire.gemini.rows import provider_row
from wire.gemini.types import (
    BatchEmbedContentsResponse,
    Content,
    CountTokensResponse,
    EmbedContentConfig,
    EmbedContentRequest,
    EmbedContentResponse,
    ListModelsResponse,
    Part,
    PredictRequest,
    PredictResponse,
)
from wire.neutral.conversion import converted
from wire.neutral.embeddings import (
    Embeddings,
    EmbedRequest,
    batches,
    embedded,
    embeddings_call,
)
from wire.neutral.models import ListedModel, ModelPage
from wire.neutral.request import Request, TokenCount

TASK_TYPES = {
    "query": "RETRIEVAL_QUERY",
    "document": "RETRIEVAL_DOCUMENT",
    "similarity": "SEMANTIC_SIMILARITY",
    "classification": "CLASSIFICATION",
    "clustering": "CLUSTERING",
    "question": "QUESTION_ANSWERING",
    "fact": "FACT_VERIFICATION",
    "code": "CODE_RETRIEVAL_QUERY",
}
_PREFIXES = {
    "query": "task: search result | query: ",
    "document": "title: none | text: ",
    "similarity": "task: sentence similarity | query: ",
    "classification": "task: classification | query: ",
    "clustering": "task: clustering | query: ",
    "question": "task: question answering | query: ",
    "fact": "task: fact checking | query: ",
    "code": "task: code retrieval | query: ",
}
"""The prefix by which gemini-embedding-2 knows a task. It ignores `taskType`. Source: Gemini's
guide to embeddings, June 2026; that each `taskType` gives the same vector is reported in
embeddings-benchmark/mteb#4851.
"""

_READS_PREFIXES = "gemini-embedding-2"
_ONE_INSTANCE = "gemini-embedding"
_MAX_INSTANCES = 5
"""Texts of one predict on Vertex; models of `_ONE_INSTANCE` take one. Source: Vertex's reference of
text embeddings.
"""


@checked_arguments()
def count_call(
    request: Request, model: str, provider: Provider | str = "gemini"
) -> Call[TokenCount] | None:
    """Return the call of countTokens for a neutral request. Raises as `render_request`."""
    return converted(count_tokens(model, render_request(request, model, provider)), _count)


def _count(response: CountTokensResponse) -> TokenCount:
    if response.total_tokens is None:
        raise StreamInvalid("the response has no totalTokens")
    return TokenCount(response.total_tokens, exact=True, source="countTokens")


@checked_arguments()
def models_call(cursor: str = "", provider: Provider | str = "gemini") -> Call[ModelPage]:
    """Return the call for one page of the models.

    Vertex has no such list: the client refuses the call.
    """
    return converted(list_models(page_token=cursor or None), _page)


def _page(page: ListModelsResponse) -> ModelPage:
    models = (
        ListedModel(
            id=(each.name or "").removeprefix("models/"),
            name=each.display_name or "",
            context_window=each.input_token_limit,
            longest_output=each.output_token_limit,
            source=each,
        )
        for each in page.models or ()
    )
    return ModelPage(tuple(models), page.next_page_token or "")


# --- embeddings -----------------------------------------------------------------------------------


@checked_arguments(ConfigurationError, before=True)
def embed_flow(
    request: EmbedRequest, model: str, provider: Provider | str = "gemini"
) -> Flow[Embeddings]:
    """Return the flow that embeds all texts: with batchEmbedContents; on Vertex with predict, or
    with embedContent for gemini-embedding-2, which takes one text there.
    """
    on_vertex = provider_row(provider).dialect.api == "vertex"
    if not model.rpartition("/")[2].startswith(_READS_PREFIXES):
        made = _predict_calls if on_vertex else _batch_calls
        return embedded(made(request, model))
    made = _single_calls if on_vertex else _batch_calls
    if request.task is None:
        return embedded(made(request, model))
    prefix = _PREFIXES[request.task]
    texts = tuple(prefix + text for text in request.texts)
    note = Note("task", f"{model} reads the task in the text: {prefix!r} precedes each text")
    return embedded(made(EmbedRequest(texts, request.dimensions), model), (note,))


def _batch_calls(request: EmbedRequest, model: str) -> Iterator[Call[Embeddings]]:
    for batch in batches(request.texts, MAX_BATCH_REQUESTS):
        call = batch_embed_contents(model, [_embed_request(text, request, model) for text in batch])
        yield embeddings_call(call, len(batch), _of_batch)


def _single_calls(request: EmbedRequest, model: str) -> Iterator[Call[Embeddings]]:
    for text in request.texts:
        call = embed_content(model, _embed_request(text, request, model))
        yield embeddings_call(call, 1, _of_one)


def _embed_request(text: str, request: EmbedRequest, model: str) -> EmbedContentRequest:
    content = Content(parts=[Part(text=text)])
    size = request.dimensions
    if model.rpartition("/")[2].startswith(_READS_PREFIXES):
        config = None if size is None else EmbedContentConfig(output_dimensionality=size)
        return EmbedContentRequest(content=content, embed_content_config=config)
    # The config is newer than these models; recorded requests have the fields themselves.
    task_type = None if request.task is None else TASK_TYPES[request.task]
    return EmbedContentRequest(content=content, task_type=task_type, output_dimensionality=size)


def _of_batch(response: BatchEmbedContentsResponse) -> Embeddings:
    vectors = tuple(each.values or [] for each in response.embeddings or ())
    return Embeddings(vectors, usage=_usage(response))


def _of_one(response: EmbedContentResponse) -> Embeddings:
    values = None if response.embedding is None else response.embedding.values
    return Embeddings((values or [],), usage=_usage(response))


def _usage(response: BatchEmbedContentsResponse | EmbedContentResponse) -> Usage | None:
    counts = response.usage_metadata
    tokens = None if counts is None else counts.prompt_token_count or counts.total_token_count
    return None if tokens is None else Usage(input=tokens, total=tokens)


def _predict_calls(request: EmbedRequest, model: str) -> Iterator[Call[Embeddings]]:
    most = 1 if model.startswith(_ONE_INSTANCE) else _MAX_INSTANCES
    task = {} if request.task is None else {"task_type": TASK_TYPES[request.task]}
    size = UNSET if request.dimensions is None else {"outputDimensionality": request.dimensions}
    for batch in batches(request.texts, most):
        instances: list[Any] = [{"content": text, **task} for text in batch]
        call = predict(model, PredictRequest(instances=instances, parameters=size))
        yield embeddings_call(call, len(batch), _of_predictions)


class _Statistics(Struct):
    token_count: float | None = None


class _Prediction(Struct):
    values: list[float]
    statistics: _Statistics | None = None


class _Predicted(Struct):
    embeddings: _Prediction


def _of_predictions(response: PredictResponse) -> Embeddings:
    try:
        found = [convert(each, _Predicted).embeddings for each in response.predictions or ()]
    except ValidationError as cause:
        raise StreamInvalid(f"a prediction has no embedding: {cause}") from None
    counts = [each.statistics.token_count for each in found if each.statistics is not None]
    tokens = int(sum(filter(None, counts)))
    usage = Usage(input=tokens, total=tokens) if None not in counts and counts else None
    return Embeddings(tuple(each.values for each in found), usage=usage)
