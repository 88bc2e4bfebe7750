"""Decisions and System One: the calls, their refusals, the responses."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.joined import joined
from wire import openai, unknown
from wire.errors import ConfigurationError, RuleError
from wire.openai import (
    Decision,
    DecisionChoice,
    DecisionItem,
    DecisionLevel,
    DecisionPart,
    DecisionQuestion,
    DecisionRequest,
    SystemOneQuestion,
    SystemOneRequest,
    SystemOneResponse,
    decisions,
    system_one,
    types,
)
from wire.providers import PROVIDERS

TRUE = DecisionQuestion(type="predicate", instructions="It is true.")
NOUL = SystemOneQuestion(type="noul", instructions="It is true.")

KEYS = {
    "DecisionRequest": "model input questions prompt_cache_key prompt_cache_options"
    " safety_identifier",
    "DecisionCacheOptions": "mode ttl",
    "DecisionCacheBreakpoint": "mode",
    "DecisionItem": "type role content phase call_id name namespace arguments input output id"
    " status",
    "DecisionPart": "type text image_url detail data refusal prompt_cache_breakpoint",
    "DecisionQuestion": "type name instructions choices levels",
    "DecisionChoice": "value description",
    "DecisionLevel": "label description",
    "Decision": "answers model usage",
    "DecisionAnswer": "type name probability choice score confidence probabilities",
    "DecisionProbability": "value label probability",
    "DecisionUsage": "input_tokens input_tokens_details output_tokens output_tokens_details"
    " total_tokens",
    "DecisionInputTokensDetails": "cached_tokens cache_write_tokens",
    "DecisionOutputTokensDetails": "reasoning_tokens",
    "SystemOneRequest": "model state questions provider session_id trace user keep_alive",
    "SystemOneQuestion": "type instructions criteria",
    "SystemOneResponse": "answers model usage id provider",
    "SystemOneAnswer": "type noul choice score confidence probabilities legend box",
    "SystemOneBox": "left top right bottom",
    "SystemOneUsage": "input_tokens output_tokens cost",
}
"""Struct to the keys of all its variants in openai 3.57.0, openrouter 1.3.84 and ollama 0.6.3."""


def test_the_structs_have_the_keys_of_the_sdks():
    for name, keys in KEYS.items():
        assert getattr(types, name).__struct_encode_fields__ == tuple(keys.split()), name


def test_a_request_of_openai():
    item = DecisionItem(
        type="message",
        role="user",
        content=[
            DecisionPart(
                type="input_text",
                text="Where is it?",
                prompt_cache_breakpoint=types.DecisionCacheBreakpoint(mode="explicit"),
            ),
            DecisionPart(type="input_image", image_url="data:image/png;base64,AA==", detail="low"),
            DecisionPart(type="input_json", data=[{"order": 7}]),
        ],
    )
    asked = DecisionRequest(
        model="gpt-6-luna",
        input=[
            item,
            DecisionItem(type="function_call", call_id="c", name="find", arguments="{}"),
            DecisionItem(type="function_call_output", call_id="c", output="lost"),
            DecisionItem(type="custom_tool_call", call_id="c", name="run", input="ls"),
            DecisionItem(type="custom_tool_call_output", call_id="c", output="a.txt"),
            DecisionItem(role="assistant", content="It is lost.", phase="final_answer"),
        ],
        questions=[
            TRUE,
            DecisionQuestion(
                type="choice",
                name="lost",
                instructions=[DecisionPart(type="input_text", text="Is it lost?")],
                choices=[DecisionChoice(value=True), DecisionChoice(value="true", description="?")],
            ),
            DecisionQuestion(
                type="score",
                name="anger",
                instructions="How angry?",
                levels=[DecisionLevel(label="calm"), DecisionLevel(label="furious")],
            ),
        ],
        prompt_cache_key="k",
        prompt_cache_options=types.DecisionCacheOptions(mode="explicit", ttl="30m"),
        safety_identifier="s",
    )
    call = decisions(asked)
    assert (call.method, call.path) == ("POST", "/decisions")
    sent = json.loads(call.body)
    assert list(sent) == KEYS["DecisionRequest"].split()
    assert sent["questions"][1]["choices"] == [
        {"value": True},
        {"value": "true", "description": "?"},
    ]
    assert sent["input"][0]["content"][0] == {
        "type": "input_text",
        "text": "Where is it?",
        "prompt_cache_breakpoint": {"mode": "explicit"},
    }


def asked(*questions: Any, input: Any = "Hi") -> DecisionRequest:
    return DecisionRequest(model="gpt-6-luna", input=input, questions=list(questions))


def choice(*values: Any, **more: Any) -> DecisionQuestion:
    choices = [DecisionChoice(value=each) for each in values]
    return DecisionQuestion(type="choice", instructions="Which?", choices=choices, **more)


def user(*parts: DecisionPart) -> list[DecisionItem]:
    return [DecisionItem(role="user", content=list(parts))]


deep: dict[str, Any] = {}
for _ in range(32):
    deep = {"a": deep}
image, data = DecisionPart(type="input_image", image_url="file-1"), "input[0].content[0].data"
IMAGE_AT = "input[0].content[0].image_url"
REFUSED = {
    "no questions": (asked(), "questions"),
    "401 questions": (asked(*[TRUE] * 401), "questions"),
    "no type": (asked(DecisionQuestion(instructions="a")), "questions[0].type"),
    "another type": (asked(DecisionQuestion(type="noul", instructions="a")), "questions[0].type"),
    "no instructions": (asked(DecisionQuestion(type="predicate")), "questions[0].instructions"),
    "no choices": (
        asked(DecisionQuestion(type="choice", instructions="a")),
        "questions[0].choices",
    ),
    "one choice": (asked(TRUE, choice("a")), "questions[1].choices"),
    "256 choices": (asked(choice(*map(str, range(256)))), "questions[0].choices"),
    "a choice twice": (asked(choice("a", "b", "a")), "questions[0].choices[2]"),
    "a choice without a value": (asked(choice("a", None)), "questions[0].choices[1].value"),
    "a name twice": (asked(choice("a", "b", name="n"), choice("a", "b", name="n")), "questions[1]"),
    "choices of a predicate": (
        asked(DecisionQuestion(type="predicate", instructions="a", choices=[])),
        "questions[0].choices",
    ),
    "a level twice": (
        asked(
            DecisionQuestion(type="score", instructions="a", levels=[DecisionLevel(label="a")] * 2)
        ),
        "questions[0].levels[1]",
    ),
    "no messages": (asked(TRUE, input=[]), "input"),
    "another item": (asked(TRUE, input=[DecisionItem(type="reasoning")]), "input[0].type"),
    "another role": (asked(TRUE, input=[DecisionItem(role="tool", content="")]), "input[0].role"),
    "no content": (asked(TRUE, input=[DecisionItem(role="user")]), "input[0].content"),
    "an image of the system": (
        asked(TRUE, input=[DecisionItem(role="system", content=[image])]),
        "input[0].content[0].type",
    ),
    "the id of a file": (asked(TRUE, input=user(image)), IMAGE_AT),
    "an output without its call": (
        asked(TRUE, input=[DecisionItem(type="function_call_output", call_id="c", output="")]),
        "input[0].call_id",
    ),
    "an output of another kind of call": (
        asked(
            TRUE,
            input=[
                DecisionItem(type="custom_tool_call", call_id="c", name="n", input=""),
                DecisionItem(type="function_call_output", call_id="c", output=""),
            ],
        ),
        "input[1].call_id",
    ),
    "33 levels of JSON": (
        asked(TRUE, input=user(DecisionPart(type="input_json", data=deep))),
        data,
    ),
    "many values of JSON": (
        asked(TRUE, input=user(DecisionPart(type="input_json", data={"a": [1] * 10_001}))),
        data,
    ),
    "long JSON": (
        asked(TRUE, input=user(DecisionPart(type="input_json", data={"a": "b" * 256 * 1024}))),
        data,
    ),
}


@joined(("request_", "path"), list(REFUSED.values()), ids=list(REFUSED))
def test_what_openai_refuses_is_not_sent(request_: DecisionRequest, path: str):
    with pytest.raises(RuleError) as caught:
        decisions(request_)
    assert caught.value.violations[0].path.startswith(path)


def test_what_is_within_the_limits_is_sent():
    small = {"a": deep["a"]["a"]}
    for request in (
        asked(*[TRUE] * 400),
        asked(choice(*map(str, range(255)))),
        asked(choice(True, "true")),
        asked(TRUE, input=user(DecisionPart(type="input_json", data=small))),
        asked(TRUE, input=user(DecisionPart(type="input_image", image_url="https://a.example/b"))),
    ):
        assert decisions(request).path == "/decisions"


def test_all_that_is_wrong_is_told_at_once():
    with pytest.raises(RuleError) as caught:
        decisions(asked(choice("a"), DecisionQuestion(type="predicate")))
    assert [each.path for each in caught.value.violations] == [
        "questions[0].choices",
        "questions[1].instructions",
    ]


def one(question: SystemOneQuestion) -> SystemOneRequest:
    return SystemOneRequest(model="typesafe/jev-1", state="Hi", questions={"q": question})


def of(type: str, criteria: Any = None) -> SystemOneRequest:
    return one(SystemOneQuestion(type=type, instructions="a", criteria=criteria))


SYSTEM_ONE_REFUSED = {
    "another type": (of("predicate"), "questions.q.type"),
    "no instructions": (one(SystemOneQuestion(type="noul")), "questions.q.instructions"),
    "no criteria": (of("choice"), "questions.q.criteria"),
    "one option": (of("choice", {"a": None}), "questions.q.criteria"),
    "a list of options": (of("choice", ["a", "b"]), "questions.q.criteria"),
    "256 levels": (of("score", ["a"] * 256), "questions.q.criteria"),
    "half of a noul": (of("noul", {"true": "a"}), "questions.q.criteria"),
    "criteria of a box": (of("box", {"true": "a", "false": "b"}), "questions.q.criteria"),
    "no questions": (
        SystemOneRequest(model="m", state="a", questions={}),
        "questions",
    ),
    "201 questions": (
        SystemOneRequest(model="m", state="a", questions={str(each): NOUL for each in range(201)}),
        "questions",
    ),
}


@joined(("request_", "path"), list(SYSTEM_ONE_REFUSED.values()), ids=list(SYSTEM_ONE_REFUSED))
def test_what_system_one_refuses_is_not_sent(request_: SystemOneRequest, path: str):
    with pytest.raises(RuleError) as caught:
        system_one(request_)
    assert [each.path for each in caught.value.violations] == [path]


def test_a_request_of_system_one():
    request = SystemOneRequest(
        model="typesafe/jev-1",
        state={"mail": "Help!"},
        questions={
            "true": SystemOneQuestion(
                type="noul", instructions=["a"], criteria={"true": "b", "false": {"c": 1}}
            ),
            "which": SystemOneQuestion(
                type="choice", instructions="d", criteria={"e": None, "f": "g"}
            ),
            "where": SystemOneQuestion(type="box", instructions="h"),
        },
        provider={"order": ["typesafe"]},
        session_id="s",
    )
    call = system_one(request)
    assert (call.method, call.path) == ("POST", "/systemone")
    assert json.loads(call.body)["questions"]["which"]["criteria"] == {"e": None, "f": "g"}


def test_responses_keep_what_the_structs_do_not_know():
    body = {
        "answers": [
            {"type": "choice", "choice": True, "confidence": 0.5, "mood": "calm"},
            {"type": "map", "cells": [1]},
            {"type": "refusal", "name": None},
        ],
        "model": "gpt-6-luna",
        "usage": {"input_tokens": 3, "input_tokens_details": {"cached_tokens": 1}},
    }
    answer = decisions(asked(TRUE)).parse(json.dumps(body).encode())
    assert isinstance(answer, Decision)
    assert answer.answers is not None
    assert answer.answers[0].choice is True
    assert [each.type for each in answer.answers] == ["choice", "map", "refusal"]
    assert unknown(answer) == [("answers[0].mood", "calm"), ("answers[1].cells", [1])]
    of_map = {"answers": {"q": {"type": "box", "box": {"left": 0.5}}}, "model": "m", "more": 1}
    found = system_one(of("noul")).parse(json.dumps(of_map).encode())
    assert isinstance(found, SystemOneResponse)
    assert found.answers is not None
    assert found.answers["q"].box == types.SystemOneBox(left=0.5)
    assert unknown(found) == [("more", 1)]


def test_hosts_without_the_endpoint_are_told_who_has_it():
    list_call, map_call = decisions(asked(TRUE)), system_one(of("noul"))
    for name in ("openai", "openai@responses", "openai@chat"):
        assert list_call.judge(PROVIDERS[name]) is list_call
    assert map_call.judge(PROVIDERS["openrouter"]) is map_call
    for call, name, having in (
        (list_call, "openrouter", "these have it: openai"),
        (list_call, "azure", "these have it: openai"),
        (map_call, "openai", "these have it: openrouter"),
        (map_call, "mistral", "no endpoint POST /systemone"),
    ):
        with pytest.raises(ConfigurationError, match=having):
            call.judge(PROVIDERS[name])  # type: ignore[attr-defined]
    with pytest.raises(RuleError, match="expected a DecisionRequest"):
        openai.decisions(of("noul"))  # type: ignore[arg-type]
