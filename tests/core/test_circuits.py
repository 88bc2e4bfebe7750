"""Circuits: which model is asked next, and for how long one sits out. On a clock of the test."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tests.joined import joined
from wire.core.circuits import Circuit, Circuits
from wire.errors import AuthError, ConfigurationError, RateLimitError, ServerError


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    clock = [100.0]
    monkeypatch.setattr("wire.core.circuits.time", SimpleNamespace(monotonic=lambda: clock[0]))
    return clock


DOWN = ServerError("down", retryable=True)


def test_a_model_sits_out_after_failures_in_a_row(now: list[float]) -> None:
    circuits = Circuits(2, Circuit(failures=2, seconds=30))
    for _ in range(2):
        assert circuits.take(()) == 0
        circuits.failed(0, DOWN)
    assert (circuits.take(()), circuits.left(0)) == (1, 30)
    now[0] += 29.9
    assert circuits.take(()) == 1
    now[0] += 0.1
    assert (circuits.take(()), circuits.left(0)) == (0, 0)


def test_a_success_in_between_starts_the_count_again(now: list[float]) -> None:
    circuits = Circuits(2, Circuit(failures=2))
    for outcome in (DOWN, None, DOWN):
        assert circuits.take(()) == 0
        circuits.succeeded(0) if outcome is None else circuits.failed(0, outcome)
    assert circuits.take(()) == 0


def test_one_request_finds_out_whether_a_model_is_well_again(now: list[float]) -> None:
    circuits = Circuits(2, Circuit(failures=1, seconds=10))
    assert circuits.take(()) == 0
    circuits.failed(0, DOWN)
    now[0] += 10
    assert [circuits.take(()) for _ in range(3)] == [0, 1, 1]
    circuits.released(0)  # cancelled: the next one finds out
    assert [circuits.take(()) for _ in range(2)] == [0, 1]
    circuits.failed(0, DOWN)
    assert (circuits.take(()), circuits.left(0)) == (1, 10)
    now[0] += 10
    assert circuits.take(()) == 0
    circuits.succeeded(0)
    assert [circuits.take(()) for _ in range(3)] == [0, 0, 0]


def test_a_model_sits_out_for_as_long_as_its_server_asks_for(now: list[float]) -> None:
    circuits = Circuits(2, Circuit(failures=3))
    assert circuits.take(()) == 0
    circuits.failed(0, RateLimitError("busy", retryable=True, retry_after=7.0))
    assert (circuits.take(()), circuits.left(0)) == (1, 7)
    assert circuits.take({1}) is None  # the server asked for it
    now[0] += 7
    assert circuits.take(()) == 0


def test_a_failure_that_waiting_does_not_mend_opens_the_circuit_at_once(now: list[float]) -> None:
    circuits = Circuits(2, Circuit(failures=3, seconds=30))
    assert circuits.take(()) == 0
    circuits.failed(0, AuthError("key revoked"))
    assert (circuits.take(()), circuits.left(0)) == (1, 30)


def test_an_open_circuit_is_better_than_no_answer(now: list[float]) -> None:
    circuits = Circuits(2, Circuit(failures=1))
    for position in (0, 1):
        assert circuits.take({0} if position else ()) == position
        circuits.failed(position, DOWN)
    assert circuits.take(()) == 0
    assert circuits.take({0}) == 1
    assert circuits.take({0, 1}) is None


@joined(
    ("fields", "words"),
    [
        ({"failures": 0}, "circuit.failures: expected a whole number from 1 up, not 0"),
        ({"failures": True}, "circuit.failures: expected a whole number from 1 up, not True"),
        ({"seconds": -1}, "circuit.seconds: expected a finite number from 0 up, not -1"),
        ({"seconds": float("inf")}, "circuit.seconds: expected a finite number from 0 up, not inf"),
    ],
)
def test_bad_values_are_refused(fields: dict[str, object], words: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        Circuit(**fields)  # type: ignore[arg-type]
    assert str(caught.value) == words
