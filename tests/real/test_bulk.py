"""A bulk run before llama.cpp: 200 prompts, four at a time, each with a value as its answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

import msgspec
import pytest

from tests.bulk.killing import driver, kill_and_go_on
from tests.real.test_llama import MODEL

pytestmark = [pytest.mark.real, pytest.mark.timeout(1200)]

ROWS = 200


class Place(msgspec.Struct, forbid_unknown_fields=True):
    """Small, so that the model is quick."""

    city: Literal["Paris", "Oslo"]


COMPACT = {"llama.cpp": {"repeat_penalty": 1.5}}
"""The grammar of the server allows blank space, of which the model would write a hundred tokens."""


def test_two_hundred_values_with_a_kill_in_the_middle(server: str, tmp_path: Path) -> None:
    given, to = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    rows = [{"id": f"trip-{n}", "prompt": f"Trip {n}: where to?"} for n in range(ROWS)]
    given.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    command = driver(
        given,
        to,
        f"{server}/v1",
        model=f"llama.cpp:{MODEL}",
        output="tests.real.test_bulk:Place",
        concurrent=4,
        max_tokens=128,
        temperature=0,
        options=COMPACT,
    )
    killed = kill_and_go_on(command, to, [50_000])
    assert killed.kills == 1
    assert 10 < killed.summary["earlier"] < ROWS - 10
    assert (killed.summary["done"], killed.summary["failed"]) == (ROWS, 0)
    lines = [json.loads(line) for line in to.read_bytes().splitlines()[1:]]
    assert sorted(line["row"] for line in lines) == list(range(1, ROWS + 1))
    for line in lines:
        assert line["id"] == f"trip-{line['row'] - 1}"
        msgspec.convert(line["output"], Place)
        assert line["usage"]["output"] > 0
