"""C-15, C-29, C-30: `wire cassette check`: every finding with its file, line and path."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Command
from tests.joined import joined
from tests.testing.cassette.planted import planted
from tests.testing.cassette.test_format import WRONG
from wire.testing.cassette.checks.checking import FAULTS, check
from wire.testing.cassette.format.bodies import read_body
from wire.testing.cassette.format.file import dump
from wire.testing.cassette.format.structs import End, Interaction, Request, Response

FIXTURES = Path(__file__).parents[2] / "fixtures" / "cassettes"
URL = "https://api.openai.com/v1/chat/completions"


def _interaction(prompt: str, answer: Any = None, end: End = "eof", url: str = URL) -> Interaction:
    body = {"model": "gpt-5.4", "messages": [{"role": "user", "content": prompt}]}
    answered = {"object": "chat.completion", "choices": []} if answer is None else answer
    return Interaction(
        request=Request(method="POST", url=url, body=read_body(json.dumps(body).encode())),
        response=Response(status=200, body=read_body(json.dumps(answered).encode()), end=end),
    )


def _line(text: str, part: str) -> int:
    """The line that has a text."""
    [line] = [number for number, each in enumerate(text.split("\n"), 1) if part in each]
    return line


def _told(text: str, **options: Any) -> list[str]:
    return [str(each) for each in check(text.encode(), "x.json", **options)]


@pytest.mark.row("C-29")
@joined("path", sorted(FIXTURES.glob("*.json")), ids=lambda path: path.name)
def test_the_fixtures_have_no_fault(path: Path):
    assert [each for each in check(path.read_bytes(), str(path)) if each.is_fault] == []


@pytest.mark.row("C-29")
def test_each_interaction_with_a_fault_is_told_with_line_and_path():
    text = dump([_interaction("one"), _interaction("two"), _interaction("three")])
    first, second, third = text.split('"request": {')[1:]
    text = '"request": {'.join(
        (
            text.split('"request": {')[0],
            first.replace('"method": "POST"', '"method": 5'),
            second,
            third.replace('"status": 200', '"status": 200,\n        "statsu": 201'),
        )
    )
    assert _told(text) == [
        f"x.json:{_line(text, '5,')}: format: $.interactions[0].request.method: "
        "expected `str`, got `int`",
        f"x.json:{_line(text, 'statsu')}: format: $.interactions[2].response: "
        "object contains unknown field `statsu`",
    ]


MANY_FAULTS = """{
  "wire_cassette": 1,
  "interactions": [
    {
      "request": {
        "methods": "POST",
        "url": 5,
        "headers": {
          "a": null,
          "c": 7
        }
      },
      "response": {
        "status": 99,
        "times": [1,
          -2],
        "body": {
          "layout": "tab",
          "events": [
            {"data": "a"},
            {"retry": -1, "data": 7},
            {"retry": 1,
             "text": ["b"]}
          ]
        }
      }
    }
  ],
  "interaction": []
}
"""


@pytest.mark.row("C-29")
@joined("fault", WRONG)
def test_what_loading_refuses_is_among_the_faults(fault: str):
    text, told = WRONG[fault]
    found = check(text if isinstance(text, bytes) else text.encode(), "x")
    shown = [f"line {each.line}: {each.path}: {each.message}" for each in found]
    pathless = [f"line {each.line}: {each.message}" for each in found]
    assert {told} & {each.partition(" (byte")[0] for each in [*shown, *pathless]} or (
        told == "nested too deeply" and told in [each.message for each in found]
    )


@pytest.mark.row("C-29")
def test_all_faults_of_an_interaction_are_told():
    request, response = (f"$.interactions[0].{name}" for name in ("request", "response"))
    found = check(MANY_FAULTS.encode(), "x")
    assert [(each.line, each.path, each.message.partition(" '")[0]) for each in found] == [
        (5, request, "object missing required field `method`"),
        (6, request, "object contains unknown field `methods`"),
        (7, f"{request}.url", "expected `str`, got `int`"),
        (9, f"{request}.headers.a", "expected `str`, got `null`"),
        (10, f"{request}.headers.c", "expected `str`, got `int`"),
        (13, response, "object missing required field `end`"),
        (14, f"{response}.status", "expected `int` >= 100"),
        (16, f"{response}.times[1]", "expected `int` >= 0"),
        (18, f"{response}.body.layout", "invalid enum value"),
        (21, f"{response}.body.events[1].retry", "expected `int` >= 0"),
        (21, f"{response}.body.events[1].data", "expected `str`, got `int`"),
        (22, f"{response}.body.events[2]", "event, id and retry are allowed with json or data "
         "only, not with text"),
        (29, "$", "object contains unknown field `interaction`"),
    ]  # fmt: skip


@pytest.mark.row("C-29")
@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{\n "wire_cassette": 9,\n "interactions": []}',
         "x.json:2: format: $.wire_cassette: version 9 is unknown; this release reads version 1"),
        ('{\n "wire_cassette": 1,\n "interactions": 7}',
         "x.json:3: format: $.interactions: expected `array`, got `int`"),
        ('{\n "wire_cassette": 1,\n "interactions": [}',
         "x.json:3: format: not JSON: Expecting value, column 19"),
    ],
)  # fmt: skip
def test_faults_of_the_whole_file(text: str, told: str):
    assert _told(text) == [told]


@pytest.mark.row("C-15")
def test_a_secret_in_a_cassette_is_a_fault_even_if_its_format_is_broken():
    secret = planted()["Google API key"]
    text = dump([_interaction(secret)])
    expected = (
        f"x.json:{_line(text, secret)}: secret: "
        "$.interactions[0].request.body.json.messages[0].content: Google API key"
    )
    assert _told(text) == [expected]
    assert expected in _told(text.replace('"end": "eof"', '"end": "never"'))
    assert len(_told(text.replace('"end": "eof"', '"end": "never"'))) == 2


@pytest.mark.row("C-30")
def test_drift_is_told_when_it_is_asked_for():
    text = dump(
        [
            _interaction("one", {"object": "chat.completion", "mood": 1}),
            _interaction("two", url="https://llm.example/api/talk"),
        ]
    )
    second = _line(text, "llm.example") - 3
    assert _told(text) == []
    assert _told(text, with_drift=True) == [
        "x.json:4: drift: $.interactions[0]: response, $.mood: unknown key with the value: 1",
        f"x.json:{second}: note: unknown: $.interactions[1]: "
        "POST https://llm.example/api/talk belongs to no wire",
    ]


def test_notes_are_no_faults():
    text = dump([_interaction("one"), _interaction("one", end="cut"), _interaction("two")])
    second = [number for number, line in enumerate(text.split("\n"), 1) if line == "    {"][1]
    found = check(text.encode(), "x.json")
    assert [str(each) for each in found] == [
        f"x.json:{second}: note: incomplete: $.interactions[1].response.end: "
        "the response ended early: cut",
        f"x.json:{second}: note: repeated: $.interactions[1].request: "
        "equal to that of interactions[0]: only the order tells them apart",
    ]
    assert [each.is_fault for each in found] == [False, False]
    assert {each.kind for each in found}.isdisjoint(FAULTS)


@pytest.mark.row("C-29")
def test_an_edited_cassette_is_as_good(tmp_path: Path):
    text = dump([_interaction("one")])
    assert check(text.replace('"one"', '"another prompt"').encode(), "x.json") == []


def test_the_command_looks_through_folders(wire: Command, tmp_path: Path):
    (tmp_path / "deep").mkdir()
    good = tmp_path / "deep" / "good.json"
    good.write_text(dump([_interaction("one")]), "utf-8")
    (tmp_path / "deep" / "other.json").write_text('{"a": 1}', "utf-8")
    (tmp_path / "deep" / "notes.txt").write_text("wire_cassette", "utf-8")
    assert wire("cassette", "check", ".") == (0, "1 cassette, no faults\n", "")
    said = wire("cassette", "check", "deep/other.json")
    assert said == (
        1,
        "deep/other.json:1: format: $: object contains unknown field `a`\n"
        "deep/other.json:1: format: $: object missing required field `wire_cassette`\n"
        "deep/other.json:1: format: $: object missing required field `interactions`\n"
        "1 cassette, 3 faults\n",
        "",
    )
    good.write_text(dump([_interaction("one", {"mood": 1})]), "utf-8")
    assert wire("cassette", "check", ".").status == 0
    said = wire("cassette", "check", "--drift", "--json", ".")
    assert (said.status, said.json) == (
        1,
        {
            "cassettes": 1,
            "faults": 1,
            "findings": [
                {
                    "file": "deep/good.json",
                    "line": 4,
                    "kind": "drift",
                    "path": "$.interactions[0]",
                    "message": "response, $.mood: unknown key with the value: 1",
                    "fault": True,
                }
            ],
        },
    )
    assert wire("cassette", "check", "nowhere").status == 2


@pytest.mark.row("C-08")
def test_side_files_that_nothing_names_are_told(wire: Command, tmp_path: Path):
    folder = tmp_path / "x.json.files"
    folder.mkdir()
    (folder / ("a" * 64)).write_bytes(b"one")
    (tmp_path / "x.json").write_text(dump([_interaction("a" * 64)]), "utf-8")
    assert wire("cassette", "check", ".").status == 0
    (folder / ("b" * 64)).write_bytes(b"two")
    (tmp_path / "gone.json.files").mkdir()
    (tmp_path / "gone.json.files" / ("c" * 64)).write_bytes(b"three")
    assert wire("cassette", "check", ".").out.split("\n")[:3] == [
        f"x.json: orphan: side file {'b' * 64} is not named in the cassette",
        f"gone.json.files/{'c' * 64}: orphan: there is no cassette gone.json",
        "1 cassette, 2 faults",
    ]
