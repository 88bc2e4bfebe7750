"""Which models there are, and how each behaves.

Facts and sources: docs/rules.md, recorded traffic up to November 2026.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

# What may follow the name of a family; `gemini-3.6-flahs` is no model,
# `gemini-2.5-flash-preview-05-20` is one.
_TAIL = (
    r"(?:-(?:preview|latest|exp|experimental|thinking|lite|live|image|tts|native|audio|dialog"
    r"|customtools|generation|computer|use|8b|\d+))*"
)
_MODEL = re.compile(
    rf"gemini-(?P<generation>1\.5|2\.0|2\.5|3(?:\.[1-9])?)-(?:pro|flash){_TAIL}"
    r"|gemini-(?:pro|flash|flash-lite)-latest|gemma-\d[a-z0-9.]*(?:-[a-z0-9]+)*"
    r"|(?P<embeds>gemini-embedding-(?:exp|\d)[a-z0-9-]*|text-embedding-\d+|embedding-001)"
)


@dataclass(frozen=True, slots=True)
class Traits:
    """How a model answers."""

    name: str
    generation: float
    embeds: bool = False
    thinks: bool = True
    signs: str = ""
    """`last`: calls and the end of every text, as 3.x does; `first`: the first part if functions
    are declared, as 2.5 does.
    """
    numbers_calls: bool = False
    """Calls have ids."""
    least_cached: int = 1024
    """Tokens that a cached content has at least (G63)."""

    @property
    def methods(self) -> tuple[str, ...]:
        """What it offers."""
        if self.embeds:
            return ("embedContent", "batchEmbedContents", "countTokens")
        return ("generateContent", "streamGenerateContent", "countTokens", "createCachedContent")


def traits(
    name: str, *, host: str = "gemini", lenient: bool = False, era: bool = False
) -> Traits | None:
    """The traits of a model; `None` if there is none of this name.

    Those of 1.5 have been shut down, and live in their era only.
    """
    found = _MODEL.fullmatch(name)
    if found is None:
        return _generated(name, 3.0, host) if lenient else None
    if found["embeds"]:
        return Traits(name, 2.0, embeds=True, thinks=False)
    if name.startswith("gemma"):
        return Traits(name, 2.0, thinks=False)
    generation = float(found["generation"] or 3.5)
    return None if generation < 2 and not (lenient or era) else _generated(name, generation, host)


def _generated(name: str, generation: float, host: str) -> Traits:
    signs = "last" if generation >= 3 else "first" if generation >= 2.5 else ""
    # 2.5 gave none but once in recorded traffic, 3.x on the Gemini API nearly always, Vertex mostly
    # none.
    numbers = generation >= 3 and host == "gemini"
    thinks = generation >= 2.5 and name != "gemini-2.5-flash-lite"
    return Traits(
        name,
        generation,
        thinks=thinks,
        signs=signs,
        numbers_calls=numbers,
        least_cached=4096 if "-pro" in name else 1024,
    )


_LISTED = (
    "gemini-2.5-flash",
    "gemini-2.5-flash-lite",
    "gemini-2.5-pro",
    "gemini-3-flash-preview",
    "gemini-3-pro-preview",
    "gemini-3.1-pro-preview",
    "gemini-3.5-flash",
    "gemini-3.5-flash-lite",
    "gemini-3.6-flash",
    "gemini-3.7-flash",
    "gemini-3.8-flash",
    "gemini-embedding-001",
)


def listed() -> list[Traits]:
    """The models that ListModels tells."""
    return [found for name in _LISTED if (found := traits(name)) is not None]


def described(model: Traits) -> dict[str, Any]:
    """A Model as the models endpoint has it."""
    title = " ".join(word.capitalize() for word in model.name.split("-"))
    said: dict[str, Any] = {
        "name": f"models/{model.name}",
        "version": "001",
        "displayName": title,
        "description": f"{title}, played by an emulator",
        "inputTokenLimit": 2048 if model.embeds else 1048576,
        "outputTokenLimit": 1 if model.embeds else 65536,
        "supportedGenerationMethods": [
            each for each in model.methods if not each.startswith(("stream", "batch"))
        ],
    }
    if not model.embeds:
        said |= {"temperature": 1, "topP": 0.95, "topK": 64, "maxTemperature": 2}
    return said | ({"thinking": True} if model.thinks else {})
