"""Each rule with a body that breaks it and one that nearly does, by model and host. Bodies are
checked as bytes and as structs.
"""

from __future__ import annotations

import json
import pickle

import msgspec
import pytest

from tests.joined import joined
from wire.core.provider import Provider
from wire.errors import Violation
from wire.gemini import GenerateContentRequest, check
from wire.gemini.decode import decode
from wire.gemini.families import Family, family
from wire.gemini.rules import CHECKED, STATE, WORDS, error_response
from wire.gemini.rules.refusals import words_of
from wire.gemini.rules.words import PARSER

from . import refused_contents, refused_rest
from .bodies import FLASH25, Body, Hit, Miss, config, host_row, said, user
from .refused_nearly import MISSES

HITS = {**refused_contents.HITS, **refused_rest.HITS}


def found(case: Hit | Miss) -> list[Violation]:
    return check(json.dumps(case.body).encode(), case.model, asked_of(case), endpoint=case.endpoint)


def asked_of(case: Hit | Miss) -> Provider | str:
    """The host of the case. Without a model, only rules of every host apply."""
    return host_row(case.host, case.version) if case.model and case.host else ""


def typed(body: Body) -> GenerateContentRequest | None:
    """The body as structs without remembered bytes; `None` if structs cannot express it."""
    try:
        request = decode(json.dumps(body).encode(), GenerateContentRequest)
    except Exception:
        return None
    plain = msgspec.structs.replace(request)
    return None if msgspec.to_builtins(plain) != body else plain


@joined("name", HITS)
def test_hit(name: str) -> None:
    """The violation is reported once, with its path, severity and server text, and there is no
    other error.
    """
    case = HITS[name]
    violations = found(case)
    mine = [violation for violation in violations if violation.rule == case.rule]
    assert [(violation.path, violation.severity) for violation in mine] == [
        (case.path, case.severity)
    ]
    assert case.words in words_of(mine[0])
    assert mine[0].remedy
    assert mine[0].message
    assert (mine[0].status, mine[0].code) == (400, "INVALID_ARGUMENT")
    assert {violation.rule for violation in violations if violation.severity == "error"} <= {
        case.rule
    }


def test_misses() -> None:
    """Neither a violation of the rule nor an error of another one."""
    wrong = {
        name: [
            str(violation)
            for violation in found(case)
            if violation.rule == case.rule or violation.severity == "error"
        ]
        for name, case in MISSES.items()
    }
    assert {name: violations for name, violations in wrong.items() if violations} == {}


def test_decoded_json_breaks_what_bytes_break() -> None:
    for name, case in (*HITS.items(), *MISSES.items()):
        body = json.loads(json.dumps(case.body))
        if isinstance(body, dict):
            by_json = check(body, case.model, asked_of(case), endpoint=case.endpoint)
            assert by_json == found(case), name
            assert body == json.loads(json.dumps(case.body))  # unchanged


def test_structs_break_what_bytes_break() -> None:
    """A struct has the same violations as its bytes, wherever structs can express the body."""
    compared = 0
    for name, case in (*HITS.items(), *MISSES.items()):
        request = typed(case.body) if case.endpoint.endswith("enerateContent") else None
        if request is not None:
            by_struct = check(request, case.model, asked_of(case), endpoint=case.endpoint)
            assert by_struct == found(case), name
            compared += 1
    assert compared > 200


@joined("name", [name for name, case in HITS.items() if case.severity == "warning"])
def test_what_is_dated_is_not_refused_unless_asked_for(name: str) -> None:
    violations = found(HITS[name])
    assert error_response(violations) is None
    answer = error_response(violations, warnings_too=True)
    assert answer is not None
    assert answer[0] == answer[1]["error"]["code"] == 400


def test_without_a_model_only_what_every_model_refuses() -> None:
    """A violation that is reported without a model is reported with it too."""
    for name, case in HITS.items():
        if case.severity == "error":
            body = json.dumps(case.body).encode()
            rules = {violation.rule for violation in check(body, "", "", endpoint=case.endpoint)}
            assert rules <= {violation.rule for violation in found(case)}, name
            if not case.model:
                assert rules == {case.rule}, name


def test_every_rule_that_is_checked_is_hit_and_missed() -> None:
    assert {case.rule for case in HITS.values()} | {"G86"} == CHECKED
    # Of these every body of the other rules is a miss.
    assert CHECKED - {case.rule for case in MISSES.values()} <= {"G4", "G42", "G86"}


@pytest.mark.row("G86")
@joined(
    ("model", "host", "severity", "words"),
    [
        ("gemini-embedding-001", "gemini", "error", "is not supported for generateContent"),
        ("text-embedding-004", "gemini", "error", "models/text-embedding-004 is not found for"),
        ("models/imagen-4.0-generate-001", "gemini", "error", "API version v1beta"),
        ("veo-3.1-generate-preview", "gemini", "error", "Call ListModels"),
        ("gemini-3-pro-preview", "gemini", "warning", "was shut down on 2026-03-09"),
        ("gemini-2.0-flash-001", "gemini", "warning", "Google recommends gemini-2.5-flash"),
        ("gemini-1.5-pro", "gemini", "warning", "was shut down"),
        ("gemini-2.0-flash-001", "gemini@vertex", "", ""),
        ("gemini-2.0-flash-001", "", "", ""),
        ("gemini-2.5-flash", "gemini", "", ""),
        ("gemini-3.8-flash", "gemini", "", ""),
        ("gemini-flash-latest", "gemini", "", ""),
        ("tunedModels/imagen-of-mine", "gemini", "", ""),
        ("tunedModels/gemini-2.0-mine", "gemini", "", ""),
        ("my-embedding-model", "gemini", "", ""),
    ],
)
def test_models_that_do_not_answer(model: str, host: str, severity: str, words: str) -> None:
    body = json.dumps(said()).encode()
    found = [each for each in check(body, model, host) if each.rule == "G86"]
    assert [(each.path, each.severity, each.status, each.code) for each in found] == (
        [("model", severity, 404, "NOT_FOUND")] if severity else []
    )
    assert all(words in each.message and each.remedy for each in found)
    assert "G86" not in [each.rule for each in check(body, model, host, endpoint="countTokens")]


def test_what_is_checked_and_what_is_state_are_apart() -> None:
    assert CHECKED & set(STATE) == set()
    assert {form.split()[0] for form in WORDS} == CHECKED | set(STATE)
    assert {form for form in WORDS if form.split()[0] in STATE} == set(STATE)
    assert set(WORDS) >= PARSER


def test_the_parser_tells_all_at_once() -> None:
    """The parser reports all its violations, one per line and with details; the validator does not
    run.
    """
    body = said(
        user({"text": "a", "mood": 1}),
        tools=[{"codeExecution": {"x": 1}}],
        generationConfig={"candidateCount": 2},
        moood=1,
    )
    body["contents"].append({"role": "assistant", "parts": []})
    violations = check(json.dumps(body).encode(), "gemini-3-pro-preview")
    assert [(violation.path, violation.rule, violation.layer) for violation in violations] == [
        ("contents[0].parts[0].mood", "G1", "parser"),
        ("tools[0].codeExecution.x", "G1", "parser"),
        ("moood", "G1", "parser"),
    ]
    answer = error_response(violations)
    assert answer is not None
    status, error = answer
    assert status == 400
    lines = [
        "Invalid JSON payload received. Unknown name \"mood\" at 'contents[0].parts[0]': "
        "Cannot find field.",
        "Invalid JSON payload received. Unknown name \"x\" at 'tools[0].code_execution': "
        "Cannot find field.",
        'Invalid JSON payload received. Unknown name "moood": Cannot find field.',
    ]
    assert error["error"] == {
        "code": 400,
        "message": "\n".join(lines),
        "status": "INVALID_ARGUMENT",
        "details": [
            {
                "@type": "type.googleapis.com/google.rpc.BadRequest",
                "fieldViolations": [
                    {"field": "contents[0].parts[0]", "description": lines[0]},
                    {"field": "tools[0].code_execution", "description": lines[1]},
                    {"description": lines[2]},
                ],
            }
        ],
    }


def test_the_validator_tells_the_first() -> None:
    body = {"contents": [{"role": "user", "parts": []}], "generationConfig": {"candidateCount": 2}}
    violations = check(json.dumps(body).encode(), "gemini-3.1-pro-preview")
    assert [violation.rule for violation in violations] == ["G5", "G60"]
    message = "* GenerateContentRequest.contents[0].parts: contents.parts must not be empty.\n"
    assert error_response(violations) == (
        400,
        {"error": {"code": 400, "message": message, "status": "INVALID_ARGUMENT"}},
    )


def test_nothing_to_refuse() -> None:
    assert check(json.dumps(said()).encode(), FLASH25) == []
    assert error_response([], warnings_too=True) is None


@joined("body", [b"", b"{", b"[1]", b'"a"', b"null", b"\xff", b"[" * 100_000], ids=repr)
@joined("endpoint", ["generateContent", "countTokens", "batchEmbedContents"])
def test_what_is_no_body(body: bytes, endpoint: str) -> None:
    violations = check(body, FLASH25, endpoint=endpoint)
    assert [violation.severity for violation in violations] == [
        "error"
    ] or endpoint == "batchEmbedContents"
    assert (error_response(violations) or (400,))[0] == 400


def test_a_request_that_remembers_its_bytes_is_judged_by_them() -> None:
    request = decode(
        b'{"contents": [{"parts": [{"text": "a"}]}], "mood": 1}', GenerateContentRequest
    )
    assert [violation.path for violation in check(request, FLASH25)] == ["mood"]


def test_a_struct_that_json_cannot_say() -> None:
    request = GenerateContentRequest(contents=[], labels={"a": object()})  # type: ignore[dict-item]
    assert "JSON cannot say this" in check(request)[0].message


def test_hosts() -> None:
    """Without a provider the host is the Gemini API; the provider `""` is an unknown host."""
    body = json.dumps(said(labels={"a": "b"})).encode()
    for model in (FLASH25, ""):
        assert [violation.rule for violation in check(body, model)] == ["G1"]
        assert check(body, model, "gemini@vertex") == check(body, model, "") == []
    hot = json.dumps(config(temperature=3)).encode()
    assert [violation.rule for violation in check(hot, "", "gemini@vertex")] == ["G82"]
    assert check(hot) == check(hot, "", "") == []


def test_count_tokens() -> None:
    """Both forms of the body are checked. No rule about the order of turns is known for
    this method.
    """
    whole = json.dumps(
        {"generateContentRequest": {"model": "models/a", "contents": [], "tools": [{"x": {}}]}}
    ).encode()
    assert [violation.path for violation in check(whole, FLASH25, endpoint="countTokens")] == [
        "generateContentRequest.tools[0].x"
    ]
    tools = json.dumps(said(tools=[])).encode()
    assert [violation.rule for violation in check(tools, FLASH25, endpoint="countTokens")] == ["G1"]
    assert check(tools, FLASH25, "gemini@vertex", endpoint="countTokens") == []
    for empty in (b'{"contents": []}', b'{"generateContentRequest": {"contents": []}}'):
        assert [violation.rule for violation in check(empty, FLASH25, endpoint="countTokens")] == [
            "G4"
        ]
    parts = b'{"generateContentRequest": {"contents": [{"parts": [{}]}]}}'
    assert [violation.rule for violation in check(parts, FLASH25, endpoint="countTokens")] == ["G6"]


def test_violations_survive_pickling() -> None:
    violations = found(HITS["G24-vertex"])
    assert pickle.loads(pickle.dumps(violations)) == violations
    assert "words='Unable to submit" in repr(violations[0])


@joined(
    ("name", "expected"),
    [
        ("gemini-2.5-flash-preview-05-20", Family("gemini", (2, 5), "flash")),
        ("models/gemini-2.5-flash-lite-001", Family("gemini", (2, 5), "flash-lite")),
        (
            "projects/p/locations/l/publishers/google/models/gemini-3.1-pro-preview",
            Family("gemini", (3, 1), "pro"),
        ),
        ("gemini-3-flash-preview", Family("gemini", (3, 0), "flash")),
        ("Gemini-2.0-Flash-Exp", Family("gemini", (2, 0), "flash")),
        ("gemini-pro", Family("gemini", (1, 0), "pro")),
        ("gemini-flash-latest", Family("gemini", None, "flash")),
        ("gemma-3n-e4b-it", Family("gemma", (3, 0), "e4b-it")),
        ("tunedModels/mine", Family()),
        ("", Family()),
    ],
)
def test_family(name: str, expected: Family) -> None:
    found = family(name)
    assert (found.name, found.version, found.variant) == (
        expected.name,
        expected.version,
        expected.variant,
    )


def test_ranges_of_an_unknown_model_hold_nothing() -> None:
    of = family("gemini-flash-latest")
    assert [of.since(1), of.before(9), of.within((1, 0), (9, 0))] == [False, False, False]
    assert not family("gemma-3-27b-it").since(1)


def test_what_a_name_inherits_refuses_nothing() -> None:
    body = {"contents": [], "generationConfig": {"thinkingConfig": {"thinkingLevel": "MINIMAL"}}}
    found = [each for each in check(body, "gemini-5-argon") if each.rule == "G59"]
    assert [(each.path, each.severity) for each in found] == [
        ("generationConfig.thinkingConfig.thinkingLevel", "warning")
    ]
