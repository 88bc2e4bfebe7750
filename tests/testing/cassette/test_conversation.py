"""`wire cassette show`: a recording as a person reads it, on all wires."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.joined import joined
from tests.testing.cassette.conversations import (
    CHAT_CUT,
    CHAT_WHOLE,
    EMBEDDINGS,
    EVERYTHING,
    GEMINI,
    GEMINI_TOOLS,
    HOSTILE,
    LIST,
    MESSAGES,
    RESPONSES,
    UPLOAD,
    interaction,
    text_of,
)
from tests.testing.cassette.samples import BODIES, ODD, STREAMS
from wire.cli import main
from wire.core.printable import UNSAFE
from wire.testing.cassette.format.bodies import read_body
from wire.testing.cassette.format.file import load
from wire.testing.cassette.format.structs import Interaction, Request, Response
from wire.testing.cassette.views.comparison import compare
from wire.testing.cassette.views.conversation import Exchange, conversation
from wire.testing.cassette.views.page import page
from wire.testing.cassette.views.parts import Turn
from wire.testing.cassette.views.text import conversation_text

ROOT = Path(__file__).parents[2]
CASSETTES = sorted((ROOT / "fixtures").rglob("*.cassette.json"))
URLS = {
    "gemini": f"{GEMINI}:generateContent",
    "openai": "https://llm.example/v1/chat/completions",
    "anthropic": "https://llm.example/v1/messages",
    "openai.responses": "https://llm.example/v1/responses",
    "": "https://llm.example/v1/other",
}


def read(*interactions: Interaction) -> list[Exchange]:
    return conversation(interactions).exchanges


def told(turns: list[Turn]) -> list[Any]:
    """Roles and parts, without fields that have their default."""
    return [
        (turn.role, *(tuple(msgspec.to_builtins(part).values()) for part in turn.parts))
        for turn in turns
    ]


def test_a_conversation_of_gemini_is_read():
    first, _, last = read(*GEMINI_TOOLS)
    assert (first.wire, first.model, first.tools) == ("gemini", "gemini-3.8-flash", ["high_tide"])
    assert first.settings == {"generationConfig": {"temperature": 0.2}}
    assert told(last.turns) == [
        ("system", ("text", "Answer in one line.")),
        (
            "user",
            ("text", "When is high tide in Brest?\nThe chart is attached."),
            ("file", "image/png", 2048),
        ),
        (
            "assistant",
            ("thought", "The tide table knows."),
            ("call", "high_tide", "fc-1", {"port": "Brest"}, "U2lnbmVkIGJ5IG5vYm9keQ=="),
        ),
        ("tool", ("result", "high_tide", "fc-1", {"high": ["05:12", "17:40"]})),
    ]
    assert told([last.reply]) == [("assistant", ("text", "High tide is at 05:12 and 17:40."))]
    assert (last.stop.reason, last.stop.raw, last.events) == ("end", "STOP", 3)
    assert (last.usage["input"], last.usage["cached"]) == (1352, 1024)


def test_gemini_requests_may_have_the_other_spelling_of_keys():
    call = {"name": "high_tide", "args": {"a_port": "Brest"}}
    content = {"role": "model", "parts": [{"function_call": call, "thought_signature": "c2ln"}]}
    result = {"role": "user", "parts": [{"function_response": {"name": "high_tide"}}]}
    sent = {"system_instruction": {"parts": {"text": "Hi"}}, "contents": [content, result]}
    [each] = read(interaction(URLS["gemini"], sent, {}))
    call_part = each.turns[1].parts[0]
    assert (call_part.kind, call_part.value) == ("call", {"a_port": "Brest"})
    assert call_part.signature == "c2ln"
    assert [(turn.role, turn.parts[0].kind) for turn in each.turns] == [
        ("system", "text"),
        ("assistant", "call"),
        ("tool", "result"),
    ]


def test_a_conversation_of_chat_completions_is_read():
    [read_once] = read(CHAT_WHOLE)
    assert (read_once.model, read_once.settings) == ("gpt-5.4", {"stream": True})
    assert told(read_once.turns) == [
        ("developer", ("text", "Answer in one line.")),
        ("user", ("text", "And in Whitby?"), ("file", "https://llm.example/chart.png")),
        ("assistant", ("call", "high_tide", "call_a", {"port": "Whitby"})),
        ("tool", ("result", "09:05", "high_tide", "call_a")),
    ]
    assert read_once.turns[1].name == "ann"
    assert told([read_once.reply]) == [("assistant", ("text", "At 09:05."))]


def test_a_conversation_of_messages_is_read():
    [read_once] = read(MESSAGES)
    assert read_once.settings == {"max_tokens": 400}
    assert told(read_once.turns) == [
        ("system", ("text", "Answer in one line.")),
        ("user", ("text", "Read the table."), ("file", "tides.txt", "text/plain", 5)),
        (
            "assistant",
            ("thought", "Look it up.", "c2lnbmF0dXJl"),
            ("call", "high_tide", "toolu_a", {"port": "Brest"}),
        ),
        ("tool", ("result", "no such port", "high_tide", "toolu_a", True)),
    ]
    assert told([read_once.reply]) == [("assistant", ("text", "The table has no Brest."))]


def test_a_conversation_of_responses_is_read():
    [read_once] = read(RESPONSES)
    assert read_once.tools == ["high_tide", "web_search"]
    assert told(read_once.turns) == [
        ("system", ("text", "Answer in one line.")),
        ("user", ("text", "And in Ostend?")),
        (
            "assistant",
            ("thought", "A port of Belgium.", "gAAAAB"),
            ("call", "high_tide", "call_ost", {"port": "Ostend"}),
        ),
        ("tool", ("result", '{"high":"04:31"}', "high_tide", "call_ost")),
    ]
    assert told([read_once.reply]) == [("assistant", ("text", "At 04:31."))]


def test_a_retry_is_the_second_attempt_of_the_same_request():
    exchanges = read(*GEMINI_TOOLS)
    assert [(each.attempt, each.of_attempts) for each in exchanges] == [(1, 2), (2, 2), (1, 1)]
    assert (exchanges[0].status, exchanges[0].retry_after) == (503, "2")
    assert exchanges[0].error.type == "OverloadedError"
    assert [each.failed for each in exchanges] == [True, False, False]


def test_the_same_request_after_a_success_is_no_retry():
    assert [each.of_attempts for each in read(EMBEDDINGS, EMBEDDINGS)] == [1, 1]
    cut_twice = read(CHAT_CUT, CHAT_CUT, CHAT_WHOLE, CHAT_WHOLE)
    assert [(each.attempt, each.of_attempts) for each in cut_twice] == [
        (1, 3),
        (2, 3),
        (3, 3),
        (1, 1),
    ]


def test_turns_that_an_earlier_exchange_has_are_known():
    assert [(each.continues, each.known) for each in read(*GEMINI_TOOLS)] == [
        (0, 0),
        (1, 2),
        (2, 3),
    ]
    assert [each.known for each in read(MESSAGES, CHAT_WHOLE)] == [0, 0]


def test_a_stream_that_was_cut_shows_what_arrived_and_the_error():
    [cut] = read(CHAT_CUT)
    assert told([cut.reply]) == [("assistant", ("text", "At 09"))]
    assert (cut.end, cut.stop.reason, cut.error.type) == ("cut", "other", "StreamIncomplete")
    assert cut.notes == ["partial: the response is incomplete"]


def test_a_stream_with_an_error_event_stops_with_its_words():
    error = ("error", {"type": "error", "error": {"type": "overloaded_error", "message": "Busy"}})
    start = ("message_start", {"type": "message_start", "message": {"id": "m", "content": []}})
    block = {"type": "content_block_start", "index": 0}
    text = ("content_block_start", {**block, "content_block": {"type": "text", "text": "At"}})
    [each] = read(interaction(URLS["anthropic"], {}, [start, text, error]))
    assert (each.stop.reason, each.stop.message) == ("error", "Busy")
    assert (each.error.type, each.error.message) == ("OverloadedError", "Busy")
    assert told([each.reply]) == [("assistant", ("text", "At"))]
    assert each.failed


@pytest.mark.parametrize(
    ("wire", "received"),
    [
        (
            "openai",
            {
                "choices": [
                    {
                        "message": {
                            "content": "At 05:12.",
                            "reasoning_details": [
                                {"type": "reasoning.encrypted", "data": "c2VhbGVk", "index": 0}
                            ],
                        },
                        "finish_reason": "stop",
                    }
                ]
            },
        ),
        (
            "anthropic",
            {
                "type": "message",
                "content": [
                    {"type": "redacted_thinking", "data": "c2VhbGVk"},
                    {"type": "text", "text": "At 05:12."},
                ],
                "stop_reason": "end_turn",
            },
        ),
    ],
    ids=["openai", "anthropic"],
)
def test_the_encrypted_content_of_a_thought_is_its_signature(wire: str, received: Any):
    [each] = read(interaction(URLS[wire], {}, received))
    assert {part.kind: part.signature for part in each.reply.parts} == {
        "thought": "c2VhbGVk",
        "text": "",
    }


def test_a_url_is_shown_without_its_key_and_may_be_malformed():
    keyed, odd = read(
        interaction(f"{GEMINI}:generateContent?key=fake-key-of-a-test", {}, {}),
        interaction("https://[llm.example/v1/messages", {}, {}),
    )
    assert keyed.url == f"{GEMINI}:generateContent?key=***"
    assert (odd.url, odd.wire) == ("https://[llm.example/v1/messages", "anthropic")
    assert "x1" in page([interaction(odd.url, {}, {})], "x.json")
    assert compare([interaction(odd.url, {}, {})], [interaction(odd.url, {}, {})]).equal


def test_other_endpoints_show_their_json():
    upload, embeddings, listed = read(UPLOAD, EMBEDDINGS, LIST)
    assert upload.request == {
        "media_type": "application/json",
        "size": 6,
        "sha256": hashlib.sha256(b"\x89PNG\xff\xfe").hexdigest(),
    }
    assert upload.response["file"]["name"] == "files/abc"
    assert embeddings.request == {"model": "text-embedding-3-small", "input": "tide"}
    assert (listed.method, listed.request, listed.response) == ("GET", msgspec.UNSET, {"data": []})
    assert {each.wire for each in (upload, embeddings, listed)} == {""}


def test_what_is_no_conversation_is_shown_as_it_is():
    [odd] = read(interaction(URLS["openai"], {"messages": 5}, {"no": "choices"}))
    assert [(part.kind, part.value) for part in odd.turns[0].parts] == [("other", 5)]
    assert odd.response == {"no": "choices"}
    assert odd.error.type == "StreamInvalid"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "role",
                    "content",
                    "type",
                    "text",
                    "parts",
                    "source",
                    "data",
                    "id",
                    "name",
                    "input",
                    "output",
                    "arguments",
                    "messages",
                    "contents",
                    "tools",
                    "function",
                    "inlineData",
                    "functionResponse",
                    "functionCall",
                    "system",
                ]
            )
            | st.text(max_size=3),
            inner,
            max_size=4,
        )
    ),
    max_leaves=16,
)
KEYS = ("contents", "messages", "input", "system", "systemInstruction", "instructions", "tools")


@given(st.sampled_from(sorted(URLS)), st.dictionaries(st.sampled_from(KEYS), JSON), JSON)
def test_no_body_makes_it_fail(wire: str, sent: Any, received: Any):
    shown = conversation([interaction(URLS[wire], sent, received)], "x.json")
    assert shown.exchanges[0].wire == wire
    assert "llm.example" in conversation_text(shown) or wire == "gemini"
    msgspec.json.encode(shown)


@joined("wire", sorted(URLS))
@joined("name", sorted({**STREAMS, **BODIES, **ODD}))
def test_each_body_of_the_samples_can_be_shown(wire: str, name: str):
    body = read_body({**STREAMS, **BODIES, **ODD}[name])
    each = Interaction(
        request=Request(method="POST", url=URLS[wire], body=body),
        response=Response(status=200, body=body, end="eof"),
    )
    text = conversation_text(conversation([each], "x.json"))
    assert "=>         200" in text
    assert not re.search(f"(?![\n\t\u200c\u200d])[{UNSAFE}]", text)


@joined("path", CASSETTES, ids=lambda path: path.stem)
def test_each_cassette_of_the_fixtures_can_be_shown(path: Path):
    interactions = load(path.read_bytes(), str(path)).interactions
    exchanges = conversation(interactions).exchanges
    assert len(exchanges) == len(interactions)
    for each in exchanges:
        if each.wire and each.status == 200 and each.end == "eof":
            assert each.reply.parts, each.number


# --- the command ----------------------------------------------------------------------------------


@pytest.fixture
def cassette(tmp_path: Path) -> Path:
    path = tmp_path / "tide.json"
    path.write_text(text_of(*EVERYTHING), "utf-8")
    return path


def test_show_prints_the_conversation(cassette: Path, capsys: pytest.CaptureFixture[str]):
    cassette.write_text(text_of(*GEMINI_TOOLS[1:]), "utf-8")
    assert main(["cassette", "show", str(cassette)]) == 0
    out = capsys.readouterr().out
    assert (
        out.replace(str(cassette), "tide.json").replace(GEMINI, "G")
        == """\
tide.json: 2 exchanges

[1] POST G:generateContent
             gemini  gemini-3.8-flash  generationConfig {"temperature": 0.2}  tools high_tide
  system     Answer in one line.
  user       When is high tide in Brest?
             The chart is attached.
  user       [image/png, 2.0 KiB]
  thought    The tide table knows.
  call       high_tide {"port": "Brest"} (fc-1)  [signature, 24 characters]
  =>         200, stop: tool_calls (STOP), 1,290 tokens in, 52 out, 40 of thoughts

[2] POST G:streamGenerateContent?alt=sse
             gemini  gemini-3.8-flash  generationConfig {"temperature": 0.2}  tools high_tide
             (goes on from [1])
  result     high_tide (fc-1) {"high": ["05:12", "17:40"]}
  assistant  High tide is at 05:12 and 17:40.
  =>         200, stop: end (STOP), 1,352 tokens in, 9 out, 1,024 from a cache, 3 events
"""
    )


def test_show_prints_the_same_as_json(cassette: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["cassette", "show", "--json", str(cassette)]) == 0
    out = json.loads(capsys.readouterr().out)
    assert out["name"] == str(cassette)
    assert len(out["exchanges"]) == len(EVERYTHING)
    assert out["exchanges"][2]["reply"]["parts"] == [
        {"kind": "text", "text": "High tide is at 05:12 and 17:40."}
    ]


def test_a_terminal_gets_no_control_character(cassette: Path, capsys: pytest.CaptureFixture[str]):
    cassette.write_text(text_of(HOSTILE), "utf-8")
    for options in ([], ["--json"]):
        assert main(["cassette", "show", *options, str(cassette)]) == 0
        out = capsys.readouterr().out
        assert not re.search(f"(?!\n)[{UNSAFE}]", out)
        assert "owned" in out


def test_a_broken_file_is_named(cassette: Path, capsys: pytest.CaptureFixture[str]):
    cassette.write_text('{"wire_cassette": 1,\n"interactions": [5]}', "utf-8")
    assert main(["cassette", "show", str(cassette)]) == 2
    err = capsys.readouterr().err
    assert f"{cassette}, line 2: $.interactions[0]: expected `object`" in err
    assert main(["cassette", "show", str(cassette.with_name("none.json"))]) == 2
    assert "none.json" in capsys.readouterr().err


def test_against_needs_a_page(cassette: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["cassette", "show", str(cassette), "--against", str(cassette)]) == 2
    assert "--against: needs --html" in capsys.readouterr().err
