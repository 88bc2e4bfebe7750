"""The older method predict, still used for images, videos and embeddings on Vertex, and
computeTokens.

No reference lists these messages. Each model has its own `instances`, `parameters` and
`predictions`.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from wire.core.facts import TRAFFIC, Facts
from wire.gemini.types.base import VERTEX, GeminiStruct
from wire.gemini.types.content import Content


class PredictRequest(GeminiStruct, frozen=True, kw_only=True):
    """Body of predict and predictLongRunning."""

    instances: list[Any] | None = None
    parameters: Any = msgspec.UNSET


class PredictResponse(GeminiStruct, frozen=True, kw_only=True):
    """Response of predict."""

    predictions: list[Any] | None = None
    """In the order of the instances."""
    metadata: Annotated[Any, Facts(hosts=VERTEX, source=TRAFFIC)] = msgspec.UNSET
    """Billing data."""


class ComputeTokensRequest(GeminiStruct, frozen=True, kw_only=True):
    """Body of computeTokens, a method that only Vertex has."""

    contents: list[Content] | None = None


class ComputeTokensResponse(GeminiStruct, frozen=True, kw_only=True):
    """The tokens of each Content."""

    tokens_info: list[TokensInfo] | None = None


class TokensInfo(GeminiStruct, frozen=True, kw_only=True):
    """The tokens of one Content."""

    role: str | None = None
    token_ids: list[int | str] | None = None
    """int64."""
    tokens: list[str] | None = None
    """Base64 of the bytes of each token."""
