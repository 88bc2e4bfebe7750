"""Thousands of connections that ask nothing: others are served, and what was held is given back."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.testing.emulator.floods import FLOODS, flooded

SERVERS = ("emulator", "gateway")


@pytest.fixture(autouse=True)
def _as_on_linux() -> None:
    """Figures of another process come from /proc, and its descriptors are limited."""
    pytest.importorskip("resource")
    if not Path("/proc/self/statm").exists():
        pytest.skip("the system has no /proc")


@pytest.mark.parametrize("server", SERVERS)
def test_clients_are_answered_beside_two_hundred_heads_that_never_end(server: str) -> None:
    """They come back each second, on less than half of the descriptors that they ask for."""
    found = flooded(server, 1.5, number=200, descriptors=80, every=0.2, again=1.0)
    assert found.asked > 0
    assert found.opened >= 200
    assert found.descriptors <= 80
    assert found.left == 0


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("descriptors", [1024, 20_000])
@pytest.mark.parametrize("server", SERVERS)
@pytest.mark.parametrize("name", FLOODS)
def test_clients_are_answered_beside_two_thousand(name: str, server: str, descriptors: int) -> None:
    found = flooded(server, 10, descriptors=descriptors, **FLOODS[name])
    # Who waited for the flood would wait for its clocks, which are 30 s. What it is on a machine
    # with nothing else to do is printed by `python -m tests.testing.emulator.floods`.
    assert found.slowest < 20
    assert found.asked > 1
    # 1,500 of one peer at most, those that are being closed, and 64 that are accepted at once.
    assert found.descriptors < min(descriptors + 1, 1900)
    assert found.load < 0.8
    assert found.left == 0
    # What a second flood uses again; a connection costs about 20 KB.
    assert found.after < found.before + 150_000_000


@pytest.mark.slow
@pytest.mark.parametrize("server", SERVERS)
def test_heads_that_time_out_are_closed_and_nothing_is_written(server: str) -> None:
    """500 at once: fewer than there are places, so that each ends by its clock."""
    limits = {"head_seconds": 1.0, "linger_seconds": 0.5}
    found = flooded(server, 5, number=500, descriptors=20_000, again=60.0, limits=limits)
    assert (found.opened, found.left) == (500, 0)
