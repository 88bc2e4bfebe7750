"""OpenAI's embeddings."""

from __future__ import annotations

import base64
import struct

import msgspec

from wire.core.decoders import decoder
from wire.openai.chat.types import EmbeddingRequest
from wire.testing.emulator.answer import Answer
from wire.testing.emulator.embeddings import vector
from wire.testing.emulator.received import Received
from wire.testing.emulator.routes import Route
from wire.testing.emulator.tokens import count
from wire.testing.emulator.vendors.openai.chat import body_answer
from wire.testing.emulator.vendors.openai.errors import refusal, too_many

_DEFAULT_DIMENSIONS = 1536
_MAX_DIMENSIONS = 3072
_MAX_TEXTS = 2048


def embed(request: Received, route: Route) -> Answer:
    """Return a vector for each text of `input`, in base64 if the request wants that."""
    try:
        requested: EmbeddingRequest = decoder(EmbeddingRequest).decode(request.body)
    except (msgspec.DecodeError, UnicodeDecodeError) as cause:
        raise refusal(400, f"Invalid type: {cause}") from None
    texts = [requested.input] if isinstance(requested.input, str) else requested.input
    if not texts:
        message = "Invalid 'input': expected a string or an array of strings."
        raise refusal(400, message, param="input")
    if len(texts) > _MAX_TEXTS:
        raise too_many("input", _MAX_TEXTS, len(texts))
    wanted = requested.dimensions or requested.output_dimension or _DEFAULT_DIMENSIONS
    size = max(1, min(wanted, _MAX_DIMENSIONS))
    vectors = [vector(str(text), size) for text in texts]
    packs = requested.encoding_format == "base64"
    data = [
        {"object": "embedding", "index": index, "embedding": _packed(each) if packs else each}
        for index, each in enumerate(vectors)
    ]
    tokens = sum(count(str(text)) for text in texts)
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return body_answer(
        {"object": "list", "data": data, "model": requested.model, "usage": usage}, 200
    )


def _packed(values: list[float]) -> str:
    """Encode 32-bit floats as base64, as OpenAI's clients request it."""
    return base64.b64encode(struct.pack(f"<{len(values)}f", *values)).decode()
