"""Calls of predict and predictLongRunning (older methods), of computeTokens, and of operations."""

from __future__ import annotations

from collections.abc import Sequence

from wire.core.arguments import checked_arguments
from wire.core.bodies import wrong_type
from wire.core.call import Call
from wire.core.errors import ConfigurationError
from wire.core.secret import quoted
from wire.gemini.paths import checked, not_on_vertex, only_on_vertex, plain, resource
from wire.gemini.types import (
    ComputeTokensRequest,
    ComputeTokensResponse,
    Content,
    Operation,
    PredictRequest,
    PredictResponse,
)


@checked_arguments()
def predict(model: str, request: PredictRequest) -> Call[PredictResponse]:
    """Run a model of the older method predict, such as Imagen.

    Each model has its own instances and parameters.

    >>> request = PredictRequest(instances=[{"prompt": "A cat"}], parameters={"sampleCount": 1})
    >>> predict("imagen-4.0-generate-001", request).target
    '/models/imagen-4.0-generate-001:predict'
    """
    return plain(
        PredictResponse, "POST", f"/{resource(model)}:predict", checked(request, PredictRequest)
    )


@checked_arguments()
def predict_long_running(model: str, request: PredictRequest) -> Call[Operation]:
    """Start a long job, such as a video. Poll the returned operation with `get_operation`."""
    return plain(
        Operation,
        "POST",
        f"/{resource(model)}:predictLongRunning",
        checked(request, PredictRequest),
    )


@checked_arguments()
def get_operation(name: str) -> Call[Operation]:
    """Read a long-running operation by its full name: `models/M/operations/ID`,
    `fileSearchStores/S/operations/ID`, `batches/ID`.

    The Gemini API only.

    >>> get_operation("models/veo-3.0-generate-001/operations/abc").target
    '/models/veo-3.0-generate-001/operations/abc'

    Raises `ConfigurationError` for an id without its collection.
    """
    if not isinstance(name, str) or "/" not in name:
        raise ConfigurationError(
            f"name: expected the full name of an operation, not {quoted(name)}"
        )
    return plain(Operation, "GET", f"/{resource(name)}", host_rules=not_on_vertex)


@checked_arguments()
def compute_tokens(
    model: str, request: ComputeTokensRequest | Sequence[Content]
) -> Call[ComputeTokensResponse]:
    """Split Contents into tokens: their texts and ids. Vertex only.

    >>> call = compute_tokens("gemini-3.8-flash", [Content(parts=[{"text": "Hi"}])])
    >>> call.target
    '/models/gemini-3.8-flash:computeTokens'
    """
    if isinstance(request, (list, tuple)):
        request = ComputeTokensRequest(contents=list(request))
    if not isinstance(request, ComputeTokensRequest):
        raise wrong_type("request", request, "ComputeTokensRequest or a list of Contents")
    body = checked(request, ComputeTokensRequest)
    return plain(
        ComputeTokensResponse,
        "POST",
        f"/{resource(model)}:computeTokens",
        body,
        host_rules=only_on_vertex,
    )
