"""Recorded requests, read and rendered for their own wire and model: nothing is lost in silence."""

from __future__ import annotations

import copy
import functools
import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from tests.conformance import replies, requests
from tests.conformance.__main__ import main
from tests.conformance.records import lines
from tests.property import sample
from tests.serving.test_unread import at, objects, shown
from wire.core.memory import Note

BODIES = 15
"""Bodies of a wire in which values are planted and changed."""
PLANTED = 30
"""Places in one body at which it is done, one at a time."""


def recorded(wire: str) -> list[dict[str, Any]]:
    """The records with a request of the wire."""
    return [
        record
        for path in replies.files(wire)
        for record in lines(path, ("id", "status"))
        if isinstance(record.get("request_body"), dict) and replies.generating(record) == wire
    ]


@pytest.mark.sampled
@pytest.mark.parametrize("wire", requests.FORMS)
def test_no_value_is_lost_in_silence(wire: str) -> None:
    silent = Counter(
        each.place
        for record in sample(recorded(wire))
        for each in requests.walked(record, wire).silent
    )
    assert silent == {}


@functools.cache
def bodies(wire: str) -> list[Any]:
    """A few bodies, spread over all of them."""
    records = recorded(wire)
    return [each["request_body"] for each in records[:: len(records) // BODIES or 1]]


@pytest.mark.parametrize("wire", requests.FORMS)
def test_the_walk_sees_a_value_planted_at_any_depth(wire: str) -> None:
    """A body that is sent without a key which the client sent: a difference, unless a note has its
    path.
    """
    tried, unseen, untold = 0, set(), set()
    for body in bodies(wire):
        for path in list(objects(body))[:PLANTED]:
            planted = copy.deepcopy(body)
            at(planted, path)["anUnknownKey"] = 1
            place = shown((*path, "anUnknownKey"))
            tried += 1
            if not any("anUnknownKey" in str(each) for each in found(wire, planted, body)):
                unseen.add(place)
            if found(wire, planted, body, Note(place, "left out")):
                untold.add(place)
    assert (unseen, untold) == (set(), set())
    assert tried > 20


def found(wire: str, body: Any, sent: Any, *notes: Note) -> list[requests.Difference]:
    return requests.differences(wire, body, sent, notes)


@pytest.mark.parametrize("wire", requests.FORMS)
def test_the_walk_sees_each_value_that_is_changed(wire: str) -> None:
    """A text or a number at any place that is sent as another one."""
    unseen = set()
    for body in bodies(wire):
        sent = json.loads(json.dumps(body))
        for path in [each for each in leaves(body) if len(str(at(body, each))) > 6][:PLANTED]:
            changed = copy.deepcopy(sent)
            at(changed, path[:-1])[path[-1]] = "changed value"
            if not found(wire, body, changed):
                unseen.add(shown(path))
    assert {each for each in unseen if not is_never_read(wire, each)} == set()


def is_never_read(wire: str, place: str) -> bool:
    """Whether the table says that no value at the place has a meaning."""
    pattern = re.sub(r"\[\d+\]", "[]", place)
    rows = [row for row in requests.ABSENT[wire] if row.values == (...,)]
    return any(re.fullmatch(row.path, pattern) for row in rows)


def leaves(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    for key, each in pairs:
        if isinstance(each, dict | list):
            yield from leaves(each, (*path, key))
        elif each is not None:
            yield (*path, key)


def test_a_note_elsewhere_tells_nothing() -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "Hi", "mood": 1}]}
    sent = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
    lost = [requests.Difference("lost", "messages[0].mood", 1)]
    assert found("openai", body, sent, Note("messages[1].mood", "left out")) == lost
    assert found("openai", body, sent, Note("model", "warning")) == lost
    assert found("openai", body, sent, Note("messages[0].mood", "left out")) == []
    assert requests.differences("openai", body, sent, (), [Note("temperature", "x")]) == lost


def test_forms_that_mean_the_same() -> None:
    same: dict[str, tuple[Any, Any]] = {
        "gemini": (
            {
                "contents": [
                    {"parts": {"inline_data": {"data": "-_8="}}},
                    {"parts": [{"text": "a"}]},
                ]
            },
            {
                "contents": [
                    {"role": "user", "parts": [{"inlineData": {"data": "+/8="}}, {"text": "a"}]}
                ]
            },
        ),
        "openai": (
            {"messages": [{"role": "developer", "content": [{"type": "text", "text": "a"}]}]},
            {"messages": [{"role": "system", "content": "a"}], "store": False},
        ),
        "openai.responses": (
            {"input": "Hi", "instructions": "a", "stream": False},
            {"input": [{"role": "system", "content": "a"}, {"role": "user", "content": "Hi"}]},
        ),
        "anthropic": (
            {"system": "a", "messages": [], "output_format": {"type": "json_schema"}},
            {
                "system": [{"type": "text", "text": "a"}],
                "messages": [],
                "output_config": {"format": {"type": "json_schema"}},
            },
        ),
    }
    same["ollama"] = {"messages": [], "stream": True}, {"messages": [], "truncate": False}
    content = [{"type": "text", "text": "Hi"}]
    same["gemini.interactions"] = (
        {"input": "Hi", "store": True},
        {"input": [{"type": "user_input", "content": content}], "store": False},
    )
    same["converse"] = {"messages": [], "system": []}, {"messages": []}
    for wire, (one, other) in same.items():
        assert requests.differences(wire, one, other) == [], wire


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["requests", *map(str, sorted(replies.SAMPLES.glob("*.jsonl")))]) == 0
    told = capsys.readouterr().out.splitlines()
    assert json.loads(told[-1])["passed"] > 50
    assert any(line.startswith("anthropic: equal: ") for line in told)
