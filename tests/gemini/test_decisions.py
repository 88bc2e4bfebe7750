"""Decisions: the call, its refusals, the response."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.joined import joined
from wire import unknown
from wire.errors import ConfigurationError, RuleError
from wire.gemini import (
    CreateDecisionRequest,
    DecisionContent,
    DecisionQuestion,
    create_decision,
    parse_error,
    types,
)
from wire.providers import PROVIDERS

KEYS = {
    "CreateDecisionRequest": "model input questions",
    "DecisionContent": "type text annotations data uri mime_type resolution processing channels"
    " sample_rate name",
    "DecisionQuestion": "type instructions criteria",
    "CreateDecisionResponse": "answers prompt_feedback usage",
    "DecisionAnswer": "type noul choice score confidence probabilities legend",
    "DecisionFeedback": "block_reason block_reason_message",
    "DecisionUsage": "total_input_tokens total_output_tokens total_cached_tokens"
    " total_thought_tokens total_tool_use_tokens total_tokens initial_input_tokens"
    " input_tokens_by_modality output_tokens_by_modality cached_tokens_by_modality"
    " tool_use_tokens_by_modality grounding_tool_count",
    "DecisionModalityTokens": "modality tokens",
    "DecisionToolCount": "type count",
}
"""Struct to the keys of all its variants in google-genai 3.6.1."""

NOUL = DecisionQuestion(type="noul", instructions="It is true.")


def asked(input: Any = "Hi", **questions: DecisionQuestion) -> CreateDecisionRequest:
    return CreateDecisionRequest(model="gemini-decision-1", input=input, questions=questions)


def of(type: str, criteria: Any = None, instructions: Any = "a") -> CreateDecisionRequest:
    return asked(q=DecisionQuestion(type=type, instructions=instructions, criteria=criteria))


def test_the_structs_have_the_keys_of_the_sdk():
    for name, keys in KEYS.items():
        assert getattr(types, name).__struct_encode_fields__ == tuple(keys.split()), name


def test_a_request():
    text = DecisionContent(type="text", text="Hi")
    video = DecisionContent(type="video", uri="u", mime_type="video/mp4", processing="static")
    call = create_decision(
        asked(
            [text, video],
            sure=DecisionQuestion(
                type="noul", instructions=[text], criteria={"true_description": "b"}
            ),
            which=DecisionQuestion(type="choice", instructions=text, criteria={"c": "", "d": "e"}),
            level=DecisionQuestion(type="score", instructions="f", criteria=["g", "h"]),
        )
    )
    assert (call.method, call.target) == ("POST", "/decisions")
    assert json.loads(call.body) == {
        "model": "gemini-decision-1",
        "input": [
            {"type": "text", "text": "Hi"},
            {"type": "video", "uri": "u", "mime_type": "video/mp4", "processing": "static"},
        ],
        "questions": {
            "sure": {
                "type": "noul",
                "instructions": [{"type": "text", "text": "Hi"}],
                "criteria": {"true_description": "b"},
            },
            "which": {
                "type": "choice",
                "instructions": {"type": "text", "text": "Hi"},
                "criteria": {"c": "", "d": "e"},
            },
            "level": {"type": "score", "instructions": "f", "criteria": ["g", "h"]},
        },
    }


REFUSED = {
    "nothing": (CreateDecisionRequest(), "model"),
    "no questions": (asked(), "questions"),
    "1,001 questions": (asked(**{f"q{at}": NOUL for at in range(1001)}), "questions"),
    "another content": (asked([DecisionContent(type="file")], q=NOUL), "input[0].type"),
    "a text without text": (asked(DecisionContent(type="text"), q=NOUL), "input.text"),
    "media without data": (asked([DecisionContent(type="image")], q=NOUL), "input[0]"),
    "another type": (of("predicate"), "questions.q.type"),
    "no type": (asked(q=DecisionQuestion(instructions="a")), "questions.q.type"),
    "no instructions": (of("noul", None, ""), "questions.q.instructions"),
    "an image as instructions": (
        of("noul", None, [DecisionContent(type="image", uri="u")]),
        "questions.q.instructions[0].type",
    ),
    "no criteria": (of("choice"), "questions.q.criteria"),
    "one option": (of("choice", {"a": ""}), "questions.q.criteria"),
    "256 levels": (of("score", ["a"] * 256), "questions.q.criteria"),
    "an empty level": (of("score", ["a", " "]), "questions.q.criteria[1]"),
    "an option with spaces": (of("choice", {"a": "", "b ": ""}), "questions.q.criteria.b "),
    "an option of two lines": (of("choice", {"a": "", "b\nc": ""}), "questions.q.criteria.b\nc"),
    "a list of options": (of("choice", ["a", "b"]), "questions.q.criteria"),
    "System One's noul": (of("noul", {"true": "a"}), "questions.q.criteria.true"),
}


@joined(("request_", "path"), list(REFUSED.values()), ids=list(REFUSED))
def test_what_google_refuses_is_not_sent(request_: CreateDecisionRequest, path: str):
    with pytest.raises(RuleError) as caught:
        create_decision(request_)
    assert caught.value.violations[0].path == path


def test_a_response_keeps_what_the_structs_do_not_know():
    body = (
        b'{"answers":{"q":{"type":"noul","noul":0.5,"confidence":0.5,"mood":"calm"}},'
        b'"usage":{"total_input_tokens":3,"input_tokens_by_modality":[{"modality":"text",'
        b'"tokens":3}]}}'
    )
    answer = create_decision(asked(q=NOUL)).parse(body)
    assert answer.answers == {"q": types.DecisionAnswer(type="noul", noul=0.5, confidence=0.5)}
    assert unknown(answer) == [("answers.q.mood", "calm")]


def test_vertex_is_refused():
    call = create_decision(asked(q=NOUL))
    assert call.judge(PROVIDERS["gemini"]) is call
    with pytest.raises(ConfigurationError, match="no endpoint POST /decisions"):
        call.judge(PROVIDERS["gemini@vertex"])


def test_the_code_of_an_error_may_be_a_word():
    error = parse_error(400, {}, b'{"error":{"code":"invalid_request","message":"No."}}')
    assert (error.code, error.status, "No." in str(error)) == ("invalid_request", 400, True)
