"""The older way to ask, and jobs by name, as calls."""

from __future__ import annotations

from collections.abc import Sequence

from wire.core.bodies import wrong_type
from wire.core.call import Call
from wire.errors import ConfigurationError
from wire.gemini.paths import checked, not_on_vertex, only_on_vertex, plain, resource
from wire.gemini.types import (
    ComputeTokensRequest,
    ComputeTokensResponse,
    Content,
    Operation,
    PredictRequest,
    PredictResponse,
)


def predict(model: str, request: PredictRequest) -> Call[PredictResponse]:
    """Images and the like; every model has its own instances and parameters."""
    return plain(
        PredictResponse, "POST", f"/{resource(model)}:predict", checked(request, PredictRequest)
    )


def predict_long_running(model: str, request: PredictRequest) -> Call[Operation]:
    """Videos: the answer is a job, which `get_operation` asks for."""
    return plain(
        Operation,
        "POST",
        f"/{resource(model)}:predictLongRunning",
        checked(request, PredictRequest),
    )


def get_operation(name: str) -> Call[Operation]:
    """How far a job is: `models/M/operations/ID`, `fileSearchStores/S/operations/ID`, `batches/ID`.

    Vertex asks in another way.
    """
    if not isinstance(name, str) or "/" not in name:
        raise ConfigurationError(f"name: the full name of a job is wanted, not {name!r}")
    return plain(Operation, "GET", f"/{resource(name)}", host_rules=not_on_vertex)


def compute_tokens(
    model: str, request: ComputeTokensRequest | Sequence[Content]
) -> Call[ComputeTokensResponse]:
    """The tokens themselves. Vertex only."""
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
