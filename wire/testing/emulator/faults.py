"""Faults of the emulator, requested by a script or by the header `x-wire-fault` of a request.

The words and settings are those of `wire.testing.cassette.faults`, with errors in the format of the
vendor, and five words more:

- `error`: an error object as an event, after `after` events; `status` is its code, 503 unless given
- `refuse`: the connection is reset before the status line, as if no server was there
- `quota`: the quota or the credit of the account is used up, in place of the response
- `expire`: a request of a batch is not answered before the batch expires; any other gets 504
- `error-bare`: the same outside the framing, on several lines, after which the body ends

Four words are for sessions over WebSocket alone (`wire.testing.emulator.broken_sessions`):

- `close`: the session is closed with `code` (1011) and `reason`, after `after` messages
- `swap`: the next two messages are sent in the wrong order
- `huge`: the next message has `size` bytes (32 MiB), of which the first are spaces
- `frame`: the next message is binary if those of the session are text, and text if they are binary

In a session, a fault of an answer counts the messages that the session makes of it. A step that is
a fault alone and matches the endpoint of a session (`realtime`, `live`, `responses.socket`) counts
all messages of the session; a status, `quota` and `refuse` refuse its handshake, and with `expire`
the server says after `after` messages that it will close the session, and closes it `seconds`
later.

A pause has 1 second unless `seconds` is given. `times` and `attempt` count the requests with the
same body, and are for faults of a header.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from wire.core.errors import ConfigurationError
from wire.core.event_stream import CONTENT_TYPE as FRAMES
from wire.testing.cassette import faults as common
from wire.testing.cassette.faults import ENDING, Fault, broken, error_response, events_of
from wire.testing.cassette.pieces import Piece, Reset
from wire.testing.emulator.answer import Answer
from wire.testing.emulator.broken_sessions import PAUSE_SECONDS
from wire.testing.emulator.vendor import Failed, Failure, Vendor

_OF_SESSIONS = ("close", "frame", "huge", "swap")
KINDS = ("error", "error-bare", "expire", "quota", "refuse", *common.KINDS, *_OF_SESSIONS)
HANDSHAKE_KINDS = ("quota", "refuse", "status")
"""Those of a session that refuse its handshake."""
_IN_PLACE_OF_AN_ANSWER = ("expire", *HANDSHAKE_KINDS)
_LINES = "application/x-ndjson"


def fault_of(spec: str | Mapping[str, Any]) -> Fault:
    """Parse a fault as a header or a script writes it.

    Raises `ConfigurationError` for an unknown word or setting.
    """
    fault = common.fault_of(spec, KINDS)
    if fault.interaction is not None:
        raise ConfigurationError("fault: interaction: only a replayed cassette has interactions")
    return fault


def with_fault(
    fault: Fault | None,
    vendor: Vendor,
    failing: Failure,
    respond: Callable[[], Answer],
    place: str = "",
) -> Answer:
    """Return the response of `respond` with a fault; a status fault answers in its place.

    `failing` has the model, the request and the route of the failure. A fault that would change
    nothing is answered with 400 and a message that begins with `place`. In a session, a fault of
    messages is left to the session.
    """
    if fault is None:
        return respond()
    in_session = failing.request is not None and failing.request.in_session
    if in_session and fault.kind not in _IN_PLACE_OF_AN_ANSWER:
        answer = respond()
        return replace(answer, faults=(*answer.faults, (place, fault)))
    if fault.kind in _OF_SESSIONS:
        raise Failed(Failure(400, f"{place}fault: {fault.kind}: only a session has messages"))
    if fault.kind == "refuse":
        return Answer(503, (), (Reset(),))
    if fault.kind == "expire":
        return replace(vendor.error_answer(replace(failing, status=504)), expires=True)
    if fault.kind == "quota":
        return vendor.used_up(failing)
    failure = replace(
        failing,
        status=fault.status,
        message=fault.message,
        retry_after=fault.retry_after,
        position=fault.after,
    )
    if fault.kind == "status":
        return _error_answer(fault, vendor.error_answer(failure))
    try:
        return _malformed(respond(), fault, vendor, failure)
    except ConfigurationError as error:
        raise Failed(Failure(400, f"{place}{error.message}")) from None


def _error_answer(fault: Fault, answer: Answer) -> Answer:
    """Return the vendor's error response, with the parts that the fault sets itself."""
    headers = dict(answer.headers) | fault.headers
    pieces = answer.pieces if fault.body is None else (error_response(fault)[2],)
    return replace(answer, headers=tuple(headers.items()), pieces=pieces)


def _malformed(answer: Answer, fault: Fault, vendor: Vendor, failure: Failure) -> Answer:
    """Return a response that breaks off, stalls or contains an error.

    Raises `ConfigurationError` for a fault that would change nothing.
    """
    content_type = dict(answer.headers).get("content-type", "")
    is_stream = content_type.startswith("text/event-stream") or content_type in (FRAMES, _LINES)
    pieces = [each for each in answer.pieces if isinstance(each, bytes)]
    recorded_end = answer.pieces[len(pieces) :]
    events = events_of(pieces, is_stream=not answer.whole)
    body: list[Piece]
    if fault.kind in ("error", "error-bare"):
        if is_stream and fault.kind == "error":
            error = vendor.error_event(failure)
        else:
            error = json.dumps(vendor.error(failure), indent=2).encode() + b"\n"
        body = [*broken(events, fault), error]
    else:
        garbage = vendor.frame(b"{not json") if is_stream else b""
        body = broken(events, fault, garbage=garbage, stall=PAUSE_SECONDS)
        if fault.kind not in ENDING:
            body += recorded_end
    # Never in one piece: that would be sent with its length, and would look complete.
    return replace(answer, pieces=tuple(body) if len(body) > 1 else (*body, b""))
