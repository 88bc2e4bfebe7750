"""The pytest plugin: one cassette for each test, its options, markers and reports (C-20 to C-25).

Each test runs pytest on a project of its own, whose vendor is the emulator.
"""

from __future__ import annotations

import json
import re
import socket
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.joined import joined
from wire.testing import plugin
from wire.testing.cassette.modes import MODES
from wire.testing.emulator import Emulator, serve
from wire.testing.fixtures.file_names import cassette_path, safe_name
from wire.testing.fixtures.recording import UNPLAYED, live_variables, plan, sends

pytest_plugins = ["pytester"]

CONFTEST = """
import pytest
from wire.testing.emulator import AsyncEmulatorTransport, EmulatorTransport

@pytest.fixture
def wire_cassette_config(request):
    is_async = any(name.startswith("async_wire") for name in request.fixturenames)
    return {"inner": AsyncEmulatorTransport() if is_async else EmulatorTransport()}
"""
TIDE = """
def test_tide(wire_chat):
    chat = wire_chat("gemini:gemini-3.8-flash")
    assert chat.ask("When is high tide in Brest?").text
    assert chat.ask("And in Ostend?").text
"""
EMPTY = '{"wire_cassette": 1, "interactions": []}\n'
PLUGIN = ("-pno:wire", "-pwire.testing.plugin")
OTHERS = ("random_order", "syrupy", "cacheprovider", "recording")
ENVIRONMENT = ("GEMINI_BASE_URL", "GEMINI_API_KEY", "RUN_LIVE", "RUN_LIVE_GEMINI", "PYTEST_ADDOPTS")


class Project:
    def __init__(self, pytester: pytest.Pytester) -> None:
        self.pytester = pytester
        self.write("conftest.py", CONFTEST)

    @property
    def cassettes(self) -> dict[str, int]:
        """Path to the number of interactions."""
        return {
            path.relative_to(self.pytester.path).as_posix(): len(
                json.loads(path.read_text("utf-8"))["interactions"]
            )
            for path in sorted(self.pytester.path.rglob("*.json"))
        }

    def write(self, name: str, text: str) -> None:
        path = self.pytester.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")

    def run(self, *arguments: str, process: bool = False, **outcomes: int) -> str:
        """The report of pytest, which has these outcomes.

        In a process of its own pytest finds the installed plugins, as it does for users. Here it
        has that of anyio, for finding and asking all of them takes longer than most projects run.
        """
        if process:
            others = [f"-pno:{name}" for name in OTHERS]
            found = self.pytester.runpytest_subprocess(*PLUGIN, *others, *arguments)
        else:
            with pytest.MonkeyPatch.context() as environment:
                environment.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
                run = self.pytester.runpytest_inprocess
                found = run(*PLUGIN, "-panyio.pytest_plugin", "-pno:cacheprovider", *arguments)
        text = found.stdout.str() + found.stderr.str()
        if outcomes:
            assert found.parseoutcomes() == outcomes, text
        return text


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Project:
    for name in ENVIRONMENT:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GEMINI_API_KEY", "fake-key-4711")
    return Project(pytester)


# --- C-20 -----------------------------------------------------------------------------------------


@pytest.mark.row("C-20")
@pytest.mark.parametrize(
    ("options", "configuration", "outcome"),
    [
        ((), "", {"failed": 1}),
        (("--wire-unplayed=warn", "-Wdefault"), "", {"passed": 1, "warnings": 1}),
        (("--wire-unplayed=ignore",), "", {"passed": 1}),
        ((), "[pytest]\nwire_unplayed = ignore\n", {"passed": 1}),
        (("--wire-unplayed=fail",), "[pytest]\nwire_unplayed = ignore\n", {"failed": 1}),
        (("--record-mode=new_episodes",), "", {"passed": 1}),
        (("--record-mode=once", "--wire-unplayed=fail"), "", {"failed": 1}),
    ],
)
def test_a_call_that_is_deleted_fails_its_test(
    project: Project, options: tuple[str, ...], configuration: str, outcome: dict[str, int]
) -> None:
    project.write("test_it.py", TIDE)
    project.run("--record-mode=rewrite", passed=1)
    project.write("test_it.py", TIDE.replace('assert chat.ask("And in Ostend?").text', ""))
    project.write("pytest.ini", configuration)
    report = project.run(*options, **outcome)
    if "passed" not in outcome or "warnings" in outcome:
        assert "1 recorded request was not sent: interactions[1]: POST https://gen" in report


@pytest.mark.row("C-20")
def test_a_test_that_fails_is_not_told_about_what_it_did_not_send(project: Project) -> None:
    project.write("test_it.py", TIDE)
    project.run("--record-mode=rewrite", passed=1)
    project.write("test_it.py", TIDE.replace('assert chat.ask("And', 'assert 0, chat.ask("Und'))
    report = project.run(failed=1)
    assert "was not sent" not in report
    assert 'sent "Und in Ostend?"' in report


ORPHAN = "cassettes/test_it/test_gone.json"
LISTED = "cassettes that no test uses"


@pytest.mark.row("C-20")
@pytest.mark.parametrize(
    ("arguments", "is_listed"),
    [
        ((), True),
        pytest.param(("-pxdist", "-n2"), True, marks=pytest.mark.slow),
        (("-kstays",), False),
        (("-mlive",), False),
        (("test_it.py",), False),
        (("--deselect=test_it.py::test_left",), False),
        (("--lf", "-pcacheprovider"), False),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_cassettes_of_tests_that_are_gone_are_listed_after_a_whole_run(
    project: Project, arguments: tuple[str, ...], is_listed: bool
) -> None:
    body = "(wire_cassette):\n    pass\n"
    names = ("stays", "left", "gone")
    options = "import pytest\n" + "".join(
        f"@pytest.mark.wire_cassette(mode='once')\ndef test_{name}{body}" for name in names
    )
    project.write("test_it.py", options)
    for name in ("stays", "left", "gone"):
        project.write(f"cassettes/test_it/test_{name}.json", EMPTY)
    # Neither is one: a file of another tool, a file of a folder that is of no module, and one of a
    # module that is not collected here.
    project.write("cassettes/test_it/other.json", '{"interactions": []}\n')
    project.write("cassettes/by_hand/tide.json", EMPTY)
    project.write("cassettes/test_skipped/test_x.json", EMPTY)
    project.write("test_skipped.py", "import pytest\npytest.skip('x', allow_module_level=True)\n")
    project.write("cassettes/test_former/test_x.json", EMPTY)
    project.write("test_it.py", options.replace("test_gone", "test_new"))
    report = project.run(*arguments, process="-n2" in arguments)
    assert (LISTED in report) is is_listed
    if is_listed:
        listed = re.findall(r"^.*\.json$", report, re.MULTILINE)
        assert listed == ["cassettes/test_former/test_x.json", ORPHAN]


@pytest.mark.row("C-20")
def test_markers_of_the_configuration_leave_a_run_whole(project: Project) -> None:
    project.write("pytest.ini", "[pytest]\naddopts = -m 'not slow'\nmarkers = slow: slow\n")
    project.write(
        "test_it.py",
        "import pytest\n@pytest.mark.slow\n" + TIDE.strip() + TIDE.replace("_tide", "_b"),
    )
    project.run("--record-mode=once", "-mslow or not slow", passed=2)
    report = project.run(passed=1, deselected=1)
    assert LISTED not in report  # that of the deselected test is used
    (project.pytester.path / "cassettes/test_it/test_b.json").rename(project.pytester.path / ORPHAN)
    assert ORPHAN in project.run("--record-mode=once")


# --- C-22 -----------------------------------------------------------------------------------------

SHOWN = "def test_mode(wire_cassette):\n    assert wire_cassette.mode == {!r}\n"


@pytest.mark.row("C-22")
@pytest.mark.parametrize("first", range(6))
def test_the_command_line_then_the_closest_marker_then_the_fixture_decide(
    project: Project, first: int
) -> None:
    """Everything below the first that decides says something else."""
    cli, function, module, fixture, ini = (at >= first for at in range(5))
    marks = "import pytest\npytestmark = pytest.mark.wire_cassette(secrets=())\n"
    if module:
        marks = "import pytest\npytestmark = pytest.mark.wire_cassette(mode='all')\n"
    if function:
        marks += "@pytest.mark.wire_cassette(mode='new')\n"
    modes = ["rewrite", "new_episodes", "all", "once", "rewrite", "none"]
    expected = modes[first]
    if fixture:
        project.write("conftest.py", CONFTEST.replace("return {", "return {'mode': 'once', "))
    if ini:
        project.write("pytest.ini", "[pytest]\nwire_record_mode = rewrite\n")
    project.write("test_it.py", marks + SHOWN.format(expected))
    project.write("cassettes/test_it/test_mode.json", EMPTY)
    project.run(*["--record-mode=rewrite"] * cli, passed=1)


@pytest.mark.row("C-22")
def test_a_marker_of_a_class_and_one_of_a_test_name_a_file_and_a_match(
    project: Project,
) -> None:
    project.write(
        "test_it.py",
        """
import pytest
from wire.testing import Match

@pytest.mark.wire_cassette("shared/tide.json", match=Match(ignore=["$.contents"]))
class TestTide:
    PROMPT = "one"
    def test_tide(self, wire_chat):
        assert wire_chat("gemini:gemini-3.8-flash").ask(self.PROMPT).text.endswith("You said: one")

    @pytest.mark.wire_cassette(path="own.json")
    def test_own(self, wire_chat):
        assert wire_chat("gemini:gemini-3.8-flash").ask(self.PROMPT).text.endswith("You said: one")
""",
    )
    project.run("--record-mode=once")
    assert project.cassettes == {"own.json": 1, "shared/tide.json": 1}
    text = (project.pytester.path / "test_it.py").read_text("utf-8")
    project.write("test_it.py", text.replace('PROMPT = "one"', 'PROMPT = "two"'))
    project.run(passed=2)


@pytest.mark.row("C-22")
@pytest.mark.parametrize(
    ("mark", "problem"),
    [
        (
            "mod='all'",
            "'mod' is none of its settings: inner, match, mode, path, redact, secrets, timing, "
            "unplayed",
        ),
        ("mode='al'", "mode: expected one of none, once, new_episodes, all, rewrite, verify"),
        ("unplayed='no'", "unplayed: expected one of fail, ignore, warn"),
    ],
)
def test_a_bad_setting_is_named(project: Project, mark: str, problem: str) -> None:
    marked = f"import pytest\n@pytest.mark.wire_cassette({mark})\n"
    project.write("test_it.py", marked + SHOWN.format("none"))
    assert problem in project.run(errors=1)


@pytest.mark.row("C-22")
@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--record-mode=al",), "--record-mode"),
        (("--wire-unplayed=no",), "--wire-unplayed"),
        (("-owire_record_mode=al",), "wire_record_mode: expected one of none"),
        (("-owire_unplayed=no",), "wire_unplayed: expected one of fail"),
        (("--allowed-hosts=(",), "allowed hosts: (: missing )"),
    ],
)
def test_a_bad_option_is_named(project: Project, options: tuple[str, ...], problem: str) -> None:
    assert problem in project.run(*options)


@pytest.mark.row("C-22")
def test_the_plugin_knows_the_modes() -> None:
    assert set(plugin.MODES) == {*MODES, "new"}
    assert plugin.UNPLAYED == UNPLAYED


@pytest.mark.row("C-22")
def test_a_marker_redacts_and_records_times(project: Project) -> None:
    mark = "import pytest\n@pytest.mark.wire_cassette(redact=['$..text'], timing=True)"
    project.write("test_it.py", mark + TIDE)
    project.run("--record-mode=once", passed=1)
    text = (project.pytester.path / "cassettes/test_it/test_tide.json").read_text("utf-8")
    assert "Brest" not in text
    assert text.count('"started": ') == text.count('"times": [') == 2
    project.run(passed=1)


NETWORK = """
import socket, pytest
from wire import errors

def test_blocked():
    with pytest.raises(errors.ConfigurationError) as raised:
        socket.create_connection(("{host}", 9))
    assert str(raised.value) == (
        "the network is blocked by {option}, and {host} is not an allowed host; "
        "{allowing}={escaped} allows it"
    )

def test_loopback():
    with socket.create_server(("127.0.0.1", 0)) as server:
        socket.create_connection(server.getsockname()).close()
        socket.create_connection(("localhost", server.getsockname()[1])).close()
"""


@pytest.mark.row("C-22")
@pytest.mark.parametrize("prefix", ["", "wire-"])
@pytest.mark.parametrize("host", ["203.0.113.9", "tide.example"])
def test_the_network_is_blocked_but_for_loopback(project: Project, host: str, prefix: str) -> None:
    escaped = host.replace(".", "\\\\.")
    names = {"option": "--block-network", "allowing": "--allowed-hosts"}
    project.write("test_it.py", NETWORK.format(host=host, escaped=escaped, **names))
    project.run(f"--{prefix}block-network", passed=2)
    project.run("-owire_block_network=true", f"--{prefix}allowed-hosts=other.*", passed=2)


@pytest.mark.row("C-22")
@pytest.mark.parametrize("name", ["block_network", "wire_block_network"])
def test_a_marker_blocks_the_network_of_one_test(project: Project, name: str) -> None:
    names = {"option": f"the marker {name}", "allowing": "its allowed_hosts"}
    text = NETWORK.format(host="203.0.113.9", escaped=r"203\\.0\\.113\\.9", **names)
    marker = f"@pytest.mark.{name}"
    blocked = text.replace("def test_blocked", f"{marker}\ndef test_blocked")
    hosts = f"{marker}(allowed_hosts=['127.*', 'other'])\ndef test_blocked"
    project.write(
        "test_it.py",
        blocked + text.replace("def test_blocked", hosts).replace("test_", "test_again_"),
    )
    project.write("pytest.ini", "[pytest]\naddopts = --strict-markers\n")
    # The hosts of the marker count, not those of the option.
    project.run(passed=4)
    project.run(r"--allowed-hosts=203\.0\..*", "-k", "test_again", passed=2, deselected=2)


@pytest.mark.row("C-22")
@pytest.mark.parametrize("hosts", ["['203.0.113.9']", "'other,203.0.113.9'"])
def test_a_host_that_the_marker_allows_is_connected_to(
    project: Project, hosts: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    connected: list[Any] = []
    monkeypatch.setattr(socket.socket, "connect", lambda _, to: connected.append(to))
    project.write(
        "test_it.py",
        f"import pytest, socket\n@pytest.mark.block_network(allowed_hosts={hosts})\n"
        "def test_it():\n    socket.create_connection(('203.0.113.9', 9)).close()\n",
    )
    project.run(passed=1)
    assert connected == [("203.0.113.9", 9)]


@pytest.mark.row("C-22")
@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ("'a'", "test_it.py::test_it: block_network: expected allowed_hosts=[...] only"),
        ("hosts=['a']", "test_it.py::test_it: block_network: expected allowed_hosts=[...] only"),
        ("allowed_hosts=['(']", "block_network: allowed_hosts: (: missing )"),
        ("allowed_hosts=[7]", "block_network: allowed_hosts: 7: first argument must be string"),
    ],
)
def test_a_bad_marker_is_named(project: Project, arguments: str, problem: str) -> None:
    marked = f"import pytest\n@pytest.mark.block_network({arguments})\ndef test_it(): pass\n"
    project.write("test_it.py", marked)
    assert problem in project.run()


@pytest.mark.row("C-23")
def test_the_marker_of_another_plugin_stays_its_own(project: Project) -> None:
    """pytest-recording has the same marker: a block of ours would forbid what it allows."""
    theirs = (
        "def pytest_configure(config):\n"
        "    config.addinivalue_line('markers', 'block_network: theirs')\n"
    )
    project.write("conftest.py", CONFTEST + theirs)
    project.write(
        "test_it.py",
        "import pytest, socket\n@pytest.mark.block_network('theirs')\ndef test_it():\n"
        "    assert socket.socket.connect.__name__ == 'connect'\n"
        "@pytest.mark.wire_block_network\ndef test_ours():\n"
        "    assert socket.socket.connect.__name__ == 'guarded_connect'\n",
    )
    project.run(passed=2)


@pytest.mark.row("C-22")
@pytest.mark.parametrize(
    ("host", "allowed"),
    [("203.0.113.9", r"203\.0\.113\.\d"), ("tide.example", r"other, (.*\.)?EXAMPLE")],
)
def test_an_allowed_host_is_connected_to(
    project: Project, host: str, allowed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The name is allowed, and so are the addresses that it has; no packet is sent."""
    address = (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("203.0.113.9", 9))
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: [address])
    connected: list[Any] = []
    monkeypatch.setattr(socket.socket, "connect", lambda _, to: connected.append(to))
    project.write(
        "test_it.py",
        f"import socket\ndef test_it():\n    socket.create_connection(({host!r}, 9)).close()\n",
    )
    project.run("--block-network", f"--allowed-hosts={allowed}", passed=1)
    assert connected == [("203.0.113.9", 9)]
    project.run("--block-network", "--allowed-hosts=example,203.0.113", failed=1)
    assert len(connected) == 1


@pytest.mark.row("C-22")
@pytest.mark.parametrize(
    ("mode", "has_file", "reached"),
    [
        ("none", True, False),
        ("once", True, False),
        ("once", False, True),
        ("rewrite", True, True),
        ("verify", True, True),
    ],
)
def test_a_test_that_records_reaches_its_host_and_one_that_replays_does_not(
    project: Project, mode: str, has_file: bool, reached: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    connected: list[Any] = []
    monkeypatch.setattr(socket.socket, "connect", lambda _, to: connected.append(to))
    project.write(
        "test_it.py",
        "import socket\ndef test_it(wire_cassette):\n"
        "    socket.create_connection(('203.0.113.9', 9)).close()\n",
    )
    if has_file:
        project.write("cassettes/test_it/test_it.json", EMPTY)
    outcome = "passed" if reached else "failed"
    project.run("--block-network", f"--record-mode={mode}", **{outcome: 1})
    assert connected == [("203.0.113.9", 9)] * reached


@pytest.mark.row("C-22")
def test_without_recording_everything_is_sent_and_no_file_is_used(project: Project) -> None:
    project.write("test_it.py", TIDE)
    project.write("cassettes/test_it/test_tide.json", "malformed")
    project.run("--disable-recording", passed=1)
    project.run("--wire-disable-recording", "--record-mode=all", passed=1)
    assert (project.pytester.path / "cassettes/test_it/test_tide.json").read_text() == "malformed"


# --- C-23 -----------------------------------------------------------------------------------------


@pytest.mark.row("C-23")
def test_names_that_others_have_stay_theirs(project: Project) -> None:
    """A conftest file, as a plugin, may have options with the names of ours."""
    theirs = (
        "def pytest_addoption(parser):\n"
        "    parser.addoption('--record-mode', choices=['theirs'])\n"
        "    parser.addoption('--block-network', default='theirs')\n"
        "def pytest_configure(config):\n"
        "    config.addinivalue_line('markers', 'live: theirs')\n"
    )
    project.write("conftest.py", CONFTEST + theirs)
    project.write("pytest.ini", "[pytest]\naddopts = --strict-markers\nmarkers = live: theirs\n")
    project.write(
        "test_it.py",
        TIDE + "def test_theirs(pytestconfig):\n"
        "    assert pytestconfig.getoption('--record-mode') == 'theirs'\n"
        "    assert pytestconfig.getoption('--block-network') == 'theirs'\n"
        "    assert pytestconfig.getoption('--allowed-hosts') == 'ours'\n",
    )
    taken = "--record-mode=theirs", "--allowed-hosts=ours"
    report = project.run(*taken, passed=1, failed=1)
    assert "pytest --wire-record-mode=rewrite test_it.py::test_tide" in report
    told = "wire: --record-mode=theirs is that of another plugin; give --wire-record-mode=theirs"
    assert report.index(told) < report.index("FAILED")
    assert told not in project.run(*taken, "--wire-record-mode=rewrite", passed=2)
    project.run(*taken, passed=2)
    markers = project.run("--markers")
    assert "pytest.mark.live: theirs" in markers
    assert "pytest.mark.live(provider)" not in markers


# --- C-24 -----------------------------------------------------------------------------------------

TEXTS = [
    "test_tide", "test_Tide", "Test_tide", "TEST_TIDE", "test_tide-", "test_tide[a]",
    "test_tide[A]", "test_tide[a/b]", "test_tide[a:b]", "test_tide[a*b]", "test_tide[a?b]",
    "test_tide[a\\b]", "test_tide[é]", "test_tide[e\u0301]", "test_tide[\u2028]",
    "test_tide[\ud800]", "test_tide[]", "test_tide.", "test_tide ", "test_tide.test_b", "nul",
    "NUL.x", "com1", "con.test_a", "_nul", "x" * 120, "x" * 121, "x" * 300, "x" * 300 + "y",
    "test_tide[..]", "..", "", "[", "-",
]  # fmt: skip


@pytest.mark.row("C-24")
def test_names_are_safe_on_every_system_and_differ_where_texts_do() -> None:
    names = [safe_name(text) for text in TEXTS]
    assert len({name.lower() for name in names}) == len(TEXTS)
    for name in names:
        assert 0 < len(name) <= 120
        assert set(name.lower()) <= set("abcdefghijklmnopqrstuvwxyz0123456789_-.")
        assert name[0] not in ".-"
        assert not name.endswith(".")
        assert name.partition(".")[0].lower() not in {"nul", "com1", "con"}
    assert safe_name("test_tide") == "test_tide"
    assert safe_name("test_tide[Brest]").startswith("test_tide-Brest-")


@pytest.mark.row("C-24")
def test_the_file_of_a_test_stands_beside_it() -> None:
    path = cassette_path(Path("tests/sea/test_it.py"), "tests/sea/test_it.py::TestA::test_b[1::2]")
    assert path.parent == Path("tests/sea/cassettes/test_it")
    assert path.name.startswith("TestA.test_b-1.2-")


@pytest.mark.row("C-24")
def test_parametrised_tests_have_a_file_each(project: Project) -> None:
    project.write(
        "test_it.py",
        "import pytest\n@pytest.mark.parametrize('port', ['a/b', 'A/b', 'a:b', 'é' * 200])\n"
        + TIDE.strip().replace("(wire_chat)", "(wire_chat, port)").replace("Brest", "{port}"),
    )
    project.run("--record-mode=once", passed=4)
    assert list(project.cassettes.values()) == [2] * 4
    project.run(passed=4)


# --- C-25 -----------------------------------------------------------------------------------------

ONE_FILE = """
import pytest
pytestmark = pytest.mark.wire_cassette("tide.json")

@pytest.mark.parametrize("number", range(4))
def test_tide(wire_chat, number):
    wire_chat("gemini:gemini-3.8-flash").ask("When is high tide in Brest?")
"""


@pytest.mark.row("C-25")
@pytest.mark.parametrize(
    ("mode", "workers"),
    [
        ("once", ()),
        ("rewrite", ()),
        pytest.param("rewrite", ("-pxdist", "-n2"), marks=pytest.mark.slow),
    ],
)
def test_two_tests_that_record_to_one_file_fail(
    project: Project, mode: str, workers: tuple[str, ...]
) -> None:
    project.write("test_it.py", ONE_FILE)
    report = project.run(
        *workers, f"--record-mode={mode}", process=bool(workers), passed=1, failed=3
    )
    assert "has recorded to this file in the same run" in report
    assert project.cassettes == {"tide.json": 1}
    project.run(passed=4)  # to replay one file is fine


@pytest.mark.row("C-25")
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_two_hundred_tests_on_four_processes_write_the_same_files_each_time(
    project: Project,
) -> None:
    project.write(
        "test_it.py",
        "import pytest\n@pytest.mark.parametrize('number', range(200))\n"
        "def test_tide(wire_chat, number):\n"
        "    wire_chat('gemini:gemini-3.8-flash').ask(f'When is tide {number}?')\n",
    )
    written: list[dict[str, bytes]] = []
    for _ in range(20):
        project.run("-pxdist", "-n4", "--record-mode=rewrite", process=True, passed=200)
        folder = project.pytester.path / "cassettes/test_it"
        written.append({path.name: path.read_bytes() for path in folder.iterdir()})
    assert len(written[0]) == 200
    assert all(each == written[0] for each in written)


# --- live and replayed ----------------------------------------------------------------------------

NO = "RUN_LIVE=1 is not set"
NO_KEY = "GEMINI_API_KEY is not set"


@joined(
    ("mode", "is_live", "is_on", "missing", "has_file", "disabled", "expected"),
    [
        # a test without the marker: the mode alone counts
        (None, False, False, "", True, False, "none"),
        (None, False, False, "", False, False, "none"),
        ("rewrite", False, False, "", True, False, "rewrite"),
        ("rewrite", False, False, "", True, True, "unrecorded"),
        # a live one, where variable and key are there
        (None, True, True, "", True, False, "unrecorded"),
        (None, True, True, "", False, False, "unrecorded"),
        ("once", True, True, "", False, False, "once"),
        ("verify", True, True, "", True, False, "verify"),
        ("none", True, True, "", True, False, "none"),
        ("none", True, True, "", False, False, "skip"),
        ("all", True, True, "", True, True, "unrecorded"),
        # where the variable is missing
        (None, True, False, NO, True, False, "none"),
        ("rewrite", True, False, NO, True, False, "none"),
        ("rewrite", True, False, NO, False, False, "skip"),
        (None, True, False, NO, False, False, "skip"),
        (None, True, False, NO, True, True, "skip"),
        # and where only the key is missing
        (None, True, True, NO_KEY, True, False, "skip"),
        (None, True, True, NO_KEY, False, False, "skip"),
        ("rewrite", True, True, NO_KEY, True, False, "skip"),
        ("none", True, True, NO_KEY, True, False, "none"),
    ],
)
def test_how_a_test_runs(
    mode: Any,
    is_live: bool,
    is_on: bool,
    missing: str,
    has_file: bool,
    disabled: bool,
    expected: str,
) -> None:
    planned = plan(
        mode, is_live=is_live, is_on=is_on, missing=missing, has_file=has_file, disabled=disabled
    )
    assert planned == expected


def test_which_modes_send() -> None:
    with_file = {mode for mode in MODES if sends(mode, has_file=True)}
    assert with_file == {"new_episodes", "all", "rewrite", "verify"}
    assert {mode for mode in MODES if sends(mode, has_file=False)} == {
        *("once", "new_episodes", "all", "rewrite")
    }


@joined(
    ("provider", "variables"),
    [
        ("gemini", ("RUN_LIVE_GEMINI", "RUN_LIVE")),
        ("kimi@cn", ("RUN_LIVE_KIMI", "RUN_LIVE")),
        ("llama.cpp", ("RUN_LIVE_LLAMA_CPP", "RUN_LIVE")),
        ("", ("RUN_LIVE",)),
    ],
)
def test_the_variables_of_a_provider(provider: str, variables: tuple[str, ...]) -> None:
    assert live_variables(provider) == variables


LIVE = "import pytest\n@pytest.mark.live" + TIDE


@pytest.mark.processes
def test_a_live_test_runs_live_or_is_replayed_or_is_skipped(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.write("pytest.ini", "[pytest]\naddopts = --strict-markers\n")
    project.write("test_it.py", LIVE)
    rewrite = "--record-mode=rewrite"
    report = project.run("-rs", rewrite, skipped=1)
    assert "RUN_LIVE_GEMINI=1 is not set, and there is no " in report
    monkeypatch.setenv("RUN_LIVE_GEMINI", "1")
    project.run(passed=1)
    assert project.cassettes == {}  # it was sent, and no mode asked for a recording
    monkeypatch.delenv("GEMINI_API_KEY")
    report = project.run("-rs", rewrite, skipped=1)
    assert "GEMINI_API_KEY is not set, and there is no " in report
    monkeypatch.setenv("GEMINI_API_KEY", "fake-key-4711")
    project.run(rewrite, passed=1)
    assert project.cassettes == {"cassettes/test_it/test_tide.json": 2}

    monkeypatch.delenv("RUN_LIVE_GEMINI")
    project.write("conftest.py", "")
    replayed = "wire: 1 live test was replayed from cassettes (1 recorded from the emulator)"
    asking = "RUN_LIVE_GEMINI=1 and GEMINI_API_KEY ask the real API"
    assert f"{replayed}; {asking}\n" in project.run("--block-network", passed=1)
    assert f"{replayed} and not recorded; {asking}\n" in project.run(rewrite, passed=1)
    project.write("pytest.ini", "[pytest]\nwire_record_mode = rewrite\n")
    # The mode is one for all runs, not for this one.
    assert f"{replayed}; {asking}\n" in project.run(passed=1)
    with monkeypatch.context() as patch:
        patch.setenv("RUN_LIVE_GEMINI", "1")
        patch.delenv("GEMINI_API_KEY")
        report = project.run("-rs", skipped=1)  # a replay would look like an answer of the vendor
        assert "GEMINI_API_KEY is not set\n" in report
        assert "wire:" not in report
        assert f"{replayed}; {asking}\n" in project.run("--record-mode=none", passed=1)
        patch.setenv("GEMINI_API_KEY", "fake-key-4711")
        report = project.run("--record-mode=none", passed=1)
        assert f"{replayed}; modes other than none ask the real API\n" in report
    workers = project.run("-pxdist", "-n2", process=True, passed=1)
    assert f"{replayed}; {asking}\n" in workers
    project.write("test_it.py", LIVE.replace("Brest", "Calais"))
    assert (
        "to record it again: RUN_LIVE_GEMINI=1 pytest --record-mode=rewrite test_it.py::test_tide"
    ) in project.run(failed=1)


def test_a_live_test_of_a_transport_names_its_provider(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.write(
        "test_it.py",
        "import pytest\n@pytest.mark.live('openai')\ndef test_it(wire_cassette):\n"
        "    assert not hasattr(wire_cassette, 'mode')\n",
    )
    assert "RUN_LIVE_OPENAI=1 is not set" in project.run("-rs", skipped=1)
    monkeypatch.setenv("RUN_LIVE_OPENAI", "1")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert "OPENAI_API_KEY is not set" in project.run("-rs", skipped=1)
    monkeypatch.setenv("OPENAI_API_KEY", "fake-key-4711")
    project.run(passed=1)


def test_the_hosts_of_the_environment_are_not_recorded_and_not_asked_in_a_replay(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.write("conftest.py", "")
    project.write(
        "test_it.py",
        "import os, pytest\nfrom wire import Chat\n" + TIDE + "def test_own(wire_cassette):\n"
        "    for _ in range(2):\n"
        "        options = {'api_key': 'fake-key-4711', 'http': wire_cassette}\n"
        "        with Chat('gemini:gemini-3.8-flash', **options) as chat:\n"
        "            chat.ask('Hi')\n"
        "@pytest.mark.anyio\n"
        "async def test_async(async_wire_chat, anyio_backend):\n"
        "    for _ in range(2):\n"
        "        async with async_wire_chat('gemini:gemini-3.8-flash') as chat:\n"
        "            await chat.ask('Hi')\n"
        "def test_it_is_set(): assert os.environ['GEMINI_BASE_URL'].startswith('http://127')\n",
    )
    with serve(Emulator()) as server:
        monkeypatch.setenv("GEMINI_BASE_URL", f"{server.url}/v1beta")
        project.run("--record-mode=once", passed=5)
        assert len(server.requests) == 8
        assert all(each["target"].startswith("/v1beta/models/") for each in server.requests)
    monkeypatch.delenv("GEMINI_API_KEY")
    for name in ("GEMINI_BASE_URL", "GOOGLE_GEMINI_BASE_URL"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    project.run(passed=5)
    for path in project.cassettes:
        text = (project.pytester.path / path).read_text("utf-8")
        assert "https://generativelanguage.googleapis.com/v1beta/models/" in text
        assert "127.0.0.1" not in text


def test_a_gateway_of_several_vendors_is_recorded_as_the_hosts_of_its_clients(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.write("conftest.py", "")
    project.write(
        "test_it.py",
        "import anthropic_client\nfrom wire import Chat\n"
        "def test_all(wire_cassette):\n"
        "    options = {'api_key': 'fake-key-4711', 'http': wire_cassette}\n"
        "    for model in ('gemini:gemini-3.8-flash', 'groq:openai/gpt-oss-120b',\n"
        "                  'openai@chat:gpt-5.4', 'anthropic:claude-sonnet-5'):\n"
        "        with Chat(model, **options) as chat:\n"
        "            chat.ask('Hi')\n"
        "    anthropic_client.ask(wire_cassette)\n",
    )
    project.write(
        "anthropic_client.py",
        "import httpx, os\n"
        "def ask(transport):\n"
        "    body = {'model': 'claude-opus-4-8', 'max_tokens': 9,\n"
        "            'messages': [{'role': 'user', 'content': 'Ho'}]}\n"
        "    headers = {'x-api-key': 'fake-key-4711', 'anthropic-version': '2023-06-01'}\n"
        "    base = os.environ.get('ANTHROPIC_BASE_URL', 'https://api.anthropic.com')\n"
        "    with httpx.Client(transport=transport) as client:\n"
        "        answer = client.post(f'{base}/v1/messages', json=body, headers=headers)\n"
        "    answer.raise_for_status()\n",
    )
    names = ("GEMINI_BASE_URL", "ANTHROPIC_BASE_URL", "OPENAI_BASE_URL", "GROQ_BASE_URL")
    with serve(Emulator()) as server:
        for name in names:
            suffix = "" if name in names[:2] else "/v1"
            monkeypatch.setenv(name, f"{server.url}{suffix}")
        project.run("--record-mode=once", passed=1)
    for name in names:
        monkeypatch.delenv(name)
    project.run(passed=1)
    [path] = project.cassettes
    recorded = json.loads((project.pytester.path / path).read_text("utf-8"))["interactions"]
    assert [urlsplit(each["request"]["url"]).hostname for each in recorded] == [
        "generativelanguage.googleapis.com",
        "api.groq.com",
        "api.openai.com",
        "api.anthropic.com",
        "api.anthropic.com",
    ]


def test_a_cassette_is_of_one_kind(project: Project) -> None:
    project.write("conftest.py", "")
    project.write("test_it.py", "def test_it(wire_cassette, async_wire_cassette):\n    pass\n")
    project.write("cassettes/test_it/test_it.json", EMPTY)
    report = project.run(errors=1)
    assert "test_it.json: a test uses its cassette either with async or without" in report


CLOSING = """
import anyio, httpx, pytest
from wire.testing.emulator import AsyncEmulatorTransport, EmulatorTransport

closed = []

class Async(AsyncEmulatorTransport):
    async def aclose(self):
        await anyio.sleep(0)  # needs the event loop
        closed.append("async")

class Sync(EmulatorTransport):
    def close(self):
        closed.append("sync")

@pytest.fixture
def wire_cassette_config(request):
    return {"inner": Async() if "async_wire_chat" in request.fixturenames else Sync()}

class TestAll:
    @pytest.mark.anyio
    async def test_async(self, async_wire_chat, anyio_backend):
        chat = async_wire_chat("gemini:gemini-3.8-flash")
        assert (await chat.ask("Hi")).text
        self.__class__.chat = chat

    def test_sync(self, wire_chat):
        assert set(closed) == {"async"}
        assert wire_chat("gemini:gemini-3.8-flash").ask("Hi").text

    def test_end(self):
        assert set(closed) == {"async", "sync"}
"""


def test_transports_are_closed_at_the_end_of_a_test(project: Project) -> None:
    project.write("conftest.py", "")
    project.write("test_it.py", CLOSING)
    project.run("--record-mode=once", passed=4)


# --- beside other plugins -------------------------------------------------------------------------

BESIDE = """
import urllib.request
import httpx, pytest

def test_wire(wire_chat):
    assert wire_chat("gemini:gemini-3.8-flash").ask("Hi").text

@pytest.mark.vcr
def test_vcr():
    with urllib.request.urlopen("http://127.0.0.1:PORT/__admin") as response:
        assert response.status == 200

@pytest.mark.vcr
def test_both(wire_chat):
    assert wire_chat("gemini:gemini-3.8-flash").ask("Hi").text
    with urllib.request.urlopen("http://127.0.0.1:PORT/__admin") as response:
        assert response.status == 200

def test_respx(wire_chat, respx_mock):
    respx_mock.get("https://tide.example").respond(204)
    assert httpx.get("https://tide.example").status_code == 204
    assert wire_chat("gemini:gemini-3.8-flash").ask("Hi").text

def test_syrupy(wire_chat, snapshot):
    assert wire_chat("gemini:gemini-3.8-flash").ask("Hi").text == snapshot
"""


@pytest.mark.row("C-23")
@pytest.mark.slow
def test_it_lives_beside_other_plugins(project: Project) -> None:
    """Options that pytest-recording has stay its own; both record and replay in one run."""

    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Page) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            project.write("test_it.py", BESIDE.replace("PORT", str(server.server_port)))
            found = project.pytester.runpytest_subprocess(
                *("-pno:wire", "-pwire.testing.plugin", "--snapshot-update"),
                *("--record-mode=once", "--wire-record-mode=once"),
            )
        finally:
            server.shutdown()
            thread.join()
    assert found.parseoutcomes()["passed"] == 5, found.stdout.str()
    assert len(project.cassettes) == 4
    options = ("-pno:wire", "-pwire.testing.plugin", "--wire-block-network")
    found = project.pytester.runpytest_subprocess(*options)
    assert found.parseoutcomes()["passed"] == 5, found.stdout.str()
    project.write("test_it.py", BESIDE.replace("Hi", "Ho").replace("PORT", str(server.server_port)))
    report = project.pytester.runpytest_subprocess(*options).stdout.str()
    assert "pytest --wire-record-mode=rewrite test_it.py::test_wire" in report
