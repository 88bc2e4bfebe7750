"""What holds for every test: Hypothesis has no deadline (the machines are shared), no key of the
environment is seen, and no thread is left at the end of the run."""

import contextlib
import gc
import importlib
import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from syrupy.location import PyTestLocation

from tests.http.drive import EVERY, Drive
from tests.property import examples
from tests.threads import running
from wire.agent.provider import FACTORIES
from wire.providers import PROVIDERS

# A run in the background or under nohup inherits ignored signals, and so do all processes that it
# starts: tests of Ctrl-C would send signals that nobody gets.
signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP"):
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

settings.register_profile(
    "wire",
    deadline=None,
    derandomize=True,
    max_examples=examples(80),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("wire")

_matches_site = getattr(PyTestLocation, "_matches_test_site", None)  # since syrupy 7
_sites: dict[tuple[str, str], bool] = {}


def _matches_known_site(location: PyTestLocation, path: Path) -> bool:
    """As syrupy's own function, whose outcome depends on these two paths only.

    At the end of a run syrupy asks it for each snapshot and each test in a module of that name,
    which takes five seconds in each worker.
    """
    key = location.filepath, str(path)
    if key not in _sites:
        _sites[key] = _matches_site(location, path)
    return _sites[key]


if _matches_site is not None:
    PyTestLocation._matches_test_site = _matches_known_site

NAMES = {
    *(row.key_variable for row in PROVIDERS.values()),
    *(name for row in PROVIDERS.values() for name in row.base_url_variables),
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
}
OF_THE_MACHINE = [name for name in NAMES | {each.lower() for each in NAMES} if name in os.environ]


# A hook, because an autouse fixture costs each of many thousand tests a fifth of its overhead.
@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Keys and proxies of the machine decide nothing here; the live tests alone see them.

    A provider that a test registers is gone after it.
    """
    with pytest.MonkeyPatch.context() as environment:
        if item.get_closest_marker("live") is None:
            for name in OF_THE_MACHINE:
                environment.delenv(name)
        try:
            return (yield)
        finally:
            FACTORIES.clear()


# Collecting makes objects and hardly any garbage. Afterwards the collected tests are most of what a
# full garbage collection would walk, hundreds of times: without this a run takes a tenth longer.
@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection(session: pytest.Session) -> Iterator[None]:
    """Leaves the collected tests, which live until the end, out of garbage collection."""
    gc.disable()
    if session.config.args_source is pytest.Config.ArgsSource.TESTPATHS:
        _import_share(session.config.rootpath)
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


def _import_share(root: Path) -> None:
    """Import the modules of tests that no other worker imports first.

    pytest rewrites and compiles each module that has no bytecode yet, which is most of the time of
    collecting on a new checkout. Workers that import all of them in one order do it at the same
    time, each for itself.
    """
    worker, count = (
        os.environ.get(f"PYTEST_XDIST_WORKER{end}", "").removeprefix("gw") for end in ("", "_COUNT")
    )
    if not worker:
        return
    paths = sorted((root / "tests").rglob("test_*.py"))
    for path in paths[int(worker) :: int(count)]:
        name = ".".join(path.relative_to(root).with_suffix("").parts)
        # A module that is skipped or broken is told when it is collected.
        with contextlib.suppress(Exception, pytest.skip.Exception):
            importlib.import_module(name)


@pytest.fixture(params=EVERY)
def drive(request: pytest.FixtureRequest) -> Drive:
    """A client of each style, under the tests of everything that a client does."""
    found: Drive = request.param
    return found


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
    """Whether the thread waits some seconds for its next use, as those of trio and the watchdog."""
    return name.startswith("Trio thread ") or name == "wire watchdog"
