"""Clients with credentials of AWS, against the emulator, which verifies each signature."""

from __future__ import annotations

import copy
import pickle
import time
import traceback
from typing import Any

import httpx
import pytest

import wire.errors
from tests.auth.servers import Servers, call, request, sent_with
from tests.http.drive import EVERY, Drive
from wire import Call, Chat, Client, anthropic, openai
from wire.around import AttemptStarted, Change
from wire.auth import Bearer, HeaderKey, SigV4

ARN = "arn:aws:bedrock:us-west-2:123456789012:application-inference-profile/abc123"
SECRET = "fake-secret-key"
KEYS = SigV4("fake-access-key", SECRET)


@pytest.mark.parametrize("drive", EVERY)
@pytest.mark.parametrize("model", ["us.anthropic.claude-opus-4-8-v1:0", ARN])
def test_a_signed_call(drive: Drive, model: str) -> None:
    servers = Servers()
    answer = drive.session(
        lambda door: door.send(call(model)),
        "bedrock@invoke",
        api_key=None,
        region="us-west-2",
        credentials=KEYS,
        http=servers,
    )
    assert "You said: Hi" in answer.content[0].text
    (sent,) = servers.sent
    assert sent.headers["authorization"].startswith("AWS4-HMAC-SHA256 Credential=fake-access-key/")
    assert "SignedHeaders=content-type;host;x-amz-date," in sent.headers["authorization"]


@pytest.mark.parametrize("drive", EVERY)
def test_a_signed_stream(drive: Drive) -> None:
    streamed = drive.session(
        lambda door: door.read(anthropic.stream_message(request())).reply,
        "bedrock@invoke",
        api_key=None,
        region="us-west-2",
        credentials=SigV4("fake-access-key", SECRET, "fake-session-token"),
        http=Servers(),
    )
    assert streamed.stop_reason == "end_turn"


def test_a_chat_on_each_host_that_takes_signatures() -> None:
    for name, model in (
        ("bedrock@invoke", "anthropic.claude-opus-4-8"),
        ("bedrock@anthropic", "anthropic.claude-opus-4-8"),
        ("bedrock@responses", "openai.gpt-5.6"),
        ("bedrock@openai", "openai.gpt-oss-120b"),
        ("bedrock@openai-runtime", "openai.gpt-oss-120b"),
    ):
        servers = Servers(provider=name)
        chat = Chat(f"{name}:{model}", region="us-west-2", credentials=KEYS, http=servers)
        assert "Hi" in chat.ask("Hi").text, name
        service = {"bedrock@invoke": "bedrock", "bedrock@openai-runtime": "bedrock"}
        scope = f"/us-west-2/{service.get(name, 'bedrock-mantle')}/aws4_request"
        assert scope in servers.sent[0].headers["authorization"], name


@pytest.mark.parametrize("drive", EVERY)
@pytest.mark.parametrize("shift", [3600, -3600])
def test_a_clock_that_is_off_by_an_hour_is_corrected_once(drive: Drive, shift: int) -> None:
    servers = Servers(clock=lambda: time.time() + shift)

    def work(door: Any) -> None:
        door.send(call())
        door.send(call())

    drive.session(
        work,
        "bedrock@invoke",
        api_key=None,
        region="us-west-2",
        credentials=KEYS,
        http=servers,
        retry=None,
    )
    assert len(servers.sent) == 3  # the second call knows the time of the server
    assert servers.sent[0].headers["x-amz-date"] != servers.sent[1].headers["x-amz-date"]


def test_a_server_whose_clock_jumps_is_not_asked_for_ever() -> None:
    hours = iter(range(1, 100))
    servers = Servers(clock=lambda: time.time() + 7200 * next(hours))
    with pytest.raises(wire.errors.AuthError) as refused:
        sent_with(Drive("sync"), servers, credentials=KEYS)
    assert "Signature expired" in str(refused.value)
    assert len(servers.sent) == 2


REFUSED = [
    (SigV4("fake-access-key", "another-secret"), "InvalidSignatureException", "does not match"),
    (SigV4("unknown-key", SECRET), "UnrecognizedClientException", "token included"),
    (SigV4("fake-access-key", SECRET, "expired-token"), "ExpiredTokenException", "is expired"),
    (SigV4("fake-access-key", SECRET, "bad-token"), "UnrecognizedClientException", "is invalid"),
    (SigV4("fake-access-key", SECRET, region="eu-west-1"), "InvalidSignatureException", "region"),
    (SigV4("fake-access-key", SECRET, service="s3"), "InvalidSignatureException", "'bedrock'"),
]


@pytest.mark.parametrize(("keys", "code", "words"), REFUSED, ids=[each[2] for each in REFUSED])
def test_what_aws_refuses(keys: SigV4, code: str, words: str) -> None:
    servers = Servers()
    with pytest.raises(wire.errors.AuthError) as refused:
        sent_with(Drive("sync"), servers, credentials=keys)
    assert (refused.value.status, refused.value.code) == (403, code)
    assert words in str(refused.value)
    assert len(servers.sent) == 1


def test_a_changed_body_is_refused() -> None:
    emulator = Servers()

    def changed(sent: httpx.Request) -> httpx.Response:
        other = httpx.Request(sent.method, sent.url, headers=sent.headers, content=b"{}")
        return emulator.handle_request(other)

    client = Client(
        "bedrock@invoke", region="us-west-2", credentials=KEYS, http=httpx.MockTransport(changed)
    )
    with pytest.raises(wire.errors.AuthError, match="does not match"):
        client.send(call())


def test_each_attempt_is_signed_anew_and_around_sees_it_before() -> None:
    servers, seen = Servers(), []

    def around(outgoing: Any) -> Any:
        while True:
            moment = yield
            if isinstance(moment, AttemptStarted):
                seen.append(dict(outgoing.call.headers))
                changed = outgoing.call.replace(headers={"x-amz-thing": f"n{moment.attempt}"})
                yield Change(changed)

    faulty = call().replace(headers={"x-wire-fault": "503; times=1"})
    with Client(
        "bedrock@invoke",
        region="us-west-2",
        credentials=KEYS,
        http=servers,
        around=around,
        retry=wire.retry.Retry(base=0),
    ) as client:
        client.send(faulty)
    assert len(servers.sent) == 2
    assert all("authorization" not in headers for headers in seen)
    first, second = (each.headers["authorization"] for each in servers.sent)
    assert first != second
    assert "host;x-amz-date;x-amz-thing" in first


def test_nothing_shows_a_secret() -> None:
    keys = SigV4("fake-access-key", SECRET, "fake-session-token")
    client = Client("bedrock@invoke", region="us-west-2", credentials=keys, http=Servers())
    shown = [repr(keys), repr(client), str(client.describe()), str(client.preview(call()))]
    shown += [repr(pickle.dumps(keys)), repr(copy.deepcopy(keys)), repr(client._target)]
    try:
        SigV4("fake-access-key", SECRET, region=5)  # type: ignore[arg-type]
    except wire.errors.ConfigurationError as error:
        told = traceback.TracebackException.from_exception(error, capture_locals=True)
        shown.append("".join(told.format()))
    assert not [text for text in shown if SECRET in text or "fake-session-token" in text]


def test_a_secret_that_the_server_repeats_is_hidden() -> None:
    echo = httpx.MockTransport(
        lambda sent: httpx.Response(
            403, json={"message": f"{SECRET} and {sent.headers['x-amz-security-token']}"}
        )
    )
    keys = SigV4("fake-access-key", SECRET, "fake-session-token")
    client = Client("bedrock@invoke", region="us-west-2", credentials=keys, http=echo)
    with pytest.raises(wire.errors.AuthError) as refused:
        client.send(call())
    assert str(refused.value).endswith("*** and ***")


BAD: list[tuple[Any, str]] = [
    (lambda: SigV4("fake-access-key", ""), "SigV4.secret_access_key: it is missing"),
    (lambda: SigV4("", SECRET), "SigV4.access_key_id: it is missing"),
    (lambda: SigV4("fake-access-key", 5), "SigV4.secret_access_key: expected a str, not int"),  # type: ignore[arg-type]
    (lambda: SigV4("fake-access-key", SECRET, expires="x"), "SigV4.expires: expected seconds"),  # type: ignore[arg-type]
    (lambda: SigV4("fake-access-key", SECRET, "a\nb"), "SigV4.session_token"),
    (lambda: Bearer(""), "Bearer.token: it is empty"),
    (lambda: HeaderKey("a b", "fake-key"), "HeaderKey.header: expected the name"),
]


@pytest.mark.parametrize(("make", "words"), BAD, ids=[each[1][:30] for each in BAD])
def test_a_credential_that_is_none(make: Any, words: str) -> None:
    with pytest.raises(wire.errors.ConfigurationError) as refused:
        make()
    assert str(refused.value).startswith(words)
    assert SECRET not in str(refused.value)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"credentials": KEYS, "api_key": "fake-key"}, "credentials: give it or api_key, not both"),
        ({"credentials": KEYS, "token": lambda: "x"}, "credentials: give it or token, not both"),
        ({"credentials": 5}, "credentials: expected a credential of wire.auth"),
        ({"credentials": "aws:nothing"}, "credentials: 'aws:nothing' is no source; expected one"),
        ({"credentials": "fake-key-of-somebody-1234"}, "credentials: "),
    ],
)
def test_an_option_that_is_none(options: dict[str, Any], words: str) -> None:
    with pytest.raises(wire.errors.ConfigurationError) as refused:
        Client("bedrock@invoke", region="us-west-2", **options)
    assert words in str(refused.value)


def test_ended_keys_are_refused_before_anything_is_sent() -> None:
    servers = Servers()
    with pytest.raises(wire.errors.ConfigurationError, match="ended at 2026-01-01 00:00:00 UTC"):
        sent_with(
            Drive("sync"),
            servers,
            credentials=SigV4("fake-access-key", SECRET, expires=1767225600),
        )
    assert servers.sent == []


def test_a_host_that_takes_no_signatures() -> None:
    with pytest.raises(wire.errors.ConfigurationError, match="takes no signatures of AWS"):
        sent_with(Drive("sync"), Servers(), "anthropic", credentials=SigV4("a", "b", region="r"))


def test_nothing_is_signed_for_a_url_of_a_server() -> None:
    sent: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(request)
        return httpx.Response(200, content=b"ok")

    upload: Call[bytes] = Call(
        "anthropic",
        "PUT",
        "",
        url="https://upload.example/a",
        parse=bytes,
        read_error=lambda *_: wire.errors.WireError(),
    )
    with Client("anthropic@aws", region="us-west-2", workspace="w", credentials=KEYS,
                http=httpx.MockTransport(answer)) as client:  # fmt: skip
        client.send(upload)
    assert "authorization" not in sent[0].headers


def test_a_redirect_is_not_followed() -> None:
    answer = httpx.MockTransport(
        lambda sent: httpx.Response(307, headers={"location": "https://other.example/"})
    )
    client = Client("bedrock@invoke", region="us-west-2", credentials=KEYS, http=answer)
    with pytest.raises(wire.errors.APIError, match="redirects are not followed"):
        client.send(call())


def test_a_key_in_any_header() -> None:
    seen: list[httpx.Request] = []

    def answer(sent: httpx.Request) -> httpx.Response:
        seen.append(sent)
        return httpx.Response(200, json={"data": []})

    with Client("openai", credentials=HeaderKey("x-gateway-key", "fake-key"),
                http=httpx.MockTransport(answer)) as client:  # fmt: skip
        client.send(openai.list_models())
    assert seen[0].headers["x-gateway-key"] == "fake-key"
    assert "authorization" not in seen[0].headers
