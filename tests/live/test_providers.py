"""Smoke tests with every provider: `RUN_LIVE=1 pytest -m live`, or one of them with
`RUN_LIVE_OPENAI=1`. The variables `GEMINI_MODEL`, `OPENAI_MODEL` and `ANTHROPIC_MODEL` select the
models.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.live.models import PROVIDERS, model
from tests.live.smoke import SMOKE_TESTS
from wire import Chat

pytestmark = pytest.mark.live


@pytest.mark.row("U-154")
@pytest.mark.parametrize("check", SMOKE_TESTS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("provider", PROVIDERS)
def test_smoke(
    wire_chat: Callable[..., Chat], provider: str, check: Callable[[Chat], None]
) -> None:
    check(wire_chat(f"{provider}:{model(provider)}", max_tokens=2000))
