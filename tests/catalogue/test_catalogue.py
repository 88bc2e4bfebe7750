"""The catalogue: names of models, the file, and its replacement."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import wire
from tests.catalogue.conftest import ROWS, TEST, price, row
from tests.joined import joined
from wire.catalogue import Catalogue, current, load, use
from wire.catalogue.catalogue import PROVIDERS as ORDER
from wire.catalogue.catalogue import VARIABLE
from wire.catalogue.cost import unpriced
from wire.errors import ConfigurationError, WireError
from wire.providers import PROVIDERS

SHIPPED = Path(wire.__file__).parent / "catalogue" / "models.json"


# --- the shipped file -----------------------------------------------------------------------------


def test_the_shipped_file_is_small_and_each_figure_has_a_source_with_its_date() -> None:
    assert SHIPPED.stat().st_size <= 175_000
    catalogue = load(SHIPPED)
    assert {each.provider for each in catalogue.rows} == set(ORDER)
    for each in catalogue.rows:
        model = catalogue.model(f"{each.provider}:{each.id}")
        assert model.id == each.id
        assert model.sources
        for figure in model.sources:
            source = model.source(figure)
            assert source is not None
            assert source.date >= "2026-08"
            assert (source.license == "MIT") == (not source.evidence)
        for figure in ("context_window", "longest_output", "inputs", "prices", "tools"):
            assert (figure in model.sources) == (getattr(model, figure) not in (None, ()))


def test_the_providers_of_the_shipped_file_have_rows() -> None:
    assert set(ORDER) <= set(PROVIDERS)


def test_no_two_rows_of_the_shipped_file_have_one_name() -> None:
    names = [(each.provider, each.id.lower()) for each in load(SHIPPED).rows]
    assert len(names) == len(set(names))


@joined(
    "name",
    [
        "gemini:gemini-3.8-flash",
        "gemini:gemini-3.1-pro-preview",
        "anthropic:claude-sonnet-5",
        "anthropic:claude-opus-4-8",
        "openai:gpt-5.4",
        "openai:gpt-5.6",
        "deepseek:deepseek-v4-pro",
        "kimi:kimi-k2.6",
        "glm:glm-5",
        "minimax:MiniMax-M3",
        "mistral:mistral-large-latest",
        "xai:grok-4.6",
        "groq:openai/gpt-oss-120b",
    ],
)
def test_models_of_the_docs_have_prices(name: str) -> None:
    assert unpriced(name) == ""
    found = wire.model(name).price()
    assert found is not None
    assert found.input is not None
    assert found.output is not None
    assert found.input < found.output


def test_figures_of_today_as_their_sources_have_them() -> None:
    sonnet = wire.model("anthropic:claude-sonnet-5")
    assert (sonnet.context_window, sonnet.longest_output) == (1_000_000, 128_000)
    assert (sonnet.inputs, sonnet.outputs) == (("text", "image", "document"), ("text",))
    found = sonnet.price()
    assert found == price(
        input=2, output=10, cached=0.2, cache_written=2.5, cache_written_1h=4, search=10
    )
    source = sonnet.source("prices")
    assert source is not None
    assert (source.name, source.date) == ("genai-prices 0.2.3", "2026-11")
    long = wire.model("openai:gpt-5.4").price(272_001)
    assert long is not None
    assert (long.above, long.input, long.output) == (272_000, Decimal(5), Decimal("22.5"))
    exact = wire.model("openai:gpt-5.4").price(272_000)
    assert exact is not None
    assert (exact.above, exact.input) == (0, Decimal("2.5"))


# --- names ----------------------------------------------------------------------------------------

NAMED = Catalogue(
    (
        *ROWS,
        row("gemini", "gemini-2.0-flash", aliases=("gemini-flash-old",)),
        row("anthropic", "claude-haiku-4-5-20251001"),
        row("openai", "gpt-4o"),
        row("openai", "gpt-4o-2024-05-13"),
        row("groq", "gpt-4o"),
        row("minimax", "MiniMax-M3"),
        row("ollama", "qwen3:8b"),
    ),
    {"t": TEST},
    "2026-11-23",
)


@joined(
    ("name", "found"),
    [
        ("gemini-3.8-flash", "gemini:gemini-3.8-flash"),
        (" gemini:gemini-3.8-flash ", "gemini:gemini-3.8-flash"),
        ("models/gemini-3.8-flash", "gemini:gemini-3.8-flash"),
        ("gemini@vertex:publishers/google/models/gemini-3.8-flash", "gemini:gemini-3.8-flash"),
        (
            "gemini@vertex:projects/p/locations/global/publishers/google/models/gemini-3.8-flash",
            "gemini:gemini-3.8-flash",
        ),
        ("gemini:gemini-2.0-flash-001", "gemini:gemini-2.0-flash"),
        ("gemini:gemini-flash-old", "gemini:gemini-2.0-flash"),
        ("anthropic:claude-sonnet-5-20260101", "anthropic:claude-sonnet-5"),
        ("anthropic:claude-sonnet-5@20260101", "anthropic:claude-sonnet-5"),
        ("anthropic:claude-sonnet-5-latest", "anthropic:claude-sonnet-5"),
        ("anthropic:claude-haiku-4-5", "anthropic:claude-haiku-4-5-20251001"),
        ("gpt-5.4-2026-03-05", "openai:gpt-5.4"),
        ("gpt-4o-2024-05-13", "openai:gpt-4o-2024-05-13"),  # a price of its own
        ("gpt-4o-2024-08-06", "openai:gpt-4o"),
        ("groq:gpt-4o", "groq:gpt-4o"),
        ("openai@chat:gpt-5.4", "openai:gpt-5.4"),
        ("deepseek@anthropic:deepseek-v4-pro", "deepseek:deepseek-v4-pro"),
        ("minimax:minimax-m3", "minimax:MiniMax-M3"),
        ("ollama:qwen3:8b", "ollama:qwen3:8b"),
    ],
)
def test_a_name_finds_its_model(name: str, found: str) -> None:
    model = NAMED.model(name)
    assert (f"{model.provider}:{model.id}", model.reason) == (found, "")


@joined(
    ("name", "reason"),
    [
        ("gpt-5", "the catalogue of 2026-11-23 has no model 'gpt-5'; did you mean 'gpt-5.6'?"),
        ("openai:gpt-5.4-mini", "no model 'gpt-5.4-mini' of openai; did you mean 'gpt-5.4'?"),
        ("gpt-5.4-0305", "no model 'gpt-5.4-0305'"),  # another model, for all we know
        ("openai:ft:gpt-4o:org::id", "a fine-tuned model has a price of its own"),
        ("ft:gpt-4o:org::id", "a fine-tuned model has a price of its own"),
        ("kimi@cn:kimi-k3", "no models of 'kimi@cn'"),  # other prices than abroad
        ("glm@coding:glm-5", "no models of 'glm@coding'"),  # a subscription
        ("acme:m", "no models of 'acme'"),
    ],
)
def test_an_unknown_model_has_a_reason_and_no_figure(name: str, reason: str) -> None:
    model = NAMED.model(name)
    assert reason in model.reason
    figures = (model.context_window, model.longest_output, model.tools, model.thinks)
    assert figures == (None, None, None, None)
    assert (model.inputs, model.prices, model.sources) == ((), (), {})
    assert model.price() is None
    assert model.source("prices") is None


# --- what a provider refuses ----------------------------------------------------------------------


@joined(
    ("name", "refused"),
    [
        ("gemini:gemini-3.8-flash", {}),
        ("anthropic:claude-sonnet-5", {"temperature", "top_p", "audio"}),
        ("openai:gpt-5.6", {"temperature", "top_p", "stop", "audio"}),
        ("openai@chat:gpt-5-mini", {"temperature", "top_p", "stop", "audio"}),
        ("deepseek:deepseek-v4-pro", {"tool_choice=required", "image", "audio", "document"}),
        ("openai:o1-mini", {"model"}),
        ("kimi:kimi-k3", {"temperature"}),
        ("acme:m", {}),
    ],
)
def test_what_is_refused_comes_from_the_rules_of_the_wire(name: str, refused: Any) -> None:
    assert set(wire.model(name).refuses) == set(refused)
    assert all(wire.model(name).refuses.values())


def test_what_a_model_refuses_is_what_a_chat_refuses() -> None:
    with wire.Chat("anthropic:claude-sonnet-5", api_key="fake-key") as chat:
        with pytest.raises(WireError) as caught:
            chat.call("Hi", temperature=0.5)
    assert wire.model("anthropic:claude-sonnet-5").refuses["temperature"] in str(caught.value)


# --- the file -------------------------------------------------------------------------------------


def write(path: Path, **changes: Any) -> Path:
    source = {"name": "mine", "date": "2026-11-23"}
    one = {"provider": "acme", "id": "m", "context_window": 5, "sources": {"*": "s"}}
    file = {"format": 1, "date": "2026-11-23", "sources": {"s": source}, "models": [one]}
    path.write_text(json.dumps({**file, **changes}), "utf-8")
    return path


def test_a_file_replaces_the_shipped_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "mine.json")
    assert wire.model("acme:m").context_window is None
    use(path)
    assert wire.model("acme:m").context_window == 5
    assert wire.model("gpt-5.4").reason
    use(None)
    assert wire.model("acme:m").context_window is None
    monkeypatch.setenv(VARIABLE, str(path))
    assert (current().path, wire.model("acme:m").context_window) == (str(path), 5)
    use(NAMED)
    assert current() is NAMED


def test_a_catalogue_is_saved_and_loaded(tmp_path: Path) -> None:
    NAMED.save(tmp_path / "all.json")
    again = load(tmp_path / "all.json")
    assert sorted(again.rows, key=repr) == sorted(NAMED.rows, key=repr)
    assert (again.sources, again.date) == (NAMED.sources, NAMED.date)
    shipped = load(SHIPPED)
    shipped.save(tmp_path / "shipped.json")
    assert (tmp_path / "shipped.json").read_bytes() == SHIPPED.read_bytes()


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"models": [{"provider": "acme"}]}, "missing required field `id` - at `$.models[0]`"),
        ({"models": [{"provider": "a", "id": 5}]}, "`int` - at `$.models[0].id`"),
        (
            {"models": [{"provider": "a", "id": "m", "prices": [{"input": -1}]}]},
            "expected a number from 0 up, not -1 - at `$.models[0].prices[0].input`",
        ),
        (
            {"models": [{"provider": "a", "id": "m", "prices": [{"input": "NaN"}]}]},
            "expected a number from 0 up, not NaN",
        ),
        (
            {"models": [{"provider": "a", "id": "m", "prices": [{"inputs": 1}]}]},
            "unknown field `inputs` - at `$.models[0].prices[0]`",
        ),
        (
            {"models": [{"provider": "a", "id": "m", "prices": [{"since": "1.1.2027"}]}]},
            "at `$.models[0].prices[0].since`",
        ),
        (
            {"models": [{"provider": "a", "id": "m", "sources": {"*": "x"}}]},
            "no source is called 'x' - at `$.models[0].sources['*']`",
        ),
        ({"format": 2}, "2 - at `$.format`"),
    ],
)
def test_a_bad_file_is_named_with_its_json_path(
    changes: Any, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "bad.json", **changes)
    with pytest.raises(ConfigurationError) as caught:
        load(path)
    assert caught.value.message.startswith(f"{path}: ")
    assert problem in caught.value.message
    with pytest.raises(ConfigurationError, match=r"bad\.json"):
        use(path)
    monkeypatch.setenv(VARIABLE, str(path))
    with pytest.raises(ConfigurationError, match=r"^WIRE_CATALOGUE: .*bad\.json"):
        wire.model("gpt-5.4")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"none\.json: cannot be read"):
        load(tmp_path / "none.json")
    (tmp_path / "odd.json").write_bytes(b"{")
    with pytest.raises(ConfigurationError, match=r"odd\.json: "):
        load(tmp_path / "odd.json")
