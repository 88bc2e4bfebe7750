"""The endpoint of Live, as a call."""

from __future__ import annotations

import msgspec

from wire.core.arguments import checked_arguments
from wire.core.bodies import checked_body, wrong_type
from wire.core.call import SocketCall
from wire.core.errors import RuleError, Violation
from wire.core.provider import Provider
from wire.gemini.error_body import parse_error
from wire.gemini.live.messages import parse_message
from wire.gemini.live.types import ClientMessage, ServerMessage
from wire.gemini.rows import provider_row

WIRE = "gemini.live"
_SERVICES = {
    "gemini": "google.ai.generativelanguage.{version}.GenerativeService.BidiGenerateContent",
    "vertex": "google.cloud.aiplatform.{version}.LlmBidiService/BidiGenerateContent",
}

LiveCall = SocketCall[ClientMessage, ServerMessage]


@checked_arguments()
def socket() -> SocketCall[ClientMessage, ServerMessage]:
    """Build the call that opens a session.

    >>> socket().path
    '/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent'

    The client sends a `setup` first, which names the model, and the server answers by
    `setup_complete`. A server that refuses a message closes the session, and its reason is the
    message of the error. The session raises `RuleError` for a message that has not exactly one
    field.
    """
    path = f"/ws/{_SERVICES['gemini'].format(version='v1beta')}"
    return SocketCall(
        WIRE,
        "GET",
        path,
        encode=_encoded,
        parse=parse_message,
        read_error=parse_error,
        host_rules=_at_host,
    )


def _at_host(call: LiveCall, provider: Provider) -> LiveCall:
    """Return the call with the path that the host has, in the version of the client."""
    row = provider_row(provider)
    service = _SERVICES[row.dialect.api or "gemini"].format(version=row.version)
    return msgspec.structs.replace(call, path=f"/ws/{service}")


def _encoded(message: ClientMessage) -> bytes:
    if not isinstance(message, ClientMessage):
        raise wrong_type("message", message, "ClientMessage")
    given = [name for name in message.__struct_fields__ if getattr(message, name) is not None]
    if len(given) != 1:
        found = ", ".join(given) or "none"
        raise RuleError(violations=[Violation("", f"a message has one field, not {found}")])
    body, _ = checked_body(message)
    return body
