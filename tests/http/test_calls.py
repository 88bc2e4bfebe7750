"""What goes over the wire and what comes of the answer, with respx in place of the network."""

from __future__ import annotations

import json

import httpx
import pytest
import respx

from tests.http.drive import CALL, QUICK, STREAM_CALL, Drive, not_on_httpx2
from tests.http.loopback import ANSWER, loopback, text, whole
from tests.joined import joined
from wire import Timeouts, answer_account, errors, gemini, retry

pytestmark = not_on_httpx2("respx answers requests of httpx only")

URL = "https://generativelanguage.googleapis.com/v1beta/models/m:generateContent"
STREAM_URL = (
    "https://generativelanguage.googleapis.com/v1beta/models/m:streamGenerateContent?alt=sse"
)


def sse(*chunks: object) -> bytes:
    return b"".join(b"data: " + json.dumps(chunk).encode() + b"\r\n\r\n" for chunk in chunks)


def error(
    status: int, message: str = "no", word: str = "INVALID_ARGUMENT", **detail: object
) -> httpx.Response:
    details = [detail] if detail else []
    return httpx.Response(
        status,
        json={"error": {"code": status, "message": message, "status": word, "details": details}},
    )


RETRY_INFO = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "0.01s"}


def test_request_as_sent(drive: Drive) -> None:
    with respx.mock:
        route = respx.post(URL).respond(json=ANSWER)
        answer = drive.send(headers={"x-team": "a"})
        sent = route.calls.last.request
    assert answer.text == "Hello."
    assert str(sent.url) == URL
    assert sent.content == b'{"contents":[{"parts":[{"text":"Hi"}],"role":"user"}]}'
    assert dict(sent.headers) == {
        "host": "generativelanguage.googleapis.com",
        "user-agent": "wire",
        "accept-encoding": "identity",
        "content-type": "application/json",
        "content-length": "54",
        "x-team": "a",
        "x-goog-api-key": "fake-key",
    }


def test_stream(drive: Drive) -> None:
    with respx.mock:
        route = respx.post(STREAM_URL).respond(content=sse(text("Hel"), text("lo.", "STOP")))
        read = drive.read()
    assert read.texts == ["Hel", "lo."]
    assert read.error is None
    assert read.reply == gemini.GenerateContentResponse(
        candidates=[
            gemini.Candidate(
                content=gemini.Content(parts=[gemini.Part(text="Hello.")], role="model"),
                finish_reason="STOP",
            ),
        ],
        usage_metadata=gemini.UsageMetadata(prompt_token_count=3),
    )
    assert str(route.calls.last.request.url) == STREAM_URL


def test_key_from_the_environment(drive: Drive, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", "fake-key-of-env")
    with respx.mock:
        route = respx.post(URL).respond(json=ANSWER)
        drive.send(api_key=None)
        assert route.calls.last.request.headers["x-goog-api-key"] == "fake-key-of-env"
        drive.send(api_key="fake-key-given")
        assert route.calls.last.request.headers["x-goog-api-key"] == "fake-key-given"


def test_missing_key_is_named_before_any_request(drive: Drive) -> None:
    with respx.mock(assert_all_called=False) as router:
        route = router.post(URL)
        with pytest.raises(errors.ConfigurationError, match="GEMINI_API_KEY"):
            drive.send(api_key=None)
        with pytest.raises(errors.ConfigurationError, match="GEMINI_API_KEY"):
            drive.read(api_key=None)
        assert not route.called


@joined(
    ("answer", "kind", "code"),
    [
        (error(400), errors.BadRequestError, "INVALID_ARGUMENT"),
        (error(400, reason="API_KEY_INVALID"), errors.AuthenticationError, "INVALID_ARGUMENT"),
        (error(403, word="PERMISSION_DENIED"), errors.AccessDeniedError, "PERMISSION_DENIED"),
        (error(404, word="NOT_FOUND"), errors.NotFoundError, "NOT_FOUND"),
        (
            httpx.Response(302, headers={"location": "https://elsewhere.example/"}),
            errors.APIError,
            None,
        ),
        (httpx.Response(200, html="<html>Sign in</html>"), errors.StreamInvalid, None),
        (httpx.Response(200), errors.StreamIncomplete, None),
        (httpx.Response(204), errors.StreamIncomplete, None),
        (
            httpx.Response(
                200, json={"error": {"code": 404, "message": "no", "status": "NOT_FOUND"}}
            ),
            errors.NotFoundError,
            "NOT_FOUND",
        ),
    ],
    ids=["400", "bad key", "403", "404", "redirect", "html", "empty", "204", "error under 200"],
)
def test_refused(
    drive: Drive, answer: httpx.Response, kind: type[errors.WireError], code: str | None
) -> None:
    """Once, but for an empty answer: nothing was handed out, and the next one may be better."""
    attempts = 3 if kind is errors.StreamIncomplete else 1
    for read in (drive.send, drive.read):
        with respx.mock:
            route = respx.post(url__regex=".*").mock(return_value=answer)
            with pytest.raises(errors.WireError) as caught:
                read()
            assert route.call_count == attempts
        assert type(caught.value) is kind
        assert (caught.value.provider, caught.value.code, caught.value.attempts) == (
            "gemini",
            code,
            attempts,
        )


def test_retried_with_the_same_body_and_told(drive: Drive) -> None:
    with respx.mock:
        route = respx.post(URL).mock(
            side_effect=[
                error(429, word="RESOURCE_EXHAUSTED", **RETRY_INFO),
                error(503, word="UNAVAILABLE"),
                httpx.Response(200, json=ANSWER),
            ]
        )
        answer = drive.send()
        assert [call.request.content for call in route.calls] == [CALL.body] * 3
    account = answer_account(answer)
    assert account is not None
    assert (account.attempts, account.waits, account.status) == (3, [0.01, 0.0], 200)


def test_last_error_of_three(drive: Drive) -> None:
    with respx.mock:
        route = respx.post(STREAM_URL).mock(
            side_effect=[error(503), error(500), error(429, "slow down")]
        )
        with pytest.raises(
            errors.RateLimitError, match=r"slow down \(after 3 attempts\)"
        ) as caught:
            drive.read()
        assert route.call_count == 3
    assert (caught.value.status, caught.value.retryable) == (429, True)


def test_wish_beyond_the_cap_is_raised_at_once(drive: Drive) -> None:
    with respx.mock:
        route = respx.post(URL).respond(429, headers={"retry-after": "3600"}, json={})
        with pytest.raises(errors.RateLimitError) as caught:
            drive.send()
        assert route.call_count == 1
    assert caught.value.retry_after == 3600


def test_retry_none(drive: Drive) -> None:
    with respx.mock:
        route = respx.post(URL).mock(return_value=error(503))
        with pytest.raises(errors.OverloadedError):
            drive.send(retry=None)
        assert route.call_count == 1


def test_no_connection(drive: Drive) -> None:
    with respx.mock:
        route = respx.post(URL).mock(side_effect=httpx.ConnectError("refused"))
        with pytest.raises(
            errors.ConnectionLost,
            match=r"no response from generativelanguage\.googleapis\.com: ConnectError: refused",
        ) as caught:
            drive.send()
        assert route.call_count == 3
    assert isinstance(caught.value.__cause__, httpx.ConnectError)
    assert caught.value.__cause__.__traceback__ is None


@pytest.mark.parametrize(
    ("cause", "kind"),
    [
        (httpx.ConnectTimeout("t"), errors.ConnectClock),
        (httpx.PoolTimeout("t"), errors.FirstByteClock),
        (httpx.ReadTimeout("t"), errors.FirstByteClock),
    ],
    ids=["connect", "pool", "read"],
)
def test_clocks_of_the_transport(
    drive: Drive, cause: Exception, kind: type[errors.ClockError]
) -> None:
    with respx.mock:
        respx.post(URL).mock(side_effect=cause)
        with pytest.raises(kind):
            drive.send(retry=None)


def test_time_outs_are_handed_to_the_transport(drive: Drive) -> None:
    with respx.mock:
        route = respx.post(URL).respond(json=ANSWER)
        drive.send(timeouts=Timeouts(connect=1, first_byte=2, idle=3))
        waits = route.calls.last.request.extensions["timeout"]
        # The body is read under the idle time, so `read` is the idle time once the head was there.
        assert waits == {"connect": 1, "read": 3, "write": 2, "pool": 2}
        drive.send(CALL.replace(timeouts=Timeouts(connect=4, first_byte=5, idle=6)))
        assert route.calls.last.request.extensions["timeout"]["connect"] == 4


def test_a_number_limits_each_wait_and_none_limits_nothing(drive: Drive) -> None:
    with respx.mock:
        route = respx.post(URL).respond(json=ANSWER)
        drive.send(timeouts=30)
        waits = route.calls.last.request.extensions["timeout"]
        assert waits == {"connect": 30, "read": 30, "write": 30, "pool": 30}
        drive.send(timeouts=None)
        waits = route.calls.last.request.extensions["timeout"]
        assert waits == {"connect": None, "read": None, "write": None, "pool": None}


def test_a_call_without_limits_reads_its_whole_response(drive: Drive) -> None:
    with loopback([whole(ANSWER)]) as server:
        answer = drive.send(base_url=server.url, timeouts=None)
        assert answer.candidates[0].content.parts[0].text == "Hello."


def test_error_in_place_of_the_first_event_is_an_error_of_the_call(drive: Drive) -> None:
    """Nothing was handed out yet, so that it is retried as the status it names would be."""
    broken = sse({"error": {"code": 503, "message": "overloaded", "status": "UNAVAILABLE"}})
    with respx.mock:
        route = respx.post(STREAM_URL).mock(
            side_effect=[
                httpx.Response(200, content=broken),
                httpx.Response(200, content=sse(ANSWER)),
            ]
        )
        read = drive.read()
        assert route.call_count == 2
    assert read.texts == ["Hello."]


def test_error_after_an_event_is_not_retried_and_keeps_what_came(drive: Drive) -> None:
    broken = sse(
        text("Hel"), {"error": {"code": 503, "message": "overloaded", "status": "UNAVAILABLE"}}
    )
    with respx.mock:
        route = respx.post(STREAM_URL).respond(content=broken)
        read = drive.read()
        assert route.call_count == 1
    assert read.texts == ["Hel"]
    assert isinstance(read.error, errors.OverloadedError)
    assert (read.error.partial.text, read.error.retryable, read.error.attempts) == ("Hel", False, 1)


def test_incomplete_stream(drive: Drive) -> None:
    with respx.mock:
        respx.post(STREAM_URL).respond(content=sse(text("Hel"), text("lo.")))
        read = drive.read()
    assert read.texts == ["Hel", "lo."]
    assert isinstance(read.error, errors.StreamIncomplete)
    assert read.error.partial.text == "Hello."


def test_account(drive: Drive) -> None:
    headers = {"x-request-id": "r-1", "x-ratelimit-remaining": "9"}
    body = sse(text("Hel"), text("lo.", "STOP"))
    with respx.mock:
        respx.post(STREAM_URL).respond(content=body, headers=headers)
        read = drive.read()
    account = read.account
    assert account is not None
    assert account is answer_account(read.reply)
    assert (account.attempts, account.events, account.sent, account.received) == (
        1,
        2,
        len(STREAM_CALL.body),
        len(body),
    )
    assert (account.request_id, account.rate_limits) == ("r-1", {"x-ratelimit-remaining": "9"})
    assert account.first_byte is not None
    assert account.first_event is not None
    assert account.seconds is not None
    assert account.first_byte <= account.first_event <= account.seconds


def test_error_carries_the_request_id(drive: Drive) -> None:
    with respx.mock:
        respx.post(URL).respond(404, headers={"x-request-id": "r-2"}, json={})
        with pytest.raises(errors.NotFoundError) as caught:
            drive.send()
    assert caught.value.request_id == "r-2"


def test_compressed_all_the_same(drive: Drive) -> None:
    """We ask for identity; what comes compressed is read once, and no more than the limits allow
    (R-10).
    """
    import gzip

    with respx.mock:
        respx.post(URL).mock(return_value=_Raw(gzip.compress(json.dumps(ANSWER).encode()), "gzip"))
        assert drive.send().text == "Hello."
    bomb = gzip.compress(b'{"x":"' + b" " * 30_000_000)
    for status in (200, 500):
        with respx.mock:
            respx.post(URL).mock(return_value=_Raw(bomb, "gzip", status))
            with pytest.raises(errors.LimitError):
                drive.send(retry=None)


def _Raw(data: bytes, encoding: str, status: int = 200) -> httpx.Response:
    """A response whose body respx leaves as it is."""
    return httpx.Response(
        status, headers={"content-encoding": encoding}, stream=httpx.ByteStream(data)
    )


def test_presets_are_what_users_pass(drive: Drive) -> None:
    with respx.mock:
        route = respx.post(URL).mock(return_value=error(500))
        with pytest.raises(errors.ServerError):
            drive.send(retry=retry.Retry(attempts=4, base=0))
        assert route.call_count == 4
        assert QUICK.attempts == 3


@pytest.mark.parametrize("wrong", [STREAM_CALL, None, "text"])
def test_wrong_kind_of_call(drive: Drive, wrong: object) -> None:
    with pytest.raises(errors.ConfigurationError, match="expected a Call"):
        drive.send(wrong)


def test_wrong_kind_of_stream_call(drive: Drive) -> None:
    with pytest.raises(errors.ConfigurationError, match=r"use send\(\) for it"):
        drive.read(CALL)
