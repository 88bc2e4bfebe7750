"""`Pace`: calls wait until the rate limits of a server allow them, on all clients."""

from __future__ import annotations

import contextlib
import threading
from collections import Counter
from typing import Any

import anyio
import pytest
import trio.testing

from tests.http.drive import CALL, Drive
from tests.http.loopback import ANSWER, GOOD_STREAM, loopback, whole
from tests.joined import joined
from wire import AsyncChat, AsyncClient, Chat, Pace, Retry, errors
from wire.around import (
    Around,
    AttemptFailed,
    AttemptStarted,
    CallEnded,
    Give,
    Outgoing,
    Wait,
)
from wire.core.account import Account
from wire.testing.emulator import AsyncEmulatorTransport, Emulator, EmulatorTransport, Quota

REFUSED = whole({"error": {"code": 400, "message": "x", "status": "INVALID_ARGUMENT"}}, 400)


class Clock:
    """A clock of the test: a wait moves it on and takes no time."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0
        self.waits: list[float] = []

    def __call__(self) -> float:
        return self.now

    def wait(self, wait: Wait) -> None:
        assert wait.seconds is not None
        self.waits.append(wait.seconds)
        self.now += wait.seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock of `Pace` and of the emulator."""
    clock = Clock()

    async def wait(action: Wait) -> None:
        clock.wait(action)

    monkeypatch.setattr("wire.pace.monotonic", clock)
    monkeypatch.setattr("wire.http.client._wait", clock.wait)
    monkeypatch.setattr("wire.http.aio._wait", wait)
    return clock


def ask(drive: Drive, clock: Clock, quota: Quota, times: int, pace: Pace) -> list[int | None]:
    """Statuses of so many requests to OpenAI's emulator, one after the other."""
    emulator = Emulator(quota=quota, clock=clock)
    kind = EmulatorTransport if drive.name == "sync" else AsyncEmulatorTransport
    with Chat("openai:gpt-5.4", api_key="fake-key") as chat:
        call = chat.call("Hi")

    statuses: list[int | None] = []

    def work(door: Any) -> None:
        for _ in range(times):
            try:
                door.send(call)
                statuses.append(200)
            except errors.WireError as error:
                statuses.append(error.status)

    drive.session(work, "openai", http=kind(emulator), around=pace, retry=None)
    return statuses


@pytest.mark.parametrize("pace", [{"requests": 20}, {}, {"requests": 1000}])
def test_what_a_quota_allows_is_used(drive: Drive, clock: Clock, pace: dict[str, int]) -> None:
    began = clock.now
    statuses = ask(drive, clock, Quota(requests=20), 60, Pace(**pace))
    allowed = 20 + (clock.now - began) / 3  # one in 3 s, after the full bucket
    assert statuses == [200] * 60
    assert 60 / allowed >= 0.95


def test_tokens_are_settled_with_the_usage(drive: Drive, clock: Clock) -> None:
    quota = Quota(tokens=200)
    began = clock.now
    assert ask(drive, clock, quota, 60, Pace(tokens=200)) == [200] * 60
    spent = clock.now - began
    began = clock.now
    assert ask(drive, clock, quota, 60, Pace()) == [200] * 60
    # Estimates and replies differ; what is asked for in the end is what the server counts.
    assert 0.95 <= (clock.now - began) / spent <= 1.05


def test_concurrent_bounds_what_runs(drive: Drive) -> None:
    pace, most = Pace(concurrent=1), []

    def count(outgoing: Outgoing) -> Around:
        most.append(pace.running)
        yield

    def work(door: Any) -> None:
        threads = [threading.Thread(target=door.send) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    with loopback(lambda number, request: [whole(ANSWER)]) as server:
        if drive.name == "sync":
            drive.session(work, base_url=server.url, around=[pace, count])
        else:

            async def main() -> None:
                options: Any = {"base_url": server.url, "around": [pace, count]}
                async with (
                    AsyncClient("gemini", api_key="fake-key", **options) as client,
                    anyio.create_task_group() as tasks,
                ):
                    for _ in range(4):
                        tasks.start_soon(client.send, CALL)

            anyio.run(main, backend=drive.name)
    assert most == [1] * 4
    assert (pace.running, pace.waiting) == (0, 0)


def test_all_wait_after_a_429(drive: Drive, clock: Clock) -> None:
    body = {
        "error": {
            "code": 429,
            "message": "x",
            "status": "RESOURCE_EXHAUSTED",
            "details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "7s"}],
        }
    }
    answers = [[whole(body, 429)], [whole(ANSWER)], [whole(ANSWER)]]
    pace = Pace()
    with loopback(lambda number, request: answers[number]) as server:
        with pytest.raises(errors.RateLimitError):
            drive.send(base_url=server.url, around=pace, retry=None)
        assert clock.waits == []
        drive.send(base_url=server.url, around=pace, retry=None)
        drive.send(base_url=server.url, around=pace, retry=None)
    assert clock.waits == [7.0]


REPORT = {"x-ratelimit-limit-requests": "90", "x-ratelimit-remaining-requests": "80"}
REFUSALS: list[tuple[errors.WireError, dict[str, str], int]] = [
    (errors.RateLimitError("x", status=429, retryable=True), {}, 4),
    (errors.ServerError("x", status=503, retryable=True), {}, 4),
    (errors.OverloadedError("x", status=529, retryable=True), {}, 4),
    (errors.ServerError("x", status=500, retryable=True), {}, 8),
    (errors.RateLimitError("x", status=429, retryable=True), REPORT, 8),
    (errors.RateLimitError("x", status=429, retryable=True, retry_after=0.0), {}, 8),
    (errors.QuotaError("x", status=429, retryable=False), {}, 8),
]
"""The error and the headers of one of eight calls at the same time, and how many run after it."""


@joined(("error", "headers", "expected"), REFUSALS)
def test_fewer_calls_run_at_once_at_a_server_that_is_busy(
    error: errors.WireError, headers: dict[str, str], expected: int
) -> None:
    pace = Pace(concurrent=8, requests=1000)
    outgoing = Outgoing(CALL, "gemini", "https://llm.example")

    def fill() -> list[Around]:
        running = []
        while next(call := pace(outgoing)) is None:
            running.append(call)
        call.close()
        return running

    calls = fill()
    assert len(calls) == 8
    account = Account(received_at=1_800_000_000.0, response_headers=headers)
    calls[0].send(AttemptStarted(1, account))
    calls[0].send(AttemptFailed(1, error, None, account))
    for call in calls:
        call.close()
    calls = fill()
    assert len(calls) == expected
    if expected == 4:  # four answers raise it
        for call in calls:
            call.send(AttemptStarted(1, account))
            with pytest.raises(StopIteration):
                call.send(CallEnded(None, account))
        assert len(fill()) == 5


def test_each_attempt_is_a_request(drive: Drive, clock: Clock) -> None:
    answers = [[whole({"error": {"code": 503}}, 503)], [whole(ANSWER)]]
    with loopback(lambda number, request: answers[number]) as server:
        drive.send(base_url=server.url, around=Pace(requests=1), retry=Retry(base=0))
    assert [round(each) for each in clock.waits] == [61]  # 2 % of the limit is kept back


def test_a_call_that_is_not_sent_uses_nothing(drive: Drive, clock: Clock) -> None:
    def given(outgoing: Outgoing) -> Around:
        yield Give("given")

    pace = Pace(requests=1)
    for _ in range(3):
        assert drive.send(base_url="http://127.0.0.1:9", around=[pace, given]) == "given"
    assert clock.waits == []


def test_a_failed_call_gives_its_tokens_back(drive: Drive, clock: Clock) -> None:
    pace = Pace(tokens=len(CALL.body) // 4)
    with loopback(lambda number, request: [REFUSED]) as server:
        for _ in range(3):
            with pytest.raises(errors.BadRequestError):
                drive.send(base_url=server.url, around=pace)
    assert clock.waits == []


@pytest.mark.parametrize("most", [1, 1000])
def test_a_stream_counts_until_it_ends(drive: Drive, most: int) -> None:
    pace = Pace(concurrent=1)

    def work(door: Any) -> None:
        for _ in range(3):
            door.read(most=most)
            assert (pace.running, pace.waiting) == (0, 0)

    with loopback(lambda number, request: GOOD_STREAM) as server:
        drive.session(work, base_url=server.url, around=pace)
        assert len(server.requests) == 3


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_cancelled_call_leaves_the_queue(backend: str) -> None:
    pace = Pace(requests=1)

    async def main() -> None:
        http = AsyncEmulatorTransport(Emulator([{"say": "Hello."}]))
        async with AsyncChat("openai:gpt-5.4", api_key="fake-key", http=http, around=pace) as chat:
            await chat.ask("Hi")
            with anyio.move_on_after(0.01) as scope:
                await chat.ask("Hi")
            assert scope.cancelled_caught

    anyio.run(main, backend=backend)
    assert (pace.running, pace.waiting) == (0, 0)


class Busy:
    """Emulated answers for three threads: one of plain calls, and an event loop in each other.

    All begin together and share one `Pace`. Each makes `calls`, eight at a time, and in the loops
    every fifth is cancelled where it waits.
    """

    def __init__(self, pace: Pace, calls: int) -> None:
        self.pace, self.calls, self.most = pace, calls, 0
        self.answered: Counter[str] = Counter()
        self._together, self._lock = threading.Barrier(3), threading.Lock()

    def run(self) -> None:
        threads = [
            threading.Thread(target=self._in_threads),
            *(threading.Thread(target=self._in_a_loop, args=[each]) for each in BACKENDS),
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _count(self, outgoing: Outgoing) -> Around:
        with self._lock:
            self.most = max(self.most, self.pace.running)
        yield

    def _options(self, kind: Any) -> dict[str, Any]:
        http = kind(Emulator(lenient=True))
        return {"api_key": "fake-key", "http": http, "around": [self.pace, self._count]}

    def _in_threads(self) -> None:
        with Chat("openai:gpt-5.4", **self._options(EmulatorTransport)) as chat:

            def some(count: int) -> None:
                for _ in range(count):
                    chat.ask("Hi")
                    with self._lock:
                        self.answered["threads"] += 1

            threads = [threading.Thread(target=some, args=[self.calls // 8]) for _ in range(8)]
            self._together.wait()
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

    def _in_a_loop(self, backend: str) -> None:
        async def main() -> None:
            async with AsyncChat("openai:gpt-5.4", **self._options(AsyncEmulatorTransport)) as chat:

                async def some(count: int) -> None:
                    for number in range(count):
                        with anyio.CancelScope() as scope:
                            if number % 5 == 4:
                                scope.cancel()
                            await chat.ask("Hi")
                        self.answered[backend] += not scope.cancelled_caught

                self._together.wait()
                async with anyio.create_task_group() as tasks:
                    for _ in range(8):
                        tasks.start_soon(some, self.calls // 8)

        anyio.run(main, backend=backend)


BACKENDS = ("asyncio", "trio")


@pytest.mark.parametrize(
    "options",
    [{"concurrent": 1}, {"concurrent": 3}, {"requests": 100, "window": 0.2}, {}],
    ids=["one", "three", "a-limit", "none"],
)
def test_threads_and_two_event_loops_share_one(options: dict[str, Any]) -> None:
    """Who waits in one loop is woken by a call that ends in another, or in a thread."""
    busy = Busy(Pace(**options), 24)
    busy.run()
    assert busy.answered["threads"] == 24
    # A cancelled call that does not wait is answered.
    assert all(16 <= busy.answered[backend] <= 24 for backend in BACKENDS)
    assert busy.most <= options.get("concurrent", 24)
    assert (busy.pace.running, busy.pace.waiting) == (0, 0)


def paced(pace: Pace, quota: Quota, times: int, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Statuses of requests from many tasks to a server that takes its time, and seconds."""
    statuses: list[int] = []

    class Slow(AsyncEmulatorTransport):
        """Takes from 0.1 to 0.9 s."""

        async def handle_async_request(self, request: Any) -> Any:
            await anyio.sleep(0.1)
            response = await super().handle_async_request(request)
            await anyio.sleep(0.1 * (len(statuses) % 8))
            statuses.append(response.status_code)
            return response

    async def main() -> float:
        monkeypatch.setattr("wire.pace.monotonic", trio.current_time)
        began = trio.current_time()
        http = Slow(Emulator(quota=quota, clock=trio.current_time))
        async with AsyncChat(
            "openai:gpt-5.4", api_key="fake-key", http=http, around=pace, retry=None
        ) as chat:

            async def one() -> None:
                with contextlib.suppress(errors.RateLimitError):
                    await chat.ask("Hi")

            async with anyio.create_task_group() as tasks:
                for _ in range(times):
                    tasks.start_soon(one)
        return trio.current_time() - began

    clock = trio.testing.MockClock(autojump_threshold=0)
    seconds = anyio.run(main, backend="trio", backend_options={"clock": clock})
    return statuses, seconds


@pytest.mark.parametrize(
    ("pace", "times"),
    [
        ({}, 400),
        pytest.param({"requests": 100}, 400, marks=pytest.mark.slow),
        pytest.param({"concurrent": 20}, 400, marks=pytest.mark.slow),
        pytest.param({}, 20_000, marks=pytest.mark.slow),
        pytest.param({"requests": 100}, 20_000, marks=pytest.mark.slow),
    ],
)
def test_many_tasks_use_what_a_quota_allows(
    pace: dict[str, int], times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    statuses, seconds = paced(Pace(**pace), Quota(requests=100), times, monkeypatch)
    allowed = 100 + seconds * 100 / 60
    assert times / allowed >= 0.95
    assert statuses.count(429) <= 0.005 * times


@joined("field", ["requests", "tokens", "concurrent", "window"])
@joined("value", [0, -1, True, "8", float("nan"), float("inf")])
def test_a_bad_value_is_named(field: str, value: Any) -> None:
    with pytest.raises(errors.ConfigurationError, match=f"pace: {field}: expected"):
        Pace(**{field: value})
