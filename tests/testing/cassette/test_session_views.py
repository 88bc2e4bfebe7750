"""Sessions in what reads cassettes: the format, views, checks, drift, comparisons, conversions."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from wire.errors import CassetteError
from wire.testing import Snapshots
from wire.testing.cassette.checks.checking import check
from wire.testing.cassette.checks.drift import drift
from wire.testing.cassette.convert.conversion import convert
from wire.testing.cassette.format.bodies import body_bytes
from wire.testing.cassette.format.file import dump, load
from wire.testing.cassette.format.structs import Interaction
from wire.testing.cassette.views.comparison import compare
from wire.testing.cassette.views.conversation import conversation
from wire.testing.cassette.views.page import page
from wire.testing.cassette.views.text import conversation_text

URL = "wss://api.openai.com/v1/realtime?model=gpt-realtime"
AUDIO = "UklGRg" + "A" * 4000 + "=="
MESSAGES: list[dict[str, Any]] = [
    {"direction": "received", "after": 30, "body": {"json": {"type": "session.created"}}},
    {
        "direction": "sent",
        "after": 5,
        "body": {"json": {"type": "input_audio_buffer.append", "audio": AUDIO}},
    },
    {"direction": "received", "after": 200, "binary": True, "body": {"text": ["no <json>"]}},
    {"direction": "received", "after": 10, "body": {"base64": ["//8="]}},
    {"direction": "received"},
]


def text(
    messages: Any = MESSAGES, url: str = URL, status: int = 101, more: Any = None, **response: Any
) -> str:
    """A cassette with one session, by hand as the format's page describes it."""
    response = {"status": status, "end": "closed by the caller", **response}
    interaction = {
        "started": 0,
        "request": {"method": "GET", "url": url},
        "response": response,
        **({} if messages is None else {"messages": messages}),
        **(more or {}),
    }
    return json.dumps({"wire_cassette": 1, "interactions": [interaction]})


def interactions(written: str) -> list[Interaction]:
    return load(written.encode(), "s").interactions


CLOSED = {"close": {"code": 1011, "reason": "Internal <error>"}, "end": "eof"}


# --- the format -----------------------------------------------------------------------------------


def test_what_is_loaded_is_written_again() -> None:
    found = interactions(text(**CLOSED))
    assert dump(interactions(dump(found))) == dump(found)
    assert json.loads(dump(found))["interactions"][0]["response"] == {"status": 101, **CLOSED}
    data = [body_bytes(each.body) for each in found[0].messages or ()]
    assert data[0] == b'{"type":"session.created"}'
    assert data[2:] == [b"no <json>", b"\xff\xff", b""]


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        (text(status=200), r"messages are allowed with status 101 only"),
        (text(body={"text": ["x"]}), r"messages are allowed with status 101 only, without bodies"),
        (text(None, close={"code": 1000}, end="eof"), r"close is allowed with messages only"),
        (text(end="eof"), r"has a close if its end is eof, and else none"),
        (text(close={"code": 1000}), r"has a close if its end is eof, and else none"),
        (text(close={"code": 999}, end="eof"), r"\$\.interactions\[0\]\.response\.close\.code"),
        (
            text(close={"code": 1000, "reason": "x" * 124}, end="eof"),
            r"a close message has room for 123 bytes",
        ),
        (text([{"direction": "up"}]), r"messages\[0\]\.direction"),
        (text([{"direction": "sent", "of": 1}]), r"unknown field `of`"),
        (
            text([{"direction": "sent", "body": {"events": [{"data": "x"}]}}]),
            r"a message has no events",
        ),
    ],
)
def test_what_is_no_session_is_refused_with_its_place(written: str, problem: str) -> None:
    with pytest.raises(CassetteError, match=problem):
        interactions(written)
    found = check(written.encode(), "s")
    assert [each.kind for each in found] == ["format"]


def test_credentials_in_messages_of_a_foreign_file_are_shown_nowhere() -> None:
    tool = {"type": "mcp", "server_label": "s", "authorization": "fake-token-of-tool"}
    sent = {"direction": "sent", "body": {"json": {"type": "x", "tools": [tool]}}}
    found = interactions(text([sent]))
    assert b"fake-token" not in body_bytes((found[0].messages or [])[0].body)


# --- checks and drift -----------------------------------------------------------------------------


def test_drift_tells_the_direction_of_a_message() -> None:
    messages = [
        {"direction": "sent", "body": {"json": {"type": "session.update", "mood": 1}}},
        {"direction": "received", "body": {"json": {"type": "session.created", "tide": "high"}}},
        {"direction": "received", "body": {"json": {"type": "session.updated", "tide": "low"}}},
        {"direction": "received", "body": {"text": ["no json"]}},
    ]
    found = drift(interactions(text(messages))[0])
    assert [str(each) for each in found] == [
        "sent message 0, $.mood: unknown key with the value: 1",
        'received message 1, $.tide: unknown key with the value: "high", 2 times',
        'received message 3, $: not a readable JSON object: "no json"',
    ]


@pytest.mark.parametrize(
    ("url", "sent", "received"),
    [
        (
            "wss://generativelanguage.googleapis.com/ws/google.ai.generativelanguage.v1beta."
            "GenerativeService.BidiGenerateContent",
            {"client_content": {"turnComplete": True, "mood": 1}},
            {"setupComplete": {}, "mood": 1},
        ),
        (
            "wss://api.openai.com/v1/responses",
            {"type": "response.create", "model": "m", "input": "Hi", "mood": 1},
            {"type": "response.created", "mood": 1},
        ),
        (
            "wss://r.services.ai.azure.com/voice-live/realtime?model=m",
            {"type": "response.create", "mood": 1},
            {"type": "session.created", "mood": 1},
        ),
    ],
    ids=["live", "responses", "voice live"],
)
def test_each_session_is_read_with_the_structs_of_its_wire(
    url: str, sent: dict[str, Any], received: dict[str, Any]
) -> None:
    messages = [
        {"direction": "sent", "body": {"json": sent}},
        {"direction": "received", "body": {"json": received}},
    ]
    found = drift(interactions(text(messages, url))[0])
    assert [(each.place, each.path.rpartition(".")[2], each.kind) for each in found] == [
        ("sent message 0", "mood", "key"),
        ("received message 1", "mood", "key"),
    ]


def test_a_session_of_no_wire_and_one_that_broke_off_are_notes() -> None:
    written = text([], "wss://llm.example/talk", end="cut")
    found = check(written.encode(), "s", with_drift=True)
    assert [(each.kind, each.is_fault) for each in found] == [
        ("incomplete", False),
        ("unknown", False),
    ]


def test_a_key_in_a_message_is_found_by_the_scan() -> None:
    key = "sk-" + "proj-" + "abcdEFGH1234" * 4
    sent = {"direction": "sent", "body": {"json": {"type": "x", "text": f"my key {key}"}}}
    (found,) = check(text([sent]).encode(), "s")
    assert found.kind == "secret"
    assert found.path == "$.interactions[0].messages[0].body.json.text"


# --- views ----------------------------------------------------------------------------------------


def test_a_session_is_shown_as_text() -> None:
    shown = conversation_text(conversation(interactions(text(**CLOSED)), "s.json"))
    assert shown.split("\n") == [
        "s.json: 1 exchange",
        "",
        "[1] GET wss://api.openai.com/v1/realtime?model=gpt-realtime",
        "             gpt-realtime",
        '  received   30 ms  {"type": "session.created"}',
        '  sent       35 ms  {"type": "input_audio_buffer.append", "audio": '
        '"<3,004 bytes of base64>"}',
        "  received   235 ms  binary  no <json>",
        '  received   245 ms  {"size": 2, "sha256": '
        '"ca2fd00fa001190744c15c317643ab092e7048ce086a243e2be9437c898de1bb"}',
        "  received   245 ms",
        "  =>         101, messages: 1 sent, 4 received, closed by the server with 1011",
        "  error      ServerError: Internal <error>",
    ]


def test_a_session_as_data_has_its_messages_whole() -> None:
    [exchange] = conversation(interactions(text()), "s").exchanges
    assert exchange.messages[1].body["audio"] == AUDIO
    assert [(each.direction, each.at, each.name) for each in exchange.messages] == [
        ("received", 30, "session.created"),
        ("sent", 35, "input_audio_buffer.append"),
        ("received", 235, ""),
        ("received", 245, ""),
        ("received", 245, ""),
    ]
    assert not exchange.failed
    assert exchange.times.chunks == [30, 35, 235, 245, 245]


@pytest.mark.parametrize(("end", "failed"), [("cut", True), ("timeout", True), ("reset", True)])
def test_a_session_that_broke_off_has_failed(end: str, failed: bool) -> None:
    [exchange] = conversation(interactions(text(end=end)), "s").exchanges
    assert exchange.failed is failed


def test_the_model_of_live_is_that_of_its_setup() -> None:
    setup = {"direction": "sent", "body": {"json": {"setup": {"model": "models/gemini-live"}}}}
    [exchange] = conversation(interactions(text([setup], "wss://g.example/ws/Bidi")), "s").exchanges
    assert exchange.model == "gemini-live"


def test_the_page_has_both_directions_with_their_times() -> None:
    made = page(interactions(text(**CLOSED)), "s.json")
    items = re.findall(r'<li class="(sent|received)">(.*?)</li>', made, re.DOTALL)
    assert [way for way, _ in items] == ["received", "sent", *["received"] * 3]
    assert "\N{RIGHTWARDS ARROW} client <code>input_audio_buffer.append</code>" in items[1][1]
    assert "<small>35 ms</small>" in items[1][1]
    assert "\N{LEFTWARDS ARROW} server" in items[2][1]
    assert "<small>binary</small>" in items[2][1]
    assert "no &lt;json&gt;" in items[2][1]
    assert "AAAAAAAA" not in made
    assert "Internal &lt;error&gt;" in made


def test_a_comparison_names_the_message_that_differs() -> None:
    other = [*MESSAGES[:2], {"direction": "received", "body": {"text": ["tide"]}}, MESSAGES[4]]
    left, right = interactions(text()), interactions(text(other, **CLOSED))
    assert compare(left, left).equal
    changes = compare(left, right).pairs[0].changes
    assert [each.path for each in changes] == [
        "messages[2] $.body",
        "messages[3] $",
        "close",
        "end",
    ]


def test_snapshots_have_the_messages_with_stable_ids(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    ids = [
        {"direction": "received", "body": {"json": {"type": "a", "id": "item_81"}}},
        {"direction": "sent", "body": {"json": {"type": "b", "item_id": "item_81"}}},
        {"direction": "received", "body": {"text": ["tide"]}},
    ]
    path.write_text(text(ids), "utf-8")
    assert Snapshots(path).messages == [
        [
            {"direction": "received", "body": {"type": "a", "id": "<id:1>"}},
            {"direction": "sent", "body": {"type": "b", "item_id": "<id:1>"}},
            {"direction": "received", "body": "tide"},
        ]
    ]


# --- conversions ----------------------------------------------------------------------------------


def test_a_har_has_a_session_and_gives_it_back() -> None:
    converted = convert(text(**CLOSED).encode(), "s", "har")
    [entry] = json.loads(converted.text)["log"]["entries"]
    assert entry["_resourceType"] == "websocket"
    assert entry["_webSocketMessages"][1] == {
        "type": "send",
        "time": 0.035,
        "opcode": 1,
        "data": json.dumps(MESSAGES[1]["body"]["json"], separators=(",", ":")),
    }
    assert entry["_webSocketMessages"][2]["opcode"] == 2
    back = interactions(convert(converted.text.encode(), "s").text)[0]
    found = interactions(text(**CLOSED))[0]
    told = [
        [(each.direction, body_bytes(each.body)) for each in side.messages or ()]
        for side in (found, back)
    ]
    assert told[0] == told[1]
    assert (back.response.close, back.response.end) == (found.response.close, "eof")
    assert back.request.url == URL


def test_a_session_of_chromium_is_converted() -> None:
    har = json.loads(convert(text().encode(), "s", "har").text)
    del har["log"]["entries"][0]["response"]["_error"]
    [found] = interactions(convert(json.dumps(har).encode(), "s").text)
    assert found.response.end == "closed by the caller"
    har["log"]["entries"][0]["_webSocketMessages"][0]["opcode"] = 9
    with pytest.raises(CassetteError, match=r"_webSocketMessages\[0\]\.opcode: expected 1"):
        convert(json.dumps(har).encode(), "s")
    har["log"]["entries"][0]["response"]["status"] = 403
    notes = convert(json.dumps(har).encode(), "s").notes
    assert notes[0] == "$.log.entries[0]: not converted: a WebSocket that was not opened"


def test_a_session_is_left_out_of_vcr_with_a_note() -> None:
    pytest.importorskip("yaml", reason="PyYAML is in the extra `yaml`")
    converted = convert(text().encode(), "s", "vcr")
    assert "wss:" not in converted.text
    assert "a session over WebSocket: not converted, the format has none" in converted.notes


def test_commands_read_sessions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from wire.cli import main

    path, out = tmp_path / "s.cassette.json", tmp_path / "s.html"
    path.write_text(text(), "utf-8")
    assert main(["cassette", "show", str(path)]) == 0
    assert "input_audio_buffer.append" in capsys.readouterr().out
    assert main(["cassette", "show", "--html", str(out), str(path)]) == 0
    assert "input_audio_buffer.append" in out.read_text("utf-8")
    assert (
        main(["cassette", "check", "--drift", str(path)]) == 1
    )  # the audio is no event of a server
    assert "received message 2, $: not a readable JSON object" in capsys.readouterr().out
