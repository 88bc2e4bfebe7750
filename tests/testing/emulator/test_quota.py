"""Quotas and outages of the emulator."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import anyio
import pytest

from tests.joined import joined
from wire import AsyncChat, Chat, Retry, answer_account
from wire.errors import ConfigurationError, ConnectionLost, OverloadedError, RateLimitError
from wire.testing.emulator import (
    AsyncEmulatorTransport,
    Emulator,
    EmulatorTransport,
    Outage,
    Quota,
    serve,
)

BEGIN = 1_795_262_400.0
KEY = "fake-key-123456"
MODELS = [
    "openai:gpt-5.2",
    "anthropic:claude-sonnet-5",
    "gemini:gemini-3.8-flash",
    "gemini@openai:gemini-3.8-flash",
]


class Clock:
    """A clock that stands still until somebody moves it."""

    def __init__(self) -> None:
        self.now = BEGIN

    def __call__(self) -> float:
        return self.now


def chat_with(model: str, emulator: Emulator, **options: Any) -> Chat:
    options.setdefault("retry", None)
    return Chat(model, api_key=KEY, http=EmulatorTransport(emulator), **options)


@joined("model", MODELS)
def test_who_waits_as_long_as_the_server_asks_is_answered(model: str) -> None:
    clock = Clock()
    with chat_with(model, Emulator(quota=Quota(requests=2), clock=clock)) as chat:
        for _ in range(2):
            chat.ask("Hi")
        for _ in range(3):
            with pytest.raises(RateLimitError) as caught:
                chat.ask("Hi")
            assert (caught.value.retry_after, caught.value.retryable) == (30, True)
            clock.now += 29.9
            with pytest.raises(RateLimitError):
                chat.ask("Hi")
            clock.now += 0.1
            chat.ask("Hi")


@pytest.mark.parametrize("style", ["asyncio", "trio"])
def test_a_retry_waits_for_the_quota(style: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The waits move the clock of the emulator: no second passes."""
    clock = Clock()

    async def slept(seconds: float) -> None:
        clock.now += seconds

    async def main() -> list[float]:
        http = AsyncEmulatorTransport(Emulator(quota=Quota(requests=60), clock=clock))
        async with AsyncChat(MODELS[0], api_key=KEY, http=http, retry=Retry(base=0)) as chat:
            for _ in range(60):
                await chat.ask("Hi")
            account = answer_account(await chat.ask("Hi"))
            assert account is not None
            return account.waits

    monkeypatch.setattr("wire.http.aio.anyio.sleep", slept)
    assert anyio.run(main, backend=style) == [1.0]


def test_openai_reports_what_is_left() -> None:
    clock = Clock()
    emulator = Emulator(quota=Quota(requests=60, tokens=1_000), clock=clock)
    with chat_with(MODELS[0], emulator) as chat:
        reply = chat.ask("Hi " * 20)
        account = answer_account(reply)
    assert account is not None
    assert reply.usage is not None
    headers = account.response_headers
    assert (headers["x-ratelimit-limit-requests"], headers["x-ratelimit-reset-requests"]) == (
        "60",
        "1s",
    )
    requests, tokens = account.limits
    assert (requests.remaining, tokens.limit) == (59, 1_000)
    assert tokens.remaining == 1_000 - reply.usage.total


def test_anthropic_reports_moments() -> None:
    quota = Quota(requests=2, input_tokens=1_000, output_tokens=500)
    with chat_with(MODELS[1], Emulator(quota=quota, clock=Clock())) as chat:
        account = answer_account(chat.ask("Hi"))
    assert account is not None
    assert [(each.unit, each.limit) for each in account.limits] == [
        ("requests", 2),
        ("input_tokens", 1_000),
        ("output_tokens", 500),
    ]
    assert str(account.limits[0].resets_at) == "2026-11-21 12:00:30+00:00"


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (MODELS[0], "on tokens per min (TPM): Limit 100, Used "),
        (MODELS[1], "rate limit of 100 tokens per minute"),
        (MODELS[2], "generate_content_free_tier_token_count, limit: 100, model: gemini-3.8-flash"),
    ],
)
def test_tokens_are_settled_with_the_usage_of_the_answer(model: str, words: str) -> None:
    clock = Clock()
    with chat_with(model, Emulator(quota=Quota(tokens=100), clock=clock)) as chat:
        with chat.stream("Hi " * 20) as events:
            used = events.reply().usage
        assert used is not None
        assert 50 < used.total < 100
        with pytest.raises(RateLimitError, match=re.escape(words)) as caught:
            for _ in range(5):
                reply = chat.ask("Hi")
                assert reply.usage is not None
                used += reply.usage
        assert caught.value.account is not None
        assert [each.unit for each in caught.value.account.limits] == ["tokens"]
        # What is missing to the tokens that are estimated from the size of the request.
        size = len(chat.call("Hi").body) // 4
        assert caught.value.retry_after == pytest.approx((used.total + size - 100) * 0.6, abs=1e-3)
        clock.now += caught.value.retry_after
        chat.ask("Hi")


def test_a_larger_request_than_the_quota_needs_all_of_it() -> None:
    clock = Clock()
    with chat_with(MODELS[0], Emulator(quota=Quota(tokens=100), clock=clock)) as chat:
        chat.ask("Hi " * 1_000)
        with pytest.raises(RateLimitError) as caught:
            chat.ask("Hi")
    assert caught.value.retry_after is not None
    assert caught.value.retry_after > 60


def test_other_requests_use_nothing_and_a_refused_one_no_step() -> None:
    emulator = Emulator([{"say": "first"}, {"say": "second"}], quota=Quota(requests=1))
    with chat_with(MODELS[0], emulator) as chat:
        for _ in range(3):
            emulator.answer("GET", "/v1/models", {"authorization": f"Bearer {KEY}"}, b"")
        assert chat.ask("Hi").text == "first"
        with pytest.raises(RateLimitError):
            chat.ask("Hi")
        emulator.reset()
        assert chat.ask("Hi").text == "first"


def test_the_server_on_loopback_has_the_quota_too() -> None:
    with serve(Emulator(quota=Quota(requests=1))) as server:
        with Chat(MODELS[0], api_key=KEY, base_url=server.url + "/v1", retry=None) as chat:
            chat.ask("Hi")
            with pytest.raises(RateLimitError) as caught:
                chat.ask("Hi")
    assert caught.value.account is not None
    assert caught.value.account.limits[0].remaining == 0


# --- outages --------------------------------------------------------------------------------------


def outcomes(seed: int) -> list[str]:
    faults = ["503", "529", "refuse"]
    emulator = Emulator(outage=Outage(share=0.4, faults=faults, seed=seed))
    found = []
    with chat_with(MODELS[1], emulator) as chat:
        for _ in range(200):
            try:
                chat.ask("Hi")
                found.append("answered")
            except (OverloadedError, ConnectionLost) as error:
                found.append(f"{type(error).__name__} {error.status}")
    return found


def test_a_share_of_the_requests_fails() -> None:
    found = outcomes(seed=1)
    assert found == outcomes(seed=1) != outcomes(seed=2)
    counted = Counter(found)
    assert counted.keys() == {
        "answered",
        "OverloadedError 503",
        "OverloadedError 529",
        "ConnectionLost None",
    }
    assert 100 <= counted["answered"] <= 140
    assert min(counted.values()) >= 10


def test_a_vendor_goes_down_and_comes_back() -> None:
    emulator = Emulator(outage=Outage())
    with chat_with(MODELS[0], emulator) as chat:
        with pytest.raises(OverloadedError):
            chat.ask("Hi")
        emulator.outage = None
        chat.ask("Hi")
        emulator.outage = Outage(faults=["500"])
        assert emulator.outage.share == 1
        with pytest.raises(Exception, match="500 server_error: The server had an error"):
            chat.ask("Hi")


@joined(
    ("make", "problem"),
    [
        (lambda: Quota(requests=0), "quota: requests: expected a positive whole number, not 0"),
        (lambda: Quota(tokens=1.5), "quota: tokens: expected a positive whole number, not 1.5"),
        (lambda: Quota(window=None), "quota: window: expected a positive number, not None"),
        (lambda: Quota(window=float("inf")), "quota: window: expected a positive number, not inf"),
        (lambda: Outage(share=2), "outage: share: expected 0 to 1, not 2"),
        (lambda: Outage(share=True), "outage: share: expected 0 to 1, not True"),
        (lambda: Outage(faults=[]), "outage: faults: expected at least one"),
        (lambda: Outage(faults=["brake"]), "fault: 'brake' is unknown"),
        (lambda: Outage(seed="x"), "outage.seed: expected a whole number"),
        (lambda: Emulator(quota={"requests": 1}), "quota: expected a Quota"),
        (lambda: Emulator(outage=0.5), "outage: expected an Outage"),
    ],
)
def test_bad_values_are_refused_by_name(make: Any, problem: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        make()
    assert problem in str(caught.value)
