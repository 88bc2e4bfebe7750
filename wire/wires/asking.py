"""Embeddings and decisions of any provider, as flows and calls of its wire."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wire.core.errors import ConfigurationError
from wire.core.provider import Provider
from wire.core.secret import quoted
from wire.wires.contract import WIRES
from wire.wires.providers import PROVIDERS

if TYPE_CHECKING:
    from wire.core.call import Call
    from wire.core.flow import Flow
    from wire.neutral.decisions import Decisions
    from wire.neutral.embeddings import Embeddings


def embed_flow(
    texts: Any, model: Any, dimensions: int | None, task: str | None, row: Provider
) -> Flow[Embeddings]:
    """Build the flow that embeds texts."""
    from wire.neutral.embeddings import EmbedRequest

    _check(model, "gemini-embedding-001")
    request = EmbedRequest(texts, dimensions, task)
    return WIRES[row.wire].embed_flow(request, model, row)


def decide_call(input: Any, questions: Any, model: Any, row: Provider) -> Call[Decisions]:
    """Build the call that answers questions about an input.

    Raises `ConfigurationError` for a provider without such an endpoint.
    """
    from wire.neutral.decisions import DecideRequest

    _check(model, "gpt-6-luna")
    call = WIRES[row.wire].decide_call(DecideRequest(input, questions), model, row)
    if call is None:
        names = {each.name for each in PROVIDERS.values() if getattr(each.dialect, "decisions", "")}
        having = [name for name in names if name.partition("@")[0] not in names - {name}]
        raise ConfigurationError(
            f"model: {row.name} has no decisions; {', '.join(sorted(having))} have them",
            provider=row.name,
        )
    return call


def _check(model: Any, example: str) -> None:
    if not isinstance(model, str) or not model.strip():
        raise ConfigurationError(f"model: expected a name such as {example}, not {quoted(model)}")
