"""Embeddings and the list of models as neutral calls, for chat completions and for Responses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from wire.catalogue.usage import Usage
from wire.core.arguments import checked_arguments
from wire.core.call import Call
from wire.core.errors import ConfigurationError
from wire.core.flow import Flow
from wire.core.memory import Note
from wire.core.provider import Provider
from wire.history import estimate_tokens
from wire.neutral.conversion import converted
from wire.neutral.embeddings import (
    Embeddings,
    EmbedRequest,
    batches,
    embedded,
    embeddings_call,
    unpacked,
)
from wire.neutral.messages import Message
from wire.neutral.models import ListedModel, ModelPage, moment
from wire.neutral.request import Request, TokenCount
from wire.openai.common.dialect import Dialect
from wire.openai.common.endpoints import embeddings, list_models
from wire.openai.common.rows import provider_row
from wire.openai.common.types.embeddings import EmbeddingList, EmbeddingRequest
from wire.openai.common.types.models import ModelList

_MARGIN = 2
"""A request gets at most the limit of tokens by this: the tokens of texts are estimated."""


@checked_arguments()
def count_call(
    request: Request, model: str, provider: Provider | str = "openai"
) -> Call[TokenCount] | None:
    """Return `None`: chat completions have no endpoint that counts tokens."""
    return None


@checked_arguments()
def models_call(cursor: str = "", provider: Provider | str = "openai") -> Call[ModelPage]:
    """Return the call for the models, which are one page."""
    return converted(list_models(), _page)


def _page(page: ModelList) -> ModelPage:
    models = (
        ListedModel(
            id=each.id or each.name or "",
            name=each.name or "",
            created=moment(each.created),
            source=each,
        )
        for each in page.data or ()
    )
    return ModelPage(tuple(models))


# --- embeddings -----------------------------------------------------------------------------------


@checked_arguments(ConfigurationError, before=True)
def embed_flow(
    request: EmbedRequest, model: str, provider: Provider | str = "openai"
) -> Flow[Embeddings]:
    """Return the flow that embeds all texts.

    Raises `ConfigurationError` for a host without embeddings.
    """
    row = provider_row(provider)
    dialect: Dialect = row.dialect
    if not dialect.embedded_texts:
        raise ConfigurationError(
            f"model: {row.name} has no embeddings of this API; use another provider",
            provider=row.name,
        )
    notes = []
    if request.task is not None:
        notes.append(Note("task", "not sent: embeddings of this API have no field for it"))
    return embedded(_calls(request, model, dialect), notes)


def _calls(request: EmbedRequest, model: str, dialect: Dialect) -> Iterator[Call[Embeddings]]:
    size: dict[str, Any] = {dialect.dimensions_field: request.dimensions}
    most_tokens = dialect.embedded_tokens // _MARGIN
    for batch in batches(request.texts, dialect.embedded_texts, most_tokens, _tokens):
        call = embeddings(EmbeddingRequest(model=model, input=list(batch), **size))
        yield embeddings_call(call, len(batch), _converted)


def _tokens(text: str) -> int:
    return estimate_tokens(Message.user(text))


def _converted(response: EmbeddingList) -> Embeddings:
    data = response.data or []
    if all(each.index is not None for each in data):
        data = sorted(data, key=lambda each: each.index or 0)
    vectors = (
        unpacked(each.embedding) if isinstance(each.embedding, str) else each.embedding or []
        for each in data
    )
    counts = response.usage
    tokens = None if counts is None else counts.prompt_tokens or counts.total_tokens
    usage = None if tokens is None else Usage(input=tokens, total=tokens)
    return Embeddings(tuple(vectors), response.model or "", usage)
