"""Embeddings and models as calls: each function returns what to send and how to read the response.

Paths are relative to a base URL that ends in the version, which the client knows. Source of paths
and bodies: OpenAI's API reference 2.3.0, 2026-08-21.
"""

from __future__ import annotations

import functools

from wire.core.bodies import checked_body, wrong_type
from wire.core.call import Call
from wire.errors import ConfigurationError
from wire.openai.common.error_body import parse_error
from wire.openai.common.reader import parse_plain
from wire.openai.common.types.embeddings import EmbeddingList, EmbeddingRequest
from wire.openai.common.types.models import DeletedModel, Model, ModelList

JSON = {"content-type": "application/json"}
"""Headers of a request with a JSON body."""


def embeddings(request: EmbeddingRequest) -> Call[EmbeddingList]:
    """Texts, or lists of token ids, as vectors.

    >>> embeddings(EmbeddingRequest(model="text-embedding-3-small", input=["a", "b"])).body
    b'{"model":"text-embedding-3-small","input":["a","b"]}'

    Raises `RuleError` for what JSON cannot say.
    """
    if not isinstance(request, EmbeddingRequest):
        raise wrong_type("request", request, "EmbeddingRequest")
    body, _ = checked_body(request)
    parse = functools.partial(parse_plain, EmbeddingList)
    return Call(
        "openai", "POST", "/embeddings", body, headers=JSON, parse=parse, read_error=parse_error
    )


def list_models() -> Call[ModelList]:
    """The models that the key may use."""
    return Call(
        "openai",
        "GET",
        "/models",
        parse=functools.partial(parse_plain, ModelList),
        read_error=parse_error,
    )


def get_model(model: str) -> Call[Model]:
    """What the host says of one model. Raises `ConfigurationError` for an empty name."""
    return Call(
        "openai",
        "GET",
        f"/models/{_named(model)}",
        parse=functools.partial(parse_plain, Model),
        read_error=parse_error,
    )


def delete_model(model: str) -> Call[DeletedModel]:
    """Delete a model of your own. Raises `ConfigurationError` for an empty name."""
    return Call(
        "openai",
        "DELETE",
        f"/models/{_named(model)}",
        parse=functools.partial(parse_plain, DeletedModel),
        read_error=parse_error,
    )


def _named(model: str) -> str:
    if not isinstance(model, str) or not model.strip("/. "):
        raise ConfigurationError("model: a name is wanted, such as gpt-5.4")
    if any(step in ("", ".", "..") for step in model.split("/")):
        raise ConfigurationError(f"model: {model!r} is no model name")
    return model
