"""The table of rules in docs/rules.md agrees with the code, and no recorded request that was
answered breaks a rule.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from wire.gemini import check
from wire.gemini.rules import CHECKED, RULES, STATE

from . import refused_contents, refused_rest
from .bodies import host_row

HITS = {**refused_contents.HITS, **refused_rest.HITS}

DOCS = Path(__file__).parents[2] / "docs" / "rules.md"
CORPUS = Path(__file__).parents[3] / "shared" / "corpus" / "gemini.jsonl.gz"
ENDPOINTS = {"generateContent", "streamGenerateContent", "countTokens", "batchEmbedContents"}

ROW = re.compile(r"\| (G\d+b?) \| .* \| ([^|]*) \|")


def rows() -> dict[str, str]:
    return dict(
        match.groups()  # type: ignore[misc]
        for line in DOCS.read_text("utf-8").splitlines()
        if (match := ROW.fullmatch(line))
    )


def test_the_table_says_what_is_checked_and_what_is_state() -> None:
    table = rows()
    numbers = {f"G{number}" for number in range(1, 91)} | {"G18b"}
    assert set(table) == numbers
    assert {rule for rule, here in table.items() if here.startswith("checked")} == CHECKED
    assert {rule for rule, here in table.items() if here.startswith("state")} == set(STATE)
    others = {
        rule: here for rule, here in table.items() if not here.startswith(("checked", "state"))
    }
    assert {rule: here.partition(",")[0] for rule, here in others.items()} == {
        "G26": "built",
        "G55": "built",
        "G77": "never refused",
    }


def test_the_table_says_what_is_never_more_than_a_warning() -> None:
    warned = {rule for rule, here in rows().items() if "(a warning)" in here}
    errors = {case.rule for case in HITS.values() if case.severity == "error"}
    assert warned == CHECKED - errors - {"G86"}


def test_each_rule_is_found_in_one_place() -> None:
    names = [name for names, _ in RULES for name in names.split()]
    assert len(names) == len(set(names))
    assert set(names) <= CHECKED


def accepted() -> Iterator[dict[str, Any]]:
    """Recorded requests that the real API answered with status 200."""
    with gzip.open(CORPUS, "rt", encoding="utf-8", newline="\n") as file:
        for line in file:
            record = json.loads(line)
            if (
                record["status"] == 200
                and record["fidelity"] != "vendor-mock"
                and isinstance(record["request_body"], dict)
            ):
                yield record


@pytest.mark.skipif(
    not CORPUS.exists(), reason="the corpus of recorded traffic is not beside this checkout"
)
def test_no_false_alarm() -> None:
    """No accepted request has an error, with the record's model and host or without a model."""
    seen = 0
    for record in accepted():
        if record["endpoint"] not in ENDPOINTS:
            continue
        seen += 1
        body = json.dumps(record["request_body"]).encode()
        host = "vertex" if record["provider"] == "vertex" else "gemini"
        version = "v1" if host == "gemini" and "/v1/" in record["url"] else "v1beta"
        for model, to in ((record["model"], host_row(host, version)), ("", "")):
            found = check(body, model, to, endpoint=record["endpoint"])
            assert [str(each) for each in found if each.severity == "error"] == [], record["id"]
    assert seen > 1200
