"""`wire cassette diff`: two recordings apart by meaning."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.testing.cassette.conversations import (
    CHAT_CUT,
    CHAT_SENT,
    CHAT_WHOLE,
    EMBEDDINGS,
    EVERYTHING,
    GEMINI_TOOLS,
    MESSAGES,
    interaction,
    text_of,
)
from wire.cli import main
from wire.errors import ConfigurationError
from wire.testing.cassette.format.file import load
from wire.testing.cassette.format.structs import Interaction
from wire.testing.cassette.views.comparison import Change, compare


def edited(interactions: list[Interaction], *edits: tuple[str, str]) -> list[Interaction]:
    text = text_of(*interactions)
    for old, new in edits:
        assert old in text
        text = text.replace(old, new)
    return load(text.encode(), "edited.json").interactions


def changes(left: list[Interaction], right: list[Interaction], **options: Any) -> list[Change]:
    return [change for pair in compare(left, right, **options).pairs for change in pair.changes]


def test_a_recording_equals_itself():
    compared = compare(EVERYTHING, EVERYTHING)
    assert compared.equal
    assert [(pair.left, pair.right) for pair in compared.pairs] == [
        (number, number) for number in range(1, len(EVERYTHING) + 1)
    ]


def test_ids_times_and_signatures_do_not_count_unless_asked():
    new = edited(
        [CHAT_WHOLE, MESSAGES],
        ("chatcmpl-a", "chatcmpl-b"),
        ("1789000000", "1789000009"),
        ("toolu_a", "toolu_b"),
        ("c2lnbmF0dXJl", "c2lnbmF0dXJm"),
    )
    assert compare([CHAT_WHOLE, MESSAGES], new).equal
    exact = [change.path for change in changes([CHAT_WHOLE, MESSAGES], new, exact=True)]
    assert exact[:2] == ["events[0] $.id", "events[0] $.created"]
    assert "request $.messages[1].content[1].id" in exact
    assert "request $.messages[1].content[0].signature" in exact


def test_bytes_of_the_same_size_differ_by_their_digest():
    url = "https://llm.example/upload"
    left, right = (interaction(url, data, {}) for data in (b"\xff\x01", b"\xff\x02"))
    assert [change.path for change in changes([left], [right])] == ["request $.sha256"]


def test_an_id_in_another_place_counts():
    new = edited([MESSAGES], ('"tool_use_id": "toolu_a"', '"tool_use_id": "toolu_b"'))
    assert [change.path for change in changes([MESSAGES], new)] == [
        "request $.messages[2].content[0].tool_use_id"
    ]


def test_a_changed_prompt_and_answer_are_named_by_path():
    new = edited([CHAT_WHOLE], ("And in Whitby?", "And in Ostend?"), ('"09:05."', '"04:31."'))
    assert changes([CHAT_WHOLE], new) == [
        Change("request $.messages[1].content[0].text", '"And in Whitby?"', '"And in Ostend?"'),
        Change("reply $.reply.parts[0].text", '"At 09:05."', '"At 04:31."'),
        Change("events[1] $.choices[0].delta.content", '"09:05."', '"04:31."'),
    ]


def test_ignored_paths_do_not_count():
    new = edited([EMBEDDINGS], ('"tide"', '"ebb"'), ("0.25", "0.75"))
    assert [change.path for change in changes([EMBEDDINGS], new, ignore=["$.input"])] == [
        "response $.data[0].embedding[0]"
    ]
    assert compare([EMBEDDINGS], new, ignore=["$.input", "$..embedding"]).equal
    with pytest.raises(ConfigurationError, match=r"^ignore: expected a JSON path"):
        compare([], [], ignore=["input"])


def test_events_that_were_added_or_removed_are_listed():
    ping = ("ping", {"type": "ping"})
    url = "https://llm.example/v1/other"
    few = interaction(url, {}, ["a", "b"])
    many = interaction(url, {}, ["a", ping, "b", "c"])
    assert changes([few], [many]) == [
        Change("events[1] of the second $", "", '{"ping": {"type": "ping"}}'),
        Change("events[3] of the second $", "", '"c"'),
    ]
    assert changes([many], [few]) == [
        Change("events[1] $", '{"ping": {"type": "ping"}}', ""),
        Change("events[3] $", '"c"', ""),
    ]


def test_many_events_without_a_common_end_are_compared_by_position():
    url = "https://llm.example/v1/other"
    few, many = (interaction(url, {}, ["a", *["x"] * n, "z"]) for n in (2_000, 2_100))
    assert len(changes([few], [many])) == 100
    few, many = (interaction(url, {}, [f"{n}", *["x"] * n, f"{n}"]) for n in (2_000, 2_100))
    assert changes([few], [many])[:3] == [
        Change("events[0] $", '"2000"', '"2100"'),
        Change("events[2001] $", '"2000"', '"x"'),
        Change("events[2002] of the second $", "", '"x"'),
    ]


def test_folded_compares_the_reply_and_not_its_pieces():
    def chunk(text: str | None, **more: Any) -> Any:
        return {"choices": [{"index": 0, "delta": {"content": text}, **more}]}

    url = "https://llm.example/v1/chat/completions"
    end = [chunk(None, finish_reason="stop"), "[DONE]"]
    one = interaction(url, CHAT_SENT, [chunk("At 09:05."), *end])
    two = interaction(url, CHAT_SENT, [chunk("At "), chunk("09:05."), *end])
    assert [change.path.partition(" ")[0] for change in changes([one], [two])] == [
        "events[0]",
        "events[1]",
    ]
    assert compare([one], [two], folded=True).equal
    other = interaction(url, CHAT_SENT, [chunk("At "), chunk("09:06."), *end])
    assert not compare([one], [other], folded=True).equal


def test_status_end_and_headers_count():
    fault = interaction(
        "https://api.openai.com/v1/embeddings", {}, {}, 429, retry_after="2", x_ratelimit_limit="9"
    )
    done = interaction("https://api.openai.com/v1/embeddings", {}, {}, x_ratelimit_limit="8")
    assert changes([fault], [done]) == [
        Change("status", "429", "200"),
        Change("response header retry-after", "2", ""),
    ]
    assert ("end", "cut", "eof") in [
        (change.path, change.old, change.new) for change in changes([CHAT_CUT], [CHAT_WHOLE])
    ]


def test_interactions_without_a_partner_are_named():
    compared = compare(GEMINI_TOOLS, [*GEMINI_TOOLS[1:], EMBEDDINGS])
    assert [(pair.left, pair.right) for pair in compared.pairs] == [
        (1, 0),
        (2, 1),
        (3, 2),
        (0, 3),
    ]
    assert [pair.changes for pair in compared.pairs] == [
        [Change("only in the first")],
        [],
        [],
        [Change("only in the second")],
    ]


def test_a_changed_request_is_compared_with_the_attempt_that_had_the_same_status():
    url = "https://llm.example/v1/other"
    fault, done = interaction(url, {"n": 1}, {}, 503), interaction(url, {"n": 1}, {})
    compared = compare([fault, done], [interaction(url, {"n": 2}, {})])
    assert [(pair.left, pair.right) for pair in compared.pairs] == [(1, 0), (2, 1)]
    assert compared.pairs[1].changes == [Change("request $.n", "1", "2")]


def test_the_command_tells_by_its_status(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    first, second = tmp_path / "a.json", tmp_path / "b.json"
    first.write_text(text_of(CHAT_WHOLE), "utf-8")
    second.write_text(text_of(*edited([CHAT_WHOLE], ('"gpt-5.4",', '"gpt-\u202e5.5",'))), "utf-8")
    command = ["cassette", "diff", str(first), str(second)]
    assert main(command) == 1
    assert (
        capsys.readouterr().out
        == """\
[1] POST https://api.openai.com/v1/chat/completions
  request $.model
    - "gpt-5.4"
    + "gpt-\\u202e5.5"
"""
        + "".join(
            f'  events[{at}] $.model\n    - "gpt-5.4"\n    + "gpt-\\u202e5.5"\n' for at in range(3)
        )
    )
    assert main([*command, "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["pairs"][0]["changes"][0] == {
        "path": "request $.model",
        "old": '"gpt-5.4"',
        "new": '"gpt-\u202e5.5"',
    }
    assert main([*command, "--ignore", "$.model"]) == 0
    assert capsys.readouterr().out == "no differences\n"
    assert main([*command, "--ignore", "model"]) == 2
    assert "--ignore: expected a JSON path" in capsys.readouterr().err
    assert main(["cassette", "diff", str(first), str(tmp_path / "none.json")]) == 2
