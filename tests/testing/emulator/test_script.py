"""What scripts, functions and cassettes answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.joined import joined
from tests.testing.emulator.asks import (
    GEMINI_3,
    KEY,
    WEATHER,
    ask,
    chunks,
    error,
    get,
    model,
    parts,
    post,
    results,
    said,
    stream,
    user,
)
from wire.errors import CassetteError, ConfigurationError
from wire.testing.emulator import Cut, Emulator
from wire.testing.emulator.received import Received

FIXTURES = Path(__file__).parents[2] / "fixtures" / "cassettes"
CHUNK = {"candidates": [{"content": {"parts": [{"text": "a"}], "role": "model"}}]}
LAST = {
    "candidates": [
        {"content": {"parts": [{"text": "b"}], "role": "model"}, "finishReason": "STOP"}
    ],
    "usageMetadata": {"totalTokenCount": 9},
}


def texts(*answers: Any) -> list[str]:
    return [parts(answer)[0]["text"] for answer in answers]


def test_steps_in_order_and_then_the_model() -> None:
    emulator = Emulator([{"say": "one"}, {"say": {"text": "two"}}])
    assert texts(ask(emulator), ask(emulator), ask(emulator)) == [
        "one",
        "two",
        "This is an emulator, and no model. You said: hi",
    ]


def test_a_step_for_ever() -> None:
    emulator = Emulator({"steps": [{"say": "always", "times": 0}]})
    assert texts(*(ask(emulator) for _ in range(3))) == ["always"] * 3


def test_what_a_step_waits_for() -> None:
    steps = [
        {"match": {"text": "weather|rain"}, "say": "wet"},
        {"match": {"model": "gemini-2.5-*"}, "say": "old"},
        {"match": {"endpoint": "streamGenerateContent"}, "say": "streamed"},
        {"match": {"number": 4}, "say": "fourth"},
    ]
    emulator = Emulator(steps)
    assert texts(
        ask(emulator, "rain?"),
        ask(emulator, target="/v1/models/gemini-2.5-pro"),
        stream(emulator),
        ask(emulator),
    ) == [
        "wet",
        "old",
        "streamed",
        "fourth",
    ]


def test_what_is_said_is_signed_and_shaped_as_the_model_does_it() -> None:
    step = {
        "say": {"thoughts": "Hm.", "calls": [{"name": "f", "args": {"x": 1}}, {"name": "g"}]},
        "times": 0,
    }
    emulator = Emulator([step])
    found = parts(ask(emulator, generationConfig={"thinkingConfig": {"includeThoughts": True}}))
    assert [list(part) for part in found] == [
        ["text", "thought"],
        ["functionCall", "thoughtSignature"],
        ["functionCall"],
    ]
    assert found[2]["functionCall"]["args"] == {}
    assert len(stream(emulator)) == 3


def test_raw_answers_and_raw_chunks() -> None:
    emulator = Emulator(
        [
            {"answer": LAST},
            {"stream": [CHUNK, LAST]},
            {"stream": [CHUNK, LAST]},
            {"answer": {"error": {"code": 418}}, "status": 418},
        ]
    )
    assert ask(emulator) == {
        **LAST,
        "modelVersion": "gemini-3.1-pro-preview",
        "responseId": ask(Emulator())["responseId"],
    }
    assert texts(*([chunk] for chunk in stream(emulator))) == ["a", "b"]
    together = ask(emulator)
    assert (
        "".join(part["text"] for part in parts(together)),
        together["candidates"][0]["finishReason"],
    ) == ("ab", "STOP")
    assert together["usageMetadata"] == {"totalTokenCount": 9}
    assert post(emulator, f"{GEMINI_3}:generateContent", {"contents": [user("hi")]}).status == 418


def test_what_a_script_signed_itself_is_known_when_it_comes_back() -> None:
    call = {"functionCall": {"name": "get_weather", "args": {}}, "thoughtSignature": "b3du"}
    answer = {
        "candidates": [{"content": {"parts": [call], "role": "model"}, "finishReason": "STOP"}]
    }
    emulator = Emulator([{"answer": answer}])
    ask(emulator, "w")
    body = {"contents": [user("w"), model(call), results("get_weather")], "tools": [WEATHER]}
    assert post(emulator, f"{GEMINI_3}:generateContent", body).status == 200
    assert (
        error(post(Emulator(), f"{GEMINI_3}:generateContent", body))[2]
        == "Corrupted thought signature."
    )


def test_a_refused_request_uses_up_no_step() -> None:
    emulator = Emulator([{"say": "one"}])
    assert post(emulator, f"{GEMINI_3}:generateContent", {"contents": []}).status == 400
    assert texts(ask(emulator)) == ["one"]


def test_other_endpoints() -> None:
    emulator = Emulator(
        [
            {"match": {"endpoint": "files.get"}, "answer": {"state": "FAILED"}},
            {"match": {"endpoint": "countTokens"}, "fault": "500"},
        ]
    )
    assert said(get(emulator, "/v1beta/files/any")) == {"state": "FAILED"}
    assert post(emulator, f"{GEMINI_3}:countTokens", {"contents": [user("hi")]}).status == 500
    assert get(emulator, "/v1beta/files/any").status == 403


def test_functions() -> None:
    def third(request: Received) -> dict[str, Any] | None:
        return {"say": request.path} if request.number == 3 else None

    emulator = Emulator(third)
    assert texts(*(ask(emulator) for _ in range(3)))[2] == f"{GEMINI_3}:generateContent"
    assert texts(ask(Emulator([{"say": "one"}, lambda request: {"say": "all"}]))) == ["one"]


def test_a_file(tmp_path: Path) -> None:
    path = tmp_path / "script.json"
    path.write_text(json.dumps({"steps": [{"say": "from a file"}]}), "utf-8")
    assert texts(ask(Emulator(path))) == ["from a file"]
    assert texts(ask(Emulator(str(path)))) == ["from a file"]


@joined(
    ("script", "problem"),
    [
        ({"step": []}, 'expected {"steps": [...]} or a list of steps'),
        ([5], r"steps\[0\]: expected an object, not int"),
        ([{"say": "a", "tmies": 1}], r"steps\[0\]: 'tmies' is unknown"),
        ([{"say": "a", "match": {"modle": 1}}], r"steps\[0\].match: 'modle' is unknown"),
        ([{"match": {}}], r"steps\[0\]: expected say, answer, stream or fault"),
        ([{"status": 429}], r'stream or fault; {"fault": "429"} is an error'),
        ([{"calls": []}], r"'calls' is unknown; .*; {\"say\": {\"calls\": .* calls a tool"),
        ([{"fault": "boom"}], "fault: 'boom' is unknown"),
        ("nowhere.json", "nowhere.json: cannot be read"),
    ],
)
def test_scripts_that_are_wrong(script: Any, problem: str) -> None:
    with pytest.raises(
        ConfigurationError, match=problem.replace("{", r"\{").replace("[...]", r"\[...\]")
    ):
        Emulator(script)


# --- cassettes ------------------------------------------------------------------------------------


def recorded(number: int, name: str = "gemini_stream") -> tuple[Emulator, Any]:
    path = FIXTURES / f"{name}.cassette.json"
    return Emulator(path), json.loads(path.read_text("utf-8"))["interactions"][number]


def replay(emulator: Emulator, request: Any) -> Any:
    target = "/" + request["url"].split("/", 3)[3]
    body = json.dumps(request["body"]["json"]).encode() if "body" in request else b""
    return emulator.answer(request["method"], target, KEY, body)


def test_a_cassette_answers_whatever_the_host() -> None:
    emulator, interaction = recorded(0)
    answer = replay(emulator, interaction["request"])
    assert answer.status == interaction["response"]["status"]
    events = interaction["response"]["body"]["events"]
    assert chunks(answer) == [event["json"] for event in events]
    assert len(answer.pieces) == len(events)
    again = replay(emulator, interaction["request"])
    assert error(again)[:2] == (400, "FAILED_PRECONDITION")
    emulator.reset()
    assert replay(emulator, interaction["request"]) == answer


def test_a_cassette_that_has_another_request() -> None:
    emulator, interaction = recorded(0)
    target = "/" + interaction["request"]["url"].split("/", 3)[3]
    found = error(emulator.answer("POST", target, KEY, b'{"contents": []}'))[2]
    assert "gemini_stream.cassette.json: no recorded response to POST" in found
    assert "the closest is interactions[0], different in $.contents" in found


def test_a_fault_in_a_recorded_answer() -> None:
    emulator, interaction = recorded(0)
    request = interaction["request"]
    target, body = (
        "/" + request["url"].split("/", 3)[3],
        json.dumps(request["body"]["json"]).encode(),
    )
    cut = emulator.answer("POST", target, {**KEY, "x-wire-fault": "cut; after=1"}, body)
    assert (len(cut.pieces), cut.pieces[-1]) == (2, Cut())
    emulator.reset()
    assert emulator.answer("POST", target, {**KEY, "x-wire-fault": "503"}, body).status == 503


def test_a_recorded_break() -> None:
    emulator, interaction = recorded(0, "closed_early")
    assert replay(emulator, interaction["request"]).pieces[-1] == Cut()


def test_a_cassette_that_is_none(tmp_path: Path) -> None:
    path = tmp_path / "x.cassette.json"
    path.write_text('{"wire_cassette": 1, "interactions": 5}', "utf-8")
    with pytest.raises(CassetteError, match="interactions"):
        Emulator(path)
