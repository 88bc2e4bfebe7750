"""The pytest plugin as it is installed: its fixtures, what it costs a project that does not use
them, and a project that has a module `wire` of its own.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import entry_points
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.processes
OTHERS = sorted({each.name for each in entry_points(group="pytest11")} - {"wire"})
OWN = {
    "module": {"wire.py": "copper = True\n"},
    "package": {"wire/__init__.py": "copper = True\n"},
    "namespace": {"wire/copper.py": "copper = True\n"},
}

FIXTURES = """
import sys

def test_first(gemini_emulator):
    import http.client
    connection = http.client.HTTPConnection(gemini_emulator.url.removeprefix("http://"))
    connection.request("GET", "/v1beta/models", headers={"x-goog-api-key": "k"})
    assert connection.getresponse().status == 200
    assert len(gemini_emulator.requests) == 1
    connection.close()
    assert "httpx" not in sys.modules

def test_a_script(gemini_emulator, monkeypatch):
    from wire import Chat
    from wire.testing.emulator import Emulator
    monkeypatch.setenv("GEMINI_BASE_URL", gemini_emulator.url)
    gemini_emulator.emulator = Emulator([{"say": "At 05:12.", "times": 0}])
    with Chat("gemini:gemini-3.8-flash", api_key="k") as chat:
        assert chat.ask("hi").text == "At 05:12."
    assert len(gemini_emulator.requests) == 1

def test_each_begins_with_nothing(gemini_emulator):
    from wire import Chat
    assert gemini_emulator.requests == []
    with Chat("gemini:gemini-3.8-flash", api_key="k", base_url=gemini_emulator.url) as chat:
        assert chat.ask("hi").text.endswith("You said: hi")

def test_transport(gemini_transport):
    from wire import Client, gemini
    with Client("gemini", api_key="k", http=gemini_transport) as client:
        request = gemini.GenerateContentRequest(contents=gemini.contents("hi"))
        result = client.send(gemini.generate_content("gemini-2.5-flash", request))
        assert result.text.endswith("You said: hi")
    assert len(gemini_transport.emulator.requests) == 1

def test_no_retries(no_retries):
    import pytest
    from wire import Client, WireError, gemini
    from wire.testing.emulator import Emulator, EmulatorTransport
    busy = {"times": 0, "fault": "503"}
    request = gemini.GenerateContentRequest(contents=gemini.contents("hi"))
    with Client("gemini", api_key="k", http=EmulatorTransport(Emulator([busy]))) as client:
        with pytest.raises(WireError) as raised:
            client.send(gemini.generate_content("gemini-2.5-flash", request))
    assert raised.value.attempts == 1

def test_retries_again():
    from wire.core.retry import is_off
    assert not is_off()
"""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder with what the wheel puts beside the package: the plugin and its entry point."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    included = project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    made = tmp_path / "site"
    metadata = made / "wire_llm-0.dist-info"
    metadata.mkdir(parents=True)
    plugin = "wire/testing/plugin.py"
    shutil.copy(ROOT / plugin, made / included[plugin])
    rows = project["project"]["entry-points"]["pytest11"]
    lines = ["[pytest11]", *(f"{name} = {module}" for name, module in rows.items())]
    (metadata / "entry_points.txt").write_text("\n".join(lines) + "\n", "utf-8")
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: wire-llm\nVersion: 0\n")
    (metadata / "RECORD").write_text("wire_llm_pytest.py,,\nwire/__init__.py,,\n")
    return made


def run(site: Path, files: dict[str, str], *options: str, module: bool = True) -> str:
    """The output of pytest in a new process, in a project with these files."""
    project = site.parent / "project"
    for name, text in files.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text, "utf-8")
    start = ["-m", "pytest"] if module else ["-P", "-m", "pytest"]
    blocked = [f"-pno:{name}" for name in OTHERS]
    found = subprocess.run(
        [sys.executable, *start, "-q", "-W", "error", *blocked, "--rootdir", ".", *options],
        capture_output=True,
        text=True,
        cwd=project,
        # The tree stands after the folder, as the packages of an installation do.
        env={**os.environ, "PYTHONPATH": os.pathsep.join((str(site), str(ROOT)))},
    )
    assert "Traceback" not in found.stdout + found.stderr
    assert found.stderr == ""
    return found.stdout


def test_the_fixtures(site: Path) -> None:
    assert "6 passed" in run(site, {"test_it.py": FIXTURES})


def test_it_costs_nothing_when_unused(site: Path) -> None:
    """pytest imports one module of ours, and nothing that this one needs, from start to end."""
    conftest = """
import sys
def pytest_terminal_summary(terminalreporter):
    heavy = {"wire", "httpx", "httpcore", "h11", "msgspec", "anyio"}
    loaded = sorted(heavy & set(sys.modules))
    terminalreporter.write_line(f"LOADED {loaded} {'wire_llm_pytest' in sys.modules}")
"""
    output = run(site, {"conftest.py": conftest, "test_it.py": "def test(): pass\n"}, "-v")
    assert "LOADED [] True" in output
    assert "1 passed" in output


@pytest.mark.parametrize(
    ("own", "module"),
    [
        pytest.param(own, module, id=f"{name}, {start}", marks=marks)
        for (name, own), quick in zip(OWN.items(), (True, False, True), strict=True)
        for module, start in ((True, "python -m pytest"), (False, "pytest"))
        for marks in ([] if module is quick else [pytest.mark.slow],)
    ],
)
def test_a_project_has_a_wire_of_its_own(site: Path, own: dict[str, str], module: bool) -> None:
    """pytest starts, and the project gets its own module."""
    imported = "from wire import copper\nassert copper\n"
    if "wire/copper.py" in own:
        # A package that is installed comes before a folder without `__init__`, with or without us.
        imported = ""
    files = {
        **own,
        "conftest.py": imported,
        "test_own.py": f"{imported}\ndef test_own(): pass\n",
        "test_fixture.py": "def test_fixture(gemini_emulator): pass\n",
    }
    output = run(site, files, module=module)
    if imported:
        assert "this fixture needs the package wire of wire-llm" in output
        assert str(Path("project") / next(iter(own))) in output
        assert "1 passed, 1 error" in output
    else:
        assert "2 passed" in output


@pytest.mark.parametrize("raised", ["raise RuntimeError('copper')", "import sys; sys.exit(3)", "("])
@pytest.mark.parametrize(
    "name", ["wire.py", pytest.param("wire/__init__.py", marks=pytest.mark.slow)]
)
def test_a_wire_of_its_own_that_raises(site: Path, name: str, raised: str) -> None:
    files = {
        name: f"{raised}\n",
        "test_own.py": "def test_own(): pass\n",
        "test_fixture.py": "def test_fixture(gemini_emulator): pass\n",
    }
    output = run(site, files)
    assert "this fixture needs the package wire of wire-llm" in output
    assert str(Path("project") / name) in output
    assert "1 passed, 1 error" in output
