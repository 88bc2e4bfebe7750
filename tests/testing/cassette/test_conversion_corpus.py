"""C-37 with recorded traffic that the project does not hold: the corpus, and the recordings of
other projects in the folder `WIRE_RECORDINGS`.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.conformance import layouts, recordings

CORPUS = Path(__file__).parents[4] / "shared" / "corpus"
MIN_DECODED = 200


@pytest.mark.row("C-37")
@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.skipif(not CORPUS.exists(), reason="the corpus is not here")
def test_records_of_the_corpus_in_each_layout() -> None:
    names = ("openai-other", "gemini", "anthropic")  # the first has bodies that are no text
    result = layouts.run([str(CORPUS / f"{name}.jsonl.gz") for name in names])
    assert (result.records, result.failed) == (layouts.RECORDS, [])


@pytest.mark.row("C-37")
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_recordings_of_other_projects() -> None:
    folder = os.environ.get("WIRE_RECORDINGS")
    if not folder:
        pytest.skip("set WIRE_RECORDINGS to a folder with recordings of VCR")
    result = recordings.run([folder])
    assert result.failed == []
    assert result.passed >= MIN_DECODED
