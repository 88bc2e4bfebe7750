"""Embeddings by InvokeModel, in the form of each vendor."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wire.catalogue.facts import is_in
from wire.testing.emulator.embeddings import vector
from wire.testing.emulator.tokens import count
from wire.testing.emulator.vendors.bedrock.errors import refusal

_SIZE = 1024


def embedded(model: str, plain: Mapping[str, Any]) -> dict[str, Any]:
    """Return the vectors for a body of InvokeModel. Raises `Refusal` for another model."""
    if is_in("bedrock.titan-embeds", model):
        text = _text(plain.get("inputText"))
        size = _size(plain.get("dimensions"))
        made = vector(text, size)
        counted = {"inputTextTokenCount": count(text)}
        return {"embedding": made, "embeddingsByType": {"float": made}, **counted}
    if is_in("bedrock.cohere-embeds", model):
        texts = plain.get("texts")
        if not isinstance(texts, list) or not texts:
            raise refusal(400, "Malformed input request: #: required key [texts] not found")
        size = _size(plain.get("output_dimension"))
        vectors = [vector(_text(each), size) for each in texts]
        by_type = {"float": vectors} if plain.get("embedding_types") else vectors
        kind = "embeddings_by_type" if plain.get("embedding_types") else "embeddings_floats"
        return {"embeddings": by_type, "id": "emb_1", "response_type": kind, "texts": texts}
    if is_in("bedrock.nova-embeds", model):
        params = plain.get("singleEmbeddingParams") or {}
        text = _text((params.get("text") or {}).get("value"))
        made = vector(text, _size(params.get("embeddingDimension")))
        return {"embeddings": [{"embeddingType": "TEXT", "embedding": made}]}
    raise refusal(400, "Malformed input request, please reformat your input and try again.")


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise refusal(400, "Malformed input request: expected minLength: 1, actual: 0")
    return value


def _size(value: Any) -> int:
    return min(max(value, 1), 3072) if isinstance(value, int) else _SIZE
