"""No rule refuses a request that a recorded server answered, under any name of its model."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.conformance.records import Record, lines, path_of, row_of
from tests.joined import joined
from tests.property import sample
from wire import anthropic, converse, gemini, ollama, openai
from wire.core.lenient import decoded
from wire.core.provider import Provider
from wire.errors import Violation
from wire.openai import responses
from wire.openai.chat.types import ChatCompletionRequest

SHARED = Path(__file__).parents[3] / "shared" / "corpus"
SAMPLES = Path(__file__).parents[1] / "fixtures" / "corpus"
_NAMES = re.compile(r'"(?:model|modelVersion)"\s*:\s*"([^"]+)"')
_GENERATED = re.compile(r"/models/[^/:]+:(generateContent|streamGenerateContent|countTokens)$")


def models(record: Record) -> list[str]:
    """The names of the model: as it was asked for, and as the dated name in the response.

    A response may also name another model, which an alias stands for. Its rules are its own.
    """
    asked = str(record["request_body"].get("model") or record.get("model")).removeprefix("models/")
    named = _NAMES.findall(str(record["response_body"]))[:5]
    return list(dict.fromkeys([asked, *(each for each in named if each.startswith(f"{asked}-"))]))


def of_gemini(record: Record, model: str) -> list[Violation]:
    endpoint = _GENERATED.search(path_of(record))
    if endpoint is None:
        return []
    row = row_of(record, "gemini")
    if isinstance(row, Provider) and row.name == "gemini" and "/v1/" in record["url"]:
        row = msgspec.structs.replace(row, version="v1")
    body = json.dumps(record["request_body"]).encode()
    return gemini.check(body, model, row, endpoint=endpoint[1])


def of_chat(record: Record, model: str) -> list[Violation]:
    if "messages" not in record["request_body"]:
        return []
    request = decoded(json.dumps(record["request_body"]).encode(), ChatCompletionRequest)
    row = row_of(record, "openai")
    return openai.check(request, model, row)


def of_messages(record: Record, model: str) -> list[Violation]:
    if "messages" not in record["request_body"]:
        return []
    endpoint = "count_tokens" if path_of(record).endswith("/count_tokens") else "messages"
    body = {"model": model, **record["request_body"]}
    return anthropic.check(body, model, row_of(record, "anthropic"), endpoint=endpoint)


def of_responses(record: Record, model: str) -> list[Violation]:
    if not path_of(record).endswith("/responses"):
        return []
    row = row_of(record, "openai.responses") or row_of(record, "openai")
    # A recording of vLLM has the URL of OpenAI, whose models have no slash in their names.
    return responses.check(
        json.dumps(record["request_body"]).encode(), model, "" if "/" in model else row
    )


def of_converse(record: Record, model: str) -> list[Violation]:
    if not re.search(r"/converse(-stream)?$", path_of(record)):
        return []
    return converse.check(json.dumps(record["request_body"]).encode(), model)


def of_ollama(record: Record, model: str) -> list[Violation]:
    """What the server drops in silence it takes, and we refuse it: options that it lacks."""
    if not re.search(r"/api/(chat|generate|embed)$", path_of(record)):
        return []
    found = ollama.check(json.dumps(record["request_body"]).encode(), model)
    return [each for each in found if each.rule != "L2"]


_INVOKED = re.compile(r"/model/[^/]+/(invoke|invoke-with-response-stream|count-tokens)$")
"""Of Bedrock, whose bodies are those of other vendors."""
WIRES: dict[str, tuple[Callable[[Record, str], list[Violation]], int]] = {
    "gemini": (of_gemini, 1200),
    "openai-chat": (of_chat, 1000),
    "openai-chat-compatible": (of_chat, 2100),
    "openai-responses": (of_responses, 500),
    "openai-responses-compatible": (of_responses, 90),
    "anthropic": (of_messages, 700),
    "anthropic-compatible": (of_messages, 10),
    "bedrock": (of_converse, 500),
    "ollama": (of_ollama, 50),
}
"""File of recorded traffic -> the rules of its wire, and how many answered requests it has."""


def accepted(path: Path) -> Iterator[Record]:
    for record in lines(path, ("id", "status", "response_body")):
        if (
            record["status"] == 200
            and isinstance(record.get("request_body"), dict)
            and record.get("fidelity") != "vendor-mock"
        ):
            yield record


@pytest.mark.sampled
@pytest.mark.parametrize("name", WIRES)
def test_no_rule_refuses_what_was_answered(name: str) -> None:
    path = SHARED / f"{name}.jsonl.gz"
    if not path.exists():
        pytest.skip("the corpus of recorded traffic is not beside this checkout; the sample serves")
    check, least = WIRES[name]
    refused = []
    records = list(accepted(path))
    for record in sample(records):
        for model in models(record):
            refused += [
                f"{record['id']} {model}: {found}"
                for found in check(record, model)
                if found.severity == "error"
            ]
    assert refused == []
    assert len(records) >= least


@pytest.mark.sampled
@pytest.mark.parametrize("name", WIRES)
def test_no_rule_refuses_at_an_unknown_host_what_was_answered(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What one host refuses is no reason to refuse it at another."""
    path = SHARED / f"{name}.jsonl.gz"
    if not path.exists():
        pytest.skip("the corpus of recorded traffic is not beside this checkout; the sample serves")
    monkeypatch.setattr(f"{__name__}.row_of", lambda record, wire: "")
    check, _ = WIRES[name]
    refused = [
        f"{record['id']}: {found}"
        for record in sample(list(accepted(path)))
        for found in check(record, models(record)[0])
        if found.severity == "error"
    ]
    assert refused == []


UNKNOWABLE = re.compile(
    r"(?i)does not exist|not found|not a valid model|invalid model|api key"
    r"|supported API model names"
    r"|unable to access|\"model: |deployment|model_not_found|download|failed to load|corrupted"
    r"|cannot fetch|unsupported image\b|provider returned error|output limit was reached"
    r"|model identifier is invalid|on-demand throughput|end of its life"
    r"|too complex for compilation|too small|multimodal is not enabled for your organization"
)
"""Refusals for what a request does not show: the models of an account, the bytes behind a URL or in
a file, the size of a cache, what a model wrote, another host behind a gateway."""


def test_most_recorded_refusals_are_foretold() -> None:
    if not all((SHARED / f"{name}.jsonl.gz").exists() for name in WIRES):
        pytest.skip("the corpus of recorded traffic is not beside this checkout")
    foretold: Counter[str] = Counter()
    missed: Counter[str] = Counter()
    in_its_words = 0
    for name, (check, _) in WIRES.items():
        for record in lines(SHARED / f"{name}.jsonl.gz", ("id", "status", "response_body")):
            refusal = record["response_body"]
            if (
                record["status"] not in (400, 404, 413, 422)
                or _INVOKED.search(record["url"])
                or not isinstance(record.get("request_body"), dict)
                or UNKNOWABLE.search(refusal)
            ):
                continue
            errors = [each for each in check(record, models(record)[0]) if each.severity == "error"]
            (foretold if errors else missed)[name] += 1
            said = re.sub(r"\W", "", refusal.encode().decode("unicode_escape", "replace"))
            in_its_words += any(
                re.sub(r"\W", "", each.words or each.message)[:40] in said for each in errors
            )
    total = foretold.total() + missed.total()
    assert foretold.total() / total >= 0.8, (foretold, missed)
    assert in_its_words / total >= 0.6, in_its_words


STATE = ("model_not_found", "previous_response_not_found", "Model not found", "API key")
"""In refusals that a request alone does not foretell."""


def test_the_recorded_refusals_of_responses_are_foretold() -> None:
    paths = [SHARED / f"{name}.jsonl.gz" for name in WIRES if name.startswith("openai-responses")]
    if not all(path.exists() for path in paths):
        pytest.skip("the corpus of recorded traffic is not beside this checkout")
    seen = Counter[str]()
    for path in paths:
        for record in lines(path, ("id", "status", "response_body")):
            refusal = record["response_body"]
            if record["status"] != 400 or any(words in refusal for words in STATE):
                continue
            error = json.loads(refusal)["error"]
            found = of_responses(record, models(record)[0])
            assert [each.message for each in found] == [error["message"]], record["id"]
            assert (found[0].field or None, found[0].code) == (error["param"], error["code"])
            seen[found[0].rule] += 1
    assert seen == {"P18": 3, "P23": 2, "P21": 1, "P10": 1}


@joined(
    ("file", "check"),
    [
        ("sample", of_gemini),
        ("openai", of_chat),
        ("responses", of_responses),
        ("anthropic", of_messages),
        ("converse", of_converse),
        ("ollama", of_ollama),
    ],
)
def test_no_rule_refuses_what_the_sample_has(
    file: str, check: Callable[[Record, str], list[Violation]]
) -> None:
    found = [
        str(each)
        for record in accepted(SAMPLES / f"{file}.jsonl")
        for model in models(record)
        for each in check(record, model)
        if each.severity == "error"
    ]
    assert found == []


def record_of(model: str, response: str = "{}", **body: Any) -> Record:
    return {
        "id": "a",
        "url": "https://api.openai.com/v1/chat/completions",
        "model": model,
        "request_body": {"model": model, "messages": [{"role": "user", "content": "Hi"}], **body},
        "response_body": response,
    }


def test_the_check_sees_a_rule_that_is_too_strict() -> None:
    """`stop` for o3 is refused, so a row that takes o3-mini for o3 would be seen here."""
    dated = '{"model":"o3-2025-04-16"}'
    assert models(record_of("o3", dated)) == ["o3", "o3-2025-04-16"]
    assert models(record_of("alias", dated)) == ["alias"]
    for model, refused in (("o3", True), ("o3-2025-04-16", True), ("o3-mini", False)):
        found = of_chat(record_of(model, stop=["a"]), model)
        assert [each.path for each in found if each.rule != "O15"] == (["stop"] if refused else [])
