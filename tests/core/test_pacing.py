"""`Pacing`: which call goes next and when, on numbers in place of a clock."""

from __future__ import annotations

import heapq
import json
import random
from collections.abc import Callable
from typing import Any

import pytest

from tests.core.test_linear import is_linear
from tests.joined import joined
from wire.core import pacing
from wire.core.amounts import Amounts, amounts, estimated
from wire.core.pacing import Pacing, Place
from wire.core.rate_limits import RateLimit

EPOCH = 1_800_000_000.0
ONE = amounts(0, 0)
NOTHING = {**ONE, "requests": 0}


def let_through(pacer: Pacing, now: float, use: Amounts = ONE, key: str = "m") -> Place:
    place = pacer.enter(key, use)
    assert pacer.wait(place, now) == 0
    return place


def wait_of(pacer: Pacing, now: float, use: Amounts = ONE, key: str = "m") -> float | None:
    """What a call would wait now."""
    place = pacer.enter(key, use)
    seconds = pacer.wait(place, now)
    pacer.leave(place, now, NOTHING)
    return seconds


def report(limit: int, remaining: int, unit: str = "requests", **fields: Any) -> RateLimit:
    return RateLimit(unit=unit, limit=limit, remaining=remaining, **fields)


def learned(*reports: RateLimit, now: float = 0.0) -> Pacing:
    """After one call whose response had these limits."""
    pacer = Pacing({}, 60)
    place = let_through(pacer, now)
    pacer.learn(place, reports, EPOCH + now, now)
    pacer.leave(place, now, ONE)
    return pacer


def bursting(limits: dict[str, float], window: float = 60, **options: Any) -> Pacing:
    """Named limits whose bursts the server permits, since it has reported what is left."""
    pacer = Pacing(limits, window, **options)
    pacer._named.wait(amounts(1, 1), 0.0)
    pacer._named.reported(amounts(1, 1), limits)
    return pacer


# --- named limits ---------------------------------------------------------------------------------


def test_a_limit_comes_back_evenly_over_its_window() -> None:
    pacer = bursting({"requests": 60}, 30)  # of which 98 % are used
    for _ in range(58):
        pacer.leave(let_through(pacer, 0.0), 0.0, ONE)
    # 0.8 of a request is left, and 58.8 come back in 30 s.
    assert wait_of(pacer, 0.0) == pytest.approx(0.2 * 30 / 58.8)
    assert wait_of(pacer, 0.2) == 0
    for _ in range(58):
        pacer.leave(let_through(pacer, 1000.0), 1000.0, ONE)
    assert wait_of(pacer, 1000.0) == pytest.approx(0.2 * 30 / 58.8)  # no more than one window


def test_the_first_that_came_goes_first() -> None:
    pacer = Pacing({"requests": 1}, 60)
    pacer.leave(let_through(pacer, 0.0), 0.0, ONE)
    first, second, third = (pacer.enter("m", ONE) for _ in range(3))
    assert [pacer.wait(each, 1.0) for each in (second, third)] == [None, None]
    assert list(pacer.firsts()) == [first]
    pacer.leave(first, 1.0, NOTHING)  # cancelled while it waits
    assert (list(pacer.firsts()), pacer.waiting, pacer.running) == ([second], 2, 0)
    assert pacer.wait(third, 100.0) is None
    assert pacer.wait(second, 100.0) == 0
    assert (list(pacer.firsts()), pacer.waiting, pacer.running) == ([third], 1, 1)


def test_keys_take_turns_where_a_limit_holds_for_all() -> None:
    pacer = Pacing({"requests": 60}, 60)
    pacer.leave(let_through(pacer, 0.0, key="a"), 0.0, ONE)
    waiting = [pacer.enter(key, ONE) for key in ("a", "a", "b")]
    went, now = [], 0.0
    for _ in range(3):
        now += 60 / 58.8 + 0.001
        went += [waiting.index(each) for each in waiting if pacer.wait(each, now) == 0]
    assert went == [0, 2, 1]


def test_concurrent_bounds_what_runs_at_once() -> None:
    pacer = bursting({"requests": 100}, concurrent=2)
    running = [let_through(pacer, 0.0, key=key) for key in ("a", "b")]
    third = pacer.enter("c", ONE)
    assert pacer.wait(third, 5.0) is None
    pacer.leave(running[1], 5.0, ONE)
    assert pacer.wait(third, 5.0) == 0
    assert pacer.running == 2


# --- after another process ------------------------------------------------------------------------


def test_what_came_back_since_another_process_may_be_used() -> None:
    pacer = Pacing({"requests": 60}, 60)
    pacer.resume(0.5)  # 0.49 of 58.8
    first, second = pacer.enter("m", ONE), pacer.enter("m", ONE)
    assert pacer.wait(first, 0.0) == pytest.approx(0.51 * 60 / 58.8)
    assert pacer.wait(first, 0.53) == 0
    assert pacer.wait(second, 0.53) == pytest.approx(60 / 58.8, abs=0.02)  # without a burst


def test_what_a_server_reports_replaces_what_came_back_since_another_process() -> None:
    pacer = Pacing({"requests": 60}, 60)
    pacer.resume(2.0)
    pacer.learn(let_through(pacer, 0.0), [report(60, 40)], EPOCH, 0.0)
    assert len(fill(pacer)) == 40
    pacer = Pacing({"requests": 60}, 60)
    pacer.resume(2.0)
    pacer.learn(let_through(pacer, 0.0), [report(600, 590)], EPOCH, 0.0)
    assert len(fill(pacer)) == 57  # of the named ones


# --- a server that is busy ------------------------------------------------------------------------


def fill(pacer: Pacing, key: str = "m") -> list[Place]:
    """Calls that run, as many as are let through."""
    running = []
    while pacer.wait(place := pacer.enter(key, ONE), 0.0) == 0:
        running.append(place)
    pacer.leave(place, 0.0, NOTHING)
    return running


def answer(pacer: Pacing, places: list[Place]) -> None:
    for place in places:
        pacer.answered(place)
        pacer.leave(place, 0.0, ONE)


# --- tokens ---------------------------------------------------------------------------------------


def test_tokens_are_estimated_before_a_call_and_settled_after_it() -> None:
    pacer = bursting({"tokens": 1000})  # of which 980 are used
    place = let_through(pacer, 0.0, amounts(100, 500))
    assert wait_of(pacer, 0.0, amounts(100, 300)) == pytest.approx(20 * 60 / 980)
    pacer.leave(place, 0.0, amounts(110, 50))
    assert wait_of(pacer, 0.0, amounts(100, 720)) == 0
    assert wait_of(pacer, 0.0, amounts(100, 721)) == pytest.approx(60 / 980)
    # A reply that is longer than the estimate is owed.
    place = let_through(pacer, 0.0, amounts(20, 0))
    pacer.leave(place, 0.0, amounts(20, 1000))
    assert wait_of(pacer, 0.0, amounts(1, 0)) == pytest.approx(201 * 60 / 980)


def test_a_call_with_more_tokens_than_the_limit_waits_for_all_of_it() -> None:
    pacer = Pacing({"tokens": 1000}, 60)
    pacer.leave(let_through(pacer, 0.0, amounts(490, 0)), 0.0, amounts(490, 0))
    assert wait_of(pacer, 0.0, amounts(5000, 0)) == pytest.approx(30)
    assert wait_of(pacer, 30.0, amounts(5000, 0)) == 0


@joined(
    ("used", "left"),
    [
        (amounts(10, 5), 965),
        ({}, 880),  # not told: the estimate holds
        (amounts(1, 0), 979),
        ({"tokens": 40}, 940),
    ],
)
def test_what_a_call_has_used_replaces_its_estimate_unit_by_unit(used: Any, left: int) -> None:
    pacer = bursting({"tokens": 1000})
    pacer.leave(let_through(pacer, 0.0, amounts(100, 0)), 0.0, used)
    assert wait_of(pacer, 0.0, amounts(left, 0)) == 0
    assert wait_of(pacer, 0.0, amounts(left + 1, 0)) == pytest.approx(60 / 980)


def test_a_call_without_a_longest_output_is_expected_to_have_the_usual_one() -> None:
    pacer = bursting({"tokens": 1000})

    def wait_of_open(use: Amounts) -> float | None:
        place = pacer.enter("m", use, is_open=True)
        seconds = pacer.wait(place, 0.0)
        pacer.leave(place, 0.0, NOTHING)
        return seconds

    assert wait_of_open(amounts(980, 0)) == 0  # nothing is known
    for output in (100, 300):
        pacer.leave(let_through(pacer, 0.0, amounts(10, 0)), 0.0, amounts(10, output))
    # 980 less 20 and 400 are left, and a reply has 200.
    assert wait_of_open(amounts(360, 0)) == 0
    assert wait_of_open(amounts(361, 0)) == pytest.approx(60 / 980)
    assert wait_of(pacer, 0.0, amounts(560, 0)) == 0  # the request limits its output
    # What is used is settled as ever.
    place = pacer.enter("m", amounts(10, 0), is_open=True)
    assert pacer.wait(place, 0.0) == 0
    pacer.leave(place, 0.0, amounts(10, 50))
    assert wait_of(pacer, 0.0, amounts(500, 0)) == 0
    assert wait_of(pacer, 0.0, amounts(501, 0)) == pytest.approx(60 / 980)


BODIES = (
    ({"max_tokens": 100}, 100),
    ({"max_completion_tokens": 7}, 7),
    ({"max_output_tokens": 9}, 9),
    ({"generationConfig": {"maxOutputTokens": 5}}, 5),
    ({"generationConfig": {}}, 0),
    ({"max_tokens": -5}, 0),
    ({"max_tokens": "many"}, 0),
    ({}, 0),
)


@joined(("body", "output"), BODIES)
def test_the_estimate_of_a_body(body: Any, output: int) -> None:
    data = json.dumps({"messages": "x" * 400, **body}).encode()
    found = estimated(data)
    assert found == amounts(len(data) // 4, output)
    assert found["tokens"] == found["input_tokens"] + found["output_tokens"]


@joined("body", [b"", b"\xff\xfe", b"[1]", b"[" * 10_000, b"not json"])
def test_a_body_that_is_no_object_counts_by_its_size(body: bytes) -> None:
    assert estimated(body) == amounts(len(body) // 4, 0)


# --- what servers report --------------------------------------------------------------------------


def test_without_limits_one_call_to_each_model_finds_out() -> None:
    pacer = Pacing({}, 60)
    first = let_through(pacer, 0.0, key="a")
    other = pacer.enter("b", ONE)
    assert pacer.wait(other, 0.0) == 0
    second = pacer.enter("a", ONE)
    assert pacer.wait(second, 5.0) is None
    pacer.learn(first, [], EPOCH, 5.0)  # no limits, as from Gemini
    assert pacer.wait(second, 5.0) == 0
    assert wait_of(pacer, 5.0, key="a") == 0


def test_a_probe_that_fails_without_a_response_is_followed_by_the_next() -> None:
    pacer = Pacing({}, 60)
    first, second, third = let_through(pacer, 0.0), pacer.enter("m", ONE), pacer.enter("m", ONE)
    pacer.leave(first, 1.0, ONE)
    assert pacer.wait(second, 1.0) == 0
    assert pacer.wait(third, 1.0) is None


def test_the_headers_of_a_response_are_a_limit() -> None:
    pacer = learned(report(100, 5))
    for _ in range(5):
        pacer.leave(let_through(pacer, 0.0), 0.0, ONE)
    assert wait_of(pacer, 0.0) == pytest.approx(60 / 100)  # all comes back in a minute
    assert wait_of(pacer, 0.0, key="other") == 0


def test_learned_limits_hold_beside_the_named_ones() -> None:
    pacer = Pacing({"requests": 1000}, 60)
    place = let_through(pacer, 0.0)
    pacer.learn(place, [report(10, 2)], EPOCH, 0.0)
    pacer.leave(place, 0.0, ONE)
    for _ in range(2):
        let_through(pacer, 0.0)
    assert wait_of(pacer, 0.0) == pytest.approx(60 / 10)
    # A larger one of the server does not replace a named one.
    pacer = Pacing({"requests": 2}, 60)
    place = let_through(pacer, 0.0)
    pacer.learn(place, [report(1000, 999)], EPOCH, 0.0)
    pacer.leave(place, 0.0, ONE)
    assert wait_of(pacer, 0.0) == pytest.approx(0.04 * 60 / 1.96)


def test_a_quota_in_the_body_of_a_429_has_its_window() -> None:
    pacer = learned(report(20, 0, window=10.0))
    assert wait_of(pacer, 0.0) == pytest.approx(10 / 20)
    pacer = learned(report(20, 0, window=86_400.0))  # of a day: the server's error says so in time
    assert wait_of(pacer, 0.0) == 0


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize("seconds", [0.5, 34.4, 60.0])
def test_no_call_to_a_model_goes_before_its_server_wants_it(seconds: float, status: int) -> None:
    pacer = learned(report(100, 99))
    place = let_through(pacer, 10.0)
    pacer.refused(place, 10.0, wish=seconds, status=status)
    pacer.leave(place, 10.0, NOTHING)
    assert wait_of(pacer, 10.0) == pytest.approx(seconds)
    assert wait_of(pacer, 10.0, key="other") == 0
    assert pacer.held("m", 10.0) == pytest.approx(seconds)
    first, second = pacer.enter("m", ONE), pacer.enter("m", ONE)
    assert pacer.wait(first, 10.0 + seconds) == 0
    assert pacer.wait(second, 10.0 + seconds) is None  # the first one tests the server
    pacer.leave(first, 10.0 + seconds, NOTHING)  # cancelled
    assert pacer.wait(second, 10.25 + seconds) == 0


def test_a_call_that_is_refused_goes_before_those_that_wait() -> None:
    pacer = learned(report(100, 99))
    waiting = [pacer.enter("m", ONE) for _ in range(2)]
    again = pacer.enter("m", ONE, before=0)
    second = pacer.enter("m", ONE, before=1)
    order = []
    for now in range(4):
        place = next(pacer.firsts())
        assert pacer.wait(place, float(now)) == 0
        order.append(place)
    assert order == [again, second, *waiting]


@joined(
    "reported",
    [
        report(0, 0),
        RateLimit(unit="requests", remaining=0),
        RateLimit(unit="requests", limit=5),
        report(1, 0, unit="images"),
        report(1, 0, window=3601.0),
    ],
)
def test_a_report_that_tells_too_little_is_no_limit(reported: RateLimit) -> None:
    assert wait_of(learned(reported), 0.0) == 0


def test_a_response_that_overtook_an_earlier_one_has_told_more() -> None:
    pacer = bursting({"requests": 1000})
    first, second = let_through(pacer, 0.0), let_through(pacer, 0.0)
    pacer.learn(second, [report(100, 4)], EPOCH, 1.0)
    pacer.learn(first, [report(100, 90)], EPOCH, 1.0)
    for _ in range(3):  # 4, less the first one, which may not have been counted
        pacer.leave(let_through(pacer, 1.0), 1.0, ONE)
    assert wait_of(pacer, 1.0) == pytest.approx(60 / 100)


def test_calls_beside_a_response_may_not_be_counted_in_it() -> None:
    """`remaining` was 5 when the server counted one of three calls: it may be 3 by now."""
    pacer = bursting({"requests": 1000})
    places = [let_through(pacer, 0.0) for _ in range(3)]
    pacer.learn(places[0], [report(100, 5)], EPOCH, 0.0)
    for _ in range(3):
        pacer.leave(let_through(pacer, 0.0), 0.0, ONE)
    assert wait_of(pacer, 0.0) == pytest.approx(60 / 100)
    # The same where the others have responded since it was let through.
    pacer = bursting({"requests": 1000})
    places = [let_through(pacer, 0.0) for _ in range(3)]
    for place in places[:2]:
        pacer.learn(place, [], EPOCH, 0.0)
        pacer.leave(place, 0.0, ONE)
    pacer.learn(places[2], [report(100, 5)], EPOCH, 0.0)
    for _ in range(3):
        pacer.leave(let_through(pacer, 0.0), 0.0, ONE)
    assert wait_of(pacer, 0.0) == pytest.approx(60 / 100)


def test_a_second_report_of_one_response_counts_it_once() -> None:
    """The head and the body of a 429 report apart."""
    pacer = Pacing({"requests": 1000}, 60)
    place = let_through(pacer, 0.0)
    for _ in range(2):
        pacer.learn(place, [report(100, 3)], EPOCH, 0.0)
    pacer.leave(place, 0.0, ONE)
    assert wait_of(pacer, 0.0) == 0


def test_what_a_server_has_counted_is_not_settled_again() -> None:
    """The report of a later call has the tokens that an earlier one really used."""
    pacer = Pacing({}, 60)
    first = let_through(pacer, 0.0, amounts(100, 0))
    pacer.learn(first, [report(1000, 900, unit="tokens")], EPOCH, 0.0)
    second = let_through(pacer, 0.0, amounts(100, 0))
    pacer.learn(second, [report(1000, 500, unit="tokens")], EPOCH, 0.0)
    pacer.leave(first, 0.0, amounts(10, 0))
    assert wait_of(pacer, 0.0, amounts(500, 0)) == 0
    assert wait_of(pacer, 0.0, amounts(501, 0)) == pytest.approx(60 / 1000)
    pacer.leave(second, 0.0, amounts(60, 0))  # its own report came before its usage was known
    assert wait_of(pacer, 0.0, amounts(501, 0)) == pytest.approx(60 / 1000)


# --- bounds ---------------------------------------------------------------------------------------


def kept(pacer: Pacing) -> list[int]:
    """How many limits are kept of each model."""
    return [len(model.limits) for model in pacer._models.values()]


def test_a_server_that_invents_limits_does_not_fill_the_memory() -> None:
    pacer = learned(*(report(100, 50, scope=f"policy {n}") for n in range(1000)))
    assert kept(pacer) == [pacing._MOST_LIMITS]
    place = let_through(pacer, 0.0)
    pacer.learn(place, [report(100, 50, window=float(n)) for n in range(1, 1000)], EPOCH, 0.0)
    assert kept(pacer) == [pacing._MOST_LIMITS]
    # A limit that is reported again and again is kept.
    pacer = Pacing({}, 60)
    for n in range(50):
        place = let_through(pacer, 100.0 * n)
        pacer.learn(place, [report(9, 1), report(100, 50, scope=f"{n}")], EPOCH, 100.0 * n)
        pacer.leave(place, 100.0 * n, ONE)
    pacer.leave(let_through(pacer, 4900.0), 4900.0, ONE)
    assert wait_of(pacer, 4900.0) == pytest.approx(60 / 9)


def test_the_models_that_were_asked_longest_ago_are_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pacing, "_MOST_MODELS", 3)
    pacer = Pacing({}, 60)

    def ask(key: str) -> None:
        place = let_through(pacer, 0.0, key=key)
        pacer.learn(place, [report(100, 1)], EPOCH, 0.0)
        pacer.leave(place, 0.0, ONE)

    running = let_through(pacer, 0.0, key="a")
    for key in ("b", "c", "d", "b", "e"):
        ask(key)
    assert list(pacer._models) == ["d", "b", "e"]
    for key, wait in (("b", 60 / 100), ("c", 0)):  # that of c is forgotten
        pacer.leave(let_through(pacer, 0.0, key=key), 0.0, ONE)
        assert wait_of(pacer, 0.0, key=key) == pytest.approx(wait)
    # A call to a forgotten model ends as any other.
    pacer.learn(running, [report(100, 1)], EPOCH, 0.0)
    pacer.leave(running, 0.0, ONE)
    assert (pacer.running, pacer.waiting) == (0, 0)


LARGE = [report(10**9, 10**8), report(10**9, 10**8, unit="tokens")]


def all_at_once(n: int) -> Callable[[], None]:
    """So many calls run at the same time, and are answered one after the other."""
    pacer = learned(*LARGE)

    def run() -> None:
        places = [pacer.enter("m", ONE) for _ in range(n)]
        for place in places:
            pacer.wait(place, 1.0)
        for at, place in enumerate(places):
            pacer.learn(place, LARGE, EPOCH, 2.0 + at)
            pacer.leave(place, 2.0 + at, ONE)

    return run


def test_many_calls_at_once_are_linear_work() -> None:
    is_linear(all_at_once)


# --- against a server -----------------------------------------------------------------------------


class Server:
    """Allows so much of each unit a minute, and counts a call after a delay of its own."""

    def __init__(self, limits: dict[str, int]) -> None:
        self.limits, self.left, self.at = limits, {**limits}, 0.0
        self.refused = 0

    def take(self, used: Amounts, now: float) -> list[RateLimit]:
        for unit, limit in self.limits.items():
            came_back = (now - self.at) * limit / 60
            self.left[unit] = min(limit, self.left[unit] + came_back)
        self.at = now
        if any(self.left[unit] < used[unit] for unit in self.limits):
            self.refused += 1
        else:
            for unit in self.limits:
                self.left[unit] -= used[unit]
        return [report(each, int(self.left[unit]), unit) for unit, each in self.limits.items()]


@joined("seed", range(2))
@joined("named", [True, False])
@joined("limits", [{"requests": 120}, {"requests": 300, "tokens": 20_000}])
def test_a_server_with_delays_refuses_hardly_any(
    limits: dict[str, int], named: bool, seed: int
) -> None:
    """At least 95 % of what it allows is used, and at most 0.5 % is refused.

    A call reaches the server within 0.3 s, and its response comes up to 2 s later.
    """
    dice, server, count = random.Random(seed), Server(limits), 1000
    pacer = Pacing(limits if named else {}, 60)
    calls = [amounts(dice.randrange(20, 200), dice.randrange(20)) for _ in range(count)]
    waiting = [pacer.enter("m", use) for use in calls][::-1]
    events: list[tuple[float, int, str, Place, list[RateLimit]]] = []
    now, number = 0.0, 0
    while waiting or events:
        seconds = pacer.wait(waiting[-1], now) if waiting else None
        if seconds == 0:
            place = waiting.pop()
            number += 1
            heapq.heappush(events, (now + dice.random() * 0.3, number, "arrives", place, []))
            continue
        if seconds is not None and (not events or now + seconds < events[0][0]):
            now += seconds
            continue
        now, _, what, place, reports = heapq.heappop(events)
        if what == "arrives":
            reports = server.take(place.amounts, now)
            number += 1
            heapq.heappush(events, (now + dice.random() * 2, number, "ends", place, reports))
        else:
            pacer.learn(place, reports, EPOCH + now, now)
            pacer.leave(place, now, place.amounts)
    used = {unit: sum(each[unit] for each in calls) for unit in limits}
    shares = [used[unit] / (limit + now * limit / 60) for unit, limit in limits.items()]
    assert max(shares) >= 0.95
    assert server.refused <= 0.005 * count
