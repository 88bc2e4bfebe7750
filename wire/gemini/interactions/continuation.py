"""Follows an answer over several requests: long decode of Gemini 4.

An interaction that reaches the limit of its request ends with `requires_continuation` and a token;
the same request with the token goes on where it ended. A stored interaction is named in the place
of the input. A token may also come while a stream runs: it is of use as long as no output came
after it, since the server would repeat that.

A stream that breaks off is not asked for again if its events have ids: the server streams those
behind the last one.
"""

from __future__ import annotations

from typing import Any, TypeVar, cast

import msgspec

from wire.core.call import Call, StreamCall
from wire.core.chunk_bytes import EARLIER
from wire.core.errors import WireError
from wire.core.flow import Flow
from wire.core.lenient import fields_of
from wire.gemini.interactions.endpoints import stream_resumed
from wire.gemini.interactions.parse import parse_reply
from wire.gemini.interactions.reader import ChunkReader
from wire.gemini.interactions.types import Interaction
from wire.neutral.messages import Event, Reply

AnyCall = TypeVar("AnyCall", bound=Call[Any] | StreamCall[Any, Any])

MOST_HOPS = 64
"""Requests for one answer; no answer that fits the window needs half as many."""


def follow(call: Call[Reply], reply: Reply) -> Flow[Reply] | None:
    """Return the flow that continues a reply; `None` for one that does not go on."""
    return _followed(call, reply) if _goes_on(reply) else None


def _goes_on(reply: Reply) -> bool:
    return reply.stop.next == "continue_token" and bool(reply.stop.token)


def _followed(call: Call[Reply], reply: Reply) -> Flow[Reply]:
    """Send the calls that continue an answer, until it ends or makes no progress.

    The `partial` of an error has the answer so far, with the token that continues it.
    """
    from wire.neutral.hops import joined  # few answers have several

    call = msgspec.structs.replace(call, follow=None)
    hops, tokens = [reply], set[str | None]()
    while _goes_on(reply) and reply.stop.token not in tokens and len(hops) < MOST_HOPS:
        tokens.add(reply.stop.token)
        call = _with_token(call, reply.stop.token or "", reply.id)
        try:
            reply = yield call
        except WireError as error:
            error.partial = joined(hops)
            raise
        hops.append(reply)
    return joined(hops)


def _with_token(call: AnyCall, token: str, id: str) -> AnyCall:
    """Return the call that goes on: the same input, or the stored interaction in its place."""
    fields: dict[str, Any] = fields_of(msgspec.Raw(call.body))
    if bytes(fields.get("store", b"")) != b"false" and id:
        fields.pop("input", None)
        fields["previous_interaction_id"] = id
    fields["continuation_token"] = token
    changed: Any = call
    return cast(AnyCall, msgspec.structs.replace(changed, body=msgspec.json.encode(fields)))


def resumed(call: StreamCall[Event, Reply], reader: ChunkReader) -> StreamCall[Any, Any] | None:
    """Return the call that continues a stream, and prepare its reader.

    `None` if the events have no ids and there is no token that goes on after all of them.
    """
    again = stream_resumed(call, reader)
    if again is not None:
        return again
    token, id = reader.resume_token, reader.interaction_id
    if not token or reader.hops == MOST_HOPS:
        return None
    reader.next_hop()
    return _with_token(call, token, id)


def parse_hops(interaction: Interaction, body: bytes, **context: Any) -> Reply:
    """Return the reply of a folded stream, which may have taken several requests."""
    if EARLIER not in vars(interaction):
        return parse_reply(interaction, body=body, **context)
    from wire.neutral.hops import parsed

    return parsed(parse_reply, interaction, body, **context)
