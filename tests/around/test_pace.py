"""`Pace`: calls wait until the rate limits of a server allow them, on all clients."""

from __future__ import annotations

import contextlib
import functools
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import anyio
import httpx
import msgspec
import pytest
import trio
import trio.testing

from tests.http.drive import CALL, Drive
from tests.http.loopback import ANSWER, GOOD_STREAM, LAST, STREAM, event, loopback, whole
from tests.joined import joined
from wire import (
    AsyncChat,
    AsyncClient,
    Chat,
    FallbackChat,
    Pace,
    Retry,
    Timeouts,
    answer_account,
    errors,
)
from wire.around import (
    Again,
    Around,
    AttemptRefused,
    AttemptStarted,
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


REPLY = {
    "choices": [
        {"index": 0, "message": {"role": "assistant", "content": "Yes."}, "finish_reason": "stop"}
    ]
}


def clock_of(monotonic: Callable[[], float]) -> Any:
    """The module `time` with another clock."""
    return SimpleNamespace(monotonic=monotonic, time=time.time)


@contextlib.contextmanager
def simulated() -> Iterator[trio.testing.MockClock]:
    """A clock of trio that moves on when all tasks wait; limiters and clients read it too."""
    with pytest.MonkeyPatch.context() as patch:
        for module in ("wire.pace", "wire.http.surrounding"):
            patch.setattr(f"{module}.monotonic", trio.current_time)
        patch.setattr("wire.http.sending.time", clock_of(trio.current_time))
        yield trio.testing.MockClock(autojump_threshold=0)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock of `Pace` and of the emulator."""
    clock = Clock()

    async def wait(action: Wait) -> None:
        clock.wait(action)

    for module in ("wire.pace", "wire.http.surrounding"):
        monkeypatch.setattr(f"{module}.monotonic", clock)
    monkeypatch.setattr("wire.http.sending.time", clock_of(clock))
    monkeypatch.setattr("wire.http.client._wait", clock.wait)
    monkeypatch.setattr("wire.http.async_waiting.wait_for", wait)
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


def refusal(seconds: float | None, status: int = 429) -> bytes:
    """Google's, with RetryInfo if the server says when to come back."""
    name = "RESOURCE_EXHAUSTED" if status == 429 else "UNAVAILABLE"
    error: dict[str, Any] = {"code": status, "message": "x", "status": name}
    if seconds is not None:
        kind = "type.googleapis.com/google.rpc.RetryInfo"
        error["details"] = [{"@type": kind, "retryDelay": f"{seconds:g}s"}]
    return whole({"error": error}, status)


def test_a_call_that_is_refused_is_sent_again_when_the_server_wants_it(
    drive: Drive, clock: Clock
) -> None:
    answers = [[refusal(7)], [whole(ANSWER)]]
    with loopback(lambda number, request: answers[number]) as server:
        answer = drive.send(base_url=server.url, around=Pace(), retry=None)
        assert len(server.requests) == 2
    assert clock.waits == [7.0]
    account = answer_account(answer)
    assert account is not None
    assert account.attempts == 2


def test_a_429_takes_nothing_of_the_retry_policy(drive: Drive, clock: Clock) -> None:
    """No attempt and no token of the budget; without a wish the server is asked more and more
    rarely.
    """
    refused = [[refusal(None)]] * 30
    policy = Retry(attempts=2, budget=5)

    def work(door: Any) -> None:
        for _ in range(3):
            door.send()

    with loopback(lambda number, request: [*refused, [whole(ANSWER)]][number % 31]) as server:
        drive.session(work, base_url=server.url, around=Pace(), retry=policy)
        assert len(server.requests) == 3 * 31
    assert clock.waits[0] == 0.25
    assert 1.0 < max(clock.waits) < 30.0


@joined("status", [503, 529])
def test_an_outage_is_waited_out_for_thirty_seconds(
    status: int, drive: Drive, clock: Clock
) -> None:
    began = clock.now
    with loopback(lambda number, request: [refusal(None, status)]) as server:
        with pytest.raises(errors.ServerError):
            drive.send(base_url=server.url, around=Pace(), retry=None)
    assert 30 <= clock.now - began <= 33


@pytest.mark.parametrize("status", [503, 429])
def test_a_call_that_alone_is_refused_does_not_hold_the_others(status: int) -> None:
    """With 503 its retry policy ends it, with 429 its total time."""

    async def handle(request: httpx.Request) -> httpx.Response:
        await trio.sleep(0.05)
        if b"poison" in request.content:
            return httpx.Response(status, json={"error": {"message": "x"}})
        return httpx.Response(200, json=REPLY)

    answered = []

    async def main() -> None:
        http = httpx.MockTransport(handle)
        pace = Pace(concurrent=4)
        async with AsyncChat(
            "openai@chat:gpt-5.4",
            api_key="fake-key",
            http=http,
            around=pace,
            timeouts=Timeouts(total=60),
            retry=None,
        ) as chat:

            async def ask(text: str) -> None:
                await chat.ask(text)
                answered.append(trio.current_time() - began)

            async def fails() -> None:
                # The total time may also end while an attempt runs.
                ends = errors.ServerError, errors.RateLimitError, errors.TotalClock
                with pytest.raises(ends):
                    await chat.ask("poison")

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(fails)
                for number in range(40):
                    tasks.start_soon(ask, f"Question {number}")

    with simulated() as clock:
        began = clock.current_time()
        anyio.run(main, backend="trio", backend_options={"clock": clock})
    assert len(answered) == 40
    assert max(answered) < 40


@pytest.mark.parametrize("code", [429, 503])
def test_an_error_in_a_response_refuses_nothing(drive: Drive, clock: Clock, code: int) -> None:
    """The server has taken the call: whether it is asked again is for the retry policy."""
    error = {"error": {"code": code, "message": "x", "status": "UNAVAILABLE"}}
    answers = [whole(error), STREAM + event(error) + LAST]
    with loopback(lambda number, request: [answers[number]]) as server:
        for ask in (drive.send, drive.read):
            with pytest.raises((errors.RateLimitError, errors.ServerError)) as caught:
                ask(base_url=server.url, around=Pace(), retry=None)
            assert caught.value.status == code
        assert len(server.requests) == 2


def test_the_total_time_bounds_the_waits(drive: Drive, clock: Clock) -> None:
    """Of the first attempt, and of the next ones: then the refusal is raised."""
    options: Any = {"timeouts": Timeouts(total=20), "retry": None}
    began = clock.now
    with loopback(lambda number, request: [refusal(7)]) as server:
        with pytest.raises(errors.RateLimitError):
            drive.send(base_url=server.url, around=Pace(), **options)
        assert len(server.requests) == 3
    assert clock.now - began == 20

    def work(door: Any) -> None:
        door.send()
        with pytest.raises(errors.TotalClock, match="waited for its turn"):
            door.send()

    with loopback(lambda number, request: [whole(ANSWER)]) as server:
        drive.session(work, base_url=server.url, around=Pace(requests=1), **options)
        assert len(server.requests) == 1


def test_each_attempt_is_a_request(drive: Drive, clock: Clock) -> None:
    answers = [[refusal(None, 503)], [whole(ANSWER)]]
    began = clock.now
    with loopback(lambda number, request: answers[number]) as server:
        drive.send(base_url=server.url, around=Pace(requests=1), retry=Retry(base=0))
        assert len(server.requests) == 2
    assert clock.now - began == pytest.approx(60 / 0.98, abs=0.01)  # 2 % of the limit is kept back


def test_one_model_does_not_wait_for_another_one(clock: Clock) -> None:
    """After a refusal, and at the front of the queue; models that count together do."""
    pace = Pace()
    outgoing = functools.partial(Outgoing, provider="gemini", base_url="https://llm.example")
    account = Account(status=429)

    def call(model: str) -> Around:
        given = msgspec.structs.replace(CALL, path=f"/models/{model}:generateContent")
        return pace(outgoing(given))

    first = call("claude-opus-4-6")
    assert next(first) is None
    first.send(AttemptStarted(1, account))
    error = errors.RateLimitError("x", status=429, retryable=True, retry_after=50.0)
    assert isinstance(first.send(AttemptRefused(1, error, account)), Again)
    calls = [call(model) for model in ("claude-opus-4-8", "claude-opus-4-6", "claude-sonnet-5")]
    assert [isinstance(next(each), Wait) for each in calls] == [True, True, False]
    assert pace.running == 1
    assert pace.waiting == 2


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


def test_the_next_model_is_asked_at_once(clock: Clock) -> None:
    """Of a fallback, while the first model takes no calls: in this call and in the next ones."""
    pace, down = Pace(), EmulatorTransport(Emulator([{"fault": "429", "times": 0}]))
    up = Emulator([{"say": "At 05:12.", "times": 0}])
    with (
        Chat("gemini:gemini-3.8-flash", api_key="fake-key", http=down, around=pace) as first,
        Chat(
            "openai:gpt-5.4", api_key="fake-key", http=EmulatorTransport(up), around=pace
        ) as second,
    ):
        for _ in range(3):  # each chat is new: none has seen the model fail
            with FallbackChat([first, second]) as chat:
                assert chat.ask("When is high tide?").text == "At 05:12."
    assert clock.waits == []
    assert len(up.requests) == 3
    assert len(down.emulator.requests) == 1


def limited(clock: Clock, model: str, pace: Pace) -> tuple[Chat, Emulator]:
    """A chat with a model that allows one request in ten seconds."""
    emulator = Emulator(quota=Quota(requests=1, window=10.0), clock=clock)
    chat = Chat(model, api_key="fake-key", http=EmulatorTransport(emulator), around=pace)
    return chat, emulator


def test_a_fallback_waits_if_all_models_take_no_calls(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first one is asked, or sits out; the last one that may be asked waits for its turn."""
    monkeypatch.setattr("wire.core.circuits.time", clock_of(clock))
    pace = Pace()
    first, _ = limited(clock, "gemini:gemini-3.8-flash", pace)
    second, _ = limited(clock, "gemini:gemini-3.8-pro", pace)
    with first, second, FallbackChat([first, second]) as chat:
        for _ in range(12):
            assert chat.ask("When is high tide?").stop.reason == "end"


def test_code_inside_a_stream_of_a_fallback_is_none_of_its_calls(clock: Clock) -> None:
    """A call that is made there waits after a refusal, as any other."""
    emulator = Emulator([{"fault": "429"}, {"say": "At 05:12.", "times": 0}])
    with (
        Chat("gemini:gemini-3.8-flash", api_key="fake-key", http=EmulatorTransport()) as first,
        Chat("openai:gpt-5.4", api_key="fake-key", http=EmulatorTransport()) as second,
        Chat(
            "openai:gpt-5.4",
            api_key="fake-key",
            http=EmulatorTransport(emulator),
            around=Pace(),
            retry=None,
        ) as other,
        FallbackChat([first, second]) as chat,
        chat.stream("When is high tide?") as events,
    ):
        assert other.ask("When is high tide?").text == "At 05:12."
        assert list(events)


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


@pytest.mark.timeout(600)  # the long ones take more than a minute of the processor
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
