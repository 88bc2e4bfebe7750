"""`wire catalogue`: facts of a model."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Command


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
