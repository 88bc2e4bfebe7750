"""Each rule: a request that breaks it, and one that does not."""

from __future__ import annotations

from typing import Any

import pytest

from tests.gemini.interactions.samples import CALL, MODEL, SIGNED, THOUGHT
from tests.joined import joined
from wire.errors import RuleError
from wire.gemini import interactions
from wire.gemini.interactions.rules import CHECKED, SKIP
from wire.testing.emulator import Emulator

USER = {"type": "user_input", "content": [{"type": "text", "text": "Hi"}]}
RESULT = {"type": "function_result", "call_id": "c1", "name": "high_tide", "result": "05:12"}
FUNCTION = {"type": "function", "name": "high_tide", "parameters": {"type": "object"}}
AGENT = {"agent": "deep-research-preview-04-2026", "background": True}

BREACHES: list[tuple[str, dict[str, Any], dict[str, Any], str]] = [
    ("I1", {"agent": "antigravity-preview-09-2026", "environment": "remote"}, {}, "agent"),
    ("I2", {"input": ""}, {"input": "Hi"}, "input"),
    (
        "I3",
        {"store": False, "previous_interaction_id": "v1_a"},
        {"previous_interaction_id": "v1_a"},
        "previous_interaction_id",
    ),
    ("I3", {"store": False, "background": True}, {"background": True}, "background"),
    ("I4", {"tool_config": {}}, {"tools": [FUNCTION]}, "tool_config"),
    (
        "I4",
        {"generation_config": {"presence_penalty": 1}},
        {"generation_config": {"top_k": 1}},
        "generation_config.presence_penalty",
    ),
    ("I5", {"service_tier": "fast"}, {"service_tier": "flex"}, "service_tier"),
    ("I6", {"tools": [{"type": "dream"}]}, {"tools": [{"type": "url_context"}]}, "tools[0].type"),
    ("I6", {"input": [{"type": "dream"}]}, {"input": [USER]}, "input[0].type"),
    (
        "I7",
        {"input": [USER, THOUGHT, CALL, {**RESULT, "call_id": ""}]},
        {"input": [USER, THOUGHT, CALL, RESULT]},
        "input[3].call_id",
    ),
    (
        "I8",
        {"input": [USER, RESULT]},
        {"input": [RESULT], "previous_interaction_id": "v1_a"},
        "input[1].call_id",
    ),
    (
        "I9",
        {"input": [USER, CALL, RESULT]},
        {"input": [USER, {"type": "thought", "signature": SKIP}, CALL, RESULT]},
        "input[1]",
    ),
    (
        "I10",
        {"input": [USER, {"type": "thought"}]},
        {"input": [USER, {"type": "thought", "signature": SIGNED}]},
        "input[1].signature",
    ),
    (
        "I11",
        {"generation_config": {"tool_choice": "any"}},
        {"generation_config": {"tool_choice": "any"}, "tools": [FUNCTION]},
        "generation_config.tool_choice",
    ),
    ("I12", {"tools": [{"type": "function"}]}, {"tools": [FUNCTION]}, "tools[0].name"),
    (
        "I13",
        {"generation_config": {"thinking_level": "xhigh"}},
        {"generation_config": {"thinking_level": "low"}},
        "generation_config.thinking_level",
    ),
    (
        "I14",
        {"model": None, **AGENT, "generation_config": {}},
        {"model": None, **AGENT},
        "generation_config",
    ),
    ("I14", {"agent_config": {"type": "dynamic"}}, {}, "agent_config"),
    (
        "I15",
        {"service_tier": "deferred"},
        {"service_tier": "deferred", "background": True},
        "service_tier",
    ),
    ("I16", {"labels": {"a": "B"}}, {"labels": {"a": "b"}}, "labels.a"),
]


def body(changes: dict[str, Any]) -> dict[str, Any]:
    made = {"model": MODEL, "input": "Hi", **changes}
    return {key: value for key, value in made.items() if value is not None}


@joined(("rule", "bad", "good", "path"), BREACHES)
def test_a_rule(rule: str, bad: Any, good: Any, path: str) -> None:
    found = [(each.rule, each.path) for each in interactions.check(body(bad))]
    assert (rule, path) in found
    assert rule not in [each.rule for each in interactions.check(body(good))]


def test_every_rule_has_a_case() -> None:
    assert {rule for rule, *_ in BREACHES} == CHECKED


@joined(("rule", "bad", "good", "path"), BREACHES)
def test_the_emulator_refuses_what_breaks_a_rule(rule: str, bad: Any, good: Any, path: str) -> None:
    import json

    broken = [each for each in interactions.check(body(bad)) if each.severity == "error"]
    answer = Emulator().answer(
        "POST",
        "/v1beta/interactions",
        {"x-goog-api-key": "fake-key", "content-type": "application/json"},
        json.dumps(body(bad)).encode(),
    )
    # It made no such thought, so it refuses that too.
    assert (answer.status == 400) == (bool(broken) or rule == "I10"), rule


def test_an_unknown_host_has_the_rules_of_all() -> None:
    assert interactions.check(body({"labels": {"a": "B"}}), "", "") == []
    assert [each.rule for each in interactions.check(body({"input": ""}), "", "")] == ["I2"]
    assert [each.rule for each in interactions.check(b"[1]")] == ["I1"]
    assert [each.rule for each in interactions.check(b"{")] == ["I1"]


def test_a_call_is_refused_before_it_is_sent() -> None:
    request = interactions.InteractionRequest(model=MODEL, input="Hi", store=False, background=True)
    call = interactions.create_interaction(request)
    from wire.providers import PROVIDERS

    with pytest.raises(RuleError, match="I3"):
        call.judge(PROVIDERS["gemini@interactions"])
