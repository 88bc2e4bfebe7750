from __future__ import annotations

import pickle
import threading
from contextlib import suppress
from random import Random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.joined import joined
from wire import retry
from wire.core.exchange import Failed, Outcome, Pause, Send, Step, exchange
from wire.core.retry import Retry, RetryBudget, RetryBudgets
from wire.errors import ConfigurationError, FirstByteClock, IdleClock, WireError

PLAIN = Retry(attempts=4, base=1.0, factor=2.0, cap=60.0, spread=(1.0, 1.0))
"""Waits of 1, 2, 4 s: no dice in it."""


def lost(retry_after: float | None = None, *, retryable: bool = True) -> WireError:
    return WireError("oops", retryable=retryable, retry_after=retry_after)


def run(
    policy: Retry,
    outcomes: list[WireError | None],
    *,
    total: float | None = None,
    takes: float = 0.0,
    seed: int = 0,
):
    """Drive the generator by a clock of its own: every attempt takes `takes` seconds.

    Steps, and the error it ended with.
    """
    steps: list[Step] = []
    elapsed, todo = 0.0, iter(outcomes)
    generator = exchange(policy, total, Random(seed))
    answer: Outcome = None
    try:
        while True:
            step = generator.send(answer)
            steps.append(step)
            if isinstance(step, Pause):
                elapsed += step.seconds
                answer = None
            else:
                elapsed += takes
                error = next(todo)
                answer = None if error is None else Failed(error, elapsed)
    except StopIteration:
        return steps, None
    except WireError as error:
        return steps, error


# --- the steps ------------------------------------------------------------------------------------


def test_success_at_once():
    assert run(PLAIN, [None]) == ([Send(1, None)], None)


def test_retries_then_success():
    steps, error = run(PLAIN, [lost(), lost(), None])
    assert (steps, error) == (
        [Send(1, None), Pause(1.0), Send(2, None), Pause(2.0), Send(3, None)],
        None,
    )


def test_an_error_that_waiting_does_not_help_is_raised_at_once():
    error = lost(retryable=False)
    assert run(PLAIN, [error]) == ([Send(1, None)], error)


def test_an_error_that_waiting_does_not_help_is_raised_at_once_whatever_the_server_wishes():
    error = lost(1.0, retryable=False)
    assert run(PLAIN, [error]) == ([Send(1, None)], error)


def test_the_last_error_is_raised_when_the_attempts_are_used_up():
    errors = [lost() for _ in range(4)]
    steps, error = run(PLAIN, errors)
    assert error is errors[-1]
    assert [step for step in steps if isinstance(step, Send)] == [
        Send(n, None) for n in (1, 2, 3, 4)
    ]


@pytest.mark.row("S4-40")
@joined("failures", [1, 2, 3, 4])
def test_the_error_says_how_many_attempts_were_made(failures: int):
    _, error = run(PLAIN, [*[lost() for _ in range(failures - 1)], lost(retryable=failures == 4)])
    assert error.attempts == failures


def test_one_attempt():
    error = lost()
    assert run(retry.NONE, [error]) == ([Send(1, None)], error)
    assert error.attempts == 1


# --- the server's wish (R-16) ---------------------------------------------------------------------


@joined("wish", [0.0, 0.5, 59.9, 60.0])
def test_the_wish_is_waited_instead_of_the_computed_time(wish: float):
    assert run(Retry(), [lost(wish), None]) == ([Send(1, None), Pause(wish), Send(2, None)], None)


@pytest.mark.parametrize("wish", [60.1, 86_400.0])
def test_a_wish_beyond_the_cap_is_raised_at_once(wish: float):
    error = lost(wish)
    assert run(Retry(), [error, None]) == ([Send(1, None)], error)
    assert error.retry_after == wish


def test_a_wish_is_no_reason_for_more_attempts():
    error = lost(1.0)
    assert run(Retry(attempts=2), [lost(1.0), error])[1] is error


# --- total time -----------------------------------------------------------------------------------


def test_an_attempt_is_told_what_is_left():
    steps, _ = run(PLAIN, [lost(), lost(), None], total=20.0, takes=3.0)
    assert steps == [Send(1, 20.0), Pause(1.0), Send(2, 16.0), Pause(2.0), Send(3, 11.0)]


@joined(
    ("total", "takes", "wish"),
    [(10.0, 9.5, None), (10.0, 9.0, None), (10.0, 12.0, None), (10.0, 0.0, 30.0)],
    ids=["not-enough", "nothing-after-the-wait", "over", "wish-longer"],
)
def test_the_error_itself_is_raised_when_the_wait_does_not_fit(
    total: float, takes: float, wish: float | None
):
    error = lost(wish)
    assert run(PLAIN, [error], total=total, takes=takes) == ([Send(1, total)], error)
    assert error.attempts == 1


# --- how long -------------------------------------------------------------------------------------


def test_the_waits_double_up_to_the_cap():
    policy = msgspec.structs.replace(PLAIN, attempts=9)
    assert [policy.wait(lost(), n, Random(0)) for n in range(1, 10)] == [
        1.0,
        2.0,
        4.0,
        8.0,
        16.0,
        32.0,
        60.0,
        60.0,
        None,
    ]


def test_the_same_dice_give_the_same_waits():
    outcomes = [lost(), lost(), None]
    assert run(retry.SPEC, outcomes, seed=7) == run(retry.SPEC, outcomes, seed=7)
    assert run(retry.SPEC, outcomes, seed=7) != run(retry.SPEC, outcomes, seed=8)


def test_the_wait_is_the_dice_times_the_step():
    dice, same = Random(3), Random(3)
    assert [retry.SPEC.wait(lost(), n, dice) for n in (1, 2)] == [
        same.uniform(0.5, 1.5) * step for step in (1.0, 2.0)
    ]


# (name, attempts, base, factor, cap, spread)
PRESETS = [
    ("DEFAULT", 3, 1.0, 2.0, 60.0, (0.0, 1.0)),
    ("SPEC", 3, 1.0, 2.0, 60.0, (0.5, 1.5)),
    ("RESUME_AGENT", 3, 1.0, 2.0, 60.0, (0.8, 1.2)),
    ("ATTRACTOR", 4, 1.0, 2.0, 30.0, (0.75, 1.25)),
    ("NONE", 1, 1.0, 2.0, 60.0, (0.0, 1.0)),
]


@pytest.mark.row("S4-04", "S4-27")
@joined("preset", PRESETS, ids=[row[0] for row in PRESETS])
def test_numbers_of_the_presets(preset: tuple):
    assert msgspec.structs.astuple(getattr(retry, preset[0])) == (*preset[1:], 500)


def test_the_default_is_the_preset():
    assert Retry() == retry.DEFAULT


@pytest.mark.parametrize("preset", PRESETS, ids=[row[0] for row in PRESETS])
@given(seed=st.integers(), attempt=st.integers(1, 5))
def test_bounds_of_the_presets(preset: tuple, seed: int, attempt: int):
    name, attempts, base, factor, cap, (low, high) = preset
    wait = getattr(retry, name).wait(lost(), attempt, Random(seed))
    if attempt >= attempts:
        assert wait is None
    else:
        step = min(cap, base * factor ** (attempt - 1))
        assert low * step <= wait <= high * step


@given(
    st.integers(1, 5000),
    st.integers(1, 5000),
    st.floats(0, 1e6),
    st.floats(0, 100),
    st.floats(0, 1e6),
    st.none() | st.floats(0, 1e9),
    st.booleans(),
)
def test_a_wait_is_never_negative_nor_above_the_cap(
    attempts: int,
    attempt: int,
    base: float,
    factor: float,
    cap: float,
    wish: float | None,
    retryable: bool,
):
    wait = Retry(attempts, base, factor, cap).wait(
        lost(wish, retryable=retryable), attempt, Random(0)
    )
    assert (wait is not None) == (
        retryable and attempt < attempts and (wish is None or wish <= cap)
    )
    assert wait is None or 0 <= wait <= cap


def test_the_cap_holds_however_many_attempts_there_were():
    """2 ** 1024 is no float."""
    assert msgspec.structs.replace(PLAIN, attempts=5000).wait(lost(), 2000, Random(0)) == 60.0


WRONG = [
    ("attempts", 0),
    ("attempts", -1),
    ("attempts", "3"),
    ("attempts", None),
    ("budget", -1),
    ("budget", 5.0),
    ("budget", True),
    ("base", -1.0),
    ("base", float("nan")),
    ("base", "1"),
    ("factor", -2.0),
    ("factor", float("inf")),
    ("factor", None),
    ("cap", -1.0),
    ("cap", float("inf")),
    ("cap", None),
    ("spread", (-1.0, 1.0)),  # a negative wait
    ("spread", (0.0, float("nan"))),
    ("spread", (0.0, float("inf"))),
    ("spread", (1.0,)),
    ("spread", 1.0),
]


@joined(("name", "value"), WRONG, ids=[f"{name}={value!r}" for name, value in WRONG])
def test_a_wrong_option_is_named(name: str, value: object):
    with pytest.raises(ConfigurationError, match=f"^retry.{name}: "):
        Retry(**{name: value})


# --- the budget (R-17) ----------------------------------------------------------------------------

AT_ONCE = Retry(base=0)


def call(budget: RetryBudget | None, *outcomes: WireError | None) -> int:
    """The number of requests of one call with these outcomes."""
    steps = exchange(AT_ONCE, None, Random(0), budget)
    for sent, each in enumerate(outcomes, 1):
        next(steps)
        if each is None:
            assert next(steps, "ended") == "ended"
            return sent
        step = None
        with suppress(WireError):
            step = steps.send(Failed(each, 0.0))
        if step is None:
            return sent
    raise AssertionError("an outcome is missing")


@pytest.mark.row("R-17")
def test_a_retry_takes_five_tokens_and_a_success_gives_them_back():
    budget = RetryBudget(500)
    assert call(budget, lost(), lost(), lost()) == 3
    assert budget.left == 490
    assert call(budget, lost(), lost(), None) == 3
    assert budget.left == 490
    assert call(budget, None) == 1
    assert budget.left == 491
    assert call(budget, lost(retryable=False)) == 1
    assert budget.left == 491


@pytest.mark.row("R-17")
def test_a_retry_after_a_timeout_takes_ten_tokens():
    budget = RetryBudget(500)
    slow = [IdleClock(retryable=True), FirstByteClock(retryable=True), lost()]
    assert call(budget, *slow) == 3
    assert budget.left == 480


@pytest.mark.row("R-17")
def test_it_is_never_above_its_size():
    budget = RetryBudget(12)
    budget.left = 11
    for _ in range(3):
        assert call(budget, None) == 1
    assert budget.left == 12


@pytest.mark.row("R-17")
def test_an_empty_budget_raises_the_error_at_once():
    budget = RetryBudget(9)
    first, second, third = lost(), lost(), lost()
    assert call(budget, first, second) == 2
    assert str(second) == "oops (after 2 attempts, the retry budget of this host is used up)"
    assert (second.retry_budget_empty, second.attempts) == (True, 2)
    assert call(budget, third) == 1
    assert str(third) == "oops (the retry budget of this host is used up)"
    assert first.retry_budget_empty is False
    assert pickle.loads(pickle.dumps(third)).retry_budget_empty is True
    assert call(None, lost(), lost(), lost()) == 3
    assert call(RetryBudget(0), lost()) == 1


@pytest.mark.row("R-17")
def test_a_thousand_calls_to_a_dead_host():
    """1,000 calls and 100 retries; 50 retries after timeouts."""
    budget = RetryBudget(500)
    assert sum(call(budget, lost(), lost(), lost()) for _ in range(1000)) == 1100
    budget = RetryBudget(500)
    slow = FirstByteClock(retryable=True)
    assert sum(call(budget, slow, slow, slow) for _ in range(1000)) == 1050


@pytest.mark.row("R-17")
def test_threads_take_no_token_twice():
    budget, taken = RetryBudget(50_000), []

    def take() -> None:
        while tokens := budget.take(lost()):
            taken.append(tokens)

    threads = [threading.Thread(target=take) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(taken), budget.left) == (10_000, 0)


@pytest.mark.row("R-17")
def test_a_budget_for_each_host_and_size():
    budgets = RetryBudgets()
    first = budgets.of("a.example", Retry())
    assert first is not None
    assert first is budgets.of("a.example", Retry(attempts=5))
    assert first is not budgets.of("b.example", Retry())
    small = budgets.of("a.example", Retry(budget=10))
    assert small is not None
    assert (first.size, small.size) == (500, 10)
    assert budgets.of("a.example", Retry(budget=None)) is None
