"""A handshake for a session: which vendor has one there, and what the script says about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from wire.testing.emulator.answer import Answer
from wire.testing.emulator.broken_sessions import BrokenSession
from wire.testing.emulator.faults import HANDSHAKE_KINDS, with_fault
from wire.testing.emulator.received import Received
from wire.testing.emulator.routes import Route
from wire.testing.emulator.script import Step, choose
from wire.testing.emulator.sessions import Ask, HasSessions, Session
from wire.testing.emulator.vendor import Failure, Refusal, Vendor

OF_HANDSHAKES = frozenset(
    {"connection", "upgrade", "sec-websocket-key", "sec-websocket-version",
     "sec-websocket-extensions", "sec-websocket-protocol", "content-length"}
)  # fmt: skip
"""Headers of a handshake alone: the requests that a session makes do not have them."""


def shake_hands(
    request: Received, vendor: Vendor, route: Route | None, ask: Ask, steps: Sequence[Step]
) -> Session | Answer | None:
    """Return the session that a request asks for, or the response that refuses it.

    `None` means that there are no sessions at the path. Of the steps of the script, those that are
    a fault alone and match the endpoint of the session apply.
    """
    if not isinstance(vendor, HasSessions) or route is None:
        return None
    try:
        session = vendor.session(request, route, ask)
    except Refusal as refusal:
        return vendor.finish(refusal.answer, request, route)
    if session is None:
        return None
    at = replace(route, endpoint=session.endpoint, generates=False)
    model = request.query.get("model", "")
    step = choose([each for each in steps if each.is_fault], request, at, model, "")
    fault = None if step is None else step.fault
    if fault is None:
        return session
    if fault.kind not in HANDSHAKE_KINDS:
        return BrokenSession(session, fault)
    failing = Failure(500, model=model, request=request, route=route)
    refused = with_fault(fault, vendor, failing, partial(Answer, 500, (), ()))
    return vendor.finish(refused, request, route)
