"""Retries over real connections: waits, the budget, one id for all attempts; redirects."""

from __future__ import annotations

import contextlib
import json
import logging
import threading
import uuid
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from random import Random
from typing import Any

import anyio
import httpx
import msgspec
import pytest

from tests.http.drive import CALL, QUICK, STREAM_CALL, Drive
from tests.http.loopback import ANSWER, GOOD_STREAM, Step, loopback, whole
from tests.joined import joined
from wire import (
    AsyncChat,
    AsyncClient,
    Chat,
    Client,
    Media,
    Reply,
    Retry,
    Timeouts,
    answer_account,
    errors,
    gemini,
    notes,
    openai,
    retry,
)
from wire.gemini.uploads import query_upload, start_upload
from wire.providers import PROVIDERS
from wire.testing.emulator import AsyncEmulatorTransport, Emulator, EmulatorTransport

KEY = "fake-canary-3f9c1e7b5a"
MODELS = {"gemini": "gemini-3.8-flash", "openai": "gpt-5.4", "anthropic": "claude-sonnet-4-5"}


def calls_of(provider: str) -> tuple[Any, Any]:
    """A plain call and a streamed one to a provider."""
    with Chat(f"{provider}:{MODELS[provider]}", api_key=KEY) as chat:
        return chat.call("Hi"), chat.stream_call("Hi")


@pytest.fixture
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses of the clients, which take no time."""
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    monkeypatch.setattr("wire.http.client.time.sleep", pauses.append)
    monkeypatch.setattr("wire.http.aio.anyio.sleep", sleep)
    return pauses


class Down:
    """A transport that plays one response, or raises; counts the requests."""

    def __init__(self, response: httpx.Response | Exception) -> None:
        self.response = response
        self.requests = 0
        self.http = httpx.MockTransport(self._play)

    def _play(self, request: httpx.Request) -> httpx.Response:
        self.requests += 1
        if isinstance(self.response, Exception):
            raise self.response
        played = self.response
        return httpx.Response(played.status_code, headers=played.headers, content=played.content)


# --- which errors are retried (R-15) --------------------------------------------------------------


@pytest.mark.row("R-15")
@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 504, 529])
def test_retried_statuses(drive: Drive, status: int, slept: list[float]) -> None:
    down = Down(httpx.Response(status, json={"error": {"message": "x"}}))
    with pytest.raises(errors.APIError) as caught:
        drive.send(http=down.http, retry=Retry(spread=(1, 1)))
    assert (down.requests, caught.value.attempts, slept) == (3, 3, [1.0, 2.0])


@pytest.mark.row("R-15")
@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 413, 422])
def test_statuses_that_are_not_retried(drive: Drive, status: int, slept: list[float]) -> None:
    down = Down(httpx.Response(status, json={"error": {"message": "x"}}))
    with pytest.raises(errors.APIError):
        drive.send(http=down.http)
    assert (down.requests, slept) == (1, [])


@pytest.mark.row("R-15")
@pytest.mark.parametrize(("said", "requests"), [("true", 3), ("false", 1)])
def test_x_should_retry(drive: Drive, said: str, requests: int, slept: list[float]) -> None:
    status = 400 if said == "true" else 503
    down = Down(httpx.Response(status, headers={"x-should-retry": said}, json={"error": "x"}))
    with pytest.raises(errors.APIError):
        drive.send(http=down.http)
    assert down.requests == requests


@pytest.mark.row("R-15")
def test_nothing_is_retried_after_the_first_event(drive: Drive) -> None:
    with loopback([*GOOD_STREAM[:2], "reset"]) as server:
        read = drive.read(base_url=server.url)
    assert (len(server.requests), read.texts) == (1, ["Hel"])
    assert isinstance(read.error, errors.ConnectionLost)


# --- the wait that the server asks for (R-16) -----------------------------------------------------

OWN = [1.0, 2.0]
"""The waits of the policy, without chance."""


@pytest.mark.row("R-16")
@pytest.mark.parametrize(
    ("headers", "waits"),
    [
        ({"retry-after": "7"}, [7.0, 7.0]),
        ({"retry-after-ms": "1500", "retry-after": "7"}, [1.5, 1.5]),
        ({"retry-after": "Sun, 06 Nov 1994 08:49:37 GMT"}, [0.0, 0.0]),
        ({"retry-after": "60"}, [60.0, 60.0]),
        ({"retry-after": "-1"}, OWN),
        ({"retry-after": "nan"}, OWN),
        ({"retry-after": "in a while"}, OWN),
        ({"retry-after": "1000000001"}, OWN),
        ({"retry-after-ms": "inf"}, OWN),
    ],
    ids=str,
)
def test_the_wait_of_the_headers(
    drive: Drive, headers: dict[str, str], waits: list[float], slept: list[float]
) -> None:
    down = Down(httpx.Response(503, headers=headers, json={"error": {"message": "x"}}))
    with pytest.raises(errors.OverloadedError):
        drive.send(http=down.http, retry=Retry(spread=(1, 1)))
    assert (down.requests, slept) == (3, waits)


@pytest.mark.row("R-16")
@pytest.mark.parametrize("given", [{"retry-after": "61"}, {"retry-after": "86400"}])
def test_a_longer_wait_than_the_cap_is_raised_at_once(
    drive: Drive, given: dict[str, str], slept: list[float]
) -> None:
    down = Down(httpx.Response(429, headers=given, json={"error": {"message": "x"}}))
    with pytest.raises(errors.RateLimitError) as caught:
        drive.send(http=down.http)
    assert (down.requests, slept) == (1, [])
    assert caught.value.retry_after == float(given["retry-after"])


@pytest.mark.row("R-16")
def test_a_longer_wait_than_the_total_time_is_raised_at_once(
    drive: Drive, slept: list[float]
) -> None:
    down = Down(httpx.Response(429, headers={"retry-after": "20"}, json={"error": "x"}))
    with pytest.raises(errors.RateLimitError) as caught:
        drive.send(CALL.replace(timeouts=Timeouts(total=10)), http=down.http)
    assert (down.requests, slept, caught.value.retry_after) == (1, [], 20.0)


GOOGLE = {
    "error": {
        "code": 429,
        "message": "Slow down.",
        "status": "RESOURCE_EXHAUSTED",
        "details": [
            {"@type": "type.googleapis.com/google.rpc.Help", "links": []},
            {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.5s"},
        ],
    }
}
ENVELOPES: dict[str, Any] = {
    "plain": GOOGLE,
    "list": [GOOGLE],
    "list inside": {"error": [GOOGLE["error"]]},
    "text in the message": {"error": {"message": f"upstream: {json.dumps(GOOGLE)}", "code": 429}},
    "text twice": {"error": {"message": json.dumps(json.dumps(GOOGLE)), "code": 429}},
    "text in the metadata": {
        "error": {"message": "x", "code": 429, "metadata": {"raw": json.dumps([GOOGLE], indent=1)}}
    },
}


@pytest.mark.row("R-16")
@pytest.mark.parametrize("envelope", ENVELOPES)
@pytest.mark.parametrize("provider", MODELS)
def test_retry_info_is_read_on_every_wire(
    drive: Drive, provider: str, envelope: str, slept: list[float]
) -> None:
    call, _ = calls_of(provider)
    down = Down(httpx.Response(429, headers={"retry-after": "1"}, json=ENVELOPES[envelope]))
    with pytest.raises(errors.RateLimitError) as caught:
        drive.send(call, provider=provider, http=down.http)
    assert (down.requests, slept, caught.value.retry_after) == (3, [34.5, 34.5], 34.5)
    if "text" not in envelope:
        assert caught.value.message == "Slow down."


@pytest.mark.row("R-16")
@pytest.mark.parametrize("provider", MODELS)
def test_retry_info_in_a_stream(drive: Drive, provider: str, slept: list[float]) -> None:
    _, call = calls_of(provider)
    data = b"event: error\ndata: " + json.dumps(GOOGLE).encode() + b"\n\n"
    down = Down(httpx.Response(200, headers={"content-type": "text/event-stream"}, content=data))
    with pytest.raises(errors.RateLimitError) as caught:
        drive.read(call, provider=provider, http=down.http)
    assert (down.requests, slept, caught.value.retry_after) == (3, [34.5, 34.5], 34.5)


@pytest.mark.row("R-16")
@pytest.mark.parametrize("delay", ["-1s", "nans", "soon", "2000000000s", "7m", 7, None])
@pytest.mark.parametrize("provider", MODELS)
def test_other_delays_are_ignored(
    drive: Drive, provider: str, delay: object, slept: list[float]
) -> None:
    call, _ = calls_of(provider)
    error = {**GOOGLE["error"], "details": [{"retryDelay": delay}]}
    down = Down(httpx.Response(429, json={"error": error}))
    with pytest.raises(errors.RateLimitError) as caught:
        drive.send(call, provider=provider, http=down.http, retry=Retry(spread=(1, 1)))
    assert (slept, caught.value.retry_after) == (OWN, None)


# --- the budget (R-17) ----------------------------------------------------------------------------

CALLS = 1000


def requests_of_a_dead_server(
    name: str, calls: int, **options: Any
) -> tuple[int, list[errors.WireError]]:
    """The requests of so many calls at once, and their errors."""
    down = Down(httpx.ConnectError("refused"))
    options = {"api_key": KEY, "http": down.http, "retry": QUICK, **options}
    failures: list[errors.WireError] = []

    if name == "sync":
        with Client("gemini", **options) as client, ThreadPoolExecutor(20) as pool:
            failures += pool.map(lambda _: _failure(client), range(calls))
        return down.requests, failures

    async def main() -> None:
        async with AsyncClient("gemini", **options) as client, anyio.create_task_group() as tasks:
            for _ in range(calls):
                tasks.start_soon(one, client)

    async def one(client: AsyncClient) -> None:
        with pytest.raises(errors.WireError) as caught:
            await client.send(CALL)
        failures.append(caught.value)

    anyio.run(main, backend=name)
    return down.requests, failures


def _failure(client: Client) -> errors.WireError:
    with pytest.raises(errors.WireError) as caught:
        client.send(CALL)
    return caught.value


@pytest.mark.row("R-17")
def test_a_dead_server_gets_few_retries(drive: Drive) -> None:
    """100 retries in all, where 2,000 would be sent without a budget. The contract allows 150."""
    requests, failures = requests_of_a_dead_server(drive.name, CALLS)
    assert (requests, len(failures)) == (1100, CALLS)
    assert sum(error.attempts for error in failures) == requests
    stopped = [error for error in failures if error.retry_budget_empty]
    assert len(stopped) >= CALLS - 100
    assert all("the retry budget of this host is used up" in str(error) for error in stopped)


@pytest.mark.row("R-17")
def test_the_budget_is_settable(drive: Drive) -> None:
    requests, _ = requests_of_a_dead_server(drive.name, 100, retry=Retry(base=0, budget=50))
    assert requests == 110


@pytest.mark.row("R-17")
def test_none_switches_the_budget_off(drive: Drive) -> None:
    down = Down(httpx.ConnectError("refused"))

    def work(door: Any) -> None:
        for _ in range(120):
            with pytest.raises(errors.ConnectionLost):
                door.send()

    drive.session(work, http=down.http, retry=Retry(base=0, budget=None))
    assert down.requests == 360


@pytest.mark.row("R-17")
def test_a_server_that_is_well_again_fills_the_budget(drive: Drive) -> None:
    down = Down(httpx.ConnectError("refused"))
    counts: list[int] = []

    def failing(door: Any) -> None:
        before, down.response = down.requests, httpx.ConnectError("refused")
        with pytest.raises(errors.ConnectionLost):
            door.send()
        counts.append(down.requests - before)

    def work(door: Any) -> None:
        failing(door)
        failing(door)
        down.response = httpx.Response(200, json=ANSWER)
        for _ in range(5):
            door.send()
        failing(door)

    drive.session(work, http=down.http, retry=Retry(base=0, budget=10))
    assert counts == [3, 1, 2]


@pytest.mark.row("R-17")
def test_each_host_has_a_budget_of_its_own(drive: Drive) -> None:
    """The uploads of Google go to another host than its calls."""
    down = Down(httpx.ConnectError("refused"))
    elsewhere = query_upload(
        start_upload(gemini.File(), size=1, mime_type="text/plain"),
        "https://upload.example/s",
    )

    def work(door: Any) -> None:
        for call in (CALL, CALL, elsewhere, elsewhere):
            with pytest.raises(errors.ConnectionLost):
                door.send(call)

    drive.session(work, http=down.http, retry=Retry(base=0, budget=10))
    assert down.requests == 3 + 1 + 3 + 1


# --- each retry is observable, can be switched off, and is deterministic (R-18) -------------------


@pytest.mark.row("R-18")
def test_each_retry_is_in_the_account_and_in_the_log(
    drive: Drive, slept: list[float], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "wire")
    # Closed, because a reset of a kept connection would be no attempt.
    unavailable = whole(
        {"error": {"code": 503, "message": "Full.", "status": "UNAVAILABLE"}},
        503,
        retry_after="3",
        connection="close",
    )

    def script(number: int, request: bytes) -> Sequence[Step]:
        return [[unavailable], ["reset"], [whole(ANSWER)]][number]

    with loopback(script) as server:
        answer = drive.send(base_url=server.url, retry=Retry(spread=(1, 1)))
    account = answer_account(answer)
    assert account is not None
    assert (account.attempts, account.waits, slept) == (3, [3.0, 2.0], [3.0, 2.0])
    records = [each for each in caplog.records if each.name in ("wire", "wire.http")]
    assert [each.name for each in records] == [*["wire.http"] * 4, "wire"]
    lines = [record.getMessage() for record in records]
    assert lines[:4] == [
        "attempt 1 failed: OverloadedError, 503",
        "attempt 1: the next one in 3.00 s",
        "attempt 2 failed: ConnectionLost, no status",
        "attempt 2: the next one in 2.00 s",
    ]
    assert lines[4].startswith("POST http://127.0.0.1:")
    assert "/v1beta/models/m:generateContent: model m, status 200, " in lines[4]
    assert lines[4].endswith(" s, 3 attempts")
    assert len(lines) == 5


@pytest.mark.row("R-18")
def test_a_call_switches_its_retries_off(drive: Drive) -> None:
    down = Down(httpx.Response(503, json={"error": "x"}))
    for call in (CALL, STREAM_CALL):
        read = drive.send if call is CALL else drive.read
        with pytest.raises(errors.OverloadedError) as caught:
            read(call.replace(retry=retry.NONE), http=down.http)
        assert caught.value.attempts == 1
        with pytest.raises(errors.OverloadedError) as caught:
            read(call.replace(retry=Retry(attempts=5, base=0)), http=down.http, retry=None)
        assert caught.value.attempts == 5
    assert down.requests == 2 * (1 + 5)


@pytest.mark.row("R-18")
def test_a_call_that_is_not_idempotent_is_never_retried(drive: Drive) -> None:
    down = Down(httpx.Response(503, json={"error": "x"}))
    once = msgspec.structs.replace(CALL, idempotent=False, retry=Retry(base=0))
    with pytest.raises(errors.OverloadedError):
        drive.send(once, http=down.http)
    assert down.requests == 1


@pytest.mark.row("R-18")
def test_a_request_of_a_chat_switches_its_retries_off() -> None:
    down = Down(httpx.Response(503, json={"error": {"message": "x"}}))
    options: Any = {"api_key": KEY, "http": down.http, "retry": QUICK}
    sending: Any = {"retry": retry.NONE, "timeouts": Timeouts(total=5)}

    async def main() -> None:
        async with AsyncChat("gemini:gemini-3.8-flash", **options) as chat:
            with pytest.raises(errors.OverloadedError):
                await chat.ask("Hi", **sending)
            with pytest.raises(errors.OverloadedError):
                async with chat.stream("Hi", **sending):
                    pass

    with Chat("gemini:gemini-3.8-flash", **options) as chat:
        with pytest.raises(errors.OverloadedError):
            chat.ask("Hi", **sending)
        with pytest.raises(errors.OverloadedError), chat.stream("Hi", **sending):
            pass
        for call in (chat.call("Hi", **sending), chat.stream_call("Hi", **sending)):
            assert (call.retry, call.timeouts) == (retry.NONE, Timeouts(total=5))
        assert (chat.call("Hi").retry, chat.call("Hi").timeouts) == (None, None)
        with pytest.raises(errors.ConfigurationError, match="retry: expected a Retry, not int"):
            chat.ask("Hi", retry=3)  # type: ignore[arg-type]
        anyio.run(main)
        assert down.requests == 4
        with pytest.raises(errors.OverloadedError):
            chat.ask("Hi", retry=None)  # as for a client: one attempt only
        assert down.requests == 5
        with pytest.raises(errors.OverloadedError):
            chat.ask("Hi")
        assert down.requests == 8


@pytest.mark.row("R-18")
def test_the_dice_decide_the_waits(slept: list[float]) -> None:
    down = Down(httpx.Response(503, json={"error": {"message": "x"}}))
    dice = Random(7)
    with Client("gemini", api_key=KEY, http=down.http) as client:
        client._dice = Random(7)
        with pytest.raises(errors.OverloadedError):
            client.send(CALL)
    assert slept == [dice.uniform(0, 1) * 1.0, dice.uniform(0, 1) * 2.0]


# --- idempotency (R-19) ---------------------------------------------------------------------------


def received(requests: list[bytes], name: str) -> list[str | None]:
    """The values of a header in requests as the server read them."""
    heads = [
        dict(
            line.split(": ", 1)
            for line in request.partition(b"\r\n\r\n")[0].decode().split("\r\n")[1:]
        )
        for request in requests
    ]
    return [{key.lower(): value for key, value in head.items()}.get(name) for head in heads]


def bodies(requests: list[bytes]) -> set[bytes]:
    return {request.partition(b"\r\n\r\n")[2] for request in requests}


UNAVAILABLE = whole({"error": {"code": 503, "message": "x", "status": "UNAVAILABLE"}}, 503)


def twice_down(number: int, request: bytes) -> list[Step]:
    """Answers each third request, after one error response and one lost connection."""
    answer = GOOD_STREAM if b":streamGenerateContent" in request else [whole(ANSWER)]
    return ([UNAVAILABLE], ["reset"], answer)[number % 3]


@pytest.mark.row("R-19")
def test_one_id_for_all_attempts_of_a_call(drive: Drive) -> None:
    def work(door: Any) -> None:
        door.send()
        door.send()
        door.read()

    with loopback(twice_down) as server:
        drive.session(work, base_url=server.url, idempotency_header="Idempotency-Key")
    ids = received(server.requests, "idempotency-key")
    assert [ids[0:3], ids[3:6], ids[6:9]] == [[ids[0]] * 3, [ids[3]] * 3, [ids[6]] * 3]
    assert len(set(ids)) == 3
    assert {str(uuid.UUID(id)) for id in ids} == set(ids)
    assert bodies(server.requests) == {CALL.body} == {STREAM_CALL.body}


@pytest.mark.row("R-19")
def test_no_id_without_the_option(drive: Drive) -> None:
    with loopback(twice_down) as server:
        drive.send(base_url=server.url)
    assert received(server.requests, "idempotency-key") == [None] * 3
    assert bodies(server.requests) == {CALL.body}


@pytest.mark.row("R-19")
def test_an_id_of_the_callers_own_is_sent(drive: Drive) -> None:
    options = {"idempotency_header": "Idempotency-Key"}
    with loopback(twice_down) as server:
        drive.send(
            CALL.replace(headers={"IDEMPOTENCY-KEY": "job-1"}), base_url=server.url, **options
        )
        drive.send(base_url=server.url, headers={"idempotency-key": "job-2"}, **options)
    assert received(server.requests, "idempotency-key") == ["job-1"] * 3 + ["job-2"] * 3


@pytest.mark.row("R-19")
def test_a_get_has_no_id(drive: Drive) -> None:
    with loopback([whole({"name": "models/m"})]) as server:
        drive.send(gemini.get_model("m"), base_url=server.url, idempotency_header="x-id")
    assert received(server.requests, "x-id") == [None]


@pytest.mark.row("R-19")
def test_no_listed_provider_has_an_idempotency_header() -> None:
    """None documents one. A row that gets one needs its source in docs/providers.md."""
    assert {row.idempotency_header for row in PROVIDERS.values()} == {""}
    with pytest.raises(errors.ConfigurationError, match="idempotency_header: expected the name"):
        Client("gemini", idempotency_header="a b")


# --- redirects (R-30, R-31) -----------------------------------------------------------------------

STATUSES = [300, 301, 302, 303, 304, 305, 307, 308]


@pytest.mark.row("R-30")
@joined("status", STATUSES)
@joined("streamed", [False, True])
def test_no_redirect_is_followed(drive: Drive, status: int, streamed: bool) -> None:
    with loopback([whole(ANSWER)]) as other:
        host = other.url.removeprefix("http://")
        location = f"http://user:fake-password@{host}/a?token=fake#b"
        with (
            loopback([whole(b"", status, location=location)]) as server,
            pytest.raises(errors.APIError, match="redirects are not followed") as caught,
        ):
            (drive.read if streamed else drive.send)(base_url=server.url, api_key=KEY)
    assert (len(server.requests), other.requests) == (1, [])
    error = caught.value
    assert (error.status, error.retryable, error.attempts) == (status, False, 1)
    assert error.message == f"redirects are not followed; this one is to http://***@{host}/a?***"


@pytest.mark.row("R-30")
@joined(
    ("location", "shown"),
    [
        ("https://elsewhere.example/v1", "https://elsewhere.example/v1"),
        ("//elsewhere.example/v1", "//elsewhere.example/v1"),
        ("//user:fake-password@elsewhere.example", "//***@elsewhere.example"),
        ("file:///etc/passwd", "file:///etc/passwd"),
        ("javascript:alert(1)", "javascript:alert(1)"),
        ("/login?next=%2F&session=fake", "/login?***"),
        ("/login;session=fake", "/login?***"),
        ("https:user:fake-password@elsewhere.example", "***@elsewhere.example"),
        ("https://elsewhere.example\\@user:fake-password@x", "https://elsewhere.example\\***@x"),
        (f"https://elsewhere.example/{KEY}", "https://elsewhere.example/***"),
        (f"https://elsewhere.example/{KEY}?key={KEY}", "https://elsewhere.example/***?***"),
        ("a@b@c/d@e", "***@c/***@e"),
        ("", ""),
        (None, "no location"),
    ],
)
def test_a_location_shows_no_credentials(drive: Drive, location: str | None, shown: str) -> None:
    headers = {} if location is None else {"location": location}
    down = Down(httpx.Response(307, headers=headers))
    with pytest.raises(errors.APIError) as caught:
        drive.send(http=down.http, api_key=KEY)
    assert caught.value.message == f"redirects are not followed; this one is to {shown}".strip()
    assert down.requests == 1


@pytest.mark.row("R-30")
def test_a_location_is_cut_and_has_no_control_characters(drive: Drive) -> None:
    hostile = b"https://elsewhere.example/\x1b[2Jx\x7f\xff" + b"a" * 5000
    down = Down(httpx.Response(307, headers=[(b"location", hostile)]))
    with pytest.raises(errors.APIError) as caught:
        drive.send(http=down.http)
    assert caught.value.message.isprintable()
    assert len(caught.value.message) < 300


@pytest.mark.row("R-31")
@pytest.mark.parametrize("provider", MODELS)
def test_urls_of_media_are_sent_and_not_fetched(drive: Drive, provider: str) -> None:
    with loopback([whole(b"\x89PNG", kind="image/png")]) as files:
        media = Media(url=f"{files.url}/a.png")
        with Chat(f"{provider}:{MODELS[provider]}", api_key=KEY) as chat:
            call = chat.call(["What is this?", media])
        assert f"{files.url}/a.png".encode() in call.body
        with pytest.raises(errors.APIError):
            drive.send(call, provider=provider, http=Down(httpx.Response(400)).http)
    assert files.connections == 0


# --- the switch for tests -------------------------------------------------------------------------


@pytest.mark.row("R-18")
def test_retries_are_off_in_a_block(drive: Drive) -> None:
    """Also where the call has a policy of its own; after the block they are on again."""
    busy = whole({"error": {"code": 503, "message": "busy"}}, 503)

    def attempts(url: str) -> list[int]:
        def work(client: Any) -> list[int]:
            made = []
            for call in (CALL, CALL.replace(retry=Retry(attempts=4, base=0))):
                with pytest.raises(errors.OverloadedError) as raised:
                    client.send(call)
                made.append(raised.value.attempts)
            return made

        made: list[int] = drive.session(work, base_url=url)
        return made

    with loopback(lambda number, request: [busy]) as server:
        with retry.off():
            with retry.off():
                assert attempts(server.url) == [1, 1]
            assert attempts(server.url) == [1, 1]
        assert attempts(server.url) == [3, 4]


@pytest.mark.row("R-18")
def test_the_switch_holds_for_threads_that_began_before_it() -> None:
    inside, over = threading.Event(), threading.Event()
    waits: list[float | None] = []
    error = errors.WireError("busy", retryable=True)

    def work() -> None:
        for _ in range(2):
            inside.wait(10)
            waits.append(Retry(spread=(1, 1)).wait(error, 1, Random(0)))
            inside.clear()
            over.set()

    thread = threading.Thread(target=work)
    thread.start()
    for block in (retry.off(), contextlib.nullcontext()):
        with block:
            inside.set()
            assert over.wait(10)
            over.clear()
    thread.join(10)
    assert waits == [None, 1.0]


@pytest.mark.row("R-18")
def test_an_exception_in_the_block_switches_retries_on_again() -> None:
    with pytest.raises(KeyboardInterrupt), retry.off():
        raise KeyboardInterrupt
    error = errors.WireError("busy", retryable=True)
    assert Retry(spread=(1, 1)).wait(error, 1, Random(0)) == 1.0


# --- what failed attempts may cost ----------------------------------------------------------------


def replies(style: str, name: str, script: list[dict[str, str]]) -> list[Reply]:
    """The complete and the streamed reply to a script, each with an emulator of its own."""
    options: dict[str, Any] = {"api_key": KEY, "retry": QUICK}
    emulators = Emulator(script), Emulator(script)
    if style == "sync":
        chats = [Chat(name, http=EmulatorTransport(each), **options) for each in emulators]
        with chats[1].stream("Hi") as events:
            return [chats[0].ask("Hi"), events.reply()]

    async def ask() -> list[Reply]:
        whole, streamed = [
            AsyncChat(name, http=AsyncEmulatorTransport(each), **options) for each in emulators
        ]
        async with streamed.stream("Hi") as events:
            return [await whole.ask("Hi"), await events.reply()]

    return anyio.run(ask, backend=style)


@pytest.mark.parametrize("style", ["sync", "asyncio", "trio"])
@pytest.mark.parametrize(
    ("faults", "broken"),
    [
        ([], 0),
        (["503"], 0),
        (["reset; after=0"], 0),  # the headers came, and nothing of the answer
        (["cut; after=1"], 1),
        (["503", "reset; after=1"], 1),
        (["cut; after=1", "reset; after=0"], 1),
        (["cut; after=1", "cut; after=1"], 2),
    ],
)
def test_a_reply_tells_that_broken_attempts_may_cost(
    style: str, faults: list[str], broken: int
) -> None:
    script = [*({"say": "Hello.", "fault": each} for each in faults), {"say": "Hello."}]
    for name in ("anthropic:claude-sonnet-4-5", "openai@responses:gpt-5.4"):
        for reply in replies(style, name, script):
            told = [note.message for note in reply.notes if note.path == "usage"]
            assert told == broken * [
                "an earlier attempt broke off after its answer had begun; the vendor may charge "
                "for it, and usage and cost leave it out"
            ]
            assert reply.cost.total is not None


def test_an_answer_without_usage_has_no_such_note(drive: Drive) -> None:
    listed = whole(b'{"object":"list","data":[]}')

    def script(number: int, request: bytes) -> Sequence[Step]:
        return [[listed[:-5], "reset"], [listed]][number]

    with loopback(script) as server:
        answer = drive.send(openai.list_models(), provider="openai", base_url=server.url)
    account = answer_account(answer)
    assert account is not None
    assert (account.attempts, notes(answer)) == (2, ())
