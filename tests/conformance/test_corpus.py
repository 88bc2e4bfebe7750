"""The conformance runner: it passes what holds, and fails what does not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.conformance import gemini
from tests.conformance.__main__ import main
from wire.gemini import types
from wire.gemini.fold import fold
from wire.gemini.parse import read_chunk

SAMPLE = Path(__file__).parents[1] / "fixtures" / "corpus" / "sample.jsonl"
SHARED = Path(__file__).parents[3] / "shared" / "corpus" / "gemini.jsonl.gz"


def test_sample(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["corpus", str(SAMPLE)]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1]) == {"records": 14, "passed": 13, "out_of_scope": 1, "failed": []}


@pytest.mark.skipif(not SHARED.exists(), reason="the corpus of recorded traffic is not beside this checkout; the sample serves")
def test_recorded_traffic(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["corpus", str(SHARED)]) == 0
    tally = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (tally["failed"], tally["passed"] + tally["out_of_scope"]) == ([], tally["records"])
    assert tally["passed"] >= 1341


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

    def move_signature(chunks: list[types.GenerateContentResponse]) -> types.GenerateContentResponse:
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
        "unknown keys of an answer are dropped": ("parse_answer", without_memory(types.GenerateContentResponse)),
        "a text is merged with a signed one": ("fold", merge_all),
        "a signature is moved to another part": ("fold", move_signature),
        "the first usage counts": ("fold", first_usage),
        "unknown keys of a request are dropped": ("decode", lambda body, kind: msgspec.json.decode(body, type=kind)),
        "an error is taken for an answer": ("parse_error", lambda status, headers, body: ValueError("no error of ours")),
    }


def _read(plain: Any) -> types.GenerateContentResponse:
    return read_chunk(json.dumps(plain).encode())


@pytest.mark.parametrize("mutant", mutants())
def test_a_library_that_loses_something_fails(mutant: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    name, replacement = mutants()[mutant]
    monkeypatch.setattr(gemini, name, replacement)
    assert main(["corpus", str(SAMPLE)]) == 1
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["failed"] != []


@pytest.mark.parametrize(
    ("line", "problem"),
    [("{", "broken.jsonl:2: no JSON"), ('{"id": "a", "status": 200}', "broken.jsonl:2: $.response_body is missing")],
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
    assert capsys.readouterr().err.startswith("usage: python -m tests.conformance corpus|quirks PATH...")
