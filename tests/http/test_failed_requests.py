"""What a failed call carries: the request, the headers of the response, the account."""

from __future__ import annotations

import copy
import pickle
import shlex
from typing import Any

import httpx
import pytest

from tests.http.drive import CALL, STREAM_CALL, Drive, not_on_httpx2
from tests.http.loopback import GOOD_STREAM, LAST, STREAM, event, loopback, text, whole
from tests.joined import joined
from wire import Chat, Client, Retry, Timeouts, WireError, errors, gemini, openai
from wire.core.account import Preview
from wire.core.call import Call
from wire.testing.emulator import Emulator, EmulatorTransport

KEY = "fake-key-8f3b1c7d2e9a"
FULL = whole({"error": {"code": 503, "message": "Full."}}, 503, connection="close")
ONCE = Retry(attempts=1)


def error_of(drive: Drive, steps: Any, call: Any = CALL, **options: Any) -> tuple[WireError, str]:
    """The error of a call that gets these bytes, and the URL of the server."""
    with loopback(steps) as server:
        url = server.url
        if isinstance(call, Call):
            with pytest.raises(WireError) as caught:
                drive.send(call, **{"api_key": KEY, "base_url": url, **options})
            return caught.value, url
        try:
            error = drive.read(call, **{"api_key": KEY, "base_url": url, **options}).error
        except WireError as raised:
            error = raised
        assert error is not None
        return error, url


FAILURES: dict[str, tuple[Any, Any, type[WireError], int]] = {
    "refused": ([whole({"error": {"code": 400, "message": "no"}}, 400)], CALL, errors.APIError, 1),
    "retried": ([FULL], CALL, errors.OverloadedError, 3),
    "malformed": ([whole(b"{")], CALL, errors.StreamError, 3),
    "no response": (["close"], CALL, errors.ConnectionLost, 3),
    "refused stream": ([FULL], STREAM_CALL, errors.OverloadedError, 3),
    "cut stream": ([STREAM, event(text("Hel")), "reset"], STREAM_CALL, errors.ConnectionLost, 1),
    "ended stream": ([STREAM, event(text("Hel")), LAST], STREAM_CALL, errors.StreamIncomplete, 1),
    "error in a stream": (
        [STREAM, event(text("Hel")), event({"error": {"code": 500, "message": "no"}}), LAST],
        STREAM_CALL,
        errors.ServerError,
        1,
    ),
}

STATUSES = {
    "refused": 400,
    "retried": 503,
    "no response": None,
    "refused stream": 503,
    "error in a stream": 500,  # as the error says
}
"""The statuses of the errors in `FAILURES`; the others broke after the headers of status 200."""


@joined("name", FAILURES)
def test_the_error_of_a_sent_call_has_its_request(drive: Drive, name: str) -> None:
    steps, call, kind, attempts = FAILURES[name]
    error, url = error_of(drive, steps, call)
    assert isinstance(error, kind)
    with Client("gemini", base_url=url) as client:
        assert error.preview == client.preview(call)
    assert error.preview is not None
    assert error.preview.url.startswith(f"{url}/v1beta/models/m:")
    assert (error.preview.method, error.preview.model) == ("POST", "m")
    assert error.preview.headers["x-goog-api-key"] == "***"
    assert error.preview.body is call.body  # not a copy
    assert error.account is not None
    assert (error.account.attempts, error.attempts) == (attempts, attempts)
    assert error.status == STATUSES.get(name, 200)
    assert " 200: " not in str(error)  # which is no cause
    assert error.account.waits == [0.0] * (attempts - 1)
    assert error.account.seconds is not None
    assert "\n" not in str(error)


def test_curl_of_an_error_sends_the_same_request(drive: Drive) -> None:
    error, url = error_of(drive, [FULL])
    assert error.preview is not None
    words = shlex.split(error.preview.curl)
    assert words[:5] == ["curl", "-sS", "-X", "POST", f"{url}/v1beta/models/m:generateContent"]
    assert "x-goog-api-key: $GEMINI_API_KEY" in words
    assert words[-2:] == ["--data-binary", CALL.body.decode()]


def test_an_error_has_the_headers_of_the_last_response(drive: Drive) -> None:
    headers = {
        "set_cookie": "session=fakefakefake",
        "x_auth_token": "fakefakefake",
        "x_team": "sk-fake-1234567890",
        "x_ratelimit_remaining_tokens": "150",
        "x_request_id": "req_7f3a9c",
        "location": "https://user:pw@host.example/x?sig=fakefake",
        "x_echo": f"was {KEY}",
    }
    error, _ = error_of(drive, [whole({}, 400, **headers)])
    shown = {name: error.response_headers[name.replace("_", "-")] for name in headers}
    assert shown == {
        "set_cookie": "***",
        "x_auth_token": "***",
        "x_team": "***",
        "x_ratelimit_remaining_tokens": "150",
        "x_request_id": "req_7f3a9c",
        "location": "https://***@host.example/x?***",
        "x_echo": "was ***",
    }
    assert error.response_headers["content-type"] == "application/json"


def test_headers_of_an_earlier_attempt_are_not_those_of_the_last(drive: Drive) -> None:
    error, _ = error_of(drive, lambda number, _: [FULL] if number < 2 else ["close"])
    assert type(error) is errors.ConnectionLost
    assert error.response_headers == {}
    assert (error.status, error.attempts) == (None, 3)


def test_a_stream_that_was_left_has_its_request() -> None:
    with loopback(GOOD_STREAM) as server, Client("gemini", api_key=KEY, base_url=server.url) as c:
        with c.stream(STREAM_CALL) as stream:
            next(stream)
        with pytest.raises(errors.StreamIncomplete) as caught:
            stream.result()
        assert caught.value.preview == c.preview(STREAM_CALL)
        assert caught.value.account is stream.account


def test_an_error_of_the_neutral_door_has_its_request() -> None:
    http = EmulatorTransport(Emulator([{"fault": "429; retry-after=2"}]))
    with Chat("openai:gpt-5.2", api_key=KEY, http=http, retry=None) as chat:
        with pytest.raises(errors.RateLimitError) as caught:
            chat.ask("Hi", max_tokens=5)
        assert caught.value.preview == chat.client.preview(chat.call("Hi", max_tokens=5))
        assert caught.value.preview.model == "gpt-5.2"
    assert caught.value.response_headers["retry-after"] == "2"


@joined("stream", [False, True])
@joined(
    ("model", "settings", "url"),
    [
        ("openai:gpt-5.2", {"temperature": 3}, "https://api.openai.com/v1/chat/completions"),
        (
            "anthropic:claude-sonnet-5",
            {"temperature": 0.5},
            "https://api.anthropic.com/v1/messages",
        ),
        (
            "gemini:gemini-3.8-flash",
            {"tool_choice": "required"},
            "https://generativelanguage.googleapis.com/v1beta/models/gemini-3.8-flash",
        ),
    ],
)
def test_a_rule_error_of_the_neutral_door_has_the_request_that_was_not_sent(
    model: str, settings: dict[str, Any], url: str, stream: bool
) -> None:
    with Chat(model, api_key=KEY, headers={"x-team": "tides"}) as chat:
        build = chat.stream_call if stream else chat.call
        with pytest.raises(errors.RuleError) as caught:
            build(f"My key is {KEY}.", **settings)
        error, valid = caught.value, chat.client.preview(build("My key is that."))
    assert error.preview is not None
    assert (error.preview.url.startswith(url), error.preview.url) == (True, valid.url)
    assert error.preview.headers == valid.headers
    assert error.preview.headers["x-team"] == "tides"
    assert KEY not in str(error.preview)
    assert "My key is ***." in str(error.preview)
    assert error.preview.model == model.partition(":")[2]
    assert (error.account, error.status, error.response_headers) == (None, None, {})
    assert pickle.loads(pickle.dumps(error)).preview == error.preview


def test_a_rule_error_of_the_client_has_the_request_that_was_not_sent(drive: Drive) -> None:
    request = openai.ChatCompletionRequest(
        model="gpt-5.4", messages=[openai.Message(role="user", content="Hi")], temperature=3
    )
    call = openai.chat_completions(request)
    with pytest.raises(errors.RuleError) as caught:
        drive.send(call, provider="openai", api_key=KEY)
    with Client("openai", api_key=KEY) as client:
        assert caught.value.preview == client.preview(call)
    assert caught.value.account is None


def test_a_request_that_cannot_be_built_has_no_preview() -> None:
    with Chat("openai:gpt-5.2", api_key=KEY) as chat:
        with pytest.raises(errors.RuleError) as caught:
            chat.ask("Hi", temperature=float("nan"))
    assert caught.value.preview is None


# --- flows ----------------------------------------------------------------------------------------


def test_an_error_of_an_upload_has_the_request_that_failed(drive: Drive) -> None:
    def script(number: int, request: bytes) -> list[bytes]:
        if number == 0:
            return [whole(b"", x_goog_upload_url=f"{server.url}/up?upload_id=fake-session")]
        return [whole({"error": {"code": 400, "message": "no"}}, 400)]

    with loopback(script) as server, pytest.raises(errors.BadRequestError) as caught:
        flow = gemini.upload_file(b"\0abc", mime_type="text/plain")
        drive.run(flow, api_key=KEY, base_url=server.url)
    preview = caught.value.preview
    assert preview is not None
    assert preview.url.endswith("/up?upload_id=***")
    assert preview.body == b"\0abc"
    assert "x-goog-api-key" not in preview.headers


def test_the_error_of_a_failed_job_has_the_last_request(drive: Drive) -> None:
    failed = {"name": "files/abc", "state": "FAILED", "error": {"code": 3, "message": "no video"}}
    with loopback([whole(failed)]) as server, pytest.raises(errors.BadRequestError) as caught:
        drive.run(gemini.wait_for_file("files/abc"), api_key=KEY, base_url=server.url)
    preview, account = caught.value.preview, caught.value.account
    assert preview is not None
    assert account is not None
    assert (preview.method, preview.headers["x-goog-api-key"]) == ("GET", "***")
    assert preview.url.endswith("/v1beta/files/abc")
    assert (account.attempts, account.status) == (1, 200)


def test_what_was_not_sent_has_no_request() -> None:
    client = Client("gemini", api_key=KEY)
    client.close()
    for call in (CALL, gemini.get_model("m")):
        with pytest.raises(errors.ConfigurationError) as caught:
            client.send(call)
        error = caught.value
        assert (error.preview, error.account, error.response_headers) == (None, None, {})
    with pytest.raises(errors.ConfigurationError) as caught:
        client.run(gemini.wait_for_file("files/abc"))
    assert caught.value.preview is None


# --- copies, keys ---------------------------------------------------------------------------------


def test_copies_refer_to_the_same_body_and_pickles_contain_it(drive: Drive) -> None:
    error, _ = error_of(drive, [FULL])
    assert error.preview is not None
    copied = copy.copy(error)
    assert copied.preview is error.preview
    assert copied.account is error.account
    for restored in (copy.deepcopy(error), pickle.loads(pickle.dumps(error))):
        assert restored.preview == error.preview
        assert restored.account == error.account
        assert restored.response_headers == error.response_headers


def test_a_key_in_the_body_is_hidden(drive: Drive) -> None:
    request = gemini.GenerateContentRequest(contents=gemini.contents(f"My key is {KEY}."))
    call = gemini.generate_content("m", request)
    error, _ = error_of(drive, [FULL], call)
    assert error.preview is not None
    assert b"My key is ***." in error.preview.body
    assert Client("gemini", api_key=KEY, base_url="http://127.0.0.1:9").preview(call).body == (
        error.preview.body
    )
    for shown in (str(error.preview), error.preview.curl, str(pickle.dumps(error.preview))):
        assert KEY not in shown


def test_a_token_is_hidden_in_the_request_of_an_error() -> None:
    calls: list[str] = []

    def token() -> str:
        calls.append(f"fake-token-number-{len(calls)}")
        return calls[-1]

    request = gemini.GenerateContentRequest(contents=gemini.contents("Is fake-token-number-0 ok?"))
    http = httpx.MockTransport(lambda request: httpx.Response(503, json={}))
    vertex = {"project": "p", "location": "global", "http": http, "retry": Retry(base=0)}
    with Client("gemini@vertex", token=token, **vertex) as client:
        with pytest.raises(errors.OverloadedError) as caught:
            client.send(gemini.generate_content("m", request))
    preview = caught.value.preview
    assert preview is not None
    assert len(calls) == 3
    assert preview.headers["authorization"] == "Bearer ***"
    assert b"Is *** ok?" in preview.body
    assert preview.model == "m"


def test_repr_of_a_preview_has_no_body() -> None:
    preview = Preview("POST", "https://host.example/v1", {"a": "b"}, b'{"model":"m"}')
    assert repr(preview) == (
        "Preview('POST', 'https://host.example/v1', headers={'a': 'b'}, body=<13 bytes>)"
    )


@joined(
    ("call", "model"),
    [
        (CALL, "m"),
        (gemini.get_model("gemini-3.8-flash"), "gemini-3.8-flash"),
        (gemini.get_model("tunedModels/mine"), "mine"),
        (gemini.list_models(), ""),
        (openai.get_model("ft:gpt-5.4:org::id"), "ft:gpt-5.4:org::id"),
        (gemini.upload_file(b"\0abc", mime_type="text/plain").send(None), ""),
    ],
)
def test_the_model_of_a_preview(call: Any, model: str) -> None:
    assert call.preview().model == model


@joined("body", [b'{"model": 5}', b'{"model": "\xff"}', b"[" * 5000, b"\0"])
def test_a_body_without_a_model_has_none(body: bytes) -> None:
    assert Preview("POST", "https://host.example/v1/chat", {}, body).model == ""


# --- hosts in messages ----------------------------------------------------------------------------


def test_lost_connections_and_clocks_name_the_host(drive: Drive) -> None:
    first = Timeouts(first_byte=0.25)
    idle = Timeouts(idle=0.05)
    begun = [STREAM, event(text("Hel"))]
    for steps, call, options, message in (
        (["close"], CALL, {}, "no response from {}: "),
        ([*begun, "reset"], STREAM_CALL, {}, "the response from {} broke off: "),
        (["hold"], CALL, {"timeouts": first}, "is over: no response from {}; "),
        ([*begun, "hold"], STREAM_CALL, {"timeouts": idle}, "is over: no further event from {}; "),
        (["hold"], CALL, {"timeouts": Timeouts(total=0.05)}, "the call to {} is not complete"),
    ):
        error, url = error_of(drive, steps, call, retry=ONCE, **options)
        assert message.format(url.removeprefix("http://")) in error.message


@not_on_httpx2("proxies of the environment are those of the default transport")
def test_a_lost_connection_names_the_proxy(drive: Drive, monkeypatch: pytest.MonkeyPatch) -> None:
    with loopback(["close"]) as server:
        port = server.url.rpartition(":")[2]
        monkeypatch.setenv("HTTPS_PROXY", f"http://user:fake-password@127.0.0.1:{port}")
        with pytest.raises(errors.ConnectionLost) as caught:
            drive.send(api_key=KEY, retry=ONCE)
    where = f"generativelanguage.googleapis.com through the proxy http://***@127.0.0.1:{port}"
    assert f"no response from {where}: " in caught.value.message
    assert "fake-password" not in str(vars(caught.value))
