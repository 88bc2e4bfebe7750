"""Which models answer on a day, and that nothing that a user runs names one that is gone."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.joined import joined
from wire.agent.config import LLMConfig
from wire.catalogue.facts import facts, shipped
from wire.errors import ConfigurationError
from wire.gemini.lifetimes import NEWEST, is_shut_down
from wire.testing.emulator import Answer, Emulator

ROOT = Path(__file__).parents[2]
NEXT_YEAR = "2027-01-01"
NAME = re.compile(r"gemini-\d[a-z0-9.]*(?:-[a-z0-9]+)*")
OF_OLD_NAMES = (
    "gemini/lifetimes.py",
    "gemini/families.py",
    "gemini/effort.py",
    "gemini/rules/",
    "testing/emulator/",
)
"""Modules about models of every age."""
USER_RUNS = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted(path for path in (ROOT / "examples").iterdir() if path.is_file()),
    *sorted((ROOT / "bench").glob("*.py")),
    *sorted((ROOT / "tests" / "live").glob("*.py")),
    *sorted(
        path
        for path in (ROOT / "wire").rglob("*.py")
        if not any(each in path.as_posix() for each in OF_OLD_NAMES)
    ),
]


def names(path: Path) -> set[str]:
    return set(NAME.findall(path.read_text("utf-8")))


def test_what_a_user_runs_names_no_model_that_is_gone_or_going() -> None:
    gone = {
        path.relative_to(ROOT).as_posix(): {
            name for name in names(path) if is_shut_down(name, NEXT_YEAR)
        }
        for path in USER_RUNS
    }
    assert len(gone) > 200
    assert {path: old for path, old in gone.items() if old} == {}


def test_the_check_sees_names() -> None:
    assert NEWEST in names(ROOT / "README.md")
    assert NAME.findall("models/gemini-2.0-flash-001:x") == ["gemini-2.0-flash-001"]


def test_the_default_of_a_configuration_lives() -> None:
    assert LLMConfig().model == NEWEST
    assert not is_shut_down(NEWEST, NEXT_YEAR)


def test_days_are_days_and_successors_outlive() -> None:
    for row in shipped().rows:
        known = facts(row.id)
        assert not known.end() or not known.released or known.end() > known.released, row.id
        later = facts(known.successor).end() if known.successor else ""
        assert not later or later > known.end(), row.id


@joined(
    "name",
    [
        "gemini-3.8-flash",
        "gemini-3.6-flash",
        "gemini-3.5-flash-lite",
        "gemini-4-argon",
        "gemini-3.1-pro-preview",
    ],
)
def test_living_models(name: str) -> None:
    assert not is_shut_down(name, NEXT_YEAR)
    assert ask(name).status == 200


# --- the emulator ---------------------------------------------------------------------------------


def ask(model: str, path: str = "/v1beta/models", **options: Any) -> Answer:
    body = json.dumps({"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}).encode()
    target = f"{path}/{model}:generateContent"
    return Emulator(**options).answer("POST", target, {"authorization": "Bearer k"}, body)


@pytest.mark.parametrize(
    ("model", "before"),
    [
        ("gemini-3-pro-preview", "2026-03-08"),
        ("gemini-2.0-flash-001", "2026-05-31"),
        ("gemini-1.5-pro", "2025-08-01"),
    ],
)
def test_the_emulator_refuses_a_model_that_was_shut_down(model: str, before: str) -> None:
    answer = ask(model)
    assert (answer.status, answer.rule) == (404, "G72")
    message = json.loads(answer.body)["error"]["message"]
    assert message.startswith(f"models/{model} is not found for API version v1beta")
    assert ask(model, date=before).status == 200
    assert ask(model, lenient=True).status == 200
    vertex = ask(model, "/v1/projects/p/locations/global/publishers/google/models")
    assert f"publishers/google/models/{model}` not found" in vertex.body.decode()


def test_from_its_end_on_another_model_answers_for_25_pro() -> None:
    for date, version in (("2026-11-30", "gemini-2.5-pro"), ("2026-12-01", "gemini-3.8-flash")):
        assert json.loads(ask("gemini-2.5-pro", date=date).body)["modelVersion"] == version


def test_the_list_of_models_is_that_of_the_day() -> None:
    key = {"x-goog-api-key": "k"}

    def listed(**options: Any) -> list[str]:
        answer = Emulator(**options).answer("GET", "/v1beta/models", key, b"")
        return [each["name"].removeprefix("models/") for each in json.loads(answer.body)["models"]]

    assert NEWEST in listed()
    assert "gemini-3.7-flash" not in listed()  # another model answers under its name
    assert "gemini-3-pro-preview" not in listed()
    old = listed(date="2026-01-01")
    assert "gemini-3-pro-preview" in old
    assert NEWEST not in old


@pytest.mark.parametrize("date", ["yesterday", "2026-3-9", 5])
def test_a_date_that_is_none(date: Any) -> None:
    with pytest.raises(ConfigurationError, match="date: expected a day such as 2026-03-09, not "):
        Emulator(date=date)
