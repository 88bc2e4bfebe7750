"""One exchange at a time, over threads and tasks; renewed before the end."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import anyio
import anyio.lowlevel
import httpx
import pytest

import wire.errors
from tests.auth.servers import Servers, bearers, call, sent_with, told
from tests.http.drive import EVERY, Drive
from wire import AsyncClient, Client
from wire.auth import Bearer, Callback, EntraSecret, HeaderKey, SigV4
from wire.auth.credential import Fetched, Place
from wire.auth.held import Held
from wire.http import granting

AZURE = {"resource": "my-resource"}
TOKENS = "https://login.microsoftonline.com/"
ENTRA = EntraSecret("my-tenant", "my-client", "fake-client-secret")


class Clock:
    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


def exchanged(held: Held, outcomes: list[Any]) -> Any:
    """Run the steps of an exchange; each outcome answers one of them."""
    steps, outcome = held.steps(), None
    try:
        while True:
            step = (
                steps.send(outcome)
                if not isinstance(outcome, BaseException)
                else (steps.throw(outcome))
            )
            outcome = outcomes.pop(0)
            outcome = step.function() if outcome is None else outcome
    except StopIteration as end:
        return end.value


def answered(token: str, seconds: int) -> Fetched:
    body = b'{"access_token": "%b", "expires_in": %d}' % (token.encode(), seconds)
    return Fetched(200, {}, body)


PLACE = Place("azure@anthropic", "https://x.example")


def test_a_token_is_renewed_five_minutes_before_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(time, "time", clock)
    held = Held(ENTRA, PLACE, clock)
    first = exchanged(held, [answered("fake-token-1", 3600)])
    clock.now += 3600 - 301
    assert exchanged(held, []) is first
    clock.now += 2
    second = exchanged(held, [answered("fake-token-2", 3600)])
    assert second.token.reveal() == "fake-token-2"


def test_a_short_life_is_used_for_half_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(time, "time", clock)
    held = Held(ENTRA, PLACE, clock)
    first = exchanged(held, [answered("fake-token-1", 60)])
    clock.now += 29
    assert exchanged(held, []) is first
    clock.now += 2
    assert exchanged(held, [answered("fake-token-2", 60)]) is not first


def test_a_failed_renewal_leaves_what_is_still_valid(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(time, "time", clock)
    held = Held(ENTRA, PLACE, clock)
    first = exchanged(held, [answered("fake-token-1", 3600)])
    clock.now += 3500
    assert exchanged(held, [Fetched(503, {}, b"")]) is first
    assert exchanged(held, []) is first  # no second try at once
    clock.now += 6
    assert exchanged(held, [Fetched(503, {}, b"")]) is first
    clock.now += 200
    with pytest.raises(wire.errors.AuthenticationError, match="Entra refused"):
        exchanged(held, [Fetched(503, {}, b"")])


def test_a_renewal_that_is_left_is_taken_over() -> None:
    held = Held(ENTRA, PLACE)
    steps = held.steps()
    next(steps)
    waiting = held.steps()
    wait = next(waiting)
    assert not wait.signal.is_set
    steps.close()  # its task was cancelled
    assert wait.signal.is_set
    step = waiting.send(None)
    assert step.what == "the token endpoint of Entra"


def test_those_who_wait_get_what_the_first_one_gets() -> None:
    held = Held(ENTRA, PLACE)
    steps = held.steps()
    next(steps)
    waiting = held.steps()
    next(waiting)
    with pytest.raises(StopIteration) as first:
        steps.send(answered("fake-token-1", 3600))
    with pytest.raises(StopIteration) as second:
        waiting.send(None)
    assert first.value.value is second.value.value


def test_those_who_wait_fail_with_the_first_one() -> None:
    held = Held(ENTRA, PLACE)
    steps = held.steps()
    next(steps)
    waiting = held.steps()
    next(waiting)
    refused = Fetched(401, {}, b'{"error": "invalid_client", "error_description": "no"}')
    with pytest.raises(wire.errors.AuthenticationError) as first:
        steps.send(refused)
    with pytest.raises(wire.errors.AuthenticationError) as second:
        waiting.send(None)
    assert str(first.value) == str(second.value)
    assert first.value is not second.value


def test_an_exchange_that_cannot_be_sent_is_left_for_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Otherwise the next thread would wait for it, as long as the error is kept."""
    servers = Servers({TOKENS: told({"access_token": "fake-token-0001", "expires_in": 3600})})
    client = Client("azure@anthropic", credentials=ENTRA, http=servers, **AZURE)

    def broken(*_: Any) -> Any:
        raise RuntimeError("broken")

    monkeypatch.setattr(granting, "token_attempt", broken)
    with pytest.raises(RuntimeError) as kept:
        client.send(call("claude-opus-4-8"))
    monkeypatch.undo()
    client.send(call("claude-opus-4-8"))
    assert str(kept.value) == "broken"
    assert len(servers.asked) == 1


def test_thirty_threads_exchange_once() -> None:
    begun = threading.Barrier(30)
    servers = Servers({TOKENS: told({"access_token": "fake-token-0001", "expires_in": 3600})})
    client = Client("azure@anthropic", credentials=ENTRA, http=servers, **AZURE)

    def send(_: int) -> None:
        begun.wait(30)
        client.send(call("claude-opus-4-8"))

    with ThreadPoolExecutor(30) as pool:
        list(pool.map(send, range(30)))
    assert len(servers.asked) == 1
    assert bearers(servers) == ["Bearer fake-token-0001"] * 30


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_thirty_tasks_exchange_once(backend: str) -> None:
    calls: list[int] = []

    async def token() -> Bearer:
        calls.append(1)
        await anyio.lowlevel.checkpoint()
        return Bearer("fake-token-0001", expires=time.time() + 3600)

    servers = Servers()

    async def main() -> None:
        credentials = Callback(token)
        async with AsyncClient(
            "azure@anthropic", credentials=credentials, http=servers, **AZURE
        ) as client:
            async with anyio.create_task_group() as group:
                for _ in range(30):
                    group.start_soon(client.send, call("claude-opus-4-8"))

    anyio.run(main, backend=backend)
    assert len(calls) == 1
    assert bearers(servers) == ["Bearer fake-token-0001"] * 30


@pytest.mark.parametrize("drive", EVERY)
def test_a_text_is_asked_for_before_each_attempt(drive: Drive) -> None:
    tokens = iter(["fake-token-0001", "fake-token-0002"])
    servers = Servers()
    faulty = call("claude-opus-4-8").replace(headers={"x-wire-fault": "503; times=1"})
    drive.session(
        lambda door: door.send(faulty),
        "azure@anthropic",
        api_key=None,
        http=servers,
        credentials=Callback(lambda: next(tokens)),
        **AZURE,
    )
    assert bearers(servers) == ["Bearer fake-token-0001", "Bearer fake-token-0002"]


@pytest.mark.parametrize("drive", EVERY)
def test_a_token_that_the_host_calls_expired_is_exchanged_once_more(drive: Drive) -> None:
    tokens = iter(["expired-token", "fake-token-0002"])
    end = time.time() + 3600
    servers = Servers()
    sent_with(
        drive,
        servers,
        "anthropic@vertex",
        project="p",
        location="global",
        retry=None,
        credentials=Callback(lambda: Bearer(next(tokens), expires=end)),
    )
    assert bearers(servers) == ["Bearer expired-token", "Bearer fake-token-0002"]


def test_a_token_that_is_refused_twice_is_not_asked_for_again() -> None:
    servers, end = Servers(), time.time() + 3600
    with pytest.raises(wire.errors.AuthenticationError):
        sent_with(
            Drive("sync"),
            servers,
            "anthropic@vertex",
            project="p",
            location="global",
            credentials=Callback(lambda: Bearer("expired-token", expires=end)),
        )
    assert len(servers.sent) == 2


@pytest.mark.parametrize("drive", EVERY)
def test_a_callback_signs_and_an_expired_session_is_asked_for_again(drive: Drive) -> None:
    sessions = iter(["expired-session-token", "fake-session-token"])
    servers = Servers()
    keys = lambda: SigV4("fake-access-key", "fake-secret-key", next(sessions))  # noqa: E731
    sent_with(drive, servers, credentials=Callback(keys), retry=None)
    assert [each.headers["x-amz-security-token"] for each in servers.sent] == [
        "expired-session-token",
        "fake-session-token",
    ]


def test_an_async_function_needs_an_async_client() -> None:
    async def token() -> str:
        return "fake-token-0001"

    with pytest.raises(wire.errors.ConfigurationError, match="needs AsyncClient"):
        Client("azure@anthropic", credentials=Callback(token), **AZURE)
    credentials = Callback(lambda: token())
    client = Client("azure@anthropic", credentials=credentials, http=Servers(), **AZURE)
    with pytest.raises(wire.errors.ConfigurationError, match="needs AsyncClient"):
        client.send(call("claude-opus-4-8"))


@pytest.mark.parametrize("value", [5, None, b"fake", ["fake-token"]])
def test_a_function_that_returns_no_token(value: Any) -> None:
    client = Client("azure@anthropic", credentials=Callback(lambda: value), http=Servers(), **AZURE)
    with pytest.raises(wire.errors.ConfigurationError, match="its function returned a"):
        client.send(call("claude-opus-4-8"))


def test_a_callback_that_gives_a_key_in_a_header() -> None:
    servers = Servers()
    credentials = Callback(lambda: HeaderKey("api-key", "fake-key-0001"))
    with Client("azure@anthropic", credentials=credentials, http=servers, **AZURE) as client:
        client.send(call("claude-opus-4-8").replace(headers={"x-api-key": "fake-key-0002"}))
    assert servers.sent[0].headers["api-key"] == "fake-key-0001"


def test_a_server_of_tokens_gets_nothing_of_the_client() -> None:
    servers = Servers({TOKENS: told({"access_token": "fake-token-0001", "expires_in": 3600})})
    seen: list[Any] = []

    def around(outgoing: Any) -> Any:
        seen.append(outgoing.call.path)
        yield

    with Client(
        "azure@anthropic",
        credentials=ENTRA,
        http=servers,
        headers={"x-mine": "1"},
        around=around,
        **AZURE,
    ) as client:
        client.send(call("claude-opus-4-8"))
    assert seen == ["/messages"]
    assert "x-mine" not in servers.asked[0].headers
    assert "x-mine" in servers.sent[0].headers


@pytest.mark.parametrize("drive", EVERY)
def test_a_failing_server_of_tokens_is_asked_again_by_the_policy_of_the_call(drive: Drive) -> None:
    answers = iter([503, 429, 200])

    def answer(request: httpx.Request) -> httpx.Response:
        body = {"access_token": "fake-token-0001", "expires_in": 3600}
        return httpx.Response(next(answers), json=body)

    servers = Servers({TOKENS: answer})
    drive.session(
        lambda door: door.send(call("claude-opus-4-8")),
        "azure@anthropic",
        api_key=None,
        http=servers,
        credentials=ENTRA,
        **AZURE,
    )
    assert (len(servers.asked), len(servers.sent)) == (3, 1)


def test_an_unreachable_server_of_tokens() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused")

    client = Client(
        "azure@anthropic", credentials=ENTRA, http=Servers({TOKENS: answer}), retry=None, **AZURE
    )
    with pytest.raises(wire.errors.ConnectionLost) as lost:
        client.send(call("claude-opus-4-8"))
    assert "no response from login.microsoftonline.com" in str(lost.value)
    assert "(credentials: the token endpoint of Entra)" in str(lost.value)


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        (b"<html>", 200, "answered no JSON object"),
        (b"[]", 200, "answered no JSON object"),
        (b"{}", 200, "has no access_token"),
        (b'{"access_token": 5}', 200, "has no access_token"),
        (b'{"error": "invalid_client", "error_description": "fake-client-secret is wrong"}', 401,
         "401 invalid_client: credentials: the token endpoint of Entra refused: *** is wrong"),
        (b"\xff", 500, "500: credentials"),
        (b"", 302, "302: credentials"),
        (b'{"access_token": "fake-token-0001", "expires_in": -5}', 200, "they ended at"),
    ],
)  # fmt: skip
def test_what_a_server_of_tokens_may_answer(body: bytes, status: int, words: str) -> None:
    servers = Servers({TOKENS: lambda request: httpx.Response(status, content=body)})
    client = Client("azure@anthropic", credentials=ENTRA, http=servers, retry=None, **AZURE)
    with pytest.raises(wire.errors.WireError) as refused:
        client.send(call("claude-opus-4-8"))
    assert words in str(refused.value)
    assert servers.sent == []


def test_an_answer_without_an_end_is_kept() -> None:
    servers = Servers({TOKENS: told({"access_token": "fake-token-0001"})})
    with Client("azure@anthropic", credentials=ENTRA, http=servers, **AZURE) as client:
        client.send(call("claude-opus-4-8"))
        client.send(call("claude-opus-4-8"))
    assert len(servers.asked) == 1
