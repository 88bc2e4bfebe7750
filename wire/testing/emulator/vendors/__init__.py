"""The vendors that the emulator plays, one package or module each.

`VENDORS` is the table: a row makes one vendor. The first row answers 404 for unknown paths that no
vendor's clients send.
"""

from __future__ import annotations

from collections.abc import Callable

from wire.testing.emulator.vendor import Settings, Vendor
from wire.testing.emulator.vendors.anthropic.vendor import Anthropic
from wire.testing.emulator.vendors.bedrock.vendor import Bedrock
from wire.testing.emulator.vendors.gemini.vendor import Gemini
from wire.testing.emulator.vendors.google_openai import GoogleOpenAI
from wire.testing.emulator.vendors.interactions.vendor import Interactions
from wire.testing.emulator.vendors.ollama.vendor import Ollama
from wire.testing.emulator.vendors.openai.vendor import OpenAI

VENDORS: tuple[Callable[[Settings], Vendor], ...] = (
    Gemini,
    Anthropic,
    OpenAI,
    GoogleOpenAI,
    Bedrock,
    Ollama,
    Interactions,
)
