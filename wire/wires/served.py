"""Endpoints of embeddings, and the modules that read and write for their server."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

if TYPE_CHECKING:
    from wire.core.call import Call
    from wire.neutral.embeddings import Embeddings, ReceivedEmbed


class EmbeddingServer(Protocol):
    """The server's side of a wire's embeddings. A module satisfies it."""

    def parse_embed_request(self, body: bytes, *, single: bool = False) -> ReceivedEmbed:
        """Convert the body of a client's request; with `single`, for one vector in no list.

        Raises `RuleError` with the JSON path of a value of a wrong type.
        """
        ...

    def own_embed_call(self, body: bytes, model: str, *, single: bool = False) -> Call[Any]:
        """Build the call of a model of the client's own API, with everything that it sent."""
        ...

    def render_embeddings(
        self, answer: Embeddings, received: ReceivedEmbed, *, model: str, tokens: int
    ) -> bytes:
        """Write vectors as the response that the client gets."""
        ...


class Embedding(msgspec.Struct, frozen=True):
    """An endpoint that makes vectors of texts."""

    server: Callable[[], EmbeddingServer]
    single: bool = False
    """Whether its response has one vector, in no list."""


def _gemini() -> EmbeddingServer:
    from wire.gemini import served_embeddings

    return served_embeddings


def _openai() -> EmbeddingServer:
    from wire.openai.common import served_embeddings

    return served_embeddings


def _ollama() -> EmbeddingServer:
    from wire.ollama import served_embeddings

    return served_embeddings


EMBEDDING: Mapping[str, Embedding] = {
    "embedContent": Embedding(_gemini, single=True),
    "batchEmbedContents": Embedding(_gemini),
    "chat.embeddings": Embedding(_openai),
    "ollama.embed": Embedding(_ollama),
}
"""Name of an endpoint to what serves it."""
