"""Closed questions, through clients of each style: what is sent, and what comes back."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wire
from tests.http.test_neutral_calls import Server, sends, style_of
from tests.joined import joined
from tests.property import examples
from wire import (
    Media,
    Message,
    Question,
    Text,
    Thought,
    ToolCall,
    ToolResult,
    one_of,
    scale,
    yes_no,
)
from wire.errors import (
    BlockedError,
    ConfigurationError,
    OverloadedError,
    RuleError,
    StreamInvalid,
)
from wire.neutral.decisions import DecideRequest
from wire.providers import PROVIDERS
from wire.testing.emulator import Emulator, EmulatorTransport

ASKED = {
    "urgent": yes_no("It is urgent."),
    "team": one_of("Which team?", {"billing": "Invoices.", "repair": None}),
    "anger": scale("How angry?", ["calm", "annoyed", "furious"]),
}
MODELS = {
    "openai": "gpt-6-luna",
    "gemini": "gemini-decision-1",
    "openrouter": "typesafe/jev-1",
    "ollama@openai": "kev",
}


def decide(style: str, provider: str, server: Any, input: Any = "Hi", asked: Any = None) -> Any:
    """What `decide` of a client of this style returns."""
    questions = ASKED if asked is None else asked
    return sends(style, provider, lambda it: it.decide(input, questions, MODELS[provider]), server)


@style_of
def test_each_vendor_answers_with_the_same_fields(style: str) -> None:
    mail = "I am furious about this invoice, billing."
    for provider, model in MODELS.items():
        found = decide(style, provider, Emulator(), mail)
        assert list(found) == list(ASKED)
        assert (len(found), found.model, found.provider) == (3, model, provider)
        urgent, team, anger = (found[name] for name in found)
        assert isinstance(urgent.value, bool)
        assert urgent.probability == max(urgent.probabilities.values()) == urgent.confidence
        assert (team.value, team.probability) == ("billing", team.confidence)
        assert list(anger.probabilities) == ["calm", "annoyed", "furious"]
        assert anger.level == "furious"
        mean = sum(at * each for at, each in enumerate(anger.probabilities.values()))
        assert anger.value == pytest.approx(mean, abs=1e-3)
        for each in found.answers.values():
            assert sum(each.probabilities.values()) == pytest.approx(1)
            assert not each.refused
        assert found.usage.input > 0
        if provider != "ollama@openai":  # which costs nothing that is known
            assert found.cost.total == Decimal(found.usage.input) / 10_000_000
        assert found.source.answers


# --- what is sent ---------------------------------------------------------------------------------

OPENAI = {"answers": [{"type": "predicate", "probability": 0.5}], "model": "gpt-6-luna"}
GEMINI = {"answers": {"q": {"type": "noul", "noul": 0.5, "confidence": 0.5}}}
ROUTER = {"answers": {"q": {"type": "noul", "noul": 0.5}}, "model": "typesafe/jev-1"}
REPLIES: dict[str, Any] = {
    "openai": OPENAI,
    "gemini": GEMINI,
    "openrouter": ROUTER,
    "ollama@openai": {**ROUTER, "model": "kev"},
}
ONE = {"q": yes_no("It is so.")}


def body(provider: str, input: Any, asked: Any = None) -> Any:
    server = Server(REPLIES[provider])
    decide("threads", provider, server, input, ONE if asked is None else asked)
    return server.bodies[0]


def test_paths_and_models_of_the_vendors() -> None:
    urls = {
        "openai": "https://api.openai.com/v1/decisions",
        "gemini": "https://generativelanguage.googleapis.com/v1beta/decisions",
        "openrouter": "https://openrouter.ai/api/v1/systemone",
        "ollama@openai": "http://localhost:11434/v1/systemone",
    }
    for provider, url in urls.items():
        server = Server(REPLIES[provider])
        decide("threads", provider, server, "Hi", ONE)
        assert str(server.requests[0].url) == url
        assert server.bodies[0]["model"] == MODELS[provider]


def test_a_text_an_object_and_media_in_each_shape() -> None:
    image = Media(data=b"\x89PNG", media_type="image/png", detail="low")
    given = ["Hi", {"order": 7}, image]
    data = "iVBORw=="
    assert body("openai", given)["input"] == [
        {
            "type": "message",
            "role": "user",
            "content": [
                {"type": "input_text", "text": "Hi"},
                {"type": "input_json", "data": {"order": 7}},
                {
                    "type": "input_image",
                    "image_url": f"data:image/png;base64,{data}",
                    "detail": "low",
                },
            ],
        }
    ]
    sound = Media(url="https://a.example/b.mp3", media_type="audio/mpeg")
    paper = Media(data=b"%PDF", media_type="application/pdf")
    assert body("gemini", [*given, sound, paper])["input"] == [
        {"type": "text", "text": "Hi"},
        {"type": "text", "text": '{"order":7}'},
        {"type": "image", "data": data, "mime_type": "image/png", "resolution": "low"},
        {"type": "audio", "uri": "https://a.example/b.mp3", "mime_type": "audio/mpeg"},
        {"type": "document", "data": "JVBERg==", "mime_type": "application/pdf"},
    ]
    assert body("openrouter", given[:2])["state"] == ["Hi", {"order": 7}]
    seen = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}
    assert body("openrouter", given)["state"] == ["Hi", {"order": 7}, seen]
    assert body("openrouter", image)["state"] == [seen]
    there = Media(url="https://a.example/b.png")
    assert body("openrouter", there)["state"] == [
        {"type": "image_url", "image_url": {"url": "https://a.example/b.png"}}
    ]
    assert body("ollama@openai", given[:2])["state"] == ["Hi", {"order": 7}]
    assert body("openrouter", {"order": 7})["state"] == {"order": 7}
    assert [body(each, "Hi")[key] for each, key in (("openai", "input"), ("gemini", "input"))] == [
        "Hi",
        "Hi",
    ]


def test_questions_in_each_shape() -> None:
    asked = {"q": yes_no("It is so.", yes="Sure.", no="Not sure.")}
    assert body("openai", "Hi", asked)["questions"] == [
        {
            "type": "predicate",
            "name": "q",
            "instructions": "It is so.\nTrue: Sure.\nFalse: Not sure.",
        }
    ]
    noul = {"type": "noul", "instructions": "It is so."}
    described = {"true_description": "Sure.", "false_description": "Not sure."}
    assert body("gemini", "Hi", asked)["questions"] == {"q": {**noul, "criteria": described}}
    both = {"true": "Sure.", "false": "Not sure."}
    assert body("openrouter", "Hi", asked)["questions"] == {"q": {**noul, "criteria": both}}
    only = {"q": yes_no("It is so.", yes="Sure.")}
    sent = body("gemini", "Hi", only)["questions"]["q"]["criteria"]
    assert sent == {"true_description": "Sure."}
    with pytest.raises(RuleError, match=r"questions\.q\.options: .* both, or none"):
        body("openrouter", "Hi", only)


def test_what_was_changed_is_told() -> None:
    asked = {"q": yes_no("It is so.", yes="Sure.")}
    found = decide("threads", "openai", Server(OPENAI), "Hi", asked)
    assert list(map(str, found.notes)) == [
        "questions.q.options: sent in the instructions: there is no field for them"
    ]
    found = decide("threads", "gemini", Server(GEMINI), {"a": 1}, ONE)
    assert list(map(str, found.notes)) == ["input[0]: sent as a text: there is no field for JSON"]


# --- what comes back ------------------------------------------------------------------------------


@style_of
def test_one_refused_question_leaves_the_others(style: str) -> None:
    answers = [
        {"type": "refusal", "name": "urgent"},
        {
            "type": "choice",
            "choice": "repair",
            "confidence": 0.75,
            "probabilities": [
                {"value": "billing", "probability": 0.25},
                {"value": "repair", "probability": 0.75},
            ],
        },
        {
            "type": "score",
            "name": "anger",
            "score": 1.5,
            "confidence": 0.5,
            "probabilities": [
                {"label": label, "value": at, "probability": each}
                for at, (label, each) in enumerate(
                    [("calm", 0), ("annoyed", 0.5), ("furious", 0.5)]
                )
            ],
        },
    ]
    usage = {
        "input_tokens": 20,
        "input_tokens_details": {"cached_tokens": 5, "cache_write_tokens": 3},
        "output_tokens": 2,
        "output_tokens_details": {"reasoning_tokens": 1},
        "total_tokens": 22,
    }
    server = Server({"answers": answers, "model": "gpt-6-luna-2", "usage": usage})
    found = decide(style, "openai", server)
    assert (found["urgent"].refused, found["urgent"].value) == (True, None)
    assert found["urgent"].probability is None
    assert (found["team"].value, found["team"].probability) == ("repair", 0.75)
    assert (found["anger"].value, found["anger"].level) == (1.5, "annoyed")
    assert (found.model, found.notes) == ("gpt-6-luna-2", ())
    assert found.usage == wire.Usage(
        input=20, output=2, cached=5, cache_written=3, reasoning=1, total=22
    )


def test_a_scale_begins_with_0_whatever_the_host_counts_from() -> None:
    levels = [{"label": "low", "value": 1, "probability": 0.25}]
    levels += [{"label": "high", "value": 2, "probability": 0.75}]
    answer = {"type": "score", "score": 1.75, "confidence": 0.75, "probabilities": levels}
    asked = {"q": scale("How?", ["low", "high"])}
    found = decide("threads", "openai", Server({"answers": [answer]}), "Hi", asked)["q"]
    assert (found.value, found.level, found.probability) == (0.75, "high", 0.75)


def test_a_bool_and_a_text_are_two_options() -> None:
    asked = {"q": one_of("Is it?", [True, "true"])}
    pairs = [{"value": True, "probability": 0.75}, {"value": "true", "probability": 0.25}]
    answer = {"type": "choice", "choice": True, "confidence": 0.75, "probabilities": pairs}
    server = Server({"answers": [answer], "model": "m"})
    found = decide("threads", "openai", server, "Hi", asked)["q"]
    assert server.bodies[0]["questions"][0]["choices"] == [{"value": True}, {"value": "true"}]
    assert found.value is True
    assert found.probabilities == {True: 0.75, "true": 0.25}
    for provider in ("gemini", "openrouter"):
        with pytest.raises(
            RuleError, match=r"questions\.q\.options: options of this host are texts"
        ):
            decide("threads", provider, Server(), "Hi", asked)


def test_an_answer_of_an_unknown_type_is_kept() -> None:
    odd = {"type": "map", "cells": [1]}
    for provider, reply, path in (
        ("openai", {"answers": [odd]}, "answers[0].cells"),
        ("gemini", {"answers": {"q": odd}}, "answers.q.cells"),
        ("openrouter", {"answers": {"q": odd}}, "answers.q.cells"),
    ):
        found = decide("threads", provider, Server(reply), "Hi", ONE)
        assert (found["q"].value, found["q"].refused) == (None, False)
        assert found["q"].source.type == "map"
        assert wire.unknown(found.source) == [(path, [1])]
        assert [note.path for note in found.notes] == ["answers.q"]


@style_of
def test_the_filters_of_gemini_block_the_whole_input(style: str) -> None:
    feedback = {"block_reason": "safety", "block_reason_message": "No."}
    with pytest.raises(BlockedError, match=r"\(safety\): No\.") as caught:
        decide(style, "gemini", Server({"prompt_feedback": feedback}))
    assert caught.value.code == "safety"


@joined(
    ("provider", "reply", "problem"),
    [
        ("openai", {"answers": []}, "expected 3 answers, not 0"),
        ("openai", {"answers": [{"type": "refusal", "name": "anger"}] * 3}, "has the name 'anger'"),
        ("gemini", {"answers": {}}, "no answer to the question 'urgent'"),
        ("openrouter", {"answers": {"urgent": {"type": "noul"}}}, "an answer has no probability"),
        ("gemini", {"answers": {"team": {"type": "choice"}}}, "an answer has no choice"),
        ("gemini", {"answers": {"anger": {"type": "score"}}}, "an answer has no score"),
    ],
)
def test_what_is_no_answer_is_an_error(provider: str, reply: Any, problem: str) -> None:
    with pytest.raises(StreamInvalid, match=problem) as caught:
        decide("threads", provider, Server(reply))
    assert json.loads(caught.value.raw) == reply  # type: ignore[arg-type]


def test_the_cost_is_the_hosts_own_figure_or_that_of_the_input() -> None:
    usage = {"input_tokens": 10, "output_tokens": 5, "cost": 0.25}
    found = decide("threads", "openrouter", Server({**ROUTER, "usage": usage}), "Hi", ONE)
    assert (found.cost.total, found.usage.output) == (Decimal("0.25"), 5)
    tokens = {"total_input_tokens": 10_000, "total_output_tokens": 7, "total_thought_tokens": 2}
    found = decide("threads", "gemini", Server({**GEMINI, "usage": tokens}), "Hi", ONE)
    assert (found.usage.output, found.usage.reasoning) == (9, 2)
    assert found.cost.total == Decimal("0.001")
    found = decide("threads", "openai", Server(OPENAI), "Hi", ONE)
    assert (found.usage, found.cost.total) == (None, None)
    assert found.cost.reason == "the response has no token counts"


@style_of
def test_it_is_tried_again_as_any_call(style: str) -> None:
    server = Server((503, {"error": {"message": "Busy."}}), OPENAI)
    again = wire.Retry(base=0, cap=0)
    work = lambda it: it.decide("Hi", ONE, "gpt-6-luna")  # noqa: E731
    assert sends(style, "openai", work, server, retry=again)["q"].value is True
    with pytest.raises(OverloadedError):
        decide(style, "openai", Server((503, {"error": {"message": "Busy."}})), "Hi", ONE)


# --- what is refused ------------------------------------------------------------------------------


@style_of
def test_hosts_without_decisions_are_refused(style: str) -> None:
    server = Server()
    options = {"resource": "r", "project": "p", "location": "eu"}
    for provider in ("mistral", "anthropic", "azure", "gemini@vertex", "gemini@openai"):
        given = {name: options[name] for name in PROVIDERS[provider].options}
        having = "gemini, ollama@openai, openai, openrouter have them"
        with pytest.raises(ConfigurationError, match=having):
            sends(style, provider, lambda it: it.decide("Hi", ONE, "m"), server, **given)
    assert server.requests == []


def test_more_questions_than_a_host_takes() -> None:
    for provider, most in (("openai", 400), ("gemini", 1000), ("openrouter", 200)):
        asked = {str(at): yes_no("It is so.") for at in range(most + 1)}
        with pytest.raises(RuleError, match=f"questions: expected at most {most} questions"):
            decide("threads", provider, Server(), "Hi", asked)
        asked.popitem()
        found = decide("threads", provider, Emulator(), "Hi", asked)
        assert len(found) == most


@joined(
    ("provider", "media", "path"),
    [
        ("openai", Media(data=b"a", media_type="audio/wav"), "input[0]"),
        ("openai", Media(url="gs://a/b", media_type="image/png"), "input[0].content[0].image_url"),
        ("gemini", Media(url="https://a.example/b"), "input[0].media_type"),
        ("openrouter", Media(data=b"a", media_type="audio/mpeg"), "input[0]"),
        ("ollama@openai", Media(data=b"a", media_type="image/png"), "input[0]"),
    ],
)
def test_media_that_a_host_does_not_take(provider: str, media: Media, path: str) -> None:
    with pytest.raises(RuleError) as caught:
        decide("threads", provider, Server(), media)
    assert [each.path for each in caught.value.violations] == [path]


BAD: dict[str, tuple[Any, str]] = {
    "no options": (lambda: one_of("a", []), "options"),
    "one option": (lambda: one_of("a", ["b"]), "options"),
    "256 options": (lambda: one_of("a", list(map(str, range(256)))), "options"),
    "an option twice": (lambda: one_of("a", ["b", "c", "b"]), "options[2]"),
    "an empty option": (lambda: one_of("a", ["b", " "]), "options"),
    "a number as option": (lambda: one_of("a", {1: "b", 2: "c"}), "options"),
    "a text for options": (lambda: one_of("a", "bc"), "options"),
    "a bool as level": (lambda: scale("a", [True, False]), "options"),
    "a level twice": (lambda: scale("a", ["b", "b"]), "levels[1]"),
    "no instructions": (lambda: yes_no(""), "instructions"),
    "another kind": (lambda: Question("box", "a"), "kind"),  # type: ignore[arg-type]
    "no input": (lambda: DecideRequest((), ONE), "input"),
    "an empty text": (lambda: DecideRequest(("a", ""), ONE), "input[1]"),
    "a number as input": (lambda: DecideRequest((1,), ONE), "input[0]"),  # type: ignore[arg-type]
    "half a character": (lambda: DecideRequest("\ud800", ONE), "input"),  # type: ignore[arg-type]
    "no questions": (lambda: DecideRequest("a", {}), "questions"),  # type: ignore[arg-type]
    "a text as question": (lambda: DecideRequest("a", {"q": "b"}), "questions.q"),  # type: ignore
    "no name": (lambda: DecideRequest("a", {"": yes_no("b")}), "questions"),  # type: ignore
    "a list of questions": (lambda: DecideRequest("a", [yes_no("b")]), "questions"),  # type: ignore
}


PNG = Media(data=b"\x89PNG", media_type="image/png")
TALK = [
    Message.system("A shop."),
    Message.user("Where is my parcel?", PNG),
    Message.assistant(
        Thought("They ask."),
        "I look.",
        ToolCall(id="c1", name="find", arguments={"order": 7}),
        ToolCall(id="c2", name="note", kind="custom", arguments={"input": "lost"}),
    ),
    Message.tool_response(
        ToolResult("c1", "find", {"at": "sea"}, media=(PNG,)),
        ToolResult("c2", "note", "no room", error=True),
    ),
    Message.assistant(Text("I cannot say.", refusal=True)),
]


@style_of
def test_a_conversation_is_sent_with_its_roles_and_calls(style: str) -> None:
    emulator = Emulator()
    found = decide(style, "openai", emulator, TALK)
    assert [str(note) for note in found.notes] == [
        "input[2].parts[0]: not sent: decisions read no part of this kind from the assistant"
    ]
    image = {"type": "input_image", "image_url": "data:image/png;base64,iVBORw=="}
    assert emulator.requests[0]["body"]["input"] == [
        {
            "type": "message",
            "role": "system",
            "content": [{"type": "input_text", "text": "A shop."}],
        },
        {
            "type": "message",
            "role": "user",
            "content": [{"type": "input_text", "text": "Where is my parcel?"}, image],
        },
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "I look."}],
        },
        {"type": "function_call", "call_id": "c1", "name": "find", "arguments": '{"order":7}'},
        {"type": "custom_tool_call", "call_id": "c2", "name": "note", "input": "lost"},
        {
            "type": "function_call_output",
            "call_id": "c1",
            "output": [{"type": "input_text", "text": '{"at":"sea"}'}, image],
        },
        {"type": "custom_tool_call_output", "call_id": "c2", "output": '{"error":"no room"}'},
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "refusal", "refusal": "I cannot say."}],
        },
    ]


def test_messages_are_refused_where_there_are_none_and_beside_texts() -> None:
    for provider in ("gemini", "openrouter", "ollama@openai"):
        with pytest.raises(RuleError) as caught:
            decide("threads", provider, Server(), TALK)
        [told] = caught.value.violations
        assert (told.path, told.message) == (
            "input[0]",
            "decisions of this host read no messages; send their texts",
        )
    alone = body("openai", Message.user("Hi"))["input"]
    assert alone[0]["content"] == [{"type": "input_text", "text": "Hi"}]
    for mixed, path in ((["Hi", TALK[0]], "input[1]"), ([TALK[0], "Hi"], "input[1]")):
        with pytest.raises(RuleError) as caught:
            DecideRequest(tuple(mixed), ONE)
        assert caught.value.violations[0].path == path
    with pytest.raises(RuleError) as caught:  # a result without its call
        decide("threads", "openai", Server(), TALK[3:4])
    assert caught.value.violations[0].path == "input[0].call_id"


@joined(("make", "path"), list(BAD.values()), ids=list(BAD))
def test_bad_questions_and_inputs_are_named(make: Any, path: str) -> None:
    with pytest.raises(RuleError) as caught:
        make()
    assert caught.value.violations[0].path.startswith(path)


WORDS = st.text("abcdefg hij", min_size=1, max_size=12).filter(lambda text: text == text.strip())
MEANINGS = st.one_of(st.none(), WORDS)
QUESTIONS = st.one_of(
    st.builds(yes_no, WORDS, yes=WORDS, no=WORDS),
    st.builds(yes_no, WORDS),
    st.builds(one_of, WORDS, st.dictionaries(WORDS, MEANINGS, min_size=2, max_size=9)),
    st.builds(scale, WORDS, st.dictionaries(WORDS, MEANINGS, min_size=2, max_size=9)),
)
PARTS = st.one_of(WORDS, st.dictionaries(WORDS, st.integers(0, 9) | WORDS, min_size=1, max_size=3))


@settings(max_examples=examples(200))
@given(
    input=st.one_of(PARTS, st.lists(PARTS, min_size=1, max_size=3)),
    asked=st.dictionaries(WORDS, QUESTIONS, min_size=1, max_size=4),
)
def test_whatever_can_be_asked_is_answered_at_each_host(input: Any, asked: Any) -> None:
    for provider in MODELS:
        found = decide("threads", provider, Emulator(), input, asked)
        assert list(found) == list(asked)
        for name, question in asked.items():
            answer, options = found[name], list(question.options) or [True, False]
            assert sorted(map(str, answer.probabilities)) == sorted(map(str, options))
            assert sum(answer.probabilities.values()) == pytest.approx(1)
            assert 0 <= answer.probability <= 1
            if question.kind == "scale":
                assert answer.level in options
                assert 0 <= answer.value <= len(options) - 1
            else:
                assert answer.value in options


def test_the_door_without_a_client() -> None:
    http = EmulatorTransport()
    found = wire.decide("Hi", ONE, "openai:gpt-6-luna", api_key="fake-key", http=http)
    assert isinstance(found["q"].value, bool)
    with pytest.raises(ConfigurationError, match="empty model name"):
        wire.decide("Hi", ONE, "openai:", api_key="fake-key", http=EmulatorTransport())
