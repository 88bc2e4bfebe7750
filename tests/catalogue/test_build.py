"""`update`: a catalogue from files of models.dev and genai-prices, here with invented figures."""

from __future__ import annotations

import json
import os
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.catalogue.build import main, update
from tests.catalogue.conftest import TEST, price, row
from wire.catalogue import Catalogue, Source, load
from wire.errors import ConfigurationError

EMPTY = Catalogue((), {}, "2026-11-23")

MODEL = {
    "id": "gemini-9",
    "reasoning": True,
    "tool_call": True,
    "structured_output": False,
    "knowledge": "2026-01",
    "limit": {"context": 1000, "output": 100},
    "modalities": {"input": ["pdf", "text"], "output": ["text"]},
    "cost": {
        "input": 1.25,
        "output": 10,
        "cache_read": 0.125,
        "tiers": [{"input": 2.5, "output": 15, "tier": {"type": "context", "size": 200000}}],
    },
}


def models_dev(*models: Any, provider: str = "google") -> dict[str, Any]:
    return {provider: {"id": provider, "models": {each["id"]: each for each in models}}}


PATTERN = {
    "id": "gemini-9",
    "match": {
        "or": [
            {"equals": "gemini-9"},
            {"equals": "gemini-next"},
            {"and": [{"starts_with": "gemini-9-"}, {"regex": "^(?!.*-tts)"}]},
        ]
    },
    "context_window": 999,
    "prices": [
        {"prices": {"input_mtok": 1, "output_mtok": {"base": 4, "tiers": [
            {"start": 1000, "price": 8}, {"start": 2000, "price": 9}]}}},
        {"constraint": {"start_date": "2027-01-01"}, "prices": {"input_mtok": 2, "output_mtok": 5}},
        {
            "constraint": {"start_time": "01:00:00Z", "end_time": "04:00:00Z"},
            "prices": {"input_mtok": 3, "output_mtok": 6},
        },
    ],
    "price_variants": [
        {"when": {"processing": "batch"}, "prices": {"input_mtok": 0.5, "output_mtok": 2}},
        {"when": {"route": "eu"}, "prices": {"input_mtok": 7}},
        {"when": {"service_tier": "default"}, "prices": {}},
    ],
}  # fmt: skip


def genai_prices(*models: Any, provider: str = "google") -> list[dict[str, Any]]:
    return [{"id": "unknown"}, {"id": provider, "models": list(models)}]


@pytest.fixture
def put(tmp_path: Path) -> Any:
    def write(content: Any) -> Path:
        path = tmp_path / "data.json"
        path.write_text(json.dumps(content), "utf-8")
        return path

    return write


def test_models_dev(put: Any) -> None:
    catalogue = update(put(models_dev(MODEL)), EMPTY, date="2026-11-01")
    model = catalogue.model("gemini:gemini-9")
    assert (model.context_window, model.longest_output) == (1000, 100)
    assert (model.inputs, model.outputs) == (("text", "document"), ("text",))
    assert (model.tools, model.structured_output, model.thinks) == (True, False, True)
    assert model.knowledge == "2026-01"
    assert model.prices == (
        price(input=1.25, output=10, cached=0.125),
        price(input=2.5, output=15, above=200_000),
    )
    assert set(model.sources.values()) == {Source("models.dev", "2026-11-01", "MIT")}


def test_the_older_form_of_a_long_context_price(put: Any) -> None:
    cost = {"input": 1, "output": 2, "context_over_200k": {"input": 3, "output": 4}}
    catalogue = update(put(models_dev({**MODEL, "cost": cost})), EMPTY)
    assert catalogue.model("gemini-9").prices == (
        price(input=1, output=2),
        price(input=3, output=4, above=200_000),
    )


@pytest.mark.parametrize(
    "change",
    [
        {"status": "deprecated"},
        {"modalities": {"input": ["text"], "output": ["video"]}},
        {"id": "gemini-9-tts"},
        {"id": "gemini-2.0-flash"},
    ],
)
def test_models_that_no_call_reaches_are_left_out(change: Any, put: Any) -> None:
    file = put(models_dev(MODEL, {**MODEL, "id": "gemini-other", **change}))
    assert [each.id for each in update(file, EMPTY).rows] == ["gemini-9"]


def test_a_price_of_0_for_all_tokens_is_unknown_in_models_dev(put: Any) -> None:
    file = put(models_dev({**MODEL, "cost": {"input": 0, "output": 0}}))
    assert update(file, EMPTY).model("gemini-9").prices == ()


def test_genai_prices(put: Any) -> None:
    catalogue = update(put(genai_prices(PATTERN)), EMPTY, name="genai-prices 9.9", date="2026-11")
    model = catalogue.model("gemini-9")
    assert model.prices == (
        price(input=1, output=4),
        price(input=1, output=8, above=1000),
        price(input=1, output=9, above=2000),
        price(input=2, output=5, since="2027-01-01"),
        price(input=3, output=6, hours="01:00-04:00"),
        price(input=0.5, output=2, tier="batch"),
    )
    assert model.context_window == 999
    assert model.source("prices") == Source("genai-prices 9.9", "2026-11", "MIT")
    assert catalogue.model("gemini-next").id == "gemini-9"


def test_known_models_take_the_prices_of_the_pattern_that_they_match(put: Any) -> None:
    old = [row("gemini", each, price(input=9, output=9)) for each in ("gemini-9-x", "gemini-9-tts")]
    base = Catalogue(tuple(old), {"t": TEST}, "2026-11-23")
    catalogue = update(put({"providers": genai_prices(PATTERN)}), base)
    matched = catalogue.model("gemini-9-x").price(1)
    assert matched is not None
    assert matched.input != 9
    assert catalogue.model("gemini-9-tts").prices == (price(input=9, output=9),)
    assert catalogue.model("gemini-9-x").context_window is None


def test_figures_that_a_file_lacks_stay_with_their_source(put: Any) -> None:
    first = update(put(models_dev(MODEL)), EMPTY, date="2026-10-01")
    both = update(put(genai_prices(PATTERN)), first, date="2026-11-01")
    model = both.model("gemini-9")
    assert model.context_window == 1000  # genai-prices has rounded ones
    assert model.longest_output == 100
    sources = {figure: source.name for figure, source in model.sources.items()}
    assert sources.pop("prices") == "genai-prices"
    assert set(sources.values()) == {"models.dev"}
    third = update(put(models_dev({**MODEL, "limit": {"context": 2000}})), both, date="2026-12-01")
    model = third.model("gemini-9")
    assert (model.context_window, model.longest_output) == (2000, 100)
    dates = [getattr(model.source(name), "date") for name in ("context_window", "longest_output")]  # noqa: B009
    assert dates == ["2026-12-01", "2026-10-01"]


def test_what_is_built_is_read_again(put: Any, tmp_path: Path) -> None:
    first = update(put(models_dev(MODEL)), EMPTY)
    built = update(put(genai_prices(PATTERN)), first)
    built.save(tmp_path / "mine.json")
    again = load(tmp_path / "mine.json")
    assert again.rows == built.rows
    assert again.model("gemini-9") == built.model("gemini-9")
    assert b'"input":0.5' in (tmp_path / "mine.json").read_bytes()  # numbers, not texts


def test_the_date_is_that_of_the_file_by_default(put: Any) -> None:
    path = put(models_dev(MODEL))
    os.utime(path, (1_790_000_000, 1_790_000_000))
    source = update(path, EMPTY).model("gemini-9").source("prices")
    assert source is not None
    assert source.date == "2026-09-21"


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ({}, "has no model of a known provider; expected api.json of models.dev, or data.json of"),
        ([], "has no model of a known provider"),
        (5, "expected an object, not int - at `$`"),
        ({"google": []}, "expected an object, not list - at `$.google`"),
        ({"google": {"models": {"m": 1}}}, "not int - at `$.google.models['m']`"),
        (
            models_dev({**MODEL, "limit": {"context": "big"}}),
            "expected int, not str - at `$.google.models['gemini-9'].limit.context`",
        ),
        (
            models_dev({**MODEL, "cost": {"input": "x", "output": 1}}),
            "expected a number, not 'x' - at `$.google.models['gemini-9'].cost.input`",
        ),
        (
            models_dev({**MODEL, "cost": {"input": -1, "output": 1}}),
            "expected a number from 0 up, not -1 - at `$.google.models['gemini-9'].cost.input`",
        ),
        ([1], "expected an object, not int - at `$[0]`"),
        (
            genai_prices({**PATTERN, "match": {"like": "x"}}),
            "expected a pattern of names, not ['like'] - at `$[1].models[0].match`",
        ),
        (genai_prices({**PATTERN, "match": {"regex": "("}}), "at `$[1].models[0].match`"),
        (genai_prices({**PATTERN, "prices": 1}), "not int - at `$[1].models[0].prices`"),
        (
            genai_prices({**PATTERN, "prices": [{"constraint": {"start_date": "soon"}}]}),
            "such as 2027-01-01, not 'soon' - at `$[1].models[0].prices[0].constraint.start_date`",
        ),
        (
            genai_prices(
                {**PATTERN, "prices": {"input_mtok": {"base": 1, "tiers": [{"price": 1}]}}}
            ),
            "not NoneType - at `$[1].models[0].prices.input_mtok.tiers[0].start`",
        ),
    ],
)  # fmt: skip
def test_a_bad_file_is_named_with_its_json_path(content: Any, problem: str, put: Any) -> None:
    path = put(content)
    with pytest.raises(ConfigurationError) as caught:
        update(path, EMPTY)
    assert caught.value.message.startswith(f"{path}: ")
    assert problem in caught.value.message


def test_prices_keep_each_digit(put: Any) -> None:
    cost = {"input": 0.1 + 0.2, "output": 1}
    path = put(models_dev({**MODEL, "cost": cost}))
    found = update(path, EMPTY).model("gemini-9").price()
    assert found is not None
    assert found.input == Decimal("0.30000000000000004")


def test_the_command_brings_a_catalogue_up_to_date(
    put: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = tmp_path / "mine.json"
    EMPTY.save(mine)
    given = ["--to", str(mine), "--date", "2026-11-20"]
    assert main([str(put(models_dev(MODEL))), *given]) == 0
    assert main([str(put(models_dev({**MODEL, "id": "gemini-10"}))), *given]) == 0
    assert capsys.readouterr().out == (
        f"{mine}: 1 models, 1 of them new\n{mine}: 2 models, 1 of them new\n"
    )
    assert load(mine).model("gemini-9").source("prices").date == "2026-11-20"
