"""The endpoint of Realtime, as a call."""

from __future__ import annotations

from wire.core.arguments import checked_arguments
from wire.core.bodies import checked_body, wrong_type
from wire.core.call import SocketCall
from wire.core.errors import ConfigurationError, RuleError, Violation
from wire.openai.common.error_body import parse_error
from wire.openai.realtime.events import parse_event
from wire.openai.realtime.types.events import ClientEvent, ServerEvent

WIRE = "openai.realtime"


@checked_arguments()
def socket(model: str) -> SocketCall[ClientEvent, ServerEvent]:
    """Build the call that opens a session with a model; at Azure, the name of its deployment.

    >>> socket("gpt-realtime").target
    '/realtime?model=gpt-realtime'

    The server sends `session.created` first. An event `error` does not end the session. Raises
    `ConfigurationError` for an empty name; the session raises `RuleError` for an event that JSON
    cannot represent, or that has no type.
    """
    if not isinstance(model, str) or not model:
        raise ConfigurationError("model: expected the name of a model")
    return SocketCall(
        WIRE,
        "GET",
        "/realtime",
        query={"model": model},
        encode=_encoded,
        parse=parse_event,
        read_error=parse_error,
    )


def _encoded(event: ClientEvent) -> bytes:
    if not isinstance(event, ClientEvent):
        raise wrong_type("event", event, "ClientEvent")
    if not event.type:
        raise RuleError(violations=[Violation("type", "an event has a type")])
    body, _ = checked_body(event)
    return body
