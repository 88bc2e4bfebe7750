"""Counting, embeddings, decisions and the list of models as neutral calls: those of Gemini, which
the same host and key have.
"""

from __future__ import annotations

from wire.core.arguments import checked_arguments
from wire.core.call import Call
from wire.core.errors import ConfigurationError
from wire.core.flow import Flow
from wire.core.provider import Provider
from wire.gemini import neutral_calls, neutral_decisions
from wire.gemini.interactions.rows import provider_row
from wire.neutral.decisions import DecideRequest, Decisions
from wire.neutral.embeddings import Embeddings, EmbedRequest
from wire.neutral.models import ModelPage
from wire.neutral.request import Request, TokenCount


def _row(provider: Provider | str) -> str:
    """Return the row of generateContent at the same host."""
    on_vertex = provider_row(provider).dialect.api == "vertex"
    return "gemini@vertex" if on_vertex else "gemini"


@checked_arguments()
def count_call(
    request: Request, model: str, provider: Provider | str = "gemini@interactions"
) -> Call[TokenCount] | None:
    """Return `None`: Interactions has no such endpoint, and that of Gemini counts other bodies."""
    return None


@checked_arguments(ConfigurationError, before=True)
def embed_flow(
    request: EmbedRequest, model: str, provider: Provider | str = "gemini@interactions"
) -> Flow[Embeddings]:
    """Return the flow of Gemini's embeddings."""
    return neutral_calls.embed_flow(request, model, _row(provider))


@checked_arguments()
def decide_call(
    request: DecideRequest, model: str, provider: Provider | str = "gemini@interactions"
) -> Call[Decisions] | None:
    """Return the call of Gemini's decisions."""
    return neutral_decisions.decide_call(request, model, _row(provider))


@checked_arguments(ConfigurationError, before=True)
def models_call(
    cursor: str = "", provider: Provider | str = "gemini@interactions"
) -> Call[ModelPage]:
    """Return the call of one page of Gemini's models; an empty cursor means the first one."""
    return neutral_calls.models_call(cursor, _row(provider))
