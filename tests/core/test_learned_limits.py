"""What limiters learn: from refusals, from reports, and of calls at the same time."""

from __future__ import annotations

import pytest

from tests.joined import joined
from wire.core.exchange import retry_after
from wire.core.learned_rate import LearnedRate
from wire.core.learned_width import LearnedWidth
from wire.core.named_limit import NamedLimits
from wire.core.rate_limits import header_limits
from wire.core.reported_limit import ReportedLimit


def sent_evenly(rate: LearnedRate, numbers: range, now: float, seconds: float) -> float:
    """Let calls go and be taken, one after the other; return the time after them."""
    for number in numbers:
        waited = rate.sent(number, now)
        rate.taken(number, now, waited=waited)
        now += seconds / len(numbers)
    return now


def refused(rate: LearnedRate, number: int, now: float, wish: float | None = None) -> None:
    rate.sent(number, now)
    rate.refused(number, number, now, wish=wish, is_rate=True, is_told=False)


def test_a_window_is_measured_from_its_start_to_the_end_of_the_hold() -> None:
    rate = LearnedRate()
    now = sent_evenly(rate, range(1, 101), 0.0, 1.0)
    refused(rate, 101, now, wish=9.25)
    assert rate.wait(now) == 9.25
    assert rate.wait(10.25) == 0.0
    waited = rate.sent(102, 10.25)
    assert rate.wait(10.3) is None  # it tests the server
    rate.taken(102, 10.3, waited=waited)
    assert rate.pace(10.3) == pytest.approx(100 / 10.25 * 0.98)


def test_a_burst_before_a_short_hold_is_no_measurement() -> None:
    """A full bucket was spent: the pace begins low, and doubles until the next refusal."""
    rate = LearnedRate()
    now = sent_evenly(rate, range(1, 101), 0.0, 1.0)
    refused(rate, 101, now)
    assert rate.wait(now) == 0.25
    rate.taken(102, 1.3, waited=rate.sent(102, 1.25))
    assert rate.pace(1.25) == pytest.approx(1 / 0.25)
    assert rate.pace(1.25 + 1.5) == pytest.approx(2 / 0.25)


def test_the_pace_is_less_after_each_refusal_and_grows_slowly() -> None:
    rate = LearnedRate()
    now = sent_evenly(rate, range(1, 101), 0.0, 1.0)
    refused(rate, 101, now, wish=9.25)
    rate.taken(102, 10.3, waited=rate.sent(102, 10.25))
    before, now = rate.pace(10.3), 10.3
    for number in range(103, 203):
        now += rate.wait(now) or 0.0
        rate.taken(number, now, waited=rate.sent(number, now))
    assert before < rate.pace(now) < 1.05 * before
    refused(rate, 203, now, wish=1.0)
    rate.taken(204, now + 1, waited=rate.sent(204, now + 1))
    assert rate.pace(now + 1) < before


@joined("wish", [None, 0.0, -1.0, 86_400.0])
def test_without_a_wish_to_believe_the_server_is_asked_more_and_more_rarely(
    wish: float | None,
) -> None:
    rate, now, asked = LearnedRate(), 0.0, []
    for number in range(1, 200):
        refused(rate, number, now, wish)
        wait = rate.wait(now)
        assert wait is not None
        now += wait
        asked.append(wait)
    assert asked[0] == 0.25
    assert max(asked) <= 0.05 * now
    assert any(abs(sum(asked[: n + 1]) - 60) < 1e-9 for n in range(200))  # a usual window


def test_an_outage_says_nothing_about_the_rate() -> None:
    rate = LearnedRate()
    now = sent_evenly(rate, range(1, 11), 0.0, 1.0)
    rate.sent(11, now)
    rate.refused(11, 11, now, wish=None, is_rate=False, is_told=False)
    assert rate.taken(12, now + 6, waited=rate.sent(12, now + 6)) is False
    assert rate.pace(now + 6) == float("inf")


def test_an_outage_while_no_call_goes_is_part_of_no_measurement() -> None:
    rate = LearnedRate()
    now = sent_evenly(rate, range(1, 101), 0.0, 1.0)
    refused(rate, 101, now, wish=9.25)
    rate.sent(102, 10.25)
    rate.refused(102, 102, 10.3, wish=None, is_rate=False, is_told=False)
    assert rate.taken(103, 16.0, waited=rate.sent(103, 15.9)) is True
    assert rate.pace(16.0) == float("inf")


def test_a_window_that_is_reported_is_used_up_at_its_end() -> None:
    limit = ReportedLimit(100, None, 0.0)
    limit.learn(100, 1, 9.6, 0.3, age=0.3, is_exact=True)
    limit.left = 99
    now, used = 0.3, 0
    while now < 9.9:
        limit.refresh(now, 0)
        if (wait := limit.wait(1, now)) > 0:
            now += wait
            continue
        limit.use(1, now)
        used += 1
    assert used == 99
    assert limit.wait(1, 9.0) == pytest.approx(0.9)  # nothing is left until the reset


def test_what_comes_back_to_a_bucket_is_seen_in_its_resets() -> None:
    """Full again in `used / 10` seconds: ten a second come back."""
    limit = ReportedLimit(100, None, 0.0)
    for used in (1, 50, 99):
        limit.learn(100, used, used / 10, 0.1, age=0.1, is_exact=True)
    limit.refresh(0.1, 0)
    limit.left = 0.0
    assert limit.wait(1, 0.1) == pytest.approx(0.1)
    limit.refresh(1.1, 0)
    assert limit.left == pytest.approx(10)


@joined(
    "reports",
    [
        [(1, 0.001), (4, 0.004)],  # too short to tell how quickly it is refilled
        [(1, 0.1), (5, 0.5), (0, 0.05)],  # nothing used, though it is not full
        [(1, 0.1), (5, 0.5), (-3, 0.05)],  # more left than the limit
    ],
)
def test_a_bucket_that_tells_too_little_is_used_on(reports: list[tuple[int, float]]) -> None:
    limit = ReportedLimit(10, None, 0.0)
    for used, seconds in reports:
        limit.learn(10, used, seconds, 0.1, age=0.0, is_exact=True)
    for now in (0.1, 0.2):
        limit.left = 1.0
        limit.use(1, now)
        limit.refresh(now, 0)
        assert 0 <= limit.wait(1, now) <= 1


def test_a_limit_without_a_reset_comes_back_over_its_minute() -> None:
    limit = ReportedLimit(60, None, 0.0)
    limit.learn(60, 60, None, 0.0, age=0.0, is_exact=False)
    limit.left = 0.0
    assert limit.wait(1, 0.0) == 1.0


def test_a_named_limit_begins_without_a_burst() -> None:
    limits = NamedLimits({"requests": 600}, 60.0)
    one = {"requests": 1}
    waits = []
    for _ in range(3):
        waits.append(limits.wait(one, 0.0))
        limits.use(one, 0.0)
    assert waits == pytest.approx([0.0, 1 / 9.8, 2 / 9.8])
    limits.reported(one, {"requests"})
    assert limits.wait({"requests": 100}, 0.0) == 0.0


def test_a_server_that_refuses_when_so_many_run_is_believed() -> None:
    width = LearnedWidth(None)
    width.guess(20, 200)
    assert (width.is_full(19), width.is_full(20)) == (False, True)
    assert not width.is_met(20, waited=False)  # it has taken none since
    width.taken(201)
    for _ in range(3):
        width.answered(202, 20)
    assert width.limit == 20 + 1  # two of the answers came while one less than the limit ran
    assert width.is_met(20, waited=True)
    width.lower(20, 300)
    assert width.limit == 20
    for _ in range(20 * 32):
        width.answered(301, 20)
    assert width.limit == 21


@joined(
    ("headers", "seconds"),
    [
        ({"retry-after": "Fri, 15 Jan 2027 09:00:05 GMT"}, 3605.0),
        (
            {
                "retry-after": "Fri, 15 Jan 2027 09:00:05 GMT",
                "date": "Fri, 15 Jan 2027 09:00:00 GMT",
            },
            5.0,
        ),
        (
            {
                "retry-after": "Fri, 15 Jan 2027 08:00:05 GMT",
                "date": "Fri, 15 Jan 2027 07:59:59 GMT",
            },
            5.0,  # one second is the way of the response
        ),
        ({"retry-after": "Fri, 15 Jan 2027 09:00:05 GMT", "date": "soon"}, 3605.0),
    ],
)
def test_a_date_is_one_of_the_clock_of_the_server(headers: dict[str, str], seconds: float) -> None:
    assert retry_after(headers, 1_800_000_000.0) == seconds


@joined("reset", ["2027-01-15T09:00:30Z", "1800003630", "30s"])
def test_a_reset_is_a_moment_of_this_clock(reset: str) -> None:
    headers = {
        "date": "Fri, 15 Jan 2027 09:00:00 GMT",  # an hour ahead
        "x-ratelimit-limit-requests": "60",
        "x-ratelimit-remaining-requests": "1",
        "x-ratelimit-reset-requests": reset,
    }
    (limit,) = header_limits(headers, 1_800_000_000.0)
    assert limit.resets_at is not None
    assert limit.resets_at.timestamp() == 1_800_000_030.0
