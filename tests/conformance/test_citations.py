"""Recorded answers with citations: all are held, and a library that loses some fails."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.conformance import citations
from tests.conformance.__main__ import main
from wire.anthropic import server_parts as anthropic_parts
from wire.neutral.messages import Citation
from wire.openai.responses import server_parts as responses_parts

FOLDER = Path(__file__).parents[1] / "fixtures" / "corpus"
SHARED = Path(__file__).parents[3] / "shared" / "corpus"
# Answers with citations, and their citations; answers with server tools, and their parts: at least.
RECORDED = {
    "gemini": (45, 185, 37, 86),
    "anthropic": (39, 136, 76, 201),
    "openai-chat": (1, 5, 0, 0),
    "openai-chat-compatible": (34, 394, 5, 42),
    "openai-responses": (25, 65, 40, 74),
    "openai-responses-compatible": (6, 31, 11, 21),
}
KINDS = (
    "answers with citations",
    "citations",
    "answers with server tools",
    "parts of server tools",
)


def totals() -> tuple[int, ...]:
    return tuple(
        sum(number for what, number in citations.FOUND.items() if what.endswith(f": {kind}"))
        for kind in KINDS
    )


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] if name.startswith("openai-chat") else [])
        for name in RECORDED
    ],
)
def test_recorded_answers_keep_their_citations(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = SHARED / f"{name}.jsonl.gz"
    if not path.exists():
        pytest.skip("the corpus of recorded traffic is not beside this checkout; the sample serves")
    part = tmp_path / "part.jsonl"
    with gzip.open(path) as lines:
        words = [word.encode() for word in citations.WORDS]
        part.write_bytes(b"".join(line for line in lines if any(word in line for word in words)))
    assert main(["citations", str(part)]) == 0
    capsys.readouterr()
    assert all(found >= least for found, least in zip(totals(), RECORDED[name], strict=True)), (
        totals()
    )


SAMPLES = [str(FOLDER / f"{name}.jsonl") for name in ("anthropic", "responses")]


def test_sample(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["citations", *SAMPLES]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["passed"] == 2
    assert totals() == (2, 2, 2, 3)


def test_a_library_that_loses_citations_or_parts_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    real = responses_parts._citations

    def shifted(items: Any) -> Any:
        for each in real(items):
            yield msgspec.structs.replace(each, start=(each.start or 0) + 1)

    def none(*_: Any) -> tuple[Citation, ...]:
        return ()

    monkeypatch.setattr(anthropic_parts, "citations_of", none)
    monkeypatch.setattr(responses_parts, "_citations", shifted)
    assert main(["citations", *SAMPLES]) == 1
    assert len(json.loads(capsys.readouterr().out.splitlines()[-1])["failed"]) == 2
