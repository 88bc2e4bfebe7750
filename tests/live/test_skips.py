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


@pytest.mark.parametrize(
    ("selected", "variables"),
    [
        pytest.param(
            "test", {"RUN_LIVE_GEMINI": "0", "GEMINI_API_KEY": "fake-key"}, marks=pytest.mark.slow
        ),
        ("not bad_key", {"RUN_LIVE": "1"}),  # that test brings a key, so it may run live
    ],
    ids=["switched off", "no key"],
)
def test_s2_33_s3_33_s4_28_u_154_without_variable_or_key_all_of_them_are_replayed(
    selected: str, variables: dict[str, str]
) -> None:
    output = run("--block-network", "-k", selected, **variables)
    assert re.search(r"^2[45] passed", output, re.MULTILINE), output
    assert "skipped" not in output
    assert "failed" not in output


def test_s2_33_with_variable_and_key_they_ask_the_provider() -> None:
    live = {"RUN_LIVE_GEMINI": "1", "GEMINI_API_KEY": "fake-key"}
    with serve(Emulator([{"say": "Yes."}])) as server:
        output = run("-k", "s2_33_whole_answer or openai", GEMINI_BASE_URL=server.url, **live)
    assert re.search(r"^7 passed", output, re.MULTILINE), output
    [sent] = server.requests
    assert sent["target"] == "/v1beta/models/gemini-3.8-flash:generateContent"


def test_s2_33_the_model_of_the_environment_is_asked_live_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GEMINI_MODEL", "models/other")
    monkeypatch.setenv("GEMINI_API_KEY", "fake-key")
    for name in SWITCHES:
        monkeypatch.delenv(name, raising=False)
    assert models.model("gemini") == "gemini-3.8-flash"
    monkeypatch.setenv("RUN_LIVE_GEMINI", "1")
    assert models.model("gemini") == "other"
