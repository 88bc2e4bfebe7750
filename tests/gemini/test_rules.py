"""Checks before sending: a request that breaks each rule, and one that nearly does."""

from __future__ import annotations

import copy
import sys
from types import FunctionType

import pytest

from tests.joined import joined
from wire.core.decoders import convert
from wire.errors import RuleError
from wire.gemini import (
    Blob,
    Content,
    FunctionCall,
    FunctionDeclaration,
    GenerateContentRequest,
    GenerationConfig,
    Part,
    Schema,
    ThinkingConfig,
    Tool,
    ToolConfig,
    VideoMetadata,
    check,
    generate_content,
    rules,
    stream_generate_content,
)
from wire.gemini.reader import parse_response

from .conversations import CONVERSATIONS

USER = Content(role="user", parts=[Part(text="Hi")])
MODEL = "gemini-3-pro-preview"


def asked(*parts: Part, **fields) -> GenerateContentRequest:
    return GenerateContentRequest(
        contents=[USER, Content(role="user", parts=list(parts))] if parts else [USER], **fields
    )


def declared(**fields) -> GenerateContentRequest:
    return asked(
        tools=[
            Tool(),
            Tool(
                function_declarations=[
                    FunctionDeclaration(name="a"),
                    FunctionDeclaration(name="f", **fields),
                ]
            ),
        ]
    )


def thinking(**fields) -> GenerateContentRequest:
    return asked(generation_config=GenerationConfig(thinking_config=ThinkingConfig(**fields)))


BROKEN = {
    "no-contents": (GenerateContentRequest(), [("contents", "G4")]),
    "empty-contents": (GenerateContentRequest(contents=[]), [("contents", "G4")]),
    "no-parts": (
        GenerateContentRequest(contents=[USER, Content(role="user")]),
        [("contents[1].parts", "G5")],
    ),
    "empty-parts": (
        GenerateContentRequest(contents=[Content(parts=[]), USER]),
        [("contents[0].parts", "G5")],
    ),
    "empty-part": (asked(Part(text="a"), Part()), [("contents[1].parts[1].data", "G6")]),
    "thought-alone": (asked(Part(thought=True)), [("contents[1].parts[0].data", "G6")]),
    "sidecars-alone": (
        asked(Part(part_metadata={"a": 1}, video_metadata=VideoMetadata(fps=1.0))),
        [("contents[1].parts[0].data", "G6")],
    ),
    "level-and-budget": (
        thinking(thinking_level="LOW", thinking_budget=0),
        [("generationConfig.thinkingConfig", "G58")],
    ),
    "cache-and-system": (
        asked(cached_content="cachedContents/a", system_instruction=USER),
        [("systemInstruction", "G62")],
    ),
    "cache-and-all": (
        asked(
            cached_content="cachedContents/a",
            system_instruction=USER,
            tools=[Tool()],
            tool_config=ToolConfig(),
        ),
        [("systemInstruction", "G62"), ("tools", "G62"), ("toolConfig", "G62")],
    ),
    "two-dialects": (
        declared(parameters=Schema(type="OBJECT"), parameters_json_schema={}),
        [("tools[1].functionDeclarations[1]", "G37")],
    ),
    "two-dialects-null": (
        declared(parameters=Schema(type="OBJECT"), parameters_json_schema=None),
        [("tools[1].functionDeclarations[1]", "G37")],
    ),
    "two-response-dialects": (
        declared(response=Schema(type="OBJECT"), response_json_schema={}),
        [("tools[1].functionDeclarations[1]", "G37")],
    ),
    "all-at-once": (
        GenerateContentRequest(
            contents=[Content(parts=[Part()])], cached_content="cachedContents/a", tools=[Tool()]
        ),
        [("contents[0].parts[0].data", "G6"), ("tools", "G62")],
    ),
}

FINE = {
    "empty-text": asked(Part(text="")),
    "signature-alone": asked(Part(thought_signature="QUJD")),  # recorded as accepted
    "thought-and-signature": asked(Part(thought=True, thought_signature="QUJD")),
    "empty-call": asked(Part(function_call=FunctionCall())),
    "empty-blob": asked(Part(inline_data=Blob())),
    "budget-zero": thinking(thinking_budget=0),
    "level": thinking(thinking_level="HIGH", include_thoughts=True),
    "cache": asked(
        cached_content="cachedContents/a", generation_config=GenerationConfig(temperature=0.0)
    ),
    "system-without-cache": asked(
        system_instruction=USER, tools=[Tool()], tool_config=ToolConfig()
    ),
    "one-dialect": declared(parameters=Schema(type="OBJECT"), response_json_schema={}),
    "json-schema": declared(parameters_json_schema={}, response=Schema(type="OBJECT")),
}


@joined("name", BROKEN)
def test_broken(name):
    request, expected = BROKEN[name]
    found = check(request)
    assert [(violation.path, violation.rule) for violation in found] == expected
    assert {violation.severity for violation in found} == {"error"}
    assert all(violation.message for violation in found)


@joined("name", BROKEN)
@joined("endpoint", [generate_content, stream_generate_content])
def test_broken_requests_are_not_made(endpoint, name):
    request, expected = BROKEN[name]
    with pytest.raises(RuleError) as caught:
        endpoint(MODEL, request)
    assert [(violation.path, violation.rule) for violation in caught.value.violations] == expected
    assert all(f"[{rule}]" in str(caught.value) for _, rule in expected)


@joined("name", FINE)
def test_fine(name):
    assert check(FINE[name]) == []


@joined("name", CONVERSATIONS)
def test_conversations_break_nothing(name):
    assert check(CONVERSATIONS[name]()) == []


def test_what_came_from_the_wire_is_not_judged():
    """A received Content is sent back unchanged, with kinds of parts that no struct has."""
    body = b'{"candidates":[{"content":{"parts":[{"song":1}],"role":"model"}}]}'
    content = parse_response(body).candidates[0].content
    assert check(GenerateContentRequest(contents=[USER, content, USER])) == []
    assert (
        check(
            GenerateContentRequest(
                contents=[USER, Content(role="model", parts=list(content.parts)), USER]
            )
        )
        == []
    )


@joined("name", [*BROKEN, *FINE])
def test_checking_changes_nothing(name):
    request = BROKEN[name][0] if name in BROKEN else FINE[name]
    before = copy.deepcopy(request)
    assert check(request) == check(request)
    assert request == before


CALL = {"functionCall": {"name": "f", "args": {}}}
RESULT = {"functionResponse": {"name": "g", "id": "a", "response": {"$ref": "x"}}}
MEDIA = {"inlineData": {"mimeType": "image/png", "data": "aGk="}}

BODIES = [
    {"contents": [{"role": role, "parts": parts} for role, parts in turns], **rest}
    for turns in (
        [("user", [{"text": "Hi"}])],
        [("model", [{"text": ""}])],
        [("user", [{"text": ""}]), ("odd", [{"text": "a"}, {"text": "b"}])],
        [("user", [CALL]), ("user", [RESULT, {"text": "a"}])],
        [("user", [{"text": "Hi"}]), ("model", [CALL, CALL]), ("user", [RESULT, MEDIA])],
        [("user", [MEDIA, {}])],
    )
    for rest in (
        {},
        {"systemInstruction": {"parts": [{}]}},
        {"toolConfig": {"functionCallingConfig": {"allowedFunctionNames": ["f"]}}},
        {"tools": [{"functionDeclarations": [{"name": "1"}, {"name": "1"}]}]},
        {"tools": [{"codeExecution": {}}], "generationConfig": {"candidateCount": 9}},
        {"generationConfig": {"responseSchema": {"type": "OBJECT"}, "temperature": 3}},
    )
]


@pytest.mark.parametrize("host", ["gemini", "gemini@vertex"])
@pytest.mark.parametrize("model", ["gemini-2.5-flash", "gemini-3.5-flash", "gemini-3.8-flash", ""])
def test_a_rule_that_is_skipped_would_find_nothing(
    model: str, host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Requests without a config, tools or parts beyond text skip the rules about them."""
    bodies = BODIES
    quick = [check(body, model, host) for body in bodies]
    monkeypatch.setattr(rules, "_rules_for", lambda *has: rules.RULES)
    assert quick == [check(body, model, host) for body in bodies]
    assert any(quick)


@joined("host", ["gemini", "gemini@vertex"])
@joined("model", ["gemini-2.5-flash", "gemini-3.5-flash", "gemini-3.8-flash"])
def test_the_second_check_finds_what_depends_on_the_host(model: str, host: str) -> None:
    """A call is checked without a host first, and a client checks the rest for its own."""
    for body in BODIES:
        request = convert(body, GenerateContentRequest)
        first = check(request, model, "")
        again = rules.check_encoded(request, model, host, "generateContent", again=True)
        found = {(each.rule, each.path) for each in check(request, model, host)}
        assert found <= {(each.rule, each.path) for each in [*first, *again]}
        assert {(each.rule, each.path) for each in again} <= found


def names_of(function: FunctionType) -> set[str]:
    """The names in the code of a rule and of the private functions of its module that it calls."""
    names = set(function.__code__.co_names)
    for const in function.__code__.co_consts:
        names |= set(getattr(const, "co_names", ()))
    inner = [getattr(sys.modules[function.__module__], n, None) for n in names if n[0] == "_"]
    return names.union(*(names_of(each) for each in inner if isinstance(each, FunctionType)))


def test_each_rule_that_reads_the_host_is_among_those_of_the_second_check() -> None:
    reading = {rule for _, rule in rules.RULES if names_of(rule) & {"vertex", "gemini", "version"}}
    assert reading >= rules._HOST_RULES
    # These read the version of the model's family, which has the same name.
    family = {rule.__name__ for rule in reading - rules._HOST_RULES}
    assert family <= {"results_match_their_calls", "roles_are_known", "level_is_known"}
