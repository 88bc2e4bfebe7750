"""Libraries with one fault each: the runner sees every one of them."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.conformance.corpus import scope
from tests.conformance.records import Record, lines
from tests.conformance.result import Result
from tests.joined import joined
from wire.errors import Violation
from wire.neutral.messages import Text, TextDelta, ToolCallStart
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


@pytest.mark.parametrize("name", MUTANTS)
def test_a_library_with_one_fault(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mutant = MUTANTS[name]
    module, _, kind = mutant.owner.partition(":")
    owner: Any = importlib.import_module(module)
    owner = getattr(owner, kind) if kind else owner
    monkeypatch.setattr(owner, mutant.name, mutant.make(getattr(owner, mutant.name)))
    assert not holds(RECORDS[mutant.record])


def test_a_record_is_known_by_method_and_path() -> None:
    """Not by the name that it was filed under."""
    record = RECORDS["gemini-calls"]
    assert holds({**record, "endpoint": "models.get"})
    assert isinstance(scope({**record, "url": "https://api.example.com/v1/other"}), str)
