"""Counting and the list of models as neutral calls."""

from __future__ import annotations

from wire.anthropic.endpoints import count_tokens, list_models
from wire.anthropic.rendering import render_request
from wire.anthropic.rows import provider_row
from wire.anthropic.types import ModelList
from wire.anthropic.types import TokenCount as WireTokenCount
from wire.core.arguments import checked_arguments
from wire.core.call import Call
from wire.core.errors import ConfigurationError, StreamInvalid
from wire.core.flow import Flow
from wire.core.provider import Provider
from wire.neutral.conversion import converted
from wire.neutral.decisions import DecideRequest, Decisions
from wire.neutral.embeddings import Embeddings, EmbedRequest
from wire.neutral.models import ListedModel, ModelPage, moment
from wire.neutral.request import Request, TokenCount


@checked_arguments()
def count_call(
    request: Request, model: str, provider: Provider | str = "anthropic"
) -> Call[TokenCount] | None:
    """Return the call of count_tokens for a neutral request. Raises as `render_request`."""
    return converted(count_tokens(render_request(request, model, provider)), _count)


def _count(response: WireTokenCount) -> TokenCount:
    if response.input_tokens is None:
        raise StreamInvalid("the response has no input_tokens")
    return TokenCount(response.input_tokens, exact=True, source="count_tokens")


@checked_arguments()
def models_call(cursor: str = "", provider: Provider | str = "anthropic") -> Call[ModelPage]:
    """Return the call for one page of the models."""
    return converted(list_models(after_id=cursor or None), _page)


def _page(page: ModelList) -> ModelPage:
    models = (
        ListedModel(
            id=each.id or "",
            name=each.display_name or "",
            created=moment(each.created_at),
            context_window=each.max_input_tokens,
            longest_output=each.max_tokens,
            source=each,
        )
        for each in page.data or ()
    )
    return ModelPage(tuple(models), page.last_id or "" if page.has_more else "")


@checked_arguments()
def decide_call(
    request: DecideRequest, model: str, provider: Provider | str = "anthropic"
) -> Call[Decisions] | None:
    """Return `None`: the Messages API has no decisions, at any host."""
    return None


@checked_arguments(ConfigurationError, before=True)
def embed_flow(
    request: EmbedRequest, model: str, provider: Provider | str = "anthropic"
) -> Flow[Embeddings]:
    """Raise `ConfigurationError`: the Messages API has no embeddings, at any host."""
    name = provider_row(provider).name
    own = "Anthropic" if name == "anthropic" else f"the Messages API of {name}"
    raise ConfigurationError(f"model: {own} has no embeddings; use another provider", provider=name)
