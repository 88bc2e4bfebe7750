"""Vectors of texts: made of their words, so that texts that share words lie near each other; the
same ones every time.
"""

from __future__ import annotations

import base64
import hashlib
import math
import re
import struct

import msgspec

from wire.core.decoders import decoder
from wire.gemini.types import BatchEmbedContentsRequest, EmbedContentRequest
from wire.openai.chat.types import EmbeddingRequest
from wire.testing.emulator.answer import Answer, whole
from wire.testing.emulator.catalog import Traits
from wire.testing.emulator.chat import chat_refusal
from wire.testing.emulator.received import Received
from wire.testing.emulator.refusals import refusal, rule, typed
from wire.testing.emulator.tokens import count

MOST = 100
"""Requests in one batch (G71)."""


def embedded(request: Received, model: Traits) -> Answer:
    """`embedContent`: one vector, whatever the number of texts (G77)."""
    asked = typed(request.body, EmbedContentRequest)
    text = _text(asked, "EmbedContentRequest")
    return whole(
        {
            "embedding": {"values": vector(text, _size(asked, model))},
            "usageMetadata": {"promptTokenCount": count(text)},
        }
    )


def embedded_batch(request: Received, model: Traits, *, lenient: bool) -> Answer:
    """`batchEmbedContents`: a vector for each request, in their order."""
    requests = typed(request.body, BatchEmbedContentsRequest).requests or []
    if not requests:
        raise refusal(400, "* BatchEmbedContentsRequest.requests: requests is not specified\n")
    if len(requests) > MOST and not lenient:
        raise rule("G71")
    for index, each in enumerate(requests):
        if not lenient and (each.model or "").removeprefix("models/") != model.name:
            path = f"BatchEmbedContentsRequest.requests[{index}].model"
            raise refusal(
                400,
                f"* {path}: the model of a request must be the model of the batch: "
                f"models/{model.name}\n",
            )
    texts = [
        _text(each, f"BatchEmbedContentsRequest.requests[{index}]")
        for index, each in enumerate(requests)
    ]
    made = [
        {"values": vector(text, _size(each, model))}
        for text, each in zip(texts, requests, strict=True)
    ]
    return whole(
        {"embeddings": made, "usageMetadata": {"promptTokenCount": sum(map(count, texts))}}
    )


def vector(text: str, size: int) -> list[float]:
    """The vector of a text, of length 1.

    >>> vector("a", 4) == vector("a", 4) != vector("b", 4)
    True
    """
    values = [0.0] * size
    for word in re.findall(r"\w+|[^\w\s]", text.lower()) or [""]:
        digest = hashlib.sha256(word.encode()).digest()
        for at in range(0, 32, 4):
            number = int.from_bytes(digest[at : at + 4], "big")
            values[number % size] += 1.0 if number & 1 << 31 else -1.0
    length = math.sqrt(sum(each * each for each in values)) or 1.0
    return [round(each / length, 8) for each in values]


def embedded_openai(request: Received) -> Answer:
    """OpenAI's embeddings: a vector for each text of `input`, in base64 if that is asked for."""
    try:
        asked: EmbeddingRequest = decoder(EmbeddingRequest).decode(request.body)
    except (msgspec.DecodeError, UnicodeDecodeError) as cause:
        raise chat_refusal(400, f"Invalid type: {cause}") from None
    texts = [asked.input] if isinstance(asked.input, str) else asked.input
    if not texts:
        raise chat_refusal(
            400, "Invalid 'input': a text or a list of texts is wanted.", param="input"
        )
    vectors = [vector(str(text), max(1, min(asked.dimensions or 1536, 3072))) for text in texts]
    packs = asked.encoding_format == "base64"
    data = [
        {"object": "embedding", "index": index, "embedding": packed(each) if packs else each}
        for index, each in enumerate(vectors)
    ]
    spent = sum(count(str(text)) for text in texts)
    usage = {"prompt_tokens": spent, "total_tokens": spent}
    return whole(
        {"object": "list", "data": data, "model": asked.model, "usage": usage},
        kind="application/json",
    )


def packed(values: list[float]) -> str:
    """A vector as OpenAI's clients ask for it: base64 of 32-bit floats."""
    return base64.b64encode(struct.pack(f"<{len(values)}f", *values)).decode()


def _text(asked: EmbedContentRequest, where: str) -> str:
    parts = asked.content.parts if asked.content is not None else None
    if not parts:
        raise refusal(400, f"* {where}.content: contents is not specified\n")
    return "\n".join(part.text if part.text is not None else repr(part) for part in parts)


def _size(asked: EmbedContentRequest, model: Traits) -> int:
    most = 3072 if model.name.startswith("gemini-") else 768
    config = asked.embed_content_config
    wanted = (
        (config.output_dimensionality if config is not None else None)
        or asked.output_dimensionality
        or most
    )
    if not 1 <= wanted <= most:
        raise refusal(400, f"Invalid output dimensionality: {wanted}, allowed is 1 to {most}.")
    return wanted
