"""The wires that calls can be made for, imported on first use: one function and one row for
each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import ModuleType


def _gemini() -> ModuleType:
    from wire.gemini import rendering

    return rendering


def _openai() -> ModuleType:
    from wire.openai.chat import rendering

    return rendering


def _anthropic() -> ModuleType:
    from wire.anthropic import rendering

    return rendering


WIRES: Mapping[str, Callable[[], ModuleType]] = {
    "gemini": _gemini,
    "openai": _openai,
    "anthropic": _anthropic,
}
"""Name of a wire, as rows of providers have it, to the module that renders neutral requests."""
