"""Client secrets, and calls over WebRTC and SIP, over HTTP."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from wire import Client
from wire.errors import ConfigurationError, RuleError, StreamInvalid
from wire.openai import realtime

SESSION = realtime.Session(type="realtime", model="gpt-realtime")


def sent(call: Any, response: httpx.Response, provider: str = "openai") -> tuple[Any, Any]:
    """Send a call; return what it returns, and the request."""
    seen: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        request.read()
        seen.append(request)
        return response

    http = httpx.MockTransport(answer)
    options: dict[str, Any] = {"resource": "r"} if provider == "azure" else {}
    with Client(provider, api_key="fake-key", http=http, **options) as client:
        return client.send(call), seen[0]


def test_a_client_secret_is_not_shown() -> None:
    secret = "ek_FakeFakeFakeFakFakeFakeFake7"
    after = realtime.ExpiresAfter(anchor="created_at", seconds=600)
    request = realtime.ClientSecretRequest(expires_after=after, session=SESSION)
    body = {"value": secret, "expires_at": 1_800_000_000, "session": {"type": "realtime"}}
    call = realtime.create_client_secret(request)
    answer, asked = sent(call, httpx.Response(200, json=body))
    assert (answer.value, answer.expires_at, answer.session.type) == (
        secret,
        1_800_000_000,
        "realtime",
    )
    assert secret not in repr(answer)
    assert asked.url == "https://api.openai.com/v1/realtime/client_secrets"
    assert asked.content == (
        b'{"expires_after":{"anchor":"created_at","seconds":600},'
        b'"session":{"type":"realtime","model":"gpt-realtime"}}'
    )


def test_a_call_over_webrtc() -> None:
    location = {"location": "/v1/realtime/calls/rtc_123"}
    response = httpx.Response(201, text="v=0\r\nanswer\r\n", headers=location)
    call = realtime.create_call("v=0\r\noffer\r\n", SESSION, boundary="b")
    answer, asked = sent(call, response)
    assert answer == realtime.CallAnswer("v=0\r\nanswer\r\n", "rtc_123")
    assert asked.headers["content-type"] == "multipart/form-data; boundary=b"
    assert asked.headers["accept"] == "application/sdp"
    assert asked.content == (
        b'--b\r\nContent-Disposition: form-data; name="sdp"\r\n\r\nv=0\r\noffer\r\n\r\n'
        b'--b\r\nContent-Disposition: form-data; name="session"\r\n\r\n'
        b'{"type":"realtime","model":"gpt-realtime"}\r\n--b--\r\n'
    )


def test_a_call_with_the_settings_of_its_secret() -> None:
    response = httpx.Response(201, text="v=0")
    answer, asked = sent(realtime.create_call("v=0\r\n"), response, "azure")
    assert (answer.sdp, answer.id) == ("v=0", "")
    assert asked.url == "https://r.openai.azure.com/openai/v1/realtime/calls"
    assert (asked.headers["content-type"], asked.content) == ("application/sdp", b"v=0\r\n")
    with pytest.raises(StreamInvalid, match="no UTF-8"):
        sent(realtime.create_call("v=0"), httpx.Response(201, content=b"\xff"))


@pytest.mark.parametrize(
    ("call", "path", "body"),
    [
        (
            realtime.accept_call("rtc_1", SESSION),
            "accept",
            b'{"type":"realtime","model":"gpt-realtime"}',
        ),
        (realtime.hang_up_call("rtc_1"), "hangup", b""),
        (realtime.refer_call("rtc_1", "tel:+1"), "refer", b'{"target_uri":"tel:+1"}'),
        (realtime.reject_call("rtc_1"), "reject", b"{}"),
        (realtime.reject_call("rtc_1", 486), "reject", b'{"status_code":486}'),
    ],
)
def test_calls_over_sip(call: Any, path: str, body: bytes) -> None:
    answer, asked = sent(call, httpx.Response(200))
    assert (answer, asked.method, asked.content) == (b"", "POST", body)
    assert asked.url.path == f"/v1/realtime/calls/rtc_1/{path}"


def test_what_cannot_be_sent_is_refused() -> None:
    with pytest.raises(RuleError, match="sdp: expected the description"):
        realtime.create_call(" ")
    with pytest.raises(ConfigurationError, match="call_id"):
        realtime.hang_up_call("../x")
    with pytest.raises(RuleError, match="status_code"):
        realtime.reject_call("rtc_1", 200)
    with pytest.raises(RuleError, match="request"):
        realtime.create_client_secret(SESSION)  # type: ignore[arg-type]
