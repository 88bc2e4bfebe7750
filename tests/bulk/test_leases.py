"""Rate limits that hold for several processes together, in simulated time."""

from __future__ import annotations

import heapq
import itertools
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec
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


class OneRun:
    """The leases of one run."""

    def __init__(self, terms: Terms) -> None:
        self._leases = Leases()
        self._leases.begin("run", terms)
        self.forget = self._leases.forget

    def hear(self, holder: str, said: Iterable[Said], now: float) -> None:
        self._leases.hear("run", holder, said, now)

    def grant(self, now: float) -> tuple[dict[str, list[int]], float | None]:
        granted, seconds = self._leases.grant(now)
        return granted.get("run", {}), seconds


def unlimited(concurrent: int = 32) -> OneRun:
    """Leases without limits, whose server has answered a first attempt and reported none."""
    leases = OneRun(Terms({}, 60, concurrent=concurrent))
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
    leases = OneRun(Terms({}, 60))
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
    leases = OneRun(Terms({"requests": 1}, 60))
    leases.hear("a", [asked(1)], 0)
    leases.hear("b", [asked(1)], 0)
    assert leases.grant(0)[0] == {"a": [1]}
    leases.hear("a", [ended(1, {"requests": 0.0}, is_answered=False)], 0)
    assert leases.grant(0) == ({"b": [1]}, None)


def test_who_waits_no_more_is_passed_over() -> None:
    leases = OneRun(Terms({"requests": 1}, 60))
    leases.hear("a", [asked(1), ended(1), asked(2)], 0)
    assert leases.grant(0) == ({"a": [2]}, None)


def test_what_an_earlier_run_has_used() -> None:
    leases = OneRun(Terms({"requests": 60}, 60, idle=0.0))
    leases.hear("a", [asked(1), asked(2)], 0)
    leases.hear("b", [asked(1)], 0)
    assert leases.grant(0) == ({}, pytest.approx(1.02, abs=0.01))  # nothing is left of the minute
    assert leases.grant(1.1) == ({"a": [1]}, pytest.approx(1.0, abs=0.1))


def test_a_report_tells_what_an_earlier_run_has_used() -> None:
    leases = OneRun(Terms({"requests": 60}, 60, idle=30.0))
    leases.hear("a", [asked(1)], 0)
    assert leases.grant(0)[0] == {"a": [1]}
    limit = RateLimit(unit="requests", limit=60, remaining=59, window=60.0)
    leases.hear("a", [heard(1, (limit,)), ended(1), *(asked(n) for n in range(2, 100))], 0)
    granted = leases.grant(0)[0]["a"]
    assert len(granted) == 32  # at the same time; else 29 are left of the half that came back
    leases.hear("a", [ended(n) for n in granted], 0)
    assert len(leases.grant(0)[0]["a"]) == 25  # 98 % of 60, with one and 32


def test_what_is_said_of_an_attempt_that_waits() -> None:
    leases = unlimited()
    leases.hear("a", [asked(1), heard(1, refused=429, retry_after=5.0)], 0)
    assert leases.grant(0) == ({"a": [1]}, None)


def test_a_holder_that_is_gone() -> None:
    leases = unlimited(concurrent=2)
    leases.hear("a", [asked(n) for n in (1, 2, 3)], 0)
    leases.hear("b", [asked(1)], 0)
    assert leases.grant(0)[0] == {"a": [1, 2]}
    leases.forget("a", 1)
    leases.hear("a", [ended(1)], 1)  # it was on its way
    assert leases.grant(1) == ({"b": [1]}, None)


def test_who_goes_before_others() -> None:
    leases = unlimited(concurrent=1)
    leases.hear("a", [asked(n) for n in (1, 2, 3)], 0)
    assert leases.grant(0)[0] == {"a": [1]}
    leases.hear("b", [msgspec.structs.replace(asked(1), before=1), ended(2)], 0)
    for number, expected in ((1, {"a": [2]}), (2, {"b": [1]})):
        leases.hear("a", [ended(number)], 0)
        assert leases.grant(0)[0] == expected


# --- several runs ---------------------------------------------------------------------------------

UNNAMED = Terms({}, 60.0)
NAMED = Terms({"requests": 600}, 60.0)


def runs(**terms: Terms) -> Leases:
    leases = Leases()
    for name, each in terms.items():
        leases.begin(name, each)
    return leases


def test_holders_of_two_runs_are_told_apart() -> None:
    leases = runs(one=NAMED, two=Terms({"requests": 6000}, 60.0))
    leases.hear("one", "worker", [asked(1)], 0)
    leases.hear("two", "worker", [asked(1)], 0)
    assert leases.grant(0)[0] == {"one": {"worker": [1]}, "two": {"worker": [1]}}
    leases.hear("one", "worker", [ended(1), asked(2)], 1)
    leases.hear("two", "worker", [asked(2)], 1)
    leases.hear("three", "worker", [asked(1)], 1)  # of no run
    assert leases.grant(1)[0] == {"one": {"worker": [2]}, "two": {"worker": [2]}}
    leases.hear("one", "worker", [asked(3)], 2)
    leases.hear("two", "worker", [asked(3)], 2)
    leases.forget("worker", 2)
    assert leases.grant(2) == ({}, None)


def test_what_one_run_learns_holds_for_the_other() -> None:
    leases = runs(one=UNNAMED, two=UNNAMED)
    leases.hear("one", "a", [asked(1)], 0)
    leases.hear("two", "a", [asked(1)], 0)
    assert leases.grant(0) == ({"one": {"a": [1]}}, None)  # it finds out the limits for both
    leases.hear("one", "a", [heard(1, retry_after=5.0, refused=429), ended(1)], 0)
    assert leases.grant(1) == ({}, 4.0)
    assert leases.grant(5) == ({"two": {"a": [1]}}, None)


def test_another_account_is_another_server() -> None:
    leases = runs(one=UNNAMED, two=UNNAMED)
    leases.hear("one", "a", [asked(1)], 0)
    leases.hear("two", "a", [msgspec.structs.replace(asked(1), key="other account")], 0)
    assert leases.grant(0)[0] == {"one": {"a": [1]}, "two": {"a": [1]}}
    leases.hear("one", "a", [heard(1, retry_after=5.0, refused=429), ended(1), asked(2)], 0)
    leases.hear("two", "a", [heard(1), ended(1), asked(2)], 0)
    leases.hear("two", "a", [msgspec.structs.replace(asked(3), key="other account")], 0)
    assert leases.grant(1) == ({"two": {"a": [3]}}, 4.0)


@pytest.mark.parametrize(
    ("terms", "key", "granted"),
    [
        (Terms({"requests": 1}, 60.0), "model", {"one": {"a": [1]}}),
        (Terms({"requests": 1}, 60.0), "another model", {"one": {"a": [1]}, "two": {"a": [1]}}),
        (Terms({"requests": 1}, 61.0), "model", {"one": {"a": [1]}, "two": {"a": [1]}}),
        (Terms({"requests": 2}, 60.0), "model", {"one": {"a": [1]}, "two": {"a": [1]}}),
        (Terms({"requests": 1}, 60.0, concurrent=7), "model", {"one": {"a": [1]}}),
    ],
)
def test_equal_limits_of_one_key_are_shared(
    terms: Terms, key: str, granted: dict[str, dict[str, list[int]]]
) -> None:
    leases = runs(one=Terms({"requests": 1}, 60.0), two=terms)
    leases.hear("one", "a", [asked(1)], 0)
    leases.hear("two", "a", [msgspec.structs.replace(asked(1), key=key)], 0)
    assert leases.grant(0)[0] == granted


def test_a_run_that_ends_gives_back_its_places() -> None:
    leases = runs(one=UNNAMED, two=UNNAMED)
    leases.hear("one", "a", [asked(1)], 0)
    leases.hear("one", "b", [asked(1)], 0)
    leases.hear("two", "a", [asked(1)], 0)
    assert leases.grant(0)[0] == {"one": {"a": [1]}}
    leases.end("one", 1)
    leases.end("one", 1)
    leases.hear("one", "a", [heard(1), ended(1)], 1)  # it was on its way
    assert leases.grant(1) == ({"two": {"a": [1]}}, None)


def test_a_width_that_was_learned_is_free_when_a_run_ends() -> None:
    leases = runs(one=UNNAMED, two=UNNAMED)
    leases.hear("one", "a", [asked(1)], 0)
    leases.grant(0)
    leases.hear("one", "a", [heard(1), *(asked(n) for n in (2, 3, 4))], 0)
    assert leases.grant(0)[0] == {"one": {"a": [2, 3, 4]}}
    leases.hear(
        "one", "a", [heard(4, refused=503), ended(4, {"requests": 0.0}, is_answered=False)], 0
    )
    leases.hear("two", "a", [asked(1)], 0)
    assert leases.grant(9) == ({}, None)  # three run, and the server takes no more
    leases.end("one", 10)
    assert leases.grant(10) == ({"two": {"a": [1]}}, None)


def test_limits_of_one_run_do_not_stop_another() -> None:
    leases = runs(one=Terms({"requests": 1}, 60.0), two=Terms({}, 60.0, concurrent=2))
    leases.hear("one", "a", [asked(n) for n in (1, 2, 3)], 0)
    leases.hear("two", "a", [asked(n) for n in (1, 2, 3)], 0)
    assert leases.grant(0)[0] == {"one": {"a": [1]}}
    leases.hear("one", "a", [heard(1), ended(1)], 0)
    assert leases.grant(0)[0] == {"two": {"a": [1, 2]}}


def test_a_large_attempt_is_not_overtaken_by_another_run() -> None:
    leases = runs(one=UNNAMED, two=UNNAMED)
    limit = RateLimit(unit="tokens", limit=100, remaining=0, window=60.0)
    leases.hear("one", "a", [Asked(1, "model", {"tokens": 1.0})], 0)
    leases.grant(0)
    leases.hear(
        "one", "a", [heard(1, (limit,)), ended(1, {}), Asked(2, "model", {"tokens": 90.0})], 0
    )
    small = [Asked(number, "model", {"tokens": 1.0}) for number in range(1, 10)]
    leases.hear("two", "a", small, 0)
    assert leases.grant(0)[0] == {}
    assert leases.grant(30) == ({}, pytest.approx(24.0))
    granted = leases.grant(60)[0]
    assert (granted["one"], granted["two"]["a"][:2]) == ({"a": [2]}, [1, 2])


def test_a_large_attempt_is_not_overtaken_at_another_server() -> None:
    leases = OneRun(Terms({"tokens": 100}, 60.0))
    plenty = RateLimit(unit="tokens", limit=9000, remaining=8999, window=60.0)
    large = Asked(2, "model", {"tokens": 90.0})
    leases.hear("a", [Asked(1, "model", {"tokens": 1.0})], 0)
    leases.grant(0)
    leases.hear("a", [heard(1, (plenty,)), ended(1, {}), large], 0)
    assert leases.grant(0)[0] == {"a": [2]}
    leases.hear("a", [msgspec.structs.replace(large, number=3)], 0)
    leases.hear("a", [Asked(4, "another model", {"tokens": 1.0})], 0)  # there are 7 left for it
    assert leases.grant(0)[0] == {}
    assert leases.grant(52)[0] == {"a": [3, 4]}


# --- in simulated time ----------------------------------------------------------------------------


class Bucket:
    """A server that refuses what its bucket has not left, and reports what it has if it is told."""

    def __init__(self, unit: str, limit: int, *, reports: bool) -> None:
        self.unit, self.limit, self.reports = unit, limit, reports
        self.left, self.before = float(limit), 0.0
        self.taken = self.refused = 0

    def take(self, amount: float, now: float) -> bool:
        """Count a request, unless there is too little left for it."""
        came_back = (now - self.before) * self.limit / 60
        self.left, self.before = min(self.limit, self.left + came_back), now
        if self.left < amount:
            self.refused += 1
            return False
        self.left, self.taken = self.left - amount, self.taken + 1
        return True

    def report(self, now: float) -> tuple[RateLimit, ...]:
        if not self.reports:
            return ()
        seconds = (self.limit - self.left) * 60 / self.limit
        resets_at = datetime.fromtimestamp(START + now + seconds, UTC)
        left = int(self.left)
        return (RateLimit(unit=self.unit, limit=self.limit, remaining=left, resets_at=resets_at),)


START = 1_800_000_000.0
"""Seconds since 1970 at the start of a simulation."""


def simulated(
    leases: Leases,
    names: Sequence[str],
    server: Bucket,
    *,
    seconds: float = 120,
    holders: str = "abcdefghij",
    amounts: dict[str, float] = ONE,
    used: dict[str, float] = ONE,
) -> Counter[str]:
    """The answers to each run, whose holders ask eight at a time, and take different times."""
    ids = itertools.count()
    events: list[tuple[float, int, tuple[str, str], int, Any]] = []
    answers: Counter[str] = Counter()

    def at(time: float, who: tuple[str, str], number: int, what: Any) -> None:
        heapq.heappush(events, (time, next(ids), who, number, what))

    numbers = dict.fromkeys(itertools.product(names, holders), 8)
    for who, number in itertools.product(numbers, range(1, 9)):
        at(0.0, who, number, "ask")
    now, looks_at = 0.0, math.inf
    while events[0][0] < seconds:
        now, _, (run, holder), number, what = heapq.heappop(events)
        if what == "look":
            if now < looks_at:
                continue  # an earlier look has found another time
            looks_at = math.inf
        elif what == "ask":
            leases.hear(run, holder, [Asked(number, "model", amounts)], now)
        elif what == "arrive":
            is_taken = server.take(used[server.unit], now)
            answers[run] += is_taken
            takes = 0.1 * (1 + number % 7) if is_taken else 0.01
            said = Heard(number, server.report(now), START + now, None if is_taken else 429, None)
            at(now + takes, (run, holder), number, said)
        else:
            is_taken = what.refused is None
            left = ended(
                number, used if is_taken else dict.fromkeys(used, 0.0), is_answered=is_taken
            )
            leases.hear(
                run, holder, [msgspec.structs.replace(what, received_at=START + now), left], now
            )
            numbers[run, holder] += 1
            at(now, (run, holder), numbers[run, holder], "ask")
        granted, wait = leases.grant(now)
        for run, by_holder in granted.items():
            for holder, these in by_holder.items():
                for one in these:  # its way to the server
                    at(now + 0.005 * (1 + one % 5), (run, holder), one, "arrive")
        if wait is not None and now + wait < looks_at:
            looks_at = now + wait
            at(looks_at, ("", ""), 0, "look")
    return answers


def test_a_limit_is_used_and_held() -> None:
    server = Bucket("requests", 600, reports=False)
    simulated(runs(one=Terms({"requests": 600}, 60, concurrent=40)), ["one"], server)
    assert server.taken >= 0.95 * 600 * 2  # a full bucket is not known without a report
    assert server.refused <= 0.005 * server.taken


@pytest.mark.parametrize(
    ("terms", "reports", "seconds", "allowed"),
    [
        (UNNAMED, True, 120, 600 + 1200),  # a full bucket, and what comes back
        (NAMED, True, 120, 600 + 1200),
        (NAMED, False, 120, 1200),  # a full bucket is not known without a report
        (UNNAMED, False, 300, 600 + 3000),  # the limit is found by a few refusals
    ],
    ids=["reported", "named and reported", "named", "learned"],
)
def test_two_runs_share_a_limit(terms: Terms, reports: bool, seconds: float, allowed: int) -> None:
    server = Bucket("requests", 600, reports=reports)
    answers = simulated(runs(one=terms, two=terms), ["one", "two"], server, seconds=seconds)
    assert server.taken >= 0.95 * allowed
    assert server.refused <= 0.005 * server.taken
    assert min(answers.values()) >= 0.4 * server.taken


def test_two_runs_with_different_limits() -> None:
    server = Bucket("requests", 600, reports=True)
    leases = runs(few=Terms({"requests": 120}, 60), many=Terms({"requests": 900}, 60))
    answers = simulated(leases, ["few", "many"], server)
    assert 0.95 * 240 <= answers["few"] <= 240 + 120  # what was not used before goes at once
    assert server.taken >= 0.95 * (600 + 600 * 2)
    assert server.refused <= 0.005 * server.taken


@pytest.mark.parametrize("reports", [True, False], ids=["reported", "named"])
def test_two_runs_share_a_limit_of_tokens(reports: bool) -> None:
    """Nobody knows the length of the answers before they come."""
    server = Bucket("tokens", 60_000, reports=reports)
    terms = UNNAMED if reports else Terms({"tokens": 60_000}, 60)
    amounts = {"requests": 1.0, "tokens": 20.0, "output_tokens": 0.0}
    used = {"requests": 1.0, "tokens": 100.0, "output_tokens": 80.0}
    leases = runs(one=terms, two=terms)
    simulated(leases, ["one", "two"], server, amounts=amounts, used=used)
    assert server.taken >= 0.95 * (600 * 2 + 600 * reports)
    assert server.refused <= 0.005 * server.taken
