"""Decisions: what the emulated servers refuse, in which words; scripts and faults."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.joined import joined
from wire.testing.emulator import Emulator

BEARER = {"authorization": "Bearer fake-key"}
GOOGLE = {"x-goog-api-key": "fake-key"}
PATHS = {
    "openai": "https://api.openai.com/v1/decisions",
    "gemini": "https://generativelanguage.googleapis.com/v1beta/decisions",
    "openrouter": "https://openrouter.ai/api/v1/systemone",
    "openrouter, alpha": "https://openrouter.ai/api/alpha/decisions",
    "openrouter, v1": "https://openrouter.ai/api/v1/decisions",
}
PREDICATE = {"type": "predicate", "instructions": "It is true."}
NOUL = {"type": "noul", "instructions": "It is true."}
OPENAI = {"model": "gpt-6-luna", "input": "Hi", "questions": [PREDICATE]}
GEMINI = {"model": "models/gemini-decision-1", "input": "Hi", "questions": {"q": NOUL}}
ROUTER = {"model": "typesafe/jev-1", "state": "Hi", "questions": {"q": NOUL}}
BODIES = {"openai": OPENAI, "gemini": GEMINI}


def asked(server: str, body: Any, emulator: Emulator | None = None) -> tuple[int, Any]:
    headers = GOOGLE if server == "gemini" else BEARER
    sent = json.dumps(body).encode()
    answer = (emulator or Emulator()).answer("POST", PATHS[server], headers, sent)
    return answer.status, json.loads(answer.body)


@pytest.mark.parametrize("server", PATHS)
def test_the_same_request_gets_the_same_answer(server: str) -> None:
    body = BODIES.get(server, ROUTER)
    status, first = asked(server, body)
    assert (status, first) == asked(server, body)
    assert status == 200
    if server == "openai":
        assert set(first) == {"answers", "model", "usage"}
        assert first["answers"][0].keys() == {"type", "name", "probability"}
    else:
        assert 0.01 <= first["answers"]["q"]["noul"] <= 0.99


def test_probabilities_fit_the_questions() -> None:
    level = {"type": "score", "instructions": "How angry?", "criteria": ["calm", "furious"]}
    choice = {"type": "choice", "instructions": "Who?", "criteria": {"a": "", "tide": ""}}
    box = {"type": "box", "instructions": "Where is the tide?"}
    for server, body, key in (("gemini", GEMINI, "input"), ("openrouter", ROUTER, "state")):
        questions = {"level": level, "who": choice}
        _, found = asked(server, {**body, key: "The furious tide.", "questions": questions})
        scored, chosen = found["answers"]["level"], found["answers"]["who"]
        assert scored["legend"] == {"0": "calm", "1": "furious"}
        assert sum(scored["probabilities"].values()) == pytest.approx(1)
        assert scored["score"] == pytest.approx(scored["probabilities"]["1"])
        assert chosen["choice"] == "tide"
        assert chosen["confidence"] == chosen["probabilities"]["tide"]
    _, found = asked("openrouter", {**ROUTER, "questions": {"q": box}})
    assert set(found["answers"]["q"]["box"]) == {"left", "top", "right", "bottom"}


CHOICE = {"type": "choice", "instructions": "Which?", "choices": [{"value": "a"}]}


@joined(
    ("server", "body", "status", "code", "words"),
    [
        ("openai", {**OPENAI, "mood": 1}, 400, "unknown_parameter", "Unknown parameter: 'mood'."),
        (
            "openai",
            {**OPENAI, "questions": [{**PREDICATE, "criteria": {}}]},
            400,
            "unknown_parameter",
            "Unknown parameter: 'questions[0].criteria'.",
        ),
        (
            "openai",
            {**OPENAI, "questions": [PREDICATE] * 401},
            400,
            "array_above_max_length",
            "400",
        ),
        ("openai", {**OPENAI, "questions": [CHOICE]}, 400, "array_below_min_length", "choices"),
        ("openai", {**OPENAI, "questions": [NOUL]}, 400, "invalid_value", "'noul'"),
        ("openai", {**OPENAI, "model": "gpt-5.4"}, 400, "unsupported_model", "'gpt-5.4'"),
        ("openai", {**OPENAI, "input": 1}, 400, None, "Expected"),
        ("openai", {"model": "gpt-6-luna", "input": "Hi"}, 400, None, "questions"),
        ("openrouter", {**ROUTER, "input": "Hi"}, 400, 400, "'input'"),
        (
            "openrouter",
            {**ROUTER, "questions": {"q": PREDICATE}},
            400,
            400,
            "predicate",
        ),
        (
            "openrouter",
            {**ROUTER, "questions": {str(each): NOUL for each in range(201)}},
            400,
            400,
            "maximum length 200",
        ),
        ("gemini", {**GEMINI, "mood": 1}, 400, "invalid_request", "Unknown parameter 'mood'"),
        ("gemini", {**GEMINI, "state": "a"}, 400, "invalid_request", "'state'"),
        ("gemini", {**GEMINI, "questions": {}}, 400, "invalid_request", "'questions' is required"),
        (
            "gemini",
            {**GEMINI, "questions": {"q": {**NOUL, "criteria": {"true": "a"}}}},
            400,
            "invalid_request",
            "Unknown parameter 'true' at 'questions.q.criteria'",
        ),
        ("gemini", {**GEMINI, "model": "gemini-3.8-flash"}, 404, "not_found", "not found"),
        ("gemini", {**GEMINI, "input": 1}, 400, "invalid_request", "input"),
    ],
)
def test_refusals(server: str, body: Any, status: int, code: str | int | None, words: str) -> None:
    found, answer = asked(server, body)
    assert (found, answer["error"]["code"]) == (status, code)
    assert words in answer["error"]["message"]


def test_hosts_and_models_that_lack_the_endpoint() -> None:
    body = json.dumps(OPENAI).encode()
    for url in ("https://api.mistral.ai/v1/decisions", "https://api.openai.com/v1/systemone"):
        assert Emulator().answer("POST", url, BEARER, body).status == 404
    url = "https://generativelanguage.googleapis.com/v1beta/models/gemini-decision-1"
    contents = b'{"contents":[{"parts":[{"text":"Hi"}]}]}'
    answer = Emulator().answer("POST", f"{url}:generateContent", GOOGLE, contents)
    assert answer.status == 404
    assert asked("openai", OPENAI, Emulator(provider="openai"))[0] == 200
    keyless = Emulator(provider="openai").answer("POST", PATHS["openai"], {}, body)
    assert keyless.status == 401


def test_a_lenient_emulator_refuses_nothing_that_a_rule_is_about() -> None:
    lenient = Emulator(lenient=True)
    assert asked("openai", {**OPENAI, "model": "m", "mood": 1}, lenient)[0] == 200
    assert asked("gemini", {**GEMINI, "model": "m"}, lenient)[0] == 200
    assert asked("openrouter", {**ROUTER, "mood": 1}, lenient)[0] == 200


def test_a_script_sets_the_answer_and_a_fault() -> None:
    refusal = {"answers": [{"type": "refusal"}]}
    steps = [
        {"match": {"endpoint": "decisions"}, "answer": refusal},
        {"match": {"endpoint": "decisions"}, "fault": "503"},
        {"match": {"endpoint": "systemone"}, "answer": {"answers": {}}},
    ]
    emulator = Emulator(steps)
    assert asked("openai", OPENAI, emulator) == (200, refusal)
    assert asked("gemini", GEMINI, emulator)[0] == 503
    assert asked("openrouter", ROUTER, emulator) == (200, {"answers": {}})
