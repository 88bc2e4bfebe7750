"""`around=`: what its functions see of a call, and what they may do, on all clients."""

from __future__ import annotations

import gc
import math
import re
import threading
from collections.abc import Callable, Iterator
from typing import Any

import anyio
import httpx
import pytest

from tests.http.drive import CALL, STREAM_CALL, Drive
from tests.http.loopback import ANSWER, GOOD_STREAM, loopback, whole
from tests.joined import joined
from wire import (
    AsyncChat,
    AsyncClient,
    Chat,
    Client,
    Message,
    Reply,
    Stop,
    Timeouts,
    errors,
    gemini,
)
from wire.around import (
    Around,
    AttemptFailed,
    AttemptStarted,
    CallEnded,
    CallFailed,
    Change,
    FirstEvent,
    Give,
    HeadReceived,
    Outgoing,
    Pause,
    Signal,
    StreamLeft,
    Wait,
)
from wire.http.sending import Attempt
from wire.http.watchdog import ATTEMPT
from wire.testing.emulator import Emulator, EmulatorTransport
from wire.wires.contract import WIRES

UNAVAILABLE = whole({"error": {"code": 503, "message": "x", "status": "UNAVAILABLE"}}, 503)
REFUSED = whole({"error": {"code": 400, "message": "x", "status": "INVALID_ARGUMENT"}}, 400)
CUT = [*GOOD_STREAM[:2], "reset"]


class Seen:
    """Remembers what it is told of each call."""

    def __init__(self, name: str = "") -> None:
        self.names: list[str] = []
        self.moments: list[Any] = []
        self.outgoing: list[Outgoing] = []
        self._name = name

    def __call__(self, outgoing: Outgoing) -> Around:
        self.outgoing.append(outgoing)
        try:
            while True:
                moment = yield
                self.moments.append(moment)
                self.names.append(type(moment).__name__)
        finally:
            self.names.append("closed")


def steps_of(*answers: Any) -> Callable[[int, bytes], Any]:
    return lambda number, request: answers[min(number, len(answers) - 1)]


def test_a_call_and_its_moments(drive: Drive) -> None:
    seen = Seen()
    with loopback(steps_of([UNAVAILABLE], [whole(ANSWER)])) as server:
        answer = drive.send(base_url=server.url, around=seen)
        url = server.url
    assert seen.names == [
        "AttemptStarted",
        "HeadReceived",
        "AttemptRefused",
        "AttemptFailed",
        "AttemptStarted",
        "HeadReceived",
        "CallEnded",
        "closed",
    ]
    (outgoing,) = seen.outgoing
    wire = WIRES["gemini"]
    assert outgoing == Outgoing(CALL, "gemini", url, outgoing.account, wire.parse_request)
    assert outgoing.request == wire.parse_request(CALL.body).request
    assert re.fullmatch("[0-9a-f]{16}", outgoing.account)
    assert (outgoing.model, outgoing.is_stream) == ("m", False)
    started, head, refused, failed, again, second_head, ended = seen.moments
    assert (started.attempt, again.attempt) == (1, 2)
    assert (head.status, second_head.status) == (503, 200)
    assert head.headers["content-type"] == "application/json"
    assert isinstance(failed.error, errors.OverloadedError)
    assert (refused.attempt, refused.error) == (1, failed.error)
    assert (failed.attempt, failed.wait) == (1, 0.0)
    assert ended.result is answer
    assert ended.account.attempts == 2
    assert {id(each.account) for each in seen.moments} == {id(ended.account)}


def test_a_stream_and_its_moments(drive: Drive) -> None:
    seen = Seen()
    with loopback(steps_of(GOOD_STREAM)) as server:
        streamed = drive.read(base_url=server.url, around=seen)
    assert seen.names == ["AttemptStarted", "HeadReceived", "FirstEvent", "CallEnded", "closed"]
    assert seen.outgoing[0].is_stream
    assert seen.moments[-1].result.text == "".join(streamed.texts)
    assert seen.moments[-1].account is streamed.account


def test_a_stream_that_is_left(drive: Drive) -> None:
    seen = Seen()
    with loopback(steps_of(GOOD_STREAM)) as server:
        drive.session(lambda door: door.read(most=1), base_url=server.url, around=seen)
    assert seen.names == ["AttemptStarted", "HeadReceived", "FirstEvent", "StreamLeft", "closed"]


def test_a_stream_that_breaks_off(drive: Drive) -> None:
    seen = Seen()
    with loopback(steps_of(CUT)) as server:
        streamed = drive.read(base_url=server.url, around=seen)
    assert seen.names == ["AttemptStarted", "HeadReceived", "FirstEvent", "CallFailed", "closed"]
    assert seen.moments[-1].error is streamed.error
    assert isinstance(streamed.error, errors.ConnectionLost)


def test_a_stream_that_is_refused(drive: Drive) -> None:
    seen = Seen()
    with loopback(steps_of([REFUSED])) as server, pytest.raises(errors.BadRequestError) as caught:
        drive.read(base_url=server.url, around=seen)
    assert seen.names == ["AttemptStarted", "HeadReceived", "AttemptFailed", "CallFailed", "closed"]
    assert seen.moments[2] == AttemptFailed(1, caught.value, None, caught.value.account)
    assert seen.moments[3] == CallFailed(caught.value, caught.value.account)


def test_a_request_that_breaks_a_rule_has_no_attempt(drive: Drive) -> None:
    seen = Seen()
    call = gemini.get_model("m")
    wrong = call.replace(headers={"x": "y"})
    with pytest.raises(errors.ConfigurationError, match="no API key"):
        drive.send(wrong, api_key=None, base_url="http://127.0.0.1:9", around=seen)
    assert seen.names == ["CallFailed", "closed"]
    assert seen.moments[0].account is None


def test_a_function_changes_the_call(drive: Drive) -> None:
    def team(outgoing: Outgoing) -> Around:
        yield Change(outgoing.call.replace(headers={"x-team": "a"}))

    def second(outgoing: Outgoing) -> Around:
        assert outgoing.call.headers["x-team"] == "a"
        moment = yield Change(outgoing.call.replace(body_extra={"labels": {"n": "1"}}))
        moment = yield
        assert moment.attempt == 1
        assert (yield Change(CALL.replace(headers={"x-attempt": "1"}))) is None

    with loopback(steps_of([whole(ANSWER)])) as server:
        drive.send(base_url=server.url, around=[team, second])
        drive.send(base_url=server.url, around=team)
    first, last = server.requests
    assert b"x-attempt: 1\r\n" in first.lower()
    assert first.endswith(CALL.body)
    assert b"x-team: a\r\n" in last.lower()


def test_a_changed_call_is_of_the_same_kind(drive: Drive) -> None:
    def wrong(outgoing: Outgoing) -> Around:
        yield Change(STREAM_CALL)

    with pytest.raises(errors.ConfigurationError, match=r"Change\.call: expected a Call, not"):
        drive.send(base_url="http://127.0.0.1:9", around=wrong)


def test_a_function_answers_in_place_of_the_server(drive: Drive) -> None:
    chunk = gemini.GenerateContentResponse()
    outer = Seen()

    def cached(outgoing: Outgoing) -> Around:
        yield Give("whole", events=[chunk, chunk])
        raise AssertionError  # nothing runs after it

    def never(outgoing: Outgoing) -> Around:
        raise AssertionError
        yield

    around = [outer, cached, never]
    assert drive.send(base_url="http://127.0.0.1:9", around=around) == "whole"
    streamed = drive.read(base_url="http://127.0.0.1:9", around=around)
    assert (streamed.texts, streamed.reply, streamed.error) == (["", ""], "whole", None)
    assert outer.names == ["CallEnded", "closed"] * 2


def test_a_function_answers_in_place_of_an_error(drive: Drive) -> None:
    outer = Seen()

    def mended(outgoing: Outgoing) -> Around:
        while True:
            moment = yield
            if isinstance(moment, CallFailed):
                yield Give(moment.error.status)

    with loopback(steps_of([REFUSED])) as server:
        assert drive.send(base_url=server.url, around=[outer, mended]) == 400
        streamed = drive.read(base_url=server.url, around=[outer, mended])
    assert streamed.reply == 400
    assert outer.names[3:] == ["CallEnded", "closed", *outer.names[:5]]
    assert outer.moments[3].result == 400


def test_a_reply_that_is_given_has_its_events() -> None:
    reply = Reply(Message.assistant("Not now."), Stop("end"))

    def offline(outgoing: Outgoing) -> Around:
        yield Give(reply)

    with Chat("gemini:gemini-3.8-flash", api_key="fake-key", around=offline) as chat:
        with chat.stream("Hi") as events:
            seen = list(events)
            assert events.reply() is reply
        assert chat.ask("Hi") is reply
    assert [type(each).__name__ for each in seen] == ["TextDelta", "Done"]


def test_a_function_replaces_a_result_and_an_error(drive: Drive) -> None:
    def upper(outgoing: Outgoing) -> Around:
        while not isinstance(moment := (yield), CallEnded):
            pass
        yield Give(moment.result.text.upper())

    def stricter(outgoing: Outgoing) -> Around:
        while not isinstance((yield), CallEnded):
            pass
        raise errors.BlockedError("not on our watch")

    outer = Seen()
    with loopback(steps_of([whole(ANSWER)])) as server:
        text = drive.send(base_url=server.url).text
        assert drive.send(base_url=server.url, around=upper) == text.upper()
        with pytest.raises(errors.BlockedError, match="not on our watch"):
            drive.send(base_url=server.url, around=[outer, stricter])
    assert outer.names[-2:] == ["CallFailed", "closed"]
    with loopback(steps_of(GOOD_STREAM)) as server:
        streamed = drive.read(base_url=server.url, around=stricter)
    assert isinstance(streamed.error, errors.BlockedError)


def test_a_function_refuses_a_call_and_an_attempt(drive: Drive) -> None:
    def refuses(outgoing: Outgoing) -> Around:
        raise errors.RuleError("no more money")
        yield

    def only_once(outgoing: Outgoing) -> Around:
        while True:
            moment = yield
            if isinstance(moment, AttemptStarted) and moment.attempt == 2:
                raise errors.RuleError("one attempt only")

    outer = Seen()
    with pytest.raises(errors.RuleError, match="no more money"):
        drive.send(base_url="http://127.0.0.1:9", around=[outer, refuses])
    assert outer.names == ["CallFailed", "closed"]
    with (
        loopback(steps_of([UNAVAILABLE])) as server,
        pytest.raises(errors.RuleError, match="one attempt only"),
    ):
        drive.send(base_url=server.url, around=only_once)
    assert len(server.requests) == 1


@pytest.mark.parametrize("kind", [HeadReceived, FirstEvent])
def test_an_error_at_the_head_fails_the_attempt(drive: Drive, kind: type) -> None:
    def picky(outgoing: Outgoing) -> Around:
        while True:
            moment = yield
            if isinstance(moment, kind) and moment.account.attempts == 1:
                raise errors.StreamInvalid("once more", retryable=True)

    seen = Seen()
    with loopback(steps_of(GOOD_STREAM)) as server:
        streamed = drive.read(base_url=server.url, around=[seen, picky])
    # The function has ended with its error, so it does not hear of the second attempt.
    assert streamed.error is None
    assert streamed.account is not None
    assert streamed.account.attempts == len(server.requests) == 2
    assert seen.names.count("AttemptFailed") == 1


def test_a_function_delays_a_call_and_sends_another_one(drive: Drive) -> None:
    waited = []

    def slowly(outgoing: Outgoing) -> Around:
        assert (yield Pause(0.0)) is None
        model = yield gemini.get_model("m")
        waited.append(model.name)
        with pytest.raises(errors.NotFoundError):
            yield gemini.get_model("other")
        while not isinstance(moment := (yield), CallEnded):
            assert not isinstance(moment, AttemptFailed)
        assert (yield gemini.get_model("m")).name == "models/m"
        yield Pause(0.0)

    def answer(number: int, request: bytes) -> Any:
        if b"/models/other" in request:
            return [whole({"error": {"code": 404, "message": "x", "status": "NOT_FOUND"}}, 404)]
        return [whole({"name": "models/m"} if request.startswith(b"GET") else ANSWER)]

    outer = Seen()
    with loopback(answer) as server:
        drive.send(base_url=server.url, around=[outer, slowly])
    assert waited == ["models/m"]
    assert len(outer.outgoing) == 1  # calls of a function have no surroundings
    methods = [request.split(b" ")[0] for request in server.requests]
    assert methods == [b"GET", b"GET", b"POST", b"GET"]


def test_a_function_waits_for_a_signal_of_another_thread(drive: Drive) -> None:
    signal, reached = Signal(), threading.Event()

    def gate(outgoing: Outgoing) -> Around:
        reached.set()
        yield Wait(signal)
        assert signal.is_set
        yield Wait(signal)  # at once
        yield Wait(Signal(), seconds=0.001)

    def opens() -> None:
        assert reached.wait(10)
        signal.set()

    thread = threading.Thread(target=opens)
    thread.start()
    with loopback(steps_of([whole(ANSWER)])) as server:
        assert drive.send(base_url=server.url, around=gate).text
    thread.join()
    assert signal._wakers is None


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_cancelled_wait_closes_the_function_and_forgets_the_signal(backend: str) -> None:
    signal, closed = Signal(), []

    def gate(outgoing: Outgoing) -> Around:
        try:
            yield Wait(signal)
        finally:
            closed.append(True)

    async def main() -> None:
        async with AsyncClient("gemini", api_key="fake-key", around=gate) as client:
            with anyio.move_on_after(0.01):
                await client.send(CALL)

    anyio.run(main, backend=backend)
    assert closed == [True]
    assert signal._wakers == []


def test_functions_nest(drive: Drive) -> None:
    order: list[str] = []

    def named(name: str) -> Callable[[Outgoing], Around]:
        def run(outgoing: Outgoing) -> Around:
            order.append(f"{name} begins")
            while True:
                order.append(f"{name} {type((yield)).__name__}")

        return run

    with loopback(steps_of([whole(ANSWER)])) as server:
        drive.send(base_url=server.url, around=[named("a"), named("b")])
    assert order == [
        "a begins",
        "b begins",
        "a AttemptStarted",
        "b AttemptStarted",
        "b HeadReceived",
        "a HeadReceived",
        "b CallEnded",
        "a CallEnded",
    ]


def test_a_function_that_returns_hears_no_more(drive: Drive) -> None:
    seen = []

    def brief(outgoing: Outgoing) -> Around:
        seen.append((yield))

    with loopback(steps_of([whole(ANSWER)])) as server:
        drive.send(base_url=server.url, around=brief)
    assert [type(each) for each in seen] == [AttemptStarted]


def test_what_may_not_be_yielded_is_refused(drive: Drive) -> None:
    def gives_late(outgoing: Outgoing) -> Around:
        yield
        yield Give("too late")

    def pauses_in_a_stream(outgoing: Outgoing) -> Around:
        while not isinstance((yield), HeadReceived):
            pass
        yield Pause(1)

    def yields_text(outgoing: Outgoing) -> Iterator[Any]:
        yield "wait"

    def far(outgoing: Outgoing) -> Around:
        yield Pause(float("inf"))

    with loopback(steps_of([whole(ANSWER)])) as server:
        for function, words in (
            (gives_late, "gives_late yielded a Give after a AttemptStarted"),
            (pauses_in_a_stream, "pauses_in_a_stream yielded a Pause after HeadReceived"),
            (yields_text, "yields_text yielded a str after its start"),
            (far, "Pause.seconds: expected a finite number from 0 up"),
        ):
            with pytest.raises(errors.ConfigurationError, match=words):
                drive.send(base_url=server.url, around=function)


def test_an_error_of_a_function_reaches_the_caller_and_frees_the_connection(drive: Drive) -> None:
    def buggy(outgoing: Outgoing) -> Around:
        while not isinstance((yield), HeadReceived):
            pass
        raise ZeroDivisionError

    seen = Seen()

    def work(door: Any) -> None:
        for _ in range(3):
            with pytest.raises(ZeroDivisionError):
                door.read()

    with loopback(steps_of(GOOD_STREAM)) as server:
        drive.session(work, base_url=server.url, around=[seen, buggy])
    assert seen.names.count("closed") == 3


def test_nothing_is_kept_after_a_call() -> None:
    seen = Seen()
    http = EmulatorTransport(Emulator([{"say": "Hello."}] * 2))
    with Chat("gemini:gemini-3.8-flash", api_key="fake-key", http=http, around=seen) as chat:
        chat.ask("Hi")
        with chat.stream("Hi") as events:
            events.reply()
        del events
        gc.collect()
        left = [each for each in gc.get_objects() if type(each).__name__ == "SurroundedCall"]
    assert left == []


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_a_bad_option_is_refused(kind: Any) -> None:
    async def of_asyncio(outgoing: Outgoing) -> Any:
        yield

    for given, words in (
        (5, "around: expected a function that returns a generator, not int"),
        ([Seen(), "x"], r"around\[1\]: expected a function that returns a generator, not str"),
        ("sk-fake-12345678", "around: expected a function that returns a generator, not str"),
        (of_asyncio, "around: .*, not an async one: a plain generator serves all"),
    ):
        with pytest.raises(errors.ConfigurationError, match=words):
            kind("gemini", api_key="fake-key", around=given)


def test_a_function_that_returns_no_generator_is_refused(drive: Drive) -> None:
    def forgot(outgoing: Outgoing) -> Any:
        return None

    with pytest.raises(errors.ConfigurationError, match="forgot returned a NoneType, not a gen"):
        drive.send(base_url="http://127.0.0.1:9", around=forgot)


def test_a_chat_takes_the_option() -> None:
    seen = Seen()
    http = EmulatorTransport(Emulator([{"say": "Hello."}]))
    with Chat("anthropic:claude-sonnet-5", api_key="fake-key", http=http, around=seen) as chat:
        assert chat.ask("Hi").text == "Hello."
    assert seen.outgoing[0].model == "claude-sonnet-5"
    assert AsyncChat("gemini:m", api_key="fake-key", around=[seen]).client._around == (seen,)


def test_a_signal_wakes_each_waiter_once() -> None:
    woken: list[str] = []
    signal = Signal()
    first, second = (lambda: woken.append("first")), (lambda: woken.append("second"))
    signal.when_set(first)
    signal.when_set(second)
    signal.forget(first)
    signal.set()
    signal.set()
    signal.when_set(first)
    assert woken == ["second", "first"]
    for wrong in ({"signal": 5}, {"signal": signal, "seconds": -1}):
        with pytest.raises(errors.ConfigurationError):
            Wait(**wrong)  # type: ignore[arg-type]


def test_a_stream_that_is_left_is_told_once() -> None:
    seen = Seen()
    http = EmulatorTransport(Emulator([{"say": "Hello."}]))
    call = gemini.stream_generate_content(
        "gemini-3.8-flash", gemini.GenerateContentRequest(contents=gemini.contents("Hi"))
    )
    with Client("gemini", api_key="fake-key", http=http, around=seen) as client:
        with client.stream(call) as chunks:
            next(chunks)
        assert isinstance(seen.moments[-1], StreamLeft)
        with pytest.raises(errors.StreamIncomplete):
            chunks.result()
    assert seen.names.count("StreamLeft") == 1


@joined("kind", [Pause, lambda seconds: Wait(Signal(), seconds)])
def test_a_delay_ends_with_the_total_time(kind: Callable[[float], Any], drive: Drive) -> None:
    """Before the call, which is then not sent."""

    def waits(outgoing: Outgoing) -> Around:
        yield kind(600.0)

    with loopback(steps_of([whole(ANSWER)])) as server:
        with pytest.raises(errors.TotalClock, match="waited for its turn at around="):
            drive.send(base_url=server.url, around=waits, timeouts=Timeouts(total=0.05))
        assert server.requests == []


@joined("seconds", [None, 30.0])
def test_a_wait_that_does_not_count_moves_the_end_of_the_total_time(seconds: float | None) -> None:
    """Without a total time there is none."""
    attempts: list[Attempt] = []

    def answer(request: httpx.Request) -> httpx.Response:
        attempts.append(request.extensions[ATTEMPT])
        return httpx.Response(200, json=ANSWER)

    def waits(outgoing: Outgoing) -> Around:
        yield Wait(Signal(), 0.01, is_timed=False)

    timeouts = Timeouts(total=seconds)
    http = httpx.MockTransport(answer)
    with Client("gemini", api_key="fake-key", http=http, around=waits, timeouts=timeouts) as client:
        client.send(CALL)
    (attempt,) = attempts
    assert attempt.left is None if seconds is None else 29.0 < (attempt.left or 0) <= 30.0
    assert not math.isnan(attempt._ends)
