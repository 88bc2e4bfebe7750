"""Follows an answer over several requests: long decode of Gemini 4.

A request has a limit of its own. An answer that reaches it ends with `CONTINUATION` and a token;
the same request with the token goes on where it ended. Nothing else of the request changes, so
`maxOutputTokens` is the most of all requests together. Source: Gemini API, guide of long decode,
and google-genai 3.4.0.
"""

from __future__ import annotations

from typing import Any, TypeVar, cast

import msgspec

from wire.core.call import Call, StreamCall
from wire.core.chunk_bytes import EARLIER
from wire.core.errors import BlockedError, WireError
from wire.core.flow import Flow
from wire.core.memory import Note
from wire.gemini.parse import parse_reply
from wire.gemini.reader import ChunkReader
from wire.gemini.types import GenerateContentResponse
from wire.neutral.messages import Event, Reply

T = TypeVar("T")
AnyCall = TypeVar("AnyCall", bound=Call[Any] | StreamCall[Any, Any])

MOST_HOPS = 64
"""Requests for one answer; no answer that fits the window needs half as many."""


def as_stream(call: Call[T], most: int) -> Call[T]:
    """Return the call that gets the same answer as a stream, which is read as a whole.

    `most` are the tokens of a request that is not streamed. Pages of Google disagree on whether one
    with a higher limit is refused.
    """
    path = call.path.replace(":generateContent", ":streamGenerateContent")
    words = f"sent as a stream: without one, a request makes at most {most:,} tokens"
    notes = (*call.notes, Note("max_tokens", words))
    changed: Any = call
    streamed: Call[T] = msgspec.structs.replace(
        changed, path=path, query={"alt": "sse"}, notes=notes
    )
    return streamed


def _with_token(call: AnyCall, token: str) -> AnyCall:
    return cast(AnyCall, call.replace(body_extra={"continuationToken": token}))


def follow(call: Call[Reply], reply: Reply) -> Flow[Reply] | None:
    """Return the flow that continues a reply; `None` for one that does not go on."""
    return _followed(call, reply) if _goes_on(reply) else None


def _goes_on(reply: Reply) -> bool:
    made = bool(reply.message.parts) or (reply.usage is not None and reply.usage.output > 0)
    candidates = getattr(reply.answer, "candidates", None) or ()
    return made and reply.stop.next == "continue_token" and len(candidates) == 1


def _followed(call: Call[Reply], reply: Reply) -> Flow[Reply]:
    """Send the calls that continue an answer, until it ends or makes no progress.

    The `partial` of an error has the answer so far, with the token that continues it.
    """
    from wire.neutral.hops import joined  # few answers have several

    call = msgspec.structs.replace(call, follow=None)
    hops, tokens = [reply], set[str | None]()
    while _goes_on(reply) and reply.stop.token not in tokens and len(hops) < MOST_HOPS:
        tokens.add(reply.stop.token)
        call = _with_token(call, reply.stop.token or "")
        try:
            reply = yield call
        except BlockedError as error:
            if not isinstance(error.partial, Reply):
                raise
            reply = error.partial  # what came before it is not blocked
        except WireError as error:
            error.partial = joined(hops)
            raise
        hops.append(reply)
    return joined(hops)


def resumed(call: StreamCall[Event, Reply], reader: ChunkReader) -> StreamCall[Event, Reply] | None:
    """Return the call that continues a stream, and prepare its reader.

    `None` if there is no token, or a text came after the last one: the server would repeat it.
    """
    token = reader.resume_token
    if not token or reader.hops == MOST_HOPS:
        return None
    reader.reopen()
    return _with_token(call, token)


def parse_hops(response: GenerateContentResponse, body: bytes, **context: Any) -> Reply:
    """Return the reply of a folded stream, which may have taken several requests."""
    if EARLIER not in vars(response):
        return parse_reply(response, body=body, **context)
    from wire.neutral.hops import parsed

    return parsed(parse_reply, response, body, **context)
