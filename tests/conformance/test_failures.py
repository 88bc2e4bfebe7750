"""The runner of refused requests: it passes what holds, and fails what does not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.__main__ import main
from tests.conformance.failures import check_case, refuse, template
from tests.conformance.result import Mismatch
from tests.joined import joined

SHARED = Path(__file__).parents[3] / "shared" / "contracts" / "gemini-failures.jsonl"

GO = {"role": "user", "parts": [{"text": "go"}]}
NO_PARTS = "* GenerateContentRequest.contents[0].parts: contents.parts must not be empty.\n"


def case(**fields: Any) -> dict[str, Any]:
    """A case that holds, with other values for some of its fields."""
    given = {
        "id": "no-parts",
        "rule": "G5",
        "endpoint": "models.generateContent",
        "run": {"model": "gemini-2.5-flash", "host": "gemini", "version": "v1beta", "dated": False},
        "bad_payload": {"contents": [{"role": "user", "parts": []}]},
        "http_status": 400,
        "error_message": NO_PARTS,
        "message_kind": "verbatim",
    }
    return {**given, **fields}


def on(
    model: str = "gemini-2.5-flash",
    host: str = "gemini",
    version: str = "v1beta",
    *,
    dated: bool = False,
) -> dict[str, Any]:
    return {"model": model, "host": host, "version": version, "dated": dated}


def schema_case(neutral: Any, **fields: Any) -> dict[str, Any]:
    payload = {
        "contents": [GO],
        "tools": [
            {
                "functionDeclarations": [
                    {"name": "t", "parameters": {"type": "OBJECT", "strict": True}}
                ]
            }
        ],
    }
    words = (
        'Invalid JSON payload received. Unknown name "strict" at '
        "'tools[0].function_declarations[0].parameters': Cannot find field."
    )
    return case(
        rule="G38", bad_payload=payload, error_message=words, neutral_schema=neutral, **fields
    )


HOLDS = {
    "verbatim": case(),
    "reindexed": case(message_kind="reindexed", error_message=NO_PARTS.replace("[0]", "[7]")),
    "one-of-several-lines": case(
        rule="G1",
        bad_payload={"contents": [GO], "a": 1, "b": 2},
        error_message='Invalid JSON payload received. Unknown name "b": Cannot find field.',
    ),
    "dated": case(
        rule="G2",
        run=on(version="v1", dated=True),
        bad_payload={
            "contents": [GO],
            "systemInstruction": {"parts": [{"text": "a"}]},
            "tools": [{"codeExecution": {}}],
        },
        error_message='Invalid JSON payload received. Unknown name "tools": Cannot find field.',
    ),
    "state": case(
        rule="G67",
        bad_payload={
            "contents": [{"parts": [{"fileData": {"fileUri": "https://x/v1beta/files/abc"}}]}]
        },
        error_message="The File abc is not in an ACTIVE state and usage is not allowed",
    ),
    "state-of-another-status": case(
        rule="G72",
        http_status=404,
        run=on("gemini-pro"),
        bad_payload={"contents": [GO]},
        error_message="models/gemini-pro is not found for API version "
        "v1beta, or is not supported for "
        "generateContent. "
        "Call ListModels to see the list of available models and their supported methods.",
    ),
    "a-schema-that-can-be-sent": schema_case(
        {
            "type": "object",
            "properties": {"a": {"type": "string", "deprecated": True}},
            "strict": True,
        }
    ),
    "a-schema-that-cannot": schema_case({"type": "object", "properties": {"a": {"type": "enum"}}}),
}

FAILS = {
    "another-rule": case(rule="G6"),
    "not-dated": case(run=on(dated=True)),
    "dated": case(
        rule="G15",
        run=on("gemini-1.5-pro"),
        bad_payload={"contents": [GO, {"role": "model", "parts": [{"text": "a"}]}]},
        error_message="Please ensure that multiturn requests ends with a user role or a function "
        "response.",
    ),
    "an-error-beside": case(bad_payload={"contents": [{"role": "tool", "parts": []}]}),
    "another-status": case(http_status=404),
    "another-place": case(error_message=NO_PARTS.replace("[0]", "[7]")),
    "another-sentence": case(
        message_kind="paraphrased",
        error_message="* GenerateContentRequest.contents[0].parts: must be there.\n",
    ),
    "nothing-wrong": case(bad_payload={"contents": [GO]}),
    "a-state-with-an-error": case(
        rule="G67", error_message="The File abc is not in an ACTIVE state and usage is not allowed"
    ),
}


@joined("name", HOLDS)
def test_holds(name: str) -> None:
    check_case(HOLDS[name])


@joined("name", FAILS)
def test_fails(name: str) -> None:
    with pytest.raises(Mismatch):
        check_case(FAILS[name])


def test_a_schema_whose_lowering_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Were our builder to let something pass that `check` refuses, the case fails."""
    monkeypatch.setattr("tests.conformance.failures.check", lambda *_, **__: [])
    with pytest.raises(Mismatch, match="no error of the rule"):
        check_case(HOLDS["a-schema-that-can-be-sent"])


def test_refuse() -> None:
    assert refuse(HOLDS["verbatim"]) == (400, NO_PARTS)
    assert refuse(case(bad_payload={"contents": [GO]})) == (200, "")


@joined(
    ("one", "other"),
    [
        ("Duplicate function declaration found: a", "Duplicate function declaration found: b"),
        ("The thinking budget (1) is invalid.", "The thinking budget (52428) is invalid."),
        ("Invalid value at 'a.b' (TYPE_STRING), 0", "Invalid value at 'c[1]' (TYPE_STRING), \"x\""),
        ("It ends. (variant goes on: unless)", "It ends."),
        ("Typical causes…", "Typical causes"),
        (
            "$ref 'A' was set alongside unsupported fields…",
            "$ref 'B' was set alongside unsupported fields",
        ),
    ],
)
def test_sentences_about_other_names(one: str, other: str) -> None:
    assert template(one) == template(other)
    assert template(one) != template(f"Not so: {other}")


def test_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "cases.jsonl"
    file.write_text(
        "".join(
            f"{json.dumps(each)}\n"
            for each in (*HOLDS.values(), {**FAILS["another-status"], "id": "wrong"})
        ),
        "utf-8",
    )
    assert main(["failures", str(file)]) == 1
    *told, last = capsys.readouterr().out.splitlines()
    assert json.loads(last) == {"records": 9, "passed": 8, "out_of_scope": 0, "failed": ["wrong"]}
    assert "wrong G5: refused with 400, not 404" in told
    assert (
        "no-parts: refused, parameters.properties.a.type: this is no JSON Schema, which "
        "has no type enum" in told
    )


@pytest.mark.skipif(
    not SHARED.exists(),
    reason="the file of refused requests is not beside this checkout; those above serve",
)
def test_requests_that_were_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["failures", str(SHARED)]) == 0
    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert found["records"] == found["passed"] >= 87
