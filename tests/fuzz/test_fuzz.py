"""Readers of foreign bytes end with a result or a `WireError`, in time and memory (R-44, R-08)."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from tests.faults import received
from tests.fuzz import run
from tests.fuzz.readers import READERS, Reader
from wire.errors import ConfigurationError

SAMPLE = 12


@pytest.mark.parametrize("name", sorted(READERS.keys() - received.MODELS))
def test_the_valid_inputs_are_taken(name: str) -> None:
    """So the random ones are near what is valid. Those of the wires are recorded errors, too."""
    for seed, data in READERS[name].seeds().items():
        ends = {run._once(name, data, seed, Random(number))[1] for number in range(4)}
        assert "result" in ends, (seed, ends)


@pytest.mark.parametrize("name", READERS)
def test_a_sample(name: str) -> None:
    found = run.run(name, 1, range(SAMPLE))
    assert found.problems == []
    assert found.inputs == found.ends.total() == SAMPLE


@pytest.mark.parametrize("name", READERS)
def test_the_kept_inputs(name: str) -> None:
    for seed, data in run.kept(name).items():
        for number in range(2):
            run._once(name, data, seed.rpartition("#")[0], Random(number))


def test_the_same_number_gives_the_same_input() -> None:
    assert run.drawn("session", 1, 7)[:2] == run.drawn("session", 1, 7)[:2]
    assert len({run.drawn("session", 1, number)[0] for number in range(50)}) > 40


@pytest.mark.parametrize(
    ("read", "problem"),
    [
        (lambda *_: [][0], "IndexError"),
        (lambda *_: [bytearray(1 << 20) for _ in range(40)], "bytes for"),
    ],
)
def test_a_defect_is_found(monkeypatch: pytest.MonkeyPatch, read: Any, problem: str) -> None:
    monkeypatch.setitem(READERS, "broken", Reader(read, lambda: {"": b"{}"}))  # type: ignore[arg-type]
    run.seeds.cache_clear()
    [found, *_] = run.run("broken", 1, range(1)).problems
    assert problem in found


def test_a_slow_reader_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([0.0, 2.0, 5.0, 7.0, 8.0, 8.0])
    monkeypatch.setattr(run.time, "thread_time", lambda: next(times))
    monkeypatch.setitem(READERS, "slow", Reader(lambda *_: None, lambda: {"": b"{}"}))  # type: ignore[arg-type]
    run.seeds.cache_clear()
    [found] = run.run("slow", 1, range(1)).problems
    assert "2.00 s for" in found


def test_a_slow_reader_with_a_cache_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([0.0, 40.0, 40.0, 40.0])
    monkeypatch.setattr(run.time, "thread_time", lambda: next(times))
    monkeypatch.setitem(READERS, "slow", Reader(lambda *_: None, lambda: {"": b"{}"}))  # type: ignore[arg-type]
    run.seeds.cache_clear()
    [found] = run.run("slow", 1, range(1)).problems
    assert "40.00 s for" in found


def test_a_refusal_is_no_defect(monkeypatch: pytest.MonkeyPatch) -> None:
    def read(*_: Any) -> None:
        raise ConfigurationError("no")

    monkeypatch.setitem(READERS, "strict", Reader(read, lambda: {"": b"{}"}))  # type: ignore[arg-type]
    run.seeds.cache_clear()
    found = run.run("strict", 1, range(3))
    assert (found.problems, found.ends["ConfigurationError"]) == ([], 3)
