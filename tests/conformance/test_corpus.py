"""The conformance runner: it passes what holds, and fails what does not."""

from __future__ import annotations

import gzip
import json
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.conformance import anthropic, gemini, media, openai, responses
from tests.conformance.__main__ import main
from wire.anthropic import MessageResponse
from wire.anthropic import fold as anthropic_fold
from wire.errors import APIError
from wire.gemini import types
from wire.gemini.fold import fold
from wire.gemini.reader import read_chunk
from wire.openai import ChatCompletion
from wire.openai.chat import fold as openai_fold
from wire.openai.chat.tool_calls import Calls
from wire.openai.common import media_streams
from wire.openai.common.types.audio import SpokenAudio
from wire.openai.responses import fold as responses_fold
from wire.openai.responses import parse as responses_parse
from wire.openai.responses import parts as responses_parts
from wire.openai.responses.types import Response

FOLDER = Path(__file__).parents[1] / "fixtures" / "corpus"
SAMPLE, OPENAI, RESPONSES, ANTHROPIC, CONVERSE, OLLAMA, INTERACTIONS, MEDIA, REALTIME = (
    FOLDER / "sample.jsonl",
    FOLDER / "openai.jsonl",
    FOLDER / "responses.jsonl",
    FOLDER / "anthropic.jsonl",
    FOLDER / "converse.jsonl",
    FOLDER / "ollama.jsonl",
    FOLDER / "interactions.jsonl",
    FOLDER / "media.jsonl",
    FOLDER / "realtime.jsonl",
)
SHARED = Path(__file__).parents[3] / "shared" / "corpus"
# How many records there are at least, how many of endpoints that are not built at most, and how
# many keys have no field at most: a struct that lost one of its fields has more.
RECORDED = {
    "gemini": (1461, 0, 1),
    "openai-chat": (1058, 0, 3),
    "openai-chat-compatible": (2438, 0, 129),
    "openai-other": (165, 49, 66),
    "openai-responses": (658, 0, 3),
    "openai-responses-compatible": (164, 0, 3),
    "anthropic": (868, 3, 2),
    "anthropic-compatible": (10, 0, 1),
    "bedrock": (700, 66, 2),
    "ollama": (56, 0, 2),
    "gemini-interactions": (28, 0, 0),
    "media": (127, 6, 2),
    "realtime": (33, 2, 0),
}
PART = 125


@pytest.mark.parametrize(
    ("sample", "records", "passed"),
    [
        (SAMPLE, 14, 13),
        (OPENAI, 22, 21),
        (RESPONSES, 42, 41),
        (ANTHROPIC, 20, 19),
        (CONVERSE, 24, 24),
        (OLLAMA, 9, 9),
        (INTERACTIONS, 16, 16),
        (MEDIA, 12, 12),
        (REALTIME, 5, 5),
    ],
    ids=[
        *("gemini", "openai", "responses", "anthropic", "converse", "ollama", "interactions"),
        *("media", "realtime"),
    ],
)
def test_sample(
    sample: Path, records: int, passed: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["corpus", str(sample)]) == 0
    found = tally(capsys)
    assert (found["records"], found["failed"], found["passed"] + found["out_of_scope"]) == (
        records,
        [],
        records,
    )
    assert found["passed"] >= passed


@pytest.mark.parametrize(
    ("name", "begin"),
    [
        pytest.param(name, at, marks=[pytest.mark.slow] if at // PART % 32 else [])
        for name, (records, _, _) in RECORDED.items()
        for at in range(0, records, PART)
    ],
)
def test_recorded_traffic(
    name: str, begin: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each 32nd part in each run, all of them in `make test-slow`."""
    path = SHARED / f"{name}.jsonl.gz"
    if not path.exists():
        pytest.skip("the corpus of recorded traffic is not beside this checkout; the sample serves")
    records, outside, unknown = RECORDED[name]
    is_last = begin + PART >= records  # and has whatever records were added since
    part = tmp_path / "part.jsonl"
    with gzip.open(path) as lines:
        part.write_bytes(b"".join(islice(lines, begin, None if is_last else begin + PART)))
    assert main(["corpus", str(part)]) == 0
    told = capsys.readouterr().out.splitlines()
    found = json.loads(told[-1])
    assert (found["failed"], found["passed"] + found["out_of_scope"]) == ([], found["records"])
    assert sum(line.startswith("without a field: ") for line in told) <= unknown
    assert found["passed"] >= min(PART, records - begin) - outside


def tally(capsys: pytest.CaptureFixture[str]) -> Any:
    """What the run ended with."""
    return json.loads(capsys.readouterr().out.splitlines()[-1])


def mutants() -> dict[str, tuple[str, Any]]:
    """Name -> what to replace in the runner, and by what: libraries that lose something."""

    def without_memory(kind: Any) -> Any:
        def read(body: bytes) -> Any:
            return msgspec.json.decode(body, type=kind)

        return read

    def merge_all(chunks: list[types.GenerateContentResponse]) -> types.GenerateContentResponse:
        """A fold that joins every text of an answer, signed or not."""
        plain = json.loads(fold(chunks).raw or b"")
        for candidate in plain.get("candidates", ()):
            parts = candidate.get("content", {}).get("parts", [])
            texts = [part for part in parts if "text" in part]
            if texts:
                candidate["content"]["parts"] = [{"text": "".join(part["text"] for part in texts)}]
        return _read(plain)

    def move_signature(
        chunks: list[types.GenerateContentResponse],
    ) -> types.GenerateContentResponse:
        plain = json.loads(fold(chunks).raw or b"")
        for candidate in plain.get("candidates", ()):
            parts = candidate.get("content", {}).get("parts", [])
            for part in parts:
                if "thoughtSignature" in part:
                    parts[0]["thoughtSignature"] = part.pop("thoughtSignature")
        return _read(plain)

    def first_usage(chunks: list[types.GenerateContentResponse]) -> types.GenerateContentResponse:
        plain = json.loads(fold(chunks).raw or b"")
        plain["usageMetadata"] = json.loads(chunks[0].raw or b"{}").get("usageMetadata")
        return _read(plain)

    return {
        "unknown keys of an answer are dropped": (
            "parse_response",
            without_memory(types.GenerateContentResponse),
        ),
        "a text is merged with a signed one": ("fold", merge_all),
        "a signature is moved to another part": ("fold", move_signature),
        "the first usage counts": ("fold", first_usage),
        "unknown keys of a request are dropped": (
            "decode",
            lambda body, kind: msgspec.json.decode(body, type=kind),
        ),
        "an error is taken for an answer": (
            "parse_error",
            lambda status, headers, body: ValueError("no error of ours"),
        ),
    }


def _read(plain: Any) -> types.GenerateContentResponse:
    return read_chunk(json.dumps(plain).encode())


@pytest.mark.parametrize("mutant", mutants())
def test_a_library_that_loses_something_fails(
    mutant: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    name, replacement = mutants()[mutant]
    monkeypatch.setattr(gemini, name, replacement)
    assert main(["corpus", str(SAMPLE)]) == 1
    assert tally(capsys)["failed"] != []


def openai_mutants() -> dict[str, tuple[Any, str, Any, list[str]]]:
    """Name -> what to replace where, by what, and the records that fail then."""

    def without_memory(body: bytes) -> Any:
        return msgspec.json.decode(body, type=ChatCompletion)

    def kept(_self: Any, delta: Any) -> Any:
        return real_add(
            _self,
            msgspec.structs.replace(
                delta, function=msgspec.structs.replace(delta.function, arguments=None)
            ),
        )

    def first(chunks: Any, dialect: Any = None) -> Any:
        return real_fold(chunks[:1])

    def alike(status: int, headers: Any, body: bytes) -> Any:
        return APIError(body.decode(), status=status, raw=body)

    real_add, real_fold = Calls.add, openai_fold.fold
    return {
        "unknown keys of an answer are dropped": (
            openai,
            "parse_completion",
            without_memory,
            ["calls", "reasoning", "unknown-keys"],
        ),
        "unknown keys of a request are dropped": (
            openai,
            "decoded",
            lambda body, kind: msgspec.json.decode(body, type=kind),
            ["unknown-keys"],
        ),
        "arguments are dropped": (Calls, "add", kept, ["calls", "stream-calls"]),
        "the first chunk is the answer": (
            openai,
            "fold",
            first,
            ["stream", "stream-calls", "stream-reasoning"],
        ),
        "all errors are alike": (openai, "parse_error", alike, ["bad-key", "flat-error"]),
    }


@pytest.mark.parametrize("mutant", openai_mutants())
def test_a_library_of_chat_completions_that_loses_something_fails(
    mutant: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    owner, name, replacement, failed = openai_mutants()[mutant]
    monkeypatch.setattr(owner, name, replacement)
    assert main(["corpus", str(OPENAI)]) == 1
    assert set(failed) <= set(tally(capsys)["failed"])


def media_mutants() -> dict[str, tuple[Any, str, Any, list[str]]]:
    """Name -> what to replace where, by what, and the records that fail then."""

    def without_memory(kind: Any, body: bytes) -> Any:
        return msgspec.json.decode(body, type=kind)

    def first(events: Any, *_: Any) -> Any:
        return real_fold(events[:1])

    def any_end(self: Any) -> bool:
        return True

    real_fold = media_streams.fold_transcription
    return {
        "bytes of an answer are dropped": (
            media,
            "parse_plain",
            without_memory,
            ["image", "transcript"],
        ),
        "texts are sound": (
            media,
            "parse_audio",
            lambda body: SpokenAudio(body),
            ["speech-json"],
        ),
        "any end is the end": (
            media_streams._EventReader,
            "is_whole",
            any_end,
            ["transcript-stream", "speakers-stream", "speech-stream"],
        ),
        "the first event is the transcript": (
            media,
            "_STREAMS",
            {**media._STREAMS, "transcriptions": (media_streams.TranscriptionReader, first)},
            ["transcript-stream", "speakers-stream"],
        ),
    }


@pytest.mark.parametrize("mutant", media_mutants())
def test_a_library_of_media_that_loses_something_fails(
    mutant: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    owner, name, replacement, failed = media_mutants()[mutant]
    monkeypatch.setattr(owner, name, replacement)
    assert main(["corpus", str(MEDIA)]) == 1
    assert set(failed) <= set(tally(capsys)["failed"])


def responses_mutants() -> dict[str, tuple[Any, str, Any, list[str]]]:
    """Name -> what to replace where, by what, and the records that fail then."""

    def without_memory(body: bytes) -> Any:
        return msgspec.json.decode(body, type=Response)

    def alike(status: int, headers: Any, body: bytes) -> Any:
        return APIError(body.decode(), status=status, raw=body)

    def last_event_counts(self: Any) -> Any:
        return {**self._response, "output": self._last}

    def done_is_ignored(self: Any, event: Any) -> None:
        kind = json.loads(bytes(event["type"]))
        real_add(self, event if kind != "response.output_item.done" else {"type": b'"x"'})

    def sent_with_id(item: Any, changed: Any, *, keeps_id: bool) -> Any:
        return real_sendable(item, changed, keeps_id=True)

    def first_call(item: Any, *args: Any, **options: Any) -> Any:
        return [] if item.call_id == "call_t2" else real_parts_of(item, *args, **options)

    def ids_of_items(item: Any, id: str, cut: bool) -> Any:
        return real_call(item, item.id or id, cut)

    builder, real_part = responses_fold._ResponseBuilder, responses_fold._Part
    real_add = builder.add
    real_sendable, real_parts_of = responses_parts._sendable, responses_parse.parts_of
    real_call = responses_parse._call
    return {
        "unknown keys of a response are dropped": (
            responses,
            "parse_response",
            without_memory,
            ["plain", "unknown-keys", "calls"],
        ),
        "unknown keys of a request are dropped": (
            responses,
            "decoded",
            lambda body, kind: msgspec.json.decode(body, type=kind),
            ["unknown-keys"],
        ),
        "only the last event has items": (
            builder,
            "merged",
            last_event_counts,
            ["stream-empty-end", "stream-calls"],
        ),
        "items are made of their deltas": (
            builder,
            "add",
            done_is_ignored,
            ["stream-empty-end", "stream-calls"],
        ),
        "items of the last event alone are lost": (
            builder,
            "_at",
            lambda self, index: self._items[index].merged(),
            ["stream-last-only"],
        ),
        "deltas of text are lost": (
            real_part,
            "merged",
            lambda self: self.fields,
            ["stream", "stream-reasoning"],
        ),
        "items go back with their ids": (
            responses_parts,
            "_sendable",
            sent_with_id,
            ["plain", "calls", "hosted", "stream-calls"],
        ),
        "the second call is lost": (
            responses_parse,
            "parts_of",
            first_call,
            ["calls", "text-between-calls", "stream-calls"],
        ),
        "calls have the ids of their items": (
            responses_parse,
            "_call",
            ids_of_items,
            ["calls", "custom-call", "stream-calls"],
        ),
        "all errors are alike": (openai, "parse_error", alike, ["bad-key", "no-chain"]),
    }


@pytest.mark.parametrize("mutant", responses_mutants())
def test_a_library_of_responses_that_loses_something_fails(
    mutant: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    owner, name, replacement, failed = responses_mutants()[mutant]
    monkeypatch.setattr(owner, name, replacement)
    assert main(["corpus", str(RESPONSES)]) == 1
    assert set(failed) <= set(tally(capsys)["failed"])


def anthropic_mutants() -> dict[str, tuple[Any, str, Any, list[str]]]:
    """Name -> what to replace where, by what, and the records that fail then."""

    def without_memory(body: bytes) -> Any:
        return msgspec.json.decode(body, type=MessageResponse)

    def first_usage(_self: Any, event: Any) -> Any:
        return real_update(_self, {name: value for name, value in event.items() if name != "usage"})

    def unsigned(_self: Any, delta: Any) -> Any:
        return real_add(
            _self, {name: value for name, value in delta.items() if name != "signature"}
        )

    def without_input(text: str) -> Any:
        return {}

    def kept(raw: Any) -> Any:
        return {
            name: value
            for name, value in real_fields_of(raw).items()
            if name in MessageResponse.__struct_fields__
        }

    def alike(status: int, headers: Any, body: bytes) -> Any:
        return APIError(body.decode(), status=status, raw=body)

    builder, block, real_fields_of = (
        anthropic_fold._MessageBuilder,
        anthropic_fold._Block,
        anthropic_fold.fields_of,
    )
    real_update, real_add = builder._update, block.add
    return {
        "unknown keys of an answer are dropped": (
            anthropic,
            "parse_message",
            without_memory,
            ["plain", "unknown-keys", "signed"],
        ),
        "unknown keys of a request are dropped": (
            anthropic,
            "decoded",
            lambda body, kind: msgspec.json.decode(body, type=kind),
            ["unknown-keys"],
        ),
        "the first usage counts": (
            builder,
            "_update",
            first_usage,
            ["stream-text", "stream-call", "stream-server-tools"],
        ),
        "signatures are lost": (block, "add", unsigned, ["stream-thinking-then-text"]),
        "input of a call is lost": (
            anthropic_fold,
            "_json",
            without_input,
            ["stream-call", "stream-server-tools"],
        ),
        "unknown keys of a response or a message are lost": (
            anthropic_fold,
            "fields_of",
            kept,
            ["stream-compaction", "stream-unknown"],
        ),
        "all errors are alike": (anthropic, "parse_error", alike, ["bad-key", "no-model"]),
    }


@pytest.mark.parametrize("mutant", anthropic_mutants())
def test_a_library_of_messages_that_loses_something_fails(
    mutant: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    owner, name, replacement, failed = anthropic_mutants()[mutant]
    monkeypatch.setattr(owner, name, replacement)
    assert main(["corpus", str(ANTHROPIC)]) == 1
    assert set(failed) <= set(tally(capsys)["failed"])


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{", "broken.jsonl:2: no JSON"),
        ('{"id": "a", "status": 200}', "broken.jsonl:2: $.response_body is missing"),
    ],
    ids=["cut", "missing"],
)
def test_a_broken_line_is_named(tmp_path: Path, line: str, problem: str) -> None:
    path = tmp_path / "broken.jsonl"
    path.write_text(f"{SAMPLE.read_text('utf-8').splitlines()[0]}\n{line}\n", "utf-8")
    with pytest.raises(SystemExit) as caught:
        main(["corpus", str(path)])
    assert problem in str(caught.value)


def test_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert [main([]), main(["nothing", "x"]), main(["corpus"])] == [2, 2, 2]
    assert capsys.readouterr().err.startswith(
        "usage: python -m tests.conformance "
        "citations|corpus|quirks|failures|layouts|recordings|requests "
    )
