"""predict, predictLongRunning and computeTokens.

Every model has instances and predictions of its own: embeddings on Vertex, images, videos.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Mapping
from typing import Any

from wire.catalogue.facts import is_in
from wire.gemini.types import ComputeTokensRequest, PredictRequest
from wire.testing.emulator.answer import Answer
from wire.testing.emulator.embeddings import vector
from wire.testing.emulator.media import PIXEL
from wire.testing.emulator.received import Received
from wire.testing.emulator.routes import Route
from wire.testing.emulator.tokens import count, tokens
from wire.testing.emulator.vendors.gemini.bodies import whole
from wire.testing.emulator.vendors.gemini.catalog import Traits
from wire.testing.emulator.vendors.gemini.files import Files
from wire.testing.emulator.vendors.gemini.operations import Operations
from wire.testing.emulator.vendors.gemini.refusals import decoded, refusal
from wire.testing.emulator.vendors.gemini.uploads import made_id

_MAX_IMAGES = 4
_MAX_INSTANCES = 250
_MAX_DIMENSIONS = 3072
_MAX_COMPUTED = 100_000
"""Characters of a Content whose tokens are listed; the rest is left out."""
_TYPE = "type.googleapis.com/google.ai.generativelanguage.v1beta.PredictLongRunningResponse"


def predict(request: Received, model: Traits) -> Answer:
    """Predict a vector, or images, for each instance."""
    requested = _decoded(request)
    instances, parameters = requested.instances or [], _object(requested.parameters)
    if not model.embeds:
        number = parameters.get("sampleCount", 1)
        if not isinstance(number, int) or not 1 <= number <= _MAX_IMAGES:
            raise refusal(400, f"sampleCount must be between 1 and {_MAX_IMAGES}.")
        image = {"mimeType": "image/png", "bytesBase64Encoded": base64.b64encode(PIXEL).decode()}
        return whole({"predictions": [image] * number * len(instances)})
    usual = _MAX_DIMENSIONS if is_in("gemini.embeds-3072", model.name) else 768
    size = parameters.get("outputDimensionality") or usual
    if not isinstance(size, int) or not 1 <= size <= _MAX_DIMENSIONS:
        raise refusal(400, f"Invalid output dimensionality, allowed is 1 to {_MAX_DIMENSIONS}.")
    texts = [str(_object(each).get("content") or "") for each in instances]
    counted = [{"token_count": count(text), "truncated": False} for text in texts]
    predictions = [
        {"embeddings": {"statistics": counts, "values": vector(text, size)}}
        for text, counts in zip(texts, counted, strict=True)
    ]
    billed = {"billableCharacterCount": sum(len("".join(text.split())) for text in texts)}
    return whole({"metadata": billed, "predictions": predictions})


def predict_long_running(
    request: Received, model: Traits, operations: Operations, files: Files
) -> Answer:
    """Start a job that makes a video of each instance."""
    requested = _decoded(request)
    samples = [
        {"video": {"uri": _uri(files.generate(b"no video", "video/mp4"))}}
        for _ in requested.instances or ()
    ]
    operation = operations.add(
        f"models/{model.name}/operations/{made_id(f'{request.number} {model.name}')}",
        {"@type": _TYPE, "generateVideoResponse": {"generatedSamples": samples}},
    )
    return whole({"name": operation["name"]})


def compute_tokens(request: Received, route: Route) -> Answer:
    """Return the tokens of each Content. Vertex only."""
    infos = []
    for content in decoded(request.body, ComputeTokensRequest).contents or ():
        text = "".join(part.text or "" for part in content.parts or ())
        found = tokens(text[:_MAX_COMPUTED])
        infos.append(
            {
                "role": content.role or "user",
                "tokenIds": [str(zlib.crc32(each.encode()) % 256000) for each in found],
                "tokens": [base64.b64encode(each.encode()).decode() for each in found],
            }
        )
    return whole({"tokensInfo": infos})


def _decoded(request: Received) -> PredictRequest:
    requested = decoded(request.body, PredictRequest)
    if not requested.instances:
        raise refusal(400, "* PredictRequest.instances: instances is not specified\n")
    number = len(requested.instances)
    if number > _MAX_INSTANCES:
        message = f"{_MAX_INSTANCES} instance(s) is allowed per prediction. Actual: {number}"
        raise refusal(400, message)
    return requested


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _uri(name: str) -> str:
    return f"https://generativelanguage.googleapis.com/v1beta/{name}:download?alt=media"
