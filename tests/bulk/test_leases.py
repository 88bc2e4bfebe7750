"""Rate limits that hold for several processes together, in simulated time."""

from __future__ import annotations

import heapq
import itertools
import math

import pytest

from wire.bulk.leases import Asked, Ended, Heard, Leases, Said, Terms, decode, encode
from wire.core.rate_limits import RateLimit

ONE = {"requests": 1.0}


def asked(number: int) -> Asked:
    return Asked(number, "model", ONE)


def heard(
    number: int,
    limits: tuple[RateLimit, ...] = (),
    retry_after: float | None = None,
    *,
    refused: int | None = None,
) -> Heard:
    return Heard(number, limits, 1_800_000_000.0, refused, retry_after)


def ended(number: int, used: dict[str, float] | None = None, *, is_answered: bool = True) -> Ended:
    return Ended(number, ONE if used is None else used, is_answered)


def unlimited(concurrent: int = 32) -> Leases:
    """Leases without limits, whose server has answered a first attempt and reported none."""
    leases = Leases(Terms({}, 60, concurrent=concurrent))
    leases.hear("first", [asked(1)], 0)
    assert leases.grant(0) == ({"first": [1]}, None)
    leases.hear("first", [heard(1), ended(1)], 0)
    return leases


def test_what_is_said_travels_as_bytes() -> None:
    limit = RateLimit(unit="requests", limit=60, remaining=59)
    said: list[Said] = [asked(1), heard(1, (limit,), 2.5, refused=429), ended(1)]
    assert decode(encode(said)) == said


def test_attempts_go_in_their_order() -> None:
    leases = unlimited()
    leases.hear("a", [asked(1)], 0)
    leases.hear("b", [asked(1), asked(2)], 0)
    leases.hear("a", [asked(2)], 0)
    assert leases.grant(0) == ({"a": [1, 2], "b": [1, 2]}, None)
    assert leases.grant(0) == ({}, None)


def test_no_more_run_together_than_may() -> None:
    leases = unlimited(concurrent=2)
    leases.hear("a", [asked(n) for n in (1, 2, 3)], 0)
    leases.hear("b", [asked(1)], 0)
    assert leases.grant(0) == ({"a": [1, 2]}, None)
    leases.hear("a", [heard(2), ended(2)], 1)
    assert leases.grant(1) == ({"a": [3]}, None)
    leases.hear("a", [ended(1)], 1)
    assert leases.grant(1) == ({"b": [1]}, None)


def test_what_one_learns_holds_for_all() -> None:
    leases = Leases(Terms({}, 60))
    leases.hear("a", [asked(1)], 0)
    leases.hear("b", [asked(1)], 0)
    assert leases.grant(0) == ({"a": [1]}, None)  # it finds out whether there are limits
    limit = RateLimit(unit="requests", limit=60, remaining=0, window=60.0)
    leases.hear("a", [heard(1, (limit,)), ended(1)], 0)
    granted, seconds = leases.grant(0)
    assert granted == {}
    assert seconds == pytest.approx(1.0)  # one in a second comes back
    assert leases.grant(1.0) == ({"b": [1]}, None)


def test_a_wish_to_wait_holds_for_all() -> None:
    leases = unlimited()
    leases.hear("a", [asked(1)], 0)
    leases.hear("b", [asked(1)], 0)
    leases.grant(0)
    leases.hear("a", [heard(1, retry_after=5.0, refused=429), ended(1)], 0)
    leases.hear("b", [asked(2), asked(3)], 0)
    assert leases.grant(1) == ({}, 4.0)
    # One tests the server; the others wait for what it says.
    assert leases.grant(5) == ({"b": [2]}, None)
    leases.hear("b", [heard(2)], 5)
    granted, seconds = leases.grant(5)
    assert granted == {}
    # Two calls were taken in five seconds, which the server may have rounded up from 4.5.
    assert seconds == pytest.approx(4.5 / 2 / 0.98)


def test_a_busy_server_gets_fewer() -> None:
    leases = unlimited(concurrent=4)
    leases.hear("a", [asked(n) for n in range(1, 5)], 0)
    assert leases.grant(0) == ({"a": [1, 2, 3, 4]}, None)
    leases.hear("a", [heard(1, refused=503), ended(1, {"requests": 0.0}, is_answered=False)], 0)
    leases.hear("b", [asked(1), asked(2)], 0)
    assert leases.grant(0) == ({}, None)  # three run, and the server takes no more
    leases.hear("a", [heard(2), ended(2)], 0)
    assert leases.grant(0) == ({}, 0.25)
    assert leases.grant(0.25) == ({"b": [1]}, None)


def test_what_is_not_used_comes_back() -> None:
    leases = Leases(Terms({"requests": 1}, 60))
    leases.hear("a", [asked(1)], 0)
    leases.hear("b", [asked(1)], 0)
    assert leases.grant(0)[0] == {"a": [1]}
    leases.hear("a", [ended(1, {"requests": 0.0}, is_answered=False)], 0)
    assert leases.grant(0) == ({"b": [1]}, None)


def test_who_waits_no_more_is_passed_over() -> None:
    leases = Leases(Terms({"requests": 1}, 60))
    leases.hear("a", [asked(1), ended(1), asked(2)], 0)
    assert leases.grant(0) == ({"a": [2]}, None)


def test_what_an_earlier_run_has_used() -> None:
    leases = Leases(Terms({"requests": 60}, 60, idle=0.0))
    leases.hear("a", [asked(1), asked(2)], 0)
    leases.hear("b", [asked(1)], 0)
    assert leases.grant(0) == ({}, pytest.approx(1.02, abs=0.01))  # nothing is left of the minute
    assert leases.grant(1.1) == ({"a": [1]}, pytest.approx(1.0, abs=0.1))


def test_a_holder_that_is_gone() -> None:
    leases = unlimited(concurrent=2)
    leases.hear("a", [asked(n) for n in (1, 2, 3)], 0)
    leases.hear("b", [asked(1)], 0)
    assert leases.grant(0)[0] == {"a": [1, 2]}
    leases.forget("a", 1)
    leases.hear("a", [ended(1)], 1)  # it was on its way
    assert leases.grant(1) == ({"b": [1]}, None)


def test_a_limit_is_used_and_held() -> None:
    """Ten holders, whose calls take different times, and a server that counts as it is asked."""
    limit, window = 600, 60.0
    leases = Leases(Terms({"requests": limit}, window, concurrent=40))
    ids = itertools.count()
    events: list[tuple[float, int, str, int, str]] = []

    def at(time: float, holder: str, number: int, what: str) -> None:
        heapq.heappush(events, (time, next(ids), holder, number, what))

    for holder in "abcdefghij":
        for number in range(1, 9):
            at(0.0, holder, number, "ask")
    left, before, taken, refused, now = float(limit), 0.0, 0, 0, 0.0
    numbers = dict.fromkeys("abcdefghij", 8)
    looks_at = math.inf
    while now < 120:
        now, _, holder, number, what = heapq.heappop(events)
        if what == "look":
            looks_at = math.inf
        elif what == "ask":
            leases.hear(holder, [asked(number)], now)
        elif what == "arrive":
            left, before = min(limit, left + (now - before) * limit / window), now
            if left < 1:
                refused += 1
            else:
                left, taken = left - 1, taken + 1
            at(now + 0.1 * (1 + number % 7), holder, number, "end")
        elif what == "end":
            leases.hear(holder, [heard(number), ended(number)], now)
            numbers[holder] += 1
            at(now, holder, numbers[holder], "ask")
        granted, seconds = leases.grant(now)
        for each, these in granted.items():
            for one in these:
                at(now + 0.005 * (1 + one % 5), each, one, "arrive")  # its way to the server
        if seconds is not None and now + seconds < looks_at:
            looks_at = now + seconds
            at(looks_at, "", 0, "look")
    allowed = limit * now / window  # a full bucket is not known without a report
    assert taken >= 0.95 * allowed
    assert refused <= 0.005 * taken
