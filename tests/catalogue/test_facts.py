"""The facts about models: the shipped file, names, what a line gives, and files that are wrong."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.joined import joined
from tests.library import FOLDER
from wire.catalogue.catalogue import has_model, shipped
from wire.catalogue.facts import (
    EFFORTS,
    ModelFacts,
    counted_as,
    facts,
    is_in,
    nearest,
    parse,
)
from wire.catalogue.facts import shipped as shipped_facts
from wire.errors import ConfigurationError
from wire.testing.emulator.hosts import serves
from wire.testing.emulator.vendors.anthropic import catalog as anthropic
from wire.testing.emulator.vendors.gemini import catalog as gemini
from wire.testing.emulator.vendors.openai import catalog as openai
from wire.testing.emulator.vendors.openai.responses.models import answers_responses
from wire.wires.contract import WIRES
from wire.wires.providers import PROVIDERS, row_of_model

FILE = FOLDER / "catalogue" / "facts.json"
TABLE = shipped_facts()


# --- the shipped file -----------------------------------------------------------------------------


def test_the_shipped_file_is_valid_and_each_fact_has_a_source_a_date_and_its_evidence() -> None:
    parse(FILE.read_bytes(), "facts.json")
    for row in TABLE.rows:
        known = facts(row.id)
        unknown = msgspec.structs.asdict(ModelFacts())
        own = {name for name in unknown if getattr(row, name, None) != unknown[name]}
        own -= {"vendor", "id", "line", "gone", "sources"}
        assert set(known.sources) == own, row.id
        for source in known.sources.values():
            assert source.name, row.id
            assert re.fullmatch(r"20\d\d(-20\d\d)?(-\d\d){0,2}", source.date), (row.id, source)
            assert source.evidence, row.id


def test_the_file_is_small() -> None:
    """It is in the wheel, and decoded when the first fact is asked for."""
    assert FILE.stat().st_size < 100_000


def test_each_row_is_in_its_line_and_each_name_in_one_row() -> None:
    names = [name for row in TABLE.rows for name in (row.id, *row.aliases)]
    assert len(names) == len(set(names))
    assert {row.line for row in TABLE.rows} - {""} <= {line.name for line in TABLE.lines}
    for row in TABLE.rows:
        assert row.efforts is None or list(row.efforts) == sorted(row.efforts, key=EFFORTS.index)
        assert row.successor == "" or row.successor != row.id


def test_the_emulator_answers_each_chat_model_of_the_catalogue() -> None:
    rows = [(row.provider, row.id) for row in shipped().rows]
    assert [each for each in rows if not is_answered(*each)] == []


def is_answered(provider: str, model: str) -> bool:
    if provider == "openai":
        return openai.is_known(model) or answers_responses(model)
    if provider == "anthropic":
        return anthropic.is_known(model)
    if provider == "gemini":
        return gemini.traits(model, lenient=bool(facts(model).end())) is not None
    return serves(PROVIDERS[provider], model)


# --- names ----------------------------------------------------------------------------------------


@joined(
    ("name", "id"),
    [
        ("gpt-6.1-sol", "gpt-6.1-sol"),
        ("GPT-6.1-Sol", "gpt-6.1-sol"),
        ("openai/gpt-6.1-sol", "gpt-6.1-sol"),
        ("gpt-5.1-2025-11-13", "gpt-5.1"),
        ("models/gemini-3.8-flash-001", "gemini-3.8-flash"),
        ("publishers/google/models/gemini-2.5-pro", "gemini-2.5-pro"),
        ("us.anthropic.claude-haiku-4-5-20251001-v1:0", "claude-haiku-4-5"),
        ("anthropic/claude-opus-5.5", "claude-opus-5-5"),
        ("claude-sonnet-4-5@20250929", "claude-sonnet-4-5"),
        ("gpt-6.1-soll", ""),
        ("gpt-oss-120b", ""),
    ],
)
def test_a_model_is_found_in_the_spellings_of_hosts(name: str, id: str) -> None:
    assert facts(name).id == id


@pytest.mark.parametrize("piece", ["anthropic:", "a:", "a/", "-1", "@a"])
def test_a_name_that_no_model_has_is_not_searched_for_patterns(piece: str) -> None:
    """The search would take the square of its length; the clients of a gateway choose it."""
    assert facts("gpt-5.4-nano" + piece * 50_000).line == ""
    assert counted_as(piece * 50_000) == piece * 50_000
    assert not is_in("gemini.all", "gemini-2.5-flash" + piece * 50_000)


@joined(
    ("name", "line"),
    [
        ("gpt-7-terra", "gpt-6 always-thinking"),
        ("gpt-5.4-nano-2027-01-01", "gpt-5.4-5.5"),
        ("gemini-6-pro", "gemini-4"),
        ("claude-opus-6", "claude-5 always-thinking"),
        ("claude-new-1", "claude-5 always-thinking"),
        ("grok-9", "grok-4"),
        ("llama-5", ""),
    ],
)
def test_a_name_that_nobody_knows_inherits_its_line_and_is_sure_of_nothing(
    name: str, line: str
) -> None:
    known = facts(name)
    assert known.line == line
    assert [figure for figure in known.__struct_fields__ if known.is_sure(figure)] == (
        [] if not known.id else list(known.sources)
    )


def test_names_do_not_predict_facts() -> None:
    assert "none" in (facts("gpt-6-sol").efforts or ())
    assert "none" not in (facts("gpt-6.1-sol").efforts or ())
    assert facts("claude-haiku-5-5").forced_calls == "accepted"
    assert facts("claude-sonnet-5-5").forced_calls == "refused"
    assert "xhigh" in (facts("gemini-4-hydrogen").efforts or ())
    assert "xhigh" not in (facts("gemini-4-argon").efforts or ())


def test_days_differ_by_host() -> None:
    known = facts("gemini-2.5-pro")
    assert (known.end(), known.end("vertex"), known.successor, known.routed) == (
        "2026-12-01",
        "2026-10-16",
        "gemini-3.8-flash",
        True,
    )


@joined(
    ("name", "row"),
    [
        ("openai:gpt-6.1-sol", "openai@responses"),
        ("openai:gpt-9", "openai@responses"),
        ("openai:gpt-4.1", "openai"),
        ("openai:gpt-5.2", "openai"),
        ("openai:gpt-5-codex", "openai@responses"),
        ("azure:gpt-6.1-sol", "azure@responses"),
        ("azure:my-deployment", "azure"),
        ("openai@chat:gpt-6.1-sol", "openai@chat"),
    ],
)
def test_a_model_that_chat_completions_lack_goes_to_responses(name: str, row: str) -> None:
    provider, _, model = name.partition(":")
    assert row_of_model(PROVIDERS[provider], model).name == row


def test_a_model_is_of_its_vendor() -> None:
    assert has_model("anthropic", "claude-opus-5-5")
    assert not has_model("openai", "claude-opus-5-5")


# --- ends -----------------------------------------------------------------------------------------


@joined(
    ("provider", "model", "body", "date", "notice"),
    [
        ("openai@chat", "gpt-5", {"messages": [{"role": "user", "content": "Hi"}]}, "2026-12-11",
         "gpt-5 ended on 2026-12-11; its vendor recommends gpt-6.1-sol"),
        ("openai@responses", "gpt-5", {"input": "Hi"}, "2026-10-12",
         "gpt-5 ends on 2026-12-11; its vendor recommends gpt-6.1-sol"),
        ("openai@responses", "gpt-5", {"input": "Hi"}, "2026-10-11", ""),
        ("gemini", "gemini-2.5-pro", {"contents": [{"parts": [{"text": "Hi"}]}]}, "2026-11-28",
         "gemini-2.5-pro ends on 2026-12-01; gemini-3.8-flash answers in its place"),
        ("gemini@vertex", "gemini-2.5-pro",
         {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}, "2026-08-17",
         "gemini-2.5-pro ends on 2026-10-16; gemini-3.8-flash answers in its place"),
        ("anthropic", "claude-sonnet-4-5",
         {"max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]}, "2026-11-01",
         "claude-sonnet-4-5 ends on 2026-11-30"),
    ],
)  # fmt: skip
def test_check_warns_of_a_model_that_ends_within_60_days(
    provider: str, model: str, body: dict[str, Any], date: str, notice: str
) -> None:
    row = PROVIDERS.get(provider) or row_of_model(PROVIDERS["openai"], "gpt-4o")
    check = WIRES[row.wire].check
    request = json.dumps({**({} if row.wire == "gemini" else {"model": model}), **body}).encode()
    before = check(request, model, row)
    dated = [each for each in check(request, model, row, date=date) if each not in before]
    assert [(each.path, each.severity) for each in dated] == [("model", "warning")] * bool(notice)
    assert "".join(each.message for each in dated).startswith(notice)
    with pytest.raises(ConfigurationError, match="expected a day such as 2026-11-28, not"):
        check(request, model, row, date="2026-13-01")


# --- efforts --------------------------------------------------------------------------------------


@joined(
    ("wanted", "accepted", "sent"),
    [
        ("none", ("none", "high"), "none"),
        ("none", ("low", "high", "max"), "low"),
        ("minimal", ("low", "high", "max"), "low"),
        ("medium", ("low", "high", "max"), "high"),
        ("medium", ("none", "low"), "low"),
        ("high", ("low", "medium"), "medium"),
        ("xhigh", ("low", "high", "max"), "high"),
        ("max", ("low", "medium", "high"), "high"),
        ("low", ("none", "high"), "high"),
        ("max", ("none",), "none"),
        ("own-word", ("low",), "own-word"),
        ("low", (), "low"),
    ],
)
def test_the_nearest_effort(wanted: str, accepted: tuple[str, ...], sent: str) -> None:
    assert nearest(wanted, accepted) == sent


# --- files that are wrong -------------------------------------------------------------------------


def file(**changed: Any) -> bytes:
    whole = {
        "format": 1,
        "date": "2026-11-24",
        "sources": {"s1": {"name": "a page", "date": "2026-11", "evidence": "documented"}},
        "lines": [{"name": "l", "vendor": "v", "models": "m-.*"}],
        "groups": [{"name": "v.g", "models": "m-1", "that": "are small", "source": "s1"}],
        "models": [{"vendor": "v", "id": "m-1", "line": "l", "sources": {"*": "s1"}}],
    }
    return json.dumps({**whole, **changed}).encode()


def model(**fields: Any) -> dict[str, Any]:
    return {"models": [{"vendor": "v", "id": "m-1", **fields}]}


def group(**fields: Any) -> dict[str, Any]:
    return {
        "groups": [{"name": "v.g", "models": "m-1", "that": "are small", "source": "s1", **fields}]
    }


@joined(
    ("changed", "words"),
    [
        ({"format": 2}, "$.format"),
        ({"date": "yesterday"}, "$.date"),
        ({"more": 1}, "more"),
        (model(colour="red"), "$.models[0]"),
        (model(efforts=["huge"]), "$.models[0].efforts[0]"),
        (model(ends={"": "soon"}), "$.models[0].ends"),
        (model(continues=[100, 200]), "$.models[0].continues"),
        (model(continues=[100, 0]), "$.models[0].continues"),
        (model(line="x"), "$.models[0].line"),
        (model(sources={"*": "s2"}), "$.models[0].sources['*']"),
        (model(sources={"colour": "s1"}), "$.models[0].sources['colour']"),
        ({"lines": [{"name": "l", "vendor": "v", "models": "("}]}, "$.lines[0].models"),
        (group(models="("), "$.groups[0].models"),
        (group(source="s2"), "$.groups[0].source"),
        (group(colour="red"), "$.groups[0]"),
        ({"sources": {"s1": {"name": "a", "evidence": "rumour"}}}, "$.sources"),
    ],
)
def test_a_wrong_file_is_an_error_with_its_path(changed: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        parse(file(**changed), "mine.json")
    assert str(caught.value).startswith("mine.json: ")
    assert words in str(caught.value)


def test_a_damaged_file_is_an_error_with_its_name(tmp_path: Path) -> None:
    for data in (b"", b"{", b"[]", FILE.read_bytes()[:-10], b"\xff"):
        with pytest.raises(ConfigurationError, match=r"^mine\.json: "):
            parse(data, "mine.json")


# --- names of models in the code ------------------------------------------------------------------

NAME = re.compile(
    r"(?i)(gpt|claude|gemini|gemma|grok|deepseek|kimi|moonshot|glm|qwen|minimax|\w*stral|llama|codex)"
    r"(\d*[-\\(]|\d+\.)|\bo(\\d|\d-)|whisper|dall-e|imagen|\bveo\b|opus|sonnet|haiku"
)
"""How names of models begin."""
ASKS = {"startswith", "endswith", "removeprefix", "removesuffix", "fullmatch", "match", "search"}
"""Methods that decide by a text."""
ASKED_BY_NAME = {"models", "thinks", "phases", "breakpoints", "marks", "retention"}
"""Arguments that hold the names of models."""


def deciding(tree: ast.AST) -> Iterator[ast.Constant]:
    """The texts of a module that decide something: patterns, and what values are compared with."""
    for node in ast.walk(tree):
        found: list[ast.AST] = []
        if isinstance(node, ast.Compare):
            found = [node.left, *node.comparators]
        elif isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
            of_re = name and isinstance(node.func, ast.Attribute)
            of_re = of_re and isinstance(node.func.value, ast.Name) and node.func.value.id == "re"
            found = list(node.args) if of_re or name in ASKS else []
            found += [each.value for each in node.keywords if each.arg in ASKED_BY_NAME]
        elif isinstance(node, ast.MatchValue):
            found = [node.value]
        for each in found:
            for inner in ast.walk(each):
                if isinstance(inner, ast.Constant) and isinstance(inner.value, str):
                    yield inner


def names_in(source: str) -> list[str]:
    return [each.value for each in deciding(ast.parse(source)) if NAME.search(each.value)]


def test_no_code_decides_by_the_name_of_a_model() -> None:
    """It would be right about the models of its day: facts and groups are rows of `facts.json`."""
    found = {
        str(path.relative_to(FOLDER)): names
        for path in sorted(FOLDER.rglob("*.py"))
        if (names := names_in(path.read_text("utf-8")))
    }
    assert found == {}


@joined(
    "source",
    [
        'if model == "gpt-6": pass',
        'if model in ("claude-opus-5", x): pass',
        'x = model.startswith("gemini-4")',
        'import re; P = re.compile(r"o\\d-mini|gpt-5.*")',
        'Refusal("stop", "no", models="kimi-k2.*")',
        'f(x, thinks=rf"{a}|qwen3-.*")',
        'match model:\n    case "grok-5": pass',
    ],
)
def test_a_name_of_a_model_in_the_code_is_seen(source: str) -> None:
    assert len(names_in(source)) == 1
