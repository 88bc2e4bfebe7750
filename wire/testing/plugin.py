"""Cassettes, the emulator, and a switch for retries, as pytest fixtures and options.

A wheel has this module a second time as `wire_llm_pytest`, which is what pytest imports at every
start: the name of a project's own module `wire` is left alone. So nothing of `wire` is imported
before a fixture is used.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import inspect
import os
import re
import shlex
import sys
from collections.abc import Callable, Collection, Generator, Iterator
from dataclasses import dataclass, field
from importlib.machinery import PathFinder
from pathlib import Path
from types import ModuleType, TracebackType
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from wire.chat.chat import AsyncChat, Chat
    from wire.http.aio import AsyncClient
    from wire.http.client import Client
    from wire.testing.cassette.transports import AsyncCassette, Cassette
    from wire.testing.emulator import EmulatorTransport, Server
    from wire.testing.fixtures.recording import Recording

MODES = ("none", "once", "new_episodes", "new", "all", "rewrite", "verify")
UNPLAYED = ("fail", "ignore", "warn")

_OPTIONS: dict[str, dict[str, Any]] = {
    "record-mode": {
        "choices": MODES,
        "metavar": "MODE",
        "help": f"mode of all cassettes of wire: {', '.join(MODES)} (default: none)",
    },
    "block-network": {
        "action": "store_true",
        "default": None,
        "help": "tests may connect to loopback and --allowed-hosts only, except while recording",
    },
    "allowed-hosts": {
        "metavar": "HOSTS",
        "help": "regular expressions of hosts, separated by commas, for --block-network",
    },
    "disable-recording": {
        "action": "store_true",
        "default": None,
        "help": "send all requests, and neither read nor write cassettes of wire",
    },
}
"""Options that pytest-recording has too: without the prefix `--wire-` where their name is free."""

_LIVE = (
    "live(provider): may run against the vendor: live with RUN_LIVE=1 or RUN_LIVE_<PROVIDER>=1 and "
    "a key, otherwise replayed from the cassette of wire, otherwise skipped"
)


_BLOCK = (
    "block_network(allowed_hosts): the test may connect to loopback and these hosts only, except "
    "while recording"
)


@dataclass
class _Session:
    """The state of the run in this process."""

    free: set[str] = field(default_factory=set)
    """The options that are also there without the prefix."""
    block_markers: set[str] = field(default_factory=lambda: {"wire_block_network"})
    """The names of the marker that blocks the network."""
    deselected: list[pytest.Item] = field(default_factory=list)
    files: dict[str, set[str]] = field(
        default_factory=lambda: {"used": set(), "tests": set(), "uncollected": set()}
    )
    """Paths: cassettes that tests use, modules with tests, and modules that were not collected."""
    replayed: dict[str, tuple[str, bool, bool]] = field(default_factory=dict)
    """Node id of a live test that was replayed to the fields of its `Replay`."""


_SESSION = pytest.StashKey[_Session]()
_RECORDING = pytest.StashKey["Recording"]()
_BLOCKED = pytest.StashKey[Any]()


# --- options --------------------------------------------------------------------------------------


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options with the prefix, and their like in the configuration file."""
    group = parser.getgroup("wire", "cassettes of wire")
    for name, attributes in _OPTIONS.items():
        group.addoption(f"--wire-{name}", dest=_dest(name), **attributes)
        kind: Any = "bool" if "action" in attributes else "string"
        parser.addini(_dest(name), attributes["help"], type=kind, default=None)
    unplayed = "recorded requests that a test did not send: fail it (default), warn or ignore"
    group.addoption("--wire-unplayed", choices=UNPLAYED, help=unplayed)
    parser.addini("wire_unplayed", unplayed, default=None)


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests(
    early_config: pytest.Config, parser: pytest.Parser
) -> Iterator[None]:
    """Add the options without a prefix, after all other plugins and conftest files had theirs."""
    yield
    session = early_config.stash.setdefault(_SESSION, _Session())
    group = parser.getgroup("wire")
    for name in _free(parser, list(_OPTIONS)):
        group.addoption(f"--{name}", dest=_dest(name), **_OPTIONS[name])
        session.free.add(name)


def _free(parser: pytest.Parser, names: list[str]) -> list[str]:
    """Return the names that no other option has."""
    examples = [f"--{name}" + "=none" * ("metavar" in _OPTIONS[name]) for name in names]
    try:
        _, unknown = parser.parse_known_and_unknown_args(examples)
    except pytest.UsageError:  # an option of such a name with other values
        if len(names) == 1:
            return []
        return [name for each in names for name in _free(parser, [each])]
    return [name for name, example in zip(names, examples, strict=True) if example in unknown]


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Register the markers, and check the configuration file."""
    config.stash.setdefault(_SESSION, _Session())
    known = [line.partition(":")[0].partition("(")[0] for line in config.getini("markers")]
    if "live" not in known:
        config.addinivalue_line("markers", _LIVE)
    config.addinivalue_line("markers", f"wire_{_BLOCK}")
    if "block_network" not in known:  # otherwise it is that of pytest-recording
        config.addinivalue_line("markers", _BLOCK)
        config.stash[_SESSION].block_markers.add("block_network")
    config.addinivalue_line(
        "markers",
        "wire_cassette(path, mode, match, redact, secrets, timing, inner, unplayed): the cassette "
        "of a test",
    )
    mode = config.getini("wire_record_mode")
    if mode and mode not in MODES:
        raise pytest.UsageError(f"wire_record_mode: expected one of {', '.join(MODES)}")
    if (unplayed := config.getini("wire_unplayed")) and unplayed not in UNPLAYED:
        raise pytest.UsageError(f"wire_unplayed: expected one of {', '.join(UNPLAYED)}")
    _check_patterns(_allowed_hosts(config), "allowed hosts")


def pytest_report_header(config: pytest.Config) -> str | None:
    """Report a `--record-mode` of another plugin, such as pytest-recording."""
    mode = config.getoption("wire_record_mode") is None and config.getoption("--record-mode", None)
    theirs = f"wire: --record-mode={mode} is that of another plugin; give --wire-record-mode={mode}"
    return theirs if mode else None


def _dest(name: str) -> str:
    return f"wire_{name.replace('-', '_')}"


def _option(config: pytest.Config, name: str) -> Any:
    """Return the value of the command line, else that of the configuration file."""
    given = config.getoption(_dest(name))
    return config.getini(_dest(name)) if given is None else given


def _named(config: pytest.Config, name: str) -> str:
    """Return the option as people type it."""
    return f"--{name}" if name in config.stash[_SESSION].free else f"--wire-{name}"


def _allowed_hosts(config: pytest.Config) -> list[str]:
    return _split(_option(config, "allowed-hosts") or "")


def _split(hosts: str) -> list[str]:
    return [each.strip() for each in hosts.split(",") if each.strip()]


def _check_patterns(patterns: list[str], where: str) -> None:
    for pattern in patterns:
        try:
            re.compile(pattern)
        except (TypeError, re.error) as error:
            raise pytest.UsageError(f"{where}: {pattern}: {error}") from None


# --- the network ----------------------------------------------------------------------------------


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Check the markers that block the network."""
    for item in items:
        if (mark := _block_marker(item)) is None:
            continue
        where = f"{item.nodeid}: {mark.name}"
        if mark.args or not mark.kwargs.keys() <= {"allowed_hosts"}:
            raise pytest.UsageError(f"{where}: expected allowed_hosts=[...] only")
        _check_patterns(_marked_hosts(mark), f"{where}: allowed_hosts")


def _block_marker(item: pytest.Item) -> pytest.Mark | None:
    names = item.config.stash[_SESSION].block_markers
    return next((mark for mark in item.iter_markers() if mark.name in names), None)


def _marked_hosts(mark: pytest.Mark) -> list[str]:
    hosts = mark.kwargs.get("allowed_hosts") or ()
    return _split(hosts) if isinstance(hosts, str) else list(hosts)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[Any]:
    """Block the network during a test, with its fixtures."""
    config = item.config
    mark = _block_marker(item)
    if mark is None and not _option(config, "block-network"):
        return (yield)
    by, allowing = _named(config, "block-network"), _named(config, "allowed-hosts")
    hosts = _allowed_hosts(config)
    if mark is not None:
        by, allowing = f"the marker {mark.name}", "its allowed_hosts"
        hosts = _marked_hosts(mark) or hosts
    blocked = _imported("wire.testing.fixtures.blocking").Blocked(hosts, by, allowing)
    item.stash[_BLOCKED] = blocked
    with blocked:
        return (yield)


# --- cassettes ------------------------------------------------------------------------------------


@pytest.fixture
def wire_cassette_config() -> dict[str, Any]:
    """Return settings of all cassettes: override it to return any of those of the marker.

    >>> @pytest.fixture
    ... def wire_cassette_config():
    ...     return {"match": Match(ignore=["$.metadata"])}
    """
    return {}


@pytest.fixture
def _wire_recording(
    request: pytest.FixtureRequest,
    wire_cassette_config: dict[str, Any],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Recording]:
    recording = _imported("wire.testing.fixtures.recording")
    item, config = request.node, request.config
    session = config.stash[_SESSION]
    configured = {"mode": "wire_record_mode", "unplayed": "wire_unplayed"}
    defaults = {name: value for name, ini in configured.items() if (value := config.getini(ini))}
    settings = recording.merged(*_marked(item), wire_cassette_config, defaults)
    path = _cassette_path(item, settings.get("path"))
    session.files["used"].add(str(path))

    made: Recording = recording.Recording(
        path,
        settings,
        mode=config.getoption("wire_record_mode"),
        is_live=item.get_closest_marker("live") is not None,
        disabled=bool(_option(config, "disable-recording")),
        again=functools.partial(_again, item),
        claim=functools.partial(_claim, item, tmp_path_factory),
        sending=functools.partial(_unblock, item),
        skip=pytest.skip,
        fail=functools.partial(pytest.fail, pytrace=False),
    )
    item.stash[_RECORDING] = made
    function = item.obj
    if inspect.iscoroutinefunction(function):
        # Connections belong to an event loop, and only the test itself runs in one that is known.
        @functools.wraps(function)
        async def closing(*args: Any, **kwargs: Any) -> Any:
            try:
                return await function(*args, **kwargs)
            finally:
                await made.aclose()

        item.obj = closing
    try:
        yield made
    finally:
        item.obj = function
        made.close()
        if made.replay is not None:
            session.replayed[item.nodeid] = made.replay[:]  # xdist carries plain values


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Fail a test that left recorded requests unsent.

    They may be requests that it no longer tests.
    """
    try:
        yield
    except Exception as error:
        if _RECORDING in item.stash and type(error).__name__ == "CassetteError":
            _cut(error.__traceback__)
        raise
    if (recording := item.stash.get(_RECORDING, None)) is None:
        return
    wanted, message = recording.unplayed(item.config.getoption("wire_unplayed"))
    if wanted == "fail":
        pytest.fail(message, pytrace=False)
    if wanted == "warn":
        item.warn(pytest.PytestWarning(message))


def _cut(traceback: TracebackType | None) -> None:
    """End a traceback where the test calls `wire`: what follows says nothing of the test."""
    last = None
    while traceback is not None:
        if traceback.tb_frame.f_globals.get("__name__", "").partition(".")[0] != "wire":
            last = traceback
        traceback = traceback.tb_next
    if last is not None:
        last.tb_next = None


@pytest.fixture
def wire_cassette(_wire_recording: Recording, request: pytest.FixtureRequest) -> Cassette:
    """Return the cassette of the test, for `http=` of a client or chat."""
    transport: Cassette = _wire_recording.transport(_live_provider(request))
    return transport


@pytest.fixture
def async_wire_cassette(
    _wire_recording: Recording, request: pytest.FixtureRequest
) -> AsyncCassette:
    """Return the cassette as `wire_cassette`, for `http=` of an async client or chat."""
    transport: AsyncCassette = _wire_recording.async_transport(_live_provider(request))
    return transport


@pytest.fixture
def wire_client(_wire_recording: Recording) -> Callable[..., Client]:
    """Return a function that opens a client with the cassette: `wire_client("gemini")`."""
    return _wire_recording.client


@pytest.fixture
def async_wire_client(_wire_recording: Recording) -> Callable[..., AsyncClient]:
    """Return a function that opens an async client, as `wire_client`."""
    return _wire_recording.async_client


@pytest.fixture
def wire_chat(_wire_recording: Recording) -> Callable[..., Chat]:
    """Return a function that opens a chat with the cassette of the test.

    `wire_chat("gemini:gemini-3.8-flash")` returns the chat.
    """
    return _wire_recording.chat


@pytest.fixture
def async_wire_chat(_wire_recording: Recording) -> Callable[..., AsyncChat]:
    """Return a function that opens an async chat, as `wire_chat`."""
    return _wire_recording.async_chat


def _marked(item: pytest.Item) -> list[dict[str, Any]]:
    """Return the settings of the markers of a test, the closest first."""
    return [
        {**({"path": mark.args[0]} if mark.args else {}), **mark.kwargs}
        for mark in item.iter_markers("wire_cassette")
    ]


def _cassette_path(item: pytest.Item, given: Any) -> Path:
    if given is not None:
        return item.path.parent / Path(given)
    names = _imported("wire.testing.fixtures.file_names")
    path: Path = names.cassette_path(item.path, item.nodeid)
    return path


def _live_provider(request: pytest.FixtureRequest) -> str:
    """Return the provider in the marker `live("gemini")` of a test."""
    mark = request.node.get_closest_marker("live")
    return mark.args[0] if mark is not None and mark.args else ""


def _again(item: pytest.Item, variable: str) -> str:
    """Return the command that records the test again, from the folder of this run.

    `variable` comes first.
    """
    config = item.config
    test = item.nodeid
    if config.invocation_params.dir != config.rootpath:
        test = f"{_shown(item.path, config)}::{test.partition('::')[2]}"
    command = f"pytest {_named(config, 'record-mode')}=rewrite {shlex.quote(test)}"
    return f"to record it again: {variable}{command}"


def _shown(path: Path, config: pytest.Config) -> str:
    """Return the path from the folder of this run."""
    try:
        return Path(os.path.relpath(path, config.invocation_params.dir)).as_posix()
    except ValueError:  # another drive of Windows
        return path.as_posix()


def _unblock(item: pytest.Item) -> None:
    """Let a test that records connect to its host."""
    if (blocked := item.stash.get(_BLOCKED, None)) is not None:
        blocked.lift()


def _claim(item: pytest.Item, folders: pytest.TempPathFactory, path: Path) -> str:
    """Return the test that records to a file in this run: this one, or another that was first.

    The claims are files, since tests may run in several processes.
    """
    base = folders.getbasetemp()
    shared = (base.parent if hasattr(item.config, "workerinput") else base) / "wire_cassettes"
    shared.mkdir(exist_ok=True)
    # Some systems ignore case in names.
    claim = shared / hashlib.sha256(str(path.resolve()).lower().encode()).hexdigest()
    try:
        with claim.open("x", encoding="utf-8") as file:
            file.write(item.nodeid)
    except FileExistsError:
        other = claim.read_text("utf-8") or "another test"  # which is writing its name just now
        return "" if other == item.nodeid else other
    return ""


# --- the end of the run ---------------------------------------------------------------------------


def pytest_deselected(items: list[pytest.Item]) -> None:
    """Note the tests that this run leaves out: their cassettes are used."""
    if items:
        items[0].config.stash[_SESSION].deselected += items


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Note a module that was skipped or could not be imported: its tests are not known."""
    report = yield
    if not report.passed:
        collector.config.stash[_SESSION].files["uncollected"].add(str(collector.path))
    return report


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Note the cassettes of all tests that were collected."""
    config: Any = session.config
    known = config.stash[_SESSION]
    if (
        "wire.testing.fixtures.recording" in sys.modules
    ):  # otherwise no test of this process used a cassette
        for item in [*getattr(session, "items", ()), *known.deselected]:
            known.files["tests"].add(str(item.path))
            if "_wire_recording" in getattr(item, "fixturenames", ()):
                paths = [each["path"] for each in _marked(item) if "path" in each]
                known.files["used"].add(str(_cassette_path(item, next(iter(paths), None))))
    if hasattr(config, "workeroutput"):  # a worker of pytest-xdist: the controller makes the report
        config.workeroutput["wire_files"] = {
            name: sorted(paths) for name, paths in known.files.items()
        }
        config.workeroutput["wire_replayed"] = known.replayed


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take what a worker of pytest-xdist knows, at its end."""
    known, output = node.config.stash[_SESSION], getattr(node, "workeroutput", None) or {}
    for name, paths in output.get("wire_files", {}).items():
        known.files[name].update(paths)
    known.replayed.update(output.get("wire_replayed", {}))


def pytest_terminal_summary(terminalreporter: Any, exitstatus: int, config: pytest.Config) -> None:
    """Report live tests that were replayed, and cassettes that no test uses."""
    known = config.stash[_SESSION]
    if known.replayed:
        terminalreporter.write_line(f"wire: {_replays(known.replayed.values())}")
    if exitstatus > 1 or not _is_whole(config):
        return
    if orphans := _orphans(known.files):
        terminalreporter.section("cassettes that no test uses", sep="-")
        for path in orphans:
            terminalreporter.write_line(_shown(path, config))


def _replays(replays: Collection[tuple[str, bool, bool]]) -> str:
    """Describe the live tests that were replayed, and how to send their requests."""
    remedies, emulated, instead = zip(*replays, strict=True)
    number = len(replays)
    tests = f"{number} live tests were" if number > 1 else "1 live test was"
    source = f" ({sum(emulated)} recorded from the emulator)" if any(emulated) else ""
    recorded = " and not recorded" if any(instead) else ""
    asking = ", ".join(sorted(set(remedies)))
    return f"{tests} replayed from cassettes{source}{recorded}; {asking} ask the real API"


def _is_whole(config: pytest.Config) -> bool:
    """Return whether this run collected all tests of the project."""
    option = config.option
    selected = option.markexpr and option.markexpr not in " ".join(config.getini("addopts"))
    partial = ("keyword", "lf", "stepwise", "deselect", "ignore", "ignore_glob", "collectonly")
    by_path = config.args_source == pytest.Config.ArgsSource.ARGS
    return not (selected or by_path or any(getattr(option, name, None) for name in partial))


def _orphans(files: dict[str, set[str]]) -> list[Path]:
    """List cassettes in the folders of test modules that no collected test uses.

    That includes the folder of a module that is gone, but no other folder, since a test may name a
    file itself.
    """
    safe_name = _imported("wire.testing.fixtures.file_names").safe_name if files["used"] else str
    unknown = {(path.parent, safe_name(path.stem)) for path in map(Path, files["uncollected"])}
    folders = {Path(path).parent for path in files["tests"]}
    found = [
        path
        for folder in folders
        for path in sorted((folder / "cassettes").glob("*/*.json"))
        if path.parent.name.startswith("test_") or path.parent.name.endswith("_test")
        if (folder, path.parent.name) not in unknown and str(path) not in files["used"]
    ]
    return sorted(path for path in found if _is_cassette(path))


def _is_cassette(path: Path) -> bool:
    """Return whether a file is ours: other tools also keep theirs in such folders."""
    with path.open("rb") as file:
        return b'"wire_cassette"' in file.read(100)


# --- the emulator ---------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def _gemini_server() -> Iterator[Server]:
    emulator = _imported("wire.testing.emulator")
    with emulator.serve(emulator.Emulator()) as server:
        yield server


@pytest.fixture
def gemini_emulator(_gemini_server: Server) -> Server:
    """Return Gemini's emulator on loopback: pass `base_url=gemini_emulator.url` to a client.

    `.requests` holds the requests that it received in this test. Each test gets a new `.emulator`,
    which it may replace by one with a script.
    """
    _gemini_server.emulator = _imported("wire.testing.emulator").Emulator()
    return _gemini_server


@pytest.fixture
def gemini_transport() -> EmulatorTransport:
    """Return Gemini's emulator without a socket: pass `http=gemini_transport` to a client.

    Each test gets a new `.emulator`, which it may replace by one with a script.
    """
    transport: EmulatorTransport = _imported("wire.testing.emulator").EmulatorTransport()
    return transport


@pytest.fixture
def no_retries() -> Iterator[None]:
    """Run the test in `wire.retry.off()`: the first error is raised, and nothing waits."""
    with _imported("wire.core.retry").off():
        yield


def _imported(name: str) -> ModuleType:
    """Import a module of `wire`; fail the test if another `wire` is first on the path."""
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit) as error:  # a module of the project may raise anything
        spec = PathFinder.find_spec("wire")
        folders = list((spec and spec.submodule_search_locations) or [])
        if any(Path(folder, "testing", "emulator").is_dir() for folder in folders):
            raise
        place = (spec and spec.origin) or folders
        pytest.fail(
            "this fixture needs the package wire of wire-llm, but `import wire` finds "
            f"{place} ({type(error).__name__}: {error})",
            pytrace=False,
        )
