"""`wire catalogue`: facts of a model, and a catalogue of one's own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.catalogue.test_build import MODEL, models_dev
from tests.cli.conftest import Command
from wire.catalogue import load


@pytest.fixture(autouse=True)
def _shipped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WIRE_CATALOGUE", raising=False)


def test_show_prints_each_figure_with_its_source_and_date(wire: Command) -> None:
    said = wire("catalogue", "show", "anthropic:claude-sonnet-5")
    assert (said.status, said.err) == (0, "")
    lines = [tuple(line.split("  ")) for line in said.out.splitlines()]
    cells = [tuple(cell.strip() for cell in line if cell.strip()) for line in lines]
    assert cells[:3] == [
        ("FIGURE", "VALUE", "SOURCE"),
        ("model", "anthropic:claude-sonnet-5"),
        ("context_window", "1,000,000", "models.dev, 2026-08-18"),
    ]
    assert (
        "price",
        "input 2, output 10, cached 0.2, cache_written 2.5, cache_written_1h 4, search 10",
        "genai-prices 0.2.3, 2026-11",
    ) in cells
    assert (
        "refuses temperature",
        "`temperature` is not supported for this model.",
        "rules of the wire",
    ) in cells


def test_show_prints_the_days_on_which_a_model_ends(wire: Command) -> None:
    lines = wire("catalogue", "show", "gemini:gemini-2.5-flash").out.splitlines()
    ends = [line.partition("dev.to")[0].split() for line in lines if line.startswith("ends")]
    assert ends == [["ends", "2026-12-01"], ["ends", "vertex", "2026-10-16"]]


def test_show_as_json(wire: Command) -> None:
    shown = wire("catalogue", "show", "claude-sonnet-5", "--json").json
    assert shown["context_window"] == 1_000_000
    assert shown["prices"][0]["cached"] == 0.2
    assert shown["sources"]["prices"]["date"] == "2026-11"
    assert "temperature" in shown["refuses"]


def test_an_unknown_model_has_status_1_and_a_reason(wire: Command) -> None:
    said = wire("catalogue", "show", "acme:m")
    assert said == (1, "", "wire catalogue: the catalogue has no models of 'acme'\n")


def test_update_writes_a_catalogue_that_replaces_the_shipped_one(
    wire: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("api.json").write_text(json.dumps(models_dev(MODEL)), "utf-8")
    said = wire("catalogue", "update", "api.json")
    assert said == (2, "", "wire catalogue: --to: missing; give it, or set WIRE_CATALOGUE\n")
    said = wire("catalogue", "update", "api.json", "--to", "mine.json", "--date", "2026-11-20")
    assert said.status == 0
    assert said.out.startswith("mine.json: ")
    assert said.out.endswith(" models, 1 of them new\n")
    monkeypatch.setenv("WIRE_CATALOGUE", "mine.json")
    shown = wire("catalogue", "show", "gemini:gemini-9", "--json").json
    assert shown["prices"][1] == {"above": 200_000, "input": 2.5, "output": 15}
    assert shown["sources"]["prices"]["date"] == "2026-11-20"
    assert wire("catalogue", "show", "claude-sonnet-5").status == 0  # the shipped ones stay
    # Without --to, the file of the variable is brought up to date.
    Path("api.json").write_text(json.dumps(models_dev({**MODEL, "id": "gemini-10"})), "utf-8")
    assert wire("catalogue", "update", "api.json").out.endswith(" models, 1 of them new\n")
    assert load("mine.json").model("gemini-10").reason == ""


def test_a_bad_file_is_named_in_one_line(wire: Command) -> None:
    Path("api.json").write_text('{"google": 5}', "utf-8")
    said = wire("catalogue", "update", "api.json", "--to", "mine.json")
    assert said == (
        2,
        "",
        "wire catalogue: api.json: expected an object, not int - at `$.google`\n",
    )
    assert not Path("mine.json").exists()
