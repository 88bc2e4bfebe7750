"""Endpoints of embeddings and models as calls. A call is a value: it holds the request and the
function that parses the response; a client sends it.

Paths are relative to a base URL that ends in the version. Source of paths and bodies: OpenAI's API
reference 2.3.0, 2026-08-21.
"""

from __future__ import annotations

import functools

from wire.core.arguments import checked_arguments
from wire.core.bodies import checked_body, wrong_type
from wire.core.call import Call
from wire.core.secret import quoted
from wire.errors import ConfigurationError
from wire.openai.common.error_body import parse_error
from wire.openai.common.reader import parse_plain
from wire.openai.common.types.embeddings import EmbeddingList, EmbeddingRequest
from wire.openai.common.types.models import DeletedModel, Model, ModelList

JSON = {"content-type": "application/json"}
"""Headers of a request with a JSON body."""


@checked_arguments()
def embeddings(request: EmbeddingRequest) -> Call[EmbeddingList]:
    """A call that returns the vectors of texts, or of lists of token ids.

    >>> embeddings(EmbeddingRequest(model="text-embedding-3-small", input=["a", "b"])).body
    b'{"model":"text-embedding-3-small","input":["a","b"]}'

    Raises `RuleError` for a value that JSON cannot encode.
    """
    if not isinstance(request, EmbeddingRequest):
        raise wrong_type("request", request, "EmbeddingRequest")
    body, _ = checked_body(request)
    parse = functools.partial(parse_plain, EmbeddingList)
    return Call(
        "openai", "POST", "/embeddings", body, headers=JSON, parse=parse, read_error=parse_error
    )


def list_models() -> Call[ModelList]:
    """A call that returns the models that the key has access to.

    >>> list_models().path
    '/models'
    """
    return Call(
        "openai",
        "GET",
        "/models",
        parse=functools.partial(parse_plain, ModelList),
        read_error=parse_error,
    )


@checked_arguments()
def get_model(model: str) -> Call[Model]:
    """A call that returns the metadata of one model.

    >>> get_model("gpt-5.4").path
    '/models/gpt-5.4'

    Raises `ConfigurationError` for an empty or malformed name.
    """
    return Call(
        "openai",
        "GET",
        f"/models/{_checked_name(model)}",
        parse=functools.partial(parse_plain, Model),
        read_error=parse_error,
    )


@checked_arguments()
def delete_model(model: str) -> Call[DeletedModel]:
    """A call that deletes a fine-tuned model of the account.

    >>> delete_model("ft:gpt-5.4:my-org").method
    'DELETE'

    Raises `ConfigurationError` for an empty or malformed name.
    """
    return Call(
        "openai",
        "DELETE",
        f"/models/{_checked_name(model)}",
        parse=functools.partial(parse_plain, DeletedModel),
        read_error=parse_error,
    )


def _checked_name(model: str) -> str:
    if not isinstance(model, str) or not model.strip("/. "):
        raise ConfigurationError("model: expected a name such as gpt-5.4")
    if any(step in ("", ".", "..") for step in model.split("/")):
        raise ConfigurationError(f"model: {quoted(model)} is not a model name")
    return model
