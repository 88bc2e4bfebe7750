"""The HTTP calls of Realtime: client secrets, and calls over WebRTC and SIP.

The media of such a call flow between the browser or the phone and the server. The client of this
library starts it, and may join its events by `socket`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from wire.core.arguments import checked_arguments, whole_number
from wire.core.bodies import checked_body, wrong_type
from wire.core.call import Call
from wire.core.errors import RuleError, StreamInvalid, Violation
from wire.core.memory import WireStruct
from wire.core.multipart import Multipart, form_parts
from wire.core.path_segment import path_segment
from wire.openai.common.endpoints import JSON, plain
from wire.openai.common.error_body import parse_error
from wire.openai.realtime.types.calls import (
    ClientSecret,
    ClientSecretRequest,
    Referral,
    Rejection,
)
from wire.openai.realtime.types.session import Session

_SDP = "application/sdp"


class CallAnswer(msgspec.Struct, frozen=True):
    """The server's side of a call over WebRTC.

    >>> CallAnswer("v=0", "rtc_1").id
    'rtc_1'
    """

    sdp: str
    """The description of the session that answers the client's."""
    id: str = ""
    """Id of the call; empty if the response has no `location`."""


@checked_arguments()
def create_client_secret(request: ClientSecretRequest) -> Call[ClientSecret]:
    """Build the call that makes a secret for a browser or a phone.

    >>> from wire.openai import realtime
    >>> session = realtime.Session(type="realtime", model="gpt-realtime")
    >>> create_client_secret(ClientSecretRequest(session=session)).path
    '/realtime/client_secrets'

    Raises `RuleError` for a value that JSON cannot encode.
    """
    if not isinstance(request, ClientSecretRequest):
        raise wrong_type("request", request, "ClientSecretRequest")
    return plain(ClientSecret, "POST", "/realtime/client_secrets", *_json(request), headers=JSON)


@checked_arguments()
def create_call(
    sdp: str, session: Session | None = None, *, boundary: str = ""
) -> Call[CallAnswer]:
    """Build the call that answers the description of a WebRTC session with the server's.

    >>> create_call("v=0").headers["content-type"]
    'application/sdp'

    Without `session`, the settings are those of the client secret that is sent as the key.
    `boundary` separates the fields of the form; by default it is random. Raises `RuleError` for an
    empty description, and for a session that JSON cannot encode.
    """
    if not sdp.strip():
        raise RuleError(violations=[Violation("sdp", "expected the description of a session")])
    parts: dict[str, Any]
    if session is None:
        body, parts = sdp.encode("utf-8", "replace"), {"headers": {"content-type": _SDP}}
    else:
        (settings,) = _json(session)
        fields = {"sdp": sdp, "session": settings.decode()}
        body, parts = b"", form_parts(Multipart(fields, boundary=boundary))
    parts["headers"] = {**parts["headers"], "accept": _SDP}
    return Call(
        "openai",
        "POST",
        "/realtime/calls",
        body,
        parse=_answer,
        any_content=True,
        read_headers=_with_id,
        read_error=parse_error,
        **parts,
    )


@checked_arguments()
def accept_call(call_id: str, session: Session) -> Call[bytes]:
    """Build the call that takes a call over SIP, with the settings of its session.

    >>> from wire.openai import realtime
    >>> accept_call("rtc_1", realtime.Session(type="realtime", model="gpt-realtime")).path
    '/realtime/calls/rtc_1/accept'

    Raises `ConfigurationError` for a malformed id, as the next three.
    """
    return _act(call_id, "accept", session)


@checked_arguments()
def hang_up_call(call_id: str) -> Call[bytes]:
    """Build the call that ends a call.

    >>> hang_up_call("rtc_1").path
    '/realtime/calls/rtc_1/hangup'
    """
    return _act(call_id, "hangup")


@checked_arguments()
def refer_call(call_id: str, target_uri: str) -> Call[bytes]:
    """Build the call that transfers a call over SIP to `tel:` or `sip:` another one.

    >>> refer_call("rtc_1", "tel:+14155550123").body
    b'{"target_uri":"tel:+14155550123"}'
    """
    return _act(call_id, "refer", Referral(target_uri=target_uri))


@checked_arguments()
def reject_call(call_id: str, status_code: int | None = None) -> Call[bytes]:
    """Build the call that declines a call over SIP, with 603 or another status of SIP.

    >>> reject_call("rtc_1", 486).body
    b'{"status_code":486}'
    """
    if status_code is not None:
        whole_number("status_code", status_code, least=300, most=699)
    return _act(call_id, "reject", Rejection(status_code=status_code))


def _act(call_id: str, verb: str, request: WireStruct | None = None) -> Call[bytes]:
    path = f"/realtime/calls/{path_segment('call_id', call_id, 'rtc_1')}/{verb}"
    body = b"" if request is None else _json(request)[0]
    headers = {} if request is None else JSON
    return Call("openai", "POST", path, body, headers=headers, parse=bytes, read_error=parse_error)


def _json(request: WireStruct) -> tuple[bytes]:
    body, _ = checked_body(request)
    return (body,)


def _answer(body: bytes) -> CallAnswer:
    try:
        return CallAnswer(body.decode())
    except UnicodeDecodeError as cause:
        raise StreamInvalid(f"the description of the session is no UTF-8: {cause}") from None


def _with_id(answer: CallAnswer, headers: Mapping[str, str]) -> CallAnswer:
    return CallAnswer(answer.sdp, headers.get("location", "").rstrip("/").rpartition("/")[2])
