"""The page about today's clients: how it is written, and that it is what its command wrote."""

from __future__ import annotations

import re
import shlex

import pytest

from tests.peers.__main__ import CLIENTS, PAGE, ROOT
from tests.peers.page import ASPECTS, Client, Result, page
from wire.testing.conformance.loading import chosen, wires
from wire.testing.conformance.running import Verdict

IDS = {case.id for _, case in chosen()}
CLIENT = Client("tide", "Go", ("gemini",), "tide adapter", "`Ask`.")
VERDICTS = (
    Verdict(case="gemini/a", aspect="usage told", result="kept", client="tide 1.2 (Go)"),
    Verdict(
        case="gemini/b",
        aspect="usage told",
        result="failed",
        details=["expected [1], not <b>*|*</b>", "more"],
        command="wire conformance 'tide adapter' --case gemini/b",
    ),
    Verdict(case="gemini/c", aspect="keys masked", result="skipped", details=["no"]),
)


def test_a_page_has_shares_failures_and_their_command() -> None:
    text = page([Result(CLIENT, VERDICTS)], "2026-11-29")
    cells = ["1 of 2" if each in ("usage told", "all") else "" for each in (*ASPECTS, "all")]
    assert f"| tide 1.2 | Go | gemini | {' | '.join(cells)} |" in text
    assert "Run on 2026-11-29." in text
    assert "## tide 1.2 (Go)\n\n`Ask`.\n" in text
    assert "| `gemini/b` | expected \\[1\\], not &lt;b&gt;\\*\\|\\*&lt;/b&gt; |" in text
    assert "Again: `wire conformance 'tide adapter' --case ID`" in text


def test_a_client_without_failures_and_one_that_is_not_there_say_so() -> None:
    text = page([Result(CLIENT, VERDICTS[:1])], "2026-11-29")
    assert "`Ask`. All 1 cases were kept.\n" in text
    text = page([Result(CLIENT, (), "node is not there")], "2026-11-29")
    assert "## tide (Go)\n\nNot run: node is not there.\n" in text


def test_the_page_has_each_client() -> None:
    text = PAGE.read_text("utf-8")
    sections = re.findall(r"^## (\S+) \S+ \((\w+)\)$", text, re.MULTILINE)
    assert sections == [(each.package, each.language) for each in CLIENTS]
    assert len(sections) >= 8


def test_the_page_names_cases_that_exist_and_counts_all_of_them() -> None:
    text = PAGE.read_text("utf-8")
    named = re.findall(r"^\| `([\w/-]+)` \|", text, re.MULTILINE)
    assert set(named) <= IDS
    tried = [int(each) for each in re.findall(r"^\| .* of (\d+) \|$", text, re.MULTILINE)]
    counts = {wire.wire: len(wire.cases) for wire in wires()}
    assert tried == [sum(counts[wire] for wire in each.wires) for each in CLIENTS]


@pytest.mark.parametrize("client", CLIENTS, ids=lambda each: f"{each.package}-{each.language}")
def test_the_adapter_of_a_client_exists(client: Client) -> None:
    words = shlex.split(client.command)
    assert words[-1].startswith("wire.") or (ROOT / words[-1]).is_file()
    assert set(client.wires) <= {wire.wire for wire in wires()}
