"""Smoke tests with every provider that has a key: `RUN_LIVE=1 pytest -m live`. The variables
`GEMINI_MODEL`, `OPENAI_MODEL` and `ANTHROPIC_MODEL` select the models.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from tests.live.smoke import SMOKE_TESTS
from wire import Chat

MODELS = {
    "gemini": ("GEMINI_API_KEY", os.environ.get("GEMINI_MODEL", "gemini-3.8-flash")),
    "openai": ("OPENAI_API_KEY", os.environ.get("OPENAI_MODEL", "gpt-5.4")),
    "anthropic": ("ANTHROPIC_API_KEY", os.environ.get("ANTHROPIC_MODEL", "claude-opus-4-8")),
}
"""Provider -> the variable of its key, and the model that is asked."""

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(os.environ.get("RUN_LIVE") != "1", reason="RUN_LIVE=1 is not set"),
]


@pytest.mark.parametrize("check", SMOKE_TESTS, ids=lambda check: check.__name__)
@pytest.mark.parametrize(
    "provider",
    [
        pytest.param(
            name,
            marks=pytest.mark.skipif(not os.environ.get(key), reason=f"{key} is not set"),
        )
        for name, (key, _) in MODELS.items()
    ],
)
def test_u_154_smoke(provider: str, check: Callable[[Chat], None]) -> None:
    with Chat(f"{provider}:{MODELS[provider][1]}", max_tokens=2000) as chat:
        check(chat)
