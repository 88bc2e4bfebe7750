"""Libraries with one fault each: the runner sees every one of them."""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.conformance.corpus import scope
from tests.conformance.records import Record, lines
from tests.conformance.replies import SHARED
from tests.conformance.result import Result
from tests.joined import joined
from wire.errors import Violation
from wire.neutral.messages import Text, TextDelta, ToolCallDelta, ToolCallStart
from wire.openai import ChatCompletion

FILE = Path(__file__).parents[1] / "fixtures" / "corpus" / "calls.jsonl"
RECORDS = {record["id"]: record for record in lines(FILE, ("id", "status", "response_body"))}


@dataclass(frozen=True)
class Mutant:
    """A member of the library, what takes its place, and a record that shows it."""

    owner: str
    """A module, or a module and a class behind a colon."""
    name: str
    make: Callable[[Any], Any]
    """The member -> its replacement."""
    record: str


def without(field: str) -> Callable[[Any], Any]:
    """A function whose result has lost a field."""

    def make(real: Any) -> Any:
        def mutant(*args: Any, **options: Any) -> Any:
            found = real(*args, **options)
            msgspec.structs.force_setattr(found, field, None)
            return found

        return mutant

    return make


def like(word: str) -> Callable[[Any], Any]:
    """A function of a stop word that takes each for this one."""
    return lambda real: lambda *_, calls=False: real(word, calls=calls)


def having(**fields: Any) -> Callable[[Any], Any]:
    """A function whose result has other values in these fields; a function makes them of it."""

    def make(real: Any) -> Any:
        def mutant(*args: Any, **options: Any) -> Any:
            found = real(*args, **options)
            if found is None:
                return None
            return msgspec.structs.replace(
                found,
                **{
                    key: value(found) if callable(value) else value for key, value in fields.items()
                },
            )

        return mutant

    return make


def dropping(*keys: str) -> Callable[[Any], Any]:
    """A function whose result, an object, has lost keys."""

    def make(real: Any) -> Any:
        def mutant(*args: Any, **options: Any) -> Any:
            found = real(*args, **options)
            return {key: value for key, value in found.items() if key not in keys}

        return mutant

    return make


def instead(value: Any) -> Callable[[Any], Any]:
    """Something else, whatever it was."""
    return lambda _: value


def always(value: Any) -> Callable[[Any], Any]:
    """A function with one result."""
    return lambda _: lambda *args, **options: value


def on_result(change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A function whose result is changed."""
    return lambda real: lambda *args, **options: change(real(*args, **options))


def no_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: no_nulls(item) for key, item in value.items() if item is not None}
    return [no_nulls(each) for each in value] if isinstance(value, list) else value


def renamed(value: Any) -> Any:
    if isinstance(value, dict) and "port_name" in value:
        return {"portName" if key == "port_name" else key: item for key, item in value.items()}
    return value


def body_without_nulls(real: Any) -> Any:
    def mutant(*args: Any) -> Any:
        body, *rest = real(*args)
        return json.dumps(no_nulls(json.loads(body))).encode(), *rest

    return mutant


def refusing(reads: str) -> Callable[[Any], Any]:
    """Rules with one more, which refuses every request to a host with this dialect."""

    def rule(request: Any, dialect: Any = None) -> Iterator[Violation]:
        if not reads or getattr(dialect, reads):
            yield Violation("model", "not this one", "X1")

    return lambda real: (*real, rule)


def to_another_path(real: Any) -> Any:
    def mutant(wire: str, method: str, path: str, *args: Any, **options: Any) -> Any:
        return real(wire, method, "/other", *args, **options)

    return mutant


def unfinished(real: Any) -> Any:
    """Chunks lose their finish once they were followed."""

    def emit(self: Any, chunk: Any) -> None:
        real(self, chunk)
        for choice in chunk.choices or ():
            msgspec.structs.force_setattr(choice, "finish_reason", None)

    return emit


def first_call_alone(real: Any) -> Any:
    def made(self: Any, events: list[Any]) -> None:
        calls: list[Any] = []
        real(self, calls)
        events += [event for event in calls if event.position == 0]

    return made


def nameless(real: Any) -> Any:
    def starts(self: Any, count: int, *, unnamed: bool = False) -> Iterator[Any]:
        for event in real(self, count, unnamed=unnamed):
            yield ToolCallStart(event.position, "", event.id)

    return starts


def as_text(real: Any) -> Any:
    def text(self: Any, kind: Any, place: Any, text: str) -> Iterator[Any]:
        yield from real(self, TextDelta, place, text)

    return text


def by_name(fields: dict[str, Any]) -> dict[str, Any]:
    return dict(sorted(fields.items()))


def empty_is_an_answer(real: Any) -> Any:
    return lambda body: real(body) if body.strip() else ChatCompletion()


def permuted(real: Any) -> Any:
    """Chunks whose first two calls have each other's index."""

    def emit(self: Any, chunk: Any) -> None:
        real(self, chunk)
        for choice in chunk.choices or ():
            for call in choice.delta.tool_calls or () if choice.delta else ():
                msgspec.structs.force_setattr(call, "index", 1 - call.index)

    return emit


def unnumbered(real: Any) -> Any:
    """Deltas of calls lose their index, and belong to the last call."""
    return lambda self, delta: real(self, msgspec.structs.replace(delta, index=None))


def misplaced(real: Any) -> Any:
    """Pieces of arguments go to the other one of two calls."""

    def events(self: Any, call: Any) -> Iterator[Any]:
        for event in real(self, call):
            is_piece = isinstance(event, ToolCallDelta)
            yield ToolCallDelta(1 - event.position, event.text) if is_piece else event

    return events


def too_early(real: Any) -> Any:
    """The pieces of a call are told before its start."""
    return lambda self, chunk: sorted(
        real(self, chunk), key=lambda event: isinstance(event, ToolCallStart)
    )


def other_data(part: Any) -> Any:
    """A part with other opaque data, if it has some."""
    if getattr(part, "signature", ""):
        part = msgspec.structs.replace(part, signature="b3RoZXI=")
    if getattr(part, "details", ()):
        part = msgspec.structs.replace(part, details=({"data": "b3RoZXI="},))
    return part


def stopping(**fields: Any) -> Callable[[Any], Any]:
    """A function of a stop and its notes; the stop has other values in these fields."""
    return on_result(lambda found: (msgspec.structs.replace(found[0], **fields), *found[1:]))


def without_annotations(real: Any) -> Any:
    """Events with an annotation add nothing."""

    def add(self: Any, event: Any) -> None:
        if b"annotation.added" not in bytes(event["type"]):
            real(self, event)

    return add


def nameless_error(error: Any) -> Any:
    error.code = None
    return error


GEMINI, CHAT, MESSAGES = "wire.gemini", "wire.openai.chat", "wire.anthropic"
RESPONSES = "wire.openai.responses"
CHECKS = "tests.conformance"  # where a function of the library was imported by its name

MUTANTS = {
    # Typed fields; each of these is in the bytes, and `unknown` reports it.
    "usage of a completion has no field": Mutant(
        f"{CHECKS}.openai", "parse_completion", without("usage"), "chat-calls"
    ),
    "usage of Gemini has no field": Mutant(
        f"{CHECKS}.gemini", "parse_response", without("usage_metadata"), "gemini-calls"
    ),
    "stop_reason has no field": Mutant(
        f"{CHECKS}.anthropic", "parse_message", without("stop_reason"), "messages-calls"
    ),
    "the finish of a chunk has no field": Mutant(
        f"{CHAT}.reader:ChunkReader", "emit", unfinished, "chat-stream-calls"
    ),
    "unknown reports what has a field": Mutant(
        "wire", "unknown", on_result(lambda found: [*found, ("model", "m")]), "chat-calls"
    ),
    # Answers of Gemini as replies.
    "a thought is a text": Mutant(
        f"{GEMINI}.parse",
        "_part",
        lambda real: lambda part: Text(part.text) if part.thought else real(part),
        "gemini-calls",
    ),
    "thoughts are not counted": Mutant(
        f"{GEMINI}.parse", "usage_of", having(output=lambda usage: 4), "gemini-calls"
    ),
    "cached tokens of Gemini are not counted": Mutant(
        f"{GEMINI}.parse", "usage_of", having(cached=0), "gemini-calls"
    ),
    "a signature is lost": Mutant(
        f"{GEMINI}.parse", "_tool_call", having(signature=""), "gemini-calls"
    ),
    "the vendor's id is replaced": Mutant(
        f"{GEMINI}.parse", "_tool_call", having(id="x"), "gemini-calls"
    ),
    "an answer that was cut off looks whole": Mutant(
        f"{GEMINI}.finish", "meaning_of", like("STOP"), "gemini-length"
    ),
    "the second call has no events": Mutant(
        f"{GEMINI}.parse:EventReader", "_add_calls", first_call_alone, "gemini-stream-calls"
    ),
    # Requests.
    "a rule refuses what Gemini accepted": Mutant(
        f"{GEMINI}.rules",
        "_rules_for",
        lambda real: (
            lambda *has: (*real(*has), ("X1", lambda _: [Violation("contents", "no", "X1")]))
        ),
        "gemini-calls",
    ),
    "a rule of all hosts refuses what was accepted": Mutant(
        f"{CHAT}.rules", "_RULES", refusing(""), "chat-calls"
    ),
    "a rule of one dialect refuses what was accepted": Mutant(
        f"{CHAT}.rules", "_RULES", refusing("reasoning_required"), "deepseek-stream"
    ),
    "a completion is asked at another path": Mutant(
        f"{CHAT}.endpoints", "Call", to_another_path, "chat-calls"
    ),
    "Gemini is asked for another model": Mutant(
        f"{GEMINI}.endpoints", "resource", always("models/other"), "gemini-calls"
    ),
    # What the user wrote.
    "nulls of a schema are dropped": Mutant(
        f"{CHAT}.endpoints", "checked_body", body_without_nulls, "chat-calls"
    ),
    "keys of arguments are renamed": Mutant(
        f"{GEMINI}.decode", "_canonical", on_result(renamed), "gemini-calls"
    ),
    "nulls of arguments are dropped": Mutant(
        f"{CHAT}.parse", "arguments_of", on_result(no_nulls), "chat-calls"
    ),
    "nulls of Gemini's arguments are dropped": Mutant(
        f"{GEMINI}.parse",
        "_tool_call",
        having(arguments=lambda call: no_nulls(call.arguments)),
        "gemini-calls",
    ),
    "nulls of an input are dropped": Mutant(
        f"{MESSAGES}.parse", "portable", on_result(no_nulls), "messages-calls"
    ),
    # Folds.
    "the fold of a completion loses a key": Mutant(
        f"{CHAT}.fold", "_last_values", dropping("system_fingerprint"), "chat-stream-calls"
    ),
    "the fold of a completion loses probabilities": Mutant(
        f"{CHAT}.fold", "_merged_choice", dropping("logprobs"), "chat-stream-choices"
    ),
    "two calls become one": Mutant(
        f"{CHAT}.tool_calls:Calls",
        "_continued_call",
        lambda _: lambda self, *args: self._last,
        "chat-stream-calls",
    ),
    "the fold of Gemini loses metadata": Mutant(
        f"{GEMINI}.fold", "_last_values", dropping("groundingMetadata"), "gemini-stream-calls"
    ),
    "the fold of Gemini does not join": Mutant(
        f"{GEMINI}.fold", "_joined", instead(list), "gemini-stream-calls"
    ),
    "the fold of a message loses a key": Mutant(
        f"{MESSAGES}.fold:_MessageBuilder", "merged", dropping("container"), "messages-stream-calls"
    ),
    # Ends.
    "any body of Gemini is whole": Mutant(
        f"{GEMINI}.reader:ChunkReader", "is_whole", always(True), "gemini-stream-calls"
    ),
    "any body of a completion is whole": Mutant(
        f"{CHAT}.reader:ChunkReader", "is_whole", always(True), "chat-stream-calls"
    ),
    "any body of a message is whole": Mutant(
        f"{MESSAGES}.reader:ChunkReader", "is_whole", always(True), "messages-stream-calls"
    ),
    "no body of Gemini is whole": Mutant(
        f"{GEMINI}.reader:ChunkReader", "is_whole", always(False), "gemini-stream-calls"
    ),
    "one choice that ended is enough": Mutant(
        f"{CHAT}.reader:ChunkReader",
        "is_whole",
        lambda _: lambda self: any(self._finishes.values()) or self.done,
        "chat-stream-choices",
    ),
    "a partial reply does not say so": Mutant(
        f"{CHAT}.parse:EventReader",
        "_complete",
        instead(property(lambda _: True)),
        "chat-stream-calls",
    ),
    # Events and counts.
    "a call begins without its name": Mutant(
        f"{CHAT}.parse:EventReader", "_start_events", nameless, "chat-stream-calls"
    ),
    "thoughts are told as text": Mutant(
        f"{MESSAGES}.parse", "ThoughtDelta", instead(TextDelta), "messages-stream-calls"
    ),
    "cached tokens of a message are not counted": Mutant(
        f"{MESSAGES}.parse", "usage_of", having(cached=0), "messages-calls"
    ),
    "the finish of a completion has another meaning": Mutant(
        f"{CHAT}.parse", "meaning_of", like("stop"), "chat-stream-choices"
    ),
    # Responses.
    "usage of a response has no field": Mutant(
        f"{CHECKS}.responses", "parse_response", without("usage"), "responses-calls"
    ),
    "a rule refuses a response that was accepted": Mutant(
        f"{CHECKS}.responses",
        "check",
        always([Violation("model", "not this one", "X1")]),
        "responses-calls",
    ),
    "a response is asked at another path": Mutant(
        f"{RESPONSES}.endpoints", "Call", to_another_path, "responses-calls"
    ),
    "nulls of a response's arguments are dropped": Mutant(
        f"{RESPONSES}.parse", "arguments_of", on_result(no_nulls), "responses-calls"
    ),
    "a response that was cut off looks whole": Mutant(
        f"{RESPONSES}.finish", "meaning_of", like("completed"), "responses-length"
    ),
    "cached tokens of a response are not counted": Mutant(
        f"{RESPONSES}.parse", "usage_of", having(cached=0), "responses-calls"
    ),
    "any body of a response is whole": Mutant(
        f"{RESPONSES}.reader:ChunkReader", "is_whole", always(True), "responses-stream-calls"
    ),
    "no body of a response is whole": Mutant(
        f"{RESPONSES}.reader:ChunkReader", "is_whole", always(False), "responses-stream-calls"
    ),
    "the fold of a response loses a key": Mutant(
        f"{RESPONSES}.fold:_ResponseBuilder", "merged", dropping("usage"), "responses-stream-calls"
    ),
    "thoughts of a response are told as text": Mutant(
        f"{RESPONSES}.parse:_OpenItem", "text", as_text, "responses-stream-thought"
    ),
    "the parts of a summary are joined without a blank line": Mutant(
        f"{RESPONSES}.parse", "_SEPARATOR", instead(""), "responses-stream-thought"
    ),
    "items that go back are sorted by their keys": Mutant(
        f"{RESPONSES}.parts", "fields_of", on_result(by_name), "responses-calls"
    ),
    # Which call a piece belongs to.
    "the indices of calls are permuted": Mutant(
        f"{CHAT}.reader:ChunkReader", "emit", permuted, "chat-stream-interleaved"
    ),
    "the indices of calls are ignored": Mutant(
        f"{CHAT}.tool_calls:Calls", "add", unnumbered, "chat-stream-interleaved"
    ),
    "pieces of arguments have another position": Mutant(
        f"{CHAT}.parse:EventReader", "_call_events", misplaced, "chat-stream-interleaved"
    ),
    "pieces of arguments come before the start of the call": Mutant(
        f"{CHAT}.parse:EventReader", "feed", too_early, "chat-stream-calls"
    ),
    # What only the vendor reads.
    "data of redacted thinking is another": Mutant(
        f"{MESSAGES}.parse", "_part", on_result(other_data), "messages-redacted"
    ),
    "the signature of a thought is another": Mutant(
        f"{MESSAGES}.parse", "_part", on_result(other_data), "messages-calls"
    ),
    "the signatures of Gemini's texts and thoughts are others": Mutant(
        f"{GEMINI}.parse", "_part", on_result(other_data), "gemini-signed"
    ),
    "encrypted reasoning is another": Mutant(
        f"{RESPONSES}.parse", "_thought", on_result(other_data), "responses-stream-calls"
    ),
    # Words of a stop.
    "the word of a stop is another": Mutant(
        f"{MESSAGES}.parse", "stopped", stopping(raw="end_turn"), "messages-redacted"
    ),
    "an unknown word of Gemini is an end": Mutant(
        f"{GEMINI}.finish", "stopped", stopping(reason="end"), "gemini-signed"
    ),
    "the words of a filter are lost": Mutant(
        f"{GEMINI}.finish", "stopped", stopping(message=""), "gemini-signed"
    ),
    "the words of a refusal are lost": Mutant(
        f"{MESSAGES}.parse", "stopped", stopping(message=""), "messages-refusal"
    ),
    "the stop sequence is lost": Mutant(
        f"{MESSAGES}.parse", "stopped", stopping(sequence=None), "messages-redacted"
    ),
    "a token to go on is invented": Mutant(
        f"{GEMINI}.finish", "stopped", stopping(token="x"), "gemini-signed"
    ),
    # Annotations that only deltas have.
    "annotations of a response's events are lost": Mutant(
        f"{RESPONSES}.fold:_ResponseBuilder", "add", without_annotations, "responses-stream-cited"
    ),
    "annotations of deltas are no citations": Mutant(
        f"{CHAT}.server_parts", "citations_of", always(()), "chat-stream-cited"
    ),
    "annotations of a response are no citations": Mutant(
        f"{RESPONSES}.parse", "_citations", always(()), "responses-stream-cited"
    ),
    # Failed responses.
    "a failed response has no code": Mutant(
        f"{RESPONSES}.reader", "_failure_of", on_result(nameless_error), "responses-stream-failed"
    ),
    "a failed response ends well": Mutant(
        f"{RESPONSES}.reader", "_FAILED", instead("x"), "responses-stream-failed"
    ),
    "what came of a failed response has no error": Mutant(
        f"{RESPONSES}.fold:_ResponseBuilder", "merged", dropping("error"), "responses-stream-failed"
    ),
    "the reply of a failed response has no words": Mutant(
        f"{RESPONSES}.parse",
        "partial_stop",
        on_result(lambda stop: msgspec.structs.replace(stop, message="")),
        "responses-stream-failed",
    ),
    # Errors in a 200, and nothing at all.
    "an error in a 200 is an answer": Mutant(
        "wire.core.error_words:ErrorReader", "in_success", always(None), "chat-error-200"
    ),
    "an error in a 200 says something else": Mutant(
        "wire.core.error_words:ErrorReader", "message", always("no message"), "chat-error-200"
    ),
    "an empty body is an answer": Mutant(
        f"{CHECKS}.openai", "parse_completion", empty_is_an_answer, "chat-empty"
    ),
}


def holds(record: Record) -> bool:
    result = Result()
    checks = scope(record)
    assert not isinstance(checks, str)
    result.hold(record, checks)
    return not result.failed


@joined("name", RECORDS)
def test_a_library_without_a_fault(name: str) -> None:
    assert holds(RECORDS[name])


def put(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    module, _, kind = mutant.owner.partition(":")
    owner: Any = importlib.import_module(module)
    owner = getattr(owner, kind) if kind else owner
    monkeypatch.setattr(owner, mutant.name, mutant.make(getattr(owner, mutant.name)))


@pytest.mark.parametrize("name", MUTANTS)
def test_a_library_with_one_fault(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    put(MUTANTS[name], monkeypatch)
    assert not holds(RECORDS[MUTANTS[name].record])


RECORDED = {
    "the indices of calls are permuted": ("openai-chat", r'"index": ?1, ?"id"'),
    "data of redacted thinking is another": ("anthropic", r'"type": ?"redacted_thinking"'),
    "the signature of a thought is another": ("anthropic", r'"signature": ?"[^"]'),
    "encrypted reasoning is another": ("openai-responses", r'"encrypted_content": ?"'),
    "the stop sequence is lost": ("anthropic", r'"stop_sequence": ?"'),
    "the words of a refusal are lost": ("anthropic", r'"explanation": ?"'),
    "annotations of a response's events are lost": ("openai-responses", "annotation.added"),
    "annotations of a response are no citations": ("openai-responses", r'"type": ?"url_citation"'),
    "a failed response has no code": ("openai-responses", r"event: response\.failed"),
}
"""Mutant -> the file of recorded traffic whose answers with these words show it."""


@pytest.mark.parametrize("name", RECORDED)
def test_a_fault_is_seen_in_recorded_traffic(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    file, words = RECORDED[name]
    path = SHARED / f"{file}.jsonl.gz"
    if not path.exists():
        pytest.skip("the corpus of recorded traffic is not beside this checkout")
    shown = re.compile(words)
    found = (
        record
        for record in lines(path, ("id", "status", "response_body"))
        if record["status"] == 200 and shown.search(record["response_body"])
    )
    records = list(islice(found, 5))
    put(MUTANTS[name], monkeypatch)
    assert [record["id"] for record in records if holds(record)] == []
    assert records


def test_a_record_is_known_by_method_and_path() -> None:
    """Not by the name that it was filed under."""
    record = RECORDS["gemini-calls"]
    assert holds({**record, "endpoint": "models.get"})
    assert isinstance(scope({**record, "url": "https://api.example.com/v1/other"}), str)
