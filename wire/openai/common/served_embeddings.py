"""The server's side of embeddings: the request of a client, and the response that it gets."""

from __future__ import annotations

import msgspec

from wire.core.arguments import checked_arguments
from wire.core.call import Call
from wire.core.decoders import decoder
from wire.neutral.embeddings import Embeddings, EmbedRequest, ReceivedEmbed, packed
from wire.neutral.serving import decoded_request, encoded
from wire.neutral.unread import find_unread, keys
from wire.openai.common.endpoints import embeddings
from wire.openai.common.types.embeddings import EmbeddingList, EmbeddingRequest

_READ = keys("model input dimensions encoding_format")
_FORMATS = (None, "float", "base64")


@checked_arguments()
def parse_embed_request(body: bytes, *, single: bool = False) -> ReceivedEmbed:
    """Convert the body of a request for embeddings.

    >>> parse_embed_request(b'{"model":"any","input":"Hi","dimensions":2}').request
    EmbedRequest(texts=('Hi',), dimensions=2)

    The endpoint has no form for a `single` vector. Raises `RuleError` with the JSON path of a value
    of a wrong type.
    """
    sent = decoded_request(body, EmbeddingRequest)
    given = find_unread(body, _READ)
    texts = [sent.input] if isinstance(sent.input, str) else sent.input
    if not sent.input:
        given.refuse("input", "expected at least one text, and none that is empty")
    elif any(isinstance(each, int | list) for each in texts):
        given.refuse("input", "only models of this API read token ids", "send texts")
    elif odd := [at for at, each in enumerate(texts) if not each or not isinstance(each, str)]:
        given.refuse(f"input[{odd[0]}]", "expected a text that is not empty")
    if sent.encoding_format not in _FORMATS:
        given.refuse("encoding_format", "expected float or base64")
    if sent.dimensions is not None and sent.dimensions < 1:
        given.refuse("dimensions", f"expected a whole number from 1, not {sent.dimensions}")
    request = None if given.refused else EmbedRequest(tuple(texts), sent.dimensions)
    return ReceivedEmbed(request=request, unread=given, packed=sent.encoding_format == "base64")


def own_embed_call(body: bytes, model: str, *, single: bool = False) -> Call[EmbeddingList]:
    """Return the call of a model of the client's own API, with everything that the client sent."""
    sent = {**decoder(dict[str, msgspec.Raw]).decode(body), "model": model}
    call = embeddings(EmbeddingRequest(model=model, input=""))
    return msgspec.structs.replace(call, body=msgspec.json.encode(sent))


@checked_arguments()
def render_embeddings(
    answer: Embeddings, received: ReceivedEmbed, *, model: str, tokens: int
) -> bytes:
    """Write vectors as the response that the client gets."""
    vectors = map(packed, answer) if received.packed else answer
    data = [
        {"object": "embedding", "index": index, "embedding": each}
        for index, each in enumerate(vectors)
    ]
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return encoded({"object": "list", "data": data, "model": model, "usage": usage})
