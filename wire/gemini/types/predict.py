"""The older way to ask, which images, videos and Vertex's embeddings still use, and tokens one by
one.

Seen on the wire, in no inventory: every model has its own `instances`, `parameters` and
`predictions`.
"""

from __future__ import annotations

from typing import Any

import msgspec

from wire.gemini.types.base import GeminiStruct
from wire.gemini.types.content import Content


class PredictRequest(GeminiStruct, frozen=True, kw_only=True):
    """Body of predict and predictLongRunning."""

    instances: list[Any] | None = None
    parameters: Any = msgspec.UNSET


class PredictResponse(GeminiStruct, frozen=True, kw_only=True):
    """Answer of predict."""

    predictions: list[Any] | None = None
    """In the order of the instances."""
    metadata: Any = msgspec.UNSET
    """Vertex only: what is billed."""


class ComputeTokensRequest(GeminiStruct, frozen=True, kw_only=True):
    """Body of computeTokens. Vertex only."""

    contents: list[Content] | None = None


class ComputeTokensResponse(GeminiStruct, frozen=True, kw_only=True):
    """The tokens of each Content. Vertex only."""

    tokens_info: list[TokensInfo] | None = None


class TokensInfo(GeminiStruct, frozen=True, kw_only=True):
    """The tokens of one Content. Vertex only."""

    role: str | None = None
    token_ids: list[int | str] | None = None
    """int64."""
    tokens: list[str] | None = None
    """base64 of their bytes."""
