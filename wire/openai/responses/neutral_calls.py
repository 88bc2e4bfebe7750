"""Counting, embeddings and the list of models as neutral calls."""

from __future__ import annotations

from wire.core.arguments import checked_arguments
from wire.core.call import Call
from wire.core.errors import ConfigurationError
from wire.core.flow import Flow
from wire.core.provider import Provider
from wire.neutral.conversion import converted
from wire.neutral.embeddings import Embeddings, EmbedRequest
from wire.neutral.request import Request, TokenCount
from wire.openai.common import neutral_calls, rows
from wire.openai.responses.rendering import render_request
from wire.openai.responses.rows import provider_row
from wire.openai.responses.stored import count_input_tokens
from wire.openai.responses.types import InputTokenCount


@checked_arguments()
def count_call(
    request: Request, model: str, provider: Provider | str = "openai@responses"
) -> Call[TokenCount] | None:
    """Return the call of input_tokens for a neutral request. Raises as `render_request`."""
    return converted(count_input_tokens(render_request(request, model, provider)), _count)


def _count(response: InputTokenCount) -> TokenCount:
    return TokenCount(response.input_tokens or 0, exact=True, source="input_tokens")


@checked_arguments(ConfigurationError, before=True)
def embed_flow(
    request: EmbedRequest, model: str, provider: Provider | str = "openai@responses"
) -> Flow[Embeddings]:
    """Return the flow of the provider's chat completions, which have the same embeddings."""
    family = provider_row(provider).family
    return neutral_calls.embed_flow(request, model, rows.provider_row(family))
