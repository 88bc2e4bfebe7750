"""The live tests are skipped with a reason, and no plain run asks a provider. These run always."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
LIVE = Path(__file__).with_name("test_gemini.py")
NO_VARIABLE, NO_KEY = "RUN_LIVE_GEMINI=1 is not set", "GEMINI_API_KEY is not set"


@pytest.mark.parametrize(
    ("environment", "reasons"),
    [
        ({}, [NO_VARIABLE, NO_KEY]),
        ({"GEMINI_API_KEY": "fake-key"}, [NO_VARIABLE]),
        ({"RUN_LIVE_GEMINI": "0", "GEMINI_API_KEY": "fake-key"}, [NO_VARIABLE]),
        ({"RUN_LIVE_GEMINI": "1"}, [NO_KEY]),
        ({"RUN_LIVE_GEMINI": "1", "GEMINI_API_KEY": ""}, [NO_KEY]),
        ({"RUN_LIVE_GEMINI": "1", "GEMINI_API_KEY": "fake-key"}, []),
    ],
)
def test_s2_33_s3_33_s4_28_without_variable_or_key_all_of_them_are_skipped(
    environment: dict[str, str], reasons: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("RUN_LIVE_GEMINI", "GEMINI_API_KEY", "GEMINI_MODEL"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    found: dict[str, Any] = runpy.run_path(str(LIVE))
    marks = [each.mark for each in found["pytestmark"]]
    assert [mark.kwargs["reason"] for mark in marks if mark.name == "skipif" and mark.args[0]] == (
        reasons
    )
    assert found["MODEL"] == "models/gemini-3.8-flash"
    monkeypatch.setenv("GEMINI_MODEL", "models/other")
    assert runpy.run_path(str(LIVE))["MODEL"] == "models/other"


def test_s2_33_s4_28_a_plain_run_leaves_them_out_and_one_that_names_them_tells_why() -> None:
    options = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["pytest"]
    assert "not live" in options["ini_options"]["addopts"]
    hidden = ("RUN_LIVE_GEMINI", "GEMINI_API_KEY")
    environment = {key: value for key, value in os.environ.items() if key not in hidden}
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", LIVE, "-q", "-rs", "-mlive", "-pno:cacheprovider"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ran.returncode == 0
    assert NO_VARIABLE in ran.stdout
    assert " skipped" in ran.stdout
    assert "passed" not in ran.stdout
