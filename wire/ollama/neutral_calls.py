"""Embeddings and the list of models as neutral calls."""

from __future__ import annotations

from collections.abc import Iterator

from wire.catalogue.usage import Usage
from wire.core.arguments import checked_arguments
from wire.core.call import Call
from wire.core.errors import ConfigurationError
from wire.core.flow import Flow
from wire.core.memory import Note
from wire.core.provider import Provider
from wire.neutral.conversion import converted
from wire.neutral.decisions import DecideRequest, Decisions
from wire.neutral.embeddings import (
    Embeddings,
    EmbedRequest,
    batches,
    embedded,
    embeddings_call,
)
from wire.neutral.models import ListedModel, ModelPage, moment
from wire.neutral.request import Request, TokenCount
from wire.ollama.endpoints import embed, list_models
from wire.ollama.types import EmbedRequest as WireEmbedRequest
from wire.ollama.types import EmbedResponse, TagsResponse

_MOST_TEXTS = 512
"""Texts of one request. The server has no limit; a request of this size stays short."""


@checked_arguments()
def count_call(
    request: Request, model: str, provider: Provider | str = "ollama"
) -> Call[TokenCount] | None:
    """Return `None`: the API has no endpoint that counts tokens."""
    return None


@checked_arguments()
def decide_call(
    request: DecideRequest, model: str, provider: Provider | str = "ollama"
) -> Call[Decisions] | None:
    """Return `None`: the API has no decisions."""
    return None


@checked_arguments(ConfigurationError, before=True)
def models_call(cursor: str = "", provider: Provider | str = "ollama") -> Call[ModelPage]:
    """Return the call for the models, which are one page."""
    return converted(list_models(), _page)


def _page(page: TagsResponse) -> ModelPage:
    models = (
        ListedModel(
            id=each.model or each.name or "",
            name=each.name or "",
            created=moment(each.modified_at),
            context_window=each.details.context_length if each.details is not None else None,
            source=each,
        )
        for each in page.models or ()
    )
    return ModelPage(tuple(models))


@checked_arguments(ConfigurationError, before=True)
def embed_flow(
    request: EmbedRequest, model: str, provider: Provider | str = "ollama"
) -> Flow[Embeddings]:
    """Return the flow that embeds all texts. A text that is too long is refused, not cut."""
    notes = []
    if request.task is not None:
        notes.append(Note("task", "not sent: the API has no field for it"))
    return embedded(_calls(request, model), notes)


def _calls(request: EmbedRequest, model: str) -> Iterator[Call[Embeddings]]:
    for batch in batches(request.texts, _MOST_TEXTS):
        body = WireEmbedRequest(model=model, input=list(batch), dimensions=request.dimensions)
        yield embeddings_call(embed(body), len(batch), _converted)


def _converted(response: EmbedResponse) -> Embeddings:
    tokens = response.prompt_eval_count
    usage = None if tokens is None else Usage(input=tokens, total=tokens)
    return Embeddings(tuple(response.embeddings or ()), response.model or "", usage)
