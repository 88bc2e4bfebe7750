"""The server's side of /api/embed: the request of a client, and the response that it gets."""

from __future__ import annotations

import msgspec

from wire.core.arguments import checked_arguments
from wire.core.call import Call
from wire.core.decoders import decoder
from wire.neutral.embeddings import Embeddings, EmbedRequest, ReceivedEmbed
from wire.neutral.serving import decoded_request, encoded
from wire.neutral.unread import find_unread, keys
from wire.ollama.endpoints import embed
from wire.ollama.types import EmbedRequest as WireEmbedRequest
from wire.ollama.types import EmbedResponse

_READ = keys("model input dimensions")


@checked_arguments()
def parse_embed_request(body: bytes, *, single: bool = False) -> ReceivedEmbed:
    """Convert the body of a request for embeddings.

    >>> parse_embed_request(b'{"model":"any","input":"Hi","dimensions":2}').request
    EmbedRequest(texts=('Hi',), dimensions=2)

    The endpoint has no form for a `single` vector. Raises `RuleError` with the JSON path of a value
    of a wrong type.
    """
    sent = decoded_request(body, WireEmbedRequest)
    given = find_unread(body, _READ)
    texts = [sent.input] if isinstance(sent.input, str) else sent.input or []
    if not texts:
        given.refuse("input", "expected at least one text, and none that is empty")
    elif odd := [at for at, each in enumerate(texts) if not each]:
        given.refuse(f"input[{odd[0]}]", "expected a text that is not empty")
    if sent.dimensions is not None and sent.dimensions < 1:
        given.refuse("dimensions", f"expected a whole number from 1, not {sent.dimensions}")
    request = None if given.refused else EmbedRequest(tuple(texts), sent.dimensions)
    return ReceivedEmbed(request=request, unread=given)


def own_embed_call(body: bytes, model: str, *, single: bool = False) -> Call[EmbedResponse]:
    """Return the call of a model of the client's own API, with everything that the client sent."""
    sent = {**decoder(dict[str, msgspec.Raw]).decode(body), "model": model}
    call = embed(WireEmbedRequest(model=model, input=""))
    return msgspec.structs.replace(call, body=msgspec.json.encode(sent))


@checked_arguments()
def render_embeddings(
    answer: Embeddings, received: ReceivedEmbed, *, model: str, tokens: int
) -> bytes:
    """Write vectors as the response that the client gets."""
    counts = {"total_duration": 1, "load_duration": 1, "prompt_eval_count": tokens}
    return encoded({"model": model, "embeddings": list(answer), **counts})
