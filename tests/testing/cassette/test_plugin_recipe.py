"""A newcomer's project follows docs/guide/testing.md: its test, and its commands in their order."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from wire.testing.emulator import Emulator, Server, serve

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs/guide/testing.md").read_text("utf-8")
RECIPE = PAGE.partition("## Record once, replay in CI\n")[2].partition("\n### ")[0]
LIVE = PAGE.partition("## Live tests\n")[2].partition("\n## ")[0]
[TEST] = re.findall(r"^```python\n(# test_tide\.py\n.*?)^```", RECIPE, re.DOTALL | re.MULTILINE)
[LIVE_TEST] = re.findall(r"^```python\n(.*?)^```", LIVE, re.DOTALL | re.MULTILINE)
COMMAND = re.compile(r"^\$ (.*)$", re.MULTILINE)
RECORD, REPLAY, AGAIN, PARALLEL = COMMAND.findall(RECIPE)
ASK, RECORD_LIVE, REPLAY_LIVE = COMMAND.findall(LIVE)
CASSETTE = "cassettes/test_tide/test_the_answer_is_a_time.json"
HIDDEN = ("GEMINI_API_KEY", "GEMINI_BASE_URL", "RUN_LIVE", "RUN_LIVE_GEMINI", "PYTEST_ADDOPTS")


Run = Callable[[list[str], dict[str, str]], str]
"""Runs pytest with arguments and variables, and returns its report."""


class Newcomer:
    """A project in a folder of its own; its vendor is the emulator on loopback."""

    def __init__(self, folder: Path, run: Run) -> None:
        self.folder, self._run = folder, run

    def write(self, text: str) -> None:
        (self.folder / "test_tide.py").write_text(text, "utf-8")

    def types(self, command: str, vendor: str = "") -> str:
        """The report of a command; only one that asks the vendor is told its URL."""
        words = shlex.split(command.replace("GEMINI_API_KEY=...", "GEMINI_API_KEY=fake-key-4711"))
        at = words.index("pytest")
        variables = dict(word.split("=", 1) for word in words[:at])
        if vendor:
            variables["GEMINI_BASE_URL"] = vendor
        return self._run(["-rs", *words[at + 1 :]], variables)


@pytest.fixture
def vendor() -> Iterator[Server]:
    with serve(Emulator([{"say": "At 05:12.", "times": 0}])) as server:
        yield server


def follow(newcomer: Newcomer, vendor: Server) -> None:
    """The steps of the page. Only those with a key are given the vendor."""
    newcomer.write(TEST)
    assert " 1 passed in" in newcomer.types(RECORD, vendor.url)
    assert [path.name for path in newcomer.folder.rglob("*.json")] == [Path(CASSETTE).name]
    assert (newcomer.folder / CASSETTE).is_file()
    assert " 1 passed in" in newcomer.types(REPLAY)

    newcomer.write(TEST.replace("Brest", "Calais"))
    report = newcomer.types(REPLAY)
    assert " 1 failed in" in report
    assert (
        'different in $.contents[0].parts[0].text: recorded "When is high tide in Brest?' in report
    )
    assert 'sent "When is high tide in Calais?' in report
    shown = "to record it again: " + AGAIN.partition("... ")[2]
    assert shown in RECIPE
    assert shown in report

    assert " 1 passed in" in newcomer.types(AGAIN, vendor.url)
    assert len(vendor.requests) == 2
    assert " 1 passed in" in newcomer.types(PARALLEL)

    newcomer.write("import pytest\n\n\n" + LIVE_TEST)
    report = newcomer.types(REPLAY_LIVE)
    assert " 1 skipped in" in report
    assert "RUN_LIVE_GEMINI=1 is not set, and there is no " in report
    assert " 1 passed in" in newcomer.types(ASK, vendor.url)
    assert " 1 passed in" in newcomer.types(RECORD_LIVE, vendor.url)
    assert len(vendor.requests) == 4
    assert " 1 passed in" in newcomer.types(REPLAY_LIVE)


@pytest.mark.slow
def test_the_recipe_of_the_docs_with_the_wheel(tmp_path: Path, vendor: Server) -> None:
    site, folder = tmp_path / "site", tmp_path / "project"
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True, timeout=120)
    [wheel] = tmp_path.glob("*.whl")
    install = ["-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", str(site)]
    subprocess.run([sys.executable, *install, str(wheel)], check=True, timeout=120)
    folder.mkdir()
    usual = {name: text for name, text in os.environ.items() if name not in HIDDEN}

    def run(arguments: list[str], variables: dict[str, str]) -> str:
        ran = subprocess.run(
            [sys.executable, "-P", "-m", "pytest", "-pno:recording", *arguments],
            cwd=folder,
            env={**usual, "PYTHONPATH": str(site), **variables},
            capture_output=True,
            text=True,
            timeout=100,
        )
        assert ran.stderr == ""
        return ran.stdout

    follow(Newcomer(folder, run), vendor)


def test_the_recipe_of_the_docs(pytester: pytest.Pytester, vendor: Server) -> None:
    """As the slow one, on the tree, in this process."""

    def run(arguments: list[str], variables: dict[str, str]) -> str:
        options = ["-pno:wire", "-pwire.testing.plugin", "-pno:random_order", "-pno:syrupy"]
        options.append("-pno:recording")
        if "-n" in arguments:  # which starts processes
            arguments = arguments[: arguments.index("-n")]
        with pytest.MonkeyPatch.context() as environment:
            for name in HIDDEN:
                environment.delenv(name, raising=False)
            for name, text in variables.items():
                environment.setenv(name, text)
            found = pytester.runpytest_inprocess(*options, *arguments)
        return found.stdout.str()

    follow(Newcomer(pytester.path, run), vendor)
