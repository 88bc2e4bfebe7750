"""A bulk run uses what a server allows, and hardly any of its requests is refused."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.bulk.killing import check_lines, driver, write_rows
from tests.bulk.quota_server import counts, quota_server

GEMINI = "gemini:gemini-3.8-flash"


def asked(
    folder: Path, rows: int, server: dict[str, Any], options: dict[str, Any]
) -> dict[str, Any]:
    """Ask so many rows; what the server has counted."""
    given, to = folder / "in.jsonl", folder / "out.jsonl"
    write_rows(given, rows)
    with quota_server(**server) as url:
        path = "" if options.get("model") == GEMINI else "/v1"
        command = driver(given, to, f"{url}{path}", **options)
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        received = counts(url)
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout)["failed"] == 0
    check_lines(to, rows)
    return received


REQUESTS = {"requests": 1200}
TOKENS = {"requests": 1200, "tokens": 120_000}
QUOTAS: dict[str, tuple[dict[str, Any], dict[str, Any], int]] = {
    "requests, named": (REQUESTS, REQUESTS, 2_280),
    "requests, learned": (REQUESTS, {}, 2_280),
    "tokens, named": (TOKENS, TOKENS, 1_050),
    "tokens, learned": (TOKENS, {}, 1_050),
    "named, not reported": ({**REQUESTS, "headers": 0}, REQUESTS, 1_140),
    "Gemini, named": (REQUESTS, {**REQUESTS, "model": GEMINI}, 1_140),
}
"""Limits of the server in a minute, options of the run, and rows, which take nearly a minute.

A limit that no header reports is used evenly: the full bucket at the start stays unused.
"""


@pytest.mark.bulk
@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", QUOTAS)
def test_a_minute_at_the_limits_of_a_server(name: str, tmp_path: Path) -> None:
    limits, options, rows = QUOTAS[name]
    received = asked(tmp_path, rows, {**limits, "latency": 0.1}, {"concurrent": 64, **options})
    is_reported = "headers" not in limits and options.get("model") != GEMINI
    allowed = is_reported + received["seconds"] / 60  # a full bucket, and what comes back
    used = {"requests": received["answered"], "tokens": received["tokens"]}
    shares = [used[unit] / (limits[unit] * allowed) for unit in used if unit in limits]
    print(name, shares, received)
    assert max(shares) >= 0.95
    assert received["refused"] <= 0.005 * (received["answered"] + received["refused"])


@pytest.mark.bulk
def test_a_server_that_takes_eight_at_once_is_asked_eight_at_once(tmp_path: Path) -> None:
    received = asked(tmp_path, 3000, {"at_once": 8, "latency": 0.02}, {"concurrent": 32})
    assert received["answered"] == 3000
    assert received["refused"] <= 64 + 0.01 * 3000  # the first rounds find the number
