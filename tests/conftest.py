"""What holds for every test: Hypothesis has no deadline (the machines are shared), no key of the
environment is seen, and no thread is left at the end of the run."""

import os
import threading
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from tests.threads import running
from wire.providers import PROVIDERS

settings.register_profile(
    "wire", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("wire")

NAMES = {row.key_variable for row in PROVIDERS.values()} | {
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
}
OF_THE_MACHINE = NAMES | {name.lower() for name in NAMES}


@pytest.fixture(autouse=True)
def _no_environment(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys and proxies of the machine decide nothing here; the live tests alone see them."""
    if "live" in request.keywords:
        return
    for name in OF_THE_MACHINE & os.environ.keys():
        monkeypatch.delenv(name)


@pytest.fixture(scope="session", autouse=True)
def _no_thread_is_left() -> Iterator[None]:
    """Fails the run if a thread that it started, of a server above all, still runs at its end."""
    before = set(threading.enumerate())
    yield
    started = set(threading.enumerate()) - before
    left = running([each for each in started if not _is_idle(each.name)], within=5)
    # A thread of trio gets its name back when it has done its work, which may be just now.
    assert [name for name in left if not _is_idle(name)] == []


def _is_idle(name: str) -> bool:
    """Whether trio keeps the thread, for ten seconds, to use it again."""
    return name.startswith("Trio thread ")
