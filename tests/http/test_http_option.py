"""`http=`: the transport under the client; Vertex."""

from __future__ import annotations

import asyncio
import ssl
from typing import Any

import anyio
import httpx
import pytest

from tests.http.drive import CALL, STREAM_CALL, Drive
from tests.http.loopback import ANSWER, GOOD_STREAM, loopback, whole
from tests.joined import joined
from wire import AsyncClient, Client, errors


def answering(request: httpx.Request) -> httpx.Response:
    if b"stream" in request.url.raw_path:
        return httpx.Response(200, content=b'data: {"candidates":[{"finishReason":"STOP"}]}\n\n')
    return httpx.Response(200, json=ANSWER)


def test_any_transport(drive: Drive) -> None:
    assert drive.send(http=httpx.MockTransport(answering)).text == "Hello."
    assert drive.read(http=httpx.MockTransport(answering)).reply.finish_reason == "STOP"


def test_any_client(drive: Drive) -> None:
    kind = httpx.Client if drive.name == "sync" else httpx.AsyncClient
    assert drive.send(http=kind(transport=httpx.MockTransport(answering))).text == "Hello."
    assert (
        drive.read(http=kind(transport=httpx.MockTransport(answering))).reply.finish_reason
        == "STOP"
    )


def test_a_client_follows_no_redirects_for_us(drive: Drive) -> None:
    kind = httpx.Client if drive.name == "sync" else httpx.AsyncClient
    asked: list[httpx.URL] = []

    def redirecting(request: httpx.Request) -> httpx.Response:
        asked.append(request.url)
        return httpx.Response(307, headers={"location": "https://elsewhere.example/"})

    with pytest.raises(errors.APIError, match="redirects are not followed"):
        drive.send(http=kind(transport=httpx.MockTransport(redirecting), follow_redirects=True))
    assert [url.host for url in asked] == ["generativelanguage.googleapis.com"]


@pytest.mark.row("S3-20")
@pytest.mark.parametrize("whose", ["transport", "client", "own"])
def test_a_closed_client_sends_nothing(drive: Drive, whose: str) -> None:
    """Nor does one whose transport would send after it was closed."""
    sent: list[httpx.Request] = []

    def seen(request: httpx.Request) -> httpx.Response:
        sent.append(request)
        return answering(request)

    kind = httpx.Client if drive.name == "sync" else httpx.AsyncClient
    http: Any = {
        "transport": httpx.MockTransport(seen),
        "client": kind(transport=httpx.MockTransport(seen)),
        "own": "auto",
    }[whose]
    options: dict[str, Any] = {"api_key": "fake-key", "http": http}
    if drive.name == "sync":
        client = Client("gemini", **options)
        client.close()
        client.close()
        with pytest.raises(errors.ConfigurationError, match="the client is closed"):
            client.send(CALL)
        with pytest.raises(errors.ConfigurationError, match="the client is closed"):
            with client.stream(STREAM_CALL):
                pass
    else:

        async def main() -> None:
            client = AsyncClient("gemini", **options)
            await client.aclose()
            await client.aclose()
            with pytest.raises(errors.ConfigurationError, match="the client is closed"):
                await client.send(CALL)
            with pytest.raises(errors.ConfigurationError, match="the client is closed"):
                async with client.stream(STREAM_CALL):
                    pass

        anyio.run(main, backend=drive.name)
    assert sent == []


def test_by_name(drive: Drive) -> None:
    with loopback([whole(ANSWER)]) as server:
        assert drive.send(http="httpx", base_url=server.url).text == "Hello."


@joined("wrong", ["curl", 5, object(), None], ids=["name", "number", "object", "none"])
def test_what_is_no_transport_is_named(wrong: Any) -> None:
    for client in (Client, AsyncClient):
        with pytest.raises(errors.ConfigurationError, match="http: "):
            client("gemini", api_key="fake-key", http=wrong)


def test_sync_and_async_are_not_mixed_up() -> None:
    with pytest.raises(errors.ConfigurationError, match=r"handle_request\(\) or an httpx.Client"):
        Client("gemini", http=httpx.AsyncClient(verify=False))  # type: ignore[arg-type]
    with pytest.raises(
        errors.ConfigurationError, match=r"handle_async_request\(\) or an httpx.AsyncClient"
    ):
        AsyncClient("gemini", http=httpx.Client(verify=False))  # type: ignore[arg-type]


def test_describe() -> None:
    with Client("gemini", api_key="fake-key", base_url="http://localhost:1/") as client:
        shown = client.describe()
    assert (shown["provider"], shown["base_url"], shown["key"], shown["http"], shown["proxy"]) == (
        "gemini",
        "http://localhost:1/v1beta",
        "argument",
        "Lanes",
        None,
    )
    with Client("gemini", api_key="fake-key", http=httpx.MockTransport(answering)) as client:
        shown = client.describe()
    assert (shown["http"], shown["proxy"]) == ("MockTransport", "as http= decides")


# --- Vertex ---------------------------------------------------------------------------------------

VERTEX = {"api_key": None, "project": "my-project", "location": "europe-west4"}


def test_vertex_paths_and_a_token_for_each_attempt() -> None:
    tokens = iter(["fake-token-1", "fake-token-2"])
    asked: list[tuple[str, str]] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append((str(request.url), request.headers["authorization"]))
        assert "x-goog-api-key" not in request.headers
        return httpx.Response(503 if len(asked) == 1 else 200, json=ANSWER)

    from tests.http.drive import QUICK

    with Client(
        "gemini@vertex",
        project="my-project",
        location="europe-west4",
        token=lambda: next(tokens),
        retry=QUICK,
        http=httpx.MockTransport(answer),
    ) as client:
        assert client.send(CALL).text == "Hello."
    path = "https://europe-west4-aiplatform.googleapis.com/v1beta1/projects/my-project/locations/europe-west4/publishers/google"
    assert asked == [
        (f"{path}/models/m:generateContent", f"Bearer fake-token-{number}") for number in (1, 2)
    ]


def test_vertex_async_token() -> None:
    async def token() -> str:
        await asyncio.sleep(0)
        return "fake-token"

    def answer(request: httpx.Request) -> httpx.Response:
        assert request.url.host == "aiplatform.googleapis.com"
        assert request.headers["authorization"] == "Bearer fake-token"
        return httpx.Response(200, json=ANSWER)

    async def main() -> str:
        transport = httpx.MockTransport(answer)
        async with AsyncClient(
            "gemini@vertex", project="p", location="global", token=token, http=transport
        ) as client:
            return (await client.send(CALL)).text

    assert anyio.run(main) == "Hello."
    with pytest.raises(
        errors.ConfigurationError, match="token: an async function needs AsyncClient"
    ):
        Client("gemini@vertex", project="p", location="global", token=token)


def test_vertex_express_key(drive: Drive) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        assert request.headers["x-goog-api-key"] == "fake-key"
        return httpx.Response(200, json=ANSWER)

    with Client(
        "gemini@vertex",
        api_key="fake-key",
        project="p",
        location="global",
        http=httpx.MockTransport(answer),
    ) as client:
        assert client.send(CALL).text == "Hello."


@joined("token", ["", 5, "two words", "line\nend"], ids=repr)
def test_a_token_that_is_none_is_an_error_of_ours(token: Any) -> None:
    with Client(
        "gemini@vertex",
        project="p",
        location="global",
        token=lambda: token,
        http=httpx.MockTransport(answering),
    ) as client:
        with pytest.raises(errors.ConfigurationError, match="token"):
            client.send(CALL)


def test_streams_over_the_default_transport_too(drive: Drive) -> None:
    with loopback(GOOD_STREAM) as server:
        assert drive.read(STREAM_CALL, base_url=server.url).reply.text == "Hello."


@pytest.mark.parametrize("chained", [True, False])
def test_a_certificate_that_does_not_verify_is_not_tried_again(drive: Drive, chained: bool) -> None:
    words = "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: self-signed certificate"
    attempts: list[httpx.Request] = []

    def refuse(request: httpx.Request) -> httpx.Response:
        attempts.append(request)
        if not chained:
            raise httpx.ConnectError(words)
        raise httpx.ConnectError("no TLS") from ssl.SSLCertVerificationError(1, "self-signed")

    with pytest.raises(errors.ConnectionLost, match="certificate is not trusted") as caught:
        drive.send(http=httpx.MockTransport(refuse))
    assert (len(attempts), caught.value.retryable) == (1, False)
