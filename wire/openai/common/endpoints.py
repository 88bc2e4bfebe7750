"""Endpoints of embeddings and models as calls. A call is a value: it holds the request and the
function that parses the response; a client sends it.

Paths are relative to a base URL that ends in the version. Source of paths and bodies: OpenAI's API
reference 2.3.0, 2026-08-21.
"""

from __future__ import annotations

import functools
from typing import Any, TypeVar

from wire.core.arguments import checked_arguments, whole_number
from wire.core.bodies import checked_body, wrong_type
from wire.core.call import Call
from wire.core.errors import ConfigurationError
from wire.core.memory import WireStruct
from wire.core.path_segment import path_segment
from wire.core.secret import quoted
from wire.openai.common.error_body import parse_error
from wire.openai.common.reader import parse_plain
from wire.openai.common.types.embeddings import EmbeddingList, EmbeddingRequest
from wire.openai.common.types.models import DeletedModel, Model, ModelList

W = TypeVar("W", bound=WireStruct)

JSON = {"content-type": "application/json"}
"""Headers of a request with a JSON body."""


@checked_arguments()
def embeddings(request: EmbeddingRequest) -> Call[EmbeddingList]:
    """Build a call that returns the vectors of texts, or of lists of token ids.

    >>> embeddings(EmbeddingRequest(model="text-embedding-3-small", input=["a", "b"])).body
    b'{"model":"text-embedding-3-small","input":["a","b"]}'

    Raises `RuleError` for a value that JSON cannot encode.
    """
    if not isinstance(request, EmbeddingRequest):
        raise wrong_type("request", request, "EmbeddingRequest")
    body, _ = checked_body(request)
    return plain(EmbeddingList, "POST", "/embeddings", body, headers=JSON)


def list_models() -> Call[ModelList]:
    """Build a call that returns the models that the key has access to.

    >>> list_models().path
    '/models'
    """
    return plain(ModelList, "GET", "/models")


@checked_arguments()
def get_model(model: str) -> Call[Model]:
    """Build a call that returns the metadata of one model.

    >>> get_model("gpt-5.4").path
    '/models/gpt-5.4'

    Raises `ConfigurationError` for an empty or malformed name.
    """
    return plain(Model, "GET", _model_path(model))


@checked_arguments()
def delete_model(model: str) -> Call[DeletedModel]:
    """Build a call that deletes a fine-tuned model of the account.

    >>> delete_model("ft:gpt-5.4:my-org").method
    'DELETE'

    Raises `ConfigurationError` for an empty or malformed name.
    """
    return plain(DeletedModel, "DELETE", _model_path(model))


def _model_path(model: str) -> str:
    return f"/models/{path_segment('model', model, 'gpt-5.4', parts=True)}"


def plain(kind: type[W], method: str, path: str, body: bytes = b"", **more: Any) -> Call[W]:
    """Build a call whose response is one struct."""
    parse = functools.partial(parse_plain, kind)
    return Call("openai", method, path, body, parse=parse, read_error=parse_error, **more)


def page(
    limit: int | None, order: str | None, after: str | None, **more: str | None
) -> dict[str, str]:
    """Return the query parameters of a list; omits those that are `None`."""
    if limit is not None:
        whole_number("limit", limit, least=1, error=ConfigurationError)
    if order is not None and order not in ("asc", "desc"):
        raise ConfigurationError(f"order: expected asc or desc, not {quoted(order)}")
    if after is not None and (not isinstance(after, str) or not after):
        raise ConfigurationError(f"after: expected an id such as msg_1, not {quoted(after)}")
    query = {"limit": None if limit is None else str(limit), "order": order, "after": after, **more}
    return {name: value for name, value in query.items() if value is not None}
