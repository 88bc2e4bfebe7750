"""The smoke tests of `test_providers.py` pass with the emulator's good answers and fail with bad
ones. These run always.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.live import smoke
from wire import Chat, errors
from wire.testing.emulator import Emulator, EmulatorTransport

ROOT = Path(__file__).parents[2]
KEYS = ("GEMINI_API_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY")
MODELS = ["gemini:gemini-3.5-flash", "openai:gpt-5.4", "anthropic:claude-opus-4-8"]
CITIES = [{"name": "get_weather", "args": {"city": city}} for city in ("San Francisco", "New York")]
WEATHER = [{"say": {"calls": CITIES}}, {"say": "17 degrees in both."}]
ALICE = {"say": '{"name":"Alice","age":30}'}


def run(model: str, check: Callable[[Chat], None], script: list[dict[str, Any]]) -> None:
    http = EmulatorTransport(Emulator(script))
    with Chat(model, api_key="fake-key", http=http, max_tokens=99) as chat:
        check(chat)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    ("check", "script"),
    [
        (smoke.text, [{"say": "Hello."}]),
        (smoke.stream, [{"say": "An old silent pond"}]),
        (smoke.parallel_tools, WEATHER),
        (smoke.image, [{"say": "Red."}]),
        (smoke.structured_output, [ALICE]),
        (smoke.unknown_model, []),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_u_154_a_good_answer_passes(
    model: str, check: Callable[[Chat], None], script: list[dict[str, Any]]
) -> None:
    run(model, check, script)


@pytest.mark.parametrize(
    ("check", "script", "error"),
    [
        (smoke.text, [{"say": {"text": "Hello.", "finish": "MAX_TOKENS"}}], AssertionError),
        (smoke.parallel_tools, [{"say": "17 degrees in both."}], AssertionError),
        (smoke.parallel_tools, [WEATHER[0]] * 4, AssertionError),
        (smoke.image, [{"say": "Blue."}], AssertionError),
        (smoke.structured_output, [{"say": '{"name":"Alice","age":31}'}], AssertionError),
        (smoke.structured_output, [{"say": "Alice is 30."}], errors.OutputError),
    ],
)
def test_a_bad_answer_fails(
    check: Callable[[Chat], None], script: list[dict[str, Any]], error: type[Exception]
) -> None:
    with pytest.raises(error):
        run("openai:gpt-5.4", check, script)


@pytest.mark.parametrize(
    ("variables", "reasons"),
    [
        (dict.fromkeys(KEYS, "fake-key"), {"RUN_LIVE=1 is not set": 18}),
        (
            {"RUN_LIVE": "1"},
            {f"{key} is not set": 6 for key in KEYS},
        ),
    ],
)
def test_without_variable_or_key_each_is_skipped_with_the_reason(
    variables: dict[str, str], reasons: dict[str, int]
) -> None:
    hidden = ("RUN_LIVE", *KEYS)
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    ran = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "tests/live/test_providers.py"),
            *("-q", "-rs", "-mlive", "-pno:cacheprovider"),
        ],
        cwd=ROOT,
        env=environment | variables,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ran.returncode == 0
    assert "passed" not in ran.stdout
    for reason, count in reasons.items():
        assert any(
            line.startswith(f"SKIPPED [{count}]") and reason in line
            for line in ran.stdout.splitlines()
        ), ran.stdout
