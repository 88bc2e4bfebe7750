"""The runner of odd streams: it passes what holds, and fails what does not; and the streams
themselves.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import httpx_sse
import msgspec
import pytest

from tests.conformance.__main__ import main
from tests.conformance.quirks import Case, check, compare, read
from tests.conformance.records import lines
from tests.conformance.result import Mismatch
from tests.joined import joined
from tests.property import sample
from wire.core import reading
from wire.core.error_words import ErrorReader
from wire.core.lenient import Halves
from wire.core.sse import Event
from wire.openai import EventReader
from wire.openai.chat import parse
from wire.openai.chat import tool_calls as calls
from wire.openai.chat.reader import ChunkReader
from wire.openai.chat.tool_calls import Calls, OpenCall

FILE = Path(__file__).parents[1] / "fixtures" / "openai" / "streams.jsonl"
SHARED = Path(__file__).parents[3] / "shared" / "contracts" / "openai-quirk-streams.jsonl"
CASES: dict[str, Case] = {
    case["id"]: case for case in lines(FILE, ("id", "vendor", "what", "sse", "expect"))
}
OTHERS: dict[str, Case] = (
    {case["id"]: case for case in lines(SHARED, ("id", "sse", "expect"))} if SHARED.exists() else {}
)
needs_others = pytest.mark.skipif(
    not OTHERS, reason="the file of odd streams is not beside this checkout; those of our own serve"
)


@joined("name", CASES)
def test_stream(name: str) -> None:
    """However its bytes are cut (Q21)."""
    check(CASES[name])


@needs_others
@pytest.mark.sampled
@pytest.mark.parametrize("name", OTHERS)
def test_streams_that_others_wrote_down(name: str) -> None:
    check(OTHERS[name], sample)


@needs_others
def test_no_stream_that_others_wrote_down_is_missing() -> None:
    assert len(OTHERS) >= 92


def test_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = {**CASES["empty-answer"], "id": "wrong", "expect": {"text": "x"}}
    file = tmp_path / "cases.jsonl"
    file.write_text(f"{json.dumps(CASES['empty-answer'])}\n{json.dumps(wrong)}\n", "utf-8")
    assert main(["quirks", str(file)]) == 1
    *told, last = capsys.readouterr().out.splitlines()
    assert json.loads(last) == {"records": 2, "passed": 1, "out_of_scope": 0, "failed": ["wrong"]}
    assert told == ["wrong: text is '', not ['x']"]


def test_every_case_says_what_it_expects() -> None:
    assert len(CASES) == len(FILE.read_text("utf-8").splitlines())
    for case in CASES.values():
        assert {"text", "reasoning", "tool_calls", "finish_reason", "usage"} <= set(
            case["expect"]
        ), case["id"]


# --- what does not hold ---------------------------------------------------------------------------


@joined(
    ("name", "wrong"),
    [
        ("empty-answer", {"text": "x"}),
        ("snowflake-empty-finish", {"reasoning": "Hmm"}),
        ("snowflake-empty-finish", {"reasoning_details": []}),
        ("unknown-finish", {"finish_reason": "stop"}),
        ("legacy-call", {"finish_reason_raw": "tool_calls"}),
        ("baseten-text-after-finish", {"usage": None}),
        ("baseten-text-after-finish", {"usage": {"prompt_tokens": 3, "completion_tokens": 2}}),
        (
            "baseten-text-after-finish",
            {"usage": {"prompt_tokens": 3, "completion_tokens": 3, "cached_tokens": 1}},
        ),
        ("cut-off", {"complete": True}),
        ("done-alone", {"complete": True}),
        ("empty-answer", {"complete": False}),
        ("error-bare", {"complete": True}),
        ("error-bare", {"error": {"message": "Too many"}}),
        ("error-listed", {"error": {"code": "429"}}),
        ("error-beside-choice", {"error": {"upstream_message": None}}),
        ("empty-answer", {"error": {}}),
        ("two-choices", {"choices": [{"text": "Ebb."}, {"text": "Flo"}]}),
        ("index-minus-one", {"tool_calls": []}),
        ("index-minus-one", {"tool_calls": [{"id": "c2", "name": "f", "arguments": {"a": 1}}]}),
        ("index-minus-one", {"tool_calls": [{"id": "c1", "name": "g", "arguments": {"a": 1}}]}),
        ("index-minus-one", {"tool_calls": [{"id": "c1", "name": "f", "arguments": {}}]}),
        (
            "index-minus-one",
            {"tool_calls": [{"id": "c1", "name": "f", "arguments": {"a": 1}, "extra_content": {}}]},
        ),
        (
            "arguments-invalid",
            {"tool_calls": [{"id": "c1", "name": "tide", "arguments": "port=Brest"}]},
        ),
        ("two-in-one", {"warnings": ["bad_chunk", "other"]}),
        ("perplexity-message-beside-delta", {"citations": []}),
        ("empty-answer", {"refusal": "No"}),
        ("empty-answer", {"annotations": [{}]}),
    ],
)
def test_a_wrong_expectation_fails(name: str, wrong: Case) -> None:  # Q17 to Q20
    case = CASES[name]
    with pytest.raises(Mismatch):
        compare(read(case, [case["sse"].encode()]), {**case["expect"], **wrong})


@joined(
    "right",
    [
        {"text": "Bye", "text_ok": ["Bye", "Hi!"]},
        {"text": " Hi!\n", "trim": True},
        {"warnings": []},
        {"warnings_ok": ["bad_chunk"]},
    ],
)
def test_what_is_accepted(right: Case) -> None:
    case = CASES["no-last-blank-line"]
    compare(read(case, [case["sse"].encode()]), {**case["expect"], **right})


def test_a_reader_that_depends_on_cuts_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    feed = ChunkReader.feed
    monkeypatch.setattr(ChunkReader, "feed", lambda self, data: feed(self, data.lstrip(b"\n")))
    with pytest.raises(Mismatch, match="byte by byte, it is"):
        check(CASES["baseten-text-after-finish"])


def test_a_reader_that_depends_on_one_cut_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    case = CASES["baseten-text-after-finish"]
    late = case["sse"].encode()[30:]
    feed = ChunkReader.feed
    monkeypatch.setattr(
        ChunkReader, "feed", lambda self, data: feed(self, b"" if data == late else data)
    )
    with pytest.raises(Mismatch, match="cut after 30, it is"):
        check(case)


# --- libraries that do it wrong -------------------------------------------------------------------


class Mutant:
    """What to replace where, by what; and cases that fail then."""

    def __init__(self, owner: Any, name: str, make: Callable[[Any], Any], *failed: str) -> None:
        self.owner, self.name, self.make, self.failed = owner, name, make, failed


class OfHttpx:
    """The decoder of httpx-sse where ours was; it gives all events at the end."""

    held = 0

    over = ""  # it has no limits

    def __init__(self, limit: int, line: int) -> None:
        self._body = b""

    def feed(self, data: bytes) -> list[Event]:
        self._body += data
        return []

    def close(self) -> list[Event]:
        response = httpx.Response(
            200, headers={"content-type": "text/event-stream"}, content=self._body
        )
        return [
            Event(each.data.encode(), each.event)
            for each in httpx_sse.EventSource(response).iter_sse()
        ]


def first_usage(feed: Any) -> Any:
    def fed(self: Any, chunk: Any) -> Any:
        before = self._usage
        events = feed(self, chunk)
        self._usage = before or self._usage
        return events

    return fed


def empty_id(add: Any) -> Any:
    def added(self: Any, delta: Any) -> Any:
        call, text = add(self, delta)
        call.id = delta.id if delta.id is not None else call.id
        return call, text

    return added


def finish_needed(is_whole: Any) -> Any:
    return lambda self: is_whole(self) and self.finished


def ends_at_the_finish(note: Any) -> Any:
    def noted(self: Any, chunk: Any) -> None:
        note(self, chunk)
        self.done = self.done or self.finished

    return noted


MUTANTS = {
    "the first usage counts": Mutant(EventReader, "feed", first_usage, "baseten-text-after-finish"),
    "a call is known by its place": Mutant(
        Calls,
        "add",
        lambda add: lambda self, delta: add(self, msgspec.structs.replace(delta, index=0)),
        "calls-from-seven",
    ),
    "an empty id overwrites": Mutant(Calls, "add", empty_id, "id-comes-late"),
    "invalid arguments are none": Mutant(
        parse,
        "arguments_of",
        lambda of: lambda text, cut=False: of(text, cut=cut) or {},
        "arguments-invalid",
        "openrouter-native-length",
        "mistral-nothing-of-a-call",
    ),
    "nothing is {} though it was cut off": Mutant(
        parse,
        "arguments_of",
        lambda of: lambda text, cut=False: of(text),
        "mistral-nothing-of-a-call",
    ),
    "an error is swallowed": Mutant(
        ErrorReader,
        "in_success",
        lambda _: lambda *_args, **_named: None,
        "error-then-more",
        "error-in-choice",
        "groq-event-error",
        "error-document",
    ),
    "a finish is needed": Mutant(
        ChunkReader,
        "is_whole",
        finish_needed,
        "empty-answer",
        "done-with-blanks",
        "gpt-audio-call-without-finish",
    ),
    "[DONE] is needed": Mutant(
        ChunkReader,
        "is_whole",
        lambda real: lambda self: real(self) and (self.done or self.as_json),
        "perplexity-message-beside-delta",
        "no-last-blank-line",
    ),
    "a finish is the end": Mutant(
        ChunkReader,
        "follow",
        ends_at_the_finish,
        "baseten-text-after-finish",
        "openrouter-finish-repeated",
    ),
    "events are cut as httpx-sse does": Mutant(
        reading, "Decoder", lambda _: OfHttpx, "no-last-blank-line", "error-bare"
    ),
    "names are only joined": Mutant(
        OpenCall,
        "add_name",
        lambda _: lambda self, name: self._names.append(name),
        "name-said-again",
    ),
    "halves of a pair are not joined": Mutant(
        Halves, "feed", lambda _: lambda self, text: text, "half-a-pair-each"
    ),
    "the message counts too": Mutant(
        parse, "_has_content", lambda _: lambda said: False, "perplexity-message-beside-delta"
    ),
    "arguments are texts": Mutant(calls, "compact_json", lambda _: str, "arguments-as-object"),
}


def failing() -> set[str]:
    """Cases that do not hold, each read in one piece."""
    found = set()
    for name, case in CASES.items():
        try:
            compare(read(case, [case["sse"].encode()]), case["expect"])
        except Exception:  # a library that does it wrong may raise anything
            found.add(name)
    return found


def test_ours_does_it_right() -> None:
    assert failing() == set()


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_library_that_does_it_wrong_fails(mutant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = MUTANTS[mutant]
    monkeypatch.setattr(chosen.owner, chosen.name, chosen.make(getattr(chosen.owner, chosen.name)))
    failed = failing()
    assert set(chosen.failed) <= failed
    assert len(failed) < len(CASES) / 2  # it is that which fails, and not the reading as such
