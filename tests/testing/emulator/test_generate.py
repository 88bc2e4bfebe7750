"""generateContent, streamGenerateContent, countTokens: shapes, framing, and what the small model
says.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.joined import joined
from tests.testing.emulator.asks import (
    GEMINI_3,
    GEMINI_25,
    VERTEX,
    WEATHER,
    ask,
    error,
    parts,
    post,
    said,
    stream,
    user,
)
from wire.testing.emulator import Emulator

TEXT = "This is an emulator, and no model. You said: hi"
PLACE = {
    "type": "OBJECT",
    "properties": {"city": {"type": "STRING"}, "size": {"type": "INTEGER", "minimum": 3}},
    "required": ["city"],
}


def configured(**config: Any) -> dict[str, Any]:
    return {"generationConfig": config}


# --- framing --------------------------------------------------------------------------------------


def test_events_are_framed_with_crlf_and_written_on_one_line_as_google_does() -> None:
    answer = post(
        Emulator(), f"{GEMINI_25}:streamGenerateContent?alt=sse", {"contents": [user("a<b")]}
    )
    assert answer.headers == (("content-type", "text/event-stream"),)
    assert answer.pieces[0] == (
        b'data: {"candidates": [{"content": {"parts": [{"text": "This is an "}],"role": '
        b'"model"},"index": 0}],'
        b'"usageMetadata": {"promptTokenCount": 3,"candidatesTokenCount": 4,"totalTokenCount": 31,'
        b'"promptTokensDetails": [{"modality": "TEXT","tokenCount": 3}],'
        b'"thoughtsTokenCount": 24,"serviceTier": "standard"},'
        b'"modelVersion": "gemini-2.5-flash","responseId": "6bc07e0170deb5da012da0"}\r\n\r\n'
    )
    assert b"a\\u003cb" in answer.body
    assert b"[DONE]" not in answer.body
    assert len(answer.pieces) == 4


def test_a_stream_without_alt_sse_is_one_array_that_grows() -> None:
    answer = post(Emulator(), f"{GEMINI_25}:streamGenerateContent", {"contents": [user("hi")]})
    assert answer.headers == (("content-type", "application/json; charset=UTF-8"),)
    assert [piece[:14] for piece in answer.pieces if isinstance(piece, bytes)] == [
        b'[{\n  "candidat',
        *[b'\n,\r\n{\n  "candi'] * 3,
        b"\n]",
    ]
    assert "".join(part["text"] for part in parts(said(answer))) == TEXT


def test_a_whole_answer_is_indented() -> None:
    answer = post(Emulator(), f"{GEMINI_3}:generateContent", {"contents": [user("hi")]})
    assert answer.headers == (
        ("content-type", "application/json; charset=UTF-8"),
        ("x-gemini-service-tier", "standard"),
    )
    assert answer.body.startswith(
        b'{\n  "candidates": [\n    {\n      "content": {\n        "parts": ['
    )
    assert answer.body.endswith(b"}\n")


def test_usage_stands_in_every_chunk_and_the_last_one_is_that_of_the_whole_answer() -> None:
    emulator = Emulator()
    spent = [chunk["usageMetadata"] for chunk in stream(emulator)]
    counts = [each["candidatesTokenCount"] for each in spent]
    assert counts == sorted(counts)
    assert spent[-1] == ask(emulator)["usageMetadata"]
    assert spent[-1] == {
        "promptTokenCount": 1,
        "candidatesTokenCount": 15,
        "totalTokenCount": 40,
        "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 1}],
        "thoughtsTokenCount": 24,
        "serviceTier": "standard",
    }


def test_the_same_request_gets_the_same_answer_and_another_id_each_time() -> None:
    one, other = (ask(Emulator()) for _ in range(2))
    assert one == other
    emulator = Emulator()
    assert ask(emulator)["responseId"] != ask(emulator)["responseId"]
    assert ask(Emulator(seed=1))["responseId"] != one["responseId"]


# --- shapes of the families -----------------------------------------------------------------------


def test_a_text_of_3_ends_in_a_stream_with_an_empty_part_that_has_its_signature() -> None:
    found = stream(Emulator())
    last = found[-1]["candidates"][0]
    assert last["finishReason"] == "STOP"
    assert last["content"]["parts"][0].keys() == {"text", "thoughtSignature"}
    assert last["content"]["parts"][0]["text"] == ""
    assert all("thoughtSignature" not in part for part in parts(found)[:-1])
    assert "".join(part["text"] for part in parts(found)) == TEXT
    whole = parts(ask(Emulator()))
    assert [part["text"] for part in whole] == [TEXT]
    assert whole[0]["thoughtSignature"] == last["content"]["parts"][0]["thoughtSignature"]


def test_a_text_of_25_is_signed_at_its_first_part_if_functions_are_declared_and_not_otherwise() -> (
    None
):
    quiet = {"tools": [WEATHER], "toolConfig": {"functionCallingConfig": {"mode": "NONE"}}}
    found = parts(stream(Emulator(), target=GEMINI_25, **quiet))
    assert ["thoughtSignature" in part for part in found] == [True, False, False, False]
    assert all(
        "thoughtSignature" not in part for part in parts(stream(Emulator(), target=GEMINI_25))
    )


def test_parallel_calls_of_3_have_ids_and_a_chunk_each_and_the_first_alone_is_signed() -> None:
    found = stream(Emulator(), "Weather in Paris and in Oslo?", tools=[WEATHER])
    assert [[list(part) for part in parts(chunk)] for chunk in found] == [
        [["functionCall", "thoughtSignature"]],
        [["functionCall"]],
        [["text"]],
    ]
    assert [part["functionCall"]["args"] for part in parts(found)[:2]] == [
        {"city": "Paris"},
        {"city": "Oslo"},
    ]
    assert all(len(part["functionCall"]["id"]) == 8 for part in parts(found)[:2])
    assert parts(found)[2] == {"text": ""}
    assert [chunk["candidates"][0].get("finishMessage") for chunk in found] == [
        None,
        None,
        "Model generated function call(s).",
    ]


def test_parallel_calls_of_25_come_in_one_chunk_without_ids() -> None:
    found = stream(Emulator(), "Weather in Paris and in Oslo?", GEMINI_25, tools=[WEATHER])
    assert len(found) == 1
    assert [part["functionCall"] for part in parts(found)] == [
        {"name": "get_weather", "args": {"city": "Paris"}},
        {"name": "get_weather", "args": {"city": "Oslo"}},
    ]
    assert ["thoughtSignature" in part for part in parts(found)] == [True, False]
    assert found[0]["candidates"][0]["finishReason"] == "STOP"


def test_vertex_has_its_own_fields() -> None:
    answer = said(
        Emulator().answer(
            "POST",
            f"{VERTEX}:generateContent",
            {"authorization": "Bearer t"},
            json.dumps({"contents": [user("hi")]}).encode(),
        )
    )
    assert answer["createTime"] == "2026-11-21T12:00:00.000000Z"
    assert answer["usageMetadata"]["trafficType"] == "ON_DEMAND"
    assert "index" not in answer["candidates"][0]


# --- what the model says --------------------------------------------------------------------------


def test_thoughts_are_shown_if_asked_for_and_counted_anyway() -> None:
    shown = ask(
        Emulator(), **configured(thinkingConfig={"includeThoughts": True, "thinkingLevel": "LOW"})
    )
    assert parts(shown)[0] == {
        "text": "**Reading the question**\n\nThe user said: hi\n\n",
        "thought": True,
    }
    assert shown["usageMetadata"]["thoughtsTokenCount"] == 8
    assert (
        parts(stream(Emulator(), **configured(thinkingConfig={"includeThoughts": True})))[0][
            "thought"
        ]
        is True
    )
    off = ask(Emulator(), target=GEMINI_25, **configured(thinkingConfig={"thinkingBudget": 0}))
    assert "thoughtsTokenCount" not in off["usageMetadata"]


def test_both_spellings_in_one_body() -> None:
    body = {
        "contents": [user("Weather in Oslo?")],
        "system_instruction": {"role": "user", "parts": [{"text": "Be brief."}]},
        "generationConfig": {"thinkingConfig": {"include_thoughts": True, "thinking_level": "low"}},
        "tools": [
            {
                "functionDeclarations": [
                    {
                        "name": "get_weather",
                        "parameters_json_schema": {"type": "object", "properties": {"city": {}}},
                    }
                ]
            }
        ],
        "toolConfig": None,
    }
    found = parts(said(post(Emulator(), f"{GEMINI_3}:generateContent", body)))
    assert [next(iter(part)) for part in found] == ["text", "functionCall"]


@pytest.mark.parametrize("version", ["v1", "v1beta"])
def test_both_versions(version: str) -> None:
    assert (
        parts(ask(Emulator(), target=f"/{version}/models/gemini-3.1-pro-preview"))[0]["text"]
        == TEXT
    )


@joined(
    ("config", "text"),
    [
        (
            {"responseMimeType": "application/json", "responseSchema": PLACE},
            {"city": "Oslo", "size": 3},
        ),
        (
            {
                "responseMimeType": "application/json",
                "responseJsonSchema": {"type": "array", "items": {"enum": ["a", "b"]}},
            },
            ["a"],
        ),
        ({"responseMimeType": "application/json"}, {"answer": "Oslo"}),
        (
            {"response_format": {"text": {"mimeType": "APPLICATION_JSON", "schema": {"const": 5}}}},
            5,
        ),
    ],
)
def test_an_answer_fits_its_schema(config: dict[str, Any], text: Any) -> None:
    assert (
        json.loads(parts(ask(Emulator(), "Where is Oslo?", **configured(**config)))[0]["text"])
        == text
    )


def test_an_enum_is_one_of_its_words() -> None:
    config = configured(
        responseMimeType="text/x.enum", responseSchema={"type": "STRING", "enum": ["red", "blue"]}
    )
    assert parts(ask(Emulator(), "Is it blue?", **config))[0]["text"] == "blue"


def test_too_few_tokens() -> None:
    cut = ask(Emulator(), **configured(maxOutputTokens=20))
    assert cut["candidates"][0]["finishReason"] == "MAX_TOKENS"
    assert parts(cut)[0]["text"] == "This is an emulator, and no model"
    assert (
        cut["usageMetadata"]["thoughtsTokenCount"],
        cut["usageMetadata"]["candidatesTokenCount"],
    ) == (10, 10)
    nothing = ask(Emulator(), **configured(maxOutputTokens=4))
    assert nothing["candidates"][0] == {
        "content": {"role": "model"},
        "finishReason": "MAX_TOKENS",
        "index": 0,
    }
    assert "candidatesTokenCount" not in nothing["usageMetadata"]
    assert (
        stream(Emulator(), **configured(maxOutputTokens=4))[-1]["candidates"][0]["finishReason"]
        == "MAX_TOKENS"
    )


def test_a_stop_sequence_ends_the_text_before_it() -> None:
    found = ask(Emulator(), **configured(stopSequences=["You"]))
    assert (parts(found)[0]["text"], found["candidates"][0]["finishReason"]) == (
        "This is an emulator, and no model. ",
        "STOP",
    )


def test_candidates() -> None:
    found = ask(Emulator(), target=GEMINI_25, **configured(candidateCount=2))
    assert [each["index"] for each in found["candidates"]] == [0, 1]


TIME = {
    "functionDeclarations": [
        {
            "name": "get_time",
            "parameters": {"type": "OBJECT", "properties": {"zone": {"type": "STRING"}}},
        }
    ]
}
DAYS = {
    "functionDeclarations": [
        {
            "name": "days_between",
            "parameters": {
                "type": "OBJECT",
                "properties": {
                    "start": {"type": "STRING", "format": "date"},
                    "end": {"type": "STRING", "format": "date"},
                },
            },
        }
    ]
}


@joined(
    ("question", "tools", "calls"),
    [
        ("Use get_time for Oslo", [WEATHER, TIME], [("get_time", {"zone": "Oslo"})]),
        (
            "get time, then get weather",
            [WEATHER, TIME],
            [("get_weather", {"city": "city"}), ("get_time", {"zone": "zone"})],
        ),
        ("Weather of Oslo", [TIME, WEATHER], [("get_weather", {"city": "Oslo"})]),
        ("sing", [TIME, WEATHER], [("get_time", {"zone": "zone"})]),
        ("Call get_time twice", [TIME], [("get_time", {"zone": "zone"})] * 2),
        (
            "days between 2026-03-01 and 2026-11-21",
            [DAYS],
            [("days_between", {"start": "2026-03-01", "end": "2026-11-21"})],
        ),
        ("東京の天気", [WEATHER], [("get_weather", {"city": "東京"})]),
    ],
)
def test_functions_are_chosen_by_the_words_of_the_question(
    question: str, tools: list[Any], calls: list[Any]
) -> None:
    found = [part["functionCall"] for part in parts(ask(Emulator(), question, tools=tools))]
    assert [(call["name"], call["args"]) for call in found] == calls


def test_modes_of_calling() -> None:
    def asked(**config: Any) -> list[Any]:
        return [
            next(iter(part))
            for part in parts(
                ask(Emulator(), tools=[TIME, WEATHER], toolConfig={"functionCallingConfig": config})
            )
        ]

    assert asked(mode="NONE") == ["text"]
    assert asked(mode="AUTO") == ["functionCall"]
    forced = ask(
        Emulator(),
        tools=[TIME, WEATHER],
        toolConfig={
            "functionCallingConfig": {"mode": "any", "allowedFunctionNames": ["get_weather"]}
        },
    )
    assert [part["functionCall"]["name"] for part in parts(forced)] == ["get_weather"]


# --- counting -------------------------------------------------------------------------------------


def test_count_tokens_of_contents_and_of_a_whole_request() -> None:
    emulator = Emulator()
    bare = said(post(emulator, f"{GEMINI_3}:countTokens", {"contents": [user("hi there")]}))
    assert bare == {
        "totalTokens": 3,
        "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 3}],
    }
    request = {
        "model": "models/gemini-3.1-pro-preview",
        "contents": [user("hi there")],
        "tools": [WEATHER],
    }
    whole = said(post(emulator, f"{GEMINI_3}:countTokens", {"generate_content_request": request}))
    assert (
        whole["totalTokens"]
        == ask(emulator, "hi there", tools=[WEATHER])["usageMetadata"]["promptTokenCount"]
    )
    image = {"role": "user", "parts": [{"inlineData": {"mimeType": "image/png", "data": "aGk="}}]}
    assert said(post(emulator, f"{GEMINI_3}:countTokens", {"contents": [image]}))[
        "promptTokensDetails"
    ] == [{"modality": "IMAGE", "tokenCount": 258}]
    assert (
        error(post(emulator, f"{GEMINI_3}:countTokens", {}))[2]
        == "* GenerateContentRequest.contents: contents is not specified\n"
    )
