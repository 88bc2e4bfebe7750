"""Live tests ask a provider only where a variable and a key say so; else they are replayed. These
run always.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.live import models
from tests.live.smoke import SMOKE_TESTS
from wire.testing.emulator import Emulator, serve

ROOT = Path(__file__).parents[2]
KEYS = ("GEMINI_API_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY")
SWITCHES = ("RUN_LIVE", *(f"RUN_LIVE_{name.upper()}" for name in models.PROVIDERS))


def run(*arguments: str, **variables: str) -> str:
    """The report of the live tests in a new process that reaches no network."""
    hidden = {*KEYS, *SWITCHES, "EMULATOR"}
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    ran = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "tests/live", "-q", "-rs", "-mlive"),
            *("-pno:cacheprovider", "-pno:random_order", *arguments),
        ],
        cwd=ROOT,
        env=environment | variables,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ran.stderr == ""
    return ran.stdout


ALL = sum(1 for _ in (ROOT / "tests/live/cassettes").rglob("*.json"))
"""Each live test has a cassette."""
SMOKE = len(SMOKE_TESTS)
GEMINI = ALL - SMOKE * (len(models.PROVIDERS) - 1)
"""The tests that ask Gemini: all but the smoke tests of the others."""
REPLAYED = "{0} live tests were replayed from cassettes ({0} recorded from the emulator); "


@pytest.mark.processes
@pytest.mark.row("S2-33", "S3-33", "S4-28", "U-154")
def test_without_a_variable_all_of_them_are_replayed_and_say_so() -> None:
    output = run("--block-network", RUN_LIVE_GEMINI="0", GEMINI_API_KEY="fake-key")
    assert re.search(rf"^{ALL} passed, \d+ deselected", output, re.MULTILINE), output
    names = [name.upper() for name in sorted(models.PROVIDERS)]
    asking = ", ".join(f"RUN_LIVE_{name}=1 and {name}_API_KEY" for name in names)
    assert f"wire: {REPLAYED.format(ALL)}{asking} ask the real API\n" in output


@pytest.mark.row("S2-33")
@pytest.mark.slow
def test_with_a_variable_and_no_key_they_are_skipped() -> None:
    output = run("--block-network", RUN_LIVE="1")
    assert re.search(rf"^{ALL} skipped, \d+ deselected", output, re.MULTILINE), output
    assert all(f"{key} is not set\n" in output for key in KEYS)
    assert "replayed" not in output


@pytest.mark.row("S2-33")
@pytest.mark.slow
def test_with_the_variable_of_one_provider_only_its_tests_are_skipped() -> None:
    output = run("--block-network", RUN_LIVE_GEMINI="1")
    assert re.search(
        rf"^{ALL - GEMINI} passed, {GEMINI} skipped, \d+ deselected", output, re.MULTILINE
    ), output
    assert "GEMINI_API_KEY is not set\n" in output
    assert REPLAYED.format(ALL - GEMINI) in output


@pytest.mark.processes
@pytest.mark.row("S2-33")
def test_with_variable_and_key_they_ask_the_provider() -> None:
    live = {"RUN_LIVE_GEMINI": "1", "GEMINI_API_KEY": "fake-key"}
    with serve(Emulator([{"say": "Yes."}])) as server:
        output = run("-k", "whole_answer or openai", GEMINI_BASE_URL=server.url, **live)
    assert re.search(rf"^{SMOKE + 1} passed", output, re.MULTILINE), output
    [sent] = server.requests
    assert sent["target"] == "/v1beta/models/gemini-3.8-flash:generateContent"


@pytest.mark.row("S2-33")
def test_the_model_of_the_environment_is_asked_live_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GEMINI_MODEL", "models/other")
    monkeypatch.setenv("GEMINI_API_KEY", "fake-key")
    for name in SWITCHES:
        monkeypatch.delenv(name, raising=False)
    assert models.model("gemini") == "gemini-3.8-flash"
    monkeypatch.setenv("RUN_LIVE_GEMINI", "1")
    assert models.model("gemini") == "other"
