"""The rules of Ollama: a request that breaks each and one that does not, and the page of them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.ollama.samples import MODEL, request
from wire import ollama
from wire.errors import RuleError
from wire.ollama import ModelFacts, check
from wire.ollama.rules import CHECKED
from wire.testing.emulator import Emulator

HI = {"role": "user", "content": "Hi"}
TOOL = {"type": "function", "function": {"name": "tide", "parameters": {"type": "object"}}}
BROKEN: list[tuple[str, str, dict[str, Any]]] = [
    ("L1", "model", {"model": ""}),
    ("L2", "options.num_cxt", {"options": {"num_cxt": 9}}),
    ("L3", "think", {"think": "hard"}),
    ("L4", "format", {"format": "yaml"}),
    ("L5", "top_logprobs", {"top_logprobs": 21}),
    ("L6", "system", {"raw": True, "system": "Be brief."}),
    ("L7", "input", {"input": [5]}),
    ("L8", "tools[0].function.name", {"tools": [{"function": {}}]}),
    ("L9", "messages[0].role", {"messages": [{"role": "model", "content": "Hi"}]}),
    ("L9", "messages[0].content", {"messages": [{**HI, "content": [{"text": "Hi"}]}]}),
    ("L10", "messages[0].images[0]", {"messages": [{**HI, "images": ["https://a.example/b"]}]}),
    (
        "L11",
        "messages[0].tool_calls[0].function.arguments",
        {
            "messages": [
                {
                    "role": "assistant",
                    "tool_calls": [{"function": {"name": "f", "arguments": "{}"}}],
                }
            ]
        },
    ),
]


@pytest.mark.parametrize(("rule", "path", "changes"), BROKEN)
def test_a_request_that_breaks_a_rule(rule: str, path: str, changes: dict[str, Any]):
    given = {"model": MODEL, "messages": [HI], **changes}
    for form in (given, json.dumps(given).encode()):
        [found] = check(form, provider="ollama")
        assert (found.rule, found.path, found.severity) == (rule, path, "error")
    [elsewhere] = check(given, provider="")
    assert elsewhere.severity == ("warning" if rule == "L2" else "error")


@pytest.mark.parametrize(
    "changes",
    [
        {"options": {"num_ctx": 9, "stop": ["a"]}},
        {"think": True},
        {"think": "max"},
        {"format": "json"},
        {"format": {"type": "object"}},
        {"format": ""},
        {"top_logprobs": 20},
        {"raw": True},
        {"tools": [TOOL]},
        {"messages": [{"role": "USER", "content": "Hi", "images": ["aGk="]}]},
        {"messages": []},
    ],
)
def test_a_request_that_breaks_none(changes: dict[str, Any]):
    assert check({"model": MODEL, "messages": [HI], **changes}) == []


def test_what_the_server_says_of_a_model():
    known = ModelFacts(capabilities=frozenset({"completion"}))
    seen = [HI | {"images": ["aGk="]}]
    for changes, rule in (
        ({"think": True}, "L3"),
        ({"tools": [TOOL]}, "L8"),
        ({"messages": seen}, "L10"),
    ):
        given = {"model": MODEL, "messages": [HI], **changes}
        assert [each.rule for each in check(given, known=known)] == [rule]
        assert check(given) == []


def test_a_call_is_refused_before_it_is_sent():
    with pytest.raises(RuleError, match="think"):
        ollama.chat(request(think="hard"))
    with pytest.raises(RuleError, match="expected system, user, assistant, tool"):
        ollama.chat(request(messages=[ollama.Message(role="model", content="Hi")]))


@pytest.mark.parametrize(("rule", "path", "changes"), BROKEN)
def test_the_emulator_refuses_the_same(rule: str, path: str, changes: dict[str, Any]):
    given = {"model": MODEL, "messages": [HI], **changes}
    where = {"L6": "/api/generate", "L7": "/api/embed"}.get(rule, "/api/chat")
    answer = Emulator().answer("POST", where, {}, json.dumps(given).encode())
    assert answer.status == (200 if rule == "L2" else 400)


def test_the_page_has_each_rule():
    page = Path(__file__).parents[2] / "docs" / "rules.md"
    assert set(re.findall(r"^\| (L\d+) \|", page.read_text("utf-8"), re.MULTILINE)) == CHECKED
