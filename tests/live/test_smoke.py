"""The smoke tests of `test_providers.py` pass with the emulator's good answers and fail with bad
ones. These run always.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.joined import joined
from tests.live import smoke
from tests.live.answers import GOOD, WEATHER
from wire import Chat, errors
from wire.testing.emulator import Emulator, EmulatorTransport

MODELS = ["gemini:gemini-3.8-flash", "openai:gpt-5.4", "anthropic:claude-opus-4-8"]


def run(model: str, check: Callable[[Chat], None], script: list[dict[str, Any]]) -> None:
    http = EmulatorTransport(Emulator(script))
    with Chat(model, api_key="fake-key", http=http, max_tokens=99) as chat:
        check(chat)


@pytest.mark.row("U-154")
@joined("model", MODELS)
@joined("check", smoke.SMOKE_TESTS, ids=lambda check: check.__name__)
def test_a_good_answer_passes(model: str, check: Callable[[Chat], None]) -> None:
    run(model, check, GOOD[check.__name__])


@pytest.mark.parametrize(
    ("check", "script", "error"),
    [
        (smoke.text, [{"say": {"text": "Hello.", "finish": "MAX_TOKENS"}}], AssertionError),
        (smoke.parallel_tools, [{"say": "17 degrees in both."}], AssertionError),
        (smoke.parallel_tools, [WEATHER[0]] * 4, AssertionError),
        (smoke.image, [{"say": "Blue."}], AssertionError),
        (smoke.structured_output, [{"say": '{"name":"Alice","age":31}'}], AssertionError),
        (smoke.structured_output, [{"say": "Alice is 30."}] * 2, errors.OutputError),
    ],
)
def test_a_bad_answer_fails(
    check: Callable[[Chat], None], script: list[dict[str, Any]], error: type[Exception]
) -> None:
    with pytest.raises(error):
        run("openai:gpt-5.4", check, script)
