"""A project that uses pytest-recording follows docs/migrate/pytest-recording.md."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.testing.cassette.test_plugin import OTHERS
from wire.cli import main
from wire.testing.emulator import Emulator, Server, serve

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs/migrate/pytest-recording.md").read_text("utf-8")
[BEFORE] = re.findall(r"^```py no-run\n(# test_tide\.py\n.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
[AFTER] = re.findall(r"^```python\n(# test_tide\.py\n.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
[(CONVERT, SHOWN)] = re.findall(r"^\$ wire (.*)\n((?:.+\n)*?)```", PAGE, re.MULTILINE)
HOST = "https://api.openai.com"
KEY = "fake-key-4711-81a2"


@pytest.fixture
def vendor() -> Iterator[Server]:
    with serve(Emulator([{"say": "At 05:12."}])) as server:
        yield server


def run(pytester: pytest.Pytester, *options: str, **outcomes: int) -> str:
    blocked = [f"-pno:{name}" for name in OTHERS if name != "recording"]
    found = pytester.runpytest_inprocess("-pwire.testing.plugin", "-pno:wire", *blocked, *options)
    # pytest-recording warns where vcrpy is imported already, as other tests here do.
    assert {**found.parseoutcomes(), "warnings": 0} == {**outcomes, "warnings": 0}
    return found.stdout.str()


@pytest.mark.row("C-37")
def test_a_project_with_pytest_recording_keeps_its_cassettes(
    pytester: pytest.Pytester,
    vendor: Server,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    test, url = pytester.mkdir("tests") / "test_tide.py", f"{vendor.url}/v1"
    test.write_text(BEFORE.replace(f"{HOST}/v1", url), "utf-8")
    run(pytester, "--record-mode=once", passed=1)
    recorded = test.parent / "cassettes/test_tide/test_answer.yaml"
    assert KEY in recorded.read_text("utf-8")
    [interaction] = yaml.safe_load(recorded.read_text("utf-8"))["interactions"]
    assert "05:12" in interaction["response"]["body"]["string"]
    assert len(vendor.requests) == 1
    capsys.readouterr()

    assert main(shlex.split(CONVERT)) == 0
    assert capsys.readouterr().out == SHOWN
    assert KEY not in recorded.with_suffix(".json").read_text("utf-8")

    test.write_text(AFTER.replace(f"{HOST}/v1", url), "utf-8")
    without = ("-pno:recording", "--block-network")
    run(pytester, *without, passed=1)
    test.write_text(AFTER.replace(f"{HOST}/v1", url).replace("Brest", "Calais"), "utf-8")
    report = run(pytester, *without, failed=1)
    assert 'different in $.messages[0].content: recorded "Tide in Brest?"' in report
    assert len(vendor.requests) == 1
