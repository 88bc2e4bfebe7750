"""Embeddings of the gateway: a client's texts as vectors of the backend's model."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from wire.chat.chat import AsyncChat
from wire.core.errors import ConfigurationError, NotFoundError, RuleError
from wire.core.memory import Note
from wire.history import estimate_tokens
from wire.neutral.messages import Message
from wire.wires.contract import WIRES
from wire.wires.served import Embedding


async def embedded(
    body: bytes, endpoint: Embedding, backend: AsyncChat, wires: Sequence[str]
) -> tuple[bytes, list[Note]]:
    """Return the body of the response to a request for embeddings, and notes.

    A backend of one of the client's `wires` gets what has no neutral form, as the client sent it.
    Raises `NotFoundError` for a backend without embeddings.
    """
    server = endpoint.server()
    received = server.parse_embed_request(body, single=endpoint.single)
    given, row, own = received.unread, backend.row, None
    if row.wire in wires and (given.values or given.told or given.refused):
        with contextlib.suppress(ConfigurationError):  # a host of this API without the endpoint
            own = server.own_embed_call(body, backend.model, single=endpoint.single).judge(row)
    if own is not None:
        return bytes((await backend.client.send(own)).raw), []
    if received.request is None:
        raise RuleError(violations=list(given.refused))
    try:
        flow = WIRES[row.wire].embed_flow(received.request, backend.model, row)
    except ConfigurationError as error:
        words = f"The backend {backend.provider}:{backend.model} does not embed: {error.message}"
        raise NotFoundError(words, status=404) from None
    vectors = await backend.client.run(flow)
    notes = [*given.notes(), *vectors.notes]
    tokens = vectors.usage.total if vectors.usage is not None else None
    if tokens is None:
        tokens = sum(estimate_tokens(Message.user(each)) for each in received.request.texts)
        notes.append(Note("tokens", "estimated: the backend does not count them"))
    made = server.render_embeddings(vectors, received, model=backend.model, tokens=tokens)
    return made, notes
