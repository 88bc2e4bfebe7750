"""Recorded conversations of Gemini Live: the emulator answers as the server did."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("websockets", reason="websockets is in the extra `live`")

from tests.testing.emulator.live_talks import GEMINI, VERTEX, kinds, opened, said
from wire.testing.emulator import Emulator, serve

CORPUS = Path(__file__).parents[4] / "shared" / "corpus" / "realtime.jsonl.gz"
_OUTPUT = {"outputTranscription", "modelTurn"}


def recorded() -> list[Any]:
    with gzip.open(CORPUS, "rt", encoding="utf-8", newline="\n") as lines:
        found = [json.loads(line) for line in lines]
    return [each for each in found if each["endpoint"] == "live"]


def phases(messages: list[dict[str, Any]]) -> list[Any]:
    """The kinds of messages in order; a run of speech and transcripts is one, as a set.

    How speech is cut, and what comes of it before its transcript, differs from turn to turn.
    """
    found: list[Any] = []
    for kind in kinds(messages):
        if kind not in _OUTPUT:
            # A connection without search sends empty metadata, and an empty content.
            found += [each for each in [kind.removesuffix("+groundingMetadata")] if each]
        elif found and isinstance(found[-1], set):
            found[-1].add(kind)
        else:
            found.append({kind})
    return found


def step_of(messages: list[dict[str, Any]]) -> dict[str, Any]:
    """The step of a script that says what was recorded."""
    say: dict[str, Any] = {"text": "", "thoughts": "", "calls": []}
    for each in messages:
        content = each.get("serverContent", {})
        say["text"] += content.get("outputTranscription", {}).get("text", "")
        for part in content.get("modelTurn", {}).get("parts", ()):
            say["thoughts"] += part.get("text", "") if part.get("thought") else ""
        for call in each.get("toolCall", {}).get("functionCalls", ()):
            say["calls"].append({"name": call["name"], "args": call["args"]})
    return {"say": say}


def test_recorded_conversations_are_answered_as_they_were() -> None:
    if not CORPUS.exists():
        pytest.skip("the corpus of recorded traffic is not beside this checkout")
    records = recorded()
    assert len(records) >= 5
    for record in records:
        compare(record)


def compare(record: dict[str, Any]) -> None:
    groups: list[tuple[list[Any], list[Any]]] = [([], [])]
    for each in record["messages"]:
        sent, got = groups[-1]
        if each["direction"] == "sent" and got:
            groups.append(([], []))
        groups[-1][each["direction"] != "sent"].append(json.loads(each["data"]))
    script = [step_of(got) for _, got in groups[1:]]
    is_vertex = record["model"].startswith("publishers/")
    with serve(Emulator(script)) as server:
        with opened(server, VERTEX if is_vertex else GEMINI) as socket:
            ids: dict[str, str] = {}
            for sent, got in groups:
                text = "\n".join(map(json.dumps, sent))
                for old, new in ids.items():
                    text = text.replace(old, new)
                last = next(iter(got[-1]))
                found = said(
                    socket,
                    *map(json.loads, text.splitlines()),
                    last="turnComplete" if last == "serverContent" else last,
                )
                ours, theirs = phases(found), phases(got)
                assert len(ours) == len(theirs), (record["id"], ours, theirs)
                for one, other in zip(ours, theirs, strict=True):
                    assert one == other or other <= one, (record["id"], ours, theirs)
                for old, new in zip(calls_of(got), calls_of(found), strict=True):
                    ids[old["id"]] = new["id"]


def calls_of(messages: list[dict[str, Any]]) -> list[Any]:
    return [call for each in messages for call in each.get("toolCall", {}).get("functionCalls", ())]
