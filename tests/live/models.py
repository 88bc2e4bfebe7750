"""The model of each provider that live tests ask."""

from __future__ import annotations

import os

from wire.testing.fixtures.recording import missing_for_live

_MODELS = {
    "gemini": "gemini-3.8-flash",
    "openai": "gpt-5.4",
    "anthropic": "claude-opus-4-8",
}
PROVIDERS = tuple(_MODELS)


def model(provider: str) -> str:
    """The model in `GEMINI_MODEL` and its like where tests run live, else the recorded one."""
    named = os.environ.get(f"{provider.upper()}_MODEL")
    if not named or missing_for_live(provider, has_key=False):
        return _MODELS[provider]
    return named.removeprefix("models/")
